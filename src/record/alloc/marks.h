/*
 * Marks of zones that have allocated: the thread's counters when the zone started, stored beside its frame. See
 * allocations.c. The caller holds the context. SPDX-License-Identifier: MIT
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

#endif
