/*
 * Finds which of many address ranges an address is in; of several, the one that begins last: ranges may be nested,
 * as inlined functions are. SPDX-License-Identifier: MIT
 */
#ifndef HP_SYMBOLS_RANGE_INDEX_H
#define HP_SYMBOLS_RANGE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
