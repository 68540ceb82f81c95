/*
 * Tables.
 *
 * A table is laid out in three steps. Every visible cell becomes safe text with a known width in columns. The
 * columns get their widths. If the table is wider than the terminal, elastic columns shrink first and then the name
 * column, each to a width that is still readable; then columns are dropped from the right, then other text is
 * shortened, and finally the name column gets what is left. SPDX-License-Identifier: MIT
 */
#include "table.h"

#include <string.h>

#include "arena.h"
#include "units.h"
#include "utf8.h"

/* ------------------------------------------------------------------------------------------------------- lines */

void hp_prose_put_style(const struct hp_table_style *style, struct hp_text *out, const char *code)
{
    if (style->color)
        hp_text_string(out, code);
}

/* The colour of a verdict; NULL: the word is none. */
const char *hp_prose_verdict_color(const char *word, size_t length)
{
    static const struct {
        const char *word, *color;
    } colors[] = {{"cpu-bound", "\033[31m"},  {"allocation-heavy", "\033[35m"},
                  {"waiting", "\033[33m"},    {"starved", "\033[33m"},
                  {"mixed", "\033[36m"},      {"idle", HP_STYLE_DIM},
                  {"too-short", HP_STYLE_DIM}};
    for (size_t at = 0; at < sizeof colors / sizeof colors[0]; at++)
        if (strlen(colors[at].word) == length && memcmp(colors[at].word, word, length) == 0)
            return colors[at].color;
    return NULL;
}

static void put_word(const struct hp_table_style *style, struct hp_text *out, const char *word, size_t length,
                     bool is_verdict)
{
    const char *color = is_verdict ? hp_prose_verdict_color(word, length) : NULL;
    if (color != NULL)
        hp_prose_put_style(style, out, color);
    hp_text_bytes(out, word, length);
    if (color != NULL)
        hp_prose_put_style(style, out, HP_STYLE_PLAIN);
}

static void begin_line(const struct hp_table_style *style, struct hp_text *out, const struct hp_prose *prose)
{
    if (prose->code != NULL)
        hp_prose_put_style(style, out, prose->code);
}

static void end_line(const struct hp_table_style *style, struct hp_text *out, const struct hp_prose *prose)
{
    if (prose->code != NULL)
        hp_prose_put_style(style, out, HP_STYLE_PLAIN);
    hp_text_char(out, '\n');
}

/* Writes text in lines of at most the terminal's width, broken at blanks. A longer word stays whole. */
void hp_prose_put(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length,
                  const struct hp_prose *prose)
{
    const char *at = bytes, *const end = bytes + length;
    size_t used = prose->indent;
    begin_line(style, out, prose);
    while (at < end) {
        const char *word_end = memchr(at, ' ', (size_t)(end - at));
        const size_t word = (size_t)((word_end != NULL ? word_end : end) - at);
        const size_t columns = hp_utf8_columns(at, word);
        if (used > 0 && style->width > 0 && used + 1 + columns > style->width) {
            end_line(style, out, prose);
            begin_line(style, out, prose);
            used = 0;
        } else if (used > 0) {
            hp_text_char(out, ' ');
            used++;
        }
        put_word(style, out, at, word, prose->has_verdict && word_end == NULL);
        used += columns;
        at += word + (word_end != NULL);
    }
    end_line(style, out, prose);
}

void hp_prose_put_plain(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length)
{
    hp_prose_put(style, out, bytes, length, &(struct hp_prose){0});
}

void hp_prose_put_note(const struct hp_table_style *style, struct hp_text *out, const char *line)
{
    hp_prose_put(style, out, line, strlen(line), &(struct hp_prose){.code = HP_STYLE_DIM});
}

void hp_prose_put_warning(const struct hp_table_style *style, struct hp_text *out, const char *line)
{
    const char label[] = "warning:";
    hp_text_string(out, label);
    hp_prose_put(style, out, line, strlen(line), &(struct hp_prose){.indent = sizeof label - 1});
}

