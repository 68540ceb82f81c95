/*
 * In how much of a run anything worked: the union over all threads of all processes, from one look to the next.
 *
 * Each look finds out whether a thread runs, or is ready to run, at that moment. The looks are at times that have
 * nothing to do with the program, so their share is that of the time. It lies between two bounds, which are added
 * up as well: in each period something worked for at least as long as its busiest thread, and for at most as long
 * as all of them together. A single busy thread makes both equal, and the result exact.
 *
 *     struct hp_work work = {0};
 *     hp_work_begin(&work, now);
 *     hp_work_add(&work, &found, now);        after each look
 *
 * No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_RUN_WORK_H
#define HP_OBSERVE_RUN_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

/* What one look found, in one process or in all. */
struct hp_work_found {
    uint64_t sum_ns;     /* time on a CPU and time ready to run since the look before, of all threads */
    uint64_t ran_ns;     /* the part of it on a CPU */
    uint64_t longest_ns; /* the longest of one thread */
    bool is_working;     /* a thread runs, or is ready to run */
    bool is_queued;      /* one is at work whose time is not in the sums yet */
    bool is_blocked;     /* one waits for a disk, or for a page that has to be read */
    bool is_at_socket;   /* one waits for a socket */
};

/* Zeroed at first. The fields are private. */
struct hp_work {
    uint64_t began_ns, latest_ns;
    uint64_t found_ns; /* by what was found at the looks */
    uint64_t least_ns, most_ns;
    uint64_t blocked_ns, socket_ns; /* by the looks that found nothing at work */
    uint64_t quiet_ns;              /* since something was last found at work */
};

/* Adds what was found in another process at the same look. */
void hp_work_join(struct hp_work_found *all, const struct hp_work_found *found);

void hp_work_begin(struct hp_work *work, uint64_t now);
void hp_work_add(struct hp_work *work, const struct hp_work_found *found, uint64_t now);

/* `worked_ns` never falls; the times of waiting do where it is made up for. */
struct hp_work_times hp_work_times(const struct hp_work *work);

#endif
