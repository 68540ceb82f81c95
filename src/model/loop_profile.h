/*
 * The event loops of a run: objects with the counters of object_layout.h. A loop is one thread at one place: a part
 * of an object. The delay of an event that arrives at a random time follows from the turns:
 *
 *   mean           sum of turn^2 / (2 * elapsed)
 *   P(delay > x)   sum of max(turn - x, 0) / elapsed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_LOOP_PROFILE_H
#define HP_MODEL_LOOP_PROFILE_H

#include "object_profile.h"

#define HP_LOOP_LEAST_WAITS 3u /* with fewer waits at a place, it is no loop */
#define HP_LOOP_BLOCKED_NS 1e7 /* a longer turn has blocked the loop */

struct hp_loop {
    const struct hp_object_record *record;
    const struct hp_thread_label *thread; /* NULL: unknown */
    uint32_t histogram;                   /* of turns; an offset */
    uint64_t turns, events, waits;
    uint64_t turn_ticks; /* of these turns */
    uint64_t busy,
        waited; /* including a wait in progress, up to the end, and a turn in progress of a live process */
    uint64_t longest, longest_since;
    uint64_t inside;   /* of the longest turn, in one callback: the zone of that node; 0: unknown */
    uint32_t callback; /* offset of the node */
    double squares;    /* sum of the squares of turns, in ticks */
};

struct hp_loops {
    struct hp_loop *all;
    size_t count;
};

/* Whether a kind is an event loop. */
bool hp_is_loop(const char *name, const struct hp_kind *kind);

/* NULL: no memory. */
const struct hp_loops *hp_loops_of_run(struct hp_arena *arena, const struct hp_run *run,
                                       const struct hp_objects *objects);

static inline uint64_t hp_loop_elapsed(const struct hp_loop *loop) { return loop->busy + loop->waited; }

/* The rest is about turns in a histogram, within 0.8 %. `ret_turns` is large: keep one and reuse it. */
void hp_loop_turns(const struct hp_loop *loop, struct hp_magnitudes *ret_turns);

/* How many turns were longer. */
uint64_t hp_loop_turns_above(const struct hp_magnitudes *turns, double ticks);

/* In ticks. */
double hp_loop_mean_delay(const struct hp_loop *loop);
double hp_loop_delay(const struct hp_loop *loop, const struct hp_magnitudes *turns, double percentile);

#endif
