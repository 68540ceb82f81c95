/* Marks of zones that have allocated. SPDX-License-Identifier: MIT */
#include "marks.h"

#include <string.h>

#include "heap_samples.h"
#include "lane_state.h"
#include "thread_context.h"
#include "thread_space.h"
#include "tree.h"

struct hp_alloc_sums hp_alloc_of_call(const struct hp_thread_context *context, const struct hotpath_frame_ *frame)
{
    if (!hp_frame_is_marked(frame))
        return (struct hp_alloc_sums){0, 0};
    const struct hp_alloc_frame *begun = hp_frame_marks(context, frame);
    return (struct hp_alloc_sums){context->alloc->bytes - begun->bytes, context->alloc->count - begun->count};
}

int64_t hp_alloc_peak_of_thread(const struct hp_thread_context *context)
{
    int64_t peak = context->alloc->peak_live;
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1;
         frame <= context->hot.top && hp_frame_is_marked(frame); frame++)
        if (hp_frame_marks(context, frame)->peak_live > peak)
            peak = hp_frame_marks(context, frame)->peak_live;
    return peak;
}

/* `frame_zero` is, or will be, the address of frame 0. */
static void use_frames(struct hp_thread_context *context, uint32_t frames, const struct hotpath_frame_ *frame_zero)
{
    context->alloc_frames = (uintptr_t)hp_store_at(context->store, frames) - 2 * (uintptr_t)frame_zero;
}

static uint32_t frames_bytes(uint32_t capacity) { return capacity * (uint32_t)sizeof(struct hp_alloc_frame); }

static bool begin(struct hp_thread_context *context)
{
    hp_tree_need_blank_stat(context);
    const uint32_t offset = hp_thread_allocate(context, sizeof(struct hp_alloc_thread), 64);
    const uint32_t frames = hp_thread_allocate(context, frames_bytes(context->record->frame_capacity), 64);
    const bool is_all = !hp_lane_is_other(context) || hp_alloc_begin_lane(context, context->own_lane);
    if (offset == 0 || frames == 0 || context->record->blank_stat == 0 || !is_all)
        return false;
    context->alloc = hp_store_at(context->store, offset);
    context->alloc->frames = frames;
    use_frames(context, frames, hp_frame_zero(context));
    HOTPATH_PUT_(hp_frame_zero(context)->stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&context->record->alloc, offset, __ATOMIC_RELEASE);
    hp_alloc_declare(hp_store_header(context->store));
    hp_heap_begin_thread(context);
    return true;
}

struct beginning {
    struct hp_thread_context *context;
    bool is_begun; /* the result */
};

static void begin_aside(void *context)
{
    struct beginning *beginning = context;
    beginning->is_begun = begin(beginning->context);
}

bool hp_alloc_begin(struct hp_thread_context *context)
{
    struct beginning beginning = {context, false};
    return hp_aside(begin_aside, &beginning) && beginning.is_begun;
}

bool hp_alloc_begin_lane(const struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hotpath_frame_ *frames = hp_store_at(context->store, lane->frames);
    const uint32_t bytes = lane->frame_capacity * (uint32_t)sizeof(struct hp_alloc_frame);
    const uint32_t offset = hp_store_allocate(context->store, bytes, HP_APART);
    if (offset == 0)
        return false;
    HOTPATH_PUT_(frames[0].stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&lane->alloc_frames, offset, __ATOMIC_RELEASE);
    return true;
}

bool hp_alloc_grow(struct hp_thread_context *context, uint32_t capacity, const struct hotpath_frame_ *frame_zero)
{
    if (context->alloc == NULL)
        return true;
    const uint32_t frames = hp_thread_allocate(context, frames_bytes(capacity), 64);
    if (frames == 0)
        return false;
    memcpy(hp_store_at(context->store, frames), hp_store_at(context->store, context->alloc->frames),
           frames_bytes(context->record->frame_capacity));
    __atomic_store_n(&context->alloc->frames, frames, __ATOMIC_RELEASE);
    use_frames(context, frames, frame_zero);
    return true;
}
