/*
 * A time range of a run.
 *
 * The number of a site is the sum of the increases of its series over all sessions. A moment between two samples
 * gets its part of what came between them. Sessions without a time axis were short, or were not watched: they count
 * if they lie entirely inside. What has no series is scaled, as recursion is, or unknown.
 * SPDX-License-Identifier: MIT
 */
#include "time_range.h"

#include <string.h>

#include "arena.h"
#include "arith.h"
#include "cpu_profile.h"
#include "run.h"
#include "thread_activity.h"
#include "units.h"

struct cutting {
    struct hp_profile *profile;
    const struct hp_run *run;
    struct hp_time_range *range;
    void *bytes; /* of the current time axis */
    struct hp_run_axis axis;
    const struct hp_cpu *cpu;  /* of the whole run; NULL: not sampled */
    bool has_history;          /* of any */
    struct hp_work_times work; /* by the current time axis, and by the one that has most of the range */
    struct hp_work_times most_work;
};

/* --------------------------------------------------------------------------------------------- values */

static void add_to_site(const struct cutting *cutting, const struct hp_axis_series *series, uint64_t amount)
{
    struct hp_site_sums *site = hp_profile_find(cutting->profile, cutting->axis.session, series->id);
    if (site == NULL)
        return;
    if (series->kind == HP_AXIS_SITE_CALLS)
        site->sums.calls += amount;
    else if (series->kind == HP_AXIS_SITE_TICKS)
        site->sums.total += amount;
    else if (series->kind == HP_AXIS_SITE_SELF)
        site->sums.self += amount;
    else if (series->kind == HP_AXIS_SITE_CPU)
        site->range_cpu_ns += amount;
    else if (series->kind == HP_AXIS_SITE_KERNEL)
        site->range_kernel_ns += amount;
    else
        site->range_bytes += amount;
    site->has_history = true;
}

static void add_to_work(struct hp_work_times *work, uint32_t number, uint64_t amount)
{
    uint64_t *const times[] = {&work->covered_ns, &work->worked_ns, &work->blocked_ns, &work->socket_ns};
    if (number < sizeof times / sizeof times[0])
        *times[number] = amount;
}

static void add_series(struct cutting *cutting, uint32_t place, const struct hp_axis_series *series)
{
    struct hp_time_range_waits *waits = &cutting->range->waits[cutting->axis.session];
    struct hp_time_range_use *use = &cutting->range->uses[cutting->axis.session];
    const uint64_t amount = hp_run_axis_gain(&cutting->axis, place, cutting->range->from_ns, cutting->range->to_ns);
    switch ((enum hp_axis_kind)series->kind) {
    case HP_AXIS_SITE_CALLS:
    case HP_AXIS_SITE_TICKS:
    case HP_AXIS_SITE_SELF:
    case HP_AXIS_SITE_CPU:
    case HP_AXIS_SITE_BYTES:
    case HP_AXIS_SITE_KERNEL:
        add_to_site(cutting, series, amount);
        break;
    case HP_AXIS_PLACE:
        if (series->id < HP_AXIS_WAITS)
            waits->ns[series->id] = amount;
        break;
    case HP_AXIS_BESIDE:
        if (series->id < HP_AXIS_WAITS)
            waits->beside_ns[series->id] = amount;
        break;
    case HP_AXIS_WAIT:
        waits->left_out_ns += amount; /* those with a place are subtracted below */
        if (series->id < HP_WAIT_CAUSES)
            use->waited_ns[series->id] = amount;
        break;
    case HP_AXIS_CPU:
        use->cpu_ns = amount;
        break;
    case HP_AXIS_WATCHED:
        waits->watched_ns = amount;
        break;
    case HP_AXIS_WORK:
        add_to_work(&cutting->work, series->id, amount);
        break;
    default:
        break;
    }
}

static void add_activities(const struct cutting *cutting)
{
    const struct hp_time_range *range = cutting->range;
    struct hp_time_range_use *use = &range->uses[cutting->axis.session];
    struct hp_thread_activity threads[HP_AXIS_THREADS];
    use->thread_count = hp_thread_activities(&cutting->axis, threads);
    for (size_t at = 0; at < use->thread_count; at++) {
        use->threads[at].tid = threads[at].tid;
        hp_thread_activity_in(&cutting->axis, &threads[at], range->from_ns, range->to_ns, use->threads[at].ns);
        hp_thread_activity_in(&cutting->axis, &threads[at], 0, UINT64_MAX, use->threads[at].whole_ns);
    }
}

