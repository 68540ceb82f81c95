/*
 * Feeds the time axis of a session (axis.h) with what the observer of its process knows.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_AXIS_FEED_H
#define HP_OBSERVE_AXIS_FEED_H

#include "axis_writer.h"

struct hp_proc_sampler;

/* One session. Zero it first; the caller sets the fields marked so. */
struct hp_axis_feed {
    char path[1100];   /* of the session; set by the caller, "": no time axis */
    int session;       /* file descriptor of the session; set by the caller */
    bool is_open;      /* private from here on */
    uint64_t fed_ns;   /* time of the last sample written */
    uint64_t sites_ns; /* when sites are read again */
    bool is_full;      /* more sites than places: what a new site had before is not known */
    struct hp_axis_writer writer;
};

/*
 * After a sample of /proc: writes what is new. The file is created with the second sample, so short processes have
 * none.
 */
void hp_axis_feed_look(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler);

/* After the sampler has ended: writes its final values; NULL: no space left. */
void hp_axis_feed_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler);

#endif
