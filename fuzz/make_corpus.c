/*
 * Writes the seeds of fuzz_session into a folder: small sessions of every shape that the reader knows. Run it again
 * when the layout changes; the test fuzz.corpus fails when that is due:
 *
 *     build/release/fuzz/make_corpus fuzz/corpus/session
 *     build/release/fuzz/make_corpus --check fuzz/corpus/session
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"

static struct session_builder builder;

static bool is_check;

static bool is_same(FILE *file, size_t size)
{
    static unsigned char bytes[64u << 10];
    return fread(bytes, 1, sizeof bytes, file) == size && memcmp(bytes, builder.bytes, size) == 0;
}

static void write_seed(const char *folder, const char *name, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, is_check ? "rb" : "wb");
    if (file == NULL || (!is_check && fwrite(builder.bytes, 1, size, file) != size)) {
        perror(path);
        exit(1);
    }
    if (is_check && !is_same(file, size)) {
        fprintf(stderr, "%s is not what the layout makes of it: run make_corpus\n", path);
        exit(1);
    }
    if (fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    builder_free(&builder);
}

static void write_shapes(const char *folder)
{
    for (size_t at = 0; at < fuzz_shape_count; at++) {
        fuzz_shape_begin(&builder);
        fuzz_shapes[at].build(&builder);
        write_seed(folder, fuzz_shapes[at].name, builder_size(&builder));
    }
}

int main(int argc, char **argv)
{
    is_check = argc == 3 && strcmp(argv[1], "--check") == 0;
    argv += is_check;
    if (argc - is_check != 2) {
        fprintf(stderr, "usage: make_corpus [--check] FOLDER\n");
        return 2;
    }
    write_shapes(argv[1]);
    fuzz_shape_begin(&builder);
    fuzz_shapes[0].build(&builder);
    write_seed(argv[1], "cut-off", builder_size(&builder) / 2 & ~(size_t)7);
    fuzz_shape_begin(&builder);
    write_seed(argv[1], "cut-header", 100);
    fuzz_shape_begin(&builder);
    builder_header(&builder)->version = HP_LAYOUT_VERSION + 1;
    write_seed(argv[1], "other-version", HP_HEADER_BYTES);
    return 0;
}
