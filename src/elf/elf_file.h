/*
 * An ELF file of this machine's kind: its header, segments, sections and notes. Nothing in the file is trusted
 * before it is checked. Tables are copied, since a mapping would fault if someone truncated the file. No heap.
 * SPDX-License-Identifier: MIT
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

#endif
