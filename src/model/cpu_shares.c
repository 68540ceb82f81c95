/* The CPU time of a thread, node by node. SPDX-License-Identifier: MIT */
#include "cpu_shares.h"

#include "arena.h"
#include "arith.h"

/* ---------------------------------------------------------------------------------------------------- nodes */

static bool make_room(struct hp_cpu_shares *shares, struct hp_arena *arena, size_t count)
{
    if (count <= shares->capacity)
        return true;
    const size_t capacity = count + count / 2;
    shares->all = hp_arena_take_array(arena, capacity, sizeof *shares->all);
    shares->capacity = shares->all != NULL ? capacity : 0;
    return shares->capacity > 0;
}

/* The own time of its zones; negative: unknown. */
static double most_of(const struct hp_run *run, const struct hp_record *record)
{
    uint64_t ticks;
    return run->is_rate_known && hp_record_self(record, &ticks) ? hp_run_ns(run, ticks) : -1;
}

/* The nodes of the tree; nodes that appeared since it was built come with the next reading. */
static bool list_nodes(struct hp_cpu_shares *shares, struct hp_arena *arena, const struct hp_run *run,
                       const struct hp_thread_tree *tree)
{
    shares->count = 0;
    if (!make_room(shares, arena, tree->count + 1))
        return false;
    for (; shares->count < tree->count; shares->count++) {
        const struct hp_record *record = &tree->records[shares->count];
        shares->all[shares->count] = (struct hp_cpu_share){.node = record->offset,
                                                           .merged = record->merged,
                                                           .calls = record->sums.calls - record->sums.open,
                                                           .most_ns = most_of(run, record)};
    }
    return true;
}

