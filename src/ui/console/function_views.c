/*
 * Tables of functions in the current window. A view is a list of columns, and each column has a function that fills
 * its cell. Cells that need to visit all threads are filled later, only for visible rows.
 * SPDX-License-Identifier: MIT
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
        return function->own;
    return hp_choice_has(&console->choices, "idle", "", function->name) ? 0 : function->work;
}

double hp_console_share(const struct hp_console *console, const struct hp_watched_function *function)
{
    const struct hp_watched *watched = &console->watched;
    double work = 0;
    if (!has_overrides(console))
        return function->share;
    for (size_t at = 0; at < watched->function_count; at++)
        work += work_of(console, &watched->functions[at]);
    return work > 0 ? 100 * work_of(console, function) / work : 0;
}

/* ------------------------------------------------------------------------------------------------- cells */

/* A function whose row is filled, and values common to all of them. */
struct filling {
    struct hp_console *console;
    const struct hp_watched_function *function;
    bool is_idle;
    bool has_cpu;       /* CPU time was sampled */
    double cpus, bytes; /* of all functions */
};

static double cpu_of(const struct hp_watched_function *function)
{
    return function->parts[HP_PART_USER] + function->parts[HP_PART_KERNEL];
}

static bool knows_cpu(const struct filling *filling) { return filling->function->knows_parts && filling->has_cpu; }

/* "lock 79 %" */
static const char *mostly_of(struct hp_arena *arena, const struct hp_watched_function *function)
{
    char text[64], percent[HP_FIGURE_BYTES];
    if (function->mostly == NULL)
        return NULL;
    const char *word = strcmp(function->mostly, "lock or condition") == 0 ? "futex" : function->mostly;
    snprintf(text, sizeof text, "%s %s", word, hp_figure(percent, HP_FIGURE_PERCENT, function->mostly_percent));
    return hp_arena_copy(arena, text, strlen(text));
}

static void fill_name(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_text(cell, filling->function->name);
}

static void fill_own(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, true, filling->function->own);
}

static void fill_total(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, true, filling->function->total);
}

static void fill_share(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->has_share && !filling->is_idle,
                       hp_console_share(filling->console, filling->function));
}

static void fill_bar(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, true, filling->function->own);
    cell->values = filling->function->knows_parts ? filling->function->parts : NULL;
}

static void fill_mostly(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_text(cell, mostly_of(&filling->console->arena, filling->function));
}

static void fill_calls_s(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->has_calls, filling->function->calls_per_second);
}

static void fill_polls_s(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->is_task, filling->function->polls_per_second);
}

static void fill_calls(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->has_calls, filling->function->calls);
}

static void fill_average(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->has_average, filling->function->average_ns);
}

/* A 0 among times is left out. */
static void fill_some_bytes(const struct filling *filling, struct hp_table_cell *cell)
{
    const double bytes = filling->function->bytes_per_second;
    hp_view_set_number(cell, filling->function->has_bytes && bytes > 0, bytes);
}

static void fill_bytes(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, filling->function->has_bytes, filling->function->bytes_per_second);
}

static void fill_bytes_share(const struct filling *filling, struct hp_table_cell *cell)
{
    if (filling->bytes > 0)
        hp_view_set_number(cell, filling->function->has_bytes,
                           100 * filling->function->bytes_per_second / filling->bytes);
}

static void fill_bytes_call(const struct filling *filling, struct hp_table_cell *cell)
{
    const double calls = filling->function->calls_per_second;
    if (calls > 0)
        hp_view_set_number(cell, filling->function->has_bytes, filling->function->bytes_per_second / calls);
}

static void fill_cpu(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, knows_cpu(filling), cpu_of(filling->function));
}

static void fill_cpu_share(const struct filling *filling, struct hp_table_cell *cell)
{
    if (filling->cpus > 0)
        hp_view_set_number(cell, knows_cpu(filling), 100 * cpu_of(filling->function) / filling->cpus);
}

static void fill_user(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, knows_cpu(filling), filling->function->parts[HP_PART_USER]);
}

static void fill_kernel(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_number(cell, knows_cpu(filling), filling->function->parts[HP_PART_KERNEL]);
}

