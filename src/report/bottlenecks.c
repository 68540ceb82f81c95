/*
 * The section `bottlenecks`: the functions with the most own time, what they do in it, and a verdict.
 *
 * One row per site, over all threads: waits are only known per site. The first line names the first row. The rules
 * are in verdict.c. SPDX-License-Identifier: MIT
 */
#include "bottleneck.h"

#include <inttypes.h>
#include <string.h>

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "task_profile.h"
#include "units.h"

/* Default number of rows, unless HOTPATH_FUNCTIONS_LIMIT is changed from its default. */
#define ROWS 5u

/* Facts of this section. */
enum {
    HAS_CPU = HP_FACT_OWN,
    HAS_WAITS = HP_FACT_OWN << 1,
    KNOWS_WAITING = HP_FACT_OWN << 2,
};

/* If every function is measured, the ones with the most time in total only call others: own time is the verdict. */
static bool has_all_functions(const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->site_count; at++)
        if (profile->sites[at]->is_by_compiler)
            return true;
    return false;
}

/* Whether more than time was measured. */
static bool has_data(const struct hotpath_results *results)
{
    const struct hp_run *run = &results->model->run;
    return hp_run_has_cpu(run) || hp_run_has_allocs(run) || hp_run_has_waits(run) ||
           has_all_functions(results->model->profile) || hp_run_counts_instructions(run);
}

static uint32_t facts_of(const struct hp_bottlenecks *all)
{
    const struct hp_tasks *tasks = hp_model_tasks(all->results->model);
    const bool has_causes = all->waits != NULL || (tasks != NULL && tasks->count > 0);
    return (all->cpu != NULL ? HAS_CPU : 0u) | (has_causes ? HAS_WAITS : 0u) |
           (all->cpu != NULL || all->waits != NULL ? KNOWS_WAITING : 0u);
}

/* The main function only calls others: it has nothing to judge, unlike a function that was too short. */
static bool has_verdict(const struct hp_bottlenecks *all, const struct hp_bottleneck *entry)
{
    if (hp_run_counts_instructions(&all->results->model->run))
        return false; /* whether a function waits is not in them */
    return entry->judgement.verdict != HP_VERDICT_TOO_SHORT || !entry->site->is_main ||
           entry->work_ns > HP_VERDICT_OWN_PART * all->whole_ns;
}

/* -------------------------------------------------------------------------------------------------- reasons */

/* Numbers of samples below this are printed, so that shares are not taken for exact. */
#define FEW 100u

/* "busy for 3.10 s of its 3.20 s" */
static void put_of_own(struct hp_text *line, const char *what, double ns, const struct hp_bottleneck *entry)
{
    hp_text_format(line, "%s%s of its %s", what, hp_ns_text(ns).bytes, hp_ns_text(entry->wall_ns).bytes);
}

/* ", 97 % of that in user mode": the larger mode. */
static void put_mode(struct hp_text *line, const struct hp_bottleneck *entry)
{
    if (entry->cpu == NULL || hp_cpu_ns(entry->cpu) == 0)
        return;
    const double user = hp_part_of((double)entry->cpu->user_ns, (double)hp_cpu_ns(entry->cpu));
    hp_text_string(line, ", ");
    hp_bottleneck_put_share(line, user >= 0.5 ? user : 1 - user);
    hp_text_string(line, user >= 0.5 ? " of that in user mode" : " of that in kernel mode");
}

/* If there are few, prints the number of samples. */
static void put_few(struct hp_text *line, uint64_t count, const char *one, const char *more)
{
    if (count >= FEW || count == 0)
        return;
    hp_text_format(line, " (%" PRIu64 "%s)", count, count == 1 ? one : more);
}

/* ": 2.03 s for sleep" */
static void put_cause(struct hp_text *line, const struct hp_bottleneck *entry)
{
    if (!entry->evidence.has_waits) {
        hp_text_string(line, "; cause unknown: use 'hotpath run'");
        return;
    }
    if (entry->cause == NULL) {
        hp_text_string(line, "; cause unknown");
        return;
    }
    hp_text_format(line, "%s%s%s%s", entry->is_named ? ", " : "; the cause is known for only ",
                   hp_ns_text(entry->cause_ns).bytes,
                   entry->is_named ? " of that for " : " of that: ", entry->cause);
    put_few(line, entry->probes, " sample", " samples");
}

