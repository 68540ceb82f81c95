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
 *                under the lock.
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
#include "layout.h"
#include "mutex.h"
#include "options.h"
#include "pattern_list.h"
#include "sampling.h"
#include "signals.h"
#include "store.h"

struct hp_session;

#define HP_MAX_NODES 65536u /* per thread; further paths fall under <other> */
#define HP_FIRST_FRAMES 64u /* zones that can be open at once before the stack grows */
#define HP_MAX_FRAMES (1u << 18)
#define HP_FIRST_SLOTS 256u
#define HP_RESERVED_SLOTS 16384u /* with HOTPATH_RESERVE, where the index cannot grow */
#define HP_RESERVED_SITES 4096u
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
    struct hp_alloc_thread *alloc;        /* in the session; NULL until something is allocated or freed */
    uintptr_t alloc_frames;               /* what hp_alloc_frame of a frame is from twice its address; wraps */
    uintptr_t owner_leaf_number;          /* the table of owners it used last: which one, plus 1, ... */
    uint16_t **owner_leaf;                /* ... and what leads there, if it has been made */
    uint32_t owner;                       /* number of the thread among those that allocate: see owners.h */
    struct hp_sampler sampler;            /* see sampler.h */
    bool is_handler;                      /* belongs to signal handlers of a thread, not to the thread itself */
    bool is_blind;                        /* the thread may not read the counter any more */
    bool index_is_complete;               /* every node and stat of the record is in the slots */
    bool index_is_filled;       /* the same, but that nodes may be in slots that inline code does not find */
    uint32_t steps;             /* taken in lists for want of that */
    struct hp_lane_place *lane; /* that it is in; NULL: its own. See lanes.h, also for the following */
    struct hp_lane *running;    /* the same in the session; NULL: it has never switched */
    struct hp_lane *own_lane;
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
struct hp_symbol;

/* A site as the process knows it, whatever session runs. */
struct hp_known_site {
    const char *name;
    const char *function;
    const char *file;
    const char *image; /* not a copy; NULL: not known */
    uint64_t address;
    uint32_t line;
    uint32_t kind;
    uint32_t next; /* in its bucket, id + 1 */
    uint32_t hash;
    bool wants_log; /* its latest calls are kept because the program says so ... */
    bool is_logged; /* ... or HOTPATH_LOG does */
};

/* What HOTPATH_FILTER and HOTPATH_SKIP say, ready to be asked. */
struct hp_site_choice {
    struct hp_pattern_list filter, skip, log;
    bool is_any;  /* one of them says something */
    bool has_log; /* the last one */
};

struct hp_kind_type;

/* An object as the process knows it, whatever session runs: see objects.h. */
struct hp_known_object {
    uint64_t place; /* atomic: number of the session it was last written into << 32 | its offset there */
    const struct hp_kind_type *kind;
    uint32_t site;
    uint32_t
        next; /* atomic: number of the next in its bucket; of an instance that has ended, of the next that did */
    uintptr_t address; /* atomic: of an instance, else 0 */
    uint32_t class_;   /* atomic: of an instance, the number of its class */
    uint32_t older;    /* of an instance, the number that was made before it */
};

/* An instance that a thread used lately. */
struct hp_cached_instance {
    uintptr_t address;
    uint32_t class_, number;
};

#define HP_OBJECTS_PER_CHUNK 1024u
#define HP_OBJECT_CHUNKS 64u
#define HP_MAX_OBJECTS (HP_OBJECTS_PER_CHUNK * HP_OBJECT_CHUNKS)
#define HP_OBJECT_BUCKETS 256u
#define HP_MOST_INSTANCES 4096u /* that have a record at a time */
#define HP_INSTANCE_BUCKETS 4096u
#define HP_CACHED_INSTANCES 64u

#define HP_SITE_BUCKETS 4096u
#define HP_LANE_CHUNKS 1024u
#define HP_OWNER_BRANCHES 4096u /* tables that say who allocated a block, for 64 GB of addresses each */

/* What threads ask of the settings while they record. Atomic: one may still be at it when the next session begins. */
struct hp_wishes {
    uint32_t record, time_period, measuring_bound, logs_limit, reserve;
    uint32_t is_watched; /* somebody looks, or may, at what threads use */
};