static void fill_busy(const struct filling *filling, struct hp_table_cell *cell)
{
    if (filling->function->own > 0)
        hp_view_set_number(cell, knows_cpu(filling), 100 * cpu_of(filling->function) / filling->function->own);
}

static void fill_cpu_call(const struct filling *filling, struct hp_table_cell *cell)
{
    const double calls = filling->function->calls_per_second;
    if (calls > 0)
        hp_view_set_number(cell, knows_cpu(filling), cpu_of(filling->function) * 1e9 / calls);
}

static void fill_waiting(const struct filling *filling, struct hp_table_cell *cell)
{
    double waiting = 0;
    for (unsigned part = HP_PART_QUEUE; part < HP_PARTS; part++)
        waiting += filling->function->parts[part];
    hp_view_set_number(cell, filling->function->knows_parts, waiting);
}

static void fill_part(const struct filling *filling, struct hp_table_cell *cell, enum hp_activity part)
{
    const double threads = filling->function->parts[part];
    hp_view_set_number(cell, filling->function->knows_parts && threads > 0, threads);
}

static void fill_lock(const struct filling *filling, struct hp_table_cell *cell)
{
    fill_part(filling, cell, HP_PART_LOCK);
}

static void fill_disk(const struct filling *filling, struct hp_table_cell *cell)
{
    fill_part(filling, cell, HP_PART_DISK);
}

static void fill_network(const struct filling *filling, struct hp_table_cell *cell)
{
    fill_part(filling, cell, HP_PART_NETWORK);
}

static void fill_sleep(const struct filling *filling, struct hp_table_cell *cell)
{
    fill_part(filling, cell, HP_PART_SLEEP);
}

static void fill_queue(const struct filling *filling, struct hp_table_cell *cell)
{
    fill_part(filling, cell, HP_PART_QUEUE);
}

static void fill_cause(const struct filling *filling, struct hp_table_cell *cell)
{
    hp_view_set_text(cell, filling->function->cause);
}

/* ------------------------------------------------------------------------------------------------- views */

struct function_column {
    const char *key, *title;
    enum hp_column_kind kind;
    enum hp_figure figure;
    unsigned width, rank;
    unsigned gap;                                                            /* 0: default */
    unsigned from;                                                           /* minimum width of the screen */
    void (*fill)(const struct filling *filling, struct hp_table_cell *cell); /* NULL: filled later, or not at all */
    const char *about;
};

#define NAME                                                                                                       \
    {                                                                                                              \
        "name", "Function", HP_CELL_NAME, HP_FIGURE_TEXT, 16, 0, 0, 0, fill_name, "A measured function or block."  \
    }
#define OWN "own", "Own", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5
#define OWN_ABOUT fill_own, "Threads in the function itself, on average."
#define CALLS "calls_s", "Calls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7
#define CALLS_ABOUT fill_calls_s, "Calls per second; of tasks, how many began. In a window that is unknown."
#define POLLS "polls_s", "Polls/s", HP_CELL_FIGURE, HP_FIGURE_RATE, 7 /* if there are tasks */
#define POLLS_ABOUT fill_polls_s, "How often tasks ran, per second."

static const struct function_column timing[] = {
    NAME,
    {OWN, 0, 0, 0, OWN_ABOUT},
    {"share", "Own %", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 3, 0, 0, fill_share,
     "Of the time of all threads that were not idle."},
    {"what", "Activity", HP_CELL_BAR, HP_FIGURE_TEXT, 17, 4, 0, 0, fill_bar,
     "Length: its own time; fill: what that time is made of."},
    {"mostly", "Mostly", HP_CELL_TEXT, HP_FIGURE_TEXT, 16, 0, 1, 0, fill_mostly,
     "What takes most of its own time."},
    {CALLS, 5, 1, 0, CALLS_ABOUT},
    {POLLS, 9, 0, 0, POLLS_ABOUT},
    {"p50", "P50", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 6, 0, 0, NULL, "Half of its calls took at most this long."},
    {"p95", "P95", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 10, 0, 140, NULL, "95 % of its calls took at most this long."},
    {"p99", "P99", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 2, 0, 0, NULL, "99 % of its calls took at most this long."},
    {"max", "Max", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 11, 0, 140, NULL, "The longest call."},
    {"alloc_s", "Alloc/s", HP_CELL_FIGURE, HP_FIGURE_BYTES_, 7, 7, 0, 0, fill_some_bytes,
     "Bytes that it allocated itself, per second."},
    {"avg", "Avg", HP_CELL_FIGURE, HP_FIGURE_NS, 7, 12, 0, 140, fill_average, "The average duration of its calls."},
    {"calls", "Calls", HP_CELL_FIGURE, HP_FIGURE_COUNT, 7, 13, 0, 140, fill_calls, "Calls."},
    {"total", "Total", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 14, 0, 140, fill_total,
     "Threads in the function or its callees, on average."},
    {"history", "Last 60 s", HP_CELL_SPARK, HP_FIGURE_TEXT, HP_VIEW_SPARK, 15, 0, 140, NULL, "Its own time."},
};

