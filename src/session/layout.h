/*
 * The session file, byte by byte. docs/session-format.md is the manual; this is the source of truth.
 *
 *   header (4096 bytes) | arena: everything else, in any order, found through offsets from the file's start
 *
 * The arena only grows: `used` moves up by compare-and-swap, nothing is ever freed. An offset of 0 means
 * "none" (the header is there). Offsets are 32 bits wide, so a session is smaller than 4 GiB.
 *
 *   header ─▶ site chunks ─▶ sites ─▶ strings
 *          └▶ threads (a list) ─▶ frames (open zones, an array)
 *                              ├▶ node chunks (a list) ─▶ nodes: the call tree
 *                              └▶ stats (a list) ─▶ octaves: the histograms
 *                                               ├▶ log: the latest calls ─▶ notes
 *                                               ├▶ slowest: the slowest call, with what was inside
 *                                               └▶ alloc: what its calls allocated ─▶ octaves
 *                              ├▶ alloc: what the thread allocates ─▶ frames of that (beside those of zones)
 *                              └▶ cpu: its processor time ─▶ table: by node
 *                                                         └▶ sample chunks: the latest samples
 *          ├▶ waits: what threads waited for, by node
 *          ├▶ crew: what threads used, those included that have no record
 *          └▶ lanes (a list): stacks of zones that are not their thread's present one ─▶ frames
 *          └▶ objects, and the kinds that say what is counted of them: object_layout.h
 *
 * Who writes: the header's plain fields are written once, before the file gets its name; its counters by
 * any thread, atomically; a thread record and everything below it by its thread alone. Who reads: anyone, at any
 * time, through snapshot.h, which trusts nothing it finds.
 *
 * The structs shared with the inline part (frames, nodes, stats) are in hotpath.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_LAYOUT_H
#define HP_SESSION_LAYOUT_H

#include "clock.h"
#include "hotpath.h"
#include "object_layout.h"
#include "task_layout.h"

#define HP_MAGIC "hotpath" /* with its final zero: 8 bytes */
#define HP_BYTE_ORDER 0x01020304u
#define HP_LAYOUT_VERSION 8u /* readers refuse any other */

#define HP_HEADER_BYTES 4096u
#define HP_HEADER_USED 1600u /* bytes of the header that have a meaning */
#define HP_SITES_PER_CHUNK 1024u
#define HP_SITE_CHUNKS 256u
#define HP_MAX_SITES (HP_SITES_PER_CHUNK * HP_SITE_CHUNKS)
#define HP_MIN_BYTES (256u << 10) /* the smallest session that is worth starting */

#define HP_GATE_PAUSED 0x40000000u /* bit in `gate`, set and taken away from outside: nothing new is recorded */

/* Feature bits: what kinds of records the file may hold. A reader ignores those it does not know. */
#define HP_FEATURE_TIMING 1u
#define HP_FEATURE_ALLOC 2u /* allocations were counted */
#define HP_FEATURE_CPU 4u   /* processor time was sampled */
#define HP_FEATURE_CALLS 8u /* latest calls were kept */
#define HP_FEATURE_RUN 16u  /* `hotpath run` has started it: what the process used before the session counts, too */
#define HP_FEATURE_COUNTED 32u /* malloc is watched: what is allocated is counted, if anything is */
/*
 * Set from outside, by whoever watches: the process has shut itself in a sandbox, and may end by a system call that it did not
 * make before. All bits of this byte are for those outside.
 */
#define HP_FEATURE_SANDBOXED 0x80000000u

enum hp_state {
    HP_STATE_LIVE = 1,    /* the process runs, or was killed: ask the kernel which */
    HP_STATE_FINISHED = 2 /* hotpath_stop or exit: the numbers are final */
};

enum hp_clock_kind {
    HP_CLOCK_MONOTONIC = 1, /* clock_gettime: a tick is a nanosecond */
    HP_CLOCK_TSC = 2,
    HP_CLOCK_CNTVCT = 3,
    HP_CLOCK_RDTIME = 4
};
/* Each is a counter of the CPU, or none: the two lists go side by side. */
_Static_assert(HP_CLOCK_TSC - HP_CLOCK_MONOTONIC == HP_COUNTER_TSC && HP_COUNTER_NONE == 0, "side by side");
_Static_assert(HP_CLOCK_RDTIME - HP_CLOCK_MONOTONIC == HP_COUNTER_RDTIME, "side by side");
static inline uint32_t hp_clock_kind_of(enum hp_counter counter) { return HP_CLOCK_MONOTONIC + (uint32_t)counter; }

