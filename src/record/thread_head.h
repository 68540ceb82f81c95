/*
 * A thread's head and what it refers to in the session: nodes, stats, frames. Protocol of use: holding.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_THREAD_HEAD_H
#define HP_RECORD_THREAD_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"
#include "sys.h"

/* The head of the calling thread if it has one for the running session, or NULL. */
static inline struct hp_head *hp_thread_present(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    const bool is_there = &head->hot != &hp_idle_head && head->thread_id != 0 && head->hot.epoch == hp_epoch();
    return is_there ? head : NULL;
}
/* Whether the calling thread must not read the time stamp counter, or that cannot be found out. */
bool hp_thread_is_blind(void);

/* Whether its thread is the process's first, which lives as long as the process. */
static inline bool hp_head_is_of_first_thread(const struct hp_head *head)
{
    return head->thread_id == hp_sys_process_id();
}

/* --- with the head held: until it is released the session stays mapped, even if it has ended meanwhile */

static inline struct hotpath_node_ *hp_node_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_stat_ *hp_stat_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_frame_ *hp_frame_zero(const struct hp_head *head)
{
    return (struct hotpath_frame_ *)(void *)(head->hot.base + head->record->frames);
}
static inline void hp_lose(const struct hp_head *head, enum hp_loss loss) { hp_store_lose(head->store, loss, 1); }

/*
 * Whether the zone's call is around the code whose stack pointer is `stack`. A macro's guard is in its function's
 * frame, above that address. A hook has no guard: its zone is a few bytes below, one per inlined function, and not
 * at a multiple of 4 (functions.c). Zones of callees lie at least two words further down, since frames are that
 * large.
 */
#define HP_HOOK_REACH (2 * sizeof(void *))
static inline bool hp_zone_is_there(const struct hotpath_frame_ *frame, uintptr_t stack)
{
    return frame->zone >= stack || (frame->zone % 4 != 0 && stack - frame->zone < HP_HOOK_REACH);
}

#endif
