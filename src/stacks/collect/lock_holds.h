/*
 * Where the locks that threads waited for were held: waiting stacks, joined with those of the threads that were
 * read from the locks as their owners.
 *
 * An owner that waits itself has the stack of its wait. For one that runs there are samples: those count that were
 * taken while it is known to have held the lock. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_LOCK_HOLDS_H
#define HP_COLLECT_LOCK_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash_index.h"

/* A stack that waited for a lock, and one that its owner had meanwhile: their innermost nodes. */
struct hp_lock_hold {
    uint32_t waiter, holder;
    uint64_t ns;      /* waited while the owner was there */
    uint64_t samples; /* that found the owner there */
};

/* A sample of the last moments. */
struct hp_recent_sample {
    uint64_t ns;
    uint32_t tid, node;
};

/* An owner that ran while another thread waited. */
struct hp_running_hold {
    uint64_t from_ns, to_ns; /* it held the lock all the time from one to the other; equal: not known */
    uint64_t ns;             /* that the other thread waited, since it was last looked at */
    uint32_t waiter, tid;    /* the node of the waiting stack; the owner */
};

/* How long threads waited at a node while owners ran, and how much of that has samples. */
struct hp_running_waiter {
    uint64_t ns, found_ns;
};

/*
 *     struct hp_lock_holds holds = {0};
 *     hp_lock_holds_sample(&holds, ns, tid, node);         each sample, roughly in order of time
 *     hp_lock_holds_add(&holds, waiter, holder, ns, 1);    an owner that waits
 *     hp_lock_holds_run(&holds, &hold);                    an owner that runs
 *     hp_lock_holds_settle(&holds, until_ns);              all samples up to then were added
 *     hp_lock_holds_end(&holds);                           now all of them have their time
 */
struct hp_lock_holds {
    struct hp_lock_hold *all;
    size_t count;
    /* Private from here on. */
    size_t room;
    struct hp_pair_table pairs;        /* waiter and holder, of `all` */
    struct hp_running_hold *pending;   /* for which samples may still come */
    struct hp_recent_sample *samples;  /* in order of time */
    struct hp_pair_table waiter_nodes; /* those with owners that ran */
    struct hp_running_waiter *waiters; /* by number there */
    bool *is_sampled;                  /* by number in `all`: the owner ran */
    bool is_ended;
    size_t pending_count, pending_room, sample_count, sample_room, waiter_room, sampled_room;
};

void hp_lock_holds_sample(struct hp_lock_holds *holds, uint64_t ns, uint32_t tid, uint32_t node);

/* False: no memory; nothing is added. */
bool hp_lock_holds_add(struct hp_lock_holds *holds, uint32_t waiter, uint32_t holder, uint64_t ns,
                       uint64_t samples);
void hp_lock_holds_run(struct hp_lock_holds *holds, const struct hp_running_hold *hold);
void hp_lock_holds_settle(struct hp_lock_holds *holds, uint64_t until_ns);

/* Divides the time in which owners ran among the samples that were found. */
void hp_lock_holds_end(struct hp_lock_holds *holds);

/* The time of a hold, by its number in `all`, before the end as well. */
uint64_t hp_lock_hold_ns(const struct hp_lock_holds *holds, size_t number);
void hp_lock_holds_free(struct hp_lock_holds *holds);

#endif
