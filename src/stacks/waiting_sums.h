/* Sums the waits of each function, from waiting stacks. SPDX-License-Identifier: MIT */
#ifndef HP_STACKS_WAITING_SUMS_H
#define HP_STACKS_WAITING_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* Adds each function's own waits, indexed as in the stacks, and their totals. False: no memory. */
bool hp_waiting_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                         struct hp_function_profile *profile);

#endif
