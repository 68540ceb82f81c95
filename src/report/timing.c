/*
 * The section `timing`: one row per site, or per site and thread, with the time of its calls.
 *
 * Sorted by total time with the main row on top, or by self time if HOTPATH_TIME_EXCLUSIVE is set. Then percentiles
 * are left out: they are only known for whole calls. Another order (order.h) may need numbers that are only known
 * when a row is filled, so then all rows are filled, and the limit is applied last. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "durations.h"
#include "identity.h"
#include "object_rows.h"
#include "order.h"
#include "profile.h"
#include "shares.h"
#include "sort.h"
#include "task_profile.h"

/* Rows where measuring may be more than this part of the total are marked. */
#define ROUGH_PART 0.1

/* Facts of this section. */
enum { HAS_ONLY_POLLS = HP_FACT_OWN }; /* of tasks */

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_profile *profile;    /* its sites are the rows: that of the results, or one by thread */
    struct hp_durations *durations;      /* of the row being filled, if has_durations */
    struct hp_value_distribution *walls; /* likewise, of a row of tasks */
    bool has_durations;
    const struct hp_tasks *tasks;
    uint64_t whole;
};

/* ---------------------------------------------------------------------------------------------- rows */

static int by_time(uint64_t a, uint64_t b, const struct hp_site_sums *x, const struct hp_site_sums *y)
{
    if (a != b)
        return a > b ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    if (hp_site_number(x) != hp_site_number(y))
        return hp_site_number(x) < hp_site_number(y) ? -1 : 1;
    const uint32_t xt = hp_thread_number(x), yt = hp_thread_number(y);
    return xt == yt ? 0 : xt < yt ? -1 : 1;
}

/* For tasks it is the time from creation to end, running or not. */
static uint64_t total_of(const struct hp_site_sums *site)
{
    return site->task != NULL ? site->task->wall : site->sums.total;
}

static int compare_totals(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return by_time(total_of(x), total_of(y), x, y);
}

static int compare_selfs(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return by_time(hp_sums_self(&x->sums), hp_sums_self(&y->sums), x, y);
}

/* The row of the main function, if the run has one; by thread, that of the first process. */
static bool is_main_row(const struct view *view, const struct hp_site_sums *site)
{
    return view->results->model->profile->main != NULL && site->is_main &&
           (site->thread == NULL || site->session == 0);
}

/* Adds the sites that may be shown, either main rows or others. */
static size_t add_sites(const struct view *view, const struct hp_site_sums **sites, size_t count, bool are_main)
{
    const struct hotpath_results *results = view->results;
    for (size_t at = 0; at < view->profile->site_count; at++) {
        const struct hp_site_sums *site = view->profile->sites[at];
        if (is_main_row(view, site) == are_main && !(results->settings->show.exclude_wrapper && site->is_main) &&
            hp_results_show(results, site))
            sites[count++] = site;
    }
    return count;
}

/* Adds tasks without reported polls: their sites have no calls. */
static size_t add_tasks(const struct view *view, const struct hp_site_sums **sites, size_t count)
{
    for (size_t at = 0; view->tasks != NULL && at < view->tasks->count; at++) {
        const struct hp_site_sums *site = view->tasks->all[at].site;
        if (site->sums.calls == 0 && hp_results_show(view->results, site))
            sites[count++] = site;
    }
    return count;
}

/* The sites that may be shown, sorted. The main row is what shares refer to, and comes first. */
static size_t rank(const struct view *view, const struct hp_site_sums **sites)
{
    const bool is_exclusive = view->results->settings->show.time_exclusive;
    const size_t mains = add_sites(view, sites, 0, true);
    const size_t count = add_tasks(view, sites, add_sites(view, sites, mains, false));
    const size_t first = is_exclusive ? 0 : mains;
    hp_sort(sites, first, compare_totals);
    hp_sort(sites + first, count - first, is_exclusive ? compare_selfs : compare_totals);
    return count;
}

