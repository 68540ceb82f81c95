/*
 * Whose processor time a run used. Samples are credited to nodes of threads' call trees; a node leads to the stat of its
 * site in that thread record, and that to the site of the profile, whether that keeps threads apart or not.
 *
 * perf sees user time only, and a tick that comes while a thread is in user mode says nothing of where its kernel time was spent.
 * But over many of them ticks find all time of a function, and perf its user time: the difference is kernel time.
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
#include "sort.h"

#define SECOND 1e9

/* A stat of a site. */
struct link {
    const struct hp_snapshot *session;
    uint32_t offset;
    uint32_t site; /* index in the profile */
};

/* A site, or all that is outside. */
struct modes {
    double ticked_ns; /* all its time, by ticks */
    double user_ns;   /* by perf, where that was there */
};

/* What the calls of a site took, as far as samples found them. */
struct cost {
    uint64_t number; /* of the site */
    double ns;
    double calls;
    double of_call;
};

struct builder {
    const struct hp_profile *profile;
    struct hp_cpu *cpu;
    struct link **links; /* by session and offset */
    size_t link_count;
    struct modes *modes;  /* as many as sites, and one more */
    struct cost *costs;   /* as many as sites */
    double found_ns;      /* of all sites together, by samples */
    uint64_t *last_entry; /* of each site: the last entry that was counted for it */
    uint64_t entry;
    uint64_t steps_left; /* upwards in trees: in a broken file, ways up may be long and many */
    uint64_t skipped_ns; /* of the session: what its threads used while recording was paused */
    uint64_t skipped_kernel_ns;
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

/* -------------------------------------------------------------------------------------------- kernel time */

static struct modes *modes_of(const struct builder *builder, const struct hp_snapshot *session,
                              const struct hp_cpu_node *entry)
{
    struct hp_node node;
    const struct link *link =
        hp_snapshot_node(session, entry->node, &node) ? find_link(builder, session, node.stat) : NULL;
    return &builder->modes[link != NULL ? link->site : builder->profile->site_count];
}

static void gather_modes(const struct builder *builder, const struct hp_snapshot *session)
{
    struct hp_walk threads = {0}, nodes = {0};
    struct hp_thread thread;
    struct hp_cpu_thread cpu;
    struct hp_cpu_node entry;
    while (hp_snapshot_next_thread(session, &threads, &thread)) {
        const bool is_sampled = hp_snapshot_cpu_thread(session, &thread, &cpu);
        hp_walk_rewind(&nodes);
        while (is_sampled && hp_snapshot_next_cpu(session, &cpu, &nodes, &entry)) {
            struct modes *modes = modes_of(builder, session, &entry);
            modes->ticked_ns += (double)entry.ticked_ns;
            modes->user_ns += (double)entry.user_ns;
        }
    }
}

/* How much of what ticks found there can be expected to be kernel time. */
static double expected_kernel_ns(const struct builder *builder, const struct hp_snapshot *session,
                                 const struct hp_cpu_node *entry)
{
    const struct modes *modes = modes_of(builder, session, entry);
    const double part = modes->ticked_ns > modes->user_ns ? 1 - modes->user_ns / modes->ticked_ns : 0;
    return part * (double)entry->ticked_ns;
}

/* A thread's kernel time, and what of it can be expected, of all nodes where ticks came. */
struct kernel_time {
    double all_ns;
    double expected_ns;
};

static struct kernel_time kernel_time_of(const struct builder *builder, const struct hp_snapshot *session,
                                         const struct hp_cpu_thread *cpu, struct hp_walk *nodes)
{
    struct kernel_time sums = {0, 0};
    struct hp_cpu_node entry;
    hp_walk_rewind(nodes);
    while (hp_snapshot_next_cpu(session, cpu, nodes, &entry)) {
        sums.all_ns += entry.ticked_ns > 0 ? (double)entry.kernel_ns : 0;
        sums.expected_ns += expected_kernel_ns(builder, session, &entry);
    }
    return sums;
}

/* All kernel time of a thread, as much as that is, is shared out as it can be expected. */
static uint64_t kernel_share(const struct builder *builder, const struct hp_snapshot *session,
                             const struct hp_cpu_node *entry, const struct kernel_time *of_thread)
{
    if (entry->ticked_ns == 0 || of_thread->expected_ns == 0)
        return entry->kernel_ns;
    const double part = expected_kernel_ns(builder, session, entry) / of_thread->expected_ns;
    return (uint64_t)(of_thread->all_ns * part + 0.5);
}

/* ------------------------------------------------------------------------------------------------ threads */

static void add_thread(struct builder *builder, const struct hp_snapshot *session, const struct hp_thread *thread,
                       struct hp_walk *nodes)
{
    struct hp_cpu_thread cpu;
    struct hp_cpu_node entry;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return;
    builder->cpu->perf_samples += cpu.perf_samples;
    builder->cpu->sampled_ns += cpu.user_ns + cpu.kernel_ns;
    builder->cpu->sampled_user_ns += cpu.user_ns;
    builder->skipped_ns += cpu.skipped_ns;
    builder->skipped_kernel_ns += cpu.skipped_kernel_ns;
    const struct kernel_time kernel_time = kernel_time_of(builder, session, &cpu, nodes);
    hp_walk_rewind(nodes);
    while (hp_snapshot_next_cpu(session, &cpu, nodes, &entry)) {
        const uint64_t kernel_ns = kernel_share(builder, session, &entry, &kernel_time);
        builder->cpu->total.samples += entry.samples;
        add_entry(builder, session, entry.node, &(struct hp_cpu_sums){entry.samples, entry.user_ns, kernel_ns});
        add_beside(builder, session, &entry);
    }
}

/* -------------------------------------------------------------------------------- time that no sample has found */

static int compare_numbers(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return x->number == y->number ? 0 : x->number < y->number ? -1 : 1;
}

/* What a call takes on average, by samples; of sites that are kept apart by thread, over all threads. False: no memory. */
static bool find_costs(struct builder *builder, struct hp_arena *arena)
{
    const struct hp_profile *profile = builder->profile;
    struct cost **order = hp_arena_take_array(arena, profile->site_count + 1, sizeof(void *));
    builder->costs = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder->costs);
    if (order == NULL || builder->costs == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        builder->costs[at] = (struct cost){.number = hp_site_number(profile->sites[at]),
                                           .ns = (double)hp_cpu_ns(&builder->cpu->sites[at].own),
                                           .calls = (double)profile->sites[at]->sums.calls};
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
static double expected(const struct builder *builder, const struct hp_snapshot *session, const struct hp_node *node)
{
    const struct link *link = find_link(builder, session, node->stat);
    return link != NULL ? builder->costs[link->site].of_call * (double)node->calls : 0;
}

static double all_expected(const struct builder *builder, const struct hp_snapshot *session,
                           const struct hp_thread *thread, struct hp_walk *nodes)
{
    struct hp_node node;
    double all = 0;
    hp_walk_rewind(nodes);
    while (hp_snapshot_next_node(session, thread, nodes, &node))
        all += expected(builder, session, &node);
    return all;
}

/* As a whole number, and never more than there is: a session may claim more than a double holds exactly. */
static uint64_t share_of(uint64_t ns, double part)
{
    const double share = (double)ns * part;
    return share < (double)ns ? (uint64_t)share : ns;
}

/*
 * A thread that ended before a sample found it, or what it used since the last one. Other threads, or other calls, show what
 * the functions that it called take; where none was ever found, it goes to where the recorder guesses.
 */
static void add_waiting(struct builder *builder, const struct hp_snapshot *session, const struct hp_thread *thread,
                        struct hp_walk *nodes)
{
    struct hp_cpu_thread cpu;
    struct hp_node node;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu) || cpu.waiting_user_ns + cpu.waiting_kernel_ns == 0)
        return;
    struct hp_cpu_sums left = {0, cpu.waiting_user_ns, cpu.waiting_kernel_ns};
    /* Where samples found less than there is to share out, they say too little of how. */
    const bool is_known = builder->found_ns >= (double)hp_cpu_ns(&left);
    const double all = is_known ? all_expected(builder, session, thread, nodes) : 0;
    hp_walk_rewind(nodes);
    while (all > 0 && hp_snapshot_next_node(session, thread, nodes, &node)) {
        const double part = expected(builder, session, &node) / all;
        const struct hp_cpu_sums share = {0, share_of(cpu.waiting_user_ns, part),
                                          share_of(cpu.waiting_kernel_ns, part)};
        if (hp_cpu_ns(&share) == 0 || share.user_ns > left.user_ns || share.kernel_ns > left.kernel_ns)
            continue;
        add_entry(builder, session, nodes->offset, &share);
        left.user_ns -= share.user_ns;
        left.kernel_ns -= share.kernel_ns;
    }
    add_entry(builder, session, cpu.last_node, &left);
}

