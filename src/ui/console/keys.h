/* Keys from terminals and scripts. SPDX-License-Identifier: MIT */
#ifndef HP_CONSOLE_KEYS_H
#define HP_CONSOLE_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that are not characters. */
enum {
    HP_KEY_NONE = 0,
    HP_KEY_TAB = '\t',
    HP_KEY_ENTER = '\n',
    HP_KEY_ESCAPE = 27,
    HP_KEY_BACKSPACE = 127,
    HP_KEY_UP = 0x110000, /* above all characters */
    HP_KEY_DOWN,
    HP_KEY_LEFT,
    HP_KEY_RIGHT,
    HP_KEY_PAGE_UP,
    HP_KEY_PAGE_DOWN,
    HP_KEY_HOME,
    HP_KEY_END,
    HP_KEY_BACK_TAB,
    HP_KEY_CLICK, /* with a position */
    HP_KEY_DOUBLE_CLICK,
    HP_KEY_WHEEL_UP,
    HP_KEY_WHEEL_DOWN,
};

struct hp_key {
    uint32_t code;
    unsigned row, column; /* of a click */
};

/* "Enter", "Down", "2", "space", "click 5 10": a word of a script. False: there is no such key. */
bool hp_key_read(const char *word, struct hp_key *ret_key);

#endif
