/*
 * State of the recorder, per process and per thread, and the rules of access.
 *
 *   hp_recorder  one per process, in static memory, shared by all copies of the library (library_instances.c).
 *                Changed only with `fork_page->lock` held and signals blocked (hp_lock).
 *   hp_session   state of one session besides its store; access rules: holding.h.
 *   hp_fork_page one page that the kernel empties in a forked child: the lock (so a child never waits for a thread
 *                that does not exist there), the list of contexts, and a mark whose absence means "we are a child".
 *   hp_thread_context
 *                one per thread (and one more per nesting level of signal handlers that interrupt the recorder), in
 *                memory that is emptied in a forked child, too. Written by its thread only, except for `owner`
 *                fields, which are under the lock. Protocol of use: holding.h.
 *
 * States of a thread, as its inline code sees them through hotpath_v1_context:
 *
 *   hp_no_context    always busy; `skip` 1 while there is no session (except for the first zone: no_session.c),
 *                    else the thread registers
 *   own context      busy inside the recorder, else idle
 *   emptied context  all zero, after fork: the thread registers, which starts the child's session
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CORE_RUNTIME_H
#define HP_CORE_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "cpu.h"
#include "cpu_counter.h"
#include "heap_sampler.h"
#include "layout.h"
#include "mutex.h"
#include "options.h"
#include "signals.h"
#include "stack_ring.h"
#include "stacks.h"
#include "store.h"

/* -------------------------------------------------------------------------------------- sampling: see sampler.h */

#define HP_SAMPLER_SEEN 16u
#define HP_SAMPLER_FOLDED 16u

/* Samples for which a node is credited beside the tree. */
struct hp_folded {
    uint32_t node, samples;
};

/* Per thread. */
struct hp_sampler {
    struct hp_cpu_thread *cpu;  /* in the session; NULL: this thread is not sampled */
    struct hp_cpu_time counted; /* readings of the thread's clocks that are counted there */
    uint64_t ticked_ns;         /* its CPU time there at the last timer signal ... */
    uint64_t ticked_waits;      /* ... and its number of waits */
    uint64_t timer_ns;          /* time until the next one is due */
    uint64_t stacked_ns;        /* CPU time that stacks of samples stand for: sample_handler.h */
    struct hp_cpu_time judged;  /* its clocks at the last check whether it switches often */
    uint64_t chance;            /* state of the random number generator */
    struct hp_stack known;      /* stack on which the sources are set up, so zones there need no check */
    struct hp_stack alternate;  /* our alternate stack; all zero: none */
    void *perf;                 /* NULL: none */
    uint64_t perf_ns;           /* its period */
    uint32_t perf_samples;      /* number of samples of the next event; 0: it is the first */
    int timer;
    enum hp_private_signal signal; /* signal by which samples arrive */
    bool has_timer;
    bool perf_was_tried;
    bool has_had_perf;      /* a signal may still arrive after perf was stopped */
    bool has_begun;         /* it has entered a zone */
    bool is_switched_often; /* no perf */
    uint32_t unseen;        /* consecutive timer signals with user time but without a perf sample */
    uint32_t is_at_work;    /* the handler, or a zone on the slow path, uses the session or makes system calls */
    uint64_t since;         /* when it entered the session, in ticks; 0: it has not */
    uint64_t seen_ns;       /* total time that the following samples stand for */
    uint32_t seen_count;    /* number of these */
    uint32_t seen[HP_SAMPLER_SEEN]; /* nodes where perf found the thread since user time was last distributed */
    uint32_t folded_count;
    struct hp_folded folded[HP_SAMPLER_FOLDED]; /* of these samples */
};

