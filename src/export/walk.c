/* Walks through weighted stacks. SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

struct place {
    uint64_t inside;
    uint32_t node;
};

/* Ties are broken by number, so that the same run gives the same file. */
static int lightest_first(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->inside != y->inside)
        return x->inside < y->inside ? -1 : 1;
    return x->node < y->node ? 1 : -1;
}

/* Later ones are put in front. */
static void link_nodes(struct hp_weight_walk *walk, struct place *places, size_t count)
{
    qsort(places, count, sizeof *places, lightest_first);
    for (size_t at = 0; at < count; at++) {
        const uint32_t node = places[at].node, parent = walk->weighted->nodes[node].parent;
        walk->sibling[node] = walk->first_child[parent];
        walk->first_child[parent] = node;
    }
}

static bool link_all(struct hp_weight_walk *walk)
{
    struct place *places = calloc(walk->weighted->node_count + 1, sizeof *places);
    size_t count = 0;
    if (places == NULL)
        return false;
    for (size_t node = 1; node < walk->weighted->node_count; node++)
        if (walk->inside[node] > 0)
            places[count++] = (struct place){walk->inside[node], (uint32_t)node};
    link_nodes(walk, places, count);
    free(places);
    return true;
}

bool hp_walk_begin(struct hp_weight_walk *walk, const struct hp_weighted *weighted,
                   const struct hp_weights *weights)
{
    const size_t count = weighted->node_count + 1;
    *walk = (struct hp_weight_walk){.weighted = weighted,
                                    .weights = weights,
                                    .inside = calloc(count, sizeof *walk->inside),
                                    .first_child = calloc(count, sizeof *walk->first_child),
                                    .sibling = calloc(count, sizeof *walk->sibling)};
    if (walk->inside == NULL || walk->first_child == NULL || walk->sibling == NULL)
        return false;
    for (size_t node = weighted->node_count; node-- > 1;) {
        walk->inside[node] += hp_weight_own(weights, node);
        walk->inside[weighted->nodes[node].parent] += walk->inside[node];
    }
    return link_all(walk);
}

void hp_walk_end(struct hp_weight_walk *walk)
{
    free(walk->inside);
    free(walk->first_child);
    free(walk->sibling);
    memset(walk, 0, sizeof *walk);
}

/* A node's own weight comes after those of its children; where it ends, its next sibling begins. */
void hp_walk_through(const struct hp_weight_walk *walk, hp_walk_visit *enter, hp_walk_visit *leave, void *context)
{
    const struct hp_weighted_node *nodes = walk->weighted->nodes;
    uint32_t at = walk->first_child[HP_WEIGHTED_ROOT];
    uint64_t start = 0;
    size_t depth = 0;
    while (at != 0) {
        enter(context, at, start, depth);
        if (walk->first_child[at] != 0) {
            at = walk->first_child[at];
            depth++;
            continue;
        }
        for (;; at = nodes[at].parent, depth--) {
            start += hp_weight_own(walk->weights, at);
            leave(context, at, start, depth);
            if (walk->sibling[at] != 0 || nodes[at].parent == HP_WEIGHTED_ROOT)
                break;
        }
        at = walk->sibling[at];
    }
}