/* Whether what threads allocate outside of sessions has ever been read. */
enum hp_alloc_reading { HP_NEVER_READ, HP_ABOUT_TO_READ, HP_WAS_READ };

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
    uint32_t ended_first, ended_last;   /* of these, those whose instances have ended; 0: none */
    uint32_t instances_epoch;           /* number of the session that they are of */
    uint32_t instances_full;            /* atomic: number of a session in which there is no space for another one */
    uint32_t instance_buckets[HP_INSTANCE_BUCKETS]; /* atomic */
    char *text;                                     /* private copies of names */
    size_t text_left;
    struct hp_site_choice *choice;                /* which sites are recorded; NULL: all */
    uint32_t watched_epoch;                       /* the last session for which a thread was started that watches */
    bool alloc_is_watched;                        /* malloc and its kin tell us what they do: allocations.h */
    uint32_t alloc_reading;                       /* enum hp_alloc_reading */
    void (*alloc_switches[HP_COPIES])(int is_on); /* by which those who do so learn that nobody counts */
    struct hp_sampling sampling;                  /* of processor time: sampler.h */
    struct hp_unrecorded unrecorded;
    struct hp_taken_signal signals[HP_PRIVATE_SIGNALS];
    void *owner_branches[HP_OWNER_BRANCHES];
    uint32_t suspended_site; /* atomic: the number of <suspended>, plus 1; 0: it has none yet */
    uint32_t lane_count;     /* atomic: places of lanes that were ever given out */
    uint64_t free_lanes;     /* atomic: the first of those that are free, and how often that has changed */
    void *lane_chunks[HP_LANE_CHUNKS];
};

/* --- copies.c */
extern struct hp_recorder *hp_runtime;
/* Finds the state of a copy of the library that is at work already. Once, when this copy is loaded or first used. */
void hp_copies_join(void);
/* Whether the state is this copy's: then it is the one to write the report at exit. */
bool hp_copy_owns_state(void);

/* Lets go of a head that was held: `ready` was 0, and all that was written meanwhile comes before it is not. */
static inline void hp_let_go(struct hotpath_head_ *hot)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(hot->ready, HOTPATH_READY_);
}

/*
 * Whether the zone's call is around the code whose stack pointer is `stack`. A guard of a macro is in the frame of its function,
 * above that place. A hook has none: its zone is a few bytes below, as many as functions are inlined into one another, and not at
 * a multiple of 4 (functions.c). What a function calls has its own zone two words below at least, since frames are that large.
 */
#define HP_HOOK_REACH (2 * sizeof(void *))
static inline bool hp_zone_is_there(const struct hotpath_frame_ *frame, uintptr_t stack)
{
    return frame->zone >= stack || (frame->zone % 4 != 0 && stack - frame->zone < HP_HOOK_REACH);
}

