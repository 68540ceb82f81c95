/* Draws a table: the widths of its columns, and which ones are dropped. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "screen_table.h"
#include "text.h"
#include "utf8.h"

#define MARGIN 3u     /* before names, for the cursor */
#define NOT_KNOWN "–" /* unknown, as opposed to 0 */

/* ---------------------------------------------------------------------------------------------- layout */

struct layout {
    unsigned at[HP_TABLE_COLUMNS]; /* column of the screen */
    unsigned width[HP_TABLE_COLUMNS];
    bool is_shown[HP_TABLE_COLUMNS];
    bool has_hidden;
};

static unsigned larger(unsigned a, unsigned b) { return a > b ? a : b; }
static unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

/* Width of the widest visible text. */
static unsigned text_width(const struct hp_table *table, const struct hp_shown_rows *rows, size_t column)
{
    unsigned width = 0;
    for (size_t at = 0; at < rows->count; at++) {
        const struct hp_table_row *row = rows->all[at];
        const char *text = row->cells[column].text;
        if (text != NULL)
            width = larger(width, hp_screen_width(text) + (column == 0 && table->is_tree ? 2 * row->depth + 2 : 0));
    }
    return width;
}

/* With its marks. */
static const char *figure_of(char *bytes, const struct hp_table_column *about, const struct hp_table_cell *cell)
{
    char figure[HP_FIGURE_BYTES];
    if (!cell->has_value)
        return NOT_KNOWN;
    if (cell->marks == NULL)
        return hp_figure(bytes, about->figure, cell->number);
    snprintf(bytes, HP_FIGURE_BYTES, "%s%s", cell->marks, hp_figure(figure, about->figure, cell->number));
    return bytes;
}

static unsigned figure_width(const struct hp_table *table, const struct hp_shown_rows *rows, size_t column)
{
    char bytes[HP_FIGURE_BYTES];
    const struct hp_table_column *about = &table->columns[column];
    unsigned width = about->width;
    for (size_t at = 0; at < rows->count; at++) {
        const struct hp_table_cell *cell = &rows->all[at]->cells[column];
        if (cell->has_value)
            width = larger(width, hp_screen_width(figure_of(bytes, about, cell)));
    }
    return width;
}

static unsigned width_of(const struct hp_table *table, const struct hp_shown_rows *rows, size_t column)
{
    const struct hp_table_column *about = &table->columns[column];
    const unsigned title = hp_screen_width(about->title);
    switch (about->kind) {
    case HP_CELL_NAME:
        return larger(about->width, title);
    case HP_CELL_TEXT:
        return larger(smaller(larger(text_width(table, rows, column), 1), about->width), title);
    case HP_CELL_FIGURE:
        return larger(figure_width(table, rows, column), title);
    default:
        return larger(about->width, title);
    }
}

static unsigned total_of(const struct hp_table *table, const struct layout *layout)
{
    unsigned total = MARGIN + 1;
    for (size_t at = 0; at < table->column_count; at++)
        if (layout->is_shown[at])
            total += layout->width[at] + (at > 0 ? table->columns[at].gap : 0);
    return total;
}

/* The column to drop next; the number of columns: none can be dropped. */
static size_t next_to_leave(const struct hp_table *table, const struct layout *layout)
{
    size_t next = table->column_count;
    for (size_t at = 0; at < table->column_count; at++)
        if (layout->is_shown[at] && table->columns[at].rank > 0 &&
            (next == table->column_count || table->columns[at].rank >= table->columns[next].rank))
            next = at;
    return next;
}

/* Bars and histories are shortened before any column is dropped. */
static void shorten_fills(const struct hp_table *table, struct layout *layout, unsigned columns)
{
    for (size_t at = 0; at < table->column_count; at++) {
        const unsigned least = larger(12, hp_screen_width(table->columns[at].title));
        const enum hp_column_kind kind = table->columns[at].kind;
        while (layout->is_shown[at] && (kind == HP_CELL_BAR || kind == HP_CELL_SPARK) &&
               layout->width[at] > least && total_of(table, layout) > columns)
            layout->width[at]--;
    }
}

