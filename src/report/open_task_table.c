/* The section `open-tasks`: tasks that have not ended, the oldest first. SPDX-License-Identifier: MIT */
#include "arena.h"
#include "identity.h"
#include "object_snapshot.h"
#include "order.h"
#include "section.h"
#include "task_profile.h"

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    (void)view;
    const struct hp_open_task *task = entry;
    if (to->row != NULL)
        to->row->id = hp_identity_with_number(hp_identity_of_object(task->row), task->age);
    HP_FIELD(to, task->row->name, "name", "Task", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, hp_fields_ns(to, task->age), "age_ns", "Age", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time since its creation.");
    HP_FIELD(to, task->is_running ? "running" : "waiting", "state", "State", STATE, HP_COLUMN_SHOWN,
             .words = "running|waiting");
    HP_FIELD(to, task->polls, "polls", "Polls", COUNT, HP_COLUMN_SHOWN, "Polls that have ended.");
    HP_FIELD(to, hp_fields_ns(to, task->busy), "busy_ns", "Busy", NS, HP_COLUMN_SHOWN, "Time in which it ran.");
    HP_FIELD(to, task->session->header.pid, "pid", "Process", COUNT, HP_COLUMN_SHOWN, .needs = HP_FACT_PROCESSES);
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
    if (open == NULL)
        return false;
    section->description = "Tasks that have not ended.";
    section->if_empty = "no task is open";
    if (!hp_section_begin(results, section, NULL, 0, "age_ns", NULL))
        return false;
    const void **entries = hp_arena_take_array(results->model->arena, open->count + 1, sizeof(void *));
    size_t count = 0;
    for (size_t at = 0; entries != NULL && at < open->count; at++)
        if (hp_results_show_object(results, open->all[at]->row))
            entries[count++] = open->all[at];
    return entries != NULL && hp_section_fill_rows(results, section, entries, count, NULL);
}

const struct hp_section_type hp_section_open_tasks = {.name = "open-tasks",
                                                      .alias = "open-futures",
                                                      .is_left_out_empty = true,
                                                      .has_data = has_data,
                                                      .fill = fill,
                                                      .fields = fields,
                                                      .about = "Tasks that have not ended, the oldest first.",
                                                      .always = "order"};
