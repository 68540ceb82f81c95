/*
 * The sections `functions` and `alloc-functions`: CPU time and waiting per function, by stacks, whether or not
 * functions are measured; and which functions allocate, by sampled allocations with their stacks, how much of it
 * was live when the heap was at its largest, and how much was never freed. Present if stacks were sampled; the
 * library does not do that. SPDX-License-Identifier: MIT
 */
#include "function_profile.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "lock_causes.h"
#include "lock_stacks.h"
#include "order.h"
#include "proc_sampler.h"
#include "section.h"
#include "shares.h"
#include "sort.h"
#include "text.h"
#include "units.h"
#include "utf8.h"
#include "verdict.h"
#include "wait_profile.h"

/* Facts of this section. */
enum {
    HAS_SAMPLES = HP_FACT_OWN,
    HAS_WAITS = HP_FACT_OWN << 1,
    HAS_ZONES = HP_FACT_OWN << 2,
    HAS_WALL = HP_FACT_OWN << 3,
    HAS_CALLERS = HP_FACT_OWN << 4, /* stacks are more than one function */
    IS_SAMPLED = HP_FACT_OWN << 5   /* and not counted */
};

struct view {
    struct hotpath_results *results;
    const struct hp_function_profile *profile;
};

/* ------------------------------------------------------------------------------------------ what both have */

/* Smaller parts, and more zones than this, are left out. */
#define MOST_ZONES 3u
#define LEAST_PERCENT 0.5

/* "parse 75 %, load 25 %"; a single zone without its share. */
static const char *list_zones(struct hp_fields *to, const struct hp_found_zones *zones, uint64_t whole)
{
    char bytes[512];
    struct hp_text text;
    if (zones->count == 0)
        return NULL;
    hp_text_init(&text, bytes, sizeof bytes);
    for (size_t at = 0; at < zones->count && at < MOST_ZONES; at++) {
        const double percent = whole > 0 ? 100 * (double)zones->all[at].amount / (double)whole : 0;
        if (at > 0 && percent < LEAST_PERCENT)
            break;
        hp_text_format(&text, "%s%s", at > 0 ? ", " : "", zones->all[at].name);
        if (at == 0 && percent > 100 - LEAST_PERCENT)
            break;
        hp_text_format(&text, " %.0f %%", percent);
    }
    return hp_fields_copy(to, bytes, text.length);
}

static const char *first_zone(const struct hp_found_zones *zones)
{
    return zones->count > 0 ? zones->all[0].name : NULL;
}

static uint64_t most_in_zone(const struct hp_found_zones *zones)
{
    return zones->count > 0 ? zones->all[0].amount : 0;
}

static void identify(struct hp_fields *to, const struct hp_found_function *function)
{
    if (to->row != NULL)
        to->row->id = hp_identity_of_found(function->name, function->library, function->file);
}

static double share(uint64_t part, uint64_t whole) { return whole > 0 ? 100 * (double)part / (double)whole : 0; }

static bool matches_focus(const struct view *view, const struct hp_found_function *function)
{
    const struct hp_pattern_subject subject = {.names = {function->shown, function->name},
                                               .files = {function->file, function->library}};
    return hp_results_show_subject(view->results, &subject);
}

/* Those of the profile that are shown. NULL: no memory. */
static const void **choose(const struct view *view,
                           bool (*is_shown)(const struct view *, const struct hp_found_function *),
                           size_t *ret_count)
{
    const struct hp_function_profile *profile = view->profile;
    const void **shown = hp_arena_take_array(view->results->model->arena, profile->count + 1, sizeof *shown);
    size_t count = 0;
    for (size_t at = 0; shown != NULL && at < profile->count; at++)
        if (is_shown(view, &profile->all[at]) && matches_focus(view, &profile->all[at]))
            shown[count++] = &profile->all[at];
    *ret_count = count;
    return shown;
}

static struct view view_of(struct hotpath_results *results)
{
    static const struct hp_function_profile none;
    return (struct view){.results = results,
                         .profile = results->model->functions != NULL ? results->model->functions : &none};
}

