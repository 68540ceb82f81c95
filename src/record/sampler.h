/*
 * Whose processor time: a signal comes now and then while a thread uses a processor, and its handler looks which zone the
 * thread is in. Every sample is credited exactly, since the thread's stack of zones knows; no stack is walked and no symbol is
 * needed, and inlined or stripped functions are no exception.
 *
 * How much is credited does not depend on the number of samples: it is what the thread's own clock says has passed since the
 * last one. So sums are those of the clock, whatever rate the kernel manages, and samples only decide how they are shared out.
 *
 * Engines. A timer on the thread's processor clock is looked at by the kernel on its ticks: in user and kernel mode, but
 * seldom, and in step with whatever else happens on ticks. perf's clock is not bound to them, but sees user mode only. With both, a
 * sample of perf's stands for a period of user time, and timers' signals that find the thread in the kernel say who has what is left. But for the first of a process, a thread begins
 * with a timer alone; once it has used processor time enough for that to go off, perf joins. Short threads so cost one timer. An event
 * of perf's has a price whenever its thread is switched to or from: threads that are switched often have timers alone.
 *
 * Chance. A program whose work repeats could be in step with samples at equal distances. So each event of perf's has a period of its
 * own, by chance, which is good for some samples, and beside perf each timer's signal is due after a time of its own.
 *
 * When. A thread has sources of samples from its first zone on, and one without zones never: what it uses is outside of all. Zones
 * that are met out of line say where the thread is. On its own stack samples come by HP_SIGNAL_HERE, and the host's alternate stack,
 * of whatever size, is left alone. On another one, as of a coroutine, there may be no room for the frame of a signal: from then on they
 * come by HP_SIGNAL_ASIDE, on an alternate stack of ours. Where the host has one of its own there is no place that is known to be
 * large enough, and the thread is sampled no more.
 *
 * Who writes: all of struct hp_sampler and of the session's hp_cpu_thread is written by the thread itself, in the handler (which
 * nothing interrupts) or with signals held. The handler marks itself at work before it looks at the gate and whether the process is shut in,
 * as zones do with `ready`, and whoever ends the session or shuts the process in waits for that, too: it then has the sources of all
 * threads to itself. The handler calls nothing of the C library: tools/check_handler.py.
 *
 * Where. sampler.c begins and ends samples, sample_sources.c has timers and perf, sample_handler.c takes samples, sample_place.c finds the
 * zone, credits.c shares time out, samples.c keeps the latest samples, sample_spent.c counts what all of that costs.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_SAMPLER_H
#define HP_RECORD_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu.h"

struct hp_head;

/* A session begins. Under the lock. */
void hp_sampler_begin(void);
/* The same for a session that goes on, once the program has said that it wants it. Under the lock. */
void hp_sampler_begin_late(void);
/* The calling thread has a record now; samples come with its first zone. What it has used was read just now. Under the lock. */
void hp_sampler_begin_thread(struct hp_head *head, const struct hp_cpu_time *used);
/* The calling thread ends: all that takes system calls, before the lock is taken. */
void hp_sampler_part(struct hp_head *head);
/* The calling thread is about to enter a zone, out of line. */
void hp_sampler_meet_zone(struct hp_head *head);
/* A thread ends, or has ended without a word. Under the lock, before its zones are closed. */
void hp_sampler_end_thread(struct hp_head *head);
/*
 * The process is known to be shut in from now on, but is not yet: no sample comes to any other thread, and none is on its way to make a
 * system call. And that it was refused. Under the lock; `own` is the head of the calling thread, or NULL.
 */
void hp_sampler_stop_others(const struct hp_head *own);
void hp_sampler_go_on_with_others(const struct hp_head *own);
/* The session ends: what the calling thread has used up to now is counted. Under the lock, before its end. */
void hp_sampler_end(void);

#endif
