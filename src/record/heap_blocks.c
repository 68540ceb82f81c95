/*
 * Sampled blocks that live.
 *
 * An address is there at most once, and whoever takes it out has the block in his hands, so nobody else can put it in meanwhile. Of places, a
 * compare-and-swap decides. Release in `take` pairs with acquire in `put`: the number of the next block is not written before
 * that of the last one was read. SPDX-License-Identifier: MIT
 */
#include "heap_blocks.h"

/* One of the set's byte, in the word around it: not every processor can count in a byte. No count gets near to 256. */
static uint32_t one_of(uint32_t set)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return 1u << 8 * (set % 4);
#else
    return 1u << 8 * (3 - set % 4);
#endif
}

bool hp_heap_blocks_put(struct hp_heap_blocks *blocks, const void *block, uint32_t number)
{
    const uint32_t set = hp_heap_set_of(block);
    /* Before: whoever has the block finds it. */
    __atomic_fetch_add(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
    for (unsigned way = 0; way < HP_HEAP_WAYS; way++) {
        struct hp_heap_block *place = &blocks->sets[set][way];
        uintptr_t none = 0;
        if (__atomic_load_n(&place->address, __ATOMIC_RELAXED) != 0 ||
            !__atomic_compare_exchange_n(&place->address, &none, (uintptr_t)block, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_store_n(&place->number, number, __ATOMIC_RELAXED);
        __atomic_fetch_add(&blocks->live, 1, __ATOMIC_RELAXED);
        return true;
    }
    __atomic_fetch_sub(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
    return false;
}

uint32_t hp_heap_blocks_take(struct hp_heap_blocks *blocks, const void *block)
{
    const uint32_t set = hp_heap_set_of(block);
    for (unsigned way = 0; way < HP_HEAP_WAYS; way++) {
        struct hp_heap_block *place = &blocks->sets[set][way];
        uintptr_t its = (uintptr_t)block;
        if (__atomic_load_n(&place->address, __ATOMIC_RELAXED) != its)
            continue;
        const uint32_t number = __atomic_load_n(&place->number, __ATOMIC_RELAXED);
        if (!__atomic_compare_exchange_n(&place->address, &its, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return 0; /* a program that frees a block twice, on two threads */
        __atomic_fetch_sub(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
        __atomic_fetch_sub(&blocks->live, 1, __ATOMIC_RELAXED);
        return number;
    }
    return 0;
}
