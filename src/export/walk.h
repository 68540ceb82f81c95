/*
 * Walks through weighted stacks in one dimension, for flame graphs and traces: each node is entered and left, the
 * heaviest sibling first; nodes without weight in or below them are left out. Does not recurse, since stacks may be
 * deep. SPDX-License-Identifier: MIT
 */
#ifndef HP_EXPORT_WALK_H
#define HP_EXPORT_WALK_H

#include "weighted.h"

struct hp_weight_walk {
    const struct hp_weighted *weighted;
    const struct hp_weights *weights;
    uint64_t *inside; /* per node: its weight with all below it */
    /* Private from here on. */
    uint32_t *first_child, *sibling; /* 0: none */
};

/* False: no memory. End it in either case. */
bool hp_walk_begin(struct hp_weight_walk *walk, const struct hp_weighted *weighted,
                   const struct hp_weights *weights);
void hp_walk_end(struct hp_weight_walk *walk);

/* `where` it begins or ends, if all weights are laid out in one line. */
typedef void hp_walk_visit(void *context, uint32_t node, uint64_t where, size_t depth);
void hp_walk_through(const struct hp_weight_walk *walk, hp_walk_visit *enter, hp_walk_visit *leave, void *context);

#endif
