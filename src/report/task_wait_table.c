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

struct entry {
    const struct hp_task_sums *task;
    const struct hp_task_await *await; /* NULL: the rest */
    uint64_t ticks;
};

static void fields(struct hp_fields *to, void *view, const void *of)
{
    (void)view;
    const struct entry *entry = of;
    if (to->row != NULL)
        to->row->id = hp_identity_of_object(entry->task->row);
    HP_FIELD(to, entry->task->row->name, "name", "Task", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, entry->await != NULL ? entry->await->name : "<other>", "awaited", "Waited For", TEXT,
             HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "A label of tasks; <other>: the rest of the time in which the task did not run.");
    HP_FIELD_IF(to, entry->await != NULL, entry->await->count, "count", "Count", COUNT, HP_COLUMN_SHOWN,
                "How many of these have ended; null: unknown.");
    HP_FIELD(to, hp_fields_ns(to, entry->ticks), "waiting_ns", "Waiting", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time in which one was pending and the task did not run. Concurrent ones each count.");
    HP_FIELD_IF(to, entry->await != NULL && entry->await->count > 0,
                hp_fields_ns(to, entry->ticks) / (double)entry->await->count, "avg_ns", "Avg", NS, HP_COLUMN_SHOWN,
                "Average time per request.");
    HP_FIELD_IF(to, entry->task->polls > 0, hp_percent_of(entry->ticks, entry->task->waiting), "percent_waiting",
                "% Waiting", PERCENT, HP_COLUMN_SHOWN, "Percent of the time in which the task did not run.");
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
    size_t most = 1, count = 0;
    if (tasks == NULL)
        return false;
    for (size_t at = 0; at < tasks->count; at++)
        most += tasks->all[at].await_count + 1;
    struct entry *entries = hp_arena_take_array(arena, most, sizeof *entries);
    const void **rows = hp_arena_take_array(arena, most, sizeof(void *));
    section->description = "What tasks waited for.";
    section->if_empty = "it is unknown what tasks waited for: library adapters record it, see docs/async.md";
    if (entries == NULL || rows == NULL || !hp_section_begin(results, section, NULL, 0, "waiting_ns", NULL))
        return false;
    for (size_t at = 0; at < tasks->count; at++)
        if (hp_results_show_object(results, tasks->all[at].row))
            count += add_entries(entries + count, &tasks->all[at]);
    for (size_t at = 0; at < count; at++)
        rows[at] = &entries[at];
    hp_sort(rows, count, compare_entries);
    /* The default order is not that of a column: awaits of a task stay together. */
    section->order.is_set = !section->order.is_usual;
    return hp_section_fill_rows(results, section, rows, count, NULL);
}

const struct hp_section_type hp_section_task_waits = {
    .name = "task-waits",
    .alias = "awaits",
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .about = "What tasks waited for, as recorded by library adapters.",
    .about_row = "Requests of one label that tasks of another label waited for."};
