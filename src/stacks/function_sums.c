/* Sums stacks by function. SPDX-License-Identifier: MIT */
#include "function_sums.h"

#include <stdlib.h>
#include <string.h>

#include "heap_sums.h"
#include "shown_names.h"
#include "text.h"
#include "waiting_sums.h"
#include "zone_sums.h"

/* Totals of functions with callees: the weights they are made of, and where they are stored. */
#define NO_WEIGHT HP_STACK_WEIGHTS
#define TOTAL(field) offsetof(struct hp_found_function, field)
static const struct {
    enum hp_stack_weight weight, more;
    size_t total;
} sums[] = {
    {HP_STACK_USER_NS, HP_STACK_KERNEL_NS, TOTAL(total_ns)},
    {HP_STACK_WAITED_NS, NO_WEIGHT, TOTAL(total_waiting_ns)},
    {HP_STACK_ALLOC_BYTES, NO_WEIGHT, TOTAL(total_heap.bytes)},
    {HP_STACK_ALLOC_BLOCKS, NO_WEIGHT, TOTAL(total_heap.blocks)},
    {HP_STACK_PEAK_BYTES, NO_WEIGHT, TOTAL(total_heap.peak_bytes)},
    {HP_STACK_PEAK_BLOCKS, NO_WEIGHT, TOTAL(total_heap.peak_blocks)},
    {HP_STACK_LEFT_BYTES, NO_WEIGHT, TOTAL(total_heap.left_bytes)},
    {HP_STACK_LEFT_BLOCKS, NO_WEIGHT, TOTAL(total_heap.left_blocks)},
};
#define SUMS (sizeof sums / sizeof sums[0])

/* State of the walk through the tree. */
struct walk {
    const struct hp_named_stacks *stacks;
    struct hp_found_function *functions;
    uint64_t (*inside)[SUMS];        /* by node: its sum with all nodes below it */
    uint32_t *first_child, *sibling; /* by node; 0: none */
    uint32_t *open;                  /* by function: how often it is on the path from the root */
};

static uint64_t weight_of(const struct hp_named_node *node, size_t sum)
{
    const enum hp_stack_weight more = sums[sum].more;
    return node->weight[sums[sum].weight] + (more != NO_WEIGHT ? node->weight[more] : 0);
}

/* Children have higher numbers than their parents. */
static void sum_up(struct walk *walk)
{
    const struct hp_named_node *nodes = walk->stacks->nodes;
    for (size_t at = walk->stacks->node_count; at-- > 1;) {
        const uint32_t parent = nodes[at].parent;
        for (size_t sum = 0; sum < SUMS; sum++) {
            walk->inside[at][sum] += weight_of(&nodes[at], sum);
            walk->inside[parent][sum] += walk->inside[at][sum];
        }
        walk->sibling[at] = walk->first_child[parent];
        walk->first_child[parent] = (uint32_t)at;
    }
}

static const struct hp_named_frame *frames_of(const struct walk *walk, uint32_t number, uint32_t *ret_count)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    *ret_count = node->frame_count;
    return walk->stacks->frames + node->first_frame;
}

static void add_totals(struct hp_found_function *function, const uint64_t *inside)
{
    for (size_t sum = 0; sum < SUMS; sum++)
        *(uint64_t *)(void *)((char *)function + sums[sum].total) += inside[sum];
}

/* The outermost call of a function has the total; inner ones are part of it. */
static void enter(struct walk *walk, uint32_t node)
{
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, node, &count);
    for (uint32_t at = count; at-- > 0;)
        if (walk->open[frames[at].function]++ == 0)
            add_totals(&walk->functions[frames[at].function], walk->inside[node]);
}

static void leave(struct walk *walk, uint32_t node)
{
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, node, &count);
    for (uint32_t at = 0; at < count; at++)
        walk->open[frames[at].function]--;
}

static void add_own(struct walk *walk, uint32_t number)
{
    const struct hp_named_node *node = &walk->stacks->nodes[number];
    uint32_t count;
    const struct hp_named_frame *frames = frames_of(walk, number, &count);
    if (count == 0)
        return;
    struct hp_found_function *function = &walk->functions[frames[0].function];
    function->samples += node->weight[HP_STACK_SAMPLES];
    function->user_ns += node->weight[HP_STACK_USER_NS];
    function->kernel_ns += node->weight[HP_STACK_KERNEL_NS];
}

/* Without recursion, since stacks may be deep: nodes know their parents. */
static void walk_through(struct walk *walk)
{
    const struct hp_named_node *nodes = walk->stacks->nodes;
    uint32_t at = walk->first_child[HP_STACK_ROOT];
    while (at != 0) {
        enter(walk, at);
        add_own(walk, at);
        if (walk->first_child[at] != 0) {
            at = walk->first_child[at];
            continue;
        }
        leave(walk, at);
        while (walk->sibling[at] == 0 && nodes[at].parent != HP_STACK_ROOT) {
            at = nodes[at].parent;
            leave(walk, at);
        }
        at = walk->sibling[at];
    }
}

static int by_own_time(const void *a, const void *b)
{
    const struct hp_found_function *x = a, *y = b;
    const uint64_t of_x = hp_found_work_ns(x), of_y = hp_found_work_ns(y);
    if (of_x != of_y)
        return of_x < of_y ? 1 : -1;
    if (x->waiting_ns != y->waiting_ns)
        return x->waiting_ns < y->waiting_ns ? 1 : -1;
    if (x->total_ns != y->total_ns)
        return x->total_ns < y->total_ns ? 1 : -1;
    if (x->total_waiting_ns != y->total_waiting_ns)
        return x->total_waiting_ns < y->total_waiting_ns ? 1 : -1;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->library, y->library);
}

