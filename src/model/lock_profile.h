/*
 * The locks of a run, with names: what hooks counted in each process (lock_layout.h), added up. Equal locks of
 * several processes are one row. Made by src/stacks/names/lock_names.h. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_LOCK_PROFILE_H
#define HP_MODEL_LOCK_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "code_place.h"
#include "lock_layout.h"

struct hp_lock_row {
    const char *name;
    uint32_t kind; /* enum hp_lock_kind */
    bool is_made;  /* `function` made it; else it used it first */
    struct hp_code_place function;
    uint64_t instances, processes;
    uint64_t locked, contended, waits, timeouts;
    /* In nanoseconds; these are all of wait_ns: holders, waking up, unknown. */
    double wait_ns, blame_ns, latency_ns, unknown_ns;
    double wait_longest_ns;
    double watched_ns, free_ns; /* of wait_ns: whether a CPU was free is known, and one was */
    uint64_t holds;             /* those that were timed */
    double hold_ns, hold_longest_ns;
    uint32_t longest_queue;
    uint64_t wait_steps[HP_LOCK_WAIT_STEPS], hold_steps[HP_LOCK_HOLD_STEPS]; /* in ticks of tick_ns */
    double tick_ns;
    const struct hp_lock_block *worst; /* the pair with most of blame_ns; NULL: none */
};

/* Who let whom wait for what. */
struct hp_lock_block {
    const struct hp_lock_row *lock;
    const char *waiter; /* NULL: threads waited in several functions */
    const char *holder; /* of a condition: the function that signaled it; NULL: unknown */
    uint64_t count;
    double ns, longest_ns;
};

/* The tables of one process, by which others refer to its locks and calls. */
struct hp_lock_process {
    uint32_t pid;
    uint32_t place_count, site_count;
    struct hp_lock_row *const *places; /* NULL: none */
    const struct hp_code_place *sites;
};

struct hp_lock_profile {
    struct hp_lock_row **rows; /* the most time waited first */
    size_t row_count;
    struct hp_lock_block *blocks; /* the most time first */
    size_t block_count;
    struct hp_lock_process *tables;
    size_t table_count;
    uint64_t processes;
    uint64_t unnamed; /* uses of locks without a row of their own, for lack of space */
    bool times_every_hold;
};

/* The tables of a process; NULL: there are none, or several, since it executed another program. */
static inline const struct hp_lock_process *hp_lock_process_of(const struct hp_lock_profile *profile, uint32_t pid)
{
    const struct hp_lock_process *found = NULL;
    for (size_t at = 0; profile != NULL && at < profile->table_count; at++) {
        if (profile->tables[at].pid != pid)
            continue;
        if (found != NULL)
            return NULL;
        found = &profile->tables[at];
    }
    return found;
}

/* The lock of a place, and the function of a site, by their numbers there. NULL: unknown. */
static inline const struct hp_lock_row *hp_lock_of_place(const struct hp_lock_process *process, uint32_t place)
{
    return process != NULL && place != 0 && place <= process->place_count ? process->places[place - 1] : NULL;
}
static inline const char *hp_lock_function_of(const struct hp_lock_process *process, uint32_t site)
{
    return process != NULL && site != 0 && site <= process->site_count ? process->sites[site - 1].name : NULL;
}

#endif
