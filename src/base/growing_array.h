/* Arrays that grow by doubling. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_GROWING_ARRAY_H
#define HP_BASE_GROWING_ARRAY_H

#include <stdlib.h>

/*
 * Returns the array with room for at least one more than `count`; it may have moved. NULL: no memory, and the array
 * is unchanged.
 *
 *     struct row *larger = hp_grown(rows, count, &room, sizeof *rows);
 */
static inline void *hp_grown(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    const size_t more = *room == 0 ? 16 : *room * 2;
    void *larger = realloc(array, more * size);
    if (larger != NULL)
        *room = more;
    return larger;
}

#endif
