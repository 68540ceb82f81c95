/*
 * A stretch of a run: what its numbers were from one moment to another, as far as the time axes of its sessions (axis.h) tell. All that
 * is made from the profile after it was cut is about the stretch alone. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_STRETCH_H
#define HP_MODEL_STRETCH_H

#include "axis.h"
#include "profile.h"

/* What threads of one session waited in it. */
struct hp_stretch_waits {
    uint64_t ns[HP_AXIS_WAITS]; /* of the entries of hp_waits, by their numbers */
    uint64_t beside_ns[HP_AXIS_WAITS];
    uint64_t watched_ns;
    uint64_t left_out_ns; /* waited at places of which there is no history */
};

struct hp_stretch {
    uint64_t from_ns, to_ns;        /* since the run began */
    uint64_t whole_ns;              /* how long it took */
    size_t unknown;                 /* functions without history */
    struct hp_stretch_waits *waits; /* one for each session */
};

struct hp_cpu;

/*
 * Cuts the profile of a run, and the run itself. `cpu` is whose processor time all of it was, NULL: nobody sampled that. `from_ns` is before `to_ns`, and that not after the end. NULL, or why not: one line.
 */
const char *hp_stretch_cut(struct hp_profile *profile, struct hp_run *run, const struct hp_cpu *cpu,
                           uint64_t from_ns, uint64_t to_ns);

#endif
