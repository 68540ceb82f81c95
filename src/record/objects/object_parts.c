/* A context's table of its parts of objects. SPDX-License-Identifier: MIT */
#include "object_parts.h"

#include <string.h>

#include "memory.h"
#include "runtime.h"

#define FIRST_PARTS 64u

void hp_parts_forget(struct hp_thread_context *context)
{
    if (context->parts != NULL)
        memset(context->parts, 0, context->part_places * sizeof *context->parts);
    if (context->instances != NULL)
        memset(context->instances, 0xff, HP_CACHED_INSTANCES * sizeof *context->instances);
}

bool hp_parts_make_cache(struct hp_thread_context *context)
{
    if (context->instances != NULL)
        return true;
    struct hp_cached_instance *instances = hp_more_memory(HP_CACHED_INSTANCES * sizeof *instances);
    if (instances == NULL)
        return false;
    memset(instances, 0xff, HP_CACHED_INSTANCES * sizeof *instances);
    context->instances = instances;
    return true;
}

bool hp_parts_make_places(struct hp_thread_context *context, uint32_t number)
{
    uint32_t places = context->part_places != 0 ? context->part_places : FIRST_PARTS;
    while (places <= number)
        places *= 2;
    if (places == context->part_places)
        return true;
    uint32_t *parts = hp_more_memory(places * sizeof *parts);
    if (parts == NULL)
        return false;
    if (context->parts != NULL) {
        memcpy(parts, context->parts, context->part_places * sizeof *parts);
        hp_memory_unmap(context->parts, context->part_places * sizeof *parts);
    }
    context->parts = parts;
    context->part_places = places;
    return true;
}

void hp_parts_reserve(struct hp_thread_context *context)
{
    hp_parts_make_places(context, HP_OBJECTS_PER_CHUNK - 1);
}
