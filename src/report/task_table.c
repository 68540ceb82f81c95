/*
 * The section `tasks`: tasks by class. How long they took from creation to end, how much of that they ran and
 * waited, how many were open at a time, and what they allocated, which is exact even if they change threads: it
 * comes from the zones of their polls. SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "identity.h"
#include "object_rows.h"
#include "order.h"
#include "recent_cell.h"
#include "section.h"
#include "sort.h"
#include "task_profile.h"
#include "units.h"
#include "utf8.h"

struct columns {
    size_t name, calls, polls, open, cancelled, average, total, busy, waiting, busy_percent, average_poll,
        longest_poll, long_polls, in_flight, most_open, bytes, bytes_per_call, bytes_per_poll, blocks,
        blocks_per_call, blocks_per_poll, misused, state, threads, waits_for, slowest_poll, recent, location;
    size_t percentiles[HP_MAX_PERCENTILES];
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_AWAITS = HP_FACT_OWN, HAS_LONG_POLLS = HP_FACT_OWN << 1 };

static const struct hp_column_spec column_table[] = {
    {"name", "Task", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(calls),
     "Tasks created: ended, cancelled or still open."},
    {"polls", "Polls", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(polls),
     "How often they ran; null: not reported."},
    {"open", "Open", HOTPATH_UNIT_COUNT, 0, AT(open), "Tasks that have not ended; their time counts up to now."},
    {"cancelled", "Cancelled", HOTPATH_UNIT_COUNT, 0, AT(cancelled), "Tasks that ended without a result."},
    {"avg_ns", "Avg", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(average),
     "Average time from creation to end."},
    {"_ns", "", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY, AT(percentiles),
     "A percentile of that time, for ended tasks: p99_9_ns is P99.9."},
    {"total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(total),
     "The sum over all tasks; exceeds the time of the run if several are open at once."},
    {"busy_ns", "Busy", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(busy), "Time in which they ran."},
    {"waiting_ns", "Waiting", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(waiting),
     "Time in which they did not run."},
    {"percent_busy", "% Busy", HOTPATH_UNIT_PERCENT, HP_COLUMN_MAYBE, AT(busy_percent),
     "Busy time as a percentage of total time."},
    {"avg_poll_ns", "Avg Poll", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(average_poll)},
    {"max_poll_ns", "Max Poll", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(longest_poll)},
    {"long_polls", "Long Polls", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(long_polls),
     "Polls of 10 ms and more, which block other tasks of the same thread."},
    {"in_flight", "In Flight", HOTPATH_UNIT_NUMBER, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(in_flight),
     "Average number of open tasks, from the first creation to the last end."},
    {"max_open", "Max Open", HOTPATH_UNIT_COUNT, 0, AT(most_open),
     "The most tasks open at once, at least: sampled at each thread's first 64 creations and at one in 64 after "
     "that."},
    {"allocated_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(bytes),
     "Bytes requested by their polls, measured callees included."},
    {"bytes_per_call", "Bytes/Call", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(bytes_per_call)},
    {"bytes_per_poll", "Bytes/Poll", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(bytes_per_poll)},
    {"allocations", "Allocations", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(blocks)},
    {"allocations_per_call", "Allocations/Call", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(blocks_per_call)},
    {"allocations_per_poll", "Allocations/Poll", HOTPATH_UNIT_NUMBER, HP_COLUMN_MAYBE, AT(blocks_per_poll)},
    {"misused", "Misused", HOTPATH_UNIT_COUNT, 0, AT(misused),
     "Uses of tasks that had already ended or were running elsewhere."},
    {"state", "State", HOTPATH_UNIT_STATE, 0, AT(state), "Whether some are open.", .words = "open|ended"},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, 0, AT(threads), "Thread records that created or ended some."},
    {"waits_for", "Waits For", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(waits_for),
     "What they waited for, if adapters record it, the longest first; the section task-waits has the details.",
     .shown_by = HAS_AWAITS},
    {"slowest_poll", "In Max Poll", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(slowest_poll),
     "What ran inside the longest poll, or one at least half as long; --slowest NAME has the details.",
     .shown_by = HAS_LONG_POLLS},
    {"recent", "Recent", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE, AT(recent),
     "The latest results, newest first, for logged labels (HOTPATH_LOG)."},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
};

struct view {
    struct hotpath_results *results;
    struct columns columns;
    const struct hp_tasks *tasks;
    const struct hp_slow_poll *slow_polls; /* one per class */
    struct hp_value_distribution *distribution;
};

