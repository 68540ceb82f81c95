/*
 * The session file, byte by byte, in one header. docs/session-format.md is the manual; this is the source of truth.
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
 *                                               ├▶ log: the latest calls: log_layout.h
 *                                               ├▶ slowest: the slowest call, with everything inside
 *                                               └▶ alloc: allocations of its calls ─▶ octaves
 *                              ├▶ alloc: allocations of the thread ─▶ frames (beside those of zones)
 *                              └▶ cpu: its CPU time ─▶ table: by node
 *                                                   └▶ sample chunks: the latest samples
 *          ├▶ waits: what threads waited for, by node
 *          ├▶ thread_usage: what threads used, including those without a record
 *          └▶ lanes (a list): stacks of zones that are not a thread's current one ─▶ frames
 *          ├▶ objects, and kinds, which describe their counters: object_layout.h
 *          └▶ paths: where the time went on the critical path: path_layout.h
 *
 * Who writes: the header's plain fields are written once, before the file gets its name; its counters by
 * any thread, atomically; a thread record and everything below it by its thread alone. Who reads: anyone, at any
 * time, through snapshot.h, which trusts nothing it finds.
 *
 * The structs shared with the inline part (frames, nodes, stats) are in hotpath/inline.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_LAYOUT_H
#define HP_FORMAT_LAYOUT_H

#include "clock.h"
#include "hotpath.h"
#include "log_layout.h"
#include "object_layout.h"
#include "path_layout.h"
#include "task_layout.h"

#define HP_MAGIC "hotpath" /* with its final zero: 8 bytes */
#define HP_BYTE_ORDER 0x01020304u
#define HP_LAYOUT_VERSION 9u /* readers refuse any other */

#define HP_HEADER_BYTES 4096u
#define HP_HEADER_USED 1728u /* bytes of the header in use */
#define HP_SITES_PER_CHUNK 1024u
#define HP_SITE_CHUNKS 256u
#define HP_MAX_SITES (HP_SITES_PER_CHUNK * HP_SITE_CHUNKS)

#define HP_GATE_PAUSED 0x40000000u /* bit in `gate`, set and cleared from outside: nothing new is recorded */

/* Feature bits: what kinds of records the file may hold. A reader ignores those it does not know. */
#define HP_FEATURE_TIMING 1u
#define HP_FEATURE_ALLOC 2u     /* allocations were counted */
#define HP_FEATURE_CPU 4u       /* CPU time was sampled */
#define HP_FEATURE_CALLS 8u     /* latest calls were kept */
#define HP_FEATURE_RUN 16u      /* started by `hotpath run`: what the process used before the session counts, too */
#define HP_FEATURE_COUNTED 32u  /* malloc is interposed: allocations are counted, if anything is */
#define HP_FEATURE_UNPASSED 64u /* stacks could not be passed on to `hotpath run`: see stack_ring.h */
#define HP_FEATURE_LOGS 256u    /* what is logged is more than calls: see log_layout.h */
/* Instructions that the CPU counts: not all, since it counted for others, too; or not those of some thread. */
#define HP_FEATURE_SHARED_COUNTER 512u
#define HP_FEATURE_MISSING_COUNTER 1024u
#define HP_FEATURE_RECORDED 128u /* made by `hotpath record`; the process may live longer than that */
/*
 * Set from outside, by an observer: the process has sandboxed itself and may be killed by a system call it did not
 * make before. All bits of this byte are for observers.
 */
#define HP_FEATURE_SANDBOXED 0x80000000u

enum hp_state {
    HP_STATE_LIVE = 1,    /* the process is running or was killed: ask the kernel which */
    HP_STATE_FINISHED = 2 /* hotpath_stop or exit: the numbers are final */
};

