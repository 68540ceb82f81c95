/* The sixth tab: threads, with what each did over time. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "thread_activity.h"
#include "views.h"
#include "wait_cause.h"

/* ------------------------------------------------------------------------------------------------ over time */

/* What the threads of the sessions did, as far as it is known. */
struct activities {
    struct hp_history *history;
    struct hp_thread_activity (*all)[HP_AXIS_THREADS]; /* by axis of the history */
    size_t counts[HP_HISTORY_MOST];
};

/* False: nothing is known of any. */
static bool list_activities(struct hp_console *console, struct activities *activities)
{
    size_t count = 0;
    struct hp_history *history = &console->watched.history;
    *activities = (struct activities){.history = history};
    activities->all = hp_arena_take_array(&console->arena, history->count + 1, sizeof *activities->all);
    for (size_t at = 0; activities->all != NULL && at < history->count; at++)
        count += activities->counts[at] = hp_thread_activities(&history->axes[at], activities->all[at]);
    return count > 0;
}

/* The thread of that number, and its axis; NULL: what it did is unknown. */
static const struct hp_thread_activity *find_thread(const struct activities *activities, uint32_t tid,
                                                    const struct hp_run_axis **ret_axis)
{
    for (size_t axis = 0; axis < activities->history->count; axis++)
        for (size_t at = 0; at < activities->counts[axis]; at++)
            if (activities->all[axis][at].tid == tid) {
                *ret_axis = &activities->history->axes[axis];
                return &activities->all[axis][at];
            }
    return NULL;
}

/* HP_ALL_PARTS rows of HP_TABLE_LANE steps; NULL: no memory. */
static double *make_lane(struct hp_console *console, const struct hp_run_axis *axis,
                         const struct hp_thread_activity *thread)
{
    const struct hp_history *history = &console->watched.history;
    const struct hp_run_steps steps = {.moments = history->moments, .count = history->columns, .are_live = true};
    double *lane = hp_arena_take_array(&console->arena, (size_t)HP_ALL_PARTS * HP_TABLE_LANE, sizeof *lane);
    for (unsigned part = 0; lane != NULL && part < HP_ALL_PARTS; part++)
        hp_thread_activity_add(axis, thread, (enum hp_activity)part, &steps, 1 / history->step_ns,
                               &lane[part * HP_TABLE_LANE]);
    return lane;
}

/* "idle 98 %": what was done in most of the window, with the parts that say so. */
static struct hp_table_cell mostly_of(struct hp_console *console, const double *parts)
{
    char text[64], percent[HP_FIGURE_BYTES];
    double sums[HP_ALL_PARTS], all = 0;
    struct hp_table_cell cell = {.values = parts};
    for (unsigned part = 0; part < HP_ALL_PARTS; part++) {
        sums[part] = parts[part];
        all += parts[part];
    }
    sums[HP_PART_USER] += sums[HP_PART_KERNEL];
    sums[HP_PART_KERNEL] = 0;
    const unsigned main = hp_main_part(sums);
    if (main == HP_ALL_PARTS)
        return cell;
    snprintf(text, sizeof text, "%s %s", main == HP_PART_USER ? "cpu" : hp_part_name((enum hp_activity)main),
             hp_figure(percent, HP_FIGURE_PERCENT, 100 * sums[main] / all));
    cell.text = hp_arena_copy(&console->arena, text, strlen(text));
    cell.has_value = cell.text != NULL;
    return cell;
}

/* NULL: no memory. */
static const double *parts_of(struct hp_console *console, const struct hp_run_axis *axis,
                              const struct hp_thread_activity *thread)
{
    double *parts = hp_arena_take_array(&console->arena, HP_ALL_PARTS, sizeof *parts);
    uint64_t ns[HP_ALL_PARTS];
    hp_thread_activity_in(axis, thread, console->watched.from_ns, console->watched.to_ns, ns);
    for (unsigned part = 0; parts != NULL && part < HP_ALL_PARTS; part++)
        parts[part] = (double)ns[part];
    return parts;
}

