/*
 * Tasks in the session file: operations that begin at one place and end at another, on any thread, and may run in
 * stretches (polls) in between. A label is a class of objects (object_layout.h) with these counters; its polls are
 * zones of the same site. Each open task has a slot, so that a process that was killed shows what it was waiting
 * for.
 *
 *   header ─▶ tasks (a list of chunks) ─▶ slots ─▶ object
 *
 * Writers of a slot: the thread that creates the task, then the thread that runs or ends it; one at a time, unless
 * the host has a bug. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_TASK_LAYOUT_H
#define HP_FORMAT_TASK_LAYOUT_H

#include <stdint.h>

enum hp_task_counter {
    HP_TASK_CREATED,
    HP_TASK_READY,
    HP_TASK_CANCELLED,
    HP_TASK_BORN_TICKS,  /* sum of the times at which tasks were created; may wrap */
    HP_TASK_ENDED_TICKS, /* the same for ended tasks */
    HP_TASK_LONG_POLLS,  /* polls of HP_LONG_POLL_MS or longer */
    HP_TASK_MISUSED,     /* uses of a task that had ended, or polls while it ran on another thread */
    HP_TASK_WITHOUT_SLOT,
    HP_TASK_MOST_OPEN, /* sampled now and then */
};

enum { HP_TASK_WALLS }; /* histograms: ticks from creation to end */

#define HP_LONG_POLL_MS 10u

struct hp_task_slot {
    uint32_t self;       /* its own offset, so that nothing else is mistaken for a slot */
    uint32_t generation; /* odd: in use by a task */
    uint32_t object;     /* offset of its class */
    uint32_t number;     /* its class's number in the process */
    uint64_t born;
    uint64_t busy;         /* ticks of finished polls */
    uint64_t poll_start;   /* 0: it does not run */
    uint32_t polls;        /* finished polls */
    uint32_t thread;       /* offset of the record of the thread that last ran it */
    uint32_t next;         /* free slot: offset of the next one; task: id of the site of its polls */
    uint32_t next_batch;   /* first of a batch of free slots: offset of the next batch */
    uint64_t id;           /* the id by which the program knows the task; 0: free */
    uint32_t extras;       /* HP_TASK_..., rarely used, on its own cache line: */
    uint32_t allocs;       /* HP_TASK_IS_LOGGED: offset of hp_task_allocs */
    uint64_t lane;         /* lane of its polls */
    uint64_t waiting;      /* the task that waits for it: its id in the process ... */
    uint64_t waiting_busy; /* ... and its running time when this one was created */
    uint64_t inside_since; /* poll_start of its latest poll inside a poll of another task ... */
    uint64_t inside;       /* ... and that task's id */
    uint64_t cut_id;       /* the latest task of the slot that another thread ended while it ran ... */
    uint64_t cut_at;       /* ... and when */
};

#define HP_TASK_HAS_LANE 1u
#define HP_TASK_IS_AWAITED 2u
#define HP_TASK_IS_LOGGED 4u

/* What a logged task has allocated. It belongs to its slot, also when other tasks have that. */
struct hp_task_allocs {
    uint64_t bytes, count;             /* in finished polls */
    uint64_t begun_bytes, begun_count; /* what the thread had allocated when the present poll began */
};

#define HP_TASK_SLOTS 32u /* per chunk, and per batch of free ones */

/*
 * What tasks wait for: a class is what was waited for; its instances, with site ids plus 1 as keys, are the waiting
 * classes. Requests that are open at the same time count each.
 */
enum hp_await_counter {
    HP_AWAIT_COUNT,
    HP_AWAIT_TICKS, /* while it was open and its waiter did not run */
};

struct hp_task_chunk {
    uint32_t next; /* offset of an older one */
    uint32_t reserved[15];
    struct hp_task_slot slots[HP_TASK_SLOTS];
};

_Static_assert(sizeof(struct hp_task_slot) == 128, "part of the file");

#endif
