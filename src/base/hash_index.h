/*
 * A hash index of the things in an array. It stores only their numbers.
 *
 *     hash = hp_hash_with_text(&index, hp_hash_with(&index, 0, library), name);
 *     size_t slot = hp_hash_first(&index, hash);
 *     for (; index.slots[slot].number != 0; slot = hp_hash_next(&index, slot))
 *         if (index.slots[slot].hash == hash && things[index.slots[slot].number - 1] is the one) ...
 *
 * Hashes are mixed with an unpredictable seed, since an attacker may have chosen the names.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_HASH_INDEX_H
#define HP_BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_hash_slot {
    uint32_t number; /* of a thing, from 1; 0: free */
    uint32_t hash;
};

struct hp_hash_index {
    struct hp_hash_slot *slots;
    size_t size; /* a power of two, or 0 */
    size_t count;
    uint64_t secret;
};

/* Makes room for one more; call it before a lookup. False: no memory. */
bool hp_hash_make_room(struct hp_hash_index *index);

/* Adds a number, or a text, to another hash. */
uint32_t hp_hash_with(const struct hp_hash_index *index, uint32_t hash, uint64_t number);
uint32_t hp_hash_with_text(const struct hp_hash_index *index, uint32_t hash, const char *text);

/* The slots where a thing with that hash may be, until one is free. */
static inline size_t hp_hash_first(const struct hp_hash_index *index, uint32_t hash)
{
    return hash & (index->size - 1);
}

static inline size_t hp_hash_next(const struct hp_hash_index *index, size_t slot)
{
    return (slot + 1) & (index->size - 1);
}

/* Puts a thing, by its number from 1, into the free slot that was found for it. */
static inline void hp_hash_put(struct hp_hash_index *index, size_t slot, uint32_t hash, uint32_t number)
{
    index->slots[slot] = (struct hp_hash_slot){number, hash};
    index->count++;
}

void hp_hash_free(struct hp_hash_index *index);

#endif
