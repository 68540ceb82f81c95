/*
 * Runs before and runs now, function by function: which numbers have changed. docs/compare.md describes the rules.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_COMPARISON_H
#define HP_COMPARE_COMPARISON_H

#include "judge.h"
#include "measured_run.h"

/*
 * Percentiles come from counters that are 1/64 of their value wide. Within one, any value is as likely, and all
 * runs of a side may be in the same: the deviation of a ratio of two such numbers.
 */
#define HP_TYPICAL_GRAIN 0.0064

/* Of numbers that do not depend on the machine: calls, allocations, bytes, peak. */
enum hp_exact {
    HP_EXACT_UNKNOWN,
    HP_EXACT_EQUAL,
    HP_EXACT_CHANGED,
    HP_EXACT_UNSTEADY /* runs of one side differ among themselves, so nothing is said */
};

struct hp_compared_function {
    const char *name, *file, *library;
    bool is_new, is_gone;
    bool is_row;                 /* it has at least one per cent of the time, and is judged */
    bool is_steady;              /* judged by its typical call; else by its self time */
    struct hp_judged_row judged; /* of a row; its share is that of any function that is in all runs */
    enum hp_exact exact[HP_METRICS];
    double weight;                /* of a changed row: how far up it comes */
    const char *slow_callee;      /* whose slow calls may be the reason that this row has changed; NULL: none */
    double slow_before, slow_now; /* its P95 */
};

/* Locks are matched by name. Waiting is judged by ranks, as samples are. */
struct hp_compared_lock {
    const char *name;
    bool is_in_all;           /* the runs; else it is not judged */
    double before[3], now[3]; /* the middle of locked, contended and wait_ns, of runs that have it */
    enum hp_exact locked;
    struct hp_judged_row waiting; /* its share is that of the waiting for all locks */
};

struct hp_comparison {
    struct hp_measured_run *runs; /* those before first */
    size_t before_count, now_count;
    size_t pairs;                           /* they were recorded in turns, in random order; 0: not known */
    struct hp_compared_function *functions; /* changed rows first, the heaviest change on top; then by share */
    size_t count;
    bool is_sampled;      /* of functions found in stacks: nothing is measured */
    bool is_of_one_clock; /* else instructions are not compared; times are refused */
    bool is_of_cpu;       /* the total is CPU time; else time from start to end */
    struct hp_judged_row total;
    bool has_common;
    struct hp_judged_row common; /* of measured functions: what all have in common */
    bool has_rest;               /* functions that are no rows, together */
    size_t rest_count;
    struct hp_judged_row rest;
    struct hp_compared_lock *locks; /* changed ones first, then by share */
    size_t lock_count;
    size_t row_count, unsteady_count;
    size_t most_lines;     /* of one kind in a text, whose reader knows how to ask for more; 0: ten */
    size_t largest, worst; /* rows: the one with the largest share, and the one with the largest `least` */
    /* Inside: */
    const struct hp_measured_function **cells; /* [number][run]; NULL: the run does not have it */
    size_t *numbers;                           /* of functions before they were sorted */
    double *values;                            /* of rows, [row][run] */
    double *totals, *rests;
    double *lock_waits; /* [lock][run] */
};

/*
 * A line on why they cannot be compared; NULL: they can. `text` is room for it. `is_exact_only`: numbers that do
 * not depend on the machine can.
 */
const char *hp_comparison_refusal(const struct hp_comparison *comparison, bool is_exact_only, char *text,
                                  size_t size);

/* Compares the runs. False: no memory. Free it in either case; the runs stay the caller's. */
bool hp_comparison_make(struct hp_comparison *comparison);
void hp_comparison_free(struct hp_comparison *comparison);

enum hp_outcome {
    HP_OUTCOME_FINE,
    HP_OUTCOME_REGRESSION, /* a time is slower, or a number that does not depend on the machine has grown */
    HP_OUTCOME_UNJUDGED    /* no such number has grown, and there are too few runs for times */
};

enum hp_outcome hp_comparison_outcome(const struct hp_comparison *comparison);

/* The middle of what a function is judged by, over the runs now: nanoseconds, or samples. */
double hp_comparison_own_time(const struct hp_comparison *comparison, size_t function);

/* The middle of a number over the runs of one side. False: not all of them have it. */
bool hp_comparison_value(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                         bool is_now, double *ret_value);

/* Whether all runs now measured with a clock that counts instructions. */
bool hp_comparison_counts_instructions(const struct hp_comparison *comparison);
/* The most that any of the runs now has. False: none knows it. */
bool hp_comparison_most(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                        double *ret_value);

/* The most of the runs before, and the least of those now. False: not all runs know it. */
bool hp_comparison_range(const struct hp_comparison *comparison, size_t function, enum hp_metric metric,
                         double *ret_most_before, double *ret_least_now);

/* The sources of one side; NULL: they are not the same in all of its runs. */
const struct hp_measured_source *hp_comparison_source(const struct hp_comparison *comparison, bool is_now);

/* The function in one of the runs now. NULL: it is gone. */
const struct hp_measured_function *hp_comparison_now(const struct hp_comparison *comparison, size_t function);

#endif
