/* The latest values of an object as text. SPDX-License-Identifier: MIT */
#include "recent_cell.h"

#include <string.h>

#include "arena.h"

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

void hp_recent_put(struct hp_text *text, const struct hp_recent_copy *recent)
{
    const uint64_t bits = recent->value.bits;
    switch ((enum hp_value_type)recent->value.type) {
    case HP_VALUE_SIGNED:
        hp_text_i64(text, (int64_t)bits);
        break;
    case HP_VALUE_UNSIGNED:
        hp_text_u64(text, bits);
        break;
    case HP_VALUE_REAL:
        hp_text_real(text, real_of(bits), 6);
        break;
    case HP_VALUE_BOOL:
        hp_text_string(text, bits != 0 ? "true" : "false");
        break;
    case HP_VALUE_POINTER:
        hp_text_address(text, bits);
        break;
    case HP_VALUE_TEXT:
        hp_text_string(text, recent->text);
        break;
    default:
        break;
    }
}

bool hp_recent_set(struct hotpath_results *results, struct hp_row *row, size_t column,
                   const struct hp_recent_list *list)
{
    char bytes[HP_RECENT_SHOWN * (HP_RECENT_TEXT + 8)];
    struct hp_text text;
    if (list->count == 0)
        return true;
    hp_text_init(&text, bytes, sizeof bytes);
    for (uint32_t at = 0; at < list->count; at++) {
        hp_text_string(&text, at > 0 ? ", " : "");
        hp_recent_put(&text, &list->all[at]);
    }
    const char *copy = hp_arena_copy(results->model->arena, text.bytes, text.length);
    if (copy != NULL)
        hp_section_set_text(row, column, copy);
    return copy != NULL;
}
