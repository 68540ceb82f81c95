/* Sections of a report as tables of an answer. SPDX-License-Identifier: MIT */
#include "mcp_section.h"

#include <stdlib.h>
#include <string.h>

/* The columns of a table: those of the section, then those of the joined one. */
struct columns {
    const char *titles[2 * HP_MAX_COLUMNS];
    size_t at[2 * HP_MAX_COLUMNS];
    bool is_joined[2 * HP_MAX_COLUMNS];
    size_t count;
};

struct chosen {
    const struct hp_row **rows, **joined;
    size_t count, total;
};

/* --------------------------------------------------------------------------------------------------------- rows */

static bool choose_rows(const struct hp_mcp_section_table *table, struct chosen *chosen)
{
    const struct hotpath_section *section = table->section;
    const size_t name = hp_section_name_column(section);
    chosen->rows = calloc(table->limit + 1, sizeof *chosen->rows);
    chosen->joined = calloc(table->limit + 1, sizeof *chosen->joined);
    if (chosen->rows == NULL || chosen->joined == NULL)
        return false;
    for (size_t at = 0; at < section->row_count; at++) {
        const struct hp_row *row = &section->rows[at];
        if ((table->takes != NULL && !table->takes(table->context, section, row)) ||
            chosen->total++ >= table->limit)
            continue;
        if (table->joined != NULL && name < section->column_count && row->cells[name].text != NULL)
            chosen->joined[chosen->count] = hp_mcp_row_named(table->joined, row->cells[name].text);
        chosen->rows[chosen->count++] = row;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------------ columns */

static bool has_value(const struct hp_row **rows, size_t count, size_t column)
{
    for (size_t at = 0; at < count; at++)
        if (rows[at] != NULL && rows[at]->cells[column].has_value)
            return true;
    return false;
}

static bool has_column(const struct columns *columns, const char *title)
{
    for (size_t at = 0; at < columns->count; at++)
        if (strcmp(columns->titles[at], title) == 0)
            return true;
    return false;
}

/* Histograms and series are drawings, which only people read. */
static void add_column(struct columns *columns, const struct hotpath_section *section, const struct hp_row **rows,
                       size_t count, size_t column, bool is_joined)
{
    if (column >= section->column_count || columns->count == 2 * HP_MAX_COLUMNS)
        return;
    const struct hotpath_column *shown = &section->columns[column].shown;
    if (shown->unit == HOTPATH_UNIT_HISTOGRAM || shown->unit == HOTPATH_UNIT_SERIES ||
        has_column(columns, shown->title) || !has_value(rows, count, column))
        return;
    columns->titles[columns->count] = shown->title;
    columns->at[columns->count] = column;
    columns->is_joined[columns->count++] = is_joined;
}

static void add_columns(struct columns *columns, const struct hotpath_section *section, const char *const *keys,
                        const struct hp_row **rows, size_t count, bool is_joined, bool are_all)
{
    for (; keys != NULL && *keys != NULL; keys++)
        add_column(columns, section, rows, count, hp_section_column(section, *keys), is_joined);
    for (size_t at = 0; at < section->column_count; at++)
        if (are_all || (keys == NULL && section->columns[at].shown.visible))
            add_column(columns, section, rows, count, at, is_joined);
}

/* -------------------------------------------------------------------------------------------------------- table */

static void put_rows(struct hp_mcp_answer *answer, const struct hp_mcp_section_table *table,
                     const struct columns *columns, const struct chosen *chosen)
{
    for (size_t row = 0; row < chosen->count && hp_mcp_table_has_room(answer); row++)
        for (size_t at = 0; at < columns->count; at++) {
            const bool is_joined = columns->is_joined[at];
            const struct hp_row *of = is_joined ? chosen->joined[row] : chosen->rows[row];
            const bool is_empty = of == NULL || !of->cells[columns->at[at]].has_value;
            hp_mcp_table_cell(
                answer,
                is_empty
                    ? NULL
                    : hp_mcp_column_shown(is_joined ? table->joined : table->section, of, columns->at[at]).bytes);
        }
}

size_t hp_mcp_put_section(struct hp_mcp_answer *answer, const struct hp_mcp_section_table *table)
{
    struct chosen chosen = {0};
    struct columns columns = {.count = 0};
    if (!choose_rows(table, &chosen)) {
        answer->lacks_memory = true;
    } else if (chosen.count > 0) {
        add_columns(&columns, table->section, table->keys, chosen.rows, chosen.count, false, answer->is_full);
        if (table->joined != NULL)
            add_columns(&columns, table->joined, table->joined_keys, chosen.joined, chosen.count, true,
                        answer->is_full);
        hp_mcp_table_begin(answer, table->title != NULL ? table->title : table->section->name, columns.titles,
                           columns.count);
        put_rows(answer, table, &columns, &chosen);
        hp_mcp_table_end(answer, chosen.total, table->more);
    }
    free(chosen.rows);
    free(chosen.joined);
    return chosen.total;
}

void hp_mcp_put_row(struct hp_mcp_answer *answer, const struct hotpath_section *section, const struct hp_row *row,
                    const char *const *keys)
{
    const struct hp_row *rows[1] = {row};
    struct columns columns = {.count = 0};
    if (row == NULL)
        return;
    add_columns(&columns, section, keys, rows, 1, false, answer->is_full);
    if (columns.count == 0)
        return;
    hp_mcp_table_begin(answer, section->name, columns.titles, columns.count);
    for (size_t at = 0; at < columns.count; at++)
        hp_mcp_table_cell(answer, hp_mcp_column_shown(section, row, columns.at[at]).bytes);
    hp_mcp_table_end(answer, 1, NULL);
}
