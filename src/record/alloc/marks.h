/*
 * Marks of zones that have allocated: the thread's counters when the zone started, stored beside its frame; and
 * what the end of a call makes of them. See allocations.c. The caller holds the context.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_MARKS_H
#define HP_ALLOC_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

static inline bool hp_frame_is_marked(const struct hotpath_frame_ *frame)
{
    return frame->stat & HOTPATH_ALLOCATES_;
}

/* Marks are twice as large as frames, so one addition leads from a frame to its mark. */
static inline struct hp_alloc_frame *hp_frame_marks(const struct hp_thread_context *context,
                                                    const struct hotpath_frame_ *frame)
{
    return (struct hp_alloc_frame *)(context->alloc_frames + 2 * (uintptr_t)frame);
}

/* Bytes requested, and number of requests. */
struct hp_alloc_sums {
    uint64_t bytes;
    uint64_t count;
};
/* Of an open call so far, inner zones included. */
struct hp_alloc_sums hp_alloc_of_call(const struct hp_thread_context *context, const struct hotpath_frame_ *frame);

/* Makes counters for a thread that has none, with a mark for each frame of its current stack. False: no space. */
bool hp_alloc_begin(struct hp_thread_context *context);
/* Call before the stack of zones grows to this many frames and moves. False: no space. */
bool hp_alloc_grow(struct hp_thread_context *context, uint32_t capacity, const struct hotpath_frame_ *frame_zero);
/* Makes marks for the frames of a suspended lane that has none. False: no space. */
bool hp_alloc_begin_lane(const struct hp_thread_context *context, struct hp_lane *lane);

/* The thread's peak of live bytes, including the peaks saved by open zones. */
int64_t hp_alloc_peak_of_thread(const struct hp_thread_context *context);

