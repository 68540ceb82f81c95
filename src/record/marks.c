/* Marks of zones that have allocated. SPDX-License-Identifier: MIT */
#include "marks.h"

#include <string.h>

#include "heap_samples.h"
#include "lane_state.h"
#include "thread_head.h"
#include "thread_space.h"
#include "tree.h"

struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    if (!hp_frame_is_marked(frame))
        return (struct hp_alloc_sums){0, 0};
    const struct hp_alloc_frame *begun = hp_frame_marks(head, frame);
    return (struct hp_alloc_sums){head->alloc->bytes - begun->bytes, head->alloc->count - begun->count};
}

int64_t hp_alloc_peak_of_thread(const struct hp_head *head)
{
    int64_t peak = head->alloc->peak_live;
    for (const struct hotpath_frame_ *frame = hp_frame_zero(head) + 1;
         frame <= head->hot.top && hp_frame_is_marked(frame); frame++)
        if (hp_frame_marks(head, frame)->peak_live > peak)
            peak = hp_frame_marks(head, frame)->peak_live;
    return peak;
}

/* `frame_zero` is, or will be, the address of frame 0. */
static void use_frames(struct hp_head *head, uint32_t frames, const struct hotpath_frame_ *frame_zero)
{
    head->alloc_frames = (uintptr_t)hp_store_at(head->store, frames) - 2 * (uintptr_t)frame_zero;
}

static uint32_t frames_bytes(uint32_t capacity) { return capacity * (uint32_t)sizeof(struct hp_alloc_frame); }

bool hp_alloc_begin(struct hp_head *head)
{
    hp_tree_need_blank_stat(head);
    const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_alloc_thread), 64);
    const uint32_t frames = hp_thread_allocate(head, frames_bytes(head->record->frame_capacity), 64);
    const bool is_all = !hp_lane_is_other(head) || hp_alloc_begin_lane(head, head->own_lane);
    if (offset == 0 || frames == 0 || head->record->blank_stat == 0 || !is_all)
        return false;
    head->alloc = hp_store_at(head->store, offset);
    head->alloc->frames = frames;
    use_frames(head, frames, hp_frame_zero(head));
    HOTPATH_PUT_(hp_frame_zero(head)->stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&head->record->alloc, offset, __ATOMIC_RELEASE);
    hp_alloc_declare(hp_store_header(head->store));
    hp_heap_begin_thread(head);
    return true;
}

bool hp_alloc_begin_lane(const struct hp_head *head, struct hp_lane *lane)
{
    struct hotpath_frame_ *frames = hp_store_at(head->store, lane->frames);
    const uint32_t bytes = lane->frame_capacity * (uint32_t)sizeof(struct hp_alloc_frame);
    const uint32_t offset = hp_store_allocate(head->store, bytes, HP_APART);
    if (offset == 0)
        return false;
    HOTPATH_PUT_(frames[0].stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&lane->alloc_frames, offset, __ATOMIC_RELEASE);
    return true;
}

bool hp_alloc_grow(struct hp_head *head, uint32_t capacity, const struct hotpath_frame_ *frame_zero)
{
    if (head->alloc == NULL)
        return true;
    const uint32_t frames = hp_thread_allocate(head, frames_bytes(capacity), 64);
    if (frames == 0)
        return false;
    memcpy(hp_store_at(head->store, frames), hp_store_at(head->store, head->alloc->frames),
           frames_bytes(head->record->frame_capacity));
    __atomic_store_n(&head->alloc->frames, frames, __ATOMIC_RELEASE);
    use_frames(head, frames, frame_zero);
    return true;
}
