/* A thread's stack of open zones. SPDX-License-Identifier: MIT */
#include "zone_stack.h"

#include <string.h>

#include "allocated_calls.h"
#include "kept.h"
#include "marks.h"
#include "short_calls.h"
#include "thread_head.h"
#include "thread_space.h"
#include "tree.h"

#define MAX_FRAMES (1u << 18)

/* --------------------------------------------------------------------------------------------- its memory */

/* The stack of zones of the running lane has moved and grown. */
static void tell_lane(const struct hp_head *head, uint32_t frames, uint32_t capacity)
{
    if (head->running == NULL)
        return;
    HOTPATH_PUT_(head->running->frames, frames);
    HOTPATH_PUT_(head->running->frame_capacity, capacity);
}

/* The record has never switched lanes. */
static void forget_lanes(struct hp_head *head)
{
    head->lane = NULL;
    head->running = head->own_lane = NULL;
    head->folds = 0;
}

static void use_frames(struct hp_head *head, uint32_t offset, uint32_t capacity, uint32_t depth)
{
    struct hotpath_frame_ *frames = hp_store_at(head->store, offset);
    head->hot.top = frames + depth;
    head->hot.last = frames + capacity - 1;
    __atomic_store_n(&head->record->frames, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->frame_capacity, capacity, __ATOMIC_RELAXED);
}

bool hp_zone_make_room(struct hp_head *head)
{
    const uint32_t capacity = head->record->frame_capacity;
    const uint32_t size = (uint32_t)sizeof(struct hotpath_frame_);
    if (capacity >= MAX_FRAMES)
        return false;
    const uint32_t offset = hp_thread_allocate(head, capacity * 2 * size, 64);
    if (offset == 0 || !hp_alloc_grow(head, capacity * 2, hp_store_at(head->store, offset)))
        return false;
    memcpy(hp_store_at(head->store, offset), hp_frame_zero(head), (size_t)capacity * size);
    use_frames(head, offset, capacity * 2, (uint32_t)(head->hot.top - hp_frame_zero(head)));
    tell_lane(head, offset, capacity * 2);
    return true;
}

static void set_frame_zero(struct hp_head *head)
{
    struct hotpath_frame_ *zero = hp_frame_zero(head);
    zero->zone = UINT64_MAX; /* all guards are below this address */
    zero->start = hp_now();
    zero->child = 0;
    zero->node = head->record->root;
    head->hot.top = zero;
    head->skip_runs = 0;
    head->loop_wait = 0;
    head->transfer = 0;
}

bool hp_zones_begin(struct hp_head *head)
{
    head->hot.base = head->store->range.base;
    const uint32_t frames = hp_thread_allocate(head, HP_FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_), 64);
    if (frames == 0)
        return false;
    use_frames(head, frames, HP_FIRST_FRAMES, 0);
    forget_lanes(head);
    hp_kept_begin(head);
    if (!hp_tree_begin(head))
        return false;
    set_frame_zero(head);
    return true;
}

bool hp_zones_resume(struct hp_head *head)
{
    if (!hp_tree_resume(head))
        return false;
    set_frame_zero(head);
    return true;
}

/* ------------------------------------------------------------------------------------------- closing zones */

/* For a call longer, or shorter, than all before it. */
static void reconsider(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested)
{
    hp_tree_review(head, frame->node, ticks);
    if (!is_nested)
        hp_kept_reconsider(head, frame, ticks);
}

static void close_untimed(struct hp_head *head, struct hotpath_frame_ *frame, const struct hotpath_stat_ *stat)
{
    const bool is_nested = (frame->stat & HOTPATH_RECURSIVE_) && stat->open > 1;
    const uint32_t flags = frame->stat;
    hotpath_count_untimed_(&head->hot, frame);
    if (flags & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
}

void hp_zone_close_top(struct hp_head *head, uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top;
    struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    if (frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) {
        close_untimed(head, frame, stat);
        return;
    }
    uint64_t ticks = now - frame->start;
    if ((int64_t)ticks < 0) {
        hp_lose(head, HP_LOSS_CLOCK);
        ticks = 0;
    }
    const bool is_longer = stat->octaves[hotpath_octave_(ticks)] == 0;
    uint64_t *counter = hp_tree_counter(head, stat->octaves, ticks);
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    if (counter != NULL) {
        HOTPATH_ADD_(*counter, 1);
    } else {
        HOTPATH_ADD_(stat->missed, 1);
        hp_lose(head, HP_LOSS_BUCKETS);
    }
    const bool is_nested = hp_zone_count(frame, node, stat, ticks);
    if (frame->stat & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
    if (frame->stat & HOTPATH_KEPT_)
        hp_kept_call(head, frame, ticks, is_nested);
    else if (is_longer)
        reconsider(head, frame, ticks, is_nested);
    HOTPATH_PUT_(frame->child, now);
    hp_zone_pop(head, frame);
}

/*
 * A zone that ended unnoticed. It ran at least until its last sign: its start, or the end of the last zone inside
 * it, which is stored in the frame above. That much is counted; the time after it goes to the parent.
 */
void hp_zone_abandon_top(struct hp_head *head)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    uint64_t last_sign = frame->start;
    if (frame != head->hot.last && frame[1].zone == 0 && (int64_t)(frame[1].child - last_sign) > 0)
        last_sign = frame[1].child;
    hp_zone_close_top(head, last_sign);
    hp_lose(head, HP_LOSS_ABANDONED);
}
