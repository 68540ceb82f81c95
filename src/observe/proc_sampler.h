/*
 * Sampling what the threads of a process wait for, from the kernel's files in /proc.
 *
 * Each sample reads for every thread how long it ran and how long it was ready to run since the last sample, which
 * the kernel knows exactly; the rest it waited. Its state at that moment tells what for, and its open zones in the
 * session tell in which function. So the sums are exact, and their attribution is sampled.
 *
 *     struct hp_proc_sampler *sampler = ...;                zeroed
 *     hp_proc_sampler_begin(sampler, &target);
 *     while (hp_proc_sample(sampler)) ... a pause ...
 *     hp_proc_sampler_end(sampler);
 *
 * The process is not disturbed, and nothing of it is trusted: its session is read and written through functions of
 * the caller, with checked offsets. No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_PROC_SAMPLER_H
#define HP_OBSERVE_PROC_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler_state.h"

/* False: not to be observed (no space in the session, another observer, another pid namespace). */
bool hp_proc_sampler_begin(struct hp_proc_sampler *sampler, const struct hp_proc_sampler_target *target);

/* Looks at every thread once. False: the process, its program or its session is over. */
bool hp_proc_sample(struct hp_proc_sampler *sampler);

/* Credits the rest, and closes all descriptors. */
void hp_proc_sampler_end(struct hp_proc_sampler *sampler);

/*
 * The pause until the next sample, if all samples so far took `spent_ns` of CPU time: at most 1/100 of the whole
 * time is spent, so that a single long look does not cause a long gap.
 */
uint32_t hp_proc_sampler_period_us(uint64_t spent_ns, uint64_t elapsed_ns);

/* Adds the cost of the last sample, for readers of the session. */
void hp_proc_sampler_note(struct hp_proc_sampler *sampler, uint64_t look_ns);

#endif
