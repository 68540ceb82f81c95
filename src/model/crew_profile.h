/*
 * What the threads of a run used, by thread: processor time and switches as far as somebody watched, what they allocated, and where
 * they are. Threads that have ended are there, too. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_CREW_PROFILE_H
#define HP_MODEL_CREW_PROFILE_H

#include "profile.h"

struct hp_crew_member {
    const struct hp_thread_label *label; /* with `threads` above 1: several together */
    bool is_rest;                        /* those that nobody has seen, of a process that was watched */
    uint32_t living;                     /* of them */
    char state;                          /* the kernel's letter; 0: not known */
    bool has_time;                       /* the following are known ... */
    uint64_t user_ns;
    uint64_t kernel_ns;
    bool is_watched; /* ... and these, too */
    uint64_t voluntary;
    uint64_t involuntary;
    uint64_t lived_ns;
    uint64_t waited_ns[HP_CREW_CAUSES]; /* by enum hp_wait_cause */
    double now_percent;                 /* of one processor, of one thread */
    double max_percent;
    bool has_allocs;
    uint64_t allocated_bytes;        /* asked for */
    uint64_t freed_bytes;            /* usable */
    int64_t live_bytes;              /* usable; below zero of a thread that frees what others have allocated */
    bool has_place;                  /* it lives, and has a record: */
    const struct hp_site_sums *site; /* the innermost function that it is in; NULL: outside of all */
};

struct hp_run_crew {
    struct hp_crew_member **all; /* those that used most first */
    size_t count;
    size_t sessions;         /* that were watched */
    uint64_t threads;        /* that live */
    uint64_t most;           /* threads at a time, of one process */
    uint64_t rss_bytes;      /* of all that run */
    uint64_t rss_peak_bytes; /* the highest of one process */
    bool has_allocs;
};

/* NULL: no memory. */
const struct hp_run_crew *hp_crew_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/* Whether somebody watched a session of the run. */
bool hp_run_has_crew(const struct hp_run *run);

static inline uint64_t hp_crew_cpu_ns(const struct hp_crew_member *member)
{
    return member->user_ns + member->kernel_ns;
}

#endif
