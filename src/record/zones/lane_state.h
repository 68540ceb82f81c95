/*
 * State of the lane that a thread is on. What lanes are, and how threads switch: lanes.c. SPDX-License-Identifier:
 * MIT
 */
#ifndef HP_ZONES_LANE_STATE_H
#define HP_ZONES_LANE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/*
 * The target of a hotpath_lane: memory of the process, which outlives sessions. Written by the thread that the lane
 * is on, or, if it is on none, by the thread that takes it. A forked child inherits it as it was, with a session
 * that is not the child's.
 */
struct hp_lane_place {
    uint32_t busy;       /* atomic: session in which a thread is on it; 0: no thread is */
    uint32_t generation; /* atomic: generation of valid handles; odd while one exists */
    uint32_t epoch;      /* the session of the fields below */
    uint32_t number;     /* of this slot, from 1 */
    struct hp_lane *lane;
    uint32_t next_free; /* atomic: number of a slot */
    uint32_t skip_runs; /* of the context it was on: see struct hp_skip_run */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    uint32_t apart[8]; /* padding to two cache lines, as for contexts */
};

/* Whether a site stands for suspended lanes. */
static inline bool hp_lane_is_suspended_site(uint32_t site)
{
    return site + 1 == __atomic_load_n(&hp_runtime->suspended_site, __ATOMIC_RELAXED);
}

/* Whether the thread is on a lane other than its own. The caller holds the context. */
static inline bool hp_lane_is_other(const struct hp_thread_context *context) { return context->lane != NULL; }

#endif