/* Ticks and CLOCK_MONOTONIC nanoseconds taken at the same moment. */
struct hp_clock_pair {
    uint64_t ticks;
    uint64_t ns;
};

/* What could not be recorded, by reason. Counters; zero is the normal state and is not shown. */
enum hp_loss {
    HP_LOSS_ZONES,     /* zones that found no thread record */
    HP_LOSS_NODES,     /* paths whose zones are counted under <other>: no space or too many nodes */
    HP_LOSS_BUCKETS,   /* durations that are in no histogram: no space for an octave */
    HP_LOSS_SITES,     /* sites that found no space */
    HP_LOSS_ABANDONED, /* zones left by longjmp and the like: timed up to their last sign */
    HP_LOSS_FOREIGN,   /* zones closed on another thread */
    HP_LOSS_DEPTH, /* zones deeper than the stack of zones can grow, or in handlers that interrupt one another too often */
    HP_LOSS_CLOCK,     /* durations below zero, clamped */
    HP_LOSS_CHILDREN,  /* forked children that could not begin a session */
    HP_LOSS_CALLS,     /* calls that were to be kept and found no space */
    HP_LOSS_ALLOCS,    /* calls whose allocations are in no row: no space */
    HP_LOSS_SAMPLES,   /* samples for whose zone there was no space: their time is counted as outside of all */
    HP_LOSS_STACKS,    /* threads that are sampled no more: the program's stacks have no place for it */
    HP_LOSS_ENDED,     /* zones in the last destructors of a thread, after all of it was put away */
    HP_LOSS_SEALED,    /* zones of threads that came after everything was reserved */
    HP_LOSS_PROCESSES, /* processes that left no session: this one was made from outside */
    HP_LOSS_LANES, /* switches to a lane that ran elsewhere, had ended, or found no space: zones went to the thread's own */
    HP_LOSS_VALUES, /* updates of values and other objects that found no space */
    HP_LOSSES
};

/* Where the session is. */
enum hp_storage {
    HP_STORAGE_FILE,
    HP_STORAGE_MEMORY,   /* no folder had space for it */
    HP_STORAGE_NO_FOLDER /* the same because one of them belongs to somebody else, or can be written by others */
};

/* Why there was no space for more. */
enum hp_refusal {
    HP_REFUSAL_NONE,
    HP_REFUSAL_CAPACITY,  /* it is as large as it may become */
    HP_REFUSAL_ADDRESSES, /* a limit of the process, or a neighbour in its address space */
    HP_REFUSAL_SPACE,     /* the file system is full */
    HP_REFUSAL_FILE /* the file could not be opened again: another user or root, no descriptor left, or it is gone */
};

struct hp_header {
    char magic[8];
    uint32_t byte_order;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t features;
    uint64_t capacity; /* bytes the mapping may grow to */
    uint64_t used;     /* arena: first free byte */
    uint64_t backed;   /* bytes reserved on disk so far */

    uint32_t gate;  /* what heads compare with their epoch: 0 over, the session's number on, other bits: ask */
    uint32_t state; /* enum hp_state */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start; /* kernel's start time of the process: tells a reused pid apart */
    uint32_t exec_count;    /* sessions of this process before this one */
    uint32_t main_site;     /* id of the 100 % row; 0xffffffff when there is none */
    uint64_t wall_start_ns; /* CLOCK_REALTIME */
    unsigned char boot_id[16];

    uint32_t clock_kind; /* enum hp_clock_kind */
    uint32_t cores;
    struct hp_clock_pair clock_start;
    struct hp_clock_pair clock_latest; /* refreshed now and then, and at the end */
    uint64_t zone_cost_ps;             /* picoseconds one empty zone takes in all, measured at start */
    uint64_t zone_inner_ps;            /* the part of it that its own duration includes */

    uint32_t site_count;   /* ids handed out; a chunk may lag behind for an instant */
    uint32_t threads;      /* offset of the first thread record */
    uint32_t thread_count; /* thread records */
    uint32_t threads_seen; /* threads that ever recorded */

    /* Offsets of strings (see hp_string). */
    uint32_t command;
    uint32_t executable;
    uint32_t host;
    uint32_t system; /* kernel and CPU architecture */
    uint32_t label;
    uint32_t metadata;
    uint32_t library;       /* hotpath version and the compiler it was built with */
    uint32_t pid_namespace; /* in which `pid` means something; 0: not known */

