/* Heapsort. SPDX-License-Identifier: MIT */
#include "sort.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --------------------------------------------------------------------------------------------------- keyed sort */

/*
 * LSD radix sort, one byte at a time.
 */

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

/* --------------------------------------------------------------------------------------------------------- sort */

/* Pointers of any type are moved as bytes, so that arrays need not be of `void *`. */
static void *get(const char *items, size_t index)
{
    void *item;
    memcpy(&item, items + index * sizeof item, sizeof item);
    return item;
}

static void put(char *items, size_t index, void *item) { memcpy(items + index * sizeof item, &item, sizeof item); }

static void sift_down(char *items, size_t root, size_t count, hp_sort_compare *compare)
{
    void *const item = get(items, root);
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && compare(get(items, child), get(items, child + 1)) < 0)
            child++;
        if (compare(item, get(items, child)) >= 0)
            break;
        put(items, root, get(items, child));
        root = child;
    }
    put(items, root, item);
}

void hp_sort(void *items, size_t count, hp_sort_compare *compare)
{
    for (size_t root = count / 2; root-- > 0;)
        sift_down(items, root, count, compare);
    for (size_t end = count; end-- > 1;) {
        void *const largest = get(items, 0);
        put(items, 0, get(items, end));
        put(items, end, largest);
        sift_down(items, 0, end, compare);
    }
}
