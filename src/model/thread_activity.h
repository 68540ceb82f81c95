/*
 * What single threads of a run did over time: nanoseconds per group of causes (enum hp_activity in axis.h), for a
 * time range, or in the steps of a picture. All of a thread's groups together are its time, as far as it was seen.
 *
 *     hp_run_axis_read(&axis, run, session, bytes);
 *     count = hp_thread_activities(&axis, threads);
 *     hp_thread_activity_in(&axis, &threads[0], from_ns, to_ns, ns);         ns[HP_PART_LOCK]: waited for locks
 *     hp_thread_activity_add(&axis, &threads[0], HP_PART_LOCK, &steps, 1, values);
 *
 * Up to HP_AXIS_THREADS threads of each session have this: those that were active for longest, that is, ran or
 * waited for anything but new work. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_THREAD_ACTIVITY_H
#define HP_MODEL_THREAD_ACTIVITY_H

#include "run.h"

struct hp_thread_activity {
    uint32_t tid;
    char name[16];
    uint32_t places[HP_ALL_PARTS]; /* of series on the axis; HP_AXIS_SERIES: it did none of that */
};

/* Lists the threads of a session; returns how many. */
size_t hp_thread_activities(const struct hp_run_axis *axis, struct hp_thread_activity threads[HP_AXIS_THREADS]);

/* What a thread did between two times since the run began, in ns. */
void hp_thread_activity_in(const struct hp_run_axis *axis, const struct hp_thread_activity *thread,
                           uint64_t from_ns, uint64_t to_ns, uint64_t ret_ns[HP_ALL_PARTS]);

/* Adds the ns of one group in each step, times `unit`, to the values. False: it did none of that. */
bool hp_thread_activity_add(const struct hp_run_axis *axis, const struct hp_thread_activity *thread,
                            enum hp_activity part, const struct hp_run_steps *steps, double unit, double *values);

#endif
