/*
 * Builds session bytes in memory, call by call, with values chosen by the test: the recorder's file without the
 * recorder. Everything is checked with assert(): a builder that runs out of space is a broken test.
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_BUILDER_H
#define SESSION_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define BUILDER_START 1000000u /* ticks at the start of the session */

struct session_builder {
    unsigned char *bytes;
    size_t capacity;
    uint32_t used;
    uint32_t sites_per_chunk; /* places kept for sites; fewer make a smaller file that reads the same */
};

/* A session of a finished process whose ticks are nanoseconds; `builder_free` releases it. */
void builder_init(struct session_builder *builder, size_t capacity);
void builder_free(struct session_builder *builder);

/* The bytes that are used, and the header, which a test may change as it likes. */
size_t builder_size(const struct session_builder *builder);
struct hp_header *builder_header(struct session_builder *builder);
void *builder_at(struct session_builder *builder, uint32_t offset);

/* For a sampler that is to read and write the session; `builder` is its context. False: beyond the end. */
bool builder_read(void *builder, uint32_t offset, void *to, size_t bytes);
bool builder_write(void *builder, uint32_t offset, const void *from, size_t bytes);

/*
 * Sets when the session ends, in ticks after its start; a tick is `ns_per_tick` nanoseconds of a TSC unless it is
 * 1.
 */
void builder_elapse(struct session_builder *builder, uint64_t ticks, double ns_per_tick);

uint32_t builder_text(struct session_builder *builder, const char *text);
uint32_t builder_site(struct session_builder *builder, const char *name, const char *file, uint32_t line);
uint32_t builder_thread(struct session_builder *builder);

/* A node below `parent` (0: below the root) of a thread; `site` may be HP_SITE_OTHER. */
uint32_t builder_node(struct session_builder *builder, uint32_t thread, uint32_t parent, uint32_t site);

/* One call that took `ticks`, `inside` of them in inner zones. */
void builder_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks, uint64_t inside);
/* The same for a call inside another call of the node. */
void builder_nested_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks,
                         uint64_t inside);
/* A call that was counted and not timed. */
void builder_abandoned_call(struct session_builder *builder, uint32_t node);
/* A call whose duration found no counter. */
void builder_missed_call(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t ticks);

/* Opens a zone on top of the thread's stack, `start` ticks after the start of the session. */
void builder_open(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t start, uint64_t child);

/* The stat of a site on a thread, made when it is not there. */
struct hotpath_stat_ *builder_stat(struct session_builder *builder, uint32_t thread, uint32_t site);

/* Makes the log of a site on a thread, with room for so many calls and the one that is being written. */
uint32_t builder_log(struct session_builder *builder, uint32_t thread, uint32_t site, uint32_t calls);
/* Adds a record to the log at that offset. `text` may be NULL. */
struct hp_log_record *builder_record(struct session_builder *builder, uint32_t log,
                                     const struct hp_log_record *record, const char *text);
/*
 * Writes a call of a node, which began `start` ticks after the start of the session, into the log of its site; the
 * note may be NULL. It is not counted.
 */
struct hp_log_record *builder_logged_call(struct session_builder *builder, uint32_t node, uint64_t start,
                                          uint64_t ticks, uint32_t tid, const char *note);

/*
 * Makes a call of a node the slowest one of its site, with room for rows and for bytes of notes. The offset of its
 * struct hp_slow_call.
 */
uint32_t builder_slow_call(struct session_builder *builder, uint32_t node, uint64_t start, uint64_t ticks,
                           uint64_t self, uint32_t rows, uint32_t note_bytes);
/* What ran inside; all rows before the first note. */
/* The rows behind a slow call. */
static inline struct hp_slow_row *builder_rows(struct hp_slow_call *call)
{
    return (struct hp_slow_row *)(void *)(call + 1);
}
struct hp_slow_row *builder_slow_row(struct session_builder *builder, uint32_t slow, uint32_t node, uint64_t calls,
                                     uint64_t total, uint64_t self);
/* Adds a note and gives it to a row, or with NULL to the call itself. */
void builder_slow_note(struct session_builder *builder, uint32_t slow, struct hp_slow_row *row, const char *note);

/* What a thread allocates and frees; the session then has allocations. */
struct hp_alloc_thread *builder_alloc_thread(struct session_builder *builder, uint32_t thread);
/*
 * What belongs to a frame of its stack, which from then on says so; 0 is the thread itself, 1 the first open zone.
 */
struct hp_alloc_frame *builder_alloc_frame(struct session_builder *builder, uint32_t thread, uint32_t index);

/* What a call allocated. */
struct builder_allocs {
    uint64_t measures[HP_ALLOC_MEASURES];
    int64_t net_bytes;
    int64_t net_blocks;
    int is_nested; /* inside another call of its site */
};

/* Adds that to the stat of the node's site. The call itself is counted by others. */
void builder_alloc_call(struct session_builder *builder, uint32_t node, const struct builder_allocs *call);
struct hp_alloc_stat *builder_alloc_stat(struct session_builder *builder, uint32_t node);

/* A key of critical paths, beside those that are always there; and the path of a thread, with all sums 0. */
uint32_t builder_path_key(struct session_builder *builder, const struct hp_path_key *key);
struct hp_path_thread *builder_path(struct session_builder *builder, uint32_t thread);

struct hp_pool *builder_pool(struct session_builder *builder, const char *name);

/* An object of a kind ("value", "gauge", ...), which is made with its counters as the recorder's; its offset. */
uint32_t builder_object(struct session_builder *builder, const char *kind, const char *name, uint32_t line);
/* The part of an object on a thread; its offset. */
uint32_t builder_part(struct session_builder *builder, uint32_t object, uint32_t thread);
/*
 * A value that came `tick` ticks after the start of the session: counted, distributed, and among the recent ones.
 */
void builder_update(struct session_builder *builder, uint32_t part, uint64_t tick, int64_t value);
/* The same for a text, which is only counted and kept. */
void builder_update_text(struct session_builder *builder, uint32_t part, uint64_t tick, const char *text);

/* A task of that class that is open, created `born` ticks after the start, with a chunk of its own. */
void builder_open_task(struct session_builder *builder, uint32_t object, uint32_t thread, uint64_t born);

/* The CPU time of a thread, with a table of so many places; the session then has CPU time. */
struct hp_cpu_thread *builder_cpu_thread(struct session_builder *builder, uint32_t thread, uint32_t places);
/*
 * Time credited to a node; makes a table of 64 places for the thread if it has none, and uses its first free place.
 * Raises the sums of the thread and the process, too.
 */
struct hp_cpu_node *builder_cpu(struct session_builder *builder, uint32_t thread, uint32_t node, uint64_t samples,
                                uint64_t user_ns, uint64_t kernel_ns);
/* A chunk of samples with numbers from `first` on, each found at `node`; its offset. */
uint32_t builder_samples(struct session_builder *builder, uint32_t capacity, uint32_t used, uint64_t first,
                         uint32_t node);

/* The table of waits, with room for so many entries and an observer. */
struct hp_waits *builder_waits(struct session_builder *builder, uint32_t capacity);
/* An entry of it. */
struct hp_wait *builder_wait(struct session_builder *builder, uint32_t node, uint32_t cause, int32_t call,
                             const char *what, uint64_t ns);

/* The table of thread times, sampled once; and a live thread in it that has used nothing. */
struct hp_thread_usage *builder_thread_usage(struct session_builder *builder, uint32_t capacity);
struct hp_thread_usage_row *builder_thread_usage_row(struct session_builder *builder, const char *name,
                                                     uint32_t tid);

#endif
