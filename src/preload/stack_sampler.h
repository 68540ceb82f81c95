/*
 * Stacks of threads that use CPU time, taken inside the process. If the kernel refuses perf to `hotpath run`, a
 * timer on each thread's CPU clock sends it a signal, whose handler copies registers and stack into the ring of the
 * process. `hotpath run` unwinds them.
 *
 * Which threads. The first one from process start, others from their start, since thread_hooks.c interposes
 * pthread_create. A thread created in another way is not sampled; its time is in `<not sampled>`.
 *
 * Where the handler runs: on our alternate stack, since a coroutine may have no room for a signal frame, and the
 * alternate stack of the program may be small, or its memory gone. As long as a thread has one of the program, it
 * is not sampled.
 *
 * How much. A sample stands for the CPU time of the thread since the last one, so nothing is lost if ticks are
 * rare.
 *
 * The signal is one of the C library's own (signals.h), so the program neither sees it nor can block it. The
 * handler calls nothing of the C library: tools/check_handler.py. SPDX-License-Identifier: MIT
 */
#ifndef HP_PRELOAD_STACK_SAMPLER_H
#define HP_PRELOAD_STACK_SAMPLER_H

#include <stdbool.h>

bool hp_stack_sampler_is_on(void);
/* Whether the program's calls reach this copy of the library first, and others of the process only pass them on. */
bool hp_stack_sampler_is_in_front(void);

/* The calling thread starts. */
void hp_stack_sampler_begin_thread(void);

/* Before and after the calling thread sets its alternate stack. */
void hp_stack_sampler_change_alternate(void);
void hp_stack_sampler_alternate_changed(void);

/* The process is about to enter a sandbox, in which system calls may be fatal. And: it was refused. */
void hp_stack_sampler_confine(void);
void hp_stack_sampler_release(void);

#endif
