/*
 * Sorts key-value pairs by number, in time proportional to the count times the number of bytes in which keys
 * differ, for any input order. Stable. SPDX-License-Identifier: MIT
 */
#ifndef HP_BASE_KEYED_SORT_H
#define HP_BASE_KEYED_SORT_H

#include <stddef.h>
#include <stdint.h>

struct hp_keyed {
    uint64_t key;
    uint64_t value;
};

/* `room` is scratch space for `count` items. */
void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t count);

#endif