/* The first columns of both sections. */
static void put_name(struct hp_fields *to, const struct hp_found_function *function)
{
    identify(to, function);
    HP_FIELD(to, function->shown, "name", "Function", TEXT, HP_COLUMN_FIRST,
             "Its name, or its address in the library if it has none.");
    HP_FIELD(to, hp_text_or_none(function->library), "library", "Library", TEXT,
             HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The program or library that contains it; null: none.");
}

/* ----------------------------------------------------------------------------------------------- functions */

static uint32_t cause_of(const struct hp_found_function *function)
{
    return hp_wait_cause_named(function->waits_for.text, function->waits_for.length);
}

/* What hooks of locks know of what it mostly waits for. NULL: nothing. */
static const struct hp_lock_block *block_of(const struct view *view, const struct hp_found_function *function)
{
    return hp_lock_awaited(view->results->model->locks, function->name, cause_of(function),
                           (double)function->waiting_ns);
}

/* "disk: /data/x.db", "lock cache held in rebuild"; by samples alone, "lock held in rebuild" */
static const char *waits_for(struct hp_fields *to, const struct hp_found_function *function,
                             const struct hp_lock_block *block)
{
    const struct hp_found_cause *cause = &function->waits_for;
    const bool is_held = cause_of(function) == HP_WAIT_LOCK && function->held_in != NULL;
    char bytes[256];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_utf8_put_safe(&text, cause->text, cause->length);
    if (block != NULL) {
        hp_text_char(&text, ' ');
        hp_lock_put_block(&text, block, " ");
    } else if (is_held) {
        hp_text_string(&text, " held in ");
        hp_utf8_put_safe(&text, function->held_in, strlen(function->held_in));
    } else {
        return hp_fields_copy(to, cause->text, cause->length);
    }
    return hp_fields_copy(to, bytes, text.length);
}

/* By samples alone, as far as these say. */
static const char *held_in(const struct hp_found_function *function, const struct hp_lock_block *block)
{
    return block != NULL && hp_lock_is_for(block->lock->kind, HP_WAIT_LOCK) ? block->holder : function->held_in;
}

static uint64_t own_ns(const struct hp_found_function *function) { return function->user_ns + function->kernel_ns; }

static uint64_t cpu_ns(const struct view *view) { return view->profile->cpu_ns; }

static uint64_t wall_ns(const struct view *view) { return view->profile->wall_ns; }

static void fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_found_function *function = entry;
    const struct view *functions = view;
    const struct hp_lock_block *block = to->row != NULL ? block_of(functions, function) : NULL;
    put_name(to, function);
    HP_FIELD(
        to, function->samples, "samples", "Samples", COUNT, HP_COLUMN_SHOWN,
        "Samples that found it running; if instructions are counted, how often its blocks of code were executed.",
        .shown_by = HAS_SAMPLES | IS_SAMPLED);
    HP_FIELD(to, own_ns(function), "self_ns", "Self", NS, HP_COLUMN_KEEP | HP_COLUMN_SHOWN,
             "CPU time of the function itself: samples times their period.", .shown_by = HAS_SAMPLES);
    HP_FIELD(to, share(own_ns(function), cpu_ns(view)), "percent_self", "% Self", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART, .shown_by = HAS_SAMPLES);
    HP_FIELD(to, function->user_ns, "user_ns", "User", NS, 0);
    HP_FIELD(to, function->kernel_ns, "kernel_ns", "Kernel", NS, 0);
    HP_FIELD(to, function->total_ns, "total_ns", "Total", NS, HP_COLUMN_SHOWN, "Including callees.",
             .shown_by = HAS_SAMPLES | HAS_CALLERS);
    HP_FIELD(to, share(function->total_ns, cpu_ns(view)), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART, .shown_by = HAS_SAMPLES | HAS_CALLERS);
    HP_FIELD(to, function->wall_ns, "self_wall_ns", "Self Wall", NS, 0,
             "self_ns, each sample divided by the number of threads of the run that ran at that time.");
    HP_FIELD(to, function->total_wall_ns, "total_wall_ns", "Total Wall", NS, 0,
             "Including callees: the time in which the function kept the run busy.");
    HP_FIELD(to, share(function->total_wall_ns, wall_ns(view)), "percent_wall", "% Wall", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART,
             "total_wall_ns of the time in which any thread of the run ran.", .shown_by = HAS_WALL);
    HP_FIELD(to, hp_text_or_none(function->program), "program", "Program", TEXT, HP_COLUMN_MAYBE,
             "The program in which it used most of its CPU time or, without any, waited most; null: unknown.");
    HP_FIELD(to, function->program_ns, "program_ns", "Program Time", NS, 0,
             "The part of total_ns spent in that program.");
    HP_FIELD(to, function->waiting_ns, "waiting_ns", "Waiting", NS, HP_COLUMN_SHOWN,
             "Time that it waited itself or in the C library, without time in the run queue.",
             .shown_by = HAS_WAITS);
    HP_FIELD(
        to, waits_for(to, function, block), "waits_for", "For", TEXT,
        HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
        "The main cause of its waiting and the longest wait of that kind: \"disk: /data/x.db\", \"lock held in "
        "update\"; null: it was never seen waiting.",
        .shown_by = HAS_WAITS);
    HP_FIELD(
        to, held_in(function, block), "held_in", "Held In", TEXT, HP_COLUMN_MAYBE,
        "The innermost function in which the locks it waited for were held for half of the time; with --locks, the "
        "function that held the lock it waited for most; null: it waited for none, or the holders were seen too "
        "rarely.");
    HP_FIELD(
        to,
        hp_held_stack(to, functions->profile, (uint32_t)(function - functions->profile->all),
                      block != NULL ? block->holder : NULL),
        "held_stack", "Held By", TEXT, HP_COLUMN_MAYBE,
        "The stack of a thread that held such a lock, of all the one that did so for longest: the functions, with "
        "semicolons between them.");
    HP_FIELD(
        to, function->held_ns, "held_ns", "Held", NS, 0,
        "The part of its waiting in which a thread was read from a lock as its holder, and its stack is known.");
    HP_FIELD(to, function->held_samples, "held_samples", "Holders", COUNT, 0, "Samples of holders of these locks.");
    HP_FIELD(to, function->idle_ns, "idle_ns", "Idle", NS, 0, "The part of waiting_ns that is idle time.");
    HP_FIELD(to, function->waits, "waits", "Waits", COUNT, 0, "How many waits were seen.");
    HP_FIELD(to, function->total_waiting_ns, "total_waiting_ns", "All Waiting", NS, 0, "Including callees.");
    HP_FIELD(to, hp_found_work_ns(function), "work_ns", "Work", NS, 0, "self_ns and waiting_ns without idle_ns.");
    HP_FIELD(to, function->heap.bytes, "alloc_bytes", "Alloc", BYTES, HP_COLUMN_ESTIMATE,
             "Bytes that it allocated itself or through the C library, estimated from samples; null: no sample.");
    HP_FIELD(to, function->total_heap.bytes, "total_alloc_bytes", "All Alloc", BYTES, HP_COLUMN_ESTIMATE,
             "Including callees.");
    HP_FIELD(to, list_zones(to, &function->zones[HP_ZONES_OF_CPU], function->total_ns), "zones", "In", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The innermost measured functions in which it ran, with their shares of total_ns: \"parse 75 %, load "
             "25 %\"; null: none, or unknown.",
             .shown_by = HAS_ZONES);
    HP_FIELD(to, first_zone(&function->zones[HP_ZONES_OF_CPU]), "zone", "Zone", TEXT, HP_COLUMN_MAYBE,
             "The measured function with the largest share; null: none.");
    HP_FIELD(to, most_in_zone(&function->zones[HP_ZONES_OF_CPU]), "zone_ns", "Zone Time", NS, 0,
             "The part of total_ns spent in that zone.");
    HP_FIELD(to, list_zones(to, &function->zones[HP_ZONES_OF_WAITING], function->total_waiting_ns), "waiting_zones",
             "Waits In", TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_MAYBE,
             "The innermost measured functions in which it waited, with their shares of total_waiting_ns.");
    HP_FIELD(to, first_zone(&function->zones[HP_ZONES_OF_WAITING]), "waiting_zone", "Waiting Zone", TEXT,
             HP_COLUMN_MAYBE, "The measured function with the largest share; null: none.");
    HP_FIELD(to, most_in_zone(&function->zones[HP_ZONES_OF_WAITING]), "waiting_zone_ns", "Waiting Zone Time", NS, 0,
             "The part of total_waiting_ns spent in that zone.");
    HP_FIELD(to, hp_text_or_none(function->file), "file", "File", TEXT, HP_COLUMN_MAYBE,
             "Its source file; null: unknown.");
}

