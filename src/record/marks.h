/*
 * Marks of zones in which something was allocated: what the thread's counters were when they began, beside their frames. See
 * allocations.c. With the head held. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_MARKS_H
#define HP_RECORD_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

static inline bool hp_frame_is_marked(const struct hotpath_frame_ *frame)
{
    return frame->stat & HOTPATH_ALLOCATES_;
}

/* Marks are twice as large as frames, so the way from one to the other takes no more than an addition. */
static inline struct hp_alloc_frame *hp_frame_marks(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return (struct hp_alloc_frame *)(head->alloc_frames + 2 * (uintptr_t)frame);
}

/* What was asked for, and how often. */
struct hp_alloc_sums {
    uint64_t bytes;
    uint64_t count;
};
/* In an open call so far, zones inside included. */
struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame);

/* Counters for a thread that has none yet, with a mark for each frame of its present stack; false without space. */
bool hp_alloc_begin(struct hp_head *head);
/* The stack of zones grows to so many frames, and moves: before it does. False without space. */
bool hp_alloc_grow(struct hp_head *head, uint32_t capacity, const struct hotpath_frame_ *frame_zero);
/* Marks for the frames of a lane that does not run and has none; false without space. */
bool hp_alloc_begin_lane(const struct hp_head *head, struct hp_lane *lane);

/* The most that lived of what the thread allocated, with what open zones have put aside. */
int64_t hp_alloc_peak_of_thread(const struct hp_head *head);

/* The session has allocations in it. */
static inline void hp_alloc_declare(struct hp_header *header)
{
    if (!(__atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_ALLOC))
        __atomic_fetch_or(&header->features, HP_FEATURE_ALLOC, __ATOMIC_RELAXED);
}

#endif