static const struct function_column cpu[] = {
    NAME,
    {"cpu", "CPU", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 0, 0, 0, fill_cpu,
     "CPUs that it kept busy itself, on average."},
    {"share", "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 2, 0, 0, fill_cpu_share,
     "Of the CPU time of all functions."},
    {"user", "User", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 4, 0, 0, fill_user, "In user mode."},
    {"kernel", "Kernel", HP_CELL_FIGURE, HP_FIGURE_THREADS, 6, 5, 0, 0, fill_kernel, "In the kernel."},
    {OWN, 3, 0, 0, OWN_ABOUT},
    {"busy", "Busy %", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 6, 6, 0, 0, fill_busy,
     "CPU time as a share of its own time."},
    {CALLS, 7, 0, 0, CALLS_ABOUT},
    {POLLS, 9, 0, 0, POLLS_ABOUT},
    {"percall", "CPU/call", HP_CELL_FIGURE, HP_FIGURE_NS, 8, 8, 0, 0, fill_cpu_call,
     "CPU time per call, without callees."},
};

static const struct function_column memory[] = {
    NAME,
    {"alloc_s", "Alloc/s", HP_CELL_FIGURE, HP_FIGURE_BYTES_, 7, 0, 0, 0, fill_bytes,
     "Bytes that it allocated itself, per second."},
    {"share", "Share", HP_CELL_FIGURE, HP_FIGURE_PERCENT, 5, 1, 0, 0, fill_bytes_share,
     "Of the bytes allocated by all functions."},
    {"bytes_call", "Bytes/call", HP_CELL_FIGURE, HP_FIGURE_BYTES_, 10, 2, 0, 0, fill_bytes_call, "Per call."},
    {CALLS, 4, 0, 0, CALLS_ABOUT},
    {POLLS, 6, 0, 0, POLLS_ABOUT},
    {OWN, 3, 0, 0, OWN_ABOUT},
    {"history", "Last 60 s", HP_CELL_SPARK, HP_FIGURE_TEXT, HP_VIEW_SPARK, 5, 0, 0, NULL,
     "Bytes that it allocated."},
};

static const struct function_column waiting[] = {
    NAME,
    {"waiting", "Waiting", HP_CELL_FIGURE, HP_FIGURE_THREADS, 7, 0, 0, 0, fill_waiting,
     "Threads waiting in the function itself, on average."},
    {"lock", "Lock", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 2, 0, 0, fill_lock,
     "For a lock, a condition, another thread."},
    {"disk", "Disk", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 3, 0, 0, fill_disk, "For a file or a page of one."},
    {"network", "Network", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 4, 0, 0, fill_network,
     "For a socket, a pipe, one of several descriptors."},
    {"sleep", "Sleep", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 5, 0, 0, fill_sleep,
     "For a timer, and everything else."},
    {"queue", "Run queue", HP_CELL_FIGURE, HP_FIGURE_THREADS, 5, 6, 0, 0, fill_queue,
     "Ready to run, but without a CPU."},
    {OWN, 9, 0, 0, OWN_ABOUT},
    {"for", "Waits for", HP_CELL_TEXT, HP_FIGURE_TEXT, 30, 1, 0, 0, fill_cause, "The main cause."},
};

