/*
 * Tasks in the session file: operations that begin at one place and end at another, on any thread, and may run in stretches (polls)
 * between. A label is a class of objects (object_layout.h), whose counters these are; its polls are zones of the same site. Each task
 * that is open has a slot, so that a process that was killed shows what it was waiting for.
 *
 *   header ─▶ tasks (a list of chunks) ─▶ slots ─▶ object
 *
 * Who writes: a slot, whoever creates the task, then whoever runs or ends it, which is one thread at a time unless the host is wrong.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_TASK_LAYOUT_H
#define HP_SESSION_TASK_LAYOUT_H

#include <stdint.h>

enum hp_task_counter {
    HP_TASK_CREATED,
    HP_TASK_READY,
    HP_TASK_CANCELLED,
    HP_TASK_BORN_TICKS,  /* the moments at which tasks were created, added up; may wrap */
    HP_TASK_ENDED_TICKS, /* the same of those that have ended */
    HP_TASK_LONG_POLLS,  /* polls of HP_LONG_POLL_MS and more */
    HP_TASK_MISUSED,     /* uses of a task that had ended, or that another thread was running */
    HP_TASK_WITHOUT_SLOT,
    HP_TASK_MOST_OPEN, /* looked at now and then */
};

enum { HP_TASK_WALLS }; /* histograms: ticks from creation to end */

#define HP_LONG_POLL_MS 10u

struct hp_task_slot {
    uint32_t self;       /* its own offset, so that nothing else is taken for one */
    uint32_t generation; /* odd: a task has it */
    uint32_t object;     /* offset of its class */
    uint32_t number;     /* of its class in the process */
    uint64_t born;
    uint64_t busy;       /* ticks of polls that have ended */
    uint64_t poll_start; /* 0: it does not run */
    uint32_t polls;      /* that have ended */
    uint32_t thread;     /* offset of the record of the thread that ran it last */
    uint32_t
        next; /* of free ones: offset of another one; of a task: number of the site that its polls are zones of */
    uint32_t next_batch; /* of the first of a batch of free ones: offset of that of another batch */
    uint64_t id;         /* the number by which the program knows the task; 0: it is free */
    uint32_t extras;     /* HP_TASK_..., which few have, on a line of their own: */
    uint32_t reserved;
    uint64_t lane;         /* that its polls are on */
    uint64_t waiting;      /* the task that waits for it: its number in the process ... */
    uint64_t waiting_busy; /* ... and for how long that had run when this one was created */
    uint64_t apart[4];
};

#define HP_TASK_HAS_LANE 1u
#define HP_TASK_IS_AWAITED 2u

#define HP_TASK_SLOTS 32u /* of a chunk, and of a batch of free ones */

/*
 * What tasks wait for: a class is what was waited for, and its instances, whose keys are the numbers of sites and 1, are who waited. Of
 * requests that wait at the same time, each counts.
 */
enum hp_await_counter {
    HP_AWAIT_COUNT,
    HP_AWAIT_TICKS, /* in which it was open, and who waited for it did not run */
};

struct hp_task_chunk {
    uint32_t next; /* offset of an older one */
    uint32_t reserved[15];
    struct hp_task_slot slots[HP_TASK_SLOTS];
};

_Static_assert(sizeof(struct hp_task_slot) == 128, "part of the file");

#endif
