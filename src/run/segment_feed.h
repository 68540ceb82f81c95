/*
 * The ends of segments of critical paths (path_layout.h): those that a process noted go to the collector, which
 * joins them with stacks. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_SEGMENT_FEED_H
#define HP_RUN_SEGMENT_FEED_H

#include <stdint.h>

/* Of one process; 0 at first. */
struct hp_segment_feed {
    uint32_t taken; /* ends that were read */
};

/* Reads those that are new in the session, which is open. */
void hp_segment_feed_look(struct hp_segment_feed *feed, int session);

#endif
