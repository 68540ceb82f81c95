/*
 * The section `bottlenecks`: the functions with the most own time, what they do in it, and a verdict.
 *
 * One row per site, over all threads: waits are only known per site. The first line names the first row. The rules
 * are in verdict.c. SPDX-License-Identifier: MIT
 */
#include "bottleneck.h"

#include <string.h>

#include "arena.h"
#include "identity.h"
#include "order.h"
#include "shares.h"
#include "task_profile.h"

/* Default number of rows, unless HOTPATH_FUNCTIONS_LIMIT is changed from its default. */
#define ROWS 5u

struct columns {
    size_t name, verdict, own_percent, busy_percent, waiting_percent, waits_for, alloc_percent, why;
    size_t self, work, idle, cpu, user, kernel, samples, waiting, queue, waits_for_ns, probes, bytes, count,
        location, open, scaled;
};

#define AT(column) .index = offsetof(struct columns, column)

/* Facts of this section. */
enum {
    HAS_CPU = HP_FACT_OWN,
    HAS_WAITS = HP_FACT_OWN << 1,
    KNOWS_WAITING = HP_FACT_OWN << 2,
};

static const struct hp_column_spec column_table[] = {
    {"name", "Function", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP | HP_COLUMN_SHOWN, AT(name)},
    {"verdict", "Verdict", HOTPATH_UNIT_TEXT, HP_COLUMN_KEEP | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(verdict),
     .about = "too-short: too few samples to tell; unknown: neither CPU time nor waiting was measured; null: the "
              "main function has next to no time of its own.",
     .words = "cpu-bound|waiting|allocation-heavy|starved|idle|mixed|too-short|unknown"},
    {"percent_own", "Own %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_KEEP | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(own_percent),
     "work_ns as a percentage of percent_of; idle time is excluded."},
    {"percent_busy", "Busy %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART, AT(busy_percent),
     "cpu_ns as a percentage of self_ns; null if that is too short.", .shown_by = HAS_CPU},
    {"percent_waiting", "Waiting %", HOTPATH_UNIT_PERCENT,
     HP_COLUMN_LATE | HP_COLUMN_SAMPLED_SELF | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART,
     AT(waiting_percent), "waiting_ns as a percentage of self_ns; null if that is too short.",
     .shown_by = KNOWS_WAITING},
    {"waits_for", "For", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE | HP_COLUMN_ELASTIC | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE,
     AT(waits_for),
     "The main cause of its waiting and the longest wait of that kind: \"lock held in update\", \"disk: "
     "/data/x.db\"; "
     "null: no sample found it waiting.",
     .shown_by = HAS_WAITS},
    {"percent_alloc", "Alloc %", HOTPATH_UNIT_PERCENT, HP_COLUMN_SHOWN | HP_COLUMN_MAYBE | HP_COLUMN_PART,
     AT(alloc_percent), "own_bytes as a percentage of all bytes that the run requested.",
     .shown_by = HP_FACT_ALLOCS},
    {"why", "Why", HOTPATH_UNIT_TEXT, HP_COLUMN_BELOW | HP_COLUMN_SHOWN | HP_COLUMN_MAYBE, AT(why),
     "The numbers behind the verdict, as a sentence."},
    {"self_ns", "Self", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED_SELF, AT(self),
     "Of a task: with the time in which some were open, none ran, and a loop waited."},
    {"work_ns", "Work", HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED_SELF, AT(work),
     "self_ns minus idle_ns, and minus waiting that is in the row of a task."},
    {"idle_ns", "Idle", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(idle),
     "The part of waiting_ns that is idle time; null: waits were not recorded."},
    {"cpu_ns", "CPU Time", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(cpu), "CPU time of the function itself."},
    {"user_ns", "User", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(user)},
    {"kernel_ns", "Kernel", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(kernel)},
    {"samples", "Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(samples)},
    {"waiting_ns", "Waiting", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(waiting),
     "self_ns minus cpu_ns; as seen by the wait sampler if CPU time was not sampled."},
    {"run_queue_ns", "Run Queue", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(queue),
     "The part of waiting_ns spent ready to run, but without a CPU."},
    {"waits_for_ns", "Cause Time", HOTPATH_UNIT_NS, HP_COLUMN_MAYBE, AT(waits_for_ns),
     "The part of waiting_ns for the cause in waits_for."},
    {"looks", "Wait Samples", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(probes),
     "Number of samples that found it waiting for that."},
    {"own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_MAYBE, AT(bytes)},
    {"own_count", "Own Allocs", HOTPATH_UNIT_COUNT, HP_COLUMN_MAYBE, AT(count)},
    {"location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION | HP_COLUMN_MAYBE, AT(location)},
    {"open", "Open", HOTPATH_UNIT_COUNT, 0, AT(open)},
    {"scaled", "Scaled", HOTPATH_UNIT_TEXT, 0, AT(scaled), HP_ABOUT_SCALED, .words = HP_SCALED_WORDS},
};

struct view {
    struct hp_bottlenecks all;
    struct columns columns;
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
           has_all_functions(results->model->profile);
}

static bool describe(struct view *view)
{
    const struct hp_tasks *tasks = hp_model_tasks(view->all.results->model);
    const bool has_causes = view->all.waits != NULL || (tasks != NULL && tasks->count > 0);
    const uint32_t facts = (view->all.cpu != NULL ? HAS_CPU : 0u) | (has_causes ? HAS_WAITS : 0u) |
                           (view->all.cpu != NULL || view->all.waits != NULL ? KNOWS_WAITING : 0u);
    return hp_section_describe(view->all.results, view->all.section, facts, &view->columns);
}

/* ------------------------------------------------------------------------------------------------ rows */

static void fill_times(const struct view *view, struct hp_row *row, const struct hp_bottleneck *entry)
{
    const struct columns *columns = &view->columns;
    const struct hp_judgement *judgement = &entry->judgement;
    hp_section_set_number(row, columns->self, entry->wall_ns);
    hp_section_set_number(row, columns->work, entry->work_ns);
    if (view->all.waits != NULL)
        hp_section_set_number(row, columns->idle, judgement->idle_ns);
    if (view->all.whole_ns > 0)
        hp_section_set_number(row, columns->own_percent, 100 * entry->work_ns / view->all.whole_ns);
    if (entry->cpu != NULL) {
        hp_section_set_number(row, columns->cpu, (double)hp_cpu_ns(entry->cpu));
        hp_section_set_number(row, columns->user, (double)entry->cpu->user_ns);
        hp_section_set_number(row, columns->kernel, (double)entry->cpu->kernel_ns);
        hp_section_set_count(row, columns->samples, entry->cpu->samples);
        if (hp_bottleneck_is_long_enough(entry))
            hp_section_set_number(row, columns->busy_percent, 100 * judgement->busy_ns / entry->wall_ns);
    }
    if (!judgement->knows_waiting)
        return;
    hp_section_set_number(row, columns->waiting, judgement->waiting_ns);
    if (hp_bottleneck_is_long_enough(entry))
        hp_section_set_number(row, columns->waiting_percent, 100 * judgement->waiting_ns / entry->wall_ns);
    if (entry->evidence.has_queue)
        hp_section_set_number(row, columns->queue, judgement->queue_ns);
    if (entry->is_named) {
        hp_section_set_text(row, columns->waits_for, entry->cause);
        hp_section_set_number(row, columns->waits_for_ns, entry->cause_ns);
        if (entry->probes > 0)
            hp_section_set_count(row, columns->probes, entry->probes);
    }
}

static void fill_allocs(const struct view *view, struct hp_row *row, const struct hp_bottleneck *entry)
{
    const struct columns *columns = &view->columns;
    if (view->all.allocs == NULL)
        return;
    hp_section_set_count(row, columns->bytes, entry->allocs.own_bytes);
    hp_section_set_count(row, columns->count, entry->allocs.own_count);
    hp_section_set_number(row, columns->alloc_percent,
                          100 *
                              hp_part_of((double)entry->allocs.own_bytes, (double)view->all.allocs->totals.bytes));
}

/* The main function only calls others: it has nothing to judge, unlike a function that was too short. */
static bool has_verdict(const struct view *view, const struct hp_bottleneck *entry)
{
    return entry->judgement.verdict != HP_VERDICT_TOO_SHORT || !entry->site->is_main ||
           entry->work_ns > HP_VERDICT_OWN_PART * view->all.whole_ns;
}

static bool fill_row(void *context, struct hp_row *row, const void *about)
{
    const struct view *view = context;
    const struct hp_bottleneck *entry = about;
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const struct columns *columns = &view->columns;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_bottleneck_put_reason(&line, entry);
    const char *why = hp_bottlenecks_keep(&view->all, &line);
    if (why == NULL)
        return false;
    hp_section_set_text(row, columns->name, entry->site->name);
    row->id = hp_identity_of_site(entry->site);
    if (has_verdict(view, entry)) {
        hp_section_set_text(row, columns->verdict, hp_verdict_name(entry->judgement.verdict));
        hp_section_set_text(row, columns->why, why);
    }
    hp_section_set_count(row, columns->open, entry->site->sums.open);
    row->is_open = entry->site->sums.open > 0;
    row->is_self_sampled = hp_bottleneck_is_scaled(entry->site);
    hp_section_set_text(row, columns->scaled, hp_share_scaled_name(row->is_self_sampled, false));
    fill_times(view, row, entry);
    fill_allocs(view, row, entry);
    return hp_section_set_location(view->all.results, row, columns->location, &entry->site->location);
}

/* In the short report they are columns of the table of functions, which has as many rows. */
static uint32_t limit_of(const struct hotpath_results *results)
{
    const struct hp_show_settings *show = &results->settings->show;
    return show->functions_limit_is_given || hp_results_is_short(results) ? show->functions_limit : ROWS;
}

/* For the table of functions. False: no memory. */
static bool tell_order(const struct view *view)
{
    struct hotpath_results *results = view->all.results;
    results->by_work = hp_arena_take_array(results->model->arena, view->all.count + 1, sizeof(void *));
    for (size_t at = 0; results->by_work != NULL && at < view->all.count; at++)
        results->by_work[at] = view->all.entries[at]->site;
    results->by_work_count = view->all.count;
    return results->by_work != NULL;
}

static bool fill_rows(struct view *view)
{
    if (hp_results_is_short(view->all.results) && !tell_order(view))
        return false;
    return hp_order_fill(view->all.results, view->all.section, limit_of(view->all.results),
                         (const void *const *)view->all.entries, view->all.count, fill_row, view);
}

/* The percentages of a row are shares of different wholes. The note begins with a column's title: see table.c. */
static bool note_shares(const struct view *view)
{
    char bytes[HP_BOTTLENECK_LINE_BYTES];
    struct hp_text line;
    const bool is_of_threads = strcmp(view->all.section->percent_of, "threads") == 0;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_format(&line, "Own %% is a share of %s",
                   is_of_threads ? "the time of all threads together" : "the run");
    if (view->all.cpu != NULL)
        hp_text_string(&line, ", Busy % and Waiting % are shares of the function's own time");
    else if (view->all.waits != NULL)
        hp_text_string(&line, ", Waiting % is a share of the function's own time");
    if (view->all.allocs != NULL)
        hp_text_string(&line, ", Alloc % is a share of all allocated bytes");
    const char *note = hp_bottlenecks_keep(&view->all, &line);
    if (note != NULL)
        hp_section_note(view->all.section, note);
    return note != NULL;
}

/* False: no memory. */
static bool add_notes(struct view *view)
{
    struct hotpath_section *section = view->all.section;
    bool has_open = false, has_scaled = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_scaled |= section->rows[at].is_self_sampled;
    }
    if (has_open)
        hp_section_note(section, hp_share_open_note(view->all.results->model->profile));
    if (has_scaled)
        hp_share_note_scaled(view->all.results->model->profile, section);
    if (view->all.is_unsampled && !hp_bottlenecks_has_stacks(&view->all))
        hp_section_note(section, "CPU time is not shown: too few samples");
    return section->row_count == 0 || note_shares(view);
}

static bool fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct view view = {.all = {.results = results, .section = section}};
    section->description = "Where the time goes, and why.";
    if (!hp_bottlenecks_measure(&view.all))
        return false;
    if (!describe(&view) || !hp_order_choose(results, section, view.columns.work, view.columns.own_percent))
        return false;
    hp_bottlenecks_set_whole(&view.all);
    if (!has_data(results)) {
        section->if_empty = "only time was measured: HOTPATH_CPU=1 samples CPU time, 'hotpath run' also records "
                            "waits and allocations";
        return hp_section_make_rows(results, section, 0);
    }
    if (!hp_bottlenecks_gather(&view.all))
        return false;
    section->main = results->model->profile->main != NULL ? results->model->profile->main->name : NULL;
    section->if_empty =
        hp_section_why_empty(section, results->model->profile->site_count,
                             hp_bottlenecks_first_function(&view.all) != NULL
                                 ? "no function was measured; the next table has functions found by stack sampling"
                                 : "no function was measured, and there are too few stack samples to name one");
    return hp_bottlenecks_set_headline(&view.all) && fill_rows(&view) && add_notes(&view);
}

const struct hp_section_type hp_section_bottlenecks = {
    .name = "bottlenecks",
    .in_brief = HP_BRIEF_VERDICTS,
    .has_history = true,
    .is_left_out_empty = true,
    .has_data = has_data,
    .fill = fill,
    HP_COLUMNS(column_table),
    .about = "The functions with the most time of their own, and how they spend it; present if more than time was "
             "measured. The rules are in docs/verdict.md.",
    .about_row = "A function, without its measured callees, over all threads. What was not measured is null.",
    .always = "percent_of|order"};
