/*
 * The tasks of a run, by class: how many were created and have ended, how long they took, and how much of it they
 * ran. They run in zones of the same site. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_TASK_PROFILE_H
#define HP_MODEL_TASK_PROFILE_H

#include "object_profile.h"
#include "profile.h"

/* What tasks of a class waited for: requests of one label, which are tasks as well. */
struct hp_task_await {
    const char *name;
    uint64_t count;
    uint64_t ticks; /* in which a request was open and the task did not run; concurrent requests each count */
    struct hp_task_await *next;
};

/* Times are in ticks. */
struct hp_task_sums {
    const struct hp_object_record *row;
    struct hp_site_sums *site; /* its polls are zones of this site */
    struct hp_object_sums sums;
    uint64_t open;                /* created, but not ended */
    uint64_t wall;                /* from creation to end, of all of them; of open ones up to now */
    uint64_t polls;               /* 0: none was reported, and the following are unknown */
    uint64_t busy;                /* in which they ran */
    uint64_t waiting;             /* the rest */
    double in_flight;             /* average number of open tasks, from the first beginning to the last end */
    struct hp_task_await *awaits; /* what they are known to have waited for, the longest first */
    size_t await_count;
    uint64_t awaited; /* ticks of all of these */
};

struct hp_tasks {
    struct hp_task_sums *all; /* sorted by name */
    size_t count;
};

/* Whether an object is a class of tasks: a hp_wants_kind. */
bool hp_is_task_kind(const char *name, const struct hp_kind *kind);

/* The same for what tasks waited for. */
bool hp_is_await_kind(const char *name, const struct hp_kind *kind);

/* From the objects of the run and its profile; marks the sites that are tasks. NULL: no memory. */
const struct hp_tasks *hp_tasks_of_run(struct hp_arena *arena, const struct hp_objects *objects,
                                       struct hp_profile *profile);

/* Calls of a site: of tasks, how many were created. False: unknown, as for tasks by thread. */
bool hp_task_calls(const struct hp_site_sums *site, uint64_t *ret_calls);

/* An open task. */
struct hp_open_task {
    const struct hp_object_record *row;
    const struct hp_snapshot *session;
    uint64_t age; /* ticks, as the following */
    uint64_t busy;
    uint64_t polls;
    bool is_running;
    uint32_t thread; /* offset of the record of the thread that ran it last */
};

struct hp_open_tasks {
    struct hp_open_task **all; /* the oldest first */
    size_t count;
};

const struct hp_open_tasks *hp_open_tasks_of_run(struct hp_arena *arena, const struct hp_objects *objects,
                                                 const struct hp_run *run);

/* --------------------------------------------------------------------------------------------------- slow polls */

/*
 * The slowest poll of each class of tasks, and what ran inside it: polls are zones, and the slowest call of a zone
 * is recorded.
 */

#define HP_SLOW_POLL_PARTS 4u

/* A direct callee of the poll. */
struct hp_slow_poll_part {
    const char *name;
    uint64_t calls;
    uint64_t ticks;
};

struct hp_slow_poll {
    uint64_t ticks;                                     /* 0: none was recorded */
    uint64_t self;                                      /* of that, outside its callees */
    struct hp_slow_poll_part parts[HP_SLOW_POLL_PARTS]; /* the longest first */
    uint32_t part_count;
    uint32_t left_out; /* callees that are not listed */
};

/* One per task class, in their order. NULL: no memory. */
const struct hp_slow_poll *hp_slow_polls_of(struct hp_arena *arena, const struct hp_run *run,
                                            const struct hp_profile *profile, const struct hp_tasks *tasks);

#endif
