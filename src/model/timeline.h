/*
 * How the numbers of a run went over its time, from the time axis beside its principal session (axis.h). SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_TIMELINE_H
#define HP_MODEL_TIMELINE_H

#include "axis.h"
#include "profile.h"

/* A series, as what it is in each slot: of a counter how fast it went, of a level how high it was. */
struct hp_line {
    uint32_t kind; /* enum hp_axis_kind */
    uint32_t id;
    uint32_t place;                  /* on the axis */
    const char *name;                /* of the thread; "": none */
    const struct hp_site_sums *site; /* of kinds that are about one; NULL: none */
    uint32_t first;                  /* slot with the first value, counted from `from` */
    double
        *values; /* for each slot from there on: percent of one processor or thread, or per second, or the level */
    size_t count;
    double last, highest, average;
};

struct hp_timeline {
    const struct hp_snapshot *session; /* whose it is; NULL: there is none */
    struct hp_axis axis;               /* that it was made of */
    uint32_t moments;                  /* place there of the series that says when samples were */
    uint64_t slot_ns;
    uint32_t from; /* the first slot; above 0 in a stretch of the run */
    uint32_t slots;
    struct hp_line *lines;
    size_t count;
};

/* NULL: no memory. */
const struct hp_timeline *hp_timeline_of_run(struct hp_arena *arena, const struct hp_profile *profile);

/* What a line that is no level went up by in a slot, counted from `from`: nanoseconds, or calls. */
double hp_timeline_gain(const struct hp_timeline *timeline, const struct hp_run *run, const struct hp_line *line,
                        uint32_t slot);

/* The latest moment of a slot at which something is known, in nanoseconds since the axis begins; likewise. */
uint64_t hp_timeline_moment(const struct hp_timeline *timeline, uint32_t slot);

/* Whether a line is in percent, of a processor or of a thread's time. */
bool hp_line_is_share(const struct hp_line *line);

/* "cpu", "memory"; of whom or for what; "%", "bytes". */
const char *hp_line_what(const struct hp_line *line);
const char *hp_line_name(const struct hp_line *line);
const char *hp_line_unit(const struct hp_line *line);

#endif
