/*
 * The section `timing`: one row per site, the time its calls took.
 *
 * Ranked by total time with the main row on top, or by self time when HOTPATH_TIME_EXCLUSIVE is set. Then
 * percentiles are left out: they are known of whole calls only. SPDX-License-Identifier: MIT
 */
#include "timing.h"

#include <string.h>

#include "arena.h"
#include "profile.h"
#include "sort.h"
#include "text.h"

/* Rows where measuring may be more than this part of the total are marked. */
#define ROUGH_PART 0.1

struct columns {
    size_t name, calls, average, total, percent, self, least, most, threads, location, open, overhead;
    size_t percentiles[HP_MAX_PERCENTILES];
    size_t percentile_count;
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct columns columns;
    struct hp_durations *durations;
    uint64_t whole;
};

/* ------------------------------------------------------------------------------------------- columns */

static bool is_extreme(double percentile) { return percentile <= 0 || percentile >= 100; }

/* "P99.9" and "p99_9_ns": up to three decimals, no zeros at the end. */
static void name_percentile(double percentile, char title[24], char key[24])
{
    struct hp_text text;
    hp_text_init(&text, title, 24);
    hp_text_char(&text, 'P');
    hp_text_fixed(&text, percentile, 3);
    while (title[text.length - 1] == '0')
        text.length--;
    if (title[text.length - 1] == '.')
        text.length--;
    hp_text_end(&text);
    size_t at = 0;
    for (; title[at] != '\0'; at++)
        key[at] = (char)(title[at] == 'P' ? 'p' : title[at] == '.' ? '_' : title[at]);
    memcpy(key + at, "_ns", 4);
}

static bool add_percentile(struct view *view, double percentile)
{
    char title[24], key[24 + 4];
    struct hp_arena *arena = view->results->arena;
    const char *shown_title = percentile <= 0 ? "Min" : "Max", *shown_key = percentile <= 0 ? "min_ns" : "max_ns";
    if (!is_extreme(percentile)) {
        name_percentile(percentile, title, key);
        shown_title = hp_arena_copy(arena, title, strlen(title));
        shown_key = hp_arena_copy(arena, key, strlen(key));
    }
    if (shown_title == NULL || shown_key == NULL)
        return false;
    view->columns.percentiles[view->columns.percentile_count++] =
        hp_section_add_column(view->section, shown_key, shown_title, HOTPATH_UNIT_NS, 0, true);
    return true;
}

static bool describe(struct view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_settings *settings = view->results->settings;
    struct columns *columns = &view->columns;
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns->calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns->average = hp_section_add_column(section, "avg_ns", "Avg", HOTPATH_UNIT_NS, 0, true);
    for (uint32_t at = 0; !settings->time_exclusive && at < settings->percentile_count && at < HP_MAX_PERCENTILES;
         at++)
        if (!add_percentile(view, settings->percentiles[at]))
            return false;
    columns->total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS,
                                           HP_COLUMN_KEEP | HP_COLUMN_ROUGH, true);
    columns->percent =
        hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    columns->self = hp_section_add_column(section, "self_ns", "Self", HOTPATH_UNIT_NS, 0, false);
    if (!settings->time_exclusive) {
        columns->least = hp_section_add_column(section, "min_ns", "Min", HOTPATH_UNIT_NS, 0, false);
        columns->most = hp_section_add_column(section, "max_ns", "Max", HOTPATH_UNIT_NS, 0, false);
    }
    columns->threads = hp_section_add_column(section, "threads", "Threads", HOTPATH_UNIT_COUNT, 0, false);
    columns->location =
        hp_section_add_column(section, "location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION, false);
    columns->open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
    columns->overhead = hp_section_add_column(section, "overhead_max_ns", "Overhead", HOTPATH_UNIT_NS, 0, false);
    hp_section_show_columns(view->results, section);
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static int by_time(uint64_t a, uint64_t b, const struct hp_site_sums *x, const struct hp_site_sums *y)
{
    if (a != b)
        return a > b ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    return hp_site_number(x) == hp_site_number(y) ? 0 : hp_site_number(x) < hp_site_number(y) ? -1 : 1;
}

static int compare_totals(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return by_time(x->sums.total, y->sums.total, x, y);
}

static int compare_selfs(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return by_time(hp_sums_self(&x->sums), hp_sums_self(&y->sums), x, y);
}

/* The sites that may be shown, in order. The main row is the measure of all others and stands first. */
static size_t rank(const struct hotpath_results *results, const struct hp_site_sums **sites)
{
    const struct hp_profile *profile = results->profile;
    const struct hp_settings *settings = results->settings;
    const struct hp_site_sums *main = profile->main;
    const bool is_main_first =
        main != NULL && !settings->exclude_wrapper && !settings->time_exclusive && hp_results_show(results, main);
    size_t count = 0;
    if (is_main_first)
        sites[count++] = main;
    const size_t first = count;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_site_sums *site = profile->sites[at];
        if ((is_main_first && site == main) || (settings->exclude_wrapper && site->is_main))
            continue;
        if (hp_results_show(results, site))
            sites[count++] = site;
    }
    hp_sort(sites + first, count - first, settings->time_exclusive ? compare_selfs : compare_totals);
    return count;
}