    uint64_t losses[HP_LOSSES];

    uint32_t site_chunks[HP_SITE_CHUNKS]; /* offsets of hp_site[HP_SITES_PER_CHUNK] */
    uint32_t time_period;                 /* one call in so many is timed; 0 and 1: all are */
    uint32_t filter; /* offsets of strings: HOTPATH_FILTER and HOTPATH_SKIP, without which more would be there */
    uint32_t skip;
    uint32_t pools;      /* offset of the newest hp_pool */
    int64_t alloc_live;  /* usable bytes that live, of all threads, as far as they have told: see hp_alloc_thread */
    int64_t alloc_peak;  /* the highest that was */
    uint64_t late_count; /* allocations on threads that have no record, or no longer */
    uint64_t late_bytes; /* asked for */
    uint64_t late_usable;  /* the same in usable bytes */
    uint64_t late_frees;   /* blocks freed there */
    uint64_t late_freed;   /* usable bytes */
    uint64_t alloc_failed; /* allocations that the host was refused; in no other number */
    uint32_t cpu_engine;   /* enum hp_cpu_engine */
    uint32_t cpu_rate;     /* samples for a second of processor time, as asked for */
    uint64_t cpu_start_ns; /* processor time of the whole process when the session began ... */
    uint64_t cpu_start_kernel_ns;
    uint64_t cpu_latest_ns; /* ... and at clock_latest */
    uint64_t cpu_latest_kernel_ns;
    uint32_t waits;       /* offset of hp_waits; 0: nobody was to watch */
    uint32_t cpu_refusal; /* errno with which the kernel refused perf; 0: it did not, or was not asked */
    uint32_t storage;     /* enum hp_storage */
    uint32_t refusal;     /* enum hp_refusal: why it last could not grow */
    /* What else measuring costs, as zone_cost_ps: picoseconds, 0 where it is not known. */
    uint64_t counted_cost_ps;     /* of a zone that is counted and not timed */
    uint64_t function_cost_ps;    /* of a function that the compiler measures */
    uint64_t function_counted_ps; /* of one that is counted and not timed */
    uint64_t alloc_cost_ps;       /* to count an allocation and its free */
    uint64_t interrupt_ticks;     /* that an interrupt of perf's takes from a thread, in ticks */
    uint32_t outside;             /* offset of a string: why the process left no session; 0: it is its own */
    uint32_t others;       /* from outside: further processes it stands for that are in no session of the run */
    uint64_t pause_ticks;  /* that perf takes to stop and start, as where its thread is switched from and to */
    uint32_t crew;         /* offset of hp_crew; 0: nobody was to watch */
    uint32_t lanes;        /* offset of the newest hp_lane */
    uint32_t kinds;        /* offset of the newest hp_kind */
    uint32_t objects;      /* offset of the newest hp_object */
    uint32_t tasks;        /* offset of the newest hp_task_chunk */
    uint32_t task_slots;   /* atomic: that there are */
    uint64_t task_batches; /* atomic: free ones, see tasks.c */
    unsigned char reserved[HP_HEADER_BYTES - HP_HEADER_USED];
};

/* A string: length, then bytes, then a zero that is not counted. */
struct hp_string {
    uint32_t length;
    char bytes[4];
};

struct hp_site {
    uint32_t name;     /* offset of a string; 0 while the site is being written */
    uint32_t function; /* offset of a string */
    uint32_t file;     /* offset of a string */
    uint32_t line;
    uint32_t kind;  /* HOTPATH_KIND_... */
    uint32_t image; /* offset of a string: the file of a function that the compiler measures; 0: not known */
    uint32_t address_low, address_high; /* where in it: as in its table of symbols */
};

/* Whether the name of a site of that kind is the whole signature of a function of C++, which readers make short. */
static inline bool hp_site_is_signature(uint32_t kind)
{
    const uint32_t plain = kind & ~HOTPATH_KIND_CXX_;
    return kind & HOTPATH_KIND_CXX_ && (plain == HOTPATH_KIND_FUNCTION_ || plain == HOTPATH_KIND_MAIN_);
}

enum hp_thread_state {
    HP_THREAD_FREE = 0, /* its thread ended; the next new one goes on with it */
    HP_THREAD_LIVE = 1
};

/*
 * What a thread used from its beginning to its end, by its own clock, and what those before it had allocated: for whoever watches
 * from outside, and may come too late for either.
 */
