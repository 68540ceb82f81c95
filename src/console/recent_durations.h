/*
 * How long the calls of the last seconds took: distributions as they were at moments before, of those functions that were on the
 * screen. Nobody else keeps them, so percentiles of a stretch are known from when on somebody looked. SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_RECENT_DURATIONS_H
#define HP_CONSOLE_RECENT_DURATIONS_H

#include "durations.h"

#define HP_RECENT_SITES 64u
#define HP_RECENT_MOMENTS 14u

/* What had been counted by a moment: only the counters that are not 0. */
struct hp_recent_moment {
    uint64_t elapsed_ns;
    uint32_t count;
    uint16_t *places; /* line and step; one piece of memory with the following */
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
 * Keeps what a function has at a moment of the run, once a second; and takes away from `durations`, which becomes what came after
 * `from_ns`, what had been before. False: nobody looked by then, nor a second ago.
 */
bool hp_recent_cut(struct hp_recent_durations *recent, uint64_t id, uint64_t elapsed_ns, uint64_t from_ns,
                   struct hp_durations *durations);

void hp_recent_free(struct hp_recent_durations *recent);

#endif
