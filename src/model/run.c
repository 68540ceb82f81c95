/* Selects the sessions of a run and what holds for all of them. SPDX-License-Identifier: MIT */
#include "run.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "axis.h"
#include "floors.h"
#include "snapshot.h"
#include "sort.h"
#include "text.h"
#include "units.h"

/* ----------------------------------------------------------------------------------------------------- run axis */

/*
 * The time axis of one session of a run.
 */

bool hp_run_axis_read(struct hp_run_axis *axis, const struct hp_run *run, uint32_t session, void *bytes)
{
    const struct hp_snapshot *snapshot = run->sessions[session];
    if (!hp_axis_of_session(&axis->axis, snapshot, bytes))
        return false;
    const uint64_t end_ns = hp_run_started_ns(run, snapshot) + hp_snapshot_elapsed_ns(snapshot);
    const uint64_t whole_ns = hp_run_elapsed_ns(run);
    axis->session = session;
    axis->moments = hp_axis_find(&axis->axis, HP_AXIS_MOMENT, 0);
    axis->run_start_ns = run->start_ns;
    axis->end_ns = end_ns < whole_ns ? end_ns : whole_ns;
    return axis->moments < HP_AXIS_SERIES;
}

/* `first` is the first slot of the series. */
static uint64_t value_at(const struct hp_run_axis *axis, uint32_t place, uint32_t first, uint64_t run_ns)
{
    const uint64_t since = hp_less(axis->run_start_ns + run_ns, axis->axis.header.start_ns);
    return hp_axis_value_at(&axis->axis, axis->moments, place, first, run_ns >= axis->end_ns ? UINT64_MAX : since);
}

uint64_t hp_run_axis_slot_at(const struct hp_run_axis *axis, uint64_t run_ns)
{
    const struct hp_axis_header *header = &axis->axis.header;
    return hp_less(axis->run_start_ns + run_ns, header->start_ns) / header->slot_ns;
}

uint64_t hp_run_axis_gain(const struct hp_run_axis *axis, uint32_t place, uint64_t from_ns, uint64_t to_ns)
{
    struct hp_axis_series series;
    return hp_axis_series(&axis->axis, place, &series)
               ? hp_less(value_at(axis, place, series.first, to_ns), value_at(axis, place, series.first, from_ns))
               : 0;
}

/* The maximum of a level in a step. Before the axis begins there is none: the process began later than the run. */
static uint64_t highest_in(const struct hp_run_axis *axis, uint32_t place, const struct hp_run_steps *steps,
                           size_t step)
{
    const uint64_t from = hp_run_axis_slot_at(axis, steps->moments[step]), used = axis->axis.header.used;
    const bool has_ended = steps->moments[step] >= axis->end_ns;
    const uint64_t begins = hp_less(axis->axis.header.start_ns, axis->run_start_ns);
    if (steps->moments[step + 1] <= begins || (has_ended && (from >= used || !steps->are_live)))
        return 0;
    if (steps->are_slots || (steps->are_live && from >= used))
        return hp_axis_value(&axis->axis, place, (uint32_t)(steps->are_slots ? step : used - 1));
    return hp_axis_highest(&axis->axis, place, from, hp_run_axis_slot_at(axis, steps->moments[step + 1] - 1));
}