static void totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_function_profile *profile = about;
    (void)view;
    HP_FIELD(to, profile->cpu_ns, "cpu_ns", NULL, COUNT, 0);
    HP_FIELD(to, profile->kernel_ns, "kernel_ns", NULL, COUNT, 0);
    HP_FIELD(
        to, profile->wall_ns, "wall_ns", NULL, COUNT, 0,
        "The time in which any thread of the run ran: CPU time, each sample divided by the threads that ran then.");
    HP_FIELD(to, profile->counts.samples, "samples", NULL, COUNT, 0);
    HP_FIELD(to, profile->counts.whole, "whole", NULL, COUNT, 0,
             "Samples whose stack was unwound to the start of the thread.");
    HP_FIELD(
        to, profile->counts.lost, "lost", NULL, COUNT, 0,
        "Samples dropped for lack of space, or because their process ended before its mappings could be read.");
    HP_FIELD(to, profile->counts.period_ns, "period_ns", NULL, COUNT, 0, "Sampling period.");
    HP_FIELD(to, profile->counts.source == HP_STACKS_BY_TIMERS, "by_timers", NULL, COUNT, 0,
             "1: samples are taken by timers in the program, because perf is not allowed.");
    HP_FIELD(to, profile->counts.source == HP_STACKS_BY_PROGRAM, "by_program", NULL, COUNT, 0,
             "1: samples are taken in the program, with their zones.");
    HP_FIELD(to, profile->counts.refused, "refused", NULL, COUNT, 0,
             "Threads that timers could not sample, because they have alternate signal stacks of the program.");
    HP_FIELD(to, profile->waited_ns, "waited_ns", NULL, COUNT, 0, "Of all threads together.");
    HP_FIELD(to, profile->idle_ns, "idle_ns", NULL, COUNT, 0, "The part of waited_ns that is idle time.");
    HP_FIELD(to, profile->counts.waits, "waits", NULL, COUNT, 0, "How many waits were seen.");
    HP_FIELD(to, profile->counts.waits_whole, "waits_whole", NULL, COUNT, 0,
             "Waits whose stack was unwound to the start of the thread.");
    HP_FIELD(to, profile->counts.waits_recovered, "waits_recovered", NULL, COUNT, 0,
             "Waits with a caller found by searching the stack.");
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
    hp_text_format(line, "%s%s",
                   profile->counts.samples > 0 ? ". Threads were blocked for " : "Threads were blocked for ",
                   hp_ns_text((double)profile->waited_ns).bytes);
    if (profile->idle_ns > 0) {
        hp_text_format(line, ", %s of it idle", hp_ns_text((double)profile->idle_ns).bytes);
    }
    put_whole(line, profile->counts.waits, " wait", " waits", profile->counts.waits_whole);
    if (profile->counts.waits_recovered == 0)
        return;
    hp_text_format(line, ", %" PRIu64 " recovered", profile->counts.waits_recovered);
}

