/* Values of earlier readings of a run. SPDX-License-Identifier: MIT */
#include "floors.h"

#include <stdbool.h>

#define FIRST_PLACES 1024u

struct hp_floor_entry {
    uint64_t key;
    uint64_t said[];
};

/* The entry's slot; empty if there is none yet. */
static struct hp_floor_entry **place_of(const struct hp_floors *floors, uint64_t key)
{
    size_t at = (size_t)(key ^ key >> 32) & floors->mask;
    while (floors->places[at] != NULL && floors->places[at]->key != key)
        at = (at + 1) & floors->mask;
    return &floors->places[at];
}

/* Doubles the table; half of the slots stay empty. */
static bool make_room(struct hp_floors *floors)
{
    if (floors->places != NULL && 2 * floors->count < floors->mask)
        return true;
    const struct hp_floors before = *floors;
    const size_t capacity = before.places != NULL ? 2 * (before.mask + 1) : FIRST_PLACES;
    struct hp_floor_entry **places = hp_arena_take_array(&floors->arena, capacity, sizeof(void *));
    if (places == NULL)
        return false;
    floors->places = places;
    floors->mask = capacity - 1;
    for (size_t at = 0; before.places != NULL && at <= before.mask; at++)
        if (before.places[at] != NULL)
            *place_of(floors, before.places[at]->key) = before.places[at];
    return true;
}

void *hp_floors_find(struct hp_floors *floors, uint64_t key, size_t size)
{
    if (floors == NULL || !make_room(floors))
        return NULL;
    struct hp_floor_entry **place = place_of(floors, key);
    if (*place == NULL) {
        *place = hp_arena_take(&floors->arena, sizeof **place + size);
        if (*place == NULL)
            return NULL;
        (*place)->key = key;
        floors->count++;
    }
    return (*place)->said;
}

void *hp_floors_known(const struct hp_floors *floors, uint64_t key)
{
    struct hp_floor_entry *entry = floors != NULL && floors->places != NULL ? *place_of(floors, key) : NULL;
    return entry != NULL ? entry->said : NULL;
}

void hp_floors_release(struct hp_floors *floors)
{
    hp_arena_release(&floors->arena);
    *floors = (struct hp_floors){.ns_per_tick = 0};
}
