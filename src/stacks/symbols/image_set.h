/*
 * The programs and libraries that processes have mapped. Each is read once, however many processes have it and
 * under whatever path: it is identified by its build-id or, without one, by path and inode.
 *
 * A file that differs from the mapped one is not used: its build-id differs, or the mapped file was deleted and
 * replaced. If it is still available from the process, that one is used. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_IMAGE_SET_H
#define HP_SYMBOLS_IMAGE_SET_H

#include <sys/types.h>

#include "image_file.h"

/* What is known of a mapped file. */
struct hp_image_place {
    const char *path;            /* as the kernel reports it, also "[vdso]" and with " (deleted)" appended */
    pid_t pid;                   /* of a process that has it mapped; 0: unknown */
    uint64_t start, end;         /* its address there; 0: unknown */
    uint64_t inode;              /* 0: unknown */
    struct hp_build_id build_id; /* empty: unknown */
};

struct hp_image {
    uint32_t number; /* in the set, from 0 */
    char *path;      /* without " (deleted)" */
    uint64_t inode;
    bool is_readable; /* the file could be read, and is the mapped one */
    struct hp_image_file file;
};

struct hp_image_set {
    struct hp_image **all;
    size_t count, room;
    struct hp_image_name *names; /* maps paths to images */
    size_t name_count, name_room;
    const char *sysroot; /* put before all paths; NULL: none */
};

/* The image, read on first use. NULL: no memory. Valid until the set is freed. */
struct hp_image *hp_image_set_find(struct hp_image_set *set, const struct hp_image_place *place);
void hp_image_set_free(struct hp_image_set *set);

#endif
