/*
 * How far the recorded data can be trusted: the clock, the cost of measuring, what was lost.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_TRUST_H
#define HP_MODEL_TRUST_H

#include "cpu_profile.h"
#include "profile.h"

struct hp_arena;

/* What measuring did to the run, and what it could not record. */
struct hp_function_profile;

struct hp_trust {
    double zone_cost_ns;
    double zone_inner_ns; /* the part of it that falls into the zone's own duration */
    double share_percent; /* of the run's elapsed or CPU time; at most, ... */
    double least_percent; /* ... and at least */
    bool is_of_cpu;       /* CPU time: see cost.h */
    double cost_ns;       /* CPU time that measuring took, at most */
    double clock_hz;      /* 0: unknown */
    bool is_by_cpu;       /* the CPU counts instructions: zones cost some, where there are ns else */
    bool shares_counter;  /* with others, so it did not count all */
    bool lacks_counter;   /* for a thread */
    const char *clock;
    const struct hp_cpu *cpu;                    /* NULL: CPU time was not sampled */
    const struct hp_function_profile *functions; /* the same from stacks; NULL: there are none */
    uint64_t lost[HP_LOSSES];
    uint32_t storage;         /* enum hp_storage, of the worst process */
    bool has_threads;         /* a process had more than one */
    bool is_sandboxed;        /* a process was sandboxed from some time on */
    size_t unpassed;          /* processes whose stacks did not reach `hotpath run` */
    size_t uncounted;         /* processes whose allocations are unknown, while those of others are counted */
    uint64_t brief;           /* processes that ended before they did anything that is recorded */
    uint64_t unseen_locks_ns; /* waiting for locks that hooks do not see (lock_causes.h); 0: none, or not counted */
    uint64_t left_out;        /* functions that ran, but that patterns exclude; of the process with the most */
    const char *left_out_by;  /* which patterns: names of variables */
    const char *unclosed;     /* name of the first zone that was left without its end; NULL: none */
    struct hp_location unclosed_at;
    bool is_unclosed_block; /* it may lack its HOTPATH_END */
    uint32_t refusal;       /* enum hp_refusal, of the worst process */
};

/* `cpu` is NULL if CPU time was not sampled, `functions` if there are no stacks. */
void hp_trust_of_run(struct hp_arena *arena, const struct hp_profile *profile, const struct hp_cpu *cpu,
                     const struct hp_function_profile *functions, struct hp_trust *ret_trust);

/* The word for an enum hp_clock_kind. */
const char *hp_trust_clock_name(uint32_t kind);

#endif
