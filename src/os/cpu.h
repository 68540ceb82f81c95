/*
 * CPU time: how much threads and the process have used, and signals sent while they use it.
 *
 * Two sources of signals, both for the calling thread alone; neither fires while it sleeps:
 *
 *   timer  on the thread's CPU clock. The kernel checks such timers on its ticks (100 to 1000 per second), in user
 *          and kernel mode. The signal is delivered on return to user mode.
 *   perf   the kernel's software clock event, which is independent of ticks but, without privileges, sees user mode
 *          only. The descriptor is closed at once: a mapping of one page keeps the event alive, so nothing is left
 *          that a host could close, inherit or mistake for its own.
 *
 * System calls only, nothing of the C library: usable in signal handlers. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_CPU_H
#define HP_OS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "stacks.h"

struct hp_cpu_time {
    uint64_t ns;        /* user and kernel mode together, exact */
    uint64_t kernel_ns; /* by the kernel's accounting: on most systems sampled at ticks */
    uint64_t switches;  /* context switches, of which */
    uint64_t waits;     /* so many because it had to wait */
    uint64_t wall_ns;   /* on a clock that never stops; threads only */
};

struct hp_cpu_time hp_cpu_of_thread(void);
struct hp_cpu_time hp_cpu_of_process(void);

/*
 * Both in nanoseconds of CPU time; the first signal may be due earlier. Every signal carries `owner`, which tells
 * it from signals of other timers as long as one may be pending. False: the kernel has refused.
 */
bool hp_cpu_timer_start(int *ret_timer, int signal, void *owner, uint64_t first_ns, uint64_t period_ns);
void hp_cpu_timer_change(int timer, uint64_t first_ns, uint64_t period_ns);
void hp_cpu_timer_stop(int timer);
/* Whether a system call goes on if a timer fires meanwhile. Not in signal handlers. */
bool hp_cpu_timers_are_harmless(void);
/* Signals that may be queued for this user. Each existing timer takes one of these. */
uint64_t hp_cpu_queue(void);
/* Sends nothing until it is changed. Any thread, like all of these. */
void hp_cpu_timer_pause(int timer);

/*
 * A mapping to be passed to hp_cpu_perf_stop, or NULL: the kernel has refused, with an errno as the reason. It is
 * good for this many samples; the last one says so, and then it must be restarted, which takes as long as some
 * twenty samples. A thread that blocks the signal, or does not return from the kernel, has no more than these
 * pending.
 */
#define HP_CPU_MOST_SAMPLES 512u
void *hp_cpu_perf_start(int signal, uint64_t period_ns, uint32_t samples, int *ret_refusal);
void hp_cpu_perf_stop(void *mapping);
/*
 * Whether perf's clock may be used here: 0, or an errno as the reason. Also returns an event that never fires, to
 * be kept as long as others may be started: the first event on a machine takes the kernel ten milliseconds.
 */
int hp_cpu_perf_prepare(void **ret_mapping);

/* The cost of perf for a thread, in ticks of a counter; 0: unknown. */
struct hp_cpu_perf_weight {
    uint64_t interrupt; /* the median of a few in quick succession, without signals */
    uint64_t pause;     /* to stop and restart its clock, as on each context switch of the thread */
};

/*
 * Measures the calling thread, which has a running event. Gaps of up to `step` between two readings of the counter
 * do not count. Takes a tenth of a millisecond.
 */
struct hp_cpu_perf_weight hp_cpu_perf_weigh(enum hp_counter counter, uint64_t step);

enum hp_cpu_source { HP_CPU_BY_OTHERS, HP_CPU_BY_TIMER, HP_CPU_BY_PERF, HP_CPU_BY_ENDING_PERF };

/* Sends the calling thread a signal that looks like a timer's of that owner. */
void hp_cpu_timer_pretend(int signal, void *owner);

/*
 * The sender of a signal, by its siginfo_t: a timer of that owner, something like perf (possibly its last sample),
 * or something else.
 */
enum hp_cpu_source hp_cpu_source_of(const void *info, const void *owner);

/* The interrupted stack pointer (from a ucontext_t); 0: unknown on this machine. */
uintptr_t hp_cpu_stack_of(const void *context);

enum hp_cpu_mode { HP_CPU_MODE_UNKNOWN, HP_CPU_USER, HP_CPU_KERNEL };

/*
 * The mode in which a timer signal found the thread. It is delivered on return to user mode; if that is the return
 * from a system call, the next instruction is the one after the call. Faults and interrupts count as user mode.
 */
enum hp_cpu_mode hp_cpu_mode_of(const void *context);

/* The alternate stack of the interrupted thread; empty: none. */
struct hp_stack hp_cpu_alternate_of(const void *context);

#endif
