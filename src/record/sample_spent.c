/* The cost of samples. SPDX-License-Identifier: MIT */
#include "sample_spent.h"

#include "holding.h"

static uint64_t ticks_now(void) { return hp_clock_ticks_raw(hp_runtime->counter); }

bool hp_spent_begin(struct hp_thread_context *context)
{
    const bool is_there = context->sampler.cpu != NULL && hp_context_has_session(&context->hot);
    context->sampler.since = is_there ? ticks_now() : 0;
    return is_there;
}

void hp_spent_end(struct hp_thread_context *context, uint64_t most_zones, bool is_by_perf)
{
    if (context->sampler.since != 0) {
        struct hp_cpu_thread *cpu = context->sampler.cpu;
        const uint64_t all = ticks_now() - context->sampler.since, most = most_zones * hp_zone_ticks();
        const uint64_t ticks = all < most ? all : most;
        HOTPATH_ADD_(cpu->spent_ticks, ticks);
        if (is_by_perf)
            HOTPATH_ADD_(cpu->perf_ticks, ticks);
    }
    context->sampler.since = 0;
}
