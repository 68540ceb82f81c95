/*
 * The order of a section's rows. Rows with equal values keep the default order; rows without a value come last in
 * either direction, in the default order. SPDX-License-Identifier: MIT
 */
#include "order.h"

#include <string.h>

#include "arena.h"
#include "sort.h"
#include "text.h"

/* ---------------------------------------------------------------------------------------------- choosing */

static bool add_note(struct hotpath_results *results, struct hotpath_section *section)
{
    char bytes[160];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%s are sorted by %s%s", section->is_tree ? "siblings" : "rows",
                   section->columns[section->order.column].shown.title,
                   section->order.is_ascending ? ", ascending" : ", descending");
    return hp_section_note(section, hp_results_keep(results, &line));
}

/* Histograms and series cannot be compared. */
static bool has_order(uint32_t unit) { return unit != HOTPATH_UNIT_HISTOGRAM && unit != HOTPATH_UNIT_SERIES; }

bool hp_order_choose(struct hotpath_results *results, struct hotpath_section *section, const char *usual,
                     const char *share)
{
    const size_t first = hp_section_column(section, usual);
    const char *sort = results->settings->show.sort;
    const bool is_reversed = sort[0] == '-';
    const char *name = sort + is_reversed;
    const size_t column = hp_section_find_column(section, name, strlen(name));
    section->order = (struct hp_order){.column = first, .is_set = true, .is_usual = true};
    if (sort[0] == '\0' || column == section->column_count || !has_order(section->columns[column].shown.unit))
        return true;
    section->columns[column].shown.visible = 1;
    section->columns[column].traits |= HP_COLUMN_LATE;
    if (!is_reversed && (column == first || (share != NULL && column == hp_section_column(section, share))))
        return true;
    section->order.column = column;
    section->order.is_usual = false;
    section->order.is_ascending = hp_unit_is_text(section->columns[column].shown.unit) != is_reversed;
    return add_note(results, section);
}

/* ----------------------------------------------------------------------------------------------- sorting */

/* A row and its sort key. */
struct key {
    struct hp_row row;
    const char *text; /* NULL: the number counts */
    double number;
    bool has_value;
    bool is_ascending;
    size_t index; /* in the default order */
};

static int compare_values(const struct key *x, const struct key *y)
{
    int order = x->number < y->number ? -1 : x->number > y->number;
    if (x->text != NULL && y->text != NULL)
        order = strcmp(x->text, y->text);
    return x->is_ascending ? order : -order;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->has_value != y->has_value)
        return x->has_value ? -1 : 1;
    const int order = x->has_value ? compare_values(x, y) : 0;
    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

static struct key key_of(const struct hotpath_section *section, size_t index)
{
    const struct hp_row *row = &section->rows[index];
    const struct hp_cell *cell = &row->cells[section->order.column];
    const uint32_t unit = section->columns[section->order.column].shown.unit;
    return (struct key){
        .row = *row,
        .text = hp_unit_is_text(unit) ? cell->text : NULL,
        .number = hp_cell_number(cell, unit),
        .has_value = cell->has_value,
        .is_ascending = section->order.is_ascending,
        .index = index,
    };
}

static bool sort_rows(struct hotpath_results *results, struct hotpath_section *section)
{
    const size_t count = section->row_count;
    struct key *keys = hp_arena_take_array(results->model->arena, count + 1, sizeof *keys);
    struct key **order = hp_arena_take_array(results->model->arena, count + 1, sizeof(void *));
    if (keys == NULL || order == NULL)
        return false;
    for (size_t at = 0; at < count; at++) {
        keys[at] = key_of(section, at);
        order[at] = &keys[at];
    }
    hp_sort(order, count, compare_keys);
    for (size_t at = 0; at < count; at++)
        section->rows[at] = order[at]->row;
    return true;
}

/* Main rows are never left out, unless there are more of them than rows to show. */
static void cut_rows(struct hotpath_section *section, uint32_t limit)
{
    size_t kept = 0, mains = 0;
    for (size_t at = 0; at < section->row_count; at++)
        mains += section->rows[at].is_main;
    size_t others = mains < limit ? limit - mains : 0;
    for (size_t at = 0; at < section->row_count && kept < limit; at++) {
        if (!section->rows[at].is_main && others == 0)
            continue;
        others -= !section->rows[at].is_main;
        section->rows[kept++] = section->rows[at];
    }
    section->row_count = kept;
}

bool hp_order_apply(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit)
{
    if (!section->order.is_usual && !sort_rows(results, section))
        return false;
    if (limit != 0 && limit != HOTPATH_NO_LIMIT)
        cut_rows(section, limit);
    return true;
}

bool hp_order_fill(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit,
                   const void *const *entries, size_t count, void *view)
{
    if (section->order.is_usual && limit != 0 && limit < count)
        count = limit;
    if (!hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        if (!hp_section_fill_row(results, section, &section->rows[at], view, entries[at]))
            return false;
    return hp_order_apply(results, section, limit);
}

bool hp_section_begin(struct hotpath_results *results, struct hotpath_section *section, void *view, uint32_t facts,
                      const char *usual, const char *share)
{
    return hp_section_describe(results, section, view, facts) && hp_order_choose(results, section, usual, share);
}

bool hp_section_fill_rows(struct hotpath_results *results, struct hotpath_section *section,
                          const void *const *entries, size_t count, void *view)
{
    section->total_rows = count;
    return hp_order_fill(results, section, results->settings->show.functions_limit, entries, count, view);
}
