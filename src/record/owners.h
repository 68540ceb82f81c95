/*
 * Which thread allocated a block, so that it is known when another one frees it: a number of 16 bits for every 16 bytes of
 * address space, in tables that are made when a thread other than the first allocates something there. So a program with
 * one thread has none, and one with many has an eighth of the memory that these allocate from.
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

/* What leads to the table that a block is in, or NULL. It stays where it is. Acquire: who finds something finds it empty. */
static inline uint16_t **hp_owner_leaf(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (__builtin_expect(address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES, 0))
        return NULL;
    struct hp_owner_branch *branch =
        __atomic_load_n(&hp_runtime->owner_branches[address >> HP_OWNER_BRANCH_BITS], __ATOMIC_ACQUIRE);
    return branch != NULL ? &branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES] : NULL;
}

/* The place of a block's owner, or NULL where there is no table. */
static inline uint16_t *hp_owner_place_in(uint16_t *const *leaf, const void *block)
{
    uint16_t *owners = __atomic_load_n(leaf, __ATOMIC_ACQUIRE);
    return owners != NULL ? &owners[((uintptr_t)block >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

/* The same, made if there is memory. */
uint16_t **hp_owner_make_leaf(const void *block);
uint16_t *hp_owner_make_place(const void *block);

/*
 * Blocks that nobody wrote about are the first thread's, so it needs no table of its own. A word that says the right thing is not
 * written again, since others may be reading, or writing, about its neighbours.
 */
static inline bool hp_owner_write_at(const struct hp_head *head, uint16_t *place)
{
    if (place == NULL)
        return HOTPATH_LIKELY_(head->owner == 0);
    if (__builtin_expect(__atomic_load_n(place, __ATOMIC_RELAXED) != (uint16_t)head->owner, 0))
        __atomic_store_n(place, (uint16_t)head->owner, __ATOMIC_RELAXED);
    return true;
}

static inline void hp_owner_write(struct hp_head *head, const void *block)
{
    uint16_t **leaf = hp_owner_leaf(block);
    if (__builtin_expect(leaf == NULL, 0))
        leaf = hp_owner_make_leaf(block);
    if (leaf == NULL)
        return;
    head->owner_leaf = leaf;
    head->owner_leaf_number = ((uintptr_t)block >> HP_OWNER_LEAF_BITS) + 1;
    if (!hp_owner_write_at(head, hp_owner_place_in(leaf, block)))
        hp_owner_write_at(head, hp_owner_make_place(block));
}

/* --- where it is in the table that the thread used last, which it nearly always is: allocators give each thread an area of its own */

static inline bool hp_owner_is_near(const struct hp_head *head, const void *block)
{
    return HOTPATH_LIKELY_(((uintptr_t)block >> HP_OWNER_LEAF_BITS) + 1 == head->owner_leaf_number);
}

/* False: it has to be looked for. */
static inline bool hp_owner_write_near(const struct hp_head *head, const void *block)
{
    return hp_owner_is_near(head, block) && hp_owner_write_at(head, hp_owner_place_in(head->owner_leaf, block));
}

/* Whether the thread itself has allocated the block. False: if so, it has to be looked for. */
static inline bool hp_owner_is_near_own(const struct hp_head *head, const void *block)
{
    if (!hp_owner_is_near(head, block))
        return false;
    const uint16_t *place = hp_owner_place_in(head->owner_leaf, block);
    return HOTPATH_LIKELY_((place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0) == head->owner);
}

/* --- where nothing is known of it */

static inline uint32_t hp_owner_of(const void *block)
{
    uint16_t *const *leaf = hp_owner_leaf(block);
    const uint16_t *place = leaf != NULL ? hp_owner_place_in(leaf, block) : NULL;
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
