/*
 * What a thread used from start to exit. An outside observer samples it now and then, and its last sample is some
 * time before the exit; the thread itself has the exact numbers. SPDX-License-Identifier: MIT
 */
#include "thread_lifetime.h"

#include "arith.h"
#include "cpu.h"
#include "thread_context.h"

#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

void hp_life_begin(struct hp_thread_context *context)
{
    struct hp_thread_life *life = &context->record->life;
    const struct hp_alloc_thread *alloc =
        context->record->alloc != 0 ? hp_store_at(context->store, context->record->alloc) : NULL;
    PUT(life->bytes_before, alloc != NULL ? alloc->bytes : 0);
    PUT(life->usable_before, alloc != NULL ? alloc->usable : 0);
    PUT(life->freed_before, alloc != NULL ? alloc->freed : 0);
}

/* Release: a reader that sees the thread's identity sees its numbers. The readers are in other processes. */
void hp_life_end(struct hp_thread_context *context, const struct hp_cpu_time *used)
{
    if (context->record == NULL || context->hot.epoch != hp_epoch() || hp_runtime->gate == 0)
        return;
    struct hp_thread_life *life = &context->record->life;
    PUT(life->user_ns, hp_less(used->ns, used->kernel_ns));
    PUT(life->kernel_ns, used->kernel_ns);
    PUT(life->voluntary, used->waits);
    PUT(life->involuntary, hp_less(used->switches, used->waits));
    __atomic_store_n(&life->ended_generation, context->generation, __ATOMIC_RELEASE);
}

void hp_life_end_present(void)
{
    struct hp_thread_context *context = hp_thread_present();
    if (context == NULL || HOTPATH_GET_(hp_runtime->live_settings.is_watched) == 0)
        return;
    const struct hp_cpu_time used = hp_cpu_of_thread();
    hp_life_end(context, &used);
}
