/* What single threads of a run did over time. SPDX-License-Identifier: MIT */
#include "thread_activity.h"

#include <string.h>

static size_t find(const struct hp_thread_activity *threads, size_t count, uint32_t tid)
{
    size_t at = 0;
    while (at < count && threads[at].tid != tid)
        at++;
    return at;
}

static size_t list_threads(const struct hp_axis *axis, struct hp_thread_activity threads[HP_AXIS_THREADS])
{
    struct hp_axis_series series;
    size_t count = 0;
    for (uint32_t place = 0; place < HP_AXIS_SERIES && count < HP_AXIS_THREADS; place++) {
        if (!hp_axis_series(axis, place, &series) || series.kind != HP_AXIS_THREAD)
            continue;
        threads[count].tid = series.id;
        memcpy(threads[count].name, series.name, sizeof threads[count].name);
        for (unsigned part = 0; part < HP_ALL_PARTS; part++)
            threads[count].places[part] = HP_AXIS_SERIES;
        count++;
    }
    return count;
}

size_t hp_thread_activities(const struct hp_run_axis *axis, struct hp_thread_activity threads[HP_AXIS_THREADS])
{
    struct hp_axis_series series;
    const size_t count = list_threads(&axis->axis, threads);
    for (uint32_t place = 0; place < HP_AXIS_SERIES; place++) {
        if (!hp_axis_series(&axis->axis, place, &series) || series.kind != HP_AXIS_THREAD_CAUSE)
            continue;
        const size_t at = find(threads, count, series.id / HP_ALL_PARTS);
        if (at < count)
            threads[at].places[series.id % HP_ALL_PARTS] = place;
    }
    return count;
}

void hp_thread_activity_in(const struct hp_run_axis *axis, const struct hp_thread_activity *thread,
                           uint64_t from_ns, uint64_t to_ns, uint64_t ret_ns[HP_ALL_PARTS])
{
    for (unsigned part = 0; part < HP_ALL_PARTS; part++)
        ret_ns[part] = hp_run_axis_gain(axis, thread->places[part], from_ns, to_ns);
}

bool hp_thread_activity_add(const struct hp_run_axis *axis, const struct hp_thread_activity *thread,
                            enum hp_activity part, const struct hp_run_steps *steps, double unit, double *values)
{
    return hp_run_axis_add(axis, thread->places[part], steps, unit, values);
}
