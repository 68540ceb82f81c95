/*
 * The section `threads`: one row per thread, including ended ones, with what it used. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>

#include "identity.h"
#include "order.h"
#include "text.h"
#include "thread_usage_profile.h"
#include "units.h"
#include "wait_profile.h"

enum { IS_WATCHED = HP_FACT_OWN, HAS_LIVING = HP_FACT_OWN << 1 };

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_run_thread_usage *usage;
};

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

/* Threads that are counted together are identified by their name. */
static uint64_t identity_of(const struct hp_thread_usage_member *member)
{
    const struct hp_thread_label *label = member->label;
    if (!member->is_rest && label->threads <= 1)
        return hp_identity_with_thread(0, label);
    return hp_identity_with_number(hp_identity_with_text(0, label->name), label->pid);
}

/* A thread shorter than the sampling period has no other value. */
static double most_of(const struct hp_thread_usage_member *member)
{
    const double average = average_of(member);
    return member->max_percent > average ? member->max_percent : average;
}

static const char *place_of(const struct hp_thread_usage_member *member)
{
    return !member->has_place ? NULL : member->site != NULL ? member->site->name : HP_OUTSIDE;
}

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_thread_usage_member *member = entry;
    (void)view;
    if (to->row != NULL)
        to->row->id = identity_of(member);
    HP_FIELD(to, member->is_rest ? member->label->name : hp_fields_name_thread(to, member->label), "name", "Thread",
             TEXT, HP_COLUMN_FIRST,
             "Name and number of the thread, or of the last of several with the same name: sums then cover all of "
             "them, and percentages are the average of each. <others> is what a process used in threads that were "
             "never seen.");
    HP_FIELD(to, state_of(member), "state", "State", TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "alive: the thread was not watched, or the row has several threads.",
             .words = "running|waiting|disk|stopped|alive|ended");
    HP_FIELD_IF(to, member->has_time && member->is_watched && member->living > 0, member->now_percent,
                "percent_now", "% Now", PERCENT, HP_COLUMN_SHOWN,
                "Percent of one CPU, at the latest sample; null: it has ended, or was not watched.",
                .shown_by = IS_WATCHED | HAS_LIVING);
    HP_FIELD_IF(to, member->has_time && member->is_watched, most_of(member), "percent_max", "% Max", PERCENT,
                HP_COLUMN_SHOWN, "The highest percentage in any sample.", .shown_by = IS_WATCHED);
    HP_FIELD_IF(to, member->has_time && member->is_watched, average_of(member), "percent_average", "% Avg", PERCENT,
                HP_COLUMN_SHOWN, "Average over its lifetime.", .shown_by = IS_WATCHED);
    HP_FIELD_IF(to, member->has_time, hp_thread_usage_cpu_ns(member), "cpu_ns", "CPU Time", NS,
                HP_COLUMN_KEEP | HP_COLUMN_SHOWN, "null: neither sampled nor watched.");
    HP_FIELD_IF(to, member->has_time, member->user_ns, "user_ns", "User", NS, HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, member->has_time, member->kernel_ns, "kernel_ns", "Kernel", NS, HP_COLUMN_SHOWN);
    HP_FIELD_IF(to, member->has_time && member->is_watched, member->voluntary, "voluntary_switches",
                "Vol. Switches", COUNT, HP_COLUMN_SHOWN,
                "Voluntary context switches: the thread gave up the CPU to wait.", .shown_by = IS_WATCHED);
    HP_FIELD_IF(to, member->has_time && member->is_watched, member->involuntary, "involuntary_switches",
                "Preempted", COUNT, HP_COLUMN_SHOWN, "Involuntary context switches: the kernel took the CPU away.",
                .shown_by = IS_WATCHED);
    HP_FIELD_IF(to, member->has_allocs, member->allocated_bytes, "allocated_bytes", "Allocated", BYTES,
                HP_COLUMN_SHOWN, .shown_by = HP_FACT_ALLOCS);
    HP_FIELD_IF(to, member->has_allocs, member->freed_bytes, "freed_usable_bytes", "Freed", BYTES, HP_COLUMN_SHOWN,
                .shown_by = HP_FACT_ALLOCS);
    HP_FIELD_IF(to, member->has_allocs, member->live_bytes, "live_usable_bytes", "Net", SIGNED_BYTES,
                HP_COLUMN_SHOWN,
                "Usable bytes of what it allocated, minus Freed; negative if it frees blocks of other threads.",
                .shown_by = HP_FACT_ALLOCS);
    HP_FIELD(to, place_of(member), "current", "In", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The innermost measured function that it is in; null: it has ended, or records nothing.",
             .shown_by = HAS_LIVING);
    HP_FIELD_IF(to, !member->is_rest, member->label->tid, "tid", "TID", COUNT, 0);
    HP_FIELD(to, member->label->pid, "pid", "PID", COUNT, 0);
    HP_FIELD_IF(to, !member->is_rest || member->label->threads > 0, member->label->threads, "threads", "Threads",
                COUNT, 0, "Number of threads in this row.");
    HP_FIELD_IF(to, member->has_time && member->is_watched, member->lived_ns, "lived_ns", "Lived", NS, 0);
    HP_FIELD_IF(to, member->is_watched, hp_thread_usage_waited_ns(member), "waited_ns", "Waited", NS, 0,
                "Time seen waiting; null: not watched.");
    HP_FIELD_IF(to, member->is_watched, hp_histogram_of_waits(to->results->model->arena, member->waited_ns),
                "waits_ns", "Waits", HISTOGRAM, 0, "Waiting by cause, the longest first.",
                .words = HP_WAIT_CAUSE_WORDS);
}

