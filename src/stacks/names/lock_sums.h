/*
 * Which function held the locks that each function waited for, from joined stacks (lock_holds.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_LOCK_SUMS_H
#define HP_NAMES_LOCK_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/*
 * `functions` are indexed as in the stacks, and `found` has the node of the profile's tree for each of theirs. The
 * profile owns the list. False: no memory.
 */
bool hp_lock_sums_add(const struct hp_named_stacks *stacks, const uint32_t *found,
                      struct hp_found_function *functions, struct hp_function_profile *profile);

#endif
