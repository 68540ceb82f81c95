/* What the sessions of a run say. SPDX-License-Identifier: MIT */
#include "model.h"

#include <string.h>

#include "alloc_profile.h"
#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "floors.h"
#include "lock_causes.h"
#include "object_profile.h"
#include "path_processes.h"
#include "profile.h"
#include "task_profile.h"
#include "thread_usage_profile.h"
#include "time_range.h"
#include "timeline.h"
#include "trust.h"
#include "wait_profile.h"

/* --------------------------------------------------------------------------------------------------- cpu floors */

/*
 * CPU time once reported for a site never decreases in later readings. Estimates improve, but a site that would get
 * less keeps what it had, and the time used since is divided among the sites that would get more. So the rows still
 * add up to the total, which is known exactly.
 *
 * Keeps CPU time that was already credited.
 */

/* A number in this reading and in the previous one. */
struct credit {
    uint64_t *now;
    uint64_t *before;
};

struct credits {
    struct credit *all;
    size_t count;
};

static void add_credits(struct credits *credits, struct hp_cpu_sums *now, struct hp_cpu_sums *before)
{
    credits->all[credits->count++] = (struct credit){&now->user_ns, &before->user_ns};
    credits->all[credits->count++] = (struct credit){&now->kernel_ns, &before->kernel_ns};
    hp_floor(&now->samples, &before->samples);
}

/* All increases are scaled by the same factor to the time that is available. */
static void level(const struct credits *credits)
{
    uint64_t now = 0, before = 0, more = 0;
    for (size_t at = 0; at < credits->count; at++) {
        now += *credits->all[at].now;
        before += *credits->all[at].before;
        more += hp_less(*credits->all[at].now, *credits->all[at].before);
    }
    const double part = more > 0 ? (double)hp_less(now, before) / (double)more : 0;
    for (size_t at = 0; at < credits->count; at++) {
        const struct credit *credit = &credits->all[at];
        const uint64_t wanted = hp_less(*credit->now, *credit->before);
        *credit->before += hp_reduced(wanted, part);
        *credit->now = *credit->before;
    }
}

static void raise_to(uint64_t *to, uint64_t least)
{
    if (*to < least)
        *to = least;
}

/* Including inner zones, a site has at least its own time. */
static void keep_all(struct hp_site_cpu *now, struct hp_site_cpu *before)
{
    raise_to(&now->all.user_ns, now->own.user_ns);
    raise_to(&now->all.kernel_ns, now->own.kernel_ns);
    hp_floor(&now->all.user_ns, &before->all.user_ns);
    hp_floor(&now->all.kernel_ns, &before->all.kernel_ns);
    hp_floor(&now->all.samples, &before->all.samples);
}

static void add_up(struct hp_cpu *cpu, const struct credits *credits)
{
    cpu->total.user_ns = cpu->startup.user_ns;
    cpu->total.kernel_ns = cpu->startup.kernel_ns;
    for (size_t at = 0; at < credits->count; at += 2) {
        cpu->total.user_ns += *credits->all[at].now;
        cpu->total.kernel_ns += *credits->all[at + 1].now;
    }
}

/* Each path by itself: together they may slightly exceed their function. */
static bool keep_nodes(const struct hp_cpu *cpu, const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        const uint64_t key = hp_floors_mix(HP_FLOOR_CPU_PATH, profile->nodes[at]->key);
        struct hp_cpu_sums *now = &cpu->nodes[at],
                           *before = hp_floors_find(profile->run->floors, key, sizeof *before);
        if (before == NULL)
            return false;
        hp_floor(&now->user_ns, &before->user_ns);
        hp_floor(&now->kernel_ns, &before->kernel_ns);
        hp_floor(&now->samples, &before->samples);
    }
    return true;
}

