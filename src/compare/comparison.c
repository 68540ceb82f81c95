/* Runs before and runs now, function by function. SPDX-License-Identifier: MIT */
#include "comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "causes.h"
#include "growing_array.h"
#include "probability.h"
#include "text.h"

#define LEAST_CALLS 20.0 /* fewer have no typical call */
#define MOST_SPREAD 1.15 /* the median by the first quartile; more, and calls differ in what they do */
#define LEAST_REST 0.05  /* of a typical call that callees leave; less is their error */
#define MOST_SKEW 0.005  /* of the frequency of one clock, as measured twice */
#define MOST_SLOW 0.75   /* of a callee's calls: its typical call is that of the fastest half */
#define SLOW_CHANCE 0.01 /* of a P95 that differs without a change */

static size_t run_count(const struct hp_comparison *comparison)
{
    return comparison->before_count + comparison->now_count;
}

/* ------------------------------------------------------------------------------------------------ unlike runs */

/*
 * "hotpath 0.1.0, gcc 12.2.0": code of another compiler may measure at another cost. A newer hotpath or compiler is
 * no reason to lose what was recorded: an upgrade of a package has both.
 */
static bool have_one_compiler(const struct hp_measured_run *a, const struct hp_measured_run *b)
{
    const char *of_a = strchr(a->library, ','), *of_b = strchr(b->library, ',');
    of_a = of_a != NULL ? of_a : "";
    of_b = of_b != NULL ? of_b : "";
    const size_t length = strcspn(of_a, "0123456789");
    return length == strcspn(of_b, "0123456789") && strncmp(of_a, of_b, length) == 0;
}

static bool is_measured(const struct hp_measured_run *run)
{
    for (size_t at = 0; at < run->count; at++)
        if (hp_measured_has(&run->functions[at], HP_METRIC_CALLS))
            return true;
    return false;
}

static const char *difference_of_machines(const struct hp_measured_run *a, const struct hp_measured_run *b,
                                          char *text, size_t size)
{
    const bool have_hz = a->hz > 0 && b->hz > 0;
    if (strcmp(a->system, b->system) != 0)
        snprintf(text, size, "ran on another system ('%.60s', not '%.60s')", b->system, a->system);
    else if (a->cores != b->cores)
        snprintf(text, size, "ran on another machine (%.0f CPUs, not %.0f)", b->cores, a->cores);
    else if (strcmp(a->clock, b->clock) != 0)
        snprintf(text, size, "was measured by another clock (%.110s, not %.110s)", b->clock, a->clock);
    else if (have_hz && fabs(a->hz / b->hz - 1) > MOST_SKEW)
        snprintf(text, size, "ran on another machine (its clock has %.2f GHz, not %.2f GHz)", b->hz / 1e9,
                 a->hz / 1e9);
    else if (!have_one_compiler(a, b))
        snprintf(text, size, "was measured by a library of another build ('%.60s', not '%.60s')", b->library,
                 a->library);
    else
        return NULL;
    return text;
}

static const char *difference(const struct hp_measured_run *a, const struct hp_measured_run *b, bool is_exact_only,
                              char *text, size_t size)
{
    if (is_measured(a) == is_measured(b))
        return is_exact_only ? NULL : difference_of_machines(a, b, text, size);
    snprintf(text, size, "%s",
             is_measured(b) ? "has measured functions, the other has none"
                            : "has no measured functions, the other has");
    return text;
}

const char *hp_comparison_refusal(const struct hp_comparison *comparison, bool is_exact_only, char *text,
                                  size_t size)
{
    char what[300];
    for (size_t at = 1; at < run_count(comparison); at++)
        if (difference(&comparison->runs[0], &comparison->runs[at], is_exact_only, what, sizeof what) != NULL) {
            snprintf(text, size, "cannot compare with '%.300s': '%.300s' %s", comparison->runs[0].path,
                     comparison->runs[at].path, what);
            return text;
        }
    return NULL;
}

/* -------------------------------------------------------------------------------------------------- matching */

struct matching {
    struct hp_comparison *comparison;
    struct hp_hash_index index;
    size_t room, cell_room;
    uint32_t **numbers; /* of the functions of each run */
};

static bool is_same(const struct hp_compared_function *a, const struct hp_measured_function *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0 && strcmp(a->library, b->library) == 0;
}