/* ------------------------------------------------------------------------------------------------------ tables */

#define NAME_COMFORT 16u    /* columns a name needs to be told from others; below that other columns go */
#define ELASTIC_COMFORT 16u /* the same for text of any length, a note say */
#define LEAST_TEXT 4u       /* what is left of either where there is no room at all */
#define INDENT_MAX 64u      /* levels of a tree that are indented */
#define CELL_BYTES 2048u

struct shown {
    const char *bytes;
    size_t length;
    size_t columns;
};

struct table {
    const hotpath_results *results;
    const struct hotpath_section *section;
    struct hp_text *out;
    const struct hp_table_style *style;
    size_t order[HP_MAX_COLUMNS];    /* indexes of the visible columns */
    size_t naturals[HP_MAX_COLUMNS]; /* their widths without a limit */
    size_t widths[HP_MAX_COLUMNS];
    size_t count;
    struct shown *cells; /* row by row */
    char *scratch;       /* CELL_BYTES */
};

/* --------------------------------------------------------------------------------------------- cells */

/* Most bars of a histogram: neighbours are added up. */
#define PICTURE_COLUMNS 24u

static void put_picture(struct hp_text *text, const double *amounts, size_t count)
{
    static const char *const heights[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
    double most = 0;
    for (size_t at = 0; at < count; at++)
        most = amounts[at] > most ? amounts[at] : most;
    for (size_t at = 0; at < count; at++) {
        const double part = most > 0 && amounts[at] > 0 ? amounts[at] / most : 0;
        hp_text_string(text, heights[part > 0 ? 1 + (size_t)(part * 7) : 0]);
    }
}

static void put_bars(struct hp_text *text, const struct hotpath_histogram *histogram)
{
    double amounts[PICTURE_COLUMNS] = {0};
    const size_t count = histogram->bars < PICTURE_COLUMNS ? histogram->bars : PICTURE_COLUMNS;
    for (size_t at = 0; at < histogram->bars; at++)
        amounts[at * count / histogram->bars] += (double)histogram->amounts[at];
    put_picture(text, amounts, count);
}

/* "sleep 1.20 s, lock 3.00 ms": they are sorted, the largest first. */
static void put_labelled(struct hp_text *text, const struct hotpath_histogram *histogram)
{
    for (size_t at = 0; at < histogram->bars; at++) {
        hp_text_format(text, "%s%s ", at > 0 ? ", " : "", histogram->labels[at]);
        if (histogram->amount_unit == HOTPATH_UNIT_NS)
            hp_units_ns(text, (double)histogram->amounts[at]);
        else
            hp_text_u64(text, histogram->amounts[at]);
    }
    if (histogram->bars == 0)
        hp_text_char(text, '-');
}

/* The latest points, scaled from the lowest up. */
static void put_points(struct hp_text *text, const struct hotpath_series *series)
{
    double values[PICTURE_COLUMNS];
    const size_t count = series->points < PICTURE_COLUMNS ? series->points : PICTURE_COLUMNS;
    const double *latest = series->values + (series->points - count);
    double least = count > 0 ? latest[0] : 0;
    for (size_t at = 0; at < count; at++)
        least = latest[at] < least ? latest[at] : least;
    for (size_t at = 0; at < count; at++)
        values[at] = latest[at] - (least < 0 ? least : 0);
    put_picture(text, values, count);
}

static void put_value(struct hp_text *text, const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value) {
        hp_text_char(text, '-');
        return;
    }
    switch ((enum hotpath_unit)column->shown.unit) {
    case HOTPATH_UNIT_TEXT:
    case HOTPATH_UNIT_STATE:
        hp_utf8_put_safe(text, cell->text, strlen(cell->text));
        break;
    case HOTPATH_UNIT_COUNT:
        if (column->traits & HP_COLUMN_ESTIMATE)
            hp_units_about(text, cell->count);
        else
            hp_text_u64(text, cell->count);
        break;
    case HOTPATH_UNIT_NS:
        hp_units_ns(text, cell->number);
        break;
    case HOTPATH_UNIT_INSTRUCTIONS:
        hp_text_u64(text, hp_units_round(cell->number));
        break;
    case HOTPATH_UNIT_BYTES:
        hp_units_bytes(text, cell->count);
        break;
    case HOTPATH_UNIT_PERCENT:
        hp_units_percent(text, cell->number);
        break;
    case HOTPATH_UNIT_NUMBER:
        hp_text_fixed(text, cell->number, cell->number < 999.995 ? 2 : 0);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
        hp_text_i64(text, (int64_t)cell->count);
        break;
    case HOTPATH_UNIT_SIGNED_BYTES:
        hp_units_signed_bytes(text, (int64_t)cell->count);
        break;
    case HOTPATH_UNIT_RATE:
        hp_text_fixed(text, cell->number, cell->number < 999.995 ? 2 : 0);
        hp_text_string(text, "/s");
        break;
    case HOTPATH_UNIT_INSTANT:
        hp_units_timestamp(text, cell->count);
        break;
    case HOTPATH_UNIT_HISTOGRAM:
        if (cell->histogram->labels != NULL)
            put_labelled(text, cell->histogram);
        else
            put_bars(text, cell->histogram);
        break;
    case HOTPATH_UNIT_SERIES:
        put_points(text, cell->series);
        break;
    case HOTPATH_UNIT_VALUE:
        if (hp_cell_is_whole_value(cell))
            hp_text_i64(text, (int64_t)cell->count);
        else
            hp_text_real(text, cell->number, 6);
        break;
    }
}

