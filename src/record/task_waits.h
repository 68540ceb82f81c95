/*
 * What tasks wait for, where somebody knows: requests that they have made, and that they go on after. See task_waits.c.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_TASK_WAITS_H
#define HP_RECORD_TASK_WAITS_H

#include "task_slots.h"

/* A wait that has ended. */
struct hp_task_wait {
    struct hotpath_site *site; /* of what was waited for; NULL: nobody has waited */
    uint32_t waiter;           /* the site of who waited */
    uint64_t ticks;            /* in which that one did not run */
};

/* The task of the slot is what another one waits for. With the head held. */
void hp_task_wait_begin(const struct hp_head *head, struct hp_task_slot *slot, uint64_t waiting, uint64_t now);
/* It ends now, or its waiter is over already, and then it is none. With the head held. */
struct hp_task_wait hp_task_wait_end(const struct hp_head *head, const struct hp_task_slot *slot, uint64_t now);
/* Counts it. With nothing held. */
void hp_task_wait_count(const struct hp_task_wait *wait);

#endif
