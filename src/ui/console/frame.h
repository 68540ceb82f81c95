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
/* Makes the flame graph of all stacks, or of a function, by the identity of its row. False: no memory. */
bool hp_flame_make(struct hp_console *console, uint64_t only);
void hp_flame_free(struct hp_flame *flame);

/* Overlays. */
void hp_draw_inspect(struct hp_console *console, struct hp_screen *screen, const struct hp_area *area);
void hp_draw_help(const struct hp_console *console, struct hp_screen *screen);
void hp_draw_columns(const struct hp_console *console, struct hp_screen *screen);
/* Draws a box with a title and a text on the right, and clears its inside. */
void hp_draw_box(struct hp_screen *screen, const struct hp_area *area, const char *title, const char *right);

#endif
