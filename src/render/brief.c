/* The short report. SPDX-License-Identifier: MIT */
#include "brief.h"

#include <string.h>

#include "arena.h"
#include "text.h"

static const struct hotpath_section *section_of(const hotpath_results *results, enum hp_brief_role role)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (results->sections[at]->type->in_brief == role)
            return results->sections[at];
    return NULL;
}

/* Verdicts are over all threads: they cannot be joined with rows per thread. */
bool hp_brief_applies(const hotpath_results *results)
{
    const struct hotpath_section *verdicts = section_of(results, HP_BRIEF_VERDICTS);
    return hp_results_is_short(results) && results->settings->show.by != HP_BY_THREAD && verdicts != NULL &&
           results->headline != NULL;
}

/* ---------------------------------------------------------------------------------------------- functions */

static const struct hp_row *row_named(const struct hotpath_section *section, const char *name)
{
    const size_t column = hp_section_name_column(section);
    for (size_t at = 0; column < section->column_count && at < section->row_count; at++)
        if (strcmp(section->rows[at].cells[column].text, name) == 0)
            return &section->rows[at];
    return NULL;
}

/* The verdict's visible columns, except the name, which timing has, and the sentences below its table. */
static bool is_joined(const struct hp_column *column)
{
    return column->shown.visible && !(column->traits & (HP_COLUMN_NAME | HP_COLUMN_BELOW));
}

/* The columns of `verdicts`, appended to those of `timing`. */
struct join {
    const struct hotpath_section *timing, *verdicts;
    size_t columns[HP_MAX_COLUMNS]; /* the verdict columns that are taken */
    size_t count;
};

/* Both tables have a column `self`, which HOTPATH_COLUMNS makes visible. */
static bool has_title(const struct hotpath_section *section, const char *title)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (section->columns[at].shown.visible && strcmp(section->columns[at].shown.title, title) == 0)
            return true;
    return false;
}

static void choose_columns(struct join *join)
{
    const size_t room = HP_MAX_COLUMNS - join->timing->column_count;
    for (size_t at = 0; at < join->verdicts->column_count && join->count < room; at++)
        if (is_joined(&join->verdicts->columns[at]) &&
            !has_title(join->timing, join->verdicts->columns[at].shown.title))
            join->columns[join->count++] = at;
}

static bool join_row(const hotpath_results *results, const struct join *join, struct hp_row *row)
{
    const size_t own = join->timing->column_count;
    struct hp_cell *cells = hp_arena_take_array(results->model->arena, own + join->count, sizeof *cells);
    if (cells == NULL)
        return false;
    memcpy(cells, row->cells, own * sizeof *cells);
    memset(cells + own, 0, join->count * sizeof *cells);
    const struct hp_row *verdict = row_named(join->verdicts, cells[hp_section_name_column(join->timing)].text);
    for (size_t at = 0; verdict != NULL && at < join->count; at++)
        cells[own + at] = verdict->cells[join->columns[at]];
    row->cells = cells;
    return true;
}

static const struct hotpath_section *join_tables(const hotpath_results *results, struct join *join)
{
    const struct hotpath_section *timing = join->timing;
    struct hotpath_section *joined = hp_arena_take(results->model->arena, sizeof *joined);
    struct hp_row *rows = hp_arena_take_array(results->model->arena, timing->row_count + 1, sizeof *rows);
    if (joined == NULL || rows == NULL)
        return NULL;
    *joined = *timing;
    choose_columns(join);
    for (size_t at = 0; at < join->count; at++)
        joined->columns[joined->column_count++] = join->verdicts->columns[join->columns[at]];
    memcpy(rows, timing->rows, timing->row_count * sizeof *rows);
    joined->rows = rows;
    for (size_t at = 0; at < timing->row_count; at++)
        if (!join_row(results, join, &rows[at]))
            return NULL;
    return joined;
}

/* ---------------------------------------------------------------------------------------------- what is empty */

static bool is_zero(const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value || hp_unit_is_text(column->shown.unit))
        return true;
    if (column->shown.unit == HOTPATH_UNIT_HISTOGRAM || column->shown.unit == HOTPATH_UNIT_SERIES)
        return false;
    return hp_cell_number(cell, column->shown.unit) == 0;
}

/* Whether a row has no number but zero in the columns that are shown. A row of texts alone says something. */
static bool is_empty_row(const struct hotpath_section *section, const struct hp_row *row)
{
    bool has_numbers = false;
    for (size_t at = 0; at < section->column_count; at++) {
        const struct hp_column *column = &section->columns[at];
        if (!column->shown.visible)
            continue;
        has_numbers |= !hp_unit_is_text(column->shown.unit);
        if (!is_zero(column, &row->cells[at]))
            return false;
    }
    return has_numbers;
}