/* Per process. */
struct hp_sampling {
    uint32_t engine; /* enum hp_cpu_engine of the running session */
    bool has_stacks; /* samples go to `hotpath run` with their stacks */
    uint32_t begun;  /* atomic: progress of the first thread with a zone */
    uint64_t period_ns;
    void *perf; /* atomic: an event that never fires, so that others start quickly; gone in a forked child */
    uint32_t perf_thread; /* the thread that bears its cost */
    uint32_t is_weighed;  /* atomic: the cost of a perf interrupt was, or is being, measured */
};

struct hp_cached_instance;
struct hp_call_notes;
struct hp_known_object;
struct hp_known_site;
struct hp_lane_place;
struct hp_session;
struct hp_turn_sums;
struct hp_site_choice;

/* Copies of the library that skip zones on the fast path; further ones skip more slowly. */
#define HP_COPIES 16
#define HP_HANDLER_DEPTH 4 /* nesting depth of signal handlers that interrupt the recorder */

/* In `gate`: on, but every zone must take the slow path. */
#define HP_GATE_OUT_OF_LINE 0x80000000u

/*
 * Nested calls that hooks could not record (recording is paused, the stack of zones is full). They lie on top of
 * the zone at `depth`, so an exit that comes while that zone is innermost is theirs. Runs beyond the limit are not
 * told apart.
 */
#define HP_SKIP_RUNS 8u
struct hp_skip_run {
    uint32_t depth, count;
};

/*
 * A poll whose task has ended while zones inside it were still open. It is counted when its guard ends, but only up
 * to the end of its task.
 */
#define HP_CUT_POLLS 4u
struct hp_cut_poll {
    uint64_t zone, start; /* as in its frame; 0: none */
    uint64_t end;         /* of its task */
    uint64_t child;       /* ticks in zones inside it until then */
};

struct hp_thread_context {
    struct hotpath_context_ hot;       /* first: hotpath_v1_context points to it */
    struct hp_thread_context *next;    /* list of all contexts of the process */
    struct hp_thread_context *handler; /* context for signal handlers that interrupt this one */
    struct hp_store *store;            /* the session it works for; may have ended */
    struct hp_thread *record;          /* in the session */
    uint32_t record_offset;
    uint32_t thread_id;      /* 0: the context is free */
    uint32_t is_one_of_many; /* other threads exist or existed; written by any thread, so a word of its own */
    uint32_t copies;         /* number of copies of the library whose hotpath_v1_context points here */
    uint32_t generation;     /* of the record while this thread owns it */
    uint32_t slot_count;     /* slots in use */
    uint32_t space;          /* next free byte of this thread's chunk of the session */
    uint32_t space_end;
    uint32_t exit_rounds;    /* rounds of thread-exit destructors so far */
    uint32_t slow_ways_left; /* slow-path calls until the next timed one, inclusive: see thread_context.c */
    uint32_t asked_if_left;  /* consecutive checks, all negative, whether a jump has left it busy */
    uint32_t skip_runs;      /* how many of the following are in use */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    struct hp_call_notes *kept;       /* NULL until needed: see call_log.h */
    uint32_t *parts;                  /* offsets of its parts of objects, by number: see objects.c */
    uint32_t part_places;             /* size of `parts` */
    struct hp_cached_instance *ready; /* `instances`, if an event of theirs is only counted; else NULL */
    uintptr_t loop_wait;              /* stack address of the waiting loop; 0: none. See loops.c */
    uint32_t transfer;                /* offset of the part of the channel it waits for; 0: none. See channels.c */
    struct hp_alloc_thread *alloc;    /* in the session; NULL until the first allocation or free */
    uintptr_t alloc_frames;           /* added to twice the address of a frame gives its hp_alloc_frame; wraps */
    uintptr_t owner_leaf_number;      /* the owner table it used last: its index plus 1 ... */
    uint16_t **owner_leaf;            /* ... and the pointer to it, if it exists */
    struct hp_heap *heap;             /* NULL: allocations are not sampled; see heap_samples.h */
    struct hp_heap_countdown heap_countdown;
    uint32_t owner;             /* the thread's number as block owner: see block_owners.h */
    struct hp_sampler sampler;  /* see sampler.h */
    bool is_handler;            /* belongs to signal handlers of a thread, not to the thread itself */
    bool is_blind;              /* the thread must not read the time stamp counter any more */
    bool index_is_complete;     /* every node and stat of the record is in the slots */
    bool index_is_filled;       /* the same, but some nodes may be in slots that inline code does not find */
    uint32_t steps;             /* list steps taken because the index is incomplete */
    struct hp_lane_place *lane; /* current lane, and the next two: see thread_context.h. NULL: the thread's own */
    struct hp_lane *running;    /* the same in the session; NULL: never switched */
    struct hp_lane *own_lane;
    uint64_t task;        /* number of the running task, or 0: see tasks.c */
    uintptr_t ended_poll; /* guard of a poll whose zone ended with its task; 0: none, or unknown */
    struct hp_cut_poll cut_polls[HP_CUT_POLLS];
    uint32_t cut_poll;  /* the one to fill in next */
    uint64_t poll_look; /* when the end of a poll is examined again, in ticks */
    uint64_t turn_look; /* the same for turns of event loops: see loops.c */
    struct hp_turn_sums *turn_sums;
    uint32_t folds;      /* how often recursion was found in its tree: frames of lanes may not know yet */
    bool is_named_early; /* see hp_thread_note_name */
    struct hp_cached_instance *instances; /* NULL, or HP_CACHED_INSTANCES: see instances.c */
    struct hp_stack_registers registers; /* of the allocation that is being sampled: the program's stack is small */
};

