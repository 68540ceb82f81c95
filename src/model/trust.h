/* How far what was recorded can be trusted: the clock, what measuring cost, what was lost. SPDX-License-Identifier: MIT */
#ifndef HP_MODEL_TRUST_H
#define HP_MODEL_TRUST_H

#include "cpu_profile.h"
#include "profile.h"

/* What measuring did to the run, and what it could not record. */
struct hp_function_profile;

struct hp_trust {
    double zone_cost_ns;
    double zone_inner_ns; /* the part of it that falls into the zone's own duration */
    double share_percent; /* of the run's time; at most, ... */
    double least_percent; /* ... and at least */
    double clock_hz;      /* 0: not known */
    const char *clock;
    const struct hp_cpu *cpu;                    /* NULL: processor time was not sampled */
    const struct hp_function_profile *functions; /* the same by stacks; NULL: there are none */
    uint64_t lost[HP_LOSSES];
    uint32_t storage;  /* enum hp_storage, of the process for which it is worst */
    bool is_sandboxed; /* one of them was, from some moment on */
    size_t uncounted;  /* processes whose allocations are not known, while those of others are */
    uint32_t refusal;  /* enum hp_refusal, likewise */
};

/* `cpu` is NULL where processor time was not sampled. */
void hp_trust_of_run(const struct hp_profile *profile, const struct hp_cpu *cpu, struct hp_trust *ret_trust);

/* The word for an enum hp_clock_kind. */
const char *hp_trust_clock_name(uint32_t kind);

#endif
