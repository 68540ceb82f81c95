/*
 * What the kernel tells about other processes: events of those of a run (fork, exec and exit), and CPU time.
 *
 * Events come from perf, which follows all descendants of a process, as `perf record` does, and needs no privileges
 * where kernel.perf_event_paranoid is 2 or less. The processes are not touched. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_TASK_EVENTS_H
#define HP_OBSERVE_TASK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

enum hp_task_event_kind {
    HP_TASK_FORKED,   /* `parent` forked `pid` */
    HP_TASK_EXECUTED, /* `text` is its comm from now on */
    HP_TASK_MAPPED,   /* mapped code of the file `text`; the first after an exec is the program itself */
    HP_TASK_THREAD,   /* it has one more thread */
    HP_TASK_ENDED,    /* one thread ended; with the last one the process */
    HP_TASK_MISSED,   /* events were lost: the ring was full */
    HP_TASK_FLOODED   /* the same, and nearly all events were mappings, as from a JIT */
};

struct hp_task_event {
    uint64_t ns; /* by CLOCK_MONOTONIC */
    enum hp_task_event_kind kind;
    uint32_t pid, parent;
    char text[256];
};

/* Starts listening to a process that does not run yet. False: the kernel refused. */
bool hp_task_events_begin(uint32_t pid);

/*
 * Calls `take` for all events since the last call, in order of time. The most recent ones are held back until the
 * next call, since another CPU may still deliver an earlier one, unless `is_last`.
 */
typedef void hp_take_event(const struct hp_task_event *event);
void hp_task_events_take(hp_take_event *take, bool is_last);

void hp_task_events_end(void);

static inline uint64_t hp_timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* CPU time of all threads of a process, including ended ones. 0: no such process. */
uint64_t hp_used_by(uint32_t pid);

/* Of all reaped children and the children that they reaped. */
uint64_t hp_used_by_children(void);

#endif