/* A report that the host's reporter is reading: its thread and stack address. All 0: free. */
#define HP_HAND_OVERS 8u
struct hp_hand_over {
    uintptr_t thread, place;
};

struct hp_fork_page {
    uint32_t is_ours; /* 0 in a forked child */
    struct hp_mutex lock;
    uintptr_t lock_holder; /* 0, or the address of the owner's hotpath_v1_context */
    uint32_t pid; /* of the process, to tell it from a vfork child that shares its memory; 0: not known yet */
    struct hp_thread_context *contexts;
    struct hp_thread_context *spare; /* contexts not handed out yet */
    uint32_t spare_count;
    uintptr_t writer; /* 0, or the address of hotpath_v1_context of the thread that writes a report */
    struct hp_hand_over hand_overs[HP_HAND_OVERS];
    uint32_t timers;  /* atomic: sampling timers of all threads */
    uint32_t callers; /* atomic: threads that make, or are about to make, system calls: see hp_calls_begin */
    uint32_t owners;  /* owner numbers given out: see block_owners.h */
    struct hp_deferred_since {
        uint64_t ns, ticks;      /* 0: not deferred */
        struct hp_cpu_time used; /* by the process until then */
    } deferred;
    int deferral_timer; /* its number plus 1; 0: none */
};

/* The cost of a zone, and other costs. */
struct hp_zone_cost {
    uint64_t ps;       /* total */
    uint64_t inner_ps; /* the part that is included in its own duration */
    uint64_t ticks;    /* the same in ticks */
    uint64_t inner_ticks;
    uint64_t hidden_ps;           /* the part that a CPU hides behind a chain of dependent arithmetic */
    uint64_t counted_ps;          /* an untimed zone */
    uint64_t function_ps;         /* a function instrumented by the compiler */
    uint64_t function_counted_ps; /* the same, untimed */
    uint64_t alloc_ps;            /* an allocation and its free */
};

#define HP_OBJECTS_PER_CHUNK 1024u
#define HP_OBJECT_CHUNKS 64u
#define HP_OBJECT_BUCKETS 256u
#define HP_INSTANCE_BUCKETS 4096u
#define HP_SITE_BUCKETS 4096u
#define HP_LEFT_OUT_HASHES 1024u
#define HP_LANE_CHUNKS 1024u
#define HP_OWNER_BRANCHES 4096u /* tables of block owners, for 64 GB of addresses each */