/* Finds or adds a function. False: no memory. */
static bool match(struct matching *matching, size_t run, size_t at)
{
    struct hp_comparison *comparison = matching->comparison;
    const struct hp_measured_function *measured = &comparison->runs[run].functions[at];
    const size_t runs = run_count(comparison);
    if (!hp_hash_make_room(&matching->index) ||
        !HP_MAKE_ZEROED_ROOM(comparison->functions, comparison->count + 1, matching->room) ||
        !HP_MAKE_ZEROED_ROOM(comparison->cells, (comparison->count + 1) * runs, matching->cell_room))
        return false;
    uint32_t hash = hp_hash_with_text(&matching->index, 0, measured->name), number;
    hash = hp_hash_with_text(&matching->index, hp_hash_with_text(&matching->index, hash, measured->file),
                             measured->library);
    size_t slot = HP_HASH_BEGIN;
    while ((number = hp_hash_next(&matching->index, hash, &slot)) != 0)
        if (is_same(&comparison->functions[number - 1], measured))
            break;
    if (number == 0) {
        comparison->functions[comparison->count] = (struct hp_compared_function){
            .name = measured->name, .file = measured->file, .library = measured->library};
        number = (uint32_t)++comparison->count;
        hp_hash_put(&matching->index, slot, hash, number);
    }
    comparison->cells[(number - 1) * runs + run] = measured;
    matching->numbers[run][at] = number - 1;
    return true;
}

/* Measured functions, or those found in stacks if none is measured. */
static bool match_all(struct matching *matching)
{
    const struct hp_comparison *comparison = matching->comparison;
    for (size_t run = 0; run < run_count(comparison); run++) {
        const struct hp_measured_run *measured = &comparison->runs[run];
        matching->numbers[run] = calloc(measured->count + 1, sizeof *matching->numbers[run]);
        if (matching->numbers[run] == NULL)
            return false;
        for (size_t at = 0; at < measured->count; at++) {
            const bool is_of_kind = measured->functions[at].is_sampled
                                        ? comparison->is_sampled
                                        : hp_measured_has(&measured->functions[at], HP_METRIC_CALLS);
            matching->numbers[run][at] = UINT32_MAX;
            if (is_of_kind && measured->functions[at].name[0] != '\0' && !match(matching, run, at))
                return false;
        }
    }
    return true;
}

static const struct hp_measured_function *cell(const struct hp_comparison *comparison, size_t number, size_t run)
{
    return comparison->cells[number * run_count(comparison) + run];
}

/* ------------------------------------------------------------------------------------------------ exact numbers */

static const enum hp_metric exact_metrics[] = {HP_METRIC_CALLS, HP_METRIC_ALLOCATIONS, HP_METRIC_BYTES,
                                               HP_METRIC_PEAK, HP_METRIC_INSTRUCTIONS};

static bool has_value(const struct hp_comparison *comparison, size_t number, size_t run, enum hp_metric metric)
{
    const struct hp_measured_function *function = cell(comparison, number, run);
    return function != NULL && hp_measured_knows(&comparison->runs[run], function, metric);
}

/* Other versions of QEMU or the C library, or another CPU model, execute other instructions. */
static bool have_one_clock(const struct hp_comparison *comparison)
{
    bool have = true;
    for (size_t run = 1; run < run_count(comparison); run++)
        have = have && strcmp(comparison->runs[run].clock, comparison->runs[0].clock) == 0;
    return have;
}

/* Any difference is one. In a time range, the machine decides how much is done. */
static enum hp_exact judge_exact(const struct hp_comparison *comparison, size_t number, enum hp_metric metric)
{
    const size_t before = comparison->before_count, runs = run_count(comparison);
    if (metric == HP_METRIC_INSTRUCTIONS && !comparison->is_of_one_clock)
        return HP_EXACT_UNKNOWN;
    for (size_t run = 0; run < runs; run++)
        if (comparison->runs[run].is_part || !has_value(comparison, number, run, metric))
            return HP_EXACT_UNKNOWN;
    for (size_t run = 0; run < runs; run++) {
        const size_t first = run < before ? 0 : before;
        if (cell(comparison, number, run)->values[metric] != cell(comparison, number, first)->values[metric])
            return HP_EXACT_UNSTEADY;
    }
    return cell(comparison, number, 0)->values[metric] == cell(comparison, number, before)->values[metric]
               ? HP_EXACT_EQUAL
               : HP_EXACT_CHANGED;
}

/* Of one side: how many runs have it. */
static size_t presence(const struct hp_comparison *comparison, size_t number, bool is_now)
{
    const size_t from = is_now ? comparison->before_count : 0;
    const size_t to = is_now ? run_count(comparison) : comparison->before_count;
    size_t count = 0;
    for (size_t run = from; run < to; run++)
        count += cell(comparison, number, run) != NULL;
    return count;
}

/* Whether a report of that side leaves functions out: then one that it does not have may still have run. */
static bool is_cut(const struct hp_comparison *comparison, bool is_now)
{
    const size_t from = is_now ? comparison->before_count : 0;
    const size_t to = is_now ? run_count(comparison) : comparison->before_count;
    bool is_cut = false;
    for (size_t run = from; run < to; run++)
        is_cut = is_cut || comparison->runs[run].is_cut;
    return is_cut;
}

