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

/* Facts of these sections. */
enum {
    TOTAL_FIRST = HP_FACT_OWN, /* of two groups of columns, HOTPATH_ALLOC_METRIC chooses the first */
    PEAK_FIRST = HP_FACT_OWN << 1,
    HAS_PEAK_BLOCKS = HP_FACT_OWN << 2,
};

/* What differs between the two: words, units, and so the columns. */
struct kind {
    bool is_bytes;
    enum hp_alloc_measure own, all, peak;
    const char *exclusive, *cumulative, *highest; /* descriptions, without their ends */
    struct hp_column_spec average, size, total, share;
    struct hp_column_spec highest_peak, average_peak, peak_of_calls;
    struct hp_column_spec net;
    struct hp_column_spec other_peak, other_net; /* those of the other section: only on request */
};

/* `of` is what is requested, `live` what peaks count: "bytes" and "usable_bytes", "count" and "blocks". */
#define COLUMNS(of, live, live_word, Live_word, about_size, about_share, unit, average_unit)                       \
    .average = HP_COLUMN(false, false, "avg_" of, "Avg", average_unit, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,          \
                         "total_" of " divided by calls.", .shown_by = TOTAL_FIRST),                               \
    .size = HP_COLUMN(true, true, "_" of, "", unit, HP_COLUMN_SHOWN, about_size, .shown_by = TOTAL_FIRST),         \
    .total = HP_COLUMN(false, false, "total_" of, "Total", unit, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,                 \
                       "own_" of " or, if alloc is cumulative, all_" of "."),                                      \
    .share = HP_COLUMN(false, false, "percent_total", "% Total", PERCENT,                                          \
                       HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, about_share),                           \
    .average_peak = HP_COLUMN(true, false, "avg_peak_" live, "Avg Peak", average_unit, HP_COLUMN_SHOWN,            \
                              "Average peak over all calls; within 0.8 percent.", .shown_by = PEAK_FIRST),         \
    .peak_of_calls = HP_COLUMN(true, true, "_peak_" live, " Peak", unit, HP_COLUMN_SHOWN, .shown_by = PEAK_FIRST), \
    .highest_peak = HP_COLUMN(true, false, "peak_" live, "Peak", unit, HP_COLUMN_SHOWN,                            \
                              "The highest peak of any call: the most " live_word                                  \
                              " live at once, callees included, beyond those live when the call began."),          \
    .net = HP_COLUMN(true, false, "net_" live, "Net", SIGNED_##unit, HP_COLUMN_SHOWN,                              \
                     Live_word " that its calls left behind: allocated minus freed, callees included; recursive "  \
                               "calls count once.")

static const struct kind bytes_kind = {
    .is_bytes = true,
    .own = HP_ALLOC_OWN_BYTES,
    .all = HP_ALLOC_ALL_BYTES,
    .peak = HP_ALLOC_PEAK_BYTES,
    .exclusive = "Allocated bytes by function, without measured callees",
    .cumulative = "Allocated bytes by function, including callees",
    .highest = "Peak live bytes during a call, by function",
    COLUMNS("bytes", "usable_bytes", "bytes", "Bytes", "A percentile of the bytes that one call requested.",
            "Percent of all bytes that the run allocated.", BYTES, BYTES),
    .other_peak = HP_COLUMN(true, false, "peak_blocks", "Peak Blocks", COUNT, 0),
    .other_net = HP_COLUMN(true, false, "net_blocks", "Net Blocks", SIGNED_COUNT, 0),
};

