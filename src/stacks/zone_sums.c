/* Functions by zones. SPDX-License-Identifier: MIT */
#include "zone_sums.h"

#include <stdlib.h>

/* Functions are the nodes here: of each zone in each of them, the time, with all that they called. */
struct summing {
    const struct hp_named_stacks *stacks;
    struct hp_zone_shares sums;
    size_t *latest; /* of each function: the share, plus 1, that it has had; it may be on a stack more than once */
};

/* To all functions of one place on a stack. */
static bool add_to_frames(struct summing *summing, const struct hp_named_node *node, size_t number)
{
    const struct hp_zone_share *share = &summing->stacks->shares[number];
    for (uint32_t at = 0; at < node->frame_count; at++) {
        const uint32_t function = summing->stacks->frames[node->first_frame + at].function;
        if (summing->latest[function] == number + 1)
            continue;
        struct hp_zone_share *sum = hp_zone_shares_at(&summing->sums, function, share->zone);
        if (sum == NULL)
            return false;
        sum->user_ns += share->user_ns + share->kernel_ns;
        summing->latest[function] = number + 1;
    }
    return true;
}

static bool sum_up(struct summing *summing)
{
    const struct hp_named_stacks *stacks = summing->stacks;
    for (size_t number = 0; number < stacks->share_count; number++)
        for (uint32_t at = stacks->shares[number].node; at != HP_STACK_ROOT; at = stacks->nodes[at].parent)
            if (!add_to_frames(summing, &stacks->nodes[at], number))
                return false;
    return true;
}

static int by_function(const void *a, const void *b)
{
    const struct hp_zone_share *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->user_ns != y->user_ns)
        return x->user_ns < y->user_ns ? 1 : -1;
    return x->zone < y->zone ? -1 : x->zone > y->zone;
}

static void hand_out(const struct hp_named_stacks *stacks, const struct hp_zone_shares *sums,
                     struct hp_found_zone *zones, struct hp_found_function *functions)
{
    for (size_t at = 0; at < sums->count; at++) {
        const struct hp_zone_share *sum = &sums->all[at];
        struct hp_found_function *function = &functions[sum->node];
        zones[at] = (struct hp_found_zone){stacks->zones[sum->zone].name, sum->user_ns};
        if (function->zone_count++ == 0)
            function->zones = &zones[at];
    }
}

bool hp_zone_sums_add(const struct hp_named_stacks *stacks, struct hp_found_function *functions,
                      struct hp_function_profile *profile)
{
    struct summing summing = {.stacks = stacks,
                              .latest = calloc(stacks->function_count + 1, sizeof *summing.latest)};
    struct hp_zone_shares *sums = &summing.sums;
    struct hp_found_zone *zones = NULL;
    if (summing.latest != NULL && sum_up(&summing))
        zones = calloc(sums->count + 1, sizeof *zones);
    if (zones != NULL) {
        if (sums->count > 0)
            qsort(sums->all, sums->count, sizeof *sums->all, by_function);
        hand_out(stacks, sums, zones, functions);
        profile->zones = zones;
        profile->zone_count = sums->count;
    }
    hp_zone_shares_free(sums);
    free(summing.latest);
    return zones != NULL;
}