void hp_table_put_cell(struct hp_text *text, const struct hp_column *column, const struct hp_row *row,
                       const struct hp_cell *cell)
{
    if (column->traits & HP_COLUMN_NAME)
        hp_text_repeat(text, ' ', 2 * (size_t)(row->depth < INDENT_MAX ? row->depth : INDENT_MAX));
    if (cell->has_value)
        hp_text_string(text, hp_section_marks(column, row));
    put_value(text, column, cell);
}

static bool make_cell(struct table *table, const struct hp_column *column, const struct hp_row *row,
                      const struct hp_cell *cell, struct shown *ret_shown)
{
    struct hp_text text;
    hp_text_init(&text, table->scratch, CELL_BYTES);
    hp_table_put_cell(&text, column, row, cell);
    const char *copy = hp_arena_copy(table->results->model->arena, table->scratch, text.length);
    if (copy == NULL)
        return false;
    const bool is_marked = (column->traits & HP_COLUMN_NAME) && row->is_open;
    *ret_shown = (struct shown){copy, text.length, hp_utf8_columns(copy, text.length) + is_marked};
    return true;
}

static bool make_cells(struct table *table)
{
    const struct hotpath_section *section = table->section;
    table->scratch = hp_arena_take(table->results->model->arena, CELL_BYTES);
    table->cells = hp_arena_take_array(table->results->model->arena, section->row_count + 1,
                                       table->count * sizeof *table->cells);
    if (table->scratch == NULL || table->cells == NULL)
        return false;
    for (size_t row = 0; row < section->row_count; row++)
        for (size_t at = 0; at < table->count; at++) {
            const size_t column = table->order[at];
            if (!make_cell(table, &section->columns[column], &section->rows[row], &section->rows[row].cells[column],
                           &table->cells[row * table->count + at]))
                return false;
        }
    return true;
}

/* -------------------------------------------------------------------------------------------- layout */

static const struct hp_column *column_at(const struct table *table, size_t at)
{
    return &table->section->columns[table->order[at]];
}

/* Text columns are left-aligned and may have any length. */
static bool is_textual(const struct hp_column *column)
{
    return hp_unit_is_text(column->shown.unit) || column->shown.unit == HOTPATH_UNIT_HISTOGRAM ||
           column->shown.unit == HOTPATH_UNIT_SERIES;
}

