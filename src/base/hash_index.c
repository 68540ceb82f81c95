/* A hash index. SPDX-License-Identifier: MIT */
#include "hash_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64u
#define MIXER UINT64_C(0x9e3779b97f4a7c15)

static void put_again(struct hp_hash_index *index, struct hp_hash_slot moved)
{
    size_t slot = hp_hash_first(index, moved.hash);
    while (index->slots[slot].number != 0)
        slot = hp_hash_next(index, slot);
    index->slots[slot] = moved;
}

/* At most half of it is used, to keep probing short. */
bool hp_hash_make_room(struct hp_hash_index *index)
{
    if (2 * (index->count + 1) <= index->size)
        return true;
    const struct hp_hash_index old = *index;
    const size_t size = old.size > 0 ? 2 * old.size : FIRST_SIZE;
    struct hp_hash_slot *slots = calloc(size, sizeof *slots);
    if (slots == NULL)
        return false;
    index->slots = slots;
    index->size = size;
    if (old.size == 0)
        index->secret = ((uint64_t)(uintptr_t)slots ^ (uint64_t)(uintptr_t)&old >> 4) * MIXER;
    for (size_t at = 0; at < old.size; at++)
        if (old.slots[at].number != 0)
            put_again(index, old.slots[at]);
    free(old.slots);
    return true;
}

uint32_t hp_hash_with(const struct hp_hash_index *index, uint32_t hash, uint64_t number)
{
    uint64_t mixed = (number ^ index->secret) * MIXER;
    mixed = (mixed ^ mixed >> 29 ^ hash ^ index->secret >> 7) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(mixed ^ mixed >> 32);
}

uint32_t hp_hash_with_text(const struct hp_hash_index *index, uint32_t hash, const char *text)
{
    uint64_t mixed = index->secret ^ hash;
    for (; *text != '\0'; text++) {
        mixed = (mixed ^ (unsigned char)*text) * MIXER;
        mixed ^= mixed >> 31;
    }
    return (uint32_t)(mixed ^ mixed >> 32);
}

void hp_hash_free(struct hp_hash_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof *index);
}
