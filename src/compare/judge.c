/* Whether times have changed between runs before and runs now. SPDX-License-Identifier: MIT */
#include "judge.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probability.h"

/* Equal runs can have no scatter at all, as percentiles are read from counters of some width. */
#define LEAST_DEVIATION 0.001
#define MOST_WEIGHT 2.0         /* of the median share */
#define POWER_P 0.4             /* two-sided, of the t that 80 % of repetitions exceed */
#define CLIP 3.0                /* deviations from the middle; farther out is an accident of the machine */
#define ACCIDENTS 10            /* one run in so many can have one */
#define LOW_SCATTER 2.0         /* of means of lower halves to that within them, and a reserve, by simulation */
#define LOW_LEAST_RUNS 8u       /* half of fewer runs would tell too little */
#define SUM_TESTS 5.0           /* a sum counts for so many tests: its scatter is not that of Student's t */
#define COUNTING_LIMIT 3.0      /* deviations of a count that a change must be away */
#define NORMAL_DEVIATION 1.4826 /* of a median of absolute differences */

double hp_percent_of_change(double change) { return 100 * expm1(change); }

bool hp_judge_has_enough(size_t pairs, uint64_t spent_ns, double width)
{
    return spent_ns >= HP_JUDGE_MOST_NS || pairs >= HP_JUDGE_MOST_PAIRS ||
           (pairs >= HP_JUDGE_LEAST_RUNS && width < 2 * HP_JUDGE_TOTAL_WIDTH);
}

/* ------------------------------------------------------------------------------------------------------- tables */

/* The logarithms of all rows in all runs, those before first, and room to work with. */
struct work {
    struct hp_judgement *judgement;
    size_t runs;
    double *logs;      /* [row][run] */
    double *levels;    /* of each row: the middle between both sides */
    double *common;    /* of each run */
    double *residues;  /* of a row, run by run */
    double *scratch;   /* as many as there are rows or runs */
    double *variances; /* of each row */
    double *p, *adjusted;
    size_t *order;
    bool *is_changed; /* of each row, by the first pass */
    bool *is_carried; /* of each row: it has what is common in it */
    bool are_sums_left_out;
    double most_weight;
};

static void free_work(struct work *work)
{
    free(work->logs);
    free(work->order);
    free(work->is_changed);
}

static bool make_work(struct work *work, struct hp_judgement *judgement)
{
    const size_t rows = judgement->row_count, runs = judgement->before_count + judgement->now_count;
    *work = (struct work){.judgement = judgement, .runs = runs};
    work->logs = calloc(rows * runs + 5 * rows + 3 * runs + 1, sizeof *work->logs);
    work->order = calloc(rows + 1, sizeof *work->order);
    work->is_changed = calloc(2 * rows + 1, sizeof *work->is_changed);
    if (work->logs == NULL || work->order == NULL || work->is_changed == NULL) {
        free_work(work);
        return false;
    }
    work->is_carried = work->is_changed + rows;
    work->levels = work->logs + rows * runs;
    work->variances = work->levels + rows;
    work->p = work->variances + rows;
    work->adjusted = work->p + rows;
    work->common = work->adjusted + rows;
    work->residues = work->common + runs;
    work->scratch = work->residues + runs; /* rows + runs */
    return true;
}

static double value_of(const struct hp_judgement *judgement, const struct hp_judged_row *row, size_t run)
{
    return run < judgement->before_count ? row->before[run] : row->now[run - judgement->before_count];
}

static void take_logs(struct work *work, double added)
{
    for (size_t row = 0; row < work->judgement->row_count; row++)
        for (size_t run = 0; run < work->runs; run++)
            work->logs[row * work->runs + run] =
                log(value_of(work->judgement, &work->judgement->rows[row], run) + added);
}

static double median_of(struct work *work, const double *values, size_t count)
{
    memcpy(work->scratch, values, count * sizeof *values);
    return hp_median(work->scratch, count);
}

/*
 * Pulls what is far out back to the edge. Accidents are few: where more runs are far out, the machine had two
 * states, and which side met which one more often is chance, which must be seen as scatter.
 */
static void clip(struct work *work, double *values, size_t count)
{
    const double middle = median_of(work, values, count);
    for (size_t at = 0; at < count; at++)
        work->scratch[at] = fabs(values[at] - middle);
    const double usual = CLIP * NORMAL_DEVIATION * hp_median(work->scratch, count); /* it sorts them */
    const double most = fmax(usual, work->scratch[count - 1 - count / ACCIDENTS]);
    for (size_t at = 0; at < count; at++)
        values[at] = fmin(fmax(values[at], middle - most), middle + most);
}

/* --------------------------------------------------------------------------------------------------- one change */

