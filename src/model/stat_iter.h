/*
 * Iterates over all stats of a run, session by session and thread by thread, each with its site: for readers of the
 * records of single calls.
 *
 *     struct hp_stat_iter walk = {0};
 *     while (hp_stat_iter_next(&walk, profile))
 *         if (walk.site != NULL) ... walk.snapshot, walk.thread, walk.stat
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_STAT_ITER_H
#define HP_MODEL_STAT_ITER_H

#include "profile.h"

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
