/*
 * What measuring cost a run: timed and counted zones, compiler-instrumented functions, counted allocations, samples
 * of CPU time, the context switches that perf makes slower, and starting in processes. Each process measured these
 * costs itself; hooks of other functions are known by stacks only.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_COST_H
#define HP_MODEL_COST_H

#include "profile.h"

/*
 * The approximate delay of the run. The bounds differ by calls that were only counted, whose cost is not known more
 * exactly.
 */
struct hp_cost {
    double most_ns, least_ns;
};

struct hp_function_profile;

/* Stacks show how much of the CPU time was hotpath's; NULL: there are none. */
struct hp_cost hp_cost_of(const struct hp_profile *profile, const struct hp_function_profile *functions);

#endif
