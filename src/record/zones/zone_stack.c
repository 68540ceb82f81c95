/* A thread's stack of open zones. SPDX-License-Identifier: MIT */
#include "zone_stack.h"

#include <string.h>

#include "call_log.h"
#include "marks.h"
#include "thread_context.h"
#include "tree.h"

#define MAX_FRAMES (1u << 18)

/* --------------------------------------------------------------------------------------------- its memory */

/* The stack of zones of the running lane has moved and grown. */
static void tell_lane(const struct hp_thread_context *context, uint32_t frames, uint32_t capacity)
{
    if (context->running == NULL)
        return;
    HOTPATH_PUT_(context->running->frames, frames);
    HOTPATH_PUT_(context->running->frame_capacity, capacity);
}

/* The record has never switched lanes. */
static void forget_lanes(struct hp_thread_context *context)
{
    context->lane = NULL;
    context->running = context->own_lane = NULL;
    context->folds = 0;
}

static void use_frames(struct hp_thread_context *context, uint32_t offset, uint32_t capacity, uint32_t depth)
{
    struct hotpath_frame_ *frames = hp_store_at(context->store, offset);
    context->hot.top = frames + depth;
    context->hot.last = frames + capacity - 1;
    __atomic_store_n(&context->record->frames, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&context->record->frame_capacity, capacity, __ATOMIC_RELAXED);
}

bool hp_zone_make_room(struct hp_thread_context *context)
{
    const uint32_t capacity = context->record->frame_capacity;
    const uint32_t size = (uint32_t)sizeof(struct hotpath_frame_);
    if (capacity >= MAX_FRAMES)
        return false;
    const uint32_t offset = hp_thread_allocate(context, capacity * 2 * size, 64);
    if (offset == 0 || !hp_alloc_grow(context, capacity * 2, hp_store_at(context->store, offset)))
        return false;
    memcpy(hp_store_at(context->store, offset), hp_frame_zero(context), (size_t)capacity * size);
    use_frames(context, offset, capacity * 2, (uint32_t)(context->hot.top - hp_frame_zero(context)));
    tell_lane(context, offset, capacity * 2);
    return true;
}

static void set_frame_zero(struct hp_thread_context *context)
{
    struct hotpath_frame_ *zero = hp_frame_zero(context);
    zero->zone = UINT64_MAX; /* all guards are below this address */
    zero->start = hp_now();
    zero->child = 0;
    zero->node = context->record->root;
    context->hot.top = zero;
    context->skip_runs = 0;
    context->loop_wait = 0;
    context->transfer = 0;
}

bool hp_zones_begin(struct hp_thread_context *context)
{
    context->hot.base = context->store->range.base;
    const uint32_t frames =
        hp_thread_allocate(context, HP_FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_), 64);
    if (frames == 0)
        return false;
    use_frames(context, frames, HP_FIRST_FRAMES, 0);
    forget_lanes(context);
    hp_call_log_begin(context);
    if (!hp_tree_begin(context))
        return false;
    set_frame_zero(context);
    return true;
}

bool hp_zones_resume(struct hp_thread_context *context)
{
    if (!hp_tree_resume(context))
        return false;
    set_frame_zero(context);
    return true;
}

/* ------------------------------------------------------------------------------------------- closing zones */

/* For a call longer, or shorter, than all before it. */
static void reconsider(struct hp_thread_context *context, const struct hotpath_frame_ *frame, uint64_t ticks,
                       bool is_nested)
{
    hp_tree_review(context, frame->node, ticks);
    if (!is_nested)
        hp_call_log_reconsider(context, frame, ticks);
}

static void close_untimed(struct hp_thread_context *context, struct hotpath_frame_ *frame,
                          const struct hotpath_stat_ *stat)
{
    const bool is_nested = (frame->stat & HOTPATH_RECURSIVE_) && stat->open > 1;
    const uint32_t flags = frame->stat;
    hotpath_count_untimed_(&context->hot, frame);
    if (flags & HOTPATH_ALLOCATES_)
        hp_alloc_close(context, frame, is_nested);
}

void hp_zone_close_top(struct hp_thread_context *context, uint64_t now)
{
    struct hotpath_frame_ *frame = context->hot.top;
    struct hotpath_node_ *node = hp_node_at(context, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(context, node->stat);
    if (frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) {
        close_untimed(context, frame, stat);
        return;
    }
    uint64_t ticks = now - frame->start;
    if ((int64_t)ticks < 0) {
        hp_lose(context, HP_LOSS_CLOCK);
        ticks = 0;
    }
    const bool is_longer = stat->octaves[hotpath_octave_(ticks)] == 0;
    uint64_t *counter = hp_tree_counter(context, stat->octaves, ticks);
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    if (counter != NULL) {
        HOTPATH_ADD_(*counter, 1);
    } else {
        HOTPATH_ADD_(stat->missed, 1);
        hp_lose(context, HP_LOSS_BUCKETS);
    }
    const bool is_nested = hp_zone_count(frame, node, stat, ticks);
    if (frame->stat & HOTPATH_ALLOCATES_)
        hp_alloc_close(context, frame, is_nested);
    if (frame->stat & HOTPATH_KEPT_)
        hp_logged_call(context, frame, ticks, is_nested);
    else if (is_longer)
        reconsider(context, frame, ticks, is_nested);
    HOTPATH_PUT_(frame->child, now);
    hp_zone_pop(context, frame);
}

/*
 * A zone that ended unnoticed. It ran at least until its last sign: its start, or the end of the last zone inside
 * it, which is stored in the frame above. That much is counted; the time after it goes to the parent.
 */
void hp_zone_abandon_top(struct hp_thread_context *context)
{
    const struct hotpath_frame_ *frame = context->hot.top;
    uint64_t last_sign = frame->start;
    if (frame != context->hot.last && frame[1].zone == 0 && (int64_t)(frame[1].child - last_sign) > 0)
        last_sign = frame[1].child;
    const struct hotpath_node_ *node = (const void *)(context->hot.base + frame->node);
    uint32_t none = 0;
    __atomic_compare_exchange_n(&hp_store_header(context->store)->unclosed, &none, node->site + 1, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    hp_zone_close_top(context, last_sign);
    hp_lose(context, HP_LOSS_ABANDONED);
}

/* ---------------------------------------------------------------------------------------------- switching lanes */

/* Switching lanes: the slow path. */

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
