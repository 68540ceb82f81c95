/*
 * Block owners: which thread allocated a block, so that a free by another thread is noticed. One 16-bit number per
 * 16 bytes of address space, in tables that are made when a thread other than the first allocates there. So a
 * single-threaded program has no tables, and a multi-threaded one spends an eighth of the memory that the other
 * threads allocate from.
 *
 * A block without a table, for lack of memory, counts as the first thread's. With allocators that put two blocks
 * into 16 bytes, the owner of the second counts for both. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_BLOCK_OWNERS_H
#define HP_ALLOC_BLOCK_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

#define HP_OWNER_GRAIN_BITS 4   /* granularity: bytes with one owner */
#define HP_OWNER_LEAF_BITS 26   /* address space of a leaf: 64 MB; its table takes 8 MB */
#define HP_OWNER_BRANCH_BITS 36 /* of a branch of 1024 leaves */
#define HP_OWNER_LEAVES (1u << (HP_OWNER_BRANCH_BITS - HP_OWNER_LEAF_BITS))
#define HP_OWNERS_OF_LEAF (1u << (HP_OWNER_LEAF_BITS - HP_OWNER_GRAIN_BITS))

struct hp_block_owner_branch {
    uint16_t *leaves[HP_OWNER_LEAVES];
};

/*
 * Numbers the thread of a context: 0 for the first of the process. Under the lock. When the second thread gets its
 * number, all others learn that they are not alone, before it can hand a block to them.
 */
void hp_block_owner_begin(struct hp_thread_context *context);

/*
 * The pointer to the table of a block, or NULL. It never moves. Acquire: a reader that finds a table sees it
 * zeroed.
 */
static inline uint16_t **hp_block_owner_leaf(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (__builtin_expect(address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES, 0))
        return NULL;
    struct hp_block_owner_branch *branch =
        __atomic_load_n(&hp_runtime->owner_branches[address >> HP_OWNER_BRANCH_BITS], __ATOMIC_ACQUIRE);
    return branch != NULL ? &branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES] : NULL;
}

/* The address of a block's owner number, or NULL without a table. */
static inline uint16_t *hp_block_owner_place_in(uint16_t *const *leaf, const void *block)
{
    uint16_t *owners = __atomic_load_n(leaf, __ATOMIC_ACQUIRE);
    return owners != NULL ? &owners[((uintptr_t)block >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

/* The same; makes the table if there is memory. */
uint16_t **hp_block_owner_make_leaf(const void *block);
uint16_t *hp_block_owner_make_place(const void *block);

/*
 * Blocks without an entry are the first thread's, so it needs no tables. A word that is right already is not
 * written again, since others may be reading or writing its neighbours.
 */
static inline bool hp_block_owner_write_at(const struct hp_thread_context *context, uint16_t *place)
{
    if (place == NULL)
        return HOTPATH_LIKELY_(context->owner == 0);
    if (__builtin_expect(__atomic_load_n(place, __ATOMIC_RELAXED) != (uint16_t)context->owner, 0))
        __atomic_store_n(place, (uint16_t)context->owner, __ATOMIC_RELAXED);
    return true;
}

static inline void hp_block_owner_write(struct hp_thread_context *context, const void *block)
{
    uint16_t **leaf = hp_block_owner_leaf(block);
    if (__builtin_expect(leaf == NULL, 0))
        leaf = hp_block_owner_make_leaf(block);
    if (leaf == NULL)
        return;
    context->owner_leaf = leaf;
    context->owner_leaf_number = ((uintptr_t)block >> HP_OWNER_LEAF_BITS) + 1;
    if (!hp_block_owner_write_at(context, hp_block_owner_place_in(leaf, block)))
        hp_block_owner_write_at(context, hp_block_owner_make_place(block));
}

/*
 * --- fast path: the block is in the table that the thread used last, as nearly always: allocators give each thread
 * its own area
 */

static inline bool hp_block_owner_is_near(const struct hp_thread_context *context, const void *block)
{
    return HOTPATH_LIKELY_(((uintptr_t)block >> HP_OWNER_LEAF_BITS) + 1 == context->owner_leaf_number);
}

/* False: it is in another table. */
static inline bool hp_block_owner_write_near(const struct hp_thread_context *context, const void *block)
{
    return hp_block_owner_is_near(context, block) &&
           hp_block_owner_write_at(context, hp_block_owner_place_in(context->owner_leaf, block));
}

/* Whether the thread itself has allocated the block. False: unknown, it is in another table. */
static inline bool hp_block_owner_is_near_own(const struct hp_thread_context *context, const void *block)
{
    if (!hp_block_owner_is_near(context, block))
        return false;
    const uint16_t *place = hp_block_owner_place_in(context->owner_leaf, block);
    return HOTPATH_LIKELY_((place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0) == context->owner);
}

/* --- slow path */

static inline uint32_t hp_block_owner_of(const void *block)
{
    uint16_t *const *leaf = hp_block_owner_leaf(block);
    const uint16_t *place = leaf != NULL ? hp_block_owner_place_in(leaf, block) : NULL;
    return place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0;
}

/* Owner of blocks allocated while their thread was unknown: no free of these counts as foreign. */
#define HP_OWNER_NOBODY 0xffffu

static inline void hp_block_owner_disown(const void *block)
{
    uint16_t *place = hp_block_owner_make_place(block); /* else it would be the first thread's */
    if (place != NULL)
        __atomic_store_n(place, HP_OWNER_NOBODY, __ATOMIC_RELAXED);
}

/* Whether another thread allocated it. */
static inline bool hp_block_owner_is_other(const struct hp_thread_context *context, const void *block)
{
    const uint32_t owner = hp_block_owner_of(block);
    return owner != context->owner && owner != HP_OWNER_NOBODY;
}

#endif
