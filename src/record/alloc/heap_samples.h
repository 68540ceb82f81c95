/*
 * Sampled allocations with their stacks, for `hotpath run`, which unwinds and names them: who allocates, what was
 * live at the peak, what was never freed. heap_sampler.h decides which allocations are sampled; heap_blocks.h
 * tracks the live ones. Without `hotpath run` nothing is sampled.
 *
 * A sample is a record of kind HP_STACK_ALLOCATION in a ring of the process (stack_ring.h). The ring's file lies
 * beside the session's and is made with the first sample. When the block is freed, a record of kind HP_STACK_FREED
 * follows. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_HEAP_SAMPLES_H
#define HP_ALLOC_HEAP_SAMPLES_H

#include "heap_blocks.h"
#include "runtime.h"
#include "stack_ring.h"

#define HP_HEAP_UNTOLD 256u

/* Per process. In a forked child it reads as zero. */
struct hp_heap {
    struct hp_heap_blocks blocks;
    struct hp_heap_pace pace;
    struct hp_stack_ring ring;
    uint32_t ring_state; /* enum ring_state */
    uint32_t pid;
    uint32_t numbers;                /* sample numbers given out so far */
    uint32_t untold_count;           /* approximate length of the following list */
    uint32_t untold[HP_HEAP_UNTOLD]; /* samples whose free found no room in the ring; 0: free slot */
};

/* The thread gets allocation counters, and so its own countdown. The caller holds the context. */
void hp_heap_begin_thread(struct hp_thread_context *context);

/* Whether an event needs more than counting. The caller holds the context and has counted the event. */
static inline __attribute__((always_inline)) bool hp_heap_is_due(const struct hp_thread_context *context,
                                                                 const void *allocated, const void *freed)
{
    const struct hp_heap *heap = context->heap;
    return heap != NULL &&
           ((allocated != NULL && __builtin_expect(context->alloc->bytes >= context->heap_countdown.due_at, 0)) ||
            (freed != NULL && hp_heap_may_have(&heap->blocks, freed)));
}

/* Does that work. `stack`: stack address of the call of malloc (allocations.h). The caller holds the context. */
void hp_heap_take(struct hp_thread_context *context, const void *allocated, uint64_t asked, const void *freed,
                  uint64_t freed_bytes, uintptr_t stack);

/* Call before a free or realloc: ends the sample of the block, if it has one. Any thread, any time. */
void hp_heap_forget(const void *block);

#endif
