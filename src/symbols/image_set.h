/*
 * The programs and libraries that processes have mapped, each read once, however many processes have it and under whatever
 * path: they are known by their build-id, or by path and inode where they have none.
 *
 * A file that is not what was mapped is not used: its build-id differs, or it was deleted and something else stands in its
 * place. Where it can still be had from the process itself, it is. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_IMAGE_SET_H
#define HP_SYMBOLS_IMAGE_SET_H

#include <sys/types.h>

#include "image_file.h"

/* What is known of a mapped file. */
struct hp_image_place {
    const char *path;            /* as the kernel gives it, also "[vdso]" and with " (deleted)" behind it */
    pid_t pid;                   /* of a process that has it mapped; 0: not known */
    uint64_t start, end;         /* where it is mapped there; 0: not known */
    uint64_t inode;              /* 0: not known */
    struct hp_build_id build_id; /* without bytes: not known */
};

struct hp_image {
    uint32_t number; /* in the set, from 0 */
    char *path;      /* without " (deleted)" */
    uint64_t inode;
    bool is_readable; /* the file could be read, and is the one that was mapped */
    struct hp_image_file file;
};

struct hp_image_set {
    struct hp_image **all;
    size_t count, room;
    struct hp_image_name *names; /* which paths lead to which image */
    size_t name_count, name_room;
    const char *sysroot; /* put before all paths; NULL: none */
};

/* The image, read if it has not been. NULL: no memory. It stays where it is until the set is freed. */
struct hp_image *hp_image_set_find(struct hp_image_set *set, const struct hp_image_place *place);
void hp_image_set_free(struct hp_image_set *set);

#endif
