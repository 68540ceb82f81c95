/* Arrays that grow by doubling. SPDX-License-Identifier: MIT */
#ifndef HP_BASE_GROWING_ARRAY_H
#define HP_BASE_GROWING_ARRAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes an array large enough for `count` elements; it may move. False: no memory, and nothing has changed.
 *
 *     struct row *rows = NULL;
 *     size_t count = 0, room = 0;
 *     if (!HP_MAKE_ROOM(rows, count + 1, room))
 *         return false;
 *     rows[count++] = row;
 *
 * HP_MAKE_ZEROED_ROOM fills the new elements with zeros.
 */
#define HP_MAKE_ROOM(array, count, room) HP_MAKE_ROOM_(array, count, room, false)
#define HP_MAKE_ZEROED_ROOM(array, count, room) HP_MAKE_ROOM_(array, count, room, true)
#define HP_MAKE_ROOM_(array, count, room, is_zeroed)                                                               \
    ((array) = hp_grown_(array, count, &(room), sizeof(__typeof__(*(array))), is_zeroed), (count) <= (room))

#define HP_FIRST_ROOM_ ((size_t)16)

/* Where the array is now. Without memory it is where it was, and its room is too small. */
static inline void *hp_grown_(void *array, size_t count, size_t *room, size_t size, bool is_zeroed)
{
    if (count <= *room)
        return array;
    size_t more = *room <= SIZE_MAX / 2 && 2 * *room > HP_FIRST_ROOM_ ? 2 * *room : HP_FIRST_ROOM_;
    more = more > count ? more : count;
    char *grown = more <= SIZE_MAX / size ? realloc(array, more * size) : NULL;
    if (grown == NULL)
        return array;
    if (is_zeroed)
        memset(grown + *room * size, 0, (more - *room) * size);
    *room = more;
    return grown;
}

#endif
