/* Sections of reports as tables: a new section gets a sub-view automatically. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "views.h"
#include "wait_cause.h"

#define MOST_HISTORIES 200u

/* --------------------------------------------------------------------------------------------- sections */

static enum hp_figure figure_of(const struct hp_column *column)
{
    switch (column->shown.unit) {
    case HOTPATH_UNIT_COUNT:
        return column->traits & HP_COLUMN_ESTIMATE ? HP_FIGURE_ABOUT : HP_FIGURE_COUNT;
    case HOTPATH_UNIT_SIGNED_COUNT:
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

static void add_section_columns(struct hp_table *table, const struct hotpath_section *section, size_t *columns)
{
    /* The name comes first, wherever the section has it. */
    size_t name = 0;
    while (name < section->column_count && !(section->columns[name].traits & HP_COLUMN_NAME))
        name++;
    for (size_t step = 0; step <= section->column_count; step++) {
        const size_t at = step == 0 ? name : step - 1;
        if (at >= section->column_count || (step > 0 && at == name) || table->column_count == HP_TABLE_COLUMNS ||
            !is_listed(&section->columns[at]))
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
                                                      .width = step == 0                            ? 16
                                                               : !is_text                           ? 5
                                                               : column->traits & HP_COLUMN_ELASTIC ? 24
                                                                                                    : 40,
                                                      .rank = rank_of(column, step),
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

/* How busy each thread was; the column exists already. */
static void add_thread_histories(struct hp_console *console, const struct hotpath_section *section)
{
    struct hp_history *history = &console->watched.history;
    const size_t tid = hp_section_find_column(section, "tid", 3);
    const size_t column = hp_table_find(&console->table, "history");
    if (history->count == 0 || tid >= section->column_count || column == console->table.column_count)
        return;
    hp_history_choose(history, HP_VIEW_HISTORY_NS, console->watched.to_ns, HP_VIEW_SPARK);
    for (size_t row = 0; row < section->row_count && row < MOST_HISTORIES; row++) {
        const struct hp_cell *cell = &section->rows[row].cells[tid];
        double *values = hp_arena_take_array(&console->arena, HP_VIEW_SPARK, sizeof *values);
        if (values != NULL && cell->has_value &&
            hp_history_add(history, HP_AXIS_THREAD, HP_HISTORY_ALL, (uint32_t)cell->count, 1e-9, values))
            console->table.rows[row].cells[column].values = values;
    }
}

/* "worker-3" and "worker 12" are of one kind. */
static size_t kind_length(const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && strchr("0123456789", name[length - 1]) != NULL)
        length--;
    while (length > 1 && length < strlen(name) && strchr("-_#:/ ", name[length - 1]) != NULL)
        length--;
    return length > 0 ? length : strlen(name);
}

static bool is_same_kind(const char *one, const char *other)
{
    return one != NULL && other != NULL && kind_length(one) == kind_length(other) &&
           strncmp(one, other, kind_length(one)) == 0;
}

static bool is_ended(const struct hp_table *table, const struct hp_table_row *row)
{
    const size_t state = hp_table_find(table, "state");
    return state < table->column_count && row->cells[state].text != NULL &&
           strcmp(row->cells[state].text, "ended") == 0;
}

/*
 * Amounts are added. Percentages stay those of one thread: the highest of the maxima, and the average of the
 * others, whose sum may be above any that there was at one time. Cells that differ are unknown for the group.
 */
static void add_cell(const struct hp_table_column *column, struct hp_table_cell *to,
                     const struct hp_table_cell *from, double *room)
{
    if (column->kind == HP_CELL_SPARK && to->values != NULL && from->values != NULL && room != NULL) {
        for (unsigned at = 0; at < HP_VIEW_SPARK; at++)
            room[at] = to->values[at] + from->values[at];
        to->values = room;
    } else if (column->kind == HP_CELL_SPARK) {
        to->values = to->values != NULL ? to->values : from->values;
    } else if (column->kind == HP_CELL_FIGURE && strcmp(column->key, "percent_max") == 0) {
        to->number = from->has_value && (!to->has_value || from->number > to->number) ? from->number : to->number;
        to->has_value |= from->has_value;
    } else if (column->kind == HP_CELL_FIGURE) {
        to->number += from->has_value ? from->number : 0;
        to->has_value |= from->has_value;
    } else if (to->text == NULL || from->text == NULL || strcmp(to->text, from->text) != 0) {
        *to = hp_table_text(NULL);
    }
}

static bool is_average(const struct hp_table_column *column)
{
    return column->kind == HP_CELL_FIGURE && column->figure == HP_FIGURE_PERCENT &&
           strcmp(column->key, "percent_max") != 0;
}

/* A group in the making: its threads, and for each column those that have a value. */
struct group {
    size_t threads, valued[HP_TABLE_COLUMNS];
};

static void count_in(const struct hp_table *table, const struct hp_table_row *row, struct group *group)
{
    group->threads++;
    for (size_t column = 0; column < table->column_count; column++)
        group->valued[column] += row->cells[column].has_value;
}

static void end_group(struct hp_console *console, struct hp_table_row *row, const struct group *group)
{
    char name[200];
    const struct hp_table *table = &console->table;
    for (size_t column = 1; column < table->column_count; column++)
        if (is_average(&table->columns[column]) && group->valued[column] > 0)
            row->cells[column].number /= (double)group->valued[column];
    const char *before = row->cells[0].text;
    if (group->threads < 2 || before == NULL)
        return;
    snprintf(name, sizeof name, "%.*s × %zu", (int)kind_length(before), before, group->threads);
    row->cells[0] = hp_table_text(hp_arena_copy(&console->arena, name, strlen(name)));
}

/* One row per kind: "worker × 6". */
static void group_threads(struct hp_console *console)
{
    struct hp_table *table = &console->table;
    struct group *groups = hp_arena_take_array(&console->arena, table->row_count + 1, sizeof *groups);
    size_t kept = 0;
    for (size_t row = 0; groups != NULL && row < table->row_count; row++) {
        size_t at = 0;
        while (at < kept && !is_same_kind(table->rows[at].cells[0].text, table->rows[row].cells[0].text))
            at++;
        count_in(table, &table->rows[row], &groups[at]);
        if (at == kept) {
            table->rows[kept] = table->rows[row];
            table->rows[kept].index = kept;
            kept++;
            continue;
        }
        for (size_t column = 1; column < table->column_count; column++)
            add_cell(&table->columns[column], &table->rows[at].cells[column], &table->rows[row].cells[column],
                     table->columns[column].kind == HP_CELL_SPARK
                         ? hp_arena_take_array(&console->arena, HP_VIEW_SPARK, sizeof(double))
                         : NULL);
    }
    for (size_t at = 0; at < kept; at++)
        end_group(console, &table->rows[at], &groups[at]);
    table->row_count = groups != NULL ? kept : table->row_count;
}

/* While others live, ended threads are only counted. */
static void leave_out_ended(struct hp_console *console)
{
    struct hp_table *table = &console->table;
    size_t kept = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        if (is_ended(table, &table->rows[row])) {
            console->ended_threads++;
            continue;
        }
        table->rows[kept] = table->rows[row];
        table->rows[kept].index = kept;
        kept++;
    }
    table->row_count = kept;
}

static void choose_threads(struct hp_console *console)
{
    console->ended_threads = 0;
    if (!console->has_ended && console->watched.is_live)
        leave_out_ended(console);
    if (console->groups_threads)
        group_threads(console);
}

static void begin_row(struct hp_console *console, const struct hotpath_section *section, size_t at)
{
    struct hp_table_row *row = &console->table.rows[at];
    row->id = section->rows[at].id;
    row->depth = section->rows[at].depth;
    row->has_children =
        section->is_tree && at + 1 < section->row_count && section->rows[at + 1].depth > section->rows[at].depth;
    row->is_folded = section->is_tree && hp_table_is_folded(console->view, row->id);
}

void hp_view_section(struct hp_console *console, const struct hotpath_section *section)
{
    struct hp_table *table = &console->table;
    size_t columns[HP_TABLE_COLUMNS] = {0};
    add_section_columns(table, section, columns);
    const size_t own_columns = table->column_count;
    if (strcmp(section->name, "threads") == 0)
        hp_table_add(table, &(struct hp_table_column){"history", "Last 60 s", HP_CELL_SPARK, HP_FIGURE_TEXT,
                                                      HP_VIEW_SPARK, 50, "On a CPU.", 0, 0});
    table->is_tree = section->is_tree;
    table->if_empty = section->if_empty;
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, section->row_count);
    for (size_t row = 0; rows != NULL && row < section->row_count; row++) {
        begin_row(console, section, row);
        for (size_t at = 0; at < own_columns; at++)
            fill_section_cell(console, &rows[row].cells[at], &section->rows[row],
                              &section->rows[row].cells[columns[at]], &section->columns[columns[at]]);
    }
    if (strcmp(section->name, "threads") == 0) {
        add_thread_histories(console, section);
        choose_threads(console);
    }
    if (!section->is_tree && section->order.is_set && section->order.column < section->column_count)
        for (size_t at = 0; at < own_columns; at++)
            if (columns[at] == section->order.column) {
                table->sort = table->columns[at].key;
                table->is_ascending = section->order.is_ascending;
            }
}

/* ---------------------------------------------------------------------------------------- the call tree */

static uint32_t cause_named(const char *name)
{
    uint32_t cause = 0;
    while (cause < HP_WAIT_CAUSES && strcmp(hp_wait_cause_name(cause), name) != 0)
        cause++;
    return cause;
}

/* What a tree node does itself: CPU time, and waiting by cause. */
static void find_own_parts(const struct hotpath_section *section, const struct hp_row *row, double elapsed,
                           double *parts)
{
    const size_t cpu = hp_section_find_column(section, "own_cpu_ns", 10);
    const size_t waits = hp_section_find_column(section, "waits_ns", 8);
    if (cpu < section->column_count && row->cells[cpu].has_value)
        parts[HP_PART_USER] = row->cells[cpu].number / elapsed;
    if (waits >= section->column_count || !row->cells[waits].has_value || row->cells[waits].histogram == NULL)
        return;
    const struct hotpath_histogram *causes = row->cells[waits].histogram;
    for (size_t at = 0; causes->labels != NULL && at < causes->bars; at++)
        parts[hp_part_of_cause(cause_named(causes->labels[at]))] += (double)causes->amounts[at] / elapsed;
}

/* The unknown rest of a node's own time is waiting; what exceeds its own time is cut. */
static void fit_parts(double *parts, double own)
{
    double known = 0;
    for (unsigned part = 0; part < HP_PARTS; part++)
        known += parts[part];
    for (unsigned part = 0; known > own && part < HP_PARTS; part++)
        parts[part] *= own / known;
    if (known < own)
        parts[HP_PART_SLEEP] += own - known;
}

/* Adds children to their parents: rows come parent first. */
static void add_to_parents(const struct hotpath_section *section, double *parts)
{
    for (size_t row = section->row_count; row-- > 0;) {
        const uint32_t parent = section->rows[row].parent;
        for (unsigned part = 0; parent > 0 && part < HP_PARTS; part++)
            parts[(parent - 1) * HP_PARTS + part] += parts[row * HP_PARTS + part];
    }
}

size_t hp_view_polls_column(const struct hotpath_section *section)
{
    const size_t polls = hp_section_find_column(section, "polls", 5);
    return polls < section->column_count && section->columns[polls].shown.visible ? polls : section->column_count;
}

/* A row of the section, and where its numbers are. */
struct tree {
    const struct hotpath_section *section;
    size_t name, total, self, calls, polls;
    double elapsed, sum; /* of own times */
    const struct hp_row *row;
    const double *parts; /* of the row */
};

static double number_of(const struct tree *tree, size_t column) { return tree->row->cells[column].number; }

static struct hp_table_cell rate_of(const struct tree *tree, size_t column)
{
    const struct hp_cell *cell = &tree->row->cells[column];
    return (struct hp_table_cell){.has_value = cell->has_value,
                                  .number = (double)cell->count * 1e9 / tree->elapsed};
}

static void show_tree(struct hp_table_fields *to, const struct tree *tree)
{
    HP_SHOW(to, tree->row->cells[tree->name].text, "name", "Call tree", HP_CELL_NAME, HP_FIGURE_TEXT, 24, 0,
            "Functions, indented below their callers.");
    HP_SHOW(to, number_of(tree, tree->total) / tree->elapsed, "total", "Total", HP_CELL_FIGURE, HP_FIGURE_THREADS,
            6, 0, "Threads in the function or its callees, on average.");
    HP_SHOW(to, number_of(tree, tree->self) / tree->elapsed, "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 6, 0,
            "Threads in the function itself, on average.");
    HP_SHOW_IF(to, tree->sum > 0, tree->sum > 0 ? 100 * number_of(tree, tree->total) / tree->sum : 0, "share",
               "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 6, 1, "Of the time of all threads in functions.");
    HP_SHOW(to, (struct hp_table_cell){.values = tree->parts}, "what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 20,
            2, "What they do there, callees included.");
    HP_SHOW(to, rate_of(tree, tree->calls), "calls_s", "Calls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 3,
            "Calls per second.");
    if (tree->polls < tree->section->column_count)
        HP_SHOW(to, rate_of(tree, tree->polls), "polls_s", "Polls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7, 4,
                "How often tasks ran, per second.");
}

void hp_view_tree(struct hp_console *console, const struct hotpath_section *section)
{
    struct hp_table *table = &console->table;
    struct hp_table_fields to = {.table = table};
    struct tree tree = {.section = section,
                        .name = hp_section_column(section, "name"),
                        .total = hp_section_column(section, "total_ns"),
                        .self = hp_section_column(section, "self_ns"),
                        .calls = hp_section_column(section, "calls"),
                        .polls = hp_view_polls_column(section),
                        .elapsed = console->watched.elapsed_ns > 0 ? (double)console->watched.elapsed_ns : 1};
    show_tree(&to, &tree);
    table->is_tree = true;
    table->if_empty = section->if_empty;
    struct hp_table_row *rows = hp_table_make_rows(table, &console->arena, section->row_count);
    double *parts = hp_arena_take_array(&console->arena, (section->row_count + 1) * HP_PARTS, sizeof *parts);
    if (rows == NULL || parts == NULL)
        return;
    for (size_t row = 0; row < section->row_count; row++)
        tree.sum += section->rows[row].cells[tree.self].number;
    for (size_t row = 0; row < section->row_count; row++) {
        tree.row = &section->rows[row];
        tree.parts = &parts[row * HP_PARTS];
        begin_row(console, section, row);
        find_own_parts(section, tree.row, tree.elapsed, &parts[row * HP_PARTS]);
        fit_parts(&parts[row * HP_PARTS], number_of(&tree, tree.self) / tree.elapsed);
        to = (struct hp_table_fields){.table = table, .row = &rows[row]};
        show_tree(&to, &tree);
    }
    add_to_parents(section, parts);
}
