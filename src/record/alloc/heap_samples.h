/*
 * Sampled allocations with their stacks, for `hotpath run`, which unwinds and names them: who allocates, what was
 * live at the peak, what was never freed. heap_sampler.h decides which allocations are sampled. Without `hotpath
 * run` nothing is sampled.
 *
 * A sample is a record of kind HP_STACK_ALLOCATION in a ring of the process (stack_ring.h). The ring's file lies
 * beside the session's and is made with the first sample. When the block is freed, a record of kind HP_STACK_FREED
 * follows. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_HEAP_SAMPLES_H
#define HP_ALLOC_HEAP_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime.h"
#include "stack_ring.h"

/* -------------------------------------------------------------------------------------------------- live blocks */

/*
 * Sampled heap blocks that are live: a table from address to sample number. Every free must check whether its block
 * was sampled, so a filter with one byte per set of slots answers nearly all of these checks with one load.
 *
 * Nothing here blocks. Any thread, signal handlers included, at any time.
 */

#define HP_HEAP_SET_BITS 14u
#define HP_HEAP_SETS (1u << HP_HEAP_SET_BITS)
#define HP_HEAP_WAYS 4u

struct hp_heap_block {
    uintptr_t address; /* 0: free */
    uint32_t number;
};

/* Zeroed memory is an empty table. 1 MB; only pages with blocks are touched; smaller than a huge page. */
struct hp_heap_blocks {
    union {
        uint8_t filter[HP_HEAP_SETS]; /* blocks in each set */
        uint32_t filter_words[HP_HEAP_SETS / 4];
    };
    struct hp_heap_block sets[HP_HEAP_SETS][HP_HEAP_WAYS];
    uint32_t live; /* in all sets */
};

static inline uint32_t hp_heap_set_of(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    return (uint32_t)(address >> 4 ^ address >> 33) * UINT32_C(0x9e3779b1) >> (32 - HP_HEAP_SET_BITS);
}

/* False: it was not sampled. */
static inline __attribute__((always_inline)) bool hp_heap_may_have(const struct hp_heap_blocks *blocks,
                                                                   const void *block)
{
    return __builtin_expect(__atomic_load_n(&blocks->filter[hp_heap_set_of(block)], __ATOMIC_RELAXED) != 0, 0);
}

/* Call before anyone else knows of the block. False: no slot free. */
bool hp_heap_blocks_put(struct hp_heap_blocks *blocks, const void *block, uint32_t number);

/* Call before the block is freed. 0: it is not in the table. */
uint32_t hp_heap_blocks_take(struct hp_heap_blocks *blocks, const void *block);

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
