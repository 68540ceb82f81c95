/*
 * Overlays: the page about a function or about a row; the choice of columns. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "details.h"
#include "durations.h"
#include "frame.h"
#include "profile.h"
#include "wait_cause.h"

#define MOST_NEIGHBOURS 4u

/* -------------------------------------------------------------------------------------------- durations */

#define BARS 200u

/* Calls by duration, in steps of equal ratio. */
struct bars {
    double amounts[BARS];
    double least, ratio; /* start of the first bar; ratio of each to the next */
    unsigned count;
};

static double power(double base, unsigned exponent)
{
    double result = 1;
    for (; exponent > 0; exponent--)
        result *= base;
    return result;
}

/* The nth root of a ratio, by bisection. */
static double root_of(double number, unsigned degree)
{
    double low = 1, high = number > 1 ? number : 1;
    for (unsigned step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        if (power(middle, degree) < number)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Where a step of the histogram begins, in ticks: see HP_DURATION_LINES. */
static double bound_of(unsigned line, unsigned step)
{
    if (line == 0)
        return step;
    const double width = (double)(UINT64_C(32) << line) / 64;
    return (double)(UINT64_C(32) << line) + width * step;
}

static void gather_bars(const struct hp_durations *durations, double ns_per_tick, unsigned count, struct bars *bars)
{
    double least = 0, most = 0;
    *bars = (struct bars){.count = count < BARS ? count : BARS};
    for (unsigned line = 0; line < HP_DURATION_LINES; line++)
        for (unsigned step = 0; step < 64; step++)
            if (durations->lines[line][step] > 0) {
                least = least > 0 ? least : bound_of(line, step);
                most = bound_of(line, step + 1);
            }
    least = (least > 1 ? least : 1) * ns_per_tick;
    most *= ns_per_tick;
    if (most < 4 * least)
        most = 4 * least;
    bars->least = least;
    bars->ratio = root_of(most / least * 1.01, bars->count);
    for (unsigned line = 0; line < HP_DURATION_LINES; line++)
        for (unsigned step = 0; step < 64; step++) {
            const double ns = (bound_of(line, step) + bound_of(line, step + 1)) / 2 * ns_per_tick;
            double bound = least * bars->ratio;
            unsigned bar = 0;
            if (durations->lines[line][step] == 0)
                continue;
            while (bar + 1 < bars->count && ns >= bound) {
                bound *= bars->ratio;
                bar++;
            }
            bars->amounts[bar] += (double)durations->lines[line][step];
        }
}

static unsigned column_of_ns(const struct bars *bars, double ns)
{
    double bound = bars->least * bars->ratio;
    unsigned bar = 0;
    while (bar + 1 < bars->count && ns >= bound) {
        bound *= bars->ratio;
        bar++;
    }
    return bar;
}

static void draw_bars(struct hp_details *page, const struct bars *bars, unsigned height)
{
    double highest = 0;
    for (unsigned bar = 0; bar < bars->count; bar++)
        highest = bars->amounts[bar] > highest ? bars->amounts[bar] : highest;
    for (unsigned bar = 0; bar < bars->count && highest > 0; bar++) {
        unsigned eighths = (unsigned)(bars->amounts[bar] / highest * height * 8 + 0.5);
        if (eighths == 0 && bars->amounts[bar] > 0)
            eighths = 1;
        for (unsigned line = 0; line < height && eighths > 0; line++) {
            const unsigned part = eighths < 8 ? eighths : 8;
            hp_screen_glyph(page->screen, page->row + height - 1 - line, page->column + 2 + bar, HP_INK_PLAIN,
                            0x2580 + part);
            eighths -= part;
        }
    }
    page->row += height;
}

/* Marks at 1 and 3 of each decade. */
static void draw_scale(struct hp_details *page, const struct bars *bars, enum hp_figure kind)
{
    char figure[HP_FIGURE_BYTES];
    unsigned free_from = 0;
    for (unsigned bar = 0; bar < bars->count; bar++)
        hp_screen_glyph(page->screen, page->row, page->column + 2 + bar, HP_INK_PLAIN, 0x2500);
    for (uint64_t mark = 1; mark < 1000000000000000; mark *= 10)
        for (unsigned step = 0; step < 2; step++) {
            const double ns = (double)(step == 0 ? mark : 3 * mark);
            if (ns < bars->least || ns > bars->least * power(bars->ratio, bars->count))
                continue;
            const unsigned bar = column_of_ns(bars, ns);
            hp_screen_glyph(page->screen, page->row, page->column + 2 + bar, HP_INK_PLAIN, 0x2534);
            hp_figure(figure, kind, ns);
            /* "1.00 ms" is "1 ms" here. */
            char *point = strchr(figure, '.'), *after = strchr(figure, ' ');
            if (point != NULL && after != NULL)
                memmove(point, after, strlen(after) + 1);
            if (bar >= free_from) {
                hp_screen_put(page->screen, page->row + 1, page->column + 2 + bar, HP_INK_PLAIN, figure);
                free_from = bar + hp_screen_width(figure) + 2;
            }
        }
    page->row += 2;
}

static void draw_durations(struct hp_details *page, const struct hp_watched_function *function, bool is_high)
{
    static struct hp_durations durations;
    static const double wanted[] = {50, 95, 99, 99.9, 100};
    static const char *const names[] = {"p50", "p95", "p99", "p99.9", "max"};
    const struct hp_watched *watched = &page->console->watched;
    const double ns_per_tick = watched->reader.model.run.ns_per_tick;
    const bool counts = hp_console_counts_instructions(page->console);
    const enum hp_figure kind = counts ? HP_FIGURE_COUNT : HP_FIGURE_NS;
    char bytes[300], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    struct bars bars;
    char window[80] = "since the start";
    if (hp_console_durations(page->console, function, &durations))
        hp_console_name_window(page->console, window, sizeof window);
    snprintf(bytes, sizeof bytes, "%s, %s %s", window, hp_figure(figure, HP_FIGURE_COUNT, (double)durations.timed),
             function->is_task ? "polls" : "calls");
    hp_screen_put_right(page->screen, page->row, page->column + page->columns, HP_INK_PLAIN, bytes);
    hp_details_put(page, counts              ? "Instructions per call"
                         : function->is_task ? "Poll durations"
                                             : "Call durations");
    if (durations.counted == 0) {
        hp_details_put(page, function->is_task ? "no poll has ended" : "no call has ended");
        return;
    }
    gather_bars(&durations, ns_per_tick, page->columns > 4 ? page->columns - 4 : 1, &bars);
    draw_bars(page, &bars, is_high ? 7 : 3);
    draw_scale(page, &bars, kind);
    hp_text_init(&text, bytes, sizeof bytes);
    for (unsigned at = 0; at < 5; at++) {
        double ticks;
        if (!hp_durations_percentile(&durations, wanted[at], &ticks))
            continue;
        hp_screen_glyph(page->screen, page->row, page->column + 2 + column_of_ns(&bars, ticks * ns_per_tick),
                        HP_INK_PLAIN, 0x25b2);
        hp_text_format(&text, "%s%s %s", at > 0 ? "    " : "", names[at],
                       hp_figure(figure, kind, ticks * ns_per_tick));
    }
    page->row++;
    hp_details_put(page, hp_text_end(&text));
}

/* ------------------------------------------------------------------------------------------- neighbours */

/* A caller or callee, and the number of calls. */
struct neighbour {
    const struct hp_site_sums *site; /* NULL: none */
    uint64_t calls;
};

static void count_neighbour(struct neighbour *neighbours, unsigned *count, const struct hp_site_sums *site,
                            uint64_t calls)
{
    for (unsigned at = 0; at < *count; at++)
        if (neighbours[at].site == site) {
            neighbours[at].calls += calls;
            return;
        }
    if (*count < 64)
        neighbours[(*count)++] = (struct neighbour){site, calls};
}

/* `elapsed_ns` 0: numbers of calls, not how often. */
static void put_neighbours(struct hp_text *text, struct neighbour *neighbours, unsigned count, double elapsed_ns,
                           const char *none)
{
    char figure[HP_FIGURE_BYTES];
    if (count == 0)
        hp_text_string(text, none);
    for (unsigned shown = 0; shown < MOST_NEIGHBOURS && shown < count; shown++) {
        unsigned most = shown;
        for (unsigned at = shown; at < count; at++)
            most = neighbours[at].calls > neighbours[most].calls ? at : most;
        const struct neighbour swap = neighbours[shown];
        neighbours[shown] = neighbours[most];
        neighbours[most] = swap;
        const bool is_task = hp_site_is_task(neighbours[shown].site);
        const double calls = (double)neighbours[shown].calls;
        hp_text_format(text, "%s%s %s", shown > 0 ? ", " : "", neighbours[shown].site->name,
                       elapsed_ns > 0 ? hp_figure(figure, HP_FIGURE_RATE, calls * 1e9 / elapsed_ns)
                                      : hp_figure(figure, HP_FIGURE_COUNT, calls));
        hp_text_string(text, elapsed_ns > 0 ? (is_task ? " polls/s" : "/s") : is_task ? " polls" : " calls");
    }
    if (count > MOST_NEIGHBOURS) {
        hp_text_format(text, ", %u more", count - MOST_NEIGHBOURS);
    }
}

static void draw_neighbours(struct hp_details *page, const struct hp_watched_function *function)
{
    const struct hp_watched *watched = &page->console->watched;
    const struct hp_profile *profile = watched->reader.model.profile;
    struct neighbour callers[64], callees[64];
    unsigned caller_count = 0, callee_count = 0;
    char bytes[400];
    struct hp_text text;
    for (size_t at = 0; at < profile->node_count; at++) {
        const struct hp_tree_node *node = profile->nodes[at];
        if (node->site == function->site && node->parent != NULL && node->parent->site != NULL)
            count_neighbour(callers, &caller_count, node->parent->site, node->sums.calls);
        if (node->parent != NULL && node->parent->site == function->site && node->site != NULL)
            count_neighbour(callees, &callee_count, node->site, node->sums.calls);
    }
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, "called by  ");
    const double elapsed_ns = hp_console_counts_instructions(page->console) ? 0 : (double)watched->elapsed_ns;
    put_neighbours(&text, callers, caller_count, elapsed_ns, "no measured function");
    hp_details_put(page, hp_text_end(&text));
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, "calls      ");
    put_neighbours(&text, callees, callee_count, elapsed_ns, "no measured function");
    hp_details_put(page, hp_text_end(&text));
}

