/*
 * Which thread allocated a block, so that it is known when another one frees it: a number of 16 bits for every 16 bytes of
 * address space, in tables that are made when something is allocated there while there are several threads. So a program with
 * one thread has none, and one with many has an eighth of the memory it allocates from.
 *
 * A block whose place has no table, for want of memory, is taken for the first thread's. Of allocators that put two blocks
 * into 16 bytes, the second one's owner counts for both. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_OWNERS_H
#define HP_RECORD_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

#define HP_OWNER_GRAIN_BITS 4   /* bytes with one owner */
#define HP_OWNER_LEAF_BITS 26   /* address space of a leaf: 64 MB, its owners 8 MB */
#define HP_OWNER_BRANCH_BITS 36 /* of a branch of 1024 leaves */
#define HP_OWNER_LEAVES (1u << (HP_OWNER_BRANCH_BITS - HP_OWNER_LEAF_BITS))
#define HP_OWNERS_OF_LEAF (1u << (HP_OWNER_LEAF_BITS - HP_OWNER_GRAIN_BITS))

struct hp_owner_branch {
    uint16_t *leaves[HP_OWNER_LEAVES];
};

/*
 * Gives a number to the thread of a head: 0 for the first of the process. Under the lock. With the second all others learn
 * that there are more, before it can hand a block on to them.
 */
void hp_owner_begin(struct hp_head *head);

/* The place of a block's owner, or NULL where there is no table. Acquire: who finds one finds it empty. */
static inline uint16_t *hp_owner_place(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (__builtin_expect(address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES, 0))
        return NULL;
    struct hp_owner_branch *branch =
        __atomic_load_n(&hp_runtime->owner_branches[address >> HP_OWNER_BRANCH_BITS], __ATOMIC_ACQUIRE);
    if (__builtin_expect(branch == NULL, 0))
        return NULL;
    uint16_t *leaf =
        __atomic_load_n(&branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES], __ATOMIC_ACQUIRE);
    return leaf != NULL ? &leaf[(address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

/* Makes the table for a block, if there is memory. */
uint16_t *hp_owner_make_place(const void *block);

/*
 * The same where it is in the table that the thread used last, which it nearly always is: allocators give each thread an area
 * of its own. NULL: look for it.
 */
static inline uint16_t *hp_owner_near_place(const struct hp_head *head, const void *block)
{
    const uintptr_t address = (uintptr_t)block;
    const bool is_near = (address >> HP_OWNER_LEAF_BITS) + 1 == head->owner_leaf_number;
    return is_near ? &head->owner_leaf[(address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

static inline void hp_owner_remember(struct hp_head *head, const void *block, uint16_t *place)
{
    const uintptr_t address = (uintptr_t)block;
    head->owner_leaf = place - (address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF;
    head->owner_leaf_number = (address >> HP_OWNER_LEAF_BITS) + 1;
}

/* Blocks that nobody wrote about are the first thread's. */
static inline void hp_owner_write(struct hp_head *head, const void *block)
{
    uint16_t *place = hp_owner_place(block);
    if (__builtin_expect(place == NULL, 0))
        place = hp_owner_make_place(block);
    if (place == NULL)
        return;
    __atomic_store_n(place, (uint16_t)head->owner, __ATOMIC_RELAXED);
    hp_owner_remember(head, block, place);
}

static inline uint32_t hp_owner_of(const void *block)
{
    const uint16_t *place = hp_owner_place(block);
    return place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0;
}

/* Of blocks that were allocated while their thread could not be told: whoever frees them, nobody frees another's. */
#define HP_OWNER_NOBODY 0xffffu

static inline void hp_owner_disown(const void *block)
{
    uint16_t *place = hp_owner_make_place(block); /* or it would be the first thread's */
    if (place != NULL)
        __atomic_store_n(place, HP_OWNER_NOBODY, __ATOMIC_RELAXED);
}

/* Whether another thread allocated it. */
static inline bool hp_owner_is_other(const struct hp_head *head, const void *block)
{
    const uint32_t owner = hp_owner_of(block);
    return owner != head->owner && owner != HP_OWNER_NOBODY;
}

#endif
