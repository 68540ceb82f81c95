/*
 * The cost of samples for the thread they interrupt: the time between these two calls. The caller holds the
 * sampler. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_SPENT_H
#define HP_RECORD_SAMPLE_SPENT_H

#include <stdbool.h>
#include <stdint.h>

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
