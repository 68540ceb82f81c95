/* A hash index. SPDX-License-Identifier: MIT */
#include "hash_index.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define FIRST_SIZE 64u
#define MIXER UINT64_C(0x9e3779b97f4a7c15)

static void put_again(struct hp_hash_index *index, struct hp_hash_slot moved)
{
    size_t slot = moved.hash & (index->size - 1);
    while (index->slots[slot].number != 0)
        slot = (slot + 1) & (index->size - 1);
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

uint32_t hp_hash_with_text(const struct hp_hash_index *index, uint32_t hash, const char *text)
{
    uint64_t mixed = index->secret ^ hash;
    for (; *text != '\0'; text++) {
        mixed = (mixed ^ (unsigned char)*text) * MIXER;
        mixed ^= mixed >> 31;
    }
    return (uint32_t)(mixed ^ mixed >> 32);
}

/* Following things move up, unless that would put them before the slot of their hash. */
void hp_hash_take_out(struct hp_hash_index *index, size_t slot)
{
    const size_t mask = index->size - 1;
    for (size_t at = (slot + 1) & mask; index->slots[at].number != 0; at = (at + 1) & mask) {
        if (((at - index->slots[at].hash) & mask) < ((at - slot) & mask))
            continue;
        index->slots[slot] = index->slots[at];
        slot = at;
    }
    index->slots[slot].number = 0;
    index->count--;
}

void hp_hash_free(struct hp_hash_index *index)
{
    free(index->slots);
    memset(index, 0, sizeof *index);
}

/* ------------------------------------------------------------------------------------------------ pairs */

uint32_t hp_pair_table_put(struct hp_pair_table *table, uint32_t first, uint32_t second)
{
    struct hp_hash_index *index = &table->index;
    if (table->count >= UINT32_MAX / 4 || !HP_MAKE_ROOM(table->all, table->count + 1, table->room) ||
        !hp_hash_make_room(index))
        return HP_NO_PAIR;
    const uint32_t hash = hp_hash_with(index, 0, (uint64_t)first << 32 | second);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;)
        if (table->all[number - 1].first == first && table->all[number - 1].second == second)
            return number - 1;
    table->all[table->count++] = (struct hp_pair){first, second};
    hp_hash_put(index, slot, hash, (uint32_t)table->count);
    return (uint32_t)table->count - 1;
}

uint32_t hp_pair_table_find(const struct hp_pair_table *table, uint32_t first, uint32_t second)
{
    const uint32_t hash = hp_hash_with(&table->index, 0, (uint64_t)first << 32 | second);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&table->index, hash, &slot)) != 0;)
        if (table->all[number - 1].first == first && table->all[number - 1].second == second)
            return number - 1;
    return HP_NO_PAIR;
}

void hp_pair_table_free(struct hp_pair_table *table)
{
    free(table->all);
    hp_hash_free(&table->index);
    memset(table, 0, sizeof *table);
}
