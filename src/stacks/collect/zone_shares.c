/* Divides weights among zones. SPDX-License-Identifier: MIT */
#include "zone_shares.h"

#include <stdlib.h>
#include <string.h>

#include "growing_array.h"

struct hp_zone_share *hp_zone_shares_at(struct hp_zone_shares *shares, uint32_t node, uint32_t zone)
{
    if (!HP_MAKE_ROOM(shares->all, shares->count + 1, shares->room))
        return NULL;
    const uint32_t number = hp_pair_table_put(&shares->pairs, node, zone);
    if (number == HP_NO_PAIR)
        return NULL;
    if (number == shares->count)
        shares->all[shares->count++] = (struct hp_zone_share){.node = node, .zone = zone};
    return &shares->all[number];
}

void hp_zone_shares_free(struct hp_zone_shares *shares)
{
    free(shares->all);
    hp_pair_table_free(&shares->pairs);
    memset(shares, 0, sizeof *shares);
}
