/*
 * The stacks of a time range.
 *
 * Of each node the slots have CPU time with its part of the time on the clock, waiting with its idle part, and
 * allocated bytes. Everything else is taken as the whole run has it at that node: how much of its CPU time is in
 * the kernel, how many samples its time is, and in which zones it was. SPDX-License-Identifier: MIT
 */
#include "stack_range.h"

#include <stdlib.h>
#include <string.h>

#include "arith.h"
#include "units.h"

/* One kind of weights in a range. */
struct summing {
    const uint32_t *node_of; /* by the number in slots */
    double share;            /* of the slot that is in the range */
    double *amounts, *parts; /* by node */
};

static void add_weight(void *context, uint32_t node, uint64_t amount, uint64_t part)
{
    const struct summing *summing = context;
    const uint32_t number = summing->node_of[node];
    if (number == HP_NO_NODE)
        return;
    summing->amounts[number] += (double)amount * summing->share;
    summing->parts[number] += (double)part * summing->share;
}

/* The last slot ends when weights are not known any more. */
static double share_of_slot(const struct hp_stack_slots *slots, uint32_t slot, uint64_t from_ns, uint64_t to_ns)
{
    const uint64_t begins_ns = slots->start_ns + slot * slots->slot_ns, whole_end_ns = begins_ns + slots->slot_ns;
    const uint64_t ends_ns = whole_end_ns < slots->latest_ns ? whole_end_ns : slots->latest_ns;
    const uint64_t since_ns = from_ns > begins_ns ? from_ns : begins_ns,
                   until_ns = to_ns < ends_ns ? to_ns : ends_ns;
    if (ends_ns <= begins_ns) /* a moment */
        return from_ns <= begins_ns && to_ns >= begins_ns ? 1 : 0;
    return (double)hp_less(until_ns, since_ns) / (double)(ends_ns - begins_ns);
}

/* ------------------------------------------------------------------------------------------------ weights */

/* A number in proportion to another one, rounded so that sums over all nodes are right. */
struct rounding {
    double left;
};

static uint64_t rounded(struct rounding *rounding, double number)
{
    if (!(number > 0))
        return 0;
    const uint64_t whole = hp_units_round(number + rounding->left);
    rounding->left += number - (double)whole;
    return whole;
}

/* Weights of a kind: those that add up to its amount, its part, and what is in proportion to the amount. */
static const struct {
    size_t amount_count, count;
    enum hp_stack_weight part; /* HP_STACK_WEIGHTS: none */
    enum hp_stack_weight all[3];
} kinds[HP_SLOT_KINDS] = {
    [HP_SLOT_CPU] = {2, 3, HP_STACK_WALL_NS, {HP_STACK_USER_NS, HP_STACK_KERNEL_NS, HP_STACK_SAMPLES}},
    [HP_SLOT_WAITING] = {1, 2, HP_STACK_IDLE_NS, {HP_STACK_WAITED_NS, HP_STACK_WAITS}},
    [HP_SLOT_HEAP] = {1,
                      3,
                      HP_STACK_WEIGHTS,
                      {HP_STACK_ALLOC_BYTES, HP_STACK_ALLOC_BLOCKS, HP_STACK_ALLOC_SAMPLES}},
};

static uint64_t whole_amount(enum hp_slot_kind kind, const struct hp_named_node *node)
{
    uint64_t amount = 0;
    for (size_t at = 0; at < kinds[kind].amount_count; at++)
        amount += node->weight[kinds[kind].all[at]];
    return amount;
}

static void set_part(enum hp_slot_kind kind, struct hp_named_node *node, uint64_t part)
{
    const uint64_t most = whole_amount(kind, node);
    node->weight[kinds[kind].part] = part < most ? part : most;
}

/* A wait that is longer than the range was one all the same, and so was a sampled allocation. */
static void count_at_least_one(struct hp_named_node *node)
{
    if (node->weight[HP_STACK_WAITED_NS] > 0 && node->weight[HP_STACK_WAITS] == 0)
        node->weight[HP_STACK_WAITS] = 1;
    if (node->weight[HP_STACK_ALLOC_BYTES] > 0 && node->weight[HP_STACK_ALLOC_SAMPLES] == 0)
        node->weight[HP_STACK_ALLOC_SAMPLES] = 1;
}

static void set_weights(enum hp_slot_kind kind, const struct summing *summing, const struct hp_named_stacks *whole,
                        struct hp_named_stacks *range)
{
    struct rounding roundings[4] = {{0}};
    for (size_t number = 1; number < whole->node_count; number++) {
        const struct hp_named_node *from = &whole->nodes[number];
        struct hp_named_node *to = &range->nodes[number];
        const double amount = (double)whole_amount(kind, from), share = summing->amounts[number] / amount;
        for (size_t at = 0; amount > 0 && at < kinds[kind].count; at++)
            to->weight[kinds[kind].all[at]] =
                rounded(&roundings[at], (double)from->weight[kinds[kind].all[at]] * share);
        if (kinds[kind].part < HP_STACK_WEIGHTS)
            set_part(kind, to, rounded(&roundings[3], summing->parts[number]));
        count_at_least_one(to);
    }
}

