/*
 * Blocking signals, and signals that no host can use.
 *
 * While signals are blocked, nothing interrupts this thread, not even cancellation: the C library's own are
 * blocked, too, which its functions would refuse to do. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SIGNALS_H
#define HP_OS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_signals {
    uint64_t before; /* the mask to restore */
    bool is_held;
};

void hp_signals_hold(struct hp_signals *held);
/* Blocks only those that writing may cause; all others, and cancellation, arrive as usual. */
void hp_signals_hold_write_errors(struct hp_signals *held);
void hp_signals_release(const struct hp_signals *held);

/* The pending signals of this thread, as a mask. */
uint64_t hp_signals_pending(void);

/* Discards SIGPIPE and SIGXFSZ caused by our own write while they were blocked; those pending before stay. */
void hp_signals_swallow_write_errors(uint64_t pending_before);

/* Unblocks `signal` in this thread and raises it. */
void hp_signals_raise_now(int signal);

/* ------------------------------------------------------------------------------------- signals of the C library */

/*
 * Signals that no host can use: those that the C library reserves for itself. Its functions refuse to set, block or
 * wait for them, and leave them out of full signal sets. So a host neither sees ours nor can interfere, and none of
 * its functions need to be interposed. We set them by raw system calls.
 *
 *   HP_SIGNAL_HERE   its handler runs on the thread's current stack. The C library uses it to cancel threads.
 *   HP_SIGNAL_ASIDE  its handler runs on the thread's alternate stack, if it has one. The C library uses it
 *                    for setuid in all threads (glibc), or for timers (musl).
 *
 * Chaining. Signals of the C library are passed on to its handler, which it may set before or after ours: it
 * installs it at first use and replaces ours unknowingly. Samples then reach its handler, which ignores what it has
 * not sent itself. So hp_private_signal_take is called again now and then, and puts our handler in front.
 *
 * Several copies of the library that do not share state are chained, too. None puts itself in front of another once
 * it is in the chain, or they would pass a signal in a circle: our handlers are recognized by their mask.
 *
 * All functions may be called in the handler.
 */

enum hp_private_signal { HP_SIGNAL_HERE, HP_SIGNAL_ASIDE, HP_PRIVATE_SIGNALS };

typedef void hp_signal_handler(int signal, siginfo_t *info, void *context);

/* The kernel's layout. */
struct hp_kernel_action {
    uintptr_t handler;
    unsigned long flags;
#ifndef __riscv
    uintptr_t restorer;
#endif
    uint64_t mask __attribute__((packed)); /* no padding before it on 32-bit machines */
};
#ifndef __riscv
_Static_assert(offsetof(struct hp_kernel_action, mask) == 3 * sizeof(long), "as the kernel has it");
#endif

#define HP_ACTIONS_KEPT 4u

/* State of one signal. All zero: not taken. */
struct hp_taken_signal {
    hp_signal_handler *handler; /* ours */
    uint32_t is_changing;       /* a thread is installing it */
    uint32_t present;           /* index, modulo their number, of the valid entry below: the handler before ours */
    struct hp_kernel_action before[HP_ACTIONS_KEPT];
};

int hp_private_signal_number(enum hp_private_signal which);
/* Puts our handler in front, unless it is there. False: not possible. */
bool hp_private_signal_take(struct hp_taken_signal *taken, enum hp_private_signal which,
                            hp_signal_handler *handler);
/* In our handler: treats a signal that is not ours as if we were not there. */
void hp_private_signal_pass_on(struct hp_taken_signal *taken, int signal, siginfo_t *info, void *context);
/*
 * Removes pending perf signals of the calling thread, which has the signal blocked: their source is gone. Others
 * stay.
 */
void hp_private_signal_drop(enum hp_private_signal which);

/*
 * If no more signals can be queued (RLIMIT_SIGPENDING), the kernel sends SIGIO instead of a perf signal, which
 * kills by default. If the host leaves SIGIO at its default, such a signal is ignored from now on; a SIGIO sent by
 * others kills as before. False: the host has a handler for it, which would be called.
 */
bool hp_private_signal_guard_io(void);

#endif
