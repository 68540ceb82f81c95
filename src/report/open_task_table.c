/* The section `open-tasks`: tasks that have not ended, the oldest first. SPDX-License-Identifier: MIT */
#include "arena.h"
#include "identity.h"
#include "object_snapshot.h"
#include "order.h"
#include "section.h"
#include "task_profile.h"

struct columns {
    size_t name, age, state, polls, busy, process;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Task", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"age_ns", "Age", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(age), "Time since its creation."},
    {"state", "State", HOTPATH_UNIT_STATE, HP_COLUMN_SHOWN, AT(state), .words = "running|waiting"},
    {"polls", "Polls", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(polls), "Polls that have ended."},
    {"busy_ns", "Busy", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(busy), "Time in which it ran."},
    {"pid", "Process", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(process), .needs = HP_FACT_PROCESSES},
};

struct view {
    struct hotpath_results *results;
    struct columns columns;
};

static bool fill_row(void *of, struct hp_row *row, const void *entry)
{
    const struct view *view = of;
    const struct hp_open_task *task = entry;
    const double ns = view->results->model->run.ns_per_tick;
    row->id = hp_identity_with_number(hp_identity_of_object(task->row), task->age);
    hp_section_set_text(row, view->columns.name, task->row->name);
    hp_section_set_number(row, view->columns.age, (double)task->age * ns);
    hp_section_set_text(row, view->columns.state, task->is_running ? "running" : "waiting");
    hp_section_set_count(row, view->columns.polls, task->polls);
    hp_section_set_number(row, view->columns.busy, (double)task->busy * ns);
    hp_section_set_count(row, view->columns.process, task->session->header.pid);
    return true;
}

static bool has_data(const struct hotpath_results *results)
{
    for (size_t at = 0; at < results->model->run.count; at++) {
        struct hp_walk walk = {0};
        struct hp_task_slot slot;
        if (hp_snapshot_next_task(results->model->run.sessions[at], &walk, &slot))
            return true;
    }
    return false;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_objects *objects = hp_model_objects(results->model);
    const struct hp_open_tasks *open =
        objects != NULL ? hp_open_tasks_of_run(results->model->arena, objects, &results->model->run) : NULL;
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (open == NULL || view == NULL)
        return false;
    *view = (struct view){.results = results};
    section->description = "Tasks that have not ended.";
    section->if_empty = "no task is open";
    if (!hp_section_describe(results, section, 0, &view->columns) ||
        !hp_order_choose(results, section, view->columns.age, HP_MAX_COLUMNS))
        return false;
    const void **entries = hp_arena_take_array(results->model->arena, open->count + 1, sizeof(void *));
    size_t count = 0;
    for (size_t at = 0; entries != NULL && at < open->count; at++)
        if (hp_results_show_object(results, open->all[at]->row))
            entries[count++] = open->all[at];
    section->total_rows = count;
    return entries != NULL &&
           hp_order_fill(results, section, results->settings->show.functions_limit, entries, count, fill_row, view);
}

const struct hp_section_type hp_section_open_tasks = {.name = "open-tasks",
                                                      .alias = "open-futures",
                                                      .is_left_out_empty = true,
                                                      .has_data = has_data,
                                                      .fill = fill,
                                                      HP_COLUMNS(column_table),
                                                      .about = "Tasks that have not ended, the oldest first.",
                                                      .always = "order"};
