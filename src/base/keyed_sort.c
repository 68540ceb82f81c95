/* LSD radix sort, one byte at a time. SPDX-License-Identifier: MIT */
#include "keyed_sort.h"

#include <string.h>

#define VALUES 256u

/* The bits in which keys differ. 0: they are sorted already. */
static uint64_t differing(const struct hp_keyed *items, size_t count)
{
    uint64_t bits = 0;
    size_t in_order = 1;
    for (size_t at = 1; at < count; at++) {
        bits |= items[at].key ^ items[0].key;
        in_order += items[at - 1].key <= items[at].key;
    }
    return in_order >= count ? 0 : bits;
}

static void sort_by_byte(const struct hp_keyed *from, struct hp_keyed *to, size_t count, unsigned shift)
{
    size_t place[VALUES] = {0}, sum = 0;
    for (size_t at = 0; at < count; at++)
        place[from[at].key >> shift & (VALUES - 1)]++;
    for (size_t value = 0; value < VALUES; value++) {
        const size_t many = place[value];
        place[value] = sum;
        sum += many;
    }
    for (size_t at = 0; at < count; at++)
        to[place[from[at].key >> shift & (VALUES - 1)]++] = from[at];
}

void hp_keyed_sort(struct hp_keyed *items, struct hp_keyed *room, size_t count)
{
    const uint64_t bits = differing(items, count);
    struct hp_keyed *from = items, *to = room;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((bits >> shift & (VALUES - 1)) == 0)
            continue;
        sort_by_byte(from, to, count, shift);
        struct hp_keyed *const sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
}