/* ---------------------------------------------------------------------------------------------- lines */

static void put_bytes(struct hp_text *line, const char *before, uint64_t bytes)
{
    hp_text_format(line, "%s%s", before, hp_bytes_text(bytes).bytes);
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
    view->section->summary = hp_results_keep(view->results, &line);
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

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_run_thread_usage *usage = about;
    (void)view;
    HP_FIELD(to, usage->threads, "threads", NULL, COUNT, 0, "Running threads.");
    HP_FIELD(to, usage->most, "most_threads", NULL, COUNT, 0, "The most threads at the same time in one process.");
    HP_FIELD(to, usage->rss_bytes, "rss_bytes", NULL, COUNT, 0, "Resident memory of all running processes.");
    HP_FIELD(to, usage->rss_peak_bytes, "rss_peak_bytes", NULL, COUNT, 0,
             "The highest resident memory of any process.");
    HP_FIELD(to, hp_run_count_processes(&to->results->model->run, is_watched), "watched_processes", NULL, COUNT, 0);
    HP_FIELD(to, usage->cpu_ns, "cpu_ns", NULL, COUNT, 0, "CPU time of all processes.");
    HP_FIELD(to, usage->unseen_cpu_ns, "unseen_cpu_ns", NULL, COUNT, 0,
             "The part of it in processes and threads whose waits are not known.");
}

static bool has_data(const struct hotpath_results *results)
{
    return hp_run_has_thread_usage(&results->model->run);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section, .usage = hp_model_thread_usage(results->model)};
    if (view.usage == NULL)
        return false;
    const uint32_t facts =
        (view.usage->sessions > 0 ? IS_WATCHED : 0u) | (view.usage->threads > 0 ? HAS_LIVING : 0u);
    section->description = "Threads and what they used.";
    section->if_empty = "no thread was seen";
    add_notes(&view);
    if (!hp_section_begin(results, section, &view, facts, "cpu_ns", NULL))
        return false;
    hp_section_add_totals(results, section, view.usage);
    return hp_section_fill_rows(results, section, (const void *const *)view.usage->all, view.usage->count, &view) &&
           set_summary(&view);
}

const struct hp_section_type hp_section_threads = {
    .name = "threads",
    .is_on_request = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .totals = totals,
    .about = "What threads used, including ended ones, as far as they were watched.",
    .about_row = "A thread, or several of the same name. The row <others> is what a process used in threads that "
                 "were never seen.",
    .always = "order|totals"};
