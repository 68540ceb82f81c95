/* Numbers of locks. SPDX-License-Identifier: MIT */
#include "lock_profile.h"

double hp_lock_percentile(const struct hp_lock_row *row, double percentile)
{
    uint64_t all = 0, below = 0;
    for (size_t at = 0; at < sizeof row->steps / sizeof row->steps[0]; at++)
        all += row->steps[at];
    if (percentile >= 100)
        return row->wait_longest_ns;
    const double wanted = (double)all * percentile / 100;
    for (uint32_t at = 0; at < sizeof row->steps / sizeof row->steps[0]; at++) {
        below += row->steps[at];
        if (row->steps[at] != 0 && (double)below >= wanted) {
            const double ns = hp_lock_step_ticks(at);
            return ns < row->wait_longest_ns ? ns : row->wait_longest_ns;
        }
    }
    return 0;
}

const char *hp_lock_kind_name(uint32_t kind)
{
    static const char *const names[HP_LOCK_KINDS] = {
        [HP_LOCK_MUTEX] = "mutex",         [HP_LOCK_RWLOCK] = "rwlock",       [HP_LOCK_SPIN] = "spinlock",
        [HP_LOCK_CONDITION] = "condition", [HP_LOCK_SEMAPHORE] = "semaphore", [HP_LOCK_BARRIER] = "barrier",
        [HP_LOCK_OTHERS] = "others"};
    return kind < HP_LOCK_KINDS && names[kind] != NULL ? names[kind] : "others";
}