/* What a thread of ours took that watches the others: nearly all of it in the kernel. */
static uint64_t taken_by_us(const struct hp_snapshot *session)
{
    struct hp_waits waits;
    const bool is_ours = hp_snapshot_waits(session, &waits) && waits.watcher == session->header.pid;
    return is_ours ? waits.watcher_ns : 0;
}

/* What the process's own clock says, unless that was last looked at before its threads' were. Pauses are nobody's. */
static void add_process(const struct builder *builder, const struct hp_snapshot *session, uint64_t sampled_ns)
{
    struct hp_cpu *cpu = builder->cpu;
    const struct hp_header *header = &session->header;
    const uint64_t ours = taken_by_us(session);
    const uint64_t kernel = hp_less(hp_less(header->cpu_latest_kernel_ns, header->cpu_start_kernel_ns),
                                    ours + builder->skipped_kernel_ns);
    const uint64_t all = hp_less(hp_less(header->cpu_latest_ns, header->cpu_start_ns), ours + builder->skipped_ns);
    cpu->total.kernel_ns += kernel;
    cpu->total.user_ns += hp_less(all > sampled_ns ? all : sampled_ns, kernel);
    if (header->cpu_refusal != 0)
        cpu->refusal = header->cpu_refusal;
    cpu->has_perf |= header->cpu_engine == HP_CPU_PERF;
    cpu->has_timers |= header->cpu_engine == HP_CPU_TIMERS;
    if (header->cpu_engine != HP_CPU_NONE)
        cpu->rate = cpu->rate == 0 || cpu->rate == header->cpu_rate ? header->cpu_rate : 0;
}

