/*
 * A lock that waits in the kernel (futex) instead of spinning, so that a thread with real-time priority lets the
 * owner run. Calls no function of the C library. All zero is unlocked. If a signal handler may take it, too,
 * callers must block signals first. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_MUTEX_H
#define HP_OS_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

enum hp_mutex_state { HP_MUTEX_FREE, HP_MUTEX_TAKEN, HP_MUTEX_AWAITED };

struct hp_mutex {
    uint32_t state; /* enum hp_mutex_state */
};

/* Waits while it is awaited, and not for long: `*since` is when the caller began, 0 at first. False: too late. */
bool hp_mutex_wait(struct hp_mutex *mutex, uint64_t *since, uint64_t ns);
void hp_mutex_wake(struct hp_mutex *mutex);

/*
 * What follows is inline, so that a ThreadSanitizer sees it where it sees what is protected, and does not where it
 * would be in its own way: in the handler of samples.
 */

/* Makes no system call. */
static inline bool hp_mutex_try(struct hp_mutex *mutex)
{
    uint32_t state = HP_MUTEX_FREE;
    return __atomic_compare_exchange_n(&mutex->state, &state, HP_MUTEX_TAKEN, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

/*
 * False: not free within `ns` nanoseconds. Acquire pairs with the release in hp_mutex_give. A thread that waited
 * leaves the mark set for others still waiting.
 */
static inline bool hp_mutex_take_within(struct hp_mutex *mutex, uint64_t ns)
{
    uint64_t since = 0;
    if (hp_mutex_try(mutex))
        return true;
    while (__atomic_exchange_n(&mutex->state, HP_MUTEX_AWAITED, __ATOMIC_ACQUIRE) != HP_MUTEX_FREE)
        if (!hp_mutex_wait(mutex, &since, ns))
            return false;
    return true;
}

static inline void hp_mutex_take(struct hp_mutex *mutex)
{
    while (!hp_mutex_take_within(mutex, UINT64_MAX))
        ;
}

static inline void hp_mutex_give(struct hp_mutex *mutex)
{
    if (__atomic_exchange_n(&mutex->state, HP_MUTEX_FREE, __ATOMIC_RELEASE) == HP_MUTEX_AWAITED)
        hp_mutex_wake(mutex);
}

/* Sleeps, a little longer if the kernel is not precise. Not a cancellation point; signals may cut it short. */
void hp_pause_ns(uint64_t ns);

/* The same, and signals do not cut it short. */
void hp_sleep_ns(uint64_t ns);

#endif
