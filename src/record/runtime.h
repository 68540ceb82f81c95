/*
 * What the recorder keeps per process and per thread, and the rules about who touches it.
 *
 *   hp_recorder  one per process, in static memory, shared by all copies of the library in it (copies.c).
 *                Changed only while `fork_page->lock` is held, with signals held back (hp_lock).
 *   hp_session   what one session needs beside its store; who may touch that: holders.h.
 *   hp_fork_page one page that the kernel empties in a forked child: the lock (so a child never waits for a thread
 *                that does not exist there), the list of heads, and a mark whose absence means "we are a child".
 *   hp_head      one per thread (and one more for each depth of signal handlers that interrupt the recorder), in
 *                memory that is emptied in a forked child too. Written by its thread only, but for `owner` fields
 *                under the lock. Whose it is while it is used: holding.h.
 *
 * States of a thread, as its inline code sees them through hotpath_v1_head:
 *
 *   idle head     `ready` 0; `skip` 1 while there is no session (but for the first zone: unrecorded.c), else the thread registers
 *   own head      `ready` HOTPATH_READY_ at rest, 0 inside the recorder
 *   emptied head  all zero, after fork: the thread registers, which begins the child's session
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_RUNTIME_H
#define HP_RECORD_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "heap_sampler.h"
#include "layout.h"
#include "mutex.h"
#include "options.h"
#include "sampling.h"
#include "signals.h"
#include "store.h"

struct hp_cached_instance;
struct hp_kept;
struct hp_known_object;
struct hp_known_site;
struct hp_lane_place;
struct hp_session;
struct hp_turn_sums;
struct hp_site_choice;

#define HP_COPIES 16       /* copies of the library that skip zones quickly; further ones more slowly */
#define HP_HANDLER_DEPTH 4 /* signal handlers that interrupt the recorder, one inside the other */

/* In `gate`: on, but every zone has to take the out-of-line way. */
#define HP_GATE_OUT_OF_LINE 0x80000000u

/*
 * Calls that hooks could not record (recording is paused, the stack of zones is full), one inside the other: they lie on the
 * zone at `depth`, so an end that comes while that is the innermost one is theirs. Runs beyond these are not told apart.
 */
#define HP_SKIP_RUNS 8u
struct hp_skip_run {
    uint32_t depth, count;
};

struct hp_head {
    struct hotpath_head_ hot; /* first: hotpath_v1_head points to it */
    struct hp_head *next;     /* all heads of the process */
    struct hp_head *handler;  /* for zones of signal handlers that interrupt this one */
    struct hp_store *store;   /* the session it works for, which may have ended */
    struct hp_thread *record; /* in the session */
    uint32_t record_offset;
    uint32_t thread_id;      /* 0: the head is free */
    uint32_t is_one_of_many; /* there are, or were, others; written by any thread, and so a word of its own */
    uint32_t copies;         /* copies of the library whose hotpath_v1_head points here */
    uint32_t generation;     /* of the record while this thread has it */
    uint32_t slot_count;     /* slots in use */
    uint32_t space;          /* next free byte of this thread's piece of the session */
    uint32_t space_end;
    uint32_t farewells;      /* rounds of thread-exit destructors seen */
    uint32_t slow_ways_left; /* up to the next one that is timed, that one included: see slow_ways.c */
    uint32_t asked_if_left;  /* how often in a row it was asked in vain whether a jump has left it busy */
    uint32_t skip_runs;      /* in use of the following */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    struct hp_kept *kept;                 /* NULL until it is needed: see kept.h */
    uint32_t *parts;                      /* offsets of its parts of objects, by their numbers: see objects.c */
    uint32_t part_places;                 /* of these */
    struct hp_cached_instance *instances; /* NULL, or HP_CACHED_INSTANCES: see instances.c */
    uintptr_t loop_wait;                  /* where on its stack a loop waits; 0: none does. See loops.c */
    uint32_t transfer;             /* offset of the part for whose channel it waits; 0: none. See transfers.c */
    struct hp_alloc_thread *alloc; /* in the session; NULL until something is allocated or freed */
    uintptr_t alloc_frames;        /* what hp_alloc_frame of a frame is from twice its address; wraps */
    uintptr_t owner_leaf_number;   /* the table of owners it used last: which one, plus 1, ... */
    uint16_t **owner_leaf;         /* ... and what leads there, if it has been made */
    struct hp_heap *heap;          /* NULL: allocations are not sampled; see heap_samples.h */
    struct hp_heap_countdown heap_countdown;
    uint32_t owner;             /* number of the thread among those that allocate: see owners.h */
    struct hp_sampler sampler;  /* see sampler.h */
    bool is_handler;            /* belongs to signal handlers of a thread, not to the thread itself */
    bool is_blind;              /* the thread may not read the counter any more */
    bool index_is_complete;     /* every node and stat of the record is in the slots */
    bool index_is_filled;       /* the same, but that nodes may be in slots that inline code does not find */
    uint32_t steps;             /* taken in lists for want of that */
    struct hp_lane_place *lane; /* that it is in; NULL: its own. See lane_state.h, also for the following */
    struct hp_lane *running;    /* the same in the session; NULL: it has never switched */
    struct hp_lane *own_lane;
    uint64_t task;      /* the number of the task that runs, or 0: see tasks.c */
    uint64_t poll_look; /* when a poll that ends is looked into again, in ticks */
    uint64_t turn_look; /* the same of turns of event loops: see turn_looks.h */
    struct hp_turn_sums *turn_sums;
    uint32_t folds; /* how often recursion was found in its tree: frames of lanes may not know */
};

