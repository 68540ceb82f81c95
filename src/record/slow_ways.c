/*
 * What the recorder does beyond the usual: calls that are kept or have allocated end out of line, and the first allocation in a
 * call marks it. How long that takes depends on what is there, so it cannot be measured beforehand; it is timed where it
 * happens, one in HP_SLOW_PERIOD. SPDX-License-Identifier: MIT
 */
#include "runtime.h"

/* So many zones: then the thread lost its processor meanwhile, which is not our doing. */
#define MOST_ZONES 64u

uint64_t hp_slow_way_begin(const struct hp_head *head)
{
    struct hp_thread *record = head->record;
    const uint32_t number = record->slow_ways + 1;
    HOTPATH_PUT_(record->slow_ways, number);
    return number % HP_SLOW_PERIOD == 0 ? hp_now() : 0;
}

void hp_slow_way_end(const struct hp_head *head, uint64_t from)
{
    if (from == 0)
        return;
    const uint64_t ticks = hp_now() - from;
    if (ticks < MOST_ZONES * hp_zone_ticks())
        HOTPATH_ADD_(head->record->slow_ticks, ticks);
}
