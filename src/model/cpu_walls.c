/* Derives CPU time from the times of zones, for threads that do not wait. SPDX-License-Identifier: MIT */
#include "cpu_walls.h"

#include "cpu_shares.h"

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

void hp_cpu_shares_weigh_walls(struct hp_cpu_shares *shares, double period_ns, double tick_ns)
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