/* ----------------------------------------------------------------------------------------------- source */

/* The share of a line in what the function itself used; negative: none. */
static double share_of_line(const struct hp_line_sums *shares, uint32_t line)
{
    for (size_t at = 0; shares != NULL && at < shares->lines.count; at++)
        if (shares->lines.all[at].at == line && shares->all_ns > 0)
            return 100 * (double)shares->lines.all[at].all_ns / (double)shares->all_ns;
    return -1;
}

void hp_details_draw_source(struct hp_details *page, const char *path, uint32_t line_,
                            const struct hp_line_sums *shares)
{
    char line[400], shown[460], figure[HP_FIGURE_BYTES];
    FILE *file = path != NULL && line_ > 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return;
    const unsigned room = page->bottom > page->row + 1 ? page->bottom - page->row - 1 : 0;
    const unsigned before = shares != NULL ? room / 2 : 1, first = line_ > before ? line_ - before : 1;
    page->row++;
    for (unsigned number = 1; room > 0 && number < first + room && fgets(line, sizeof line, file) != NULL;
         number++) {
        if (number < first)
            continue;
        line[strcspn(line, "\r\n")] = '\0';
        for (char *at = line; *at != '\0'; at++)
            *at = *at == '\t' ? ' ' : *at;
        const double share = share_of_line(shares, number);
        if (shares != NULL)
            snprintf(shown, sizeof shown, "%6s %5u │ %s",
                     share >= 0 ? hp_figure(figure, HP_FIGURE_PERCENT, share) : "", number, line);
        else
            snprintf(shown, sizeof shown, "%4u │ %s", number, line);
        hp_details_put_fitted(page, shown);
    }
    fclose(file);
}