static void judge_exact_numbers(struct hp_comparison *comparison, size_t number)
{
    struct hp_compared_function *function = &comparison->functions[number];
    for (size_t at = 0; at < sizeof exact_metrics / sizeof exact_metrics[0]; at++)
        function->exact[exact_metrics[at]] = judge_exact(comparison, number, exact_metrics[at]);
    if (comparison->is_sampled) /* without samples it may still have run */
        return;
    function->is_new = presence(comparison, number, false) == 0 && !is_cut(comparison, false);
    function->is_gone = presence(comparison, number, true) == 0 && !is_cut(comparison, true);
}

/* ----------------------------------------------------------------------------------------------- values of rows */

static bool is_in_all(const struct hp_comparison *comparison, size_t number)
{
    return presence(comparison, number, false) + presence(comparison, number, true) == run_count(comparison);
}

/* Whether calls cost about the same, so that a typical one stands for all. */
static bool has_typical_call(const struct hp_comparison *comparison, size_t number)
{
    const size_t runs = run_count(comparison);
    double sum = 0;
    for (size_t run = 0; run < runs; run++) {
        const struct hp_measured_function *function = cell(comparison, number, run);
        if (function == NULL || !hp_measured_has(function, HP_METRIC_TYPICAL) ||
            !hp_measured_has(function, HP_METRIC_QUARTER) || function->is_nested ||
            function->values[HP_METRIC_CALLS] < LEAST_CALLS || function->values[HP_METRIC_QUARTER] <= 0)
            return false;
        const double quarter = function->values[HP_METRIC_QUARTER];
        sum += (2 * function->values[HP_METRIC_TYPICAL] - quarter) / quarter;
    }
    return sum <= MOST_SPREAD * (double)runs;
}

static double typical_time(const struct hp_measured_function *function)
{
    return function->values[HP_METRIC_TYPICAL] * function->values[HP_METRIC_CALLS];
}

/* Without the call tree only functions without measured callees are known by their typical call. */
static bool is_leaf(const struct hp_measured_function *function)
{
    return function->values[HP_METRIC_SELF] >= 0.999 * function->values[HP_METRIC_TOTAL];
}

/*
 * What callees take of typical calls: rest[number] of this run is what they leave. Callees that vary make their
 * callers vary: of these the measured self time is used, which has no error of subtraction.
 */
static void subtract_callees(const struct matching *matching, size_t run, double *rest)
{
    const struct hp_comparison *comparison = matching->comparison;
    const struct hp_measured_run *measured = &comparison->runs[run];
    for (size_t at = 0; at < measured->callees.count; at++) {
        const struct hp_pair *pair = &measured->callees.all[at];
        const uint32_t caller = matching->numbers[run][pair->first], callee = matching->numbers[run][pair->second];
        if (caller == UINT32_MAX)
            continue;
        if (callee == UINT32_MAX || !comparison->functions[callee].is_steady)
            rest[caller] = -INFINITY;
        else
            rest[caller] -= measured->calls[at] * measured->functions[pair->second].values[HP_METRIC_TYPICAL];
    }
}

/* What is left of a typical call has the error of the whole call. */
static double grain_of(const struct hp_comparison *comparison, size_t number, double rest)
{
    return HP_TYPICAL_GRAIN * typical_time(cell(comparison, number, 0)) / rest;
}

/* Fills in values[number][run] of measured functions. */
static bool fill_timed(struct matching *matching, double *values)
{
    struct hp_comparison *comparison = matching->comparison;
    const size_t runs = run_count(comparison);
    double *rest = calloc(comparison->count * runs + 1, sizeof *rest);
    if (rest == NULL)
        return false;
    for (size_t number = 0; number < comparison->count; number++)
        comparison->functions[number].is_steady = has_typical_call(comparison, number);
    for (size_t run = 0; run < runs; run++) {
        double *of_run = rest + run * comparison->count;
        for (size_t number = 0; number < comparison->count; number++) {
            const struct hp_measured_function *function = cell(comparison, number, run);
            const bool is_whole = function != NULL && (comparison->runs[run].has_tree || is_leaf(function));
            of_run[number] = is_whole ? typical_time(function) : -INFINITY;
        }
        subtract_callees(matching, run, of_run);
    }
    for (size_t number = 0; number < comparison->count; number++) {
        bool is_steady = comparison->functions[number].is_steady;
        for (size_t run = 0; run < runs && is_steady; run++)
            is_steady =
                rest[run * comparison->count + number] >= LEAST_REST * typical_time(cell(comparison, number, run));
        comparison->functions[number].is_steady = is_steady;
        comparison->functions[number].judged.grain = is_steady ? grain_of(comparison, number, rest[number]) : 0;
        for (size_t run = 0; run < runs; run++) {
            const struct hp_measured_function *function = cell(comparison, number, run);
            values[number * runs + run] = function == NULL ? 0
                                          : is_steady      ? rest[run * comparison->count + number]
                                                           : function->values[HP_METRIC_SELF];
        }
    }
    free(rest);
    return true;
}

