/* Sums functions by zone. SPDX-License-Identifier: MIT */
#include "zone_sums.h"

#include <stdlib.h>

/* Functions take the place of nodes, and their total in each zone, with callees, is the first weight. */
#define AMOUNT 0

struct summing {
    const struct hp_named_stacks *stacks;
    enum hp_zone_part part;
    struct hp_zone_shares sums;
    size_t *latest; /* by function: its last share, plus 1; it may be on a stack more than once */
};

static uint64_t amount_of(const struct hp_zone_share *share, enum hp_zone_part part)
{
    switch (part) {
    case HP_ZONES_OF_CPU:
        return share->weight[HP_STACK_USER_NS] + share->weight[HP_STACK_KERNEL_NS];
    case HP_ZONES_OF_WAITING:
        return share->weight[HP_STACK_WAITED_NS];
    default:
        return share->weight[HP_STACK_ALLOC_BYTES];
    }
}

/* Adds to all functions of one place on a stack. */
static bool add_to_frames(struct summing *summing, const struct hp_named_node *node, size_t number, uint64_t amount)
{
    const struct hp_zone_share *share = &summing->stacks->shares[number];
    for (uint32_t at = 0; at < node->frame_count; at++) {
        const uint32_t function = summing->stacks->frames[node->first_frame + at].function;
        if (summing->latest[function] == number + 1)
            continue;
        struct hp_zone_share *sum = hp_zone_shares_at(&summing->sums, function, share->zone);
        if (sum == NULL)
            return false;
        sum->weight[AMOUNT] += amount;
        summing->latest[function] = number + 1;
    }
    return true;
}

static bool sum_up(struct summing *summing)
{
    const struct hp_named_stacks *stacks = summing->stacks;
    for (size_t number = 0; number < stacks->share_count; number++) {
        const uint64_t amount = amount_of(&stacks->shares[number], summing->part);
        const uint32_t node = amount > 0 ? stacks->shares[number].node : HP_STACK_ROOT;
        for (uint32_t at = node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent)
            if (!add_to_frames(summing, &stacks->nodes[at], number, amount))
                return false;
    }
    return true;
}

static int by_function(const void *a, const void *b)
{
    const struct hp_zone_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->weight[AMOUNT] != y->weight[AMOUNT])
        return x->weight[AMOUNT] < y->weight[AMOUNT] ? 1 : -1;
    return x->zone < y->zone ? -1 : x->zone > y->zone;
}

static void hand_out(const struct summing *summing, struct hp_found_zone *zones,
                     struct hp_found_function *functions)
{
    for (size_t at = 0; at < summing->sums.count; at++) {
        const struct hp_zone_share *sum = &summing->sums.all[at];
        struct hp_found_zones *found = &functions[sum->node].zones[summing->part];
        zones[at] = (struct hp_found_zone){summing->stacks->zones[sum->zone].name, sum->weight[AMOUNT]};
        if (found->count++ == 0)
            found->all = &zones[at];
    }
}

static bool add_part(const struct hp_named_stacks *stacks, enum hp_zone_part part,
                     struct hp_found_function *functions, struct hp_function_profile *profile)
{
    struct summing summing = {
        .stacks = stacks, .part = part, .latest = calloc(stacks->function_count + 1, sizeof *summing.latest)};
    struct hp_zone_shares *sums = &summing.sums;
    struct hp_found_zone *zones = NULL;
    if (summing.latest != NULL && sum_up(&summing))
        zones = calloc(sums->count + 1, sizeof *zones);
    if (zones != NULL) {
        if (sums->count > 0)
            qsort(sums->all, sums->count, sizeof *sums->all, by_function);
        hand_out(&summing, zones, functions);
        profile->zones[part] = (struct hp_found_zones){zones, sums->count};
    }
    hp_zone_shares_free(sums);
    free(summing.latest);
    return zones != NULL;
}

bool hp_zone_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile)
{
    for (size_t part = 0; part < HP_ZONE_PARTS; part++)
        if (!add_part(stacks, (enum hp_zone_part)part, functions, profile)) {
            while (part-- > 0) {
                free((void *)(uintptr_t)profile->zones[part].all);
                profile->zones[part] = (struct hp_found_zones){0};
            }
            return false;
        }
    return true;
}