/* ------------------------------------------------------------------------------------------------- page */

void hp_details_draw_parts(struct hp_details *page, const struct hp_watched_function *function)
{
    static const char *const names[HP_PARTS] = {"cpu user", "cpu kernel", "run queue", "disk",
                                                "lock",     "network",    "sleep"};
    char bytes[300], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    const char *before = ":  ";
    if (hp_console_counts_instructions(page->console)) {
        hp_text_format(&text, "own %.0f %% of all instructions", function->share);
        hp_details_put(page, hp_text_end(&text));
        page->row++;
        return;
    }
    hp_text_format(&text, "own %s threads", hp_figure(figure, HP_FIGURE_THREADS, function->own));
    for (unsigned part = 0; function->knows_parts && part < HP_PARTS; part++)
        if (function->parts[part] >= 0.005) {
            hp_text_format(&text, "%s%s %s", before, names[part],
                           hp_figure(figure, HP_FIGURE_THREADS, function->parts[part]));
            before = "  ";
        }
    hp_details_put(page, hp_text_end(&text));
    if (function->knows_parts && page->row < page->bottom)
        hp_draw_bar(page->screen, page->row, page->column, page->columns > 60 ? 60 : page->columns, function->parts,
                    function->own);
    page->row++;
}

static void draw_history(struct hp_details *page, const struct hp_watched_function *function, const char *name,
                         uint32_t kind, double unit, enum hp_figure unit_figure, double now)
{
    struct hp_history *history = &page->console->watched.history;
    double values[HP_HISTORY_COLUMNS] = {0}, highest = 0;
    char figure[HP_FIGURE_BYTES];
    const unsigned width = page->columns > 90 ? 60 : page->columns > 40 ? page->columns - 30 : 10;
    hp_history_choose(history, UINT64_C(60000000000), page->console->watched.to_ns, width);
    if (page->row >= page->bottom ||
        !hp_history_add(history, kind, function->site->session, function->site->id, unit, values))
        return;
    for (unsigned at = 0; at < width; at++)
        highest = values[at] > highest ? values[at] : highest;
    hp_screen_put(page->screen, page->row, page->column, HP_INK_PLAIN, name);
    hp_draw_spark(page->screen, page->row, page->column + 11, width, values, highest, HP_INK_PLAIN);
    hp_screen_put_right(page->screen, page->row, page->column + 11 + width + 9, HP_INK_PLAIN,
                        hp_figure(figure, unit_figure, now));
    page->row++;
}

