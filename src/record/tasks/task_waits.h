/*
 * What tasks wait for, if known: requests that they have made and continue after. See task_waits.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_TASKS_TASK_WAITS_H
#define HP_TASKS_TASK_WAITS_H

#include "task_slots.h"

/* A wait that has ended. */
struct hp_task_wait {
    struct hotpath_site *site; /* of what was waited for; NULL: there was no wait */
    uint32_t waiter;           /* site of the waiting task */
    uint64_t ticks;            /* in which the waiter did not run */
};

/* Another task waits for the slot's task. The caller holds the context. */
void hp_task_wait_begin(const struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t waiting,
                        uint64_t now);
/* The wait ends now; if its waiter is over already, there was no wait. The caller holds the context. */
struct hp_task_wait hp_task_wait_end(const struct hp_thread_context *context, const struct hp_task_slot *slot,
                                     uint64_t now);
/* Counts it. Call with nothing held. */
void hp_task_wait_count(const struct hp_task_wait *wait);

#endif