enum hp_clock_kind {
    HP_CLOCK_MONOTONIC = 1, /* clock_gettime: a tick is a nanosecond */
    HP_CLOCK_TSC = 2,
    HP_CLOCK_CNTVCT = 3,
    HP_CLOCK_RDTIME = 4,
    HP_CLOCK_INSTRUCTIONS = 5 /* not time: a tick is an instruction of the program */
};
/* Each clock is a counter of the CPU, or none: the two lists are parallel. */
_Static_assert(HP_CLOCK_TSC - HP_CLOCK_MONOTONIC == HP_COUNTER_TSC && HP_COUNTER_NONE == 0, "side by side");
_Static_assert(HP_CLOCK_RDTIME - HP_CLOCK_MONOTONIC == HP_COUNTER_RDTIME, "side by side");
_Static_assert(HP_CLOCK_INSTRUCTIONS - HP_CLOCK_MONOTONIC == HP_COUNTER_INSTRUCTIONS, "side by side");
/* How the name of the engine begins if the CPU counts instructions; its name and the C library follow. */
#define HP_ENGINE_IS_CPU "pmu, "
static inline uint32_t hp_clock_kind_of(enum hp_counter counter) { return HP_CLOCK_MONOTONIC + (uint32_t)counter; }

/* Ticks and CLOCK_MONOTONIC nanoseconds taken at the same moment. */
struct hp_clock_pair {
    uint64_t ticks;
    uint64_t ns;
};

/* Losses by reason. Counters; zero is normal and not shown. */
enum hp_loss {
    HP_LOSS_ZONES,     /* zones without a thread record */
    HP_LOSS_NODES,     /* paths counted under <other>: no space or too many nodes */
    HP_LOSS_BUCKETS,   /* durations missing from histograms: no space for an octave */
    HP_LOSS_SITES,     /* sites without space */
    HP_LOSS_ABANDONED, /* zones left by longjmp or similar: timed up to their last sign */
    HP_LOSS_FOREIGN,   /* zones closed on another thread */
    HP_LOSS_DEPTH,     /* zones deeper than the stack of zones can grow, or in too deeply nested signal handlers */
    HP_LOSS_CLOCK,     /* negative durations, clamped */
    HP_LOSS_CHILDREN,  /* forked children that could not start a session */
    HP_LOSS_CALLS,     /* calls that were to be kept, without space */
    HP_LOSS_ALLOCS,    /* calls whose allocations are in no row: no space */
    HP_LOSS_SAMPLES,   /* samples whose zone had no space: their time counts as outside of all zones */
    HP_LOSS_STACKS,    /* threads no longer sampled: the program's stacks have no room for the handler */
    HP_LOSS_ENDED,     /* zones in the last destructors of a thread, after its state was freed */
    HP_LOSS_SEALED,    /* zones of threads that started after everything was reserved */
    HP_LOSS_PROCESSES, /* processes that left no session: this one was made from outside */
    HP_LOSS_LANES,     /* failed switches to a lane (elsewhere, ended, or no space): zones go to the thread's own */
    HP_LOSS_VALUES,    /* updates of values and other objects, without space */
    HP_LOSS_CLOSED,    /* functions of closed libraries: others at the same address may have counted as them */
    HP_LOSSES
};

/* Where the session is. */
enum hp_storage {
    HP_STORAGE_FILE,
    HP_STORAGE_MEMORY,   /* no directory had space for it */
    HP_STORAGE_NO_FOLDER /* the same, because one of them belongs to someone else or is writable by others */
};

/* Why it could not grow. */
enum hp_refusal {
    HP_REFUSAL_NONE,
    HP_REFUSAL_CAPACITY,  /* it has its maximum size */
    HP_REFUSAL_ADDRESSES, /* a limit of the process, or a neighbouring mapping */
    HP_REFUSAL_SPACE,     /* the file system is full */
    HP_REFUSAL_FILE /* the file could not be reopened: other user or root, no descriptor left, or it is gone */
};

/*
 * In how much of a run anything worked, in ns: all threads of all processes that its observer sees, up to its
 * latest look. What is in none of the three was idle.
 */
struct hp_work_times {
    uint64_t covered_ns; /* from the beginning of the run; 0: no observer came */
    uint64_t worked_ns;  /* something ran, or was ready to run */
    uint64_t blocked_ns; /* nothing did, but something waited for a disk or for a page */
    uint64_t socket_ns;  /* neither of these, but something waited for a socket */
};

struct hp_header {
    char magic[8];
    uint32_t byte_order;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t features;
    uint64_t capacity; /* maximum size of the mapping */
    uint64_t used;     /* arena: first free byte */
    uint64_t backed;   /* bytes allocated on disk so far */

