/* Heapsort. SPDX-License-Identifier: MIT */
#include "sort.h"

#include <string.h>

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
