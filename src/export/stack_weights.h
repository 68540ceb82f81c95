/*
 * Converts the stacks of a run to weighted stacks; the only reader of stacks in this folder.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_STACK_WEIGHTS_H
#define HP_EXPORT_STACK_WEIGHTS_H

#include "named_stacks.h"
#include "weighted.h"

/* The stacks must outlive the result. False: no memory. */
bool hp_stack_weights_add(struct hp_weighted *weighted, const struct hp_named_stacks *stacks);

#endif
