/*
 * What the sessions of a run say, whoever asks: reports, live views, exporters. It knows nothing of what is shown.
 *
 * The parts are made by the first who asks for them, and stay until the sessions are read anew. Everything is carved out of
 * arenas of mapped memory, so a model can be built in a signal handler. A function here that returns a pointer returns NULL
 * when the memory does not suffice. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_MODEL_H
#define HP_MODEL_MODEL_H

#include <stdbool.h>

#include "run.h"

struct hp_allocs;
struct hp_arena;
struct hp_cpu;
struct hp_function_profile;
struct hp_objects;
struct hp_profile;
struct hp_run_crew;
struct hp_run_waits;
struct hp_tasks;
struct hp_timeline;
struct hp_trust;

struct hp_model {
    struct hp_arena *kept;  /* for what stays when the sessions are read anew: their shape */
    struct hp_arena *arena; /* for what is of this reading */
    struct hp_run run;
    struct hp_profile *profile;                  /* functions and the call tree: always there */
    const struct hp_function_profile *functions; /* by stacks, from whoever has some; NULL: nobody */
    /* Private, from here on: see the functions below. */
    struct hp_profile *by_thread;
    const struct hp_allocs *allocs;
    const struct hp_cpu *cpu, *cpu_by_thread;
    const struct hp_run_waits *waits;
    const struct hp_run_crew *crew;
    const struct hp_timeline *timeline;
    const struct hp_objects *objects;
    const struct hp_tasks *tasks;
    const struct hp_trust *trust;
};

/*
 * Sorts out the sessions and adds them up. False: no memory. The snapshots must stay as long as the model is used. The arenas
 * may be one, if nothing is ever read anew.
 */
bool hp_model_build(struct hp_model *model, struct hp_arena *kept, struct hp_arena *arena,
                    const struct hp_snapshots *snapshots);

/*
 * The same after the snapshots were read anew, or for the first time; there may be more or fewer of them. All that was made before is void. With
 * `has_moved` texts are elsewhere, too.
 */
bool hp_model_refresh(struct hp_model *model, const struct hp_snapshots *snapshots, bool has_moved);

/*
 * From here on the model is about the stretch of the run between two moments, in nanoseconds since it began, until it is read anew. What has
 * no history is as it was. NULL, or one line that says why that cannot be: then it is void.
 */
const char *hp_model_cut(struct hp_model *model, uint64_t from_ns, uint64_t to_ns);

/* The profile with sites kept apart by thread. */
const struct hp_profile *hp_model_by_thread(struct hp_model *model);

/* What the run allocated. */
const struct hp_allocs *hp_model_allocs(struct hp_model *model);

/* Whose processor time it used, by the sites of `profile`; or by those of the profile by thread. */
const struct hp_cpu *hp_model_cpu(struct hp_model *model);
const struct hp_cpu *hp_model_cpu_by_thread(struct hp_model *model);

/* What it waited for, likewise. */
const struct hp_run_waits *hp_model_waits(struct hp_model *model);

/* What its threads used. */
const struct hp_run_crew *hp_model_crew(struct hp_model *model);

/* How it went over time. */
const struct hp_timeline *hp_model_timeline(struct hp_model *model);

/* Values, channels and whatever else the program tells of. */
const struct hp_objects *hp_model_objects(struct hp_model *model);

/* Its tasks; sites of the profile know theirs from then on. */
const struct hp_tasks *hp_model_tasks(struct hp_model *model);

/* How far all that can be trusted. */
const struct hp_trust *hp_model_trust(struct hp_model *model);

#endif