static void draw_section_row(struct hp_details *page, const struct hotpath_section *section,
                             const struct hp_row *row)
{
    char bytes[500], figure[HP_FIGURE_BYTES];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_repeat(&text, ' ', (size_t)2 * row->depth);
    for (size_t at = 0; at < section->column_count; at++) {
        const struct hp_cell *cell = &row->cells[at];
        const struct hp_column *column = &section->columns[at];
        if (!cell->has_value || !column->shown.visible)
            continue;
        if (hp_unit_is_text(column->shown.unit)) {
            hp_text_string(&text, cell->text != NULL ? cell->text : "");
        } else {
            hp_text_format(&text, "%s %s", column->shown.title,
                           hp_figure(figure,
                                     column->shown.unit == HOTPATH_UNIT_NS        ? HP_FIGURE_NS
                                     : column->shown.unit == HOTPATH_UNIT_BYTES   ? HP_FIGURE_BYTES_
                                     : column->shown.unit == HOTPATH_UNIT_PERCENT ? HP_FIGURE_PERCENT
                                                                                  : HP_FIGURE_COUNT,
                                     hp_cell_number(cell, column->shown.unit)));
        }
        hp_text_string(&text, "  ");
    }
    hp_details_put_fitted(page, hp_text_end(&text));
}

