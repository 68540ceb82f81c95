/* The cost of samples. SPDX-License-Identifier: MIT */
#include "sample_spent.h"

#include "holding.h"

static uint64_t ticks_now(void) { return hp_clock_ticks_raw(hp_runtime->counter); }

bool hp_spent_begin(struct hp_head *head)
{
    const bool is_there = head->sampler.cpu != NULL && hp_head_has_session(&head->hot);
    head->sampler.since = is_there ? ticks_now() : 0;
    return is_there;
}

void hp_spent_end(struct hp_head *head, uint64_t most_zones, bool is_by_perf)
{
    if (head->sampler.since != 0) {
        struct hp_cpu_thread *cpu = head->sampler.cpu;
        const uint64_t all = ticks_now() - head->sampler.since, most = most_zones * hp_zone_ticks();
        const uint64_t ticks = all < most ? all : most;
        HOTPATH_ADD_(cpu->spent_ticks, ticks);
        if (is_by_perf)
            HOTPATH_ADD_(cpu->perf_ticks, ticks);
    }
    head->sampler.since = 0;
}
