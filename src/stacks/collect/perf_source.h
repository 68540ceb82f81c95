/*
 * Samples of all processes of a run, taken by the kernel: registers, and the stack bytes above them. No code runs
 * in the program, and it gets no signals. Needs kernel.perf_event_paranoid of 2 or less.
 *
 * A thread only empties the kernel's rings; the events are queued (event_queue.h) for the collector.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_PERF_SOURCE_H
#define HP_COLLECT_PERF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Starts to sample a process that does not run yet, and all its descendants, every `period_ns` of each thread's CPU
 * time. False: the kernel refused.
 */
bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns);

/* The same for a running process: its current threads, and all that they start. */
bool hp_perf_source_attach(uint32_t pid, uint64_t period_ns);

/* Whether samples come from kernel mode, too. */
bool hp_perf_source_has_kernel(void);

/* Stops the thread. Queued events can still be taken. */
void hp_perf_source_end(void);

#endif
