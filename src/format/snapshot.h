/*
 * Reading a session safely. A snapshot is a view of a session's bytes: the mapping of the running process itself,
 * or a copy of a file that may be truncated, stale or hostile. Nothing in it is trusted: every offset, count and
 * string is checked against the size before use, every list walk is bounded, so a reader can neither crash nor
 * hang.
 *
 * Bytes of a live session change while they are read. Numbers of one row may then differ by the calls in flight;
 * the structure is always consistent, since everything is written before it is linked.
 *
 * No allocation, no system call; may be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_SNAPSHOT_H
#define HP_FORMAT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum hp_snapshot_state {
    HP_SNAPSHOT_RUNNING,
    HP_SNAPSHOT_FINISHED,
    HP_SNAPSHOT_ENDED, /* without finishing: the process was killed, or called _exit */
    HP_SNAPSHOT_STATES
};

/* Reads bytes of a session's file again. False: not available. */
typedef bool hp_snapshot_read(void *context, uint32_t offset, void *to, size_t bytes);

/* Loads bytes of a session to their place in memory. False: not available. */
typedef bool hp_snapshot_fetch(void *context, uint64_t offset, size_t bytes);

struct hp_snapshot {
    const unsigned char *bytes;
    size_t size;
    hp_snapshot_fetch *fetch; /* for a large file that is read on demand; NULL: all of it is loaded */
    void *fetch_context;
    /*
     * The file itself, beside a copy that is read on demand: records of numbers, which are nearly all of it, are
     * read here; texts, and the tables of sites and calls, in the copy. NULL: everything is in `bytes`.
     */
    const unsigned char *numbers;
    /*
     * For a copy of a running session, set after opening: data of single calls is overwritten again and again, and
     * a copy of the whole file is too slow to catch it intact. NULL: `bytes` are the session, or nobody writes any
     * more.
     */
    hp_snapshot_read *read_anew;
    void *read_context;
    const char *path;        /* of the file, set after opening; NULL: files beside it are not looked for */
    struct hp_header header; /* a copy, taken when opened */
    uint64_t now_ticks;      /* open zones are counted up to this time */
    double ns_per_tick;
    bool is_rate_known; /* false: the two clock readings are too close together, a tick counts as a nanosecond */
    bool is_live;       /* the process was running when the snapshot was taken */
    bool is_finished;   /* the session was ended properly: its numbers are final */
    bool is_cut_off;    /* the bytes end before the used size in the header */
    char problem[128];  /* storage for the message of hp_snapshot_open */
};

/* Demangles a linker symbol to a full signature. False: leave it as it is. */
typedef bool hp_read_name(const char *linked, char *signature, size_t size);

/*
 * Snapshots that are shown together, at least one: those of all processes of a program, say. The first one is
 * primary, and is used where only one can be.
 */
struct hp_floors;
struct hp_snapshots {
    const struct hp_snapshot *const *all;
    size_t count;
    hp_read_name *read_name;  /* NULL: names stay mangled, as in the library's own report */
    struct hp_floors *floors; /* values shown before, if live sessions are read again and again; or NULL */
};

/*
 * Opens `size` bytes of a session, aligned to 8. `now` is the current time if the process is alive (so that open
 * zones count up to it), NULL if it is dead: then its last sign of life is used. Returns NULL, or one line about
 * what is wrong with the bytes, valid as long as `snapshot`.
 */
const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now);

/* Bytes that `fetch` loads on demand; the header is loaded already. */
struct hp_snapshot_pieces {
    hp_snapshot_fetch *fetch;
    void *context;
    const void *numbers; /* as above */
};

/* The same for these. */
const char *hp_snapshot_open_pieces(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                                    const struct hp_clock_pair *now, const struct hp_snapshot_pieces *pieces);

/*
 * Takes the rate of ticks from a later reading of the same clock. For a process that died before it stored a good
 * pair itself, read since the same boot of the same machine.
 */
