/*
 * Attribution of a thread's CPU time: a table in the session from nodes of its call tree to time and samples. Time
 * that the thread's clocks report waits in its struct hp_cpu_thread until samples show where it was spent. All
 * functions are called by the thread itself, in the sampling signal handler or with signals blocked.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CPU_CPU_ATTRIBUTION_H
#define HP_CPU_CPU_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

struct hp_thread_context;

/* Reads the clocks and adds the elapsed CPU time to the waiting time. */
void hp_cpu_attribute_count_time(struct hp_thread_context *context);
/* The same while recording is paused: the elapsed time is attributed to nothing. */
void hp_cpu_attribute_skip_time(struct hp_thread_context *context);

/* Moves this much of the waiting time to a node. */
void hp_cpu_attribute_give(struct hp_thread_context *context, uint32_t node, uint64_t user_ns, uint64_t kernel_ns,
                           uint64_t samples);
/*
 * For a node whose calls are in progress, but not on the path from the innermost one to the root: credited in
 * addition to the waiting time.
 */
void hp_cpu_attribute_give_beside(struct hp_thread_context *context, uint32_t node, uint64_t ns, uint64_t samples);

/*
 * Without perf: a timer signal found the thread at `node` and the clocks were read. All waiting time goes to the
 * node.
 */
void hp_cpu_attribute_give_all(struct hp_thread_context *context, uint32_t node, bool is_in_kernel);
/*
 * With perf, whose samples stand for one period of user time each. The rest of the waiting time becomes unseen; the
 * reader distributes it over the nodes where such signals found the thread in the kernel. For `stalled_ns` of it no
 * sample could arrive; that part goes to the node where the thread is in user mode.
 */
void hp_cpu_attribute_tick(struct hp_thread_context *context, uint32_t node, bool is_in_kernel,
                           uint64_t stalled_ns);
/*
 * Reads the clocks and attributes user time to the nodes of perf's samples. The rest waits for a timer signal, if
 * one may come.
 */
void hp_cpu_attribute_give_seen(struct hp_thread_context *context, bool is_last);

#endif
