/* The signal handler for samples: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_CPU_SAMPLE_HANDLER_H
#define HP_CPU_SAMPLE_HANDLER_H

#include <stdbool.h>

#include "signals.h"
#include <stdint.h>

/* Installs the handler for this signal, unless it is installed. False: not possible. */
bool hp_sample_take_signal(enum hp_private_signal which);

/* ------------------------------------------------------------------------------------------------- sample spent */

/*
 * The cost of samples for the thread they interrupt: the time between these two calls. The caller holds the
 * sampler.
 */

struct hp_thread_context;

/*
 * Limit, in zones: if a sample takes longer, the thread was preempted meanwhile, as by the tick that came with the
 * signal.
 */
#define HP_MOST_OF_SAMPLE 1024u
#define HP_MOST_OF_BEGINNING 262144u

/* Whether the thread's session still exists; if so, starts counting time. */
bool hp_spent_begin(struct hp_thread_context *context);
void hp_spent_end(struct hp_thread_context *context, uint64_t most_zones, bool is_by_perf);

#endif