static bool is_empty(const struct hotpath_section *section)
{
    for (size_t at = 0; at < section->row_count; at++)
        if (!is_empty_row(section, &section->rows[at]))
            return false;
    return true;
}

/* A copy without empty rows. NULL: no memory. */
static struct hotpath_section *without_empty(const hotpath_results *results, const struct hotpath_section *section)
{
    struct hotpath_section *shorter = hp_arena_take(results->model->arena, sizeof *shorter);
    struct hp_row *rows = hp_arena_take_array(results->model->arena, section->row_count + 1, sizeof *rows);
    if (shorter == NULL || rows == NULL)
        return NULL;
    *shorter = *section;
    shorter->rows = rows;
    shorter->row_count = 0;
    for (size_t at = 0; at < section->row_count; at++)
        if (!is_empty_row(section, &section->rows[at]))
            rows[shorter->row_count++] = section->rows[at];
    return shorter;
}

/* ------------------------------------------------------------------------------------------------ the rest */

#define LINES_AROUND 13u    /* title, verdict, trust line and the like, at 80 columns */
#define LINES_OF_A_TABLE 7u /* around its rows: a blank one, heading, rules and titles */
#define LEAST_ROWS 3u       /* a table of fewer, where there are more, says less than a line */

/* A table of as many rows as fit, or else the line that is counted already. */
static bool add_table(const hotpath_results *results, struct hp_brief *brief, const struct hotpath_section *section,
                      size_t most)
{
    struct hotpath_section *shorter = without_empty(results, section);
    if (shorter == NULL)
        return false;
    const size_t around = LINES_OF_A_TABLE - 1 + shorter->note_count + (shorter->summary != NULL);
    const size_t left = brief->lines_left > around ? brief->lines_left - around : 0;
    const size_t wanted = shorter->row_count < most ? shorter->row_count : most;
    const size_t rows = wanted < left ? wanted : left;
    if (rows < wanted && rows < LEAST_ROWS) {
        brief->lines[brief->line_count++] = section;
        return true;
    }
    shorter->row_count = rows;
    brief->lines_left -= around + rows;
    brief->tables[brief->table_count++] = shorter;
    return true;
}

/* Each section that is not in the table of functions has a line at least. */
static void count_lines(const hotpath_results *results, struct hp_brief *brief)
{
    size_t used = LINES_AROUND + (brief->functions != NULL ? brief->functions->row_count + 4 : 0);
    for (size_t at = 0; at < results->section_count; at++) {
        const enum hp_brief_role role = results->sections[at]->type->in_brief;
        used += role != HP_BRIEF_FUNCTIONS && role != HP_BRIEF_VERDICTS && !is_empty(results->sections[at]);
    }
    brief->lines_left = used < HP_BRIEF_LINES ? HP_BRIEF_LINES - used : 0;
}

static bool add_section(const hotpath_results *results, struct hp_brief *brief,
                        const struct hotpath_section *section)
{
    const enum hp_brief_role role = section->type->in_brief;
    if (is_empty(section))
        return true;
    if (role == HP_BRIEF_WHOLE)
        brief->tables[brief->table_count++] = section;
    if (role == HP_BRIEF_TABLE)
        return add_table(results, brief, section, HP_BRIEF_ROWS);
    if (role == HP_BRIEF_UNMEASURED && brief->functions == NULL)
        return add_table(results, brief, section, HP_BRIEF_FOUND_ROWS);
    if (role == HP_BRIEF_LINE || role == HP_BRIEF_UNMEASURED)
        brief->lines[brief->line_count++] = section;
    return true;
}

bool hp_brief_make(const hotpath_results *results, struct hp_brief *ret_brief)
{
    const struct hotpath_section *timing = section_of(results, HP_BRIEF_FUNCTIONS);
    const struct hotpath_section *verdicts = section_of(results, HP_BRIEF_VERDICTS);
    const struct hotpath_section *first = timing != NULL ? timing : verdicts;
    memset(ret_brief, 0, sizeof *ret_brief);
    ret_brief->why_none = first != NULL ? first->if_empty : NULL;
    if (timing != NULL && verdicts != NULL && timing->row_count > 0) {
        ret_brief->functions = join_tables(results, &(struct join){.timing = timing, .verdicts = verdicts});
        if (ret_brief->functions == NULL)
            return false;
    }
    count_lines(results, ret_brief);
    for (size_t at = 0; at < results->section_count; at++)
        if (!add_section(results, ret_brief, results->sections[at]))
            return false;
    return true;
}
