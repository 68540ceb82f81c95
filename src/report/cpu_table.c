/*
 * The section `cpu`: one row per site, or per site and thread, with its CPU time.
 *
 * Every site that was called has a row, even if it only slept. CPU time outside all sites has its own row, so that
 * exclusive times add up to that of the run. SPDX-License-Identifier: MIT
 */
#include "section.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "sort.h"
#include "text.h"
#include "units.h"

#define LINE_BYTES 240u

/* A future row. */
struct entry {
    const struct hp_site_sums *site; /* NULL: the time of no function */
    const char *name;                /* of that row */
    const struct hp_site_cpu *cpu;
    const struct hp_cpu_sums *shown; /* own, or with inner zones */
};

struct view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_profile *profile; /* its sites are the rows: that of the results, or one by thread */
    const struct hp_cpu *cpu;
    struct hp_site_cpu outside, startup;
    bool is_unranked; /* too few samples to rank the rows */
    uint64_t whole;
    struct entry **entries;
    size_t count;
};

/* ------------------------------------------------------------------------------------------- entries */

static const char *name_of(const struct entry *entry)
{
    return entry->site != NULL ? entry->site->name : entry->name;
}

static uint32_t thread_of(const struct entry *entry)
{
    return entry->site != NULL ? hp_thread_number(entry->site) : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = hp_by_number(hp_cpu_ns(y->shown), hp_cpu_ns(x->shown));
    if (order == 0)
        order = strcmp(name_of(x), name_of(y));
    return order != 0 ? order : hp_by_number(thread_of(x), thread_of(y));
}

static bool is_shown(const struct view *view, const struct entry *entry)
{
    const struct hp_pattern_subject subject = {.names = {entry->name}};
    return entry->site != NULL ? hp_results_show(view->results, entry->site)
                               : hp_results_show_subject(view->results, &subject);
}

static bool is_left_out(const struct view *view, const struct hp_site_sums *site)
{
    return view->results->settings->show.exclude_wrapper && site->is_main;
}

/* What shares refer to: all CPU time, or the sum of all rows without main functions. */
static void set_whole(struct view *view)
{
    view->section->percent_of = "cpu";
    view->whole = hp_cpu_ns(&view->cpu->total);
    if (!view->results->settings->show.exclude_wrapper)
        return;
    view->section->percent_of = "rows";
    view->whole = 0;
    for (size_t at = 0; at < view->count; at++)
        view->whole += hp_cpu_ns(view->entries[at]->shown);
}

static void add_entry(struct view *view, const struct hp_site_sums *site, const struct hp_site_cpu *cpu)
{
    const bool is_inclusive = view->results->settings->show.cpu_inclusive;
    *view->entries[view->count++] =
        (struct entry){.site = site, .cpu = cpu, .shown = is_inclusive ? &cpu->all : &cpu->own};
}

static void add_other(struct view *view, const char *name, const struct hp_cpu_sums *sums, struct hp_site_cpu *room)
{
    *room = (struct hp_site_cpu){*sums, *sums};
    if (hp_cpu_ns(sums) > 0 || sums->samples > 0)
        *view->entries[view->count++] = (struct entry){.name = name, .cpu = room, .shown = &room->own};
}

/* False: no memory. */
static bool gather(struct view *view)
{
    const size_t most = view->profile->site_count + 2;
    struct entry *entries = hp_arena_take_array(view->results->model->arena, most, sizeof *entries);
    view->entries = hp_arena_take_array(view->results->model->arena, most, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < most; at++)
        view->entries[at] = &entries[at];
    for (size_t at = 0; at < view->profile->site_count; at++)
        if (!is_left_out(view, view->profile->sites[at]))
            add_entry(view, view->profile->sites[at], &view->cpu->sites[at]);
    add_other(view, HP_OUTSIDE, &view->cpu->outside, &view->outside);
    add_other(view, HP_STARTUP, &view->cpu->startup, &view->startup);
    set_whole(view);
    return true;
}

/* Rows that may be off by more than this part are marked. */
#define ROUGH_PART 0.25

static double error_of(const struct entry *entry) { return hp_root(entry->shown->variance); }

static bool is_rough(const struct entry *entry)
{
    return entry->site != NULL && error_of(entry) > ROUGH_PART * (double)hp_cpu_ns(entry->shown);
}

static int compare_names(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = strcmp(name_of(x), name_of(y));
    return order != 0 ? order : hp_by_number(thread_of(x), thread_of(y));
}

