/*
 * How a program or library is linked: for which machine, by which dynamic linker, with which names. The file may be
 * for any machine, but of others only the machine is known. SPDX-License-Identifier: MIT
 */
#ifndef HP_ELF_LINKAGE_H
#define HP_ELF_LINKAGE_H

#include "elf_file.h"

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
