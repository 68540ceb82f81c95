/*
 * Allocations of zones in lanes. The counters belong to the thread (allocations.c); marks are their values when a
 * zone started. While a lane is suspended, others allocate on its thread, and it may resume on another thread. So
 * it saves the counters when it stops, and when it resumes all its marks are shifted by what the counters have
 * gained since: as if nothing had happened meanwhile.
 *
 * Allocations inside zones are told from those outside of all zones per thread (`inner_bytes` of the thread's own
 * frame 0). So each stretch that a lane runs is added there, whether or not its zones end in it.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lane_marks.h"

#include "marks.h"
#include "thread_context.h"

static struct hp_alloc_frame *marks_at(const struct hp_thread_context *context, uint32_t offset)
{
    return hp_store_at(context->store, offset);
}

void hp_lane_marks_publish(const struct hp_thread_context *context)
{
    struct hp_header *header = hp_store_header(context->store);
    const int64_t others =
        __atomic_load_n(&header->alloc_live, __ATOMIC_RELAXED) - hp_alloc_published(context->alloc);
    hp_raise(&header->alloc_peak, others + hp_alloc_peak_of_thread(context));
}

static struct hp_lane_allocs counters_of(const struct hp_alloc_thread *thread)
{
    return (struct hp_lane_allocs){.count = thread->count,
                                   .bytes = thread->bytes,
                                   .live = hp_alloc_live(thread),
                                   .blocks = hp_alloc_live_blocks(thread),
                                   .peak_live = thread->peak_live,
                                   .peak_blocks = thread->peak_blocks};
}

/*
 * Allocations in zones on this thread since the lane resumed: in zones that have ended, and in the outermost open
 * one.
 */
static void credit_stretch(const struct hp_thread_context *context, struct hp_lane *lane)
{
    const struct hotpath_frame_ *first = hp_frame_zero(context) + 1;
    struct hp_alloc_frame *marks = hp_frame_marks(context, first - 1);
    struct hp_alloc_frame *outside = marks_at(context, context->own_lane->alloc_frames);
    const bool is_open = first <= context->hot.top && hp_frame_is_marked(first);
    const uint64_t bytes = is_open ? context->alloc->bytes - marks[1].bytes : 0;
    const uint64_t count = is_open ? context->alloc->count - marks[1].count : 0;
    HOTPATH_ADD_(outside->inner_bytes, marks->inner_bytes + bytes - lane->held_bytes);
    HOTPATH_ADD_(outside->inner_count, marks->inner_count + count - lane->held_count);
    HOTPATH_PUT_(marks->inner_bytes, 0);
    HOTPATH_PUT_(marks->inner_count, 0);
    HOTPATH_PUT_(lane->held_bytes, bytes);
    HOTPATH_PUT_(lane->held_count, count);
}

void hp_lane_marks_stop(struct hp_thread_context *context, struct hp_lane *lane)
{
    if (lane != context->own_lane)
        credit_stretch(context, lane);
    const struct hp_lane_allocs now = counters_of(context->alloc);
    HOTPATH_PUT_(lane->alloc_frames, context->alloc->frames);
    HOTPATH_PUT_(lane->allocs.count, now.count);
    HOTPATH_PUT_(lane->allocs.bytes, now.bytes);
    HOTPATH_PUT_(lane->allocs.live, now.live);
    HOTPATH_PUT_(lane->allocs.blocks, now.blocks);
    HOTPATH_PUT_(lane->allocs.peak_live, now.peak_live);
    HOTPATH_PUT_(lane->allocs.peak_blocks, now.peak_blocks);
}

/* The marked zones are the outermost ones, up to the first without a mark. */
static void move_marks(const struct hp_thread_context *context, const struct hp_lane_allocs *gained)
{
    for (const struct hotpath_frame_ *frame = hp_frame_zero(context) + 1;
         frame <= context->hot.top && hp_frame_is_marked(frame); frame++) {
        struct hp_alloc_frame *mark = hp_frame_marks(context, frame);
        HOTPATH_ADD_(mark->count, gained->count);
        HOTPATH_ADD_(mark->bytes, gained->bytes);
        HOTPATH_PUT_(mark->live, mark->live + gained->live);
        HOTPATH_PUT_(mark->blocks, mark->blocks + gained->blocks);
        HOTPATH_PUT_(mark->peak_live, mark->peak_live + gained->live);
        HOTPATH_PUT_(mark->peak_blocks, mark->peak_blocks + gained->blocks);
    }
}

/* Allocations of inner zones stay as they are: they are a sum, not counter values. */
void hp_lane_marks_go_on(struct hp_thread_context *context, struct hp_lane *lane)
{
    struct hp_alloc_thread *thread = context->alloc;
    const struct hp_lane_allocs *then = &lane->allocs;
    const struct hp_lane_allocs gained = {.count = thread->count - then->count,
                                          .bytes = thread->bytes - then->bytes,
                                          .live = hp_alloc_live(thread) - then->live,
                                          .blocks = hp_alloc_live_blocks(thread) - then->blocks};
    __atomic_store_n(&thread->frames, lane->alloc_frames, __ATOMIC_RELEASE);
    context->alloc_frames =
        (uintptr_t)marks_at(context, lane->alloc_frames) - 2 * (uintptr_t)hp_frame_zero(context);
    const bool has_gained = (gained.count | gained.bytes | (uint64_t)gained.live | (uint64_t)gained.blocks) != 0;
    if ((lane->has_flags & HOTPATH_ALLOCATES_) && has_gained)
        move_marks(context, &gained);
    HOTPATH_PUT_(thread->peak_live, then->peak_live + gained.live);
    HOTPATH_PUT_(thread->peak_blocks, then->peak_blocks + gained.blocks);
}
