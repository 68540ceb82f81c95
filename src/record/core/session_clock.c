/*
 * The latest time of a session: readers convert ticks to time with it, and a process that is killed ends there.
 * SPDX-License-Identifier: MIT
 */
#include "session_clock.h"

#include "cpu.h"
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