static void fill_sampled(const struct hp_comparison *comparison, double *values)
{
    const size_t runs = run_count(comparison);
    for (size_t number = 0; number < comparison->count; number++)
        for (size_t run = 0; run < runs; run++) {
            const struct hp_measured_function *function = cell(comparison, number, run);
            values[number * runs + run] = function != NULL ? function->values[HP_METRIC_SAMPLES] : 0;
        }
}

/* ------------------------------------------------------------------------------------------------------ judging */

/* The share of each function in all runs, so that a side with more runs does not count for more. */
static void find_shares(struct hp_comparison *comparison, const double *values)
{
    const size_t runs = run_count(comparison), before = comparison->before_count;
    double whole = 0;
    for (size_t number = 0; number < comparison->count; number++) {
        const double *of = values + number * runs;
        const double share = hp_mean(of, before) + hp_mean(of + before, runs - before);
        comparison->functions[number].judged.share = share;
        whole += share;
    }
    for (size_t number = 0; number < comparison->count; number++)
        comparison->functions[number].judged.share /= whole > 0 ? whole : 1;
}

/* A row of a measured function has a time in every run: the logarithm of nothing is none. */
static bool is_row(const struct hp_comparison *comparison, size_t number, const double *values)
{
    const size_t runs = run_count(comparison);
    bool is_row = comparison->functions[number].judged.share >= HP_JUDGE_LEAST_SHARE;
    for (size_t run = 0; run < runs && !comparison->is_sampled; run++)
        is_row = is_row && values[number * runs + run] > 0;
    return is_row && (comparison->is_sampled || is_in_all(comparison, number));
}

/*
 * What is left beside the rows: many small functions may have changed together. Functions that are not in every run
 * are in it, too.
 */
static bool find_rest(struct hp_comparison *comparison)
{
    const size_t runs = run_count(comparison), before = comparison->before_count;
    double share = 0;
    bool is_everywhere = true, is_sum = false;
    comparison->rests = calloc(runs + 1, sizeof *comparison->rests);
    if (comparison->rests == NULL)
        return false;
    for (size_t number = 0; number < comparison->count; number++) {
        if (comparison->functions[number].is_row)
            continue;
        comparison->rest_count++;
        is_sum = is_sum || !comparison->functions[number].is_steady;
        share += comparison->functions[number].judged.share;
        for (size_t run = 0; run < runs; run++)
            comparison->rests[run] += fmax(comparison->values[number * runs + run], 0);
    }
    for (size_t run = 0; run < runs; run++)
        is_everywhere = is_everywhere && comparison->rests[run] > 0;
    comparison->has_rest = is_everywhere && comparison->rest_count > 1 && share >= HP_JUDGE_LEAST_SHARE;
    comparison->rest = (struct hp_judged_row){.before = comparison->rests,
                                              .now = comparison->rests + before,
                                              .grain = comparison->is_sampled ? 0 : HP_TYPICAL_GRAIN,
                                              .is_sum = is_sum,
                                              .share = share};
    return true;
}

static bool judge_rows(struct hp_comparison *comparison)
{
    const size_t runs = run_count(comparison);
    struct hp_judgement judgement = {.before_count = comparison->before_count, .now_count = comparison->now_count};
    judgement.rows = calloc(comparison->count + 2, sizeof *judgement.rows);
    if (judgement.rows == NULL)
        return false;
    for (size_t number = 0; number < comparison->count; number++)
        if (is_row(comparison, number, comparison->values)) {
            const double *of = comparison->values + number * runs;
            comparison->functions[number].is_row = true;
            judgement.rows[judgement.row_count++] =
                (struct hp_judged_row){.before = of,
                                       .now = of + comparison->before_count,
                                       .grain = comparison->functions[number].judged.grain,
                                       .is_sum = !comparison->functions[number].is_steady,
                                       .share = comparison->functions[number].judged.share};
        }
    comparison->row_count = judgement.row_count;
    if (!find_rest(comparison)) {
        free(judgement.rows);
        return false;
    }
    if (comparison->has_rest)
        judgement.rows[judgement.row_count++] = comparison->rest;
    const bool is_judged = (comparison->is_sampled ? hp_judge_sampled : hp_judge_timed)(&judgement);
    comparison->has_common = judgement.has_common;
    comparison->common = judgement.common;
    for (size_t number = 0, row = 0; number < comparison->count && is_judged; number++)
        if (comparison->functions[number].is_row)
            comparison->functions[number].judged = judgement.rows[row++];
    if (comparison->has_rest)
        comparison->rest = judgement.rows[judgement.row_count - 1];
    free(judgement.rows);
    return is_judged;
}

/* ------------------------------------------------------------------------------------------------------- locks */

