/* What the sessions of a run say. SPDX-License-Identifier: MIT */
#include "model.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "cpu_floors.h"
#include "cpu_profile.h"
#include "crew_profile.h"
#include "object_profile.h"
#include "profile.h"
#include "stretch.h"
#include "task_profile.h"
#include "timeline.h"
#include "trust.h"
#include "wait_profile.h"

bool hp_model_build(struct hp_model *model, struct hp_arena *kept, struct hp_arena *arena,
                    const struct hp_snapshots *snapshots)
{
    memset(model, 0, sizeof *model);
    model->kept = kept;
    model->arena = arena;
    if (!hp_run_init(&model->run, arena, snapshots))
        return false;
    model->profile = hp_profile_build(kept, arena, &model->run, false);
    return model->profile != NULL;
}

bool hp_model_refresh(struct hp_model *model, const struct hp_snapshots *snapshots, bool has_moved)
{
    struct hp_profile *const profile = model->profile;
    struct hp_arena *const kept = model->kept, *const arena = model->arena;
    const struct hp_function_profile *const functions = model->functions;
    const char *const killed_by = model->killed_by;
    hp_arena_reset(arena);
    memset(model, 0, sizeof *model);
    model->kept = kept;
    model->arena = arena;
    model->functions = functions;
    model->killed_by = killed_by;
    if (profile != NULL && !has_moved && hp_run_init(&model->run, arena, snapshots) &&
        hp_profile_refresh(profile, arena, &model->run)) {
        model->profile = profile;
        return true;
    }
    hp_arena_release(kept);
    hp_arena_reset(arena);
    const bool is_built = hp_model_build(model, kept, arena, snapshots);
    model->functions = functions;
    model->killed_by = killed_by;
    return is_built;
}

/* The trust data are of the whole run. Everything made before the cut is discarded. */
const char *hp_model_cut(struct hp_model *model, uint64_t from_ns, uint64_t to_ns)
{
    if (hp_model_trust(model) == NULL)
        return "not enough memory for the report";
    model->functions = NULL;
    model->waits = NULL;
    model->crew = NULL;
    model->timeline = NULL;
    const struct hp_cpu *cpu = hp_run_has_cpu(&model->run) ? hp_model_cpu(model) : NULL;
    return hp_stretch_cut(model->profile, &model->run, cpu, from_ns, to_ns);
}

const struct hp_profile *hp_model_by_thread(struct hp_model *model)
{
    if (model->by_thread == NULL)
        model->by_thread = hp_profile_build(model->arena, model->arena, &model->run, true);
    return model->by_thread;
}

const struct hp_allocs *hp_model_allocs(struct hp_model *model)
{
    if (model->allocs == NULL)
        model->allocs = hp_allocs_of_run(model->arena, &model->run);
    return model->allocs;
}

static const struct hp_cpu *make_cpu(const struct hp_model *model, const struct hp_profile *profile)
{
    struct hp_cpu *cpu = profile != NULL ? hp_cpu_of_profile(model->arena, profile) : NULL;
    return cpu != NULL && (model->run.floors == NULL || hp_cpu_keep(cpu, model->arena, profile)) ? cpu : NULL;
}

const struct hp_cpu *hp_model_cpu(struct hp_model *model)
{
    if (model->cpu == NULL)
        model->cpu = make_cpu(model, model->profile);
    return model->cpu;
}

const struct hp_cpu *hp_model_cpu_by_thread(struct hp_model *model)
{
    if (model->cpu_by_thread == NULL)
        model->cpu_by_thread = make_cpu(model, hp_model_by_thread(model));
    return model->cpu_by_thread;
}

const struct hp_run_waits *hp_model_waits(struct hp_model *model)
{
    if (model->waits == NULL)
        model->waits = hp_waits_of_run(model->arena, model->profile);
    return model->waits;
}

const struct hp_run_crew *hp_model_crew(struct hp_model *model)
{
    if (model->crew == NULL)
        model->crew = hp_crew_of_run(model->arena, model->profile);
    return model->crew;
}

const struct hp_timeline *hp_model_timeline(struct hp_model *model)
{
    if (model->timeline == NULL)
        model->timeline = hp_timeline_of_run(model->arena, model->profile);
    return model->timeline;
}

const struct hp_objects *hp_model_objects(struct hp_model *model)
{
    if (model->objects == NULL)
        model->objects = hp_objects_of_run(model->arena, &model->run);
    return model->objects;
}

const struct hp_tasks *hp_model_tasks(struct hp_model *model)
{
    const struct hp_objects *objects = hp_model_objects(model);
    if (model->tasks == NULL && objects != NULL)
        model->tasks = hp_tasks_of_run(model->arena, objects, model->profile);
    return model->tasks;
}

const struct hp_trust *hp_model_trust(struct hp_model *model)
{
    if (model->trust == NULL) {
        struct hp_trust *trust = hp_arena_take(model->arena, sizeof *trust);
        if (trust != NULL)
            hp_trust_of_run(model->arena, model->profile, hp_run_has_cpu(&model->run) ? hp_model_cpu(model) : NULL,
                            model->functions, trust);
        model->trust = trust;
    }
    return model->trust;
}
