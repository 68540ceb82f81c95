/*
 * A lock that waits in the kernel (a futex) and not by turning in a loop, so that a thread with real-time priority lets whoever
 * has it go on. No function of the C library is called. All zero is free; whoever takes it holds signals back
 * first if a handler may want it, too. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_MUTEX_H
#define HP_OS_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

struct hp_mutex {
    uint32_t state; /* 0: free; 1: taken; 2: taken, and somebody may be waiting */
};

bool hp_mutex_try(struct hp_mutex *mutex); /* makes no system call */
void hp_mutex_take(struct hp_mutex *mutex);
/* False: it was not free within so many nanoseconds. */
bool hp_mutex_take_within(struct hp_mutex *mutex, uint64_t ns);
void hp_mutex_give(struct hp_mutex *mutex);

/* Sleeps, a little longer where the kernel is not precise; no cancellation point, and signals may cut it short. */
void hp_pause_ns(uint64_t ns);

#endif
