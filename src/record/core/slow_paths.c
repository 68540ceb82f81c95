/*
 * The cost of slow paths: calls that are kept or have allocated end on the slow path, and the first allocation in a
 * call marks it. Their cost depends on the data, so it cannot be measured beforehand; one in HP_SLOW_PERIOD is
 * timed where it happens. SPDX-License-Identifier: MIT
 */
#include "slow_paths.h"

/* Limit, in zones: beyond it the thread was preempted, which is not our cost. */
#define MOST_ZONES 64u

/*
 * An empty zone lasts about as long as reading the clock, which is included in this time. Half of that is
 * subtracted; the other half stands for the calls to and from here, which are not included.
 */
void hp_slow_way_timed(struct hp_thread_context *context, uint64_t from)
{
    const uint64_t ticks = hp_now() - from, too_much = HOTPATH_GET_(hp_runtime->zone_cost.inner_ticks) / 2;
    if (ticks > too_much && ticks < MOST_ZONES * hp_zone_ticks())
        HOTPATH_ADD_(context->record->slow_ticks, ticks - too_much);
    HOTPATH_PUT_(context->record->slow_ways, context->record->slow_ways + HP_SLOW_PERIOD);
    context->slow_ways_left = HP_SLOW_PERIOD;
}
