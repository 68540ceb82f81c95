/*
 * CPU time per function. Samples are credited to nodes of the threads' call trees. The forest has all nodes, each
 * with its place in the tree of the run and so with its site, whether or not the profile keeps threads apart.
 *
 * The times of a thread's functions come from cpu_shares.h.
 *
 * CPU time that no sample found, such as that of short threads, is divided by the expected cost of their calls.
 *
 * Including inner zones: a node's time counts once for each site among the nodes above it and, where recursion was
 * folded, for the sites that the recorder found on the stack but not in the tree. SPDX-License-Identifier: MIT
 */
#include "cpu_profile.h"

#include <errno.h>

#include "arena.h"
#include "arith.h"
#include "cpu_shares.h"
#include "sort.h"

/* ---------------------------------------------------------------------------------------------------- cpu walls */

/*
 * For a thread that did not wait, the times of its zones also tell its CPU time. Preemptions hit every node alike,
 * so a node with a tenth of the time has a tenth of the thread's CPU time, within the statistics of their number;
 * functions with many samples show how far that does not hold. Samples are a second estimate. The result is the
 * mean of both, weighted by their certainty.
 *
 * Derives CPU time from the times of zones, for threads that do not wait.
 */
struct hp_cpu_shares;

static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

/* Sums over all nodes whose zones were timed. */
struct walls {
    double wall_ns, ns;
    double samples;
    double waited_ns; /* at most, of the time off CPU */
    double slice_ns;  /* mean time off CPU per preemption */
    double bias;      /* relative error of the expected time off CPU, squared */
    double period_ns, tick_ns;
};

static bool is_timed(const struct hp_cpu_share *share) { return share->most_ns > 0; }

static struct walls add_up(const struct hp_cpu_shares *shares)
{
    struct walls sums = {0};
    for (size_t at = 0; at < shares->count; at++) {
        const struct hp_cpu_share *share = &shares->all[at];
        if (!is_timed(share))
            continue;
        sums.wall_ns += share->most_ns;
        sums.ns += hp_cpu_share_ns(share);
        sums.samples += (double)share->samples;
    }
    const double away = larger(sums.wall_ns - sums.ns, 0);
    sums.waited_ns = smaller(shares->waited_ns, away);
    sums.slice_ns = shares->preempted > 0 ? away / shares->preempted : 0;
    return sums;
}

static double expected_of(const struct hp_cpu_share *share, const struct walls *sums)
{
    return share->most_ns * (sums->ns / sums->wall_ns);
}

static double away_of(const struct hp_cpu_share *share, const struct walls *sums)
{
    return share->most_ns * (1 - sums->ns / sums->wall_ns);
}

/*
 * Preemptions come at random and have random lengths: the variance is that of their number and of their length. Any
 * node may have all of the thread's waiting.
 */
static double variance_of_wall(const struct hp_cpu_share *share, const struct walls *sums)
{
    const double away = away_of(share, sums), waited = smaller(sums->waited_ns, share->most_ns);
    return 2 * sums->slice_ns * (away + sums->slice_ns) + waited * waited + sums->bias * away * away;
}

/* Counting statistics; a node without samples may have been missed once. */
static double variance_of_samples(const struct hp_cpu_share *share, const struct walls *sums)
{
    const double one = larger(sums->period_ns, sums->samples > 0 ? sums->ns / sums->samples : 0);
    const double ns = hp_cpu_share_ns(share) + one, others = 1 - hp_cpu_share_ns(share) / sums->ns;
    return ns * ns * larger(others, 0) / ((double)share->samples + 1);
}

/* With this many samples a node can check what the times of zones say. */
#define MANY_SAMPLES 100

/*
 * Preemptions are not quite random: a thread may lose its CPU in a system call. Nodes with many samples show how
 * far the time off CPU differs beyond chance.
 */
static double bias_of(const struct hp_cpu_shares *shares, const struct walls *sums)
{
    double squares = 0, absences = 0;
    for (size_t at = 0; at < shares->count; at++) {
        const struct hp_cpu_share *share = &shares->all[at];
        if (!is_timed(share) || share->samples < MANY_SAMPLES)
            continue;
        const double off = expected_of(share, sums) - hp_cpu_share_ns(share), away = away_of(share, sums);
        squares += larger(off * off - variance_of_wall(share, sums) - variance_of_samples(share, sums), 0);
        absences += away * away;
    }
    return absences > 0 ? squares / absences : 0;
}

