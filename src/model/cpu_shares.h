/*
 * The CPU time of one thread, node by node: what samples found, corrected by what clocks know better.
 *
 * Found. A sample credits time to a node. What perf did not see was spent in the kernel, and is divided as ticks
 * found the thread there. If none did, a little unseen time is user time between two samples.
 *
 * Known. Zones are timed exactly, and a node's CPU time cannot exceed the time of its zones. Where samples say so,
 * by chance, the excess goes to the other nodes of the thread: a thread that never waits has the times of its zones
 * as CPU times, however few samples there are.
 *
 * The errors of the rest follow from both. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_SHARES_H
#define HP_MODEL_CPU_SHARES_H

#include "profile.h"

struct hp_arena;

struct hp_cpu_share {
    uint32_t node;                     /* its offset */
    const struct hp_tree_node *merged; /* its place in the tree of the run; NULL: the root of the thread */
    uint64_t calls;
    uint64_t samples;
    double user_ns;
    double kernel_ns;
    double ticked_ns; /* weight of the ticks in the kernel */
    double most_ns;   /* time of its zones; negative: unknown */
    double variance;  /* of its time, in ns squared; 0: as for samples */
};

/* Zero it first; may be reused for one thread after the other. */
struct hp_cpu_shares {
    struct hp_cpu_share *all; /* sorted by node */
    size_t count, capacity;
    double waiting_ns; /* found by no sample */
    double unseen_ns;  /* not seen by perf */
    double perf_samples;
    double account_ns; /* kernel time by the kernel's accounting, in ticks */
    double waited_ns;  /* at most: off CPU because it had to wait */
    double preempted;  /* number of preemptions; 0: unknown */
};

/* Reads what samples found in a thread, and the times of its zones. False: no memory. */
bool hp_cpu_shares_read(struct hp_cpu_shares *shares, struct hp_arena *arena, const struct hp_run *run,
                        const struct hp_thread_tree *tree, const struct hp_cpu_thread *cpu);
/* NULL: the thread has no such node. */
struct hp_cpu_share *hp_cpu_shares_find(const struct hp_cpu_shares *shares, uint32_t node);

static inline double hp_cpu_share_ns(const struct hp_cpu_share *share) { return share->user_ns + share->kernel_ns; }

/*
 * Divides what perf has not seen into kernel time and user time; `most_ns` is set. What cannot be divided is added
 * to waiting_ns. `period_ns` and `tick_ns`: the time that a perf sample and a timer signal stand for.
 */
void hp_cpu_shares_settle_unseen(struct hp_cpu_shares *shares, double period_ns, double tick_ns);

/* Adds time, split into modes as before. */
void hp_cpu_share_add(struct hp_cpu_share *share, double ns);

/*
 * Limits every node to the time of its zones; `most_ns` is set. `period_ns`: the time that a sample stands for.
 * Sets the variances. What fits nowhere is outside.
 */
void hp_cpu_shares_level(struct hp_cpu_shares *shares, double period_ns);

#endif
