/*
 * The sections `alloc-bytes` and `alloc-count`: one row per site, or per site and thread, with what its calls
 * allocated. One is in bytes, the other in blocks; both have the same rows.
 *
 * Every site that was called where allocations are counted has a row, and every call counts in averages and
 * percentiles, even with 0. Allocations outside all zones have their own row, so that exclusive totals add up to
 * the total of the run.
 *
 * HOTPATH_ALLOC_METRIC chooses the leading numbers: what calls allocated, exclusive or with inner zones, or the
 * most that was live during one call. The others are columns that are only shown on request.
 * SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "alloc_columns.h"
#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "durations.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "sort.h"
#include "text.h"
#include "units.h"

#define LINE_BYTES 320u

/* What differs between the two. */
struct kind {
    enum hp_alloc_measure own, all, peak;
    const char *exclusive, *cumulative, *highest; /* descriptions, without their ends */
};

static const struct kind bytes_kind = {
    .own = HP_ALLOC_OWN_BYTES,
    .all = HP_ALLOC_ALL_BYTES,
    .peak = HP_ALLOC_PEAK_BYTES,
    .exclusive = "Allocated bytes by function, without measured callees",
    .cumulative = "Allocated bytes by function, including callees",
    .highest = "Peak live bytes during a call, by function",
};

static const struct kind count_kind = {
    .own = HP_ALLOC_OWN_COUNT,
    .all = HP_ALLOC_ALL_COUNT,
    .peak = HP_ALLOC_PEAK_BLOCKS,
    .exclusive = "Allocations by function, without measured callees",
    .cumulative = "Allocations by function, including callees",
    .highest = "Peak live blocks during a call, by function",
};

/* A future row. */
struct entry {
    const struct hp_site_sums *site; /* NULL: outside all */
    const struct hp_thread_label *thread;
    struct hp_site_allocs allocs;
    uint64_t total;
    uint64_t rank; /* rows are sorted by this */
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct kind *kind;
    const struct hp_profile *profile; /* its sites are the rows: that of the results, or one by thread */
    const struct hp_allocs *allocs;
    bool is_peak_first;
    uint64_t whole;
    struct hp_alloc_columns columns;
    struct hp_durations *values;
    struct entry **entries;
    size_t count;
};

static bool is_peak(uint32_t metric) { return metric == HP_ALLOC_BYTES_MAX || metric == HP_ALLOC_COUNT_MAX; }

static bool is_bytes(const struct hp_settings *settings)
{
    return settings->show.alloc_metric == HP_ALLOC_BYTES_TOTAL || settings->show.alloc_metric == HP_ALLOC_BYTES_MAX;
}

static bool is_count(const struct hp_settings *settings) { return !is_bytes(settings); }

static bool describe(struct view *view)
{
    struct hotpath_section *section = view->section;
    struct hp_alloc_columns *columns = &view->columns;
    const bool is_peak_first = view->is_peak_first;
    return hp_section_describe(view->results, section, is_peak_first ? HP_ALLOC_PEAK_FIRST : HP_ALLOC_TOTAL_FIRST,
                               columns) &&
           hp_order_choose(view->results, section, is_peak_first ? columns->peak : columns->total,
                           is_peak_first ? HP_MAX_COLUMNS : columns->percent);
}

/* ------------------------------------------------------------------------------------------- entries */

static uint64_t measure_of(const struct view *view, const struct hp_site_allocs *allocs)
{
    const bool is_all = view->results->settings->show.alloc_cumulative;
    if (view->kind == &bytes_kind)
        return is_all ? allocs->all_bytes : allocs->own_bytes;
    return is_all ? allocs->all_count : allocs->own_count;
}

static void add_entry(struct view *view, const struct entry *entry)
{
    struct entry *added = view->entries[view->count++];
    *added = *entry;
    added->total = measure_of(view, &added->allocs);
    added->rank = view->is_peak_first ? added->allocs.max[view->kind->peak] : added->total;
}

static void add_site(struct view *view, const struct hp_site_sums *site)
{
    struct entry entry = {.site = site, .thread = site->thread};
    hp_allocs_of_site(site, &entry.allocs);
    add_entry(view, &entry);
}

static bool shows_outside(const struct view *view)
{
    const struct hp_pattern_subject subject = {.names = {HP_OUTSIDE}};
    return hp_results_show_subject(view->results, &subject);
}

