/* Sections of reports as tables: a new section gets a sub-view automatically. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "identity.h"
#include "views.h"

/* --------------------------------------------------------------------------------------------- sections */

static enum hp_figure figure_of(const struct hp_column *column)
{
    switch (column->shown.unit) {
    case HOTPATH_UNIT_COUNT:
        return column->traits & HP_COLUMN_ESTIMATE ? HP_FIGURE_ABOUT : HP_FIGURE_COUNT;
    case HOTPATH_UNIT_SIGNED_COUNT:
    case HOTPATH_UNIT_INSTRUCTIONS:
        return HP_FIGURE_COUNT;
    case HOTPATH_UNIT_NS:
        return HP_FIGURE_NS;
    case HOTPATH_UNIT_BYTES:
    case HOTPATH_UNIT_SIGNED_BYTES:
        return HP_FIGURE_BYTES_;
    case HOTPATH_UNIT_PERCENT:
        return HP_FIGURE_PERCENT;
    case HOTPATH_UNIT_RATE:
        return HP_FIGURE_RATE;
    case HOTPATH_UNIT_NUMBER:
    case HOTPATH_UNIT_VALUE:
        return HP_FIGURE_NUMBER;
    default:
        return HP_FIGURE_TEXT;
    }
}

/* The further right, the sooner it is dropped; columns that reports keep are dropped later. */
static unsigned rank_of(const struct hp_column *column, size_t place)
{
    if (column->traits & (HP_COLUMN_KEEP | HP_COLUMN_NAME))
        return 0;
    return (unsigned)place + (column->traits & HP_COLUMN_LATE ? 1 : 100);
}

/* Columns that the report hides by default are hidden here, too. */
static bool is_listed(const struct hp_column *column)
{
    return (column->shown.visible || (column->traits & HP_COLUMN_NAME)) && !(column->traits & HP_COLUMN_BELOW) &&
           column->shown.unit != HOTPATH_UNIT_HISTOGRAM && column->shown.unit != HOTPATH_UNIT_SERIES;
}

/* A tid or pid is a name, not an amount. */
static bool is_number_of_task(const char *key) { return strcmp(key, "tid") == 0 || strcmp(key, "pid") == 0; }

/* A history as text, of the timeline. */
static bool is_chart(const char *key) { return strcmp(key, "line") == 0; }

/* Whether a column has a value in some row that says more than that there is nothing. */
static bool has_values(const struct hotpath_section *section, size_t column)
{
    const bool is_text = hp_unit_is_text(section->columns[column].shown.unit);
    for (size_t row = 0; row < section->row_count; row++) {
        const struct hp_cell *cell = &section->rows[row].cells[column];
        if (cell->has_value && !(is_text && cell->text != NULL && strcmp(cell->text, HP_OUTSIDE) == 0))
            return true;
    }
    return section->row_count == 0;
}

/*
 * Names of sections stay the same while the program runs, so there is room for them before there is for the last
 * columns: "epoll_wait in aeMain". A tree indents them, and scrolls.
 */
static unsigned width_of_names(const struct hotpath_section *section, size_t name)
{
    enum { LEAST = 16, MOST = 28 };
    unsigned width = LEAST;
    for (size_t row = 0; !section->is_tree && name < section->column_count && row < section->row_count; row++) {
        const char *text = section->rows[row].cells[name].text;
        const unsigned its = text != NULL ? hp_screen_width(text) : 0;
        width = its > width ? its : width;
    }
    return width < MOST ? width : MOST;
}

