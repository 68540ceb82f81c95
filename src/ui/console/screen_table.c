/* A table on the screen: its columns, its cells, and which rows are shown. SPDX-License-Identifier: MIT */
#include "screen_table.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "growing_array.h"
#include "sort.h"
#include "text.h"

void hp_table_add(struct hp_table *table, const struct hp_table_column *column)
{
    if (table->column_count == HP_TABLE_COLUMNS)
        return;
    table->columns[table->column_count] = *column;
    if (column->gap == 0)
        table->columns[table->column_count].gap = 2;
    table->column_count++;
}

struct hp_table_row *hp_table_make_rows(struct hp_table *table, struct hp_arena *arena, size_t count)
{
    table->rows = hp_arena_take_array(arena, count + 1, sizeof *table->rows);
    struct hp_table_cell *cells = hp_arena_take_array(arena, (count + 1) * table->column_count + 1, sizeof *cells);
    if (table->rows == NULL || cells == NULL)
        return NULL;
    for (size_t at = 0; at < count; at++)
        table->rows[at] = (struct hp_table_row){.index = at, .cells = &cells[at * table->column_count]};
    table->row_count = count;
    return table->rows;
}

size_t hp_table_find(const struct hp_table *table, const char *key)
{
    size_t at = 0;
    while (at < table->column_count && strcmp(table->columns[at].key, key) != 0)
        at++;
    return at;
}

const struct hp_table_cell *hp_table_cell(const struct hp_table *table, const struct hp_table_row *row,
                                          const char *key)
{
    static const struct hp_table_cell none;
    const size_t column = hp_table_find(table, key);
    return column < table->column_count ? &row->cells[column] : &none;
}

bool hp_table_is_folded(const struct hp_table_view *view, const struct hp_table_row *row)
{
    for (size_t at = 0; at < view->folded_count; at++)
        if (view->folded[at] == row->id)
            return !row->begins_folded;
    return row->begins_folded;
}

void hp_table_view_free(struct hp_table_view *view)
{
    free(view->order);
    free(view->folded);
    memset(view, 0, sizeof *view);
}

/* ---------------------------------------------------------------------------------------------- fields */

struct hp_table_cell hp_table_same(struct hp_table_cell cell) { return cell; }

struct hp_table_cell hp_table_text(const char *text)
{
    return (struct hp_table_cell){.has_value = text != NULL && text[0] != '\0', .text = text};
}

struct hp_table_cell hp_table_number(double number)
{
    return (struct hp_table_cell){.has_value = true, .number = number};
}

struct hp_table_cell hp_table_count(uint64_t count) { return hp_table_number((double)count); }

/* ---------------------------------------------------------------------------------------------- order */

/* For hp_sort, which has no context: one table at a time. */
static struct {
    const struct hp_table *table;
    size_t column;
    bool is_ascending;
} sorting;

static int compare_texts(const char *a, const char *b) { return strcmp(a != NULL ? a : "", b != NULL ? b : ""); }

static int compare_cells(const struct hp_table_cell *x, const struct hp_table_cell *y, enum hp_column_kind kind)
{
    if (x->has_value != y->has_value)
        return x->has_value ? -1 : 1; /* unknown values are last in either order */
    /* Texts of process and thread ids have their numbers, too. */
    if ((kind == HP_CELL_NAME || kind == HP_CELL_TEXT) && x->number == y->number)
        return sorting.is_ascending ? compare_texts(x->text, y->text) : compare_texts(y->text, x->text);
    if (x->number == y->number)
        return 0;
    return (x->number < y->number) == sorting.is_ascending ? -1 : 1;
}

static int compare_rows(const void *a, const void *b)
{
    const struct hp_table_row *x = a, *y = b;
    if (x->is_last != y->is_last)
        return x->is_last ? 1 : -1;
    const int order = compare_cells(&x->cells[sorting.column], &y->cells[sorting.column],
                                    sorting.table->columns[sorting.column].kind);
    if (order != 0)
        return order;
    return x->index < y->index ? -1 : x->index > y->index;
}

size_t hp_table_sort_column(const struct hp_table *table, const struct hp_table_view *view, bool *ret_ascending)
{
    const size_t chosen = view->sort[0] != '\0' ? hp_table_find(table, view->sort) : table->column_count;
    const size_t usual = table->sort != NULL ? hp_table_find(table, table->sort) : table->column_count;
    const size_t column = chosen < table->column_count ? chosen : usual;
    if (column == table->column_count)
        return column;
    const enum hp_column_kind kind = table->columns[column].kind;
    const bool is_text = kind == HP_CELL_NAME || kind == HP_CELL_TEXT;
    const bool is_usual = column == usual && chosen == table->column_count;
    *ret_ascending = (is_usual ? table->is_ascending : is_text) != view->is_reversed;
    return column;
}

static bool keep_order(struct hp_table_view *view, const struct hp_table_row *const *rows, size_t count)
{
    if (!HP_MAKE_ROOM(view->order, count, view->order_room))
        return false;
    for (size_t at = 0; at < count; at++)
        view->order[at] = rows[at]->id;
    view->order_count = count;
    return true;
}

/* Rows by their identities. */
struct places {
    const struct hp_table_row **all;
    size_t mask;
};

