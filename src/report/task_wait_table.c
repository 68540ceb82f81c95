/*
 * The section `task-waits`: what tasks waited for, by task class and request label. It is known where requests were
 * made by an adapter. SPDX-License-Identifier: MIT
 */
#include "arena.h"
#include "identity.h"
#include "order.h"
#include "section.h"
#include "sort.h"
#include "task_profile.h"

struct columns {
    size_t name, awaited, count, waiting, average, percent;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Task", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"awaited", "Waited For", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(awaited),
     "A label of tasks; <other>: the rest of the time in which the task did not run."},
    {"count", "Count", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(count),
     "How many of these have ended; null: unknown."},
    {"waiting_ns", "Waiting", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(waiting),
     "Time in which one was pending and the task did not run. Concurrent ones each count."},
    {"avg_ns", "Avg", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(average), "Average time per request."},
    {"percent_waiting", "% Waiting", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(percent),
     "Percent of the time in which the task did not run."},
};

struct view {
    struct hotpath_results *results;
    struct columns columns;
};

struct entry {
    const struct hp_task_sums *task;
    const struct hp_task_await *await; /* NULL: the rest */
    uint64_t ticks;
};

static bool fill_row(void *of, struct hp_row *row, const void *what)
{
    const struct view *view = of;
    const struct columns *columns = &view->columns;
    const struct entry *entry = what;
    const struct hp_run *run = &view->results->model->run;
    row->id = hp_identity_of_object(entry->task->row);
    hp_section_set_text(row, columns->name, entry->task->row->name);
    hp_section_set_text(row, columns->awaited, entry->await != NULL ? entry->await->name : "<other>");
    hp_section_set_number(row, columns->waiting, hp_run_ns(run, entry->ticks));
    if (entry->await != NULL) {
        hp_section_set_count(row, columns->count, entry->await->count);
        if (entry->await->count > 0)
            hp_section_set_number(row, columns->average,
                                  hp_run_ns(run, entry->ticks) / (double)entry->await->count);
    }
    if (entry->task->polls > 0 && entry->task->waiting > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)entry->ticks / (double)entry->task->waiting);
    return true;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->task != y->task) {
        if (x->task->awaited != y->task->awaited)
            return x->task->awaited > y->task->awaited ? -1 : 1;
        return x->task < y->task ? -1 : 1;
    }
    return x == y ? 0 : x < y ? -1 : 1; /* already sorted: the longest first, the rest last */
}

/* Adds the awaits of a task in their order, and the rest. */
static size_t add_entries(struct entry *entries, const struct hp_task_sums *task)
{
    size_t count = 0;
    for (const struct hp_task_await *at = task->awaits; at != NULL; at = at->next)
        entries[count++] = (struct entry){task, at, at->ticks};
    if (count > 0 && task->polls > 0 && task->waiting > task->awaited)
        entries[count++] = (struct entry){task, NULL, task->waiting - task->awaited};
    return count;
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_await_kind);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_tasks *tasks = hp_model_tasks(results->model);
    struct hp_arena *arena = results->model->arena;
    struct view *view = hp_arena_take(arena, sizeof *view);
    size_t most = 1, count = 0;
    if (tasks == NULL || view == NULL)
        return false;
    *view = (struct view){.results = results};
    for (size_t at = 0; at < tasks->count; at++)
        most += tasks->all[at].await_count + 1;
    struct entry *entries = hp_arena_take_array(arena, most, sizeof *entries);
    const void **rows = hp_arena_take_array(arena, most, sizeof(void *));
    section->description = "What tasks waited for.";
    section->if_empty = "it is unknown what tasks waited for: library adapters record it, see docs/async.md";
    if (entries == NULL || rows == NULL || !hp_section_describe(results, section, 0, &view->columns) ||
        !hp_order_choose(results, section, view->columns.waiting, HP_MAX_COLUMNS))
        return false;
    for (size_t at = 0; at < tasks->count; at++)
        if (hp_results_show_object(results, tasks->all[at].row))
            count += add_entries(entries + count, &tasks->all[at]);
    for (size_t at = 0; at < count; at++)
        rows[at] = &entries[at];
    hp_sort(rows, count, compare_entries);
    section->order.is_set =
        !section->order.is_usual; /* the default order is not that of a column: awaits of a task stay together */
    section->total_rows = count;
    return hp_order_fill(results, section, results->settings->show.functions_limit, rows, count, fill_row, view);
}

const struct hp_section_type hp_section_task_waits = {
    .name = "task-waits",
    .alias = "awaits",
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    .about = "What tasks waited for, as recorded by library adapters.",
    .about_row = "Requests of one label that tasks of another label waited for."};