/* Settings that threads read while recording. Atomic: a thread may still use one when the next session starts. */
struct hp_live_settings {
    uint32_t record, time_period, measuring_bound, logs_limit, reserve;
    uint32_t is_watched;   /* an observer samples, or may sample, what threads use */
    uint32_t alloc_stacks; /* bytes between sampled allocations; 0: no sampling */
    uint32_t path;         /* the critical path is followed */
};

/* See no_session.c. The last two are written once, when the library is loaded. */
struct hp_unrecorded {
    uint32_t listens;       /* atomic: zones take the slow path although there is no session */
    uint32_t is_met;        /* atomic: there was a zone of the program */
    uint32_t foreign_zones; /* atomic: there were zones of others */
    uint32_t pid;
    int32_t confinement;
};

/* See no_session.h. */
enum hp_deferral { HP_NOT_DEFERRED, HP_DEFERRED, HP_BEGINNING };

struct hp_recorder {
    uint32_t gate;  /* 0: no session; else its epoch */
    uint32_t epoch; /* number of the running or last session */
    struct hp_fork_page *fork_page;
    bool is_auto;    /* started by HOTPATH=1, not by the program */
    bool is_child;   /* started by a zone after fork */
    bool defers;     /* forked children, and all programs that they execute, begin their sessions late */
    bool is_sealed;  /* everything is reserved: no more system calls */
    bool is_blinded; /* a thread has forbidden itself, and threads it creates, to read the time stamp counter */
    bool alloc_is_watched;        /* malloc is interposed and reports to us: allocations.h */
    uint32_t deferral;            /* atomic: enum hp_deferral */
    void (*begin_deferred)(void); /* of the copy of the library that deferred the session; any may call it */
    struct hp_early_allocs {      /* atomic: what was allocated meanwhile */
        uint64_t count, bytes, usable, frees, freed;
    } early;
    uint32_t confinements; /* sandboxes, announced or noticed, and not refused; each is inside the one before */
    enum hp_counter counter;
    uint32_t counter_state;          /* atomic: see choose_counter */
    struct hp_cpu_counters counters; /* of HP_COUNTER_INSTRUCTIONS, if the CPU counts */
    uint32_t session_places;         /* of `sessions` */
    struct hp_session *session;      /* the running one, or NULL */
    struct hp_store *store;          /* its store: for threads that register, and under the lock */
    struct hp_session *sessions;     /* all, in use or not */
    struct hp_settings settings;     /* of the running or last session; under the lock */
    struct hp_live_settings live_settings;
    uint32_t has_to_prune; /* a child's session has started, and old sessions were not removed yet */
    uint32_t calibrated;   /* the following were, or are being, measured: 1 quickly, 2 thoroughly */
    struct hp_zone_cost zone_cost;
    uint64_t used_before_ns;    /* CPU time before the session, as far as the thread that began it knows */
    uintptr_t allocates_for_us; /* hotpath_v1_context of a thread that allocates for the library; 0: none */
    struct hp_file_identity standard_error;
    hotpath_reporter *reporter; /* both under the lock, so that they always match */
    void *reporter_context;
    struct hotpath_context_ *no_contexts[HP_COPIES]; /* of the copies of the library */
    struct hotpath_zone *owner;                      /* guard of the HOTPATH_SESSION that started the session */