/* A report that the host's reporter is reading: which thread, and where on its stack. All of it 0: free. */
#define HP_HAND_OVERS 8u
struct hp_hand_over {
    uintptr_t thread, place;
};

struct hp_fork_page {
    uint32_t is_ours; /* 0 in a forked child */
    struct hp_mutex lock;
    uintptr_t lock_holder; /* 0, or the address of his hotpath_v1_head */
    uint32_t pid; /* of the process, as opposed to one that shares its memory after vfork; 0: not known yet */
    struct hp_head *heads;
    struct hp_head *spare; /* heads not given out yet */
    uint32_t spare_count;
    uintptr_t writer; /* 0, or the address of the hotpath_v1_head of the thread that writes a report */
    struct hp_hand_over hand_overs[HP_HAND_OVERS];
    uint32_t timers;  /* atomic: that threads have for samples */
    uint32_t callers; /* atomic: threads that are about to make system calls, or do: see hp_calls_begin */
    uint32_t owners;  /* numbers of threads given out: see owners.h */
};

/* What one zone costs, and what else. */
struct hp_zone_cost {
    uint64_t ps;       /* all of it */
    uint64_t inner_ps; /* the part that its own duration includes */
    uint64_t ticks;    /* the same in ticks */
    uint64_t inner_ticks;
    uint64_t counted_ps;          /* a zone that is not timed */
    uint64_t function_ps;         /* a function that the compiler measures */
    uint64_t function_counted_ps; /* the same, not timed */
    uint64_t alloc_ps;            /* an allocation and its free */
};

#define HP_OBJECTS_PER_CHUNK 1024u
#define HP_OBJECT_CHUNKS 64u
#define HP_OBJECT_BUCKETS 256u
#define HP_INSTANCE_BUCKETS 4096u
#define HP_SITE_BUCKETS 4096u
#define HP_LANE_CHUNKS 1024u
#define HP_OWNER_BRANCHES 4096u /* tables that say who allocated a block, for 64 GB of addresses each */

/* What threads ask of the settings while they record. Atomic: one may still be at it when the next session begins. */
struct hp_wishes {
    uint32_t record, time_period, measuring_bound, logs_limit, reserve;
    uint32_t is_watched;   /* somebody looks, or may, at what threads use */
    uint32_t alloc_stacks; /* bytes between allocations that are sampled; 0: none are */
};

/* See unrecorded.c. The last two are written once, when the library is loaded. */
struct hp_unrecorded {
    uint32_t listens;   /* atomic: zones come out of line although there is no session */
    uint32_t is_met;    /* atomic: there was one of the program's */
    uint32_t strangers; /* atomic: others */
    uint32_t pid;
    int32_t confinement;
};

