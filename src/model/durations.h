/*
 * Distributions of call durations, and of other numbers that are counted the same way. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_DURATIONS_H
#define HP_MODEL_DURATIONS_H

#include "site_sums.h"

/* The distribution of a site's call durations, over all threads. Large: keep one and reuse it. */
struct hp_durations {
    hp_duration_line lines[HP_DURATION_LINES];
    uint64_t timed;   /* calls with a duration, in the buckets or not */
    uint64_t counted; /* calls in the buckets */
    uint64_t min;
    uint64_t max;
    uint32_t threads; /* threads that called the site */
};

void hp_durations_of_site(const struct hp_site_sums *site, struct hp_durations *ret_durations);

/* The nearest-rank percentile in ticks, within 0.8 %; 0 and 100 are exact. False: no call was timed. */
bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks);

/* The rank of a percentile among `count` sorted values, from 1. */
uint64_t hp_durations_rank(double percentile, uint64_t count);

/* Of a histogram by steps (hp_step_of): the one that this part of all is at or below. 0: it is empty. */
uint32_t hp_steps_find(const uint64_t *steps, uint32_t count, double part);

/*
 * For other numbers than ticks, counted the same way. Their `min` and mean are computed from the counters
 * afterwards: both within 0.8 %, and exact below 128.
 */
void hp_durations_add(struct hp_durations *durations, uint64_t ticks);
void hp_durations_find_min(struct hp_durations *durations);
double hp_durations_mean(const struct hp_durations *durations);

#endif