static void sum_up(enum hp_slot_kind kind, const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns,
                   struct summing *summing)
{
    const struct hp_stack_slots *slots = whole->slots;
    memset(summing->amounts, 0, whole->node_count * sizeof *summing->amounts);
    memset(summing->parts, 0, whole->node_count * sizeof *summing->parts);
    for (uint32_t slot = hp_stack_slot_at(slots, from_ns); slot <= hp_stack_slot_at(slots, to_ns); slot++) {
        summing->share = share_of_slot(slots, slot, from_ns, to_ns);
        if (summing->share > 0)
            hp_stack_slot_each(&slots->all[kind][slot], add_weight, summing);
    }
}

/* Of each weight of a node, its zones have the same parts as in the whole run. */
static void set_shares(const struct hp_named_stacks *whole, struct hp_named_stacks *range)
{
    for (size_t at = 0; at < range->share_count; at++) {
        struct hp_zone_share *share = &range->shares[at];
        const uint64_t *now = range->nodes[share->node].weight, *before = whole->nodes[share->node].weight;
        for (size_t weight = 0; weight < HP_STACK_WEIGHTS; weight++)
            share->weight[weight] =
                before[weight] > 0
                    ? hp_units_round((double)share->weight[weight] * ((double)now[weight] / (double)before[weight]))
                    : 0;
    }
}

/* Locks were held during a part of each wait, as in the whole run. */
static void set_holds(const struct hp_named_stacks *whole, struct hp_named_stacks *range)
{
    for (size_t at = 0; at < range->hold_count; at++) {
        struct hp_lock_hold *hold = &range->holds[at];
        const uint64_t before = whole->nodes[hold->waiter].weight[HP_STACK_WAITED_NS];
        const uint64_t now = range->nodes[hold->waiter].weight[HP_STACK_WAITED_NS];
        const double part = before > 0 ? (double)now / (double)before : 0;
        hold->ns = hp_units_round((double)hold->ns * part);
        hold->samples = hp_units_round((double)hold->samples * part);
    }
}

/* ------------------------------------------------------------------------------------------------- ranges */

static void *copy_of(const void *table, size_t count, size_t size)
{
    void *copy = calloc(count + 1, size);
    if (copy != NULL && count > 0)
        memcpy(copy, table, count * size);
    return copy;
}

static bool copy_tree(const struct hp_named_stacks *whole, struct hp_named_stacks *range)
{
    *range = *whole;
    range->is_range = true;
    range->slots = NULL; /* a range of a range is one of the whole */
    range->nodes = copy_of(whole->nodes, whole->node_count, sizeof *whole->nodes);
    range->shares = copy_of(whole->shares, whole->share_count, sizeof *whole->shares);
    range->holds = copy_of(whole->holds, whole->hold_count, sizeof *whole->holds);
    range->paths = NULL; /* they have no history */
    range->path_count = 0;
    return range->nodes != NULL && range->shares != NULL && range->holds != NULL;
}

static bool set_range(const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns,
                      struct hp_named_stacks *range)
{
    struct summing summing = {.node_of = whole->slot_nodes,
                              .amounts = malloc((whole->node_count + 1) * sizeof *summing.amounts),
                              .parts = malloc((whole->node_count + 1) * sizeof *summing.parts)};
    const bool has_memory = summing.amounts != NULL && summing.parts != NULL;
    for (size_t at = 0; at < range->node_count; at++)
        memset(range->nodes[at].weight, 0, sizeof range->nodes[at].weight);
    for (size_t kind = 0; has_memory && kind < HP_SLOT_KINDS; kind++) {
        sum_up((enum hp_slot_kind)kind, whole, from_ns, to_ns, &summing);
        set_weights((enum hp_slot_kind)kind, &summing, whole, range);
    }
    free(summing.amounts);
    free(summing.parts);
    set_shares(whole, range);
    set_holds(whole, range);
    return has_memory && hp_named_stacks_count(range);
}

uint64_t hp_named_stacks_known_ns(const struct hp_named_stacks *stacks)
{
    return stacks->slots != NULL ? hp_less(stacks->slots->latest_ns, stacks->began_ns) : 0;
}

/* What was found before the run began is in its first moment. */
static uint64_t moment(const struct hp_named_stacks *whole, uint64_t since_ns)
{
    return since_ns == 0 ? 0 : since_ns < UINT64_MAX - whole->began_ns ? whole->began_ns + since_ns : UINT64_MAX;
}

bool hp_named_stacks_between(const struct hp_named_stacks *whole, uint64_t from_ns, uint64_t to_ns,
                             struct hp_named_stacks *ret_range)
{
    const uint64_t from = moment(whole, from_ns), to = moment(whole, to_ns);
    *ret_range = (struct hp_named_stacks){.is_range = true};
    if (whole->slots == NULL)
        return false;
    bool is_done = copy_tree(whole, ret_range);
    if (is_done && (from > whole->slots->start_ns || to < whole->slots->latest_ns))
        is_done = set_range(whole, from, to, ret_range);
    if (!is_done)
        hp_named_stacks_free(ret_range);
    return is_done;
}
