/*
 * A lock that waits in the kernel (futex) instead of spinning, so that a thread with real-time priority lets the
 * owner run. Calls no function of the C library. All zero is unlocked. If a signal handler may take it, too,
 * callers must block signals first. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_MUTEX_H
#define HP_OS_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

struct hp_mutex {
    uint32_t state; /* 0: free; 1: taken; 2: taken, and others may be waiting */
};

bool hp_mutex_try(struct hp_mutex *mutex); /* makes no system call */
void hp_mutex_take(struct hp_mutex *mutex);
/* False: not free within `ns` nanoseconds. */
bool hp_mutex_take_within(struct hp_mutex *mutex, uint64_t ns);
void hp_mutex_give(struct hp_mutex *mutex);

/* Sleeps, a little longer if the kernel is not precise. Not a cancellation point; signals may cut it short. */
void hp_pause_ns(uint64_t ns);

/* The same, and signals do not cut it short. */
void hp_sleep_ns(uint64_t ns);

#endif
