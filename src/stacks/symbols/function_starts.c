/*
 * Finds where functions begin, by .eh_frame_hdr. It has a sorted table of pairs: start of a function and address of
 * its FDE, both relative to the section, in four bytes each. An FDE has the length of the function. Other encodings
 * are possible but unused. SPDX-License-Identifier: MIT
 */
#include "function_starts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "debug_file.h"
#include "elf_file.h"
#include "files.h"
#include "image_file.h"
#include "memory.h"

#define HEAD 12u /* version, three encodings, the address of .eh_frame, the number of pairs */
#define PAIR 8u
#define FOUR_BYTES 0x03u       /* of a number */
#define FOUR_BYTES_HERE 0x1bu  /* signed, relative to its own address */
#define FOUR_BYTES_INDEX 0x3bu /* signed, relative to the section */

static int32_t load32(const uint8_t *at)
{
    int32_t number;
    memcpy(&number, at, sizeof number);
    return number;
}

static bool is_usual(const uint8_t *index)
{
    return index[0] == 1 && index[1] == FOUR_BYTES_HERE && index[2] == FOUR_BYTES && index[3] == FOUR_BYTES_INDEX;
}

void hp_function_starts_read(struct hp_function_starts *starts, const struct hp_image_file *file)
{
    ElfW(Shdr) section;
    uint8_t *index = file->fd >= 0 && hp_image_file_section(file, ".eh_frame", &starts->descriptions)
                         ? hp_image_file_copy(file, ".eh_frame_hdr", &section)
                         : NULL;
    if (index == NULL)
        return;
    starts->index = index;
    starts->index_bytes = (size_t)section.sh_size;
    starts->index_linked = section.sh_addr;
    if (starts->index_bytes < HEAD || !is_usual(index)) {
        hp_function_starts_free(starts);
        return;
    }
    const size_t most = (starts->index_bytes - HEAD) / PAIR, count = (uint32_t)load32(index + 8);
    starts->count = count < most ? count : most;
}

void hp_function_starts_free(struct hp_function_starts *starts)
{
    if (starts->index != NULL)
        hp_memory_unmap(starts->index, starts->index_bytes);
    *starts = (struct hp_function_starts){.index = NULL};
}

/* The first or the second number of a pair, as an address. */
static uint64_t number_of(const struct hp_function_starts *starts, size_t pair, size_t which)
{
    return starts->index_linked + (uint64_t)(int64_t)load32(starts->index + HEAD + pair * PAIR + which * 4);
}

/* Reads an FDE: its length, the offset of its CIE, the start and the length of the function. */
static bool reaches(const struct hp_function_starts *starts, const struct hp_image_file *file, size_t pair,
                    uint64_t linked)
{
    uint8_t bytes[16];
    const uint64_t start = number_of(starts, pair, 0), description = number_of(starts, pair, 1);
    const uint64_t offset = description - starts->descriptions.sh_addr;
    if (offset >= starts->descriptions.sh_size ||
        !hp_elf_read_at(file->fd, starts->descriptions.sh_offset + offset, bytes, sizeof bytes) ||
        description + 8 + (uint64_t)(int64_t)load32(bytes + 8) != start)
        return false;
    return linked - start < (uint32_t)load32(bytes + 12);
}

uint64_t hp_function_starts_find(const struct hp_function_starts *starts, const struct hp_image_file *file,
                                 uint64_t linked)
{
    size_t low = 0, high = starts->count; /* of those that begin at or before the address */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (number_of(starts, middle, 0) <= linked)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && reaches(starts, file, low - 1, linked) ? number_of(starts, low - 1, 0) : linked;
}

/* -------------------------------------------------------------------------------------- the range of a function */

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
