/*
 * Who allocated what: giving numbers to threads, and making tables (owners.h). The kernel empties the tables in a forked child,
 * whose one thread is the first of its process. SPDX-License-Identifier: MIT
 */
#include "owners.h"

#include "memory.h"

#define MOST_OWNERS 65535u /* numbers beyond are used again */

void hp_owner_begin(struct hp_head *head)
{
    struct hp_fork_page *page = hp_page();
    const uint32_t given = page->owners++;
    head->owner = given == 0 ? 0 : 1 + (given - 1) % MOST_OWNERS;
    if (given > 0)
        for (struct hp_head *each = page->heads; each != NULL; each = each->next)
            __atomic_store_n(&each->is_one_of_many, true, __ATOMIC_RELAXED);
}

/* What is at `place`, made if there is nothing yet; NULL without memory. */
static void *made_at(void **place, size_t size, bool is_emptied_by_fork)
{
    void *present = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (present != NULL)
        return present;
    void *fresh = hp_more_memory(size);
    if (fresh == NULL)
        return NULL;
    if (is_emptied_by_fork)
        hp_memory_wipe_on_fork(fresh, size);
    /* Release pairs with the acquire in hp_owner_place. */
    if (__atomic_compare_exchange_n(place, &present, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    hp_memory_unmap(fresh, size);
    return present;
}

uint16_t *hp_owner_make_place(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES)
        return NULL;
    struct hp_owner_branch *branch =
        made_at(&hp_runtime->owner_branches[address >> HP_OWNER_BRANCH_BITS], sizeof *branch, false);
    void **leaf =
        branch == NULL ? NULL : (void **)&branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES];
    if (leaf == NULL || made_at(leaf, HP_OWNERS_OF_LEAF * sizeof(uint16_t), true) == NULL)
        return NULL;
    return hp_owner_place(block);
}
