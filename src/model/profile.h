/*
 * A run added up: the trees of all threads of all sessions merged into one, and the numbers of each site over all
 * of them. The sections are views of this. All times are in ticks; hp_run_ns converts.
 *
 * On request sites are kept apart by thread: then there is one for every thread that called it, with that thread's
 * numbers.
 *
 * Open zones count as calls that end at the time of their session's snapshot. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_PROFILE_H
#define HP_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "forest.h"
#include "run.h"
#include "site_sums.h"

struct hp_arena;

/* A session of the run, over all its threads. */
struct hp_session_sums {
    const struct hp_snapshot *snapshot;
    struct hp_site_sums *main; /* its own 100 % row, or NULL */
    uint64_t calls;
    uint64_t polls; /* those of them that are polls of tasks */
    uint64_t open;
    bool is_scaled;   /* the following time includes untimed calls */
    uint64_t total;   /* ticks of outermost zones */
    uint64_t in_main; /* of that, self time of main functions; wraps as hp_sums.self does */
    struct {          /* as read; private */
        uint64_t calls, polls, open, total, in_main;
        uint64_t scaled; /* records that are scaled */
    } read;
};

struct hp_profile {
    struct hp_forest forest;
    struct hp_arena *arena; /* for one reading */
    const struct hp_run *run;
    struct hp_session_sums *sessions; /* one per session of the run, in the same order */
    struct hp_site_sums **sites;      /* those that have calls, unsorted */
    size_t site_count;
    const struct hp_tree_node *first_root;
    const struct hp_tree_node *const *nodes; /* all, parents before their children */
    size_t node_count;
    const struct hp_site_sums *main; /* the 100 % row, or NULL */
    bool has_sampled;                /* not all calls were timed, because sampling was requested */
    bool has_limited;                /* ... because they were too short */
    struct hp_site_sums **known;     /* of every session, with or without calls, by session and id */
    size_t known_count;
    bool has_different_mains; /* the processes have different main functions: there is no such row */
    uint32_t thread_number;   /* of the thread whose open zones are added, from 1; private */
};

/*
 * By thread, the tree keeps the paths of each thread apart, and there is no main row. `kept` is for what survives a
 * refresh, `arena` for the rest; they may be the same. NULL: no memory.
 */
struct hp_profile *hp_profile_build(struct hp_arena *kept, struct hp_arena *arena, const struct hp_run *run,
                                    bool is_by_thread);

/*
 * Updates it from sessions that were read again: what `arena` held before is gone. False: they have another shape
 * now, or no memory; then it must be built again.
 */
bool hp_profile_refresh(struct hp_profile *profile, struct hp_arena *arena, const struct hp_run *run);

/* The site that has this id in a session of the run, or NULL. */
struct hp_site_sums *hp_profile_find(struct hp_profile *profile, uint32_t session, uint32_t id);
const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id);

/*
 * Ticks that one thread spent in one node itself, up to now if it is open. False: not known exactly, because of
 * untimed calls.
 */
bool hp_record_self(const struct hp_record *record, uint64_t *ret_ticks);

/* Ticks that all threads together have spent in zones. False: they are estimates. */
bool hp_profile_spent(const struct hp_profile *profile, uint64_t *ret_ticks);

/* Upper bound of what measuring added to the times of a site, in nanoseconds. */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site);

/* ----------------------------------------------------------------------------------------------------- stats */

/*
 * Iterates over all stats of a run, session by session and thread by thread, each with its site: for readers of the
 * records of single calls.
 *
 *     struct hp_stat_iter walk = {0};
 *     while (hp_stat_iter_next(&walk, profile))
 *         if (walk.site != NULL) ... walk.snapshot, walk.thread, walk.stat
 */

struct hp_stat_iter {
    uint32_t session; /* index in the run */
    const struct hp_snapshot *snapshot;
    struct hp_thread thread;
    struct hotpath_stat_ stat;
    const struct hp_site_sums *site; /* NULL: it appeared after the profile was made, or is corrupt */
    struct hp_walk calls;          /* for hp_snapshot_next_call; limits the steps to the calls a session can have */
    struct hp_walk threads, stats; /* private */
    bool is_in_thread;
};

bool hp_stat_iter_next(struct hp_stat_iter *walk, const struct hp_profile *profile);

/* The name of the thread with this id, if the record still has it: it only knows its latest thread. */
const char *hp_stat_iter_thread_name(const struct hp_stat_iter *walk, uint32_t tid);

#endif
