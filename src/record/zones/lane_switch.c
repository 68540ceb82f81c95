/* Switching lanes: the slow path. SPDX-License-Identifier: MIT */
#include "lane_switch.h"

#include "call_log.h"
#include "tree.h"

/* ---------------------------------------------------------------------------------------------------- recursion */

/* The open calls of a site are those of the running lane. */
static void count_open(const struct hp_thread_context *context, uint32_t change)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1; frame <= context->hot.top; frame++)
        if (frame->stat & HOTPATH_RECURSIVE_) {
            struct hotpath_stat_ *stat = hp_stat_at(context, hp_node_at(context, frame->node)->stat);
            HOTPATH_PUT_(stat->open, stat->open + change);
        }
}

static bool is_suspension(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    return hp_lane_is_suspended_site(hp_node_at(context, frame->node)->site);
}

/* Recursion found while a lane was suspended applies to its zones, too. */
static void learn_of_recursion(const struct hp_thread_context *context)
{
    for (struct hotpath_frame_ *frame = hp_frame_zero(context) + 1; frame <= context->hot.top; frame++)
        if (hp_tree_is_recursive(context, frame->node) && !is_suspension(context, frame))
            HOTPATH_PUT_(frame->stat, frame->stat | HOTPATH_RECURSIVE_);
}

/* ----------------------------------------------------------------------------------------------------- stopping */

/* The site was made before the first switch. If there is no space for its zones, they are missing. */
HP_LANE_COLD void hp_lane_suspend_with_care(struct hp_thread_context *context, uint32_t site, uint64_t now)
{
    struct hotpath_slot_ spare;
    if (site >= HOTPATH_IDS_ || (context->hot.top == context->hot.last && !hp_zone_make_room(context)))
        return;
    hp_lane_push_suspension(context, hp_tree_slot(context, context->hot.top->node, site, &spare), now);
}

static void disregard_all(struct hp_thread_context *context)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1; frame <= context->hot.top; frame++)
        if (frame->stat & HOTPATH_KEPT_)
            hp_call_log_disregard(context, frame);
}

/* Handles recursive calls, and calls of which more than numbers is kept. */
HP_LANE_COLD void hp_lane_mind_calls(struct hp_thread_context *context, uint32_t flags, bool is_own)
{
    if (flags & HOTPATH_RECURSIVE_)
        count_open(context, UINT32_MAX);
    if ((flags & HOTPATH_KEPT_) && !is_own)
        disregard_all(context);
}

/* ----------------------------------------------------------------------------------------------------- going on */

/* Whether a call is timed, and has a mark, was decided when it started. */
#define FLAGS_OF_CALL (HOTPATH_UNTIMED_ | HOTPATH_CHOSEN_ | HOTPATH_ALLOCATES_ | HOTPATH_COUNTED_)

static void place_call(const struct hp_thread_context *context, struct hotpath_frame_ *frame,
                       const struct hotpath_slot_ *slot)
{
    const uint32_t flags = (frame->stat & FLAGS_OF_CALL) | (slot->stat & (HOTPATH_RECURSIVE_ | HOTPATH_KEPT_));
    const uint32_t stat = flags & HOTPATH_ALLOCATES_ ? context->record->blank_stat : slot->stat & ~HOTPATH_FLAGS_;
    struct hotpath_stat_ *counted = hp_stat_at(context, hp_node_at(context, slot->node)->stat);
    HOTPATH_PUT_(frame->node, slot->node);
    HOTPATH_PUT_(frame->stat, stat | flags);
    if (flags & HOTPATH_RECURSIVE_)
        HOTPATH_PUT_(counted->open, counted->open + 1);
}

/* Moves one open call of a lane below its enclosing call. */
static void move_call(struct hp_thread_context *context, struct hotpath_frame_ *frame)
{
    struct hotpath_slot_ spare;
    const uint32_t site = hp_node_at(context, frame->node)->site;
    const struct hotpath_slot_ *slot = hp_tree_slot(context, frame[-1].node, site, &spare);
    if (hp_lane_is_suspended_site(site))
        hp_lane_set_suspension(frame, slot);
    else
        place_call(context, frame, slot);
    context->hot.top = frame;
    if (frame->stat & HOTPATH_KEPT_)
        hp_call_log_disregard(context, frame);
}

/* The lane comes from another thread. The context already has its frames. */
static void move_calls(struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hotpath_frame_ *zero = hp_frame_zero(context), *const innermost = context->hot.top;
    HOTPATH_PUT_(zero->node, context->record->root);
    context->hot.top = zero;
    for (struct hotpath_frame_ *frame = zero + 1; frame <= innermost; frame++)
        move_call(context, frame);
    HOTPATH_PUT_(lane->thread, context->record_offset);
}

/* The lane comes from another thread, or recursion was found, in it or meanwhile. */
HP_LANE_COLD void hp_lane_find_calls(struct hp_thread_context *context, struct hp_lane *lane)
{
    if (lane->thread != context->record_offset) {
        move_calls(context, lane);
        return;
    }
    if (lane->folds != context->folds)
        learn_of_recursion(context);
    count_open(context, 1);
}

/* ---------------------------------------------------------------------------------------------------- switching */

/* Calls that hooks could not record belong to a stack. */
HP_LANE_COLD void hp_lane_exchange_skips(struct hp_thread_context *context, struct hp_skip_run *skips,
                                         uint32_t *runs)
{
    for (uint32_t at = 0; at < HP_SKIP_RUNS; at++) {
        const struct hp_skip_run run = context->skips[at];
        context->skips[at] = skips[at];
        skips[at] = run;
    }
    const uint32_t count = context->skip_runs;
    context->skip_runs = *runs;
    *runs = count;
}

/* ------------------------------------------------------------------------------------------------------- ending */

const struct hotpath_frame_ *hp_lane_own_frames(const struct hp_thread_context *context,
                                                const struct hotpath_frame_ **ret_top)
{
    const struct hotpath_frame_ *frames = hp_lane_frames(context, context->own_lane);
    *ret_top = frames + context->own_lane->depth;
    return frames;
}

/* It has marks: see hp_alloc_begin. */
__attribute__((noinline)) void hp_lane_return(struct hp_thread_context *context, uint64_t now)
{
    if (context->lane != NULL)
        hp_lane_switch_to(context, NULL, now);
}

void hp_lane_end_thread(struct hp_thread_context *context, uint64_t now)
{
    while (context->lane != NULL && context->hot.top > hp_frame_zero(context))
        hp_zone_close_top(context, now);
    hp_lane_return(context, now);
}
