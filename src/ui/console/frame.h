/* The four lines around every view, and overlays. SPDX-License-Identifier: MIT */
#ifndef HP_CONSOLE_FRAME_H
#define HP_CONSOLE_FRAME_H

#include "state.h"

/* How many lines the verdict needs, 1 or 2. */
unsigned hp_verdict_lines(const struct hp_console *console, unsigned columns, unsigned rows);
/* The line below it. */
static inline unsigned hp_first_line(const struct hp_console *console) { return 2 + console->verdict_lines; }
/* Status, tabs and verdict: lines 0 to 2, or 3. */
void hp_draw_frame(const struct hp_console *console, struct hp_screen *screen);
/* The keys, or the user's input: the last line. */
void hp_draw_keys(const struct hp_console *console, struct hp_screen *screen);
/* The tab at a column of the line of tabs; HP_CONSOLE_TABS: none. */
unsigned hp_tab_at(unsigned columns, unsigned column);

/* Views with their own drawing code. */
void hp_draw_overview(struct hp_console *console, struct hp_screen *screen);
void hp_draw_stacks(struct hp_console *console, struct hp_screen *screen);
bool hp_shows_flame(const struct hp_console *console);
/* The frame of the flame graph at a place of the screen; 0: none. */
uint32_t hp_flame_at(struct hp_console *console, unsigned row, unsigned column);

/* "reserve_stock  orderd.c:30", "compress  in libz.so.1  deflate.c" */
void hp_console_describe(const struct hp_watched_function *function, char *text, size_t size);

/* Overlays. */
void hp_draw_inspect(struct hp_console *console, struct hp_screen *screen, const struct hp_area *area);
void hp_draw_help(struct hp_console *console, struct hp_screen *screen);
/* Lines of the help about keys, some of them without a text (NULL). False: there are no more. */
bool hp_key_help(size_t at, const char **ret_keys, const char **ret_help);
void hp_draw_columns(const struct hp_console *console, struct hp_screen *screen);
/* Draws a box with a title and a text on the right, and clears its inside. */
void hp_draw_box(struct hp_screen *screen, const struct hp_area *area, const char *title, const char *right);

#endif