struct hp_thread_life {
    uint32_t ended_generation; /* of the last thread that ended here; 0: none did */
    uint32_t reserved;
    uint64_t user_ns; /* of that thread, as all up to `involuntary` */
    uint64_t kernel_ns;
    uint64_t voluntary; /* how often it gave its processor away, and how often it was taken */
    uint64_t involuntary;
    uint64_t bytes_before; /* `bytes`, `usable` and `freed` of hp_alloc_thread when the present thread began */
    uint64_t usable_before;
    uint64_t freed_before;
};

struct hp_thread {
    uint32_t next;       /* offset of the next thread record */
    uint32_t state;      /* enum hp_thread_state */
    uint32_t tid;        /* of the thread that writes, or wrote last */
    uint32_t generation; /* how many threads have written here */
    uint32_t frames;     /* offset of hotpath_frame_[frame_capacity]; frame 0 is the thread itself */
    uint32_t frame_capacity;
    uint32_t root;        /* offset of the root node */
    uint32_t other;       /* offset of the <other> node */
    uint32_t node_chunks; /* offset of the newest hp_node_chunk */
    uint32_t stats;       /* offset of the newest hotpath_stat_ */
    uint32_t node_count;
    uint32_t stat_count;
    uint64_t first_tick; /* when the present thread began to record */
    char name[16];       /* as the kernel knows it */
    uint32_t blank_stat; /* offset of a stat without octaves, for frames with HOTPATH_KEPT_; 0: none yet */
    uint32_t alloc;      /* offset of hp_alloc_thread; 0: nothing was allocated or freed here */
    uint32_t cpu;        /* offset of hp_cpu_thread; 0: its processor time was not sampled */
    uint32_t
        slow_ways; /* ends of zones and first allocations in them that were more than the usual, in steps; may wrap */
    uint64_t slow_ticks; /* what one in HP_SLOW_PERIOD of these took, all together */
    uint32_t own_lane;   /* offset of the hp_lane that is the thread's own; 0: it has never switched to another */
    uint32_t free_tasks; /* offset of the first hp_task_slot that it has for tasks to come; 0: none */
    uint32_t free_task_count;
    uint32_t reserved;
    struct hp_thread_life life;
};

/* No divisor of what programs do in turns. */
#define HP_SLOW_PERIOD 127u

/* `used` nodes are valid; a reader may see a count that is one too small. */
struct hp_node_chunk {
    uint32_t next; /* offset of an older chunk */
    uint32_t capacity;
    uint32_t used;
    uint32_t reserved[13];
    struct hotpath_node_ nodes[];
};

/* --- stacks of zones beside the present one of a thread */

enum hp_lane_state {
    HP_LANE_RUNNING =
        0, /* its frames are those of a thread record; or it has ended, and the next one goes on with it */
    HP_LANE_SUSPENDED =
        1, /* its frames are as they were when it stopped, the innermost being <suspended>, if there are any */
    HP_LANE_BELOW = 2 /* a thread's own lane while another one runs on that thread */
};

/* What the counters of a thread were when a lane stopped running on it. Its hp_alloc_frames are from that time. */
struct hp_lane_allocs {
    uint64_t count, bytes;
    int64_t live, blocks; /* as in hp_alloc_frame */
    int64_t peak_live, peak_blocks;
};

/* A stack of zones that a program switches threads to and from: that of a coroutine, or a thread's own. */
struct hp_lane {
    uint32_t next;   /* offset of an older one */
    uint32_t state;  /* enum hp_lane_state */
    uint32_t thread; /* offset of the thread record whose tree has the nodes of its frames */
    uint32_t depth;  /* number of its innermost frame */
    uint32_t frames; /* as in hp_thread: of the time when it last stopped */
    uint32_t frame_capacity;
    uint32_t alloc_frames; /* as in hp_alloc_thread; 0: none yet */
    uint32_t
        folds; /* of its thread, then: private to the recorder, as is all that follows but `stopped` and `allocs` */
    uint64_t stopped; /* ticks */
    struct hp_lane_allocs allocs;
    uint64_t
        held_bytes; /* what its open zones had allocated when it last stopped: counted for that thread's zones */
    uint64_t held_count;
    uint32_t has_flags; /* of its frames, all together */
    uint32_t reserved[5];
};

/* --- more than numbers of a call */

#define HP_NOTE_BYTES 200u /* longest note, without an end mark: its length is kept beside it */