/* Cuts to the limit, from which the main row is exempt wherever it stands. */
static size_t cut(const struct hotpath_results *results, const struct hp_site_sums **sites, size_t count)
{
    const uint32_t limit = results->settings->functions_limit;
    if (limit == 0 || limit == HOTPATH_NO_LIMIT)
        return count;
    size_t kept = 0, others = 0;
    for (size_t at = 0; at < count; at++) {
        const bool is_main = sites[at] == results->profile->main;
        if (is_main || others++ < limit)
            sites[kept++] = sites[at];
    }
    return kept;
}

static void set_ticks(struct view *view, struct hp_row *row, size_t column, double ticks)
{
    hp_section_set_number(row, column, ticks * view->results->run.ns_per_tick);
}

static void fill_durations(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct columns *columns = &view->columns;
    const struct hp_settings *settings = view->results->settings;
    double ticks;
    hp_profile_durations(site, view->durations);
    const uint64_t timed = view->durations->timed;
    const uint64_t spent =
        settings->time_exclusive ? hp_sums_self(&site->sums) : site->sums.total + site->sums.nested;
    if (timed > 0)
        set_ticks(view, row, columns->average, (double)spent / (double)timed);
    if (settings->time_exclusive)
        return;
    for (size_t at = 0; at < columns->percentile_count; at++)
        if (hp_durations_percentile(view->durations, settings->percentiles[at], &ticks))
            set_ticks(view, row, columns->percentiles[at], ticks);
    if (hp_durations_percentile(view->durations, 0, &ticks))
        set_ticks(view, row, columns->least, ticks);
    if (hp_durations_percentile(view->durations, 100, &ticks))
        set_ticks(view, row, columns->most, ticks);
}

static bool fill_row(struct view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct columns *columns = &view->columns;
    const struct hp_profile *profile = view->results->profile;
    const uint64_t self = hp_sums_self(&site->sums);
    const uint64_t total = view->results->settings->time_exclusive ? self : site->sums.total;
    const double overhead = hp_profile_overhead_ns(profile, site);
    hp_section_set_text(row, columns->name, site->name);
    hp_section_set_count(row, columns->calls, site->sums.calls);
    set_ticks(view, row, columns->total, (double)total);
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)total / (double)view->whole);
    set_ticks(view, row, columns->self, (double)self);
    hp_section_set_count(row, columns->threads, site->threads);
    hp_section_set_count(row, columns->open, site->sums.open);
    hp_section_set_number(row, columns->overhead, overhead);
    fill_durations(view, row, site);
    row->is_main = site == profile->main;
    row->is_open = site->sums.open > 0;
    row->is_rough = overhead > ROUGH_PART * hp_run_ns(profile->run, site->sums.total);
    return hp_section_set_location(view->results, row, columns->location, &site->location);
}

static void add_notes(struct hotpath_section *section, const struct hp_profile *profile)
{
    bool has_open = false, has_rough = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_rough |= section->rows[at].is_rough;
    }
    if (has_open)
        hp_section_note(section, hp_profile_open_note(profile));
    if (has_rough)
        hp_section_note(section, "~ measuring itself may be more than 10 % of this time");
    const char *share_note = hp_profile_share_note(profile, section->percent_of);
    if (share_note != NULL)
        hp_section_note(section, share_note);
}

/* ------------------------------------------------------------------------------------------- section */

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->profile;
    struct view *view = hp_arena_take(results->arena, sizeof *view);
    const struct hp_site_sums **sites =
        hp_arena_take_array(results->arena, profile->site_count + 1, sizeof(void *));
    if (view == NULL || sites == NULL)
        return false;
    *view = (struct view){.results = results, .section = section};
    view->durations = hp_arena_take(results->arena, sizeof *view->durations);
    view->whole = hp_profile_whole(profile, results->settings, &section->percent_of);
    section->description = results->settings->time_exclusive
                               ? "Function execution time, without measured functions inside."
                               : "Function execution time.";
    section->main = profile->main != NULL ? profile->main->name : NULL;
    section->if_empty =
        profile->site_count > 0
            ? "no function matches the focus"
            : "nothing was measured: put HOTPATH_MEASURE() into functions, or HOTPATH_BLOCK(\"label\") "
              "into blocks, that run while the session is active";
    if (view->durations == NULL || !describe(view))
        return false;
    section->total_rows = rank(results, sites);
    if (!hp_section_make_rows(results, section, cut(results, sites, section->total_rows)))
        return false;
    for (size_t at = 0; at < section->row_count; at++)
        if (!fill_row(view, &section->rows[at], sites[at]))
            return false;
    add_notes(section, profile);
    return true;
}

const struct hp_section_type hp_section_timing = {.name = "timing", .alias = "functions-timing", .fill = fill};
