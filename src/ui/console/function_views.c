/*
 * Tables of functions in the current window. Cells that need to visit all threads are filled later, only for
 * visible rows. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "cpu_profile.h"
#include "durations.h"
#include "profile.h"
#include "task_layout.h"
#include "task_profile.h"
#include "value_profile.h"
#include "views.h"

/* ------------------------------------------------------------------------------------------ idle and share */

bool hp_console_is_idle(const struct hp_console *console, const struct hp_watched_function *function)
{
    if (hp_choice_has(&console->choices, "busy", "", function->name))
        return false;
    return function->is_idle || hp_choice_has(&console->choices, "idle", "", function->name);
}

/* Whether the user has overridden the report's idle functions. */
static bool has_overrides(const struct hp_console *console)
{
    return hp_choice_find(&console->choices, "busy", "") != NULL ||
           hp_choice_find(&console->choices, "idle", "") != NULL;
}

static double work_of(const struct hp_console *console, const struct hp_watched_function *function)
{
    if (hp_choice_has(&console->choices, "busy", "", function->name))
        return function->own + function->idle;
    return hp_choice_has(&console->choices, "idle", "", function->name) ? 0 : function->work;
}

double hp_console_share(const struct hp_console *console, const struct hp_watched_function *function)
{
    const struct hp_watched *watched = &console->watched;
    const struct hp_watched_functions *all = function->found != NULL ? &watched->sampled : &watched->measured;
    double work = 0;
    if (!has_overrides(console))
        return function->share;
    for (size_t at = 0; at < all->count; at++)
        work += work_of(console, &all->all[at]);
    return work > 0 ? 100 * work_of(console, function) / work : 0;
}

/* ------------------------------------------------------------------------------------------------- cells */

/* A function whose row is filled, and values common to all of them. */
struct filling {
    struct hp_console *console;
    const struct hp_watched_function *function;
    bool is_idle;
    bool has_tasks;                            /* among the functions */
    bool has_cpu;                              /* CPU time was sampled */
    bool has_changes;                          /* since the window before */
    bool has_programs;                         /* sampled functions are of several */
    double cpus, waiting, bytes;               /* of all functions */
    const struct hp_function_profile *profile; /* that sampled functions are of */
};

static double cpu_of(const struct hp_watched_function *function)
{
    return function->parts[HP_PART_USER] + function->parts[HP_PART_KERNEL];
}

static bool knows_cpu(const struct filling *filling) { return filling->function->knows_parts && filling->has_cpu; }

/* "lock 79 %" */
const char *hp_console_mostly(struct hp_arena *arena, const struct hp_watched_function *function)
{
    char text[64], percent[HP_FIGURE_BYTES];
    if (function->mostly == NULL)
        return NULL;
    const char *word = strcmp(function->mostly, "lock or condition") == 0 ? "futex" : function->mostly;
    snprintf(text, sizeof text, "%s %s", word, hp_figure(percent, HP_FIGURE_PERCENT, function->mostly_percent));
    return hp_arena_copy(arena, text, strlen(text));
}

static struct hp_table_cell bar_of(const struct hp_watched_function *function)
{
    return (struct hp_table_cell){
        .has_value = true, .number = function->own, .values = function->knows_parts ? function->parts : NULL};
}

static double waiting_of(const struct hp_watched_function *function)
{
    double waiting = 0;
    for (unsigned part = HP_PART_QUEUE; part < HP_PARTS; part++)
        waiting += function->parts[part];
    return waiting;
}

/* Per call; 0: there were none. */
static double per_call(const struct hp_watched_function *function, double per_second)
{
    return function->calls_per_second > 0 ? per_second / function->calls_per_second : 0;
}

static bool waits_in(const struct filling *filling, enum hp_activity part)
{
    return filling->function->knows_parts && filling->function->parts[part] > 0;
}

/* In percent. */
static double share_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* ------------------------------------------------------------------------------------------------- views */

#define SHOW_NAME(to, filling)                                                                                     \
    HP_SHOW(to, (filling)->function->name, "name", "Function", HP_CELL_NAME, HP_FIGURE_TEXT, 16, 0,                \
            "A measured function or block.")