/* If not even the first row's time is certain, sorting by it would be misleading. */
static void rank(struct view *view)
{
    const struct entry *first = NULL;
    size_t count = 0;
    for (size_t at = 0; at < view->count; at++) {
        const struct entry *entry = view->entries[at];
        if (entry->site == NULL || hp_cpu_ns(entry->shown) == 0)
            continue;
        first = first != NULL ? first : entry;
        count++;
    }
    view->is_unranked = view->section->order.is_usual && count > 1 && is_rough(first);
    if (!view->is_unranked)
        return;
    hp_sort(view->entries, view->count, compare_names);
    view->section->order.column = hp_section_column(view->section, "name");
    view->section->order.is_ascending = true;
}

/* Reduces the entries to those to be shown, sorted. */
static void choose(struct view *view)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0;
    view->section->total_rows = 0;
    for (size_t at = 0; at < view->count; at++) {
        struct entry *entry = view->entries[at];
        const bool is_wanted = is_shown(view, entry);
        view->section->total_rows += is_wanted;
        if (is_wanted && !hp_share_is_small(hp_cpu_ns(entry->shown), view->whole, &settings->show))
            view->entries[kept++] = entry;
    }
    view->count = kept;
    hp_sort(view->entries, view->count, compare_entries);
    rank(view);
}

/* ---------------------------------------------------------------------------------------------- rows */

static void mark_row(struct hp_row *row, const struct entry *entry)
{
    row->id = entry->site != NULL ? hp_identity_of_site(entry->site) : 0;
    row->is_rough = is_rough(entry);
    row->is_main = entry->site != NULL && entry->site->is_main;
    row->is_open = entry->site != NULL && entry->site->sums.open > 0;
}

static void fields(struct hp_fields *to, void *of, const void *about)
{
    const struct view *view = of;
    const struct entry *entry = about;
    if (to->row != NULL)
        mark_row(to->row, entry);
    HP_FIELD(to, name_of(entry), "name", "Function", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, entry->site != NULL ? entry->site->thread : NULL, "thread", "Thread", TEXT,
             HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, .needs = HP_FACT_BY_THREAD);
    HP_FIELD(to, entry->shown->samples, "samples", "Samples", COUNT, HP_COLUMN_SHOWN);
    HP_FIELD(to, hp_cpu_ns(entry->shown), "cpu_ns", "CPU Time", NS,
             HP_COLUMN_KEEP | HP_COLUMN_ROUGH | HP_COLUMN_SHOWN,
             "CPU time of the function itself, or including measured callees: see `cpu` at the top.");
    HP_FIELD(to, entry->shown->user_ns, "user_ns", "User", NS, HP_COLUMN_SHOWN);
    HP_FIELD(to, entry->shown->kernel_ns, "kernel_ns", "Kernel", NS, HP_COLUMN_SHOWN,
             "By samples that found it in a system call.");
    HP_FIELD(to, hp_percent_of(hp_cpu_ns(entry->shown), view->whole), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, "Percent of the CPU time of the run.");
    HP_FIELD(to, error_of(entry), "error_ns", "+/-", NS, 0,
             "Standard error of cpu_ns, from the number of samples.");
    HP_FIELD(to, hp_cpu_ns(&entry->cpu->own), "own_cpu_ns", "Own CPU", NS, 0);
    HP_FIELD(to, hp_cpu_ns(&entry->cpu->all), "all_cpu_ns", "All CPU", NS, 0,
             "Including measured callees; recursive calls count once.");
    HP_FIELD(to, entry->site != NULL ? &entry->site->location : NULL, "location", "Location", TEXT,
             HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
    HP_FIELD_IF(to, entry->site != NULL, entry->site->sums.open, "open", "Open", COUNT, 0);
}

/* ------------------------------------------------------------------------------------ above and below */

/* "Total: 2.00 s, 1.93 s in user and 66.00 ms in kernel mode; 1991 samples by perf and timers" */
static bool set_summary(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct hp_cpu_sums *total = &view->cpu->total;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "Total: %s, %s in user and %s in kernel mode; %" PRIu64 "%s%s",
                   hp_ns_text((double)hp_cpu_ns(total)).bytes, hp_ns_text((double)total->user_ns).bytes,
                   hp_ns_text((double)total->kernel_ns).bytes, total->samples,
                   total->samples == 1 ? " sample by " : " samples by ", hp_cpu_engine_name(view->cpu));
    view->section->summary = hp_results_keep(view->results, &line);
    return view->section->summary != NULL;
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_cpu *cpu = about;
    (void)view;
    HP_FIELD(to, cpu->total.samples, "samples", NULL, COUNT, 0);
    HP_FIELD(to, cpu->perf_samples, "perf_samples", NULL, COUNT, 0,
             "Samples taken by perf, in user mode; the others are by timers.");
    HP_FIELD(to, hp_cpu_ns(&cpu->total), "cpu_ns", NULL, COUNT, 0);
    HP_FIELD(to, cpu->total.user_ns, "user_ns", NULL, COUNT, 0);
    HP_FIELD(to, cpu->total.kernel_ns, "kernel_ns", NULL, COUNT, 0);
    HP_FIELD(to, cpu->sampled_ns, "sampled_ns", NULL, COUNT, 0,
             "CPU time of sampled threads, since their first measured call.");
}

