/*
 * A thread's stack of open zones: setting it up, closing zones on it, and switching to that of another lane. The
 * caller holds the context, except for the slow path of entering and leaving zones. SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_ZONE_STACK_H
#define HP_ZONES_ZONE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "instruction_clock.h"
#include "marks.h"
#include "runtime.h"
#include "thread_context.h"

#define HP_FIRST_FRAMES 64u /* open zones before the stack has to grow */

/* Sets up an empty tree, stack and index in a new record. False: no space. */
bool hp_zones_begin(struct hp_thread_context *context);
/* Prepares the record of an exited thread for the next one. */
bool hp_zones_resume(struct hp_thread_context *context);
/* Makes room for one more zone. False: no space. */
bool hp_zone_make_room(struct hp_thread_context *context);

/* Ends the innermost zone at this time, or, if it was abandoned, at its last sign. */
void hp_zone_close_top(struct hp_thread_context *context, uint64_t now);
void hp_zone_abandon_top(struct hp_thread_context *context);

/*
 * Counts a timed call, except in its histogram, which the caller does. Returns whether it was inside another call
 * of its site.
 */
static inline bool hp_zone_count(struct hotpath_frame_ *frame, struct hotpath_node_ *node,
                                 struct hotpath_stat_ *stat, uint64_t ticks)
{
    bool is_nested = false;
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->total, ticks);
    HOTPATH_ADD_(node->self, ticks - frame->child);
    HOTPATH_ADD_(frame[-1].child, ticks);
    if (__builtin_expect(frame->stat & HOTPATH_RECURSIVE_, 0)) {
        HOTPATH_PUT_(stat->open, stat->open - 1);
        is_nested = stat->open != 0;
        if (is_nested)
            HOTPATH_ADD_(node->nested, ticks);
    }
    if (ticks < stat->min)
        HOTPATH_PUT_(stat->min, ticks);
    if (ticks > stat->max)
        HOTPATH_PUT_(stat->max, ticks);
    return is_nested;
}

static inline void hp_zone_pop(struct hp_thread_context *context, struct hotpath_frame_ *frame)
{
    context->hot.top = frame - 1;
}

#define HP_ZONE_IS_PLAIN (HOTPATH_RECURSIVE_ | HOTPATH_CHOSEN_) /* flags of zones of which only numbers are kept */

/* The common case of hp_zone_close_top; it handles all others, too. */
static inline __attribute__((always_inline)) void hp_zone_close_quickly(struct hp_thread_context *context,
                                                                        struct hotpath_frame_ *frame, uint64_t now)
{
    struct hotpath_node_ *node = (struct hotpath_node_ *)(void *)(context->hot.base + frame->node);
    struct hotpath_stat_ *stat = (struct hotpath_stat_ *)(void *)(context->hot.base + node->stat);
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks), origin = stat->octaves[octave];
    if (__builtin_expect(origin == 0 || frame->stat & HOTPATH_FLAGS_ & ~HP_ZONE_IS_PLAIN, 0)) {
        hp_zone_close_top(context, now);
        return;
    }
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(((uint64_t *)(void *)(context->hot.base + origin))[ticks >> octave], 1);
    hp_zone_count(frame, node, stat, ticks);
    HOTPATH_PUT_(frame->child, now);
    hp_zone_pop(context, frame);
}

/* ----------------------------------------------------------------------------- clocks that are read out of line */

/*
 * Where the clock is not the time stamp counter, every zone takes the slow path. In the usual case it does no more
 * there than measured code would do in line. The caller holds the context.
 */

/* Whether the gate keeps zones on the slow path for the clock alone. */
static inline bool hp_zone_is_off_line(const struct hotpath_context_ *hot)
{
    return HOTPATH_GATE_OF_(hot) == (hot->epoch | HP_GATE_OUT_OF_LINE);
}

static inline uint64_t hp_zone_now_off_line(void)
{
    return hp_runtime->counter == HP_COUNTER_INSTRUCTIONS ? hp_instruction_clock_read() : hp_now();
}

/* Opens a zone that was here before. False: it is none, or not the usual case; nothing was done. */
static inline bool hp_zone_open_off_line(struct hotpath_context_ *hot, uint32_t id, uintptr_t zone)
{
    if (!hp_zone_is_off_line(hot)) /* the stack may be that of no session */
        return false;
    struct hotpath_frame_ *frame = hot->top;
    const uint64_t key = (uint64_t)frame->node << 32 | id;
    const struct hotpath_slot_ *slot = hotpath_slot_of_(hot, frame->node, id);
    if (slot->key != key)
        slot = hotpath_second_slot_of_(hot, key);
    if (slot->key != key || zone >= frame->zone || frame == hot->last)
        return false;
    hotpath_push_(hot, frame + 1, slot, (const struct hotpath_zone *)zone);
    if (slot->stat & HOTPATH_RECURSIVE_)
        hotpath_open_call_(hot, frame + 1);
    HOTPATH_PUT_(frame[1].start, hp_zone_now_off_line());
    return true;
}

