/*
 * Sorts pointers in place, without memory of its own (qsort may allocate) and in n log n steps for any input, since
 * the input may be hostile. Not stable: let `compare` break ties. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_SORT_H
#define HP_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Negative, zero or positive: `a` comes before, with or after `b`. */
typedef int hp_sort_compare(const void *a, const void *b);

/* `items` is an array of pointers to whatever `compare` expects. */
void hp_sort(void *items, size_t count, hp_sort_compare *compare);

/* --------------------------------------------------------------------------------------------------- keyed sort */

/*
 * Sorts key-value pairs by number, in time proportional to the count times the number of bytes in which keys
 * differ, for any input order. Stable.
 */

struct hp_keyed {
    uint64_t key;
    uint64_t value;
};

/* `room` is scratch space for `count` items. */
void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t count);

#endif
