/*
 * Writing the time axis of a session (axis.h), a sample at a time.
 *
 *     hp_axis_begin(&writer, fd, &about);      the file is empty, and locked
 *     hp_axis_put(&writer, HP_AXIS_CPU, 0, "", ns); ...
 *     hp_axis_write(&writer, now);
 *
 * No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_FORMAT_AXIS_WRITER_H
#define HP_FORMAT_AXIS_WRITER_H

#include "axis.h"

/* Private. */
struct hp_axis_writer {
    int fd; /* -1: none */
    struct hp_axis_header header;
    uint32_t count[HP_AXIS_KINDS];
    uint32_t last_put; /* index */
    struct hp_axis_series series[HP_AXIS_SERIES];
    bool has_before[HP_AXIS_SERIES]; /* its value at the last sample is known, although it only appears now */
    bool is_put[HP_AXIS_SERIES];     /* it has a value in this sample */
    uint64_t before[HP_AXIS_SERIES];
    uint64_t latest[HP_AXIS_SERIES]; /* counters: current value; levels: maximum of the slot */
};

/* Initialises the file; the descriptor stays the caller's. False: no space. */
bool hp_axis_begin(struct hp_axis_writer *writer, int fd, uint32_t pid, uint64_t process_start, uint64_t now);

/* Sets the current value of a series. A new series starts here, if there is room for its kind. */
void hp_axis_put(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, uint64_t value);

/*
 * The same for a counter whose value at the last sample is known if it is new, or known to have been 0: the rest
 * came since.
 */
void hp_axis_put_since(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, uint64_t before,
                       uint64_t value);
void hp_axis_put_from_zero(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, uint64_t value);

/* Whether the series exists, and whether there would be room for it. */
bool hp_axis_has(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);
bool hp_axis_has_place(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* The id of the series of a kind with the lowest value; UINT32_MAX: none. */
uint32_t hp_axis_least(const struct hp_axis_writer *writer, uint32_t kind);

/* Copies the ids of a kind's series, no more than `most`; returns how many. */
uint32_t hp_axis_ids(const struct hp_axis_writer *writer, uint32_t kind, uint32_t *ids, uint32_t most);

/* Frees its entry. */
void hp_axis_drop(struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* The current value of a series; 0: none. */
uint64_t hp_axis_latest(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* Writes the values into the slot of `now`, and into all slots skipped since the last write. False: no space. */
bool hp_axis_write(struct hp_axis_writer *writer, uint64_t now);

/*
 * The same at the end, between two samples: writes into the slot of the last one. In a slot of their own, series
 * without a new value would appear idle.
 */
bool hp_axis_amend(struct hp_axis_writer *writer, uint64_t now);

#endif
