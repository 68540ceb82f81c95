/*
 * What a thread remembers for the calls of which more is kept than numbers (kept.c, notes.c). Private memory of the thread,
 * mapped when it is first needed and touched as far as it is used. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_KEPT_MEMORY_H
#define HP_RECORD_KEPT_MEMORY_H

#include <stdint.h>

#include "layout.h"

struct hp_head;

#define HP_NOTE_DEPTHS 32u /* open calls, one inside the other, that can have a note */
#define HP_FOLLOWED 2048u  /* places for nodes that are followed, half of which are used */
#define HP_SUBTREE 512u    /* nodes below one that is followed */
#define HP_GAINS 8192u     /* of all of them together */
#define HP_SLOW_ROWS 128u  /* kept of a slow call, the largest */
#define HP_SLOW_NOTES 1024u

/* The note of a call that is open: of the one at this depth that began then. */
struct hp_note {
    uint64_t start;
    uint32_t depth; /* 0: none */
    uint32_t length;
    char text[HP_NOTE_BYTES];
};

struct hp_sums_of_node {
    uint32_t node;
    uint64_t calls;
    uint64_t untimed;
    uint64_t total; /* outermost calls */
    uint64_t self;
};

/* A node whose calls are looked into when they end, and what its subtree had at the end of the latest. */
struct hp_followed {
    uint32_t node;  /* 0: a free place */
    uint32_t first; /* in `sums` */
    uint32_t count;
    uint32_t capacity;
    uint64_t calls;      /* of the node itself ... */
    uint64_t total;      /* ... and its time */
    uint64_t least_cost; /* ticks it took to look into one, at best */
};

/* A slow call before it is stored. */
struct hp_slow_draft {
    struct hp_slow_call call;
    struct hp_slow_row rows[HP_SLOW_ROWS];
    char notes[HP_SLOW_NOTES];
};

/* The nodes that are followed, found by hash, and their sums. */
struct hp_following {
    uint32_t count;
    uint32_t sums_used;
    struct hp_followed nodes[HP_FOLLOWED];
    struct hp_sums_of_node sums[HP_GAINS];
};

struct hp_kept {
    uint64_t least_cost; /* of all */
    uint32_t half;       /* which of the following is in use; the other is for moving when it is full */
    struct hp_note notes[HP_NOTE_DEPTHS];
    struct hp_sums_of_node gains[HP_SUBTREE];  /* scratch: of the call that ends */
    struct hp_sums_of_node latest[HP_SUBTREE]; /* scratch: the sums to remember */
    struct hp_slow_draft draft;
    struct hp_following following[2];
};

/* That of a thread; NULL without memory. */
struct hp_kept *hp_kept_memory(struct hp_head *head);

#endif