/* Then texts, down to their titles, before names are. */
static void shorten_texts(const struct hp_table *table, struct layout *layout, unsigned columns)
{
    for (size_t at = table->column_count; at-- > 1;) {
        const unsigned least = larger(16, hp_screen_width(table->columns[at].title));
        while (layout->is_shown[at] && table->columns[at].kind == HP_CELL_TEXT && table->columns[at].rank > 0 &&
               layout->width[at] > least && total_of(table, layout) > columns)
            layout->width[at]--;
    }
}

/* Names get the rest, but no more than they need; then bars and histories get it. */
static void spread(const struct hp_table *table, const struct hp_shown_rows *rows, struct layout *layout,
                   unsigned columns)
{
    const unsigned wanted = text_width(table, rows, 0);
    unsigned left = columns > total_of(table, layout) ? columns - total_of(table, layout) : 0;
    while (left > 0 && layout->width[0] < wanted && layout->width[0] < 60)
        layout->width[0]++, left--;
    for (size_t at = 1; at < table->column_count; at++) {
        if (!layout->is_shown[at] || table->columns[at].kind != HP_CELL_TEXT)
            continue;
        const unsigned most = smaller(text_width(table, rows, at), 3 * table->columns[at].width);
        while (left > 0 && layout->width[at] < most)
            layout->width[at]++, left--;
    }
    for (size_t at = 1; at < table->column_count; at++)
        while (left > 0 && layout->is_shown[at] && table->columns[at].kind == HP_CELL_BAR &&
               layout->width[at] < 2 * table->columns[at].width)
            layout->width[at]++, left--;
    for (size_t at = 1; at < table->column_count; at++)
        while (left > 0 && layout->is_shown[at] && table->columns[at].kind == HP_CELL_LANE &&
               layout->width[at] < HP_TABLE_LANE)
            layout->width[at]++, left--;
}

static void lay_out(const struct hp_table *table, const struct hp_table_view *view,
                    const struct hp_shown_rows *rows, const struct hp_area *area, struct layout *layout)
{
    *layout = (struct layout){0};
    for (size_t at = 0; at < table->column_count; at++) {
        layout->is_shown[at] = at == 0 || (area->columns >= table->columns[at].from && !(view->hidden >> at & 1) &&
                                           (at > view->shift || table->columns[at].rank == 0));
        layout->width[at] = width_of(table, rows, at);
    }
    shorten_fills(table, layout, area->columns);
    shorten_texts(table, layout, area->columns);
    while (total_of(table, layout) > area->columns) {
        const size_t leaving = next_to_leave(table, layout);
        if (leaving == table->column_count)
            break;
        layout->is_shown[leaving] = false;
        layout->has_hidden = true;
    }
    while (total_of(table, layout) > area->columns && layout->width[0] > 8)
        layout->width[0]--;
    spread(table, rows, layout, area->columns);
    unsigned place = area->column + MARGIN;
    for (size_t at = 0; at < table->column_count; at++) {
        if (!layout->is_shown[at])
            continue;
        place += at > 0 ? table->columns[at].gap : 0;
        layout->at[at] = place;
        place += layout->width[at];
    }
}

/* ---------------------------------------------------------------------------------------------- drawing */

enum hp_ink hp_part_ink(enum hp_activity part)
{
    static const enum hp_ink inks[HP_PARTS + 1] = {HP_INK_USER, HP_INK_KERNEL,  HP_INK_QUEUE, HP_INK_DISK,
                                                   HP_INK_LOCK, HP_INK_NETWORK, HP_INK_SLEEP, HP_INK_IDLE};
    return inks[part];
}

uint32_t hp_part_glyph(enum hp_activity part)
{
    static const uint32_t glyphs[HP_PARTS + 1] = {0x2588, 0x2588, 0x2593, 0x2592, 0x2592, 0x2592, 0x2591, 0xb7};
    return glyphs[part];
}