/* A handful of samples says nothing about functions, and listing all their callers would be noise. */
static bool has_few_samples(const struct view *view)
{
    return (double)view->profile->counts.samples < HP_VERDICT_LEAST_SAMPLES;
}

#define UNSAMPLED_SAID 0.05 /* a smaller share of CPU time without samples needs no explanation */

static bool has_much_unsampled(const struct hp_function_profile *profile)
{
    double unsampled_ns = 0;
    for (size_t at = 0; at < profile->count; at++)
        if (hp_text_begins(profile->all[at].name, HP_NOT_SAMPLED))
            unsampled_ns += (double)(profile->all[at].user_ns + profile->all[at].kernel_ns);
    return profile->counts.samples > 0 && unsampled_ns > UNSAMPLED_SAID * (double)profile->cpu_ns;
}

static bool counts_instructions(const struct view *view)
{
    return hp_run_counts_instructions(&view->results->model->run);
}

/* Samples always have them; counted instructions where the plugin of QEMU follows calls. */
static bool has_callers(const struct view *view)
{
    bool has_any = !counts_instructions(view);
    for (size_t at = 0; at < view->profile->count && !has_any; at++)
        has_any = view->profile->all[at].total_ns > own_ns(&view->profile->all[at]);
    return has_any;
}

/* "Total: 1.20 s, 0.05 s of it in the kernel; 1197 samples, 99.8 % of them with their whole stack" */
static bool set_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[512];
    struct hp_text line;
    const struct hp_function_profile *profile = view->profile;
    hp_text_init(&line, bytes, sizeof bytes);
    if (counts_instructions(view)) {
        hp_text_format(&line, "Total: %" PRIu64 " instructions, without those of hotpath", profile->cpu_ns);
        if (profile->counts.lost > 0)
            hp_text_format(&line, ", and without %" PRIu64 " blocks of code: no space left", profile->counts.lost);
    } else if (profile->counts.samples > 0) {
        hp_text_format(&line, "Total: %s", hp_ns_text((double)profile->cpu_ns).bytes);
        if (profile->counts.has_kernel && !has_few_samples(view) && !has_much_unsampled(profile)) {
            hp_text_format(&line, ", %s of it in the kernel", hp_ns_text((double)profile->kernel_ns).bytes);
        }
        put_whole(&line, profile->counts.samples, " sample", " samples", profile->counts.whole);
        if (profile->counts.source == HP_STACKS_BY_TIMERS)
            hp_text_string(&line, ", taken by timers in the program, because perf is not allowed");
        else if (profile->counts.source == HP_STACKS_BY_PROGRAM)
            hp_text_string(&line, ", taken in the program, with their zones");
    }
    if (profile->counts.waits > 0)
        put_waiting(&line, profile);
    section->summary = hp_results_keep(view->results, &line);
    return section->summary != NULL;
}

