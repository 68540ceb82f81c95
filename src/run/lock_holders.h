/*
 * Who holds the locks that threads wait for, from one look to another shortly after it: what a thread does
 * meanwhile, it does with the lock held. For the collector, which has samples of that time.
 *
 * A thread that gives up a lock wakes one that waits for it. So a lock was not given up for as long as all threads
 * that were found waiting for it sleep. For one thread of ours, the observer. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_LOCK_HOLDERS_H
#define HP_RUN_LOCK_HOLDERS_H

#include "proc_sampler.h"

/* From a look at a process. */
void hp_lock_holders_add(const struct hp_wait_held *held);

/* That process is no longer looked at. */
void hp_lock_holders_forget(uint32_t pid);

/* The pause before the second look, in nanoseconds; 0: no holder runs. */
uint64_t hp_lock_holders_pause_ns(void);

/* The second look at all of them. */
void hp_lock_holders_look(void);
void hp_lock_holders_free(void);

#endif
