/* The processor time of a thread, node by node. SPDX-License-Identifier: MIT */
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

/* How long its zones took by themselves. */
static double most_of(const struct hp_run *run, const struct hp_record *record)
{
    uint64_t ticks;
    return run->is_rate_known && hp_record_self(record, &ticks) ? hp_run_ns(run, ticks) : -1;
}

/* Those that the tree has: what has appeared since it was made comes with the next reading. */
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

/* Time between samples, as when a thread is switched: so much of all may be unseen without having been of the kernel. */
#define UNSEEN_PART 0.05
/* Of all, ticks may miss so much where they are in step with the program. */
#define MISSED_PART 0.1
/* They are in step with none whose processor others take more often than once in so many ticks. */
#define STEADY_TICKS 5
/* Otherwise, there may be so many times what they have found. */
#define MORE_TIMES 1.3
/* A function that was never found in user mode most likely waits: kernel time is taken for no more than so many times as much. */
#define MOST_TIMES 16
/* So many ticks are as good as what zones took, and so many where it is known that they did not wait. */
#define FEW_TICKS 8
#define SOME_TICKS 64

/* How long it may have waited, at most; below zero: for as long as it took. */
static double waited_of(const struct hp_cpu_shares *shares)
{
    return shares->preempted > 0 ? shares->waited_ns : -1;
}

/* Of all that the thread used, as its zones took it, less what perf has seen. */
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

/* Of what is unseen, the part for which ticks speak: the more of them there are. */
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
 * Samples come late where others have the processor, and then close to one another. The recorder credits no more than there was to
 * the close ones, and what the late ones came too late for counts as unseen; all in all they stand for as much time as they are. True: something
 * has changed.
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
 * perf sees too little at times, as where many share the processors. What neither ticks of ours nor those of the kernel's account can have missed has
 * been found by nobody. True: something has changed.
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
 * Ticks say who was in the kernel. They are few, and may be in step with what the program does. Who has been seen by perf for much
 * less time than his zones took, compared with the others, has been there, too: unless he waited, of which perf knows nothing.
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

/* What all have too much, which they have no longer. */
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

/* Who has much was missed by much. Who has nothing may have been missed by a sample, if his zones took that long. */
static double weight_of(const struct hp_cpu_share *share, double period_ns)
{
    const double room = room_of(share), ns = hp_cpu_share_ns(share);
    if (!is_limited(share))
        return ns;
    return room > 0 ? ns + (room < period_ns ? room : period_ns) : 0;
}

/* To those that have room. Returns what is left, as when some have got all that they could take. */
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
 * By how much all together may have waited. Nobody can have used less than what his zones took without that: where the thread was busy
 * throughout, there is nothing that samples could be wrong about. Below zero: not known.
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

/* As counts have it: n samples are right to the square root of n, and less is open of what is nearly all. */
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
