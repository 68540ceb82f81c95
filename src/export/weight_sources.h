/* Weighted stacks of a run: from its stacks, and from measured functions. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_WEIGHT_SOURCES_H
#define HP_EXPORT_WEIGHT_SOURCES_H

#include "model.h"
#include "named_stacks.h"
#include "weighted.h"

/*
 * Measured functions as weighted stacks: their exact times, and what else is known of call tree nodes.
 */

/* The model must outlive the result unchanged. False: no memory. */
bool hp_zone_weights_add(struct hp_weighted *weighted, struct hp_model *model);

/*
 * The critical path, if it was followed: by stacks, if nothing is measured, else by function. Likewise.
 */
bool hp_path_weights_add(struct hp_weighted *weighted, struct hp_model *model);

/* Converts the stacks of a run. */

/* The stacks must outlive the result. False: no memory. */
bool hp_stack_weights_add(struct hp_weighted *weighted, const struct hp_named_stacks *stacks);

#endif