/* Sets the time; the less certain mode changes more. */
static void set(struct hp_cpu_share *share, double ns, const struct walls *sums)
{
    const double user = share->user_ns * sums->period_ns * larger(1 - share->user_ns / sums->ns, 0);
    const double kernel = share->kernel_ns * sums->tick_ns;
    const double part = user + kernel > 0 ? kernel / (user + kernel) : 0;
    const double kernel_ns = share->kernel_ns + (ns - hp_cpu_share_ns(share)) * part;
    share->kernel_ns = smaller(larger(kernel_ns, 0), ns);
    share->user_ns = ns - share->kernel_ns;
}

/* Scales all nodes so that the sum is as before. */
static void keep_sum(const struct hp_cpu_shares *shares, const struct walls *sums)
{
    double ns = 0;
    for (size_t at = 0; at < shares->count; at++)
        ns += is_timed(&shares->all[at]) ? hp_cpu_share_ns(&shares->all[at]) : 0;
    for (size_t at = 0; at < shares->count && ns > 0; at++)
        if (is_timed(&shares->all[at]))
            set(&shares->all[at], hp_cpu_share_ns(&shares->all[at]) * (sums->ns / ns), sums);
}

/*
 * Combines what samples found with the times of the zones; `most_ns` is set. `period_ns`: the time that a sample
 * stands for; `tick_ns`: that of one that found the thread in the kernel. The sum does not change; variances are
 * set.
 */
static void cpu_shares_weigh_walls(struct hp_cpu_shares *shares, double period_ns, double tick_ns)
{
    struct walls sums = add_up(shares);
    sums.period_ns = period_ns;
    sums.tick_ns = tick_ns;
    if (sums.slice_ns <= 0 || sums.ns <= 0)
        return;
    sums.bias = bias_of(shares, &sums);
    for (size_t at = 0; at < shares->count; at++) {
        struct hp_cpu_share *share = &shares->all[at];
        if (!is_timed(share))
            continue;
        const double by_wall = variance_of_wall(share, &sums), by_samples = variance_of_samples(share, &sums);
        const double part = by_samples / (by_wall + by_samples);
        set(share, expected_of(share, &sums) * part + hp_cpu_share_ns(share) * (1 - part), &sums);
        share->variance = by_wall * part;
    }
    keep_sum(shares, &sums);
}

/* -------------------------------------------------------------------------------------------------- cpu profile */

#define SECOND 1e9

/* What the calls of a site took, by samples. */
struct cost {
    uint64_t number; /* of the site */
    double ns;
    double calls;
    double of_call;
};

struct builder {
    struct hp_arena *arena;
    const struct hp_profile *profile;
    struct hp_cpu *cpu;
    struct hp_cpu_shares shares; /* of the current thread */
    struct cost *costs;          /* one per site */
    double found_ns;             /* of all sites together, by samples */
    uint64_t *last_entry;        /* per site: the last entry that was counted for it */
    uint64_t entry;
    uint64_t steps_left; /* limits the steps upwards in trees: in a corrupt file, paths may be long and many */
    uint64_t skipped_ns; /* of the session: used by its threads while recording was paused */
    uint64_t skipped_kernel_ns;
    uint64_t sampled_kernel_ns; /* of the session, by the kernel's accounting for its threads */
};

bool hp_run_has_cpu(const struct hp_run *run) { return hp_run_has_feature(run, HP_FEATURE_CPU); }

static double rate_of(uint64_t samples, uint64_t ns) { return ns > 0 ? (double)samples * SECOND / (double)ns : 0; }

/* perf samples user mode; timers alone sample the threads without perf. */
double hp_cpu_achieved_rate(const struct hp_cpu *cpu)
{
    const double by_perf = rate_of(cpu->perf_samples, cpu->sampled_user_ns);
    const double by_all = rate_of(cpu->total.samples, cpu->sampled_ns);
    const double rate = cpu->has_perf && !cpu->has_timers && by_perf > by_all / 2 ? by_perf : by_all;
    /* With little user time the kernel reports too little of it; the rate cannot exceed the requested one. */
    return cpu->rate > 0 && rate > cpu->rate ? cpu->rate : rate;
}

bool hp_cpu_is_sampled(const struct hp_cpu *cpu) { return cpu->has_perf || cpu->has_timers; }