static void choose_columns(struct table *table)
{
    for (size_t column = 0; column < table->section->column_count; column++)
        if (table->section->columns[column].shown.visible &&
            !(table->section->columns[column].traits & HP_COLUMN_BELOW))
            table->order[table->count++] = column;
}

static void measure_columns(struct table *table)
{
    for (size_t at = 0; at < table->count; at++) {
        const char *title = column_at(table, at)->shown.title;
        table->widths[at] = hp_utf8_columns(title, strlen(title));
        for (size_t row = 0; row < table->section->row_count; row++) {
            const size_t columns = table->cells[row * table->count + at].columns;
            if (table->widths[at] < columns)
                table->widths[at] = columns;
        }
    }
}

/* A width of 0 is a dropped column. */
static size_t table_width(const struct table *table)
{
    size_t width = 1;
    for (size_t at = 0; at < table->count; at++)
        if (table->widths[at] > 0)
            width += table->widths[at] + 3;
    return width;
}

static size_t name_at(const struct table *table)
{
    size_t at = 0;
    while (at < table->count && !(column_at(table, at)->traits & HP_COLUMN_NAME))
        at++;
    return at;
}

/* Narrows a column by the excess, but leaves it `least` columns. */
static void shrink(struct table *table, size_t at, size_t least)
{
    const size_t width = table_width(table), target = table->style->width, natural = table->widths[at];
    if (width <= target || natural == 0)
        return;
    const size_t excess = width - target, floor = natural < least ? natural : least;
    table->widths[at] = natural > floor + excess ? natural - excess : floor;
}

/* Gives shrinkable columns their natural widths, then takes away the excess. */
static void squeeze(struct table *table, size_t name, size_t least)
{
    table->widths[name] = table->naturals[name];
    for (size_t at = 0; at < table->count; at++)
        if ((column_at(table, at)->traits & HP_COLUMN_ELASTIC) && table->widths[at] > 0) {
            table->widths[at] = table->naturals[at];
            shrink(table, at, ELASTIC_COMFORT);
        }
    shrink(table, name, least);
}

/* Drops columns from the right until the table fits, except those with one of these traits. */
static void drop_columns(struct table *table, size_t name, uint32_t spared)
{
    for (size_t at = table->count; at-- > 0 && table_width(table) > table->style->width;)
        if (!(column_at(table, at)->traits & spared)) {
            table->widths[at] = 0;
            squeeze(table, name, NAME_COMFORT);
        }
}

/* Text that is kept, such as a thread, is shortened if no column can be dropped any more. */
static void shrink_texts(struct table *table, size_t name, size_t least)
{
    for (size_t at = 0; at < table->count; at++)
        if (at != name && is_textual(column_at(table, at)))
            shrink(table, at, least);
}

static void fit_columns(struct table *table)
{
    const size_t name = name_at(table);
    if (table->style->width == 0 || table_width(table) <= table->style->width || name == table->count)
        return;
    memcpy(table->naturals, table->widths, sizeof table->naturals);
    squeeze(table, name, NAME_COMFORT);
    drop_columns(table, name, HP_COLUMN_KEEP | HP_COLUMN_LATE);
    drop_columns(table, name, HP_COLUMN_KEEP);
    shrink_texts(table, name, ELASTIC_COMFORT);
    if (table_width(table) > table->style->width)
        squeeze(table, name, LEAST_TEXT);
    shrink_texts(table, name, LEAST_TEXT);
}

/* ------------------------------------------------------------------------------------------- drawing */

static void draw_rule(const struct table *table)
{
    for (size_t at = 0; at < table->count; at++)
        if (table->widths[at] > 0) {
            hp_text_char(table->out, '+');
            hp_text_repeat(table->out, '-', table->widths[at] + 2);
        }
    hp_text_string(table->out, "+\n");
}

