/* Draws the tab's view, the frame around it, and overlays on top. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "console.h"
#include "frame.h"
#include "profile.h"
#include "views.h"

#define LEAST_COLUMNS 60u
#define LEAST_ROWS 15u

static unsigned width_of_subs(const struct hp_console *console)
{
    unsigned width = 1;
    for (unsigned sub = 0; sub < console->sub_count; sub++)
        width += hp_screen_width(console->subs[sub]) + 2;
    return width;
}

/* Names the sub-views, or only the current one if there is no room; returns the column after them. */
static unsigned draw_subs(const struct hp_console *console, struct hp_screen *screen, unsigned row, unsigned end_at)
{
    const unsigned current = console->sub[console->tab];
    char bytes[80];
    unsigned at = 1;
    if (width_of_subs(console) + 1 > end_at && current < console->sub_count) {
        snprintf(bytes, sizeof bytes, "%.30s, %u of %u", console->subs[current], current + 1, console->sub_count);
        at = hp_screen_put(screen, row, at, HP_INK_PLAIN, bytes);
        hp_screen_look(screen, row, 1, at, HP_LOOK_BOLD);
        return at + 2;
    }
    for (unsigned sub = 0; sub < console->sub_count; sub++) {
        const unsigned end =
            hp_screen_put(screen, row, at, sub == current ? HP_INK_PLAIN : HP_INK_DIM, console->subs[sub]);
        if (sub == current)
            hp_screen_look(screen, row, at, end, HP_LOOK_BOLD);
        at = end + 2;
    }
    return at;
}

/* Draws what the view is, above its table, if there is a line for it. */
static void draw_caption(const struct hp_console *console, struct hp_screen *screen, unsigned row, unsigned end_at)
{
    char window[100], bytes[300];
    struct hp_text text;
    const struct hotpath_section *section =
        console->tab == HP_TAB_FUNCTIONS ? NULL
                                         : hp_watched_section(console->watched.whole, hp_console_sub(console));
    hp_text_init(&text, bytes, sizeof bytes);
    const unsigned at = draw_subs(console, screen, row, end_at);
    if (hp_view_is_of_stacks(console))
        hp_console_name_stacks(console, window, 80);
    else if (section != NULL)
        snprintf(window, sizeof window, "since the start");
    else
        hp_console_name_window(console, window, 80);
    if (hp_console_counts_instructions(console))
        strcat(window, ", in instructions");
    const bool has_functions = console->tab == HP_TAB_FUNCTIONS || console->tab == HP_TAB_STACKS;
    hp_text_format(&text, "  %zu%s", console->shown.of,
                   has_functions            ? " functions"
                   : console->shown.of == 1 ? " row"
                                            : " rows");
    if (console->tab == HP_TAB_FUNCTIONS && console->watched.unknown > 0) {
        hp_text_format(&text, ", %zu more without history (t)", console->watched.unknown);
    }
    if (console->tab == HP_TAB_THREADS && console->ended_threads > 0 &&
        strcmp(console->table.key, "threads") == 0) {
        hp_text_format(&text, ", %zu ended (a)", console->ended_threads);
    }
    hp_text_format(&text, "   %s", window);
    if (console->view->filter[0] != '\0') {
        hp_text_format(&text, "   filter: %s", console->view->filter);
    }
    if (at + hp_screen_width(hp_text_end(&text)) < end_at)
        hp_screen_put(screen, row, at, HP_INK_PLAIN, bytes);
    else
        hp_screen_put_fitted(screen, row, at + 1, end_at > at + 2 ? end_at - at - 2 : 1, HP_INK_PLAIN, window);
}

/* Draws what did not fit, and how to see it, up to a column; returns the column before it. */
static unsigned draw_hidden(const struct hp_console *console, struct hp_screen *screen, unsigned row, unsigned end,
                            const struct hp_hidden_columns *hidden)
{
    char bytes[260];
    if (hidden->names[0] == '\0' || !console->is_watching)
        return end;
    snprintf(bytes, sizeof bytes, "hidden: %s (→ or c)", hidden->names);
    if (hp_screen_width(bytes) > end / 2 - 2 || hp_screen_width(bytes) + width_of_subs(console) + 20 > end)
        snprintf(bytes, sizeof bytes, "more columns: → or c");
    hp_screen_put_right(screen, row, end - 1, HP_INK_PLAIN, bytes);
    return end - 1 - hp_screen_width(bytes);
}

