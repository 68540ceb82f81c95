/*
 * The mappings of the processes of a run, and the programs that they execute, updated by events in order of time.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_SPACE_TABLE_H
#define HP_COLLECT_SPACE_TABLE_H

#include "event_queue.h"
#include "space.h"

#define HP_SPACE_SLOTS 1024u

/* A program that a process executes. Its children run it, too, until they execute another one. */
struct hp_process_program {
    char comm[16]; /* the kernel's name for it; "": unknown */
    char *file;    /* NULL: unknown */
};

struct hp_process_space {
    struct hp_process_space *next;
    uint32_t pid;
    uint32_t threads;
    uint32_t node;      /* of its stacks (collector.c); HP_STACK_ROOT: none yet */
    uint32_t parent;    /* which forked it; 0: unknown, or it has run another program since */
    bool has_generated; /* code in no file was seen */
    uint64_t read_ns;   /* when /proc was last read; 0: never */
    uint32_t program;   /* its number in the table, plus 1; 0: unknown */
    struct hp_space space;
};

struct hp_space_table {
    struct hp_process_space *slots[HP_SPACE_SLOTS];
    struct hp_process_program *programs;
    size_t program_count, program_room;
};

/* That of a process, created on first use. NULL: no memory. */
struct hp_process_space *hp_space_table_find(struct hp_space_table *table, uint32_t pid);

/* Applies events about processes and their mappings, and ignores all others. */
void hp_space_table_take(struct hp_space_table *table, struct hp_image_set *images, const struct hp_event *event);

/* The mappings of a process from /proc, to be freed; NULL: not available. */
char *hp_process_maps(uint32_t pid);

/* Replaces its mappings by those in /proc. False: they cannot be read, and nothing is changed. */
bool hp_process_space_read(struct hp_space_table *table, struct hp_process_space *process,
                           struct hp_image_set *images);

void hp_space_table_free(struct hp_space_table *table);

#endif