static void add_axis(struct cutting *cutting)
{
    struct hp_axis_series series;
    struct hp_time_range_waits *waits = &cutting->range->waits[cutting->axis.session];
    uint64_t waited_ns = 0;
    cutting->has_history = true;
    cutting->work = (struct hp_work_times){0};
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++)
        if (hp_axis_series(&cutting->axis.axis, place, &series) && !hp_axis_is_level(series.kind))
            add_series(cutting, place, &series);
    add_activities(cutting);
    if (cutting->work.covered_ns > cutting->most_work.covered_ns)
        cutting->most_work = cutting->work;
    for (uint32_t at = 0; at < HP_AXIS_WAITS; at++)
        waited_ns += waits->ns[at];
    waits->left_out_ns = hp_less(waits->left_out_ns, waited_ns);
    /* Samples of the two are not taken at exactly the same time. */
    if (waits->watched_ns < waited_ns + waits->left_out_ns)
        waits->watched_ns = waited_ns + waits->left_out_ns;
}

/* For the whole session, and for the time range if it has all of the session. */
static void add_cpu(const struct cutting *cutting, uint32_t session, const struct hp_thread *thread, bool is_inside)
{
    const struct hp_snapshot *snapshot = cutting->run->sessions[session];
    struct hp_cpu_thread cpu;
    struct hp_cpu_node entry;
    struct hp_node node;
    struct hp_walk nodes = {0};
    if (!hp_snapshot_cpu_thread(snapshot, thread, &cpu))
        return;
    while (hp_snapshot_next_cpu(snapshot, &cpu, &nodes, &entry)) {
        struct hp_site_sums *site = hp_snapshot_node(snapshot, entry.node, &node)
                                        ? hp_profile_find(cutting->profile, session, node.site)
                                        : NULL;
        if (site == NULL)
            continue;
        site->found_cpu_ns += entry.user_ns + entry.kernel_ns;
        site->found_kernel_ns += entry.kernel_ns;
        site->range_cpu_ns += is_inside ? entry.user_ns + entry.kernel_ns : 0;
        site->range_kernel_ns += is_inside ? entry.kernel_ns : 0;
    }
}

static void add_bytes(const struct cutting *cutting, uint32_t session, const struct hp_thread *thread)
{
    const struct hp_snapshot *snapshot = cutting->run->sessions[session];
    struct hotpath_stat_ stat;
    struct hp_alloc_stat alloc;
    struct hp_walk stats = {0};
    while (hp_snapshot_next_stat(snapshot, thread, &stats, &stat)) {
        struct hp_site_sums *site = hp_snapshot_alloc_stat(snapshot, &stat, &alloc)
                                        ? hp_profile_find(cutting->profile, session, stat.site)
                                        : NULL;
        if (site != NULL)
            site->range_bytes += alloc.own_bytes;
    }
}

static void add_threads(const struct cutting *cutting, uint32_t session, bool is_inside)
{
    struct hp_walk threads = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(cutting->run->sessions[session], &threads, &thread)) {
        add_cpu(cutting, session, &thread, is_inside);
        if (is_inside)
            add_bytes(cutting, session, &thread);
    }
}

/* A session without a time axis counts as a whole. */
static void add_session(const struct cutting *cutting, uint32_t session)
{
    const struct hp_forest *forest = &cutting->profile->forest;
    for (size_t at = 0; at < forest->tree_count; at++) {
        const struct hp_thread_tree *tree = forest->trees[at];
        for (size_t record = 0; tree->calls.session == session && record < tree->count; record++) {
            const struct hp_sums *sums = &tree->records[record].sums;
            if (tree->records[record].merged == NULL)
                continue;
            struct hp_site_sums *site = tree->records[record].merged->site;
            site->sums.calls += sums->calls;
            site->sums.total += sums->total;
            site->sums.self += sums->self;
            site->has_history = true;
        }
    }
}

static bool is_inside(const struct cutting *cutting, uint32_t session)
{
    const struct hp_snapshot *snapshot = cutting->run->sessions[session];
    const uint64_t began = hp_run_started_ns(cutting->run, snapshot);
    return began >= cutting->range->from_ns && began + hp_snapshot_elapsed_ns(snapshot) <= cutting->range->to_ns;
}

/* ---------------------------------------------------------------------------------------------- sites */

static void empty_sites(const struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->known_count; at++) {
        profile->known[at]->sums = (struct hp_sums){0};
        profile->known[at]->has_history = false;
        profile->known[at]->range_cpu_ns = profile->known[at]->range_bytes = 0;
        profile->known[at]->range_kernel_ns = 0;
        profile->known[at]->found_cpu_ns = profile->known[at]->found_kernel_ns = 0;
    }
}