/* The same for wait samples. */
static bool has_few_looks(const struct view *view)
{
    return (double)view->profile->waited_ns < HP_VERDICT_LEAST_SAMPLES * 1e3 * (double)HP_WATCH_PERIOD_US;
}

static bool is_shown(const struct view *view, const struct hp_found_function *function)
{
    const struct hp_show_settings *show = &view->results->settings->show;
    /* Time without a sample belongs to no function, and is never left out. */
    const bool has_own = function->user_ns + function->kernel_ns > 0;
    const bool is_busy = function->total_ns > 0 && (has_own || !has_few_samples(view)) &&
                         !hp_share_is_small(function->total_ns, view->profile->cpu_ns, show);
    const bool is_waiting = function->total_waiting_ns > 0 && (function->waits > 0 || !has_few_looks(view)) &&
                            !hp_share_is_small(function->total_waiting_ns, view->profile->waited_ns, show);
    return is_busy || is_waiting;
}

static void note_unsampled(const struct view *view, struct hotpath_section *section)
{
    const struct hp_function_profile *profile = view->profile;
    if (!has_much_unsampled(profile))
        return;
    if (!profile->counts.has_kernel) /* its time is counted, but without privileges perf takes no samples there */
        hp_section_note(section, "<not sampled> is mainly kernel time: to sample it, use root or set "
                                 "kernel.perf_event_paranoid to 1");
    else if (profile->counts.source == HP_STACKS_BY_PERF && profile->counts.lost == 0)
        hp_section_note(section, "<not sampled> is mainly the time of threads and processes that ended before "
                                 "their first sample");
}

#define NAMELESS_SAID 0.05 /* a smaller share of CPU time without names needs no advice */

static bool is_much(uint64_t ns, const struct hp_function_profile *profile)
{
    return ns > 0 && (double)ns >= NAMELESS_SAID * (double)profile->cpu_ns;
}

