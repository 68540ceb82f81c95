/*
 * Holding a head: the one protocol by which a thread works on a session that another thread may end at any time.
 *
 *   mark     what is used is marked, and the compiler keeps everything that follows behind the mark
 *   ask      the gate: closed, the session may be gone, and nothing of it is touched
 *   use      from here on the session stays where it is, also one that ends meanwhile
 *   let go   all that was written comes before the mark is taken away
 *
 * Whoever ends a session closes the gate, has all threads pass a barrier, and waits until no mark is left (holders.c). So marking
 * takes no locked instruction.
 *
 * A head has two marks, because two may be at work on one thread at a time, one of which has interrupted the other:
 *
 *   `ready` 0            zones, allocations, objects: hp_head_hold. A signal handler that finds it works on another head.
 *   `sampler.is_at_work` the handler of samples, and what begins and ends them: hp_sampler_hold. It reads what zones write, and
 *                        writes only what is the sampler's. Whoever shuts the process in waits for this one, too.
 *
 * A session that is used without a head is held by a count (hp_session_hold in holders.h). A lane is handed from thread to thread by
 * `busy` of its place (lanes.c). SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_HOLDING_H
#define HP_RECORD_HOLDING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

/* ---------------------------------------------------------------------------------------------------- the gate */

/* Whether the session that the head works for goes on, be it paused: zones that are open may end. With a mark. */
static inline bool hp_head_has_session(const struct hotpath_head_ *hot)
{
    return (HOTPATH_GATE_OF_(hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == hot->epoch;
}
/* The same, and whether anything new is recorded. */
static inline bool hp_head_is_recording(const struct hotpath_head_ *hot)
{
    return (HOTPATH_GATE_OF_(hot) & ~HP_GATE_OUT_OF_LINE) == hot->epoch;
}
static inline bool hp_head_is_paused(const struct hotpath_head_ *hot)
{
    return HOTPATH_GATE_OF_(hot) & HP_GATE_PAUSED;
}

/* ------------------------------------------------------------------------------------------ by the thread itself */

static inline bool hp_head_is_held(const struct hotpath_head_ *hot) { return HOTPATH_GET_(hot->ready) == 0; }

/* Nobody holds it, or whoever does was left by a jump. */
static inline void hp_head_hold(struct hotpath_head_ *hot)
{
    HOTPATH_PUT_(hot->ready, 0);
    HOTPATH_ORDER_();
}

static inline void hp_head_let_go(struct hotpath_head_ *hot)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(hot->ready, HOTPATH_READY_);
}

/*
 * Also where it is held already: then we have interrupted who holds it, and the session stays at least as long. What is returned is for
 * hp_head_put_back.
 */
static inline uint32_t hp_head_hold_too(struct hotpath_head_ *hot)
{
    const uint32_t before = HOTPATH_GET_(hot->ready);
    hp_head_hold(hot);
    return before;
}

static inline void hp_head_put_back(struct hotpath_head_ *hot, uint32_t before)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(hot->ready, before);
}

/* The head of the calling thread, held, with its session. NULL: it has none, somebody works on it, or its session is over. */
struct hp_head *hp_thread_hold(void);

/* --------------------------------------------------------------------------------------------- by its sampler */

/* False: the process is shut in, and system calls may be death. To be let go of in any case. */
static inline bool hp_sampler_hold(struct hp_head *head)
{
    HOTPATH_PUT_(head->sampler.is_at_work, 1);
    HOTPATH_ORDER_();
    return !hp_head_is_sandboxed(&head->hot);
}

static inline void hp_sampler_let_go(struct hp_head *head)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->sampler.is_at_work, 0);
}

/* ------------------------------------------------------------------------------------------ for whoever waits */

/* A thread is at work on it. */
static inline bool hp_head_is_at_work(const struct hp_head *head)
{
    return (head->record != NULL && hp_head_is_held(&head->hot)) || HOTPATH_GET_(head->sampler.is_at_work) != 0;
}

#endif