const char *hp_cpu_engine_name(const struct hp_cpu *cpu)
{
    return !cpu->has_perf ? "timers" : cpu->has_timers ? "perf and timers, or timers alone" : "perf and timers";
}

const char *hp_cpu_advice(uint32_t refusal)
{
    switch (refusal) {
    case 0:
        return NULL;
    case EACCES:
        return "sysctl kernel.perf_event_paranoid=2";
    case EPERM:
        return "docker run --cap-add PERFMON, or allow perf_event_open in another way";
    case EMFILE:
    case ENFILE:
        return "ulimit -n 1024";
    case EBUSY:
        return "do not handle SIGIO in the program";
    default:
        return "use a kernel with perf events";
    }
}

/* --------------------------------------------------------------------------------------- from nodes to sites */

#define NONE UINT32_MAX

static void number_sites(const struct hp_profile *profile)
{
    for (struct hp_site_sums *site = profile->forest.sites.all; site != NULL; site = site->next)
        site->cpu_place = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        profile->sites[at]->cpu_place = (uint32_t)at + 1;
}

/* The place of its site; NONE: a root, or a site without calls. */
static uint32_t place_of(const struct hp_tree_node *node)
{
    return node != NULL && node->site->cpu_place > 0 ? node->site->cpu_place - 1 : NONE;
}

/* ----------------------------------------------------------------------------------------------- adding up */

static void add(struct hp_cpu_sums *to, const struct hp_cpu_sums *from)
{
    to->samples += from->samples;
    to->user_ns += from->user_ns;
    to->kernel_ns += from->kernel_ns;
    to->variance += from->variance;
}

static void add_to_all(const struct builder *builder, uint32_t place, const struct hp_cpu_sums *sums)
{
    if (place == NONE || builder->last_entry[place] == builder->entry)
        return;
    builder->last_entry[place] = builder->entry;
    add(&builder->cpu->sites[place].all, sums);
}

/*
 * Per session: in a corrupt file, trees may be deep. A thousand steps for each of a thousand nodes of a hundred
 * threads.
 */
#define MAX_STEPS UINT64_C(100000000)

static void add_entry(struct builder *builder, const struct hp_tree_node *node, const struct hp_cpu_sums *sums)
{
    const uint32_t place = place_of(node);
    builder->entry++;
    if (place != NONE)
        add(&builder->cpu->sites[place].own, sums);
    add(&builder->cpu->nodes[node->index], sums);
    for (; node != NULL && builder->steps_left > 0; node = node->parent, builder->steps_left--)
        add_to_all(builder, place_of(node), sums);
}

/* Sites found on the stack but not in the tree; only in user mode, where perf samples. */
static void add_beside(struct builder *builder, const struct hp_thread_tree *tree, const struct hp_cpu_node *entry)
{
    const struct hp_cpu_sums sums = {.samples = entry->also_samples, .user_ns = entry->also_ns};
    const struct hp_record *record = entry->also_samples > 0 ? hp_thread_tree_find(tree, entry->node) : NULL;
    if (record == NULL)
        return;
    builder->entry++;
    add_to_all(builder, place_of(record->merged), &sums);
}

/* ------------------------------------------------------------------------------------------------ threads */

/* As an integer: a session may claim more than is possible. */
static uint64_t as_count(double ns)
{
    if (!(ns > 0))
        return 0;
    return ns < 0x1p63 ? (uint64_t)(ns + 0.5) : UINT64_C(1) << 63;
}

/* With perf, one timer signal comes per this many periods. */
#define TIMER_PERIODS 10

static double period_of(const struct hp_snapshot *session)
{
    return session->header.cpu_rate > 0 ? SECOND / session->header.cpu_rate : 0;
}

/* False: no memory. */
static bool read_thread(struct builder *builder, const struct hp_thread_tree *tree, const struct hp_cpu_thread *cpu)
{
    const struct hp_run *run = builder->profile->run;
    const double period_ns = period_of(run->sessions[tree->calls.session]);
    if (!hp_cpu_shares_read(&builder->shares, builder->arena, run, tree, cpu))
        return false;
    hp_cpu_shares_settle_unseen(&builder->shares, period_ns, TIMER_PERIODS * period_ns);
    return true;
}

/* First pass: sums what samples found, by site. */
static void count_found(const struct builder *builder)
{
    for (size_t at = 0; at < builder->shares.count; at++) {
        const struct hp_cpu_share *share = &builder->shares.all[at];
        const uint32_t place = place_of(share->merged);
        if (place != NONE)
            builder->costs[place].ns += hp_cpu_share_ns(share);
    }
}

