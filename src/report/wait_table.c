/*
 * The section `waits`: what threads waited for, one row per function, cause, system call and file. Shares are of
 * the watched time of all threads, so the rest to 100 % is CPU time. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "system_calls.h"
#include "text.h"
#include "units.h"
#include "utf8.h"
#include "wait_profile.h"

struct columns {
    size_t name, cause, call, what, probes, time, percent, beside, other, location;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "The function, or <outside>: outside of measured functions."},
    {"cause", "Waited For", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(cause),
     .words = HP_WAIT_CAUSE_WORDS},
    {"call", "Call", HOTPATH_UNIT_TEXT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(call),
     "The system call; null: none, or unknown."},
    {"what", "What", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(what),
     "The file, socket, pipe or child, or the end of its name; for locks and threads, where the other thread is; "
     "null: unknown."},
    {"looks", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(probes),
     "Number of samples that found a thread waiting here."},
    {"waited_ns", "Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(time)},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent)},
    {"beside_ns", "Beside", HOTPATH_UNIT_NS, 0, AT(beside),
     "The part of waited_ns during which another thread of the run was working."},
    {"other", "Other", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(other),
     "The function that holds the lock or is waited for; null: unknown."},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
};

static const struct hp_column_spec total_table[] = {
    {.key = "watched_ns",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Watched time of all threads together: running, ready to run or waiting."},
    {.key = "waited_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "left_out_ns", .unit = HOTPATH_UNIT_COUNT, .about = "Waiting time without a row, for lack of space."},
    {.key = "misplaced_ns",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Waiting time without a row: attributed to functions beyond the time they took."},
    {.key = "looks", .unit = HOTPATH_UNIT_COUNT, .about = "Samples of threads."},
    {.key = "period_us",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Mean time between two samples of a process; of several processes, the longest."},
    {.key = "watcher_ns", .unit = HOTPATH_UNIT_COUNT, .about = "CPU time of the wait sampler."},
    {.key = "watched_processes", .unit = HOTPATH_UNIT_COUNT},
    {.key = "unwatched_threads",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Threads that were not watched, at least, for lack of space."},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    const struct hp_run_waits *waits;
    struct hp_wait_sums **shown;
    size_t count;
};

/* ---------------------------------------------------------------------------------------------- lines */

/* NULL: no memory. */
static const char *keep_line(const struct view *view, const struct hp_text *line)
{
    return hp_arena_copy(view->results->model->arena, line->bytes, line->length);
}

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
    hp_text_string(&line, "Threads waited ");
    hp_units_ns(&line, (double)waits->waited_ns);
    hp_text_string(&line, " of their ");
    hp_units_ns(&line, (double)waits->watched_ns);
    if (waits->watched_ns > 0) {
        hp_text_string(&line, " (");
        hp_units_percent(&line, share(view, waits->waited_ns));
        hp_text_char(&line, ')');
    }
    hp_text_format(&line, "; %" PRIu64 "%s", waits->probes,
                   waits->probes == 1 ? " sample, every " : " samples, every ");
    hp_units_ns(&line, 1000.0 * waits->period_us);
    hp_text_string(&line, ", took ");
    hp_units_ns(&line, (double)waits->watcher_ns);
    view->section->summary = keep_line(view, &line);
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
    hp_units_ns(&line, (double)ns);
    hp_text_format(&line, " of waiting time has no row: %s", why);
    const char *note = keep_line(view, &line);
    if (note != NULL)
        hp_section_note(view->section, note);
    return note != NULL;
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

