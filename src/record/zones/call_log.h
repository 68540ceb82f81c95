/*
 * Calls of which more than numbers is kept: see call_log.c. The caller holds the context.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_CALL_LOG_H
#define HP_ZONES_CALL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "runtime.h"

/* A record begins: nothing is known about its calls. */
void hp_call_log_begin(struct hp_thread_context *context);
/* Stops following the calls of an open call's site. */
void hp_call_log_disregard(struct hp_thread_context *context, const struct hotpath_frame_ *frame);
/*
 * A call took longer than those before it: perhaps its site is worth following again. Not inside another call of
 * its site.
 */
void hp_call_log_reconsider(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks);
/*
 * For sites whose long calls matter, however short others are, and that are not followed. Keeps a long call that
 * was just counted, if hardly anything else happened at its node since the last look. A look that keeps nothing
 * only makes sure that there was a recent one.
 */
void hp_call_log_look_at_long(struct hp_thread_context *context, const struct hotpath_frame_ *frame,
                              uint64_t ticks);
/*
 * Returns what a look costs, in ticks: the least of this one, which began at `began`, and the last one, since
 * either may have lost its CPU meanwhile.
 */
uint64_t hp_call_log_look(struct hp_thread_context *context, uint32_t node, uint64_t began);
/* Keeps what is wanted of an ending call; it is counted already and still on top of the stack. */
void hp_logged_call(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                    bool is_nested);

/* ------------------------------------------------------------------------------------------- memory of a thread */

/* Private memory of the thread, mapped at first use and touched only as far as needed. */

#define HP_NOTE_DEPTHS 32u /* nesting depth up to which open calls can have notes */
#define HP_FOLLOWED 2048u  /* slots for followed nodes; half of them are used */
#define HP_SUBTREE 512u    /* nodes below a followed one */
#define HP_GAINS 8192u     /* sums of all of them together */
#define HP_SLOW_ROWS 128u  /* largest rows kept of a slow call */
#define HP_SLOW_NOTES 1024u

/* The note of an open call: the one at this depth that started at this time. */
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
    uint64_t total; /* of outermost calls */
    uint64_t self;
};

/* A node whose calls are followed, and the sums of its subtree at the end of the latest one. */
struct hp_followed {
    uint32_t node;  /* 0: free slot */
    uint32_t first; /* index in `sums` */
    uint32_t count;
    uint32_t capacity;
    uint64_t calls;      /* the node's own calls ... */
    uint64_t total;      /* ... and its time */
    uint64_t least_cost; /* ticks to process one call, minimum; for hp_call_log_look, those of the last look */
};

/* A slow call before it is stored. */
struct hp_slow_draft {
    struct hp_slow_call call;
    struct hp_slow_row rows[HP_SLOW_ROWS];
    char notes[HP_SLOW_NOTES];
};

/* The followed nodes, found by hash, and their sums. */
struct hp_following {
    uint32_t count;
    uint32_t sums_used;
    struct hp_followed nodes[HP_FOLLOWED];
    struct hp_sums_of_node sums[HP_GAINS];
};

struct hp_call_notes {
    uint64_t least_cost; /* of all nodes */
    uint32_t half;       /* which of the two halves is in use; the other is for moving entries when it is full */
    struct hp_note notes[HP_NOTE_DEPTHS];
    struct hp_sums_of_node gains[HP_SUBTREE];  /* scratch: of the ending call */
    struct hp_sums_of_node latest[HP_SUBTREE]; /* scratch: the sums to save */
    struct hp_slow_draft draft;
    struct hp_following following[2];
};

#endif