static void draw_section_rows(struct hp_details *page, const char *name)
{
    const struct hotpath_section *section = hp_watched_section(page->console->watched.whole, name);
    if (section == NULL || section->row_count == 0) {
        hp_details_put(page,
                       section != NULL && section->if_empty[0] != '\0' ? section->if_empty : "no calls were kept");
        return;
    }
    for (size_t row = 0; row < section->row_count && page->row < page->bottom; row++)
        draw_section_row(page, section, &section->rows[row]);
}

/* The latest messages, items, tasks or values of that name, if they are logged. */
static void draw_log(struct hp_details *page, const char *name)
{
    const struct hotpath_section *section = hp_watched_section(page->console->watched.whole, "recent");
    const size_t names = section != NULL ? hp_section_name_column(section) : 0;
    bool is_begun = false;
    for (size_t row = 0; section != NULL && row < section->row_count && page->row < page->bottom; row++) {
        const char *its = section->rows[row].cells[names].text;
        if (its == NULL || strcmp(its, name) != 0)
            continue;
        if (!is_begun) {
            page->row++;
            hp_details_put(page, "Latest, newest first");
        }
        is_begun = true;
        draw_section_row(page, section, &section->rows[row]);
    }
}

static void draw_function(struct hp_details *page, const struct hp_watched_function *function)
{
    const struct hp_console *console = page->console;
    const double ns_per_tick = console->watched.reader.model.run.ns_per_tick;
    if (function->why != NULL)
        hp_details_put(page, function->why);
    if (console->inspected == HP_INSPECTED_SLOWEST) {
        hp_details_put(page, function->is_task ? "The slowest poll, as a tree" : "The slowest call, as a tree");
        draw_section_rows(page, "slowest");
        return;
    }
    if (console->inspected == HP_INSPECTED_CALLS) {
        hp_details_put(page, function->is_task ? "Recent polls" : "Recent calls");
        draw_section_rows(page, "calls");
        return;
    }
    hp_details_draw_parts(page, function);
    draw_durations(page, function, page->bottom - page->row > 18);
    if (page->bottom - page->row > 8)
        page->row++;
    draw_neighbours(page, function);
    draw_history(page, function, function->is_task ? "polls/s" : "calls/s", HP_AXIS_SITE_CALLS, 1, HP_FIGURE_RATE,
                 function->is_task ? function->polls_per_second : function->calls_per_second);
    draw_history(page, function, "own", HP_AXIS_SITE_SELF, ns_per_tick * 1e-9, HP_FIGURE_THREADS, function->own);
    if (function->has_bytes && function->bytes_per_second > 0)
        draw_history(page, function, "alloc/s", HP_AXIS_SITE_BYTES, 1, HP_FIGURE_BYTES_,
                     function->bytes_per_second);
    hp_details_draw_source(page, function->file, function->line, NULL);
}

#define ABOUT_AT 40u /* column of what a column means */

static const char *value_of(char *figure, const struct hp_table_column *column, const struct hp_table_cell *cell)
{
    if (!cell->has_value)
        return "–";
    return column->kind == HP_CELL_FIGURE ? hp_figure(figure, column->figure, cell->number)
           : cell->text != NULL           ? cell->text
                                          : "";
}