    uint32_t gate;  /* contexts compare it with their epoch: 0: over; session number: on; other bits: slow path */
    uint32_t state; /* enum hp_state */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start; /* kernel's start time of the process: detects a reused pid */
    uint32_t exec_count;    /* sessions of this process before this one */
    uint32_t main_site;     /* id of the 100 % row; 0xffffffff: none */
    uint64_t wall_start_ns; /* CLOCK_REALTIME */
    unsigned char boot_id[16];

    uint32_t clock_kind; /* enum hp_clock_kind */
    uint32_t cores;
    struct hp_clock_pair clock_start;
    struct hp_clock_pair clock_latest; /* refreshed now and then, and at the end */
    uint64_t zone_cost_ps;             /* total cost of an empty zone in picoseconds, measured at start */
    uint64_t zone_inner_ps;            /* the part of it that is included in its own duration */

    uint32_t site_count;   /* ids given out; a chunk may lag behind for an instant */
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
    uint32_t pid_namespace; /* namespace of `pid`; 0: unknown */

    uint64_t losses[HP_LOSSES];

    uint32_t site_chunks[HP_SITE_CHUNKS]; /* offsets of hp_site[HP_SITES_PER_CHUNK] */
    uint32_t time_period;                 /* one call in this many is timed; 0 and 1: all */
    uint32_t filter; /* offsets of strings: HOTPATH_FILTER and HOTPATH_SKIP, which may exclude sites */
    uint32_t skip;
    uint32_t pools;        /* offset of the newest hp_pool */
    int64_t alloc_live;    /* live usable bytes of all threads, as far as published: see hp_alloc_thread */
    int64_t alloc_peak;    /* its maximum */
    uint64_t late_count;   /* allocations on threads without a record */
    uint64_t late_bytes;   /* requested */
    uint64_t late_usable;  /* the same in usable bytes */
    uint64_t late_frees;   /* blocks freed there */
    uint64_t late_freed;   /* usable bytes */
    uint64_t alloc_failed; /* allocations that failed in the host; in no other number */
    uint32_t cpu_engine;   /* enum hp_cpu_engine */
    uint32_t cpu_rate;     /* requested samples per second of CPU time */
    uint64_t cpu_start_ns; /* CPU time of the whole process when the session began ... */
    uint64_t cpu_start_kernel_ns;
    uint64_t cpu_latest_ns; /* ... and at clock_latest */
    uint64_t cpu_latest_kernel_ns;
    uint32_t waits;       /* offset of hp_waits; 0: no observer intended */
    uint32_t cpu_refusal; /* errno with which the kernel refused perf; 0: it did not, or was not asked */
    uint32_t storage;     /* enum hp_storage */
    uint32_t refusal;     /* enum hp_refusal: why it last could not grow */
    /* Other costs of measuring, as zone_cost_ps: picoseconds, 0: unknown. */
    uint64_t counted_cost_ps;     /* of an untimed zone */
    uint64_t function_cost_ps;    /* of a function instrumented by the compiler */
    uint64_t function_counted_ps; /* of the same, untimed */
    uint64_t alloc_cost_ps;       /* of counting an allocation and its free */
    uint64_t interrupt_ticks;     /* cost of a perf interrupt for a thread, in ticks */
    /* Offset of a string: why the process left no session; 0: this is its own session. */
    uint32_t outside;
    uint32_t processes;    /* from outside: processes without a session of their own that are counted here */
    uint64_t pause_ticks;  /* cost of stopping and restarting perf, as on context switches */
    uint32_t thread_usage; /* offset of hp_thread_usage; 0: no observer intended */
    uint32_t lanes;        /* offset of the newest hp_lane */
    uint32_t kinds;        /* offset of the newest hp_kind */
    uint32_t objects;      /* offset of the newest hp_object */
    uint32_t tasks;        /* offset of the newest hp_task_chunk */
    uint32_t task_slots;   /* atomic: number of slots */
    uint64_t task_batches; /* atomic: free slots, see tasks.c */
    uint32_t brief;        /* from outside: how many programs ended before their session, if it stands for these */
    uint32_t unclosed;     /* id + 1 of the site of the first zone in losses[HP_LOSS_ABANDONED]; 0: none */
    uint64_t session_ns;   /* CPU time that beginning and ending the session took */
    uint64_t loading_ns;   /* from outside: CPU time that loading the library takes in a process; 0: not measured */
    uint64_t hidden_cost_ps; /* the part of zone_cost_ps that a CPU hides behind a chain of dependent arithmetic */
    uint64_t used_ns;        /* CPU time of the process in the session, written when it ends; 0: unknown */
    uint64_t preempted;      /* how often the process's threads lost their CPU by then without waiting */
    uint64_t ready_ns;       /* atomic: time that threads without an observer were ready to run, at their ends */
    uint64_t switches;       /* how often they lost or gave up their CPU by then */
    uint64_t left_out;       /* functions and blocks that ran, but that HOTPATH_FILTER and HOTPATH_SKIP exclude */
    struct hp_work_times work; /* from the observer: of the run, not only of this process */
    /* From outside: CPU time of the program, with what was before and after its session; 0: unknown. */
    uint64_t whole_cpu_ns;
    uint32_t paths;  /* offset of hp_paths; 0: the critical path is not followed */
    uint32_t engine; /* offset of a string: what counts the instructions of clock_kind; 0: time is measured */
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
    uint32_t image; /* offset of a string: the file of a compiler-instrumented function; 0: unknown */
    uint32_t address_low, address_high; /* its address, as in the symbol table of the file */
};