static const struct kind count_kind = {
    .own = HP_ALLOC_OWN_COUNT,
    .all = HP_ALLOC_ALL_COUNT,
    .peak = HP_ALLOC_PEAK_BLOCKS,
    .exclusive = "Allocations by function, without measured callees",
    .cumulative = "Allocations by function, including callees",
    .highest = "Peak live blocks during a call, by function",
    COLUMNS("count", "blocks", "blocks", "Blocks", "A percentile of the number of allocations of one call.",
            "Percent of all allocations of the run.", COUNT, NUMBER),
    .other_peak = HP_COLUMN(true, false, "peak_usable_bytes", "Peak Bytes", BYTES, 0),
    .other_net = HP_COLUMN(true, false, "net_usable_bytes", "Net Bytes", SIGNED_BYTES, 0),
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
    struct hp_durations *sizes, *peaks; /* of the calls of the row being filled */
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
    const bool is_peak_first = view->is_peak_first;
    const char *usual = is_peak_first ? view->kind->highest_peak.key : view->kind->total.key;
    const uint32_t facts =
        (is_peak_first ? PEAK_FIRST : TOTAL_FIRST) | (view->allocs->has_peak_blocks ? HAS_PEAK_BLOCKS : 0u);
    if (!hp_section_begin(view->results, section, view, facts, usual, is_peak_first ? NULL : "percent_total"))
        return false;
    section->columns[hp_section_column(section, usual)].traits |= HP_COLUMN_KEEP;
    return true;
}

/* ------------------------------------------------------------------------------------------- entries */