/* A long value, or what the column means, is continued on the next lines. */
static void draw_value(struct hp_details *page, const struct hp_table_column *column,
                       const struct hp_table_cell *cell)
{
    char bytes[600], figure[HP_FIGURE_BYTES];
    unsigned lines = 0;
    snprintf(bytes, sizeof bytes, "%-14s %s", column->title, value_of(figure, column, cell));
    if (column->about != NULL && page->row < page->bottom && page->columns > ABOUT_AT + 20 &&
        hp_screen_width(bytes) < ABOUT_AT - 1)
        lines = hp_screen_put_wrapped(page->screen, page->row, page->column + ABOUT_AT, page->columns - ABOUT_AT,
                                      page->bottom - page->row, column->about);
    const unsigned row = page->row;
    hp_details_put(page, bytes);
    page->row = page->row > row + lines ? page->row : row + lines;
}

/* What a thread did over time, one line for each activity. */
static void draw_lane(struct hp_details *page, const double *values)
{
    const unsigned width = page->columns > HP_TABLE_LANE + 24 ? HP_TABLE_LANE : page->columns / 2;
    char figure[HP_FIGURE_BYTES];
    hp_details_put(page, "Last 60 s");
    for (unsigned part = 0; part < HP_ALL_PARTS && page->row < page->bottom; part++) {
        const double *steps = &values[part * HP_TABLE_LANE];
        double sum = 0;
        for (unsigned step = 0; step < HP_TABLE_LANE; step++)
            sum += steps[step];
        if (sum <= 0)
            continue;
        hp_screen_glyph(page->screen, page->row, page->column, hp_part_ink((enum hp_activity)part),
                        hp_part_glyph((enum hp_activity)part));
        hp_screen_put(page->screen, page->row, page->column + 2, HP_INK_PLAIN,
                      hp_part_name((enum hp_activity)part));
        hp_draw_spark(page->screen, page->row, page->column + 13, width, &steps[HP_TABLE_LANE - width], 1,
                      hp_part_ink((enum hp_activity)part));
        hp_screen_put_right(page->screen, page->row, page->column + 13 + width + 8, HP_INK_PLAIN,
                            hp_figure(figure, HP_FIGURE_PERCENT, 100 * steps[HP_TABLE_LANE - 1]));
        page->row++;
    }
    page->row++;
}

/* For rows that are not functions: every column. */
static void draw_row(struct hp_details *page, const struct hp_table_row *row)
{
    const struct hp_table *table = &page->console->table;
    for (size_t at = 0; at < table->column_count; at++)
        if (table->columns[at].kind == HP_CELL_LANE && row->cells[at].values != NULL)
            draw_lane(page, row->cells[at].values);
    for (size_t at = 0; at < table->column_count; at++) {
        const enum hp_column_kind kind = table->columns[at].kind;
        if (kind == HP_CELL_NAME || kind == HP_CELL_TEXT || kind == HP_CELL_FIGURE)
            draw_value(page, &table->columns[at], &row->cells[at]);
    }
    if (page->console->tab == HP_TAB_FLOW)
        draw_log(page, hp_table_row_name(row));
}

void hp_console_describe(const struct hp_watched_function *function, char *text, size_t size)
{
    const char *library = function->found != NULL ? function->found->library : "";
    struct hp_text to;
    hp_text_init(&to, text, size);
    hp_text_string(&to, function->name);
    if (library[0] != '\0') {
        hp_text_format(&to, "  in %s", library);
    }
    if (function->file[0] != '\0') {
        hp_text_format(&to, "  %s", hp_text_base_name(function->file));
    }
    if (function->line > 0) {
        hp_text_format(&to, ":%u", (unsigned)function->line);
    }
    hp_text_end(&to);
}

#define MOST_LINES 200u

