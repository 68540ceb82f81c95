/*
 * The sections `critical-path` and `path-waits`: the functions whose time decided when the run ended, and what was
 * waited for along the path. docs/critical-path.md describes both. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "identity.h"
#include "loop_profile.h"
#include "order.h"
#include "path_sentence.h"
#include "units.h"

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_run_path *path;
};

static bool has_data(const struct hotpath_results *results) { return hp_run_has_path(&results->model->run); }

static const char *why_empty(const struct hp_run_path *path)
{
    return path->is_followed ? "nothing was waited for" : "it was not followed: 'hotpath run --path' follows it";
}

static double ns_of(const struct view *view, uint64_t ticks)
{
    return hp_run_ns(&view->results->model->run, ticks);
}

/* How often the event loops of the first thread waited for work. 0: it has none. False: no memory. */
static bool count_stretches(const struct view *view, uint64_t *ret_count)
{
    const struct hp_snapshot *session = view->results->model->run.sessions[view->path->session];
    struct hp_model *model = view->results->model;
    const struct hp_objects *objects = hp_model_objects(model);
    const struct hp_loops *loops = objects != NULL ? hp_loops_of_run(model->arena, &model->run, objects) : NULL;
    *ret_count = 0;
    for (size_t at = 0; loops != NULL && at < loops->count; at++)
        if (loops->all[at].thread != NULL && loops->all[at].thread->pid == session->header.pid &&
            loops->all[at].thread->tid == session->header.pid)
            *ret_count += loops->all[at].waits;
    return loops != NULL;
}

/* ", over 120 busy stretches of 30.00 s" */
static bool put_stretches(struct view *view, struct hp_text *line)
{
    const struct hp_run_path *path = view->path;
    uint64_t count;
    if (path->idle == 0)
        return true;
    if (!count_stretches(view, &count))
        return false;
    hp_text_string(line, ", over ");
    if (count > 0)
        hp_text_format(line, "%" PRIu64, count);
    hp_text_format(line, "%s busy stretches of %s", count > 0 ? "" : "the",
                   hp_ns_text(ns_of(view, path->ticks + path->idle)).bytes);
    return true;
}

/* "The path is 1.20 s long; who ended 3 % of its waits is unknown" */
static bool set_summary(struct view *view)
{
    char bytes[256];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "The path is %s long", hp_ns_text(ns_of(view, view->path->ticks)).bytes);
    if (!put_stretches(view, &line))
        return false;
    if (view->path->known + view->path->unknown > 0)
        hp_text_format(&line, "; the waker is known for %s of its waits",
                       hp_percent_text(100 * hp_path_known_part(view->path)).bytes);
    view->section->summary = hp_results_keep(view->results, &line);
    return view->section->summary != NULL;
}

static bool note_lost(struct view *view)
{
    char bytes[160];
    struct hp_text line;
    if (view->path->lost == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%" PRIu64 " times no path was handed over, since its place was in use",
                   view->path->lost);
    return hp_section_note(view->section, hp_results_keep(view->results, &line));
}

static bool begin(struct view *view, const char *usual, const char *share)
{
    view->path = hp_model_path(view->results->model);
    view->section->percent_of = "path";
    return view->path != NULL && hp_section_begin(view->results, view->section, view, 0, usual, share);
}

/* --------------------------------------------------------------------------------------------- critical-path */

static const char *time_name(enum hp_path_time time)
{
    static const char *const names[HP_PATH_TIMES] = {
        [HP_PATH_RUNNING] = "running", [HP_PATH_WAITING] = "waiting",  [HP_PATH_UNKNOWN] = "unknown-waker",
        [HP_PATH_WAKING] = "wake-up",  [HP_PATH_QUEUED] = "run-queue", [HP_PATH_REST] = "other",
        [HP_PATH_IDLE] = "idle"};
    return names[time];
}

