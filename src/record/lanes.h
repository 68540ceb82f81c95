/*
 * Lanes: stacks of open zones that a program switches threads to and from, one for each coroutine that keeps zones open while others
 * run (hotpath_switch). See lanes.c. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_LANES_H
#define HP_RECORD_LANES_H

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

/*
 * With the head held. Whether another lane than the thread's own is on it; the frames of its own meanwhile, up to and including
 * `*ret_top`; and back to it: the program has left the other one without a word.
 */
static inline bool hp_lane_is_other(const struct hp_head *head) { return head->lane != NULL; }
const struct hotpath_frame_ *hp_lane_own_frames(const struct hp_head *head, const struct hotpath_frame_ **ret_top);
void hp_lane_return(struct hp_head *head, uint64_t now);
/* The thread ends. Zones of the lane it is on are closed, and it is on its own again. */
void hp_lane_end_thread(struct hp_head *head, uint64_t now);
/* The stack of zones of the lane that runs is elsewhere, and has grown. */
void hp_lane_use_frames(const struct hp_head *head, uint32_t frames, uint32_t capacity);
/* The head has a record that has never switched. */
void hp_lane_forget(struct hp_head *head);

/* --- lane_marks.c: what zones of lanes allocate. With the head held, which has counters. */
/* The first switch: the highest that lived on the thread so far is told to all. */
void hp_lane_marks_publish(const struct hp_head *head);
/* Marks for the frames of a lane that does not run and has none; false without space. */
bool hp_lane_marks_begin(const struct hp_head *head, struct hp_lane *lane);
/* The lane that runs stops, its frames being those of the head still; and one goes on whose frames are those of the head already. */
void hp_lane_marks_stop(struct hp_head *head, struct hp_lane *lane);
void hp_lane_marks_go_on(struct hp_head *head, struct hp_lane *lane);

#endif
