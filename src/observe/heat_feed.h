/*
 * Feeds the heat map of a session (heat.h): how the histograms of its functions grew, for those with series on the
 * time axis. Part of feeding that (axis_feed.h), which calls this when it has read the sites.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_HEAT_FEED_H
#define HP_OBSERVE_HEAT_FEED_H

#include "axis_writer.h"

/* One session; NULL until a function was called. */
struct hp_heat_feed;

/*
 * Adds what came since the last time, and creates feed and file when it is needed. `session` is the path of the
 * session, `file` its descriptor. `is_full`: what a function without history did before is unknown. Without memory
 * or disk space, the heat map ends.
 */
void hp_heat_feed_look(struct hp_heat_feed **feed, const char *session, int file, const struct hp_axis_writer *axis,
                       bool is_full, uint64_t now);

void hp_heat_feed_end(struct hp_heat_feed **feed);

#endif
