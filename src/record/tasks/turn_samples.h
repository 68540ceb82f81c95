/*
 * Which callback a turn of an event loop was spent in: see turn_samples.c. The caller holds the context.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_TASKS_TURN_SAMPLES_H
#define HP_TASKS_TURN_SAMPLES_H

#include "runtime.h"

/* The zone that took most of a turn. */
struct hp_turn_callback {
    uint32_t node; /* 0: unknown */
    uint64_t ticks;
};

/* Whether the last check is so long ago that the gains since would not describe a single turn. */
static inline bool hp_turn_look_is_due(const struct hp_thread_context *context, uint64_t now)
{
    return now > context->turn_look;
}

/*
 * At the end of a turn with this duration that began at this node (0: none): finds its callback, and saves the
 * totals for the next one.
 */
struct hp_turn_callback hp_turn_look(struct hp_thread_context *context, uint32_t began_at, uint64_t turn,
                                     uint64_t now);

#endif
