/*
 * Processor time: how much of it threads and the process have used, and signals that come as they use it.
 *
 * Two sources of signals, both of the calling thread alone, neither of which comes while it sleeps:
 *
 *   timer  on the thread's processor clock. The kernel looks at such timers on its ticks (100 to 1000 a second), whether
 *          the thread is in user or in kernel mode. The signal comes on the way back to user mode.
 *   perf   the kernel's software clock event, which is not bound to ticks but, without privileges, sees user mode only.
 *          The descriptor is closed at once: a mapping of one page keeps the event alive, and so nothing is left that a
 *          host could close, inherit or mistake for its own.
 *
 * System calls only, and nothing of the C library: usable in signal handlers. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_CPU_H
#define HP_OS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "stacks.h"

struct hp_cpu_time {
    uint64_t ns;        /* user and kernel mode together, exactly */
    uint64_t kernel_ns; /* as the kernel accounts for it: on most systems by what its ticks find */
    uint64_t switches;  /* how often it lost its processor, or let go of it: */
    uint64_t waits;     /* so often because it had to wait */
    uint64_t wall_ns;   /* on a clock that always goes on; of threads */
};

struct hp_cpu_time hp_cpu_of_thread(void);
struct hp_cpu_time hp_cpu_of_process(void);

/*
 * Both in nanoseconds of processor time; the first signal may be due earlier. `owner` comes with every signal, so that they are
 * told from those of other timers as long as one may be on its way. False: the kernel has refused.
 */
bool hp_cpu_timer_start(int *ret_timer, int signal, void *owner, uint64_t first_ns, uint64_t period_ns);
void hp_cpu_timer_change(int timer, uint64_t first_ns, uint64_t period_ns);
void hp_cpu_timer_stop(int timer);
/* Signals that may be queued for this user. Each timer takes the place of one as long as it is there. */
uint64_t hp_cpu_queue(void);
/* It sends nothing until it is changed. By any thread, as all of these. */
void hp_cpu_timer_pause(int timer);

/*
 * A mapping to be given to hp_cpu_perf_stop, or NULL: the kernel has refused, for a reason that is an errno. It is good for so many
 * samples; the last one says so, and then it has to be started again, which takes as long as some twenty samples do. A thread that
 * blocks the signal, or never comes back from the kernel, has no more than these waiting.
 */
#define HP_CPU_MOST_SAMPLES 512u
void *hp_cpu_perf_start(int signal, uint64_t period_ns, uint32_t samples, int *ret_refusal);
void hp_cpu_perf_stop(void *mapping);
/*
 * Whether perf's clock may be used here: 0, or why not, as an errno. What is returned beside is an event that never fires,
 * to be kept as long as others may be started: the first event on a machine takes the kernel ten milliseconds.
 */
int hp_cpu_perf_prepare(void **ret_mapping);

/* What perf takes from a thread, in ticks of a counter; 0: not found out. */
struct hp_cpu_perf_weight {
    uint64_t interrupt; /* the median of a few that come in quick succession, with nobody told of them */
    uint64_t
        pause; /* to stop its clock and to start it again, as happens when the thread is switched from and to */
};

/*
 * Of the calling thread, which has an event that is running. Gaps of up to `step` between two readings of the counter are none. Takes a
 * tenth of a millisecond.
 */
struct hp_cpu_perf_weight hp_cpu_perf_weigh(enum hp_counter counter, uint64_t step);

enum hp_cpu_source { HP_CPU_BY_OTHERS, HP_CPU_BY_TIMER, HP_CPU_BY_PERF, HP_CPU_BY_ENDING_PERF };

/* Sends the calling thread a signal like a timer's of that owner. */
void hp_cpu_timer_pretend(int signal, void *owner);

/* Who sent a signal, by what it says of itself (a siginfo_t): a timer of that owner, something like perf (for the last time), or somebody else. */
enum hp_cpu_source hp_cpu_source_of(const void *info, const void *owner);

/* The stack pointer of what a signal has interrupted (a ucontext_t); 0: not known on this machine. */
uintptr_t hp_cpu_stack_of(const void *context);

enum hp_cpu_mode { HP_CPU_MODE_UNKNOWN, HP_CPU_USER, HP_CPU_KERNEL };

/*
 * In which mode a timer's signal found the thread. It comes on the way back to user mode, and where that is the way out of a system call,
 * the next instruction is the one behind that call. Faults and interrupts count as user mode.
 */
enum hp_cpu_mode hp_cpu_mode_of(const void *context);

/* The alternate stack that the interrupted thread has set; without a byte: none. */
struct hp_stack hp_cpu_alternate_of(const void *context);

#endif