bool hp_run_axis_add(const struct hp_run_axis *axis, uint32_t place, const struct hp_run_steps *steps, double unit,
                     double *values)
{
    struct hp_axis_series series;
    if (!hp_axis_series(&axis->axis, place, &series))
        return false;
    const bool is_level = hp_axis_is_level(series.kind);
    uint64_t before = value_at(axis, place, series.first, steps->moments[0]);
    for (size_t step = 0; step < steps->count; step++) {
        if (is_level) {
            values[step] += (double)highest_in(axis, place, steps, step);
            continue;
        }
        const uint64_t after = value_at(axis, place, series.first, steps->moments[step + 1]);
        values[step] += ((double)after - (double)before) * unit;
        before = after;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- run */

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

/* In ticks. Instructions do not tell when a process began. */
static uint64_t start_of(const struct hp_run *run, const struct hp_snapshot *session)
{
    return hp_run_counts_instructions(run)
               ? 0
               : hp_units_round((double)hp_run_started_ns(run, session) / run->ns_per_tick);
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
        uint64_t end = start_of(run, session);
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

/* Every session has the numbers of the whole run, up to its end. */
static void set_work(struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.work.covered_ns > run->work.covered_ns)
            run->work = run->sessions[at]->header.work;
}

static void count_states(struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++) {
        run->states[hp_snapshot_state(run->sessions[at])]++;
        run->cut_off += run->sessions[at]->is_cut_off;
    }
}

/* ------------------------------------------------------------------------------------------------ processes */

struct member {
    const struct hp_header *header;
    size_t at;
};

static int by_process(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const int order = hp_process_id_order(hp_process_id_of(x->header), hp_process_id_of(y->header));
    if (order != 0)
        return order;
    if (x->header->exec_count != y->header->exec_count)
        return x->header->exec_count < y->header->exec_count ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Sessions of processes themselves, in the order of their programs. */
static void link_programs(struct hp_run *run, struct member **order, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        run->counted[order[at]->at] = 1;
        if (at == 0 ||
            !hp_process_id_is_same(hp_process_id_of(order[at]->header), hp_process_id_of(order[at - 1]->header)))
            continue;
        run->before[order[at]->at] = (uint32_t)order[at - 1]->at + 1;
        run->counted[order[at - 1]->at] = 0;
    }
}

/* A session that was written from outside says how many processes count in it. */
static bool count_processes(struct hp_run *run, struct hp_arena *arena)
{
    struct member *members = hp_arena_take_array(arena, run->count, sizeof *members);
    struct member **order = hp_arena_take_array(arena, run->count, sizeof(void *));
    size_t count = 0;
    run->counted = hp_arena_take_array(arena, run->count, sizeof *run->counted);
    run->before = hp_arena_take_array(arena, run->count, sizeof *run->before);
    if (members == NULL || order == NULL || run->counted == NULL || run->before == NULL)
        return false;
    for (size_t at = 0; at < run->count; at++) {
        members[at] = (struct member){&run->sessions[at]->header, at};
        if (members[at].header->outside != 0)
            run->counted[at] = members[at].header->processes;
        else
            order[count++] = &members[at];
    }
    hp_sort(order, count, by_process);
    link_programs(run, order, count);
    for (size_t at = 0; at < run->count; at++)
        run->process_count += run->counted[at];
    if (run->process_count == 0) /* a report about one program of a process */
        run->process_count = 1;
    return true;
}

size_t hp_run_count_processes(const struct hp_run *run, hp_is_so *is_so)
{
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++) {
        if (!is_so(run->sessions[at]))
            continue;
        uint32_t before = run->before[at];
        while (before != 0 && !is_so(run->sessions[before - 1]))
            before = run->before[before - 1];
        count += before == 0;
    }
    return count;
}

static size_t first_program(const struct hp_run *run, size_t session)
{
    while (run->before[session] != 0)
        session = run->before[session] - 1;
    return session;
}

bool hp_run_is_one_process(const struct hp_run *run, size_t session, size_t other)
{
    return first_program(run, session) == first_program(run, other);
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
    set_work(run);
    return count_processes(run, arena);
}

bool hp_run_counts_instructions(const struct hp_run *run)
{
    return run->sessions[0]->header.clock_kind == HP_CLOCK_INSTRUCTIONS;
}

bool hp_run_is_counted_by_cpu(const struct hp_run *run)
{
    const struct hp_snapshot *session = run->sessions[0];
    return hp_run_counts_instructions(run) && session->header.engine != 0 &&
           hp_text_begins(hp_snapshot_text(session, session->header.engine), HP_ENGINE_IS_CPU);
}

double hp_run_ns(const struct hp_run *run, uint64_t ticks) { return (double)ticks * run->ns_per_tick; }

struct hp_unit_text hp_run_ticks_text(const struct hp_run *run, uint64_t ticks)
{
    struct hp_unit_text made;
    struct hp_text text;
    if (!hp_run_counts_instructions(run))
        return hp_ns_text(hp_run_ns(run, ticks));
    hp_text_init(&text, made.bytes, sizeof made.bytes);
    hp_text_u64(&text, hp_units_round(hp_run_ns(run, ticks)));
    hp_text_string(&text, " instructions");
    hp_text_end(&text);
    return made;
}

uint64_t hp_run_elapsed_ns(const struct hp_run *run)
{
    return hp_units_round(hp_run_ns(run, run->elapsed_ticks)) +
           (run->range == NULL && !hp_run_counts_instructions(run) ? run->startup_ns : 0);
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

static uint64_t lesser(uint64_t a, uint64_t b) { return a < b ? a : b; }

/*
 * The parts are no more than the whole. The observer sees a run from before its first session begins, until the
 * last process is gone. On a busy machine that is much longer: what it saw beyond the run is taken from the time in
 * which nothing worked, as far as there is some.
 */
struct hp_run_work hp_run_work(const struct hp_run *run)
{
    const struct hp_work_times times = run->work;
    struct hp_run_work work = {.is_known = times.covered_ns > 0,
                               .covered_ns = lesser(times.covered_ns, hp_run_elapsed_ns(run))};
    work.worked_ns = lesser(times.worked_ns, work.covered_ns);
    work.blocked_ns = lesser(times.blocked_ns, work.covered_ns - work.worked_ns);
    work.socket_ns = lesser(times.socket_ns, work.covered_ns - work.worked_ns - work.blocked_ns);
    work.idle_ns = work.covered_ns - work.worked_ns - work.blocked_ns - work.socket_ns;
    return work;
}