/* Whether the name of such a site is a full C++ signature, which readers shorten. */
static inline bool hp_site_is_signature(uint32_t kind)
{
    const uint32_t plain = kind & ~HOTPATH_KIND_CXX_;
    return kind & HOTPATH_KIND_CXX_ && (plain == HOTPATH_KIND_FUNCTION_ || plain == HOTPATH_KIND_MAIN_);
}

enum hp_thread_state {
    HP_THREAD_FREE = 0, /* its thread exited; the next new one reuses it */
    HP_THREAD_LIVE = 1
};

/*
 * What a thread used from start to exit, by its own clock, and what earlier threads of the record had allocated:
 * for an observer outside, which may miss both.
 */
struct hp_thread_life {
    uint32_t ended_generation; /* of the last thread that exited here; 0: none */
    uint32_t reserved;
    uint64_t user_ns; /* of that thread, like all up to `involuntary` */
    uint64_t kernel_ns;
    uint64_t voluntary; /* how often it gave up its CPU, and how often it was preempted */
    uint64_t involuntary;
    uint64_t bytes_before; /* `bytes`, `usable` and `freed` of hp_alloc_thread when the current thread started */
    uint64_t usable_before;
    uint64_t freed_before;
};

struct hp_thread {
    uint32_t next;       /* offset of the next thread record */
    uint32_t state;      /* enum hp_thread_state */
    uint32_t tid;        /* of the current or last writer thread */
    uint32_t generation; /* number of threads that have used this record */
    uint32_t frames;     /* offset of hotpath_frame_[frame_capacity]; frame 0 is the thread itself */
    uint32_t frame_capacity;
    uint32_t root;        /* offset of the root node */
    uint32_t other;       /* offset of the <other> node */
    uint32_t node_chunks; /* offset of the newest hp_node_chunk */
    uint32_t stats;       /* offset of the newest hotpath_stat_ */
    uint32_t node_count;
    uint32_t stat_count;
    uint64_t first_tick; /* when the current thread began to record */
    char name[16];       /* from the kernel */
    uint32_t blank_stat; /* offset of a stat without octaves, for frames with HOTPATH_KEPT_; 0: none yet */
    uint32_t alloc;      /* offset of hp_alloc_thread; 0: no allocations or frees here */
    uint32_t cpu;        /* offset of hp_cpu_thread; 0: CPU time was not sampled */
    uint32_t slow_ways;  /* slow-path ends of zones and first allocations in zones, in steps; may wrap */
    uint64_t slow_ticks; /* total time of one in HP_SLOW_PERIOD of these */
    uint32_t own_lane;   /* offset of the thread's own hp_lane; 0: it has never switched lanes */
    uint32_t free_tasks; /* offset of the first free hp_task_slot of this thread; 0: none */
    uint32_t free_task_count;
    uint32_t path; /* offset of hp_path_thread; 0: none */
    struct hp_thread_life life;
};

/* A prime, so that it does not divide the period of a program's work. */
#define HP_SLOW_PERIOD 127u