/* False: no memory. */
static bool find_in_session(struct builder *builder, uint32_t index)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[index];
    struct hp_walk threads = {0};
    struct hp_thread thread;
    struct hp_cpu_thread cpu;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        const struct hp_thread_tree *tree = hp_forest_tree(&builder->profile->forest, index, threads.offset);
        if (tree == NULL || !hp_snapshot_cpu_thread(session, &thread, &cpu))
            continue;
        if (!read_thread(builder, tree, &cpu))
            return false;
        count_found(builder);
    }
    return true;
}

/* ----------------------------------------------------------------------------------------- time without samples */

static int compare_numbers(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return x->number == y->number ? 0 : x->number < y->number ? -1 : 1;
}

static bool make_costs(struct builder *builder)
{
    const struct hp_profile *profile = builder->profile;
    builder->costs = hp_arena_take_array(builder->arena, profile->site_count + 1, sizeof *builder->costs);
    for (size_t at = 0; builder->costs != NULL && at < profile->site_count; at++)
        builder->costs[at] = (struct cost){.number = hp_site_number(profile->sites[at]),
                                           .calls = (double)profile->sites[at]->sums.calls};
    return builder->costs != NULL;
}

/* The average cost of a call, by samples; for sites kept apart by thread, over all threads. False: no memory. */
static bool find_costs(struct builder *builder)
{
    const struct hp_profile *profile = builder->profile;
    struct cost **order = hp_arena_take_array(builder->arena, profile->site_count + 1, sizeof(void *));
    if (order == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        order[at] = &builder->costs[at];
        builder->found_ns += builder->costs[at].ns;
    }
    hp_sort(order, profile->site_count, compare_numbers);
    for (size_t from = 0, to; from < profile->site_count; from = to) {
        double ns = 0, calls = 0;
        for (to = from; to < profile->site_count && order[to]->number == order[from]->number; to++) {
            ns += order[to]->ns;
            calls += order[to]->calls;
        }
        for (size_t at = from; at < to; at++)
            order[at]->of_call = calls > 0 ? ns / calls : 0;
    }
    return true;
}

/* The expected cost of the calls of a node. */
static double expected(const struct builder *builder, const struct hp_cpu_share *share)
{
    const uint32_t place = place_of(share->merged);
    return place != NONE ? builder->costs[place].of_call * (double)share->calls : 0;
}

static double all_expected(const struct builder *builder)
{
    double all = 0;
    for (size_t at = 0; at < builder->shares.count; at++)
        all += expected(builder, &builder->shares.all[at]);
    return all;
}

/*
 * The time of a thread that ended before it was sampled, or that it used since its last sample. Other threads or
 * other calls show what the called functions cost; if none was ever sampled, it goes where the recorder guesses.
 */
static void share_out_waiting(const struct builder *builder, uint32_t last_node)
{
    const struct hp_cpu_shares *shares = &builder->shares;
    /* If samples found less than is to be divided, they say too little about how. */
    const bool is_known = builder->found_ns >= shares->waiting_ns;
    const double all = is_known ? all_expected(builder) : 0;
    for (size_t at = 0; at < shares->count && all > 0; at++) {
        const double part = expected(builder, &shares->all[at]) / all;
        hp_cpu_share_add(&shares->all[at], shares->waiting_ns * part);
    }
    struct hp_cpu_share *last = all > 0 ? NULL : hp_cpu_shares_find(shares, last_node);
    if (last != NULL)
        hp_cpu_share_add(last, shares->waiting_ns);
}

static void add_share(struct builder *builder, const struct hp_cpu_share *share)
{
    /* Rounded together, so that rounding does not raise them above the time of the zones. */
    const uint64_t ns = as_count(hp_cpu_share_ns(share)), kernel_ns = as_count(share->kernel_ns);
    const struct hp_cpu_sums sums = {.samples = share->samples,
                                     .user_ns = hp_less(ns, kernel_ns),
                                     .kernel_ns = kernel_ns < ns ? kernel_ns : ns,
                                     .variance = share->variance};
    if (place_of(share->merged) == NONE)
        add(&builder->cpu->outside, &sums);
    if (share->merged != NULL && (ns > 0 || share->samples > 0))
        add_entry(builder, share->merged, &sums);
}

