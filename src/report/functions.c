/*
 * The section `functions`: CPU time and waiting per function, by stacks, whether or not functions are measured.
 * Present if stacks were sampled; the library does not do that. SPDX-License-Identifier: MIT
 */
#include "function_profile.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "found_rows.h"
#include "order.h"
#include "proc_sampler.h"
#include "section.h"
#include "shares.h"
#include "text.h"
#include "units.h"
#include "verdict.h"

struct columns {
    size_t name, library, samples, own, own_percent, user, kernel, total, total_percent, waiting, waits_for, idle,
        waits, total_waiting, work, alloc, total_alloc, zones, zone, zone_ns, waiting_zones, waiting_zone,
        waiting_zone_ns, file;
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum { HAS_SAMPLES = HP_FACT_OWN, HAS_WAITS = HP_FACT_OWN << 1, HAS_ZONES = HP_FACT_OWN << 2 };

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name),
     "Its name, or its address in the library if it has none."},
    {"library", "Library", HOTPATH_UNIT_TEXT, HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(library),
     "The program or library that contains it; null: none."},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_SHOWN, AT(samples), "Samples that found it running.",
     .shown_by = HAS_SAMPLES},
    {"self_ns", "Self", HOTPATH_UNIT_NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(own),
     "CPU time of the function itself: samples times their period.", .shown_by = HAS_SAMPLES},
    {"percent_self", "% Self", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
     AT(own_percent), .shown_by = HAS_SAMPLES},
    {"user_ns", "User", HOTPATH_UNIT_NS, 0, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, 0, AT(kernel)},
    {"total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(total), "Including callees.",
     .shown_by = HAS_SAMPLES},
    {"percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
     AT(total_percent), .shown_by = HAS_SAMPLES},
    {"waiting_ns", "Waiting", HOTPATH_UNIT_NS, HP_COLUMN_SHOWN, AT(waiting),
     "Time that it waited itself or in the C library, without time in the run queue.", .shown_by = HAS_WAITS},
    {"waits_for", "For", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(waits_for),
     "The main cause of its waiting and the longest wait of that kind: \"disk: /data/x.db\"; null: it was never "
     "seen waiting.",
     .shown_by = HAS_WAITS},
    {"idle_ns", "Idle", HOTPATH_UNIT_NS, 0, AT(idle), "The part of waiting_ns that is idle time."},
    {"waits", "Waits", HOTPATH_UNIT_COUNT, 0, AT(waits), "How many waits were seen."},
    {"total_waiting_ns", "All Waiting", HOTPATH_UNIT_NS, 0, AT(total_waiting), "Including callees."},
    {"work_ns", "Work", HOTPATH_UNIT_NS, 0, AT(work), "self_ns and waiting_ns without idle_ns."},
    {"alloc_bytes", "Alloc", HOTPATH_UNIT_BYTES, HP_COLUMN_ESTIMATE | HP_COLUMN_MAYBE, AT(alloc),
     "Bytes that it allocated itself or through the C library, estimated from samples; null: no sample."},
    {"total_alloc_bytes", "All Alloc", HOTPATH_UNIT_BYTES, HP_COLUMN_ESTIMATE | HP_COLUMN_MAYBE, AT(total_alloc),
     "Including callees."},
    {"zones", "In", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(zones),
     "The innermost measured functions in which it ran, with their shares of total_ns: \"parse 75 %, load 25 %\"; "
     "null: none, or unknown.",
     .shown_by = HAS_ZONES},
    {"zone", "Zone", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(zone),
     "The measured function with the largest share; null: none."},
    {"zone_ns", "Zone Time", HOTPATH_UNIT_NS, 0, AT(zone_ns), "The part of total_ns spent in that zone."},
    {"waiting_zones", "Waits In", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
     AT(waiting_zones),
     "The innermost measured functions in which it waited, with their shares of total_waiting_ns."},
    {"waiting_zone", "Waiting Zone", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(waiting_zone),
     "The measured function with the largest share; null: none."},
    {"waiting_zone_ns", "Waiting Zone Time", HOTPATH_UNIT_NS, 0, AT(waiting_zone_ns),
     "The part of total_waiting_ns spent in that zone."},
    {"file", "File", HOTPATH_UNIT_TEXT, HP_COLUMN_MAYBE, AT(file), "Its source file; null: unknown."},
};

