/*
 * The section `threads`: one row per thread, including ended ones, with what it used. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>

#include "arena.h"
#include "histogram.h"
#include "identity.h"
#include "order.h"
#include "text.h"
#include "thread_usage_profile.h"
#include "units.h"
#include "wait_profile.h"

struct columns {
    size_t name, state, now, most, average, cpu, user, kernel, voluntary, involuntary, allocated, freed, live,
        current, tid, pid, threads, lived, waited, waits;
};

#define AT(column) .index = offsetof(struct columns, column)

enum { IS_WATCHED = HP_FACT_OWN, HAS_LIVING = HP_FACT_OWN << 1 };

static const struct hp_column_spec column_table[] = {
    {"name", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Name and number of the thread, or of the last of several with the same name: sums then cover all of them, "
     "and percentages are the average of each. <others> is what a process used in threads that were never seen."},
    {"state", "State", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN, AT(state),
     "alive: the thread was not watched, or the row has several threads.",
     .words = "running|waiting|disk|stopped|alive|ended"},
    {"percent_now", "% Now", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(now),
     "Percent of one CPU, at the latest sample; null: it has ended, or was not watched.",
     .shown_by = IS_WATCHED | HAS_LIVING},
    {"percent_max", "% Max", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(most),
     "The highest percentage in any sample.", .shown_by = IS_WATCHED},
    {"percent_average", "% Avg", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(average),
     "Average over its lifetime.", .shown_by = IS_WATCHED},
    {"cpu_ns", "CPU Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(cpu),
     "null: neither sampled nor watched."},
    {"user_ns", "User", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(kernel)},
    {"voluntary_switches", "Vol. Switches", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(voluntary),
     "Voluntary context switches: the thread gave up the CPU to wait.", .shown_by = IS_WATCHED},
    {"involuntary_switches", "Preempted", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(involuntary),
     "Involuntary context switches: the kernel took the CPU away.", .shown_by = IS_WATCHED},
    {"allocated_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(allocated),
     .shown_by = HP_FACT_ALLOCS},
    {"freed_usable_bytes", "Freed", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(freed),
     .shown_by = HP_FACT_ALLOCS},
    {"live_usable_bytes", "Net", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(live),
     "Allocated minus freed by this thread; negative if it frees blocks of other threads.",
     .shown_by = HP_FACT_ALLOCS},
    {"current", "In", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(current), "The innermost measured function that it is in; null: it has ended, or records nothing.",
     .shown_by = HAS_LIVING},
    {"tid", "TID", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(tid)},
    {"pid", "PID", HOTPATH_UNIT_COUNT, 0, AT(pid)},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(threads), "Number of threads in this row."},
    {"lived_ns", "Lived", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(lived)},
    {"waited_ns", "Waited", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(waited), "Time seen waiting; null: not watched."},
    {"waits_ns", "Waits", HOTPATH_UNIT_HISTOGRAM, HP_COLUMN_MAYBE, AT(waits),
     "Waiting by cause, the longest first.", .words = HP_WAIT_CAUSE_WORDS},
};

static const struct hp_column_spec total_table[] = {
    {.key = "threads", .unit = HOTPATH_UNIT_COUNT, .about = "Running threads."},
    {.key = "most_threads",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "The most threads at the same time in one process."},
    {.key = "rss_bytes", .unit = HOTPATH_UNIT_COUNT, .about = "Resident memory of all running processes."},
    {.key = "rss_peak_bytes", .unit = HOTPATH_UNIT_COUNT, .about = "The highest resident memory of any process."},
    {.key = "watched_processes", .unit = HOTPATH_UNIT_COUNT},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    const struct hp_run_thread_usage *usage;
};

static bool describe(struct view *view)
{
    const uint32_t facts =
        (view->usage->sessions > 0 ? IS_WATCHED : 0u) | (view->usage->threads > 0 ? HAS_LIVING : 0u);
    return hp_section_describe(view->results, view->section, facts, &view->columns);
}

/* ----------------------------------------------------------------------------------------------- rows */