#define SHOW_OWN(to, filling, rank)                                                                                \
    HP_SHOW(to, (filling)->function->own, "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, rank,                \
            "Threads in the function itself, on average.")
#define SHOW_CALLS(to, filling, rank, gap_)                                                                        \
    HP_SHOW_IF(to, (filling)->function->has_calls, (filling)->function->calls_per_second, "calls_s", "Calls/s",    \
               HP_CELL_FIGURE, HP_FIGURE_RATE, 7, rank,                                                            \
               "Calls per second; of tasks, how many began. In a window that is unknown.", .gap = gap_)
/* If there are tasks. */
#define SHOW_POLLS(to, filling, rank)                                                                              \
    if ((filling)->has_tasks)                                                                                      \
    HP_SHOW_IF(to, (filling)->function->is_task, (filling)->function->polls_per_second, "polls_s", "Polls/s",      \
               HP_CELL_FIGURE, HP_FIGURE_RATE, 7, rank, "How often tasks ran, per second.")

/* If the window before is known. */
#define SHOW_CHANGE(to, filling, rank)                                                                             \
    if ((filling)->has_changes)                                                                                    \
    HP_SHOW_IF(to, (filling)->function->has_change, (filling)->function->change, "change", "Change",               \
               HP_CELL_FIGURE, HP_FIGURE_POINTS, 6, rank,                                                          \
               "Its own time, minus that in the window before, in percentage points of that of all functions; 0: " \
               "no more than chance.")

static void show_timing(struct hp_table_fields *to, const struct filling *filling)
{
    SHOW_NAME(to, filling);
    SHOW_OWN(to, filling, 0);
    HP_SHOW_IF(to, filling->function->has_share && !filling->is_idle,
               hp_console_share(filling->console, filling->function), "share", "Own %", HP_CELL_FIGURE,
               HP_FIGURE_PERCENT, 5, 3, "Of the time of all threads that were not idle.");
    HP_SHOW(to, bar_of(filling->function), "what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 17, 4,
            "Length: its own time; fill: what that time is made of.");
    HP_SHOW(to, hp_console_mostly(&filling->console->arena, filling->function), "mostly", "Mostly", HP_CELL_TEXT,
            HP_FIGURE_TEXT, 16, 0, "What takes most of its own time.", .gap = 1);
    SHOW_CHANGE(to, filling, 6);
    SHOW_CALLS(to, filling, 5, 1);
    SHOW_POLLS(to, filling, 9);
    HP_SHOW_LATER(to, "p50", "P50", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 6,
                  "Half of its calls took at most this long.");
    HP_SHOW_LATER(to, "p95", "P95", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 10,
                  "95 % of its calls took at most this long.", .from = 140);
    HP_SHOW_LATER(to, "p99", "P99", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 2,
                  "99 % of its calls took at most this long.");
    HP_SHOW_LATER(to, "max", "Max", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 11, "The longest call.", .from = 140);
    /* A 0 among times is left out. */
    HP_SHOW_IF(to, filling->function->has_bytes && filling->function->bytes_per_second > 0,
               filling->function->bytes_per_second, "alloc_s", "Alloc/s", HP_CELL_FIGURE, HP_FIGURE_BYTES_, 7, 7,
               "Bytes that it allocated itself, per second.");
    HP_SHOW_IF(to, filling->function->has_average, filling->function->average_ns, "avg", "Avg", HP_CELL_FIGURE,
               HP_FIGURE_NS, 7, 12, "The average duration of its calls.", .from = 140);
    HP_SHOW_IF(to, filling->function->has_calls, filling->function->calls, "calls", "Calls", HP_CELL_FIGURE,
               HP_FIGURE_COUNT, 7, 13, "Calls.", .from = 140);
    HP_SHOW(to, filling->function->total, "total", "Total", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 14,
            "Threads in the function or its callees, on average.", .from = 140);
    HP_SHOW_LATER(to, "history", "Last 60 s", HP_CELL_SPARK, HP_FIGURE_TEXT, HP_VIEW_SPARK, 15, "Its own time.",
                  .from = 140);
}

static void show_cpu(struct hp_table_fields *to, const struct filling *filling)
{
    SHOW_NAME(to, filling);
    HP_SHOW_IF(to, knows_cpu(filling), cpu_of(filling->function), "cpu", "CPU", HP_CELL_FIGURE, HP_FIGURE_THREADS,
               5, 0, "CPUs that it kept busy itself, on average.");
    HP_SHOW_IF(to, knows_cpu(filling) && filling->cpus > 0, share_of(cpu_of(filling->function), filling->cpus),
               "share", "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 2, "Of the CPU time of all functions.");
    HP_SHOW_IF(to, knows_cpu(filling), filling->function->parts[HP_PART_USER], "user", "User", HP_CELL_FIGURE,
               HP_FIGURE_THREADS, 5, 4, "In user mode.");
    HP_SHOW_IF(to, knows_cpu(filling), filling->function->parts[HP_PART_KERNEL], "kernel", "Kernel", HP_CELL_FIGURE,
               HP_FIGURE_THREADS, 6, 5, "In the kernel.");
    SHOW_OWN(to, filling, 3);
    HP_SHOW_IF(to, knows_cpu(filling) && filling->function->own > 0,
               share_of(cpu_of(filling->function), filling->function->own), "busy", "Busy %", HP_CELL_FIGURE,
               HP_FIGURE_PERCENT, 6, 6, "CPU time as a share of its own time.");
    SHOW_CALLS(to, filling, 7, 0);
    SHOW_POLLS(to, filling, 9);
    HP_SHOW_IF(to, knows_cpu(filling) && filling->function->calls_per_second > 0,
               per_call(filling->function, cpu_of(filling->function) * 1e9), "percall", "CPU/call", HP_CELL_FIGURE,
               HP_FIGURE_NS, 8, 8, "CPU time per call, without callees.");
}

static void show_memory(struct hp_table_fields *to, const struct filling *filling)
{
    SHOW_NAME(to, filling);
    HP_SHOW_IF(to, filling->function->has_bytes, filling->function->bytes_per_second, "alloc_s", "Alloc/s",
               HP_CELL_FIGURE, HP_FIGURE_BYTES_, 7, 0, "Bytes that it allocated itself, per second.");
    HP_SHOW_IF(to, filling->function->has_bytes && filling->bytes > 0,
               share_of(filling->function->bytes_per_second, filling->bytes), "share", "Share", HP_CELL_FIGURE,
               HP_FIGURE_PERCENT, 5, 1, "Of the bytes allocated by all functions.");
    HP_SHOW_IF(to, filling->function->has_bytes && filling->function->calls_per_second > 0,
               per_call(filling->function, filling->function->bytes_per_second), "bytes_call", "Bytes/call",
               HP_CELL_FIGURE, HP_FIGURE_BYTES_, 10, 2, "Per call.");
    SHOW_CALLS(to, filling, 4, 0);
    SHOW_POLLS(to, filling, 6);
    SHOW_OWN(to, filling, 3);
    HP_SHOW_LATER(to, "history", "Last 60 s", HP_CELL_SPARK, HP_FIGURE_TEXT, HP_VIEW_SPARK, 5,
                  "Bytes that it allocated.");
}

static void show_waiting(struct hp_table_fields *to, const struct filling *filling)
{
    SHOW_NAME(to, filling);
    HP_SHOW_IF(to, filling->function->knows_parts, waiting_of(filling->function), "waiting", "Waiting",
               HP_CELL_FIGURE, HP_FIGURE_THREADS, 7, 0, "Threads waiting in the function itself, on average.");
    HP_SHOW_IF(to, waits_in(filling, HP_PART_LOCK), filling->function->parts[HP_PART_LOCK], "lock", "Lock",
               HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 2, "For a lock, a condition, another thread.");
    HP_SHOW_IF(to, waits_in(filling, HP_PART_DISK), filling->function->parts[HP_PART_DISK], "disk", "Disk",
               HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 3, "For a file or a page of one.");
    HP_SHOW_IF(to, waits_in(filling, HP_PART_NETWORK), filling->function->parts[HP_PART_NETWORK], "network",
               "Network", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 4,
               "For a socket, a pipe, one of several descriptors.");
    HP_SHOW_IF(to, waits_in(filling, HP_PART_SLEEP), filling->function->parts[HP_PART_SLEEP], "sleep", "Sleep",
               HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 5, "For a timer, and everything else.");
    HP_SHOW_IF(to, waits_in(filling, HP_PART_QUEUE), filling->function->parts[HP_PART_QUEUE], "queue", "Run queue",
               HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 6, "Ready to run, but without a CPU.");
    SHOW_OWN(to, filling, 9);
    HP_SHOW(to, filling->function->cause, "for", "Waits for", HP_CELL_TEXT, HP_FIGURE_TEXT, 30, 1,
            "The main cause.");
}

/* What was recorded decides on the columns: none is empty. */
static void show_sampled(struct hp_table_fields *to, const struct filling *filling)
{
    const struct hp_watched_function *function = filling->function;
    const struct hp_found_function *found = function != NULL ? function->found : NULL;
    const struct hp_function_profile *profile = filling->profile;
    HP_SHOW(to, function->name, "name", "Function", HP_CELL_NAME, HP_FIGURE_TEXT, 16, 0,
            "A function that was found in stacks; without a name, its address in the library.");
    HP_SHOW(to, function->own, "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 0,
            "Threads in the function itself, on average: on a CPU or waiting, without idle time.");
    HP_SHOW(to, bar_of(function), "what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 17, 12,
            "Length: its own time; fill: what that time is made of.");
    if (filling->waiting > 0) { /* without it, these say no more than the next ones */
        HP_SHOW_IF(to, !filling->is_idle, hp_console_share(filling->console, function), "share", "Own %",
                   HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 4, "Of the time of all threads that were not idle.");
        HP_SHOW(to, hp_console_mostly(&filling->console->arena, function), "mostly", "Mostly", HP_CELL_TEXT,
                HP_FIGURE_TEXT, 16, 0, "What takes most of its own time.", .gap = 1);
    }
    SHOW_CHANGE(to, filling, 1);
    if (profile->counts.samples > 0) {
        HP_SHOW(to, share_of((double)(found->user_ns + found->kernel_ns), (double)profile->cpu_ns), "percent_self",
                "CPU %", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 2,
                "Of the CPU time of all functions, its own, by samples.");
        HP_SHOW(to, share_of((double)found->total_ns, (double)profile->cpu_ns), "percent_total", "Total %",
                HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 3, "The same with all that it calls.");
    }
    if (hp_found_has_wall(profile))
        HP_SHOW(to, share_of((double)found->total_wall_ns, (double)profile->wall_ns), "percent_wall", "Wall %",
                HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 5,
                "Of the time in which any thread ran, that in which it or its callees kept the program busy.");
    if (filling->waiting > 0) {
        HP_SHOW(to, waiting_of(function), "waiting", "Waiting", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 8,
                "Threads that wait in the function itself, on average, without idle time.");
        HP_SHOW_IF(to, waiting_of(function) > 0,
                   hp_arena_copy(&filling->console->arena, found->blocked_for.text, found->blocked_for.length),
                   "for", "Waits for", HP_CELL_TEXT, HP_FIGURE_TEXT, 30, 9, "The main cause.");
    }
    if (filling->has_programs)
        HP_SHOW(to, found->program, "program", "Program", HP_CELL_TEXT, HP_FIGURE_TEXT, 16, 6,
                "The program in which it used most of its CPU time.");
    HP_SHOW(to, found->library, "library", "Library", HP_CELL_TEXT, HP_FIGURE_TEXT, 24, 7,
            "The program or library that contains it.");
    if (profile->heap.bytes > 0)
        HP_SHOW_IF(to, function->has_bytes, function->bytes_per_second, "alloc_s", "Alloc/s", HP_CELL_FIGURE,
                   HP_FIGURE_BYTES_, 7, 10, "Bytes that it allocated itself, per second, estimated from samples.");
    if (profile->counts.samples > 0)
        HP_SHOW(to, found->samples, "samples", "Samples", HP_CELL_FIGURE, HP_FIGURE_COUNT, 7, 13,
                "Samples that found it running; in a time range, estimated by their share in the whole run.");
}

static const struct function_view {
    const char *name;
    void (*show)(struct hp_table_fields *to, const struct filling *filling);
    const char *sort;
    const char *if_empty;
    uint32_t history; /* for the history column: enum hp_axis_kind */
    bool has_idle_last;
} views[] = {
    {"timing", show_timing, "own", NULL, HP_AXIS_SITE_SELF, true},
    {"cpu", show_cpu, "cpu", HP_NO_CPU, HP_AXIS_SITE_CPU, false},
    {"memory", show_memory, "alloc_s", NULL, HP_AXIS_SITE_BYTES, false},
    {"waiting", show_waiting, "waiting", NULL, HP_AXIS_SITE_SELF, true},
    {"sampled", show_sampled, "own", NULL, HP_AXIS_NONE, true},
};

static const struct function_view *view_named(const char *name)
{
    for (size_t at = 0; at < sizeof views / sizeof views[0]; at++)
        if (strcmp(views[at].name, name) == 0)
            return &views[at];
    return &views[0];
}

static struct filling begin_filling(struct hp_console *console)
{
    static const struct hp_function_profile none;
    const struct hp_watched *watched = &console->watched;
    const struct hp_watched_functions *functions = hp_console_functions(console);
    const struct hp_found_part *found = hp_found_shown(&watched->found);
    struct filling filling = {.console = console,
                              .profile = found != NULL ? &found->functions : &none,
                              .has_cpu = hp_run_has_feature(&watched->reader.model.run, HP_FEATURE_CPU)};
    for (size_t at = 0; at < functions->count; at++) {
        filling.cpus += cpu_of(&functions->all[at]);
        filling.waiting += waiting_of(&functions->all[at]);
        filling.bytes += functions->all[at].bytes_per_second;
        filling.has_tasks |= functions->all[at].is_task;
        filling.has_changes |= functions->all[at].has_change;
    }
    for (size_t at = 1; at < filling.profile->process_count; at++)
        filling.has_programs |=
            strcmp(filling.profile->processes[at].program, filling.profile->processes[0].program) != 0;
    return filling;
}

void hp_view_functions(struct hp_console *console, const char *name)
{
    const struct hp_watched_functions *functions = hp_console_functions(console);
    const struct function_view *view = view_named(name);
    struct filling filling = begin_filling(console);
    struct hp_table_fields to = {.table = &console->table};
    console->table.sort = view->sort;
    console->table.if_empty = view->if_empty;
    view->show(&to, &filling);
    struct hp_table_row *rows = hp_table_make_rows(&console->table, &console->arena, functions->count);
    for (size_t row = 0; rows != NULL && row < functions->count; row++) {
        filling.function = &functions->all[row];
        filling.is_idle = hp_console_is_idle(console, filling.function);
        rows[row].id = rows[row].subject = filling.function->id;
        rows[row].is_last = view->has_idle_last && filling.is_idle;
        to = (struct hp_table_fields){.table = &console->table, .row = &rows[row]};
        view->show(&to, &filling);
    }
}

/* --------------------------------------------------------------------------------- cells that visit all threads */

bool hp_console_durations(struct hp_console *console, const struct hp_watched_function *function,
                          struct hp_durations *ret_durations)
{
    const struct hp_watched *watched = &console->watched;
    memset(ret_durations, 0, sizeof *ret_durations);
    if (function->site == NULL)
        return false;
    hp_durations_of_site(function->site, ret_durations);
    if (watched->is_whole)
        return true;
    if (console->window.kind == HP_WINDOW_PAST || !watched->is_live)
        return false;
    return hp_recent_cut(&console->recent, function->id, watched->elapsed_ns, watched->from_ns, ret_durations);
}

/* Of tasks, from beginning to end; known of the whole run only. */
static bool task_percentile(const struct hp_watched *watched, const struct hp_watched_function *function,
                            double percentile, double *ret_ticks)
{
    static struct hp_value_distribution walls;
    if (!watched->is_whole || function->site->task == NULL)
        return false;
    hp_object_distribution_of(function->site->task->row, HP_TASK_WALLS, &walls);
    return hp_distribution_percentile(&walls, percentile, true, ret_ticks);
}

static void fill_percentiles_of(struct hp_console *console, size_t index)
{
    const struct hp_watched_function *function = &console->watched.measured.all[index];
    static struct hp_durations durations;
    static const struct {
        const char *key;
        double percentile;
    } wanted[] = {{"p50", 50}, {"p95", 95}, {"p99", 99}, {"max", 100}};
    struct hp_table_row *row = &console->table.rows[index];
    if (!function->is_task && !hp_console_durations(console, function, &durations))
        return;
    for (unsigned at = 0; at < sizeof wanted / sizeof wanted[0]; at++) {
        double ticks;
        if (function->is_task ? task_percentile(&console->watched, function, wanted[at].percentile, &ticks)
                              : hp_durations_percentile(&durations, wanted[at].percentile, &ticks))
            row->cells[hp_table_find(&console->table, wanted[at].key)] =
                hp_table_number(ticks * console->watched.reader.model.run.ns_per_tick);
    }
}

/* Sorting by percentiles needs all of them. */
static bool is_sorted_by_percentile(const struct hp_table_view *view)
{
    return view->sort[0] == 'p' || strcmp(view->sort, "max") == 0;
}

/* Only for visible rows: each visits all threads. */
static void fill_percentiles(struct hp_console *console)
{
    const size_t first = console->view->top > 2 ? console->view->top - 2 : 0;
    for (size_t at = first; at < first + console->rows && at < console->shown.count; at++)
        fill_percentiles_of(console, console->shown.all[at]->index);
}

static double *history_of(struct hp_console *console, const struct hp_watched_function *function, uint32_t kind,
                          double unit, unsigned columns)
{
    struct hp_history *history = &console->watched.history;
    const uint64_t end = console->watched.to_ns;
    double *values = hp_arena_take_array(&console->arena, HP_HISTORY_COLUMNS, sizeof *values);
    if (values == NULL || history->count == 0)
        return NULL;
    hp_history_choose(history, HP_VIEW_HISTORY_NS, end, columns);
    return hp_history_add(history, kind, function->site->session, function->site->id, unit, values) ? values : NULL;
}

/* Likewise histories. */
static void fill_histories(struct hp_console *console, uint32_t kind, double unit)
{
    const size_t column = hp_table_find(&console->table, "history");
    const size_t first = console->view->top > 2 ? console->view->top - 2 : 0;
    if (column == console->table.column_count || console->columns < console->table.columns[column].from)
        return;
    for (size_t at = first; at < first + console->rows && at < console->shown.count; at++) {
        const size_t index = console->shown.all[at]->index;
        console->table.rows[index].cells[column].values =
            history_of(console, &console->watched.measured.all[index], kind, unit, HP_VIEW_SPARK);
    }
}

static bool is_timing(const struct hp_console *console) { return strcmp(console->table.key, "timing") == 0; }

void hp_view_functions_before_order(struct hp_console *console)
{
    for (size_t at = 0;
         is_timing(console) && is_sorted_by_percentile(console->view) && at < console->table.row_count; at++)
        fill_percentiles_of(console, at);
}

void hp_view_functions_shown(struct hp_console *console)
{
    const uint32_t history = view_named(console->table.key)->history;
    if (is_timing(console))
        fill_percentiles(console);
    if (history != HP_AXIS_NONE)
        fill_histories(console, history,
                       history == HP_AXIS_SITE_SELF ? console->watched.reader.model.run.ns_per_tick * 1e-9 : 1);
}