/* One call that has ended. */
struct hp_call {
    uint64_t start; /* ticks */
    uint64_t ticks; /* how long it took */
    uint32_t node;
    uint32_t tid;
    uint32_t note; /* offset of HP_NOTE_BYTES bytes that belong to this place in the log, or 0 */
    uint32_t note_length;
    uint64_t alloc_bytes; /* asked for, in this call and what it called */
    uint64_t alloc_count;
};

/*
 * The latest calls of a site in one thread record: the call number n (from 0) is at n % capacity. One place more than calls
 * are asked for, since the one after the latest may be half written; `count` is raised when a call is in its place.
 */
struct hp_call_log {
    uint64_t count; /* calls that were ever written */
    uint32_t capacity;
    uint32_t reserved;
    struct hp_call calls[];
};

/* A path of calls inside a slow call: what the calls of one node, made within it, took together. */
struct hp_slow_row {
    uint32_t node;
    uint32_t note; /* offset, within the notes of the slow call, of that of the last such call that had one; */
    uint32_t note_length; /* 0: no note */
    uint32_t is_sampled;  /* not all of the calls were timed; times are scaled up */
    uint64_t calls;
    uint64_t total; /* ticks, without those of calls inside other calls of the same site */
    uint64_t self;
};

/* A slow call. Behind it are its rows, parents before their children, then `note_bytes` of notes. */
struct hp_slow_call {
    struct hp_call call; /* `note` is an offset within the notes */
    uint64_t self;       /* ticks of it outside of zones inside */
    uint32_t row_count;
    uint32_t rows_left_out; /* for which there was no space: the smallest */
    uint32_t note_bytes;
    uint32_t reserved;
};

/* The slowest call of a site in one thread record, in one of two places, so that one is whole at any time. */
struct hp_slowest {
    uint32_t number;   /* how many there were; the latest is in calls[number % 2]; 0: none yet */
    uint32_t calls[2]; /* offsets of hp_slow_call */
    uint32_t bytes[2]; /* what these places hold */
    uint32_t reserved[3];
};

/* --- allocations */

/*
 * What a thread allocates and frees. malloc and free touch the first 64 bytes, and the frame of the innermost zone to see
 * whether it has an hp_alloc_frame. What lives is counted in usable bytes, which are all that is known when a block is
 * freed: `usable - freed`, and `count - freed_count` blocks. Both are negative in threads that free what others have allocated.
 */
struct hp_alloc_thread {
    uint64_t count;       /* allocations */
    uint64_t bytes;       /* asked for */
    uint64_t usable;      /* the same in usable bytes */
    uint64_t freed_count; /* blocks */
    uint64_t freed;       /* usable bytes */
    int64_t peak_live;    /* the most that lived since the innermost zone began that has an hp_alloc_frame */
    int64_t peak_blocks;
    int64_t
        published; /* of what lives, what is in the header's sum: never far from it where there are more threads */

    uint64_t foreign_count; /* blocks freed here that other threads had allocated */
    uint64_t foreign_bytes; /* usable */
    uint32_t frames;        /* offset of hp_alloc_frame[frame_capacity of the thread record] */
    uint32_t reserved[11];
};

/*
 * In `published`: the thread was the only one until now, so its own counters are those of the process, and the most that lived is in
 * the header's not yet. It tells that with its next event.
 */
#define HP_ALLOC_NEVER_TOLD (INT64_MIN / 2)

static inline int64_t hp_alloc_live(const struct hp_alloc_thread *thread)
{
    return (int64_t)(thread->usable - thread->freed);
}

static inline int64_t hp_alloc_published(const struct hp_alloc_thread *thread)
{
    const int64_t published = __atomic_load_n(&thread->published, __ATOMIC_RELAXED);
    return published != HP_ALLOC_NEVER_TOLD ? published : 0;
}

static inline int64_t hp_alloc_live_blocks(const struct hp_alloc_thread *thread)
{
    return (int64_t)(thread->count - thread->freed_count);
}

/*
 * How far what lives may be from what the header knows of it, per thread. Small, since the peak of the process is only as good
 * as this; large enough that what comes and goes in a loop does not touch what all threads share.
 */
#define HP_ALLOC_UNPUBLISHED 32768

/*
 * What the thread's counters were when an open zone began. Made by the first allocation or free inside a zone, for that
 * zone and all around it that have none yet: until then nothing has changed since they began. A frame that has one bears
 * HOTPATH_ALLOCATES_; frame 0 stands for what is outside of all zones.
 */