void hp_draw_bar(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *parts,
                 double longest)
{
    double sum = 0, done = 0;
    for (unsigned part = 0; part < HP_PARTS; part++)
        sum += parts[part];
    if (sum <= 0 || longest <= 0)
        return;
    const double full = sum / longest < 1 ? sum / longest * width : width;
    const unsigned length = (unsigned)(full + 0.5);
    if (length == 0) {
        hp_screen_glyph(screen, row, column, HP_INK_PLAIN, 0x258f);
        return;
    }
    /* Each cell shows the part that contains its middle. */
    for (unsigned at = 0, part = 0; at < length; at++) {
        const double middle = ((double)at + 0.5) / (double)length * sum;
        while (part + 1 < HP_PARTS && done + parts[part] < middle)
            done += parts[part++];
        hp_screen_glyph(screen, row, column + at, hp_part_ink((enum hp_activity)part),
                        hp_part_glyph((enum hp_activity)part));
    }
}

void hp_draw_spark(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *values,
                   double highest, enum hp_ink ink)
{
    for (unsigned at = 0; at < width; at++) {
        const double part = highest > 0 && values[at] > 0 ? values[at] / highest : 0;
        const unsigned eighth = (unsigned)(part * 7.999);
        hp_screen_glyph(screen, row, column + at, ink, 0x2581 + (eighth < 7 ? eighth : 7));
    }
}

unsigned hp_main_part(const double *sums)
{
    double all = 0, most = 0;
    unsigned main = HP_ALL_PARTS;
    for (unsigned part = 0; part < HP_ALL_PARTS; part++)
        all += sums[part];
    for (unsigned part = 0; part < HP_PARTS; part++)
        if (sums[part] > most) {
            most = sums[part];
            main = part;
        }
    return all > 0 && 2 * sums[HP_PART_IDLE] > all ? HP_PART_IDLE : main;
}

void hp_draw_lane(struct hp_screen *screen, unsigned row, unsigned column, unsigned width, const double *values)
{
    for (unsigned at = 0; at < width; at++) {
        double sums[HP_ALL_PARTS] = {0};
        const unsigned from = at * HP_TABLE_LANE / width, to = (at + 1) * HP_TABLE_LANE / width;
        for (unsigned part = 0; part < HP_ALL_PARTS; part++)
            for (unsigned step = from; step < to || step == from; step++)
                sums[part] += values[part * HP_TABLE_LANE + step];
        const unsigned main = hp_main_part(sums);
        if (main < HP_ALL_PARTS)
            hp_screen_glyph(screen, row, column + at, hp_part_ink((enum hp_activity)main),
                            hp_part_glyph((enum hp_activity)main));
    }
}

static void draw_headings(struct hp_screen *screen, const struct hp_table *table, const struct hp_table_view *view,
                          const struct layout *layout, const struct hp_area *area)
{
    bool is_ascending = false;
    const size_t sorted = hp_table_sort_column(table, view, &is_ascending);
    for (size_t at = 0; at < table->column_count; at++) {
        char title[64];
        const struct hp_table_column *about = &table->columns[at];
        if (!layout->is_shown[at])
            continue;
        const bool is_tight = hp_screen_width(about->title) + 2 > layout->width[at];
        snprintf(title, sizeof title, "%s%s%s", about->title, at == sorted && !is_tight ? " " : "",
                 at != sorted   ? ""
                 : is_ascending ? "▲"
                                : "▼");
        if (about->kind == HP_CELL_FIGURE)
            hp_screen_put_right(screen, area->row, layout->at[at] + layout->width[at], HP_INK_PLAIN, title);
        else
            hp_screen_put(screen, area->row, layout->at[at], HP_INK_PLAIN, title);
    }
    if (layout->has_hidden)
        hp_screen_put(screen, area->row, area->column + area->columns - 1, HP_INK_PLAIN, "›");
    hp_screen_look(screen, area->row, area->column, area->column + area->columns, HP_LOOK_BOLD);
}

