/* Stacks as weighted ones. SPDX-License-Identifier: MIT */
#include "stack_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arith.h"

#define NO_WEIGHT HP_STACK_WEIGHTS

/* Which weights of a stack make a dimension; the first is the one that knows zones. */
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

/* By their numbers in the stacks: those that they have here. */
struct numbers {
    uint32_t *libraries, *functions, *nodes;
    uint32_t *way;             /* from a node to the root */
    struct hp_zone_share *own; /* of each node's processor time, what was in no zone */
};

static uint64_t weight_of(const struct hp_named_node *node, enum hp_stack_weight weight)
{
    return weight != NO_WEIGHT ? node->weight[weight] : 0;
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

/* The same stack once more, below a place that stands for a zone. */
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

/* What is in no zone goes below a place of its own. */
static void add_rest_by_zone(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                             const struct numbers *numbers, uint32_t node)
{
    const struct hp_zone_share *own = &numbers->own[node];
    if (own->user_ns == 0 && own->samples == 0)
        return;
    const uint32_t none = hp_weighted_below(
        weighted, HP_WEIGHTED_ROOT, hp_weighted_function(weighted, IN_NO_ZONE, "", HP_NO_LIBRARY), 0, false);
    hp_weighted_add(weighted, HP_OF_CPU, add_below(weighted, stacks, numbers, node, none), own->user_ns,
                    own->samples);
}

static void add_shares(struct hp_weighted *weighted, const struct hp_named_stacks *stacks,
                       const struct numbers *numbers)
{
    for (size_t at = 0; at < stacks->share_count && !weighted->lacks_memory; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        const char *zone = stacks->zones[share->zone].name;
        const uint64_t ns = share->user_ns + share->kernel_ns;
        uint32_t node = numbers->nodes[share->node];
        if (weighted->is_by_zone) {
            node = add_below(weighted, stacks, numbers, share->node, place_of_zone(weighted, zone));
            hp_weighted_add(weighted, HP_OF_CPU, node, ns, share->samples);
        }
        hp_weighted_share(weighted, node, zone, ns, share->samples);
    }
}

static void find_rest(const struct hp_named_stacks *stacks, struct hp_zone_share *own)
{
    for (size_t at = 0; at < stacks->node_count; at++) {
        own[at].user_ns = stacks->nodes[at].weight[HP_STACK_USER_NS] + stacks->nodes[at].weight[HP_STACK_KERNEL_NS];
        own[at].samples = stacks->nodes[at].weight[HP_STACK_SAMPLES];
    }
    for (size_t at = 0; at < stacks->share_count; at++) {
        const struct hp_zone_share *share = &stacks->shares[at];
        own[share->node].user_ns = hp_less(own[share->node].user_ns, share->user_ns + share->kernel_ns);
        own[share->node].samples = hp_less(own[share->node].samples, share->samples);
    }
}

/* --------------------------------------------------------------------------------------------------- all of it */

static void add_nodes(struct hp_weighted *weighted, const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    numbers->nodes[HP_STACK_ROOT] = HP_WEIGHTED_ROOT;
    for (size_t at = 1; at < stacks->node_count && !weighted->lacks_memory; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        numbers->nodes[at] = add_frames(weighted, stacks, numbers, node, numbers->nodes[node->parent]);
        for (size_t row = weighted->is_by_zone; row < sizeof rows / sizeof rows[0]; row++)
            hp_weighted_add(weighted, rows[row].dimension, numbers->nodes[at],
                            weight_of(node, rows[row].parts[0]) + weight_of(node, rows[row].parts[1]),
                            weight_of(node, rows[row].count));
        if (weighted->is_by_zone)
            add_rest_by_zone(weighted, stacks, numbers, (uint32_t)at);
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