struct hp_alloc_frame {
    uint64_t count;
    uint64_t bytes;
    int64_t live;      /* usable - freed */
    int64_t blocks;    /* count - freed_count */
    int64_t peak_live; /* of the zone around it, up to then */
    int64_t peak_blocks;
    uint64_t inner_count; /* what zones directly inside that have ended allocated, and those inside them */
    uint64_t inner_bytes;
};

/* What is told of a call. Each has a histogram of its own, with octaves as in hotpath_stat_. */
enum hp_alloc_measure {
    HP_ALLOC_OWN_BYTES, /* asked for by the call itself, not by zones inside */
    HP_ALLOC_OWN_COUNT,
    HP_ALLOC_ALL_BYTES, /* with zones inside */
    HP_ALLOC_ALL_COUNT,
    HP_ALLOC_PEAK_BYTES, /* most usable bytes that lived at once, beyond those at its beginning, zones inside included */
    HP_ALLOC_PEAK_BLOCKS,
    HP_ALLOC_MEASURES
};

/* What calls of a site allocated, in one thread record. Calls without an hp_alloc_frame are not here: all theirs is 0. */
struct hp_alloc_stat {
    uint64_t calls;     /* that allocated or freed */
    uint64_t own_bytes; /* sums over all calls */
    uint64_t own_count;
    uint64_t all_bytes; /* sums over calls that were not inside another call of the site */
    uint64_t all_count;
    int64_t net_bytes; /* usable bytes that such calls left behind */
    int64_t net_blocks;
    uint64_t missed; /* values that found no space for their octave */
    uint64_t max[HP_ALLOC_MEASURES];
    uint32_t octaves[HP_ALLOC_MEASURES][HOTPATH_OCTAVES_];
};

/* Memory that the program hands out itself, by name (hotpath_alloc_event). Written by any thread, atomically. */
struct hp_pool {
    uint32_t next; /* offset of an older one */
    uint32_t name; /* offset of a string */
    uint64_t count;
    uint64_t bytes;
    uint64_t freed_count;
    uint64_t freed_bytes;
    int64_t live; /* bytes */
    int64_t peak_live;
    int64_t peak_blocks;
};

/* --- processor time */

enum hp_cpu_engine {
    HP_CPU_NONE = 0,
    HP_CPU_TIMERS =
        1, /* a timer on each thread's processor clock: fires on the kernel's ticks, in user and kernel mode */
    HP_CPU_PERF = 2 /* the same, and samples of user mode by perf's clock, which are not bound to ticks */
};

/*
 * The processor time of a thread, and of those before it with the same record. All of it was measured by the thread's clock;
 * samples only say which nodes it is credited to: what has passed since the last one, to where the thread is found. What is
 * not credited yet (the time since the last sample of a thread that has ended) waits for the next sample.
 */
struct hp_cpu_thread {
    uint64_t user_ns; /* measured so far, credited or not; which mode it was is the kernel's guess */
    uint64_t kernel_ns;
    uint64_t waiting_ns; /* of that, not credited yet */
    uint64_t
        unseen_ns; /* beside that, passed unseen by perf: of the kernel, where ticks have found the thread there */
    uint64_t samples;      /* taken, by either means; */
    uint64_t perf_samples; /* of these, by perf */
    uint64_t recorded;     /* samples that went into the chunks, those included that were written over */
    uint32_t table;        /* offset of hp_cpu_table */
    uint32_t chunk;        /* offset of the hp_sample_chunk that is being filled */
    uint32_t chunk_count;
    uint32_t last_node;  /* where it was found last; 0: never yet */
    uint64_t skipped_ns; /* passed while recording was paused: in none of the above */
    uint64_t skipped_kernel_ns;
    uint64_t spent_ticks;   /* what it took us to make samples and to take them, as far as the thread can tell */
    uint64_t perf_switches; /* how often the thread was switched from while perf was there */
    uint64_t waited_ns; /* passed without that it ran, between two looks at its clocks with a wait between them */
    uint64_t preempted; /* how often others had its processor though it did not wait; 0: nothing is known of that */
    uint64_t perf_ticks; /* of spent_ticks, for samples of perf's */
};

