/*
 * Sampled blocks that are live.
 *
 * An address is in the table at most once: the thread that removes it owns the block, so nobody else can insert it
 * meanwhile. Slots are claimed by compare-and-swap. The release in `take` pairs with the acquire in `put`: the next
 * block's number is written only after the previous one was read. SPDX-License-Identifier: MIT
 */
#include "heap_blocks.h"

/*
 * A one in the byte of this set, within its word: not every CPU has atomic byte operations. No count gets near 256.
 */
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
    /* Count first, so that the thread that frees the block finds it. */
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
            return 0; /* the program frees a block twice, on two threads */
        __atomic_fetch_sub(&blocks->filter_words[set / 4], one_of(set), __ATOMIC_RELAXED);
        __atomic_fetch_sub(&blocks->live, 1, __ATOMIC_RELAXED);
        return number;
    }
    return 0;
}
