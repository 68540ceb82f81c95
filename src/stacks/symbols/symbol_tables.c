/* Tables for naming addresses. SPDX-License-Identifier: MIT */
#include "symbol_tables.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

/* ------------------------------------------------------------------------------------------ ranges of addresses */

/*
 * Address ranges. Open ranges are on a stack, from left to right; the one on top counts, up to its end or the
 * beginning of another.
 */

struct making {
    struct hp_range_index *index;
    const struct hp_range **open;
    size_t open_count;
};

bool hp_ranges_add(struct hp_ranges *ranges, const struct hp_range *range)
{
    if (range->start >= range->end)
        return true;
    if (!HP_MAKE_ROOM(ranges->all, ranges->count + 1, ranges->room))
        return false;
    ranges->all[ranges->count++] = *range;
    return true;
}

/* Of ranges with the same start and rank, the longer encloses the other. */
static int compare_ranges(const void *a, const void *b)
{
    const struct hp_range *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->value == y->value ? 0 : x->value < y->value ? -1 : 1;
}

/* Ranges of symbols mostly are. */
static bool is_sorted(const struct hp_ranges *ranges)
{
    for (size_t at = 1; at < ranges->count; at++)
        if (compare_ranges(&ranges->all[at - 1], &ranges->all[at]) > 0)
            return false;
    return true;
}

static void put(struct hp_range_index *index, uint64_t start, uint32_t value)
{
    if (index->count > 0 && index->starts[index->count - 1] == start)
        index->count--;
    if (index->count > 0 && index->values[index->count - 1] == value)
        return;
    index->starts[index->count] = start;
    index->values[index->count++] = value;
}

/* Closes what ends at or before an address. */
static void close_until(struct making *making, uint64_t address)
{
    while (making->open_count > 0 && making->open[making->open_count - 1]->end <= address) {
        const uint64_t end = making->open[--making->open_count]->end;
        while (making->open_count > 0 && making->open[making->open_count - 1]->end <= end)
            making->open_count--;
        put(making->index, end,
            making->open_count > 0 ? making->open[making->open_count - 1]->value : HP_RANGE_NONE);
    }
}

bool hp_range_index_make(struct hp_range_index *index, struct hp_ranges *ranges)
{
    const size_t most = 2 * ranges->count + 1;
    struct making making = {.index = index, .open = malloc(most * sizeof(const struct hp_range *))};
    *index = (struct hp_range_index){.starts = malloc(most * sizeof *index->starts),
                                     .values = malloc(most * sizeof *index->values)};
    if (making.open == NULL || index->starts == NULL || index->values == NULL) {
        hp_range_index_free(index);
        free(making.open);
        return false;
    }
    if (!is_sorted(ranges))
        qsort(ranges->all, ranges->count, sizeof *ranges->all, compare_ranges);
    for (size_t at = 0; at < ranges->count; at++) {
        const struct hp_range *range = &ranges->all[at];
        close_until(&making, range->start);
        put(index, range->start, range->value);
        making.open[making.open_count++] = range;
    }
    close_until(&making, UINT64_MAX);
    free(making.open);
    return true;
}

void hp_range_index_free(struct hp_range_index *index)
{
    free(index->starts);
    free(index->values);
    *index = (struct hp_range_index){.count = 0};
}

uint32_t hp_range_index_find(const struct hp_range_index *index, uint64_t address)
{
    if (index->count == 0 || address < index->starts[0])
        return HP_RANGE_NONE;
    const uint64_t *first = index->starts;
    for (size_t count = index->count; count > 1;) { /* without unpredictable branches */
        const size_t half = count / 2;
        first = first[half] <= address ? first + half : first;
        count -= half;
    }
    return index->values[first - index->starts];
}

/* -------------------------------------------------------------------------------------------------------- texts */

struct hp_cached_text {
    uint64_t key;
    uint32_t more;
    const char *text;
};

static uint32_t hash_of(const struct hp_text_cache *cache, uint64_t key, uint32_t more)
{
    return hp_hash_with(&cache->index, more, key);
}

static const char *find(const struct hp_text_cache *cache, uint64_t key, uint32_t more, size_t *ret_slot)
{
    const uint32_t hash = hash_of(cache, key, more);
    *ret_slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(&cache->index, hash, ret_slot)) != 0;)
        if (cache->all[number - 1].key == key && cache->all[number - 1].more == more)
            return cache->all[number - 1].text;
    return NULL;
}

const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more)
{
    size_t slot;
    return find(cache, key, more, &slot);
}

const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text)
{
    const bool has_room =
        HP_MAKE_ROOM(cache->all, cache->count + 1, cache->room) && hp_hash_make_room(&cache->index);
    const char *copy = has_room ? hp_arena_copy(&cache->arena, text, strlen(text)) : NULL;
    size_t slot;
    if (copy == NULL)
        return NULL;
    if (find(cache, key, more, &slot) == NULL) {
        cache->all[cache->count++] = (struct hp_cached_text){key, more, copy};
        hp_hash_put(&cache->index, slot, hash_of(cache, key, more), (uint32_t)cache->count);
    }
    return copy;
}

void hp_text_cache_free(struct hp_text_cache *cache)
{
    free(cache->all);
    hp_hash_free(&cache->index);
    hp_arena_release(&cache->arena);
    *cache = (struct hp_text_cache){.count = 0};
}