/* ------------------------------------------------------------------------------------------------ the slow path */

struct hotpath_zone;

/* Whether the guard's zone is open on this thread. */
bool hp_zone_is_open(const struct hotpath_zone *zone);
/* Ends a zone; handles all cases. */
void hp_zone_leave(struct hotpath_zone *zone, uint64_t now);
/* Ends the innermost zone of a site, and everything still open inside it. */
void hp_zone_leave_site(uint32_t site, uint64_t now);
/* Notes a call that is not recorded; and tells whether the exit that comes now belongs to such a call. */
void hp_zone_skip(void);
bool hp_zone_was_skipped(void);

/* In allocations.c. */

/*
 * Ends the innermost zone if it belongs to this site. False: not the common case, nothing was done. (Zones with a
 * guard end by hotpath_v1_leave.)
 */
bool hp_alloc_leave_site(uint32_t site, uint64_t now);

/* --------------------------------------------------------------------- compiler-instrumented code: functions.c */

struct hotpath_site;

/* Simulates calls of an instrumented function with that site, to measure their cost. */
void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls);

/* A library was closed. Under the lock. */
void hp_functions_forget_gone(void);
/* Counts functions of closed libraries that nothing told us of: others may have counted as them. Under the lock. */
void hp_functions_end_session(void);

/* ---------------------------------------------------------------------------------------------- switching lanes */

/*
 * Switching a thread from one lane to another: shared by hotpath_switch and the end of a thread. It is in a header
 * because the usual switch is one leaf function. The caller holds the context.
 */

#define HP_LANE_INLINED inline __attribute__((always_inline))
#define HP_LANE_COLD __attribute__((noinline, cold))
#define HP_SUSPENSION 1u /* instead of the address of a guard */

/* The frames of the thread's own lane while another one is on it, up to and including `*ret_top`. */
const struct hotpath_frame_ *hp_lane_own_frames(const struct hp_thread_context *context,
                                                const struct hotpath_frame_ **ret_top);
/* Returns to its own lane: the program has left the other one without a switch. */
void hp_lane_return(struct hp_thread_context *context, uint64_t now);
/* The thread exits. Closes the zones of its lane, and puts it back on its own. */
void hp_lane_end_thread(struct hp_thread_context *context, uint64_t now);

static inline struct hotpath_frame_ *hp_lane_frames(const struct hp_thread_context *context,
                                                    const struct hp_lane *lane)
{
    return hp_store_at(context->store, lane->frames);
}

/* The thread has no more references to it. Release pairs with the acquire of the thread that takes the lane. */
static inline void hp_lane_give_back(struct hp_lane_place *place)
{
    __atomic_store_n(&place->busy, 0, __ATOMIC_RELEASE);
}

/* ----------------------------------------------------------------------------------------------------- stopping */

HP_LANE_COLD void hp_lane_suspend_with_care(struct hp_thread_context *context, uint32_t site, uint64_t now);
HP_LANE_COLD void hp_lane_mind_calls(struct hp_thread_context *context, uint32_t flags, bool is_own);

/* It is never nested, so open calls need not be counted. */
static HP_LANE_INLINED void hp_lane_set_suspension(struct hotpath_frame_ *frame, const struct hotpath_slot_ *slot)
{
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, slot->stat & ~(HOTPATH_RECURSIVE_ | HOTPATH_UNTIMED_));
}

static HP_LANE_INLINED void hp_lane_push_suspension(struct hp_thread_context *context,
                                                    const struct hotpath_slot_ *slot, uint64_t now)
{
    struct hotpath_frame_ *frame = context->hot.top + 1;
    HOTPATH_PUT_(frame->start, now);
    HOTPATH_PUT_(frame->child, 0);
    hp_lane_set_suspension(frame, slot);
    HOTPATH_PUT_(frame->zone, HP_SUSPENSION);
    context->hot.top = frame;
}

static HP_LANE_INLINED void hp_lane_suspend(struct hp_thread_context *context, uint64_t now)
{
    const uint32_t site = __atomic_load_n(&hp_runtime->suspended_site, __ATOMIC_RELAXED) - 1;
    const uint32_t parent = context->hot.top->node;
    const struct hotpath_slot_ *slot = hotpath_slot_of_(&context->hot, parent, site);
    if (HOTPATH_LIKELY_(slot->key == ((uint64_t)parent << 32 | site) && context->hot.top != context->hot.last))
        hp_lane_push_suspension(context, slot, now);
    else
        hp_lane_suspend_with_care(context, site, now);
}

static HP_LANE_INLINED uint32_t hp_lane_flags(const struct hp_thread_context *context)
{
    uint32_t flags = 0;
    for (const struct hotpath_frame_ *frame = context->hot.top; frame->zone != UINT64_MAX; frame--)
        flags |= frame->stat;
    return flags & HOTPATH_FLAGS_;
}

