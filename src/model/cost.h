/*
 * What measuring cost a run: timed and counted zones, compiler-instrumented functions, counted allocations, samples
 * of CPU time, and the context switches that perf makes slower. Each process measured these costs itself.
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

struct hp_cost hp_cost_of(const struct hp_profile *profile);

#endif
