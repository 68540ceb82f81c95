/*
 * Sorting many numbers, each with something that belongs to it: in as many steps as there are numbers and bytes in which they
 * differ, whatever order they come in. Those that are the same stay in their order. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_KEYED_SORT_H
#define HP_BASE_KEYED_SORT_H

#include <stddef.h>
#include <stdint.h>

struct hp_keyed {
    uint64_t key;
    uint64_t value;
};

/* `room` is for as many again, to work in. */
void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t count);

#endif