static void add_activities(struct hp_console *console, const struct hotpath_section *section,
                           const struct activities *activities)
{
    const struct hp_run_axis *axis;
    const struct hp_table *table = &console->table;
    const size_t tid = hp_section_find_column(section, "tid", 3);
    const size_t mostly = hp_table_find(table, "mostly"), lane = hp_table_find(table, "history");
    hp_history_choose(activities->history, HP_VIEW_HISTORY_NS, console->watched.to_ns, HP_TABLE_LANE);
    for (size_t row = 0; tid < section->column_count && lane < table->column_count && row < section->row_count;
         row++) {
        const struct hp_cell *cell = &section->rows[row].cells[tid];
        const struct hp_thread_activity *thread =
            cell->has_value ? find_thread(activities, (uint32_t)cell->count, &axis) : NULL;
        const double *parts = thread != NULL ? parts_of(console, axis, thread) : NULL;
        if (parts == NULL)
            continue;
        table->rows[row].cells[lane].values = make_lane(console, axis, thread);
        table->rows[row].cells[mostly] = mostly_of(console, parts);
    }
}

/* ------------------------------------------------------------------------------------ groups, ended threads */

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

/* How many values a cell has besides its text. */
static size_t values_of(const struct hp_table_column *column)
{
    if (column->kind == HP_CELL_LANE)
        return (size_t)HP_ALL_PARTS * HP_TABLE_LANE;
    return strcmp(column->key, "mostly") == 0 ? HP_ALL_PARTS : 0;
}

static void add_values(struct hp_arena *arena, size_t count, struct hp_table_cell *to,
                       const struct hp_table_cell *from)
{
    double *sums =
        to->values != NULL && from->values != NULL ? hp_arena_take_array(arena, count, sizeof *sums) : NULL;
    for (size_t at = 0; sums != NULL && at < count; at++)
        sums[at] = to->values[at] + from->values[at];
    if (sums != NULL || to->values == NULL)
        to->values = sums != NULL ? sums : from->values;
}

/*
 * Amounts are added. Percentages stay those of one thread: the highest of the maxima, and the average of the
 * others, whose sum may be above any that there was at one time. Cells that differ are unknown for the group.
 */
static void add_cell(struct hp_arena *arena, const struct hp_table_column *column, struct hp_table_cell *to,
                     const struct hp_table_cell *from)
{
    if (values_of(column) > 0) {
        add_values(arena, values_of(column), to, from);
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
    const size_t mostly = hp_table_find(table, "mostly");
    if (mostly < table->column_count && row->cells[mostly].values != NULL)
        row->cells[mostly] = mostly_of(console, row->cells[mostly].values);
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
            add_cell(&console->arena, &table->columns[column], &table->rows[at].cells[column],
                     &table->rows[row].cells[column]);
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

void hp_view_threads(struct hp_console *console, const struct hotpath_section *section)
{
    static const struct hp_table_column more[] = {
        {.key = "mostly",
         .title = "Mostly",
         .kind = HP_CELL_TEXT,
         .width = 16,
         .rank = 2,
         .about = "What it did most of the time in the time range on the screen."},
        {.key = "history",
         .title = "Last 60 s",
         .kind = HP_CELL_LANE,
         .width = 20,
         .rank = 1,
         .about = "What it did most of each moment."}};
    struct activities activities;
    const bool has_activities = list_activities(console, &activities);
    if (hp_view_section_with(console, section, more, has_activities ? sizeof more / sizeof more[0] : 0) == NULL)
        return;
    if (has_activities)
        add_activities(console, section, &activities);
    console->ended_threads = 0;
    if (!console->has_ended && console->watched.is_live)
        leave_out_ended(console);
    if (console->groups_threads)
        group_threads(console);
}
