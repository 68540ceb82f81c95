/*
 * How the numbers of a run went, in as many equal steps as there are columns for it: read from the time axes of its sessions
 * (axis.h), with the same rule by which stretches of a run are cut.
 *
 *     hp_history_read(&history, arena, run);
 *     hp_history_choose(&history, length_ns, to_ns, 60);
 *     hp_history_add(&history, HP_AXIS_CPU, HP_HISTORY_ALL, 0, 1e-9, values);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_HISTORY_H
#define HP_CONSOLE_HISTORY_H

#include "axis.h"
#include "run.h"

struct hp_arena;

#define HP_HISTORY_MOST 16u /* sessions that have one: the first so many */
#define HP_HISTORY_ALL UINT32_MAX
#define HP_HISTORY_COLUMNS 240u

struct hp_history_axis {
    uint32_t session; /* of the run */
    uint32_t moments; /* place of the series of that */
    struct hp_axis axis;
    uint64_t end_ns; /* when the session was over, since the run began */
};

struct hp_history {
    const struct hp_run *run;
    struct hp_history_axis axes[HP_HISTORY_MOST];
    size_t count;
    uint64_t whole_ns;
    int64_t from_ns, to_ns; /* since the run began; before that there is nothing */
    unsigned columns;
};

/* Reads what there is, before the run is cut. False: no memory. */
bool hp_history_read(struct hp_history *history, struct hp_arena *arena, const struct hp_run *run);

/* What the following are about: so long a time, up to a moment. */
void hp_history_choose(struct hp_history *history, uint64_t length_ns, uint64_t to_ns, unsigned columns);

/*
 * Adds how fast a counter went in each step, times `unit`: for a second of nanoseconds that is 1e-9 threads. Of one session, or of all that
 * have it. False: nobody has.
 */
bool hp_history_add(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id, double unit,
                    double *values);

/* The same of a level, such as memory: the highest of each step. */
bool hp_history_add_level(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id,
                          double *values);

/* What a counter of all sessions went up by between two moments. */
double hp_history_gain(const struct hp_history *history, uint32_t kind, uint32_t id, uint64_t from_ns,
                       uint64_t to_ns);

/* How long a slot is, of the first that has some; 0: nobody has. */
uint64_t hp_history_slot_ns(const struct hp_history *history);

#endif
