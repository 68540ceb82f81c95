/*
 * The sections `tasks`, `open-tasks` and `task-waits`: tasks by class; those that have not ended, the oldest first;
 * and what tasks waited for, by task class and request label, if an adapter made the requests.
 *
 * How long they took from creation to end, how much of that they ran and
 * waited, how many were open at a time, and what they allocated, which is exact even if they change threads: it
 * comes from the zones of their polls. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "identity.h"
#include "object_rows.h"
#include "object_snapshot.h"
#include "order.h"
#include "section.h"
#include "sort.h"
#include "task_profile.h"
#include "units.h"
#include "utf8.h"

/* Facts of this section. */
enum { HAS_AWAITS = HP_FACT_OWN, HAS_LONG_POLLS = HP_FACT_OWN << 1 };

struct view {
    struct hotpath_results *results;
    const struct hp_tasks *tasks;
    const struct hp_slow_poll *slow_polls; /* one per class */
    /* Of the row being filled: */
    struct hp_value_distribution *distribution; /* of their times from creation to end */
    struct hp_site_details details;             /* of their polls */
    struct hp_site_allocs allocs;
    bool has_allocs;
};

/* --------------------------------------------------------------------------------------------------------- rows */

/* "uv_fs_write 420 ms" */
static void put_part(const struct hp_fields *to, struct hp_text *line, const char *name, uint64_t ticks)
{
    hp_text_string(line, line->length > 0 ? ", " : "");
    hp_utf8_put_safe(line, name, strlen(name));
    hp_text_format(line, " %s", hp_run_ticks_text(&to->results->model->run, ticks).bytes);
}

#define AWAITS_SHOWN 3u

static const char *list_awaits(struct hp_fields *to, const struct hp_task_sums *task)
{
    char bytes[256];
    struct hp_text line;
    size_t count = 0;
    if (task->awaits == NULL)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    for (const struct hp_task_await *at = task->awaits; at != NULL && count < AWAITS_SHOWN; at = at->next, count++)
        put_part(to, &line, at->name, at->ticks);
    if (task->await_count > count)
        hp_text_string(&line, ", ...");
    return hp_fields_copy(to, bytes, line.length);
}

/* What ran inside short polls says nothing about a longest one that was not looked into. */
#define LIKE_LONGEST 0.5

static const char *describe_slowest_poll(struct hp_fields *to, const struct view *view,
                                         const struct hp_task_sums *task)
{
    const struct hp_slow_poll *poll = &view->slow_polls[task - view->tasks->all];
    char bytes[256];
    struct hp_text line;
    if (poll->ticks == 0 || (double)poll->ticks < LIKE_LONGEST * (double)view->details.max)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    for (uint32_t at = 0; at < poll->part_count; at++)
        put_part(to, &line, poll->parts[at].name, poll->parts[at].ticks);
    if (poll->left_out > 0)
        hp_text_string(&line, ", ...");
    put_part(to, &line, "itself", poll->self);
    return hp_fields_copy(to, bytes, line.length);
}

static double ns_per_tick(const struct hp_fields *to) { return to->results->model->run.ns_per_tick; }

/* It is looked at now and then only, but cannot be less than the average. */
static uint64_t most_open(const struct hp_task_sums *task)
{
    const uint64_t seen = task->sums.count[HP_TASK_MOST_OPEN], average = (uint64_t)task->in_flight;
    const uint64_t least = average + ((double)average < task->in_flight);
    return seen > least ? seen : least;
}

