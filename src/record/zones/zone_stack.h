/*
 * A thread's stack of open zones: setting it up, and closing zones on it. The caller holds the context, except for
 * the slow path of entering and leaving zones, at the end. SPDX-License-Identifier: MIT
 */
#ifndef HP_ZONES_ZONE_STACK_H
#define HP_ZONES_ZONE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

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

/* In marked_ends.c. */

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

#endif