/* --------------------------------------------------------------------------------------------------------- rows */

static double ns_of(const struct view *view, double ticks) { return ticks * view->results->model->run.ns_per_tick; }

static void fill_walls(const struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const uint64_t calls = task->sums.count[HP_TASK_CREATED];
    if (calls > 0)
        hp_section_set_number(row, view->columns.average, ns_of(view, (double)task->wall / (double)calls));
    hp_section_set_number(row, view->columns.total, ns_of(view, (double)task->wall));
    hp_object_set_percentiles(view->results, row, view->columns.percentiles, task->row, HP_TASK_WALLS,
                              view->distribution);
}

static void fill_polls(const struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const struct columns *columns = &view->columns;
    struct hp_site_details details;
    if (task->polls == 0)
        return;
    hp_site_details(task->site, &details);
    hp_section_set_count(row, columns->polls, task->polls);
    hp_section_set_number(row, columns->busy, ns_of(view, (double)task->busy));
    hp_section_set_number(row, columns->waiting, ns_of(view, (double)task->waiting));
    if (task->wall > 0)
        hp_section_set_number(row, columns->busy_percent, 100 * (double)task->busy / (double)task->wall);
    hp_section_set_number(row, columns->average_poll, ns_of(view, (double)task->busy / (double)task->polls));
    if (details.min != UINT64_MAX)
        hp_section_set_number(row, columns->longest_poll, ns_of(view, (double)details.max));
    hp_section_set_count(row, columns->long_polls, task->sums.count[HP_TASK_LONG_POLLS]);
}

static void fill_allocs(const struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const struct columns *columns = &view->columns;
    const struct hp_run *run = &view->results->model->run;
    const double calls = (double)task->sums.count[HP_TASK_CREATED], polls = (double)task->polls;
    struct hp_site_allocs allocs;
    if (task->polls == 0 || !hp_run_has_allocs(run) || hp_allocs_of_site_are_unknown(run, task->site))
        return;
    hp_allocs_of_site(task->site, &allocs);
    hp_section_set_count(row, columns->bytes, allocs.all_bytes);
    hp_section_set_count(row, columns->blocks, allocs.all_count);
    hp_section_set_number(row, columns->bytes_per_poll, (double)allocs.all_bytes / polls);
    hp_section_set_number(row, columns->blocks_per_poll, (double)allocs.all_count / polls);
    if (calls > 0) {
        hp_section_set_number(row, columns->bytes_per_call, (double)allocs.all_bytes / calls);
        hp_section_set_number(row, columns->blocks_per_call, (double)allocs.all_count / calls);
    }
}

/* False: no memory. */
static bool set_line(const struct view *view, struct hp_row *row, size_t column, const struct hp_text *line)
{
    const char *copy = hp_arena_copy(view->results->model->arena, line->bytes, line->length);
    if (copy != NULL)
        hp_section_set_text(row, column, copy);
    return copy != NULL;
}

/* "uv_fs_write 420 ms" */
static void put_part(const struct view *view, struct hp_text *line, const char *name, uint64_t ticks)
{
    hp_text_string(line, line->length > 0 ? ", " : "");
    hp_utf8_put_safe(line, name, strlen(name));
    hp_text_char(line, ' ');
    hp_units_ns(line, ns_of(view, (double)ticks));
}

#define AWAITS_SHOWN 3u

