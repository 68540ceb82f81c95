/*
 * What an ELF file of this machine's kind says about functions: where its parts are in memory, and the symbols of its
 * functions by address. Nothing in the file is believed before it is checked, and tables are copied, since a mapping of the
 * file would fault when somebody shortens it. Nothing is taken from the heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_ELF_FILE_H
#define HP_OS_ELF_FILE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_ELF_PARTS 16u /* loaded segments of a file; there are four or five */

/* A segment: where it is in the file, and where the linker put it. */
struct hp_elf_part {
    uint64_t offset, size, linked;
    bool is_code;
};

struct hp_elf {
    ElfW(Ehdr) header;
    struct hp_elf_part parts[HP_ELF_PARTS];
    size_t part_count;
    char *names; /* the table of strings */
    size_t names_size;
    ElfW(Sym) * symbols; /* as they are in the file */
    size_t symbols_size;
    ElfW(Sym) * *sorted; /* functions by address */
    size_t count;
    ElfW(Sym) * *sources; /* symbols that name sources, as they are in the file */
    size_t source_count;
};

/* Reads the file into a zeroed struct. False: it is no such file; without symbols there are no functions. */
bool hp_elf_read(struct hp_elf *elf, int fd);
bool hp_elf_begin(struct hp_elf *elf, int fd); /* without symbols */
void hp_elf_free(struct hp_elf *elf);

/* The address that the linker gave to what lies there in the file. */
bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address);

/* The last function that begins at or before the address, if it reaches that far; of several the same in every reading. */
const ElfW(Sym) * hp_elf_function(const struct hp_elf *elf, uint64_t address);

/* Of a function. The file is the source of a static one, as the compiler was told; else "". */
uint64_t hp_elf_start(const ElfW(Sym) * symbol);
const char *hp_elf_name(const struct hp_elf *elf, const ElfW(Sym) * symbol);
const char *hp_elf_source(const struct hp_elf *elf, const ElfW(Sym) * symbol);

/* Pieces of the file. A copy is memory of its own, for hp_memory_unmap; NULL when it is not there. */
bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size);
void *hp_elf_copy(int fd, uint64_t offset, uint64_t size);
/* Headers: false behind the last one, and where the file ends before that. */
bool hp_elf_part_header(const struct hp_elf *elf, int fd, size_t index, ElfW(Phdr) * ret_part);
bool hp_elf_section(const struct hp_elf *elf, int fd, size_t index, ElfW(Shdr) * ret_section);

#endif
