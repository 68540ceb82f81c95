/*
 * An open program or library file: its sections by name, its build-id and the name of its debug file. Its contents
 * are not trusted. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_IMAGE_FILE_H
#define HP_ELF_IMAGE_FILE_H

#include "elf_file.h"

#define HP_BUILD_ID_MOST 32u /* bytes; usually 20 or 16 */

struct hp_build_id {
    uint8_t bytes[HP_BUILD_ID_MOST];
    size_t size; /* 0: none */
};

struct hp_image_file {
    int fd; /* -1: none */
    struct hp_elf elf;
    ElfW(Shdr) * sections;
    size_t section_count;
    char *section_names;
    size_t section_names_size;
    struct hp_build_id build_id;
};

/* Reads an open file, and takes over the descriptor. False: not such a file, and the descriptor is closed. */
bool hp_image_file_read(struct hp_image_file *file, int fd);
void hp_image_file_close(struct hp_image_file *file);

/* The kernel's vDSO, which is the same in every process, as a file; -1: there is none. */
int hp_image_file_open_vdso(void);

bool hp_image_file_section_at(const struct hp_image_file *file, size_t index, ElfW(Shdr) * ret_section);

/* A section that has bytes in the file. */
bool hp_image_file_section(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section);

/* A copy of its bytes, for hp_memory_unmap; NULL: missing, or compressed. */
void *hp_image_file_copy(const struct hp_image_file *file, const char *name, ElfW(Shdr) * ret_section);

/* The file name and the CRC in the debug link. False: no such link. */
bool hp_image_file_debug_link(const struct hp_image_file *file, char *name, size_t size, uint32_t *ret_sum);

/* In hexadecimal, with a terminating zero; "": none. */
#define HP_BUILD_ID_TEXT (2 * HP_BUILD_ID_MOST + 1)
void hp_build_id_put(const struct hp_build_id *id, char text[HP_BUILD_ID_TEXT]);

bool hp_build_id_equal(const struct hp_build_id *a, const struct hp_build_id *b);

/*
 * The number to add to a file offset to get the link-time address, for a part of the file that is mapped as code;
 * modulo 2^64. False: no code of the file is there.
 */
bool hp_image_file_bias(const struct hp_image_file *file, uint64_t offset, uint64_t size, uint64_t *ret_bias);

/* ------------------------------------------------------------------------------------------------------ linkage */

/*
 * How a program or library is linked: for which machine, by which dynamic linker, with which names. The file may
 * be for any machine, but of others only the machine is known.
 */

struct hp_linkage {
    int fd;
    ElfW(Ehdr) header;
    ElfW(Phdr) dynamic; /* where its dynamic entries are */
    char linker[256];   /* the path of its dynamic linker; "": none */
};

/* Reads an open file, which must stay open. False: not an ELF file. */
bool hp_linkage_read(struct hp_linkage *linkage, int fd);

bool hp_linkage_is_same_machine(const struct hp_linkage *a, const struct hp_linkage *b);

/* Whether the names of libraries and symbols that the dynamic linker knows contain one of these texts. */
bool hp_linkage_names_any(const struct hp_linkage *linkage, const char *const *texts, size_t count);

/* Whether it has a function of one of these names. */
bool hp_linkage_defines_any(const struct hp_linkage *linkage, const char *const *names, size_t count);

#endif
