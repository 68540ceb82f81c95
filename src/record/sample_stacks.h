/*
 * Stacks of samples, on their way to `hotpath run`, which unwinds and names them. The handler of samples knows which zone it has found,
 * and puts a copy of registers and stack beside it into a ring (stack_ring.h), whose file is beside that of the session and made with the
 * first sample. Without `hotpath run` nothing of this happens.
 *
 * What a stack stands for. Beside perf, a sample of perf's stands for its period. What the thread's clock says beyond that was spent in the
 * kernel, or no sample came: a timer's signal that finds the thread there stands for it, but for no more than twice the time since the last one,
 * so that a call which was met once does not have all that was ever missed. Without perf a timer's signal stands for all since the last. So all
 * together is never more than the clock says, but for a period; what is left out is in `<not sampled>`.
 *
 * The library that `hotpath run` preloads takes stacks of threads that have no zones (src/alloc/stack_sampler.h). It is told of a thread that is
 * sampled here, and leaves it alone. Where it is not there, nobody would announce a sandbox in which the copy is forbidden: then there is none. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_STACKS_H
#define HP_RECORD_SAMPLE_STACKS_H

#include "runtime.h"

/* Of the session that begins. */
bool hp_sample_stacks_are_wanted(void);

/* The calling thread is sampled here from now on. */
void hp_sample_stacks_begin_thread(void);

/* Of the thread's clock, as it was read last, what no stack stands for. */
static inline uint64_t hp_sample_stacks_left(const struct hp_sampler *sampler)
{
    return sampler->counted.ns > sampler->stacked_ns ? sampler->counted.ns - sampler->stacked_ns : 0;
}

/* A stack stands for that much more. */
static inline uint64_t hp_sample_stacks_take(struct hp_sampler *sampler, uint64_t ns)
{
    sampler->stacked_ns += ns;
    return ns;
}

/* Puts that of a sample, which was found in a node of the tree. In the handler. */
void hp_sample_stack_put(struct hp_head *head, uint32_t node, uint64_t ns, const void *context);

#endif
