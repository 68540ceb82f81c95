/*
 * Sampled heap blocks that are live: a table from address to sample number. Every free must check whether its block
 * was sampled, so a filter with one byte per set of slots answers nearly all of these checks with one load.
 *
 * Nothing here blocks. Any thread, signal handlers included, at any time. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_HEAP_BLOCKS_H
#define HP_ALLOC_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
