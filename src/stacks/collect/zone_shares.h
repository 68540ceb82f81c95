/*
 * The parts of each stack's weights that were found in each zone. A stack has one sum in the tree for all zones;
 * here it is divided among them. What is in no zone has no share. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_ZONE_SHARES_H
#define HP_COLLECT_ZONE_SHARES_H

#include <stdbool.h>

#include "hash_index.h"
#include "stack_tree.h"

/* Of a node of a tree, in one zone. */
struct hp_zone_share {
    uint32_t node, zone;
    uint64_t weight[HP_STACK_WEIGHTS];
};

struct hp_zone_shares {
    struct hp_zone_share *all;
    size_t count;
    /* Private from here on. */
    struct hp_pair_table pairs;
    size_t room;
};

/* That of a node and a zone, created on first use. NULL: no memory. */
struct hp_zone_share *hp_zone_shares_at(struct hp_zone_shares *shares, uint32_t node, uint32_t zone);
void hp_zone_shares_free(struct hp_zone_shares *shares);

#endif
