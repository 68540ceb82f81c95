/*
 * What a thread used from start to exit. An outside observer samples it now and then, and its last sample is some
 * time before the exit; the thread itself has the exact numbers. SPDX-License-Identifier: MIT
 */
#include "lives.h"

#include "arith.h"
#include "cpu.h"
#include "thread_head.h"

#define PUT(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

void hp_life_begin(struct hp_head *head)
{
    struct hp_thread_life *life = &head->record->life;
    const struct hp_alloc_thread *alloc =
        head->record->alloc != 0 ? hp_store_at(head->store, head->record->alloc) : NULL;
    PUT(life->bytes_before, alloc != NULL ? alloc->bytes : 0);
    PUT(life->usable_before, alloc != NULL ? alloc->usable : 0);
    PUT(life->freed_before, alloc != NULL ? alloc->freed : 0);
}

/* Release: a reader that sees the thread's identity sees its numbers. The readers are in other processes. */
void hp_life_end(struct hp_head *head, const struct hp_cpu_time *used)
{
    if (head->record == NULL || head->hot.epoch != hp_epoch() || hp_runtime->gate == 0)
        return;
    struct hp_thread_life *life = &head->record->life;
    PUT(life->user_ns, hp_less(used->ns, used->kernel_ns));
    PUT(life->kernel_ns, used->kernel_ns);
    PUT(life->voluntary, used->waits);
    PUT(life->involuntary, hp_less(used->switches, used->waits));
    __atomic_store_n(&life->ended_generation, head->generation, __ATOMIC_RELEASE);
}

void hp_life_end_present(void)
{
    struct hp_head *head = hp_thread_present();
    if (head == NULL || HOTPATH_GET_(hp_runtime->wishes.is_watched) == 0)
        return;
    const struct hp_cpu_time used = hp_cpu_of_thread();
    hp_life_end(head, &used);
}
