/*
 * The slow-path end of a zone, in the common case: the innermost zone, of a timed call that has allocated. In
 * programs that allocate everywhere most zones end here, so it is as short as possible: one leaf function, used if
 * all counters exist. All other ends are in zones.c. SPDX-License-Identifier: MIT
 */
#include "zone_stack.h"

#include "holding.h"
#include "marks.h"
#include "thread_context.h"

/* The innermost zone, of a timed call that has all its counters. The caller holds the context. */
static HP_ALLOC_INLINED void close_top(struct hp_thread_context *context, struct hotpath_node_ *node,
                                       struct hotpath_stat_ *site, uint64_t now)
{
    struct hotpath_frame_ *frame = context->hot.top;
    const uint64_t ticks = now - frame->start;
    const uint32_t octave = hotpath_octave_(ticks);
    char *const base = context->hot.base;
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    HOTPATH_ADD_(((uint64_t *)(void *)(base + site->octaves[octave]))[ticks >> octave], 1);
    const bool is_nested = hp_zone_count(frame, node, site, ticks);
    HOTPATH_PUT_(frame->child, now);
    context->hot.top = frame - 1;
    hp_alloc_close_call(context, frame, (struct hp_alloc_stat *)(void *)(base + site->alloc), is_nested);
}

/* Untimed calls, and calls of which more is kept, take the other path. */
#define FLAGS (HOTPATH_ALLOCATES_ | HOTPATH_UNTIMED_ | HOTPATH_COUNTED_ | HOTPATH_KEPT_)

/* False: nothing was changed. */
static HP_ALLOC_INLINED bool is_closed_as_usual(struct hp_thread_context *context, uint64_t now)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hotpath_stat_ *site = hp_stat_at(context, node->stat);
    if (HP_RARELY((frame->stat & FLAGS) != HOTPATH_ALLOCATES_) || HP_RARELY(site->alloc == 0) ||
        HP_RARELY(site->octaves[hotpath_octave_(now - frame->start)] == 0))
        return false;
    const uint64_t from = hp_slow_way_begin(context);
    close_top(context, node, site, now);
    hp_slow_way_end(context, from);
    return true;
}

bool hp_alloc_leave_site(uint32_t site, uint64_t now)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hot;
    bool is_done = false;
    if (!hp_context_is_held(hot)) {
        hp_context_hold(hot);
        if (HOTPATH_GATE_OF_(hot) == hot->epoch && hp_node_at(context, hot->top->node)->site == site)
            is_done = is_closed_as_usual(context, now);
        hp_context_let_go(hot);
    }
    return is_done;
}

void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now)
{
    struct hotpath_context_ *hot = hotpath_v1_context;
    bool is_done = false;
    if (HOTPATH_LIKELY_(!hp_context_is_held(hot))) {
        hp_context_hold(hot);
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && hot->top->zone == (uintptr_t)zone))
            is_done = is_closed_as_usual((struct hp_thread_context *)(void *)hot, now);
        hp_context_let_go(hot);
    }
    if (HP_RARELY(!is_done))
        hp_zone_leave(zone, now);
}
