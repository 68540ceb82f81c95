/* Selects the sessions of a run and what holds for all of them. SPDX-License-Identifier: MIT */
#include "run.h"

#include <string.h>

#include "arena.h"
#include "floors.h"
#include "sort.h"
#include "units.h"

static bool can_be_added(const struct hp_snapshot *session, const struct hp_snapshot *primary)
{
    return session->header.clock_kind == primary->header.clock_kind && hp_snapshot_has_same_boot(session, primary);
}

static bool choose_sessions(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots)
{
    run->sessions = hp_arena_take_array(arena, snapshots->count, sizeof(void *));
    run->left_out = hp_arena_take_array(arena, snapshots->count, sizeof(void *));
    if (run->sessions == NULL || run->left_out == NULL)
        return false;
    for (size_t at = 0; at < snapshots->count; at++) {
        const struct hp_snapshot *session = snapshots->all[at];
        if (can_be_added(session, snapshots->all[0]))
            run->sessions[run->count++] = session;
        else
            run->left_out[run->left_out_count++] = session;
    }
    return true;
}

/*
 * Takes the clock rate of the primary session or, if that is unknown, of the session that had the most time to
 * measure it.
 */
static void set_rate(struct hp_run *run)
{
    const struct hp_snapshot *best = run->sessions[0];
    for (size_t at = 1; at < run->count && !run->sessions[0]->is_rate_known; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        if (session->is_rate_known &&
            (!best->is_rate_known || hp_snapshot_elapsed(session) > hp_snapshot_elapsed(best)))
            best = session;
    }
    run->ns_per_tick = best->ns_per_tick;
    run->is_rate_known = best->is_rate_known;
}

/* Both clocks are read within some 50 ns of each other: after this time the rate is right to a few millionths. */
#define LONG_BASE_NS 10000000u

/* Reported times must not shrink because the rate is known a little better. */
static void hold_rate(struct hp_run *run)
{
    if (run->floors == NULL)
        return;
    if (run->floors->ns_per_tick > 0)
        run->ns_per_tick = run->floors->ns_per_tick;
    else if (run->is_rate_known && hp_snapshot_elapsed_ns(run->sessions[0]) >= LONG_BASE_NS)
        run->floors->ns_per_tick = run->ns_per_tick;
}

/* The beginning of a session is known in nanoseconds, its length in ticks. */
static void set_times(struct hp_run *run)
{
    run->start_ns = UINT64_MAX;
    for (size_t at = 0; at < run->count; at++) {
        const uint64_t start_ns = run->sessions[at]->header.clock_start.ns;
        run->start_ns = start_ns < run->start_ns ? start_ns : run->start_ns;
    }
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        uint64_t end = hp_units_round((double)hp_run_started_ns(run, session) / run->ns_per_tick);
        if (__builtin_add_overflow(end, hp_snapshot_elapsed(session), &end))
            end = UINT64_MAX;
        run->elapsed_ticks = end > run->elapsed_ticks ? end : run->elapsed_ticks;
    }
}

/*
 * Each process measured it; the average is closer to the truth than any one. `place`: offset of the cost in the
 * header.
 */
static double average_ns(const struct hp_run *run, size_t place)
{
    double sum = 0, count = 0;
    for (size_t at = 0; at < run->count; at++) {
        uint64_t ps;
        memcpy(&ps, (const char *)&run->sessions[at]->header + place, sizeof ps);
        sum += (double)ps;
        count += ps > 0; /* 0: unknown */
    }
    return count > 0 ? sum / count / 1000 : 0;
}

static void set_costs(struct hp_run *run)
{
    run->zone_cost_ns = average_ns(run, offsetof(struct hp_header, zone_cost_ps));
    run->zone_inner_ns = average_ns(run, offsetof(struct hp_header, zone_inner_ps));
    run->hidden_cost_ns = average_ns(run, offsetof(struct hp_header, hidden_cost_ps));
    run->counted_cost_ns = average_ns(run, offsetof(struct hp_header, counted_cost_ps));
    run->function_cost_ns = average_ns(run, offsetof(struct hp_header, function_cost_ps));
    run->function_counted_ns = average_ns(run, offsetof(struct hp_header, function_counted_ps));
    run->alloc_cost_ns = average_ns(run, offsetof(struct hp_header, alloc_cost_ps));
    if (run->function_cost_ns == 0)
        run->function_cost_ns = run->zone_cost_ns;
}

/*
 * The kernel and the dynamic linker work before the session begins. Their CPU time counts, so the time that it took
 * does, too: a run of a millisecond would otherwise use more CPU time than it lasts.
 */
static void set_startup(struct hp_run *run)
{
    const struct hp_header *header = &run->sessions[0]->header;
    if (header->features & HP_FEATURE_RUN && header->exec_count == 0)
        run->startup_ns = header->cpu_start_ns;
}

static void count_states(struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++) {
        run->states[hp_snapshot_state(run->sessions[at])]++;
        run->cut_off += run->sessions[at]->is_cut_off;
    }
}

static int by_process(const void *a, const void *b)
{
    const struct hp_header *x = &((const struct hp_snapshot *)a)->header,
                           *y = &((const struct hp_snapshot *)b)->header;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->process_start < y->process_start ? -1 : x->process_start > y->process_start;
}

/* For processes observed from outside the start time is unknown: then the pid alone identifies them. */
static bool is_same_process(const struct hp_header *x, const struct hp_header *y)
{
    return x->pid == y->pid &&
           (x->process_start == y->process_start || x->process_start == 0 || y->process_start == 0);
}

static bool count_processes(struct hp_run *run, struct hp_arena *arena)
{
    const struct hp_snapshot **order = hp_arena_take_array(arena, run->count, sizeof(void *));
    if (order == NULL)
        return false;
    memcpy(order, run->sessions, run->count * sizeof(void *));
    hp_sort(order, run->count, by_process);
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_header *header = &order[at]->header;
        run->process_count += at == 0 || !is_same_process(header, &order[at - 1]->header);
        run->process_count += header->others;
    }
    return true;
}

bool hp_run_init(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots)
{
    *run = (struct hp_run){.read_name = snapshots->read_name, .floors = snapshots->floors};
    if (!choose_sessions(run, arena, snapshots))
        return false;
    set_rate(run);
    hold_rate(run);
    set_times(run);
    set_startup(run);
    set_costs(run);
    count_states(run);
    return count_processes(run, arena);
}

double hp_run_ns(const struct hp_run *run, uint64_t ticks) { return (double)ticks * run->ns_per_tick; }

uint64_t hp_run_elapsed_ns(const struct hp_run *run)
{
    return hp_units_round(hp_run_ns(run, run->elapsed_ticks)) + (run->stretch == NULL ? run->startup_ns : 0);
}

uint64_t hp_run_started_ns(const struct hp_run *run, const struct hp_snapshot *session)
{
    return session->header.clock_start.ns - run->start_ns;
}

enum hp_snapshot_state hp_run_state(const struct hp_run *run)
{
    if (run->states[HP_SNAPSHOT_RUNNING] > 0)
        return HP_SNAPSHOT_RUNNING;
    return run->states[HP_SNAPSHOT_FINISHED] == run->count ? HP_SNAPSHOT_FINISHED : HP_SNAPSHOT_ENDED;
}

bool hp_run_has_feature(const struct hp_run *run, uint32_t feature)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.features & feature)
            return true;
    return false;
}
