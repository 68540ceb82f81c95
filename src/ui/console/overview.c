/*
 * The first tab: what threads do, its history, and the top functions. Has its own drawing code.
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "frame.h"
#include "profile.h"
#include "views.h"

#define MOST_SECONDS 60u

struct line {
    const char *name;
    enum hp_ink ink;
    uint32_t glyph; /* 0: none */
    enum hp_figure figure;
    double now;
    double values[HP_HISTORY_COLUMNS];
    bool is_shown;
};

struct overview {
    struct hp_console *console;
    struct hp_screen *screen;
    unsigned row;
    unsigned spark;   /* column where histories begin */
    unsigned columns; /* of these */
    unsigned end;     /* column after the peaks */
};

static double peak_of(const struct overview *view, const struct line *line)
{
    double peak = line->now;
    for (unsigned at = 0; at < view->columns; at++)
        peak = line->values[at] > peak ? line->values[at] : peak;
    return peak;
}

/* `highest` 0: its own peak. */
static void draw_line(struct overview *view, const struct line *line, double highest)
{
    char figure[HP_FIGURE_BYTES];
    const double peak = peak_of(view, line);
    if (line->glyph != 0)
        hp_screen_glyph(view->screen, view->row, 1, line->ink, line->glyph);
    hp_screen_put(view->screen, view->row, 3, HP_INK_PLAIN, line->name);
    hp_screen_put_right(view->screen, view->row, view->spark - 3, HP_INK_PLAIN,
                        hp_figure(figure, line->figure, line->now));
    if (view->console->watched.history.count > 0) {
        hp_draw_spark(view->screen, view->row, view->spark, view->columns, line->values,
                      highest > 0 ? highest : peak, line->ink);
        hp_screen_put_right(view->screen, view->row, view->end, HP_INK_PLAIN,
                            hp_figure(figure, line->figure, peak));
    }
    view->row++;
}

static void draw_heading(struct overview *view, double seconds)
{
    const struct hp_watched *watched = &view->console->watched;
    char text[64];
    snprintf(text, sizeof text, watched->is_live ? "Threads, of %llu" : "Threads",
             (unsigned long long)watched->threads);
    hp_screen_put(view->screen, view->row, 1, HP_INK_PLAIN, text);
    hp_screen_put_right(view->screen, view->row, view->spark - 3, HP_INK_PLAIN, "now");
    if (watched->history.count > 0) {
        snprintf(text, sizeof text, "last %.0f s", seconds);
        hp_screen_put(view->screen, view->row, view->spark, HP_INK_PLAIN, text);
        hp_screen_put_right(view->screen, view->row, view->end, HP_INK_PLAIN, "peak");
    } else {
        hp_screen_put(view->screen, view->row, view->spark, HP_INK_PLAIN, "no history: use hotpath run");
    }
    hp_screen_look(view->screen, view->row, 0, view->screen->columns, HP_LOOK_BOLD);
    view->row++;
}

/* Draws what threads do; on low screens CPU time is one line. */
static void draw_parts(struct overview *view, bool is_short)
{
    static const char *const names[HP_PARTS + 1] = {"cpu user", "cpu kernel", "run queue", "disk",
                                                    "lock",     "network",    "sleep",     "idle"};
    const struct hp_watched *watched = &view->console->watched;
    static double values[HP_PARTS + 1][HP_HISTORY_COLUMNS];
    double highest = 0;
    memset(values, 0, sizeof values);
    hp_watched_parts_history(watched, values);
    for (unsigned part = 0; part <= HP_PARTS; part++)
        for (unsigned at = 0; at < view->columns; at++)
            highest = values[part][at] > highest ? values[part][at] : highest;
    for (unsigned part = 0; part <= HP_PARTS; part++) {
        struct line line = {.name = names[part],
                            .ink = hp_part_ink((enum hp_activity)part),
                            .glyph = hp_part_glyph((enum hp_activity)part),
                            .figure = HP_FIGURE_THREADS,
                            .now = part < HP_PARTS ? watched->parts[part] : watched->idle};
        memcpy(line.values, values[part], sizeof line.values);
        if (is_short && part == HP_PART_USER) {
            line.name = "cpu";
            line.now += watched->parts[HP_PART_KERNEL];
            for (unsigned at = 0; at < view->columns; at++)
                line.values[at] += values[HP_PART_KERNEL][at];
        }
        if (is_short && part == HP_PART_KERNEL)
            continue;
        const bool is_usual = part <= HP_PART_QUEUE || part >= HP_PARTS;
        if (is_usual || peak_of(view, &line) > 0.0005)
            draw_line(view, &line, highest);
    }
}

