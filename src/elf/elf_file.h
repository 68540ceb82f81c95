/*
 * An ELF file of this machine's kind: its header, segments, sections, notes and symbols. Nothing in the file is
 * trusted before it is checked. Tables are copied, since a mapping would fault if someone truncated the file. No
 * heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_ELF_FILE_H
#define HP_ELF_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_ELF_PARTS 16u /* loaded segments of a file; usually four or five */

/* A segment: its place in the file, and its linked address. */
struct hp_elf_part {
    uint64_t offset, size, linked;
    bool is_code;
};

struct hp_elf {
    ElfW(Ehdr) header;
    struct hp_elf_part parts[HP_ELF_PARTS];
    size_t part_count;
};

/* False: not such a file. */
bool hp_elf_read(struct hp_elf *elf, int fd);

/* The linked address of a file offset. */
bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address);

/* Parts of the file. A copy has its own memory, for hp_memory_unmap; NULL: not in the file. */
bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size);
void *hp_elf_copy(int fd, uint64_t offset, uint64_t size);
char *hp_elf_copy_texts(int fd, const ElfW(Shdr) * section, size_t *ret_size); /* terminates the last one */
/* The header of a file for any machine. False: not an ELF file. */
bool hp_elf_read_header(int fd, ElfW(Ehdr) * ret_header);
/* Headers of segments and sections. False: after the last one, or beyond the end of the file. */
bool hp_elf_part_header(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Phdr) * ret_part);
bool hp_elf_section(const ElfW(Ehdr) * header, int fd, size_t index, ElfW(Shdr) * ret_section);

/* A note, in a file or in memory. */
struct hp_elf_note {
    uint32_t type;
    const char *name;
    size_t name_size;
    const char *value;
    size_t size; /* of the value */
};

/* Reads a note, and returns where the next one begins. NULL: no complete note is left. */
const char *hp_elf_note_at(const char *at, const char *end, struct hp_elf_note *ret_note);
bool hp_elf_note_is(const struct hp_elf_note *note, const char *name, uint32_t type);

/* ---------------------------------------------------------------------------------------- functions, by address */

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
