/* How a run went over its time, as numbers that viewers draw beside stacks. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_COUNTERS_H
#define HP_EXPORT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_model;

/* What its values are. */
enum hp_counter_kind {
    HP_COUNTER_SHARE, /* percent of a processor or of a thread's time, in each slot */
    HP_COUNTER_RATE,  /* how many per second, likewise */
    HP_COUNTER_LEVEL, /* how much there was, the most of each slot */
};

struct hp_export_counter {
    const char *name; /* "memory of <process>" */
    const char *what; /* "memory" */
    const char *unit;
    enum hp_counter_kind kind;
    uint64_t first_ns;          /* when the first value begins, since the run began */
    const double *values;       /* one for each slot from there on */
    const double *gained;       /* what there was in each: nanoseconds, or how many; NULL: it is a level */
    const uint64_t *moments_ns; /* until when, since the run began; one more, and in front: since when */
    size_t count;
};

struct hp_export_counters {
    struct hp_export_counter *all;
    size_t count;
    uint64_t slot_ns;
};

/* Of the time axis of a run, as long as its model stays. NULL: no memory. */
const struct hp_export_counters *hp_export_counters_make(struct hp_model *model);

#endif
