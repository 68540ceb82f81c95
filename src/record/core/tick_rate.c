/* Ticks per millisecond. SPDX-License-Identifier: MIT */
#include "tick_rate.h"

#include "layout.h"

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
