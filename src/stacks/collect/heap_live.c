/*
 * Live sampled blocks.
 *
 * The peak by stack is a copy of the live bytes by stack, made whenever the counted total reaches a new maximum.
 * Only stacks that have changed since the last copy are copied, so the cost of a sample does not depend on the
 * number of stacks. SPDX-License-Identifier: MIT
 */
#include "heap_live.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ---------------------------------------------------------------------------------------------------- worth */

/* 1 - exp(-x) for small x: plain subtraction would lose all digits. */
static double share_of_small(double x)
{
    double term = x, sum = 0;
    for (unsigned at = 2; at < 20; at++) {
        sum += term;
        term *= -x / (double)at;
    }
    return sum;
}

double hp_heap_share(uint64_t bytes, uint64_t mean)
{
    const double x = (double)bytes / (double)(mean > 0 ? mean : 1);
    if (x > 40)
        return 1;
    unsigned halves = 0;
    double small = x;
    while (small > 0.5) {
        small /= 2;
        halves++;
    }
    double share = share_of_small(small);
    for (; halves > 0; halves--) /* exp(-2x) is exp(-x) squared */
        share = share * (2 - share);
    return share;
}

/* A larger size cannot be real: the ring is corrupt. */
#define MOST_WORTH (UINT64_C(1) << 60)

static uint64_t rounded(double value, double *left)
{
    const double all = value + *left;
    if (!(all < (double)MOST_WORTH)) {
        *left = 0;
        return MOST_WORTH;
    }
    const uint64_t whole = all > 0 ? (uint64_t)(all + 0.5) : 0;
    *left = all - (double)whole;
    return whole;
}

struct hp_heap_worth hp_heap_worth(struct hp_heap_live *heap, uint64_t bytes, uint64_t mean)
{
    const double share = hp_heap_share(bytes > 0 ? bytes : 1, mean);
    return (struct hp_heap_worth){.bytes = rounded((double)bytes / share, &heap->bytes_left),
                                  .blocks = rounded(1 / share, &heap->blocks_left)};
}

/* --------------------------------------------------------------------------------------------------- stacks */

/* Its index, created on first use. */
static bool find_stack(struct hp_heap_live *heap, uint32_t stack, uint32_t *ret_at)
{
    struct hp_hash_index *index = &heap->stack_index;
    if (!HP_MAKE_ROOM(heap->stacks, heap->stack_count + 1, heap->stack_room) || !hp_hash_make_room(index))
        return false;
    const uint32_t hash = hp_hash_with(index, 0, stack);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        *ret_at = number - 1;
        if (heap->stacks[number - 1].stack == stack)
            return true;
    }
    *ret_at = (uint32_t)heap->stack_count;
    heap->stacks[heap->stack_count++] = (struct hp_heap_stack){.stack = stack};
    hp_hash_put(index, slot, hash, *ret_at + 1);
    return true;
}

/* There is room in the list. */
static void note_change(struct hp_heap_live *heap, uint32_t at)
{
    if (!heap->stacks[at].is_changed)
        heap->changed[heap->changed_count++] = at;
    heap->stacks[at].is_changed = true;
}

static bool make_room_for_change(struct hp_heap_live *heap)
{
    return HP_MAKE_ROOM(heap->changed, heap->changed_count + 1, heap->changed_room);
}

void hp_heap_live_look(struct hp_heap_live *heap, uint64_t counted_bytes)
{
    if (counted_bytes <= heap->peak)
        return;
    heap->peak = counted_bytes;
    for (size_t at = 0; at < heap->changed_count; at++) {
        struct hp_heap_stack *stack = &heap->stacks[heap->changed[at]];
        stack->peak = stack->live;
        stack->is_changed = false;
    }
    heap->changed_count = 0;
}

/* --------------------------------------------------------------------------------------------------- blocks */

