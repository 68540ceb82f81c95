/* Keys by their names. SPDX-License-Identifier: MIT */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "text.h"
#include "utf8.h"

static const struct {
    const char *name;
    uint32_t code;
} names[] = {
    {"Enter", HP_KEY_ENTER},
    {"Esc", HP_KEY_ESCAPE},
    {"Tab", HP_KEY_TAB},
    {"BackTab", HP_KEY_BACK_TAB},
    {"Backspace", HP_KEY_BACKSPACE},
    {"Up", HP_KEY_UP},
    {"Down", HP_KEY_DOWN},
    {"Left", HP_KEY_LEFT},
    {"Right", HP_KEY_RIGHT},
    {"PageUp", HP_KEY_PAGE_UP},
    {"PageDown", HP_KEY_PAGE_DOWN},
    {"Home", HP_KEY_HOME},
    {"End", HP_KEY_END},
    {"space", ' '},
    {"WheelUp", HP_KEY_WHEEL_UP},
    {"WheelDown", HP_KEY_WHEEL_DOWN},
};

/* "click:ROW,COLUMN" or "doubleclick:ROW,COLUMN", from 0. */
static bool read_click(const char *word, struct hp_key *ret_key)
{
    static const char twice[] = "double";
    const bool is_double = strncmp(word, twice, sizeof twice - 1) == 0;
    unsigned row, column;
    char end;
    if (sscanf(word + (is_double ? sizeof twice - 1 : 0), "click:%u,%u%c", &row, &column, &end) != 2)
        return false;
    *ret_key = (struct hp_key){is_double ? HP_KEY_DOUBLE_CLICK : HP_KEY_CLICK, row, column};
    return true;
}

bool hp_key_read(const char *word, struct hp_key *ret_key)
{
    const char *at = word, *end = word + strlen(word);
    *ret_key = (struct hp_key){0};
    for (size_t name = 0; name < sizeof names / sizeof names[0]; name++)
        if (hp_text_equal_nocase(word, strlen(word), names[name].name)) {
            ret_key->code = names[name].code;
            return true;
        }
    if (read_click(word, ret_key))
        return true;
    if (at == end)
        return false;
    ret_key->code = hp_utf8_next(&at, end);
    return at == end && ret_key->code != HP_UTF8_INVALID;
}
