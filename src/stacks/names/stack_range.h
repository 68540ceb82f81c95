/*
 * The stacks of a time range of a run: the same tree, with the weights of that time. They are estimates, since a
 * slot of time keeps a choice of its stacks (stack_slots.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_STACK_RANGE_H
#define HP_NAMES_STACK_RANGE_H

#include "named_stacks.h"

/* Whether ranges are known. */
static inline bool hp_named_stacks_have_ranges(const struct hp_named_stacks *stacks)
{
    return stacks->slots != NULL;
}

/* Until when, since the run began. While it runs this is some time ago. */
uint64_t hp_named_stacks_known_ns(const struct hp_named_stacks *stacks);

/*
 * The stacks between two moments since the run began (`began_ns`). Nodes, functions and zones have the numbers
 * that they have in `whole`, which must outlive the result. All that is made from stacks can be made from these.
 * What was live at the peak of the heap or at the end is known only for the whole run, and 0 here. A range that has
 * all of the run has the weights of the run. False: ranges are not known, or there is no memory.
 */
bool hp_named_stacks_between(const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns,
                             struct hp_named_stacks *ret_range);

#endif