/* Its place plus 1; 0: it is unknown, and the slot is free for it. */
static uint32_t find_block(const struct hp_heap_live *heap, uint32_t number, size_t *ret_slot)
{
    const uint32_t hash = hp_hash_with(&heap->block_index, 0, number);
    uint32_t found;
    *ret_slot = HP_HASH_BEGIN;
    while ((found = hp_hash_next(&heap->block_index, hash, ret_slot)) != 0)
        if (heap->blocks[found - 1].number == number)
            break;
    return found;
}

/* Room for one more block; it stays free until it is used. */
static bool find_place(struct hp_heap_live *heap, uint32_t *ret_at)
{
    if (heap->unused_count > 0) {
        *ret_at = heap->unused[heap->unused_count - 1];
        return true;
    }
    if (!HP_MAKE_ROOM(heap->blocks, heap->block_count + 1, heap->block_room))
        return false;
    *ret_at = (uint32_t)heap->block_count;
    return true;
}

static void use_place(struct hp_heap_live *heap, uint32_t at)
{
    if (at < heap->block_count)
        heap->unused_count--;
    else
        heap->block_count++;
}

bool hp_heap_live_add(struct hp_heap_live *heap, uint32_t number, uint32_t stack, uint64_t bytes,
                      const struct hp_heap_worth *worth)
{
    uint32_t stack_at, place;
    size_t slot;
    hp_heap_live_remove(heap, number, 0); /* the previous owner of the number */
    if (number == 0 || !find_stack(heap, stack, &stack_at) || !make_room_for_change(heap) ||
        !find_place(heap, &place) || !hp_hash_make_room(&heap->block_index))
        return false;
    use_place(heap, place);
    heap->blocks[place] = (struct hp_heap_block_seen){stack_at, number, bytes, *worth};
    find_block(heap, number, &slot);
    hp_hash_put(&heap->block_index, slot, hp_hash_with(&heap->block_index, 0, number), place + 1);
    heap->stacks[stack_at].live.bytes += worth->bytes;
    heap->stacks[stack_at].live.blocks += worth->blocks;
    note_change(heap, stack_at);
    return true;
}

static void take_from(struct hp_heap_stack *stack, uint64_t bytes, uint64_t blocks)
{
    stack->live.bytes -= bytes;
    stack->live.blocks -= blocks;
}

static void give_place_back(struct hp_heap_live *heap, uint32_t place)
{
    if (!HP_MAKE_ROOM(heap->unused, heap->unused_count + 1, heap->unused_room))
        return;
    heap->unused[heap->unused_count++] = place;
}

/* If the list of changes has no memory, the peak becomes slightly wrong, nothing else. */
void hp_heap_live_remove(struct hp_heap_live *heap, uint32_t number, uint64_t counted_bytes)
{
    size_t slot;
    const uint32_t found = number != 0 ? find_block(heap, number, &slot) : 0;
    if (found == 0)
        return;
    const uint32_t place = found - 1;
    const struct hp_heap_block_seen *block = &heap->blocks[place];
    struct hp_heap_stack *stack = &heap->stacks[block->stack_at];
    const uint64_t bytes = block->bytes < block->worth.bytes ? block->bytes : block->worth.bytes;
    const uint64_t blocks = block->worth.blocks > 0 ? 1 : 0;
    take_from(stack, block->worth.bytes - bytes, block->worth.blocks - blocks);
    const bool has_room_for_change = make_room_for_change(heap);
    if (has_room_for_change)
        note_change(heap, block->stack_at);
    hp_heap_live_look(heap, counted_bytes);
    take_from(stack, bytes, blocks);
    if (has_room_for_change)
        note_change(heap, block->stack_at);
    hp_hash_take_out(&heap->block_index, slot);
    give_place_back(heap, place);
}

void hp_heap_live_free(struct hp_heap_live *heap)
{
    free(heap->stacks);
    free(heap->blocks);
    free(heap->changed);
    free(heap->unused);
    hp_hash_free(&heap->stack_index);
    hp_hash_free(&heap->block_index);
    memset(heap, 0, sizeof *heap);
}