static void put_allocs(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    const bool is_of_busy = judgement->knows_waiting && hp_bottleneck_is_long_enough(entry);
    hp_text_format(line, "%" PRIu64 " allocations, %s, taking ", entry->allocs.own_count,
                   hp_bytes_text(entry->allocs.own_bytes).bytes);
    if (judgement->alloc_part < 0.95)
        hp_bottleneck_put_share(line, judgement->alloc_part);
    else
        hp_text_string(line, "nearly all");
    hp_text_format(line, "%s%s%s", is_of_busy ? " of the " : " of its ",
                   hp_ns_text(is_of_busy ? judgement->busy_ns : entry->wall_ns).bytes,
                   is_of_busy ? " that it is busy" : "");
}

static void put_found(struct hp_text *line, const struct hp_judgement *judgement)
{
    hp_text_format(line, " are extrapolated from the timed calls; samples found it busy for %s",
                   hp_ns_text(judgement->busy_ns).bytes);
    if (!judgement->knows_waiting)
        return;
    hp_text_format(line, ", waiting for %s", hp_ns_text(judgement->waiting_ns).bytes);
}

static void put_reason(struct hp_text *line, const struct hp_bottleneck *entry)
{
    const struct hp_judgement *judgement = &entry->judgement;
    switch (judgement->verdict) {
    case HP_VERDICT_CPU_BOUND:
        put_of_own(line, entry->evidence.has_cpu ? "busy for " : "not seen waiting for ", judgement->busy_ns,
                   entry);
        put_mode(line, entry);
        if (entry->cpu != NULL)
            put_few(line, entry->cpu->samples, " sample", " samples");
        break;
    case HP_VERDICT_WAITING:
        put_of_own(line, "waiting for ", judgement->waiting_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_IDLE:
        put_of_own(line, "idle for ", judgement->idle_ns, entry);
        put_cause(line, entry);
        break;
    case HP_VERDICT_ALLOCATION_HEAVY:
        put_allocs(line, entry);
        break;
    case HP_VERDICT_STARVED:
        put_of_own(line, "ready to run, but without a CPU, for ", judgement->queue_ns, entry);
        hp_text_format(line, "; busy for %s", hp_ns_text(judgement->busy_ns).bytes);
        break;
    case HP_VERDICT_MIXED:
        put_of_own(line, "busy for ", judgement->busy_ns, entry);
        hp_text_format(line, ", waiting for %s", hp_ns_text(judgement->waiting_ns).bytes);
        put_cause(line, entry);
        break;
    case HP_VERDICT_TOO_SHORT:
        hp_text_string(line, "its ");
        hp_text_format(line, "%s are too short for a verdict at %.0f samples per second",
                       hp_ns_text(entry->wall_ns).bytes,
                       hp_part_of(entry->evidence.samples_due, entry->wall_ns / 1e9));
        break;
    case HP_VERDICT_UNKNOWN:
    case HP_VERDICTS:
        hp_text_string(line, "its ");
        hp_units_ns(line, entry->wall_ns);
        if (hp_bottleneck_is_guessed(entry))
            put_found(line, judgement);
        else
            hp_text_string(line, " may be CPU time or waiting: use HOTPATH_CPU=1 or 'hotpath run' to find out");
        break;
    }
}

static const char *reason_of(struct hp_fields *to, const struct hp_bottleneck *entry)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    put_reason(&line, entry);
    return hp_fields_copy(to, bytes, line.length);
}

/* ----------------------------------------------------------------------------------------------------- rows */