static void add_all_beside(struct builder *builder, const struct hp_thread_tree *tree,
                           const struct hp_cpu_thread *cpu)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[tree->calls.session];
    struct hp_walk nodes = {0};
    struct hp_cpu_node entry;
    while (hp_snapshot_next_cpu(session, cpu, &nodes, &entry)) {
        builder->cpu->total.samples += entry.samples;
        add_beside(builder, tree, &entry);
    }
}

static void add_clocks(struct builder *builder, const struct hp_cpu_thread *cpu)
{
    builder->cpu->perf_samples += cpu->perf_samples;
    builder->cpu->sampled_ns += cpu->user_ns + cpu->kernel_ns;
    builder->cpu->sampled_user_ns += cpu->user_ns;
    builder->sampled_kernel_ns += cpu->kernel_ns;
    builder->skipped_ns += cpu->skipped_ns;
    builder->skipped_kernel_ns += cpu->skipped_kernel_ns;
}

/* Second pass. False: no memory. */
static bool add_thread(struct builder *builder, const struct hp_thread_tree *tree, const struct hp_cpu_thread *cpu)
{
    const double period_ns = period_of(builder->profile->run->sessions[tree->calls.session]);
    if (!read_thread(builder, tree, cpu))
        return false;
    share_out_waiting(builder, cpu->last_node);
    cpu_shares_weigh_walls(&builder->shares, period_ns, TIMER_PERIODS * period_ns);
    hp_cpu_shares_level(&builder->shares, period_ns);
    for (size_t at = 0; at < builder->shares.count; at++)
        add_share(builder, &builder->shares.all[at]);
    add_all_beside(builder, tree, cpu);
    return true;
}

/* ------------------------------------------------------------------------------------------------ processes */

/* CPU time of our own observer thread: nearly all of it is kernel time. */
static uint64_t taken_by_us(const struct hp_snapshot *session)
{
    struct hp_waits waits;
    const bool is_ours = hp_snapshot_waits(session, &waits) && waits.watcher == session->header.pid;
    return is_ours ? waits.watcher_ns : 0;
}

/*
 * The clock of a process starts before the dynamic linker calls us, and goes on after exec: what the next program
 * reports is its own.
 */
static void add_startup(const struct builder *builder, const struct hp_snapshot *session)
{
    const struct hp_run *run = builder->profile->run;
    const struct hp_header *header = &session->header;
    uint64_t told = 0, told_kernel = 0;
    if (!(header->features & HP_FEATURE_RUN))
        return;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_header *other = &run->sessions[at]->header;
        if (run->sessions[at] == session || other->pid != header->pid ||
            other->cpu_latest_ns > header->cpu_start_ns || other->cpu_latest_ns <= told)
            continue;
        told = other->cpu_latest_ns;
        told_kernel = other->cpu_latest_kernel_ns;
    }
    const uint64_t all = header->cpu_start_ns - told;
    const uint64_t kernel = hp_less(header->cpu_start_kernel_ns, told_kernel);
    builder->cpu->startup.kernel_ns += kernel < all ? kernel : all;
    builder->cpu->startup.user_ns += hp_less(all, kernel);
}

/*
 * Takes the clock of the process, unless it was read before those of its threads. Time in pauses is not counted.
 * The time of threads that were not sampled is outside, split into modes as the kernel accounts it.
 */
static void add_process(const struct builder *builder, const struct hp_snapshot *session, uint64_t sampled_ns)
{
    struct hp_cpu *cpu = builder->cpu;
    const struct hp_header *header = &session->header;
    const uint64_t ours = taken_by_us(session);
    const uint64_t kernel = hp_less(hp_less(header->cpu_latest_kernel_ns, header->cpu_start_kernel_ns),
                                    ours + builder->skipped_kernel_ns);
    const uint64_t all = hp_less(hp_less(header->cpu_latest_ns, header->cpu_start_ns), ours + builder->skipped_ns);
    const uint64_t others = hp_less(all, sampled_ns), others_kernel = hp_less(kernel, builder->sampled_kernel_ns);
    cpu->outside.kernel_ns += others_kernel < others ? others_kernel : others;
    cpu->outside.user_ns += hp_less(others, others_kernel);
    builder->cpu->used_ns += all > sampled_ns ? all : sampled_ns;
    /* The kernel counts from the start of the process; CPU time says how much of it was before the session. */
    if (header->cpu_latest_ns > header->cpu_start_ns)
        cpu->ready_ns += (double)header->ready_ns *
                         ((double)(header->cpu_latest_ns - header->cpu_start_ns) / (double)header->cpu_latest_ns);
    if (header->cpu_refusal != 0)
        cpu->refusal = header->cpu_refusal;
    cpu->has_perf |= header->cpu_engine == HP_CPU_PERF;
    cpu->has_timers |= header->cpu_engine == HP_CPU_TIMERS;
    if (header->cpu_engine != HP_CPU_NONE)
        cpu->rate = cpu->rate == 0 || cpu->rate == header->cpu_rate ? header->cpu_rate : 0;
}