/* Draws details of the function at the cursor, below the rows. */
static void draw_detail(struct hp_console *console, struct hp_screen *screen, unsigned row)
{
    const struct hp_watched_function *function = hp_console_function(console);
    static const char *const names[HP_PARTS] = {"cpu", "kernel", "run queue", "disk", "lock", "network", "sleep"};
    char bytes[300], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    if (function == NULL)
        return;
    hp_console_describe(function, bytes, sizeof bytes);
    hp_screen_put_fitted(screen, row, 3, screen->columns - 4, HP_INK_PLAIN, bytes);
    hp_text_init(&text, bytes, sizeof bytes);
    for (unsigned part = 0; function->knows_parts && part < HP_PARTS; part++)
        if (function->parts[part] >= 0.005) {
            hp_text_format(&text, "%s%s %s", text.length > 0 ? "  " : "", names[part],
                           hp_figure(figure, HP_FIGURE_THREADS, function->parts[part]));
        }
    hp_screen_put_fitted(screen, row + 1, 3, screen->columns - 4, HP_INK_PLAIN, hp_text_end(&text));
    if (function->why != NULL)
        hp_screen_put_wrapped(screen, row + 2, 3, screen->columns - 4, screen->rows - row - 3, function->why);
}

static void draw_empty(const struct hp_console *console, struct hp_screen *screen, unsigned row)
{
    static const char *const reasons[HP_CONSOLE_TABS] = {
        [HP_TAB_STACKS] = "No stacks: 'hotpath run' records them.",
        [HP_TAB_FLOW] = ("Nothing was recorded: use HOTPATH_CHANNEL_SENT, HOTPATH_TASK, HOTPATH_STREAM_ITEM or "
                         "HOTPATH_LOOP_WAIT."),
        [HP_TAB_WAITS] = "Waits are not recorded: use 'hotpath run' or HOTPATH_WAITS=1.",
        [HP_TAB_CALLS] = "No calls were kept: set HOTPATH_LOG=NAME to keep the latest calls of a function.",
    };
    const char *reason = console->table.if_empty;
    if (console->is_watching && (reason == NULL || reason[0] == '\0'))
        reason = reasons[console->tab];
    if (console->view->filter[0] != '\0')
        reason = "No row matches the filter.";
    if (reason != NULL)
        hp_screen_put_wrapped(screen, row, 3, screen->columns - 4, screen->rows - row - 1, reason);
}

/* ----------------------------------------------------------------------------------------- stacked tables */

#define LEAST_BELOW 4u /* least lines of a table and a blank line before it: name, headings, a row */

static size_t rows_below(const struct hp_console *console, unsigned sub)
{
    const struct hotpath_section *section = hp_view_section_named(console, console->subs[sub]);
    return sub != console->sub[console->tab] && section != NULL ? section->row_count : 0;
}

static bool has_tables_below(const struct hp_console *console)
{
    bool has = false;
    for (unsigned sub = 0; console->is_watching && console->tab == HP_TAB_FLOW && sub < console->sub_count; sub++)
        has |= rows_below(console, sub) > 0;
    return has;
}

/* Draws the table of another sub-view, without a cursor; returns the line after it. */
static unsigned draw_below(struct hp_console *console, struct hp_screen *screen, unsigned sub, unsigned row,
                           unsigned rows)
{
    const struct hp_table kept = console->table;
    struct hp_table_view view = {0};
    struct hp_shown_rows shown;
    struct hp_area area = {.row = row + 1, .columns = console->area.columns};
    console->table = (struct hp_table){.key = console->subs[sub]};
    hp_view_section(console, hp_view_section_named(console, console->subs[sub]));
    if (hp_table_arrange(&console->table, &view, &console->arena, true, &shown)) {
        hp_screen_put(screen, row, 1, HP_INK_PLAIN, console->subs[sub]);
        hp_screen_look(screen, row, 0, console->area.columns, HP_LOOK_BOLD);
        area.rows = shown.count + 2 < rows ? (unsigned)shown.count + 1 : rows - 1;
        hp_table_draw(screen, &console->table, &view, &shown, &area, false, NULL);
    }
    hp_table_view_free(&view);
    console->table = kept;
    return area.row + area.rows;
}