static void draw_others(struct overview *view)
{
    struct hp_console *console = view->console;
    const struct hp_watched *watched = &console->watched;
    const struct hp_history *history = &watched->history;
    struct line calls = {.name = "calls/s", .figure = HP_FIGURE_RATE},
                polls = {.name = "polls/s", .figure = HP_FIGURE_RATE},
                bytes = {.name = "allocated/s", .figure = HP_FIGURE_BYTES_},
                live = {.name = "live memory", .figure = HP_FIGURE_BYTES_},
                rss = {.name = "rss", .figure = HP_FIGURE_BYTES_};
    bool has_bytes = false, has_tasks = false;
    for (size_t at = 0; at < watched->measured.count; at++) {
        const struct hp_watched_function *function = &watched->measured.all[at];
        has_tasks |= function->is_task;
        calls.now += function->is_task ? 0 : function->calls_per_second;
        polls.now += function->polls_per_second;
        bytes.now += function->bytes_per_second;
        has_bytes |= function->has_bytes;
        hp_history_add(history, HP_AXIS_SITE_CALLS, function->site->session, function->site->id, 1,
                       function->is_task ? polls.values : calls.values);
        hp_history_add(history, HP_AXIS_SITE_BYTES, function->site->session, function->site->id, 1, bytes.values);
    }
    if (watched->has_measured)
        draw_line(view, &calls, 0);
    if (has_tasks)
        draw_line(view, &polls, 0);
    if (has_bytes)
        draw_line(view, &bytes, 0);
    if (hp_history_add(history, HP_AXIS_ALLOCATED, HP_HISTORY_ALL, 0, 1, live.values) && view->columns > 0) {
        live.now = live.values[view->columns - 1];
        draw_line(view, &live, 0);
    }
    if (hp_history_add(history, HP_AXIS_RESIDENT, HP_HISTORY_ALL, 0, 1, rss.values) && view->columns > 0) {
        const bool is_now = console->window.kind != HP_WINDOW_PAST && watched->rss_bytes > 0;
        rss.now = is_now ? (double)watched->rss_bytes : rss.values[view->columns - 1];
        draw_line(view, &rss, 0);
    }
}

/* "15 more, and idle: queue_pop, compactor" */
static void draw_rest(struct overview *view, size_t more)
{
    struct hp_console *console = view->console;
    char bytes[400];
    struct hp_text text;
    bool has_idle = false;
    hp_text_init(&text, bytes, sizeof bytes);
    if (more > 0) {
        hp_text_format(&text, "%zu more", more);
    }
    for (size_t at = 0; at < console->shown.count; at++) {
        if (!console->shown.all[at]->is_last)
            continue;
        hp_text_format(&text, "%s%s",
                       has_idle   ? ", "
                       : more > 0 ? ", and idle: "
                                  : "idle: ",
                       console->shown.all[at]->cells[0].text);
        has_idle = true;
    }
    hp_screen_put_fitted(view->screen, view->row, 3, view->screen->columns - 4, HP_INK_PLAIN, hp_text_end(&text));
}

static const struct hp_watched_function *function_of(const struct hp_console *console,
                                                     const struct hp_table_row *row)
{
    return &hp_console_functions(console)->all[row->index];
}

static double longest_of(const struct hp_console *console)
{
    double longest = 0;
    for (size_t at = 0; at < console->shown.count; at++) {
        const struct hp_table_row *row = console->shown.all[at];
        if (!row->is_last && function_of(console, row)->own > longest)
            longest = function_of(console, row)->own;
    }
    return longest;
}

/* Columns of the list, from the right. */
struct places {
    unsigned name, bar, bar_width, now, share, mostly, calls;
};

static struct places place(unsigned columns, unsigned name_width, bool has_calls)
{
    const bool is_wide = columns >= 90;
    const unsigned right = is_wide ? columns - 5 : columns - 1;
    struct places places = {.name = name_width};
    places.calls = is_wide && has_calls ? right : 0;
    places.mostly = places.calls > 0 ? right - 22 : right - 13;
    places.share = places.mostly - 2;
    places.now = places.share - 7;
    places.bar = 3 + name_width + 2;
    places.bar_width = places.now > places.bar + 6 ? places.now - 6 - places.bar : 1;
    return places;
}

static void draw_function(struct overview *view, const struct hp_table_row *row, const struct places *places,
                          double longest)
{
    struct hp_screen *screen = view->screen;
    struct hp_console *console = view->console;
    char figure[HP_FIGURE_BYTES];
    const struct hp_watched_function *function = function_of(console, row);
    const char *mostly = hp_console_mostly(&console->arena, function);
    const bool has_share = function->has_share && !row->is_last, counts = hp_console_counts_instructions(console);
    hp_screen_put_fitted(screen, view->row, 3, places->name, HP_INK_PLAIN, function->name);
    if (function->knows_parts)
        hp_draw_bar(screen, view->row, places->bar, places->bar_width, function->parts, longest);
    hp_screen_put_right(
        screen, view->row, places->now, HP_INK_PLAIN,
        counts ? hp_figure(figure, HP_FIGURE_COUNT, function->own * (double)console->watched.elapsed_ns)
               : hp_figure(figure, HP_FIGURE_THREADS, function->own));
    hp_screen_put_right(screen, view->row, places->share, HP_INK_PLAIN,
                        has_share ? hp_figure(figure, HP_FIGURE_PERCENT, hp_console_share(console, function))
                                  : "–");
    hp_screen_put_fitted(screen, view->row, places->mostly, 14, HP_INK_PLAIN, mostly != NULL ? mostly : "–");
    if (places->calls > 0)
        hp_screen_put_right(screen, view->row, places->calls, HP_INK_PLAIN,
                            function->has_calls ? hp_figure(figure, HP_FIGURE_RATE, function->calls_per_second)
                                                : "–");
}

