/*
 * The latest time of a session: readers convert ticks to time with it, and a process that is killed ends there.
 * SPDX-License-Identifier: MIT
 */
#include "session_clock.h"

#include "cpu.h"
#include "layout.h"
#include "thread_context.h"

static void touch_cpu(struct hp_header *header)
{
    if (header->cpu_engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    __atomic_store_n(&header->cpu_latest_ns, now.ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->cpu_latest_kernel_ns, now.kernel_ns, __ATOMIC_RELAXED);
}

struct hp_clock_pair hp_session_touch(struct hp_store *store)
{
    struct hp_header *header = hp_store_header(store);
    struct hp_clock_pair now;
    if (hp_thread_is_blind())
        return header->clock_latest;
    touch_cpu(header); /* first: what is used while it is read is in no time otherwise */
    hp_clock_pair(hp_runtime->counter, &now.ticks, &now.ns);
    __atomic_store_n(&header->clock_latest.ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&header->clock_latest.ns, now.ns, __ATOMIC_RELAXED);
    return now;
}

/* ---------------------------------------------------------------------------------------- ticks per millisecond */

#define LONG_ENOUGH_NS 2000000u /* two readings of both clocks agree within some ten nanoseconds */
#define CLOSE_TOGETHER 50u /* of a millisecond: a part of that. Reading a clock takes less, even if intercepted */
#define USUAL 2000000u     /* counters of CPUs run at one to five gigahertz, ... */
#define USUAL_ELSEWHERE 50000u /* ... but on arm64 and RISC-V at ten megahertz to one gigahertz */

static uint64_t guess(void)
{
    if (hp_runtime->counter == HP_COUNTER_NONE)
        return 1000000;
    return hp_runtime->counter == HP_COUNTER_TSC ? USUAL : USUAL_ELSEWHERE;
}

/*
 * Makes no system call, since a sandbox may forbid it, and takes little stack. If the thread was interrupted
 * between the readings, the next call tries again.
 */
uint64_t hp_tick_rate_measure(const struct hp_thread_context *context)
{
    const struct hp_clock_pair *start = &((const struct hp_header *)(const void *)context->hot.base)->clock_start;
    const uint64_t before = hp_clock_ticks(hp_runtime->counter), ns = hp_clock_monotonic_ns() - start->ns;
    const uint64_t ticks = hp_clock_ticks(hp_runtime->counter);
    if (ns < LONG_ENOUGH_NS || ticks - before > guess() / CLOSE_TOGETHER)
        return guess();
    const uint64_t middle = before + (ticks - before) / 2;
    const double per_ms = (double)(middle - start->ticks) * 1e6 / (double)ns;
    const uint64_t rate = per_ms >= 1 ? (uint64_t)(per_ms + 0.5) : 1;
    HOTPATH_PUT_(hp_runtime->ticks_per_ms, rate);
    return rate;
}
