/*
 * A lock on a futex. Also taken in the sampling signal handler: nothing here is the C library's.
 * SPDX-License-Identifier: MIT
 */
#include "mutex.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "clock.h"
#include "raw_call.h"

/* musl-gcc has no linux/futex.h; these numbers are kernel ABI. */
enum { FREE, TAKEN, AWAITED };
enum { WAIT_PRIVATE = 0 | 128, WAKE_PRIVATE = 1 | 128 };

#define SECOND UINT64_C(1000000000)
#define LONGEST_WAIT (SECOND / 10) /* then the lock is checked again: an emulator may lose a wake-up */

/* As these system calls expect it: on 32-bit machines others have a wider one. */
struct kernel_time {
    long seconds, ns;
};

static uint64_t now_ns(void) { return hp_clock_ticks_raw(HP_COUNTER_NONE); }

static void wait_for(uint32_t *state, uint64_t ns)
{
    const uint64_t most = ns < LONGEST_WAIT ? ns : LONGEST_WAIT;
    const struct kernel_time time = {0, (long)most};
#ifdef SYS_futex
    if (hp_raw(SYS_futex, state, WAIT_PRIVATE, AWAITED, &time) == 0)
        return;
#else
    (void)state, (void)time;
#endif
    hp_raw(SYS_sched_yield, 0); /* woken, changed, or forbidden: the caller checks again */
}

bool hp_mutex_try(struct hp_mutex *mutex)
{
    uint32_t state = FREE;
    return __atomic_compare_exchange_n(&mutex->state, &state, TAKEN, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Acquire pairs with the release in hp_mutex_give. A thread that has waited leaves the mark set for others still
 * waiting.
 */
bool hp_mutex_take_within(struct hp_mutex *mutex, uint64_t ns)
{
    if (hp_mutex_try(mutex))
        return true;
    const uint64_t from = now_ns();
    while (__atomic_exchange_n(&mutex->state, AWAITED, __ATOMIC_ACQUIRE) != FREE) {
        const uint64_t passed = now_ns() - from;
        if (passed >= ns)
            return false;
        wait_for(&mutex->state, ns - passed);
    }
    return true;
}

void hp_mutex_take(struct hp_mutex *mutex)
{
    while (!hp_mutex_take_within(mutex, UINT64_MAX))
        ;
}

void hp_mutex_give(struct hp_mutex *mutex)
{
    if (__atomic_exchange_n(&mutex->state, FREE, __ATOMIC_RELEASE) != AWAITED)
        return;
#ifdef SYS_futex
    hp_raw(SYS_futex, &mutex->state, WAKE_PRIVATE, 1);
#endif
}

/* Newer 32-bit machines have only the call with the wider time. */
#ifdef SYS_nanosleep
#define SLEEP_TIME struct kernel_time
#define SLEEP(time, left) hp_raw(SYS_nanosleep, time, left)
#else
struct wide_time {
    int64_t seconds, ns;
};
#define SLEEP_TIME struct wide_time
#define SLEEP(time, left) hp_raw(SYS_clock_nanosleep_time64, CLOCK_MONOTONIC, 0, time, left)
#endif

static SLEEP_TIME sleep_time(uint64_t ns) { return (SLEEP_TIME){(long)(ns / SECOND), (long)(ns % SECOND)}; }

void hp_pause_ns(uint64_t ns)
{
    const SLEEP_TIME time = sleep_time(ns);
    SLEEP(&time, NULL);
}

void hp_sleep_ns(uint64_t ns)
{
    SLEEP_TIME left = sleep_time(ns);
    while (SLEEP(&left, &left) == -EINTR)
        ;
}
