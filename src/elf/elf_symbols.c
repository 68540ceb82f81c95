/* Functions in an ELF file. SPDX-License-Identifier: MIT */
#include "elf_symbols.h"

#include <string.h>

#include "elf_file.h"
#include "memory.h"
#include "sort.h"

void hp_elf_copy_table(struct hp_elf_table *table, int fd, const ElfW(Shdr) * symbols, const ElfW(Shdr) * names)
{
    table->count = (size_t)symbols->sh_size / sizeof *table->symbols;
    table->symbols = hp_elf_copy(fd, symbols->sh_offset, table->count * sizeof *table->symbols);
    table->count = table->symbols != NULL ? table->count : 0;
    table->names = hp_elf_copy_texts(fd, names, &table->names_size);
}

void hp_elf_free_table(struct hp_elf_table *table)
{
    if (table->symbols != NULL)
        hp_memory_unmap(table->symbols, table->count * sizeof *table->symbols);
    if (table->names != NULL)
        hp_memory_unmap(table->names, table->names_size);
    *table = (struct hp_elf_table){.count = 0};
}

/* The table of all symbols; in a stripped file that of the exported ones. */
static bool find_table(const ElfW(Ehdr) * header, int fd, ElfW(Shdr) * ret_table)
{
    ElfW(Shdr) section;
    bool is_found = false;
    for (size_t index = 0; hp_elf_section(header, fd, index, &section); index++)
        if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !is_found)) {
            *ret_table = section;
            is_found = true;
        }
    return is_found && ret_table->sh_entsize == sizeof(ElfW(Sym));
}

static bool is_function(const ElfW(Sym) * symbol)
{
    const unsigned type = symbol->st_info & 15;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

static bool is_source(const ElfW(Sym) * symbol) { return (symbol->st_info & 15) == STT_FILE; }

/* If a function has several names, a global one comes last, and that is the one found. */
static int compare_symbols(const void *a, const void *b)
{
    const ElfW(Sym) *x = a, *y = b;
    if (x->st_value != y->st_value)
        return x->st_value < y->st_value ? -1 : 1;
    const unsigned xb = x->st_info >> 4, yb = y->st_info >> 4;
    if ((xb == STB_GLOBAL) != (yb == STB_GLOBAL))
        return xb == STB_GLOBAL ? 1 : -1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/*
 * By address alone, with scratch memory that is freed at once; globals go after the others, equal ones stay in
 * order.
 */
static bool sort_by_address(struct hp_elf_symbols *symbols, size_t count)
{
    const size_t size = 2 * count * sizeof(struct hp_keyed);
    struct hp_keyed *items = count > 0 ? hp_memory_map(size) : NULL;
    size_t others = 0, globals = count;
    if (items == NULL)
        return false;
    for (size_t at = count; at-- > 0;)
        if (symbols->sorted[at]->st_info >> 4 == STB_GLOBAL)
            items[--globals] = (struct hp_keyed){symbols->sorted[at]->st_value, (uintptr_t)symbols->sorted[at]};
    for (size_t at = 0; others < globals; at++)
        if (symbols->sorted[at]->st_info >> 4 != STB_GLOBAL)
            items[others++] = (struct hp_keyed){symbols->sorted[at]->st_value, (uintptr_t)symbols->sorted[at]};
    hp_keyed_sort(items, items + count, count);
    for (size_t at = 0; at < count; at++)
        symbols->sorted[at] = (ElfW(Sym) *)(uintptr_t)items[at].value; /* NOLINT(performance-no-int-to-ptr) */
    hp_memory_unmap(items, size);
    return true;
}

/*
 * Functions from the start of the table, sorted by address; from its end the names of sources, in file order. No
 * symbol is both, so there is room. `count` is set last: a child forked meanwhile finds a sorted table, or none.
 */
static void sort_symbols(struct hp_elf_symbols *symbols)
{
    const size_t total = symbols->table.count;
    size_t count = 0;
    symbols->sorted = hp_memory_map((total + 1) * sizeof(ElfW(Sym) *));
    if (symbols->sorted == NULL)
        return;
    symbols->sources = symbols->sorted + total + 1;
    for (size_t at = 0; at < total; at++)
        if (is_function(&symbols->table.symbols[at]))
            symbols->sorted[count++] = &symbols->table.symbols[at];
    for (size_t at = total; at-- > 0;)
        if (is_source(&symbols->table.symbols[at]))
            *--symbols->sources = &symbols->table.symbols[at];
    symbols->source_count = (size_t)(symbols->sorted + total + 1 - symbols->sources);
    if (!sort_by_address(symbols, count))
        hp_sort(symbols->sorted, count, compare_symbols);
    __atomic_store_n(&symbols->count, count, __ATOMIC_RELEASE);
}

void hp_elf_symbols_read(struct hp_elf_symbols *symbols, const ElfW(Ehdr) * header, int fd)
{
    ElfW(Shdr) table = {0}, strings;
    if (!find_table(header, fd, &table) || !hp_elf_section(header, fd, table.sh_link, &strings))
        return;
    hp_elf_copy_table(&symbols->table, fd, &table, &strings);
    if (symbols->table.names != NULL && symbols->table.symbols != NULL)
        sort_symbols(symbols);
}

void hp_elf_symbols_free(struct hp_elf_symbols *symbols)
{
    if (symbols->sorted != NULL)
        hp_memory_unmap(symbols->sorted, (symbols->table.count + 1) * sizeof(ElfW(Sym) *));
    hp_elf_free_table(&symbols->table);
    *symbols = (struct hp_elf_symbols){.count = 0};
}

/* --------------------------------------------------------------------------------------------- finding */

uint64_t hp_elf_start(const ElfW(Sym) * symbol)
{
#if defined(__arm__)
    return symbol->st_value & ~UINT64_C(1);
#else
    return symbol->st_value;
#endif
}

const ElfW(Sym) * hp_elf_function(const struct hp_elf_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (hp_elf_start(symbols->sorted[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const ElfW(Sym) *symbol = symbols->sorted[low - 1];
    const uint64_t into = address - hp_elf_start(symbol);
    return into == 0 || into < symbol->st_size ? symbol : NULL;
}

const char *hp_elf_name(const struct hp_elf_table *table, const ElfW(Sym) * symbol)
{
    return symbol->st_name < table->names_size ? table->names + symbol->st_name : "";
}

/* Static functions come after the name of their source in the file. There may be millions after one. */
const char *hp_elf_source(const struct hp_elf_symbols *symbols, const ElfW(Sym) * symbol)
{
    size_t low = 0, high = symbols->source_count;
    if (symbol->st_info >> 4 != STB_LOCAL)
        return "";
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (symbols->sources[middle] <= symbol)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? hp_elf_name(&symbols->table, symbols->sources[low - 1]) : "";
}
