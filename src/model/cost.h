/*
 * What measuring cost a run: zones that were timed or only counted, functions that the compiler measures, what was done for
 * allocations, samples of processor time, and switches between threads that perf makes dearer. What each of these costs was
 * measured by the process itself. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_COST_H
#define HP_MODEL_COST_H

#include "profile.h"

/* By how much measuring delayed the run, about. The two differ by calls that were only counted: what these cost is not known better. */
struct hp_cost {
    double most_ns, least_ns;
};

struct hp_cost hp_cost_of(const struct hp_profile *profile);

#endif
