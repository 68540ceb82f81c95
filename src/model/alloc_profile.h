/*
 * What a run allocated: by site, by thread, and in all. The sections about allocations are views of this.
 *
 * What was asked for is in bytes; what lives, its peak and what was freed is in usable bytes, which are all that is known of a
 * block when it is freed. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_ALLOC_PROFILE_H
#define HP_MODEL_ALLOC_PROFILE_H

#include "durations.h"
#include "profile.h"

/* A site, over all that the profile counts as one; calls that are open count up to now. */
struct hp_site_allocs {
    uint64_t calls; /* that allocated or freed: all measures of the others are 0 */
    uint64_t own_bytes;
    uint64_t own_count;
    uint64_t all_bytes; /* with zones inside; of calls within calls of the site only the outermost */
    uint64_t all_count;
    int64_t net_bytes; /* left behind by these */
    int64_t net_blocks;
    uint64_t max[HP_ALLOC_MEASURES];
};

void hp_allocs_of_site(const struct hp_site_sums *site, struct hp_site_allocs *ret_allocs);

/* One value for each call, be it 0; of those for which there was no space none. `allocs` are those of the site. */
void hp_allocs_distribution(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                            enum hp_alloc_measure measure, struct hp_durations *ret_values);

/* What was allocated and freed, by a thread or a process. */
struct hp_alloc_totals {
    uint64_t count;
    uint64_t bytes; /* asked for */
    uint64_t freed_count;
    uint64_t freed_bytes;   /* usable, as all that follow */
    uint64_t foreign_count; /* of what was freed, that which another thread had allocated */
    uint64_t foreign_bytes;
    int64_t live_bytes; /* of a thread, below zero if it frees what others allocated; never of a process */
    int64_t live_blocks;
    int64_t peak_bytes; /* of several processes, the highest that one of them had */
    int64_t peak_blocks;
};

/* A thread, all its records together. */
struct hp_thread_allocs {
    const struct hp_thread_label *label; /* NULL: threads that had no record yet, or none any more, of a process */
    uint32_t pid;
    struct hp_alloc_totals totals;
    uint64_t outside_bytes; /* asked for outside of all zones */
    uint64_t outside_count;
    int64_t
        untold_peak; /* the most that lived while it was the only thread, where it has not told that yet; else 0 */
};

struct hp_allocs {
    struct hp_thread_allocs *threads; /* those that allocated or freed something */
    size_t thread_count;
    struct hp_alloc_totals totals;
    size_t processes; /* that allocated or freed something */
    uint64_t
        earlier_bytes; /* that processes freed beyond what they had allocated: from before their sessions, at least */
    uint64_t earlier_blocks;
    uint64_t failed;      /* allocations that were refused */
    uint64_t peak_error;  /* by how much the peak in bytes may be off; 0: it is exact */
    bool has_peak_blocks; /* the peak in blocks is known, too */
};

/* NULL: no memory. */
const struct hp_allocs *hp_allocs_of_run(struct hp_arena *arena, const struct hp_run *run);

/* What a section says that has none. */
#define HP_NO_ALLOCS                                                                                               \
    "no allocations were recorded: malloc is watched in programs that are linked with -lhotpath_alloc or "         \
    "started by 'hotpath run'"

/* Whether a session of the run has counted allocations. */
bool hp_run_has_allocs(const struct hp_run *run);

/* Whether what a process allocated is not known, though it was measured: malloc was not watched there. */
bool hp_allocs_are_unknown(const struct hp_snapshot *session);

/* The same of a site: none but such processes called it. */
bool hp_allocs_of_site_are_unknown(const struct hp_run *run, const struct hp_site_sums *site);

/* How many such processes there are in a run that has counted others. */
size_t hp_allocs_unknown(const struct hp_run *run);

#endif
