/* Iterates over all stats of a run. SPDX-License-Identifier: MIT */
#include "stat_iter.h"

static bool next_thread(struct hp_stat_iter *walk, const struct hp_run *run)
{
    while (walk->session < run->count) {
        walk->snapshot = run->sessions[walk->session];
        if (hp_snapshot_next_thread(walk->snapshot, &walk->threads, &walk->thread)) {
            hp_walk_rewind(&walk->stats);
            return walk->is_in_thread = true;
        }
        *walk = (struct hp_stat_iter){.session = walk->session + 1};
    }
    return false;
}

bool hp_stat_iter_next(struct hp_stat_iter *walk, const struct hp_profile *profile)
{
    while (!walk->is_in_thread || !hp_snapshot_next_stat(walk->snapshot, &walk->thread, &walk->stats, &walk->stat))
        if (!next_thread(walk, profile->run))
            return false;
    hp_walk_rewind(&walk->calls);
    walk->site = hp_profile_site(profile, walk->session, walk->stat.site);
    return true;
}

const char *hp_stat_iter_thread_name(const struct hp_stat_iter *walk, uint32_t tid)
{
    return walk->thread.tid == tid && walk->thread.name[0] != '\0' ? walk->thread.name : NULL;
}
