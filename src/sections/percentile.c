/* What the column of a percentile is called. SPDX-License-Identifier: MIT */
#include "percentile.h"

#include <string.h>

#include "arena.h"
#include "text.h"

/* "P99.9": up to three decimals, no zeros at the end. */
static void put_title(struct hp_text *title, double percentile)
{
    if (percentile <= 0 || percentile >= 100) {
        hp_text_string(title, percentile <= 0 ? "Min" : "Max");
        return;
    }
    hp_text_char(title, 'P');
    hp_text_fixed(title, percentile, 3);
    while (title->bytes[title->length - 1] == '0')
        title->length--;
    if (title->bytes[title->length - 1] == '.')
        title->length--;
}

static char key_byte(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '.' ? '_' : c); }

bool hp_percentile_name(struct hp_arena *arena, double percentile, const char *after_key, const char *after_title,
                        struct hp_percentile_names *ret_names)
{
    char title_bytes[64], key_bytes[64];
    struct hp_text title, key;
    hp_text_init(&title, title_bytes, sizeof title_bytes);
    hp_text_init(&key, key_bytes, sizeof key_bytes);
    put_title(&title, percentile);
    for (size_t at = 0; at < title.length; at++)
        hp_text_char(&key, key_byte(title_bytes[at]));
    hp_text_string(&title, after_title);
    hp_text_string(&key, after_key);
    ret_names->title = hp_arena_copy(arena, title_bytes, title.length);
    ret_names->key = hp_arena_copy(arena, key_bytes, key.length);
    return ret_names->title != NULL && ret_names->key != NULL;
}
