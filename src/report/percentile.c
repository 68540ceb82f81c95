/* Names of percentile columns. SPDX-License-Identifier: MIT */
#include "percentile.h"

#include <string.h>

#include "arena.h"
#include "text.h"

/* "P99.9": up to three decimals, no trailing zeros. */
static void put_title(struct hp_text *title, double percentile)
{
    if (percentile <= 0 || percentile >= 100) {
        hp_text_string(title, percentile <= 0 ? "Min" : "Max");
        return;
    }
    hp_text_format(title, "P%.3f", percentile);
    while (title->bytes[title->length - 1] == '0')
        title->length--;
    if (title->bytes[title->length - 1] == '.')
        title->length--;
}

static char key_byte(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '.' ? '_' : c); }

/* A name that is too long is cut. */
static const char *join(struct hp_arena *arena, const char *before, char between, const struct hp_text *middle,
                        const char *after)
{
    char bytes[128];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    if (before != NULL) {
        hp_text_format(&text, "%s%c", before, between);
    }
    hp_text_bytes(&text, middle->bytes, middle->length);
    hp_text_string(&text, after != NULL ? after : "");
    return hp_arena_copy(arena, bytes, text.length);
}

bool hp_percentile_name(struct hp_arena *arena, double percentile, const struct hp_percentile_family *family,
                        struct hp_percentile_names *ret_names)
{
    char title_bytes[64], key_bytes[64];
    struct hp_text title, key;
    hp_text_init(&title, title_bytes, sizeof title_bytes);
    hp_text_init(&key, key_bytes, sizeof key_bytes);
    put_title(&title, percentile);
    for (size_t at = 0; at < title.length; at++)
        hp_text_char(&key, key_byte(title_bytes[at]));
    ret_names->title = join(arena, family->before_title, ' ', &title, family->after_title);
    ret_names->key = join(arena, family->before_key, '_', &key, family->after_key);
    return ret_names->title != NULL && ret_names->key != NULL;
}
