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
    const char *asked = results->settings->show.report;
    return hp_text_equal_nocase(asked, strlen(asked), "short") && results->settings->show.by != HP_BY_THREAD &&
           verdicts != NULL && results->headline != NULL;
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

static void choose_columns(struct join *join)
{
    const size_t room = HP_MAX_COLUMNS - join->timing->column_count;
    for (size_t at = 0; at < join->verdicts->column_count && join->count < room; at++)
        if (is_joined(&join->verdicts->columns[at]))
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

/* ------------------------------------------------------------------------------------------------ the rest */

static bool add_table(const hotpath_results *results, struct hp_brief *brief, const struct hotpath_section *section,
                      size_t most)
{
    struct hotpath_section *shorter = hp_arena_take(results->model->arena, sizeof *shorter);
    if (shorter == NULL)
        return false;
    *shorter = *section;
    if (shorter->row_count > most)
        shorter->row_count = most;
    brief->tables[brief->table_count++] = shorter;
    return true;
}

static bool add_section(const hotpath_results *results, struct hp_brief *brief,
                        const struct hotpath_section *section)
{
    const enum hp_brief_role role = section->type->in_brief;
    const bool is_measured = brief->functions != NULL;
    if (role == HP_BRIEF_TABLE)
        return add_table(results, brief, section, HP_BRIEF_ROWS);
    if (role == HP_BRIEF_UNMEASURED && !is_measured)
        return add_table(results, brief, section, HP_BRIEF_FOUND_ROWS);
    if (role == HP_BRIEF_LINE || role == HP_BRIEF_UNMEASURED)
        brief->lines[brief->line_count++] = section;
    return true;
}

bool hp_brief_make(const hotpath_results *results, struct hp_brief *ret_brief)
{
    struct join join = {.timing = section_of(results, HP_BRIEF_FUNCTIONS),
                        .verdicts = section_of(results, HP_BRIEF_VERDICTS)};
    memset(ret_brief, 0, sizeof *ret_brief);
    ret_brief->why_none = join.timing != NULL ? join.timing->if_empty : join.verdicts->if_empty;
    if (join.timing != NULL && join.timing->row_count > 0) {
        ret_brief->functions = join_tables(results, &join);
        if (ret_brief->functions == NULL)
            return false;
    }
    for (size_t at = 0; at < results->section_count; at++)
        if (!add_section(results, ret_brief, results->sections[at]))
            return false;
    return true;
}
