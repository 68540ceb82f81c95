/*
 * Feeds the time axis of a session (axis.h) with what whoever watches its process knows. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_AXIS_FEED_H
#define HP_CLI_AXIS_FEED_H

#include "axis_writer.h"

struct hp_watch;

/* One session. Zeroed at first, but for what is said. */
struct hp_axis_feed {
    char path[1100];   /* of the session; set by the caller, "": there is to be no time axis */
    int session;       /* its descriptor; set by the caller */
    bool is_open;      /* private from here on */
    uint64_t fed_ns;   /* by the sample of that moment */
    uint64_t sites_ns; /* when sites are looked at again */
    bool is_full;      /* there were more of them than places: what one that comes was before is not known */
    struct hp_axis_writer writer;
};

/* After a look: takes what is new. The file is made with the second sample, so what ends at once has none. */
void hp_axis_feed_look(struct hp_axis_feed *feed, const struct hp_watch *watch);

/* After the watch has ended, whose last words it takes; NULL: there is no space for more. */
void hp_axis_feed_end(struct hp_axis_feed *feed, const struct hp_watch *watch);

#endif
