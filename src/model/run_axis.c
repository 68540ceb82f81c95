/* The time axis of one session of a run. SPDX-License-Identifier: MIT */
#include "run_axis.h"

#include "arith.h"
#include "snapshot.h"

bool hp_run_axis_read(struct hp_run_axis *axis, const struct hp_run *run, uint32_t session, void *bytes)
{
    const struct hp_snapshot *snapshot = run->sessions[session];
    if (!hp_axis_of_session(&axis->axis, snapshot, bytes))
        return false;
    const uint64_t end_ns = hp_run_started_ns(run, snapshot) + hp_snapshot_elapsed_ns(snapshot);
    const uint64_t whole_ns = hp_run_elapsed_ns(run);
    axis->session = session;
    axis->moments = hp_axis_find(&axis->axis, HP_AXIS_MOMENT, 0);
    axis->run_start_ns = run->start_ns;
    axis->end_ns = end_ns < whole_ns ? end_ns : whole_ns;
    return axis->moments < HP_AXIS_SERIES;
}

uint64_t hp_run_axis_value_at(const struct hp_run_axis *axis, uint32_t place, uint32_t first, uint64_t run_ns)
{
    const uint64_t since = hp_less(axis->run_start_ns + run_ns, axis->axis.header.start_ns);
    return hp_axis_value_at(&axis->axis, axis->moments, place, first, run_ns >= axis->end_ns ? UINT64_MAX : since);
}
