/*
 * Signals are blocked and taken one by one, with the kernel's own 64-bit masks: the C library keeps two or three
 * signals out of its sets, but one that is sent to us is for the program as well. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_HELD_SIGNALS_H
#define HP_RUN_HELD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define HP_HELD_FOREVER UINT64_MAX

static inline uint64_t hp_held_bit(int signal) { return UINT64_C(1) << (signal - 1); }

/* Blocks all signals; returns the previous mask. A fault of our own still ends us: the kernel sees to that. */
uint64_t hp_held_begin(void);
void hp_held_end(uint64_t before);

/* Takes the next signal of a set that is pending or arrives within that time; 0: none did. */
int hp_held_take(uint64_t set, siginfo_t *ret_info, uint64_t ns);

bool hp_held_is_pending(int signal);

#endif