static const char *library_of(const struct hp_named_stacks *stacks, const struct hp_named_function *function)
{
    if (function->image >= stacks->image_count)
        return "";
    return hp_text_base_name(stacks->images[function->image].path);
}

static bool begin(struct walk *walk)
{
    const size_t nodes = walk->stacks->node_count + 1, functions = walk->stacks->function_count + 1;
    walk->inside = calloc(nodes, sizeof *walk->inside);
    walk->first_child = calloc(nodes, sizeof *walk->first_child);
    walk->sibling = calloc(nodes, sizeof *walk->sibling);
    walk->open = calloc(functions, sizeof *walk->open);
    walk->functions = calloc(functions, sizeof *walk->functions);
    if (walk->inside == NULL || walk->first_child == NULL || walk->sibling == NULL || walk->open == NULL ||
        walk->functions == NULL)
        return false;
    for (size_t at = 0; at + 1 < functions; at++) {
        const struct hp_named_function *named = &walk->stacks->functions[at];
        walk->functions[at] = (struct hp_found_function){
            .name = named->name, .library = library_of(walk->stacks, named), .file = named->file};
    }
    return true;
}

static void end(struct walk *walk)
{
    free(walk->inside);
    free(walk->first_child);
    free(walk->sibling);
    free(walk->open);
    free(walk->functions);
}

/* Of another process than those that were kept. */
static bool has_nothing(const struct hp_found_function *function)
{
    return function->samples == 0 && function->waits == 0 && function->alloc_samples == 0 &&
           function->total_ns == 0 && function->total_waiting_ns == 0 && function->total_heap.bytes == 0;
}

/* Wait causes are not functions, though stacks end with them. Returns how many functions remain. */
static size_t leave_causes_out(struct walk *walk)
{
    size_t count = 0;
    for (size_t at = 0; at < walk->stacks->function_count; at++)
        if (strncmp(walk->functions[at].name, HP_WAITING_NAME, strlen(HP_WAITING_NAME)) != 0 &&
            !has_nothing(&walk->functions[at]))
            walk->functions[count++] = walk->functions[at];
    return count;
}

static bool show_names(struct walk *walk, struct hp_function_profile *profile)
{
    const size_t count = walk->stacks->function_count;
    struct hp_shown_names shown;
    const char **full = malloc((count + 1) * sizeof *full);
    for (size_t at = 0; full != NULL && at < count; at++)
        full[at] = walk->functions[at].name;
    const bool is_done = full != NULL && hp_shown_names_make(full, count, &shown);
    free(full);
    if (!is_done)
        return false;
    for (size_t at = 0; at < count; at++)
        walk->functions[at].shown = shown.all[at];
    profile->shown_names = shown.texts;
    free(shown.all);
    return true;
}

bool hp_function_sums_make(const struct hp_named_stacks *stacks, struct hp_function_profile *ret_profile)
{
    struct walk walk = {.stacks = stacks};
    *ret_profile = (struct hp_function_profile){.period_ns = stacks->period_ns,
                                                .samples = stacks->samples,
                                                .whole = stacks->whole,
                                                .lost = stacks->lost,
                                                .waits = stacks->waits,
                                                .waits_whole = stacks->waits_whole,
                                                .waits_recovered = stacks->waits_recovered,
                                                .allocs = stacks->allocs,
                                                .allocs_whole = stacks->allocs_whole,
                                                .allocs_lost = stacks->allocs_lost,
                                                .alloc_mean = stacks->alloc_mean,
                                                .has_kernel = stacks->has_kernel,
                                                .source = stacks->source,
                                                .refused = stacks->refused,
                                                .unmade = stacks->unmade};
    if (!begin(&walk) || !show_names(&walk, ret_profile)) {
        end(&walk);
        return false;
    }
    sum_up(&walk);
    walk_through(&walk);
    if (!hp_waiting_sums_add(stacks, walk.functions, ret_profile) ||
        !hp_zone_sums_add(stacks, walk.functions, ret_profile)) {
        hp_function_sums_free(ret_profile);
        end(&walk);
        return false;
    }
    hp_heap_sums_add(stacks, walk.functions, ret_profile);
    for (size_t at = 0; at < stacks->function_count; at++) {
        ret_profile->kernel_ns += walk.functions[at].kernel_ns;
        ret_profile->cpu_ns += walk.functions[at].user_ns + walk.functions[at].kernel_ns;
        if (strcmp(walk.functions[at].name, HP_OWN_NAME) == 0)
            ret_profile->own_ns += walk.functions[at].user_ns + walk.functions[at].kernel_ns;
    }
    ret_profile->count = leave_causes_out(&walk);
    qsort(walk.functions, ret_profile->count, sizeof *walk.functions, by_own_time);
    ret_profile->all = walk.functions;
    walk.functions = NULL;
    end(&walk);
    return true;
}

void hp_function_sums_free(struct hp_function_profile *profile)
{
    free((void *)(uintptr_t)profile->all);
    free(profile->shown_names);
    for (size_t part = 0; part < HP_ZONE_PARTS; part++)
        free((void *)(uintptr_t)profile->zones[part].all);
    *profile = (struct hp_function_profile){0};
}
