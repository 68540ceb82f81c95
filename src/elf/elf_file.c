/* An ELF file. SPDX-License-Identifier: MIT */
#include "elf_file.h"

#include <errno.h>
#include <string.h>

#include "memory.h"
#include "raw_call.h"
#include "sort.h"

#define MAX_TABLE (UINT64_C(1) << 30)

bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = hp_sys_pread(fd, (char *)bytes + done, size - done, offset + done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void *hp_elf_copy(int fd, uint64_t offset, uint64_t size)
{
    void *bytes = size > 0 && size <= MAX_TABLE ? hp_memory_map((size_t)size) : NULL;
    if (bytes != NULL && !hp_elf_read_at(fd, offset, bytes, (size_t)size)) {
        hp_memory_unmap(bytes, (size_t)size);
        return NULL;
    }
    return bytes;
}

/* The last text ends, whatever the file says. */
char *hp_elf_copy_texts(int fd, const ElfW(Shdr) * section, size_t *ret_size)
{
    char *texts = hp_elf_copy(fd, section->sh_offset, section->sh_size);
    *ret_size = texts != NULL ? (size_t)section->sh_size : 0;
    if (texts != NULL)
        texts[*ret_size - 1] = '\0';
    return texts;
}

bool hp_elf_section(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Shdr) * ret_section)
{
    return index < header->e_shnum &&
           hp_elf_read_at(fd, header->e_shoff + index * sizeof *ret_section, ret_section, sizeof *ret_section);
}

bool hp_elf_part_header(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Phdr) * ret_part)
{
    return index < header->e_phnum &&
           hp_elf_read_at(fd, header->e_phoff + index * sizeof *ret_part, ret_part, sizeof *ret_part);
}

bool hp_elf_read_header(int fd, ElfW(Ehdr) * ret_header)
{
    return hp_elf_read_at(fd, 0, ret_header, sizeof *ret_header) &&
           memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0;
}

static bool has_own_form(const ElfW(Ehdr) * header)
{
    return header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           header->e_phentsize == sizeof(ElfW(Phdr)) && header->e_shentsize == sizeof(ElfW(Shdr));
}

static void read_parts(struct hp_elf *elf, int fd)
{
    ElfW(Phdr) part;
    elf->part_count = 0;
    for (size_t at = 0; elf->part_count < HP_ELF_PARTS && hp_elf_part_header(&elf->header, fd, at, &part); at++)
        if (part.p_type == PT_LOAD)
            elf->parts[elf->part_count++] =
                (struct hp_elf_part){part.p_offset, part.p_filesz, part.p_vaddr, (part.p_flags & PF_X) != 0};
}

bool hp_elf_read(struct hp_elf *elf, int fd)
{
    if (!hp_elf_read_header(fd, &elf->header) || !has_own_form(&elf->header))
        return false;
    read_parts(elf, fd);
    return true;
}

bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address)
{
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        if (offset >= part->offset && offset - part->offset < part->size) {
            *ret_address = offset - part->offset + part->linked;
            return true;
        }
    }
    return false;
}

/* Header, name and value. The last two are padded to a multiple of four bytes. */
const char *hp_elf_note_at(const char *at, const char *end, struct hp_elf_note *ret_note)
{
    ElfW(Nhdr) head;
    const uint64_t left = (uint64_t)(end - at);
    if (left < sizeof head)
        return NULL;
    memcpy(&head, at, sizeof head);
    const uint64_t value_at = sizeof head + ((uint64_t)head.n_namesz + 3) / 4 * 4;
    const uint64_t size = (value_at + head.n_descsz + 3) / 4 * 4;
    if (value_at + head.n_descsz > left)
        return NULL;
    *ret_note = (struct hp_elf_note){.type = head.n_type,
                                     .name = at + sizeof head,
                                     .name_size = head.n_namesz,
                                     .value = at + value_at,
                                     .size = head.n_descsz};
    return size < left ? at + size : end;
}

bool hp_elf_note_is(const struct hp_elf_note *note, const char *name, uint32_t type)
{
    return note->type == type && note->name_size == strlen(name) + 1 &&
           memcmp(note->name, name, note->name_size) == 0;
}

/* ---------------------------------------------------------------------------------------- functions, by address */

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
