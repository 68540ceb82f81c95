/*
 * To whom a thread's processor time is credited: a table from nodes of its call tree to time and samples, in the session. What the
 * thread's clocks say has passed waits in its struct hp_cpu_thread until samples tell whose it is. All of this is called by the thread
 * itself, in the handler of samples or with signals held. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_CREDITS_H
#define HP_RECORD_CREDITS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_head;

/* Reads the clocks: what has passed waits. */
void hp_credits_count_time(struct hp_head *head);
/* The same while recording is paused: what has passed is nobody's. */
void hp_credits_skip_time(struct hp_head *head);

/* Of what waits, so much goes to a node. */
void hp_credits_give(struct hp_head *head, uint32_t node, uint64_t user_ns, uint64_t kernel_ns, uint64_t samples);
/* A node's calls are in progress, but not on the way from the innermost one to the root: credited beside what waits. */
void hp_credits_give_beside(struct hp_head *head, uint32_t node, uint64_t ns, uint64_t samples);

/* A timer's signal found the thread at `node`, without perf, and the clocks were read: all that waits is credited to it. */
void hp_credits_give_all(struct hp_head *head, uint32_t node, bool is_in_kernel);
/*
 * The same with perf, whose samples stand for a period of user time each. What is left has passed unseen: the reader shares it out to
 * where such signals found the thread in the kernel. For `stalled_ns` of it no sample could come, and it is credited to where the
 * thread is in user mode.
 */
void hp_credits_tick(struct hp_head *head, uint32_t node, bool is_in_kernel, uint64_t stalled_ns);
/* Reads the clocks, and gives user time to where perf has found the thread. What is left waits for a timer's signal, if one may come. */
void hp_credits_give_seen(struct hp_head *head, bool is_last);

#endif
