/*
 * For a thread that did not wait, the times of its zones also tell its CPU time. Preemptions hit every node alike,
 * so a node with a tenth of the time has a tenth of the thread's CPU time, within the statistics of their number;
 * functions with many samples show how far that does not hold. Samples are a second estimate. The result is the
 * mean of both, weighted by their certainty. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_WALLS_H
#define HP_MODEL_CPU_WALLS_H

struct hp_cpu_shares;

/*
 * Combines what samples found with the times of the zones; `most_ns` is set. `period_ns`: the time that a sample
 * stands for; `tick_ns`: that of one that found the thread in the kernel. The sum does not change; variances are
 * set.
 */
void hp_cpu_shares_weigh_walls(struct hp_cpu_shares *shares, double period_ns, double tick_ns);

#endif
