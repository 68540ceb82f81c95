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
#define HP_MAKE_ROOM(array, count, room) hp_make_room_(&(array), count, &(room), sizeof *(array), false)
#define HP_MAKE_ZEROED_ROOM(array, count, room) hp_make_room_(&(array), count, &(room), sizeof *(array), true)

#define HP_FIRST_ROOM_ ((size_t)16)

/* `place` has the pointer to the array, of any type: it is copied. */
static inline bool hp_make_room_(void *place, size_t count, size_t *room, size_t size, bool is_zeroed)
{
    char *array;
    if (count <= *room)
        return true;
    size_t more = *room <= SIZE_MAX / 2 && 2 * *room > HP_FIRST_ROOM_ ? 2 * *room : HP_FIRST_ROOM_;
    more = more > count ? more : count;
    memcpy(&array, place, sizeof array);
    array = more <= SIZE_MAX / size ? realloc(array, more * size) : NULL;
    if (array == NULL)
        return false;
    if (is_zeroed)
        memset(array + *room * size, 0, (more - *room) * size);
    memcpy(place, &array, sizeof array);
    *room = more;
    return true;
}

#endif
