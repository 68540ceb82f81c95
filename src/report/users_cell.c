/* The users of an object, as text. SPDX-License-Identifier: MIT */
#include "users_cell.h"

#include <string.h>

#include "arena.h"
#include "text.h"
#include "utf8.h"

#define USERS_SHOWN 3u

bool hp_users_set(struct hotpath_results *results, struct hp_row *row, size_t column,
                  const struct hp_object_users *users)
{
    char bytes[256];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (users->count == 0)
        return true;
    for (uint32_t at = 0; at < users->count && at < USERS_SHOWN; at++) {
        hp_text_string(&text, at > 0 ? ", " : "");
        hp_utf8_put_safe(&text, users->all[at].name, strlen(users->all[at].name));
    }
    if (users->count > USERS_SHOWN || users->left_out > 0)
        hp_text_string(&text, ", ...");
    const char *copy = hp_arena_copy(results->model->arena, text.bytes, text.length);
    if (copy != NULL)
        hp_section_set_text(row, column, copy);
    return copy != NULL;
}