/*
 * How many of a side's runs tell of a row. Typical calls have a floor, and what the machine adds to some runs only
 * makes them longer: the lower half of the runs is what the program takes, if half of them were spared.
 */
static size_t told_by(const struct hp_judged_row *row, size_t runs) { return row->is_low ? (runs + 1) / 2 : runs; }

static double freedom_of(const struct hp_judgement *judgement, const struct hp_judged_row *row)
{
    return (double)(told_by(row, judgement->before_count) + told_by(row, judgement->now_count)) - 2;
}

static double error_of(const struct hp_judgement *judgement, const struct hp_judged_row *row, double variance)
{
    const double least = LEAST_DEVIATION * LEAST_DEVIATION;
    return sqrt(fmax(variance, least) * (1 / (double)told_by(row, judgement->before_count) +
                                         1 / (double)told_by(row, judgement->now_count)));
}

static bool has_enough_runs(const struct hp_judgement *judgement)
{
    return judgement->before_count >= HP_JUDGE_LEAST_RUNS && judgement->now_count >= HP_JUDGE_LEAST_RUNS;
}

/* Changes below `least` get no verdict. */
static void give_verdict(const struct hp_judgement *judgement, struct hp_judged_row *row, double least)
{
    const bool is_large = fabs(expm1(row->change)) >= HP_JUDGE_LEAST_CHANGE && fabs(row->change) >= least;
    row->verdict = !has_enough_runs(judgement)             ? HP_VERDICT_UNJUDGED
                   : row->p >= HP_JUDGE_LEVEL || !is_large ? HP_VERDICT_SAME
                   : row->change > 0                       ? HP_VERDICT_SLOWER
                                                           : HP_VERDICT_FASTER;
}

/* The change of a series of runs, the lower half of each side or all of it, clipped. Returns its scatter. */
static double measure_change(struct work *work, struct hp_judged_row *row, double *series)
{
    const size_t before = told_by(row, work->judgement->before_count);
    const size_t now = told_by(row, work->judgement->now_count);
    double *const series_now = series + work->judgement->before_count;
    if (row->is_low) {
        hp_median(series, work->judgement->before_count); /* it sorts them */
        hp_median(series_now, work->judgement->now_count);
    } else {
        clip(work, series, before);
        clip(work, series_now, now);
    }
    row->change = hp_mean(series_now, now) - hp_mean(series, before);
    const double freedom = freedom_of(work->judgement, row);
    const double sum =
        hp_variance(series, before) * (double)(before - 1) + hp_variance(series_now, now) * (double)(now - 1);
    return freedom > 0 ? (row->is_low ? LOW_SCATTER : 1) * sum / freedom : 0;
}

/* By Student's t; `tests` are made at once. Returns p. */
static double weigh_change(const struct hp_judgement *judgement, struct hp_judged_row *row, double variance,
                           double tests)
{
    const double freedom = freedom_of(judgement, row),
                 error = hypot(error_of(judgement, row, variance), row->grain);
    if (freedom <= 0) {
        row->low = -INFINITY;
        row->high = row->least = INFINITY;
        return row->p = 1;
    }
    const double side = hp_student_limit(0.05, freedom) * error;
    row->low = row->change - side;
    row->high = row->change + side;
    row->least =
        error * (hp_student_limit(HP_JUDGE_LEVEL / fmax(tests, 1), freedom) + hp_student_limit(POWER_P, freedom));
    return row->p = hp_student_p(row->change / error, freedom);
}

/* Corrects the chances of the rows for their number, and gives verdicts. */
static void conclude(struct work *work,
                     double (*least_of)(const struct hp_judgement *, const struct hp_judged_row *))
{
    struct hp_judgement *judgement = work->judgement;
    hp_holm_adjust(work->p, work->adjusted, work->order, judgement->row_count);
    for (size_t row = 0; row < judgement->row_count; row++) {
        judgement->rows[row].p = work->adjusted[row];
        give_verdict(judgement, &judgement->rows[row],
                     least_of != NULL ? least_of(judgement, &judgement->rows[row]) : 0);
    }
}

/* ------------------------------------------------------------------------------------------------------- timed */

/*
 * Rows that have changed say nothing about what is common, unless all have. Sums are noisy for reasons of their
 * own, so they count only where there are not enough other rows.
 */
static bool counts(const struct work *work, size_t row, bool are_all_changed)
{
    return (are_all_changed || !work->is_changed[row]) &&
           !(work->are_sums_left_out && work->judgement->rows[row].is_sum);
}

/* A function with half of the time would be what is common by itself, and its change that of all others. */
static double weight_of(const struct work *work, size_t row)
{
    return fmin(work->judgement->rows[row].share, work->most_weight);
}