static void path_fields(struct hp_fields *to, void *about, const void *entry)
{
    const struct view *view = about;
    const struct hp_path_function *function = entry;
    if (to->row != NULL)
        to->row->id =
            function->found != NULL
                ? hp_identity_of_found(function->found->name, function->found->library, function->found->file)
            : function->site != NULL
                ? hp_identity_of_site(function->site)
                : hp_identity_with_text(hp_identity_of_site(NULL), hp_path_function_name(function));
    HP_FIELD(
        to, hp_path_function_name(function), "name", "Function", TEXT, HP_COLUMN_FIRST,
        "The function, or <outside>: outside of measured functions; <wake-up>: between the release of something "
        "and the moment at which the woken thread ran; <run queue>: ready to run, without a CPU, estimated from "
        "probes; <other>: functions beyond the first 256; <idle>: the first thread waited for work from outside of "
        "the run, and no other thread of it worked.");
    HP_FIELD(to, time_name(function->time), "kind", "Kind", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "What most of the time is. waiting: for something that no thread of the program releases; "
             "unknown-waker: for another thread, which is not known.",
             .words = "running|waiting|unknown-waker|wake-up|run-queue|other|idle");
    HP_FIELD(to, function->cause, "waits_for", "For", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "What it waits for, if the kind is waiting.");
    HP_FIELD(to, ns_of(view, function->ticks), "path_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time of the function itself on the path, on whichever thread.");
    HP_FIELD_IF(to, function->time != HP_PATH_IDLE, 100 * hp_path_part(view->path, function->ticks), "percent_path",
                "% Path", PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "Its share of the path; idle time is no part of it, so it has none.");
    HP_FIELD_IF(to, function->time != HP_PATH_IDLE, 50 * hp_path_part(view->path, function->ticks), "percent_saved",
                "2x Saves At Most", PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "By how much the run would be shorter at most if the function took half of its time: another path "
                "may take over. Where there is idle time, by how much less of the run would be busy.");
    HP_FIELD(to, ns_of(view, function->unknown), "unknown_ns", "Unknown", NS, 0,
             "The part of path_ns in which it waited for another thread that is not known.");
    HP_FIELD(to, function->site != NULL ? &function->site->location : NULL, "location", "Location", TEXT,
             HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
}

static bool fill_path(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "The functions that decided how long the program took.";
    if (!begin(&view, "path_ns", "percent_path"))
        return false;
    section->if_empty = why_empty(view.path);
    return hp_section_fill_rows(results, section, (const void *const *)view.path->functions,
                                view.path->function_count, &view) &&
           (!view.path->is_followed || (set_summary(&view) && note_lost(&view)));
}

const struct hp_section_type hp_section_critical_path = {
    .name = "critical-path",
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill_path,
    .fields = path_fields,
    .about =
        "The functions that decided how long the program took: those on the chain of work and waits that leads to "
        "the end of its first thread. Present if HOTPATH_PATH was set.",
    .always = "percent_of|order"};

/* ------------------------------------------------------------------------------------------------ path-waits */

/* Where the waker released it. */
static const char *holder_of(const struct hp_path_for *wait)
{
    if (wait->holder != NULL)
        return wait->holder->name;
    return wait->caller != NULL ? wait->caller : HP_OUTSIDE;
}

static void wait_fields(struct hp_fields *to, void *about, const void *entry)
{
    const struct view *view = about;
    const struct hp_path_for *wait = entry;
    if (to->row != NULL)
        to->row->id = hp_identity_with_text(hp_identity_with_number(hp_identity_of_site(wait->holder), wait->kind),
                                            wait->name);
    if (to->row != NULL && wait->caller != NULL)
        to->row->id = hp_identity_with_text(to->row->id, wait->caller);
    HP_FIELD(to, hp_path_for_name(wait), "name", "Waited For", TEXT, HP_COLUMN_FIRST, "Its name, or what it is.");
    HP_FIELD(to, hp_path_kind_name(wait->kind), "kind", "Kind", TEXT, HP_COLUMN_SHOWN, .words = HP_PATH_KIND_WORDS);
    HP_FIELD(to, holder_of(wait), "held_by", "Released In", TEXT, HP_COLUMN_LATE | HP_COLUMN_SHOWN,
             "The function in which the waker released, sent or signalled it.");
    HP_FIELD(to, wait->count, "waits", "Waits", COUNT, HP_COLUMN_SHOWN, "Number of waits along the path.");
    HP_FIELD(to, ns_of(view, wait->ticks), "waited_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "Time on the path in which a thread further along it waited for that.");
    HP_FIELD(to, ns_of(view, wait->ticks) / (double)(wait->count > 0 ? wait->count : 1), "avg_ns", "Avg", NS,
             HP_COLUMN_SHOWN);
    HP_FIELD(to, 100 * hp_path_part(view->path, wait->ticks), "percent_path", "% Path", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART);
}

static bool fill_waits(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "What was waited for along the critical path.";
    if (!begin(&view, "waited_ns", "percent_path"))
        return false;
    section->if_empty = why_empty(view.path);
    return hp_section_fill_rows(results, section, (const void *const *)view.path->waits, view.path->wait_count,
                                &view);
}

const struct hp_section_type hp_section_path_waits = {
    .name = "path-waits",
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill_waits,
    .fields = wait_fields,
    .about = "What was waited for along the critical path, and where its wakers were.",
    .always = "percent_of|order"};
