/*
 * Watching what the threads of a process wait for, from the kernel's files about them in /proc.
 *
 * Each look asks for every thread how long it ran and how long it was ready to run since the last look, which the kernel
 * knows exactly; the rest it waited. Where it stands at that moment says for what, and its open zones in the session say in
 * which function. So the sums are exact, and what they are credited to is sampled.
 *
 *     struct hp_watch *watch = ...;                  zeroed
 *     hp_watch_begin(watch, &target);
 *     while (hp_watch_look(watch)) ... a pause ...
 *     hp_watch_end(watch);
 *
 * The process is not disturbed, and nothing of it is trusted: its session is read and written through functions of the caller, with
 * offsets that have been checked. No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_WATCH_H
#define HP_SESSION_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crew.h"
#include "layout.h"
#include "wait_cause.h"

#define HP_WATCH_ENTRIES 256u /* of struct hp_waits */
#define HP_WATCH_THREADS 512u
#define HP_WATCH_PERIOD_US 10000u
#define HP_WATCH_LONGEST_PERIOD_US 200000u
#define HP_WATCH_HEAD_START_NS 5000000u /* that looks may take before their share of the time counts */

/*
 * Somebody who wants to know where threads wait, whether or not that is in a zone. What it takes of a thread is good if that has not run
 * meanwhile: so it is taken first, and kept or forgotten then.
 */
struct hp_wait_listener {
    /* `zone`: the site of the innermost one, plus 1; 0: none is open. */
    void (*take)(void *context, uint32_t pid, uint32_t tid, uint32_t zone, const struct hp_wait_found *found);
    uint32_t (*keep)(void *context); /* what was taken last; returns a number for it, 0: none is to be had */
    /* A wait of that number is over, and so is the number; how long it was, and of that, nobody's work. */
    void (*end)(void *context, uint32_t wait, uint64_t ns, uint64_t idle_ns);
    void *context;
};

/* Whom to watch, and how to reach its session. */
struct hp_watch_target {
    uint32_t pid;
    uint32_t left_out; /* a thread that is not watched: the one that watches; 0: none */
    hp_watch_read *read;
    hp_watch_write *write;
    void *context;
    uint32_t *files;         /* descriptors that may be kept open, counted down; NULL: none */
    const uint32_t *at_work; /* threads of other processes that were found at work; NULL: there are none */
    const struct hp_wait_listener *listener; /* NULL: nobody */
};

/* One thread. */
struct hp_watched {
    uint32_t tid;
    uint32_t round;        /* in which it was seen last */
    int file;              /* its schedstat, or -1 */
    uint32_t record;       /* in the session; 0: not known */
    uint32_t seen_without; /* threads the session had seen when this one was nowhere in it; else UINT32_MAX */
    uint32_t node;         /* where it was found last ... */
    uint32_t site;         /* ... and the site of that */
    uint64_t began_ns;     /* when it began, as far as that can be told */
    uint64_t since_ns;     /* from when on it is watched ... */
    uint64_t ran_before;   /* ... and what it had run and been ready to run by then */
    uint64_t ready_before;
    uint64_t looked_ns;
    uint64_t ran;
    uint64_t ready;
    uint64_t slices; /* times it began to run */
    int64_t settled; /* waiting that is credited, or known to be none */
    uint64_t settled_ready;
    int64_t of_this_wait; /* credited to `entry` since it was found there */
    int32_t entry;        /* where it was found waiting last; -1: nowhere yet, -2: there was no place for that */
    int64_t of_this_look; /* credited to `entry` at this look */
    uint32_t other;       /* thread that has what it waits for, or is that; 0: not known */
    uint32_t wait;        /* the listener's number for it, and what it has waited there so far */
    int64_t wait_ns, wait_idle_ns;
    bool is_waiting;
    bool is_at_work;        /* it runs, or waits for what nobody of the run does */
    bool is_beside;         /* at the last look, somebody else of the run was at work */
    uint32_t running_looks; /* at which it was found running, one after the other */
    int64_t running_floor;  /* the least that seemed to be waited at these */
    uint64_t running_switches;
    struct hp_crew_thread crew; /* what it uses */
};

/* Large; zeroed at first. Private. */
struct hp_watch {
    struct hp_watch_target target;
    uint32_t at; /* of struct hp_waits in the session */
    uint32_t round;
    uint64_t round_ns; /* when the last look began */
    uint64_t first_ns; /* and the first one */
    uint32_t threads_seen;
    uint32_t records_seen; /* the same when all records were last looked through */
    uint32_t first_record;
    uint32_t hint; /* place in `threads` where the next one is expected */
    uint32_t thread_count;
    uint32_t left_alone; /* threads for which there was no place at this look */
    uint32_t at_work;    /* threads that were found so at the last look */
    uint64_t executable; /* which one it was */
    uint32_t capacity;
    struct hp_waits sums;
    bool is_changed[HP_WATCH_ENTRIES];
    struct hp_wait entries[HP_WATCH_ENTRIES];
    uint32_t sites[HP_WATCH_ENTRIES]; /* of their nodes: threads share entries, while each has nodes of its own */
    uint32_t other_sites[HP_WATCH_ENTRIES]; /* the same of `other` */
    struct hp_watched threads[HP_WATCH_THREADS];
    struct hp_wait_finder finder;
    struct hp_crew_watch crew;
};

/* False: it is not to be watched (no place in the session, somebody else watches, another pid namespace). */
bool hp_watch_begin(struct hp_watch *watch, const struct hp_watch_target *target);

/* One look at every thread. False: the process, its program or its session is over. */
bool hp_watch_look(struct hp_watch *watch);

/* Credits what is left, and closes what was opened. */
void hp_watch_end(struct hp_watch *watch);

/*
 * The pause until the next look, when all of them together took so much processor time since watching began: at most one part
 * in a hundred is spent, over the whole time, so that one look that took long does not make blind.
 */
uint32_t hp_watch_period_us(uint64_t spent_ns, uint64_t elapsed_ns);

/* Adds what the last look took, for the reader of the session. */
void hp_watch_note(struct hp_watch *watch, uint64_t look_ns);

#endif
