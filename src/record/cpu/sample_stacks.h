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
 * is told when a thread is sampled here, and leaves it alone. Without that library nobody would announce a sandbox
 * in which the copy is forbidden, so no stacks are taken. SPDX-License-Identifier: MIT
 */
#ifndef HP_CPU_SAMPLE_STACKS_H
#define HP_CPU_SAMPLE_STACKS_H

#include "runtime.h"

/* For the session that begins. */
bool hp_sample_stacks_are_wanted(void);

/* The calling thread is sampled here from now on. */
void hp_sample_stacks_begin_thread(void);

/* CPU time of the thread, as last read, that no stack stands for yet. */
static inline uint64_t hp_sample_stacks_left(const struct hp_sampler *sampler)
{
    return sampler->counted.ns > sampler->stacked_ns ? sampler->counted.ns - sampler->stacked_ns : 0;
}

/* Adds this much to what stacks stand for. */
static inline uint64_t hp_sample_stacks_take(struct hp_sampler *sampler, uint64_t ns)
{
    sampler->stacked_ns += ns;
    return ns;
}

/* Puts the stack of a sample found at a node of the tree. In the handler. */
void hp_sample_stack_put(struct hp_thread_context *context, uint32_t node, uint64_t ns, const void *machine_state);

#endif
