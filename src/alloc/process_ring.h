/*
 * The ring of this process, by which stacks go to the `hotpath run` that started it. It is made when it is first needed, in the folder
 * of the run; a forked child makes its own and never writes into that of its parent. For handlers of signals, too.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_PROCESS_RING_H
#define HP_ALLOC_PROCESS_RING_H

#include "stack_ring.h"

/* At the start of the process. `period_ns`: of samples of processor time, or 0. False: there is no run that reads rings. */
bool hp_process_ring_prepare(uint64_t period_ns);

/*
 * The ring, made now if need be. NULL: it cannot be had, or is just being made by another thread; ask again later. Makes system calls
 * when it is asked for the first time.
 */
struct hp_stack_ring *hp_process_ring(void);

/* The same, without making it. */
struct hp_stack_ring *hp_process_ring_present(void);

/* Whether it is of no use to ask again. */
bool hp_process_ring_is_refused(void);

#endif
