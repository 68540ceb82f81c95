/*
 * Stacks of waiting threads: what the observer of a process finds goes to the collector, with what the thread waits
 * for. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_WAIT_STACKS_H
#define HP_RUN_WAIT_STACKS_H

#include "proc_sampler.h"
#include "text.h"

/*
 * "disk: /data/x.db", "pipe": the numbers of unnamed pipes and sockets are left out, since they tell users nothing.
 */
void hp_wait_put(struct hp_text *text, const struct hp_wait_found *found);

/* Its context is a uint32_t: the number of the session (event_queue.h) that has the threads' zones. */
extern const struct hp_wait_listener hp_wait_stacks;

#endif
