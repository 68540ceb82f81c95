/*
 * How the durations of a function's calls were distributed over time, from the heat maps of a run's sessions
 * (heat.h): how many calls ended in each step, by bucket of their duration. Two buckets are an octave.
 *
 *     double (*calls)[HP_HEAT_BUCKETS] = ... zeroed, one row per step
 *     if (hp_heat_map_add(profile, site, &steps, calls)) ...
 *     hp_heat_bucket_ns(run, bucket, &from_ns, &to_ns);                    what a bucket stands for
 *
 * For a time range alone, the range is the only step. Only timed calls count, and only of functions whose session
 * has one of its 96 places for them. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_HEAT_MAP_H
#define HP_MODEL_HEAT_MAP_H

#include "heat.h"
#include "profile.h"

/*
 * Adds the calls of a function over all sessions. A slot that lies only partly in a step counts by that part, so
 * numbers may have fractions. `steps->are_slots` and `are_live` say nothing here. False: nothing is known.
 */
bool hp_heat_map_add(const struct hp_profile *profile, const struct hp_site_sums *site,
                     const struct hp_run_steps *steps, double (*calls)[HP_HEAT_BUCKETS]);

/* The durations that count in a bucket: from one to less than the other. */
void hp_heat_bucket_ns(const struct hp_run *run, uint32_t bucket, double *ret_from_ns, double *ret_to_ns);

#endif