/* Stops the running lane, with a zone for the suspension or without. */
static HP_LANE_INLINED void hp_lane_stop(struct hp_thread_context *context, uint64_t now, bool is_for_none)
{
    struct hp_lane *lane = context->running;
    const bool is_own = lane == context->own_lane;
    const uint32_t flags = hp_lane_flags(context);
    if (__builtin_expect(flags & (HOTPATH_RECURSIVE_ | HOTPATH_KEPT_), 0))
        hp_lane_mind_calls(context, flags, is_own);
    if (!is_own && !is_for_none && context->hot.top->zone != UINT64_MAX)
        hp_lane_suspend(context, now);
    if (context->alloc != NULL)
        hp_lane_marks_stop(context, lane);
    HOTPATH_PUT_(lane->has_flags, flags);
    HOTPATH_PUT_(lane->folds, context->folds);
    HOTPATH_PUT_(lane->stopped, now);
    HOTPATH_PUT_(lane->depth, (uint32_t)(context->hot.top - hp_frame_zero(context)));
    /* Release: a thread that finds it suspended sees all of its frames. */
    __atomic_store_n(&lane->state, is_own ? HP_LANE_BELOW : HP_LANE_SUSPENDED, __ATOMIC_RELEASE);
}

/* ----------------------------------------------------------------------------------------------------- going on */

HP_LANE_COLD void hp_lane_find_calls(struct hp_thread_context *context, struct hp_lane *lane);

_Static_assert(offsetof(struct hp_thread, frames) % 8 == 0 &&
                   offsetof(struct hp_thread, frame_capacity) == offsetof(struct hp_thread, frames) + 4,
               "one word");

/* Both together, since a reader may be active. */
static HP_LANE_INLINED void hp_lane_use_frames(struct hp_thread_context *context, const struct hp_lane *lane)
{
    const uint32_t both[2] = {lane->frames, lane->frame_capacity};
    struct hotpath_frame_ *frames = hp_lane_frames(context, lane);
    uint64_t word;
    memcpy(&word, both, sizeof word);
    __atomic_store_n((uint64_t *)(void *)&context->record->frames, word, __ATOMIC_RELEASE);
    context->hot.last = frames + lane->frame_capacity - 1;
    context->hot.top = frames + lane->depth;
}

/* Time spent in another lane is not the zone's own. The start of an untimed call is not known. */
static HP_LANE_INLINED void hp_lane_add_child_time(const struct hp_thread_context *context, uint64_t ticks)
{
    struct hotpath_frame_ *frame = context->hot.top;
    if (!(frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) && (int64_t)ticks > 0)
        HOTPATH_ADD_(frame->child, ticks);
}

static HP_LANE_INLINED void hp_lane_go_on(struct hp_thread_context *context, struct hp_lane *lane, uint64_t now)
{
    __atomic_store_n(&lane->state, HP_LANE_RUNNING, __ATOMIC_RELAXED);
    HOTPATH_ORDER_();
    hp_lane_use_frames(context, lane);
    if (context->alloc != NULL)
        hp_lane_marks_go_on(context, lane);
    if (__builtin_expect(lane->thread != context->record_offset || (lane->has_flags & HOTPATH_RECURSIVE_) ||
                             lane->folds != context->folds,
                         0))
        hp_lane_find_calls(context, lane);
    if (lane == context->own_lane)
        hp_lane_add_child_time(context, now - lane->stopped);
    else if (context->hot.top->zone == HP_SUSPENSION)
        hp_zone_close_quickly(context, context->hot.top, now);
    context->running = lane;
}

/* ---------------------------------------------------------------------------------------------------- switching */

HP_LANE_COLD void hp_lane_exchange_skips(struct hp_thread_context *context, struct hp_skip_run *skips,
                                         uint32_t *runs);

/* While the lane's own skips are active, its slot keeps those of the lane below. */
static HP_LANE_INLINED void hp_lane_keep_skips(struct hp_thread_context *context, struct hp_lane_place *place)
{
    if (place != NULL && __builtin_expect((context->skip_runs | place->skip_runs) != 0, 0))
        hp_lane_exchange_skips(context, place->skips, &place->skip_runs);
}

/* Both are prepared, and the lane is taken. */
static HP_LANE_INLINED void hp_lane_switch_to(struct hp_thread_context *context, struct hp_lane_place *to,
                                              uint64_t now)
{
    struct hp_lane_place *from = context->lane;
    hp_lane_stop(context, now, false);
    hp_lane_keep_skips(context, from);
    hp_lane_go_on(context, to != NULL ? to->lane : context->own_lane, now);
    hp_lane_keep_skips(context, to);
    context->lane = to;
    if (from != NULL)
        hp_lane_give_back(from);
}

#endif