/* Numbers are never shortened, so their width is known in advance; that of text only after it is written. */
static void draw_cell(const struct table *table, size_t at, const struct shown *shown, bool is_marked)
{
    const size_t width = table->widths[at];
    const bool is_left = is_textual(column_at(table, at));
    if (!is_left && shown->columns < width)
        hp_text_repeat(table->out, ' ', width - shown->columns);
    const char *color = strcmp(column_at(table, at)->shown.key, "verdict") == 0
                            ? hp_prose_verdict_color(shown->bytes, shown->length)
                            : NULL;
    if (color != NULL)
        hp_prose_put_style(table->style, table->out, color);
    size_t written = hp_utf8_put_fitted(table->out, shown->bytes, shown->length, width - is_marked);
    if (color != NULL)
        hp_prose_put_style(table->style, table->out, HP_STYLE_PLAIN);
    if (is_marked)
        hp_text_char(table->out, '*');
    written += is_marked;
    if (is_left && written < width)
        hp_text_repeat(table->out, ' ', width - written);
}

static void draw_header(const struct table *table)
{
    for (size_t at = 0; at < table->count; at++) {
        if (table->widths[at] == 0)
            continue;
        const char *title = column_at(table, at)->shown.title;
        const struct shown shown = {title, strlen(title), hp_utf8_columns(title, strlen(title))};
        hp_text_string(table->out, "| ");
        hp_prose_put_style(table->style, table->out, HP_STYLE_BOLD);
        draw_cell(table, at, &shown, false);
        hp_prose_put_style(table->style, table->out, HP_STYLE_PLAIN);
        hp_text_char(table->out, ' ');
    }
    hp_text_string(table->out, "|\n");
}

static void draw_row(const struct table *table, size_t row)
{
    const struct hp_row *data = &table->section->rows[row];
    for (size_t at = 0; at < table->count; at++) {
        if (table->widths[at] == 0)
            continue;
        const bool is_marked = (column_at(table, at)->traits & HP_COLUMN_NAME) && data->is_open;
        hp_text_string(table->out, "| ");
        draw_cell(table, at, &table->cells[row * table->count + at], is_marked);
        hp_text_char(table->out, ' ');
    }
    hp_text_string(table->out, "|\n");
}

/* "name: sentence", for each row. */
static void draw_sentences(const struct table *table, size_t column)
{
    const struct hotpath_section *section = table->section;
    const size_t name = name_at(table);
    for (size_t row = 0; row < section->row_count; row++) {
        const struct hp_cell *cell = &section->rows[row].cells[column];
        struct hp_text line;
        if (!cell->has_value)
            continue;
        hp_text_init(&line, table->scratch, CELL_BYTES);
        if (name < table->count) {
            const char *text = section->rows[row].cells[table->order[name]].text;
            hp_utf8_put_safe(&line, text, strlen(text));
            hp_text_string(&line, ": ");
        }
        hp_utf8_put_safe(&line, cell->text, strlen(cell->text));
        hp_prose_put_plain(table->style, table->out, table->scratch, line.length);
    }
}

static void draw_below(const struct table *table)
{
    const struct hotpath_section *section = table->section;
    for (size_t column = 0; column < section->column_count; column++)
        if (section->columns[column].shown.visible && (section->columns[column].traits & HP_COLUMN_BELOW))
            draw_sentences(table, column);
}

static bool draw_table(struct table *table)
{
    choose_columns(table);
    if (!make_cells(table))
        return false;
    measure_columns(table);
    fit_columns(table);
    draw_rule(table);
    draw_header(table);
    draw_rule(table);
    for (size_t row = 0; row < table->section->row_count; row++)
        draw_row(table, row);
    draw_rule(table);
    draw_below(table);
    return true;
}

/* ------------------------------------------------------------------------------------------- section */

