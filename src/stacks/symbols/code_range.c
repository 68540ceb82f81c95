/* Finds where functions begin and end. SPDX-License-Identifier: MIT */
#include "code_range.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "debug_file.h"
#include "elf_file.h"
#include "files.h"
#include "function_starts.h"
#include "image_file.h"

#define REACH 128u /* assumed length of a function after a place, if its end is unknown */

static bool is_meant(const struct hp_image_file *file, const char *build_id)
{
    char id[HP_BUILD_ID_TEXT];
    hp_build_id_put(&file->build_id, id);
    return build_id[0] == '\0' || strcmp(id, build_id) == 0;
}

static bool find_symbol(const struct hp_image_file *file, uint64_t place, struct hp_code_range *ret_range)
{
    struct hp_elf_symbols symbols = {.count = 0};
    if (file->fd >= 0)
        hp_elf_symbols_read(&symbols, &file->elf.header, file->fd);
    const ElfW(Sym) *symbol = hp_elf_function(&symbols, place);
    const bool is_found = symbol != NULL && symbol->st_size > 0;
    if (is_found)
        *ret_range = (struct hp_code_range){hp_elf_start(symbol), hp_elf_start(symbol) + symbol->st_size};
    hp_elf_symbols_free(&symbols);
    return is_found;
}

static void find_start(const struct hp_image_file *file, uint64_t place, struct hp_code_range *ret_range)
{
    struct hp_function_starts starts = {.count = 0};
    hp_function_starts_read(&starts, file);
    *ret_range = (struct hp_code_range){hp_function_starts_find(&starts, file, place), place + REACH};
    hp_function_starts_free(&starts);
}

static void find(const struct hp_image_file *file, const char *path, uint64_t place,
                 struct hp_code_range *ret_range)
{
    struct hp_image_file debug = {.fd = -1};
    if (find_symbol(file, place, ret_range))
        return;
    const bool is_found = hp_debug_file_open(file, path, NULL, &debug) && find_symbol(&debug, place, ret_range);
    if (debug.fd >= 0)
        hp_image_file_close(&debug);
    if (!is_found)
        find_start(file, place, ret_range);
}

enum hp_code_range_result hp_code_range_find(const char *path, const char *build_id, uint64_t place,
                                             struct hp_code_range *ret_range)
{
    struct hp_image_file file;
    const int fd = hp_regular_open(AT_FDCWD, path, O_RDONLY);
    if (fd < 0)
        return HP_CODE_NO_FILE;
    if (!hp_image_file_read(&file, fd)) {
        errno = ENOEXEC;
        return HP_CODE_NO_FILE;
    }
    const bool is_right = is_meant(&file, build_id);
    if (is_right)
        find(&file, path, place, ret_range);
    hp_image_file_close(&file);
    return is_right ? HP_CODE_FOUND : HP_CODE_OTHER_FILE;
}
