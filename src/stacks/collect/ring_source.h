/*
 * Samples from inside the processes of a run. They know their zones, and work where the kernel refuses perf. Each
 * process that uses CPU time makes a ring (stack_ring.h) in the folder of the run: one for threads with zones, one
 * for those without. A thread finds the rings, reads them, and asks the kernel for the mappings of their processes;
 * all events are queued (event_queue.h) for the collector. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_RING_SOURCE_H
#define HP_COLLECT_RING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* False: not possible. */
bool hp_ring_source_begin(const char *folder);

/* Stops the thread, and reads the rest. The rings are removed. */
void hp_ring_source_end(void);

/* CPU time of all reaped processes of the run, less what samples stand for. Call it after the end. */
uint64_t hp_ring_source_unsampled_ns(void);

/*
 * Threads that could not be sampled, because they have alternate signal stacks of the program. Call it after the
 * end.
 */
uint64_t hp_ring_source_refused(void);

#endif
