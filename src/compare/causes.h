/*
 * Of functions that have changed, callees come before their callers: they may be the reason.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_CAUSES_H
#define HP_COMPARE_CAUSES_H

#include <stdbool.h>
#include <stddef.h>

struct hp_cause_call {
    size_t caller, callee; /* numbers of functions */
    double calls;
};

/*
 * `weights` say how much each function has changed; 0: not at all. One that is called, directly or not, by a
 * function whose weight is at most twice its own gets a little more than that. False: no memory.
 */
bool hp_causes_put_deepest_first(double *weights, size_t count, const struct hp_cause_call *calls,
                                 size_t call_count);

#endif
