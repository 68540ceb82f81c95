/*
 * What a comparison needs of probability: Student's t, the rank test of Mann and Whitney, and Holm's correction for
 * many tests at once. Pure functions. SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_PROBABILITY_H
#define HP_COMPARE_PROBABILITY_H

#include <stddef.h>

/* The chance that |t| is as large or larger if nothing has changed. */
double hp_student_p(double t, double freedom);

/* The t that has this chance (0 < p < 1). */
double hp_student_limit(double p, double freedom);

/* More values than this on one side use the normal approximation, which is as good there. */
#define HP_RANK_EXACT 40u

/*
 * The chance, if both sides are alike, that ranks differ as much as these or more; equal values share their ranks.
 * Exact up to HP_RANK_EXACT values a side. 1 without memory.
 */
double hp_rank_p(const double *before, size_t before_count, const double *now, size_t now_count);

/*
 * How many of the smallest and of the largest differences between values of both sides to leave out, so that the
 * rest covers the true difference with a chance of 95 %. SIZE_MAX: so few values cannot say that.
 */
size_t hp_rank_margin(size_t before_count, size_t now_count);

/* Makes of chances of single tests those of all together. `order` has room for `count` numbers. */
void hp_holm_adjust(const double *p, double *ret_adjusted, size_t *order, size_t count);

double hp_mean(const double *values, size_t count);
double hp_variance(const double *values, size_t count); /* of a sample: count - 1; 0 below two values */

/* The middle of values, which are sorted for it. 0: there are none. */
double hp_median(double *values, size_t count);

#endif
