/*
 * CPU time per function: a signal arrives now and then while a thread uses a CPU, and its handler looks up the zone
 * that the thread is in. Every sample is attributed exactly, from the thread's stack of zones; no stack is unwound
 * and no symbol is needed, so inlined and stripped functions work as well.
 *
 * The credited time does not depend on the number of samples: it is what the thread's CPU clock says has passed
 * since the last sample. So sums are those of the clock, whatever rate the kernel achieves; samples only decide how
 * time is distributed.
 *
 * Engines. A timer on the thread's CPU clock is checked by the kernel on its ticks: in user and kernel mode, but
 * rarely, and in step with everything else that happens on ticks. perf's clock is independent of ticks, but sees
 * user mode only. With both, a perf sample stands for a period of user time, and timer signals that find the thread
 * in the kernel say where the rest was spent. Except for the first of a process, a thread starts with a timer
 * alone; once it has used enough CPU time for that to fire, perf joins. So short threads cost one timer. A perf
 * event costs time at every context switch of its thread: threads that switch often have timers alone.
 *
 * Randomness. A program with periodic work could be in step with samples at equal distances. So each perf event has
 * its own random period for a limited number of samples, and with perf each timer signal is due after a random
 * time.
 *
 * When. A thread has sources from its first zone on; a thread without zones has none, and its time counts as
 * outside. Zones on the slow path tell which stack the thread is on. On its own stack samples come by
 * HP_SIGNAL_HERE, and the host's alternate stack, of whatever size, is left alone. On another stack, as of a
 * coroutine, there may be no room for a signal frame: from then on samples come by HP_SIGNAL_ASIDE, on our own
 * alternate stack. If the host has an alternate stack itself, no stack is known to be large enough, and the thread
 * is no longer sampled.
 *
 * Writers: struct hp_sampler and the session's hp_cpu_thread are written only by the thread itself, in the handler
 * (which nothing interrupts) or with signals blocked. The handler sets its mark before it checks the gate and the
 * sandbox, as zones do with `id_limit`. To end the session or enter a sandbox, a thread waits for this mark, too;
 * it then has the sources of all threads to itself. The handler calls nothing of the C library:
 * tools/check_handler.py.
 *
 * Files. sampler.c starts and stops sampling, sample_sources.c has timers and perf, sample_handler.c takes samples
 * and finds the zone, cpu_attribution.c attributes time. SPDX-License-Identifier: MIT
 */
#ifndef HP_CPU_SAMPLER_H
#define HP_CPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"

struct hp_thread_context;

/* A session begins. Under the lock. */
void hp_sampler_begin(void);
/* The same for a running session, once the program asks for it. Under the lock. */
void hp_sampler_begin_late(void);
/* The calling thread has a record now; samples start with its first zone. `used` was just read. Under the lock. */
void hp_sampler_begin_thread(struct hp_thread_context *context, const struct hp_cpu_time *used);
/* The calling thread exits: does everything that takes system calls, before the lock is taken. */
void hp_sampler_part(struct hp_thread_context *context);
/* The calling thread is about to enter a zone on the slow path. */
void hp_sampler_meet_zone(struct hp_thread_context *context);
/* A thread exits, or has exited unnoticed. Under the lock, before its zones are closed. */
void hp_sampler_end_thread(struct hp_thread_context *context);
/*
 * The sandbox is announced, but not in force yet: stops samples on all other threads and waits until none is making
 * a system call. And the reverse, if the kernel refused. Under the lock; `own` is the calling thread's context, or
 * NULL.
 */
void hp_sampler_stop_others(const struct hp_thread_context *own);
void hp_sampler_go_on_with_others(const struct hp_thread_context *own);
/* The session ends: counts what the calling thread has used so far. Under the lock, before the end. */
void hp_sampler_end(void);

#endif