static uint64_t measure_of(const struct view *view, const struct hp_site_allocs *allocs)
{
    const bool is_all = view->results->settings->show.alloc_cumulative;
    if (view->kind->is_bytes)
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
    view->whole = view->kind->is_bytes ? totals->bytes : totals->count;
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

/* The outside row has no calls, and its peak would be that of the whole process. */
static bool has_calls(const struct entry *entry)
{
    uint64_t calls;
    return entry->site != NULL && hp_task_calls(entry->site, &calls);
}

static uint64_t calls_of(const struct entry *entry)
{
    uint64_t calls;
    hp_task_calls(entry->site, &calls);
    return calls;
}

/* Most functions allocate nothing. Of tasks, the rest is known of polls. */
static bool has_distribution(const struct entry *entry)
{
    return entry->site != NULL && (entry->allocs.calls == 0 || !hp_site_is_task(entry->site));
}

static struct hp_cell average_cell(const struct view *view, double average)
{
    return !view->kind->is_bytes ? (struct hp_cell){.has_value = true, .number = average}
                                 : (struct hp_cell){.has_value = true, .count = hp_units_round(average)};
}

static struct hp_cell average_of(const struct view *view, const struct entry *entry)
{
    if (entry->site == NULL || (entry->allocs.calls > 0 && !has_calls(entry)))
        return (struct hp_cell){0};
    const uint64_t calls = entry->allocs.calls > 0 ? calls_of(entry) : 0;
    return average_cell(view, calls > 0 ? (double)entry->total / (double)calls : 0);
}

static struct hp_cell mean_peak(const struct view *view, const struct entry *entry)
{
    return average_cell(view, entry->allocs.calls > 0 ? hp_durations_mean(view->peaks) : 0);
}

static struct hp_cell percentile_of(const struct entry *entry, const struct hp_durations *values, double percentile)
{
    double value = 0;
    const bool has_value = entry->allocs.calls == 0 || hp_durations_percentile(values, percentile, &value);
    return (struct hp_cell){.has_value = has_value, .count = hp_units_round(value)};
}

static void begin_row(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    if (to->row != NULL && view->results != NULL) { /* else only the columns are asked for */
        const bool is_all = view->results->settings->show.alloc_cumulative;
        to->row->id = hp_identity_of_site(entry->site);
        if (entry->site == NULL && entry->thread != NULL)
            to->row->id = hp_identity_with_thread(to->row->id, entry->thread);
        to->row->is_open = entry->site != NULL && entry->site->sums.open > 0;
        if (has_distribution(entry) && entry->allocs.calls > 0) {
            hp_allocs_distribution(entry->site, &entry->allocs, is_all ? view->kind->all : view->kind->own,
                                   view->sizes);
            hp_allocs_distribution(entry->site, &entry->allocs, view->kind->peak, view->peaks);
        }
    }
    HP_FIELD(to, name_of(entry), "name", "Function", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, entry->thread, "thread", "Thread", TEXT,
             HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, .needs = HP_FACT_BY_THREAD);
    HP_FIELD_IF(to, has_calls(entry), calls_of(entry), "calls", "Calls", COUNT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN);
}

static void put_sums(struct hp_fields *to, const struct entry *entry)
{
    HP_FIELD(to, entry->allocs.own_bytes, "own_bytes", "Own Bytes", BYTES, 0,
             "Requested by the function itself, not by measured callees. All rows add up exactly to the total of "
             "the run.");
    HP_FIELD(to, entry->allocs.all_bytes, "all_bytes", "All Bytes", BYTES, 0,
             "Including measured callees; recursive calls count once.");
    HP_FIELD(to, entry->allocs.own_count, "own_count", "Own Allocs", COUNT, 0);
    HP_FIELD(to, entry->allocs.all_count, "all_count", "All Allocs", COUNT, 0);
}

static void put_site(struct hp_fields *to, const struct entry *entry)
{
    HP_FIELD(to, entry->site != NULL ? &entry->site->location : NULL, "location", "Location", TEXT,
             HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
    HP_FIELD_IF(to, entry->site != NULL,
                entry->site->task != NULL ? entry->site->task->open : entry->site->sums.open, "open", "Open", COUNT,
                0);
}

static void put_sizes(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    HP_FIELD_AS(to, &view->kind->average, true, average_of(view, entry));
    HP_FIELD_FAMILY_AS(to, percentile, &view->kind->size, has_distribution(entry),
                       percentile_of(entry, view->sizes, percentile));
}

static void put_total(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    HP_FIELD_AS(to, &view->kind->total, true, entry->total);
    HP_FIELD_AS(to, &view->kind->share, true, hp_percent_of(entry->total, view->whole));
}

static void put_peaks(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    HP_FIELD_AS(to, &view->kind->average_peak, has_distribution(entry), mean_peak(view, entry));
    HP_FIELD_FAMILY_AS(to, percentile, &view->kind->peak_of_calls, has_distribution(entry),
                       percentile_of(entry, view->peaks, percentile));
}

static void put_peak(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    HP_FIELD_AS(to, &view->kind->highest_peak, entry->site != NULL, entry->allocs.max[view->kind->peak]);
}

static int64_t net_of(const struct entry *entry, bool is_bytes)
{
    return is_bytes ? entry->allocs.net_bytes : entry->allocs.net_blocks;
}

static void put_fields(struct hp_fields *to, const struct view *view, const struct entry *entry)
{
    const struct kind *kind = view->kind, *other = kind->is_bytes ? &count_kind : &bytes_kind;
    begin_row(to, view, entry);
    if (view->is_peak_first) {
        put_peaks(to, view, entry);
        put_peak(to, view, entry);
        put_total(to, view, entry);
    } else {
        put_sizes(to, view, entry);
        put_total(to, view, entry);
        put_peak(to, view, entry);
    }
    HP_FIELD_AS(to, &kind->net, entry->site != NULL, net_of(entry, kind->is_bytes));
    if (view->is_peak_first)
        put_sizes(to, view, entry);
    else
        put_peaks(to, view, entry);
    put_sums(to, entry);
    HP_FIELD_AS(to, &kind->other_peak, entry->site != NULL, entry->allocs.max[other->peak]);
    HP_FIELD_AS(to, &kind->other_net, entry->site != NULL, net_of(entry, other->is_bytes));
    put_site(to, entry);
}

/* Without a view the section is only described, in its usual order. */
static void bytes_fields(struct hp_fields *to, void *view, const void *entry)
{
    put_fields(to, view != NULL ? view : &(const struct view){.kind = &bytes_kind}, entry);
}

static void count_fields(struct hp_fields *to, void *view, const void *entry)
{
    put_fields(to, view != NULL ? view : &(const struct view){.kind = &count_kind}, entry);
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_allocs *allocs = about;
    (void)view;
    HP_FIELD(to, allocs->totals.bytes, "requested_bytes", NULL, BYTES, 0);
    HP_FIELD(to, allocs->totals.count, "allocations", NULL, COUNT, 0);
    HP_FIELD(to, allocs->totals.freed_bytes, "freed_usable_bytes", NULL, BYTES, 0);
    HP_FIELD(to, allocs->totals.freed_count, "freed_blocks", NULL, COUNT, 0);
    HP_FIELD(to, allocs->totals.live_bytes, "live_usable_bytes", NULL, SIGNED_BYTES, 0,
             "Allocated minus freed, never below zero. Freeing a block allocated before the session reduces it.");
    HP_FIELD(to, allocs->totals.live_blocks, "live_blocks", NULL, SIGNED_COUNT, 0);
    HP_FIELD(to, allocs->totals.peak_bytes, "peak_usable_bytes", NULL, SIGNED_BYTES, 0,
             "The most bytes live at once in one process; of several processes, the highest.");
    HP_FIELD(to, allocs->peak_error, "peak_error_bytes", NULL, BYTES, 0,
             "Possible error of the peak: 0 if only one thread allocated, else 32 KB per thread.");
    HP_FIELD(to, allocs->totals.peak_blocks, "peak_blocks", NULL, SIGNED_COUNT, 0,
             "Absent if several threads allocated.", .needs = HAS_PEAK_BLOCKS);
    HP_FIELD(to, allocs->totals.foreign_bytes, "foreign_freed_usable_bytes", NULL, BYTES, 0,
             "Freed by a thread other than the one that allocated it.");
    HP_FIELD(to, allocs->totals.foreign_count, "foreign_freed_blocks", NULL, COUNT, 0);
    HP_FIELD(to, allocs->earlier_bytes, "earlier_freed_usable_bytes", NULL, BYTES, 0,
             "Freed in excess of what was allocated: a lower bound for blocks allocated before the session.");
    HP_FIELD(to, allocs->earlier_blocks, "earlier_freed_blocks", NULL, COUNT, 0);
    HP_FIELD(to, allocs->failed, "failed", NULL, COUNT, 0, "Failed allocations; not part of any other number.");
}

/* ------------------------------------------------------------------------------------ above and below */

static void put_count(struct hp_text *line, uint64_t count, const char *one, const char *many)
{
    hp_text_format(line, "%" PRIu64 "%s", count, count == 1 ? one : many);
}

static void say_bytes(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_text_format(line, "%s in ", hp_bytes_text(totals->bytes).bytes);
    put_count(line, totals->count, " allocation", " allocations");
    hp_text_format(line, "; usable: %s freed, %s%s%s%s", hp_bytes_text(totals->freed_bytes).bytes,
                   hp_signed_bytes_text(totals->live_bytes).bytes,
                   allocs->processes > 1 ? " live, peak of one process " : " live, peak ",
                   allocs->peak_error > 0 ? "about " : "", hp_signed_bytes_text(totals->peak_bytes).bytes);
    if (totals->foreign_count > 0) {
        hp_text_format(line, "; %s freed by another thread", hp_bytes_text(totals->foreign_bytes).bytes);
    }
}

static void say_count(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    put_count(line, totals->count, " allocation of ", " allocations of ");
    hp_text_format(line, "%s; blocks: %" PRIu64 " freed, ", hp_bytes_text(totals->bytes).bytes,
                   totals->freed_count);
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

static bool set_summary(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    if (view->kind->is_bytes)
        say_bytes(&line, view->allocs);
    else
        say_count(&line, view->allocs);
    if (view->allocs->failed > 0) {
        hp_text_string(&line, "; ");
        put_count(&line, view->allocs->failed, " failed", " failed");
    }
    view->section->summary = hp_results_keep(view->results, &line);
    return view->section->summary != NULL;
}

static bool note_peak(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "the peak of all threads together is accurate to %s, 32 KB per thread",
                   hp_bytes_text(view->allocs->peak_error).bytes);
    return hp_section_note(view->section, hp_results_keep(view->results, &line));
}

/* Blocks from before the session are only counted here. */
static bool note_earlier(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    if (view->kind->is_bytes)
        hp_units_bytes(&line, view->allocs->earlier_bytes);
    else
        put_count(&line, view->allocs->earlier_blocks, " block", " blocks");
    hp_text_string(&line, " were freed that had been allocated before measuring began");
    return hp_section_note(view->section, hp_results_keep(view->results, &line));
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
    return hp_section_note(view->section, hp_results_keep(view->results, &line));
}

static bool add_notes(struct view *view)
{
    struct hotpath_section *section = view->section;
    const uint64_t earlier = view->kind->is_bytes ? view->allocs->earlier_bytes : view->allocs->earlier_blocks;
    hp_section_note_sites(view->results, section, "calls",
                          HP_OUTSIDE " was allocated outside of measured functions");
    if (section->row_count > 0)
        hp_section_note(section, view->kind->is_bytes
                                     ? "Total is in requested bytes; Peak (the highest of any call) and Net "
                                       "(allocated minus freed) are in usable bytes, callees included"
                                     : "Peak (the highest of any call) and Net (allocated minus freed) include "
                                       "callees");
    if (strcmp(section->percent_of, "rows") == 0)
        hp_section_note(section, "% Total is the share of the sum of all rows, without the main function");
    if (!note_unknown(view) || (earlier > 0 && !note_earlier(view)))
        return false;
    return !view->kind->is_bytes || view->allocs->peak_error == 0 || note_peak(view);
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
    view->section->description = hp_results_keep(view->results, &line);
    return view->section->description != NULL;
}

/* ------------------------------------------------------------------------------------------- section */

static bool has_data(const struct hotpath_results *results) { return hp_run_has_allocs(&results->model->run); }

static struct view *make_view(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    if (view == NULL ||
        (hp_run_has_objects(&results->model->run, hp_is_task_kind) && !hp_model_tasks(results->model)))
        return NULL;
    *view = (struct view){.results = results,
                          .section = section,
                          .kind = section->type == &hp_section_alloc_bytes ? &bytes_kind : &count_kind,
                          .profile = hp_results_profile_of_rows(results),
                          .allocs = hp_model_allocs(results->model),
                          .is_peak_first = is_peak(results->settings->show.alloc_metric)};
    view->sizes = hp_arena_take(results->model->arena, sizeof *view->sizes);
    view->peaks = hp_arena_take(results->model->arena, sizeof *view->peaks);
    return view->profile != NULL && view->allocs != NULL && view->sizes != NULL && view->peaks != NULL ? view
                                                                                                       : NULL;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = make_view(results, section);
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
    hp_section_add_totals(results, section, view->allocs);
    return set_summary(view) &&
           hp_order_fill(results, section, results->settings->show.functions_limit,
                         (const void *const *)view->entries, view->count, view) &&
           add_notes(view);
}

#define SECTION(name_, is_usual_, fields_)                                                                         \
    {                                                                                                              \
        .name = (name_), .in_brief = HP_BRIEF_LINE, .group = "alloc", .is_usual = (is_usual_),                     \
        .is_left_out_empty = true, .has_data = has_data, .fill = fill, .fields = (fields_), .totals = totals,      \
        .about = "The exclusive totals of all rows add up to the totals. These are absent if no allocations were " \
                 "recorded.",                                                                                      \
        .about_row = "A function and what its calls allocated; calls that allocated nothing count as zeros. The "  \
                     "row <outside> has what was allocated outside of measured functions: it has no calls and no " \
                     "peak.",                                                                                      \
        .always = "order"                                                                                          \
    }
const struct hp_section_type hp_section_alloc_bytes = SECTION("alloc-bytes", is_bytes, bytes_fields);
const struct hp_section_type hp_section_alloc_count = SECTION("alloc-count", is_count, count_fields);