static const struct function_view {
    const char *name;
    const struct function_column *columns;
    size_t column_count;
    const char *sort;
    const char *if_empty;
    uint32_t history; /* for the history column: enum hp_axis_kind */
    bool has_idle_last;
} views[] = {
    {"timing", timing, sizeof timing / sizeof timing[0], "own", NULL, HP_AXIS_SITE_SELF, true},
    {"cpu", cpu, sizeof cpu / sizeof cpu[0], "cpu", HP_NO_CPU, HP_AXIS_SITE_CPU, false},
    {"memory", memory, sizeof memory / sizeof memory[0], "alloc_s", NULL, HP_AXIS_SITE_BYTES, false},
    {"waiting", waiting, sizeof waiting / sizeof waiting[0], "waiting", NULL, HP_AXIS_SITE_SELF, true},
};

static const struct function_view *view_named(const char *name)
{
    for (size_t at = 0; at < sizeof views / sizeof views[0]; at++)
        if (strcmp(views[at].name, name) == 0)
            return &views[at];
    return &views[0];
}

static bool has_tasks(const struct hp_watched *watched)
{
    size_t at = 0;
    while (at < watched->function_count && !watched->functions[at].is_task)
        at++;
    return at < watched->function_count;
}

/* Returns how many there are. The column of polls is there if something is polled. */
static size_t choose_columns(const struct function_view *view, bool has_polls,
                             const struct function_column **chosen)
{
    size_t count = 0;
    for (size_t at = 0; at < view->column_count; at++)
        if (has_polls || view->columns[at].fill != fill_polls_s)
            chosen[count++] = &view->columns[at];
    return count;
}

static void add_columns(struct hp_table *table, const struct function_view *view,
                        const struct function_column *const *chosen, size_t count)
{
    table->sort = view->sort;
    table->if_empty = view->if_empty;
    for (size_t at = 0; at < count; at++) {
        const struct function_column *from = chosen[at];
        struct hp_table_column *column = hp_view_add(table, from->key, from->title, from->kind, from->figure,
                                                     from->width, from->rank, from->about);
        column->from = from->from;
        column->gap = from->gap > 0 ? from->gap : column->gap;
    }
}

static struct filling begin_filling(struct hp_console *console)
{
    const struct hp_watched *watched = &console->watched;
    struct filling filling = {.console = console,
                              .has_cpu = hp_run_has_feature(&watched->reader.model.run, HP_FEATURE_CPU)};
    for (size_t at = 0; at < watched->function_count; at++) {
        filling.cpus += cpu_of(&watched->functions[at]);
        filling.bytes += watched->functions[at].bytes_per_second;
    }
    return filling;
}

void hp_view_functions(struct hp_console *console, const char *name)
{
    const struct hp_watched *watched = &console->watched;
    const struct function_view *view = view_named(name);
    const struct function_column *columns[HP_TABLE_COLUMNS];
    const size_t count = choose_columns(view, has_tasks(watched), columns);
    add_columns(&console->table, view, columns, count);
    struct hp_table_row *rows = hp_table_make_rows(&console->table, &console->arena, watched->function_count);
    struct filling filling = begin_filling(console);
    for (size_t row = 0; rows != NULL && row < watched->function_count; row++) {
        filling.function = &watched->functions[row];
        filling.is_idle = hp_console_is_idle(console, filling.function);
        rows[row].id = filling.function->id;
        rows[row].is_last = view->has_idle_last && filling.is_idle;
        for (size_t at = 0; at < count; at++)
            if (columns[at]->fill != NULL)
                columns[at]->fill(&filling, &rows[row].cells[at]);
    }
}

/* --------------------------------------------------------------------------------- cells that visit all threads */

bool hp_console_durations(struct hp_console *console, const struct hp_watched_function *function,
                          struct hp_durations *ret_durations)
{
    const struct hp_watched *watched = &console->watched;
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
    const struct hp_watched_function *function = &console->watched.functions[index];
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
            hp_view_set_number(&row->cells[hp_table_find(&console->table, wanted[at].key)], true,
                               ticks * console->watched.reader.model.run.ns_per_tick);
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
            history_of(console, &console->watched.functions[index], kind, unit, HP_VIEW_SPARK);
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
    fill_histories(console, history,
                   history == HP_AXIS_SITE_SELF ? console->watched.reader.model.run.ns_per_tick * 1e-9 : 1);
}