/* The median of one run over rows, weighted by their shares up to a limit. */
static double common_of(struct work *work, size_t run, bool are_all_changed)
{
    const struct hp_judgement *judgement = work->judgement;
    double half = 0, sum = 0;
    size_t count = 0;
    for (size_t row = 0; row < judgement->row_count; row++) {
        if (!counts(work, row, are_all_changed))
            continue;
        const double residue = work->logs[row * work->runs + run] - work->levels[row];
        size_t place = count++;
        for (; place > 0 && work->scratch[place - 1] > residue; place--) {
            work->scratch[place] = work->scratch[place - 1];
            work->order[place] = work->order[place - 1];
        }
        work->scratch[place] = residue;
        work->order[place] = row;
        half += weight_of(work, row) / 2;
    }
    for (size_t place = 0; place < count; place++) {
        sum += weight_of(work, work->order[place]);
        if (sum >= half)
            return work->scratch[place];
    }
    return 0;
}

static void find_common(struct work *work)
{
    const size_t rows = work->judgement->row_count, before = work->judgement->before_count;
    bool are_all_changed = true;
    for (size_t row = 0; row < rows; row++)
        are_all_changed = are_all_changed && work->is_changed[row];
    for (size_t row = 0; row < rows; row++)
        work->variances[row] = work->judgement->rows[row].share; /* until it is their turn */
    work->most_weight = MOST_WEIGHT * median_of(work, work->variances, rows);
    for (size_t row = 0; row < rows; row++) {
        const double *logs = work->logs + row * work->runs;
        work->levels[row] =
            (median_of(work, logs, before) + median_of(work, logs + before, work->runs - before)) / 2;
    }
    for (size_t run = 0; run < work->runs; run++)
        work->common[run] = work->judgement->has_common ? common_of(work, run, are_all_changed) : 0;
}

/* The median variance of one kind of rows. */
static double usual_variance(struct work *work, bool are_sums)
{
    size_t count = 0;
    for (size_t row = 0; row < work->judgement->row_count; row++)
        if (work->judgement->rows[row].is_sum == are_sums)
            work->scratch[count++] = work->variances[row];
    return hp_median(work->scratch, count);
}

/* The change of a row, with what is common taken out. Returns its scatter. */
static double measure_residues(struct work *work, size_t row, double part)
{
    for (size_t run = 0; run < work->runs; run++)
        work->residues[run] = work->logs[row * work->runs + run] - part * work->common[run];
    return measure_change(work, &work->judgement->rows[row], work->residues);
}

/*
 * What slows most functions down need not slow down this one: a busy neighbour of the CPU hurts those that wait for
 * memory, and leaves others alone. A row that gets noisier without what is common keeps it.
 */
static double measure_row(struct work *work, size_t row)
{
    const double own = measure_residues(work, row, 0);
    const double rest = measure_residues(work, row, 1);
    work->is_carried[row] = rest <= own;
    return work->is_carried[row] ? rest : measure_residues(work, row, 0);
}

/* There is something in common if taking it out makes most of the rows quieter that told of it. */
static bool has_common(const struct work *work)
{
    size_t carried = 0, counted = 0;
    for (size_t row = 0; row < work->judgement->row_count; row++)
        if (counts(work, row, true)) {
            carried += work->is_carried[row];
            counted++;
        }
    return 3 * carried > 2 * counted;
}

/*
 * The variance of a row is at least the median of its kind: of ten numbers it is known badly, and rows that are
 * quiet by chance would give most of the false alarms.
 */
static void judge_rows(struct work *work)
{
    struct hp_judgement *judgement = work->judgement;
    for (size_t row = 0; row < judgement->row_count; row++) {
        work->variances[row] = measure_row(work, row);
        work->p[row] = judgement->rows[row].is_sum
                           ? hp_rank_p(work->residues, judgement->before_count,
                                       work->residues + judgement->before_count, judgement->now_count)
                           : 0;
    }
    const double usual[2] = {usual_variance(work, false), usual_variance(work, true)};
    for (size_t row = 0; row < judgement->row_count; row++) {
        struct hp_judged_row *judged = &judgement->rows[row];
        const double weight = judged->is_sum ? SUM_TESTS : 1;
        const double p = weigh_change(judgement, judged, fmax(work->variances[row], usual[judged->is_sum]),
                                      weight * (double)judgement->row_count);
        work->p[row] = fmin(weight * fmax(work->p[row], p), 1);
    }
    conclude(work, NULL);
}

double hp_judge_foreseen_timed(double grain, size_t row_count, size_t runs)
{
    const double freedom = fmax(2 * (double)runs - 2, 1);
    return hypot(LEAST_DEVIATION * sqrt(2 / (double)runs), grain) *
           (hp_student_limit(HP_JUDGE_LEVEL / (double)(row_count > 0 ? row_count : 1), freedom) +
            hp_student_limit(POWER_P, freedom));
}

