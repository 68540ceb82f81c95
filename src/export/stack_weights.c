/* Converts stacks to weighted stacks. SPDX-License-Identifier: MIT */
#include "stack_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"

#define NO_WEIGHT HP_STACK_WEIGHTS

/* Which weights of a stack make a dimension. */
static const struct {
    enum hp_dimension dimension;
    enum hp_stack_weight parts[2];
    enum hp_stack_weight count;
} rows[] = {
    {HP_OF_CPU, {HP_STACK_USER_NS, HP_STACK_KERNEL_NS}, HP_STACK_SAMPLES},
    {HP_OF_WAITS, {HP_STACK_WAITED_NS, NO_WEIGHT}, HP_STACK_WAITS},
    {HP_OF_ALLOC, {HP_STACK_ALLOC_BYTES, NO_WEIGHT}, HP_STACK_ALLOC_BLOCKS},
    {HP_OF_ALLOC_PEAK, {HP_STACK_PEAK_BYTES, NO_WEIGHT}, HP_STACK_PEAK_BLOCKS},
    {HP_OF_ALLOC_LEFT, {HP_STACK_LEFT_BYTES, NO_WEIGHT}, HP_STACK_LEFT_BLOCKS},
};

/* Maps numbers in the stacks to numbers here. */
struct numbers {
    uint32_t *libraries, *functions, *nodes;
    uint32_t *way;             /* from a node to the root */
    struct hp_zone_share *own; /* per node: the part in no zone */
};

#define ROWS (sizeof rows / sizeof rows[0])

static uint64_t sum_of(const uint64_t *weight, size_t row)
{
    const enum hp_stack_weight second = rows[row].parts[1];
    return weight[rows[row].parts[0]] + (second != NO_WEIGHT ? weight[second] : 0);
}

static void add_weights(struct hp_weighted *weighted, uint32_t place, const uint64_t *weight)
{
    for (size_t row = 0; row < ROWS; row++)
        hp_weighted_add(weighted, rows[row].dimension, place, sum_of(weight, row), weight[rows[row].count]);
}

static bool has_weight(const uint64_t *weight)
{
    for (size_t row = 0; row < ROWS; row++)
        if (sum_of(weight, row) > 0 || weight[rows[row].count] > 0)
            return true;
    return false;
}

static void add_functions(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                          struct numbers *numbers)
{
    for (size_t at = 0; at < stacks->image_count; at++)
        numbers->libraries[at] =
            hp_weighted_library(weighted, stacks->images[at].path, stacks->images[at].build_id);
    for (size_t at = 0; at < stacks->function_count; at++) {
        const struct hp_named_function *function = &stacks->functions[at];
        const uint32_t library =
            function->image < stacks->image_count ? numbers->libraries[function->image] : HP_NO_LIBRARY;
        numbers->functions[at] = hp_weighted_function(weighted, function->name, function->file, library);
    }
}

/* The outermost function of a place is the one that was called; the others are inlined into it. */
static uint32_t add_frames(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                           const struct numbers *numbers, const struct hp_named_node *node, uint32_t place)
{
    for (uint32_t at = node->frame_count; at-- > 0;) {
        const struct hp_named_frame *frame = &stacks->frames[node->first_frame + at];
        place = hp_weighted_below(weighted, place, numbers->functions[frame->function], frame->line,
                                  at + 1 < node->frame_count);
    }
    return place;
}

/* -------------------------------------------------------------------------------------------------- by zone */

#define IN_NO_ZONE "[in no zone]"

/* Adds the same stack again, below the node of a zone. */
static uint32_t add_below(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                          const struct numbers *numbers, uint32_t node, uint32_t place)
{
    size_t length = 0;
    for (uint32_t at = node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent)
        numbers->way[length++] = at;
    while (length-- > 0)
        place = add_frames(weighted, stacks, numbers, &stacks->nodes[numbers->way[length]], place);
    return place;
}

