/* Ticks per millisecond. SPDX-License-Identifier: MIT */
#include "tick_rate.h"

#include "layout.h"

#define LONG_ENOUGH_NS 2000000u /* two readings of both clocks agree within some ten nanoseconds */
#define USUAL 2000000u          /* counters of CPUs run at one to five gigahertz, ... */
#define USUAL_ELSEWHERE 50000u  /* ... but on arm64 and RISC-V at ten megahertz to one gigahertz */

static uint64_t guess(void)
{
    if (hp_runtime->counter == HP_COUNTER_NONE)
        return 1000000;
    return hp_runtime->counter == HP_COUNTER_TSC ? USUAL : USUAL_ELSEWHERE;
}

struct reading {
    uint64_t ticks, ns;
};

static void read_clocks(void *context)
{
    struct reading *reading = context;
    hp_clock_pair(hp_runtime->counter, &reading->ticks, &reading->ns);
}

uint64_t hp_tick_rate_measure(const struct hp_thread_context *context)
{
    const struct hp_header *header = (const struct hp_header *)(const void *)context->hot.base;
    struct reading now;
    if (!hp_aside(read_clocks, &now) || now.ns - header->clock_start.ns < LONG_ENOUGH_NS)
        return guess();
    const double per_ms =
        (double)(now.ticks - header->clock_start.ticks) * 1e6 / (double)(now.ns - header->clock_start.ns);
    const uint64_t rate = per_ms >= 1 ? (uint64_t)per_ms : 1;
    HOTPATH_PUT_(hp_runtime->ticks_per_ms, rate);
    return rate;
}