void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later);

double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks);

/* Time from the start of the session to `now_ticks`, in ticks and in nanoseconds. */
uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot);
uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot);

/*
 * CPU time of the program: that of the session, and if it is known, that of starting before it and of ending
 * after it.
 */
uint64_t hp_snapshot_cpu_ns(const struct hp_snapshot *snapshot);

enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot);
/* "running", "finished", "ended" */
const char *hp_snapshot_state_name(enum hp_snapshot_state state);

/* Whether both were recorded since the same boot of the same machine, so that their clocks agree. */
bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other);

/* A process keeps this when it executes another program, which has a session of its own. */
struct hp_process_id {
    uint32_t pid;
    uint64_t start; /* 0: unknown; then the pid alone tells processes apart */
};

static inline struct hp_process_id hp_process_id_of(const struct hp_header *header)
{
    return (struct hp_process_id){header->pid, header->process_start};
}

/* For sorting: those of one process come together. */
static inline int hp_process_id_order(struct hp_process_id a, struct hp_process_id b)
{
    if (a.pid != b.pid)
        return a.pid < b.pid ? -1 : 1;
    return a.start < b.start ? -1 : a.start > b.start;
}

static inline bool hp_process_id_is_same(struct hp_process_id a, struct hp_process_id b)
{
    return a.pid == b.pid && (a.start == b.start || a.start == 0 || b.start == 0);
}

/* A string in the file; "" if the offset is 0 or broken. Zero-terminated, shorter than 4096 bytes. */
const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset);

/* Copies site `id`. False: there is no such site. */
bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site);

/* Adjacent nodes, all of them within the bytes. */
struct hp_node_run {
    uint32_t first; /* offset */
    uint32_t count;
};

static inline uint32_t hp_node_run_offset(const struct hp_node_run *run, uint32_t index)
{
    return run->first + index * (uint32_t)sizeof(struct hotpath_node_);
}

/*
 * Walks. Start with a zeroed walk; each call moves to the next valid record, copies it and returns true; false at
 * the end. `offset` is that of the record just copied.
 *
 *     struct hp_walk threads = {0}, nodes = {0};
 *     while (hp_snapshot_next_thread(&snapshot, &threads, &thread)) {
 *         hp_walk_rewind(&nodes);
 *         while (hp_snapshot_next_node(&snapshot, &thread, &nodes, &node)) ...
 *     }
 *
 * Rewinding instead of zeroing keeps the count of steps, so that all threads together take no more steps than there
 * can be records in the file, even if many (hostile) threads claim the same ones.
 */
struct hp_walk {
    uint32_t offset;        /* of the record just copied */
    uint32_t chunk;         /* nodes: of the chunk being walked */
    uint32_t index;         /* in the chunk, or the stack */
    struct hp_node_run run; /* nodes: those of the chunk */
    bool is_begun;
    uint64_t number; /* records of a log: number of the one just copied, from 0 */
    uint64_t left;   /* places of the log that were not looked at */
    uint64_t steps;  /* taken so far; bounds every walk */
};

void hp_walk_rewind(struct hp_walk *walk);

/* A node for readers; how the writer splits its sums is private to the writer. */
struct hp_node {
    uint32_t site;
    uint32_t parent; /* offset; 0: none */
    uint32_t stat;   /* offset of the site's stat in its thread record */
    uint64_t calls;
    uint64_t outermost; /* ticks of calls not inside another call of this node */
    uint64_t nested;    /* ticks of nested calls */
    uint64_t self;      /* ticks outside of child zones; may wrap, but sums are right */
    uint64_t untimed;   /* calls without a duration, because of sampling */
    uint32_t typical;   /* duration of each of these, in 1/256 ticks; 0: as the others */
    bool is_recursive;  /* calls of its site were nested; all outermost ones are timed */
};

bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                             struct hp_thread *ret_thread);
bool hp_snapshot_next_node(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_node *ret_node);
bool hp_snapshot_next_stat(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_stat_ *ret_stat);
/* Open zones of a thread, outermost first, without frame 0, which is the thread itself. */
bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame);

/* Lanes, newest first, running or not; and one by its offset. */
bool hp_snapshot_next_lane(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_lane *ret_lane);
bool hp_snapshot_lane(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_lane *ret_lane);
/*
 * The thread record for the open zones of a lane: it has their nodes, and its stack is set to that of the lane.
 * False: the lane runs, so they are the thread's current ones, or there are none.
 */
bool hp_snapshot_lane_thread(const struct hp_snapshot *snapshot, const struct hp_lane *lane,
                             struct hp_thread *ret_thread);
/* The counters that the marks of a lane's zones refer to. False: it has none. */
bool hp_snapshot_lane_allocs(const struct hp_lane *lane, struct hp_alloc_thread *ret_alloc);

/* The nodes of a thread, run by run, newest first. */
bool hp_snapshot_next_node_run(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                               struct hp_walk *walk, struct hp_node_run *ret_run);

/* The parts of a node that never change. */
struct hp_node_links {
    uint32_t site;
    uint32_t parent;
    uint32_t stat;
};

/* Of a node of a run; likewise its numbers. */
void hp_snapshot_node_links(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node_links *ret_links);
void hp_snapshot_node_numbers(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node);

/* Copies the node at an offset from a call. False: there cannot be one. */
bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node);

/* Copies the stat at an offset found by a walk. */
bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat);

/* --- logs */

/* A record of a log, with a copy of its text, which may contain any bytes. */
struct hp_log_copy {
    struct hp_log_record record;
    char text[HP_LOG_TEXT + 1];
};

/* What a log is about. False: there is none at this offset. */
bool hp_snapshot_log(const struct hp_snapshot *snapshot, uint32_t log, struct hp_log *ret_log);
/*
 * The latest records of a log, newest first. The walk ends at records that are overwritten meanwhile: older ones
 * are gone, too.
 */
bool hp_snapshot_next_record(const struct hp_snapshot *snapshot, uint32_t log, struct hp_walk *walk,
                             struct hp_log_copy *ret_copy);

/* A call that was kept, with a copy of its note, which may contain any bytes. */
struct hp_logged_call {
    uint64_t start; /* ticks */
    uint64_t ticks;
    uint32_t node;
    uint32_t tid;
    uint32_t note_length; /* 0: no note */
    uint64_t alloc_bytes; /* requested in this call and its callees */
    uint64_t alloc_count;
    uint64_t index; /* of a logged one: its number in its thread record, from 0 */
    char note[HP_NOTE_BYTES + 1];
};

/* When it ended, in ticks. */
uint64_t hp_logged_call_end(const struct hp_logged_call *call);

/* The latest calls of a stat, likewise. */
bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_logged_call *ret_call);

/* The slowest call of a stat, with everything inside it, in the caller's memory. */
struct hp_slow_copy {
    struct hp_logged_call call;
    uint64_t self;
    uint32_t row_count;
    uint32_t rows_left_out;
    const struct hp_slow_row *rows; /* notes of rows are within `notes`, or have length 0 */
    const char *notes;
};

/* Its duration, to choose before copying. False: there is none. */
bool hp_snapshot_slowest_ticks(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               uint64_t *ret_ticks);

/* Bytes that a copy may need; at most the size of the two buffers in the file. */
size_t hp_snapshot_slowest_bytes(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat);

/*
 * Copies it into `size` bytes at `memory`, which is aligned to 8. False: there is none, it is broken, it needs
 * more, or it was replaced repeatedly meanwhile.
 */
bool hp_snapshot_copy_slowest(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat, void *memory,
                              size_t size, struct hp_slow_copy *ret_copy);

