/*
 * What measuring cost a run: timed and counted zones, compiler-instrumented functions, values, channels and other
 * objects, counted allocations, samples of CPU time, the context switches that perf makes slower, and starting in
 * processes. Each process measured these costs itself; hooks of other functions are known by stacks only.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_COST_H
#define HP_MODEL_COST_H

#include <stdbool.h>

#include "profile.h"

/*
 * Shares, 0 to 1. The bounds differ by calls that were only counted, whose cost is not known more exactly.
 *
 * If other programs, or the program's own threads, took the CPUs away, a share of the elapsed time would depend on
 * them: a run that waited half of its time for a CPU seems to be measured at half the cost. Then the share is that
 * of the CPU time.
 */
struct hp_cost {
    double most, least;
    double cpu_ns;  /* at most; of all threads */
    bool is_of_cpu; /* else of the elapsed time */
};

struct hp_function_profile;
struct hp_arena;

/* Stacks show how much of the CPU time was hotpath's; NULL: there are none. */
struct hp_cost hp_cost_of(struct hp_arena *arena, const struct hp_profile *profile,
                          const struct hp_function_profile *functions);

/*
 * What a zone and a compiler-instrumented function cost: of what they cost alone, a CPU hides a part behind the
 * program's own work, if that waits for results or for memory. How much is not known, so this is the middle.
 */
double hp_cost_of_zone(const struct hp_run *run);
double hp_cost_of_function(const struct hp_run *run);

/* What timed calls added to a function's own time: the inner part of its own zones, the rest of those it called. */
double hp_cost_in_own_time(const struct hp_profile *profile, const struct hp_site_sums *site);

#endif
