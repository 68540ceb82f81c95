/*
 * What a run allocated: by site, by thread, and in total. The sections about allocations are views of this.
 *
 * Allocated bytes are as requested. Live, peak and freed bytes are usable bytes: when a block is freed, only those
 * are known. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_ALLOC_PROFILE_H
#define HP_MODEL_ALLOC_PROFILE_H

#include "durations.h"
#include "profile.h"

/* A site, over all that the profile counts as one; open calls count up to now. */
struct hp_site_allocs {
    uint64_t calls; /* calls that allocated or freed; all measures of the others are 0 */
    uint64_t own_bytes;
    uint64_t own_count;
    uint64_t all_bytes; /* with inner zones; of recursive calls only the outermost */
    uint64_t all_count;
    int64_t net_bytes; /* allocated and not freed by these calls */
    int64_t net_blocks;
    uint64_t max[HP_ALLOC_MEASURES];
};

void hp_allocs_of_site(const struct hp_site_sums *site, struct hp_site_allocs *ret_allocs);

/*
 * One value per call, possibly 0; calls that were not recorded for lack of space are left out. `allocs` are those
 * of the site.
 */
void hp_allocs_distribution(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                            enum hp_alloc_measure measure, struct hp_durations *ret_values);

/* What a thread or a process allocated and freed. */
struct hp_alloc_totals {
    uint64_t count;
    uint64_t bytes; /* requested */
    uint64_t freed_count;
    uint64_t freed_bytes;   /* usable, as all that follow */
    uint64_t foreign_count; /* of the frees, those of blocks that another thread had allocated */
    uint64_t foreign_bytes;
    int64_t live_bytes; /* of a thread: negative if it frees what others allocated; of a process: never */
    int64_t live_blocks;
    int64_t peak_bytes; /* of several processes: the highest of any one */
    int64_t peak_blocks;
};

/* A thread, with all its records. */
struct hp_thread_allocs {
    const struct hp_thread_label *label; /* NULL: threads of a process that had no record yet, or no longer */
    uint32_t pid;
    struct hp_alloc_totals totals;
    uint64_t outside_bytes; /* requested outside all zones */
    uint64_t outside_count;
    int64_t untold_peak; /* most live bytes while it was the only thread, if not reported yet; else 0 */
};

struct hp_allocs {
    struct hp_thread_allocs *threads; /* threads that allocated or freed something */
    size_t thread_count;
    struct hp_alloc_totals totals;
    size_t processes;       /* processes that allocated or freed something */
    uint64_t earlier_bytes; /* freed beyond what was allocated: from before the sessions, at least */
    uint64_t earlier_blocks;
    uint64_t failed;      /* allocations that failed */
    uint64_t peak_error;  /* error bound of the peak in bytes; 0: exact */
    bool has_peak_blocks; /* the peak in blocks is known, too */
};

/* NULL: no memory. */
const struct hp_allocs *hp_allocs_of_run(struct hp_arena *arena, const struct hp_run *run);

/* The text of a section without data. */
#define HP_NO_ALLOCS                                                                                               \
    "no allocations were recorded: malloc is watched in programs that are linked with -lhotpath_alloc or "         \
    "started by 'hotpath run'"

/* Whether a session of the run has counted allocations. */
bool hp_run_has_allocs(const struct hp_run *run);

/* Whether the allocations of a measured process are unknown: malloc was not watched there. */
bool hp_allocs_are_unknown(const struct hp_snapshot *session);

/* Whether only such processes called the site. */
bool hp_allocs_of_site_are_unknown(const struct hp_run *run, const struct hp_site_sums *site);

/* The number of such processes, in a run where allocations of others were counted. */
size_t hp_allocs_unknown(const struct hp_run *run);

#endif