/* Raises what any thread may raise. */
static inline void hp_raise(int64_t *highest, int64_t value)
{
    int64_t present = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (value > present)
        if (__atomic_compare_exchange_n(highest, &present, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
}

/* --- runtime.c */
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
extern struct hotpath_head_ hp_idle_head;
extern __thread uint32_t hp_thread_is_over HOTPATH_TLS_;

/* Tells all threads whether there is anything to record. Under the lock, if there is one yet. */
void hp_skip_zones(bool is_off);
/* The same for those that have no head of their own, which before the first session are all. */
void hp_skip_idle(bool is_off);
/* Makes fork_page; false without memory. */
bool hp_runtime_prepare(void);
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

/* --- sites.c */
/* The id of a site, registered now if need be; HOTPATH_ID_EXCLUDED_ when it is not to be recorded. */
uint32_t hp_site_id(struct hotpath_site *site);
/* Whether the latest calls of a site are kept in this session. */
bool hp_site_is_logged(uint32_t id);
/* The same as hp_site_id under the lock. `symbol` is that of a function that the compiler measures, NULL for macros. */
void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol);
/* HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_LOG, ready to be asked. False: no memory. `*ret_choice` is NULL where none says anything. */
bool hp_sites_prepare(const struct hp_record_settings *settings, struct hp_site_choice **ret_choice);
/* Makes them count from now on, and returns those that did before. Under the lock. */
struct hp_site_choice *hp_sites_choose(struct hp_site_choice *choice);
void hp_sites_drop(struct hp_site_choice *choice);
/* Writes all sites known so far into a fresh session. Under the lock. */
void hp_sites_begin(void);
/* Memory for HP_RESERVED_SITES sites. Under the lock. */
void hp_sites_reserve(void);

/* What the process knows of a site that has a number. */
const struct hp_known_site *hp_site_known(uint32_t id);

/* --- objects.c, and see objects.h */
/* A head begins with a new record: it has no parts of objects yet. */
void hp_objects_forget(struct hp_head *head);
/* Memory for as many objects as fit into a chunk; and for the parts of a thread. Under the lock. */
void hp_objects_reserve(void);
void hp_objects_reserve_parts(struct hp_head *head);

/* --- threads.c */
#define HP_HEADS_BYTES 65536u
/* The head of the calling thread for the running session, or NULL. Begins a child's session after fork. */
struct hp_head *hp_thread_head(void);
/*
 * The same for callers that may hold any lock of the host or of the C library, so must not wait for ours for long. NULL, too,
 * where somebody keeps the lock, and nothing is counted as lost.
 */
struct hp_head *hp_thread_head_if_free(void);
/* The same for events of pools, which count what they lose themselves. */
struct hp_head *hp_thread_head_for_pools(void);
/* The head of the calling thread if it has one for the running session, or NULL. */
struct hp_head *hp_thread_present(void);
/* The same, whichever copy of the library has registered it. Under the lock. */
struct hp_head *hp_thread_of_any_copy(void);
/* Whether the calling thread may not read the counter; or whether that cannot be asked. */
bool hp_thread_is_blind(void);
/* The thread may not read the counter from now on: it is measured no more. Under the lock. */
void hp_thread_blind(struct hp_head *head);
/*
 * To be asked before a site is registered that no zone has registered its thread for: a forked child begins its session
 * first, or the site would be written into its parent's. False: there is none.
 */
bool hp_thread_is_ours(void);
/*
 * The head of the calling thread, held: until it is let go, its session stays where it is, and signal handlers work on another
 * head. NULL: it has none, somebody works on it, or its session is over.
 */
struct hp_head *hp_thread_hold(void);
/* Registers the calling thread. Under the lock. */
void hp_thread_begin(void);
/* Registers the calling thread, and its signal handlers, before everything is sealed. Under the lock. */
void hp_thread_reserve(void);
/* A head for a signal handler that interrupted `head`. */
struct hp_head *hp_thread_handler_head(struct hp_head *head);
/* Whether `state` of a guard leads to another thread, which has that zone open. */
bool hp_thread_is_open_elsewhere(uintptr_t state, const struct hotpath_zone *zone);
/* Space in the session that belongs to this thread. */
uint32_t hp_thread_allocate(struct hp_head *head, uint32_t size, uint32_t align);
/* Makes this copy of the library notice threads that end. */
bool hp_thread_exit_hook(void);

/* --- tree.c */
/* With the head held: until it is let go, the session stays where it is, also one that has ended meanwhile. */
static inline struct hotpath_node_ *hp_node_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_stat_ *hp_stat_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_frame_ *hp_frame_zero(const struct hp_head *head)
{
    return (struct hotpath_frame_ *)(void *)(head->hot.base + head->record->frames);
}
static inline void hp_lose(const struct hp_head *head, enum hp_loss loss) { hp_store_lose(head->store, loss, 1); }

/* An empty tree and index in a new record; false without space. */
bool hp_tree_begin(struct hp_head *head);
/* An empty index for a tree that is there. */
bool hp_tree_resume(struct hp_head *head);
/* A stat in which nothing is ever counted, for frames of calls that have to end out of line. */
void hp_tree_need_blank_stat(struct hp_head *head);
/* The counter of a value in a histogram, or NULL when there is no space for its octave. */
uint64_t *hp_tree_counter(struct hp_head *head, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value);
/* Where `site` leads from `parent`, made if it is not there; `spare` stands in when the index is full. */
const struct hotpath_slot_ *hp_tree_slot(struct hp_head *head, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare);
/* What zones of a node have to mind has changed (`keeps` or `period` of its stat), on the way there from `parent`. */
void hp_tree_refresh(struct hp_head *head, uint32_t parent, uint32_t node);
/* Has calls of a node only counted, now and then timed, if measuring is more than the bound of what they take. */
void hp_tree_limit(struct hp_head *head, uint32_t parent, uint32_t node);
/* Looks at one of the calls of such a node that were timed all the same: if they have become long, all are again. */
void hp_tree_review(struct hp_head *head, uint32_t node, uint64_t ticks);
/* Whether open calls of a node are counted. */
bool hp_tree_is_recursive(const struct hp_head *head, uint32_t node);
/* Counts the open calls of the site of `frame` anew: somebody was left by a jump while he did. */
void hp_tree_recount(const struct hp_head *head, const struct hotpath_frame_ *frame);

/* --- kept.c */
#define HP_KEEPS_LOG 1u        /* the latest calls */
#define HP_KEEPS_SLOWEST 2u    /* the slowest one, with what was inside */
#define HP_KEEPS_NO_SLOWEST 4u /* never again: its calls were suspended, and what is below them is not all theirs */
static inline uint32_t hp_stat_keeps(const struct hotpath_stat_ *stat)
{
    return stat->keeps & (HP_KEEPS_LOG | HP_KEEPS_SLOWEST);
}
void hp_kept_begin(struct hp_head *head);
/* What is kept of the calls of a site that is new to this thread. */
uint32_t hp_kept_from_start(const struct hp_head *head, uint32_t site);
/* Calls of the site of an open call are not looked into any more. */
void hp_kept_disregard(struct hp_head *head, const struct hotpath_frame_ *frame);
/* A call was longer than those before it: perhaps its site is worth following again. Not inside another of its site. */
void hp_kept_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame);
/* Keeps what is wanted of a call that ends; it is counted already, and on top of the stack still. */
void hp_kept_call(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested);

