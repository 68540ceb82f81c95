/*
 * A program or library file that is open, to look things up in: its sections by name, its build-id and the name of the file that has its debug information. Nothing in it is believed. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_IMAGE_FILE_H
#define HP_SYMBOLS_IMAGE_FILE_H

#include "elf_file.h"

#define HP_BUILD_ID_MOST 32u /* bytes; there are 20, or 16 */

struct hp_build_id {
    uint8_t bytes[HP_BUILD_ID_MOST];
    size_t size; /* 0: none */
};

struct hp_image_file {
    int fd;            /* -1: none */
    struct hp_elf elf; /* without symbols */
    ElfW(Shdr) * sections;
    size_t section_count;
    char *section_names;
    size_t section_names_size;
    struct hp_build_id build_id;
};

/* Reads an open file, and keeps the descriptor. False: it is no such file, and the descriptor is closed. */
bool hp_image_file_read(struct hp_image_file *file, int fd);
void hp_image_file_close(struct hp_image_file *file);

bool hp_image_file_section_at(const struct hp_image_file *file, size_t index, ElfW(Shdr) * ret_section);

/* A section that has bytes in the file. */
bool hp_image_file_section(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section);

/* A copy of its bytes, for hp_memory_unmap; NULL: it is not there, or is compressed. */
void *hp_image_file_copy(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section);

/* The name that the debug link gives, and the sum over all bytes of the file that is meant. False: no such link. */
bool hp_image_file_debug_link(const struct hp_image_file *file, char *name, size_t size, uint32_t *ret_sum);

/* In hexadecimal, ended by a zero; "": there is none. */
#define HP_BUILD_ID_TEXT (2 * HP_BUILD_ID_MOST + 1)
void hp_build_id_put(const struct hp_build_id *id, char text[HP_BUILD_ID_TEXT]);

bool hp_build_id_equal(const struct hp_build_id *a, const struct hp_build_id *b);

/*
 * What turns a place in the file into the address the linker gave it, for a piece of the file that is mapped as code: add it,
 * modulo 2^64. False: no code of the file is there.
 */
bool hp_image_file_bias(const struct hp_image_file *file, uint64_t offset, uint64_t size, uint64_t *ret_bias);

#endif