static void fields(struct hp_fields *to, void *view, const void *about)
{
    const struct hp_bottlenecks *all = view;
    const struct hp_bottleneck *entry = about;
    if (to->row != NULL) {
        to->row->id = hp_identity_of_site(entry->site);
        to->row->is_open = entry->site->sums.open > 0;
        to->row->is_self_sampled = hp_bottleneck_is_scaled(entry->site);
    }
    HP_FIELD(to, entry->site->name, "name", "Function", TEXT, HP_COLUMN_FIRST);
    HP_FIELD(to, has_verdict(all, entry) ? hp_verdict_name(entry->judgement.verdict) : NULL, "verdict", "Verdict",
             TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "too-short: too few samples to tell; unknown: neither CPU time nor waiting was measured; null: the "
             "main function has next to no time of its own, or instructions are counted.",
             .words = "cpu-bound|waiting|allocation-heavy|starved|idle|mixed|too-short|unknown");
    HP_FIELD_IF(to, all->whole_ns > 0, 100 * entry->work_ns / all->whole_ns, "percent_own", "Own %", PERCENT,
                HP_COLUMN_KEEP | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN,
                "work_ns as a percentage of percent_of; idle time is excluded.");
    HP_FIELD_IF(to, entry->cpu != NULL && hp_bottleneck_is_long_enough(entry),
                100 * entry->judgement.busy_ns / entry->wall_ns, "percent_busy", "Busy %", PERCENT,
                HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "cpu_ns as a percentage of self_ns; null if that is too short.", .shown_by = HAS_CPU);
    HP_FIELD_IF(to, entry->judgement.knows_waiting && hp_bottleneck_is_long_enough(entry),
                100 * entry->judgement.waiting_ns / entry->wall_ns, "percent_waiting", "Waiting %", PERCENT,
                HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "waiting_ns as a percentage of self_ns; null if that is too short.", .shown_by = KNOWS_WAITING);
    HP_FIELD(to, entry->judgement.knows_waiting && entry->is_named ? entry->cause : NULL, "waits_for", "For", TEXT,
             HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
             "The main cause of its waiting and the longest wait of that kind: \"lock held in update\", \"disk: "
             "/data/x.db\"; null: no sample found it waiting.",
             .shown_by = HAS_WAITS);
    HP_FIELD_IF(to, all->allocs != NULL,
                100 * hp_part_of((double)entry->allocs.own_bytes, (double)all->allocs->totals.bytes),
                "percent_alloc", "Alloc %", PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_PART,
                "own_bytes as a percentage of all bytes that the run requested.", .shown_by = HP_FACT_ALLOCS);
    HP_FIELD(to, has_verdict(all, entry) ? reason_of(to, entry) : NULL, "why", "Why", TEXT,
             HP_COLUMN_BELOW | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, "The numbers behind the verdict, as a sentence.");
    HP_FIELD(to, entry->wall_ns, "self_ns", "Self", NS, HP_COLUMN_SAMPLED_SELF,
             "Of a task: with the time in which some were open, none ran, and a loop waited.");
    HP_FIELD(to, entry->work_ns, "work_ns", "Work", NS, HP_COLUMN_SAMPLED_SELF,
             "self_ns minus idle_ns, and minus waiting that is in the row of a task.");
    HP_FIELD_IF(to, all->waits != NULL, entry->judgement.idle_ns, "idle_ns", "Idle", NS, 0,
                "The part of waiting_ns that is idle time; null: waits were not recorded.");
    HP_FIELD_IF(to, entry->cpu != NULL, hp_cpu_ns(entry->cpu), "cpu_ns", "CPU Time", NS, 0,
                "CPU time of the function itself.");
    HP_FIELD_IF(to, entry->cpu != NULL, entry->cpu->user_ns, "user_ns", "User", NS, 0);
    HP_FIELD_IF(to, entry->cpu != NULL, entry->cpu->kernel_ns, "kernel_ns", "Kernel", NS, 0);
    HP_FIELD_IF(to, entry->cpu != NULL, entry->cpu->samples, "samples", "Samples", COUNT, 0);
    HP_FIELD_IF(to, entry->judgement.knows_waiting, entry->judgement.waiting_ns, "waiting_ns", "Waiting", NS, 0,
                "self_ns minus cpu_ns; as seen by the wait sampler if CPU time was not sampled.");
    HP_FIELD_IF(to, entry->judgement.knows_waiting && entry->evidence.has_queue, entry->judgement.queue_ns,
                "run_queue_ns", "Run Queue", NS, 0,
                "The part of waiting_ns spent ready to run, but without a CPU.");
    HP_FIELD_IF(to, entry->judgement.knows_waiting && entry->is_named, entry->cause_ns, "waits_for_ns",
                "Cause Time", NS, 0, "The part of waiting_ns for the cause in waits_for.");
    HP_FIELD_IF(to, entry->judgement.knows_waiting && entry->is_named && entry->probes > 0, entry->probes, "looks",
                "Wait Samples", COUNT, 0, "Number of samples that found it waiting for that.");
    HP_FIELD_IF(to, all->allocs != NULL, entry->allocs.own_bytes, "own_bytes", "Own Bytes", BYTES, 0);
    HP_FIELD_IF(to, all->allocs != NULL, entry->allocs.own_count, "own_count", "Own Allocs", COUNT, 0);
    HP_FIELD(to, &entry->site->location, "location", "Location", TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE);
    HP_FIELD(to, entry->site->sums.open, "open", "Open", COUNT, 0);
    HP_FIELD(to, hp_share_scaled_name(hp_bottleneck_is_scaled(entry->site), false), "scaled", "Scaled", TEXT, 0,
             HP_ABOUT_SCALED, .words = HP_SCALED_WORDS);
}

