/*
 * The page about a function or a row, in a box on the screen: its lines, from the top down.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_DETAILS_H
#define HP_CONSOLE_DETAILS_H

#include "state.h"

struct hp_details {
    struct hp_console *console;
    struct hp_screen *screen;
    unsigned row, bottom;     /* the next line; the line after the last */
    unsigned column, columns; /* inside the box */
};

/* Puts a text on the next lines, as many as it needs. */
static inline void hp_details_put(struct hp_details *page, const char *text)
{
    if (page->row < page->bottom)
        page->row += hp_screen_put_wrapped(page->screen, page->row, page->column, page->columns,
                                           page->bottom - page->row, text);
    if (text[0] == '\0')
        page->row++;
}

/* On one line: in the middle, a longer text is cut. */
static inline void hp_details_put_fitted(struct hp_details *page, const char *text)
{
    if (page->row < page->bottom)
        hp_screen_put_fitted(page->screen, page->row, page->column, page->columns, HP_INK_PLAIN, text);
    page->row++;
}

/* The source of a function around a line; `shares`: of lines, in percent, or NULL (inspect.c). */
void hp_details_draw_source(struct hp_details *page, const char *file, uint32_t line,
                            const struct hp_line_sums *shares);
/* "on 0.48 threads:  cpu user 0.12  lock 0.36", and a bar of it (inspect.c). */
void hp_details_draw_parts(struct hp_details *page, const struct hp_watched_function *function);

/* What a sampled function does, who calls it, and what it calls (sampled_details.c). */
void hp_details_of_sampled(struct hp_details *page, const struct hp_watched_function *function);

#endif
