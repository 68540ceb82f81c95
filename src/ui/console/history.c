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
    history->to_ns = (int64_t)to_ns;
    history->from_ns = (int64_t)to_ns - (int64_t)(length_ns > 0 ? length_ns : 1);
    history->columns = columns < HP_HISTORY_COLUMNS ? columns : HP_HISTORY_COLUMNS;
}

static uint64_t moment_of(const struct hp_history *history, unsigned column)
{
    const double part = (double)column / (double)history->columns;
    const int64_t ns = history->from_ns + (int64_t)((double)(history->to_ns - history->from_ns) * part);
    return ns > 0 ? (uint64_t)ns : 0;
}

static double step_of(const struct hp_history *history)
{
    return (double)(history->to_ns - history->from_ns) / (double)history->columns;
}

/* The index of a series, and the time from which it is known; HP_AXIS_SERIES: none. */
static uint32_t find(const struct hp_run_axis *axis, uint32_t session, uint32_t kind, uint32_t id,
                     uint32_t *ret_first)
{
    struct hp_axis_series series;
    if (session != HP_HISTORY_ALL && session != axis->session)
        return HP_AXIS_SERIES;
    const uint32_t place = hp_axis_find(&axis->axis, kind, id);
    if (place < HP_AXIS_SERIES && hp_axis_series(&axis->axis, place, &series))
        *ret_first = series.first;
    return place;
}

bool hp_history_add(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id, double unit,
                    double *values)
{
    bool is_known = false;
    for (size_t at = 0; at < history->count; at++) {
        const struct hp_run_axis *axis = &history->axes[at];
        uint32_t first = 0;
        const uint32_t place = find(axis, session, kind, id, &first);
        if (place == HP_AXIS_SERIES)
            continue;
        is_known = true;
        for (unsigned column = 0; column < history->columns; column++)
            values[column] += (double)hp_run_axis_gain(axis, place, first, moment_of(history, column),
                                                       moment_of(history, column + 1)) *
                              unit * 1e9 / step_of(history);
    }
    return is_known;
}

bool hp_history_add_level(const struct hp_history *history, uint32_t kind, uint32_t session, uint32_t id,
                          double *values)
{
    bool is_known = false;
    for (size_t at = 0; at < history->count; at++) {
        const struct hp_run_axis *axis = &history->axes[at];
        const struct hp_axis_header *header = &axis->axis.header;
        uint32_t first = 0;
        const uint32_t place = find(axis, session, kind, id, &first);
        if (place == HP_AXIS_SERIES)
            continue;
        is_known = true;
        for (unsigned column = 0; column < history->columns; column++) {
            const uint64_t from = hp_run_axis_slot_at(axis, moment_of(history, column));
            uint64_t highest = hp_axis_highest(&axis->axis, place, from,
                                               hp_run_axis_slot_at(axis, moment_of(history, column + 1)));
            /* The current slot may not have begun. */
            if (moment_of(history, column + 1) == 0)
                highest = 0;
            else if (from >= header->used && moment_of(history, column) < axis->end_ns)
                highest = hp_axis_value(&axis->axis, place, header->used - 1);
            values[column] += (double)highest;
        }
    }
    return is_known;
}

double hp_history_gain(const struct hp_history *history, uint32_t kind, uint32_t id, uint64_t from_ns,
                       uint64_t to_ns)
{
    double gain = 0;
    for (size_t at = 0; at < history->count; at++) {
        const struct hp_run_axis *axis = &history->axes[at];
        uint32_t first = 0;
        const uint32_t place = find(axis, HP_HISTORY_ALL, kind, id, &first);
        if (place < HP_AXIS_SERIES)
            gain += (double)hp_run_axis_gain(axis, place, first, from_ns, to_ns);
    }
    return gain;
}

uint64_t hp_history_slot_ns(const struct hp_history *history)
{
    return history->count > 0 ? history->axes[0].axis.header.slot_ns : 0;
}
