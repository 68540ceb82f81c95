/*
 * Where samples of a thread come from: a timer, and perf's clock. See sampler.h for what each is good for. All of it is done by the thread
 * itself, in the handler of samples or with signals held, but where another one is named. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLE_SOURCES_H
#define HP_RECORD_SAMPLE_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime.h"

#define HP_SECOND_NS UINT64_C(1000000000)
#define HP_EVERYWHERE ((struct hp_stack){0, UINTPTR_MAX})

static inline bool hp_sources_are_there(const struct hp_sampler *sampler)
{
    return sampler->has_timer || sampler->perf != NULL;
}
/* It had an event of perf's, which could not be renewed. */
static inline bool hp_sources_have_lost_perf(const struct hp_sampler *sampler)
{
    return sampler->perf == NULL && sampler->has_had_perf && !sampler->is_switched_often;
}

/* --- beginning, with the thread's first zone on a stack */
/* For the first thread of the process that has met a zone: whether there is perf, and an event so that the next ones are there quickly. */
void hp_sources_begin_process(const struct hp_head *head);
/* The session ends: that event is not needed any more. */
void hp_sources_end_process(void);
/* Whether the thread is switched often, by its clocks, which were read just now: then it has no perf. */
void hp_sources_judge(struct hp_sampler *sampler);
void hp_sources_start(struct hp_head *head);

/* --- with each sample of a timer's */
/* What is to be looked after now and then: the host's handler of SIGIO, whether perf is worth its price, when the next is due. */
void hp_sources_look_after(struct hp_head *head);
/* An event of perf's is good for so many samples. Whether it has, or had, one that can be renewed; and a new one in its place. */
static inline bool hp_sources_can_renew(const struct hp_sampler *sampler)
{
    return sampler->perf != NULL || hp_sources_have_lost_perf(sampler);
}
void hp_sources_renew(struct hp_sampler *sampler);

/* --- ending */
void hp_sources_stop(struct hp_sampler *sampler);
/* The same, and no sample is on its way: it would come on the stack that the thread has left. */
void hp_sources_end(struct hp_sampler *sampler);
/* The same for good: there is no place for handlers that is known to be large enough. */
void hp_sources_give_up(struct hp_head *head);

/* --- by another thread: the process is about to be shut in, and is not after all. The sampler is not held. */
void hp_sources_pause(struct hp_sampler *sampler);
void hp_sources_resume(struct hp_sampler *sampler);

#endif
