/*
 * What is known of the lane that a thread is on. What lanes are, and how threads switch: lanes.c. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_LANE_STATE_H
#define HP_RECORD_LANE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/*
 * What a hotpath_lane leads to: memory of the process's own, which outlives sessions. Written by the thread that it is on, or, while it
 * is on none, by who takes it; a forked child has it as it was, of a session that is not the child's.
 */
struct hp_lane_place {
    uint32_t busy;       /* atomic: number of the session in which a thread is on it; 0: none is */
    uint32_t generation; /* atomic: that of the handles that lead here; odd while there is one */
    uint32_t epoch;      /* the session that the following is of */
    uint32_t number;     /* of the place, from 1 */
    struct hp_lane *lane;
    uint32_t next_free; /* atomic: number of a place */
    uint32_t skip_runs; /* of the head it was on: see struct hp_skip_run */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    uint32_t apart[8]; /* two lines each, as heads */
};

/* Whether a site stands for lanes that do not run. */
static inline bool hp_lane_is_suspended_site(uint32_t site)
{
    return site + 1 == __atomic_load_n(&hp_runtime->suspended_site, __ATOMIC_RELAXED);
}

/* Whether another lane than the thread's own is on it. With the head held. */
static inline bool hp_lane_is_other(const struct hp_head *head) { return head->lane != NULL; }

#endif
