/*
 * Looks up symbols as the dynamic linker does, by a library's hash table: the GNU one, which all have on Linux, or
 * else the standard one. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "loaded_function.h"

#include <string.h>

#include "loaded_image.h"

/* The symbol tables of an image. */
struct table {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *gnu, *standard; /* NULL: no such table */
};

struct search {
    const char *name;
    bool is_behind_us;
    struct hp_loaded_function *found;
};

/* Some dynamic linkers relocate these addresses, others leave the values of the file. */
static const void *address_in(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? base + value : value);
}

static bool read_table(const struct dl_phdr_info *image, struct table *ret_table)
{
    const ElfW(Dyn) *entry = hp_loaded_dynamic(image);
    const uintptr_t base = image->dlpi_addr;
    *ret_table = (struct table){.base = base};
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        const void *address = address_in(base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            ret_table->symbols = address;
        else if (entry->d_tag == DT_STRTAB)
            ret_table->names = address;
        else if (entry->d_tag == DT_GNU_HASH)
            ret_table->gnu = address;
        else if (entry->d_tag == DT_HASH)
            ret_table->standard = address;
    }
    return ret_table->symbols != NULL && ret_table->names != NULL;
}

/* The address of the symbol, if it is that function; else 0. */
static uintptr_t match(const struct table *table, uint32_t number, const char *name)
{
    const ElfW(Sym) *symbol = &table->symbols[number];
    const bool is_function = (symbol->st_info & 15) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
    return is_function && strcmp(table->names + symbol->st_name, name) == 0 ? table->base + symbol->st_value : 0;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* Four numbers, a filter of words, buckets, and chains of hashes whose lowest bit marks the end of the chain. */
static uintptr_t find_by_gnu(const struct table *table, const char *name)
{
    const uint32_t *context = table->gnu, hash = gnu_hash(name);
    const uint32_t bucket_count = context[0], first = context[1], filter_words = context[2];
    const uint32_t *buckets =
        (const uint32_t *)(const void *)((const ElfW(Addr) *)(const void *)(context + 4) + filter_words);
    const uint32_t *chains = buckets + bucket_count;
    uint32_t number = bucket_count > 0 ? buckets[hash % bucket_count] : 0;
    if (number < first || number == 0)
        return 0;
    for (;; number++) {
        const uint32_t there = chains[number - first];
        const uintptr_t address = (there | 1) == (hash | 1) ? match(table, number, name) : 0;
        if (address != 0 || there & 1)
            return address;
    }
}

static uintptr_t find_by_standard(const struct table *table, const char *name)
{
    const uint32_t symbol_count = table->standard[1];
    uintptr_t address = 0;
    for (uint32_t number = 1; number < symbol_count && address == 0; number++)
        address = match(table, number, name);
    return address;
}

static int look_into(struct dl_phdr_info *image, size_t size, void *context)
{
    struct search *search = context;
    struct table table;
    (void)size;
    if (!search->is_behind_us) {
        search->is_behind_us = hp_loaded_segment(image, PT_LOAD, (uintptr_t)hp_loaded_find) != NULL;
        return 0;
    }
    if (!read_table(image, &table) || (table.gnu == NULL && table.standard == NULL))
        return 0;
    const uintptr_t address =
        table.gnu != NULL ? find_by_gnu(&table, search->name) : find_by_standard(&table, search->name);
    const ElfW(Phdr) *part = address != 0 ? hp_loaded_segment(image, PT_LOAD, address) : NULL;
    if (part != NULL)
        *search->found = (struct hp_loaded_function){address, hp_loaded_start(image, part), part->p_memsz};
    return part != NULL;
}

bool hp_loaded_find(const char *name, struct hp_loaded_function *ret_function)
{
    struct search search = {.name = name, .found = ret_function};
    return dl_iterate_phdr(look_into, &search) != 0;
}
