/*
 * A screen as a grid of cells that views draw into. It knows nothing of terminals: it can be printed as text, and
 * the terminal copies it (terminal_screen.h).
 *
 *     struct hp_screen screen = {0};
 *     hp_screen_resize(&screen, 100, 30);
 *     hp_screen_put(&screen, 0, 1, HP_INK_PLAIN, "orderd");
 *     hp_screen_print(&screen, &text);
 *     hp_screen_free(&screen);
 *
 * Drawing outside it has no effect. Texts are UTF-8; control characters in them are replaced.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_SCREEN_H
#define HP_CONSOLE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

#define HP_SCREEN_MOST 1000u /* columns, or rows */

/* What a fill means: a terminal gives it a colour. Text is plain. */
enum hp_ink {
    HP_INK_PLAIN,
    HP_INK_DIM,
    HP_INK_USER,
    HP_INK_KERNEL,
    HP_INK_QUEUE,
    HP_INK_LOCK,
    HP_INK_DISK,
    HP_INK_NETWORK,
    HP_INK_SLEEP,
    HP_INK_IDLE,
    HP_INK_ALLOC,
    HP_INKS, /* from here on, the background has the colour; without colours, it is reversed */
    HP_FILL_CODE = HP_INKS,
    HP_FILL_CODE_2,
    HP_FILL_LIBRARY,
    HP_FILL_LIBRARY_2,
    HP_FILL_KERNEL,
    HP_FILL_KERNEL_2,
    HP_FILL_WAITING,
    HP_FILL_WAITING_2,
    HP_FILL_OTHER,
    HP_FILL_OTHER_2,
    HP_FILL_MUCH_LESS, /* changes */
    HP_FILL_LESS,
    HP_FILL_SAME,
    HP_FILL_MORE,
    HP_FILL_MUCH_MORE,
    HP_ALL_INKS
};

/* Attributes besides the ink. */
enum hp_look { HP_LOOK_BOLD = 1, HP_LOOK_REVERSE = 2 };

struct hp_spot {
    uint32_t glyph; /* 0: the right half of a wide character */
    uint8_t ink;    /* enum hp_ink */
    uint8_t look;   /* enum hp_look */
};

struct hp_screen {
    unsigned columns, rows;
    bool is_ascii; /* glyphs must be ASCII: hp_glyph_ascii */
    struct hp_spot *spots;
};

/* Where a table is on the screen. */
struct hp_area {
    unsigned row, rows; /* the heading is the first */
    unsigned column, columns;
};

/* Also clears it. False: no memory, and it is unchanged. */
bool hp_screen_resize(struct hp_screen *screen, unsigned columns, unsigned rows);
void hp_screen_clear(struct hp_screen *screen);
void hp_screen_free(struct hp_screen *screen);

/* Writes a text; returns the column after it. */
unsigned hp_screen_put(struct hp_screen *screen, unsigned row, unsigned column, enum hp_ink ink, const char *text);
/* The same in at most `width` columns: a longer text is shortened in the middle. */
unsigned hp_screen_put_fitted(struct hp_screen *screen, unsigned row, unsigned column, unsigned width,
                              enum hp_ink ink, const char *text);
/*
 * The same in several lines, broken at blanks; if `most` are too few, the last one is cut and ends with a mark.
 * Returns how many it took.
 */
unsigned hp_screen_put_wrapped(struct hp_screen *screen, unsigned row, unsigned column, unsigned width,
                               unsigned most, const char *text);
/* How many lines of that width a text needs. */
unsigned hp_screen_lines(const char *text, unsigned width);
/* Right-aligned: ends before column `end`. */
void hp_screen_put_right(struct hp_screen *screen, unsigned row, unsigned end, enum hp_ink ink, const char *text);
void hp_screen_glyph(struct hp_screen *screen, unsigned row, unsigned column, enum hp_ink ink, uint32_t glyph);

/* Copies the rows from `top` on, as many as there are and as fit into the area. */
void hp_screen_copy(const struct hp_screen *from, unsigned top, struct hp_screen *screen,
                    const struct hp_area *area);

/* Sets attributes from one column up to before another. */
void hp_screen_look(struct hp_screen *screen, unsigned row, unsigned from, unsigned to, enum hp_look look);

/* Marks the row of the cursor: reversed, but for fills, whose colours would be lost. */
void hp_screen_mark(struct hp_screen *screen, unsigned row, unsigned from, unsigned to);

/* Clears part of a row. */
void hp_screen_blank(struct hp_screen *screen, unsigned row, unsigned from, unsigned to);

/* Width of a text in columns. */
unsigned hp_screen_width(const char *text);

/* The ASCII replacement of a glyph. */
uint32_t hp_glyph_ascii(uint32_t glyph);
/* The glyph that a cell shows. */
uint32_t hp_screen_shown(const struct hp_screen *screen, const struct hp_spot *spot);

/* As lines of text, without trailing blanks. */
void hp_screen_print(const struct hp_screen *screen, struct hp_text *text);

#endif
