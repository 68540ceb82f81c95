/*
 * Which thread allocated a block: a number of 16 bits for every 16 bytes of address space, in tables that are made when a
 * thread other than the first allocates there. So a program with one thread has none, and one with many has an eighth of
 * the memory its other threads allocated from. The kernel empties them in a forked child, whose one thread is the first.
 *
 * A block whose place has no table, for want of memory, is taken for the first thread's. Of allocators that put two blocks
 * into 16 bytes, the second one's owner counts for both.
 *
 * SPDX-License-Identifier: MIT
 */
#include "owners.h"

#include "memory.h"

#define GRAIN_BITS 4   /* bytes with one owner */
#define LEAF_BITS 26   /* address space of a leaf: 64 MB, its owners 8 MB */
#define BRANCH_BITS 36 /* of a branch of 1024 leaves */
#define LEAVES (1u << (BRANCH_BITS - LEAF_BITS))
#define OWNERS_OF_LEAF (1u << (LEAF_BITS - GRAIN_BITS))
#define MOST_OWNERS 65535u /* numbers beyond are used again */

typedef uint16_t owner;

struct branch {
    owner *leaves[LEAVES];
};

uint32_t hp_owner_new(void)
{
    struct hp_fork_page *page = hp_page();
    const uint32_t given = page->owners;
    __atomic_store_n(&page->owners, given + 1 > given ? given + 1 : given, __ATOMIC_RELAXED);
    return given == 0 ? 0 : 1 + (given - 1) % MOST_OWNERS;
}

/* What is at `place`, made and wiped in children if there is nothing yet; NULL without memory. */
static void *made_at(void **place, size_t size)
{
    void *present = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (present != NULL)
        return present;
    void *fresh = hp_more_memory(size);
    if (fresh == NULL)
        return NULL;
    /* Release: who finds it finds it empty, and not what was in that memory before. */
    if (__atomic_compare_exchange_n(place, &present, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    hp_memory_unmap(fresh, size);
    return present;
}

static owner *leaf_of(const void *block, bool is_to_be_made)
{
    const uint64_t address = (uintptr_t)block;
    if (address >> BRANCH_BITS >= HP_OWNER_BRANCHES)
        return NULL;
    void **place = &hp_runtime->owner_branches[address >> BRANCH_BITS];
    struct branch *branch =
        is_to_be_made ? made_at(place, sizeof *branch) : __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (branch == NULL)
        return NULL;
    void **leaf = (void **)&branch->leaves[(address >> LEAF_BITS) % LEAVES];
    if (!is_to_be_made || __atomic_load_n(leaf, __ATOMIC_ACQUIRE) != NULL)
        return __atomic_load_n(leaf, __ATOMIC_ACQUIRE);
    owner *fresh = made_at(leaf, OWNERS_OF_LEAF * sizeof *fresh);
    if (fresh != NULL)
        hp_memory_wipe_on_fork(fresh, OWNERS_OF_LEAF * sizeof *fresh);
    return fresh;
}

static size_t place_in_leaf(const void *block) { return ((uintptr_t)block >> GRAIN_BITS) % OWNERS_OF_LEAF; }

void hp_owner_write(const void *block, uint32_t number)
{
    owner *leaf = leaf_of(block, number != 0);
    if (leaf != NULL)
        __atomic_store_n(&leaf[place_in_leaf(block)], (owner)number, __ATOMIC_RELAXED);
}

uint32_t hp_owner_of(const void *block)
{
    const owner *leaf = leaf_of(block, false);
    return leaf != NULL ? __atomic_load_n(&leaf[place_in_leaf(block)], __ATOMIC_RELAXED) : 0;
}