static void draw_tables_below(struct hp_console *console, struct hp_screen *screen, unsigned row, unsigned bottom)
{
    for (unsigned sub = 0; sub < console->sub_count; sub++)
        if (rows_below(console, sub) > 0 && row + LEAST_BELOW <= bottom)
            row = draw_below(console, screen, sub, row + 1, bottom - row - 1);
}

static void draw_table(struct hp_console *console, struct hp_screen *screen)
{
    struct hp_hidden_columns hidden;
    const bool is_high = screen->rows >= 26, is_watching = console->is_watching;
    const unsigned caption = is_watching && is_high ? 1 : 0;
    const unsigned top = hp_first_line(console), first = top + caption;
    unsigned bottom = screen->rows - 1 - (is_high || !is_watching ? 0 : 1);
    const bool has_detail = is_watching && is_high && console->tab == HP_TAB_FUNCTIONS && console->shown.count > 0;
    unsigned detail = 0;
    if (has_detail) {
        const unsigned needed = first + 1 + (unsigned)(console->shown.count < 500 ? console->shown.count : 500);
        detail = needed + 1 + 3 < bottom ? needed + 1 : bottom - 3;
        bottom = needed + 1 + 3 < bottom ? bottom : bottom - 4;
    }
    const bool has_side = screen->columns >= 180 && is_watching && hp_console_function(console) != NULL;
    const bool has_below = has_tables_below(console);
    const unsigned all = bottom > first ? bottom - first : 1;
    const size_t wanted = console->shown.count + 1 > 3 ? console->shown.count + 1 : 3;
    console->area = (struct hp_area){.row = first,
                                     .rows = !has_below             ? all
                                             : wanted < 2 * all / 3 ? (unsigned)wanted
                                                                    : 2 * all / 3,
                                     .columns = has_side ? screen->columns - 80 : screen->columns};
    hp_table_draw(screen, &console->table, console->view, &console->shown, &console->area, true, &hidden);
    if (has_below)
        draw_tables_below(console, screen, console->area.row + console->area.rows, bottom);
    if (console->shown.count == 0)
        draw_empty(console, screen, first + 1);
    if (has_detail && !has_side)
        draw_detail(console, screen, detail);
    if (has_side)
        hp_draw_inspect(console, screen, &(struct hp_area){top, screen->rows - 1 - top, screen->columns - 80, 80});
    if (!is_watching)
        return;
    const unsigned row = is_high ? top : screen->rows - 2;
    draw_caption(console, screen, row, draw_hidden(console, screen, row, console->area.columns, &hidden));
}

/* On one tab the verdict never gets shorter, so that the lines below do not move. */
static void give_verdict_lines(struct hp_console *console)
{
    const unsigned needed = hp_verdict_lines(console, console->columns, console->rows);
    const unsigned about = (unsigned)console->tab << 24 ^ console->columns << 12 ^ console->rows;
    if (console->verdict_about != about || needed > console->verdict_lines)
        console->verdict_lines = needed;
    console->verdict_about = about;
}

void hp_console_draw(struct hp_console *console, struct hp_screen *screen)
{
    hp_screen_clear(screen);
    if (console->columns != screen->columns || console->rows != screen->rows) {
        console->columns = screen->columns;
        console->rows = screen->rows;
        hp_console_prepare(console);
    }
    if (screen->columns < LEAST_COLUMNS || screen->rows < LEAST_ROWS) {
        hp_screen_put(screen, 0, 0, HP_INK_PLAIN, "The console needs 60 columns and 15 rows");
        return;
    }
    give_verdict_lines(console);
    hp_draw_frame(console, screen);
    if (console->is_watching && !console->watched.has_data) {
        hp_draw_keys(console, screen);
        return;
    }
    if (console->is_watching && console->tab == HP_TAB_OVERVIEW)
        hp_draw_overview(console, screen);
    else if (hp_shows_flame(console))
        hp_draw_stacks(console, screen);
    else
        draw_table(console, screen);
    const unsigned top = hp_first_line(console);
    const struct hp_area over = {top, screen->rows - 1 - top, 0, screen->columns};
    if (console->overlay == HP_OVERLAY_INSPECT)
        hp_draw_inspect(console, screen, &over);
    else if (console->overlay == HP_OVERLAY_HELP)
        hp_draw_help(console, screen);
    else if (console->overlay == HP_OVERLAY_COLUMNS)
        hp_draw_columns(console, screen);
    hp_draw_keys(console, screen);
}