    uint32_t site_count;
    uint32_t left_out; /* functions and blocks that `choice` excluded in this process, ... */
    uint32_t left_out_hashes[HP_LEFT_OUT_HASHES]; /* ... and the first, since units may share one; 0: none */
    uint32_t site_buckets[HP_SITE_BUCKETS];
    struct hp_known_site *site_chunks[HP_SITE_CHUNKS];
    uint32_t object_count;
    uint32_t object_buckets[HP_OBJECT_BUCKETS];
    struct hp_known_object *object_chunks[HP_OBJECT_CHUNKS];
    /* The newest number of an instance, and how many there are; see instances.c. */
    uint32_t instances, instance_count;
    uint32_t instances_epoch;                       /* the session they belong to */
    uint32_t instance_buckets[HP_INSTANCE_BUCKETS]; /* atomic */
    struct hotpath_site *task_sites; /* copies of sites for polls of tasks; how many of them are free follows */
    uint32_t task_sites_left;
    void *task_places;     /* atomic: slots for tasks of foreign objects, see tasks.c; NULL: none requested yet */
    uint64_t ticks_per_ms; /* atomic: see hp_ticks_per_ms; 0: not known yet */
    char *text;            /* private copies of names */
    size_t text_left;
    struct hp_site_choice *choice; /* which sites are recorded; NULL: all */
    /* The last session for which a wait-sampling thread was started. */
    uint32_t watched_epoch;
    uint32_t alloc_reading; /* enum reading of allocations.c */
    /* Callbacks that tell interposing libraries whether anyone counts. */
    void (*alloc_switches[HP_COPIES])(int is_on);
    const struct hotpath_lock_hooks_ *lock_hooks; /* atomic: of `hotpath run --locks`; NULL: nobody counts locks */
    bool (*yield_locks)(void);                    /* atomic: that copy is to count no more; false: it has begun */
    const struct hotpath_io_hooks_ *io_hooks;     /* atomic: of `hotpath run --io`; NULL: nobody counts I/O */
    struct hp_sampling sampling;                  /* of CPU time: sampler.h */
    void (*leave_stacks)(void);                   /* atomic: see sample_handler.h */
    struct hp_unrecorded unrecorded;
    struct hp_taken_signal signals[HP_PRIVATE_SIGNALS];
    void *owner_branches[HP_OWNER_BRANCHES];
    struct hp_heap *heap;    /* atomic: of sampled allocations; NULL: none yet */
    uint32_t suspended_site; /* atomic: id of <suspended>, plus 1; 0: none yet */
    uint32_t lane_count;     /* atomic: lane slots ever given out */
    uint64_t free_lanes;     /* atomic: the first free slot, and a version number */
    void *lane_chunks[HP_LANE_CHUNKS];
};

extern struct hp_recorder *hp_runtime;
/* Whether the state is this copy's: then it writes the report at exit. */
bool hp_library_owns_state(void);
/*
 * In library_instances.c: finds the state of an active copy of the library. Called once, when this copy is loaded
 * or first used.
 */
void hp_library_join(void);
/* Of threads that are not registered. */
extern struct hotpath_context_ hp_no_context;
/* 1, or HP_THREAD_IS_SHARED: the thread is not recorded any more. */
extern __thread uint32_t hp_thread_is_over HOTPATH_TLS_;
#define HP_THREAD_IS_SHARED 2u /* see hp_thread_is_shared */

/* The page, once it exists. Acquire pairs with its publication in hp_runtime_prepare. */
static inline struct hp_fork_page *hp_page(void)
{
    return __atomic_load_n(&hp_runtime->fork_page, __ATOMIC_ACQUIRE);
}
/* The number of the session. Relaxed: callers that need certainty also check the gate, or hold the lock. */
static inline uint32_t hp_epoch(void) { return __atomic_load_n(&hp_runtime->epoch, __ATOMIC_RELAXED); }
static inline uint64_t hp_zone_ticks(void) { return HOTPATH_GET_(hp_runtime->zone_cost.ticks); }
static inline bool hp_is_child(void) { return __atomic_load_n(&hp_runtime->is_child, __ATOMIC_RELAXED); }
static inline void hp_seal(bool is_sealed)
{
    __atomic_store_n(&hp_runtime->is_sealed, is_sealed, __ATOMIC_RELAXED);
}
/*
 * Whether this process has announced, or an observer has seen, that it is in a sandbox. The header of a context's
 * session stays mapped as long as the context.
 */
