/* How a run went over its time, as numbers that viewers draw beside stacks. SPDX-License-Identifier: MIT */
#ifndef HP_EXPORT_COUNTERS_H
#define HP_EXPORT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_model;

struct hp_export_counter {
    const char *name; /* "memory of <process>" */
    const char *unit;
    uint64_t first_ns;    /* when the first value begins, since the run began */
    const double *values; /* one for each slot from there on */
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