static void add_outside(struct view *view, const struct hp_thread_label *thread, uint64_t bytes, uint64_t count)
{
    const struct hp_site_allocs allocs = {
        .own_bytes = bytes, .own_count = count, .all_bytes = bytes, .all_count = count};
    if (bytes > 0 || count > 0)
        add_entry(view, &(struct entry){.thread = thread, .allocs = allocs});
}

/* One for each thread, or one for all; allocations without a thread have none. */
static void add_all_outside(struct view *view)
{
    const bool is_by_thread = view->results->settings->show.by == HP_BY_THREAD;
    uint64_t bytes = 0, count = 0;
    for (size_t at = 0; at < view->allocs->thread_count; at++) {
        const struct hp_thread_allocs *thread = &view->allocs->threads[at];
        if (is_by_thread && thread->label != NULL) {
            add_outside(view, thread->label, thread->outside_bytes, thread->outside_count);
            continue;
        }
        bytes += thread->outside_bytes;
        count += thread->outside_count;
    }
    add_outside(view, NULL, bytes, count);
}

static const char *name_of(const struct entry *entry)
{
    return entry->site != NULL ? entry->site->name : HP_OUTSIDE;
}

static uint64_t number_of(const struct entry *entry)
{
    return entry->site != NULL ? hp_site_number(entry->site) : UINT64_MAX;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = hp_by_number(y->rank, x->rank);
    if (order == 0)
        order = hp_by_number(y->total, x->total);
    if (order == 0)
        order = strcmp(name_of(x), name_of(y));
    if (order == 0)
        order = hp_by_number(number_of(x), number_of(y));
    return order != 0
               ? order
               : hp_by_number(x->thread != NULL ? x->thread->number : 0, y->thread != NULL ? y->thread->number : 0);
}

/* The whole that shares refer to: all allocations, or the sum of all rows without main functions. */
static void set_whole(struct view *view)
{
    const struct hp_alloc_totals *totals = &view->allocs->totals;
    view->whole = view->kind == &bytes_kind ? totals->bytes : totals->count;
    view->section->percent_of = "allocated";
    if (!view->results->settings->show.exclude_wrapper)
        return;
    view->section->percent_of = "rows";
    view->whole = 0;
    for (size_t at = 0; at < view->count; at++)
        view->whole += view->entries[at]->total;
}

/* False: no memory. */
static bool gather(struct view *view)
{
    const struct hotpath_results *results = view->results;
    const size_t most = view->profile->site_count + view->allocs->thread_count + 1;
    struct entry *entries = hp_arena_take_array(results->model->arena, most, sizeof *entries);
    view->entries = hp_arena_take_array(results->model->arena, most, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < most; at++)
        view->entries[at] = &entries[at];
    for (size_t at = 0; at < view->profile->site_count; at++)
        if (!(results->settings->show.exclude_wrapper && view->profile->sites[at]->is_main) &&
            !hp_allocs_of_site_are_unknown(&results->model->run, view->profile->sites[at]))
            add_site(view, view->profile->sites[at]);
    add_all_outside(view);
    set_whole(view);
    return true;
}

/* Reduces the entries to those to be shown, sorted. */
static void choose(struct view *view)
{
    const struct hp_settings *settings = view->results->settings;
    const bool has_outside = shows_outside(view);
    size_t kept = 0;
    for (size_t at = 0; at < view->count; at++) {
        struct entry *entry = view->entries[at];
        if (entry->site != NULL ? hp_results_show(view->results, entry->site) : has_outside)
            view->entries[kept++] = entry;
    }
    view->section->total_rows = kept;
    view->count = 0;
    for (size_t at = 0; at < kept; at++)
        if (!hp_share_is_small(view->entries[at]->total, view->whole, &settings->show))
            view->entries[view->count++] = view->entries[at];
    hp_sort(view->entries, view->count, compare_entries);
}

/* ---------------------------------------------------------------------------------------------- rows */

static void set_average(const struct view *view, struct hp_row *row, size_t column, double average)
{
    if (view->kind == &count_kind)
        hp_section_set_number(row, column, average);
    else
        hp_section_set_count(row, column, hp_units_round(average));
}

static void fill_percentiles(struct view *view, struct hp_row *row, const struct hp_alloc_measured *measured)
{
    const struct hp_settings *settings = view->results->settings;
    double value;
    for (uint32_t at = 0; at < settings->show.percentile_count && at < HP_MAX_PERCENTILES; at++)
        if (hp_durations_percentile(view->values, settings->show.percentiles[at], &value))
            hp_section_set_count(row, measured->percentiles[at], hp_units_round(value));
}

