/*
 * What the sessions of a run say, for reports, live views and exporters. It knows nothing of how it is shown.
 *
 * Each part is made on first use and stays until the sessions are read again. All memory comes from arenas of
 * mapped memory, so a model can be built in a signal handler. Functions that return a pointer return NULL if memory
 * runs out. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_MODEL_H
#define HP_MODEL_MODEL_H

#include <stdbool.h>

#include "run.h"

struct hp_allocs;
struct hp_arena;
struct hp_cpu;
struct hp_function_profile;
struct hp_io_profile;
struct hp_lock_profile;
struct hp_objects;
struct hp_profile;
struct hp_run_path;
struct hp_run_thread_usage;
struct hp_run_waits;
struct hp_tasks;
struct hp_timeline;
struct hp_trust;

struct hp_model {
    struct hp_arena *kept;  /* for what survives a refresh: the shape of the sessions */
    struct hp_arena *arena; /* for one reading */
    struct hp_run run;
    struct hp_profile *profile;                  /* functions and the call tree: always there */
    const struct hp_function_profile *functions; /* from sampled stacks; NULL: none */
    const struct hp_lock_profile *locks;         /* from hooks of locks; NULL: none */
    const struct hp_io_profile *io;              /* from hooks of I/O; NULL: none */
    const char *killed_by; /* the signal that ended the program, where it is known; NULL: none */
    const char *source;    /* "commit=...,branch=...", where it is known; NULL: nothing is */
    const char *natives;   /* programs whose instructions were not counted: lines of "WHY\tPATH",
                            * the last maybe "\tNUMBER" of executions of others; NULL: none */
    /* Private, from here on: see the functions below. */
    struct hp_profile *by_thread;
    const struct hp_allocs *allocs;
    const struct hp_cpu *cpu, *cpu_by_thread;
    const struct hp_run_waits *waits;
    const struct hp_run_path *path;
    const struct hp_run_thread_usage *usage;
    const struct hp_timeline *timeline;
    const struct hp_objects *objects;
    const struct hp_tasks *tasks;
    const struct hp_trust *trust;
};

/*
 * Selects the sessions and adds them up. False: no memory. The snapshots must outlive the model. Both arenas may be
 * the same if it is never refreshed.
 */
bool hp_model_build(struct hp_model *model, struct hp_arena *kept, struct hp_arena *arena,
                    const struct hp_snapshots *snapshots);

/*
 * Builds the model after the snapshots were read again, or for the first time; there may be more or fewer of them.
 * Everything made before is invalid. `has_moved`: texts have new addresses, too.
 */
bool hp_model_refresh(struct hp_model *model, const struct hp_snapshots *snapshots, bool has_moved);

/*
 * Restricts the model to the time range between two moments, in nanoseconds since the run began, until the next
 * refresh. Data without a history are not changed. Returns NULL, or one line that says why it is not possible: then
 * the model is invalid.
 */
const char *hp_model_cut(struct hp_model *model, uint64_t from_ns, uint64_t to_ns);

/* The profile with sites kept apart by thread. */
const struct hp_profile *hp_model_by_thread(struct hp_model *model);

/* What the run allocated. */
const struct hp_allocs *hp_model_allocs(struct hp_model *model);

/* CPU time per site of `profile`; or per site of the profile by thread. */
const struct hp_cpu *hp_model_cpu(struct hp_model *model);
const struct hp_cpu *hp_model_cpu_by_thread(struct hp_model *model);

/* What it waited for, likewise. */
const struct hp_run_waits *hp_model_waits(struct hp_model *model);

/* Its critical path. */
const struct hp_run_path *hp_model_path(struct hp_model *model);

/* What its threads used. */
const struct hp_run_thread_usage *hp_model_thread_usage(struct hp_model *model);

/* The run over time. */
const struct hp_timeline *hp_model_timeline(struct hp_model *model);

/* Values, channels and other objects of the program. */
const struct hp_objects *hp_model_objects(struct hp_model *model);

/* Its tasks; afterwards the sites of the profile know theirs. */
const struct hp_tasks *hp_model_tasks(struct hp_model *model);

/* How far all of this can be trusted. */
const struct hp_trust *hp_model_trust(struct hp_model *model);

#endif