static bool fill_awaits(const struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    char bytes[256];
    struct hp_text line;
    size_t count = 0;
    if (task->awaits == NULL)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    for (const struct hp_task_await *at = task->awaits; at != NULL && count < AWAITS_SHOWN; at = at->next, count++)
        put_part(view, &line, at->name, at->ticks);
    if (task->await_count > count)
        hp_text_string(&line, ", ...");
    return set_line(view, row, view->columns.waits_for, &line);
}

/* What ran inside short polls says nothing about a longest one that was not looked into. */
#define LIKE_LONGEST 0.5

static bool fill_slowest_poll(const struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const struct hp_slow_poll *poll = &view->slow_polls[task - view->tasks->all];
    char bytes[256];
    struct hp_text line;
    struct hp_site_details details;
    if (poll->ticks == 0)
        return true;
    hp_site_details(task->site, &details);
    if ((double)poll->ticks < LIKE_LONGEST * (double)details.max)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    for (uint32_t at = 0; at < poll->part_count; at++)
        put_part(view, &line, poll->parts[at].name, poll->parts[at].ticks);
    if (poll->left_out > 0)
        hp_text_string(&line, ", ...");
    put_part(view, &line, "itself", poll->self);
    return set_line(view, row, view->columns.slowest_poll, &line);
}

static bool fill_recent(const struct view *view, struct hp_row *row, const struct hp_object_record *record)
{
    struct hp_recent_list list;
    hp_recent_list_of(record, &list);
    return hp_recent_set(view->results, row, view->columns.recent, &list);
}

static bool fill_row(void *of, struct hp_row *row, const void *entry)
{
    const struct view *view = of;
    const struct columns *columns = &view->columns;
    const struct hp_task_sums *task = entry;
    row->id = hp_identity_of_object(task->row);
    row->is_open = task->open > 0;
    hp_section_set_text(row, columns->name, task->row->name);
    hp_section_set_count(row, columns->calls, task->sums.count[HP_TASK_CREATED]);
    hp_section_set_count(row, columns->open, task->open);
    hp_section_set_count(row, columns->cancelled, task->sums.count[HP_TASK_CANCELLED]);
    hp_section_set_number(row, columns->in_flight, task->in_flight);
    /* It is looked at now and then only, but cannot be less than the average. */
    const uint64_t seen = task->sums.count[HP_TASK_MOST_OPEN], average = (uint64_t)task->in_flight;
    const uint64_t least = average + ((double)average < task->in_flight);
    hp_section_set_count(row, columns->most_open, seen > least ? seen : least);
    hp_section_set_count(row, columns->misused, task->sums.count[HP_TASK_MISUSED]);
    hp_section_set_text(row, columns->state, task->open > 0 ? "open" : "ended");
    hp_section_set_count(row, columns->threads, task->sums.threads);
    fill_walls(view, row, task);
    fill_polls(view, row, task);
    fill_allocs(view, row, task);
    return fill_awaits(view, row, task) && fill_slowest_poll(view, row, task) &&
           fill_recent(view, row, task->row) &&
           hp_section_set_location(view->results, row, columns->location, &task->row->location);
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
        !hp_section_describe(results, section, facts_of(tasks), &view->columns) ||
        !hp_order_choose(results, section, view->columns.total, HP_MAX_COLUMNS))
        return false;
    size_t count = 0;
    for (size_t at = 0; at < tasks->count; at++)
        if (hp_results_show_object(results, tasks->all[at].row))
            entries[count++] = &tasks->all[at];
    hp_sort(entries, count, compare_walls);
    section->total_rows = count;
    if (!hp_order_fill(results, section, results->settings->show.functions_limit, entries, count, fill_row, view))
        return false;
    add_notes(section, tasks);
    return true;
}

const struct hp_section_type hp_section_tasks = {.name = "tasks",
                                                 .alias = "futures",
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .fill = fill,
                                                 HP_COLUMNS(column_table),
                                                 .about = "Tasks, from creation to end.",
                                                 .about_row = "All tasks of a label.",
                                                 .always = "order"};