/* Leaves out rows with too small a share, but never the main row. */
static size_t drop_small(const struct view *view, const struct hp_site_sums **sites, size_t count)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) {
        const struct hp_sums *sums = &sites[at]->sums;
        const uint64_t ticks = settings->show.time_exclusive ? hp_sums_self(sums) : total_of(sites[at]);
        if (is_main_row(view, sites[at]) || !hp_share_is_small(ticks, view->whole, &settings->show))
            sites[kept++] = sites[at];
    }
    return kept;
}

/*
 * Which sites the limit leaves: in the short report those with the most time of their own, so that they are the
 * verdict's; functions that only call others have more time in total and say less.
 */
static bool is_among(const struct view *view, const struct hp_site_sums *site, size_t count)
{
    const struct hotpath_results *results = view->results;
    for (size_t at = 0; at < results->by_work_count && count > 0; at++) {
        if (results->by_work[at] == site)
            return true;
        count -= !is_main_row(view, results->by_work[at]);
    }
    return results->by_work_count == 0;
}

/* Cuts to the limit. The main row is kept wherever it is. */
static size_t cut(const struct view *view, const struct hp_site_sums **sites, size_t count)
{
    const uint32_t limit = view->results->settings->show.functions_limit;
    if (limit == 0 || limit == HOTPATH_NO_LIMIT)
        return count;
    size_t kept = 0, mains = 0;
    for (size_t at = 0; at < count; at++)
        mains += is_main_row(view, sites[at]);
    size_t others = mains < limit ? limit - mains : 0;
    const size_t best = others;
    for (size_t at = 0; at < count && kept < limit; at++) {
        const bool is_main = is_main_row(view, sites[at]);
        if (!is_main && (others == 0 || (count > limit && !is_among(view, sites[at], best))))
            continue;
        others -= !is_main;
        sites[kept++] = sites[at];
    }
    return kept;
}

static bool is_exclusive(const struct view *view) { return view->results->settings->show.time_exclusive; }

/* For a time range only sums are known. */
static bool is_whole(const struct view *view) { return view->results->model->run.range == NULL; }

static uint64_t shown_total(const struct view *view, const struct hp_site_sums *site)
{
    return is_exclusive(view) ? hp_sums_self(&site->sums) : total_of(site);
}

/* Calls of tasks are the tasks; their duration is their wall time; self time is that of their polls. */
static bool is_known(const struct hp_site_sums *site) { return site->task != NULL || !hp_site_is_task(site); }

static uint64_t calls_of(const struct hp_site_sums *site)
{
    return site->task != NULL ? site->task->sums.count[HP_TASK_CREATED] : site->sums.calls;
}

/* In a live session a call may have ended since the sums were read. */
static uint64_t timed_of(const struct view *view, const struct hp_site_sums *site)
{
    const uint64_t most = hp_less(site->sums.calls, site->sums.untimed);
    return view->durations->timed < most ? view->durations->timed : most;
}

/* Times are scaled up, so all calls share them, timed or not. */
static struct hp_cell average_of(const struct view *view, const struct hp_site_sums *site)
{
    const uint64_t inclusive = site->task != NULL ? site->task->wall : site->sums.total + site->sums.nested;
    const uint64_t spent = is_exclusive(view) ? hp_sums_self(&site->sums) : inclusive;
    const uint64_t timed = view->has_durations ? timed_of(view, site) : 0;
    const uint64_t calls = site->task != NULL || (!is_whole(view) && is_known(site)) ? calls_of(site)
                           : timed > 0                                               ? timed + site->sums.untimed
                                                                                     : 0;
    const double ticks = calls > 0 ? (double)spent / (double)calls : 0;
    return (struct hp_cell){.has_value = calls > 0, .number = ticks * view->results->model->run.ns_per_tick};
}