/* Most functions allocate nothing. */
static void fill_zeros(struct view *view, struct hp_row *row, const struct hp_alloc_measured *measured)
{
    const struct hp_settings *settings = view->results->settings;
    set_average(view, row, measured->average, 0);
    for (uint32_t at = 0; at < settings->show.percentile_count && at < HP_MAX_PERCENTILES; at++)
        hp_section_set_count(row, measured->percentiles[at], 0);
}

static void fill_values(struct view *view, struct hp_row *row, const struct entry *entry)
{
    const struct kind *kind = view->kind;
    const struct hp_alloc_columns *columns = &view->columns;
    const bool is_all = view->results->settings->show.alloc_cumulative;
    uint64_t calls;
    const bool is_known = hp_task_calls(entry->site, &calls);
    if (entry->allocs.calls == 0) {
        fill_zeros(view, row, &columns->totals);
        fill_zeros(view, row, &columns->peaks);
        return;
    }
    hp_allocs_distribution(entry->site, &entry->allocs, is_all ? kind->all : kind->own, view->values);
    if (is_known)
        set_average(view, row, columns->totals.average, calls > 0 ? (double)entry->total / (double)calls : 0);
    if (hp_site_is_task(entry->site)) /* the rest is known of polls, not of tasks */
        return;
    fill_percentiles(view, row, &columns->totals);
    hp_allocs_distribution(entry->site, &entry->allocs, kind->peak, view->values);
    set_average(view, row, columns->peaks.average, hp_durations_mean(view->values));
    fill_percentiles(view, row, &columns->peaks);
}

static void fill_peaks(const struct view *view, struct hp_row *row, const struct hp_site_allocs *allocs)
{
    const struct hp_alloc_columns *columns = &view->columns;
    hp_section_set_count(row, columns->peak_usable_bytes, allocs->max[HP_ALLOC_PEAK_BYTES]);
    hp_section_set_count(row, columns->peak_blocks, allocs->max[HP_ALLOC_PEAK_BLOCKS]);
    hp_section_set_signed(row, columns->net_usable_bytes, allocs->net_bytes);
    hp_section_set_signed(row, columns->net_blocks, allocs->net_blocks);
}

/* The outside row has no calls, and its peak would be that of the whole process. */
static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    struct view *view = context;
    const struct entry *entry = about;
    const struct hp_alloc_columns *columns = &view->columns;
    hp_section_set_text(row, columns->name, name_of(entry));
    row->id = hp_identity_of_site(entry->site);
    if (entry->site == NULL && entry->thread != NULL)
        row->id = hp_identity_with_thread(row->id, entry->thread);
    hp_section_set_count(row, columns->total, entry->total);
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)entry->total / (double)view->whole);
    hp_section_set_count(row, columns->own_bytes, entry->allocs.own_bytes);
    hp_section_set_count(row, columns->all_bytes, entry->allocs.all_bytes);
    hp_section_set_count(row, columns->own_count, entry->allocs.own_count);
    hp_section_set_count(row, columns->all_count, entry->allocs.all_count);
    if (entry->thread != NULL && !hp_section_set_thread(view->results, row, columns->thread, entry->thread))
        return false;
    if (entry->site == NULL)
        return true;
    uint64_t calls;
    if (hp_task_calls(entry->site, &calls))
        hp_section_set_count(row, columns->calls, calls);
    hp_section_set_count(row, columns->open,
                         entry->site->task != NULL ? entry->site->task->open : entry->site->sums.open);
    row->is_open = entry->site->sums.open > 0;
    fill_peaks(view, row, &entry->allocs);
    fill_values(view, row, entry);
    return hp_section_set_location(view->results, row, columns->location, &entry->site->location);
}

static bool fill_rows(struct view *view)
{
    return hp_order_fill(view->results, view->section, view->results->settings->show.functions_limit,
                         (const void *const *)view->entries, view->count, fill_row, view);
}

/* ------------------------------------------------------------------------------------ above and below */

static void put_count(struct hp_text *line, uint64_t count, const char *one, const char *many)
{
    hp_text_format(line, "%" PRIu64 "%s", count, count == 1 ? one : many);
}