static const struct hp_measured_lock *lock_of(const struct hp_measured_run *run, const char *name)
{
    for (size_t at = 0; at < run->lock_count; at++)
        if (strcmp(run->locks[at].name, name) == 0)
            return &run->locks[at];
    return NULL;
}

/* The locks of all runs, each once. */
static bool list_locks(struct hp_comparison *comparison)
{
    size_t room = 0;
    for (size_t run = 0; run < run_count(comparison); run++)
        for (size_t at = 0; at < comparison->runs[run].lock_count; at++) {
            const char *name = comparison->runs[run].locks[at].name;
            size_t known = 0;
            while (known < comparison->lock_count && strcmp(comparison->locks[known].name, name) != 0)
                known++;
            if (known < comparison->lock_count)
                continue;
            if (!HP_MAKE_ROOM(comparison->locks, comparison->lock_count + 1, room))
                return false;
            comparison->locks[comparison->lock_count++] = (struct hp_compared_lock){.name = name};
        }
    return true;
}

static void middle_of_lock(const struct hp_comparison *comparison, struct hp_compared_lock *lock, bool is_now,
                           double *scratch)
{
    const size_t from = is_now ? comparison->before_count : 0;
    const size_t to = is_now ? run_count(comparison) : comparison->before_count;
    for (size_t what = 0; what < 3; what++) {
        size_t count = 0;
        for (size_t run = from; run < to; run++) {
            const struct hp_measured_lock *found = lock_of(&comparison->runs[run], lock->name);
            if (found != NULL)
                scratch[count++] = what == 0 ? found->locked : what == 1 ? found->contended : found->wait_ns;
        }
        (is_now ? lock->now : lock->before)[what] = hp_median(scratch, count);
    }
}

static enum hp_exact judge_locked(const struct hp_comparison *comparison, const char *name)
{
    double first[2] = {0};
    for (size_t run = 0; run < run_count(comparison); run++) {
        const struct hp_measured_lock *lock = lock_of(&comparison->runs[run], name);
        const bool is_now = run >= comparison->before_count;
        if (lock == NULL || comparison->runs[run].is_part)
            return HP_EXACT_UNKNOWN;
        if (run == 0 || run == comparison->before_count)
            first[is_now] = lock->locked;
        if (lock->locked != first[is_now])
            return HP_EXACT_UNSTEADY;
    }
    return first[0] == first[1] ? HP_EXACT_EQUAL : HP_EXACT_CHANGED;
}