static void draw_name(struct hp_screen *screen, const struct hp_table *table, const struct hp_table_row *row,
                      unsigned line, unsigned column, unsigned width)
{
    const unsigned indent = table->is_tree ? smaller(2 * row->depth, width > 14 ? width - 14 : 0) : 0;
    column += indent;
    width -= indent;
    if (table->is_tree) {
        hp_screen_put(screen, line, column, HP_INK_PLAIN, !row->has_children ? " " : row->is_folded ? "▸" : "▾");
        column += 2;
        width -= smaller(2, width);
    }
    hp_screen_put_fitted(screen, line, column, width, row->is_last ? HP_INK_DIM : HP_INK_PLAIN,
                         hp_table_row_name(row));
}

static double longest_bar(const struct hp_table *table, const struct hp_shown_rows *rows, size_t column)
{
    double longest = 0;
    (void)table;
    for (size_t at = 0; at < rows->count; at++) {
        const struct hp_table_cell *cell = &rows->all[at]->cells[column];
        double sum = 0;
        for (unsigned part = 0; cell->values != NULL && part < HP_PARTS; part++)
            sum += cell->values[part];
        if (!rows->all[at]->is_last)
            longest = sum > longest ? sum : longest;
    }
    return longest;
}

static double highest_of(const double *values, unsigned count)
{
    double highest = 0;
    for (unsigned at = 0; at < count; at++)
        highest = values[at] > highest ? values[at] : highest;
    return highest;
}

/* A chart that is too long for its column: of the steps that share a place, the highest, which is the last sign. */
static void draw_chart(struct hp_screen *screen, unsigned line, unsigned column, unsigned width, const char *text)
{
    const char *at = text, *end = text + strlen(text);
    const unsigned steps = hp_screen_width(text), columns = smaller(width, steps);
    unsigned step = 0;
    for (unsigned place = 0; place < columns; place++) {
        uint32_t highest = ' ';
        for (; step < (place + 1) * steps / columns && at < end; step++) {
            const uint32_t sign = hp_utf8_next(&at, end);
            highest = sign != HP_UTF8_INVALID ? larger(highest, sign) : highest;
        }
        hp_screen_glyph(screen, line, column + place, HP_INK_PLAIN, highest);
    }
}

static void draw_cell(struct hp_screen *screen, const struct hp_table_column *about,
                      const struct hp_table_cell *cell, unsigned line, unsigned column, unsigned width,
                      double longest)
{
    char bytes[HP_FIGURE_BYTES];
    if (about->kind == HP_CELL_BAR) {
        if (cell->values != NULL)
            hp_draw_bar(screen, line, column, width, cell->values, longest);
        return;
    }
    if (about->kind == HP_CELL_SPARK) {
        if (cell->values != NULL)
            hp_draw_spark(screen, line, column, smaller(width, about->width), cell->values,
                          highest_of(cell->values, smaller(width, about->width)), HP_INK_PLAIN);
        return;
    }
    if (about->kind == HP_CELL_LANE) {
        if (cell->values != NULL)
            hp_draw_lane(screen, line, column, width, cell->values);
        return;
    }
    if (about->is_chart && cell->text != NULL) {
        draw_chart(screen, line, column, width, cell->text);
        return;
    }
    if (about->kind == HP_CELL_TEXT) {
        hp_screen_put_fitted(screen, line, column, width, HP_INK_PLAIN,
                             cell->has_value && cell->text != NULL ? cell->text : NOT_KNOWN);
        return;
    }
    hp_screen_put_right(screen, line, column + width, HP_INK_PLAIN, figure_of(bytes, about, cell));
    if (cell->is_over) {
        hp_screen_put(screen, line, column + width, HP_INK_PLAIN, "!");
        hp_screen_look(screen, line, column + width - 7, column + width + 1, HP_LOOK_BOLD);
    }
}

