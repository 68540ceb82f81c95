/*
 * How threads end: by a thread-exit destructor, or by a sandbox that forbids them to read the time stamp counter.
 * Open zones are closed then, and the context is free for the next thread. SPDX-License-Identifier: MIT
 */
#include "thread_ends.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "holding.h"
#include "lane_switch.h"
#include "sampler.h"
#include "stacks.h"
#include "thread_context.h"
#include "thread_lifetime.h"
#include "zone_stack.h"

static pthread_key_t exit_key;
static bool has_exit_key;

/* ------------------------------------------------------------------------------------- the end of a thread */

static void close_zones(struct hp_thread_context *context, uint64_t now)
{
    hp_context_hold(&context->hot);
    hp_lane_end_thread(context, now);
    while (context->hot.top > hp_frame_zero(context))
        hp_zone_close_top(context, now);
}

/* Cancelled in the middle of a call: see transfers.c. */
static void close_transfer(struct hp_thread_context *context, uint64_t now)
{
    struct hp_part *part = (struct hp_part *)(void *)(context->hot.base + context->transfer);
    if (context->transfer == 0 || part->last == 0)
        return;
    HOTPATH_ADD_(part->count[part->flags], now > part->last ? now - part->last : 0);
    HOTPATH_PUT_(part->last, 0);
    context->transfer = 0;
}

static void close_records(struct hp_thread_context *context)
{
    hp_sampler_end_thread(context);
    if (context->record == NULL || context->hot.epoch != hp_epoch() || hp_runtime->gate == 0)
        return;
    const uint64_t now = hp_now();
    for (struct hp_thread_context *at = context; at != NULL; at = at->handler) {
        if (at->record == NULL || at->hot.epoch != hp_epoch())
            continue; /* a handler's context that had no space for a record */
        close_zones(at, now);
        close_transfer(at, now);
        __atomic_store_n(&at->record->state, HP_THREAD_FREE, __ATOMIC_RELAXED);
    }
}

void hp_thread_release(struct hp_thread_context *context)
{
    close_records(context);
    __atomic_store_n(&context->thread_id, 0, __ATOMIC_RELAXED);
}

/* What this thread used, if an observer wants to know; nothing if the kernel may not be asked. */
static struct hp_cpu_time used_by_now(void)
{
    struct hp_cpu_time used = {0};
    if (HOTPATH_GET_(hp_runtime->live_settings.is_watched) != 0 && hp_calls_begin()) {
        used = hp_cpu_of_thread();
        hp_calls_end();
    }
    return used;
}

/* The last of the copies of the library that know the thread ends it. */
static void end_exit_rounds(struct hp_thread_context *context)
{
    struct hp_signals held;
    struct hp_cpu_time used = {0};
    if (context->copies == 1) {
        hp_sampler_part(context);
        used = used_by_now();
    }
    if (!hp_lock(&held))
        return;
    hotpath_v1_context = &hp_no_context;
    hp_thread_is_over = 1;
    if (context->thread_id != 0 && --context->copies == 0) {
        if (used.ns != 0)
            hp_life_end(context, &used);
        hp_thread_release(context);
    }
    hp_unlock(&held);
}

/*
 * Destructors of other keys may contain zones: stay for all rounds but the last. The last one belongs to tools that
 * must outlive everything, such as ThreadSanitizer, which no longer tracks the thread after it.
 */
HP_REALIGNED static void at_thread_exit(void *value)
{
    const int saved = errno;
    struct hp_thread_context *context = value;
    if (++context->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
        pthread_setspecific(exit_key, context);
    else
        end_exit_rounds(context);
    errno = saved;
}

/*
 * Makes open guards find nothing to close. The memory of guards that longjmp has left may be anything by now, so
 * each must look like a guard.
 */
static void close_guards(struct hp_thread_context *context, uintptr_t here)
{
    struct hp_stack own;
    if (!hp_stack_is_own(here, hp_context_is_of_first_thread(context), hp_is_child(), &own))
        return;
    for (const struct hotpath_frame_ *frame = context->hot.top; frame > hp_frame_zero(context); frame--) {
        struct hotpath_zone *zone = (struct hotpath_zone *)(uintptr_t)frame->zone;
        if (hp_stack_has(&own, (uintptr_t)zone) && (uintptr_t)zone > here &&
            (uintptr_t)zone % sizeof zone->state == 0 &&
            (zone->state & ~(uintptr_t)HOTPATH_BY_COUNT_) == (uintptr_t)context)
            zone->state = HOTPATH_SKIPPED_;
    }
}

void hp_thread_blind(struct hp_thread_context *context)
{
    close_guards(context, (uintptr_t)__builtin_frame_address(0));
    close_records(context);
    context->is_blind = true;
    for (struct hp_thread_context *at = context; at != NULL; at = at->handler)
        at->hot.epoch = 0; /* from now on every zone has to go through register_thread */
}

bool hp_thread_exit_hook(void)
{
    if (!has_exit_key)
        has_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    return has_exit_key;
}

void hp_thread_await_end(struct hp_thread_context *context)
{
    if (pthread_getspecific(exit_key) == context)
        return;
    context->copies++;
    context->exit_rounds = 0;
    pthread_setspecific(exit_key, context);
}
