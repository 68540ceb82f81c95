/*
 * Signals that no host can use: those that the C library keeps for itself. Its functions refuse to set, block or wait for them,
 * and leave them out of sets of all signals; so a host neither sees ours nor can be in our way, and nothing has to stand in front of its
 * functions. They are set by system call alone.
 *
 *   HP_SIGNAL_HERE   its handler runs where the thread is. The C library cancels threads by it.
 *   HP_SIGNAL_ASIDE  its handler runs on the thread's alternate stack, if it has one. The C library's for setuid among threads
 *                    (glibc), or for timers (musl).
 *
 * Chained. What the C library sends by them is passed on to the handler that it has set, which may be before ours or after: it sets
 * them when it needs them first, and takes ours away without knowing. Samples then go to its handler, which drops what it has not
 * sent itself. So hp_private_signal_take is called again now and then, and puts ours in front of it.
 *
 * Several copies of the library that do not share their state stand one in front of the other. None puts itself in front of another
 * once it is in the chain, or they would pass a signal in a circle: handlers of ours are known by their mask.
 *
 * All of it may be called in the handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_PRIVATE_SIGNAL_H
#define HP_OS_PRIVATE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hp_private_signal { HP_SIGNAL_HERE, HP_SIGNAL_ASIDE, HP_PRIVATE_SIGNALS };

typedef void hp_signal_handler(int signal, siginfo_t *info, void *context);

/* As the kernel has it. */
struct hp_kernel_action {
    uintptr_t handler;
    unsigned long flags;
#ifndef __riscv
    uintptr_t restorer;
#endif
    uint64_t mask __attribute__((packed)); /* no gap before it where words have 32 bits */
};
#ifndef __riscv
_Static_assert(offsetof(struct hp_kernel_action, mask) == 3 * sizeof(long), "as the kernel has it");
#endif

#define HP_ACTIONS_KEPT 4u

/* Of one signal. All zero: not taken. */
struct hp_taken_signal {
    hp_signal_handler *handler; /* ours */
    uint32_t is_changing;       /* somebody takes it right now */
    uint32_t present;           /* of the following, modulo their number: what was there before ours */
    struct hp_kernel_action before[HP_ACTIONS_KEPT];
};

int hp_private_signal_number(enum hp_private_signal which);
/* Ours is in front, or is put there. False: it cannot be had. */
bool hp_private_signal_take(struct hp_taken_signal *taken, enum hp_private_signal which,
                            hp_signal_handler *handler);
/* In our handler: a signal that is not ours is what it would be without us. */
void hp_private_signal_pass_on(struct hp_taken_signal *taken, int signal, siginfo_t *info, void *context);
/*
 * Takes away signals of perf that wait for the calling thread, which has the signal blocked: their source is gone. Others stay.
 */
void hp_private_signal_drop(enum hp_private_signal which);

/*
 * Where no signal can be queued any more (RLIMIT_SIGPENDING), the kernel sends SIGIO instead of one of perf's, and that kills by
 * default. If the host leaves SIGIO at its default, such a one does nothing from now on; those that others send kill as ever. False: the
 * host has a handler for it, which such a one would call.
 */
bool hp_private_signal_guard_io(void);

#endif