/* Scales a number without history by a part of another. */
static uint64_t scaled(uint64_t number, uint64_t part, uint64_t whole)
{
    const double share = whole > 0 ? (double)part / (double)whole : 0;
    return hp_units_round((double)number * (share < 1 ? share : 1));
}

static void settle_site(struct hp_site_sums *site)
{
    struct hp_sums *sums = &site->sums;
    sums->untimed = scaled(site->read.untimed, sums->calls, site->read.calls);
    sums->nested = scaled(site->read.nested, sums->total, site->read.total);
    site->calls_inside = scaled(site->calls_inside, sums->total, site->read.total);
}

/*
 * CPU time that samples did not find, as in the kernel, is known for the whole run: the time range gets its part of
 * it, as of what they found; of kernel time, as of the kernel time that they found, if any. CPU time cannot exceed
 * self time.
 */
static void settle_cpu(const struct cutting *cutting, struct hp_site_sums *site, const struct hp_site_cpu *whole)
{
    const uint64_t ns = scaled(hp_cpu_ns(&whole->own), site->range_cpu_ns, site->found_cpu_ns);
    const uint64_t kernel_ns = site->found_kernel_ns > 0
                                   ? scaled(whole->own.kernel_ns, site->range_kernel_ns, site->found_kernel_ns)
                                   : scaled(whole->own.kernel_ns, site->range_cpu_ns, site->found_cpu_ns);
    const uint64_t most = hp_units_round((double)hp_sums_self(&site->sums) * cutting->run->ns_per_tick);
    site->range_cpu_ns = ns < most || !cutting->run->is_rate_known ? ns : most;
    site->range_kernel_ns = kernel_ns < site->range_cpu_ns ? kernel_ns : site->range_cpu_ns;
}

/* The sites that were called, or open, in the time range. */
static void list_sites(const struct cutting *cutting)
{
    struct hp_profile *profile = cutting->profile;
    size_t count = 0;
    for (size_t at = 0; at < profile->site_count; at++) {
        struct hp_site_sums *site = profile->sites[at];
        cutting->range->unknown += !site->has_history;
        settle_site(site);
        if (cutting->cpu != NULL)
            settle_cpu(cutting, site, &cutting->cpu->sites[at]);
        if (site->sums.calls > 0 || site->sums.total > 0)
            profile->sites[count++] = site;
    }
    profile->site_count = count;
}

static uint64_t used_by(const struct hp_snapshot *session)
{
    return hp_less(session->header.cpu_latest_ns, session->header.cpu_start_ns);
}

const char *hp_time_range_cut(struct hp_profile *profile, struct hp_run *run, const struct hp_cpu *cpu,
                              uint64_t from_ns, uint64_t to_ns)
{
    struct cutting cutting = {.profile = profile, .run = run, .cpu = cpu};
    cutting.range = hp_arena_take(profile->arena, sizeof *cutting.range);
    cutting.bytes = hp_arena_take(profile->arena, HP_AXIS_BYTES);
    if (cutting.range == NULL || cutting.bytes == NULL)
        return "not enough memory for a time range of the run";
    cutting.range->waits = hp_arena_take_array(profile->arena, run->count, sizeof *cutting.range->waits);
    cutting.range->uses = hp_arena_take_array(profile->arena, run->count, sizeof *cutting.range->uses);
    if (cutting.range->waits == NULL || cutting.range->uses == NULL)
        return "not enough memory for a time range of the run";
    cutting.range->whole_ns = hp_run_elapsed_ns(run);
    cutting.range->from_ns = from_ns;
    cutting.range->to_ns = to_ns;
    empty_sites(profile);
    for (uint32_t session = 0; session < run->count; session++) {
        const bool has_axis = hp_run_axis_read(&cutting.axis, run, session, cutting.bytes);
        const bool is_whole = !has_axis && is_inside(&cutting, session);
        if (has_axis)
            add_axis(&cutting);
        else if (is_whole)
            add_session(&cutting, session);
        if (is_whole)
            cutting.range->uses[session].cpu_ns = used_by(run->sessions[session]);
        add_threads(&cutting, session, is_whole);
    }
    if (!cutting.has_history)
        return "this run has no history, so --from and --to do not work: 'hotpath run' keeps a history of runs "
               "longer than a quarter of a second";
    list_sites(&cutting);
    run->elapsed_ticks = hp_units_round((double)(cutting.range->to_ns - cutting.range->from_ns) / run->ns_per_tick);
    run->range = cutting.range;
    run->work = cutting.most_work;
    run->floors = NULL; /* another time range may have less */
    return NULL;
}
