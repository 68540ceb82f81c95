/* The tree of stacks. SPDX-License-Identifier: MIT */
#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

#define MOST_NODES (UINT32_C(1) << 20)

uint32_t hp_stack_tree_below(struct hp_stack_tree *tree, uint32_t parent, uint32_t image, uint64_t place)
{
    struct hp_hash_index *index = &tree->index;
    if (tree->count >= MOST_NODES || !HP_MAKE_ROOM(tree->nodes, tree->count + 1 + (tree->count == 0), tree->room) ||
        !hp_hash_make_room(index))
        return parent;
    if (tree->count == 0)
        tree->nodes[tree->count++] = (struct hp_stack_node){.image = HP_STACK_NO_IMAGE};
    const uint32_t hash = hp_hash_with(index, image, place ^ (uint64_t)parent << 40);
    size_t slot = HP_HASH_BEGIN;
    for (uint32_t number; (number = hp_hash_next(index, hash, &slot)) != 0;) {
        const struct hp_stack_node *node = &tree->nodes[number];
        if (node->parent == parent && node->image == image && node->place == place)
            return number;
    }
    tree->nodes[tree->count] = (struct hp_stack_node){.parent = parent, .image = image, .place = place};
    hp_hash_put(index, slot, hash, (uint32_t)tree->count);
    return (uint32_t)tree->count++;
}

void hp_stack_tree_free(struct hp_stack_tree *tree)
{
    free(tree->nodes);
    hp_hash_free(&tree->index);
    memset(tree, 0, sizeof *tree);
}

/* ------------------------------------------------------------------------------------------ the shares of zones */

struct hp_zone_share *hp_zone_shares_at(struct hp_zone_shares *shares, uint32_t node, uint32_t zone)
{
    if (!HP_MAKE_ROOM(shares->all, shares->count + 1, shares->room))
        return NULL;
    const uint32_t number = hp_pair_table_put(&shares->pairs, node, zone);
    if (number == HP_NO_PAIR)
        return NULL;
    if (number == shares->count)
        shares->all[shares->count++] = (struct hp_zone_share){.node = node, .zone = zone};
    return &shares->all[number];
}

void hp_zone_shares_free(struct hp_zone_shares *shares)
{
    free(shares->all);
    hp_pair_table_free(&shares->pairs);
    memset(shares, 0, sizeof *shares);
}