static bool index_rows(const struct hp_table *table, struct hp_arena *arena, struct places *ret_places)
{
    size_t size = 16;
    while (size < 2 * table->row_count)
        size *= 2;
    ret_places->all = hp_arena_take_array(arena, size, sizeof(void *));
    ret_places->mask = size - 1;
    for (size_t row = 0; ret_places->all != NULL && row < table->row_count; row++) {
        size_t at = (size_t)table->rows[row].id & ret_places->mask;
        while (ret_places->all[at] != NULL)
            at = (at + 1) & ret_places->mask;
        ret_places->all[at] = &table->rows[row];
    }
    return ret_places->all != NULL;
}

static const struct hp_table_row *find_row(const struct places *places, uint64_t id)
{
    size_t at = (size_t)id & places->mask;
    while (places->all[at] != NULL && places->all[at]->id != id)
        at = (at + 1) & places->mask;
    return places->all[at];
}

/* In the previous order, then new rows, in the order of the table. */
static bool stand_still(const struct hp_table *table, const struct hp_table_view *view, struct hp_arena *arena,
                        const struct hp_table_row **rows)
{
    struct places places;
    bool *is_placed = hp_arena_take_array(arena, table->row_count + 1, sizeof *is_placed);
    size_t count = 0;
    if (is_placed == NULL || !index_rows(table, arena, &places))
        return false;
    for (size_t at = 0; at < view->order_count; at++) {
        const struct hp_table_row *row = find_row(&places, view->order[at]);
        if (row == NULL || is_placed[row->index])
            continue;
        is_placed[row->index] = true;
        rows[count++] = row;
    }
    for (size_t at = 0; at < table->row_count; at++)
        if (!is_placed[at])
            rows[count++] = &table->rows[at];
    return true;
}

static bool put_in_order(const struct hp_table *table, struct hp_table_view *view, struct hp_arena *arena,
                         bool may_sort, const struct hp_table_row **rows)
{
    bool is_ascending = false;
    const size_t column = hp_table_sort_column(table, view, &is_ascending);
    for (size_t at = 0; at < table->row_count; at++)
        rows[at] = &table->rows[at];
    if (table->is_tree)
        return true;
    if (!may_sort && view->order_count > 0)
        return stand_still(table, view, arena, rows);
    if (column < table->column_count) {
        sorting.table = table;
        sorting.column = column;
        sorting.is_ascending = is_ascending;
        hp_sort(rows, table->row_count, compare_rows);
    }
    return keep_order(view, rows, table->row_count);
}

/* ---------------------------------------------------------------------------------------------- filter */

static bool is_match(const char *name, const char *filter)
{
    const size_t length = strlen(filter);
    for (; length > 0 && *name != '\0'; name++)
        if (hp_text_equal_nocase(name, strnlen(name, length), filter))
            return true;
    return length == 0;
}

/* In a tree the ancestors of a match stay, too. */
static void keep_above(const struct hp_table *table, bool *is_kept, size_t row)
{
    unsigned depth = table->rows[row].depth;
    while (row > 0 && depth > 0) {
        row--;
        if (table->rows[row].depth < depth) {
            is_kept[row] = true;
            depth = table->rows[row].depth;
        }
    }
}

static bool *find_matches(const struct hp_table *table, const struct hp_table_view *view, struct hp_arena *arena)
{
    bool *is_kept = hp_arena_take_array(arena, table->row_count + 1, sizeof *is_kept);
    for (size_t at = 0; is_kept != NULL && at < table->row_count; at++)
        if (is_match(hp_table_row_name(&table->rows[at]), view->filter)) {
            is_kept[at] = true;
            if (table->is_tree)
                keep_above(table, is_kept, at);
        }
    return is_kept;
}

/* The cursor stays on its row or, if that is gone, on its line. */
static void place_cursor(struct hp_table_view *view, const struct hp_shown_rows *rows)
{
    for (size_t at = 0; view->cursor != 0 && at < rows->count; at++)
        if (rows->all[at]->id == view->cursor) {
            view->line = at;
            return;
        }
    if (view->line >= rows->count)
        view->line = rows->count > 0 ? rows->count - 1 : 0;
    if (rows->count > 0 && view->cursor != 0)
        view->cursor = rows->all[view->line]->id;
}

bool hp_table_arrange(const struct hp_table *table, struct hp_table_view *view, struct hp_arena *arena,
                      bool may_sort, struct hp_shown_rows *ret_rows)
{
    const struct hp_table_row **rows = hp_arena_take_array(arena, table->row_count + 1, sizeof(void *));
    const bool *is_kept = rows != NULL ? find_matches(table, view, arena) : NULL;
    *ret_rows = (struct hp_shown_rows){.of = table->row_count};
    if (is_kept == NULL || !put_in_order(table, view, arena, may_sort, rows))
        return false;
    unsigned folded_at = UINT32_MAX; /* deeper rows are not shown */
    for (size_t at = 0; at < table->row_count; at++) {
        const struct hp_table_row *row = rows[at];
        if (table->is_tree && row->depth > folded_at)
            continue;
        folded_at = table->is_tree && row->is_folded && view->filter[0] == '\0' ? row->depth : UINT32_MAX;
        if (is_kept[row->index])
            rows[ret_rows->count++] = row;
    }
    ret_rows->all = rows;
    place_cursor(view, ret_rows);
    return true;
}
