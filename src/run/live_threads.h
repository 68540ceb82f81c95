/*
 * All threads of some processes as they are now: what each does, what it waits for and who holds that. The stacks
 * go to the collector (collector.h), kept apart by thread.
 *
 *     hp_live_threads_find(&threads, pid);            for each process
 *     hp_live_threads_look(&threads);                 again, if one has run before its zone was read
 *     hp_live_threads_find_ends(&threads);
 *     hp_live_threads_sample(&threads, folder);
 *     hp_live_threads_end(&threads);                  then hp_collector_end
 *
 * No thread is stopped. A waiting thread's stack is copied; the copy counts if the thread has not run meanwhile.
 * Running threads are sampled for a moment. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_LIVE_THREADS_H
#define HP_RUN_LIVE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wait_cause.h"

/* What the kernel counts of a thread: it has run if they changed. */
struct hp_thread_runs {
    uint64_t ran_ns, slices;
};

struct hp_live_thread {
    uint32_t pid, tid;
    char name[16];
    char state;       /* as in /proc; 'X': it has ended */
    bool is_waiting;  /* `wait` is what for; else it runs, or is ready to run */
    bool has_stack;   /* the collector has its stack, as a waiting one */
    bool is_readable; /* what it waits for is known; otherwise we lack a right */
    struct hp_wait_found wait;
    /* Private. */
    struct hp_thread_runs runs, first; /* when it was looked at, and when samples began */
    uint32_t number;                   /* of the wait, for the collector; 0: none */
};

struct hp_live_threads {
    struct hp_live_thread *all;
    size_t count, room;
    uint32_t *pids;
    size_t pid_count, pid_room;
    uint64_t began_ns;
    bool has_perf, has_rings; /* where stacks of running threads come from */
};

/* Adds a process and its threads; with `with_children`, all that descend from it. False: no memory. */
bool hp_live_threads_find(struct hp_live_threads *threads, uint32_t pid, bool with_children);

/* Looks at each thread that has run since the last look: the first time at all of them. */
void hp_live_threads_look(struct hp_live_threads *threads);

/* Whether a thread has run since it was looked at. */
bool hp_live_thread_has_run(const struct hp_live_thread *thread);

/*
 * Starts the collector, and waits until running threads have been sampled long enough. Those that wait by then are
 * looked at again. `folder`: of the run that the processes are in; NULL: none.
 */
void hp_live_threads_sample(struct hp_live_threads *threads, const char *folder);

/* Finds the processes at the other ends of pipes and sockets that threads wait for. */
void hp_live_threads_find_ends(struct hp_live_threads *threads);

/* Tells the collector which stacks count. */
void hp_live_threads_end(struct hp_live_threads *threads);

void hp_live_threads_free(struct hp_live_threads *threads);

#endif