static bool add_session(struct builder *builder, uint32_t index)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[index];
    struct hp_walk threads = {0};
    struct hp_thread thread;
    struct hp_cpu_thread cpu;
    const uint64_t before = builder->cpu->sampled_ns;
    builder->steps_left = MAX_STEPS;
    builder->skipped_ns = builder->skipped_kernel_ns = builder->sampled_kernel_ns = 0;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        const struct hp_thread_tree *tree = hp_forest_tree(&builder->profile->forest, index, threads.offset);
        if (!hp_snapshot_cpu_thread(session, &thread, &cpu))
            continue;
        add_clocks(builder, &cpu);
        if (tree != NULL && !add_thread(builder, tree, &cpu))
            return false;
    }
    add_process(builder, session, builder->cpu->sampled_ns - before);
    add_startup(builder, session);
    return true;
}

/* With inner zones, folded recursion may count twice: a site's CPU time cannot exceed the time of its calls. */
static void limit_all(const struct hp_profile *profile, struct hp_cpu *cpu)
{
    for (size_t at = 0; at < profile->site_count && profile->run->is_rate_known; at++) {
        const struct hp_sums *sums = &profile->sites[at]->sums;
        struct hp_cpu_sums *all = &cpu->sites[at].all;
        const uint64_t most = as_count(hp_run_ns(profile->run, sums->total)), ns = hp_cpu_ns(all);
        if (sums->untimed > 0 || ns <= most || most < hp_cpu_ns(&cpu->sites[at].own))
            continue;
        all->kernel_ns = as_count((double)all->kernel_ns * ((double)most / (double)ns));
        all->user_ns = hp_less(most, all->kernel_ns);
    }
}

/* Rows must add up to the total: what no site has is outside. */
static void settle_outside(struct hp_cpu *cpu, size_t site_count)
{
    struct hp_cpu_sums inside = {0, 0, 0, 0};
    for (size_t at = 0; at < site_count; at++)
        add(&inside, &cpu->sites[at].own);
    const uint64_t known = hp_cpu_ns(&inside) + hp_cpu_ns(&cpu->outside);
    cpu->outside.user_ns += hp_less(cpu->used_ns, known);
    cpu->outside.samples = hp_less(cpu->total.samples, inside.samples);
    cpu->total.user_ns = inside.user_ns + cpu->outside.user_ns + cpu->startup.user_ns;
    cpu->total.kernel_ns = inside.kernel_ns + cpu->outside.kernel_ns + cpu->startup.kernel_ns;
}

static bool prepare(struct builder *builder)
{
    const struct hp_profile *profile = builder->profile;
    builder->cpu = hp_arena_take(builder->arena, sizeof *builder->cpu);
    builder->last_entry = hp_arena_take_array(builder->arena, profile->site_count + 1, sizeof *builder->last_entry);
    if (builder->cpu == NULL || builder->last_entry == NULL)
        return false;
    number_sites(profile);
    builder->cpu->sites = hp_arena_take_array(builder->arena, profile->site_count + 1, sizeof *builder->cpu->sites);
    builder->cpu->nodes = hp_arena_take_array(builder->arena, profile->node_count + 1, sizeof *builder->cpu->nodes);
    return builder->cpu->sites != NULL && builder->cpu->nodes != NULL && make_costs(builder);
}

struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct builder builder = {.profile = profile, .arena = arena};
    if (!prepare(&builder))
        return NULL;
    for (uint32_t at = 0; at < profile->run->count; at++)
        if (!find_in_session(&builder, at))
            return NULL;
    if (!find_costs(&builder))
        return NULL;
    for (uint32_t at = 0; at < profile->run->count; at++)
        if (!add_session(&builder, at))
            return NULL;
    limit_all(profile, builder.cpu);
    settle_outside(builder.cpu, profile->site_count);
    return builder.cpu;
}
