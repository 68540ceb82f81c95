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
#include "histogram.h"
#include "identity.h"
#include "object_rows.h"
#include "order.h"
#include "profile.h"
#include "shares.h"
#include "sort.h"
#include "task_profile.h"

/* Rows where measuring may be more than this part of the total are marked. */
#define ROUGH_PART 0.1

struct columns {
    size_t name, thread, calls, polls, average, total, percent, self, least, most, threads, location, open,
        overhead, timed, sampling, scaled, histogram, own_cpu, own_bytes;
    size_t percentiles[HP_MAX_PERCENTILES];
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_ONLY_POLLS = HP_FACT_OWN }; /* of tasks */

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Unique within the report; per thread, unique together with the thread."},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN, AT(thread),
     .needs = HP_FACT_BY_THREAD},
    {"calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(calls),
     "All calls: ended, left by longjmp, still open. For tasks, how many there were; null in a time range and per "
     "thread, where that is unknown."},
    {"polls", "Polls", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE | HP_COLUMN_SHOWN, AT(polls),
     "How often its tasks ran; null: not a task.", .shown_by = HAS_ONLY_POLLS},
    {"avg_ns", "Avg", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(average),
     "Average over all timed calls."},
    {"_ns", "", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_FAMILY,
     AT(percentiles), "A percentile: p99_9_ns is P99.9. Absent if time is exclusive.", .needs = HP_FACT_INCLUSIVE,
     .shown_by = HP_FACT_WHOLE},
    {"total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_ROUGH | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN,
     AT(total), "Recursive calls count once."},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SAMPLED | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(percent)},
    {"self_ns", "Self", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED_SELF, AT(self), "Without measured callees."},
    {"own_cpu_ns", "Own CPU", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(own_cpu),
     "In a time range: CPU time of the function itself.", .needs = HP_FACT_PART_CPU},
    {"own_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(own_bytes),
     "In a time range: bytes that calls which ended in it requested themselves.", .needs = HP_FACT_PART_BYTES},
    {"min_ns", "Min", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE, AT(least), .needs = HP_FACT_INCLUSIVE},
    {"max_ns", "Max", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED | HP_COLUMN_MAYBE, AT(most), .needs = HP_FACT_INCLUSIVE},
    {"histogram_ns", "Histogram", HOTPATH_UNIT_HISTOGRAM, HP_COLUMN_MAYBE, AT(histogram),
     "Distribution of call durations, [from, below, calls]: timed calls only. Absent if time is exclusive.",
     .needs = HP_FACT_INCLUSIVE},
    {"threads", "Threads", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(threads),
     "Threads that called it; null in a time range."},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(open),
     "Calls still running, counted up to the time of the report. null in a time range."},
    {"overhead_max_ns", "Overhead", HOTPATH_UNIT_NS, 0, AT(overhead),
     "The part of total_ns that may be measuring overhead, at most."},
    {"timed", "Timed", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(timed),
     "Calls that were timed. The others are in `calls`, and times are extrapolated to them; percentiles, min_ns "
     "and max_ns are of the timed ones."},
    {"sampling", "Sampling", HOTPATH_UNIT_TEXT, 0, AT(sampling),
     .about = "Why not all calls were timed: none (all were), sampled (HOTPATH_TIME_SAMPLING_RATE), limited (too "
              "short: HOTPATH_MEASURING_BOUND).",
     .words = "none|sampled|limited"},
    {"scaled", "Scaled", HOTPATH_UNIT_TEXT, 0, AT(scaled), HP_ABOUT_SCALED, .words = HP_SCALED_WORDS},
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_profile *profile; /* its sites are the rows: that of the results, or one by thread */
    struct columns columns;
    struct hp_durations *durations;
    struct hp_value_distribution *walls; /* of tasks */
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

static void set_ticks(struct view *view, struct hp_row *row, size_t column, double ticks)
{
    hp_section_set_number(row, column, ticks * view->results->model->run.ns_per_tick);
}