static bool has_row(const struct view *view, const char *name)
{
    const size_t column = hp_section_column(view->section, "name");
    for (size_t at = 0; at < view->section->row_count; at++)
        if (strcmp(view->section->rows[at].cells[column].text, name) == 0)
            return true;
    return false;
}

static void add_notes(struct view *view)
{
    struct hotpath_section *section = view->section;
    const bool has_outside = has_row(view, HP_OUTSIDE);
    hp_section_note_sites(view->results, section, has_outside ? "open" : "name",
                          HP_OUTSIDE " is CPU time outside of measured functions");
    if (has_row(view, HP_STARTUP))
        hp_section_note(section, HP_STARTUP
                        " is CPU time before measuring began: the dynamic linker, and code that runs before main");
    if (view->is_unranked)
        hp_section_note(section, "~ too few samples to rank these functions: they are sorted by name");
    else if (hp_section_marks_of_rows(section).is_rough)
        hp_section_note(section, "~ too few samples: may be off by a quarter or more");
    if (view->cpu->has_timers || !view->cpu->has_perf)
        hp_section_note(section, "sampled on kernel ticks only: code that runs in step with them may be far off");
    if (strcmp(section->percent_of, "rows") == 0)
        hp_section_note(section, "% Total is the share of the sum of all rows, without the main function");
}

/* ------------------------------------------------------------------------------------------- section */

static bool has_data(const struct hotpath_results *results) { return hp_run_has_cpu(&results->model->run); }

static const char *description_of(const struct hp_settings *settings)
{
    if (settings->show.by == HP_BY_THREAD)
        return settings->show.cpu_inclusive ? "CPU time by function, including callees, per thread."
                                            : "CPU time by function, without measured callees, per thread.";
    return settings->show.cpu_inclusive ? "CPU time by function, including callees."
                                        : "CPU time by function, without measured callees.";
}

/* The profile of the results has its own; for one by thread it is computed. */
static const struct hp_cpu *cpu_of(struct hotpath_results *results, const struct hp_profile *profile)
{
    return profile == results->model->profile ? hp_model_cpu(results->model)
                                              : hp_model_cpu_by_thread(results->model);
}

static struct view *make_view(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = hp_arena_take(results->model->arena, sizeof *view);
    const struct hp_profile *profile = hp_results_profile_of_rows(results);
    if (view == NULL || profile == NULL)
        return NULL;
    *view =
        (struct view){.results = results, .section = section, .profile = profile, .cpu = cpu_of(results, profile)};
    return view->cpu != NULL ? view : NULL;
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view *view = make_view(results, section);
    if (view == NULL)
        return false;
    section->description = description_of(results->settings);
    if (!hp_section_begin(results, section, view, 0, "cpu_ns", "percent_total") || !gather(view))
        return false;
    if (!has_data(results)) {
        section->if_empty = HP_NO_CPU;
        return hp_section_make_rows(results, section, 0);
    }
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    choose(view);
    section->if_empty = hp_section_why_empty(section, view->profile->site_count,
                                             "no CPU time was used while the session was active");
    hp_section_add_totals(results, section, view->cpu);
    if (!set_summary(view) || !hp_order_fill(results, section, results->settings->show.functions_limit,
                                             (const void *const *)view->entries, view->count, view))
        return false;
    add_notes(view);
    return true;
}

const struct hp_section_type hp_section_cpu = {
    .name = "cpu",
    .in_brief = HP_BRIEF_LINE,
    .is_left_out_empty = true,
    .is_of_measured = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .totals = totals,
    .about = "The exclusive times of all rows add up to the total. Totals cover all processes, by their own "
             "clocks, and are absent if CPU time was not sampled.",
    .about_row = "A function and its CPU time. The row <outside> is CPU time outside of measured functions, "
                 "<startup> is CPU time before measuring began.",
    .always = "order"};
