/*
 * How many ticks a time is, for those who have to decide while the program runs whether something took long. Readers know it
 * better: they have the whole run to compare clocks. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_TICK_RATE_H
#define HP_RECORD_TICK_RATE_H

#include "runtime.h"

/* Measured once the session is old enough for that, a guess before. With the head held; not where system calls are death. */
uint64_t hp_tick_rate_measure(const struct hp_head *head);

static inline uint64_t hp_ticks_per_ms(const struct hp_head *head)
{
    const uint64_t known = HOTPATH_GET_(hp_runtime->ticks_per_ms);
    return HOTPATH_LIKELY_(known != 0) ? known : hp_tick_rate_measure(head);
}

#endif
