/*
 * The heat map of a session: how the durations of calls were distributed over time, in a file of fixed size beside
 * it, "NAME.heat".
 *
 *   header (128 bytes) | functions (8 bytes each) | cells: for each function some per slot
 *
 * Slots are like those of the time axis (axis.h): they begin with the session, and pairs of them are merged when
 * all are used; meanwhile `generation` is odd. A cell counts the calls that ended in its slot with a duration in
 * its bucket. Buckets are half octaves of ticks; those without calls have no cell, and with more than there are
 * cells for, neighbours share one. Only calls that were timed count.
 *
 * Written from outside by the observer that writes the time axis. Readers trust nothing.
 * src/model/heat_map.h reads this for a function of a run. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_HEAT_H
#define HP_FORMAT_HEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axis.h"
#include "lock_layout.h"

#define HP_HEAT_SUFFIX ".heat" /* instead of the suffix of the session */

/* All files that may be beside a session, for hp_beside_path. */
#define HP_BESIDE_SUFFIXES HP_AXIS_SUFFIX, HP_HEAT_SUFFIX, HP_LOCKS_SUFFIX
#define HP_HEAT_MAGIC "hotheat"
#define HP_HEAT_VERSION 1u
#define HP_HEAT_SLOTS HP_AXIS_SLOTS
#define HP_HEAT_SITES HP_AXIS_SITES
#define HP_HEAT_CELLS 12u
#define HP_HEAT_BUCKETS 128u

struct hp_heat_header {
    char magic[8];
    uint32_t byte_order; /* as in sessions */
    uint32_t version;
    uint32_t pid;
    uint32_t slots;
    uint32_t sites;
    uint32_t cells;      /* per slot */
    uint32_t used;       /* slots */
    uint32_t generation; /* odd while slots are merged, or a function gives way to another */
    uint64_t process_start;
    uint64_t start_ns; /* start of the first slot, by CLOCK_MONOTONIC */
    uint64_t slot_ns;
    uint64_t latest_ns; /* calls that ended later are not counted yet */
    uint64_t unused[7];
};

struct hp_heat_site {
    uint32_t id;    /* of the site, plus 1; 0: free */
    uint32_t first; /* slot before which it was not counted */
};

/* Bits 0 to 6: the bucket; 7 to 11: n; 12 to 31: the count, in units of 2^n. A count of 0: free. */
typedef uint32_t hp_heat_row[HP_HEAT_CELLS];

#define HP_HEAT_ROWS_AT (sizeof(struct hp_heat_header) + HP_HEAT_SITES * sizeof(struct hp_heat_site))
#define HP_HEAT_SITE_BYTES (HP_HEAT_SLOTS * sizeof(hp_heat_row))
#define HP_HEAT_BYTES (HP_HEAT_ROWS_AT + HP_HEAT_SITES * HP_HEAT_SITE_BYTES)

_Static_assert(sizeof(struct hp_heat_header) == 128 && sizeof(struct hp_heat_site) == 8, "part of the file");

static inline uint32_t hp_heat_bucket_of(uint32_t cell) { return cell & 127; }
static inline uint64_t hp_heat_count_of(uint32_t cell) { return (uint64_t)(cell >> 12) << (cell >> 7 & 31); }
uint32_t hp_heat_cell(uint32_t bucket, uint64_t count);

/* The bucket of a duration, and the least duration of a bucket. */
uint32_t hp_heat_bucket(uint64_t ticks);
uint64_t hp_heat_least_ticks(uint32_t bucket);

/* A file that is open for reading. */
struct hp_heat {
    int fd;
    struct hp_heat_header header;
    struct hp_heat_site sites[HP_HEAT_SITES];
};

/* False: there is none, or it is broken. Else close it. */
bool hp_heat_open(struct hp_heat *heat, const char *path);
void hp_heat_close(struct hp_heat *heat);

struct hp_snapshot;

/* The same for the heat map of a session. False: there is none that belongs to it. */
bool hp_heat_of_session(struct hp_heat *heat, const struct hp_snapshot *session);

/*
 * Copies the cells of one function, at an index of `sites`; no row beyond `used` or before `first` has any. False:
 * it is free, or the file was changed since it was opened: open it again.
 */
bool hp_heat_rows(const struct hp_heat *heat, uint32_t place, hp_heat_row rows[HP_HEAT_SLOTS]);

#endif