/* Whether there is a session that counts allocations. */
static inline bool hp_records_allocations(void)
{
    return hp_page() != NULL && __atomic_load_n(&hp_runtime->gate, __ATOMIC_RELAXED) != 0 &&
           (HOTPATH_GET_(hp_runtime->wishes.record) & HP_RECORD_ALLOC);
}

/* --- allocations.c */

/* What the calling thread allocates is the recorder's, until it is given back. One thread at a time; its head, if free, is held. */
struct hotpath_head_ *hp_allocations_take_over(void);
void hp_allocations_give_back(struct hotpath_head_ *held);
/* Tells those who watch malloc whether anybody counts. A session has begun or ended. */
void hp_allocations_switch(void);
/* Says why allocations are not counted, if they are not although functions are there to count them. */
void hp_allocations_explain(void);

/* What was asked for, and how often. */
struct hp_alloc_sums {
    uint64_t bytes;
    uint64_t count;
};
/* In an open call so far, zones inside included. */
struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame);
/* Counters for a thread that has none yet, with a mark for each frame of its present stack; false without space. With the head held. */
bool hp_alloc_begin(struct hp_head *head);
/* The stack of zones grows to so many frames, and moves: before it does. False without space. */
bool hp_alloc_grow(struct hp_head *head, uint32_t capacity, const struct hotpath_frame_ *frame_zero);
/* A call ends whose frame has HOTPATH_ALLOCATES_; it is on top of the stack still. */
void hp_alloc_close(struct hp_head *head, const struct hotpath_frame_ *frame, bool is_nested);
/* Ends a zone: the usual case of a call that has allocated here, all others by hp_zone_leave. */
void hp_alloc_leave(struct hotpath_zone *zone, uint64_t now);
/* The same for the innermost zone, if it is of this site. False: it is not the usual case, and nothing was done. */
bool hp_alloc_leave_site(uint32_t site, uint64_t now);

/* --- calibration.c */
/* Measures what one zone costs on this machine, and what else there is to be paid; quickly where there may never be one. Signals held. */
struct hp_zone_cost hp_zones_calibrate(bool is_quick);