/* `used` nodes are valid; a reader may see a count one too small. */
struct hp_node_chunk {
    uint32_t next; /* offset of an older chunk */
    uint32_t capacity;
    uint32_t used;
    uint32_t reserved[13];
    struct hotpath_node_ nodes[];
};

/* --- stacks of zones other than a thread's current one */

enum hp_lane_state {
    HP_LANE_RUNNING = 0, /* its frames are those of a thread record; or it has ended, and the next lane reuses it */
    HP_LANE_SUSPENDED = 1, /* its frames are as they were when it stopped; the innermost, if any, is <suspended> */
    HP_LANE_BELOW = 2      /* a thread's own lane while another one runs on that thread */
};

/* A thread's counters when a lane stopped running on it. The lane's hp_alloc_frames refer to that time. */
struct hp_lane_allocs {
    uint64_t count, bytes;
    int64_t live, blocks; /* as in hp_alloc_frame */
    int64_t peak_live, peak_blocks;
};

/* A stack of zones that a program switches to and from: a coroutine's, or a thread's own. */
struct hp_lane {
    uint32_t next;   /* offset of an older one */
    uint32_t state;  /* enum hp_lane_state */
    uint32_t thread; /* offset of the thread record whose tree has the nodes of its frames */
    uint32_t depth;  /* number of its innermost frame */
    uint32_t frames; /* as in hp_thread, when it last stopped */
    uint32_t frame_capacity;
    uint32_t alloc_frames; /* as in hp_alloc_thread; 0: none yet */
    uint32_t folds;   /* of its thread then; private to the recorder, as all below but `stopped` and `allocs` */
    uint64_t stopped; /* ticks */
    struct hp_lane_allocs allocs;
    uint64_t held_bytes; /* allocated by its open zones when it last stopped: counted for zones of that thread */
    uint64_t held_count;
    uint32_t has_flags; /* flags of all its frames, combined */
    uint32_t reserved[5];
};

/* --- more than numbers about a call */

#define HP_NOTE_BYTES HP_LOG_TEXT /* maximum length of a note */

/* One finished call. */
struct hp_call {
    uint64_t start; /* ticks */
    uint64_t ticks; /* duration */
    uint32_t node;
    uint32_t tid;
    uint32_t note; /* offset within the notes of the slow call */
    uint32_t note_length;
    uint64_t alloc_bytes; /* requested in this call and its callees */
    uint64_t alloc_count;
};

/* A path of calls inside a slow call: the sums over the calls of one node made within it. */
struct hp_slow_row {
    uint32_t node;
    uint32_t note;        /* offset, in the notes of the slow call, of the note of the last such call with one; */
    uint32_t note_length; /* 0: no note */
    uint32_t is_sampled;  /* not all of the calls were timed; times are scaled up */
    uint64_t calls;
    uint64_t total; /* ticks, without those of calls inside other calls of the same site */
    uint64_t self;
};

/* A slow call, followed by its rows, parents before children, and `note_bytes` of notes. */
struct hp_slow_call {
    struct hp_call call;
    uint64_t self; /* ticks outside of child zones */
    uint32_t row_count;
    uint32_t rows_left_out; /* rows without space: the smallest ones */
    uint32_t note_bytes;
    uint32_t reserved;
};

/* The slowest call of a site in one thread record, in one of two buffers, so that one is complete at any time. */
struct hp_slowest {
    uint32_t number;   /* number of slowest calls so far; the latest is in calls[number % 2]; 0: none yet */
    uint32_t calls[2]; /* offsets of hp_slow_call */
    uint32_t bytes[2]; /* sizes of these buffers */
    uint32_t reserved[3];
};

/* --- allocations */

/*
 * Allocations and frees of a thread. malloc and free touch the first 64 bytes, and the frame of the innermost zone
 * to see whether it has an hp_alloc_frame. Live memory is counted in usable bytes, which are all that is known at a
 * free: `usable - freed`, and `count - freed_count` blocks. Both are negative in threads that free blocks of
 * others.
 */
struct hp_alloc_thread {
    uint64_t count;       /* allocations */
    uint64_t bytes;       /* requested */
    uint64_t usable;      /* the same in usable bytes */
    uint64_t freed_count; /* blocks */
    uint64_t freed;       /* usable bytes */
    int64_t peak_live;    /* maximum of live bytes since the start of the innermost zone with an hp_alloc_frame */
    int64_t peak_blocks;
    int64_t published; /* live bytes it has added to the header's sum, which is nearly right with more threads */