/* Only for a single live thread. */
static const char *state_of(const struct hp_thread_usage_member *member)
{
    if (member->living == 0)
        return "ended";
    if (member->state == 0 || member->living > 1)
        return "alive";
    switch (member->state) {
    case 'R':
        return "running";
    case 'D':
        return "disk";
    case 'T':
    case 't':
        return "stopped";
    default:
        return "waiting";
    }
}

/* The beginning is only known to the sampling period, so a short life may seem shorter than its CPU time. */
static double average_of(const struct hp_thread_usage_member *member)
{
    const double lived_ns = (double)member->lived_ns, cpu_ns = (double)hp_thread_usage_cpu_ns(member);
    return lived_ns > cpu_ns ? 100 * cpu_ns / lived_ns : cpu_ns > 0 ? 100 : 0;
}

static void set_times(const struct columns *columns, struct hp_row *row,
                      const struct hp_thread_usage_member *member)
{
    const double cpu_ns = (double)hp_thread_usage_cpu_ns(member);
    if (!member->has_time)
        return;
    hp_section_set_number(row, columns->cpu, cpu_ns);
    hp_section_set_number(row, columns->user, (double)member->user_ns);
    hp_section_set_number(row, columns->kernel, (double)member->kernel_ns);
    if (!member->is_watched)
        return;
    if (member->living > 0)
        hp_section_set_number(row, columns->now, member->now_percent);
    const double average = average_of(member);
    hp_section_set_number(row, columns->average, average);
    /* A thread shorter than the sampling period has no other value. */
    hp_section_set_number(row, columns->most, member->max_percent > average ? member->max_percent : average);
    hp_section_set_count(row, columns->voluntary, member->voluntary);
    hp_section_set_count(row, columns->involuntary, member->involuntary);
    hp_section_set_number(row, columns->lived, (double)member->lived_ns);
}

static bool set_waits(const struct view *view, struct hp_row *row, const struct hp_thread_usage_member *member)
{
    uint64_t sum = 0;
    if (!member->is_watched)
        return true;
    for (uint32_t cause = 0; cause < HP_WAIT_CAUSES; cause++)
        sum += member->waited_ns[cause];
    const struct hotpath_histogram *causes = hp_histogram_of_waits(view->results->model->arena, member->waited_ns);
    hp_section_set_number(row, view->columns.waited, (double)sum);
    hp_section_set_histogram(row, view->columns.waits, causes);
    return causes != NULL;
}

/* Threads that are counted together are identified by their name. */
static uint64_t identity_of(const struct hp_thread_usage_member *member)
{
    const struct hp_thread_label *label = member->label;
    if (!member->is_rest && label->threads <= 1)
        return hp_identity_with_thread(0, label);
    return hp_identity_with_number(hp_identity_with_text(0, label->name), label->pid);
}

static bool set_name(const struct view *view, struct hp_row *row, const struct hp_thread_usage_member *member)
{
    row->id = identity_of(member);
    hp_section_set_count(row, view->columns.pid, member->label->pid);
    if (!member->is_rest || member->label->threads > 0)
        hp_section_set_count(row, view->columns.threads, member->label->threads);
    if (member->is_rest) {
        hp_section_set_text(row, view->columns.name, member->label->name);
        return true;
    }
    hp_section_set_count(row, view->columns.tid, member->label->tid);
    return hp_section_set_thread(view->results, row, view->columns.name, member->label);
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_thread_usage_member *member = about;
    const struct columns *columns = &view->columns;
    hp_section_set_text(row, columns->state, state_of(member));
    set_times(columns, row, member);
    if (member->has_allocs) {
        hp_section_set_count(row, columns->allocated, member->allocated_bytes);
        hp_section_set_count(row, columns->freed, member->freed_bytes);
        hp_section_set_signed(row, columns->live, member->live_bytes);
    }
    if (!set_waits(view, row, member))
        return false;
    if (member->has_place)
        hp_section_set_text(row, columns->current, member->site != NULL ? member->site->name : HP_OUTSIDE);
    return set_name(view, row, member);
}

