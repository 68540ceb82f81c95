/*
 * A thread's context and what it refers to in the session: nodes, stats, frames. Protocol of use: holding.h.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_THREAD_CONTEXT_H
#define HP_CORE_THREAD_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "raw_call.h"
#include "runtime.h"

/*
 * Of functions that cleanup handlers and destructors of a thread may call: musl cancels it wherever it is, and
 * calls those with the stack as it was there.
 */
#if defined(__x86_64__) || defined(__i386__)
#define HP_REALIGNED __attribute__((force_align_arg_pointer))
#else
#define HP_REALIGNED
#endif

/* The context of the calling thread if it has one for the running session, or NULL. */
static inline struct hp_thread_context *hp_thread_present(void)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    const bool is_there =
        &context->hot != &hp_no_context && context->thread_id != 0 && context->hot.epoch == hp_epoch();
    return is_there ? context : NULL;
}
/* Whether the calling thread must not read the time stamp counter, or that cannot be found out. */
bool hp_thread_is_blind(void);

/* Whether its thread is the process's first, which lives as long as the process. */
static inline bool hp_context_is_of_first_thread(const struct hp_thread_context *context)
{
    return context->thread_id == hp_sys_process_id();
}

/* --- with the context held: until it is released the session stays mapped, even if it has ended meanwhile */

static inline struct hotpath_node_ *hp_node_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(context->hot.base + offset);
}
static inline struct hotpath_stat_ *hp_stat_at(const struct hp_thread_context *context, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(context->hot.base + offset);
}
static inline struct hotpath_frame_ *hp_frame_zero(const struct hp_thread_context *context)
{
    return (struct hotpath_frame_ *)(void *)(context->hot.base + context->record->frames);
}
static inline void hp_lose(const struct hp_thread_context *context, enum hp_loss loss)
{
    hp_store_lose(context->store, loss, 1);
}

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
