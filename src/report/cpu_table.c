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

struct columns {
    size_t name, thread, samples, time, user, kernel, percent, error, own, all, location, open;
};

#define AT(column) .index = offsetof(struct columns, column)

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"thread", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_THREAD | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(thread), .needs = HP_FACT_BY_THREAD},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(samples)},
    {"cpu_ns", "CPU Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_ROUGH | HP_COLUMN_SHOWN, AT(time),
     "CPU time of the function itself, or including measured callees: see `cpu` at the top."},
    {"user_ns", "User", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(kernel),
     "By samples that found it in a system call."},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(percent), "Percent of the CPU time of the run."},
    {"error_ns", "+/-", HOTPATH_UNIT_NS, 0, AT(error), "Standard error of cpu_ns, from the number of samples."},
    {"own_cpu_ns", "Own CPU", HOTPATH_UNIT_NS, 0, AT(own)},
    {"all_cpu_ns", "All CPU", HOTPATH_UNIT_NS, 0, AT(all),
     "Including measured callees; recursive calls count once."},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(open)},
};

static const struct hp_column_spec total_table[] = {
    {.key = "samples", .unit = HOTPATH_UNIT_COUNT},
    {.key = "perf_samples",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Samples taken by perf, in user mode; the others are by timers."},
    {.key = "cpu_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "user_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "kernel_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "sampled_ns",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "CPU time of sampled threads, since their first measured call."},
};

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
    struct columns columns;
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
    view->section->order.column = view->columns.name;
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

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    struct view *view = context;
    const struct entry *entry = about;
    const struct columns *columns = &view->columns;
    const struct hp_cpu_sums *shown = entry->shown;
    hp_section_set_text(row, columns->name, name_of(entry));
    row->id = entry->site != NULL ? hp_identity_of_site(entry->site) : 0;
    hp_section_set_count(row, columns->samples, shown->samples);
    hp_section_set_number(row, columns->time, (double)hp_cpu_ns(shown));
    hp_section_set_number(row, columns->user, (double)shown->user_ns);
    hp_section_set_number(row, columns->kernel, (double)shown->kernel_ns);
    hp_section_set_number(row, columns->error, error_of(entry));
    row->is_rough = is_rough(entry);
    hp_section_set_number(row, columns->own, (double)hp_cpu_ns(&entry->cpu->own));
    hp_section_set_number(row, columns->all, (double)hp_cpu_ns(&entry->cpu->all));
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)hp_cpu_ns(shown) / (double)view->whole);
    if (entry->site == NULL)
        return true;
    row->is_main = entry->site->is_main;
    row->is_open = entry->site->sums.open > 0;
    hp_section_set_count(row, columns->open, entry->site->sums.open);
    if (entry->site->thread != NULL &&
        !hp_section_set_thread(view->results, row, columns->thread, entry->site->thread))
        return false;
    return hp_section_set_location(view->results, row, columns->location, &entry->site->location);
}

static bool fill_rows(struct view *view)
{
    return hp_order_fill(view->results, view->section, view->results->settings->show.functions_limit,
                         (const void *const *)view->entries, view->count, fill_row, view);
}

/* ------------------------------------------------------------------------------------ above and below */

/* "Total: 2.00 s, 1.93 s in user and 66.00 ms in kernel mode; 1991 samples by perf and timers" */
static bool set_summary(struct view *view)
{
    char bytes[LINE_BYTES];
    struct hp_text line;
    const struct hp_cpu_sums *total = &view->cpu->total;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    hp_units_ns(&line, (double)hp_cpu_ns(total));
    hp_text_string(&line, ", ");
    hp_units_ns(&line, (double)total->user_ns);
    hp_text_string(&line, " in user and ");
    hp_units_ns(&line, (double)total->kernel_ns);
    hp_text_format(&line, " in kernel mode; %" PRIu64 "%s%s", total->samples,
                   total->samples == 1 ? " sample by " : " samples by ", hp_cpu_engine_name(view->cpu));
    view->section->summary = hp_arena_copy(view->results->model->arena, bytes, line.length);
    return view->section->summary != NULL;
}

static void add_totals(struct view *view)
{
    const struct hp_cpu_sums *total = &view->cpu->total;
    hp_section_add_total(view->section, "samples", total->samples);
    hp_section_add_total(view->section, "perf_samples", view->cpu->perf_samples);
    hp_section_add_total(view->section, "cpu_ns", hp_cpu_ns(total));
    hp_section_add_total(view->section, "user_ns", total->user_ns);
    hp_section_add_total(view->section, "kernel_ns", total->kernel_ns);
    hp_section_add_total(view->section, "sampled_ns", view->cpu->sampled_ns);
}

static bool has_row(const struct view *view, const char *name)
{
    for (size_t at = 0; at < view->section->row_count; at++)
        if (strcmp(view->section->rows[at].cells[view->columns.name].text, name) == 0)
            return true;
    return false;
}

static bool has_rough_row(const struct view *view)
{
    bool has_rough = false;
    for (size_t at = 0; at < view->section->row_count; at++)
        has_rough |= view->section->rows[at].is_rough;
    return has_rough;
}

static void add_notes(struct view *view)
{
    struct hotpath_section *section = view->section;
    const bool has_outside = has_row(view, HP_OUTSIDE);
    hp_section_note_sites(view->results, section, has_outside ? view->columns.open : view->columns.name,
                          HP_OUTSIDE " is CPU time outside of measured functions");
    if (has_row(view, HP_STARTUP))
        hp_section_note(section, HP_STARTUP
                        " is CPU time before measuring began: the dynamic linker, and code that runs before main");
    if (view->is_unranked)
        hp_section_note(section, "~ too few samples to rank these functions: they are sorted by name");
    else if (has_rough_row(view))
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
    if (!hp_section_describe(results, section, 0, &view->columns) ||
        !hp_order_choose(results, section, view->columns.time, view->columns.percent) || !gather(view))
        return false;
    if (!has_data(results)) {
        section->if_empty = HP_NO_CPU;
        return hp_section_make_rows(results, section, 0);
    }
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    choose(view);
    section->if_empty = hp_section_why_empty(section, view->profile->site_count,
                                             "no CPU time was used while the session was active");
    add_totals(view);
    if (!set_summary(view) || !fill_rows(view))
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
    HP_COLUMNS(column_table),
    HP_TOTALS(total_table),
    .about = "The exclusive times of all rows add up to the total. Totals cover all processes, by their own "
             "clocks, and are absent if CPU time was not sampled.",
    .about_row = "A function and its CPU time. The row <outside> is CPU time outside of measured functions, "
                 "<startup> is CPU time before measuring began.",
    .always = "order"};
