/*
 * Which functions allocate. Who calls malloc may be the C library, or a container of C++, that does so for its caller: that one is called
 * the allocating function. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_HEAP_SUMS_H
#define HP_STACKS_HEAP_SUMS_H

#include "function_profile.h"
#include "named_stacks.h"

/* The function that allocates, on the stack that ends with a node. HP_NO_FUNCTION: nothing of the stack is known. */
uint32_t hp_allocating_function(const struct hp_named_stacks *stacks, uint32_t node);

/* Adds what functions allocated themselves; those of `functions` are numbered as in `stacks`. */
void hp_heap_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile);

#endif