/* For a time range only sums are known. */
static void fill_average(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const bool is_exclusive = view->results->settings->show.time_exclusive;
    const uint64_t spent = is_exclusive ? hp_sums_self(&site->sums) : site->sums.total + site->sums.nested;
    if (site->sums.calls > 0 && !hp_site_is_task(site))
        set_ticks(view, row, view->columns.average, (double)spent / (double)site->sums.calls);
}

/* False: no memory. */
static bool fill_durations(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct columns *columns = &view->columns;
    const struct hp_settings *settings = view->results->settings;
    double ticks;
    hp_durations_of_site(site, view->durations);
    /* In a live session a call may have ended since the sums were read. */
    const uint64_t most = hp_less(site->sums.calls, site->sums.untimed),
                   timed = view->durations->timed < most ? view->durations->timed : most;
    const uint64_t spent =
        settings->show.time_exclusive ? hp_sums_self(&site->sums) : site->sums.total + site->sums.nested;
    /* The time is scaled up, so all calls share it. */
    if (timed > 0)
        set_ticks(view, row, columns->average, (double)spent / (double)(timed + site->sums.untimed));
    hp_section_set_count(row, columns->timed, timed);
    hp_section_set_count(row, columns->threads, view->durations->threads);
    if (settings->show.time_exclusive)
        return true;
    for (size_t at = 0; at < settings->show.percentile_count && at < HP_MAX_PERCENTILES; at++)
        if (hp_durations_percentile(view->durations, settings->show.percentiles[at], &ticks))
            set_ticks(view, row, columns->percentiles[at], ticks);
    if (hp_durations_percentile(view->durations, 0, &ticks))
        set_ticks(view, row, columns->least, ticks);
    if (hp_durations_percentile(view->durations, 100, &ticks))
        set_ticks(view, row, columns->most, ticks);
    const struct hotpath_histogram *histogram = hp_histogram_of_durations(
        view->results->model->arena, view->durations, view->results->model->run.ns_per_tick, HOTPATH_UNIT_NS);
    if (histogram != NULL)
        hp_section_set_histogram(row, columns->histogram, histogram);
    return histogram != NULL;
}

/* Calls are tasks, and their duration is their wall time; self time is that of their polls. */
static void fill_task(struct view *view, struct hp_row *row, const struct hp_task_sums *task)
{
    const struct columns *columns = &view->columns;
    const struct hp_show_settings *show = &view->results->settings->show;
    const uint64_t calls = task->sums.count[HP_TASK_CREATED];
    const uint64_t spent = show->time_exclusive ? hp_sums_self(&task->site->sums) : task->wall;
    double ticks;
    hp_section_set_count(row, columns->calls, calls);
    hp_section_set_count(row, columns->open, task->open);
    hp_section_set_count(row, columns->timed, calls);
    hp_section_set_count(row, columns->threads, task->sums.threads);
    row->is_open = task->open > 0;
    if (calls > 0)
        set_ticks(view, row, columns->average, (double)spent / (double)calls);
    if (show->time_exclusive)
        return;
    hp_object_set_percentiles(view->results, row, columns->percentiles, task->row, HP_TASK_WALLS, view->walls);
    if (hp_distribution_percentile(view->walls, 0, true, &ticks))
        set_ticks(view, row, columns->least, ticks);
    if (hp_distribution_percentile(view->walls, 100, true, &ticks))
        set_ticks(view, row, columns->most, ticks);
}