    uint64_t foreign_count; /* blocks freed here that other threads allocated */
    uint64_t foreign_bytes; /* usable */
    uint32_t frames;        /* offset of hp_alloc_frame[frame_capacity of the thread record] */
    uint32_t reserved[11];
};

/*
 * In `published`: the thread was the only one until now, so its counters are those of the process, and its peak is
 * not in the header yet. It publishes that with its next event.
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
 * Maximum difference between live bytes and their published value, per thread. Small, since the peak of the process
 * is only this exact; large enough that a loop of allocations and frees does not touch shared data.
 */
#define HP_ALLOC_UNPUBLISHED 32768

/*
 * The thread's counters when an open zone started. Made by the first allocation or free inside a zone, for that
 * zone and all enclosing ones without one: nothing has changed since they started. A frame with one has
 * HOTPATH_ALLOCATES_; frame 0 stands for everything outside of zones.
 */
struct hp_alloc_frame {
    uint64_t count;
    uint64_t bytes;
    int64_t live;      /* usable - freed */
    int64_t blocks;    /* count - freed_count */
    int64_t peak_live; /* of the enclosing zone, up to then */
    int64_t peak_blocks;
    uint64_t inner_count; /* allocated by ended zones inside */
    uint64_t inner_bytes;
};

/* What is measured per call. Each has its own histogram, with octaves as in hotpath_stat_. */
enum hp_alloc_measure {
    HP_ALLOC_OWN_BYTES, /* requested by the call itself, not by zones inside */
    HP_ALLOC_OWN_COUNT,
    HP_ALLOC_ALL_BYTES, /* including zones inside */
    HP_ALLOC_ALL_COUNT,
    HP_ALLOC_PEAK_BYTES, /* maximum of live usable bytes above those at its start, including zones inside */
    HP_ALLOC_PEAK_BLOCKS,
    HP_ALLOC_MEASURES
};

/*
 * Allocations of a site's calls, in one thread record. Calls without an hp_alloc_frame are not included: they have
 * none.
 */
struct hp_alloc_stat {
    uint64_t calls;     /* that allocated or freed */
    uint64_t own_bytes; /* sums over all calls */
    uint64_t own_count;
    uint64_t all_bytes; /* sums over calls that were not inside another call of the site */
    uint64_t all_count;
    int64_t net_bytes; /* usable bytes that such calls did not free */
    int64_t net_blocks;
    uint64_t missed; /* values without space for their octave */
    uint64_t max[HP_ALLOC_MEASURES];
    uint32_t octaves[HP_ALLOC_MEASURES][HOTPATH_OCTAVES_];
};

/* Memory that the program hands out itself, by label (hotpath_alloc_event). Written by any thread, atomically. */
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

/* --- CPU time */

enum hp_cpu_engine {
    HP_CPU_NONE = 0,
    HP_CPU_TIMERS = 1, /* a timer on each thread's CPU clock: fires on ticks, in user and kernel mode */
    HP_CPU_PERF = 2    /* the same, plus user-mode samples by perf's clock, which are independent of ticks */
};

/*
 * The CPU time of a thread, and of earlier threads with the same record. All of it is measured by the thread's
 * clock; samples only tell which nodes get it: the time since the last sample goes to the node where the thread is
 * found. Time that is not attributed yet (since the last sample of an exited thread) waits for the next sample.
 */
struct hp_cpu_thread {
    uint64_t user_ns; /* measured so far, attributed or not; the split of modes is the kernel's estimate */
    uint64_t kernel_ns;
    uint64_t waiting_ns;   /* part of it not attributed yet */
    uint64_t unseen_ns;    /* in addition, unseen by perf: kernel time, if ticks found the thread there */
    uint64_t samples;      /* taken by either engine; */
    uint64_t perf_samples; /* ... by perf */
    uint64_t recorded;     /* samples put into the chunks, including overwritten ones */
    uint32_t table;        /* offset of hp_cpu_table */
    uint32_t chunk;        /* offset of the hp_sample_chunk that is being filled */
    uint32_t chunk_count;
    uint32_t last_node;  /* where it was last found; 0: never */
    uint64_t skipped_ns; /* while recording was paused: in none of the above */
    uint64_t skipped_kernel_ns;
    uint64_t spent_ticks;   /* cost of making and taking samples, as far as the thread can tell */
    uint64_t perf_switches; /* context switches while perf was active */
    uint64_t waited_ns;     /* time off the CPU between two readings of its clocks with a wait in between */
    uint64_t preempted;     /* how often it was preempted without waiting; 0: unknown */
    uint64_t perf_ticks;    /* part of spent_ticks for perf samples */
};

