/*
 * The section `waits`: what threads waited for, one row per function, cause, system call and file. Shares are of
 * the watched time of all threads, so the rest to 100 % is CPU time. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "lock_causes.h"
#include "order.h"
#include "shares.h"
#include "system_calls.h"
#include "text.h"
#include "units.h"
#include "utf8.h"
#include "wait_profile.h"

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_run_waits *waits;
    struct hp_wait_sums **shown;
    size_t count;
};

/* ---------------------------------------------------------------------------------------------- lines */

static double share(const struct view *view, uint64_t ns)
{
    return view->waits->watched_ns > 0 ? 100 * (double)ns / (double)view->waits->watched_ns : 0;
}

/* "Threads waited 3.20 s of their 4.00 s (80.00%); 400 samples, every 10.00 ms, took 2.00 ms" */
static bool set_summary(struct view *view)
{
    char bytes[256];
    struct hp_text line;
    const struct hp_run_waits *waits = view->waits;
    if (waits->sessions == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "Threads waited %s of their %s", hp_ns_text((double)waits->waited_ns).bytes,
                   hp_ns_text((double)waits->watched_ns).bytes);
    if (waits->watched_ns > 0) {
        hp_text_format(&line, " (%s", hp_percent_text(share(view, waits->waited_ns)).bytes);
        hp_text_char(&line, ')');
    }
    hp_text_format(&line, "; %" PRIu64 "%s%s, took %s", waits->probes,
                   waits->probes == 1 ? " sample, every " : " samples, every ",
                   hp_ns_text(1000.0 * waits->period_us).bytes, hp_ns_text((double)waits->watcher_ns).bytes);
    view->section->summary = hp_results_keep(view->results, &line);
    return view->section->summary != NULL;
}

/* False: no memory. */
static bool note_missing(struct view *view, uint64_t ns, const char *why)
{
    char bytes[160];
    struct hp_text line;
    if (ns == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%s of waiting time has no row: %s", hp_ns_text((double)ns).bytes, why);
    return hp_section_note(view->section, hp_results_keep(view->results, &line));
}

static bool add_notes(struct view *view)
{
    if (view->waits->is_blind)
        hp_section_note(view->section,
                        "some system calls are unknown: the kernel hides those of programs with other privileges");
    if (view->waits->unwatched > 0)
        hp_section_note(view->section, "not all threads were sampled all the time: the limit is 128 processes at a "
                                       "time, with 512 threads each");
    return note_missing(view, view->waits->left_out_ns, "no space for more rows") &&
           note_missing(view, view->waits->misplaced_ns, "it exceeded the time of its function");
}

static bool is_watched(const struct hp_snapshot *session)
{
    struct hp_waits waits;
    return hp_snapshot_waits(session, &waits);
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_run_waits *waits = about;
    (void)view;
    HP_FIELD(to, waits->watched_ns, "watched_ns", NULL, COUNT, 0,
             "Watched time of all threads together: running, ready to run or waiting.");
    HP_FIELD(to, waits->waited_ns, "waited_ns", NULL, COUNT, 0);
    HP_FIELD(to, waits->left_out_ns, "left_out_ns", NULL, COUNT, 0,
             "Waiting time without a row, for lack of space.");
    HP_FIELD(to, waits->misplaced_ns, "misplaced_ns", NULL, COUNT, 0,
             "Waiting time without a row: attributed to functions beyond the time they took.");
    HP_FIELD(to, waits->probes, "looks", NULL, COUNT, 0, "Samples of threads.");
    HP_FIELD(to, waits->period_us, "period_us", NULL, COUNT, 0,
             "Mean time between two samples of a process; of several processes, the longest.");
    HP_FIELD(to, waits->watcher_ns, "watcher_ns", NULL, COUNT, 0, "CPU time of the wait sampler.");
    HP_FIELD(to, hp_run_count_processes(&to->results->model->run, is_watched), "watched_processes", NULL, COUNT, 0);
    HP_FIELD(to, waits->unwatched, "unwatched_threads", NULL, COUNT, 0,
             "Threads that were not watched, at least, for lack of space.");
}

/* ----------------------------------------------------------------------------------------------- rows */

static bool is_shown(const struct view *view, const struct hp_wait_sums *wait)
{
    const struct hotpath_results *results = view->results;
    if (wait->ns == 0 || hp_share_is_small(wait->ns, view->waits->watched_ns, &results->settings->show))
        return false;
    return wait->site != NULL ? hp_results_show(results, wait->site) : results->focus == NULL;
}

static bool choose(struct view *view)
{
    view->shown = hp_arena_take_array(view->results->model->arena, view->waits->count + 1, sizeof(void *));
    for (size_t at = 0; view->shown != NULL && at < view->waits->count; at++)
        if (is_shown(view, view->waits->all[at]))
            view->shown[view->count++] = view->waits->all[at];
    return view->shown != NULL;
}

/* What hooks of locks know of it. NULL: nothing. */
static const struct hp_lock_block *block_of(const struct view *view, const struct hp_wait_sums *wait)
{
    return wait->what[0] == '\0'
               ? hp_lock_awaited(view->results->model->locks, wait->site != NULL ? wait->site->name : NULL,
                                 wait->cause, (double)wait->ns)
               : NULL;
}

/*
 * The file, or the lock, or the place of the thread that holds it or is waited for: "cache, held in rebuild", "held
 * in update", "in parse".
 */
static const char *what_of(struct hp_fields *to, const struct hp_wait_sums *wait, const struct hp_lock_block *block)
{
    char bytes[256];
    struct hp_text line;
    if (block != NULL) {
        hp_text_init(&line, bytes, sizeof bytes);
        hp_lock_put_block(&line, block, ", ");
        return hp_fields_copy(to, bytes, line.length);
    }
    if (wait->what[0] != '\0' || wait->other == NULL)
        return hp_text_or_none(wait->what);
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, wait->cause == HP_WAIT_LOCK ? "held in " : "in ");
    hp_utf8_put_safe(&line, wait->other->name, strlen(wait->other->name));
    return hp_fields_copy(to, bytes, line.length);
}

