/* Reading the objects of a session safely, by walks as in snapshot.h. SPDX-License-Identifier: MIT */
#ifndef HP_FORMAT_OBJECT_SNAPSHOT_H
#define HP_FORMAT_OBJECT_SNAPSHOT_H

#include "snapshot.h"

/* The objects of a session, newest first. */
bool hp_snapshot_next_object(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                             struct hp_object *ret_object);

/* Copies the kind at an offset from an object. Numbers of fields are within bounds. False: there is none. */
bool hp_snapshot_kind(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_kind *ret_kind);

/*
 * The parts of an object, including those of earlier instances of the record; for a class, `base` is 0. If
 * `sequence` is odd, related counters are inconsistent: an unfinished change is counted in some and not in others.
 * Rewind the walk for the next object.
 */
bool hp_snapshot_next_part(const struct hp_snapshot *snapshot, const struct hp_object *object, struct hp_walk *walk,
                           struct hp_instance_part *ret_part);

/* Distribution of numbers: the sum of hp_histogram. */
struct hp_magnitudes {
    uint64_t steps[HP_MAGNITUDES][HP_MAGNITUDE_STEPS];
    uint64_t zeros;
    uint64_t missed;
};

/* Adds a histogram of a part, as far as it is within the bytes. */
void hp_snapshot_add_magnitudes(const struct hp_snapshot *snapshot, uint32_t histogram,
                                struct hp_magnitudes *magnitudes);

#define HP_RECENT_TEXT 48u /* longest text of a value that is shown in a list */

/* A recent value. */
struct hp_recent {
    uint64_t tick;
    uint64_t bits; /* the value, by its type; for a text its length */
    uint32_t type; /* enum hp_value_type */
};

/* For a text, with a copy of it, which may contain any bytes. */
struct hp_recent_copy {
    struct hp_recent value;
    char text[HP_RECENT_TEXT + 1];
};

/*
 * The latest values of a part, newest first: records of its log that are values or have a text. The walk ends at
 * those that are overwritten meanwhile.
 */
bool hp_snapshot_next_recent(const struct hp_snapshot *snapshot, const struct hp_part *part, struct hp_walk *walk,
                             struct hp_recent_copy *ret_recent);

/* ------------------------------------------------------------------------------------------------ task snapshot */

/* Reading the open tasks of a session, by walks as in snapshot.h. */

/* The slots of open tasks, in no order. */
bool hp_snapshot_next_task(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_task_slot *ret_slot);

#endif
