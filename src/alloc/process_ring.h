/*
 * The ring by which this process passes stacks to the `hotpath run` that started it. Made at first use, in the
 * directory of the run; a forked child makes its own and never writes into its parent's. Usable in signal handlers.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_PROCESS_RING_H
#define HP_ALLOC_PROCESS_RING_H

#include "stack_ring.h"

/* At process start. `period_ns`: sampling period in CPU time, or 0. False: there is no run that reads rings. */
bool hp_process_ring_prepare(uint64_t period_ns);

/*
 * The ring, made now if needed. NULL: not available, or another thread is making it; try again later. The first
 * call makes system calls.
 */
struct hp_stack_ring *hp_process_ring(void);

/* The same, without making it. */
struct hp_stack_ring *hp_process_ring_present(void);

/* Whether there is no point in trying again. */
bool hp_process_ring_is_refused(void);

#endif
