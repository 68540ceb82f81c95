/*
 * Feeds the time axis of a session (axis.h) with what the observer of its process knows.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_AXIS_FEED_H
#define HP_OBSERVE_AXIS_FEED_H

#include "axis_writer.h"
#include "heat_feed.h"
#include "thread_usage.h"

struct hp_proc_sampler;

/* What a thread did by the last sample. */
struct hp_axis_thread {
    uint32_t tid; /* 0: none */
    uint64_t ns[HP_ALL_PARTS];
    uint64_t active_ns; /* that it ran, or waited for anything but new work */
};

/* One session. Zero it first; the caller sets the fields marked so. */
struct hp_axis_feed {
    char path[1100];   /* of the session; set by the caller, "": no time axis */
    int session;       /* file descriptor of the session; set by the caller */
    bool is_open;      /* private from here on */
    uint64_t fed_ns;   /* time of the last sample written */
    uint64_t sites_ns; /* when sites are read again */
    bool is_full;      /* more sites than places: what a new site had before is not known */
    struct hp_axis_thread tracked[HP_AXIS_THREADS]; /* those with series */
    uint32_t tracked_count;
    struct hp_axis_thread rows[HP_THREAD_USAGE_ROWS]; /* single threads, by rows of the usage */
    struct hp_axis_writer writer;
    struct hp_heat_feed *heat;
};

/*
 * After a sample of /proc: writes what is new. The file is created with the second sample, so short processes have
 * none.
 */
void hp_axis_feed_look(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler);

/* After the sampler has ended: writes its final values; NULL: no space left. */
void hp_axis_feed_end(struct hp_axis_feed *feed, const struct hp_proc_sampler *sampler);

#endif
