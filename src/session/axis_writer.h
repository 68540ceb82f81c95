/*
 * Writing the time axis of a session (axis.h), a sample at a time.
 *
 *     hp_axis_begin(&writer, fd, &about);      the file is empty, and locked
 *     hp_axis_put(&writer, HP_AXIS_CPU, 0, "", ns); ...
 *     hp_axis_write(&writer, now);
 *
 * No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_AXIS_WRITER_H
#define HP_SESSION_AXIS_WRITER_H

#include "axis.h"

/* Private. */
struct hp_axis_writer {
    int fd; /* -1: none */
    struct hp_axis_header header;
    uint32_t count[HP_AXIS_KINDS];
    uint32_t last_put; /* place */
    struct hp_axis_series series[HP_AXIS_SERIES];
    bool is_from_zero[HP_AXIS_SERIES]; /* it was 0 before it came */
    bool is_put[HP_AXIS_SERIES];       /* it has a value of this sample */
    uint64_t latest[HP_AXIS_SERIES];   /* of counters how far they are, of levels the highest of the slot */
};

/* Makes the file; the descriptor stays the caller's. False: no space. */
bool hp_axis_begin(struct hp_axis_writer *writer, int fd, uint32_t pid, uint64_t process_start, uint64_t now);

/* The value of a series at this moment. One that is not known yet begins here, if there is a place for its kind. */
void hp_axis_put(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, const char *name, uint64_t value);

/* The same of a counter that was 0 up to now, if it is not known yet: then all of it came since the last sample. */
void hp_axis_put_from_zero(struct hp_axis_writer *writer, uint32_t kind, uint32_t id, uint64_t value);

/* Whether there is such a series, and whether there would be a place for it. */
bool hp_axis_has(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);
bool hp_axis_has_place(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* The series of a kind that has the lowest value, by its id; UINT32_MAX: there is none. */
uint32_t hp_axis_least(const struct hp_axis_writer *writer, uint32_t kind);

/* Makes its place free. */
void hp_axis_drop(struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* The present value of a series, 0 if there is none. */
uint64_t hp_axis_latest(const struct hp_axis_writer *writer, uint32_t kind, uint32_t id);

/* What was put becomes the value of the slot of `now`, and of those that nobody has written since the last one. False: no space. */
bool hp_axis_write(struct hp_axis_writer *writer, uint64_t now);

/*
 * The same at the end, between two samples: it goes into the slot of the last one, since those of which nothing new is known would seem to
 * rest in a slot of its own.
 */
bool hp_axis_amend(struct hp_axis_writer *writer, uint64_t now);

#endif
