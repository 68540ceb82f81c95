/* What is known of call tree nodes besides their time. SPDX-License-Identifier: MIT */
#ifndef HP_SECTIONS_TREE_COSTS_H
#define HP_SECTIONS_TREE_COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "section.h"

struct hp_node_waits;

struct hp_tree_cost {
    uint64_t own_cpu_ns;
    uint64_t all_cpu_ns;               /* with descendants */
    const struct hp_node_waits *waits; /* NULL: no waits were seen */
    uint64_t own_bytes;
    bool has_bytes; /* allocations are known per site: for a node only if it is the site's only one */
};

struct hp_tree_costs {
    struct hp_tree_cost *nodes; /* one per node of the profile, in the same order */
    bool has_cpu, has_waits, has_allocs;
};

/* False: no memory. */
bool hp_tree_costs_find(struct hotpath_results *results, struct hp_tree_costs *ret_costs);

#endif