static const struct hp_column_spec total_table[] = {
    {.key = "cpu_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "kernel_ns", .unit = HOTPATH_UNIT_COUNT},
    {.key = "samples", .unit = HOTPATH_UNIT_COUNT},
    {.key = "whole",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Samples whose stack was unwound to the start of the thread."},
    {.key = "lost",
     .unit = HOTPATH_UNIT_COUNT,
     .about =
         "Samples dropped for lack of space, or because their process ended before its mappings could be read."},
    {.key = "period_ns", .unit = HOTPATH_UNIT_COUNT, .about = "Sampling period."},
    {.key = "by_timers",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "1: samples are taken by timers in the program, because perf is not allowed."},
    {.key = "by_program",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "1: samples are taken in the program, with their zones."},
    {.key = "refused",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Threads that timers could not sample, because they have alternate signal stacks of the program."},
    {.key = "waited_ns", .unit = HOTPATH_UNIT_COUNT, .about = "Of all threads together."},
    {.key = "idle_ns", .unit = HOTPATH_UNIT_COUNT, .about = "The part of waited_ns that is idle time."},
    {.key = "waits", .unit = HOTPATH_UNIT_COUNT, .about = "How many waits were seen."},
    {.key = "waits_whole",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Waits whose stack was unwound to the start of the thread."},
    {.key = "waits_recovered",
     .unit = HOTPATH_UNIT_COUNT,
     .about = "Waits with a caller found by searching the stack."},
};

struct view {
    struct hotpath_results *results;
    const struct hp_function_profile *profile;
    struct columns columns;
};

static double share(const struct view *view, uint64_t ns)
{
    return view->profile->cpu_ns > 0 ? 100 * (double)ns / (double)view->profile->cpu_ns : 0;
}

static uint64_t own_ns(const struct hp_found_function *function) { return function->user_ns + function->kernel_ns; }

static bool fill_waiting(const struct view *view, struct hp_row *row, const struct hp_found_function *function)
{
    const struct columns *columns = &view->columns;
    hp_section_set_number(row, columns->waiting, (double)function->waiting_ns);
    hp_section_set_number(row, columns->idle, (double)function->idle_ns);
    hp_section_set_count(row, columns->waits, function->waits);
    hp_section_set_number(row, columns->total_waiting, (double)function->total_waiting_ns);
    hp_section_set_number(row, columns->work, (double)hp_found_work_ns(function));
    if (function->waits_for.text == NULL)
        return true;
    const char *cause =
        hp_arena_copy(view->results->model->arena, function->waits_for.text, function->waits_for.length);
    if (cause != NULL)
        hp_section_set_text(row, columns->waits_for, cause);
    return cause != NULL;
}

static bool fill_zones(const struct view *view, struct hp_row *row, const struct hp_found_function *function)
{
    const struct columns *columns = &view->columns;
    struct hp_arena *arena = view->results->model->arena;
    const struct hp_found_zones *cpu = &function->zones[HP_ZONES_OF_CPU];
    const struct hp_found_zones *waiting = &function->zones[HP_ZONES_OF_WAITING];
    hp_section_set_number(row, columns->zone_ns, (double)hp_found_most(cpu));
    hp_section_set_number(row, columns->waiting_zone_ns, (double)hp_found_most(waiting));
    return hp_found_row_zones(row, arena, cpu, function->total_ns, columns->zones, columns->zone) &&
           hp_found_row_zones(row, arena, waiting, function->total_waiting_ns, columns->waiting_zones,
                              columns->waiting_zone);
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_found_function *function = about;
    const struct columns *columns = &view->columns;
    hp_found_row_name(row, function, columns->name, columns->library, columns->file);
    hp_section_set_count(row, columns->samples, function->samples);
    hp_section_set_number(row, columns->own, (double)own_ns(function));
    hp_section_set_number(row, columns->own_percent, share(view, own_ns(function)));
    hp_section_set_number(row, columns->user, (double)function->user_ns);
    hp_section_set_number(row, columns->kernel, (double)function->kernel_ns);
    hp_section_set_number(row, columns->total, (double)function->total_ns);
    hp_section_set_number(row, columns->total_percent, share(view, function->total_ns));
    hp_section_set_estimate(row, columns->alloc, function->heap.bytes);
    hp_section_set_estimate(row, columns->total_alloc, function->total_heap.bytes);
    return fill_zones(view, row, function) && fill_waiting(view, row, function);
}

/* "; 1197 samples, 99.8 % of them with their whole stack" */
static void put_whole(struct hp_text *line, uint64_t count, const char *one, const char *more, uint64_t whole)
{
    hp_text_format(line, "; %" PRIu64 "%s", count, count == 1 ? one : more);
    if (count == 0)
        return;
    hp_text_format(line, ", %.1f %% with complete stacks", 100 * (double)whole / (double)count);
}

/* ". Threads were blocked for 2.03 s, 1.20 s of it idle; 117 waits, 98.3 % with complete stacks, 12 recovered" */
static void put_waiting(struct hp_text *line, const struct hp_function_profile *profile)
{
    hp_text_string(line, profile->samples > 0 ? ". Threads were blocked for " : "Threads were blocked for ");
    hp_units_ns(line, (double)profile->waited_ns);
    if (profile->idle_ns > 0) {
        hp_text_string(line, ", ");
        hp_units_ns(line, (double)profile->idle_ns);
        hp_text_string(line, " of it idle");
    }
    put_whole(line, profile->waits, " wait", " waits", profile->waits_whole);
    if (profile->waits_recovered == 0)
        return;
    hp_text_format(line, ", %" PRIu64 " recovered", profile->waits_recovered);
}

/* A handful of samples says nothing about functions, and listing all their callers would be noise. */
static bool has_few_samples(const struct view *view)
{
    return (double)view->profile->samples < HP_VERDICT_LEAST_SAMPLES;
}

#define UNSAMPLED_SAID 0.05 /* a smaller share of CPU time without samples needs no explanation */

static bool has_much_unsampled(const struct hp_function_profile *profile)
{
    double unsampled_ns = 0;
    for (size_t at = 0; at < profile->count; at++)
        if (strcmp(profile->all[at].name, "<not sampled>") == 0)
            unsampled_ns += (double)(profile->all[at].user_ns + profile->all[at].kernel_ns);
    return profile->samples > 0 && unsampled_ns > UNSAMPLED_SAID * (double)profile->cpu_ns;
}

/* "Total: 1.20 s, 0.05 s of it in the kernel; 1197 samples, 99.8 % of them with their whole stack" */
static bool set_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[512];
    struct hp_text line;
    const struct hp_function_profile *profile = view->profile;
    hp_text_init(&line, bytes, sizeof bytes);
    if (profile->samples > 0) {
        hp_text_string(&line, "Total: ");
        hp_units_ns(&line, (double)profile->cpu_ns);
        if (profile->has_kernel && !has_few_samples(view) && !has_much_unsampled(profile)) {
            hp_text_string(&line, ", ");
            hp_units_ns(&line, (double)profile->kernel_ns);
            hp_text_string(&line, " of it in the kernel");
        }
        put_whole(&line, profile->samples, " sample", " samples", profile->whole);
        if (profile->source == HP_STACKS_BY_TIMERS)
            hp_text_string(&line, ", taken by timers in the program, because perf is not allowed");
        else if (profile->source == HP_STACKS_BY_PROGRAM)
            hp_text_string(&line, ", taken in the program, with their zones");
    }
    if (profile->waits > 0)
        put_waiting(&line, profile);
    section->summary = hp_arena_copy(view->results->model->arena, line.bytes, line.length);
    return section->summary != NULL;
}

static void add_totals(struct hotpath_section *section, const struct hp_function_profile *profile)
{
    hp_section_add_total(section, "cpu_ns", profile->cpu_ns);
    hp_section_add_total(section, "kernel_ns", profile->kernel_ns);
    hp_section_add_total(section, "samples", profile->samples);
    hp_section_add_total(section, "whole", profile->whole);
    hp_section_add_total(section, "lost", profile->lost);
    hp_section_add_total(section, "period_ns", profile->period_ns);
    hp_section_add_total(section, "by_timers", profile->source == HP_STACKS_BY_TIMERS);
    hp_section_add_total(section, "by_program", profile->source == HP_STACKS_BY_PROGRAM);
    hp_section_add_total(section, "refused", profile->refused);
    hp_section_add_total(section, "waited_ns", profile->waited_ns);
    hp_section_add_total(section, "idle_ns", profile->idle_ns);
    hp_section_add_total(section, "waits", profile->waits);
    hp_section_add_total(section, "waits_whole", profile->waits_whole);
    hp_section_add_total(section, "waits_recovered", profile->waits_recovered);
}

/* The same for wait samples. */
static bool has_few_looks(const struct view *view)
{
    return (double)view->profile->waited_ns < HP_VERDICT_LEAST_SAMPLES * 1e3 * (double)HP_WATCH_PERIOD_US;
}

static bool is_shown(const struct view *view, const struct hp_found_function *function)
{
    const struct hp_pattern_subject subject = {.names = {function->shown, function->name},
                                               .files = {function->file, function->library}};
    const struct hp_show_settings *show = &view->results->settings->show;
    const bool has_own = function->user_ns + function->kernel_ns >
                         0; /* time without a sample belongs to no function, and is never left out */
    const bool is_busy = function->total_ns > 0 && (has_own || !has_few_samples(view)) &&
                         !hp_share_is_small(function->total_ns, view->profile->cpu_ns, show);
    const bool is_waiting = function->total_waiting_ns > 0 && (function->waits > 0 || !has_few_looks(view)) &&
                            !hp_share_is_small(function->total_waiting_ns, view->profile->waited_ns, show);
    return (is_busy || is_waiting) && hp_results_show_subject(view->results, &subject);
}

static bool add_rows(struct view *view, struct hotpath_section *section)
{
    const struct hp_function_profile *profile = view->profile;
    const void **shown = hp_arena_take_array(view->results->model->arena, profile->count + 1, sizeof *shown);
    size_t count = 0;
    for (size_t at = 0; shown != NULL && at < profile->count; at++)
        if (is_shown(view, &profile->all[at]))
            shown[count++] = &profile->all[at];
    section->total_rows = count;
    if (count > 0 && has_few_samples(view) && has_few_looks(view))
        hp_section_note(section, "too few samples to rank functions: these were found running");
    return shown != NULL && hp_order_fill(view->results, section, view->results->settings->show.functions_limit,
                                          shown, count, fill_row, view);
}

static void note_unsampled(const struct view *view, struct hotpath_section *section)
{
    const struct hp_function_profile *profile = view->profile;
    if (!has_much_unsampled(profile))
        return;
    if (!profile->has_kernel) /* its time is counted, but without privileges perf takes no samples there */
        hp_section_note(section, "<not sampled> is mainly kernel time: to sample it, use root or set "
                                 "kernel.perf_event_paranoid to 1");
    else if (profile->source == HP_STACKS_BY_PERF && profile->lost == 0)
        hp_section_note(section, "<not sampled> is mainly the time of threads and processes that ended before "
                                 "their first sample");
}

static bool has_data(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL && (functions->samples > 0 || functions->waited_ns > 0 || functions->refused > 0);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    static const struct hp_function_profile none;
    struct view view = {.results = results, .profile = results->model->functions};
    if (view.profile == NULL)
        view.profile = &none;
    section->description = view.profile->waits > 0 ? "CPU time and waiting by function, from stacks."
                                                   : "CPU time by function, from stacks.";
    section->percent_of = "rows";
    section->if_empty = view.profile == &none
                            ? "no stacks were sampled: 'hotpath run' samples them if the kernel allows it"
                            : "no function was found running";
    const uint32_t facts = (view.profile->samples > 0 ? HAS_SAMPLES : 0u) |
                           (view.profile->waits > 0 ? HAS_WAITS : 0u) |
                           (view.profile->zones[HP_ZONES_OF_CPU].count > 0 ? HAS_ZONES : 0u);
    if (!hp_section_describe(results, section, facts, &view.columns) ||
        !hp_order_choose(results, section, view.columns.work, HP_MAX_COLUMNS))
        return false;
    add_totals(section, view.profile);
    note_unsampled(&view, section);
    return add_rows(&view, section) && (view.profile == &none || set_summary(&view, section));
}

const struct hp_section_type hp_section_functions = {
    .name = "functions",
    .in_brief = HP_BRIEF_UNMEASURED,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    HP_TOTALS(total_table),
    .about = "CPU time and waiting by function, from stacks. Works without measured functions.",
    .always = "percent_of|order|totals"};
