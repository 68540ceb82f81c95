/*
 * What the kernel tells of the processes of a run: who began, became another program, and ended. It comes by perf, which follows all descendants of a process, as `perf record` does, and needs no privileges where
 * kernel.perf_event_paranoid is 2 or less. Nothing of it touches the processes. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_TASK_EVENTS_H
#define HP_CLI_TASK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hp_task_event_kind {
    HP_TASK_FORKED,   /* `pid` was begun by `parent` */
    HP_TASK_EXECUTED, /* `text` is its name from now on */
    HP_TASK_MAPPED,   /* code of the file `text`; the first after an execution is the program itself */
    HP_TASK_THREAD,   /* it has one more */
    HP_TASK_ENDED,    /* one of its threads; with the last of them the process */
    HP_TASK_MISSED,   /* events were lost: the kernel had no space for them */
    HP_TASK_FLOODED /* the same, and all but a few that came were of mapped code: programs that make code do that */
};

struct hp_task_event {
    uint64_t ns; /* by CLOCK_MONOTONIC */
    enum hp_task_event_kind kind;
    uint32_t pid, parent;
    char text[256];
};

/* Begins to listen to a process that has not begun to run yet. False: the kernel does not let us. */
bool hp_task_events_begin(uint32_t pid);

/*
 * Calls `take` for all events since the last time, in order of time; for the most recent ones the next time, since another
 * processor may be about to tell something earlier, unless it `is_last`.
 */
typedef void hp_take_event(const struct hp_task_event *event);
void hp_task_events_take(hp_take_event *take, bool is_last);

void hp_task_events_end(void);

#endif
