/*
 * Block owners: numbering threads and making tables (block_owners.h). The kernel empties the tables in a forked
 * child, whose only thread is the first of its process. SPDX-License-Identifier: MIT
 */
#include "block_owners.h"

#define MOST_OWNERS (HP_OWNER_NOBODY - 1) /* beyond this, numbers are reused */

/* The first thread was alone until now: makes it publish its peak. */
static void note_peak(const struct hp_thread_context *first)
{
    const uint32_t offset = first->record != NULL ? __atomic_load_n(&first->record->alloc, __ATOMIC_ACQUIRE) : 0;
    if (offset == 0 || __atomic_load_n(&first->is_one_of_many, __ATOMIC_RELAXED))
        return;
    struct hp_alloc_thread *counters = hp_store_at(first->store, offset);
    __atomic_store_n(&counters->published, HP_ALLOC_NEVER_TOLD, __ATOMIC_RELAXED);
}

void hp_block_owner_begin(struct hp_thread_context *context)
{
    struct hp_fork_page *page = hp_page();
    const uint32_t given = page->owners++;
    context->owner = given == 0 ? 0 : 1 + (given - 1) % MOST_OWNERS;
    if (given > 0)
        for (struct hp_thread_context *each = page->contexts; each != NULL; each = each->next) {
            if (given == 1 && each != context && each->thread_id != 0 && each->store == hp_runtime->store)
                note_peak(each);
            __atomic_store_n(&each->is_one_of_many, true, __ATOMIC_RELAXED);
        }
}

uint16_t **hp_block_owner_make_leaf(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (address >> HP_OWNER_BRANCH_BITS < HP_OWNER_BRANCHES)
        hp_memory_at(&hp_runtime->owner_branches[address >> HP_OWNER_BRANCH_BITS],
                     sizeof(struct hp_block_owner_branch), false);
    return hp_block_owner_leaf(block);
}

uint16_t *hp_block_owner_make_place(const void *block)
{
    uint16_t **leaf = hp_block_owner_make_leaf(block);
    if (leaf == NULL || hp_memory_at((void **)leaf, HP_OWNERS_OF_LEAF * sizeof(uint16_t), true) == NULL)
        return NULL;
    return hp_block_owner_place_in(leaf, block);
}
