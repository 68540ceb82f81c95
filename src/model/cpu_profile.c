/*
 * Whose processor time a run used. Samples are credited to nodes of threads' call trees; a node leads to the stat of its
 * site in that thread record, and that to the site of the profile, whether that keeps threads apart or not.
 *
 * What a thread's functions used comes from cpu_shares.h.
 *
 * What no sample has found yet (of threads that end before one comes, say) is shared out as their calls can be expected to take.
 *
 * With all that is inside: a node's time counts for the sites of all nodes above it, once for each; and where recursion was folded,
 * for those that the recorder found on the stack beside the tree. SPDX-License-Identifier: MIT
 */
#include "cpu_profile.h"

#include <errno.h>

#include "arena.h"
#include "arith.h"
#include "cpu_shares.h"
#include "cpu_walls.h"
#include "sort.h"

#define SECOND 1e9

/* A stat of a site. */
struct link {
    const struct hp_snapshot *session;
    uint32_t offset;
    uint32_t site; /* index in the profile */
};

/* What the calls of a site took, as far as samples found them. */
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
    struct link **links; /* by session and offset */
    size_t link_count;
    struct hp_cpu_shares shares; /* of the thread at hand */
    struct cost *costs;          /* as many as sites */
    double found_ns;             /* of all sites together, by samples */
    uint64_t *last_entry;        /* of each site: the last entry that was counted for it */
    uint64_t entry;
    uint64_t steps_left; /* upwards in trees: in a broken file, ways up may be long and many */
    uint64_t skipped_ns; /* of the session: what its threads used while recording was paused */
    uint64_t skipped_kernel_ns;
    uint64_t sampled_kernel_ns; /* of the session, as the kernel accounts for its threads */
};

bool hp_run_has_cpu(const struct hp_run *run) { return hp_run_has_feature(run, HP_FEATURE_CPU); }

static double rate_of(uint64_t samples, uint64_t ns) { return ns > 0 ? (double)samples * SECOND / (double)ns : 0; }

/* perf takes those of user mode, and timers alone those of threads that perf has not joined. */
double hp_cpu_achieved_rate(const struct hp_cpu *cpu)
{
    const double by_perf = rate_of(cpu->perf_samples, cpu->sampled_user_ns);
    const double by_all = rate_of(cpu->total.samples, cpu->sampled_ns);
    const double rate = cpu->has_perf && !cpu->has_timers && by_perf > by_all / 2 ? by_perf : by_all;
    /* Of little user time the kernel says that it was less; more than all samples there are none. */
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
        return "docker run --cap-add PERFMON, or allow perf_event_open otherwise";
    case EMFILE:
    case ENFILE:
        return "ulimit -n 1024";
    case EBUSY:
        return "a program without a handler for SIGIO";
    default:
        return "a kernel that has perf events";
    }
}

/* --------------------------------------------------------------------------------------- from stats to sites */

