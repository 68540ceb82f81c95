/*
 * The processor time of one thread, node by node: what samples have found, and what clocks know better.
 *
 * Found. A sample credits time to a node. What perf did not see was spent in the kernel, and is shared out as ticks found the thread
 * there; a little, where none ever did, is user time that fell between two samples.
 *
 * Known. Zones are timed exactly, and nobody uses a processor for longer than his zones take. Where samples say so, as they may by
 * chance, what is too much belongs to the others of the thread: a thread that never waits has its zones' times as processor times,
 * however few samples there are.
 *
 * How far the rest can be trusted follows from the same two. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_SHARES_H
#define HP_MODEL_CPU_SHARES_H

#include "profile.h"

struct hp_arena;

struct hp_cpu_share {
    uint32_t node;                     /* its offset */
    const struct hp_tree_node *merged; /* its place in the tree of the run; NULL: it is the root of the thread */
    uint64_t calls;
    uint64_t samples;
    double user_ns;
    double kernel_ns;
    double ticked_ns; /* weight of what was found in the kernel */
    double most_ns;   /* its zones took so long; below zero: not known */
    double variance;  /* of its time, in ns squared: how far it may be off; 0: as samples are */
};

/* All zero at the start; may be used for one thread after the other. */
struct hp_cpu_shares {
    struct hp_cpu_share *all; /* by node */
    size_t count, capacity;
    double waiting_ns; /* what no sample has found */
    double unseen_ns;  /* what perf has not seen */
    double perf_samples;
    double account_ns; /* what the kernel says was its own, by ticks */
    double waited_ns;  /* at most, without its processor because it had to wait */
    double preempted;  /* how often others had its processor; 0: nothing is known of that */
};

/* What samples have found in a thread, and how long its zones took. False: no memory. */
bool hp_cpu_shares_read(struct hp_cpu_shares *shares, struct hp_arena *arena, const struct hp_run *run,
                        const struct hp_thread_tree *tree, const struct hp_cpu_thread *cpu);
/* NULL: the thread has no such node. */
struct hp_cpu_share *hp_cpu_shares_find(const struct hp_cpu_shares *shares, uint32_t node);

static inline double hp_cpu_share_ns(const struct hp_cpu_share *share) { return share->user_ns + share->kernel_ns; }

/*
 * What perf has not seen goes to who was in the kernel, or to user time; `most_ns` is known. Where nobody knows, it waits. `period_ns`
 * and `tick_ns`: what a sample of perf's and a timer's signal stand for.
 */
void hp_cpu_shares_settle_unseen(struct hp_cpu_shares *shares, double period_ns, double tick_ns);

/* As many nanoseconds more, in the modes that it has. */
void hp_cpu_share_add(struct hp_cpu_share *share, double ns);

/*
 * Nobody has more than his zones took; `most_ns` is known. `period_ns`: what a sample stands for. Variances are set. What finds no place
 * is outside.
 */
void hp_cpu_shares_level(struct hp_cpu_shares *shares, double period_ns);

#endif
