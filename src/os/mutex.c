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
enum { WAIT_PRIVATE = 0 | 128, WAKE_PRIVATE = 1 | 128 };

#define SECOND UINT64_C(1000000000)
#define LONGEST_WAIT (SECOND / 10) /* then the lock is checked again: an emulator may lose a wake-up */

/* As these system calls expect it: on 32-bit machines others have a wider one. */
struct kernel_time {
    long seconds, ns;
};

static uint64_t now_ns(void) { return hp_clock_ticks_raw(HP_COUNTER_NONE); }

bool hp_mutex_wait(struct hp_mutex *mutex, uint64_t *since, uint64_t ns)
{
    const uint64_t now = now_ns();
    *since = *since == 0 ? now : *since;
    const uint64_t passed = now - *since;
    if (passed >= ns)
        return false;
    const uint64_t most = ns - passed < LONGEST_WAIT ? ns - passed : LONGEST_WAIT;
    const struct kernel_time time = {0, (long)most};
#ifdef SYS_futex
    if (hp_raw(SYS_futex, &mutex->state, WAIT_PRIVATE, HP_MUTEX_AWAITED, &time) == 0)
        return true;
#else
    (void)mutex, (void)time;
#endif
    hp_raw(SYS_sched_yield, 0); /* woken, changed, or forbidden: the caller checks again */
    return true;
}

void hp_mutex_wake(struct hp_mutex *mutex)
{
#ifdef SYS_futex
    hp_raw(SYS_futex, &mutex->state, WAKE_PRIVATE, 1);
#else
    (void)mutex;
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
