/* Adds up in how much of a run anything worked. SPDX-License-Identifier: MIT */
#include "run_work.h"

#include "arith.h"

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

void hp_work_join(struct hp_work_found *all, const struct hp_work_found *found)
{
    all->sum_ns += found->sum_ns;
    all->ran_ns += found->ran_ns;
    if (found->longest_ns > all->longest_ns)
        all->longest_ns = found->longest_ns;
    all->is_working |= found->is_working;
    all->is_queued |= found->is_queued;
    all->is_blocked |= found->is_blocked;
    all->is_at_socket |= found->is_at_socket;
}

void hp_work_begin(struct hp_work *work, uint64_t now)
{
    *work = (struct hp_work){.began_ns = now, .latest_ns = now};
}

/*
 * Time in a run queue is known when the thread begins to run. What is more than the period was before it: in the
 * periods in which nothing was found at work, which are corrected.
 */
static void add_late(struct hp_work *work, uint64_t late_ns)
{
    const uint64_t ns = lesser(late_ns, work->quiet_ns);
    work->found_ns += ns;
    work->least_ns += ns;
    work->most_ns += ns;
}

/* The kernel counts with its own ticks, so a thread may seem to have run for longer than the period. */
void hp_work_add(struct hp_work *work, const struct hp_work_found *found, uint64_t now)
{
    const uint64_t passed = hp_less(now, work->latest_ns);
    add_late(work, hp_less(found->longest_ns, passed));
    work->quiet_ns = found->longest_ns > 0 || found->is_working ? 0 : work->quiet_ns;
    work->quiet_ns += found->is_working ? 0 : passed;
    const uint64_t least = lesser(found->longest_ns, passed);
    const uint64_t most = found->is_queued ? passed : lesser(found->sum_ns, passed);
    work->latest_ns += passed;
    work->least_ns += least;
    work->most_ns += most > least ? most : least;
    if (found->is_working)
        work->found_ns += passed;
    else if (found->is_blocked)
        work->blocked_ns += passed;
    else if (found->is_at_socket)
        work->socket_ns += passed;
}

struct hp_work_times hp_work_times(const struct hp_work *work)
{
    struct hp_work_times times = {.covered_ns = work->latest_ns - work->began_ns};
    times.worked_ns = work->found_ns < work->least_ns ? work->least_ns : lesser(work->found_ns, work->most_ns);
    const uint64_t rest = times.covered_ns - times.worked_ns;
    times.blocked_ns = lesser(work->blocked_ns, rest);
    times.socket_ns = lesser(work->socket_ns, rest - times.blocked_ns);
    return times;
}
