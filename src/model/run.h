/*
 * What a report is about: the sessions that are added up, and what holds for all of them.
 *
 * Sessions can be added if their ticks are comparable: the same kind of clock, in the same boot of the machine.
 * Those that do not match the primary session are left out, and the report says so. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_RUN_H
#define HP_MODEL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "snapshot.h"
#include "units.h"

struct hp_arena;
struct hp_floors;
struct hp_time_range;

struct hp_run {
    const struct hp_snapshot **sessions; /* those that are added up, the primary one first */
    size_t count;
    size_t process_count; /* a process that executed another program has a session for each, but counts once */
    uint32_t *counted;    /* for each session: processes that count in it, by the last program of each */
    uint32_t *before;     /* for each session: index + 1 of that of its process's program before; 0: none */
    const struct hp_snapshot **left_out;
    size_t left_out_count;
    double ns_per_tick;
    bool is_rate_known;
    uint64_t start_ns;      /* by CLOCK_MONOTONIC: beginning of the first session */
    uint64_t elapsed_ticks; /* from there to the end of the last one */
    uint64_t startup_ns; /* CPU time of its first process before the session, in `hotpath run`: it took that long */
    double zone_cost_ns; /* cost of one zone, averaged over the sessions; 0: unknown */
    double zone_inner_ns;              /* the part of it that falls into the zone's own duration */
    double hidden_cost_ns;             /* the part of it that the CPU may hide behind work of the program */
    double counted_cost_ns;            /* of a zone that is counted, not timed */
    double function_cost_ns;           /* of a compiler-instrumented function */
    double function_counted_ns;        /* of one that is counted, not timed */
    double alloc_cost_ns;              /* of counting an allocation and its free */
    size_t states[HP_SNAPSHOT_STATES]; /* number of sessions that are running, finished, ended */
    size_t cut_off;                    /* number of truncated session files */
    hp_read_name *read_name;           /* as in struct hp_snapshots */
    struct hp_floors *floors;          /* likewise */
    struct hp_work_times work;         /* see hp_run_work */
    const struct hp_time_range *range; /* the time range that the numbers are about; NULL: the whole run */
};

/* Selects the sessions. False: no memory. The snapshots must outlive the run. */
bool hp_run_init(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots);

/* Whether one of its sessions has records of that kind: HP_FEATURE_... */
bool hp_run_has_feature(const struct hp_run *run, uint32_t feature);

/* Number of processes with a session of which that is true. */
typedef bool hp_is_so(const struct hp_snapshot *session);
size_t hp_run_count_processes(const struct hp_run *run, hp_is_so *is_so);

/* Whether both are sessions of one process. */
bool hp_run_is_one_process(const struct hp_run *run, size_t session, size_t other);

/* Whether its ticks are instructions, and "ns" of them, too. */
bool hp_run_counts_instructions(const struct hp_run *run);
bool hp_run_is_counted_by_cpu(const struct hp_run *run); /* and not by QEMU */
double hp_run_ns(const struct hp_run *run, uint64_t ticks);
struct hp_unit_text hp_run_ticks_text(const struct hp_run *run,
                                      uint64_t ticks); /* "1.20 ms", or "9 instructions" */
uint64_t hp_run_elapsed_ns(const struct hp_run *run);

/* How long after the beginning of the run a session began. */
uint64_t hp_run_started_ns(const struct hp_run *run, const struct hp_snapshot *session);

/*
 * In how much of the run, or of its time range, anything worked: the union over all threads of all processes.
 * `covered_ns` is how much of it was observed, at most all of it, and the sum of the others.
 */
struct hp_run_work {
    bool is_known; /* it was observed */
    uint64_t covered_ns;
    uint64_t worked_ns;  /* something ran, or was ready to run */
    uint64_t blocked_ns; /* nothing did, but something waited for a disk or for a page */
    uint64_t socket_ns;  /* neither of these, but something waited for a socket */
    uint64_t idle_ns;
};
struct hp_run_work hp_run_work(const struct hp_run *run);

/* Running while one session runs, finished if all have finished, otherwise ended. */
enum hp_snapshot_state hp_run_state(const struct hp_run *run);

/* ----------------------------------------------------------------------------------------------------- run axis */

/*
 * The time axis of one session of a run: what its counters were at any time since the run began. Time ranges
 * of a run, the console and the page read it by these rules, so they show the same numbers.
 */

struct hp_run_axis {
    uint32_t session; /* of the run */
    uint32_t moments; /* index of the series with the times of the samples */
    struct hp_axis axis;
    uint64_t run_start_ns;
    uint64_t end_ns; /* of the session or of the run, the earlier one, since the run began */
};

/* Reads it into HP_AXIS_BYTES bytes of the caller, before the run is cut. False: the session has none. */
bool hp_run_axis_read(struct hp_run_axis *axis, const struct hp_run *run, uint32_t session, void *bytes);

/* The slot of a time since the run began; it may not be used yet. */
uint64_t hp_run_axis_slot_at(const struct hp_run_axis *axis, uint64_t run_ns);

/*
 * By how much the counter at index `place` rose between two such times. At the end it is what was written last,
 * even if that was later than the last sample.
 */
uint64_t hp_run_axis_gain(const struct hp_run_axis *axis, uint32_t place, uint64_t from_ns, uint64_t to_ns);

/* Times of a run, in order: a step lies between one and the next. */
struct hp_run_steps {
    const uint64_t *moments; /* `count` + 1, since the run began */
    size_t count;
    bool are_slots; /* the moments are those of the last samples of an axis' slots */
    bool are_live;  /* the current slot may not have begun: levels keep their last values until the end */
};

/*
 * Adds the series at index `place` to a value per step: the increase of a counter, times `unit`, or the maximum of
 * a level. False: there is no such series.
 */
bool hp_run_axis_add(const struct hp_run_axis *axis, uint32_t place, const struct hp_run_steps *steps, double unit,
                     double *values);

#endif
