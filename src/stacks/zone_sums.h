/* The zones in which functions were found. SPDX-License-Identifier: MIT */
#ifndef HP_STACKS_ZONE_SUMS_H
#define HP_STACKS_ZONE_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* Adds the zones of each function, indexed as in the stacks. The profile owns their lists. False: no memory. */
bool hp_zone_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile);

#endif
