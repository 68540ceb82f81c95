/*
 * Samples of all processes of a run, taken by the kernel: registers, and the bytes of the stack above them. Nothing of it is in
 * the program, and no signal goes to it. Needs kernel.perf_event_paranoid of 2 or less.
 *
 * A thread does nothing but empty the kernel's rings; what it finds waits (seen.h) until somebody takes it.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_PERF_SOURCE_H
#define HP_STACKS_PERF_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Begins to sample a process that has not begun to run yet, and all that it starts, once in so many nanoseconds of processor time
 * of each thread. False: the kernel does not let us.
 */
bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns);

/* The same of a process that runs already: of the threads that it has, and all that these start. */
bool hp_perf_source_attach(uint32_t pid, uint64_t period_ns);

/* Whether samples come from the kernel, too. */
bool hp_perf_source_has_kernel(void);

/* Ends the thread. What is left can still be taken. */
void hp_perf_source_end(void);

#endif
