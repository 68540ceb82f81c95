/* The tree of stacks. SPDX-License-Identifier: MIT */
#include "stack_tree.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NODES (UINT32_C(1) << 20)
#define FIRST_ROOM 1024u

static size_t slot_of(const struct hp_stack_tree *tree, uint32_t parent, uint32_t image, uint64_t place)
{
    uint64_t hash = (place ^ (uint64_t)image << 40 ^ (uint64_t)parent << 17) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash ^ hash >> 29) & (tree->index_size - 1);
    for (; tree->index[at] != 0; at = (at + 1) & (tree->index_size - 1)) {
        const struct hp_stack_node *node = &tree->nodes[tree->index[at]];
        if (node->parent == parent && node->image == image && node->place == place)
            break;
    }
    return at;
}

static bool grow(struct hp_stack_tree *tree)
{
    const size_t room = tree->room > 0 ? 2 * tree->room : FIRST_ROOM;
    struct hp_stack_node *nodes = realloc(tree->nodes, room * sizeof *nodes);
    if (nodes != NULL)
        tree->nodes = nodes;
    uint32_t *index = calloc(2 * room, sizeof *index);
    if (nodes == NULL || index == NULL) {
        free(index);
        return false;
    }
    if (tree->count == 0)
        nodes[tree->count++] = (struct hp_stack_node){.image = HP_STACK_NO_IMAGE};
    free(tree->index);
    tree->index = index;
    tree->index_size = 2 * room;
    tree->room = room;
    for (uint32_t at = 1; at < tree->count; at++)
        index[slot_of(tree, nodes[at].parent, nodes[at].image, nodes[at].place)] = at;
    return true;
}

uint32_t hp_stack_tree_below(struct hp_stack_tree *tree, uint32_t parent, uint32_t image, uint64_t place)
{
    if (tree->count == tree->room && tree->room >= MOST_NODES)
        return parent;
    if (tree->count == tree->room && !grow(tree))
        return parent;
    const size_t at = slot_of(tree, parent, image, place);
    if (tree->index[at] == 0) {
        tree->nodes[tree->count] = (struct hp_stack_node){.parent = parent, .image = image, .place = place};
        tree->index[at] = (uint32_t)tree->count++;
    }
    return tree->index[at];
}

void hp_stack_tree_free(struct hp_stack_tree *tree)
{
    free(tree->nodes);
    free(tree->index);
    memset(tree, 0, sizeof *tree);
}
