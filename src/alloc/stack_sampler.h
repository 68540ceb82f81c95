/*
 * Stacks of threads that use a processor, taken inside the process: where the kernel refuses perf to `hotpath run`, a timer on each
 * thread's processor clock sends it a signal, whose handler copies registers and stack into the ring of the process (process_ring.h).
 * `hotpath run` unwinds them.
 *
 * Which threads. The first one from the start of the process, others from their start, as thread_hooks.c stands in front of
 * pthread_create. A thread that was begun in another way is not sampled; what it uses is in `<not sampled>`.
 *
 * Where the handler runs: on an alternate stack, since a coroutine may have no room for the frame of a signal. A thread that has none
 * gets one of ours. If the program has one of its own, that is used where it has room for a handler of the program and ours; else the
 * thread is not sampled, or no more from then on.
 *
 * How much. A sample stands for what the thread's clock says has passed since the last one, so nothing is lost where ticks are seldom.
 *
 * The signal is one of the C library's own (private_signal.h), so the program neither sees it nor can block it. The handler calls nothing
 * of the C library: tools/check_handler.py. SPDX-License-Identifier: MIT
 */
#ifndef HP_ALLOC_STACK_SAMPLER_H
#define HP_ALLOC_STACK_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>

bool hp_stack_sampler_is_on(void);

/* The calling thread begins. */
void hp_stack_sampler_begin_thread(void);

/* The calling thread is about to have an alternate stack of that many bytes; 0: none. And afterwards. */
void hp_stack_sampler_change_alternate(size_t bytes);
void hp_stack_sampler_alternate_changed(void);

/* The process is about to be shut in, so that system calls may be death. And: it was refused. */
void hp_stack_sampler_confine(void);
void hp_stack_sampler_release(void);

#endif
