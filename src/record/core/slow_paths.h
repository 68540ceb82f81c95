/* Slow paths and their cost: see slow_paths.c. SPDX-License-Identifier: MIT */
#ifndef HP_CORE_SLOW_PATHS_H
#define HP_CORE_SLOW_PATHS_H

#include <stdint.h>

#include "runtime.h"

/*
 * Brackets work beyond the usual entry and exit of a zone. Now and then it is timed: then this returns the start
 * time, else 0. The caller holds the context.
 */
static inline uint64_t hp_slow_way_begin(struct hp_thread_context *context)
{
    return __builtin_expect(--context->slow_ways_left == 0, 0) ? hp_now() : 0;
}
void hp_slow_way_timed(struct hp_thread_context *context, uint64_t from);
static inline void hp_slow_way_end(struct hp_thread_context *context, uint64_t from)
{
    if (__builtin_expect(from != 0, 0))
        hp_slow_way_timed(context, from);
}

#endif