/* Notes that the session contains allocations. */
static inline void hp_alloc_declare(struct hp_header *header)
{
    if (!(__atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_ALLOC))
        __atomic_fetch_or(&header->features, HP_FEATURE_ALLOC, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------------------------------- the end of a call */

/*
 * The end of a call that has allocated: sums, six histograms, and the peak, which is passed on to the enclosing
 * zone (allocations.c). It is in a header because the usual case is one leaf function (hotpath_v1_leave).
 */

#ifdef __OPTIMIZE__
#define HP_ALLOC_INLINED inline __attribute__((always_inline))
#else
#define HP_ALLOC_INLINED inline /* else each inlined function gets its own stack space */
#endif
#define HP_RARELY(condition) __builtin_expect(!!(condition), 0)

/* Ends a call whose frame has HOTPATH_ALLOCATES_; the frame is still on top of the stack. */
void hp_alloc_close(struct hp_thread_context *context, const struct hotpath_frame_ *frame, bool is_nested);

/* -------------------------------------------------------------------------------------------------- histograms */

/* Values of a call that may not have counters yet. */
struct hp_alloc_missing {
    uint32_t measures; /* bit mask */
    uint64_t values[HP_ALLOC_MEASURES];
};

static HP_ALLOC_INLINED void hp_alloc_miss(struct hp_alloc_missing *missing, enum hp_alloc_measure measure,
                                           uint64_t value)
{
    missing->measures |= 1u << measure;
    missing->values[measure] = value;
}

static HP_ALLOC_INLINED void hp_alloc_raise_max(struct hp_alloc_stat *stat, enum hp_alloc_measure measure,
                                                uint64_t value)
{
    if (HP_RARELY(value > stat->max[measure]))
        HOTPATH_PUT_(stat->max[measure], value);
}

static HP_ALLOC_INLINED void hp_alloc_add_value(char *base, struct hp_alloc_stat *stat,
                                                enum hp_alloc_measure measure, uint64_t value,
                                                struct hp_alloc_missing *missing)
{
    const uint32_t octave = hotpath_octave_(value), origin = stat->octaves[measure][octave];
    if (HP_RARELY(origin == 0))
        hp_alloc_miss(missing, measure, value);
    else
        HOTPATH_ADD_(((uint64_t *)(void *)(base + origin))[value >> octave], 1);
    hp_alloc_raise_max(stat, measure, value);
}

/* The same for numbers that rarely exceed the first octave. */
static HP_ALLOC_INLINED void hp_alloc_add_number(char *base, struct hp_alloc_stat *stat,
                                                 enum hp_alloc_measure measure, uint64_t value,
                                                 struct hp_alloc_missing *missing)
{
    const uint32_t origin = stat->octaves[measure][0];
    if (HP_RARELY(value >= 128 || origin == 0))
        hp_alloc_miss(missing, measure, value);
    else
        HOTPATH_ADD_(((uint64_t *)(void *)(base + origin))[value], 1);
    hp_alloc_raise_max(stat, measure, value);
}

__attribute__((noinline, cold)) void hp_alloc_add_missing(struct hp_thread_context *context,
                                                          struct hp_alloc_stat *stat,
                                                          const struct hp_alloc_missing *missing);

/* ----------------------------------------------------------------------------------------------------- the call */

/* Gives the enclosing zone the maximum of its own peak and that of the ending zone, which is returned. */
static HP_ALLOC_INLINED uint64_t hp_alloc_end_peak(int64_t *peak, int64_t around, int64_t at_begin)
{
    const int64_t height = *peak - at_begin;
    if (around > *peak)
        HOTPATH_PUT_(*peak, around);
    return height > 0 ? (uint64_t)height : 0;
}

static HP_ALLOC_INLINED void hp_alloc_close_call(struct hp_thread_context *context,
                                                 const struct hotpath_frame_ *frame, struct hp_alloc_stat *stat,
                                                 bool is_nested)
{
    struct hp_alloc_thread *thread = context->alloc;
    struct hp_alloc_frame *begun = hp_frame_marks(context, frame), *around = begun - 1;
    char *const base = context->hot.base;
    struct hp_alloc_missing missing;
    missing.measures = 0;
    const uint64_t bytes = thread->bytes - begun->bytes, count = thread->count - begun->count;
    const uint64_t own_bytes = bytes - begun->inner_bytes, own_count = count - begun->inner_count;
    HOTPATH_ADD_(around->inner_bytes, bytes);
    HOTPATH_ADD_(around->inner_count, count);
    HOTPATH_ADD_(stat->calls, 1);
    HOTPATH_ADD_(stat->own_bytes, own_bytes);
    HOTPATH_ADD_(stat->own_count, own_count);
    if (!HP_RARELY(is_nested)) {
        HOTPATH_ADD_(stat->all_bytes, bytes);
        HOTPATH_ADD_(stat->all_count, count);
        HOTPATH_ADD_(stat->net_bytes, hp_alloc_live(thread) - begun->live);
        HOTPATH_ADD_(stat->net_blocks, hp_alloc_live_blocks(thread) - begun->blocks);
    }
    hp_alloc_add_value(base, stat, HP_ALLOC_OWN_BYTES, own_bytes, &missing);
    hp_alloc_add_value(base, stat, HP_ALLOC_ALL_BYTES, bytes, &missing);
    hp_alloc_add_number(base, stat, HP_ALLOC_OWN_COUNT, own_count, &missing);
    hp_alloc_add_number(base, stat, HP_ALLOC_ALL_COUNT, count, &missing);
    const uint64_t peak_bytes = hp_alloc_end_peak(&thread->peak_live, begun->peak_live, begun->live);
    hp_alloc_add_value(base, stat, HP_ALLOC_PEAK_BYTES, peak_bytes, &missing);
    const uint64_t peak_blocks = hp_alloc_end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    hp_alloc_add_number(base, stat, HP_ALLOC_PEAK_BLOCKS, peak_blocks, &missing);
    if (HP_RARELY(missing.measures != 0))
        hp_alloc_add_missing(context, stat, &missing);
}

/* ----------------------------------------------------------------------------------------------------- in lanes */

/* The context has counters. */

/* At the first switch: publishes the thread's peak so far. */
void hp_lane_marks_publish(const struct hp_thread_context *context);
/*
 * The running lane stops; the context still has its frames. For going on, the context already has the frames of the
 * lane that resumes.
 */
void hp_lane_marks_stop(struct hp_thread_context *context, struct hp_lane *lane);
void hp_lane_marks_go_on(struct hp_thread_context *context, struct hp_lane *lane);

#endif
