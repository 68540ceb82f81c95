/*
 * Reading a session safely. A snapshot is a view of a session's bytes: the mapping of the running process itself,
 * or a copy of a file that may be cut off, stale or hostile. Nothing in it is trusted: every offset, count and
 * string is checked against the size before use, every list walk is bounded, so a reader can neither crash nor
 * hang.
 *
 * Bytes of a live session change while they are read. Numbers of one row may then differ by the calls in flight;
 * structure never does, since everything is written before it is linked.
 *
 * No allocation, no system call; may be used in a signal handler. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_SNAPSHOT_H
#define HP_SESSION_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

enum hp_snapshot_state {
    HP_SNAPSHOT_RUNNING,
    HP_SNAPSHOT_FINISHED,
    HP_SNAPSHOT_ENDED, /* without finishing: the process was killed, or left by _exit */
    HP_SNAPSHOT_STATES
};

/* Reads bytes of a session's file anew. False: they cannot be had. */
typedef bool hp_snapshot_read(void *context, uint32_t offset, void *to, size_t bytes);

/* Sees to it that bytes of a session are where they belong in memory. False: they cannot be had. */
typedef bool hp_snapshot_fetch(void *context, uint64_t offset, size_t bytes);

struct hp_snapshot {
    const unsigned char *bytes;
    size_t size;
    hp_snapshot_fetch *fetch; /* of a large file that is read as it is needed; NULL: all of it is there */
    void *fetch_context;
    /*
     * The file itself, beside a copy that is read as it is needed: records of numbers, which are nearly all of it, are looked at there;
     * texts, and where sites and calls are kept, in the copy. NULL: all is in `bytes`.
     */
    const unsigned char *numbers;
    /*
     * Of a copy of a session that goes on, set after opening: what is kept of single calls is written over again and again,
     * and a copy of all the file is too slow to catch it whole. NULL: `bytes` are the session, or nobody writes any more.
     */
    hp_snapshot_read *read_anew;
    void *read_context;
    const char *path;        /* of the file, set after opening; NULL: what is beside it is not looked for */
    struct hp_header header; /* a copy, taken when opened */
    uint64_t now_ticks;      /* open zones are counted to here */
    double ns_per_tick;
    bool is_rate_known; /* false: the two clock readings are too close together, a tick is taken for a nanosecond */
    bool is_live;       /* the process was running when the snapshot was taken */
    bool is_finished;   /* the session was ended properly: its numbers are final */
    bool is_cut_off;    /* the bytes end before what the header says is used */
    char problem[128];  /* storage of the sentence that hp_snapshot_open returns */
};

/* Makes a name of the linker's readable, as the whole signature of a function. False: it stays as it is. */
typedef bool hp_read_name(const char *linked, char *signature, size_t size);

/*
 * Snapshots that are looked at together, one at least: those of all the processes of a program, say. The first is the
 * principal one, which speaks for all where only one can.
 */
struct hp_floors;
struct hp_snapshots {
    const struct hp_snapshot *const *all;
    size_t count;
    hp_read_name *read_name; /* NULL: names stay as the linker has them, as in the report of the library */
    struct hp_floors
        *floors; /* what was said of them before, where they are read again and again while they go on; or NULL */
};

/*
 * Looks at `size` bytes of a session, which begin at a multiple of 8. `now` is the present moment when the process
 * is alive (so that open zones count up to it), NULL when it is dead: then its last sign of life is taken. Returns
 * NULL, or one line that says what is wrong with the bytes, valid as long as `snapshot`.
 */
const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now);

/* Bytes that `fetch` brings when they are asked for; the header is there already. */
struct hp_snapshot_pieces {
    hp_snapshot_fetch *fetch;
    void *context;
    const void *numbers; /* as above */
};

/* The same of these. */
const char *hp_snapshot_open_pieces(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                                    const struct hp_clock_pair *now, const struct hp_snapshot_pieces *pieces);

/*
 * Takes the rate of the ticks from a reading of the same clock later on. For a process that died before it left a good
 * pair of its own, read since the same boot of the same machine.
 */
void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later);

double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks);

/* Time from the start of the session to `now_ticks`, in ticks and in nanoseconds. */
uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot);
uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot);

enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot);
/* "running", "finished", "ended" */
const char *hp_snapshot_state_name(enum hp_snapshot_state state);

/* Whether both were recorded since the same boot of the same machine, so that their clocks began together. */
bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other);

/*
 * A string in the file; an empty one where the offset is 0 or broken. Ends in a zero byte, below 4096 bytes long.
 */
const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset);

/* Copies site `id`. False: there is no such site. */
bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site);

/* Nodes that lie side by side, all of them within the bytes. */
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
 * the end. `offset` then names the record just copied.
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
    uint32_t index;         /* within the chunk, or the stack */
    struct hp_node_run run; /* nodes: those of the chunk */
    bool is_begun;
    uint64_t number; /* calls: of the one just copied, from 0 */
    uint64_t steps;  /* taken so far; bounds every walk */
};

void hp_walk_rewind(struct hp_walk *walk);

/* A node as a reader wants it; how the writer splits its sums is the writer's business. */
struct hp_node {
    uint32_t site;
    uint32_t parent; /* offset; 0: none */
    uint32_t stat;   /* offset of the site's stat in its thread record */
    uint64_t calls;
    uint64_t outermost; /* ticks of calls that were not inside another call of this node */
    uint64_t nested;    /* ticks of those that were */
    uint64_t self;      /* ticks not spent in zones inside; may wrap, sums are right */
    uint64_t untimed;   /* calls without a duration, because of sampling */
    uint32_t typical;   /* what each of these took, in 1/256 ticks; 0: as long as the others */
    bool is_recursive;  /* calls of its site were inside one another; outermost ones are timed, all of them */
};

bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                             struct hp_thread *ret_thread);
bool hp_snapshot_next_node(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_node *ret_node);
bool hp_snapshot_next_stat(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_stat_ *ret_stat);
/* Open zones of a thread, outermost first; frame 0, which stands for the thread itself, is left out. */
bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame);

/* Lanes, newest first, whether they run or not; and one by its offset. */
bool hp_snapshot_next_lane(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_lane *ret_lane);
bool hp_snapshot_lane(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_lane *ret_lane);
/*
 * Where the open zones of a lane are: the thread record that has their nodes, as if they were its present ones. False: they are, since it
 * runs, or there are none.
 */
bool hp_snapshot_lane_thread(const struct hp_snapshot *snapshot, const struct hp_lane *lane,
                             struct hp_thread *ret_thread);
/* The counters by which marks of a lane's zones are to be read. False: it has none. */
bool hp_snapshot_lane_allocs(const struct hp_lane *lane, struct hp_alloc_thread *ret_alloc);

/* The nodes of a thread, run by run, newest first. */
bool hp_snapshot_next_node_run(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                               struct hp_walk *walk, struct hp_node_run *ret_run);

/* What of a node stays as it is for good. */
struct hp_node_links {
    uint32_t site;
    uint32_t parent;
    uint32_t stat;
};

/* Of a node of a run; likewise its numbers. */
void hp_snapshot_node_links(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node_links *ret_links);
void hp_snapshot_node_numbers(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node);

/* Copies the node at an offset that a call names. False: there cannot be one. */
bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node);

/* Copies the stat at an offset that a walk has found. */
bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat);

/* A call that was kept, with a copy of its note, which may hold any bytes. */
struct hp_kept_call {
    uint64_t start; /* ticks */
    uint64_t ticks;
    uint32_t node;
    uint32_t tid;
    uint32_t note_length; /* 0: no note */
    uint64_t alloc_bytes; /* asked for, in this call and what it called */
    uint64_t alloc_count;
    char note[HP_NOTE_BYTES + 1];
};

/* The moment it ended, in ticks. */
uint64_t hp_kept_call_end(const struct hp_kept_call *call);

/* The latest calls of a stat, newest first. Those that are overwritten meanwhile end the walk: older ones were before. */
bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_kept_call *ret_call);

/* The slowest call of a stat, with what was inside, in memory of the caller. */
struct hp_slow_copy {
    struct hp_kept_call call;
    uint64_t self;
    uint32_t row_count;
    uint32_t rows_left_out;
    const struct hp_slow_row *rows; /* notes of rows are within `notes`, or have no length */
    const char *notes;
};

/* How long it took, so that one can choose before one copies. False: there is none. */
bool hp_snapshot_slowest_ticks(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               uint64_t *ret_ticks);

/* Bytes that a copy may need; at most what the two places in the file have. */
size_t hp_snapshot_slowest_bytes(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat);

/*
 * Copies it into `size` bytes at `memory`, which is aligned to 8. False: there is none, it is broken, it needs more, or
 * it was replaced again and again meanwhile.
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

/* Stats lie far apart, and so do their histograms: who will read many says so before, and need not wait for each. */
void hp_snapshot_foresee_stat(const struct hp_snapshot *snapshot, uint32_t offset);
void hp_snapshot_foresee_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat);

/* The place of a duration in such a histogram. */
void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step);

/* --- allocations */

/* Copies what a thread allocates and frees. False: nothing yet, or it is broken. */
bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc);

/* Copies what belongs to the frame of that number (0: the thread itself) in the stack of zones. False: there is none. */
bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame);

/* Copies what the calls of a stat allocated. False: nothing. */
bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc);
/* The same, by the offset of the stat: one word of it is read. */
bool hp_snapshot_alloc_stat_of(const struct hp_snapshot *snapshot, uint32_t stat, struct hp_alloc_stat *ret_alloc);

/* Adds the histogram of one measure to `lines`, which count as those of durations do. */
void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES]);

/* The pools of a session, newest first. */
bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool);

/* --- processor time */

/* Copies what a thread used. False: it was not sampled, or that is broken. */
bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu);

/* The nodes that something was credited to. */
bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node);

/* The latest samples, oldest first; `number` of the walk is theirs within the thread record. */
bool hp_snapshot_next_sample(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu,
                             struct hp_walk *walk, struct hp_sample *ret_sample);

/* --- waiting */

/* Copies what is known of all waiting. False: nobody watched, or it is broken. */
bool hp_snapshot_waits(const struct hp_snapshot *snapshot, struct hp_waits *ret_waits);

/* What threads waited for, in the order in which it was found first. `what` ends in a zero byte; it may hold any bytes. */
bool hp_snapshot_next_wait(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_wait *ret_wait);

/* --- what threads used */

/* Copies what is known of all. False: nobody watched, or it is broken. */
bool hp_snapshot_crew(const struct hp_snapshot *snapshot, struct hp_crew *ret_crew);

/* Threads, in no order; names end in a zero byte, and may hold any bytes. */
bool hp_snapshot_next_in_crew(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                              struct hp_crew_row *ret_row);

/* Copies the record of a thread at an offset that such a row names. False: there cannot be one. */
bool hp_snapshot_thread(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_thread *ret_thread);

/* --- for other files of this folder that read records */

/* Copies a record; `wide` names its 64-bit words, a bit for each 8 bytes. False: it is not within the bytes. */
bool hp_snapshot_copy(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes, uint64_t wide);
/* The same for what is written over again and again: fenced, and from the file itself where that goes on. */
bool hp_snapshot_copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes);
/* Counts a step of a walk; false when there cannot be that many records of this size. */
bool hp_snapshot_may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes);

#endif
