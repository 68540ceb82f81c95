/*
 * Finds the function that waits. The innermost function of a waiting stack is in the C library, on behalf of its
 * caller: that one is the waiter. SPDX-License-Identifier: MIT
 */
#ifndef HP_NAMES_WAITERS_H
#define HP_NAMES_WAITERS_H

#include "named_stacks.h"

#define HP_NO_FUNCTION UINT32_MAX

/* Whether a file is of the C library; whether a file, or an image, is that or one of the compiler's libraries. */
bool hp_is_c_library(const char *path);
bool hp_is_system_path(const char *path);
bool hp_is_system_library(const struct hp_named_stacks *stacks, uint32_t image);

/*
 * The waiter on the stack that ends with a node of HP_STACK_WAITING. HP_NO_FUNCTION: nothing of the stack is known.
 */
uint32_t hp_waiter_of(const struct hp_named_stacks *stacks, uint32_t node);

#endif
