/*
 * A time range of a run: its numbers between two moments, as far as the time axes of its sessions (axis.h) have
 * them. Everything made from the profile after the cut is about the time range only. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_TIME_RANGE_H
#define HP_MODEL_TIME_RANGE_H

#include "axis.h"
#include "layout.h"
#include "profile.h"

/* What a thread of a session did in it, and in the whole run, by enum hp_activity. */
struct hp_time_range_thread {
    uint32_t tid;
    uint64_t ns[HP_ALL_PARTS], whole_ns[HP_ALL_PARTS];
};

/* What one session did in it, and as long as it is known. */
struct hp_time_range_use {
    uint64_t cpu_ns;
    uint64_t waited_ns[HP_WAIT_CAUSES];                   /* by all threads */
    struct hp_time_range_thread threads[HP_AXIS_THREADS]; /* those that were active for longest */
    size_t thread_count;
};

/* The waits of one session's threads in it. */
struct hp_time_range_waits {
    uint64_t ns[HP_AXIS_WAITS]; /* of the entries of hp_waits, by index */
    uint64_t beside_ns[HP_AXIS_WAITS];
    uint64_t watched_ns;
    uint64_t left_out_ns; /* waits at places without history */
};

struct hp_time_range {
    uint64_t from_ns, to_ns;           /* since the run began */
    uint64_t whole_ns;                 /* length of the whole run */
    size_t unknown;                    /* functions without history */
    struct hp_time_range_waits *waits; /* one per session */
    struct hp_time_range_use *uses;    /* one per session */
};

struct hp_cpu;

/*
 * Cuts the profile of a run, and the run itself. `cpu` is the CPU time per function of the whole run, NULL: not
 * sampled. `from_ns` is before `to_ns`, which is not after the end. Returns NULL, or one line that says why not.
 */
const char *hp_time_range_cut(struct hp_profile *profile, struct hp_run *run, const struct hp_cpu *cpu,
                              uint64_t from_ns, uint64_t to_ns);

#endif
