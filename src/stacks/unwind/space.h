/*
 * The code mappings of a process: which file is mapped where. Made from /proc/PID/maps, or from perf's mapping
 * records, in their order. SPDX-License-Identifier: MIT
 */
#ifndef HP_UNWIND_SPACE_H
#define HP_UNWIND_SPACE_H

#include "image_set.h"

struct hp_unwind_rule;
struct hp_unwind_table;

/* A range of addresses with code. */
struct hp_mapping {
    uint64_t start, end;
    struct hp_image *image; /* NULL: no file, as for code generated at run time */
    uint64_t bias;          /* added to an address, gives its link-time address in the image */
    bool has_bias;          /* it is code of the image */
};

#define HP_SPACE_REMEMBERED 1024u

/* A cached lookup of an address. */
struct hp_space_memory {
    uint64_t address;
    const struct hp_unwind_rule *rule; /* NULL: empty */
    struct hp_unwind_table *table;
};

struct hp_space {
    struct hp_mapping *all; /* sorted by address; they do not overlap */
    size_t count, room;
    uint64_t top; /* the end of the highest */
    struct hp_space_memory remembered[HP_SPACE_REMEMBERED];
};

/* Adds a code mapping, replacing what was there. False: no memory. */
bool hp_space_add(struct hp_space *space, struct hp_image_set *images, const struct hp_image_place *place,
                  uint64_t offset);

/* Adds all code mappings in the text of a /proc/PID/maps. */
bool hp_space_add_maps(struct hp_space *space, struct hp_image_set *images, pid_t pid, const char *text);

/* Makes a zeroed space a copy of another: that of a forked child. */
bool hp_space_copy(struct hp_space *space, const struct hp_space *from);
void hp_space_free(struct hp_space *space);

/* NULL: no code is there. */
const struct hp_mapping *hp_space_find(const struct hp_space *space, uint64_t address);

#endif