/* --- functions.c */
/* Calls of a function that the compiler measures, which is that site: so that what they cost can be measured. */
void hp_functions_rehearse(struct hotpath_site *site, uint32_t calls);

/* --- slow_ways.c */
/*
 * Around what is more than the usual way in and out of a zone. Now and then it is timed: then it returns when it began, else 0. With
 * the head held.
 */
static inline uint64_t hp_slow_way_begin(struct hp_head *head)
{
    return __builtin_expect(--head->slow_ways_left == 0, 0) ? hp_now() : 0;
}
void hp_slow_way_timed(struct hp_head *head, uint64_t from);
static inline void hp_slow_way_end(struct hp_head *head, uint64_t from)
{
    if (__builtin_expect(from != 0, 0))
        hp_slow_way_timed(head, from);
}

/* --- zones.c */
/* Sets up an empty tree, stack and index in a new record; false without space. */
bool hp_zones_begin(struct hp_head *head);
/* Makes the record of a thread that ended ready for the next one. */
bool hp_zones_resume(struct hp_head *head);
/* Ends a zone, whatever there is to mind. */
void hp_zone_leave(struct hotpath_zone *zone, uint64_t now);
/* Adds a timed call to all but its counter, which the caller sees to. Returns whether it was inside another one of its site. */
static inline bool hp_zone_count(struct hotpath_frame_ *frame, struct hotpath_node_ *node,
                                 struct hotpath_stat_ *stat, uint64_t ticks)
{
    bool is_nested = false;
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->total, ticks);
    HOTPATH_ADD_(node->self, ticks - frame->child);
    HOTPATH_ADD_(frame[-1].child, ticks);
    if (__builtin_expect(frame->stat & HOTPATH_RECURSIVE_, 0)) {
        HOTPATH_PUT_(stat->open, stat->open - 1);
        is_nested = stat->open != 0;
        if (is_nested)
            HOTPATH_ADD_(node->nested, ticks);
    }
    if (ticks < stat->min)
        HOTPATH_PUT_(stat->min, ticks);
    if (ticks > stat->max)
        HOTPATH_PUT_(stat->max, ticks);
    return is_nested;
}
/* Makes the innermost zone end at that moment, or as one that was left at its last sign. With the head held. */
void hp_zone_close_top(struct hp_head *head, uint64_t now);
void hp_zone_abandon_top(struct hp_head *head);
/* Makes room for one more zone; false without space. With the head held. */
bool hp_zone_make_room(struct hp_head *head);
/* Closes every open zone of a thread that ends. */
void hp_zones_close_all(struct hp_head *head, uint64_t now);
/* Remembers a call that is not recorded, and tells whether the end that comes now is that of such a call. */
void hp_zone_skip(void);
bool hp_zone_was_skipped(void);
/* Ends the innermost zone of a site, and what is still open inside it. */
void hp_zone_leave_site(uint32_t site, uint64_t now);

/* --- lifecycle.c */
/* Begins the session of a forked child, if its parent was recording. Under the lock. */
bool hp_session_begin_child(void);
/* In a forked child: begins its session at once if a run is to report on it, whether it will have zones or not. */
void hp_session_follow_fork(void);
void hp_session_suggest_main(uint32_t site);
/* Stores the present moment as the session's latest. */
struct hp_clock_pair hp_session_touch(struct hp_store *store);
/* A child's session has begun under the lock: what can wait until that is free again. */
void hp_session_follow_up(void);

/* --- unrecorded.c */
/* When this copy is loaded and no session has begun: has the first zone of the program noted, if nobody wants silence. */
void hp_unrecorded_listen(void);
/* A zone found no session: its site, or NULL for a function that the compiler measures. */
void hp_unrecorded_meet(const void *site);
/* Somebody wants a session, and will hear if there is none. */
void hp_unrecorded_forget(void);
/* The process ends: one line if zones were met and nobody ever wanted a session. */
void hp_unrecorded_explain(void);

/* --- exit_report.c */
/* Writes the report of a session that the caller holds where its settings say; in a handler never to the host's reporter. */
int hp_exit_report(struct hp_session *session, bool is_in_handler);

#endif
