/* The numbers of a run over time, as counters that viewers draw next to stacks. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_COUNTERS_H
#define HP_EXPORT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_model;

/* What its values are. */
enum hp_counter_kind {
    HP_COUNTER_SHARE, /* percent of a CPU or of a thread's time, per slot */
    HP_COUNTER_RATE,  /* events per second, per slot */
    HP_COUNTER_LEVEL, /* a level, the maximum of each slot */
};

struct hp_export_counter {
    const char *name; /* "memory of <process>" */
    const char *what; /* "memory" */
    const char *unit;
    enum hp_counter_kind kind;
    uint64_t first_ns;    /* start of the first value, since the run began */
    const double *values; /* one per slot from there on */
    const double *gained; /* increase in each slot: nanoseconds, or a count; NULL: it is a level */
    const uint64_t
        *moments_ns; /* end of each increase, since the run began; one more, in front, for the start of the first */
    size_t count;
};

struct hp_export_counters {
    struct hp_export_counter *all;
    size_t count;
    uint64_t slot_ns;
};

/* From the time axis of a run; valid as long as its model. NULL: no memory. */
const struct hp_export_counters *hp_export_counters_make(struct hp_model *model);

#endif