static bool fill_row(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct columns *columns = &view->columns;
    const struct hp_profile *profile = view->results->model->profile;
    const uint64_t self = hp_sums_self(&site->sums);
    const uint64_t total = view->results->settings->show.time_exclusive ? self : total_of(site);
    const double overhead = hp_profile_overhead_ns(profile, site);
    hp_section_set_text(row, columns->name, site->name);
    row->id = hp_identity_of_site(site);
    if (!hp_site_is_task(site))
        hp_section_set_count(row, columns->calls, site->sums.calls);
    else if (site->sums.calls > 0)
        hp_section_set_count(row, columns->polls, site->sums.calls);
    set_ticks(view, row, columns->total, (double)total);
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)total / (double)view->whole);
    set_ticks(view, row, columns->self, (double)self);
    if (profile->run->range == NULL)
        hp_section_set_count(row, columns->open, site->sums.open);
    hp_section_set_number(row, columns->own_cpu, (double)site->range_cpu_ns);
    hp_section_set_count(row, columns->own_bytes, site->range_bytes);
    hp_section_set_number(row, columns->overhead, overhead);
    hp_section_set_text(row, columns->sampling,
                        site->is_limited         ? "limited"
                        : site->sums.untimed > 0 ? "sampled"
                                                 : "none");
    if (profile->run->range != NULL)
        fill_average(view, row, site);
    else if (!hp_site_is_task(site) && !fill_durations(view, row, site))
        return false;
    row->is_main = is_main_row(view, site);
    row->is_open = site->sums.open > 0;
    if (site->task != NULL)
        fill_task(view, row, site->task);
    row->is_self_sampled = site->sums.untimed > 0 || site->is_self_scaled;
    row->is_sampled = view->results->settings->show.time_exclusive ? row->is_self_sampled : site->sums.untimed > 0;
    hp_section_set_text(row, columns->scaled, hp_share_scaled_name(site->sums.untimed > 0, site->is_self_scaled));
    row->is_rough = overhead > ROUGH_PART * hp_run_ns(profile->run, total_of(site));
    if (site->thread != NULL && !hp_section_set_thread(view->results, row, columns->thread, site->thread))
        return false;
    return hp_section_set_location(view->results, row, columns->location, &site->location);
}

static bool has_shared_thread(const struct hotpath_section *section, const struct columns *columns)
{
    for (size_t at = 0; at < section->row_count; at++)
        if (section->rows[at].cells[columns->thread].thread->threads > 1)
            return true;
    return false;
}

static void add_notes(const struct view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_profile *profile = view->results->model->profile;
    bool has_open = false, has_rough = false, has_marked = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_rough |= section->rows[at].is_rough;
        has_marked |= section->rows[at].is_sampled;
    }
    if (has_open)
        hp_section_note(section, hp_share_open_note(profile));
    if (has_marked)
        hp_share_note_scaled(profile, section);
    if (has_rough)
        hp_section_note(section, "~ more than 10 % of this time may be measuring overhead");
    if (view->results->settings->show.by == HP_BY_THREAD && has_shared_thread(section, &view->columns))
        hp_section_note(section,
                        "(n threads): threads that ran one after another share a row, with the id of the last");
    const char *share_note = hp_share_note(profile, section->percent_of);
    if (share_note != NULL)
        hp_section_note(section, share_note);
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
                   hp_section_describe(results, section, has_only_polls(view) ? HAS_ONLY_POLLS : 0u,
                                       &view->columns) &&
                   hp_order_choose(results, section, view->columns.total, view->columns.percent)
               ? view
               : NULL;
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
    section->if_empty =
        profile->site_count > 0
            ? "no function matches the focus"
            : "nothing was measured. Compile with -DHOTPATH and put HOTPATH_MEASURE() into functions, or "
              "HOTPATH_BLOCK(\"label\") into blocks, that run while the session is active. 'hotpath run' samples "
              "programs without macros, too, if they use CPU time for some milliseconds";
    section->total_rows = rank(view, sites);
    size_t count = drop_small(view, sites, section->total_rows);
    if (count == 0 && section->total_rows > 0)
        section->if_empty = "every function has a smaller share than HOTPATH_MIN_PERCENT";
    if (section->order.is_usual)
        count = cut(view, sites, count);
    if (!hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < section->row_count; at++)
        if (!fill_row(view, &section->rows[at], sites[at]))
            return false;
    if (!hp_order_apply(results, section, results->settings->show.functions_limit))
        return false;
    add_notes(view);
    return true;
}

const struct hp_section_type hp_section_timing = {.name = "timing",
                                                  .in_brief = HP_BRIEF_FUNCTIONS,
                                                  .alias = "functions-timing",
                                                  .has_history = true,
                                                  .is_of_measured = true,
                                                  .fill = fill,
                                                  HP_COLUMNS(column_table),
                                                  .about_row = "A function and the time that its calls took.",
                                                  .always = "percent_of|order"};
