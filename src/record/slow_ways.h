/* What the recorder does beyond the usual, and how long that takes: see slow_ways.c. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_SLOW_WAYS_H
#define HP_RECORD_SLOW_WAYS_H

#include <stdint.h>

#include "runtime.h"

/*
 * Around what is more than the usual way in and out of a zone. Now and then it is timed: then it returns when it began, else 0. With
 * the head held.
 */
static inline uint64_t hp_slow_way_begin(struct hp_head *head)
{
    return __builtin_expect(--head->slow_ways_left == 0, 0) ? hp_now() : 0;
}
void hp_slow_way_timed(struct hp_head *head, uint64_t from);
static inline void hp_slow_way_end(struct hp_head *head, uint64_t from)
{
    if (__builtin_expect(from != 0, 0))
        hp_slow_way_timed(head, from);
}

#endif
