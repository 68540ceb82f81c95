/*
 * Finds the functions that allocate. The direct caller of malloc may be in the C library or in a C++ container, on
 * behalf of its own caller: that one is the allocating function. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_HEAP_SUMS_H
#define HP_STACKS_HEAP_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* The allocating function of the stack that ends with a node. HP_NO_FUNCTION: nothing of the stack is known. */
uint32_t hp_allocating_function(const struct hp_named_stacks *stacks, uint32_t node);

/* Adds what functions allocated themselves; `functions` is indexed as in `stacks`. */
void hp_heap_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile);

#endif
