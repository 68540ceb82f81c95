/*
 * What each thread of a run used: CPU time and context switches as far as it was watched, allocations, and its
 * current function. Includes threads that have ended. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_THREAD_USAGE_PROFILE_H
#define HP_MODEL_THREAD_USAGE_PROFILE_H

#include "profile.h"

struct hp_thread_usage_member {
    const struct hp_thread_label *label; /* with `threads` above 1: several together */
    bool is_rest;                        /* threads that no sample saw, of a watched process */
    uint32_t living;                     /* of `threads` */
    char state;                          /* the kernel's state letter; 0: unknown */
    bool has_time;                       /* the following are known ... */
    uint64_t user_ns;
    uint64_t kernel_ns;
    bool is_watched; /* ... and these, too */
    uint64_t voluntary;
    uint64_t involuntary;
    uint64_t lived_ns;
    uint64_t waited_ns[HP_THREAD_USAGE_CAUSES]; /* by enum hp_wait_cause */
    double now_percent;                         /* of one CPU, of one thread */
    double max_percent;
    bool has_allocs;
    uint64_t allocated_bytes;        /* requested */
    uint64_t freed_bytes;            /* usable */
    int64_t live_bytes;              /* usable; negative for a thread that frees what others have allocated */
    bool has_place;                  /* it is alive and has a record: */
    const struct hp_site_sums *site; /* its innermost function; NULL: outside all */
};

struct hp_run_thread_usage {
    struct hp_thread_usage_member **all; /* most CPU time first */
    size_t count;
    size_t sessions;         /* watched sessions */
    uint64_t threads;        /* live threads */
    uint64_t most;           /* most threads of one process at a time */
    uint64_t rss_bytes;      /* of all live processes */
    uint64_t rss_peak_bytes; /* the highest of one process */
    bool has_allocs;
    /* CPU time of all processes, and the part of it in processes and threads whose waits were not seen. */
    uint64_t cpu_ns, unseen_cpu_ns;
};

/* NULL: no memory. */
const struct hp_run_thread_usage *hp_thread_usage_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/*
 * What a program of a process moved, up to its last probe: by read, write and their relatives, for files, pipes and
 * sockets; not by send, recv, mmap or sendfile. Bytes per call tell who moves one byte at a time. False: unknown.
 */
struct hp_transfers {
    uint64_t read_calls, read_bytes, write_calls, write_bytes;
};
bool hp_process_transfers(const struct hp_snapshot *session, struct hp_transfers *ret_transfers);

/* Whether a session of the run was watched. */
bool hp_run_has_thread_usage(const struct hp_run *run);

/* All its waiting. */
uint64_t hp_thread_usage_waited_ns(const struct hp_thread_usage_member *member);

static inline uint64_t hp_thread_usage_cpu_ns(const struct hp_thread_usage_member *member)
{
    return member->user_ns + member->kernel_ns;
}

#endif
