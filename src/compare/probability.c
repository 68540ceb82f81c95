/* What a comparison needs of probability. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* lgamma_r */
#include "probability.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------- Student's t */

#define TINY 1e-300

static double not_zero(double number) { return fabs(number) < TINY ? TINY : number; }

/* The continued fraction of the incomplete beta function, by Lentz's method. It converges in some tens of steps. */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), sum = d;
    for (int step = 1; step < 500; step++) {
        const double m = step;
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        sum *= d * c;
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        sum *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return sum;
}

/* lgamma() writes a global variable. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double hp_student_p(double t, double freedom)
{
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double hp_student_limit(double p, double freedom)
{
    double low = 0, high = 1;
    while (hp_student_p(high, freedom) > p && high < 1e12)
        high *= 2;
    for (int step = 0; step < 100; step++) {
        const double middle = (low + high) / 2;
        *(hp_student_p(middle, freedom) > p ? &low : &high) = middle;
    }
    return high;
}

/* -------------------------------------------------------------------------------------------------------- ranks */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Twice the rank of a value among sorted ones, so that ranks which equal values share are whole numbers. */
static size_t double_rank(const double *sorted, size_t count, double value)
{
    size_t below = 0, upto = 0;
    for (size_t at = 0; at < count; at++) {
        below += sorted[at] < value;
        upto += sorted[at] <= value;
    }
    return below + upto + 1;
}

/*
 * In how many ways `taken` of `count` ranks have each sum: ways[taken * width + sum]. Each rank is taken or not, so
 * they are added one after the other. NULL: no memory.
 */
static double *count_ways(const size_t *ranks, size_t count, size_t taken, size_t width)
{
    double *ways = calloc((taken + 1) * width, sizeof *ways);
    if (ways == NULL)
        return NULL;
    size_t most = 0; /* no sum is larger yet */
    ways[0] = 1;
    for (size_t at = 0; at < count; at++) {
        most = most + ranks[at] < width ? most + ranks[at] : width - 1;
        for (size_t k = at + 1 < taken ? at + 1 : taken; k > 0; k--)
            for (size_t sum = ranks[at]; sum <= most; sum++)
                ways[k * width + sum] += ways[(k - 1) * width + sum - ranks[at]];
    }
    return ways;
}

static double exact_p(const size_t *ranks, size_t count, size_t taken, size_t sum)
{
    const size_t width = 2 * count * taken + 1, expected = taken * (count + 1);
    const size_t distance = sum > expected ? sum - expected : expected - sum;
    double *ways = count_ways(ranks, count, taken, width), all = 0, far = 0;
    for (size_t at = 0; ways != NULL && at < width; at++) {
        const double here = ways[taken * width + at];
        all += here;
        far += (at > expected ? at - expected : expected - at) >= distance ? here : 0;
    }
    free(ways);
    return all > 0 ? far / all : 1;
}

/* With what equal ranks take away of the variance. */
static double normal_p(const size_t *ranks, size_t count, size_t taken, size_t sum)
{
    const double n = (double)count, middle = n + 1;
    double spread = 0;
    for (size_t at = 0; at < count; at++)
        spread += ((double)ranks[at] - middle) * ((double)ranks[at] - middle);
    const double variance = (double)taken * (n - (double)taken) / (n * (n - 1)) * spread;
    const double distance = fabs((double)sum - (double)taken * middle) - 1; /* sums are two apart */
    return variance > 0 && distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

double hp_rank_p(const double *before, size_t before_count, const double *now, size_t now_count)
{
    const size_t count = before_count + now_count;
    double *sorted = malloc((count + 1) * sizeof *sorted);
    size_t *ranks = malloc((count + 1) * sizeof *ranks), sum = 0;
    double p = 1;
    if (sorted != NULL && ranks != NULL && before_count > 0 && now_count > 0) {
        for (size_t at = 0; at < count; at++)
            sorted[at] = at < before_count ? before[at] : now[at - before_count];
        qsort(sorted, count, sizeof *sorted, compare_numbers);
        for (size_t at = 0; at < count; at++) {
            ranks[at] = double_rank(sorted, count, at < before_count ? before[at] : now[at - before_count]);
            sum += at < before_count ? ranks[at] : 0;
        }
        p = before_count <= HP_RANK_EXACT && now_count <= HP_RANK_EXACT ? exact_p(ranks, count, before_count, sum)
                                                                        : normal_p(ranks, count, before_count, sum);
    }
    free(sorted);
    free(ranks);
    return p;
}

/* For many values by the normal approximation. */
static size_t normal_margin(double a, double b)
{
    const double margin = a * b / 2 - 1.96 * sqrt(a * b * (a + b + 1) / 12);
    return margin > 0 ? (size_t)margin : 0;
}

size_t hp_rank_margin(size_t before_count, size_t now_count)
{
    size_t ranks[2 * HP_RANK_EXACT];
    const size_t count = before_count + now_count, least = before_count * (before_count + 1);
    const size_t width = 2 * count * before_count + 1;
    if (before_count > HP_RANK_EXACT || now_count > HP_RANK_EXACT)
        return normal_margin((double)before_count, (double)now_count);
    for (size_t at = 0; at < count; at++)
        ranks[at] = 2 * (at + 1);
    double *ways = count_ways(ranks, count, before_count, width), all = 0, tail = 0;
    size_t margin = SIZE_MAX;
    for (size_t at = 0; ways != NULL && at < width; at++)
        all += ways[before_count * width + at];
    for (size_t sum = least; ways != NULL && sum < width; sum += 2) {
        tail += ways[before_count * width + sum];
        if (tail / all > 0.025)
            break;
        margin = (sum - least) / 2;
    }
    free(ways);
    return margin;
}

/* ------------------------------------------------------------------------------------------------- many at once */

void hp_holm_adjust(const double *p, double *ret_adjusted, size_t *order, size_t count)
{
    double most = 0;
    for (size_t at = 0; at < count; at++) { /* few rows: those of at least one per cent */
        size_t place = at;
        for (; place > 0 && p[order[place - 1]] > p[at]; place--)
            order[place] = order[place - 1];
        order[place] = at;
    }
    for (size_t place = 0; place < count; place++) {
        const double raised = p[order[place]] * (double)(count - place);
        most = raised > most ? raised : most;
        ret_adjusted[order[place]] = most < 1 ? most : 1;
    }
}

double hp_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t at = 0; at < count; at++)
        sum += values[at];
    return count > 0 ? sum / (double)count : 0;
}

double hp_variance(const double *values, size_t count)
{
    const double mean = hp_mean(values, count);
    double sum = 0;
    for (size_t at = 0; at < count; at++)
        sum += (values[at] - mean) * (values[at] - mean);
    return count > 1 ? sum / (double)(count - 1) : 0;
}

double hp_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_numbers);
    return (values[count / 2] + values[(count - 1) / 2]) / 2;
}
