/* Sums of each function, from the stacks of a run. SPDX-License-Identifier: MIT */
#ifndef HP_NAMES_FUNCTION_SUMS_H
#define HP_NAMES_FUNCTION_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* False: no memory. The stacks must outlive the profile. */
bool hp_function_sums_make(const struct hp_named_stacks *stacks, struct hp_function_profile *ret_profile);
void hp_function_sums_free(struct hp_function_profile *profile);

#endif
