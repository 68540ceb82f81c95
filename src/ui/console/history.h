/*
 * Histories of a run's numbers, in as many equal steps as there are columns: read from the time axes of its
 * sessions (axis.h), by the rules for time ranges of a run.
 *
 *     hp_history_read(&history, arena, run);
 *     hp_history_choose(&history, length_ns, to_ns, 60);
 *     hp_history_add(&history, HP_AXIS_CPU, HP_HISTORY_ALL, 0, 1e-9, values);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_HISTORY_H
#define HP_CONSOLE_HISTORY_H

#include "run.h"

struct hp_arena;

#define HP_HISTORY_MOST 16u /* only the first sessions with a time axis are read */
#define HP_HISTORY_ALL UINT32_MAX
#define HP_HISTORY_COLUMNS 240u

struct hp_history {
    const struct hp_run *run;
    struct hp_run_axis axes[HP_HISTORY_MOST];
    size_t count;
    uint64_t moments[HP_HISTORY_COLUMNS + 1]; /* since the run began; before that there is nothing */
    unsigned columns;
    double step_ns;
};

/* Reads what there is, before the run is cut. False: no memory. */
bool hp_history_read(struct hp_history *history, struct hp_arena *arena, const struct hp_run *run);

/* Selects the time for the following functions: this length, up to a moment. */
void hp_history_choose(struct hp_history *history, uint64_t length_ns, uint64_t to_ns, unsigned columns);

/*
 * Adds the rate of a counter in each step, times `unit`: with 1e-9, nanoseconds per second become threads; or the
 * maximum of a level, such as memory. For one session, or for all that have it. False: none has.
 */
bool hp_history_add(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id, double unit,
                    double *values);

/* The increase of a counter between two moments, over all sessions. */
double hp_history_gain(const struct hp_history *history, uint32_t kind, uint32_t id, uint64_t from_ns,
                       uint64_t to_ns);

/* The same of one session. */
double hp_history_gain_of(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id,
                          uint64_t from_ns, uint64_t to_ns);

/* Length of a slot of the first session with a time axis; 0: none. */
uint64_t hp_history_slot_ns(const struct hp_history *history);

#endif