static void put_heading(const struct table *table)
{
    char bytes[256];
    struct hp_text text;
    const struct hotpath_section *section = table->section;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s - %s", section->name, section->description);
    if (section->row_count < section->total_rows) {
        hp_text_format(&text, " (%zu/%zu)", section->row_count, section->total_rows);
    }
    hp_prose_put(table->style, table->out, bytes, text.length, &(struct hp_prose){.code = HP_STYLE_BOLD});
}

static bool begin_table(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                        const struct hp_table_style *style, struct table **ret_table)
{
    struct table *table = hp_arena_take(results->model->arena, sizeof *table);
    if (table != NULL)
        *table = (struct table){.results = results, .section = section, .out = out, .style = style};
    *ret_table = table;
    return table != NULL;
}

/* ----------------------------------------------------------------------------------------------------- notes */

static bool is_mark(const char *note)
{
    return (note[0] == '~' || note[0] == '^' || note[0] == '*') && note[1] == ' ';
}

/* Whether a cell that is shown has that mark in front of its number, or behind its name. */
static bool has_mark(const struct table *table, char mark)
{
    for (size_t row = 0; row < table->section->row_count; row++)
        for (size_t at = 0; at < table->count; at++) {
            const struct hp_column *column = column_at(table, at);
            const struct shown *shown = &table->cells[row * table->count + at];
            if (table->widths[at] == 0)
                continue;
            if (mark == '*' ? (column->traits & HP_COLUMN_NAME) && table->section->rows[row].is_open
                            : !is_textual(column) && memchr(shown->bytes, mark, shown->length) != NULL)
                return true;
        }
    return false;
}

/*
 * The column that a text begins with, "% Total is of ...": the one with the longest title. The number of columns
 * where it names none.
 */
static size_t column_of(const struct hotpath_section *section, const char *text)
{
    size_t longest = 0, found = section->column_count;
    for (size_t at = 0; at < section->column_count; at++) {
        const char *title = section->columns[at].shown.title;
        const size_t length = strlen(title);
        if (length > longest && strncmp(text, title, length) == 0 && text[length] == ' ') {
            longest = length;
            found = at;
        }
    }
    return found;
}

/* Its place among the visible ones; `count`: none. */
static size_t place_of(const struct table *table, size_t column)
{
    size_t at = 0;
    while (at < table->count && table->order[at] != column)
        at++;
    return at;
}

/* Visible, and not dropped for want of room. */
static bool is_shown(const struct table *table, size_t column)
{
    const size_t place = place_of(table, column);
    return place < table->count && table->widths[place] > 0;
}

/* A note about a mark or a column that is not there explains nothing. */
static bool is_about_shown(const struct table *table, const char *note)
{
    if (table->cells == NULL)
        return true;
    if (is_mark(note))
        return has_mark(table, note[0]);
    const size_t column = column_of(table->section, note);
    return place_of(table, column) == table->count || is_shown(table, column);
}

/* Where a clause of a note ends: ", " and the title of a column begin the next one. */
static size_t clause_length(const struct hotpath_section *section, const char *clause)
{
    const char *end = strstr(clause, ", ");
    while (end != NULL && column_of(section, end + 2) == section->column_count)
        end = strstr(end + 2, ", ");
    return end != NULL ? (size_t)(end - clause) : strlen(clause);
}

/* Adds a clause about one column or two, "Busy % and Waiting % are shares of ...", if they are shown. */
static void add_clause(const struct table *table, struct hp_text *line, const char *clause, size_t length)
{
    static const char both[] = " and ", are[] = " are shares";
    const struct hotpath_section *section = table->section;
    const size_t none = section->column_count, first = column_of(section, clause);
    const char *after = clause + strlen(section->columns[first].shown.title);
    const size_t second =
        strncmp(after, both, sizeof both - 1) == 0 ? column_of(section, after + sizeof both - 1) : none;
    const bool has_first = is_shown(table, first), has_second = second < none && is_shown(table, second);
    if (!has_first && !has_second)
        return;
    if (line->length > 0)
        hp_text_string(line, ", ");
    after += second < none ? sizeof both - 1 + strlen(section->columns[second].shown.title) : 0;
    if (second == none || (has_first && has_second) || strncmp(after, are, sizeof are - 1) != 0) {
        hp_text_bytes(line, clause, length);
        return;
    }
    after += sizeof are - 1;
    hp_text_format(line, "%s is a share", section->columns[has_first ? first : second].shown.title);
    hp_text_bytes(line, after, (size_t)(clause + length - after));
}

