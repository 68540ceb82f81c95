/*
 * The help: what keys do, what the columns of the table mean, and what fills bars. What does not fit on the screen
 * is reached by scrolling. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "wait_cause.h"

#define KEYS_WIDTH 22u
#define TWO_COLUMNS_FROM 140u
#define MOST_LINES 200u

/* Part of the help, in a screen of its own that is as high as it needs to be. */
struct part {
    struct hp_screen screen;
    unsigned row;
};

static void put(struct part *part, const char *name, const char *text)
{
    const unsigned width = part->screen.columns - KEYS_WIDTH - 1;
    hp_screen_put_fitted(&part->screen, part->row, 0, KEYS_WIDTH - 1, HP_INK_PLAIN, name);
    part->row += hp_screen_put_wrapped(&part->screen, part->row, KEYS_WIDTH, width, MOST_LINES, text);
}

static void put_keys(struct part *part)
{
    const char *keys, *help;
    for (size_t at = 0; hp_key_help(at, &keys, &help); at++)
        if (help != NULL)
            put(part, keys, help);
}

static void put_columns(struct part *part, const struct hp_table *table)
{
    for (size_t at = 0; at < table->column_count; at++)
        if (table->columns[at].about != NULL)
            put(part, table->columns[at].title, table->columns[at].about);
    part->row++;
}

/* "█ user  █ kernel  ▓ run queue ..." */
static void put_fills(struct part *part)
{
    unsigned column = 0;
    for (unsigned at = 0; at < HP_ALL_PARTS; at++) {
        const char *name = hp_part_name((enum hp_activity)at);
        if (column + hp_screen_width(name) + 2 > part->screen.columns) {
            column = 0;
            part->row++;
        }
        hp_screen_glyph(&part->screen, part->row, column, hp_part_ink((enum hp_activity)at),
                        hp_part_glyph((enum hp_activity)at));
        column = hp_screen_put(&part->screen, part->row, column + 2, HP_INK_PLAIN, name) + 2;
    }
    part->row++;
}

static void draw_box(const struct hp_console *console, struct hp_screen *screen, const struct hp_area *area,
                     unsigned rows)
{
    const unsigned inside = area->rows - 2, top = console->help_top;
    char about[80];
    if (rows > inside)
        snprintf(about, sizeof about, "%u to %u of %u, ↑↓ scroll, other keys close", top + 1,
                 top + inside < rows ? top + inside : rows, rows);
    else
        snprintf(about, sizeof about, "any key closes");
    hp_draw_box(screen, area, "Keys and columns", about);
}

void hp_draw_help(struct hp_console *console, struct hp_screen *screen)
{
    const unsigned first = hp_first_line(console);
    const struct hp_area box = {first, screen->rows - 1 - first, 0, screen->columns};
    const bool has_two = screen->columns >= TWO_COLUMNS_FROM;
    const unsigned width = has_two ? (screen->columns - 6) / 2 : screen->columns - 4, inside = box.rows - 2;
    struct part left = {0}, right = {0};
    if (!hp_screen_resize(&left.screen, width, MOST_LINES) || !hp_screen_resize(&right.screen, width, MOST_LINES))
        return;
    struct part *columns = has_two ? &right : &left;
    put_keys(&left);
    columns->row += has_two ? 0 : 1;
    put_columns(columns, &console->table);
    put_fills(columns);
    const unsigned rows = left.row > right.row ? left.row : right.row, most = rows > inside ? rows - inside : 0;
    console->help_top = console->help_top < most ? console->help_top : most;
    draw_box(console, screen, &box, rows);
    hp_screen_copy(&left.screen, console->help_top, screen, &(struct hp_area){box.row + 1, inside, 2, width});
    hp_screen_copy(&right.screen, console->help_top, screen,
                   &(struct hp_area){box.row + 1, inside, 4 + width, width});
    hp_screen_free(&left.screen);
    hp_screen_free(&right.screen);
}
