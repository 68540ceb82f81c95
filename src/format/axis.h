/*
 * The time axis of a session: its numbers over time, in a file of fixed size beside it, "NAME.axis".
 *
 *   header (128 bytes) | series (32 bytes each) | values: for each series one per slot
 *
 * A slot stands for `slot_ns` of time. When all are used, pairs of them are merged, and slots are twice as long
 * from then on; meanwhile `generation` is odd. The value of a counter is its count at the end of the slot, so an
 * interval is a difference of two; the value of a level is the maximum seen in the slot.
 *
 * Written from outside by one observer, which holds a lock on the file. Readers trust nothing.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_AXIS_H
#define HP_FORMAT_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_AXIS_SUFFIX ".axis" /* instead of the suffix of the session */
#define HP_AXIS_MAGIC "hotaxis"
#define HP_AXIS_VERSION 4u
#define HP_AXIS_SLOTS 512u
#define HP_AXIS_SERIES 960u
#define HP_AXIS_SITES 96u
#define HP_AXIS_WAITS 64u
#define HP_AXIS_THREADS 24u
#define HP_AXIS_FIRST_SLOT_NS UINT64_C(250000000)

/* What threads do with their time, by groups of causes. Part of the file: as ids of HP_AXIS_THREAD_CAUSE. */
enum hp_activity {
    HP_PART_USER, /* also if the mode is unknown */
    HP_PART_KERNEL,
    HP_PART_QUEUE, /* ready to run, but no CPU free */
    HP_PART_DISK,
    HP_PART_LOCK,    /* and conditions, semaphores, barriers, other threads */
    HP_PART_NETWORK, /* and pipes */
    HP_PART_SLEEP,   /* and everything else */
    HP_PARTS,
    HP_PART_IDLE = HP_PARTS, /* waits for new work, of any cause; they are in none of the others */
    HP_ALL_PARTS
};

enum hp_axis_kind {
    HP_AXIS_NONE,
    HP_AXIS_CPU,         /* CPU time of the process in ns */
    HP_AXIS_KERNEL,      /* part of it in the kernel */
    HP_AXIS_RESIDENT,    /* resident bytes: a level */
    HP_AXIS_LIVE,        /* threads: a level */
    HP_AXIS_ALLOCATED,   /* live usable bytes: a level */
    HP_AXIS_THREAD,      /* CPU time of a thread in ns; `id` is its number */
    HP_AXIS_WAIT,        /* ns that threads waited; `id` is enum hp_wait_cause */
    HP_AXIS_SITE_CALLS,  /* finished calls of a site; `id` is that of the site */
    HP_AXIS_SITE_TICKS,  /* their time and that of open ones, recursive ones counted once */
    HP_AXIS_SITE_SELF,   /* part of it outside of child zones */
    HP_AXIS_PLACE,       /* ns of an entry of hp_waits; `id` is its index */
    HP_AXIS_BESIDE,      /* the same of `beside_ns` */
    HP_AXIS_WATCHED,     /* ns of thread time that was observed */
    HP_AXIS_MOMENT,      /* time of the last sample of the slot, in ns since the start of the first slot */
    HP_AXIS_SITE_CPU,    /* CPU time in ns that samples attributed to the site itself */
    HP_AXIS_SITE_BYTES,  /* bytes requested by finished calls of a site themselves */
    HP_AXIS_SITE_KERNEL, /* the part of HP_AXIS_SITE_CPU in the kernel */
    HP_AXIS_WORK,        /* a number of struct hp_work_times of the run; `id` is its index */
    /*
     * ns that a thread with HP_AXIS_THREAD did this; `id` is its number times HP_ALL_PARTS plus the enum
     * hp_activity. There is none before the first ns of it. src/model/thread_activity.h reads them for a time
     * range, and in steps.
     */
    HP_AXIS_THREAD_CAUSE,
    HP_AXIS_KINDS
};

static inline bool hp_axis_is_level(uint32_t kind)
{
    return kind == HP_AXIS_RESIDENT || kind == HP_AXIS_LIVE || kind == HP_AXIS_ALLOCATED;
}

struct hp_axis_series {
    uint32_t kind; /* enum hp_axis_kind; HP_AXIS_NONE: free */
    uint32_t id;
    uint32_t first; /* slot before which it is unknown */
    uint32_t reserved;
    char name[16]; /* of a thread */
};

struct hp_axis_header {
    char magic[8];
    uint32_t byte_order; /* as in sessions */
    uint32_t version;
    uint32_t pid;
    uint32_t slots;
    uint32_t series;
    uint32_t used;       /* slots with values */
    uint32_t generation; /* odd while slots are merged */
    uint32_t reserved;
    uint64_t process_start;
    uint64_t start_ns; /* start of the first slot, by CLOCK_MONOTONIC */
    uint64_t slot_ns;
    uint64_t latest_ns; /* time of the latest value */
    uint64_t unused[7];
};

#define HP_AXIS_VALUES_AT (sizeof(struct hp_axis_header) + HP_AXIS_SERIES * sizeof(struct hp_axis_series))
#define HP_AXIS_BYTES (HP_AXIS_VALUES_AT + (size_t)HP_AXIS_SERIES * HP_AXIS_SLOTS * sizeof(uint64_t))

_Static_assert(HP_ALL_PARTS == 8, "part of the file: the activities of a thread have consecutive ids");
_Static_assert(sizeof(struct hp_axis_header) == 128 && sizeof(struct hp_axis_series) == 32, "part of the file");

/* The path of a file beside a session, with that suffix. False: too long, or not a session. */
bool hp_beside_path(const char *session, const char *suffix, char *path, size_t size);

/* That of the axis. */
bool hp_axis_path(const char *session, char *path, size_t size);

/* A copy of the file, in the caller's memory. */
struct hp_axis {
    struct hp_axis_header header;
    const unsigned char *bytes;
};

/* Whether HP_AXIS_BYTES bytes, aligned to 8, are a readable time axis. */
bool hp_axis_open(struct hp_axis *axis, const void *bytes);

/* Copies the series at an index below HP_AXIS_SERIES. False: there is none. */
bool hp_axis_series(const struct hp_axis *axis, uint32_t place, struct hp_axis_series *ret_series);

/* The index of a series; HP_AXIS_SERIES: none. */
uint32_t hp_axis_find(const struct hp_axis *axis, uint32_t kind, uint32_t id);

/* The value of a series in a slot below `used`. */
uint64_t hp_axis_value(const struct hp_axis *axis, uint32_t place, uint32_t slot);

/* The highest value of a level from one slot to another, as far as they are used. */
uint64_t hp_axis_highest(const struct hp_axis *axis, uint32_t place, uint64_t from, uint64_t to);

/*
 * The value of a counter at a time after the start of the axis, interpolated between samples. `moments` is the
 * index of the series with the times of samples, `first` that of the series itself; before its first slot it has
 * its first value.
 */
uint64_t hp_axis_value_at(const struct hp_axis *axis, uint32_t moments, uint32_t place, uint32_t first,
                          uint64_t since);

/* Reads a file that may be being written. False: there is none, or it is broken. */
bool hp_axis_read(const char *path, void *bytes);

struct hp_snapshot;

/* Reads the axis of a session into HP_AXIS_BYTES bytes of the caller. False: there is none that belongs to it. */
bool hp_axis_of_session(struct hp_axis *axis, const struct hp_snapshot *session, void *bytes);

#endif