/* ---------------------------------------------------------------------------------------------- lines */

static void put_bytes(struct hp_text *line, const char *before, uint64_t bytes)
{
    hp_text_string(line, before);
    hp_units_bytes(line, bytes);
}

/* "3 threads live, 8 did at a time; 12.3 MB of memory in use, 20.1 MB at most" */
static bool set_summary(const struct view *view)
{
    char bytes[200];
    struct hp_text line;
    const struct hp_run_thread_usage *usage = view->usage;
    if (usage->sessions == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    if (usage->threads > 0)
        hp_text_format(&line, "%" PRIu64 "%s", usage->threads,
                       usage->threads == 1 ? " thread running, " : " threads running, ");
    hp_text_format(&line, "%" PRIu64 "%s", usage->most,
                   usage->threads > 0 ? " at peak"
                   : usage->most == 1 ? " thread"
                                      : " threads at peak");
    if (usage->rss_bytes > 0)
        put_bytes(&line, "; memory in use: ", usage->rss_bytes);
    if (usage->rss_peak_bytes > 0)
        put_bytes(&line, usage->rss_bytes > 0 ? ", at most " : "; memory in use at most: ", usage->rss_peak_bytes);
    view->section->summary = hp_arena_copy(view->results->model->arena, line.bytes, line.length);
    return view->section->summary != NULL;
}

static void add_notes(const struct view *view)
{
    bool has_shared = false, has_rest = false, has_unwatched = false;
    for (size_t at = 0; at < view->usage->count; at++) {
        const struct hp_thread_usage_member *member = view->usage->all[at];
        has_shared |= !member->is_rest && member->label->threads > 1;
        has_rest |= member->is_rest;
        has_unwatched |= !member->is_watched && !member->is_rest;
    }
    if (has_shared)
        hp_section_note(view->section,
                        "(n threads): threads with the same name share a row, with the average of their "
                        "percentages and the id of the last");
    if (has_rest)
        hp_section_note(view->section,
                        "<others> has what the process used in threads that ended before they were sampled");
    if (has_unwatched)
        hp_section_note(view->section,
                        "threads were not sampled, so only their own records are shown: 'hotpath run' or "
                        "HOTPATH_WAITS=1 samples them, unless a run is very short");
}

static bool is_watched(const struct hp_snapshot *session)
{
    struct hp_thread_usage usage;
    return hp_snapshot_thread_usage(session, &usage);
}

static void add_totals(struct hotpath_section *section, const struct hp_run *run,
                       const struct hp_run_thread_usage *usage)
{
    hp_section_add_total(section, "threads", usage->threads);
    hp_section_add_total(section, "most_threads", usage->most);
    hp_section_add_total(section, "rss_bytes", usage->rss_bytes);
    hp_section_add_total(section, "rss_peak_bytes", usage->rss_peak_bytes);
    hp_section_add_total(section, "watched_processes", hp_run_count_processes(run, is_watched));
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_thread_usage(&results->model->run);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section, .usage = hp_model_thread_usage(results->model)};
    if (view.usage == NULL || !describe(&view))
        return false;
    section->description = "Threads and what they used.";
    section->if_empty = "no thread was seen";
    section->total_rows = view.usage->count;
    add_totals(section, &results->model->run, view.usage);
    add_notes(&view);
    return hp_order_choose(results, section, view.columns.cpu, HP_MAX_COLUMNS) &&
           hp_order_fill(results, section, results->settings->show.functions_limit,
                         (const void *const *)view.usage->all, view.usage->count, fill_row, &view) &&
           set_summary(&view);
}

const struct hp_section_type hp_section_threads = {
    .name = "threads",
    .is_on_request = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    HP_TOTALS(total_table),
    .about = "What threads used, including ended ones, as far as they were watched.",
    .about_row = "A thread, or several of the same name. The row <others> is what a process used in threads that "
                 "were never seen.",
    .always = "order|totals"};
