/*
 * Requests the stacks of threads that are found waiting: the listener of hp_proc_sampler, for the collector.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_WAIT_STACKS_H
#define HP_RUN_WAIT_STACKS_H

#include "proc_sampler.h"

/* Its context is a uint32_t: the number of the session (session_numbers.h) that has the threads' zones. */
extern const struct hp_wait_listener hp_wait_stacks;

#endif
