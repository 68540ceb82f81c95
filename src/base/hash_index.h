/*
 * A hash index of the things in an array. It stores only their numbers, from 1.
 *
 *     if (!hp_hash_make_room(&index))
 *         return false;
 *     const uint32_t hash = hp_hash_with_text(&index, hp_hash_with(&index, 0, library), name);
 *     size_t slot = HP_HASH_BEGIN;
 *     for (uint32_t number; (number = hp_hash_next(&index, hash, &slot)) != 0;)
 *         if (things[number - 1] is the one)
 *             return true;
 *     things[count++] = thing;
 *     hp_hash_put(&index, slot, hash, count);
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

/* Makes room for one more; call it before a thing is looked up to be added. False: no memory. */
bool hp_hash_make_room(struct hp_hash_index *index);

/* Adds a number, or a text, to another hash. */
static inline uint32_t hp_hash_with(const struct hp_hash_index *index, uint32_t hash, uint64_t number)
{
    uint64_t mixed = (number ^ index->secret) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 29 ^ hash ^ index->secret >> 7) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(mixed ^ mixed >> 32);
}

uint32_t hp_hash_with_text(const struct hp_hash_index *index, uint32_t hash, const char *text);

/*
 * The numbers of the things with that hash, one after the other. `*slot` is HP_HASH_BEGIN at first. 0: there are no
 * more, and `*slot` is free for a new one, if there is room.
 */
#define HP_HASH_BEGIN SIZE_MAX

static inline uint32_t hp_hash_next(const struct hp_hash_index *index, uint32_t hash, size_t *slot)
{
    const struct hp_hash_slot *at;
    if (index->size == 0)
        return 0;
    do {
        *slot = (*slot == HP_HASH_BEGIN ? hash : *slot + 1) & (index->size - 1);
        at = &index->slots[*slot];
    } while (at->number != 0 && at->hash != hash);
    return at->number;
}

/* Puts a thing, by its number from 1, into the free slot that was found for it. */
static inline void hp_hash_put(struct hp_hash_index *index, size_t slot, uint32_t hash, uint32_t number)
{
    index->slots[slot] = (struct hp_hash_slot){number, hash};
    index->count++;
}

/* Takes the thing in that slot out. */
void hp_hash_take_out(struct hp_hash_index *index, size_t slot);
void hp_hash_free(struct hp_hash_index *index);

/* Numbers pairs of integers: a new pair gets the next number. */
#define HP_NO_PAIR UINT32_MAX

struct hp_pair {
    uint32_t first, second;
};

struct hp_pair_table {
    struct hp_pair *all; /* by number */
    size_t count, room;
    struct hp_hash_index index;
};

/* Its number. HP_NO_PAIR: no memory. */
uint32_t hp_pair_table_put(struct hp_pair_table *table, uint32_t first, uint32_t second);

/* The same for one that is there already. HP_NO_PAIR: it is not. */
uint32_t hp_pair_table_find(const struct hp_pair_table *table, uint32_t first, uint32_t second);
void hp_pair_table_free(struct hp_pair_table *table);

#endif