/* The page about a row may be longer than the screen: then it scrolls. */
static void draw_page_of_row(struct hp_details *page, const struct hp_table_row *row, const struct hp_area *box)
{
    struct hp_console *console = page->console;
    struct hp_screen screen = {.is_ascii = page->screen->is_ascii};
    const struct hp_area area = {page->row, page->bottom - page->row, page->column, page->columns};
    char about[80] = "Esc closes";
    if (!hp_screen_resize(&screen, page->columns, MOST_LINES))
        return;
    struct hp_details all = {.console = console, .screen = &screen, .bottom = MOST_LINES, .columns = page->columns};
    draw_row(&all, row);
    const unsigned most = all.row > area.rows ? all.row - area.rows : 0;
    console->page_top = row->id != console->page_of ? 0 : console->page_top < most ? console->page_top : most;
    console->page_of = row->id;
    console->page_has_more = most > 0;
    if (most > 0)
        snprintf(about, sizeof about, "%u to %u of %u, PgDn scrolls, Esc closes", console->page_top + 1,
                 console->page_top + area.rows, all.row);
    hp_draw_box(page->screen, box, hp_table_row_name(row), console->overlay == HP_OVERLAY_INSPECT ? about : "");
    hp_screen_copy(&screen, console->page_top, page->screen, &area);
    hp_screen_free(&screen);
}

void hp_draw_inspect(struct hp_console *console, struct hp_screen *screen, const struct hp_area *area)
{
    const struct hp_watched_function *function = hp_console_function(console);
    const struct hp_table_row *row =
        console->view->line < console->shown.count ? console->shown.all[console->view->line] : NULL;
    char title[400];
    struct hp_details page = {.console = console,
                              .screen = screen,
                              .row = area->row + 1,
                              .bottom = area->row + area->rows - 1,
                              .column = area->column + 2,
                              .columns = area->columns > 4 ? area->columns - 4 : 1};
    if (function == NULL && row == NULL)
        return;
    console->page_has_more = false;
    if (function == NULL) {
        draw_page_of_row(&page, row, area);
        return;
    }
    hp_console_describe(function, title, sizeof title);
    hp_draw_box(screen, area, title, console->overlay == HP_OVERLAY_INSPECT ? "Esc closes" : "");
    if (function->found != NULL)
        hp_details_of_sampled(&page, function);
    else
        draw_function(&page, function);
}

#define COLUMN_NAMES 20u /* width of a mark and a title */

/* What the columns mean may take several lines; the chosen one is on the screen. */
void hp_draw_columns(const struct hp_console *console, struct hp_screen *screen)
{
    const struct hp_table *table = &console->table;
    const unsigned columns = screen->columns > 124 ? 120 : screen->columns - 4, width = columns - COLUMN_NAMES - 4;
    unsigned lines[HP_TABLE_COLUMNS], all = 0, most = screen->rows - 6;
    for (size_t at = 0; at < table->column_count; at++) {
        const char *about = table->columns[at].about;
        lines[at] = about != NULL ? hp_screen_lines(about, width) : 1;
        all += lines[at];
    }
    const struct hp_area area = {3, (all < most ? all : most) + 2, (screen->columns - columns) / 2, columns};
    hp_draw_box(screen, &area, "Columns", "space selects, c closes");
    size_t top = 0;
    for (unsigned needed = 0, at = 0; at <= console->chosen_column && at < table->column_count; at++)
        for (needed += lines[at]; needed > most && top < at; top++)
            needed -= lines[top];
    for (unsigned at = (unsigned)top, row = area.row + 1, end = area.row + area.rows - 1;
         at < table->column_count && row < end; row += lines[at], at++) {
        const bool is_hidden = console->view->hidden >> at & 1;
        char bytes[80];
        snprintf(bytes, sizeof bytes, "[%c] %.15s",
                 at == 0     ? '*'
                 : is_hidden ? ' '
                             : 'x',
                 table->columns[at].title);
        hp_screen_put(screen, row, area.column + 2, HP_INK_PLAIN, bytes);
        if (table->columns[at].about != NULL)
            hp_screen_put_wrapped(screen, row, area.column + 2 + COLUMN_NAMES, width, end - row,
                                  table->columns[at].about);
        for (unsigned line = row; at == console->chosen_column && line < row + lines[at] && line < end; line++)
            hp_screen_look(screen, line, area.column + 1, area.column + area.columns - 1, HP_LOOK_REVERSE);
    }
}