static int compare_links(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static size_t count_links(const struct hp_profile *profile)
{
    size_t count = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        for (const struct hp_stat_link *stat = profile->sites[at]->stats; stat != NULL; stat = stat->next)
            count++;
    return count;
}

static bool link_stats(struct builder *builder, struct hp_arena *arena)
{
    const struct hp_profile *profile = builder->profile;
    const size_t count = count_links(profile);
    struct link *links = hp_arena_take_array(arena, count + 1, sizeof *links);
    builder->links = hp_arena_take_array(arena, count + 1, sizeof(void *));
    if (links == NULL || builder->links == NULL)
        return false;
    for (uint32_t at = 0; at < profile->site_count; at++)
        for (const struct hp_stat_link *stat = profile->sites[at]->stats;
             stat != NULL && builder->link_count < count; stat = stat->next) {
            links[builder->link_count] =
                (struct link){.session = stat->session, .offset = stat->offset, .site = at};
            builder->links[builder->link_count] = &links[builder->link_count];
            builder->link_count++;
        }
    hp_sort(builder->links, builder->link_count, compare_links);
    return true;
}

/* The site of a node; NULL: that of none, such as the root of a tree. */
static const struct link *find_link(const struct builder *builder, const struct hp_snapshot *session, uint32_t stat)
{
    const struct link wanted = {.session = session, .offset = stat};
    size_t from = 0, to = builder->link_count;
    while (stat != 0 && from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = compare_links(builder->links[middle], &wanted);
        if (order == 0)
            return builder->links[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- adding up */

static void add(struct hp_cpu_sums *to, const struct hp_cpu_sums *from)
{
    to->samples += from->samples;
    to->user_ns += from->user_ns;
    to->kernel_ns += from->kernel_ns;
    to->variance += from->variance;
}

static void add_to_all(const struct builder *builder, const struct link *link, const struct hp_cpu_sums *sums)
{
    if (link == NULL || builder->last_entry[link->site] == builder->entry)
        return;
    builder->last_entry[link->site] = builder->entry;
    add(&builder->cpu->sites[link->site].all, sums);
}

/* Of a session, so that nodes in a circle come to an end: a thousand for each of a thousand nodes of a hundred threads. */
#define MAX_STEPS UINT64_C(100000000)

static void add_entry(struct builder *builder, const struct hp_snapshot *session, uint32_t offset,
                      const struct hp_cpu_sums *sums)
{
    struct hp_node node;
    if (!hp_snapshot_node(session, offset, &node))
        return;
    const struct link *link = find_link(builder, session, node.stat);
    builder->entry++;
    if (link != NULL)
        add(&builder->cpu->sites[link->site].own, sums);
    add_to_all(builder, link, sums);
    for (uint32_t below = offset; node.parent < below && builder->steps_left > 0; builder->steps_left--) {
        below = node.parent; /* parents are made before their children, so they are further to the front */
        if (!hp_snapshot_node(session, node.parent, &node))
            break;
        add_to_all(builder, find_link(builder, session, node.stat), sums);
    }
}

/* Found on the stack beside the tree: in all of user mode, which is where perf looks. */
static void add_beside(struct builder *builder, const struct hp_snapshot *session, const struct hp_cpu_node *entry)
{
    struct hp_node node;
    const struct hp_cpu_sums sums = {.samples = entry->also_samples, .user_ns = entry->also_ns};
    if (entry->also_samples == 0 || !hp_snapshot_node(session, entry->node, &node))
        return;
    builder->entry++;
    add_to_all(builder, find_link(builder, session, node.stat), &sums);
}

/* ------------------------------------------------------------------------------------------------ threads */

/* As a whole number: a session may claim more than there can be. */
static uint64_t as_count(double ns)
{
    if (!(ns > 0))
        return 0;
    return ns < 0x1p63 ? (uint64_t)(ns + 0.5) : UINT64_C(1) << 63;
}

static const struct link *link_of(const struct builder *builder, const struct hp_snapshot *session,
                                  const struct hp_cpu_share *share)
{
    return find_link(builder, session, share->stat);
}

/* Beside perf, one timer's signal comes in so many periods. */
#define TIMER_PERIODS 10

static double period_of(const struct hp_snapshot *session)
{
    return session->header.cpu_rate > 0 ? SECOND / session->header.cpu_rate : 0;
}

/* How long zones took by themselves. */
static void set_limits(const struct builder *builder, uint32_t session, uint32_t thread)
{
    const struct hp_profile *profile = builder->profile;
    uint64_t ticks;
    for (size_t at = 0; at < builder->shares.count && profile->run->is_rate_known; at++) {
        struct hp_cpu_share *share = builder->shares.all[at];
        if (hp_profile_node_self(profile, session, thread, share->node, &ticks))
            share->most_ns = hp_run_ns(profile->run, ticks);
    }
}

/* False: no memory. */
static bool read_thread(struct builder *builder, uint32_t index, const struct hp_thread *thread, uint32_t offset,
                        const struct hp_cpu_thread *cpu)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[index];
    if (!hp_cpu_shares_read(&builder->shares, builder->arena, session, thread, cpu))
        return false;
    set_limits(builder, index, offset);
    hp_cpu_shares_settle_unseen(&builder->shares, period_of(session), TIMER_PERIODS * period_of(session));
    return true;
}

/* The first time through: what samples have found, site by site. */
static void count_found(const struct builder *builder, const struct hp_snapshot *session)
{
    for (size_t at = 0; at < builder->shares.count; at++) {
        const struct hp_cpu_share *share = builder->shares.all[at];
        const struct link *link = link_of(builder, session, share);
        if (link != NULL)
            builder->costs[link->site].ns += hp_cpu_share_ns(share);
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
        if (!hp_snapshot_cpu_thread(session, &thread, &cpu))
            continue;
        if (!read_thread(builder, index, &thread, threads.offset, &cpu))
            return false;
        count_found(builder, session);
    }
    return true;
}

/* -------------------------------------------------------------------------------- time that no sample has found */

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

/* What a call takes on average, by samples; of sites that are kept apart by thread, over all threads. False: no memory. */
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

/* What the calls of a node can be expected to have taken. */
static double expected(const struct builder *builder, const struct hp_snapshot *session,
                       const struct hp_cpu_share *share)
{
    const struct link *link = link_of(builder, session, share);
    return link != NULL ? builder->costs[link->site].of_call * (double)share->calls : 0;
}

static double all_expected(const struct builder *builder, const struct hp_snapshot *session)
{
    double all = 0;
    for (size_t at = 0; at < builder->shares.count; at++)
        all += expected(builder, session, builder->shares.all[at]);
    return all;
}

/*
 * A thread that ended before a sample found it, or what it used since the last one. Other threads, or other calls, show what
 * the functions that it called take; where none was ever found, it goes to where the recorder guesses.
 */
static void share_out_waiting(const struct builder *builder, const struct hp_snapshot *session, uint32_t last_node)
{
    const struct hp_cpu_shares *shares = &builder->shares;
    /* Where samples found less than there is to share out, they say too little of how. */
    const bool is_known = builder->found_ns >= shares->waiting_ns;
    const double all = is_known ? all_expected(builder, session) : 0;
    for (size_t at = 0; at < shares->count && all > 0; at++) {
        const double part = expected(builder, session, shares->all[at]) / all;
        hp_cpu_share_add(shares->all[at], shares->waiting_ns * part);
    }
    struct hp_cpu_share *last = all > 0 ? NULL : hp_cpu_shares_find(shares, last_node);
    if (last != NULL)
        hp_cpu_share_add(last, shares->waiting_ns);
}

static void add_share(struct builder *builder, uint32_t index, uint32_t thread, const struct hp_cpu_share *share)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[index];
    /* Both together as they are, so that rounding does not take them above what the zones took. */
    const uint64_t ns = as_count(hp_cpu_share_ns(share)), kernel_ns = as_count(share->kernel_ns);
    const struct hp_cpu_sums sums = {.samples = share->samples,
                                     .user_ns = hp_less(ns, kernel_ns),
                                     .kernel_ns = kernel_ns < ns ? kernel_ns : ns,
                                     .variance = share->variance};
    const struct link *link = link_of(builder, session, share);
    if (link == NULL)
        add(&builder->cpu->outside, &sums);
    if (ns == 0 && share->samples == 0)
        return;
    add_entry(builder, session, share->node, &sums);
    const struct hp_tree_node *node = hp_profile_tree_node(builder->profile, index, thread, share->node);
    if (node != NULL)
        add(&builder->cpu->nodes[node->index], &sums);
}

static void add_all_beside(struct builder *builder, const struct hp_snapshot *session,
                           const struct hp_cpu_thread *cpu)
{
    struct hp_walk nodes = {0};
    struct hp_cpu_node entry;
    while (hp_snapshot_next_cpu(session, cpu, &nodes, &entry)) {
        builder->cpu->total.samples += entry.samples;
        add_beside(builder, session, &entry);
    }
}

/* The second time. False: no memory. */
static bool add_thread(struct builder *builder, uint32_t index, const struct hp_thread *thread, uint32_t offset)
{
    const struct hp_snapshot *session = builder->profile->run->sessions[index];
    struct hp_cpu_thread cpu;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return true;
    if (!read_thread(builder, index, thread, offset, &cpu))
        return false;
    builder->cpu->perf_samples += cpu.perf_samples;
    builder->cpu->sampled_ns += cpu.user_ns + cpu.kernel_ns;
    builder->cpu->sampled_user_ns += cpu.user_ns;
    builder->sampled_kernel_ns += cpu.kernel_ns;
    builder->skipped_ns += cpu.skipped_ns;
    builder->skipped_kernel_ns += cpu.skipped_kernel_ns;
    share_out_waiting(builder, session, cpu.last_node);
    hp_cpu_shares_weigh_walls(&builder->shares, period_of(session), TIMER_PERIODS * period_of(session));
    hp_cpu_shares_level(&builder->shares, period_of(session));
    for (size_t at = 0; at < builder->shares.count; at++)
        add_share(builder, index, offset, builder->shares.all[at]);
    add_all_beside(builder, session, &cpu);
    return true;
}

/* ------------------------------------------------------------------------------------------------ processes */

/* What a thread of ours took that watches the others: nearly all of it in the kernel. */
static uint64_t taken_by_us(const struct hp_snapshot *session)
{
    struct hp_waits waits;
    const bool is_ours = hp_snapshot_waits(session, &waits) && waits.watcher == session->header.pid;
    return is_ours ? waits.watcher_ns : 0;
}

/*
 * The clock of a process begins with it, before the dynamic linker has come to us, and goes on where it becomes another program: what
 * that has told of is its own.
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
 * What the process's own clock says, unless that was last looked at before its threads' were. Pauses are nobody's. What threads used
 * that were not sampled is outside, in the modes of the kernel's account.
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
    const uint64_t before = builder->cpu->sampled_ns;
    builder->steps_left = MAX_STEPS;
    builder->skipped_ns = builder->skipped_kernel_ns = builder->sampled_kernel_ns = 0;
    while (hp_snapshot_next_thread(session, &threads, &thread))
        if (!add_thread(builder, index, &thread, threads.offset))
            return false;
    add_process(builder, session, builder->cpu->sampled_ns - before);
    add_startup(builder, session);
    return true;
}

/* With measured functions inside, what recursion has beside the tree may come twice: nobody is busy for longer than his calls take. */
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

/* Rows add up to the total: what no site has is outside. */
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
    if (builder->cpu == NULL || builder->last_entry == NULL || !link_stats(builder, builder->arena))
        return false;
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