static void begin_row(struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const struct hp_run *run = &view->results->model->run;
    row->id = hp_identity_of_object(task->row);
    row->is_open = task->open > 0;
    hp_object_distribution_of(task->row, HP_TASK_WALLS, view->distribution);
    hp_site_details(task->site, &view->details);
    view->has_allocs = task->polls > 0 && hp_run_has_allocs(run) && !hp_allocs_of_site_are_unknown(run, task->site);
    if (view->has_allocs)
        hp_allocs_of_site(task->site, &view->allocs);
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    struct view *view = of;
    const struct hp_task_sums *task = entry;
    if (to->row != NULL)
        begin_row(view, to->row, task);
    HP_FIELD(to, task->row->name, "name", "Task", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, task->sums.count[HP_TASK_CREATED], "calls", "Calls", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Tasks created: ended, cancelled or still open.");
    HP_FIELD_IF(to, task->polls > 0, task->polls, "polls", "Polls", COUNT, HP_COLUMN_SHOWN,
                "How often they ran; null: not reported.");
    HP_FIELD(to, task->open, "open", "Open", COUNT, 0, "Tasks that have not ended; their time counts up to now.");
    HP_FIELD(to, task->sums.count[HP_TASK_CANCELLED], "cancelled", "Cancelled", COUNT, 0,
             "Tasks that ended without a result.");
    HP_FIELD_IF(to, task->sums.count[HP_TASK_CREATED] > 0,
                (double)task->wall / (double)task->sums.count[HP_TASK_CREATED] * ns_per_tick(to), "avg_ns", "Avg",
                NS, HP_COLUMN_SHOWN, "Average time from creation to end.");
    HP_FIELD_FAMILY(to, percentile, true, hp_object_percentile(to, view->distribution, percentile), "_ns", "", NS,
                    HP_COLUMN_SHOWN, "A percentile of that time, for ended tasks: p99_9_ns is P99.9.");
    HP_FIELD(to, hp_histogram_of_magnitudes(to->results, &view->distribution->positive), "histogram_ns",
             "Histogram", HISTOGRAM, 0, "Distribution of that time, for ended tasks: [from, below, tasks].");
    HP_FIELD(to, hp_fields_ns(to, task->wall), "total_ns", "Total", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "The sum over all tasks; exceeds the time of the run if several are open at once.");
    HP_FIELD_IF(to, task->polls > 0, hp_fields_ns(to, task->busy), "busy_ns", "Busy", NS, HP_COLUMN_SHOWN,
                "Time in which they ran.");
    HP_FIELD_IF(to, task->polls > 0, hp_fields_ns(to, task->waiting), "waiting_ns", "Waiting", NS, HP_COLUMN_SHOWN,
                "Time in which they did not run.");
    HP_FIELD_IF(to, task->polls > 0, hp_percent_of(task->busy, task->wall), "percent_busy", "% Busy", PERCENT, 0,
                "Busy time as a percentage of total time.");
    HP_FIELD_IF(to, task->polls > 0, (double)task->busy / (double)task->polls * ns_per_tick(to), "avg_poll_ns",
                "Avg Poll", NS, 0);
    HP_FIELD_IF(to, task->polls > 0 && view->details.min != UINT64_MAX, hp_fields_ns(to, view->details.max),
                "max_poll_ns", "Max Poll", NS, HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, task->polls > 0, task->sums.count[HP_TASK_LONG_POLLS], "long_polls", "Long Polls", COUNT, 0,
                "Polls of 10 ms and more, which block other tasks of the same thread.");
    HP_FIELD(to, task->in_flight, "in_flight", "In Flight", NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Average number of open tasks, from the first creation to the last end.");
    HP_FIELD(to, most_open(task), "max_open", "Max Open", COUNT, 0,
             "The most tasks open at once, at least: sampled at each thread's first 64 creations and at one in 64 "
             "after that.");
    HP_FIELD_IF(to, view->has_allocs, view->allocs.all_bytes, "allocated_bytes", "Allocated", BYTES, 0,
                "Bytes requested by their polls, measured callees included.");
    HP_FIELD_IF(to, view->has_allocs && task->sums.count[HP_TASK_CREATED] > 0,
                (double)view->allocs.all_bytes / (double)task->sums.count[HP_TASK_CREATED], "bytes_per_call",
                "Bytes/Call", NUMBER, 0);
    HP_FIELD_IF(to, view->has_allocs, (double)view->allocs.all_bytes / (double)task->polls, "bytes_per_poll",
                "Bytes/Poll", NUMBER, 0);
    HP_FIELD_IF(to, view->has_allocs, view->allocs.all_count, "allocations", "Allocations", COUNT, 0);
    HP_FIELD_IF(to, view->has_allocs && task->sums.count[HP_TASK_CREATED] > 0,
                (double)view->allocs.all_count / (double)task->sums.count[HP_TASK_CREATED], "allocations_per_call",
                "Allocations/Call", NUMBER, 0);
    HP_FIELD_IF(to, view->has_allocs, (double)view->allocs.all_count / (double)task->polls, "allocations_per_poll",
                "Allocations/Poll", NUMBER, 0);
    HP_FIELD(to, task->sums.count[HP_TASK_MISUSED], "misused", "Misused", COUNT, 0,
             "Uses of tasks that had already ended or were running elsewhere.");
    HP_FIELD(to, task->open > 0 ? "open" : "ended", "state", "State", STATE, 0, "Whether some are open.",
             .words = "open|ended");
    HP_FIELD(to, task->sums.threads, "threads", "Threads", COUNT, 0, "Thread records that created or ended some.");
    HP_FIELD(
        to, list_awaits(to, task), "waits_for", "Waits For", TEXT,
        HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
        "What they waited for, if adapters record it, the longest first; the section task-waits has the details.",
        .shown_by = HAS_AWAITS);
    HP_FIELD(to, describe_slowest_poll(to, view, task), "slowest_poll", "In Max Poll", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "What ran inside the longest poll, or one at least half as long; --slowest NAME has the details.",
             .shown_by = HAS_LONG_POLLS);
    HP_FIELD(to, hp_object_list_recent(to, task->row), "recent", "Recent", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "The latest results, newest first, for logged labels (HOTPATH_LOG).");
    HP_FIELD(to, &task->row->location, "location", "Location", TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
}

/* ------------------------------------------------------------------------------------------------------ section */

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_task_kind);
}

static int compare_walls(const void *a, const void *b)
{
    const struct hp_task_sums *x = a, *y = b;
    if (x->wall != y->wall)
        return x->wall > y->wall ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_notes(struct hotpath_section *section, const struct hp_tasks *tasks)
{
    uint64_t long_polls = 0, misused = 0;
    for (size_t at = 0; at < tasks->count; at++) {
        long_polls += tasks->all[at].sums.count[HP_TASK_LONG_POLLS];
        misused += tasks->all[at].sums.count[HP_TASK_MISUSED];
    }
    if (long_polls > 0)
        hp_section_note(section, "polls of 10 ms and more block all other tasks of their thread: see the column "
                                 "long_polls, and --slowest NAME for what ran inside the longest");
    if (misused > 0)
        hp_section_note(
            section, "tasks were used after they had ended, or while they ran elsewhere: see the column misused");
}

static uint32_t facts_of(const struct hp_tasks *tasks)
{
    uint32_t facts = 0;
    for (size_t at = 0; at < tasks->count; at++) {
        facts |= tasks->all[at].await_count > 0 ? HAS_AWAITS : 0u;
        facts |= tasks->all[at].sums.count[HP_TASK_LONG_POLLS] > 0 ? HAS_LONG_POLLS : 0u;
    }
    return facts;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_tasks *tasks = hp_model_tasks(results->model);
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (tasks == NULL || view == NULL)
        return false;
    *view = (struct view){
        .results = results,
        .tasks = tasks,
        .slow_polls = hp_slow_polls_of(results->model->arena, &results->model->run, results->model->profile, tasks),
        .distribution = hp_arena_take(results->model->arena, sizeof *view->distribution)};
    const void **entries = hp_arena_take_array(results->model->arena, tasks->count + 1, sizeof(void *));
    section->description = "Tasks, from creation to end.";
    section->if_empty = "no tasks were recorded: record them with HOTPATH_TASK";
    if (view->distribution == NULL || view->slow_polls == NULL || entries == NULL ||
        !hp_section_begin(results, section, view, facts_of(tasks), "total_ns", NULL))
        return false;
    size_t count = 0;
    for (size_t at = 0; at < tasks->count; at++)
        if (hp_results_show_object(results, tasks->all[at].row))
            entries[count++] = &tasks->all[at];
    hp_sort(entries, count, compare_walls);
    if (!hp_section_fill_rows(results, section, entries, count, view))
        return false;
    add_notes(section, tasks);
    return true;
}

const struct hp_section_type hp_section_tasks = {.name = "tasks",
                                                 .is_of_ticks = true,
                                                 .alias = "futures",
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .fill = fill,
                                                 .fields = fields,
                                                 .about = "Tasks, from creation to end.",
                                                 .about_row = "All tasks of a label.",
                                                 .always = "order"};

/* --------------------------------------------------------------------------------------------------- open-tasks */

static void open_fields(struct hp_fields *to, void *view, const void *entry)
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

static bool has_open(const struct hotpath_results *results)
{
    for (size_t at = 0; at < results->model->run.count; at++) {
        struct hp_walk walk = {0};
        struct hp_task_slot slot;
        if (hp_snapshot_next_task(results->model->run.sessions[at], &walk, &slot))
            return true;
    }
    return false;
}

static bool fill_open(struct hotpath_results *results, struct hotpath_section *section)
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
                                                      .is_of_ticks = true,
                                                      .alias = "open-futures",
                                                      .is_left_out_empty = true,
                                                      .has_data = has_open,
                                                      .fill = fill_open,
                                                      .fields = open_fields,
                                                      .about = "Tasks that have not ended, the oldest first.",
                                                      .always = "order"};

/* --------------------------------------------------------------------------------------------------- task-waits */

struct wait {
    const struct hp_task_sums *task;
    const struct hp_task_await *await; /* NULL: the rest */
    uint64_t ticks;
};

static void wait_fields(struct hp_fields *to, void *view, const void *of)
{
    (void)view;
    const struct wait *entry = of;
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

static int compare_waits(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    if (x->task != y->task) {
        if (x->task->awaited != y->task->awaited)
            return x->task->awaited > y->task->awaited ? -1 : 1;
        return x->task < y->task ? -1 : 1;
    }
    return x == y ? 0 : x < y ? -1 : 1; /* already sorted: the longest first, the rest last */
}

/* Adds the awaits of a task in their order, and the rest. */
static size_t add_waits(struct wait *entries, const struct hp_task_sums *task)
{
    size_t count = 0;
    for (const struct hp_task_await *at = task->awaits; at != NULL; at = at->next)
        entries[count++] = (struct wait){task, at, at->ticks};
    if (count > 0 && task->polls > 0 && task->waiting > task->awaited)
        entries[count++] = (struct wait){task, NULL, task->waiting - task->awaited};
    return count;
}

static bool has_waits(const struct hotpath_results *results)
{
    return hp_run_has_objects(&results->model->run, hp_is_await_kind);
}

static bool fill_waits(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_tasks *tasks = hp_model_tasks(results->model);
    struct hp_arena *arena = results->model->arena;
    size_t most = 1, count = 0;
    if (tasks == NULL)
        return false;
    for (size_t at = 0; at < tasks->count; at++)
        most += tasks->all[at].await_count + 1;
    struct wait *entries = hp_arena_take_array(arena, most, sizeof *entries);
    const void **rows = hp_arena_take_array(arena, most, sizeof(void *));
    section->description = "What tasks waited for.";
    section->if_empty = "it is unknown what tasks waited for: library adapters record it, see docs/async.md";
    if (entries == NULL || rows == NULL || !hp_section_begin(results, section, NULL, 0, "waiting_ns", NULL))
        return false;
    for (size_t at = 0; at < tasks->count; at++)
        if (hp_results_show_object(results, tasks->all[at].row))
            count += add_waits(entries + count, &tasks->all[at]);
    for (size_t at = 0; at < count; at++)
        rows[at] = &entries[at];
    hp_sort(rows, count, compare_waits);
    /* The default order is not that of a column: awaits of a task stay together. */
    section->order.is_set = !section->order.is_usual;
    return hp_section_fill_rows(results, section, rows, count, NULL);
}

const struct hp_section_type hp_section_task_waits = {
    .name = "task-waits",
    .is_of_ticks = true,
    .alias = "awaits",
    .is_left_out_empty = true,
    .has_data = has_waits,
    .fill = fill_waits,
    .fields = wait_fields,
    .about = "What tasks waited for, as recorded by library adapters.",
    .about_row = "Requests of one label that tasks of another label waited for."};
