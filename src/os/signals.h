/*
 * Blocks signals. While they are blocked, nothing interrupts this thread, not even cancellation: the C library's
 * own signals are blocked, too, which its functions would refuse to do. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_SIGNALS_H
#define HP_OS_SIGNALS_H

#include <stdbool.h>
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

#endif