static bool note_text(struct hotpath_results *results, struct hotpath_section *section, const struct hp_text *line)
{
    const char *kept = hp_results_keep(results, line);
    if (kept != NULL)
        hp_section_note(section, kept);
    return kept != NULL;
}

/* What gives names to code that has none. */
static bool note_nameless(const struct view *view, struct hotpath_section *section)
{
    const struct hp_nameless *nameless = &view->profile->nameless;
    char bytes[512];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    if (is_much(nameless->generated_ns, view->profile) && nameless->map_option != NULL) {
        hp_text_format(&line, "[code in no file] is generated by %s, which names it with %s", nameless->generator,
                       nameless->map_option);
        if (!note_text(view->results, section, &line))
            return false;
    }
    hp_text_init(&line, bytes, sizeof bytes);
    if (!is_much(nameless->library_ns, view->profile))
        return true;
    hp_text_format(&line, "%s has functions without names (%.0f %% of the CPU time): ", nameless->library,
                   share(nameless->library_ns, view->profile->cpu_ns));
    if (nameless->debug_package != NULL)
        hp_text_format(&line, "install %s, or use --debuginfod", nameless->debug_package);
    else
        hp_text_string(&line, "try --debuginfod, or build it with symbols");
    return note_text(view->results, section, &line);
}

static void note_kernel(const struct view *view, struct hotpath_section *section)
{
    if (view->profile->counts.hides_kernel)
        hp_section_note(section,
                        "functions of the kernel have no names: kernel.kptr_restrict hides their addresses");
}

static bool has_data(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL &&
           (functions->counts.samples > 0 || functions->waited_ns > 0 || functions->counts.refused > 0);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = view_of(results);
    size_t count;
    const void **shown = choose(&view, is_shown, &count);
    section->description = counts_instructions(&view)       ? "Instructions by function: all of them, counted."
                           : view.profile->counts.waits > 0 ? "CPU time and waiting by function, from stacks."
                                                            : "CPU time by function, from stacks.";
    section->percent_of = "rows";
    section->if_empty = results->model->functions == NULL
                            ? "no stacks were sampled: 'hotpath run' samples them if the kernel allows it"
                            : "no function was found running";
    const uint32_t facts = (view.profile->counts.samples > 0 ? HAS_SAMPLES : 0u) |
                           (view.profile->counts.waits > 0 ? HAS_WAITS : 0u) |
                           (view.profile->zones[HP_ZONES_OF_CPU].count > 0 ? HAS_ZONES : 0u) |
                           (hp_found_has_wall(view.profile) ? HAS_WALL : 0u) |
                           (has_callers(&view) ? HAS_CALLERS : 0u) | (counts_instructions(&view) ? 0u : IS_SAMPLED);
    if (shown == NULL || !hp_section_begin(results, section, &view, facts, "work_ns", NULL))
        return false;
    hp_section_add_totals(results, section, view.profile);
    note_unsampled(&view, section);
    note_kernel(&view, section);
    if (!note_nameless(&view, section))
        return false;
    if (count > 0 && has_few_samples(&view) && has_few_looks(&view))
        hp_section_note(section, "too few samples to rank functions: these were found running");
    return hp_section_fill_rows(results, section, shown, count, &view) &&
           (results->model->functions == NULL || set_summary(&view, section));
}

const struct hp_section_type hp_section_functions = {
    .is_of_ticks = true,
    .name = "functions",
    .is_of_stacks = true,
    .in_brief = HP_BRIEF_UNMEASURED,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .totals = totals,
    .about = "CPU time and waiting by function, from stacks. Works without measured functions.",
    .always = "percent_of|order|totals"};

/* ----------------------------------------------------------------------------------------- alloc-functions */

static const struct hp_found_heap *heap_of(const struct view *view) { return &view->profile->heap; }

