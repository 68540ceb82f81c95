/* A head's table of its parts of objects. SPDX-License-Identifier: MIT */
#include "object_parts.h"

#include <string.h>

#include "memory.h"
#include "runtime.h"

#define FIRST_PARTS 64u

void hp_parts_forget(struct hp_head *head)
{
    if (head->parts != NULL)
        memset(head->parts, 0, head->part_places * sizeof *head->parts);
    if (head->instances != NULL)
        memset(head->instances, 0xff, HP_CACHED_INSTANCES * sizeof *head->instances);
}

bool hp_parts_make_cache(struct hp_head *head)
{
    if (head->instances != NULL)
        return true;
    struct hp_cached_instance *instances = hp_more_memory(HP_CACHED_INSTANCES * sizeof *instances);
    if (instances == NULL)
        return false;
    memset(instances, 0xff, HP_CACHED_INSTANCES * sizeof *instances);
    head->instances = instances;
    return true;
}

bool hp_parts_make_places(struct hp_head *head, uint32_t number)
{
    uint32_t places = head->part_places != 0 ? head->part_places : FIRST_PARTS;
    while (places <= number)
        places *= 2;
    if (places == head->part_places)
        return true;
    uint32_t *parts = hp_more_memory(places * sizeof *parts);
    if (parts == NULL)
        return false;
    if (head->parts != NULL) {
        memcpy(parts, head->parts, head->part_places * sizeof *parts);
        hp_memory_unmap(head->parts, head->part_places * sizeof *parts);
    }
    head->parts = parts;
    head->part_places = places;
    return true;
}

void hp_parts_reserve(struct hp_head *head) { hp_parts_make_places(head, HP_OBJECTS_PER_CHUNK - 1); }
