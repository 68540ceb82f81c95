/*
 * The functions of a file by address. Functions written in assembly often have no size: they extend to the next
 * one, but not beyond their section. SPDX-License-Identifier: MIT
 */
#include "function_names.h"

#include <stdlib.h>

/* Caches the last section, since neighbours are in the same. */
struct reading {
    const struct hp_image_file *file;
    const struct hp_elf_symbols *symbols;
    size_t section;
    uint64_t section_end;
};

static uint64_t end_of_section(struct reading *reading, const ElfW(Sym) * symbol)
{
    ElfW(Shdr) section;
    if (reading->section != symbol->st_shndx) {
        reading->section = symbol->st_shndx;
        reading->section_end = 0;
        if (hp_image_file_section_at(reading->file, symbol->st_shndx, &section))
            reading->section_end = section.sh_addr + section.sh_size;
    }
    return reading->section_end;
}

static uint64_t end_without_size(struct reading *reading, size_t at)
{
    const struct hp_elf_symbols *symbols = reading->symbols;
    const uint64_t start = hp_elf_start(symbols->sorted[at]), end = end_of_section(reading, symbols->sorted[at]);
    while (at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) == start)
        at++;
    return at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) < end
               ? hp_elf_start(symbols->sorted[at + 1])
               : end;
}

/* Of aliases, one with a size is preferred, then the last, which the reader has sorted there. */
static bool is_alias_of_next(const struct hp_elf_symbols *symbols, size_t at)
{
    return at + 1 < symbols->count && hp_elf_start(symbols->sorted[at + 1]) == hp_elf_start(symbols->sorted[at]) &&
           (symbols->sorted[at + 1]->st_size > 0 || symbols->sorted[at]->st_size == 0);
}

static bool add_function(struct reading *reading, struct hp_ranges *ranges, size_t at)
{
    const struct hp_elf_symbols *symbols = reading->symbols;
    const ElfW(Sym) *symbol = symbols->sorted[at];
    const uint64_t start = hp_elf_start(symbol), size = symbol->st_size;
    struct hp_range range = {.start = start, .value = (uint32_t)at, .rank = size > 0};
    if (is_alias_of_next(symbols, at) || hp_elf_name(&symbols->table, symbol)[0] == '\0')
        return true;
    range.end = size == 0 ? end_without_size(reading, at) : start + size;
    return hp_ranges_add(ranges, &range);
}

bool hp_function_names_make(struct hp_function_names *names, const struct hp_image_file *file)
{
    struct hp_ranges ranges = {.count = 0};
    const struct hp_elf_symbols *symbols = &names->symbols;
    struct reading reading = {.file = file, .symbols = symbols, .section = SHN_UNDEF};
    hp_elf_symbols_read(&names->symbols, &file->elf.header, file->fd);
    bool is_good = symbols->count < HP_RANGE_NONE;
    for (size_t at = 0; is_good && at < symbols->count; at++)
        is_good = add_function(&reading, &ranges, at);
    is_good = is_good && hp_range_index_make(&names->index, &ranges);
    free(ranges.all);
    return is_good;
}

void hp_function_names_free(struct hp_function_names *names)
{
    hp_range_index_free(&names->index);
    hp_elf_symbols_free(&names->symbols);
}

const char *hp_function_names_find(const struct hp_function_names *names, uint64_t linked)
{
    const uint32_t number = hp_range_index_find(&names->index, linked);
    return number != HP_RANGE_NONE ? hp_elf_name(&names->symbols.table, names->symbols.sorted[number]) : "";
}
