/* Histories of a run's numbers. SPDX-License-Identifier: MIT */
#include "history.h"

#include "arena.h"

bool hp_history_read(struct hp_history *history, struct hp_arena *arena, const struct hp_run *run)
{
    *history = (struct hp_history){.run = run};
    void *bytes = NULL;
    for (uint32_t at = 0; at < run->count && history->count < HP_HISTORY_MOST; at++) {
        if (bytes == NULL && (bytes = hp_arena_take(arena, HP_AXIS_BYTES)) == NULL)
            return false;
        if (!hp_run_axis_read(&history->axes[history->count], run, at, bytes))
            continue;
        history->count++;
        bytes = NULL;
    }
    return true;
}

void hp_history_choose(struct hp_history *history, uint64_t length_ns, uint64_t to_ns, unsigned columns)
{
    const uint64_t length = length_ns > 0 ? length_ns : 1;
    history->columns = columns < HP_HISTORY_COLUMNS ? columns : HP_HISTORY_COLUMNS;
    history->step_ns = (double)length / (double)(history->columns > 0 ? history->columns : 1);
    for (unsigned at = 0; at <= history->columns; at++) {
        const double part = at > 0 ? (double)at / (double)history->columns : 0;
        const int64_t ns = (int64_t)to_ns - (int64_t)length + (int64_t)((double)length * part);
        history->moments[at] = ns > 0 ? (uint64_t)ns : 0;
    }
}

/* The index of a series; HP_AXIS_SERIES: none. */
static uint32_t find(const struct hp_run_axis *axis, uint32_t session, uint32_t kind, uint32_t id)
{
    return session == HP_HISTORY_ALL || session == axis->session ? hp_axis_find(&axis->axis, kind, id)
                                                                 : HP_AXIS_SERIES;
}

bool hp_history_add(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id, double unit,
                    double *values)
{
    const struct hp_run_steps steps = {.moments = history->moments, .count = history->columns, .are_live = true};
    bool is_known = false;
    for (size_t at = 0; at < history->count; at++)
        is_known |= hp_run_axis_add(&history->axes[at], find(&history->axes[at], session, kind, id), &steps,
                                    unit * 1e9 / history->step_ns, values);
    return is_known;
}

double hp_history_gain_of(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id,
                          uint64_t from_ns, uint64_t to_ns)
{
    double gain = 0;
    for (size_t at = 0; at < history->count; at++)
        gain += (double)hp_run_axis_gain(&history->axes[at], find(&history->axes[at], session, kind, id), from_ns,
                                         to_ns);
    return gain;
}

double hp_history_gain(const struct hp_history *history, uint32_t kind, uint32_t id, uint64_t from_ns,
                       uint64_t to_ns)
{
    return hp_history_gain_of(history, kind, HP_HISTORY_ALL, id, from_ns, to_ns);
}

uint64_t hp_history_slot_ns(const struct hp_history *history)
{
    return history->count > 0 ? history->axes[0].axis.header.slot_ns : 0;
}
