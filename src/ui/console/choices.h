/*
 * The user's choices, kept between sessions of the console: refresh interval, sort columns, hidden columns, which
 * functions are idle. A small text file. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_CHOICES_H
#define HP_CONSOLE_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_CHOICES_MOST 128u

struct hp_choice {
    char what[16]; /* "sort", "reverse", "hide", "idle", "busy" */
    char of[32];   /* the table; "" for functions */
    char name[200];
};

struct hp_choices {
    char path[1024]; /* "": nothing is remembered */
    uint32_t refresh_ms;
    bool has_changed;
    struct hp_choice all[HP_CHOICES_MOST];
    size_t count;
};

/* Reads the user's file: $XDG_CONFIG_HOME/hotpath/console, or below $HOME/.config. Invalid lines are ignored. */
void hp_choices_read(struct hp_choices *choices);

/* Writes it, if something has changed. */
void hp_choices_write(struct hp_choices *choices);

bool hp_choice_has(const struct hp_choices *choices, const char *what, const char *of, const char *name);
/* The first of its kind; NULL: none. */
const char *hp_choice_find(const struct hp_choices *choices, const char *what, const char *of);
void hp_choice_set(struct hp_choices *choices, const char *what, const char *of, const char *name, bool is_chosen);
/* Removes all of a kind. */
void hp_choice_clear(struct hp_choices *choices, const char *what, const char *of);

#endif
