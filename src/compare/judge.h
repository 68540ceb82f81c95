/*
 * Whether times have changed between runs before and runs now: the statistics of a comparison. Pure: numbers in,
 * verdicts out. docs/compare.md describes these rules.
 *
 *     struct hp_judged_row rows[] = {{.before = ..., .now = ..., .share = 0.24}, ...};
 *     struct hp_judgement judgement = {.rows = rows, .row_count = 16, .before_count = 10, .now_count = 10};
 *     if (!hp_judge_timed(&judgement))
 *         no memory
 *
 * Exact numbers (calls, allocations) need no statistics: any difference is one. SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_JUDGE_H
#define HP_COMPARE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_JUDGE_LEVEL 0.05        /* the chance of any false alarm among all rows */
#define HP_JUDGE_LEAST_CHANGE 0.02 /* less is no change worth a name */
#define HP_JUDGE_LEAST_SHARE 0.01  /* of a row that is judged by itself */
#define HP_JUDGE_LEAST_RUNS 5u     /* a side; fewer cannot tell noise from change */

#define HP_JUDGE_COMMON_ROWS 4u

enum hp_verdict {
    HP_VERDICT_UNJUDGED, /* too few runs */
    HP_VERDICT_SAME,     /* no change that could be told */
    HP_VERDICT_FASTER,
    HP_VERDICT_SLOWER
};

/* Changes are logarithms of ratios: hp_percent_of_change. */
struct hp_judged_row {
    const double *before, *now; /* a value per run, above 0 */
    double share;               /* of the time, 0 to 1 */
    double grain; /* the error of a change that all runs share, as a deviation: more runs do not help */
    bool is_low;  /* by the lower half of its runs */
    bool is_sum;  /* of whole calls, with all interruptions, which single runs have far more of: by ranks, too */
    /* What is found: */
    double change;    /* the estimate */
    double low, high; /* covers the true change with a chance of 95 % */
    double p;         /* the chance of such a difference without a change, corrected for the number of rows */
    double least;     /* a change of this size would have shown in four of five comparisons */
    enum hp_verdict verdict;
};

struct hp_judgement {
    struct hp_judged_row *rows;
    size_t row_count, before_count, now_count;
    bool has_common;             /* of hp_judge_timed, if there are enough rows to have something in common */
    struct hp_judged_row common; /* what that is */
};

/*
 * Times of measured functions. What all rows of a run have in common is the machine, or the build: it is taken out
 * of them and judged by itself, in `common`. Of fewer than HP_JUDGE_COMMON_ROWS rows, the change of one could not
 * be told from it, and nothing is taken out. False: no memory.
 */
bool hp_judge_timed(struct hp_judgement *judgement);

/*
 * Numbers of samples. Nothing is taken out: contention slows functions that use memory more than others, so it is
 * not common. False: no memory.
 */
bool hp_judge_sampled(struct hp_judgement *judgement);

/* One number per run by itself: the CPU time of the program. False: no memory. */
bool hp_judge_total(struct hp_judged_row *row, size_t before_count, size_t now_count);

/*
 * What is known before the runs: the least change that so many runs a side can show in a row, at best. Of a timed
 * row that needs its grain, and of a sampled one how many samples a run has.
 */
double hp_judge_foreseen_timed(double grain, size_t row_count, size_t runs);
double hp_judge_foreseen_sampled(double samples, size_t runs);

/* How many runs a side need such a row to show that change. */
double hp_judge_pairs_for(double change, double samples);

/*
 * When runs of unknown number end (`hotpath bench -n auto`): when the total is known well, and at the latest after
 * some time. `width` is that of the interval of the total, as a logarithm; each run a side is a pair.
 */
#define HP_JUDGE_MOST_PAIRS 1000u
#define HP_JUDGE_MOST_NS UINT64_C(180000000000)
#define HP_JUDGE_TOTAL_WIDTH 0.01 /* on each side of it */
bool hp_judge_has_enough(size_t pairs, uint64_t spent_ns, double width);

double hp_percent_of_change(double change); /* 0.0488 -> 5.0 */

#endif
