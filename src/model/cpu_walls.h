/*
 * What zones took says something of processor time, too, where a thread did not wait. Others have its processor at times, and whom they
 * find there does not matter to them: who took a tenth of the time has a tenth of what the thread used, as far as the number of
 * such times goes; how far that does not hold, well-sampled functions show. Samples say the same in another way, and the truth is most likely where the more certain of the two is.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_WALLS_H
#define HP_MODEL_CPU_WALLS_H

struct hp_cpu_shares;

/*
 * What samples have found is brought together with what zones took: `most_ns` is known. `period_ns` is what a sample stands for, `tick_ns`
 * one that found the thread in the kernel. The sum stays as it is; variances are set.
 */
void hp_cpu_shares_weigh_walls(struct hp_cpu_shares *shares, double period_ns, double tick_ns);

#endif