static struct hp_cell percentile_of(const struct view *view, const struct hp_site_sums *site, double percentile)
{
    double ticks = 0;
    const bool has_value =
        site->task != NULL ? hp_distribution_percentile(view->walls, percentile, true, &ticks)
                           : view->has_durations && hp_durations_percentile(view->durations, percentile, &ticks);
    return (struct hp_cell){.has_value = has_value, .number = ticks * view->results->model->run.ns_per_tick};
}

static struct hp_cell typical_of(const struct view *view, const struct hp_site_sums *site)
{
    struct hp_cell typical = percentile_of(view, site, 25);
    typical.number = (typical.number + percentile_of(view, site, 50).number) / 2;
    return typical;
}

static void begin_row(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct hp_profile *profile = view->results->model->profile;
    row->id = hp_identity_of_site(site);
    row->is_main = is_main_row(view, site);
    row->is_open = (site->task != NULL ? site->task->open : site->sums.open) > 0;
    row->is_self_sampled = site->sums.untimed > 0 || site->is_self_scaled;
    row->is_sampled = is_exclusive(view) ? row->is_self_sampled : site->sums.untimed > 0;
    row->is_rough = hp_profile_overhead_ns(profile, site) > ROUGH_PART * hp_run_ns(profile->run, total_of(site));
    view->has_durations = is_whole(view) && !hp_site_is_task(site);
    if (view->has_durations)
        hp_durations_of_site(site, view->durations);
    if (site->task != NULL && !is_exclusive(view))
        hp_object_distribution_of(site->task->row, HP_TASK_WALLS, view->walls);
}

