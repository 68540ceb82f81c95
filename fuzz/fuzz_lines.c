/*
 * Gives arbitrary files to the code that finds names, inlined functions and lines. Each address must have a name;
 * chains and texts must end; memory must be freed. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "elf_file.h"
#include "input.h"
#include "symbolizer.h"
#include "unwind_table.h"

#define LARGEST_INPUT (1u << 18)
#define MOST 8u
#define LOOKS 24u /* per part: more lookups find the same again, at the expense of other inputs */

static int file = -1;
static char path[64];

static void write_file(const uint8_t *bytes, size_t size)
{
    if (file < 0) {
        file = memfd_create("fuzz_lines", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    REQUIRE(file >= 0 && pwrite(file, bytes, size, 0) == (ssize_t)size && ftruncate(file, (off_t)size) == 0);
}

static void look(struct hp_symbolizer *symbolizer, const struct hp_image *image, uint64_t address)
{
    struct hp_source_place places[MOST];
    const size_t count = hp_symbolizer_find(symbolizer, image, address, places, MOST);
    REQUIRE(count > 0 && count <= MOST);
    for (size_t at = 0; at < count; at++) {
        REQUIRE(strlen(places[at].function) > 0 && strlen(places[at].file) < LARGEST_INPUT);
        REQUIRE(places[at].is_inlined == (at + 1 < count) || count == MOST);
    }
}

static void look_everywhere(struct hp_symbolizer *symbolizer, const struct hp_image *image)
{
    const struct hp_elf *elf = &image->file.elf;
    struct hp_elf_symbols symbols = {.count = 0};
    hp_elf_symbols_read(&symbols, &elf->header, image->file.fd);
    for (size_t part = 0; part < elf->part_count; part++)
        for (uint64_t at = 0; at < LOOKS; at++)
            look(symbolizer, image, elf->parts[part].linked + at * (elf->parts[part].size / LOOKS + 1));
    for (size_t at = 0; at < symbols.count && at < LOOKS; at++)
        look(symbolizer, image, hp_elf_start(symbols.sorted[at]) + at % 7);
    hp_elf_symbols_free(&symbols);
    look(symbolizer, image, 0);
    look(symbolizer, image, UINT64_MAX);
}

static void make_table(const struct hp_image *image)
{
    struct hp_unwind_table table;
    hp_unwind_table_make(&table, &image->file, &image->file);
    for (size_t at = 0; at < table.count; at++) {
        REQUIRE(at == 0 || table.starts[at - 1] < table.starts[at]);
        hp_unwind_table_find(&table, table.base + table.starts[at]);
    }
    hp_unwind_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct hp_image_set images = {.count = 0};
    struct hp_symbolizer symbolizer = {.sysroot = "/nowhere"}; /* otherwise files of this machine would be used */
    if (size > LARGEST_INPUT || size < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return 0;
    write_file(bytes, size);
    const struct hp_image_place place = {.path = path};
    const struct hp_image *image = hp_image_set_find(&images, &place);
    REQUIRE(image != NULL);
    if (image->is_readable) {
        look_everywhere(&symbolizer, image);
        make_table(image);
    }
    hp_symbolizer_free(&symbolizer);
    hp_image_set_free(&images);
    return 0;
}