static void put_bytes_total(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_units_bytes(line, totals->bytes);
    hp_text_string(line, " in ");
    put_count(line, totals->count, " allocation", " allocations");
    hp_text_string(line, "; usable: ");
    hp_units_bytes(line, totals->freed_bytes);
    hp_text_string(line, " freed, ");
    hp_units_signed_bytes(line, totals->live_bytes);
    hp_text_format(line, "%s%s", allocs->processes > 1 ? " live, peak of one process " : " live, peak ",
                   allocs->peak_error > 0 ? "about " : "");
    hp_units_signed_bytes(line, totals->peak_bytes);
    if (totals->foreign_count > 0) {
        hp_text_string(line, "; ");
        hp_units_bytes(line, totals->foreign_bytes);
        hp_text_string(line, " freed by another thread");
    }
}

static void put_count_total(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    put_count(line, totals->count, " allocation of ", " allocations of ");
    hp_units_bytes(line, totals->bytes);
    hp_text_format(line, "; blocks: %" PRIu64 " freed, ", totals->freed_count);
    hp_text_i64(line, totals->live_blocks);
    hp_text_string(line, " live");
    if (allocs->has_peak_blocks) {
        hp_text_string(line, allocs->processes > 1 ? ", peak of one process " : ", peak ");
        hp_text_i64(line, totals->peak_blocks);
    }
    if (totals->foreign_count > 0) {
        hp_text_format(line, "; %" PRIu64 " freed by another thread", totals->foreign_count);
    }
}

static const char *keep_line(const struct view *view, struct hp_text *line)
{
    return hp_arena_copy(view->results->model->arena, line->bytes, line->length);
}

static bool set_summary(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    if (view->kind == &bytes_kind)
        put_bytes_total(&line, view->allocs);
    else
        put_count_total(&line, view->allocs);
    if (view->allocs->failed > 0) {
        hp_text_string(&line, "; ");
        put_count(&line, view->allocs->failed, " failed", " failed");
    }
    view->section->summary = keep_line(view, &line);
    return view->section->summary != NULL;
}

static void add_totals(struct view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_allocs *allocs = view->allocs;
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_section_add_total(section, "requested_bytes", totals->bytes);
    hp_section_add_total(section, "allocations", totals->count);
    hp_section_add_total(section, "freed_usable_bytes", totals->freed_bytes);
    hp_section_add_total(section, "freed_blocks", totals->freed_count);
    hp_section_add_total(section, "live_usable_bytes", (uint64_t)totals->live_bytes);
    hp_section_add_total(section, "live_blocks", (uint64_t)totals->live_blocks);
    hp_section_add_total(section, "peak_usable_bytes", (uint64_t)totals->peak_bytes);
    hp_section_add_total(section, "peak_error_bytes", allocs->peak_error);
    if (allocs->has_peak_blocks)
        hp_section_add_total(section, "peak_blocks", (uint64_t)totals->peak_blocks);
    hp_section_add_total(section, "foreign_freed_usable_bytes", totals->foreign_bytes);
    hp_section_add_total(section, "foreign_freed_blocks", totals->foreign_count);
    hp_section_add_total(section, "earlier_freed_usable_bytes", allocs->earlier_bytes);
    hp_section_add_total(section, "earlier_freed_blocks", allocs->earlier_blocks);
    hp_section_add_total(section, "failed", allocs->failed);
}

static bool note_peak(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "the peak of all threads together is accurate to ");
    hp_units_bytes(&line, view->allocs->peak_error);
    hp_text_string(&line, ", 32 KB per thread");
    const char *copy = keep_line(view, &line);
    if (copy != NULL)
        hp_section_note(view->section, copy);
    return copy != NULL;
}

/* Blocks from before the session are only counted here. */
static bool note_earlier(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    if (view->kind == &bytes_kind)
        hp_units_bytes(&line, view->allocs->earlier_bytes);
    else
        put_count(&line, view->allocs->earlier_blocks, " block", " blocks");
    hp_text_string(&line, " were freed that had been allocated before measuring began");
    const char *copy = keep_line(view, &line);
    if (copy != NULL)
        hp_section_note(view->section, copy);
    return copy != NULL;
}

/* No row is better than one that says nothing was allocated. */
static bool note_unknown(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const size_t unknown = hp_allocs_unknown(&view->results->model->run);
    if (unknown == 0)
        return true;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "allocations of ");
    put_count(&line, unknown, " process", " processes");
    hp_text_string(&line, " were not counted, because malloc was not watched in them");
    const char *copy = keep_line(view, &line);
    if (copy != NULL)
        hp_section_note(view->section, copy);
    return copy != NULL;
}

