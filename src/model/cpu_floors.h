/*
 * CPU time once reported for a site never decreases in later readings. Estimates improve, but a site that would get
 * less keeps what it had, and the time used since is divided among the sites that would get more. So the rows still
 * add up to the total, which is known exactly. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_FLOORS_H
#define HP_MODEL_CPU_FLOORS_H

#include "cpu_profile.h"

/* `cpu` is that of the profile, whose run has floors. False: no memory. */
bool hp_cpu_keep(struct hp_cpu *cpu, struct hp_arena *arena, const struct hp_profile *profile);

#endif