/* What was credited to a node. */
struct hp_cpu_node {
    uint32_t node; /* offset; 0: this place is free */
    uint32_t reserved;
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t
        ticked_ns; /* with perf: what was used before a timer's signal found it here in the kernel, since the one before */
    /*
     * Of recursive calls: samples taken in a call further in that was folded onto a node further out, so that this one is
     * not above it in the tree, though its call is on the stack.
     */
    uint64_t also_samples;
    uint64_t also_ns;
};

/* Open addressing: a node is at its hash or after that. A larger table replaces a full one. */
struct hp_cpu_table {
    uint32_t capacity; /* a power of two */
    uint32_t used;
    uint32_t reserved[6];
    struct hp_cpu_node nodes[];
};

enum hp_sample_kind { HP_SAMPLE_TIMER = 1, HP_SAMPLE_PERF = 2 };

/* One sample. */
struct hp_sample {
    uint64_t ticks; /* when */
    uint32_t node;
    uint32_t tid;
    uint32_t stack; /* offset of the addresses on the thread's stack; 0: not recorded */
    uint32_t kind;  /* enum hp_sample_kind */
};

/*
 * The latest samples of a thread record, in chunks that form a ring: `next` of the one that is being filled is the oldest,
 * which is used again when there is to be no further one. The number of a sample within its thread is `first` plus its place.
 */
struct hp_sample_chunk {
    uint32_t next;
    uint32_t capacity;
    uint32_t used;
    uint32_t reserved;
    uint64_t first;
    uint64_t reserved_too;
    struct hp_sample samples[];
};

/* --- waiting */

enum hp_wait_cause {
    HP_WAIT_OTHER,     /* a system call that is none of the following */
    HP_WAIT_RUN_QUEUE, /* ready to run, with no processor to run on */
    HP_WAIT_LOCK,      /* a mutex, a lock for reading or writing, a lock of a file */
    HP_WAIT_SLEEP,     /* nanosleep and the like */
    HP_WAIT_POLL,      /* poll, select, epoll_wait: one of several descriptors */
    HP_WAIT_DISK,      /* a file system or a block device */
    HP_WAIT_SOCKET,
    HP_WAIT_PIPE,
    HP_WAIT_TERMINAL,
    HP_WAIT_CHILD,   /* the end of a process */
    HP_WAIT_SIGNAL,  /* sigwait, pause */
    HP_WAIT_FAULT,   /* a page that had to be read */
    HP_WAIT_STOPPED, /* by a signal, or by a debugger */
    HP_WAIT_CONDITION,
    HP_WAIT_SEMAPHORE,
    HP_WAIT_BARRIER,
    HP_WAIT_THREAD, /* the end of a thread */
    HP_WAIT_FUTEX,  /* one of these, or a lock: cannot be told */
    HP_WAIT_CLIENT, /* somebody who connects: accept */
    HP_WAIT_CAUSES
};

/* What threads waited for at one place. */
struct hp_wait {
    uint32_t
        node; /* of the innermost open zone; of the root of the thread's tree: outside of all; 0: a thread without record */
    uint32_t cause; /* enum hp_wait_cause */
    int32_t call;   /* number of the system call; -1: none */
    uint32_t looks; /* how often it was found so */
    uint64_t ns;
    uint64_t
        beside_ns; /* of that, while another thread of the run was at work; run queue: after a wait that was idle */
    uint32_t other; /* node where the thread was that is waited for, or that has the lock; 0: not known */
    uint32_t reserved;
    char what[40]; /* the file, socket, pipe or child, if known: its end, if it is longer; filled up with zeros */
};

/*
 * Written from outside by whoever watches the process (`hotpath run`), or by a thread of the library; by one of them at a
 * time. The place is made when the session begins, since nobody else may make space in it. Behind it is hp_wait[capacity].
 */
struct hp_waits {
    uint32_t capacity;
    uint32_t used;        /* entries that are valid: raised when an entry is written */
    uint32_t watcher;     /* process that watches, or did; 0: nobody came */
    uint32_t period_us;   /* between two looks, on average */
    uint64_t looks;       /* at threads */
    uint64_t watched_ns;  /* time of threads that was watched: run, ready to run, or waiting */
    uint64_t left_out_ns; /* waiting for which there was no entry left */
    uint64_t watcher_ns;  /* processor time that watching took */
    uint64_t latest_ns;   /* when the process was last found alive, by CLOCK_MONOTONIC */
    uint32_t unwatched;   /* most threads at a time for which there was no place; 1 of a process without one */
    uint32_t reserved;
};

/* --- what threads used, whether they measure anything or not */

#define HP_CREW_CAUSES 20u /* with room for one that comes */

