/*
 * What the sampled blocks of one process's heap stand for, by stack: live bytes now, at the peak, and the weight of
 * each block. Stacks are numbers from the caller.
 *
 *     struct hp_heap_live heap = {0};
 *     struct hp_heap_worth worth = hp_heap_worth(&heap, bytes, mean);
 *     hp_heap_live_look(&heap, counted_bytes);
 *     hp_heap_live_add(&heap, number, stack, bytes, &worth);
 *     hp_heap_live_remove(&heap, number, counted_bytes);
 *     for (size_t at = 0; at < heap.stack_count; at++) ... heap.stacks[at] ...
 *     hp_heap_live_free(&heap);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_HEAP_LIVE_H
#define HP_COLLECT_HEAP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

/* What a sample stands for. */
struct hp_heap_worth {
    uint64_t bytes, blocks;
};

struct hp_heap_stack {
    uint32_t stack;
    bool is_changed; /* since the peak */
    struct hp_heap_worth live, peak;
};

struct hp_heap_block_seen {
    uint32_t stack_at; /* among `stacks` */
    uint32_t number;
    uint64_t bytes; /* of the block itself */
    struct hp_heap_worth worth;
};

struct hp_heap_live {
    struct hp_heap_stack *stacks; /* all that were ever seen */
    size_t stack_count;
    uint64_t peak; /* maximum of the counted bytes */
    /* Private from here on. */
    double bytes_left, blocks_left; /* rounding remainders, carried to the next */
    struct hp_heap_block_seen *blocks;
    uint32_t *changed, *unused; /* indexes in `stacks`, and in `blocks` */
    size_t stack_room, block_count, block_room, changed_count, changed_room, unused_count, unused_room;
    struct hp_hash_index stack_index, block_index;
};

/*
 * The probability that a block of that size is sampled, if samples are `mean` bytes apart: 1 - exp(-size / mean).
 */
double hp_heap_share(uint64_t bytes, uint64_t mean);

/* The weight of a block. Rounded so that sums are right. */
struct hp_heap_worth hp_heap_worth(struct hp_heap_live *heap, uint64_t bytes, uint64_t mean);

/*
 * Reports the live bytes as counted, without the next event: if they are a new maximum, the current samples become
 * those of the peak. By counts, not by samples: the highest of many estimates would be too high.
 */
void hp_heap_live_look(struct hp_heap_live *heap, uint64_t counted_bytes);

/* False: no memory, and nothing is changed. */
bool hp_heap_live_add(struct hp_heap_live *heap, uint32_t number, uint32_t stack, uint64_t bytes,
                      const struct hp_heap_worth *worth);

/*
 * An unknown number has no effect. `counted_bytes`: live bytes including this block; 0: unknown. The block is known
 * to be sampled at this moment, so for this comparison it stands for itself alone.
 */
void hp_heap_live_remove(struct hp_heap_live *heap, uint32_t number, uint64_t counted_bytes);

void hp_heap_live_free(struct hp_heap_live *heap);

#endif
