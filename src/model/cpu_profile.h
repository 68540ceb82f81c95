/*
 * Whose processor time a run used: by site, outside of all, and in all. The section about it is a view of this.
 *
 * Sums are those of the threads' and the processes' clocks; samples say how they are shared out. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_PROFILE_H
#define HP_MODEL_CPU_PROFILE_H

#include "profile.h"

struct hp_cpu_sums {
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
    double variance; /* of both together, in ns squared */
};

static inline uint64_t hp_cpu_ns(const struct hp_cpu_sums *sums) { return sums->user_ns + sums->kernel_ns; }

/* A site of the profile. */
struct hp_site_cpu {
    struct hp_cpu_sums own; /* found in the function itself */
    struct hp_cpu_sums all; /* or in a measured one inside it */
};

struct hp_cpu {
    struct hp_site_cpu *sites;  /* as many as the profile has, in the same order */
    struct hp_cpu_sums *nodes;  /* likewise those of its tree: found in that call path itself */
    struct hp_cpu_sums outside; /* of all measured functions, and of threads that were not sampled */
    struct hp_cpu_sums startup; /* of processes that `hotpath run` has started, before their sessions began */
    struct hp_cpu_sums total;
    uint64_t used_ns;    /* as the clocks of processes say */
    uint64_t sampled_ns; /* of threads that were sampled: what the samples are about */
    uint64_t sampled_user_ns;
    uint64_t perf_samples; /* of all samples */
    uint32_t rate;         /* samples for a second, as asked for; 0: processes differ */
    uint32_t refusal;      /* errno with which a process was refused perf, or 0 */
    bool has_perf;         /* of the engines: user time was sampled by perf ... */
    bool has_timers;       /* ... or by timers alone, in some process */
};

/* NULL: no memory. */
struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile);

/* False: what there is of it was seen from outside. */
bool hp_cpu_is_sampled(const struct hp_cpu *cpu);

/* Samples for a second of the processor time that was sampled; by perf, of user mode alone. */
double hp_cpu_achieved_rate(const struct hp_cpu *cpu);

/* "perf and timers" */
const char *hp_cpu_engine_name(const struct hp_cpu *cpu);

/* What would let perf be used that was refused with this errno; NULL: it was not. */
const char *hp_cpu_advice(uint32_t refusal);

/* Whether a session of the run was sampled. */
bool hp_run_has_cpu(const struct hp_run *run);

/* What a section says that has none. */
#define HP_NO_CPU "processor time was not sampled: set HOTPATH_CPU=1, or start the program with 'hotpath run'"

#endif