struct hp_cpu_share *hp_cpu_shares_find(const struct hp_cpu_shares *shares, uint32_t node)
{
    size_t from = 0, to = shares->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (shares->all[middle].node == node)
            return &shares->all[middle];
        if (shares->all[middle].node < node)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------- found */

static void add_found(const struct hp_cpu_shares *shares, const struct hp_snapshot *session,
                      const struct hp_cpu_thread *cpu)
{
    struct hp_walk nodes = {0};
    struct hp_cpu_node entry;
    while (hp_snapshot_next_cpu(session, cpu, &nodes, &entry)) {
        struct hp_cpu_share *share = hp_cpu_shares_find(shares, entry.node);
        if (share == NULL)
            continue;
        share->samples += entry.samples;
        share->user_ns += (double)entry.user_ns;
        share->kernel_ns += (double)entry.kernel_ns;
        share->ticked_ns += (double)entry.ticked_ns;
    }
}

bool hp_cpu_shares_read(struct hp_cpu_shares *shares, struct hp_arena *arena, const struct hp_run *run,
                        const struct hp_thread_tree *tree, const struct hp_cpu_thread *cpu)
{
    if (!list_nodes(shares, arena, run, tree))
        return false;
    add_found(shares, run->sessions[tree->calls.session], cpu);
    shares->waiting_ns = (double)cpu->waiting_ns;
    shares->unseen_ns = (double)cpu->unseen_ns;
    shares->perf_samples = (double)cpu->perf_samples;
    shares->account_ns = (double)cpu->kernel_ns;
    shares->waited_ns = (double)cpu->waited_ns;
    shares->preempted = (double)cpu->preempted;
    return true;
}

/* --------------------------------------------------------------------------------------------------- limits */

static bool is_limited(const struct hp_cpu_share *share) { return share->most_ns >= 0; }

static double room_of(const struct hp_cpu_share *share)
{
    const double room = share->most_ns - hp_cpu_share_ns(share);
    return room > 0 ? room : 0;
}

/* --------------------------------------------------------------------------------------------------- unseen */

/*
 * Part of all time that may be unseen without being kernel time: it falls between samples, as at context switches.
 */
#define UNSEEN_PART 0.05
/* Part of all time that ticks may miss if they run in step with the program. */
#define MISSED_PART 0.1
/* They are not in step with a thread that is preempted more often than once per this many ticks. */
#define STEADY_TICKS 5
/* Otherwise, the kernel time is at most this many times what ticks found. */
#define MORE_TIMES 1.3
/*
 * A function never sampled in user mode most likely waits: kernel time is assumed for at most this many times its
 * user time.
 */
#define MOST_TIMES 16
/* Number of ticks that weigh as much as the zones' times; and if the zones are known not to have waited. */
#define FEW_TICKS 8
#define SOME_TICKS 64

/* Upper bound of its waiting; negative: it may have waited all the time. */
static double waited_of(const struct hp_cpu_shares *shares)
{
    return shares->preempted > 0 ? shares->waited_ns : -1;
}

/* Its part of the thread's CPU time, by the time of its zones, less what perf has seen. */
static double missing_of(const struct hp_cpu_shares *shares, const struct hp_cpu_share *share, double busy_part)
{
    const double missing = share->most_ns * busy_part - share->user_ns, waited = waited_of(shares);
    double most = share->user_ns * MOST_TIMES;
    if (!is_limited(share) || missing <= 0)
        return 0;
    if (waited >= 0 && most < missing - waited)
        most = missing - waited;
    return missing < most ? missing : most;
}

struct unseen {
    double ticked_ns, user_ns, most_ns, missing_ns, busy_part;
};

static struct unseen add_up(const struct hp_cpu_shares *shares)
{
    struct unseen sums = {0};
    for (size_t at = 0; at < shares->count; at++) {
        sums.ticked_ns += shares->all[at].ticked_ns;
        sums.user_ns += shares->all[at].user_ns;
        sums.most_ns += is_limited(&shares->all[at]) ? shares->all[at].most_ns : 0;
    }
    sums.busy_part = sums.most_ns > 0 ? (sums.user_ns + shares->unseen_ns) / sums.most_ns : 0;
    for (size_t at = 0; at < shares->count; at++)
        sums.missing_ns += missing_of(shares, &shares->all[at], sums.busy_part);
    return sums;
}

/* The part of the unseen time that is divided by ticks: the more ticks, the larger. */
static double part_of_ticks(const struct hp_cpu_shares *shares, const struct unseen *sums, double tick_ns)
{
    const double waited = waited_of(shares);
    const bool is_known = waited >= 0 && waited < MISSED_PART * shares->unseen_ns;
    const double few_ns = (is_known ? SOME_TICKS : FEW_TICKS) * tick_ns;
    if (sums->missing_ns <= 0)
        return 1;
    return sums->ticked_ns > 0 ? sums->ticked_ns / (sums->ticked_ns + few_ns) : 0;
}

/*
 * When the CPU is shared, samples come late and then close together. The recorder credits close samples with no
 * more time than there was, and counts the time of the late ones as unseen. On the whole, samples stand for as much
 * time as there are of them. True: something has changed.
 */
static bool even_out(struct hp_cpu_shares *shares, const struct unseen *sums, double period_ns)
{
    const double surplus = shares->perf_samples * period_ns - sums->user_ns;
    const double ns = surplus < shares->unseen_ns ? surplus : shares->unseen_ns;
    if (ns <= 0 || sums->user_ns <= 0)
        return false;
    shares->unseen_ns -= ns;
    for (size_t at = 0; at < shares->count; at++)
        shares->all[at].user_ns *= 1 + ns / sums->user_ns;
    return true;
}

/*
 * perf sees too little at times, as when many threads share the CPUs. Unseen time beyond what our ticks and the
 * kernel's accounting can have missed was lost. True: something has changed.
 */
static bool put_back_lost(struct hp_cpu_shares *shares, const struct unseen *sums, double tick_ns)
{
    const double known = sums->ticked_ns > shares->account_ns ? sums->ticked_ns : shares->account_ns;
    const double all = sums->user_ns + shares->unseen_ns, more = MORE_TIMES * known;
    const double missed = shares->preempted * STEADY_TICKS * tick_ns <= all ? MISSED_PART * all : 0;
    const double most = missed > more ? missed : more;
    if (shares->unseen_ns <= most)
        return false;
    shares->waiting_ns += shares->unseen_ns - most;
    shares->unseen_ns = most;
    return true;
}

/*
 * Ticks say which node was in the kernel. They are few, and may run in step with the program. A node that perf saw
 * for much less time than its zones took, compared with the others, was in the kernel, too, unless it waited, which
 * perf does not see.
 */
void hp_cpu_shares_settle_unseen(struct hp_cpu_shares *shares, double period_ns, double tick_ns)
{
    struct unseen sums = add_up(shares);
    if (even_out(shares, &sums, period_ns))
        sums = add_up(shares);
    if (put_back_lost(shares, &sums, tick_ns))
        sums = add_up(shares);
    const double all = sums.user_ns + shares->unseen_ns;
    const double by_ticks = shares->unseen_ns * part_of_ticks(shares, &sums, tick_ns);
    const bool is_between = sums.ticked_ns <= 0 && (sums.missing_ns <= 0 || shares->unseen_ns < UNSEEN_PART * all);
    if (all <= 0 || (is_between && sums.user_ns <= 0)) {
        shares->waiting_ns += shares->unseen_ns;
        return;
    }
    for (size_t at = 0; at < shares->count; at++) {
        struct hp_cpu_share *share = &shares->all[at];
        const double missing = missing_of(shares, share, sums.busy_part);
        if (sums.ticked_ns > 0)
            share->kernel_ns += by_ticks * (share->ticked_ns / sums.ticked_ns);
        if (is_between)
            share->user_ns += shares->unseen_ns * (share->user_ns / sums.user_ns);
        else if (sums.missing_ns > 0)
            share->kernel_ns += (shares->unseen_ns - by_ticks) * (missing / sums.missing_ns);
    }
}

/* ---------------------------------------------------------------------------------------------------- known */

void hp_cpu_share_add(struct hp_cpu_share *share, double ns)
{
    const double before = hp_cpu_share_ns(share);
    const double kernel_ns = before > 0 ? ns * (share->kernel_ns / before) : 0;
    share->kernel_ns += kernel_ns;
    share->user_ns += ns - kernel_ns;
}

/* Removes what exceeds the time of the zones; returns the sum. */
static double take_excess(const struct hp_cpu_shares *shares)
{
    double excess = 0;
    for (size_t at = 0; at < shares->count; at++) {
        struct hp_cpu_share *share = &shares->all[at];
        const double ns = hp_cpu_share_ns(share);
        if (!is_limited(share) || ns <= share->most_ns)
            continue;
        excess += ns - share->most_ns;
        share->kernel_ns *= share->most_ns / ns;
        share->user_ns = share->most_ns - share->kernel_ns;
    }
    return excess;
}

/*
 * A node with much time was missed in proportion. A node without samples may have been missed by one, if its zones
 * took that long.
 */
static double weight_of(const struct hp_cpu_share *share, double period_ns)
{
    const double room = room_of(share), ns = hp_cpu_share_ns(share);
    if (!is_limited(share))
        return ns;
    return room > 0 ? ns + (room < period_ns ? room : period_ns) : 0;
}

/* Distributes time to nodes that have room. Returns the rest, as when some nodes are full. */
static double give(const struct hp_cpu_shares *shares, double ns, double period_ns)
{
    double weight = 0, left = ns;
    for (size_t at = 0; at < shares->count; at++)
        weight += weight_of(&shares->all[at], period_ns);
    for (size_t at = 0; at < shares->count && weight > 0; at++) {
        struct hp_cpu_share *share = &shares->all[at];
        double part = ns * (weight_of(share, period_ns) / weight);
        if (is_limited(share) && part > room_of(share))
            part = room_of(share);
        hp_cpu_share_add(share, part);
        left -= part;
    }
    return left > 0 ? left : 0;
}

/* --------------------------------------------------------------------------------------------------- errors */

/*
 * Upper bound of the waiting of all nodes together. A node that did not wait used all the time of its zones: if the
 * thread was busy throughout, samples cannot be wrong. Negative: unknown.
 */
static double slack_of(const struct hp_cpu_shares *shares)
{
    double slack = 0;
    for (size_t at = 0; at < shares->count; at++) {
        const struct hp_cpu_share *share = &shares->all[at];
        if (is_limited(share))
            slack += room_of(share);
        else if (share->merged != NULL)
            return -1;
        else
            slack += hp_cpu_share_ns(share);
    }
    return slack;
}

/*
 * Counting statistics: n samples have an error of the square root of n, and less for a node that has nearly all of
 * them.
 */
static void set_errors(const struct hp_cpu_shares *shares)
{
    const double slack = slack_of(shares);
    double all = 0;
    for (size_t at = 0; at < shares->count; at++)
        all += hp_cpu_share_ns(&shares->all[at]);
    for (size_t at = 0; at < shares->count; at++) {
        struct hp_cpu_share *share = &shares->all[at];
        const double ns = hp_cpu_share_ns(share);
        const double variance = share->samples > 0 ? ns * ns * (1 - ns / all) / (double)share->samples : ns * ns;
        if (share->variance <= 0 || variance < share->variance)
            share->variance = variance;
        if (slack >= 0 && share->variance > slack * slack)
            share->variance = slack * slack;
    }
}

#define MOST_ROUNDS 32

void hp_cpu_shares_level(struct hp_cpu_shares *shares, double period_ns)
{
    double excess = take_excess(shares);
    for (int round = 0; round < MOST_ROUNDS && excess >= 1; round++)
        excess = give(shares, excess, period_ns);
    set_errors(shares);
}
