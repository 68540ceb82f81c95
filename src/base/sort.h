/*
 * Sorts pointers in place, without memory of its own (qsort may allocate) and in n log n steps for any input, since
 * the input may be hostile. Not stable: let `compare` break ties. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_SORT_H
#define HP_BASE_SORT_H

#include <stddef.h>

/* Negative, zero or positive: `a` comes before, with or after `b`. */
typedef int hp_sort_compare(const void *a, const void *b);

/* `items` is an array of pointers to whatever `compare` expects. */
void hp_sort(void *items, size_t count, hp_sort_compare *compare);

#endif