static void alloc_fields(struct hp_fields *to, void *view, const void *entry)
{
    const struct hp_found_function *function = entry;
    put_name(to, function);
    HP_FIELD(to, function->alloc_samples, "samples", "Samples", COUNT, 0,
             "Samples of its own allocations, on which the numbers are based.");
    HP_FIELD(
        to, function->heap.bytes, "self_bytes", "Self", BYTES,
        HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_ESTIMATE,
        "Bytes that it allocated itself, or through the C library; null, here and in other columns: no sample.");
    HP_FIELD_IF(to, function->heap.bytes > 0, share(function->heap.bytes, heap_of(view)->bytes), "percent_self",
                "% Self", PERCENT, HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART);
    HP_FIELD(to, function->heap.blocks, "blocks", "Blocks", COUNT, HP_COLUMN_SHOWN | HP_COLUMN_ESTIMATE,
             "Number of these allocations.");
    HP_FIELD(to, function->total_heap.bytes, "total_bytes", "Total", BYTES, HP_COLUMN_SHOWN | HP_COLUMN_ESTIMATE,
             "Including callees.");
    HP_FIELD(to, share(function->total_heap.bytes, heap_of(view)->bytes), "percent_total", "% Total", PERCENT,
             HP_COLUMN_LATE | HP_COLUMN_SHOWN | HP_COLUMN_PART);
    HP_FIELD(to, function->heap.peak_bytes, "peak_bytes", "At Peak", BYTES, HP_COLUMN_SHOWN | HP_COLUMN_ESTIMATE,
             "The part of self_bytes that was live when the heap of its process was largest.",
             .shown_by = HP_FACT_WHOLE);
    HP_FIELD(to, function->total_heap.peak_bytes, "total_peak_bytes", "All At Peak", BYTES, HP_COLUMN_ESTIMATE,
             "Including callees.");
    HP_FIELD(to, function->heap.left_bytes, "left_bytes", "Never Freed", BYTES,
             HP_COLUMN_SHOWN | HP_COLUMN_ESTIMATE, "The part of self_bytes that was live when its process ended.",
             .shown_by = HP_FACT_WHOLE);
    HP_FIELD(to, function->total_heap.left_bytes, "total_left_bytes", "All Never Freed", BYTES, HP_COLUMN_ESTIMATE,
             "Including callees.");
    HP_FIELD(to, function->total_heap.blocks, "total_blocks", "All Blocks", COUNT, HP_COLUMN_ESTIMATE,
             "Including callees.");
    HP_FIELD(to, function->heap.peak_blocks, "peak_blocks", "Blocks At Peak", COUNT, HP_COLUMN_ESTIMATE);
    HP_FIELD(to, function->heap.left_blocks, "left_blocks", "Blocks Never Freed", COUNT, HP_COLUMN_ESTIMATE);
    HP_FIELD(to, list_zones(to, &function->zones[HP_ZONES_OF_HEAP], function->total_heap.bytes), "zones", "In",
             TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The innermost measured functions in which it allocated, with their shares of total_bytes; null: "
             "none, or unknown.",
             .shown_by = HAS_ZONES);
    HP_FIELD(to, first_zone(&function->zones[HP_ZONES_OF_HEAP]), "zone", "Zone", TEXT, HP_COLUMN_MAYBE,
             "The measured function with the largest share; null: none.");
    HP_FIELD(to, most_in_zone(&function->zones[HP_ZONES_OF_HEAP]), "zone_bytes", "Zone Bytes", BYTES,
             HP_COLUMN_ESTIMATE, "The part of total_bytes allocated in that zone.");
    HP_FIELD(to, hp_text_or_none(function->file), "file", "File", TEXT, HP_COLUMN_MAYBE,
             "Its source file; null: unknown.");
}

static void alloc_totals(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_function_profile *profile = about;
    (void)view;
    HP_FIELD(to, profile->heap.bytes, "bytes", NULL, COUNT, HP_COLUMN_ESTIMATE,
             "Allocated, estimated from samples; the other sections have exact counts.");
    HP_FIELD(to, profile->heap.blocks, "blocks", NULL, COUNT, HP_COLUMN_ESTIMATE);
    HP_FIELD(to, profile->heap.peak_bytes, "peak_bytes", NULL, COUNT, HP_COLUMN_ESTIMATE,
             "Live when the heap of each process was largest; null: no sample.");
    HP_FIELD(to, profile->heap.left_bytes, "left_bytes", NULL, COUNT, HP_COLUMN_ESTIMATE,
             "Never freed; null: no sample.");
    HP_FIELD(to, profile->counts.allocs, "samples", NULL, COUNT, 0);
    HP_FIELD(to, profile->counts.allocs_whole, "whole", NULL, COUNT, 0,
             "Samples whose stack was unwound to the start of the thread.");
    HP_FIELD(to, profile->counts.allocs_lost, "lost", NULL, COUNT, 0, "Samples dropped for lack of space.");
    HP_FIELD(to, profile->counts.alloc_mean, "mean_bytes", NULL, COUNT, 0,
             "Average between two samples; larger in programs that allocate quickly.");
}