/* `cpu` is that of the profile, whose run has floors. False: no memory. */
static bool cpu_keep(struct hp_cpu *cpu, struct hp_arena *arena, const struct hp_profile *profile)
{
    struct hp_floors *floors = profile->run->floors;
    struct credits credits = {.all =
                                  hp_arena_take_array(arena, 2 * (profile->site_count + 1), sizeof *credits.all)};
    struct hp_site_cpu **before = hp_arena_take_array(arena, profile->site_count + 1, sizeof(void *));
    const uint64_t by_thread = profile->forest.is_by_thread;
    struct hp_cpu_sums *outside =
        hp_floors_find(floors, hp_floors_mix(HP_FLOOR_CPU_OUTSIDE, by_thread), sizeof *outside);
    if (credits.all == NULL || before == NULL || outside == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        before[at] = hp_floors_find(floors, hp_site_key(HP_FLOOR_CPU, profile->sites[at]), sizeof **before);
        if (before[at] == NULL)
            return false;
        add_credits(&credits, &cpu->sites[at].own, &before[at]->own);
    }
    add_credits(&credits, &cpu->outside, outside);
    level(&credits);
    for (size_t at = 0; at < profile->site_count; at++)
        keep_all(&cpu->sites[at], before[at]);
    add_up(cpu, &credits);
    return keep_nodes(cpu, profile);
}

/* -------------------------------------------------------------------------------------------------------- model */

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
    const struct hp_lock_profile *const locks = model->locks;
    const struct hp_io_profile *const io = model->io;
    const char *const killed_by = model->killed_by, *const source = model->source, *const natives = model->natives;
    hp_arena_reset(arena);
    memset(model, 0, sizeof *model);
    model->kept = kept;
    model->arena = arena;
    model->functions = functions;
    model->locks = locks;
    model->io = io;
    model->killed_by = killed_by;
    model->source = source;
    model->natives = natives;
    if (profile != NULL && !has_moved && hp_run_init(&model->run, arena, snapshots) &&
        hp_profile_refresh(profile, arena, &model->run)) {
        model->profile = profile;
        return true;
    }
    hp_arena_release(kept);
    hp_arena_reset(arena);
    const bool is_built = hp_model_build(model, kept, arena, snapshots);
    model->functions = functions;
    model->locks = locks;
    model->io = io;
    model->killed_by = killed_by;
    model->source = source;
    model->natives = natives;
    return is_built;
}

/* The trust data are of the whole run. Everything made before the cut is discarded. */
const char *hp_model_cut(struct hp_model *model, uint64_t from_ns, uint64_t to_ns)
{
    if (hp_model_trust(model) == NULL)
        return "not enough memory for the report";
    model->functions = NULL;
    model->locks = NULL;
    model->io = NULL;
    model->waits = NULL;
    model->usage = NULL;
    model->timeline = NULL;
    const struct hp_cpu *cpu = hp_run_has_cpu(&model->run) ? hp_model_cpu(model) : NULL;
    return hp_time_range_cut(model->profile, &model->run, cpu, from_ns, to_ns);
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
    return cpu != NULL && (model->run.floors == NULL || cpu_keep(cpu, model->arena, profile)) ? cpu : NULL;
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

static const struct hp_cpu *sampled_cpu(struct hp_model *model)
{
    return hp_run_has_cpu(&model->run) ? hp_model_cpu(model) : NULL;
}

/* Without samples nothing says where CPU time was used: all of it may have been outside. */
static double cpu_outside(struct hp_model *model)
{
    const struct hp_cpu *cpu = sampled_cpu(model);
    double all_ns = 0;
    for (size_t at = 0; at < model->run.count; at++)
        all_ns += (double)hp_snapshot_cpu_ns(model->run.sessions[at]);
    return cpu != NULL ? (double)hp_cpu_ns(&cpu->outside) : all_ns;
}

const struct hp_run_path *hp_model_path(struct hp_model *model)
{
    const struct hp_run_waits *waits = hp_run_has_waits(&model->run) ? hp_model_waits(model) : NULL;
    if (model->path == NULL)
        model->path = hp_path_of_run(model->arena, &(struct hp_path_sources){.profile = model->profile,
                                                                             .waits = waits,
                                                                             .functions = model->functions,
                                                                             .locks = model->locks,
                                                                             .cpu = sampled_cpu(model),
                                                                             .outside_cpu_ns = cpu_outside(model)});
    return model->path;
}

const struct hp_run_thread_usage *hp_model_thread_usage(struct hp_model *model)
{
    if (model->usage == NULL)
        model->usage = hp_thread_usage_of_run(model->arena, model->profile);
    return model->usage;
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
        if (trust != NULL && model->locks != NULL && hp_run_has_waits(&model->run) && hp_model_waits(model) != NULL)
            trust->unseen_locks_ns = hp_lock_unseen_ns(model->locks, model->waits);
        model->trust = trust;
    }
    return model->trust;
}