/* "from xz", "to md5sum", "with redis-server", "within the process" */
static const char *end_of(struct hp_fields *to, const struct hp_wait_sums *wait)
{
    char bytes[256];
    struct hp_text line;
    if (wait->end == NULL)
        return NULL;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_wait_put_end(&line, wait);
    return hp_fields_copy(to, bytes, line.length);
}

static const char *holder_name(const struct hp_wait_sums *wait)
{
    return wait->holder != NULL ? wait->holder->name : NULL;
}

/* "running", or what it mostly waited for. */
static const char *holder_state(const struct hp_wait_sums *wait)
{
    if (wait->holder == NULL)
        return NULL;
    return wait->holder->waiting > wait->holder->working ? hp_wait_cause_name(wait->holder->cause) : "running";
}

static const char *other_of(const struct hp_wait_sums *wait, const struct hp_lock_block *block)
{
    return block != NULL ? block->holder : wait->other != NULL ? wait->other->name : NULL;
}

static uint64_t identity_of(const struct hp_wait_sums *wait)
{
    uint64_t id = hp_identity_with_text(hp_identity_of_site(wait->site), hp_wait_cause_name(wait->cause));
    id = hp_identity_with_number(hp_identity_with_text(id, wait->what), (uint64_t)(int64_t)wait->call);
    return wait->other != NULL ? hp_identity_with_number(id, hp_identity_of_site(wait->other)) : id;
}

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_wait_sums *wait = entry;
    const struct hp_lock_block *block = to->row != NULL ? block_of(view, wait) : NULL;
    if (to->row != NULL)
        to->row->id = identity_of(wait);
    HP_FIELD(to, wait->site != NULL ? wait->site->name : HP_OUTSIDE, "name", "Function", TEXT, HP_COLUMN_FIRST,
             "The function, or <outside>: outside of measured functions.");
    HP_FIELD(to, hp_wait_cause_name(wait->cause), "cause", "Waited For", TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             .words = HP_WAIT_CAUSE_WORDS);
    HP_FIELD(to, hp_system_call_name(wait->call), "call", "Call", TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The system call; null: none, or unknown.");
    HP_FIELD(to, what_of(to, wait, block), "what", "What", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The file, socket, pipe or child, or the end of its name; the lock, with --locks; for locks and "
             "threads, where the other thread is; null: unknown.");
    HP_FIELD(to, wait->probes, "looks", "Samples", COUNT, HP_COLUMN_SHOWN,
             "Number of samples that found a thread waiting here.");
    HP_FIELD(to, wait->ns, "waited_ns", "Time", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
    HP_FIELD(to, share(view, wait->ns), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE);
    HP_FIELD(to, wait->beside_ns, "beside_ns", "Beside", NS, 0,
             "The part of waited_ns during which another thread of the run was working.");
    HP_FIELD(to, other_of(wait, block), "other", "Other", TEXT, HP_COLUMN_MAYBE,
             "The function that holds the lock or is waited for; null: unknown.");
    HP_FIELD(to, end_of(to, wait), "other_end", "Other End", TEXT, HP_COLUMN_MAYBE,
             "Pipes and sockets: the program with the other end, \"from xz\" if it was to send, or \"within the "
             "process\"; null: unknown, or outside of the run.");
    HP_FIELD_IF(to, wait->end != NULL, wait->end->pid, "other_end_pid", "Other PID", COUNT, 0,
                "The process with the other end.");
    HP_FIELD(to, holder_name(wait), "held_by", "Held By", TEXT, HP_COLUMN_MAYBE,
             "Locks: name of the thread that held it, as read from the lock at the latest sample; null: no sample "
             "could read it.");
    HP_FIELD_IF(to, wait->holder != NULL, wait->holder->tid, "held_by_tid", "Holder TID", COUNT, 0);
    HP_FIELD(
        to, holder_state(wait), "held_state", "Holder", TEXT, HP_COLUMN_MAYBE,
        "What the holders of the lock did in most samples: running (or ready to run), or what they waited for.",
        .words = "running|" HP_WAIT_CAUSE_WORDS);
    HP_FIELD(to, wait->site != NULL ? &wait->site->location : NULL, "location", "Location", TEXT,
             HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
}

static bool has_data(const struct hotpath_results *results) { return hp_run_has_waits(&results->model->run); }

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "What threads waited for.";
    section->percent_of = "watched";
    view.waits = hp_model_waits(results->model);
    if (view.waits == NULL || !hp_section_begin(results, section, &view, 0, "waited_ns", "percent_total") ||
        !choose(&view))
        return false;
    section->if_empty =
        view.waits->sessions == 0
            ? "waits were not recorded: 'hotpath run' or HOTPATH_WAITS=1 records them, unless a run is very short"
            : "no thread was seen waiting";
    hp_section_add_totals(results, section, view.waits);
    return hp_section_fill_rows(results, section, (const void *const *)view.shown, view.count, &view) &&
           set_summary(&view) && add_notes(&view);
}

const struct hp_section_type hp_section_waits = {.name = "waits",
                                                 .in_brief = HP_BRIEF_LINE,
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .has_history = true,
                                                 .fill = fill,
                                                 .fields = fields,
                                                 .totals = totals,
                                                 .about = "What threads waited for, as far as they were watched.",
                                                 .always = "percent_of|order|totals"};