static int compare_locks(const void *a, const void *b)
{
    const struct hp_compared_lock *x = a, *y = b;
    const bool is_x = x->waiting.verdict > HP_VERDICT_SAME, is_y = y->waiting.verdict > HP_VERDICT_SAME;
    if (is_x != is_y)
        return is_x ? -1 : 1;
    if (x->waiting.share != y->waiting.share)
        return x->waiting.share > y->waiting.share ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Those that all runs have and wait for. */
static bool judge_lock_waits(struct hp_comparison *comparison)
{
    struct hp_judgement judgement = {.before_count = comparison->before_count, .now_count = comparison->now_count};
    judgement.rows = calloc(comparison->lock_count + 1, sizeof *judgement.rows);
    if (judgement.rows == NULL)
        return false;
    for (size_t at = 0; at < comparison->lock_count; at++)
        if (comparison->locks[at].is_in_all && comparison->locks[at].waiting.share >= HP_JUDGE_LEAST_SHARE)
            judgement.rows[judgement.row_count++] = comparison->locks[at].waiting;
    const bool is_judged = hp_judge_sampled(&judgement);
    for (size_t at = 0, row = 0; at < comparison->lock_count && is_judged; at++)
        if (comparison->locks[at].is_in_all && comparison->locks[at].waiting.share >= HP_JUDGE_LEAST_SHARE)
            comparison->locks[at].waiting = judgement.rows[row++];
        else
            comparison->locks[at].is_in_all = false;
    free(judgement.rows);
    return is_judged;
}

static bool compare_all_locks(struct hp_comparison *comparison)
{
    const size_t runs = run_count(comparison);
    double whole = 0;
    if (!list_locks(comparison))
        return false;
    comparison->lock_waits = calloc(comparison->lock_count * runs + runs + 1, sizeof *comparison->lock_waits);
    if (comparison->lock_waits == NULL)
        return false;
    double *scratch = comparison->lock_waits + comparison->lock_count * runs;
    for (size_t at = 0; at < comparison->lock_count; at++) {
        struct hp_compared_lock *lock = &comparison->locks[at];
        double *waits = comparison->lock_waits + at * runs;
        lock->is_in_all = true;
        for (size_t run = 0; run < runs; run++) {
            const struct hp_measured_lock *found = lock_of(&comparison->runs[run], lock->name);
            lock->is_in_all = lock->is_in_all && found != NULL;
            waits[run] = found != NULL ? found->wait_ns : 0;
            whole += waits[run];
        }
        lock->locked = judge_locked(comparison, lock->name);
        middle_of_lock(comparison, lock, false, scratch);
        middle_of_lock(comparison, lock, true, scratch);
        lock->waiting.share = hp_mean(waits, runs) * (double)runs;
        lock->waiting.before = waits;
        lock->waiting.now = waits + comparison->before_count;
    }
    for (size_t at = 0; at < comparison->lock_count; at++)
        comparison->locks[at].waiting.share /= whole > 0 ? whole : 1;
    if (!judge_lock_waits(comparison))
        return false;
    if (comparison->lock_count > 1)
        qsort(comparison->locks, comparison->lock_count, sizeof *comparison->locks, compare_locks);
    return true;
}

static bool judge_whole(struct hp_comparison *comparison)
{
    const size_t runs = run_count(comparison);
    comparison->totals = calloc(runs + 1, sizeof *comparison->totals);
    if (comparison->totals == NULL)
        return false;
    comparison->is_of_cpu = true;
    for (size_t run = 0; run < runs; run++)
        comparison->is_of_cpu = comparison->is_of_cpu && comparison->runs[run].cpu_ns > 0;
    for (size_t run = 0; run < runs; run++) {
        const struct hp_measured_run *measured = &comparison->runs[run];
        const double total = comparison->is_of_cpu ? measured->cpu_ns : measured->elapsed_ns;
        comparison->totals[run] = total > 0 ? total : 1;
    }
    comparison->total = (struct hp_judged_row){
        .before = comparison->totals, .now = comparison->totals + comparison->before_count, .share = 1};
    return hp_judge_total(&comparison->total, comparison->before_count, comparison->now_count);
}

/* Once they are sorted. */
static void find_extremes(struct hp_comparison *comparison)
{
    double share = 0, least = 0;
    for (size_t at = 0; at < comparison->count; at++) {
        const struct hp_compared_function *function = &comparison->functions[at];
        if (!function->is_row)
            continue;
        if (function->judged.share > share) {
            comparison->largest = at;
            share = function->judged.share;
        }
        if (function->judged.least > least) {
            comparison->worst = at;
            least = function->judged.least;
        }
    }
}

/* ------------------------------------------------------------------------------------------------------- causes */

static bool is_changed(const struct hp_compared_function *function)
{
    return function->is_row && function->judged.verdict > HP_VERDICT_SAME;
}

static double *slow_calls_of(const struct hp_comparison *comparison, size_t number, double *values)
{
    for (size_t run = 0; run < run_count(comparison); run++) {
        if (!has_value(comparison, number, run, HP_METRIC_P95))
            return NULL;
        values[run] = cell(comparison, number, run)->values[HP_METRIC_P95];
    }
    return values;
}

/*
 * A callee whose slow calls became slower shows in its caller: the typical call of the callee, which is taken out,
 * is that of its fast calls. Whether those could be all of the caller's change.
 */
static void ask_callee(const struct hp_comparison *comparison, const struct hp_cause_call *call, double *scratch)
{
    const size_t before = comparison->before_count, now = comparison->now_count;
    struct hp_compared_function *caller = &comparison->functions[call->caller];
    const struct hp_compared_function *callee = &comparison->functions[call->callee];
    const double *own = comparison->values + call->caller * (before + now);
    double *slow = slow_calls_of(comparison, call->callee, scratch);
    if (!is_changed(caller) || !caller->is_steady || is_changed(callee) || slow == NULL)
        return;
    const bool differs = hp_rank_p(slow, before, slow + before, now) < SLOW_CHANCE;
    const double from = hp_median(slow, before), to = hp_median(slow + before, now);
    const double change = expm1(caller->judged.change) * hp_mean(own, before);
    const double most = MOST_SLOW * call->calls * (to - from);
    if (differs && (change > 0 ? most >= change : most <= change) &&
        (caller->slow_callee == NULL || fabs(to - from) > fabs(caller->slow_now - caller->slow_before))) {
        caller->slow_callee = callee->name;
        caller->slow_before = from;
        caller->slow_now = to;
    }
}

/* In `calls` functions have the numbers that they have before they are sorted. */
static bool find_causes(struct hp_comparison *comparison, const struct hp_cause_call *calls, size_t call_count)
{
    const size_t count = comparison->count;
    double *weights = malloc((count + 1) * sizeof *weights);
    double *scratch = malloc((run_count(comparison) + 1) * sizeof *scratch);
    bool is_found = weights != NULL && scratch != NULL;
    for (size_t at = 0; at < call_count && is_found; at++)
        ask_callee(comparison, &calls[at], scratch);
    for (size_t at = 0; at < count && is_found; at++) {
        const struct hp_compared_function *function = &comparison->functions[at];
        weights[at] = is_changed(function) ? fabs(function->judged.change) * function->judged.share : 0;
    }
    is_found = is_found && hp_causes_put_deepest_first(weights, count, calls, call_count);
    for (size_t at = 0; at < count && is_found; at++)
        comparison->functions[at].weight = weights[at];
    free(weights);
    free(scratch);
    return is_found;
}

/* ------------------------------------------------------------------------------------------------------ sorting */

static int compare_functions(const void *a, const void *b)
{
    const struct hp_compared_function *x = *(struct hp_compared_function *const *)a;
    const struct hp_compared_function *y = *(struct hp_compared_function *const *)b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->judged.share != y->judged.share)
        return x->judged.share > y->judged.share ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorts the functions and remembers where their cells are. */
static bool sort_functions(struct hp_comparison *comparison)
{
    const size_t count = comparison->count;
    struct hp_compared_function **order = malloc((count + 1) * sizeof(struct hp_compared_function *));
    struct hp_compared_function *sorted = malloc((count + 1) * sizeof *sorted);
    comparison->numbers = malloc((count + 1) * sizeof *comparison->numbers);
    if (order != NULL && sorted != NULL && comparison->numbers != NULL) {
        for (size_t at = 0; at < count; at++)
            order[at] = &comparison->functions[at];
        qsort(order, count, sizeof(struct hp_compared_function *), compare_functions);
        for (size_t at = 0; at < count; at++) {
            comparison->numbers[at] = (size_t)(order[at] - comparison->functions);
            sorted[at] = *order[at];
        }
        free(order);
        free(comparison->functions);
        comparison->functions = sorted;
        return true;
    }
    free(order);
    free(sorted);
    return false;
}

double hp_comparison_own_time(const struct hp_comparison *comparison, size_t function)
{
    const size_t number = comparison->numbers[function], count = comparison->now_count;
    double *values = malloc((count + 1) * sizeof *values);
    if (values == NULL)
        return 0;
    memcpy(values, comparison->values + number * run_count(comparison) + comparison->before_count,
           count * sizeof *values);
    const double middle = hp_median(values, count);
    free(values);
    return middle;
}

bool hp_comparison_counts_instructions(const struct hp_comparison *comparison)
{
    bool counts = true;
    for (size_t run = comparison->before_count; run < comparison->before_count + comparison->now_count; run++)
        counts = counts && hp_text_begins(comparison->runs[run].clock, "instructions");
    return counts;
}

bool hp_comparison_most(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                        double *ret_value)
{
    const size_t number = comparison->numbers[function];
    bool is_known = false;
    *ret_value = 0;
    for (size_t run = comparison->before_count; run < run_count(comparison); run++)
        if (has_value(comparison, number, run, metric)) {
            is_known = true;
            *ret_value = fmax(*ret_value, cell(comparison, number, run)->values[metric]);
        }
    return is_known;
}

const struct hp_measured_function *hp_comparison_now(const struct hp_comparison *comparison, size_t function)
{
    const struct hp_measured_function *found = NULL;
    for (size_t run = comparison->before_count; run < run_count(comparison) && found == NULL; run++)
        found = cell(comparison, comparison->numbers[function], run);
    return found;
}

static bool is_same_source(const struct hp_measured_source *a, const struct hp_measured_source *b)
{
    return strcmp(a->commit, b->commit) == 0 && strcmp(a->branch, b->branch) == 0 &&
           strcmp(a->dirty, b->dirty) == 0;
}

const struct hp_measured_source *hp_comparison_source(const struct hp_comparison *comparison, bool is_now)
{
    const size_t from = is_now ? comparison->before_count : 0;
    const size_t to = is_now ? run_count(comparison) : comparison->before_count;
    const struct hp_measured_source *first = &comparison->runs[from].source;
    for (size_t run = from; run < to; run++)
        if (!is_same_source(&comparison->runs[run].source, first))
            return NULL;
    return first;
}

bool hp_comparison_range(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                         double *ret_most_before, double *ret_least_now)
{
    const size_t number = comparison->numbers[function];
    *ret_most_before = 0;
    *ret_least_now = INFINITY;
    for (size_t run = 0; run < run_count(comparison); run++) {
        if (!has_value(comparison, number, run, metric))
            return false;
        const double value = cell(comparison, number, run)->values[metric];
        if (run < comparison->before_count)
            *ret_most_before = fmax(*ret_most_before, value);
        else
            *ret_least_now = fmin(*ret_least_now, value);
    }
    return true;
}

bool hp_comparison_value(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                         bool is_now, double *ret_value)
{
    const size_t number = comparison->numbers[function];
    const size_t from = is_now ? comparison->before_count : 0;
    const size_t count = is_now ? comparison->now_count : comparison->before_count;
    double *values = malloc((count + 1) * sizeof *values);
    bool have_all = values != NULL;
    for (size_t run = 0; run < count && have_all; run++) {
        have_all = has_value(comparison, number, from + run, metric);
        values[run] = have_all ? cell(comparison, number, from + run)->values[metric] : 0;
    }
    *ret_value = have_all ? hp_median(values, count) : 0;
    free(values);
    return have_all;
}

/* ------------------------------------------------------------------------------------------------------ outcome */

static bool is_slower(const struct hp_judged_row *row) { return row->verdict == HP_VERDICT_SLOWER; }

static bool has_grown(const struct hp_comparison *comparison, size_t function)
{
    double before, now;
    for (size_t at = 0; at < sizeof exact_metrics / sizeof exact_metrics[0]; at++)
        if (comparison->functions[function].exact[exact_metrics[at]] == HP_EXACT_CHANGED &&
            hp_comparison_value(comparison, function, exact_metrics[at], false, &before) &&
            hp_comparison_value(comparison, function, exact_metrics[at], true, &now) && now > before)
            return true;
    return false;
}

enum hp_outcome hp_comparison_outcome(const struct hp_comparison *comparison)
{
    bool is_worse = is_slower(&comparison->total) || (comparison->has_common && is_slower(&comparison->common)) ||
                    (comparison->has_rest && is_slower(&comparison->rest));
    for (size_t at = 0; at < comparison->count && !is_worse; at++)
        is_worse = is_slower(&comparison->functions[at].judged) || has_grown(comparison, at);
    for (size_t at = 0; at < comparison->lock_count && !is_worse; at++)
        is_worse = is_slower(&comparison->locks[at].waiting);
    return is_worse                                           ? HP_OUTCOME_REGRESSION
           : comparison->total.verdict == HP_VERDICT_UNJUDGED ? HP_OUTCOME_UNJUDGED
                                                              : HP_OUTCOME_FINE;
}

/* ------------------------------------------------------------------------------------------------------- making */

/* Who calls whom is as the first run now has it. */
static bool explain(const struct matching *matching)
{
    struct hp_comparison *comparison = matching->comparison;
    const size_t run = comparison->before_count;
    const struct hp_measured_run *measured = &comparison->runs[run];
    struct hp_cause_call *calls = calloc(measured->callees.count + 1, sizeof *calls);
    size_t count = 0;
    for (size_t at = 0; at < measured->callees.count && calls != NULL; at++) {
        const struct hp_pair *pair = &measured->callees.all[at];
        const uint32_t caller = matching->numbers[run][pair->first], callee = matching->numbers[run][pair->second];
        if (caller != UINT32_MAX && callee != UINT32_MAX)
            calls[count++] = (struct hp_cause_call){caller, callee, measured->calls[at]};
    }
    const bool is_explained = calls != NULL && find_causes(comparison, calls, count);
    free(calls);
    return is_explained;
}

static bool make(struct matching *matching)
{
    struct hp_comparison *comparison = matching->comparison;
    comparison->is_sampled = !is_measured(&comparison->runs[0]);
    comparison->is_of_one_clock = have_one_clock(comparison);
    if (!match_all(matching))
        return false;
    comparison->values = calloc(comparison->count * run_count(comparison) + 1, sizeof *comparison->values);
    if (comparison->values == NULL)
        return false;
    if (comparison->is_sampled)
        fill_sampled(comparison, comparison->values);
    else if (!fill_timed(matching, comparison->values))
        return false;
    for (size_t number = 0; number < comparison->count; number++)
        judge_exact_numbers(comparison, number);
    find_shares(comparison, comparison->values);
    if (!judge_rows(comparison) || !judge_whole(comparison) || !compare_all_locks(comparison))
        return false;
    for (size_t at = 0; at < comparison->count; at++)
        for (enum hp_metric metric = 0; metric < HP_METRICS; metric++)
            comparison->unsteady_count += comparison->functions[at].exact[metric] == HP_EXACT_UNSTEADY;
    if (!explain(matching) || !sort_functions(comparison))
        return false;
    find_extremes(comparison);
    return true;
}

bool hp_comparison_make(struct hp_comparison *comparison)
{
    struct matching matching = {.comparison = comparison};
    matching.numbers = calloc(run_count(comparison) + 1, sizeof *matching.numbers);
    const bool is_made = matching.numbers != NULL && make(&matching);
    for (size_t run = 0; run < run_count(comparison) && matching.numbers != NULL; run++)
        free(matching.numbers[run]);
    free(matching.numbers);
    hp_hash_free(&matching.index);
    return is_made;
}

void hp_comparison_free(struct hp_comparison *comparison)
{
    free(comparison->functions);
    free(comparison->cells);
    free(comparison->numbers);
    free(comparison->values);
    free(comparison->totals);
    free(comparison->rests);
    free(comparison->locks);
    free(comparison->lock_waits);
}
