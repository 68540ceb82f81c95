/*
 * Where functions of the program begin and end. Files are read where the program mapped them, each index once.
 * SPDX-License-Identifier: MIT
 */
#include "code_ranges.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "execution.h"

#define MOST_FILES 512u
#define MOST_PARTS 64u /* program headers */
#define MOST_FUNCTIONS 4000000u
#define CODE_PAGE UINT64_C(4096)
#define ALIGNED 16u /* the beginnings of functions */

/* The usual encodings, which all linkers write: 4 bytes, of the table relative to the index. */
#define VERSION 1
#define POINTER_OF_4_BYTES 0x1b
#define COUNT_OF_4_BYTES 0x03
#define TABLE_OF_4_BYTES 0x3b

struct index {
    uint8_t version, pointer_encoding, count_encoding, table_encoding;
    int32_t frames;
    uint32_t count;
};

struct entry {
    int32_t begin, description;
};

struct description {
    uint32_t length, common;
    int32_t begin; /* relative to here */
    int32_t size;
};

static struct file {
    uint64_t begin, end, inode;
    uint64_t index; /* its address */
    struct entry *functions;
    uint32_t *sizes; /* of them; 0: not asked yet */
    uint32_t count;
} files[MOST_FILES];
static unsigned file_count;

static void read_index(struct file *file, uint64_t address)
{
    struct index index;
    if (!hp_guest_copy(&index, address, sizeof index, false) || index.version != VERSION ||
        index.pointer_encoding != POINTER_OF_4_BYTES || index.count_encoding != COUNT_OF_4_BYTES ||
        index.table_encoding != TABLE_OF_4_BYTES || index.count == 0 || index.count > MOST_FUNCTIONS)
        return;
    struct entry *functions = malloc(index.count * sizeof *functions);
    uint32_t *sizes = calloc(index.count, sizeof *sizes);
    if (functions != NULL && sizes != NULL &&
        hp_guest_copy(functions, address + sizeof index, index.count * sizeof *functions, false)) {
        file->index = address;
        file->functions = functions;
        file->sizes = sizes;
        file->count = index.count;
    } else {
        free(functions);
        free(sizes);
    }
}

static void read_file(struct file *file)
{
    Elf64_Ehdr header;
    Elf64_Phdr parts[MOST_PARTS];
    uint64_t first = UINT64_MAX, end = 0, index = 0;
    if (!hp_guest_copy(&header, file->begin, sizeof header, false) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof parts[0] || header.e_phnum > MOST_PARTS ||
        !hp_guest_copy(parts, file->begin + header.e_phoff, header.e_phnum * sizeof parts[0], false))
        return;
    for (unsigned at = 0; at < header.e_phnum; at++) {
        if (parts[at].p_type == PT_GNU_EH_FRAME)
            index = parts[at].p_vaddr;
        if (parts[at].p_type != PT_LOAD)
            continue;
        first = parts[at].p_vaddr < first ? parts[at].p_vaddr : first;
        end = parts[at].p_vaddr + parts[at].p_memsz > end ? parts[at].p_vaddr + parts[at].p_memsz : end;
    }
    const uint64_t bias = file->begin - first / CODE_PAGE * CODE_PAGE;
    if (end == 0)
        return;
    file->end = bias + end;
    if (index != 0)
        read_index(file, bias + index);
}

void hp_code_ranges_add_file(uint64_t begin, uint64_t inode)
{
    struct file *file = files;
    while (file < &files[file_count] && file->begin != begin)
        file++;
    if (file == &files[MOST_FILES] || (file < &files[file_count] && file->inode == inode))
        return;
    file_count += file == &files[file_count];
    free(file->functions);
    free(file->sizes);
    *file = (struct file){.begin = begin, .inode = inode};
    read_file(file);
}

static uint32_t read_size(const struct file *file, const struct entry *function)
{
    struct description description;
    const uint64_t at = file->index + (uint64_t)(int64_t)function->description;
    if (!hp_guest_copy(&description, at, sizeof description, false))
        return UINT32_MAX;
    const uint64_t begin = at + offsetof(struct description, begin) + (uint64_t)(int64_t)description.begin;
    const bool is_usual = begin == file->index + (uint64_t)(int64_t)function->begin && description.size > 0;
    return is_usual ? (uint32_t)description.size : UINT32_MAX; /* other encodings say something else there */
}

/* UINT32_MAX: unknown. Each is read once. */
static uint32_t size_of(const struct file *file, uint32_t function)
{
    if (file->sizes[function] == 0)
        file->sizes[function] = read_size(file, &file->functions[function]);
    return file->sizes[function];
}

static uint64_t begin_of(const struct file *file, uint32_t function)
{
    return function < file->count ? file->index + (uint64_t)(int64_t)file->functions[function].begin : file->end;
}

/* Between functions that the index has, there may be others. */
static struct hp_code_range range_in(const struct file *file, uint64_t address)
{
    const int64_t wanted = (int64_t)(address - file->index);
    uint32_t low = 0, high = file->count; /* the first that begins behind it */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (file->functions[middle].begin <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return (struct hp_code_range){0, 0};
    const uint64_t begin = begin_of(file, low - 1), next = begin_of(file, low);
    const uint32_t size = size_of(file, low - 1);
    const uint64_t end = size > next - begin ? next : begin + size;
    const uint64_t between = (end + ALIGNED - 1) / ALIGNED * ALIGNED;
    return address < end || between >= next ? (struct hp_code_range){begin, end}
                                            : (struct hp_code_range){between > address ? end : between, next};
}

struct hp_code_range hp_code_range_of(uint64_t address)
{
    struct hp_code_range range = {0, 0};
    for (const struct file *file = files; file < &files[file_count] && range.begin == 0; file++)
        if (address >= file->begin && address < file->end)
            range = range_in(file, address);
    if (range.begin == 0)
        range = (struct hp_code_range){address / CODE_PAGE * CODE_PAGE, (address / CODE_PAGE + 1) * CODE_PAGE};
    return range;
}