/* A thread; or several of the same name, where there are many, and then all numbers are of them together. */
struct hp_crew_row {
    uint32_t tid;        /* of the one that came last */
    uint32_t threads;    /* 0: this place is free */
    uint32_t living;     /* of these, when they were looked at last */
    uint32_t record;     /* offset of its hp_thread; 0: it has none, or they are several */
    uint32_t generation; /* of that record, while it is this thread's */
    uint32_t state;      /* the kernel's letter for it */
    char name[16];
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t voluntary; /* how often it gave its processor away, and how often it was taken */
    uint64_t involuntary;
    uint64_t lived_ns;
    uint64_t allocated_bytes; /* asked for */
    uint64_t usable_bytes;    /* the same in usable bytes */
    uint64_t freed_bytes;     /* usable */
    uint32_t now_permille;    /* of a processor, of each thread on average, between the last two samples */
    uint32_t max_permille;    /* the highest of one thread that was */
    uint64_t waited_ns[HP_CREW_CAUSES]; /* by enum hp_wait_cause */
};

/*
 * Written by whoever writes hp_waits, in a place that is made with it. Behind it is hp_crew_row[capacity]. A place that is free may be
 * before ones that are not.
 */
struct hp_crew {
    uint32_t capacity;
    uint32_t used;         /* places up to the last one that was ever used */
    uint32_t samples;      /* how often all of it was brought up to date; 0: nobody came */
    uint32_t threads;      /* that live */
    uint32_t most_threads; /* at a time */
    uint32_t unlisted;     /* threads for which there was no place */
    uint64_t sampled_ns;   /* when it was brought up to date last, by CLOCK_MONOTONIC */
    uint64_t rss_bytes;    /* memory of the process that is in memory */
    uint64_t rss_peak_bytes;
    uint64_t reserved[2];
};

/* Site ids of nodes that stand for no place in code. */
#define HP_SITE_ROOT 0xffffffffu
#define HP_SITE_OTHER 0xfffffffeu

_Static_assert(sizeof(struct hp_header) == HP_HEADER_BYTES, "the header is one page");
_Static_assert(offsetof(struct hp_header, gate) == HOTPATH_GATE_, "inline code looks there");
_Static_assert(sizeof(struct hotpath_frame_) == 32, "part of the file");
_Static_assert(sizeof(struct hotpath_node_) == 64, "part of the file");
_Static_assert(sizeof(struct hotpath_stat_) == 312, "part of the file");
_Static_assert(sizeof(struct hp_site) == 32, "part of the file");
_Static_assert(sizeof(struct hp_thread) == 112 + sizeof(struct hp_thread_life), "part of the file");
_Static_assert(sizeof(struct hp_thread_life) == 64, "part of the file");
_Static_assert(sizeof(struct hp_node_chunk) == 64, "part of the file");
_Static_assert(sizeof(struct hp_lane) == 128, "part of the file");
_Static_assert(sizeof(struct hp_call) == 48 && sizeof(struct hp_call_log) == 16, "part of the file");
_Static_assert(sizeof(struct hp_slow_row) == 40 && sizeof(struct hp_slow_call) == 72, "part of the file");
_Static_assert(sizeof(struct hp_slowest) == 32, "part of the file");
_Static_assert(sizeof(struct hp_alloc_thread) == 128 && offsetof(struct hp_alloc_thread, foreign_count) == 64,
               "part of the file");
_Static_assert(sizeof(struct hp_alloc_frame) == 2 * sizeof(struct hotpath_frame_), "recorders compute with that");
_Static_assert(sizeof(struct hp_cpu_thread) == 128 && sizeof(struct hp_cpu_node) == 56, "part of the file");
_Static_assert(sizeof(struct hp_cpu_table) == 32 && sizeof(struct hp_sample) == 24, "part of the file");
_Static_assert(sizeof(struct hp_sample_chunk) == 32 && sizeof(struct hp_wait) == 80, "part of the file");
_Static_assert(sizeof(struct hp_waits) == 64, "part of the file");
_Static_assert(sizeof(struct hp_crew) == 64 && sizeof(struct hp_crew_row) == 272, "part of the file");
_Static_assert(HP_WAIT_CAUSES <= HP_CREW_CAUSES, "a thread can wait for all of them");
_Static_assert(sizeof(struct hp_alloc_stat) == 1504 && sizeof(struct hp_pool) == 64, "part of the file");

#endif