static void draw_functions(struct overview *view)
{
    struct hp_console *console = view->console;
    const unsigned columns = view->screen->columns, bottom = view->screen->rows - 2;
    const bool counts = hp_console_counts_instructions(console);
    size_t busy = 0, drawn = 0;
    unsigned width = 8;
    for (size_t at = 0; at < console->shown.count; at++) {
        const unsigned name = hp_screen_width(console->shown.all[at]->cells[0].text);
        busy += !console->shown.all[at]->is_last && function_of(console, console->shown.all[at])->own > 0;
        width = name > width ? name : width;
    }
    const struct places places = place(columns,
                                       width < 13            ? 13
                                       : width < columns / 4 ? width
                                                             : columns / 4,
                                       console->watched.has_measured && !counts);
    const bool is_wider = hp_view_is_of_stacks(console) && hp_found_is_wider(&console->watched.found);
    hp_screen_put(view->screen, view->row, 1, HP_INK_PLAIN,
                  counts     ? "Where instructions are executed"
                  : is_wider ? "Since the start, time goes to"
                             : "Where the time goes");
    if (!is_wider && !counts)
        hp_screen_put(view->screen, view->row, places.bar > 22 ? places.bar : 22, HP_INK_PLAIN, "threads");
    hp_screen_put_right(view->screen, view->row, places.now, HP_INK_PLAIN, counts ? "own" : "now");
    hp_screen_put_right(view->screen, view->row, places.share, HP_INK_PLAIN, "share");
    hp_screen_put(view->screen, view->row, places.mostly, HP_INK_PLAIN, "mostly");
    if (places.calls > 0)
        hp_screen_put_right(view->screen, view->row, places.calls, HP_INK_PLAIN, "calls/s");
    hp_screen_look(view->screen, view->row, 0, columns, HP_LOOK_BOLD);
    view->row++;
    const double longest = longest_of(console);
    console->area = (struct hp_area){.row = view->row - 1, .rows = 1 + bottom - view->row, .columns = columns};
    if (console->view->line >= console->view->top + (bottom - view->row))
        console->view->top = console->view->line - (bottom - view->row) + 1;
    if (console->view->line < console->view->top)
        console->view->top = console->view->line;
    for (size_t at = console->view->top; at < console->shown.count && view->row < bottom; at++) {
        const struct hp_table_row *row = console->shown.all[at];
        if ((row->is_last || function_of(console, row)->own <= 0) && console->view->cursor != row->id)
            continue;
        draw_function(view, row, &places, longest);
        if (console->view->cursor != 0 && at == console->view->line) {
            hp_screen_put(view->screen, view->row, 1, HP_INK_PLAIN, "›");
            hp_screen_mark(view->screen, view->row, 0, columns);
        }
        view->row++;
        drawn++;
    }
    if (console->shown.of == 0 && console->table.if_empty != NULL)
        hp_screen_put_wrapped(view->screen, view->row, 3, columns - 4, bottom - view->row, console->table.if_empty);
    draw_rest(view, busy > drawn ? busy - drawn : 0);
}

void hp_draw_overview(struct hp_console *console, struct hp_screen *screen)
{
    struct hp_watched *watched = &console->watched;
    const bool is_short = screen->rows < 28, is_wide = screen->columns >= 90;
    struct overview view = {.console = console, .screen = screen, .row = 4, .spark = is_wide ? 31 : 28};
    view.end = screen->columns - (is_wide ? 2 : 1);
    view.columns = view.end > view.spark + 10 ? view.end - view.spark - 11 : 1;
    if (view.columns > 120)
        view.columns = 120;
    const double shown = is_wide && view.columns < MOST_SECONDS ? MOST_SECONDS : view.columns;
    const uint64_t length = (uint64_t)(shown * 1e9);
    if (console->shown.of == 0 && !watched->has_cpus && !watched->knows_waits) {
        hp_screen_put_fitted(screen, 4, 1, screen->columns - 2, HP_INK_PLAIN, console->table.if_empty);
        return;
    }
    const uint64_t end = watched->is_whole && !watched->is_live ? watched->elapsed_ns : watched->to_ns;
    hp_history_choose(&watched->history, length, end, view.columns);
    if (!hp_console_counts_instructions(console)) { /* there is nothing over time then */
        draw_heading(&view, shown);
        draw_parts(&view, is_short);
        if (!is_short)
            view.row++;
        draw_others(&view);
        view.row++;
    }
    if (view.row + 3 < screen->rows)
        draw_functions(&view);
}
