/*
 * The time axis of one session of a run: what its counters were at any time since the run began. Stretches of a
 * run, the console and the page read counters by these rules, so they show the same numbers.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_RUN_AXIS_H
#define HP_MODEL_RUN_AXIS_H

#include "axis.h"
#include "run.h"

struct hp_run_axis {
    uint32_t session; /* of the run */
    uint32_t moments; /* index of the series with the times of the samples */
    struct hp_axis axis;
    uint64_t run_start_ns;
    uint64_t end_ns; /* of the session or of the run, the earlier one, since the run began */
};

/* Reads it into HP_AXIS_BYTES bytes of the caller, before the run is cut. False: the session has none. */
bool hp_run_axis_read(struct hp_run_axis *axis, const struct hp_run *run, uint32_t session, void *bytes);

/*
 * The value of the counter at index `place`, at a time since the run began. At the end it is what was written last,
 * even if that was later than the last sample. `first` is the first slot of the series.
 */
uint64_t hp_run_axis_value_at(const struct hp_run_axis *axis, uint32_t place, uint32_t first, uint64_t run_ns);

#endif