/* Time attributed to a node. */
struct hp_cpu_node {
    uint32_t node; /* offset; 0: this place is free */
    uint32_t reserved;
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t ticked_ns; /* with perf: CPU time up to timer signals that found it here in the kernel */
    /*
     * Recursion: samples in an inner call that was folded onto an outer node, so that this node is not above it in
     * the tree, though its call is on the stack.
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
 * The latest samples of a thread record, in chunks that form a ring: `next` of the chunk being filled is the
 * oldest, which is reused if there is to be no further one. The number of a sample within its thread is `first`
 * plus its index.
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
    HP_WAIT_OTHER,     /* any other system call */
    HP_WAIT_RUN_QUEUE, /* ready to run, but no CPU free */
    HP_WAIT_LOCK,      /* a mutex, a read-write lock, a file lock */
    HP_WAIT_SLEEP,     /* nanosleep and the like */
    HP_WAIT_POLL,      /* poll, select, epoll_wait: one of several descriptors */
    HP_WAIT_DISK,      /* a file system or a block device */
    HP_WAIT_SOCKET,
    HP_WAIT_PIPE,
    HP_WAIT_TERMINAL,
    HP_WAIT_CHILD,   /* the exit of a process */
    HP_WAIT_SIGNAL,  /* sigwait, pause */
    HP_WAIT_FAULT,   /* a page that had to be read */
    HP_WAIT_STOPPED, /* by a signal, or by a debugger */
    HP_WAIT_CONDITION,
    HP_WAIT_SEMAPHORE,
    HP_WAIT_BARRIER,
    HP_WAIT_THREAD, /* the exit of a thread */
    HP_WAIT_FUTEX,  /* one of these, or a lock: unknown */
    HP_WAIT_CLIENT, /* a connection: accept */
    HP_WAIT_CAUSES
};

/* What threads waited for at one node. */
struct hp_wait {
    uint32_t node;   /* of the innermost open zone; the tree's root: outside of all zones; 0: no record */
    uint32_t cause;  /* enum hp_wait_cause */
    int32_t call;    /* number of the system call; -1: none */
    uint32_t probes; /* that found it */
    uint64_t ns;
    uint64_t beside_ns; /* part of it while another thread of the run was at work; run queue: after an idle wait */
    uint32_t other;     /* node of the thread that is waited for, or that owns the lock; 0: unknown */
    uint32_t peer;      /* pipe, socket: latest process with the other end; lock: thread that held it; 0: unknown */
    char what[40];      /* the file, socket, pipe or child, if known: its end, if too long; zero-padded */
    /* Of probes that read from a lock which thread held it: how many found that at work, or waiting itself ... */
    uint32_t held_working;
    uint32_t held_waiting;
    uint32_t held_cause; /* ... for this, enum hp_wait_cause, at the latest of them */
    uint32_t reserved;
    char holder[16]; /* name of the latest holder; zero-padded */
};

/* Why no observer looked at a process. */
enum hp_unwatched {
    HP_UNWATCHED_UNKNOWN,
    HP_UNWATCHED_BRIEF,  /* it ended, or executed another program, before it was looked at */
    HP_UNWATCHED_MANY,   /* too many processes at a time */
    HP_UNWATCHED_ANOTHER /* another observer has it, or it is in another pid namespace */
};

/*
 * Written by an observer outside the process (`hotpath run`), or by a library thread; one of them at a time. The
 * space is made when the session begins, since an observer cannot allocate in it. Followed by hp_wait[capacity].
 */