static void add_section_columns(struct hp_table *table, const struct hotpath_section *section, size_t *columns)
{
    /* The name comes first, wherever the section has it. */
    size_t name = 0;
    while (name < section->column_count && !(section->columns[name].traits & HP_COLUMN_NAME))
        name++;
    for (size_t step = 0; step <= section->column_count; step++) {
        const size_t at = step == 0 ? name : step - 1;
        if (at >= section->column_count || (step > 0 && at == name) || table->column_count == HP_TABLE_COLUMNS ||
            !is_listed(&section->columns[at]) || (step > 0 && !has_values(section, at)))
            continue;
        const struct hp_column *column = &section->columns[at];
        const enum hp_figure figure = figure_of(column);
        const bool is_text = figure == HP_FIGURE_TEXT || is_number_of_task(column->shown.key);
        columns[table->column_count] = at;
        hp_table_add(table, &(struct hp_table_column){.key = column->shown.key,
                                                      .title = column->shown.title,
                                                      .kind = step == 0 ? HP_CELL_NAME
                                                              : is_text ? HP_CELL_TEXT
                                                                        : HP_CELL_FIGURE,
                                                      .figure = figure,
                                                      .width = step == 0  ? width_of_names(section, name)
                                                               : !is_text ? 5
                                                               : column->traits & HP_COLUMN_ELASTIC ? 24
                                                                                                    : 40,
                                                      .rank = rank_of(column, step),
                                                      .is_chart = is_chart(column->shown.key),
                                                      .about = column->about});
    }
}

static void fill_section_cell(struct hp_console *console, struct hp_table_cell *cell, const struct hp_row *row,
                              const struct hp_cell *from, const struct hp_column *column)
{
    char bytes[32];
    const char *marks = hp_section_marks(column, row);
    cell->marks = marks[0] != '\0' ? marks : NULL;
    cell->has_value = from->has_value;
    if (is_number_of_task(column->shown.key)) {
        snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)from->count);
        cell->text = hp_arena_copy(&console->arena, bytes, strlen(bytes));
        cell->number = (double)from->count;
    } else if (hp_unit_is_text(column->shown.unit)) {
        cell->text = from->text;
    } else {
        cell->number = hp_cell_number(from, column->shown.unit);
    }
}

/* One function may have many rows: each is known by the way to it. */
static uint64_t id_in_tree(const struct hp_console *console, const struct hotpath_section *section, size_t at)
{
    const uint32_t parent = section->rows[at].parent;
    const uint64_t above = parent > 0 ? console->table.rows[parent - 1].id : 0;
    return hp_identity_with_number(above, section->rows[at].id);
}

void hp_view_begin_row(struct hp_console *console, const struct hotpath_section *section, size_t at,
                       bool begins_folded)
{
    struct hp_table_row *row = &console->table.rows[at];
    row->subject = section->rows[at].id;
    row->id = section->is_tree ? id_in_tree(console, section, at) : row->subject;
    row->depth = section->rows[at].depth;
    row->has_children =
        section->is_tree && at + 1 < section->row_count && section->rows[at + 1].depth > section->rows[at].depth;
    row->begins_folded = begins_folded;
    row->is_folded = section->is_tree && hp_table_is_folded(console->view, row);
}

struct hp_table_row *hp_view_section_with(struct hp_console *console, const struct hotpath_section *section,
                                          const struct hp_table_column *more, size_t count)
{
    struct hp_table *table = &console->table;
    size_t columns[HP_TABLE_COLUMNS] = {0};
    add_section_columns(table, section, columns);
    const size_t own_columns = table->column_count;
    for (size_t at = 0; at < count; at++)
        hp_table_add(table, &more[at]);
    table->is_tree = section->is_tree;
    table->if_empty = section->if_empty;
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, section->row_count);
    for (size_t row = 0; rows != NULL && row < section->row_count; row++) {
        hp_view_begin_row(console, section, row, false);
        for (size_t at = 0; at < own_columns; at++)
            fill_section_cell(console, &rows[row].cells[at], &section->rows[row],
                              &section->rows[row].cells[columns[at]], &section->columns[columns[at]]);
    }
    if (!section->is_tree && section->order.is_set && section->order.column < section->column_count)
        for (size_t at = 0; at < own_columns; at++)
            if (columns[at] == section->order.column) {
                table->sort = table->columns[at].key;
                table->is_ascending = section->order.is_ascending;
            }
    return rows;
}

void hp_view_section(struct hp_console *console, const struct hotpath_section *section)
{
    hp_view_section_with(console, section, NULL, 0);
}
