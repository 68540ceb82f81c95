/*
 * What the threads of a process use, as the kernel accounts for it: processor time, switches, and with what the session says of
 * them also what they allocate. Part of watching (watch.h), which calls these at its looks; a few times a second all of it is
 * brought up to date.
 *
 *     hp_crew_begin(&crew, &target, header.crew);
 *     hp_crew_look_begin(&crew, now);
 *     ... hp_crew_look_at(&crew, &thread->crew, &seen) for each thread, hp_crew_part(...) for those that are gone
 *     hp_crew_look_end(&crew, thread_count, now);
 *
 * No heap, no stdio. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_CREW_H
#define HP_SESSION_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define HP_CREW_ROWS 128u
#define HP_CREW_PERIOD_NS UINT64_C(250000000)

/* False: the session is over, or the bytes are not there. */
typedef bool hp_watch_read(void *context, uint32_t offset, void *to, size_t bytes);
typedef bool hp_watch_write(void *context, uint32_t offset, const void *from, size_t bytes);

/* What schedstat says of a thread at a look. */
struct hp_crew_seen {
    uint32_t tid;
    uint64_t ran;
    uint64_t slices;
    uint64_t began_ns;
    uint64_t now;
};

/* What has been counted of a thread so far; zeroed at first. Private. */
struct hp_crew_thread {
    uint32_t place; /* of its row, plus 1; 0: it has not been looked at, UINT32_MAX: there is none for it */
    uint32_t record;
    uint32_t generation;
    char state;
    uint64_t slices;
    uint64_t looked_ns;
    uint64_t user_ns, kernel_ns;
    uint64_t voluntary, involuntary;
    int64_t waited_ns[HP_CREW_CAUSES];                  /* that its row does not have yet */
    uint64_t bytes, usable, freed;                      /* its own ... */
    uint64_t bytes_before, usable_before, freed_before; /* ... and what its record had before it */
};

/* Private, but for `sums`. */
struct hp_crew_watch {
    uint32_t pid;
    hp_watch_read *read;
    hp_watch_write *write;
    void *context;
    uint32_t at; /* of struct hp_crew in the session; 0: it has none */
    bool is_due;
    bool has_changed;
    uint32_t capacity;
    struct hp_crew sums;
    bool is_changed[HP_CREW_ROWS];
    uint64_t ran_now[HP_CREW_ROWS], lived_now[HP_CREW_ROWS]; /* of the present sample */
    struct hp_crew_row rows[HP_CREW_ROWS];
};

/* `crew` is zeroed but for `pid` and the ways to the session; `at` is what the header says. */
void hp_crew_begin(struct hp_crew_watch *crew, uint32_t at);

void hp_crew_look_begin(struct hp_crew_watch *crew, uint64_t now);

/* A thread that was seen, whose record in the session is at `record`, or 0. */
void hp_crew_look_at(struct hp_crew_watch *crew, struct hp_crew_thread *thread, const struct hp_crew_seen *seen,
                     uint32_t record);

/* Whether hp_crew_look_at would do anything: only then the record has to be known. */
bool hp_crew_wants(const struct hp_crew_watch *crew, const struct hp_crew_thread *thread);

/* What it has waited for something; below zero: what was said before was too much. */
void hp_crew_wait(struct hp_crew_thread *thread, uint32_t cause, int64_t ns);

/* One that has ended; `seen` is what was seen of it last. */
void hp_crew_part(struct hp_crew_watch *crew, struct hp_crew_thread *thread, const struct hp_crew_seen *seen);

/* So many live. False: the session is over. */
bool hp_crew_look_end(struct hp_crew_watch *crew, uint32_t living, uint64_t now);

/* Writes what has changed. False: the session is over. */
bool hp_crew_write(struct hp_crew_watch *crew);

/* Whether what the record says of its last thread that ended is about the one of the row. */
static inline bool hp_crew_knows_end(const struct hp_thread_life *life, uint32_t generation)
{
    return generation != 0 && life->ended_generation == generation;
}

#endif
