/* What the processes of a run have mapped, as it was told in order of time. SPDX-License-Identifier: MIT */
#ifndef HP_STACKS_SPACE_TABLE_H
#define HP_STACKS_SPACE_TABLE_H

#include "seen.h"
#include "space.h"

#define HP_SPACE_SLOTS 1024u

struct hp_process_space {
    struct hp_process_space *next;
    uint32_t pid;
    uint32_t threads;
    uint64_t read_ns; /* when /proc was asked what it has mapped; 0: never */
    struct hp_space space;
};

struct hp_space_table {
    struct hp_process_space *slots[HP_SPACE_SLOTS];
};

/* That of a process, made if it is new. NULL: no memory. */
struct hp_process_space *hp_space_table_find(struct hp_space_table *table, uint32_t pid);

/* Takes in what is about processes and their mappings, and nothing else. */
void hp_space_table_take(struct hp_space_table *table, struct hp_image_set *images, const struct hp_seen *seen);

/* What a process has mapped as /proc has it, for free; NULL: it is not there. */
char *hp_process_maps(uint32_t pid);

/* Forgets what it has mapped, and asks /proc for that. False: the process cannot be asked, and all is as it was. */
bool hp_process_space_read(struct hp_process_space *process, struct hp_image_set *images);

void hp_space_table_free(struct hp_space_table *table);

#endif
