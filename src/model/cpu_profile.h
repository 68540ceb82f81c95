/*
 * CPU time per function: by site, outside all sites, and in total. The section about it is a view of this.
 *
 * Totals come from the clocks of threads and processes; samples say how to divide them.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CPU_PROFILE_H
#define HP_MODEL_CPU_PROFILE_H

#include "profile.h"

struct hp_cpu_sums {
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
    double variance; /* of the sum of both, in ns squared */
};

static inline uint64_t hp_cpu_ns(const struct hp_cpu_sums *sums) { return sums->user_ns + sums->kernel_ns; }

/* A site of the profile. */
struct hp_site_cpu {
    struct hp_cpu_sums own; /* in the function itself */
    struct hp_cpu_sums all; /* including measured functions inside it */
};

struct hp_cpu {
    struct hp_site_cpu *sites;  /* one per site of the profile, in the same order */
    struct hp_cpu_sums *nodes;  /* one per node of its tree: CPU time in that call path itself */
    struct hp_cpu_sums outside; /* outside all measured functions, and of threads that were not sampled */
    struct hp_cpu_sums startup; /* of processes that `hotpath run` has started, before their sessions began */
    struct hp_cpu_sums total;
    uint64_t used_ns;    /* by the clocks of the processes */
    double ready_ns;     /* in which threads were ready to run, if no observer says where; 0: unknown */
    uint64_t sampled_ns; /* of sampled threads */
    uint64_t sampled_user_ns;
    uint64_t perf_samples; /* of all samples */
    uint32_t rate;         /* samples per second, as requested; 0: processes differ */
    uint32_t refusal;      /* errno with which perf was refused to a process, or 0 */
    bool has_perf;         /* user time was sampled by perf ... */
    bool has_timers;       /* ... or by timers alone, in some process */
};

/* NULL: no memory. */
struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile);

/* False: it was only observed from outside. */
bool hp_cpu_is_sampled(const struct hp_cpu *cpu);

/* Samples per second of sampled CPU time; with perf, of user mode only. */
double hp_cpu_achieved_rate(const struct hp_cpu *cpu);

/* "perf and timers" */
const char *hp_cpu_engine_name(const struct hp_cpu *cpu);

/* What would allow the use of perf, refused with this errno; NULL: it was not refused. */
const char *hp_cpu_advice(uint32_t refusal);

/* Whether a session of the run was sampled. */
bool hp_run_has_cpu(const struct hp_run *run);

/* The text of a section without data. */
#define HP_NO_CPU "CPU time was not sampled: set HOTPATH_CPU=1, or start the program with 'hotpath run'"

#endif