static bool add_notes(struct view *view)
{
    struct hotpath_section *section = view->section;
    const uint64_t earlier = view->kind == &bytes_kind ? view->allocs->earlier_bytes : view->allocs->earlier_blocks;
    hp_section_note_sites(view->results, section, view->columns.calls,
                          HP_OUTSIDE " was allocated outside of measured functions");
    if (section->row_count > 0)
        hp_section_note(section, view->kind == &bytes_kind
                                     ? "Total is in requested bytes; Peak (the highest of any call) and Net "
                                       "(allocated minus freed) are in usable bytes, callees included"
                                     : "Peak (the highest of any call) and Net (allocated minus freed) include "
                                       "callees");
    if (strcmp(section->percent_of, "rows") == 0)
        hp_section_note(section, "% Total is the share of the sum of all rows, without the main function");
    if (!note_unknown(view) || (earlier > 0 && !note_earlier(view)))
        return false;
    return view->kind != &bytes_kind || view->allocs->peak_error == 0 || note_peak(view);
}

/* "... by each function, thread by thread." */
static bool set_description(struct view *view)
{
    char bytes[160];
    struct hp_text line;
    const struct hp_settings *settings = view->results->settings;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "%s%s",
                   view->is_peak_first               ? view->kind->highest
                   : settings->show.alloc_cumulative ? view->kind->cumulative
                                                     : view->kind->exclusive,
                   settings->show.by == HP_BY_THREAD ? ", per thread." : ".");
    view->section->description = keep_line(view, &line);
    return view->section->description != NULL;
}

/* ------------------------------------------------------------------------------------------- section */

static bool has_data(const struct hotpath_results *results) { return hp_run_has_allocs(&results->model->run); }

static struct view *make_view(struct hotpath_results *results, struct hotpath_section *section,
                              const struct kind *kind)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (view == NULL ||
        (hp_run_has_objects(&results->model->run, hp_is_task_kind) && !hp_model_tasks(results->model)))
        return NULL;
    *view = (struct view){.results = results,
                          .section = section,
                          .kind = kind,
                          .profile = hp_results_profile_of_rows(results),
                          .allocs = hp_model_allocs(results->model),
                          .is_peak_first = is_peak(results->settings->show.alloc_metric)};
    view->values = hp_arena_take(results->model->arena, sizeof *view->values);
    return view->profile != NULL && view->allocs != NULL && view->values != NULL ? view : NULL;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section, const struct kind *kind)
{
    struct view *view = make_view(results, section, kind);
    if (view == NULL || !set_description(view) || !describe(view) || !gather(view))
        return false;
    if (!has_data(results)) {
        section->if_empty = HP_NO_ALLOCS;
        return hp_section_make_rows(results, section, 0);
    }
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    choose(view);
    section->if_empty = hp_section_why_empty(section, view->profile->site_count,
                                             "nothing was allocated while the session was active");
    add_totals(view);
    return set_summary(view) && fill_rows(view) && add_notes(view);
}

static bool fill_bytes(struct hotpath_results *results, struct hotpath_section *section)
{
    return fill(results, section, &bytes_kind);
}

static bool fill_count(struct hotpath_results *results, struct hotpath_section *section)
{
    return fill(results, section, &count_kind);
}

#define ABOUT                                                                                                      \
    "The exclusive totals of all rows add up to the totals. These are absent if no allocations were recorded."
#define ABOUT_ROW                                                                                                  \
    "A function and what its calls allocated; calls that allocated nothing count as zeros. The row <outside> has " \
    "what was allocated outside of measured functions: it has no calls and no peak."

const struct hp_section_type hp_section_alloc_bytes = {.name = "alloc-bytes",
                                                       .in_brief = HP_BRIEF_LINE,
                                                       .group = "alloc",
                                                       .is_usual = is_bytes,
                                                       .is_left_out_empty = true,
                                                       .has_data = has_data,
                                                       .fill = fill_bytes,
                                                       HP_COLUMNS(hp_alloc_bytes_columns),
                                                       HP_TOTALS(hp_alloc_totals_table),
                                                       .about = ABOUT,
                                                       .about_row = ABOUT_ROW,
                                                       .always = "order"};
const struct hp_section_type hp_section_alloc_count = {.name = "alloc-count",
                                                       .in_brief = HP_BRIEF_LINE,
                                                       .group = "alloc",
                                                       .is_usual = is_count,
                                                       .is_left_out_empty = true,
                                                       .has_data = has_data,
                                                       .fill = fill_count,
                                                       HP_COLUMNS(hp_alloc_count_columns),
                                                       HP_TOTALS(hp_alloc_totals_table),
                                                       .about = ABOUT,
                                                       .about_row = ABOUT_ROW,
                                                       .always = "order"};
