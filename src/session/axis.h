/*
 * The time axis of a session: how its numbers went, in a file of fixed size beside it, "NAME.axis".
 *
 *   header (128 bytes) | series (32 bytes each) | values: for each series one for each slot
 *
 * A slot stands for `slot_ns` of time. When all are used, pairs of them become one, and slots are twice as long from then on; meanwhile
 * `generation` is odd. A value of a counter is how far it had come by the end of the slot, so a stretch is a difference of two; that of a level is the highest
 * that was seen in the slot.
 *
 * Written from outside by one watcher, who holds a lock on the file; whoever reads trusts nothing. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_AXIS_H
#define HP_SESSION_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_AXIS_SUFFIX ".axis" /* in the place of that of the session */
#define HP_AXIS_MAGIC "hotaxis"
#define HP_AXIS_VERSION 2u
#define HP_AXIS_SLOTS 512u
#define HP_AXIS_SERIES 704u
#define HP_AXIS_SITES 96u
#define HP_AXIS_WAITS 64u
#define HP_AXIS_THREADS 24u
#define HP_AXIS_FIRST_SLOT_NS UINT64_C(250000000)

enum hp_axis_kind {
    HP_AXIS_NONE,
    HP_AXIS_CPU,        /* nanoseconds on a processor, of the process */
    HP_AXIS_KERNEL,     /* of that, in the kernel */
    HP_AXIS_RESIDENT,   /* bytes in memory: a level */
    HP_AXIS_LIVE,       /* threads: a level */
    HP_AXIS_ALLOCATED,  /* usable bytes that live: a level */
    HP_AXIS_THREAD,     /* nanoseconds on a processor of a thread; `id` is its number */
    HP_AXIS_WAIT,       /* nanoseconds that threads waited; `id` is enum hp_wait_cause */
    HP_AXIS_SITE_CALLS, /* calls of a site that have ended; `id` is that of the site */
    HP_AXIS_SITE_TICKS, /* their time and that of those that are open, recursive ones counted once */
    HP_AXIS_SITE_SELF,  /* of that, what was not in zones inside */
    HP_AXIS_PLACE,      /* nanoseconds of an entry of hp_waits; `id` is its number */
    HP_AXIS_BESIDE,     /* the same of `beside_ns` */
    HP_AXIS_WATCHED,    /* nanoseconds of threads that were watched */
    HP_AXIS_MOMENT,     /* when the last sample of the slot was, in nanoseconds since the first one began */
    HP_AXIS_SITE_CPU,   /* nanoseconds on a processor that samples found in a site itself */
    HP_AXIS_SITE_BYTES, /* that calls of a site have asked for themselves, of those that have ended */
    HP_AXIS_KINDS
};

static inline bool hp_axis_is_level(uint32_t kind)
{
    return kind == HP_AXIS_RESIDENT || kind == HP_AXIS_LIVE || kind == HP_AXIS_ALLOCATED;
}

struct hp_axis_series {
    uint32_t kind; /* enum hp_axis_kind; HP_AXIS_NONE: the place is free */
    uint32_t id;
    uint32_t first; /* slot before which nothing is known of it */
    uint32_t reserved;
    char name[16]; /* of a thread */
};

struct hp_axis_header {
    char magic[8];
    uint32_t byte_order; /* that of sessions */
    uint32_t version;
    uint32_t pid;
    uint32_t slots;
    uint32_t series;
    uint32_t used;       /* slots that have values */
    uint32_t generation; /* odd while slots are put together */
    uint32_t reserved;
    uint64_t process_start;
    uint64_t start_ns; /* when the first slot begins, by CLOCK_MONOTONIC */
    uint64_t slot_ns;
    uint64_t latest_ns; /* when the latest value was written */
    uint64_t unused[7];
};

#define HP_AXIS_VALUES_AT (sizeof(struct hp_axis_header) + HP_AXIS_SERIES * sizeof(struct hp_axis_series))
#define HP_AXIS_BYTES (HP_AXIS_VALUES_AT + (size_t)HP_AXIS_SERIES * HP_AXIS_SLOTS * sizeof(uint64_t))

_Static_assert(sizeof(struct hp_axis_header) == 128 && sizeof(struct hp_axis_series) == 32, "part of the file");

/* The path of it, from that of the session. False: it is too long, or no session's. */
bool hp_axis_path(const char *session, char *path, size_t size);

/* A copy of the file, in memory of the caller. */
struct hp_axis {
    struct hp_axis_header header;
    const unsigned char *bytes;
};

/* Whether HP_AXIS_BYTES bytes, which begin at a multiple of 8, are a time axis that can be read. */
bool hp_axis_open(struct hp_axis *axis, const void *bytes);

/* Copies the series at a place below HP_AXIS_SERIES. False: there is none. */
bool hp_axis_series(const struct hp_axis *axis, uint32_t place, struct hp_axis_series *ret_series);

/* The place of one; HP_AXIS_SERIES: there is none. */
uint32_t hp_axis_find(const struct hp_axis *axis, uint32_t kind, uint32_t id);

/* The value of a series in a slot below `used`. */
uint64_t hp_axis_value(const struct hp_axis *axis, uint32_t place, uint32_t slot);

/*
 * How far a counter had come, a time after the axis begins: between two samples it has its part of what came between them. `moments` is
 * the place of the series that says when samples were, `first` that of the series itself; before that it was what it came with.
 */
uint64_t hp_axis_value_at(const struct hp_axis *axis, uint32_t moments, uint32_t place, uint32_t first,
                          uint64_t since);

/* Reads all of a file that is being written. False: there is none, or it is broken. */
bool hp_axis_read(const char *path, void *bytes);

struct hp_snapshot;

/* The one beside a session, in HP_AXIS_BYTES bytes of the caller's. False: there is none that is its own. */
bool hp_axis_of_session(struct hp_axis *axis, const struct hp_snapshot *session, void *bytes);

#endif