/*
 * A histogram of durations. Line 0 counts 0 to 63 ticks one by one; line n counts [32 << n, 64 << n) in 64 equal
 * steps.
 */
#define HP_DURATION_LINES (HOTPATH_OCTAVES_ + 1)
typedef uint64_t hp_duration_line[64];

/* Adds the histogram of a stat to `lines`, as far as it is within the bytes. */
void hp_snapshot_add_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               hp_duration_line lines[HP_DURATION_LINES]);

/*
 * Prefetches a stat and its histogram, which may be anywhere: a caller that will read many need not wait for each.
 */
void hp_snapshot_foresee_stat(const struct hp_snapshot *snapshot, uint32_t offset);
void hp_snapshot_foresee_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat);

/* The line and step of a duration in such a histogram. */
void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step);

/* --- allocations */

/* Copies the allocation counters of a thread. False: none yet, or broken. */
bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc);

/* Copies the mark of the frame with that number (0: the thread itself) of the stack of zones. False: none. */
bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame);

/* Copies the allocations of a stat's calls. False: none. */
bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc);
/* The same by the offset of the stat: reads one word of it. */
bool hp_snapshot_alloc_stat_of(const struct hp_snapshot *snapshot, uint32_t stat, struct hp_alloc_stat *ret_alloc);

/* Adds the histogram of one measure to `lines`, which are like those of durations. */
void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES]);

/* The pools of a session, newest first. */
bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool);

/* --- CPU time */

/* Copies the CPU time of a thread. False: not sampled, or broken. */
bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu);

/* The nodes with CPU time. */
bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node);

/* The latest samples, oldest first; `number` of the walk is that within the thread record. */
bool hp_snapshot_next_sample(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu,
                             struct hp_walk *walk, struct hp_sample *ret_sample);

/* --- waiting */

/* Copies the totals of waiting. False: no observer, or broken. */
bool hp_snapshot_waits(const struct hp_snapshot *snapshot, struct hp_waits *ret_waits);

/* What threads waited for, in order of first appearance. `what` is zero-terminated and may contain any bytes. */
bool hp_snapshot_next_wait(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_wait *ret_wait);

/* --- critical paths */

/* About all paths of the process. */
struct hp_path_counts {
    uint32_t keys;
    uint64_t lost, left, taken, unknown; /* as in struct hp_paths */
};
/* False: paths were not followed, or broken. */
bool hp_snapshot_paths(const struct hp_snapshot *snapshot, struct hp_path_counts *ret_counts);
/* One of its keys. False: there is none with this number. */
bool hp_snapshot_path_key(const struct hp_snapshot *snapshot, uint32_t number, struct hp_path_key *ret_key);
/*
 * The path of a thread, without `own`: what its call tree has is to be added. Keys that are not in use are 0. Names
 * are zero-terminated and may contain any bytes. False: none, or it is being changed.
 */
bool hp_snapshot_path(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                      struct hp_path_thread *ret_path);

/* --- what threads used */

/* Copies the totals. False: no observer, or broken. */
bool hp_snapshot_thread_usage(const struct hp_snapshot *snapshot, struct hp_thread_usage *ret_usage);

/* Threads, in no order; names are zero-terminated and may contain any bytes. */
bool hp_snapshot_next_thread_usage(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                                   struct hp_thread_usage_row *ret_row);

/* Copies the thread record at an offset from such a row. False: there cannot be one. */
bool hp_snapshot_thread(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_thread *ret_thread);

/* --- for other files of this folder that read records */

/* Copies a record; `wide` marks its 64-bit words, one bit per 8 bytes. False: not within the bytes. */
bool hp_snapshot_copy(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes, uint64_t wide);
/* The same for data that is overwritten repeatedly: fenced, and from the file itself if the session is running. */
bool hp_snapshot_copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes);
/* Counts a step of a walk; false: there cannot be that many records of this size. */
bool hp_snapshot_may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes);

#endif
