/*
 * Sampled allocations, with their stacks, on their way to `hotpath run`, which unwinds and names them: who allocates, what lived at the peak,
 * what was never freed. Which ones are sampled heap_sampler.h decides, and heap_blocks.h knows those that live. Without `hotpath run` nothing
 * of this happens.
 *
 * A sample is a record of kind HP_STACK_ALLOCATION in a ring of the process (stack_ring.h), whose file is beside that of the session and made
 * with the first sample. When its block is freed, a record of kind HP_STACK_FREED follows. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_HEAP_SAMPLES_H
#define HP_RECORD_HEAP_SAMPLES_H

#include "heap_blocks.h"
#include "runtime.h"
#include "stack_ring.h"

#define HP_HEAP_UNTOLD 256u

/* Of the process. In a forked child all of it reads as zero. */
struct hp_heap {
    struct hp_heap_blocks blocks;
    struct hp_heap_pace pace;
    struct hp_stack_ring ring;
    uint32_t ring_state; /* enum ring_state */
    uint32_t pid;
    uint32_t numbers;                /* of samples, given out so far */
    uint32_t untold_count;           /* of the following, about */
    uint32_t untold[HP_HEAP_UNTOLD]; /* samples whose end found no room in the ring; 0: none */
};

/* A thread has counters for allocations from now on, and so its own countdown. With the head held. */
void hp_heap_begin_thread(struct hp_head *head);

/* Whether an event of a thread has more to be done than to be counted. With the head held, after it was counted. */
static inline __attribute__((always_inline)) bool hp_heap_is_due(const struct hp_head *head, const void *allocated,
                                                                 const void *freed)
{
    const struct hp_heap *heap = head->heap;
    return heap != NULL &&
           ((allocated != NULL && __builtin_expect(head->alloc->bytes >= head->heap_countdown.due_at, 0)) ||
            (freed != NULL && hp_heap_may_have(&heap->blocks, freed)));
}

/* Does it. `stack`: where malloc was called (allocations.h). With the head held. */
void hp_heap_take(struct hp_head *head, const void *allocated, uint64_t asked, const void *freed,
                  uint64_t freed_bytes, uintptr_t stack);

/* Before a block is freed, or becomes another: if it was sampled, that is over. Any thread, any time. */
void hp_heap_forget(const void *block);

#endif