struct hp_waits {
    uint32_t capacity;
    uint32_t used;        /* valid entries: raised after an entry is written */
    uint32_t watcher;     /* process id of the observer; 0: none came */
    uint32_t period_us;   /* mean time between probes */
    uint64_t probes;      /* of threads */
    uint64_t watched_ns;  /* thread time that was observed: running, ready to run, or waiting */
    uint64_t left_out_ns; /* waiting time without a free entry */
    uint64_t watcher_ns;  /* CPU time of the observer */
    uint64_t latest_ns;   /* when the process was last seen alive, by CLOCK_MONOTONIC */
    uint32_t unwatched;   /* maximum number of threads without an entry at one time; 1 for a process without one */
    uint32_t why;         /* enum hp_unwatched; counts if there are no probes */
};

/* --- what threads used, with or without zones */

#define HP_THREAD_USAGE_CAUSES 20u /* one spare */

/* A thread; or several of the same name, if there are many, and then all numbers are sums over them. */
struct hp_thread_usage_row {
    uint32_t tid;        /* of the latest one */
    uint32_t threads;    /* 0: free */
    uint32_t living;     /* of these, alive at the last look */
    uint32_t record;     /* offset of its hp_thread; 0: it has none, or they are several */
    uint32_t generation; /* of that record while this thread owns it */
    uint32_t state;      /* the kernel's letter */
    char name[16];
    uint64_t user_ns;
    uint64_t kernel_ns;
    uint64_t voluntary; /* how often it gave up its CPU, and how often it was preempted */
    uint64_t involuntary;
    uint64_t lived_ns;
    uint64_t allocated_bytes;                   /* requested */
    uint64_t usable_bytes;                      /* the same in usable bytes */
    uint64_t freed_bytes;                       /* usable */
    uint32_t now_permille;                      /* CPU use between the last two samples, mean per thread */
    uint32_t max_permille;                      /* highest of a single thread */
    uint64_t waited_ns[HP_THREAD_USAGE_CAUSES]; /* by enum hp_wait_cause */
};

/*
 * Written by the writer of hp_waits, in space that is made with it. Followed by hp_thread_usage_row[capacity]. Free
 * rows may come before used ones.
 */
struct hp_thread_usage {
    uint32_t capacity;
    uint32_t used;         /* rows up to the last one ever used */
    uint32_t samples;      /* number of updates; 0: no observer came */
    uint32_t threads;      /* alive */
    uint32_t most_threads; /* at a time */
    uint32_t unlisted;     /* threads without a row */
    uint64_t sampled_ns;   /* time of the last update, by CLOCK_MONOTONIC */
    uint64_t rss_bytes;    /* resident memory of the process */
    uint64_t rss_peak_bytes;
    uint64_t read_calls; /* of the process, to read and its relatives, for files, pipes, sockets ... */
    uint64_t read_bytes;
    uint64_t write_calls;
    uint64_t write_bytes;
};

/* Site ids of nodes that are not a place in code. */
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
_Static_assert(sizeof(struct hp_call) == 48, "part of the file");
_Static_assert(sizeof(struct hp_slow_row) == 40 && sizeof(struct hp_slow_call) == 72, "part of the file");
_Static_assert(sizeof(struct hp_slowest) == 32, "part of the file");
_Static_assert(sizeof(struct hp_alloc_thread) == 128 && offsetof(struct hp_alloc_thread, foreign_count) == 64,
               "part of the file");
_Static_assert(sizeof(struct hp_alloc_frame) == 2 * sizeof(struct hotpath_frame_), "recorders compute with that");
_Static_assert(sizeof(struct hp_cpu_thread) == 128 && sizeof(struct hp_cpu_node) == 56, "part of the file");
_Static_assert(sizeof(struct hp_cpu_table) == 32 && sizeof(struct hp_sample) == 24, "part of the file");
_Static_assert(sizeof(struct hp_sample_chunk) == 32 && sizeof(struct hp_wait) == 112, "part of the file");
_Static_assert(sizeof(struct hp_waits) == 64, "part of the file");
_Static_assert(sizeof(struct hp_thread_usage) == 80 && sizeof(struct hp_thread_usage_row) == 272,
               "part of the file");
_Static_assert(HP_WAIT_CAUSES <= HP_THREAD_USAGE_CAUSES, "a thread can wait for all of them");
_Static_assert(sizeof(struct hp_alloc_stat) == 1504 && sizeof(struct hp_pool) == 64, "part of the file");

#endif
