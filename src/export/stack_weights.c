/* Stacks as weighted ones. SPDX-License-Identifier: MIT */
#include "stack_weights.h"

#include <stdlib.h>

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

/* By their numbers in the stacks: those that they have here. */
struct numbers {
    uint32_t *libraries, *functions, *nodes;
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
                           const struct numbers *numbers, const struct hp_named_node *node)
{
    uint32_t place = numbers->nodes[node->parent];
    for (uint32_t at = node->frame_count; at-- > 0;) {
        const struct hp_named_frame *frame = &stacks->frames[node->first_frame + at];
        place = hp_weighted_below(weighted, place, numbers->functions[frame->function], frame->line,
                                  at + 1 < node->frame_count);
    }
    return place;
}

static void add_nodes(struct hp_weighted *weighted, const struct hp_named_stacks *stacks, struct numbers *numbers)
{
    numbers->nodes[HP_STACK_ROOT] = HP_WEIGHTED_ROOT;
    for (size_t at = 1; at < stacks->node_count && !weighted->lacks_memory; at++) {
        const struct hp_named_node *node = &stacks->nodes[at];
        numbers->nodes[at] = add_frames(weighted, stacks, numbers, node);
        for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
            hp_weighted_add(weighted, rows[row].dimension, numbers->nodes[at],
                            weight_of(node, rows[row].parts[0]) + weight_of(node, rows[row].parts[1]),
                            weight_of(node, rows[row].count));
    }
}

bool hp_stack_weights_add(struct hp_weighted *weighted, const struct hp_named_stacks *stacks)
{
    struct numbers numbers = {.libraries = calloc(stacks->image_count + 1, sizeof *numbers.libraries),
                              .functions = calloc(stacks->function_count + 1, sizeof *numbers.functions),
                              .nodes = calloc(stacks->node_count + 1, sizeof *numbers.nodes)};
    const bool has_room = numbers.libraries != NULL && numbers.functions != NULL && numbers.nodes != NULL;
    if (has_room) {
        add_functions(weighted, stacks, &numbers);
        add_nodes(weighted, stacks, &numbers);
    }
    free(numbers.libraries);
    free(numbers.functions);
    free(numbers.nodes);
    return has_room && !weighted->lacks_memory;
}
