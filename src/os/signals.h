/*
 * Holding signals back. While they are held, nothing interrupts this thread, not even a cancellation: libc's
 * own signals are held too, which its functions would refuse to do. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SIGNALS_H
#define HP_OS_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_signals {
    uint64_t before; /* the mask to go back to */
    bool is_held;
};

void hp_signals_hold(struct hp_signals *held);
/* Only those that writing may cause; all others, and cancellation, come as ever. */
void hp_signals_hold_write_errors(struct hp_signals *held);
void hp_signals_release(const struct hp_signals *held);

/* The signals that wait to be delivered to this thread, as a mask. */
uint64_t hp_signals_pending(void);

/* Takes away SIGPIPE and SIGXFSZ that a write of ours caused while they were held; those pending before stay. */
void hp_signals_swallow_write_errors(uint64_t pending_before);

/* Lets `signal` through in this thread and sends it. */
void hp_signals_raise_now(int signal);

#endif
