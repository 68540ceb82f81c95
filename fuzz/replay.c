/*
 * Runs a fuzz target once on every file of a folder: libFuzzer's -runs=0 for builds without libFuzzer.
 * SPDX-License-Identifier: MIT
 */
#define _FILE_OFFSET_BITS 64 /* for folders of large file systems on 32-bit machines */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replay(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    /* Of exactly the input's size, so that a sanitizer sees the first byte read beyond it. */
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size ? size : 1);
    const int failed = !bytes || fread(bytes, 1, size, file) != size;
    fclose(file);
    if (failed)
        perror(path);
    else
        LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return failed;
}

int main(int argc, char **argv)
{
    int count = 0, failures = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] != '.') {
            count++;
            failures += replay(argv[1], entry->d_name);
        }
    }
    closedir(folder);
    printf("%d inputs\n", count);
    return failures > 0 || count == 0;
}
