/*
 * Where stacks come from: the kernel's samples, samples and allocations that processes record themselves, and
 * waiting threads. Each source puts events into a queue (event_queue.h) for the collector.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_SOURCES_H
#define HP_COLLECT_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "running_threads.h"

/* ------------------------------------------------------------------------------------------------ perf_source.c */

/*
 * Samples of all processes of a run, taken by the kernel: registers, and the stack bytes above them. No code runs
 * in the program, and it gets no signals. Needs kernel.perf_event_paranoid of 2 or less.
 *
 * A thread only empties the kernel's rings; the events are queued (event_queue.h) for the collector.
 */

/*
 * Starts to sample a process that does not run yet, and all its descendants, every `period_ns` of each thread's CPU
 * time. False: the kernel refused.
 */
bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns);

/* What is to be sampled of a running process. */
struct hp_attached {
    uint32_t pid, tid; /* one thread; 0: all of them */
};

/*
 * The same for running processes: their current threads, or one of them, and all that these start. False: one of
 * them is refused.
 */
bool hp_perf_source_attach(const struct hp_attached *tasks, size_t count, uint64_t period_ns);

/* Whether samples come from kernel mode, too. */
bool hp_perf_source_has_kernel(void);

/* When threads of the run got a CPU and left it. */
struct hp_switches *hp_perf_source_switches(void);

/* Stops the thread. Queued events can still be taken. */
void hp_perf_source_end(void);

/* ------------------------------------------------------------------------------------------------ ring_source.c */

/*
 * Samples from inside the processes of a run. They know their zones, and work where the kernel refuses perf. Each
 * process that uses CPU time makes a ring (stack_ring.h) in the folder of the run: one for threads with zones, one
 * for those without. A thread finds the rings, reads them, and asks the kernel for the mappings of their processes;
 * all events are queued (event_queue.h) for the collector.
 */

/* False: not possible. */
bool hp_ring_source_begin(const char *folder);

/*
 * The same for a run of another `hotpath run`, which goes on reading: the rings are only looked at, from now on.
 * False: not possible.
 */
bool hp_ring_source_visit(const char *folder);

/* Stops the thread, and reads the rest. The rings are removed, unless they were only looked at. */
void hp_ring_source_end(void);

/* CPU time of all reaped processes of the run, less what samples stand for. Call it after the end. */
uint64_t hp_ring_source_unsampled_ns(void);

/*
 * Threads that could not be sampled, because they have alternate signal stacks of the program. Call it after the
 * end.
 */
uint64_t hp_ring_source_refused(void);

/* ------------------------------------------------------------------------------------------------ heap_source.c */

/*
 * Sampled allocations of the processes of a run, from the rings in its folder (stack_ring.h,
 * record/alloc/heap_samples.h). Each becomes an event, in a queue of its own. For one thread of ours only.
 */

/* Starts reading the rings of that folder. */
void hp_heap_source_begin(const char *folder);

/* Tells it that no other source reports mappings. */
void hp_heap_source_need_maps(void);

/*
 * Reads what is there. `is_last`: everything, and stops; processes that go on are told so. Returns how many were
 * lost since the last call.
 */
uint64_t hp_heap_source_read(bool is_last);

/* ------------------------------------------------------------------------------------------------ wait_source.c */

/*
 * Stacks of waiting threads, read from outside while they wait: the kernel reports the registers of such a thread,
 * and lets us copy its memory. The thread is not touched. For one thread of ours only, the observer.
 */

/* A thread that was found waiting. */
struct hp_wait_look {
    uint32_t pid, tid;
    uint64_t sp, pc;        /* 0: unknown */
    uint32_t cause;         /* a number stored with it */
    const char *text;       /* what it waits for */
    uint32_t session, site; /* of its zone, as in event_queue.h */
};

/* Reports that the process runs another program now, as far as the observer knows. */
void hp_wait_source_meet(uint32_t pid);

/* Copies its stack. The copy is valid if the thread has not run until this returns. */
void hp_wait_source_take(const struct hp_wait_look *look);

/* Confirms that it is valid. Returns a number for the wait, or 0: none is left. */
uint32_t hp_wait_source_keep(void);

/* A wait for a lock that another thread holds. */
struct hp_held_lock {
    uint32_t wait, holder_wait; /* the number of the holder's own wait; 0: it runs */
    uint32_t tid;               /* the holder */
    uint64_t from_ns, to_ns;    /* it held the lock all the time from one to the other; from 0: not known */
    uint64_t ns;                /* waited since the last look */
};

void hp_wait_source_hold(const struct hp_held_lock *held);
/* It went on between two moments, for so long; negative: for less than was added. */
void hp_wait_source_add(uint32_t wait, uint64_t from_ns, uint64_t to_ns, int64_t ns, int64_t idle_ns);

/* The wait has ended; its number is free. */
void hp_wait_source_end(uint32_t wait);

/* A segment of a thread's critical path ended at that moment; its number in the session. */
struct hp_ended_segment {
    uint32_t pid, tid, key;
    uint64_t ns;
};
void hp_wait_source_segment(const struct hp_ended_segment *segment);

#endif
