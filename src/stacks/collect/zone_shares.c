/* Divides weights among zones. SPDX-License-Identifier: MIT */
#include "zone_shares.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

struct hp_zone_share *hp_zone_shares_at(struct hp_zone_shares *shares, uint32_t node, uint32_t zone)
{
    struct hp_zone_share *all = hp_grown(shares->all, shares->count, &shares->room, sizeof *all);
    if (all == NULL)
        return NULL;
    shares->all = all;
    const uint32_t number = hp_pair_table_put(&shares->pairs, node, zone);
    if (number == HP_NO_PAIR)
        return NULL;
    if (number == shares->count)
        all[shares->count++] = (struct hp_zone_share){.node = node, .zone = zone};
    return &all[number];
}

void hp_zone_shares_free(struct hp_zone_shares *shares)
{
    free(shares->all);
    hp_pair_table_free(&shares->pairs);
    memset(shares, 0, sizeof *shares);
}
