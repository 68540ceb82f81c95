/*
 * What sampled blocks of one process's heap stand for, by stack: what lives now, what lived when the most did, and how much each block is
 * worth. Stacks are numbers that the caller gives them.
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
#ifndef HP_STACKS_HEAP_LIVE_H
#define HP_STACKS_HEAP_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All that a sample stands for. */
struct hp_heap_worth {
    uint64_t bytes, blocks;
};

struct hp_heap_stack {
    uint32_t stack;
    bool is_changed; /* since the peak */
    struct hp_heap_worth live, peak;
};

/* A table by numbers that are not 0; open addressing. */
struct hp_heap_index {
    struct hp_heap_slot {
        uint32_t key, value;
    } * slots;
    size_t count, size;
};

struct hp_heap_block_seen {
    uint32_t stack_at; /* among `stacks` */
    uint64_t bytes;    /* of the block itself */
    struct hp_heap_worth worth;
};

struct hp_heap_live {
    struct hp_heap_stack *stacks; /* each that was ever seen */
    size_t stack_count;
    uint64_t peak; /* the most that was counted */
    /* Private from here on. */
    double bytes_left, blocks_left; /* fractions that were rounded away, for the next */
    struct hp_heap_block_seen *blocks;
    uint32_t *changed, *unused; /* places in `stacks`, and in `blocks` */
    size_t stack_room, block_count, block_room, changed_count, changed_room, unused_count, unused_room;
    struct hp_heap_index stack_index, block_index;
};

/* With what probability a block of that size is a sample, where these are `mean` bytes apart: 1 - exp(-size / mean). */
double hp_heap_share(uint64_t bytes, uint64_t mean);

/* What it stands for. Rounded so that sums are right. */
struct hp_heap_worth hp_heap_worth(struct hp_heap_live *heap, uint64_t bytes, uint64_t mean);

/*
 * So much lives now, as it was counted, without what is told next: if that is the most so far, what samples say of this moment is what they say of the peak. By counts, and
 * not by samples: the highest of many estimates would be one that is too high.
 */
void hp_heap_live_look(struct hp_heap_live *heap, uint64_t counted_bytes);

/* False: no memory, and nothing is changed. */
bool hp_heap_live_add(struct hp_heap_live *heap, uint32_t number, uint32_t stack, uint64_t bytes,
                      const struct hp_heap_worth *worth);

/*
 * One that is not known is nothing. `counted_bytes`: of what lived with it; 0: not known. That it was sampled is certain in this moment, so for
 * this look it stands for itself alone.
 */
void hp_heap_live_remove(struct hp_heap_live *heap, uint32_t number, uint64_t counted_bytes);

void hp_heap_live_free(struct hp_heap_live *heap);

#endif