/* No sample does not mean that there was nothing: then nothing is said. */
static void put_bytes(struct hp_text *line, uint64_t bytes, const char *what)
{
    if (bytes == 0)
        return;
    hp_text_string(line, ", ");
    hp_units_bytes(line, bytes);
    hp_text_string(line, what);
}

/* "Estimated: 1.2 GB in about 31 k allocations, 12.0 MB at the peak, 1.1 MB never freed; 24 samples" */
static bool set_alloc_summary(const struct view *view, struct hotpath_section *section)
{
    char bytes[512];
    struct hp_text line;
    const struct hp_function_profile *profile = view->profile;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "Estimated: %s in %s allocations", hp_bytes_text(profile->heap.bytes).bytes,
                   hp_about_text(profile->heap.blocks).bytes);
    put_bytes(&line, profile->heap.peak_bytes, " at the peak");
    put_bytes(&line, profile->heap.left_bytes, " never freed");
    hp_text_format(&line, "; %" PRIu64 "%s", profile->counts.allocs,
                   profile->counts.allocs == 1 ? " sample" : " samples");
    if (profile->counts.allocs_lost > 0) {
        hp_text_format(&line, ", %" PRIu64 " lost", profile->counts.allocs_lost);
    }
    section->summary = hp_results_keep(view->results, &line);
    return section->summary != NULL;
}

static bool allocates(const struct view *view, const struct hp_found_function *function)
{
    return function->total_heap.bytes > 0 &&
           !hp_share_is_small(function->total_heap.bytes, view->profile->heap.bytes,
                              &view->results->settings->show);
}

static int by_own_bytes(const void *a, const void *b)
{
    const struct hp_found_function *x = a, *y = b;
    if (x->heap.bytes != y->heap.bytes)
        return x->heap.bytes < y->heap.bytes ? 1 : -1;
    if (x->total_heap.bytes != y->total_heap.bytes)
        return x->total_heap.bytes < y->total_heap.bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static bool has_allocs(const struct hotpath_results *results)
{
    const struct hp_function_profile *functions = results->model->functions;
    return functions != NULL && functions->counts.allocs > 0;
}

static bool fill_allocs(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = view_of(results);
    size_t count;
    const void **shown = choose(&view, allocates, &count);
    section->description = "Allocated bytes by function, from sampled allocations with their stacks.";
    section->percent_of = "rows";
    section->if_empty = view.profile->counts.allocs == 0
                            ? "no allocation samples: 'hotpath run' takes them where it can"
                            : "no allocating function was sampled";
    const uint32_t facts = view.profile->zones[HP_ZONES_OF_HEAP].count > 0 ? HAS_ZONES : 0u;
    if (shown == NULL || !hp_section_begin(results, section, &view, facts, "self_bytes", NULL))
        return false;
    hp_sort(shown, count, by_own_bytes);
    hp_section_add_totals(results, section, view.profile);
    return hp_section_fill_rows(results, section, shown, count, &view) &&
           (view.profile->counts.allocs == 0 || set_alloc_summary(&view, section));
}

const struct hp_section_type hp_section_alloc_functions = {
    .name = "alloc-functions",
    .is_of_stacks = true,
    .in_brief = HP_BRIEF_UNMEASURED,
    .is_left_out_empty = true,
    .has_data = has_allocs,
    .fill = fill_allocs,
    .fields = alloc_fields,
    .totals = alloc_totals,
    .about = "Allocated bytes by function, from sampled allocations with their stacks. Works without measured "
             "functions.",
    .always = "percent_of|order|totals"};
