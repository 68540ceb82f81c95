/*
 * Processor time that was said to be somebody's stays with him in later readings. The estimates become better, but what was credited is
 * credited: who would have less by now has the same as before, and what was used since is shared out among those who would have more.
 * So rows still add up to the total, which is known exactly. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_FLOORS_H
#define HP_MODEL_CPU_FLOORS_H

#include "cpu_profile.h"

/* `cpu` is that of the profile, whose run has floors. False: no memory. */
bool hp_cpu_keep(struct hp_cpu *cpu, struct hp_arena *arena, const struct hp_profile *profile);

#endif