static void fields(struct hp_fields *to, void *of, const void *entry)
{
    struct view *view = of;
    const struct hp_site_sums *site = entry;
    if (to->row != NULL)
        begin_row(view, to->row, site);
    HP_FIELD(to, site->name, "name", "Function", TEXT, HP_COLUMN_FIRST,
             "Unique within the report; per thread, unique together with the thread.");
    HP_FIELD(to, site->thread, "thread", "Thread", TEXT, HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN,
             .needs = HP_FACT_BY_THREAD);
    HP_FIELD_IF(to, is_known(site), calls_of(site), "calls", "Calls", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
                "All calls: ended, left by longjmp, still open. For tasks, how many there were; null in a time "
                "range and per thread, where that is unknown.");
    HP_FIELD_IF(to, hp_site_is_task(site) && site->sums.calls > 0, site->sums.calls, "polls", "Polls", COUNT,
                HP_COLUMN_SHOWN, "How often its tasks ran; null: not a task.", .shown_by = HAS_ONLY_POLLS);
    HP_FIELD(to, average_of(view, site), "avg_ns", "Avg", NS, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "Average over all timed calls.");
    HP_FIELD_FAMILY(to, percentile, true, percentile_of(view, site, percentile), "_ns", "", NS,
                    HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN,
                    "A percentile: p99_9_ns is P99.9. Absent if time is exclusive.", .needs = HP_FACT_INCLUSIVE,
                    .shown_by = HP_FACT_WHOLE);
    HP_FIELD(to, hp_fields_ns(to, shown_total(view, site)), "total_ns", "Total", NS,
             HP_COLUMN_KEEP | HP_COLUMN_ROUGH | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN, "Recursive calls count once.");
    HP_FIELD(to, hp_percent_of(shown_total(view, site), view->whole), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE);
    HP_FIELD(to, hp_fields_ns(to, hp_sums_self(&site->sums)), "self_ns", "Self", NS, HP_COLUMN_SAMPLED_SELF,
             "Without measured callees.");
    HP_FIELD(to, site->range_cpu_ns, "own_cpu_ns", "Own CPU", NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "In a time range: CPU time of the function itself.", .needs = HP_FACT_PART_CPU);
    HP_FIELD(to, site->range_bytes, "own_bytes", "Allocated", BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "In a time range: bytes that calls which ended in it requested themselves.",
             .needs = HP_FACT_PART_BYTES);
    HP_FIELD(to, percentile_of(view, site, 0), "min_ns", "Min", NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE,
             .needs = HP_FACT_INCLUSIVE);
    HP_FIELD(to, percentile_of(view, site, 100), "max_ns", "Max", NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE,
             .needs = HP_FACT_INCLUSIVE);
    HP_FIELD(to, typical_of(view, site), "typical_ns", "Typical", NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE,
             "A typical call: the mean of the 25th and the 50th percentile. What other programs do to the machine "
             "is hardly in it, so runs are compared by it.",
             .needs = HP_FACT_INCLUSIVE);
    HP_FIELD(to, percentile_of(view, site, 25), "quarter_ns", "Quarter", NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE,
             "A quarter of the calls took less. Far below typical_ns, calls differ in what they do.",
             .needs = HP_FACT_INCLUSIVE);
    HP_FIELD_IF(
        to, view->has_durations,
        hp_histogram_of_durations(to->results, view->durations, to->results->model->run.ns_per_tick,
                                  HOTPATH_UNIT_NS),
        "histogram_ns", "Histogram", HISTOGRAM, 0,
        "Distribution of call durations, [from, below, calls]: timed calls only. Absent if time is exclusive.",
        .needs = HP_FACT_INCLUSIVE);
    HP_FIELD_IF(to, site->task != NULL || view->has_durations,
                site->task != NULL ? site->task->sums.threads : view->durations->threads, "threads", "Threads",
                COUNT, 0, "Threads that called it; null in a time range.");
    HP_FIELD(to, &site->location, "location", "Location", TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
    HP_FIELD_IF(to, site->task != NULL || is_whole(view), site->task != NULL ? site->task->open : site->sums.open,
                "open", "Open", COUNT, 0,
                "Calls still running, counted up to the time of the report. null in a time range.");
    HP_FIELD(to, hp_profile_overhead_ns(to->results->model->profile, site), "overhead_max_ns", "Overhead", NS, 0,
             "The part of total_ns that may be measuring overhead, at most.");
    HP_FIELD_IF(to, site->task != NULL || view->has_durations,
                site->task != NULL ? calls_of(site) : timed_of(view, site), "timed", "Timed", COUNT, 0,
                "Calls that were timed. The others are in `calls`, and times are extrapolated to them; "
                "percentiles, min_ns and max_ns are of the timed ones.");
    HP_FIELD(to,
             site->is_limited         ? "limited"
             : site->sums.untimed > 0 ? "sampled"
                                      : "none",
             "sampling", "Sampling", TEXT, 0,
             "Why not all calls were timed: none (all were), sampled (HOTPATH_TIME_SAMPLING_RATE), limited (too "
             "short: HOTPATH_MEASURING_BOUND).",
             .words = "none|sampled|limited");
    HP_FIELD(to, hp_share_scaled_name(site->sums.untimed > 0, site->is_self_scaled), "scaled", "Scaled", TEXT, 0,
             HP_ABOUT_SCALED, .words = HP_SCALED_WORDS);
}

static bool has_shared_thread(const struct hotpath_section *section)
{
    const size_t column = hp_section_column(section, "thread");
    for (size_t at = 0; at < section->row_count; at++)
        if (section->rows[at].cells[column].thread->threads > 1)
            return true;
    return false;
}

static void add_notes(const struct view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_profile *profile = view->results->model->profile;
    const struct hp_row any = hp_section_marks_of_rows(section);
    if (any.is_open)
        hp_section_note(section, hp_share_open_note(profile));
    if (any.is_sampled)
        hp_share_note_scaled(profile, section);
    if (any.is_rough)
        hp_section_note(section, hp_run_counts_instructions(profile->run)
                                     ? "~ more than 10 % of these may be instructions of hotpath"
                                     : "~ more than 10 % of this time may be measuring overhead");
    if (view->results->settings->show.by == HP_BY_THREAD && has_shared_thread(section))
        hp_section_note(section,
                        "(n threads): threads that ran one after another share a row, with the id of the last");
    hp_section_note(section, hp_share_note(profile, section->percent_of));
}

/* ------------------------------------------------------------------------------------------- section */

static const char *describe_rows(const struct hp_settings *settings)
{
    if (settings->show.by == HP_BY_THREAD)
        return settings->show.time_exclusive ? "Function execution time, per thread, without measured callees."
                                             : "Function execution time, per thread.";
    return settings->show.time_exclusive ? "Function execution time, without measured callees."
                                         : "Function execution time.";
}

static bool has_tasks(const struct view *view)
{
    return hp_run_has_objects(&view->results->model->run, hp_is_task_kind);
}

/* By thread, and for a time range. */
static bool has_only_polls(const struct view *view)
{
    return (view->results->settings->show.by == HP_BY_THREAD || view->results->model->run.range != NULL) &&
           has_tasks(view);
}

/* False: no memory. */
static bool need_tasks(struct view *view)
{
    struct hp_model *model = view->results->model;
    if (!has_tasks(view) || has_only_polls(view))
        return true;
    view->tasks = hp_model_tasks(model);
    return view->tasks != NULL;
}

static struct view *make_view(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (view == NULL)
        return NULL;
    *view = (struct view){.results = results, .section = section, .profile = hp_results_profile_of_rows(results)};
    view->durations = hp_arena_take(results->model->arena, sizeof *view->durations);
    view->walls = hp_arena_take(results->model->arena, sizeof *view->walls);
    if (!need_tasks(view))
        return NULL;
    view->whole =
        hp_share_whole(results->model->profile, view->tasks, &results->settings->show, &section->percent_of);
    return view->profile != NULL && view->durations != NULL && view->walls != NULL &&
                   hp_section_begin(results, section, view, has_only_polls(view) ? HAS_ONLY_POLLS : 0u, "total_ns",
                                    "percent_total")
               ? view
               : NULL;
}

/* Of a process that `hotpath record` watches from outside. */
static bool is_recorded(const struct hp_run *run)
{
    return run->count > 0 && (run->sessions[0]->header.features & HP_FEATURE_RECORDED) != 0;
}

static const char *why_empty(const struct hp_model *model)
{
    if (model->profile->site_count > 0)
        return "no function matches the focus";
    if (is_recorded(&model->run) && model->run.sessions[0]->is_live)
        return "no function was found by stack sampling yet";
    return "nothing was measured. Compile with -DHOTPATH and put HOTPATH_MEASURE() into functions, or "
           "HOTPATH_BLOCK(\"label\") into blocks, that run while the session is active. 'hotpath run' samples "
           "programs without macros, too, if they use CPU time for some milliseconds";
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->model->profile;
    struct view *view = make_view(results, section);
    const struct hp_site_sums **sites =
        view != NULL
            ? hp_arena_take_array(results->model->arena,
                                  view->profile->site_count + (view->tasks != NULL ? view->tasks->count : 0) + 1,
                                  sizeof(void *))
            : NULL;
    if (sites == NULL)
        return false;
    section->description = describe_rows(results->settings);
    section->main = profile->main != NULL ? profile->main->name : NULL;
    section->if_empty = why_empty(results->model);
    section->total_rows = rank(view, sites);
    size_t count = drop_small(view, sites, section->total_rows);
    if (count == 0 && section->total_rows > 0)
        section->if_empty = "every function has a smaller share than HOTPATH_MIN_PERCENT";
    if (section->order.is_usual)
        count = cut(view, sites, count);
    if (!hp_order_fill(results, section, results->settings->show.functions_limit, (const void *const *)sites, count,
                       view))
        return false;
    add_notes(view);
    return true;
}

const struct hp_section_type hp_section_timing = {.name = "timing",
                                                  .is_of_ticks = true,
                                                  .in_brief = HP_BRIEF_FUNCTIONS,
                                                  .alias = "functions-timing",
                                                  .has_history = true,
                                                  .is_of_measured = true,
                                                  .fill = fill,
                                                  .fields = fields,
                                                  .about_row = "A function and the time that its calls took.",
                                                  .always = "percent_of|order"};
