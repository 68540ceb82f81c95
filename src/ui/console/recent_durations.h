/*
 * Durations of the calls in the last seconds: keeps earlier copies of the distributions of functions that are on
 * the screen. They are stored nowhere else, so percentiles of a window are known only from the time a function
 * became visible. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_RECENT_DURATIONS_H
#define HP_CONSOLE_RECENT_DURATIONS_H

#include "durations.h"

#define HP_RECENT_SITES 64u
#define HP_RECENT_MOMENTS 14u

/* Counters at a moment: only those that are not 0. */
struct hp_recent_moment {
    uint64_t elapsed_ns;
    uint32_t count;
    uint16_t *places; /* line and step; one allocation with the following */
    uint64_t *amounts;
};

struct hp_recent_site {
    uint64_t id; /* 0: free */
    uint64_t used_ns;
    struct hp_recent_moment moments[HP_RECENT_MOMENTS]; /* the oldest first */
    unsigned count;
};

struct hp_recent_durations {
    struct hp_recent_site sites[HP_RECENT_SITES];
};

/*
 * Stores the distribution of a function once a second, and subtracts from `durations` what was counted before
 * `from_ns`. False: it was not visible then, nor a second ago.
 */
bool hp_recent_cut(struct hp_recent_durations *recent, uint64_t id, uint64_t elapsed_ns, uint64_t from_ns,
                   struct hp_durations *durations);

void hp_recent_free(struct hp_recent_durations *recent);

#endif
