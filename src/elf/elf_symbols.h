/* Functions in an ELF file, by address. No heap. SPDX-License-Identifier: MIT */
#ifndef HP_ELF_ELF_SYMBOLS_H
#define HP_ELF_ELF_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* A symbol table and the names in it. */
struct hp_elf_table {
    ElfW(Sym) * symbols; /* in file order */
    size_t count;
    char *names; /* the string table */
    size_t names_size;
};

struct hp_elf_symbols {
    struct hp_elf_table table;
    ElfW(Sym) * *sorted; /* functions by address */
    size_t count;
    ElfW(Sym) * *sources; /* symbols that name sources, in file order */
    size_t source_count;
};

/* Reads those of a file with this header into a zeroed struct. Without symbols there are no functions. */
void hp_elf_symbols_read(struct hp_elf_symbols *symbols, const ElfW(Ehdr) * header, int fd);
void hp_elf_symbols_free(struct hp_elf_symbols *symbols);

/*
 * The last function that begins at or before the address, if it reaches that far. If there are several, always the
 * same one.
 */
const ElfW(Sym) * hp_elf_function(const struct hp_elf_symbols *symbols, uint64_t address);

/* Of a function. The source file is known for static ones, as passed to the compiler; else "". */
uint64_t hp_elf_start(const ElfW(Sym) * symbol);
const char *hp_elf_name(const struct hp_elf_table *table, const ElfW(Sym) * symbol);
const char *hp_elf_source(const struct hp_elf_symbols *symbols, const ElfW(Sym) * symbol);

/* A symbol table in these sections of a file. Either part may be missing then. */
void hp_elf_copy_table(struct hp_elf_table *table, int fd, const ElfW(Shdr) * symbols, const ElfW(Shdr) * names);
void hp_elf_free_table(struct hp_elf_table *table);

#endif
