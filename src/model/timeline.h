/*
 * The numbers of a run over time, from the time axis of its primary session (axis.h).
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_TIMELINE_H
#define HP_MODEL_TIMELINE_H

#include "profile.h"
#include "run.h"

/* A series by slot: a rate for a counter, the level for a level. */
struct hp_line {
    uint32_t kind; /* enum hp_axis_kind */
    uint32_t id;
    uint32_t place;                  /* on the axis */
    const char *name;                /* of the thread; "": none */
    const struct hp_site_sums *site; /* for kinds that are about a site; NULL: none */
    uint32_t first;                  /* slot with the first value, counted from `from` */
    double *values; /* per slot from there on: percent of one CPU or thread, per second, or the level */
    size_t count;
    double last, highest, average;
};

struct hp_timeline {
    const struct hp_snapshot *session; /* the axis belongs to it; NULL: there is none */
    struct hp_run_axis axis;
    uint64_t slot_ns;
    uint32_t from; /* the first slot; above 0 in a time range of the run */
    uint32_t slots;
    struct hp_line *lines;
    size_t count;
};

/* NULL: no memory. */
const struct hp_timeline *hp_timeline_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/* The increase of a line that is not a level in a slot, counted from `from`: nanoseconds, or calls. */
double hp_timeline_gain(const struct hp_timeline *timeline, const struct hp_run *run, const struct hp_line *line,
                        uint32_t slot);

/* The latest time of a slot at which something is known, in nanoseconds since the axis begins; likewise. */
uint64_t hp_timeline_timestamp(const struct hp_timeline *timeline, uint32_t slot);

/* Whether a line is in percent, of a CPU or of a thread's time. */
bool hp_line_is_share(const struct hp_line *line);

/* What it is ("cpu", "memory"), its thread or cause, and its unit ("%", "bytes"). */
const char *hp_line_what(const struct hp_line *line);
const char *hp_line_name(const struct hp_line *line);
const char *hp_line_unit(const struct hp_line *line);

#endif
