/*
 * Sampling what the threads of a process wait for, from the kernel's files in /proc.
 *
 * Each sample reads for every thread how long it ran and how long it was ready to run since the last sample, which
 * the kernel knows exactly; the rest it waited. Its state at that moment tells what for, and its open zones in the
 * session tell in which function. So the sums are exact, and their attribution is sampled.
 *
 *     struct hp_proc_sampler *sampler = ...;                zeroed
 *     hp_proc_sampler_begin(sampler, &target);
 *     while (hp_proc_sample(sampler)) ... a pause ...
 *     hp_proc_sampler_end(sampler);
 *
 * The process is not disturbed, and nothing of it is trusted: its session is read and written through functions of
 * the caller, with checked offsets. No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_PROC_SAMPLER_H
#define HP_OBSERVE_PROC_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "run_work.h"
#include "thread_usage.h"
#include "wait_cause.h"

/* ---------------------------------------------------------------------------------------------------- its state */

/* Its target, each thread, and the sums. All but the target and the listener is private to proc_sampler.c. */

#define HP_WATCH_ENTRIES 256u /* of struct hp_waits */
#define HP_WATCH_THREADS 512u
#define HP_WATCH_PERIOD_US 10000u
#define HP_WATCH_LONGEST_PERIOD_US 200000u
#define HP_WATCH_HEAD_START_NS 5000000u /* CPU time that samples may take before the limit on their share applies */

/* A thread that waits for a lock, and the thread that was read from the lock as its owner. */
struct hp_wait_held {
    uint32_t pid, tid;    /* the waiting thread */
    uint64_t slices;      /* how often that has begun to run */
    uint64_t lock;        /* address */
    uint32_t wait;        /* the listener's number of the wait */
    uint64_t ns;          /* waited since the last look */
    uint32_t holder;      /* thread of the same process; 0: unknown */
    uint32_t holder_wait; /* the number of its own wait; 0: it runs, or is ready to */
    uint64_t holder_slices;
};

struct hp_wait_stretch {
    uint64_t from_ns, to_ns; /* by CLOCK_MONOTONIC */
    int64_t ns, idle_ns;
};

/*
 * A listener for the places where threads wait, in a zone or not. What it takes of a thread is valid only if the
 * thread has not run meanwhile: so it is taken first, then kept or dropped.
 */
struct hp_wait_listener {
    /* `zone`: the site of the innermost zone, plus 1; 0: none is open. */
    void (*take)(void *context, uint32_t pid, uint32_t tid, uint32_t zone, const struct hp_wait_found *found);
    uint32_t (*keep)(void *context); /* keeps what was taken last; returns a number for it; 0: not possible */
    /* After each look; NULL: of no interest. */
    void (*held)(void *context, const struct hp_wait_held *held);
    /*
     * That wait went on between two moments: for how long, and how much of that was idle. A long one is told of
     * while it goes on. Negative: it was told of too much.
     */
    void (*add)(void *context, uint32_t wait, const struct hp_wait_stretch *stretch);
    void (*end)(void *context, uint32_t wait); /* it is over, and its number is free */
    void *context;
};

/* The process to observe, and access to its session. */
struct hp_proc_sampler_target {
    uint32_t pid;
    uint32_t left_out; /* a thread to leave out: the observer itself; 0: none */
    hp_proc_sampler_read *read;
    hp_proc_sampler_write *write;
    void *context;
    uint32_t *files;         /* budget of descriptors that may stay open, counted down; NULL: none */
    const uint32_t *at_work; /* threads of other processes found at work; NULL: none */
    const struct hp_wait_listener *listener; /* NULL: none */
    hp_find_other_end *other_end;            /* NULL: ends of pipes and sockets are not looked for */
    void *ends;                              /* its context */
    const struct hp_work_times *work;        /* of the run; NULL: this process is the run */
};