static void add_totals(struct hotpath_section *section, const struct hp_run *run, const struct hp_run_waits *waits)
{
    hp_section_add_total(section, "watched_ns", waits->watched_ns);
    hp_section_add_total(section, "waited_ns", waits->waited_ns);
    hp_section_add_total(section, "left_out_ns", waits->left_out_ns);
    hp_section_add_total(section, "misplaced_ns", waits->misplaced_ns);
    hp_section_add_total(section, "looks", waits->probes);
    hp_section_add_total(section, "period_us", waits->period_us);
    hp_section_add_total(section, "watcher_ns", waits->watcher_ns);
    hp_section_add_total(section, "watched_processes", hp_run_count_processes(run, is_watched));
    hp_section_add_total(section, "unwatched_threads", waits->unwatched);
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

/* The file, or the place of the thread that holds the lock or is waited for: "held in update", "in parse". */
static bool set_what(const struct view *view, struct hp_row *row, const struct hp_wait_sums *wait)
{
    char bytes[256];
    struct hp_text line;
    if (wait->what[0] != '\0')
        hp_section_set_text(row, view->columns.what, wait->what);
    if (wait->what[0] != '\0' || wait->other == NULL)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, wait->cause == HP_WAIT_LOCK ? "held in " : "in ");
    hp_utf8_put_safe(&line, wait->other->name, strlen(wait->other->name));
    const char *text = keep_line(view, &line);
    if (text != NULL)
        hp_section_set_text(row, view->columns.what, text);
    return text != NULL;
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_wait_sums *wait = about;
    const struct columns *columns = &view->columns;
    const char *call = hp_system_call_name(wait->call);
    hp_section_set_text(row, columns->name, wait->site != NULL ? wait->site->name : HP_OUTSIDE);
    hp_section_set_text(row, columns->cause, hp_wait_cause_name(wait->cause));
    row->id = hp_identity_with_text(hp_identity_of_site(wait->site), hp_wait_cause_name(wait->cause));
    row->id = hp_identity_with_number(hp_identity_with_text(row->id, wait->what), (uint64_t)(int64_t)wait->call);
    if (wait->other != NULL)
        row->id = hp_identity_with_number(row->id, hp_identity_of_site(wait->other));
    if (call != NULL)
        hp_section_set_text(row, columns->call, call);
    if (!set_what(view, row, wait))
        return false;
    hp_section_set_count(row, columns->probes, wait->probes);
    hp_section_set_number(row, columns->time, (double)wait->ns);
    hp_section_set_number(row, columns->percent, share(view, wait->ns));
    hp_section_set_number(row, columns->beside, (double)wait->beside_ns);
    if (wait->other != NULL)
        hp_section_set_text(row, columns->other, wait->other->name);
    return wait->site == NULL ||
           hp_section_set_location(view->results, row, columns->location, &wait->site->location);
}

static bool has_data(const struct hotpath_results *results) { return hp_run_has_waits(&results->model->run); }

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.results = results, .section = section};
    section->description = "What threads waited for.";
    section->percent_of = "watched";
    view.waits = hp_model_waits(results->model);
    if (view.waits == NULL || !hp_section_describe(results, section, 0, &view.columns) ||
        !hp_order_choose(results, section, view.columns.time, view.columns.percent) || !choose(&view))
        return false;
    section->if_empty =
        view.waits->sessions == 0
            ? "waits were not recorded: 'hotpath run' or HOTPATH_WAITS=1 records them, unless a run is very short"
            : "no thread was seen waiting";
    section->total_rows = view.count;
    add_totals(section, &results->model->run, view.waits);
    return hp_order_fill(results, section, results->settings->show.functions_limit, (const void *const *)view.shown,
                         view.count, fill_row, &view) &&
           set_summary(&view) && add_notes(&view);
}

const struct hp_section_type hp_section_waits = {.name = "waits",
                                                 .in_brief = HP_BRIEF_LINE,
                                                 .is_left_out_empty = true,
                                                 .has_data = has_data,
                                                 .has_history = true,
                                                 .fill = fill,
                                                 HP_COLUMNS(column_table),
                                                 HP_TOTALS(total_table),
                                                 .about = "What threads waited for, as far as they were watched.",
                                                 .always = "percent_of|order|totals"};