/* In the short report they are columns of the table of functions, which has as many rows. */
static uint32_t limit_of(const struct hotpath_results *results)
{
    const struct hp_show_settings *show = &results->settings->show;
    return show->functions_limit_is_given || hp_results_is_short(results) ? show->functions_limit : ROWS;
}

/* For the table of functions. False: no memory. */
static bool tell_order(const struct hp_bottlenecks *all)
{
    struct hotpath_results *results = all->results;
    results->by_work = hp_arena_take_array(results->model->arena, all->count + 1, sizeof(void *));
    for (size_t at = 0; results->by_work != NULL && at < all->count; at++)
        results->by_work[at] = all->entries[at]->site;
    results->by_work_count = all->count;
    return results->by_work != NULL;
}

static bool fill_rows(struct hp_bottlenecks *all)
{
    if (hp_results_is_short(all->results) && !tell_order(all))
        return false;
    return hp_order_fill(all->results, all->section, limit_of(all->results), (const void *const *)all->entries,
                         all->count, all);
}

/* The percentages of a row are shares of different wholes. The note begins with a column's title: see table.c. */
static bool note_shares(const struct hp_bottlenecks *all)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const bool is_of_threads = strcmp(all->section->percent_of, "threads") == 0;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "Own %% is a share of %s",
                   is_of_threads ? "the time of all threads together" : "the run");
    if (all->cpu != NULL)
        hp_text_string(&line, ", Busy % and Waiting % are shares of the function's own time");
    else if (all->waits != NULL)
        hp_text_string(&line, ", Waiting % is a share of the function's own time");
    if (all->allocs != NULL)
        hp_text_string(&line, ", Alloc % is a share of all allocated bytes");
    return hp_section_note(all->section, hp_results_keep(all->results, &line));
}

/* False: no memory. */
static bool add_notes(struct hp_bottlenecks *all)
{
    struct hotpath_section *section = all->section;
    const struct hp_row any = hp_section_marks_of_rows(section);
    if (any.is_open)
        hp_section_note(section, hp_share_open_note(all->results->model->profile));
    if (any.is_self_sampled)
        hp_share_note_scaled(all->results->model->profile, section);
    if (all->is_unsampled && !hp_bottlenecks_has_stacks(all))
        hp_section_note(section, "CPU time is not shown: too few samples");
    return section->row_count == 0 || note_shares(all);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_bottlenecks all = {.results = results, .section = section};
    section->description = "Where the time goes, and why.";
    if (!hp_bottlenecks_measure(&all))
        return false;
    if (!hp_section_begin(results, section, &all, facts_of(&all), "work_ns", "percent_own"))
        return false;
    hp_bottlenecks_set_whole(&all);
    if (!has_data(results)) {
        section->if_empty = "only time was measured: HOTPATH_CPU=1 samples CPU time, 'hotpath run' also records "
                            "waits and allocations";
        return hp_section_make_rows(results, section, 0);
    }
    if (!hp_bottlenecks_gather(&all))
        return false;
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    section->if_empty =
        hp_section_why_empty(section, results->model->profile->site_count,
                             hp_run_counts_instructions(&results->model->run)
                                 ? "no function was measured; the next table has all functions that ran"
                             : hp_bottlenecks_first_function(&all) != NULL
                                 ? "no function was measured; the next table has functions found by stack sampling"
                                 : "no function was measured, and there are too few stack samples to name one");
    return hp_bottlenecks_set_headline(&all) && fill_rows(&all) && add_notes(&all);
}

const struct hp_section_type hp_section_bottlenecks = {
    .name = "bottlenecks",
    .is_of_ticks = true,
    .in_brief = HP_BRIEF_VERDICTS,
    .has_history = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    .fields = fields,
    .about = "The functions with the most time of their own, and how they spend it; present if more than time was "
             "measured. The rules are in docs/verdict.md.",
    .about_row = "A function, without its measured callees, over all threads. What was not measured is null.",
    .always = "percent_of|order"};