struct hp_recorder {
    uint32_t gate;  /* 0: no session, else its epoch */
    uint32_t epoch; /* number of the running or last session */
    struct hp_fork_page *fork_page;
    bool is_auto;    /* begun by HOTPATH=1, not by the program */
    bool is_child;   /* begun by a zone after fork */
    bool is_sealed;  /* everything is reserved: no system call from now on */
    bool is_blinded; /* a thread has forbidden itself to read the counter, and those that it begins */
    uint32_t
        confinements; /* sandboxes that it has said it goes into, and was not refused; each is inside the one before */
    enum hp_counter counter;
    uint32_t counter_state;      /* atomic: see choose_counter */
    struct hp_session *session;  /* that runs, or NULL */
    struct hp_store *store;      /* its store: for threads that register, and under the lock */
    struct hp_session *sessions; /* all, in use or not */
    uint32_t session_places;
    struct hp_settings settings; /* of the session that runs or ran last; under the lock */
    struct hp_wishes wishes;
    uint32_t calibrated; /* somebody has measured, or is measuring, the following: 1 quickly, 2 well */
    struct hp_zone_cost zone_cost;
    uintptr_t
        allocates_for_us; /* the address of hotpath_v1_head of a thread whose allocations are not the host's; 0: none */
    uint32_t has_to_prune; /* a child's session has begun, and nobody has looked for old ones yet */
    struct hp_file_identity standard_error;
    hotpath_reporter *reporter; /* both under the lock, so that nobody has one without the other */
    void *reporter_context;
    struct hotpath_head_ *idle_heads[HP_COPIES]; /* of the copies of the library */
    struct hotpath_zone *owner;                  /* the guard of the HOTPATH_SESSION that began the session */

    uint32_t site_count;
    uint32_t site_buckets[HP_SITE_BUCKETS];
    struct hp_known_site *site_chunks[HP_SITE_CHUNKS];
    uint32_t object_count;
    uint32_t object_buckets[HP_OBJECT_BUCKETS];
    struct hp_known_object *object_chunks[HP_OBJECT_CHUNKS];
    uint32_t instances, instance_count; /* the newest number that instances have, and how many; see instances.c */
    uint32_t instances_epoch;           /* number of the session that they are of */
    uint32_t instance_buckets[HP_INSTANCE_BUCKETS]; /* atomic */
    struct hotpath_site *task_sites; /* copies of sites for polls of tasks, of which the first so many are free */
    uint32_t task_sites_left;
    void *task_places;     /* atomic: of objects that tasks are of, see tasks.c; NULL: nobody has asked */
    uint64_t ticks_per_ms; /* atomic: see tick_rate.h; 0: not known yet */
    char *text;            /* private copies of names */
    size_t text_left;
    struct hp_site_choice *choice;                /* which sites are recorded; NULL: all */
    uint32_t watched_epoch;                       /* the last session for which a thread was started that watches */
    bool alloc_is_watched;                        /* malloc and its kin tell us what they do: allocations.h */
    uint32_t alloc_reading;                       /* enum reading of allocations.c */
    void (*alloc_switches[HP_COPIES])(int is_on); /* by which those who do so learn that nobody counts */
    struct hp_sampling sampling;                  /* of processor time: sampler.h */
    void (*leave_stacks)(void);                   /* atomic: see sample_stacks.h */
    struct hp_unrecorded unrecorded;
    struct hp_taken_signal signals[HP_PRIVATE_SIGNALS];
    void *owner_branches[HP_OWNER_BRANCHES];
    struct hp_heap *heap;    /* atomic: of sampled allocations; NULL: there are none yet */
    uint32_t suspended_site; /* atomic: the number of <suspended>, plus 1; 0: it has none yet */
    uint32_t lane_count;     /* atomic: places of lanes that were ever given out */
    uint64_t free_lanes;     /* atomic: the first of those that are free, and how often that has changed */
    void *lane_chunks[HP_LANE_CHUNKS];
};

extern struct hp_recorder *hp_runtime;
/* Whether the state is this copy's: then it is the one to write the report at exit. */
bool hp_copy_owns_state(void);
extern struct hotpath_head_ hp_idle_head;
extern __thread uint32_t hp_thread_is_over HOTPATH_TLS_;

