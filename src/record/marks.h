/*
 * Marks of zones in which something was allocated: what the thread's counters were when they began, beside their frames. See
 * allocations.c. SPDX-License-Identifier: MIT
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

#endif