/* Scrolls the cursor into view. */
static void scroll(struct hp_table_view *view, const struct hp_shown_rows *rows, unsigned lines)
{
    if (lines == 0 || view->line < view->top)
        view->top = view->line;
    else if (view->line >= view->top + lines)
        view->top = view->line - lines + 1;
    if (rows->count <= lines)
        view->top = 0;
    else if (view->top + lines > rows->count)
        view->top = rows->count - lines;
}

static void name_hidden(const struct hp_table *table, const struct layout *layout, const struct hp_area *area,
                        struct hp_hidden_columns *ret_hidden)
{
    struct hp_text names;
    hp_text_init(&names, ret_hidden->names, sizeof ret_hidden->names);
    for (size_t at = 1; at < table->column_count; at++)
        if (!layout->is_shown[at] && area->columns >= table->columns[at].from) {
            hp_text_format(&names, "%s%s", names.length > 0 ? ", " : "", table->columns[at].title);
        }
    hp_text_end(&names);
}

void hp_table_draw(struct hp_screen *screen, const struct hp_table *table, struct hp_table_view *view,
                   const struct hp_shown_rows *rows, const struct hp_area *area, bool is_marked,
                   struct hp_hidden_columns *ret_hidden)
{
    struct layout layout;
    double longest[HP_TABLE_COLUMNS] = {0};
    const unsigned lines = area->rows > 0 ? area->rows - 1 : 0;
    lay_out(table, view, rows, area, &layout);
    scroll(view, rows, lines);
    draw_headings(screen, table, view, &layout, area);
    for (size_t at = 1; at < table->column_count; at++)
        if (table->columns[at].kind == HP_CELL_BAR)
            longest[at] = longest_bar(table, rows, at);
    for (unsigned line = 0; line < lines && view->top + line < rows->count; line++) {
        const struct hp_table_row *row = rows->all[view->top + line];
        const unsigned at_row = area->row + 1 + line;
        draw_name(screen, table, row, at_row, layout.at[0], layout.width[0]);
        for (size_t at = 1; at < table->column_count; at++)
            if (layout.is_shown[at])
                draw_cell(screen, &table->columns[at], &row->cells[at], at_row, layout.at[at], layout.width[at],
                          longest[at]);
        if (is_marked && view->top + line == view->line) {
            hp_screen_put(screen, at_row, area->column + 1, HP_INK_PLAIN, "›");
            hp_screen_mark(screen, at_row, area->column, area->column + area->columns);
        }
    }
    if (ret_hidden != NULL)
        name_hidden(table, &layout, area, ret_hidden);
}

static bool is_same(const struct layout *a, const struct layout *b)
{
    return memcmp(a->is_shown, b->is_shown, sizeof a->is_shown) == 0;
}

bool hp_table_scroll(const struct hp_table *table, struct hp_table_view *view, const struct hp_shown_rows *rows,
                     const struct hp_area *area, bool is_left)
{
    const unsigned before = view->shift;
    struct layout was, layout;
    lay_out(table, view, rows, area, &was);
    layout = was;
    while ((is_left ? view->shift > 0 : was.has_hidden && view->shift + 2 < table->column_count) &&
           is_same(&was, &layout)) {
        view->shift += is_left ? -1u : 1u;
        lay_out(table, view, rows, area, &layout);
    }
    if (!is_same(&was, &layout))
        return true;
    view->shift = is_left ? 0 : before;
    return false;
}

const char *hp_table_heading_at(const struct hp_table *table, const struct hp_table_view *view,
                                const struct hp_shown_rows *rows, const struct hp_area *area, unsigned column)
{
    struct layout layout;
    lay_out(table, view, rows, area, &layout);
    for (size_t at = 0; at < table->column_count; at++)
        if (layout.is_shown[at] && column + table->columns[at].gap >= layout.at[at] &&
            column < layout.at[at] + layout.width[at])
            return table->columns[at].key;
    return NULL;
}
