/*
 * Sources of samples for a thread: a timer, and perf's clock. sampler.h says what each is good for. Everything is
 * done by the thread itself, in the sampling signal handler or with signals blocked, unless another thread is
 * named. SPDX-License-Identifier: MIT
 */
#ifndef HP_CPU_SAMPLE_SOURCES_H
#define HP_CPU_SAMPLE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

#define HP_SECOND_NS UINT64_C(1000000000)
#define HP_EVERYWHERE ((struct hp_stack){0, UINTPTR_MAX})

static inline bool hp_sources_are_there(const struct hp_sampler *sampler)
{
    return sampler->has_timer || sampler->perf != NULL;
}
/* It had a perf event that could not be renewed. */
static inline bool hp_sources_have_lost_perf(const struct hp_sampler *sampler)
{
    return sampler->perf == NULL && sampler->has_had_perf && !sampler->is_switched_often;
}

/* --- beginning, with the thread's first zone on a stack */
/*
 * For the first thread of the process that enters a zone: finds out whether perf is available, and keeps one event
 * open so that further ones start quickly.
 */
void hp_sources_begin_process(const struct hp_thread_context *context);
/* The session ends: that event is no longer needed. */
void hp_sources_end_process(void);
/* Whether the thread switches often, by its clocks, which were just read: then it gets no perf. */
void hp_sources_judge(struct hp_sampler *sampler);
void hp_sources_start(struct hp_thread_context *context);

/* --- with each timer sample */
/*
 * Periodic checks: the host's handler for SIGIO, whether perf is worth its cost, when the next timer signal is due.
 */
void hp_sources_look_after(struct hp_thread_context *context);
/*
 * A perf event is good for a limited number of samples. Whether the thread has, or had, one that can be renewed;
 * and the renewal.
 */
static inline bool hp_sources_can_renew(const struct hp_sampler *sampler)
{
    return sampler->perf != NULL || hp_sources_have_lost_perf(sampler);
}
void hp_sources_renew(struct hp_sampler *sampler);

/* --- ending */
void hp_sources_stop(struct hp_sampler *sampler);
/* The same, and makes sure that no sample is on its way: it would arrive on the stack that the thread has left. */
void hp_sources_end(struct hp_sampler *sampler);
/* The same for good: no stack is known to be large enough for handlers. */
void hp_sources_give_up(struct hp_thread_context *context);

/* --- by another thread: the process is about to enter a sandbox, or was refused. The sampler is not held. */
void hp_sources_pause(struct hp_sampler *sampler);
void hp_sources_resume(struct hp_sampler *sampler);

#endif
