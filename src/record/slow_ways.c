/*
 * What the recorder does beyond the usual: calls that are kept or have allocated end out of line, and the first allocation in a
 * call marks it. How long that takes depends on what is there, so it cannot be measured beforehand; it is timed where it
 * happens, one in HP_SLOW_PERIOD. SPDX-License-Identifier: MIT
 */
#include "slow_ways.h"

/* So many zones: then the thread lost its processor meanwhile, which is not our doing. */
#define MOST_ZONES 64u

/*
 * An empty zone lasts about as long as it takes to read the clock, which is in this time, too. Half of that is left out: the other
 * half stands for the calls on the way here and back, which are not.
 */
void hp_slow_way_timed(struct hp_head *head, uint64_t from)
{
    const uint64_t ticks = hp_now() - from, too_much = HOTPATH_GET_(hp_runtime->zone_cost.inner_ticks) / 2;
    if (ticks > too_much && ticks < MOST_ZONES * hp_zone_ticks())
        HOTPATH_ADD_(head->record->slow_ticks, ticks - too_much);
    HOTPATH_PUT_(head->record->slow_ways, head->record->slow_ways + HP_SLOW_PERIOD);
    head->slow_ways_left = HP_SLOW_PERIOD;
}
