/*
 * State of the call log (call_log.h): what is kept of a site's calls besides numbers, as stored in `keeps` of a
 * thread's stat, and the thread's memory for it. SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_CALL_LOG_STATE_H
#define HP_ZONES_CALL_LOG_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "runtime.h"

#define HP_KEEPS_LOG 1u        /* the latest calls */
#define HP_KEEPS_SLOWEST 2u    /* the slowest call, with everything inside it */
#define HP_KEEPS_NO_SLOWEST 4u /* never again: its calls were suspended, so not everything below them is theirs */
static inline uint32_t hp_stat_log(const struct hotpath_stat_ *stat)
{
    return stat->keeps & (HP_KEEPS_LOG | HP_KEEPS_SLOWEST);
}

/* What to keep of a site that is new to this thread. */
uint32_t hp_call_log_from_start(const struct hp_thread_context *context, uint32_t site);
/* Whether calls of the site may be followed on this thread. */
bool hp_call_log_may_follow(const struct hp_thread_context *context, uint32_t site);

/* --------------------------------------------------------------------------------------------------- per thread */

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

/* The memory of a thread; NULL: none available. */
struct hp_call_notes *hp_call_log_memory(struct hp_thread_context *context);

#endif