static inline bool hp_context_is_sandboxed(const struct hotpath_context_ *context)
{
    const struct hp_header *header = (const struct hp_header *)(const void *)context->base;
    return __atomic_load_n(&hp_runtime->confinements, __ATOMIC_RELAXED) != 0 ||
           (header != NULL && hp_header_is_sandboxed(header));
}
static inline bool hp_is_sandboxed(void) { return hp_context_is_sandboxed(hotpath_v1_context); }
/* Threads without a context learn it from those that have one. */
static inline bool hp_is_sealed(void)
{
    if (hp_is_sandboxed())
        hp_seal(true);
    return __atomic_load_n(&hp_runtime->is_sealed, __ATOMIC_RELAXED);
}

/* Tells all threads whether anything is recorded. Under the lock, if there is one yet. */
void hp_skip_zones(bool is_off);
/* The same for threads without a context, which before the first session are all. */
void hp_skip_idle(bool is_off);
/*
 * Makes fork_page; false: no memory. `in_child` is called in children made by fork, where the C library reports
 * them, and must call hp_runtime_empty first: that repeats what the kernel has done, or could not do. `before_fork`
 * is called there in the parent.
 */
bool hp_runtime_prepare(void (*before_fork)(void), void (*in_child)(void));
void hp_runtime_empty(void);
/* Before a session: chooses the clock; for one of instructions, if these are counted. */
void hp_runtime_choose_counter(enum hp_clock_choice wished);
/*
 * Brackets system calls that threads make for the recorder; hp_lock and hp_unlock do so. False: no more system
 * calls are allowed, since everything is reserved or the process is entering a sandbox; the thread that enters it
 * waits for calls in progress.
 */
bool hp_calls_begin(void);
void hp_calls_end(void);
/*
 * False if it would wait forever: in a handler that interrupted the owner. This happens only if signals are not
 * blocked, because no system call is allowed (HOTPATH_RESERVE).
 */
bool hp_lock(struct hp_signals *held);
/*
 * The same for callers that may hold any lock of the host or the C library, which the owner may wait for: also
 * false if the lock is not free soon.
 */
bool hp_lock_soon(struct hp_signals *held);
/* The same with more patience, for the end of the process, which must come. */
bool hp_lock_at_exit(struct hp_signals *held);
void hp_unlock(const struct hp_signals *held);
/*
 * Slow work of zones and interposed functions: calls `work` on a stack of our own (scratch_stack.h), with signals
 * blocked; but in place if no system call may be made, since then little is done. False: not called; no memory.
 */
bool hp_aside(void (*work)(void *context), void *context);
/* Memory for the recorder; none in a session that has reserved everything. */
void *hp_more_memory(size_t size);
/*
 * The memory that `place` points to, allocated by the first caller; NULL: no memory. It is zeroed when found. A
 * forked child has it as it was, or emptied by the kernel.
 */
void *hp_memory_at(void **place, size_t size, bool is_emptied_by_fork);
/* Current time in ticks, by the clock of this session. */
uint64_t hp_now(void);
/* True in a child that has not handled the fork yet. */
bool hp_is_forked_child(void);
/*
 * True in the process that owns the state; false in a forked child or one that shares its memory (vfork, CLONE_VM).
 */
bool hp_is_own_process(void);
/* Prints one line to stderr, if that is still the host's stderr. */
void hp_print_line(const char *line);
/*
 * The same for a message of the recorder. Processes of a `hotpath run` print none: their stderr is what the program
 * makes of it, and `hotpath run` says what is missing. hp_note_run finds out, when the library is loaded: the
 * program may change its environment.
 */
void hp_note_run(void);
void hp_say(const char *line);

/* Atomic maximum. */
static inline void hp_raise(int64_t *highest, int64_t value)
{
    int64_t present = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (value > present)
        if (__atomic_compare_exchange_n(highest, &present, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
}

#endif
