/*
 * Measured functions as weighted stacks: their exact times, and what else is known of call tree nodes.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_ZONE_WEIGHTS_H
#define HP_EXPORT_ZONE_WEIGHTS_H

#include "model.h"
#include "weighted.h"

/* The model must outlive the result unchanged. False: no memory. */
bool hp_zone_weights_add(struct hp_weighted *weighted, struct hp_model *model);

#endif
