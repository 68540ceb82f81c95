/* The signal handler for samples: see sampler.h. SPDX-License-Identifier: MIT */
#ifndef HP_CPU_SAMPLE_HANDLER_H
#define HP_CPU_SAMPLE_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"
#include "signals.h"

/* ----------------------------------------------------------------------------------------- the zone of a sample */

/*
 * The zone in which a sample has found a thread: the innermost one, and those folded away by recursion. Called in
 * the sampling signal handler.
 */

/* The innermost zone around the stack address. Zones below it were left by longjmp, or wait on another stack. */
const struct hotpath_frame_ *hp_sample_frame(const struct hp_thread_context *context, uintptr_t stack);

/* ---------------------------------------------------------------------------------------------------- its stack */

/*
 * Stacks of samples, for `hotpath run`, which unwinds and names them. The sampling handler knows the zone it found,
 * and puts a copy of registers and stack beside it into a ring (stack_ring.h). The ring's file lies beside the
 * session's and is made with the first sample. Without `hotpath run` no stacks are taken.
 *
 * The weight of a stack. With perf, a perf sample stands for its period. CPU time beyond that was spent in the
 * kernel, or no sample arrived: a timer signal that finds the thread there stands for it, but for at most twice the
 * time since the last one, so that a call which was hit once does not get everything ever missed. Without perf, a
 * timer signal stands for all time since the last one. So the total never exceeds the clock by more than a period;
 * the rest is in `<not sampled>`.
 *
 * The library that `hotpath run` preloads takes stacks of threads without zones (src/preload/stack_sampler.h). It
 * is told when a thread is sampled here, and leaves it alone. Without that library no sandbox is announced in which
 * the copy is forbidden, so no stacks are taken.
 */

/* For the session that begins. */
bool hp_sample_stacks_are_wanted(void);

/* The calling thread is sampled here from now on. */
void hp_sample_stacks_begin_thread(void);

/* The calling thread's context, or NULL: another copy of the library may have registered it. */
struct hp_thread_context *hp_sample_context_of_thread(void);

/* Installs the handler for this signal, unless it is installed. False: not possible. */
bool hp_sample_take_signal(enum hp_private_signal which);

/* ----------------------------------------------------------------------------------------------------- its cost */

/*
 * The cost of samples for the thread they interrupt: the time between these two calls. The caller holds the
 * sampler.
 */

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
