/* Tables for naming addresses: which range an address is in, and texts by number. SPDX-License-Identifier: MIT */
#ifndef HP_SYMBOLS_SYMBOL_TABLES_H
#define HP_SYMBOLS_SYMBOL_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "hash_index.h"

/* ------------------------------------------------------------------------------------------ ranges of addresses */

/*
 * Finds which of many address ranges an address is in; of several, the one that begins last: ranges may be nested,
 * as inlined functions are.
 */

#define HP_RANGE_NONE UINT32_MAX

struct hp_range {
    uint64_t start, end;
    uint32_t value;
    uint32_t rank; /* of ranges with the same start, the highest counts */
};

struct hp_ranges {
    struct hp_range *all;
    size_t count, room;
};

/* False: no memory. An empty range is left out. */
bool hp_ranges_add(struct hp_ranges *ranges, const struct hp_range *range);

/* Segments without gaps, each with the value of its range, or HP_RANGE_NONE. */
struct hp_range_index {
    uint64_t *starts;
    uint32_t *values;
    size_t count;
};

/* Sorts the ranges. False: no memory, and the index is empty. */
bool hp_range_index_make(struct hp_range_index *index, struct hp_ranges *ranges);
void hp_range_index_free(struct hp_range_index *index);
uint32_t hp_range_index_find(const struct hp_range_index *index, uint64_t address);

/* -------------------------------------------------------------------------------------------------------- texts */

/* A cache of texts, keyed by a number or an address and another number. */

struct hp_text_cache {
    struct hp_cached_text *all;
    size_t count, room;
    struct hp_hash_index index;
    struct hp_arena arena; /* the texts */
};

/* NULL: not in the cache. */
const char *hp_text_cache_find(const struct hp_text_cache *cache, uint64_t key, uint32_t more);
/* Adds what is not in it. Returns a copy that stays valid. NULL: no memory. */
const char *hp_text_cache_put(struct hp_text_cache *cache, uint64_t key, uint32_t more, const char *text);
void hp_text_cache_free(struct hp_text_cache *cache);

#endif