/* The page, once there is one. Acquire pairs with its publication in hp_runtime_prepare. */
static inline struct hp_fork_page *hp_page(void)
{
    return __atomic_load_n(&hp_runtime->fork_page, __ATOMIC_ACQUIRE);
}
/* The number of the session. Relaxed: whoever must not be wrong looks at the gate as well, or holds the lock. */
static inline uint32_t hp_epoch(void) { return __atomic_load_n(&hp_runtime->epoch, __ATOMIC_RELAXED); }
static inline uint64_t hp_zone_ticks(void) { return HOTPATH_GET_(hp_runtime->zone_cost.ticks); }
static inline bool hp_is_child(void) { return __atomic_load_n(&hp_runtime->is_child, __ATOMIC_RELAXED); }
static inline void hp_seal(bool is_sealed)
{
    __atomic_store_n(&hp_runtime->is_sealed, is_sealed, __ATOMIC_RELAXED);
}
/*
 * Whether this process has said, or somebody outside has seen, that it is in a sandbox. The header of a head's range is there as
 * long as the head.
 */
static inline bool hp_head_is_sandboxed(const struct hotpath_head_ *head)
{
    const struct hp_header *header = (const struct hp_header *)(const void *)head->base;
    return __atomic_load_n(&hp_runtime->confinements, __ATOMIC_RELAXED) != 0 ||
           (header != NULL && hp_header_is_sandboxed(header));
}
static inline bool hp_is_sandboxed(void) { return hp_head_is_sandboxed(hotpath_v1_head); }
/* Threads that have no head yet know it from those that have. */
static inline bool hp_is_sealed(void)
{
    if (hp_is_sandboxed())
        hp_seal(true);
    return __atomic_load_n(&hp_runtime->is_sealed, __ATOMIC_RELAXED);
}

/* Tells all threads whether there is anything to record. Under the lock, if there is one yet. */
void hp_skip_zones(bool is_off);
/* The same for those that have no head of their own, which before the first session are all. */
void hp_skip_idle(bool is_off);
/*
 * Makes fork_page; false without memory. `in_child` is called in the children that fork makes, where the C library tells of them, and has to
 * call hp_runtime_empty first: what the kernel has done already, or could not do.
 */
bool hp_runtime_prepare(void (*in_child)(void));
void hp_runtime_empty(void);
/*
 * Around system calls that threads make for the recorder. False: none may be made any more, since everything is reserved, or the
 * process is about to be shut in; who does that waits for those that are under way. hp_lock and hp_unlock do so.
 */
bool hp_calls_begin(void);
void hp_calls_end(void);
/*
 * False where waiting would be for ever: in a handler that has interrupted the holder, which can only be where signals
 * are not held back because no system call may be made (HOTPATH_RESERVE).
 */
bool hp_lock(struct hp_signals *held);
/*
 * The same for callers that may hold any lock of the host or of the C library, which the holder may be waiting for: false, too,
 * where somebody keeps it for longer than it is kept for usually.
 */
bool hp_lock_soon(struct hp_signals *held);
void hp_unlock(const struct hp_signals *held);
/* Memory for the recorder; none once a session that has reserved everything is under way. */
void *hp_more_memory(size_t size);
/*
 * The memory that `place` leads to, made by the first who asks; NULL without memory. Who finds it finds it empty. A forked
 * child has it as it was, or emptied by the kernel.
 */
void *hp_memory_at(void **place, size_t size, bool is_emptied_by_fork);
/* Ticks by the clock this session uses. */
uint64_t hp_now(void);
/* True in a child that has not noticed the fork yet. */
bool hp_is_forked_child(void);
/* True in the process that the state belongs to; false in one that was forked from it or shares its memory (vfork, CLONE_VM). */
bool hp_is_own_process(void);
/* One line on stderr, if that is still the host's stderr. */
void hp_say(const char *line);

/* Raises what any thread may raise. */
static inline void hp_raise(int64_t *highest, int64_t value)
{
    int64_t present = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (value > present)
        if (__atomic_compare_exchange_n(highest, &present, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
}

#endif
