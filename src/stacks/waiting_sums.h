/* What stacks that wait say of each function. SPDX-License-Identifier: MIT */
#ifndef HP_STACKS_WAITING_SUMS_H
#define HP_STACKS_WAITING_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* Adds what each function waits for by itself, by the numbers of the stacks, and sums of all. False: no memory. */
bool hp_waiting_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                         struct hp_function_profile *profile);

#endif