/* "[zone: parse]" */
static uint32_t place_of_zone(struct hp_weighted *weighted, const char *zone)
{
    const size_t size = strlen(zone) + sizeof "[zone: ]";
    char *name = hp_arena_take(&weighted->texts, size);
    if (name == NULL) {
        weighted->lacks_memory = true;
        return HP_WEIGHTED_ROOT;
    }
    snprintf(name, size, "[zone: %s]", zone);
    return hp_weighted_below(weighted, HP_WEIGHTED_ROOT, hp_weighted_function(weighted, name, "", HP_NO_LIBRARY), 0,
                             false);
}

/* The part in no zone goes below a node of its own. */
static void add_rest_by_zone(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                             const struct numbers *numbers, uint32_t node)
{
    const uint64_t *weight = numbers->own[node].weight;
    if (!has_weight(weight))
        return;
    const uint32_t none = hp_weighted_below(
        weighted, HP_WEIGHTED_ROOT, hp_weighted_function(weighted, IN_NO_ZONE, "", HP_NO_LIBRARY), 0, false);
    add_weights(weighted, add_below(weighted, stacks, numbers, node, none), weight);
}

static void add_shares(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                       const struct numbers *numbers)
{
    for (size_t at = 0; at < stacks->share_count && !weighted->lacks_memory; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        const char *zone = stacks->zones[share->zone].name;
        uint32_t node = numbers->nodes[share->node];
        if (weighted->is_by_zone) {
            node = add_below(weighted, stacks, numbers, share->node, place_of_zone(weighted, zone));
            add_weights(weighted, node, share->weight);
        }
        for (size_t row = 0; row < ROWS; row++)
            hp_weighted_share(weighted, rows[row].dimension, node, zone, sum_of(share->weight, row),
                              share->weight[rows[row].count]);
    }
}

static void find_rest(const struct hp_named_stacks *stacks, struct hp_zone_share *own)
{
    for (size_t at = 0; at < stacks->node_count; at++)
        memcpy(own[at].weight, stacks->nodes[at].weight, sizeof own[at].weight);
    for (size_t at = 0; at < stacks->share_count; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        uint64_t *rest = own[share->node].weight;
        for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
            rest[weight] = hp_less(rest[weight], share->weight[weight]);
    }
}

/* --------------------------------------------------------------------------------------------------------- all */

static void add_nodes(struct hp_weighted *weighted, const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    numbers->nodes[HP_STACK_ROOT] = HP_WEIGHTED_ROOT;
    for (size_t at = 1; at < stacks->node_count && !weighted->lacks_memory; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        numbers->nodes[at] = add_frames(weighted, stacks, numbers, node, numbers->nodes[node->parent]);
        if (weighted->is_by_zone)
            add_rest_by_zone(weighted, stacks, numbers, (uint32_t)at);
        else
            add_weights(weighted, numbers->nodes[at], node->weight);
    }
}

bool hp_stack_weights_add(struct hp_weighted *weighted, const struct hp_named_stacks *stacks)
{
    struct numbers numbers = {.libraries = calloc(stacks->image_count + 1, sizeof *numbers.libraries),
                              .functions = calloc(stacks->function_count + 1, sizeof *numbers.functions),
                              .nodes = calloc(stacks->node_count + 1, sizeof *numbers.nodes),
                              .way = calloc(stacks->node_count + 1, sizeof *numbers.way),
                              .own = calloc(stacks->node_count + 1, sizeof *numbers.own)};
    const bool has_room = numbers.libraries != NULL && numbers.functions != NULL && numbers.nodes != NULL &&
                          numbers.way != NULL && numbers.own != NULL;
    if (has_room) {
        add_functions(weighted, stacks, &numbers);
        find_rest(stacks, numbers.own);
        add_nodes(weighted, stacks, &numbers);
        add_shares(weighted, stacks, &numbers);
    }
    free(numbers.libraries);
    free(numbers.functions);
    free(numbers.nodes);
    free(numbers.way);
    free(numbers.own);
    return has_room && !weighted->lacks_memory;
}
