/*
 * The slowest poll of each class of tasks, and what ran inside it: polls are zones, and of zones the slowest call is kept.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_SLOW_POLLS_H
#define HP_MODEL_SLOW_POLLS_H

#include "task_profile.h"

#define HP_SLOW_POLL_PARTS 4u

/* What it called itself. */
struct hp_slow_poll_part {
    const char *name;
    uint64_t calls;
    uint64_t ticks;
};

struct hp_slow_poll {
    uint64_t ticks;                                     /* 0: none was kept */
    uint64_t self;                                      /* of that, outside of what it called */
    struct hp_slow_poll_part parts[HP_SLOW_POLL_PARTS]; /* the longest first */
    uint32_t part_count;
    uint32_t left_out; /* further ones */
};

/* One for each of the tasks, in their order. NULL: no memory. */
const struct hp_slow_poll *hp_slow_polls_of(struct hp_arena *arena, const struct hp_run *run,
                                            const struct hp_profile *profile, const struct hp_tasks *tasks);

#endif
