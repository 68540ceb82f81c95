/*
 * The table of open guards: open addressing in a small neighbourhood of an address's hash.
 *
 * Two live guards cannot have the same address, so an entry with this address is of a guard that a jump has left,
 * or a thread that is gone, and is taken over. If the neighbourhood is full, the entry that began first makes room:
 * such a table is full of guards that jumps have left. A guard that is still open and loses its entry is not
 * counted when it ends. Entries hold no pointers to follow, so threads that race for one harm nothing else.
 *
 * SPDX-License-Identifier: MIT
 */
#include "guards.h"

#include <stddef.h>

#define ENTRIES 1024u
#define NEAR 8u

static struct entry {
    uintptr_t guard; /* atomic; 0: free, 1: being written */
    uint64_t mark;   /* atomic */
} entries[ENTRIES];

#define BUSY 1u

static struct entry *entry_near(uintptr_t guard, uint32_t step)
{
    return &entries[(((uint64_t)guard * UINT64_C(0x9e3779b97f4a7c15) >> 40) + step) & (ENTRIES - 1)];
}

/* One that is free or has this address; else the oldest. NULL: others are writing to all of them. */
static struct entry *choose(uintptr_t guard)
{
    struct entry *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t step = 0; step < NEAR; step++) {
        struct entry *entry = entry_near(guard, step);
        const uintptr_t holder = __atomic_load_n(&entry->guard, __ATOMIC_RELAXED);
        if (holder == 0 || holder == guard)
            return entry;
        const uint64_t began = __atomic_load_n(&entry->mark, __ATOMIC_RELAXED);
        if (holder != BUSY && began < least) {
            least = began;
            oldest = entry;
        }
    }
    return oldest;
}

static bool take(struct entry *entry, const void *guard, uint64_t mark)
{
    uintptr_t holder = __atomic_load_n(&entry->guard, __ATOMIC_RELAXED);
    if (holder == BUSY ||
        !__atomic_compare_exchange_n(&entry->guard, &holder, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&entry->mark, mark, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->guard, (uintptr_t)guard, __ATOMIC_RELEASE); /* pairs with hp_guard_close */
    return true;
}

void hp_guard_open(const void *guard, uint64_t mark)
{
    struct entry *entry;
    do /* again if another thread takes the same one at this moment */
        entry = choose((uintptr_t)guard);
    while (entry != NULL && !take(entry, guard, mark));
}

/* A thread that takes the entry for a newer guard at this moment loses it, as if it were not the newest. */
bool hp_guard_close(const void *guard, uint64_t mark)
{
    for (uint32_t step = 0; step < NEAR; step++) {
        struct entry *entry = entry_near((uintptr_t)guard, step);
        if (__atomic_load_n(&entry->guard, __ATOMIC_ACQUIRE) == (uintptr_t)guard &&
            __atomic_load_n(&entry->mark, __ATOMIC_RELAXED) == mark && mark != 0) {
            __atomic_store_n(&entry->guard, 0, __ATOMIC_RELAXED);
            return true;
        }
    }
    return false;
}