static void add_session(struct builder *builder, const struct hp_snapshot *session)
{
    struct hp_walk threads = {0}, nodes = {0};
    struct hp_thread thread;
    const uint64_t before = builder->cpu->sampled_ns;
    builder->steps_left = MAX_STEPS;
    builder->skipped_ns = builder->skipped_kernel_ns = 0;
    while (hp_snapshot_next_thread(session, &threads, &thread))
        add_thread(builder, session, &thread, &nodes);
    add_process(builder, session, builder->cpu->sampled_ns - before);
}

static void add_all_waiting(struct builder *builder, const struct hp_snapshot *session)
{
    struct hp_walk threads = {0}, nodes = {0};
    struct hp_thread thread;
    builder->steps_left = MAX_STEPS;
    while (hp_snapshot_next_thread(session, &threads, &thread))
        add_waiting(builder, session, &thread, &nodes);
}

/* Rows and total are to add up, but the kernel's share is estimated twice: of threads, and of the process. */
static void agree_on_kernel(struct hp_cpu_sums *total, const struct hp_cpu_sums *inside)
{
    const uint64_t all = hp_cpu_ns(total);
    if (total->kernel_ns < inside->kernel_ns)
        total->kernel_ns = inside->kernel_ns < all ? inside->kernel_ns : all;
    if (all - total->kernel_ns < inside->user_ns)
        total->kernel_ns = hp_less(all, inside->user_ns);
    total->user_ns = all - total->kernel_ns;
}

/* What no site has is outside. */
static void settle_outside(struct hp_cpu *cpu, size_t site_count)
{
    struct hp_cpu_sums inside = {0, 0, 0};
    for (size_t at = 0; at < site_count; at++)
        add(&inside, &cpu->sites[at].own);
    agree_on_kernel(&cpu->total, &inside);
    const uint64_t all = hp_less(hp_cpu_ns(&cpu->total), hp_cpu_ns(&inside));
    const uint64_t kernel = hp_less(cpu->total.kernel_ns, inside.kernel_ns);
    cpu->outside.samples = hp_less(cpu->total.samples, inside.samples);
    cpu->outside.kernel_ns = kernel < all ? kernel : all;
    cpu->outside.user_ns = all - cpu->outside.kernel_ns;
}

const struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct builder builder = {.profile = profile, .cpu = hp_arena_take(arena, sizeof *builder.cpu)};
    builder.last_entry = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder.last_entry);
    if (builder.cpu == NULL || builder.last_entry == NULL || !link_stats(&builder, arena))
        return NULL;
    builder.cpu->sites = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder.cpu->sites);
    builder.modes = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder.modes);
    if (builder.cpu->sites == NULL || builder.modes == NULL)
        return NULL;
    for (size_t at = 0; at < profile->run->count; at++)
        gather_modes(&builder, profile->run->sessions[at]);
    for (size_t at = 0; at < profile->run->count; at++)
        add_session(&builder, profile->run->sessions[at]);
    if (!find_costs(&builder, arena))
        return NULL;
    for (size_t at = 0; at < profile->run->count; at++)
        add_all_waiting(&builder, profile->run->sessions[at]);
    settle_outside(builder.cpu, profile->site_count);
    return builder.cpu;
}
