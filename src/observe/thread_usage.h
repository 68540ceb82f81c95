/*
 * What the threads of a process use, by the kernel's accounting: CPU time, context switches, and, with the data of
 * the session, allocations. Part of watching (proc_sampler.h), which calls these at its probes; a few times per
 * second everything is brought up to date.
 *
 *     hp_thread_usage_begin(&usage, &target, header.thread_usage);
 *     hp_thread_usage_probe_begin(&usage, now);
 *     ... hp_thread_usage_probe(&usage, &thread->usage, &seen) for each thread,
 *     hp_thread_usage_part(...) for those that are gone
 *     hp_thread_usage_probe_end(&usage, thread_count, now);
 *
 * No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_THREAD_USAGE_H
#define HP_OBSERVE_THREAD_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "layout.h"

#define HP_THREAD_USAGE_ROWS 128u
#define HP_THREAD_USAGE_PERIOD_NS UINT64_C(250000000)

/* False: the session is over, or the bytes do not exist. */
typedef bool hp_proc_sampler_read(void *context, uint32_t offset, void *to, size_t bytes);
typedef bool hp_proc_sampler_write(void *context, uint32_t offset, const void *from, size_t bytes);

/* A thread's schedstat at a look. */
struct hp_thread_usage_seen {
    uint32_t tid;
    uint64_t ran;
    uint64_t slices;
    uint64_t began_ns;
    uint64_t now;
};

/* What has been counted of a thread so far; zeroed at first. Private. */
struct hp_thread_usage_thread {
    uint32_t place; /* index of its row, plus 1; 0: not looked at yet, UINT32_MAX: it has none */
    uint32_t record;
    uint32_t generation;
    char state;
    uint64_t slices;
    uint64_t looked_ns;
    uint64_t user_ns, kernel_ns;
    uint64_t voluntary, involuntary;
    int64_t waited_ns[HP_THREAD_USAGE_CAUSES];          /* not yet added to its row */
    uint64_t beside_ns[HP_PARTS];                       /* likewise: of that, idle only because others worked */
    uint64_t bytes, usable, freed;                      /* its own ... */
    uint64_t bytes_before, usable_before, freed_before; /* ... and those of its record before it */
};

/* Private, except for `sums`. */
struct hp_thread_usage_watch {
    uint32_t pid;
    hp_proc_sampler_read *read;
    hp_proc_sampler_write *write;
    void *context;
    uint32_t at; /* offset of struct hp_thread_usage in the session; 0: none */
    bool is_due;
    bool has_changed;
    bool has_past;            /* set by the caller: the process was another program, or ran, before */
    uint64_t moved_before[4]; /* what it had moved by then */
    bool is_joined; /* set by the caller: its threads ran before, and only what they do from now on counts */
    uint32_t capacity;
    struct hp_thread_usage sums;
    bool is_changed[HP_THREAD_USAGE_ROWS];
    uint64_t ran_now[HP_THREAD_USAGE_ROWS], lived_now[HP_THREAD_USAGE_ROWS]; /* in the current sample */
    struct hp_thread_usage_row rows[HP_THREAD_USAGE_ROWS];
    /* Of a row with a single thread, waits that are idle only because others worked, by enum hp_activity. */
    uint64_t beside_ns[HP_THREAD_USAGE_ROWS][HP_PARTS];
};

/* `usage` is zeroed except for `pid`, `has_past` and the access to the session; `at` comes from the header. */
void hp_thread_usage_begin(struct hp_thread_usage_watch *usage, uint32_t at);

void hp_thread_usage_probe_begin(struct hp_thread_usage_watch *usage, uint64_t now);

/* Counts a thread that was seen; `record` is the offset of its record in the session, or 0. */
void hp_thread_usage_probe(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                           const struct hp_thread_usage_seen *seen, uint32_t record);

/* Whether hp_thread_usage_probe would do anything: only then must the record be known. */
bool hp_thread_usage_wants(const struct hp_thread_usage_watch *usage, const struct hp_thread_usage_thread *thread);

/* Adds to what it has waited; negative: corrects an earlier value. */
void hp_thread_usage_wait(struct hp_thread_usage_thread *thread, uint32_t cause, int64_t ns);

/* So much of it is idle only because others worked (HP_IDLE_BESIDE_WORK), or after an idle wait. */
void hp_thread_usage_beside(struct hp_thread_usage_thread *thread, enum hp_activity part, uint64_t ns);

/* Counts a thread that has ended; `seen` is its last reading. */
void hp_thread_usage_part(struct hp_thread_usage_watch *usage, struct hp_thread_usage_thread *thread,
                          const struct hp_thread_usage_seen *seen);

/* `living` threads are alive. False: the session is over. */
bool hp_thread_usage_probe_end(struct hp_thread_usage_watch *usage, uint32_t living, uint64_t now);

/* Writes the changes. False: the session is over. */
bool hp_thread_usage_write(struct hp_thread_usage_watch *usage);

/* Whether the record's data about its last ended thread belongs to the thread of the row. */
static inline bool hp_thread_usage_knows_end(const struct hp_thread_life *life, uint32_t generation)
{
    return generation != 0 && life->ended_generation == generation;
}

#endif
