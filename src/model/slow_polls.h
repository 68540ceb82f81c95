/*
 * The slowest poll of each class of tasks, and what ran inside it: polls are zones, and the slowest call of a zone
 * is recorded. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_SLOW_POLLS_H
#define HP_MODEL_SLOW_POLLS_H

#include "task_profile.h"

#define HP_SLOW_POLL_PARTS 4u

/* A direct callee of the poll. */
struct hp_slow_poll_part {
    const char *name;
    uint64_t calls;
    uint64_t ticks;
};

struct hp_slow_poll {
    uint64_t ticks;                                     /* 0: none was recorded */
    uint64_t self;                                      /* of that, outside its callees */
    struct hp_slow_poll_part parts[HP_SLOW_POLL_PARTS]; /* the longest first */
    uint32_t part_count;
    uint32_t left_out; /* callees that are not listed */
};

/* One per task class, in their order. NULL: no memory. */
const struct hp_slow_poll *hp_slow_polls_of(struct hp_arena *arena, const struct hp_run *run,
                                            const struct hp_profile *profile, const struct hp_tasks *tasks);

#endif
