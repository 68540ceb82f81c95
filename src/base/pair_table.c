/* Numbers pairs. SPDX-License-Identifier: MIT */
#include "pair_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64u

static size_t slot_of(const struct hp_pair_table *table, uint32_t first, uint32_t second)
{
    const uint64_t hash = ((uint64_t)first << 32 | second) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 29) & (table->index_size - 1);
    for (; table->index[at] != 0; at = (at + 1) & (table->index_size - 1)) {
        const struct hp_pair *pair = &table->all[table->index[at] - 1];
        if (pair->first == first && pair->second == second)
            break;
    }
    return at;
}

static bool grow(struct hp_pair_table *table)
{
    const size_t room = table->room > 0 ? 2 * table->room : FIRST_ROOM;
    struct hp_pair *all = realloc(table->all, room * sizeof *all);
    if (all != NULL)
        table->all = all;
    uint32_t *index = calloc(2 * room, sizeof *index);
    if (all == NULL || index == NULL) {
        free(index);
        return false;
    }
    free(table->index);
    table->index = index;
    table->index_size = 2 * room;
    table->room = room;
    for (size_t at = 0; at < table->count; at++)
        index[slot_of(table, all[at].first, all[at].second)] = (uint32_t)at + 1;
    return true;
}

uint32_t hp_pair_table_put(struct hp_pair_table *table, uint32_t first, uint32_t second)
{
    if (table->count == table->room && (table->room >= UINT32_MAX / 4 || !grow(table)))
        return HP_NO_PAIR;
    const size_t slot = slot_of(table, first, second);
    if (table->index[slot] == 0) {
        table->all[table->count] = (struct hp_pair){first, second};
        table->index[slot] = (uint32_t)++table->count;
    }
    return table->index[slot] - 1;
}

void hp_pair_table_free(struct hp_pair_table *table)
{
    free(table->all);
    free(table->index);
    memset(table, 0, sizeof *table);
}
