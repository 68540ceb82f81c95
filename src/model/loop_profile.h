/*
 * The event loops of a run: objects whose counters are those of loop_layout.h. A loop is what one thread does at one place: a part of an
 * object. How long an event waits that comes at a random moment is worked out from the turns:
 *
 *   mean           sum of turn^2 / (2 * elapsed)
 *   P(delay > x)   sum of max(turn - x, 0) / elapsed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_LOOP_PROFILE_H
#define HP_MODEL_LOOP_PROFILE_H

#include "object_profile.h"

#define HP_LOOP_LEAST_WAITS 3u /* who waits less often at a place is no loop */
#define HP_LOOP_BLOCKED_NS 1e7 /* a turn that is longer has kept others waiting */

struct hp_loop {
    const struct hp_object_record *record;
    const struct hp_thread_label *thread; /* NULL: not known */
    uint32_t histogram;                   /* of turns, an offset */
    uint64_t turns, events, waits;
    uint64_t turn_ticks;   /* of these turns */
    uint64_t busy, waited; /* the same with what goes on: a wait, up to the end; a turn, if the process does, too */
    uint64_t longest, longest_since;
    uint64_t inside;   /* of the longest turn, in one callback: a zone, of that node; 0: none is known */
    uint32_t callback; /* offset of the node */
    double squares;    /* of turns in ticks, added up */
};

struct hp_loops {
    struct hp_loop *all;
    size_t count;
};

/* Whether a kind is theirs. */
bool hp_is_loop(const char *name, const struct hp_kind *kind);

/* NULL: no memory. */
const struct hp_loops *hp_loops_of_run(struct hp_arena *arena, const struct hp_run *run,
                                       const struct hp_objects *objects);

static inline uint64_t hp_loop_elapsed(const struct hp_loop *loop) { return loop->busy + loop->waited; }

/* The rest is about turns as a histogram has them, which are within 0.8 %: `ret_turns` is large, keep one and use it again. */
void hp_loop_turns(const struct hp_loop *loop, struct hp_magnitudes *ret_turns);

/* How many of them were longer. */
uint64_t hp_loop_turns_above(const struct hp_magnitudes *turns, double ticks);

/* In ticks. */
double hp_loop_mean_delay(const struct hp_loop *loop);
double hp_loop_delay(const struct hp_loop *loop, const struct hp_magnitudes *turns, double percentile);

#endif
