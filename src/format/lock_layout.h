/*
 * Locks of a process, in a file beside its session (side_layout.h): "PID-NANOSECONDS.locks". Written by the hooks
 * of `hotpath run --locks` (src/preload/lock_entry.h).
 *
 *   header (4096 bytes) | sites | images | pairs | places | entries
 *
 *   entry   one lock of the program that exists now: what is counted at each call
 *   place   a row of the report: a global lock, or all locks that were made at one place in the code
 *   site    a place in the code, with up to two callers
 *   pair    for a place: a site that waited, and a site that let it wait
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_LOCK_LAYOUT_H
#define HP_FORMAT_LOCK_LAYOUT_H

#include <stdint.h>

#include "side_layout.h"

#define HP_LOCKS_SUFFIX ".locks"
#define HP_LOCKS_MAGIC "hotlock"
#define HP_LOCKS_VERSION 3u

enum hp_lock_table { HP_LOCK_PAIRS = HP_SIDE_FIRST_OWN, HP_LOCK_PLACES, HP_LOCK_ENTRIES, HP_LOCK_TABLES };

#define HP_LOCK_MOST_PAIRS 8192u
#define HP_LOCK_MOST_PLACES 832u
#define HP_LOCK_MOST_ENTRIES 65536u

/* What had no room, and was counted for less or not at all. */
enum hp_lock_loss {
    HP_LOCK_LOST_LOCKS,  /* uses of locks that have no entry: in the place of all others */
    HP_LOCK_LOST_PLACES, /* locks that are in that place, too */
    HP_LOCK_LOST_PAIRS,
    HP_LOCK_LOSSES
};

/*
 * Written by the observer of a run, every ten milliseconds or so; all 0: it does not, or not yet. The difference of
 * two sums is for a wait between them: the time that went by, and how much of that a CPU was free for the process.
 * If there was none in between, the part is that of the latest times.
 */
struct hp_lock_free_cpus {
    uint64_t sum;  /* the time << 32 | the free part of it; both modulo 2^32, in units of 2^16 ns */
    uint32_t part; /* of HP_LOCK_FREE_WHOLE */
    uint32_t unused;
};
#define HP_LOCK_FREE_BITS 16u
#define HP_LOCK_FREE_WHOLE 65536u

struct hp_locks_header {
    struct hp_side_header side;
    uint64_t unused[8];
    struct hp_lock_free_cpus free_cpus;
};
_Static_assert(sizeof(struct hp_locks_header) <= HP_SIDE_HEADER_BYTES, "part of the file");

enum hp_lock_kind {
    HP_LOCK_NONE,
    HP_LOCK_MUTEX,
    HP_LOCK_RWLOCK,
    HP_LOCK_SPIN,
    HP_LOCK_CONDITION,
    HP_LOCK_SEMAPHORE,
    HP_LOCK_BARRIER,
    HP_LOCK_OTHERS, /* those without room for an entry of their own */
    HP_LOCK_OWN,    /* made by the program itself: HOTPATH_LOCK_TAKEN */
    HP_LOCK_KINDS
};

#define HP_LOCK_SEVERAL UINT32_MAX /* threads waited at different sites: no pair of two */

/* Sites are numbers from 1; 0: unknown. */
struct hp_lock_pair {
    uint32_t place; /* from 1 */
    uint32_t waiter, holder;
    uint32_t unused;
    uint64_t count; /* of times that the holder let others wait, or of waits that it ended */
    uint64_t ticks, longest;
    uint64_t unused_too[3];
};

/* Histograms of ticks (hp_step_of): of waits with sixteen steps per octave, of holds with four. */
#define HP_LOCK_OCTAVES 48u
#define HP_LOCK_WAIT_BITS 4u
#define HP_LOCK_HOLD_BITS 2u
#define HP_LOCK_WAIT_STEPS (HP_LOCK_OCTAVES << HP_LOCK_WAIT_BITS)
#define HP_LOCK_HOLD_STEPS (HP_LOCK_OCTAVES << HP_LOCK_HOLD_BITS)

#define HP_LOCK_NAME_BYTES 48u

struct hp_lock_place {
    uint64_t key;     /* not 0 */
    uint32_t kind;    /* enum hp_lock_kind */
    uint32_t site;    /* where it was made, or used first */
    uint64_t address; /* of a lock in a program or library; 0: others, such as in the heap */
    uint32_t is_made; /* the site is where it was made */
    uint32_t instances;
    uint64_t locked;                          /* of locks that are gone; those that exist have their own */
    uint64_t contended;                       /* of these, had to wait */
    uint64_t refused;                         /* a try that failed */
    uint64_t waits, wait_ticks, wait_longest; /* waits that have ended */
    uint64_t timeouts;
    uint64_t latency_ticks; /* of wait_ticks: after the lock was free, or the condition signaled */
    uint64_t unknown_ticks; /* of wait_ticks: not known who could have ended it */
    uint64_t blame_ticks;   /* in which holders let others wait */
    uint64_t holds, hold_ticks, hold_longest; /* those that were timed; of locks that are gone */
    uint32_t longest_queue;
    uint32_t unused;
    char name[HP_LOCK_NAME_BYTES]; /* by the program; "": none */
    uint64_t watched_ticks;        /* of wait_ticks: for which is known whether a CPU was free, ... */
    uint64_t free_ticks;           /* ... and of these, one was */
    uint64_t unused_too[6];
    uint32_t wait_steps[HP_LOCK_WAIT_STEPS];
    uint32_t hold_steps[HP_LOCK_HOLD_STEPS]; /* of holds that were timed, also of locks that exist */
};

/*
 * A lock. `waiting` has in its lowest bits how many threads wait for it, and above these the sum of the times since
 * which no holder was charged for them (lock_entry.h). Written by the thread that holds the lock, except for that.
 */
#define HP_LOCK_WAITERS_BITS 14u
struct hp_lock_entry {
    uint64_t locked;
    uint64_t held;  /* the thread that holds it << 16 | how often; 0: none */
    uint64_t since; /* the hold that is being timed; of a condition: the latest signal; 0: none */
    uint64_t waiting;
    uint64_t charged; /* when a holder was charged last; of a condition: offset of the entry of its mutex */
    uint32_t place;   /* from 1 */
    uint32_t site;    /* of those who wait; of a condition: where it was signaled */
    uint64_t hold_ticks;
    uint32_t holds;
    uint32_t mean; /* of recent holds, in ticks */
};

_Static_assert(sizeof(struct hp_lock_pair) == 64 && sizeof(struct hp_lock_place) == 4096 &&
                   sizeof(struct hp_lock_entry) == 64,
               "part of the file");

#define HP_LOCK_PAIRS_AT HP_SIDE_OWN_AT
#define HP_LOCK_PLACES_AT (HP_LOCK_PAIRS_AT + HP_LOCK_MOST_PAIRS * 64u)
#define HP_LOCK_ENTRIES_AT (HP_LOCK_PLACES_AT + HP_LOCK_MOST_PLACES * 4096u)
#define HP_LOCKS_BYTES (HP_LOCK_ENTRIES_AT + HP_LOCK_MOST_ENTRIES * 64u)

#endif
