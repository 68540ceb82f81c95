/*
 * Where locks are used: places in the code, with up to two callers, and the programs and libraries that they are
 * in. Also what the files of the table share (lock_entry.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_LOCK_SITES_H
#define HP_PRELOAD_LOCK_SITES_H

#include "lock_entry.h"

/* Whether an address is in the data of a program or library. */
bool hp_lock_is_static(const struct hp_locks *locks, uintptr_t address);

/* ------------------------------------------------------------------------------ tables of the file, and indexes */

#define HP_LOCK_NO_ITEM UINT32_MAX

struct hp_locks_header *hp_locks_header(const struct hp_locks *locks);
void *hp_lock_item(const struct hp_locks *locks, enum hp_lock_table table, uint32_t number);
/* Takes a new item, whose memory is zero. HP_LOCK_NO_ITEM: no room. */
uint32_t hp_lock_claim(struct hp_locks *locks, enum hp_lock_table table);
void hp_lock_lose(const struct hp_locks *locks, enum hp_lock_loss loss);
void hp_locks_note_time(const struct hp_locks *locks);

typedef bool hp_lock_is_item(uint32_t number, const void *wanted);
/*
 * An index is a table of numbers, found by a hash and searched from there. Numbers are only added. Two threads
 * that add the same item at once: the second takes that of the first, and its own stays unused.
 *
 * The number of an item, from 1; 0: it is not in the index. Then `ret_free` is where to put it; NULL: no room.
 * Inline: takes less stack.
 */
static inline __attribute__((always_inline)) uint32_t hp_lock_index_find(uint32_t *index, uint32_t size,
                                                                         uint64_t hash, hp_lock_is_item *is_item,
                                                                         const void *wanted, uint32_t **ret_free)
{
    *ret_free = NULL;
    for (uint32_t step = 0; step < 32; step++) {
        uint32_t *at = &index[(hash + step) % size];
        const uint32_t number = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        if (number == 0) {
            *ret_free = at;
            return 0;
        }
        if (is_item(number, wanted))
            return number;
    }
    return 0;
}
uint64_t hp_lock_hash(uint64_t a, uint64_t b, uint64_t c);
/* Atomic maximum. */
void hp_lock_raise(uint64_t *highest, uint64_t value);

#endif