/* One thread. */
struct hp_watched {
    uint32_t tid;
    uint32_t round;        /* round in which it was last seen */
    int file;              /* its schedstat, or -1 */
    uint32_t record;       /* in the session; 0: unknown */
    uint32_t seen_without; /* threads the session had seen when this one was not in it; else UINT32_MAX */
    uint32_t node;         /* where it was last found ... */
    uint32_t site;         /* ... and the site of that */
    uint64_t began_ns;     /* its start, as far as known */
    uint64_t since_ns;     /* observed since ... */
    uint64_t ran_before;   /* ... and its times running and ready to run by then */
    uint64_t ready_before;
    bool may_be_queued; /* since before it was first observed */
    uint64_t looked_ns;
    uint64_t ran;
    uint64_t ready;
    uint64_t slices; /* how often it began to run */
    int64_t settled; /* waiting time that is credited, or known to be none */
    uint64_t settled_ready;
    int64_t of_this_wait; /* credited to `entry` since it was found there */
    int32_t entry;        /* where it was last found waiting; -1: nowhere yet, -2: no entry was free */
    int64_t of_this_look; /* credited to `entry` at this sample */
    uint32_t other;       /* thread that owns what it waits for, or is waited for itself; 0: unknown */
    uint64_t lock;        /* address of the lock it waits for; 0: none */
    uint32_t wait; /* the listener's number for the wait, its duration so far, and what it was told of that */
    int64_t wait_ns, wait_idle_ns;
    uint64_t told_ns, told_idle_ns;
    uint64_t told_until_ns, wait_until_ns; /* moments: the last that it was told of, and the last that is known */
    bool is_waiting;
    bool is_at_work;        /* it runs, or waits for something outside of the run */
    bool is_beside;         /* at the last sample, another thread of the run was at work */
    uint32_t running_looks; /* consecutive samples that found it running */
    int64_t running_floor;  /* minimum of its apparent waiting time at these */
    uint64_t running_switches;
    struct hp_thread_usage_thread usage; /* what it uses */
};

/* Large; zeroed at first. Private. */
struct hp_proc_sampler {
    struct hp_proc_sampler_target target;
    uint32_t at; /* offset of struct hp_waits in the session */
    uint32_t round;
    uint64_t round_ns; /* start of the last sample */
    uint64_t first_ns; /* start of the first sample */
    uint32_t threads_seen;
    uint32_t records_seen; /* the same when all records were last scanned */
    uint32_t first_record;
    uint32_t hint; /* index in `threads` where the next one is expected */
    uint32_t thread_count;
    uint32_t left_alone;        /* threads without an entry at this sample */
    uint32_t at_work;           /* threads found at work at the last sample */
    struct hp_work_found found; /* at the last sample; for the caller */
    struct hp_work work;        /* of this process alone */
    uint64_t executable;        /* identity of the program */
    uint32_t capacity;
    struct hp_waits sums;
    bool is_changed[HP_WATCH_ENTRIES];
    struct hp_wait entries[HP_WATCH_ENTRIES];
    uint32_t sites[HP_WATCH_ENTRIES]; /* sites of their nodes: threads share entries, but each has its own nodes */
    uint32_t other_sites[HP_WATCH_ENTRIES]; /* the same for `other` */
    struct hp_watched threads[HP_WATCH_THREADS];
    struct hp_wait_finder finder;
    struct hp_thread_usage_watch usage;
};

/* False: not to be observed (no space in the session, another observer, another pid namespace). */
bool hp_proc_sampler_begin(struct hp_proc_sampler *sampler, const struct hp_proc_sampler_target *target);

/* Looks at every thread once. False: the process, its program or its session is over. */
bool hp_proc_sample(struct hp_proc_sampler *sampler);

/* Credits the rest, and closes all descriptors. */
void hp_proc_sampler_end(struct hp_proc_sampler *sampler);

/*
 * The pause until the next sample, if all samples so far took `spent_ns` of CPU time: at most 1/100 of the whole
 * time is spent, and the pause is no longer than half of the time so far, so that a single long look does not cause
 * a long gap.
 */
uint32_t hp_proc_sampler_period_us(uint64_t spent_ns, uint64_t elapsed_ns);

/* Adds the cost of the last sample, for readers of the session. */
void hp_proc_sampler_note(struct hp_proc_sampler *sampler, uint64_t look_ns);

#endif