/* A note about several columns, without those that are not shown. */
static const char *note_of_shown(const struct table *table, const char *note)
{
    struct hp_text line;
    const char *clause = note;
    if (table->cells == NULL || column_of(table->section, note) == table->section->column_count)
        return note;
    hp_text_init(&line, table->scratch, CELL_BYTES);
    while (*clause != '\0') {
        const size_t length = clause_length(table->section, clause);
        add_clause(table, &line, clause, length);
        clause += length + (clause[length] != '\0' ? 2 : 0);
    }
    return line.length > 0 ? hp_text_end(&line) : note;
}

/* Whether it was said before; from now on it was. */
static bool was_said(struct hp_said *said, const char *note)
{
    for (size_t at = 0; at < said->count; at++)
        if (strcmp(said->notes[at], note) == 0)
            return true;
    if (said->count < sizeof said->notes / sizeof said->notes[0])
        said->notes[said->count++] = note;
    return false;
}

static void put_notes(const struct table *table, struct hp_said *said, bool of_table_only)
{
    for (size_t at = 0; at < table->section->note_count; at++) {
        const char *note = table->section->notes[at];
        const size_t place = place_of(table, column_of(table->section, note));
        if ((!of_table_only || is_mark(note) || place < table->count) && is_about_shown(table, note) &&
            !was_said(said, note))
            hp_prose_put_note(table->style, table->out, note_of_shown(table, note));
    }
}

/* ---------------------------------------------------------------------------------------------------- section */

/* Whether a row shows more than a name and numbers, as the causes of waiting are. */
static bool has_other_text(const struct hotpath_section *section, size_t row, size_t name_column)
{
    for (size_t column = 0; column < section->column_count; column++)
        if (column != name_column && section->columns[column].shown.visible &&
            section->rows[row].cells[column].text != NULL)
            return true;
    return false;
}

/* The line above has the same numbers if all of them are outside of measured functions. */
static bool has_no_function(const struct hotpath_section *section)
{
    const size_t column = hp_section_name_column(section);
    if (section->summary == NULL || section->row_count == 0 || column == section->column_count)
        return false;
    for (size_t at = 0; at < section->row_count; at++) {
        const char *name = section->rows[at].cells[column].text;
        if (name == NULL || (strcmp(name, "<outside>") != 0 && strcmp(name, "<startup>") != 0) ||
            has_other_text(section, at, column))
            return false;
    }
    return true;
}

bool hp_table_put(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                  const struct hp_table_style *style, struct hp_said *said)
{
    struct table *table;
    if (!begin_table(results, section, out, style, &table) || !draw_table(table))
        return false;
    put_notes(table, said, true);
    return true;
}

bool hp_table_put_section(const hotpath_results *results, const struct hotpath_section *section,
                          struct hp_text *out, const struct hp_table_style *style, struct hp_said *said)
{
    struct table *table;
    if (!begin_table(results, section, out, style, &table))
        return false;
    hp_text_char(out, '\n');
    put_heading(table);
    if (section->summary != NULL)
        hp_prose_put(style, out, section->summary, strlen(section->summary),
                     &(struct hp_prose){.has_verdict = section->summary == results->headline});
    if (has_no_function(section))
        return true;
    if (section->row_count == 0)
        hp_prose_put_plain(style, out, section->if_empty, strlen(section->if_empty));
    else if (!draw_table(table))
        return false;
    put_notes(table, said, false);
    return true;
}
