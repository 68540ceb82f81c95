/*
 * Samples from inside the processes of a run, which know the zones that they are in, and are to be had where the kernel refuses perf. Each process
 * that uses its processor makes a ring (stack_ring.h) in the folder of the run: one where threads have zones, one where they have none. A thread finds rings, reads what is in them, and asks the kernel what their processes have
 * mapped; all of it waits (seen.h) until the collector takes it. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_RING_SOURCE_H
#define HP_STACKS_RING_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* False: it cannot be. */
bool hp_ring_source_begin(const char *folder);

/* Ends the thread, and reads what is left. Rings are gone then. */
void hp_ring_source_end(void);

/* What all processes of the run have used that have ended and were waited for, less what samples stand for. After the end. */
uint64_t hp_ring_source_unsampled_ns(void);

/* Threads that could not be sampled, as the program's alternate stacks for signals are too small. After the end. */
uint64_t hp_ring_source_refused(void);

#endif