bool hp_judge_timed(struct hp_judgement *judgement)
{
    struct work work;
    if (!make_work(&work, judgement))
        return false;
    take_logs(&work, 0);
    judgement->has_common = judgement->row_count >= HP_JUDGE_COMMON_ROWS;
    const bool is_halved = judgement->before_count >= LOW_LEAST_RUNS && judgement->now_count >= LOW_LEAST_RUNS;
    size_t others = 0;
    for (size_t row = 0; row < judgement->row_count; row++) {
        judgement->rows[row].is_low = is_halved && !judgement->rows[row].is_sum;
        others += !judgement->rows[row].is_sum;
    }
    work.are_sums_left_out = others >= HP_JUDGE_COMMON_ROWS;
    for (int pass = 0; pass < 2; pass++) {
        find_common(&work);
        judge_rows(&work);
        judgement->has_common = judgement->has_common && has_common(&work);
        for (size_t row = 0; row < judgement->row_count; row++)
            work.is_changed[row] = judgement->rows[row].verdict > HP_VERDICT_SAME;
    }
    const double variance = measure_change(&work, &judgement->common, work.common);
    weigh_change(judgement, &judgement->common, variance, 1);
    give_verdict(judgement, &judgement->common, 0);
    free_work(&work);
    return true;
}

/* ------------------------------------------------------------------------------------------------------ sampled */

/* A row of k samples cannot show less, however quiet the machine: samples are counted. */
static double counting_limit(const struct hp_judgement *judgement, const struct hp_judged_row *row)
{
    const double before = hp_mean(row->before, judgement->before_count) * (double)judgement->before_count;
    const double now = hp_mean(row->now, judgement->now_count) * (double)judgement->now_count;
    return COUNTING_LIMIT * sqrt(1 / fmax(before, 1) + 1 / fmax(now, 1));
}

double hp_judge_foreseen_sampled(double samples, size_t runs)
{
    return COUNTING_LIMIT * sqrt(2 / fmax(samples * (double)runs, 1));
}

double hp_judge_pairs_for(double change, double samples)
{
    return 2 * COUNTING_LIMIT * COUNTING_LIMIT / (log1p(change) * log1p(change) * fmax(samples, 0.1));
}

/* The estimate and interval of Hodges and Lehmann, which agree with the rank test: from all differences. */
static bool measure_ranks(const struct work *work, struct hp_judged_row *row, const double *logs)
{
    const size_t before = work->judgement->before_count, now = work->judgement->now_count;
    const size_t margin = hp_rank_margin(before, now);
    double *differences = malloc((before * now + 1) * sizeof *differences);
    if (differences == NULL)
        return false;
    for (size_t a = 0; a < before; a++)
        for (size_t b = 0; b < now; b++)
            differences[a * now + b] = logs[before + b] - logs[a];
    row->change = hp_median(differences, before * now);
    const bool is_known = margin != SIZE_MAX && 2 * margin < before * now;
    row->low = is_known ? differences[margin] : -INFINITY;
    row->high = is_known ? differences[before * now - 1 - margin] : INFINITY;
    free(differences);
    return true;
}

bool hp_judge_sampled(struct hp_judgement *judgement)
{
    struct work work;
    bool has_memory = make_work(&work, judgement);
    if (!has_memory)
        return false;
    take_logs(&work, 0.5); /* a function may be found by no sample */
    for (size_t at = 0; at < judgement->row_count && has_memory; at++) {
        struct hp_judged_row *row = &judgement->rows[at];
        memcpy(work.residues, work.logs + at * work.runs, work.runs * sizeof *work.residues);
        const double variance = measure_change(&work, row, work.residues);
        weigh_change(judgement, row, variance, (double)judgement->row_count);
        row->least = fmax(row->least, counting_limit(judgement, row));
        has_memory = measure_ranks(&work, row, work.logs + at * work.runs);
        work.p[at] = hp_rank_p(row->before, judgement->before_count, row->now, judgement->now_count);
    }
    conclude(&work, counting_limit);
    free_work(&work);
    return has_memory;
}

/* By ranks, too: contention makes single runs much longer, and t of five such numbers is wrong too often. */
bool hp_judge_total(struct hp_judged_row *row, size_t before_count, size_t now_count)
{
    struct work work;
    struct hp_judgement alone = {.rows = row, .row_count = 1, .before_count = before_count, .now_count = now_count};
    if (!make_work(&work, &alone))
        return false;
    take_logs(&work, 0);
    memcpy(work.residues, work.logs, work.runs * sizeof *work.residues);
    weigh_change(&alone, row, measure_change(&work, row, work.residues), 1);
    const bool has_memory = measure_ranks(&work, row, work.logs);
    row->p = hp_rank_p(row->before, before_count, row->now, now_count);
    give_verdict(&alone, row, 0);
    free_work(&work);
    return has_memory;
}
