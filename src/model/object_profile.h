/*
 * The objects of a run: which records are one row. Objects of several processes are one where kind and name are the same, and
 * for kinds where the place counts (HP_KIND_BY_NAME), file and line; an instance is always a row of its own.
 * What their numbers mean is their kinds' business: value_profile.h for values. SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_OBJECT_PROFILE_H
#define HP_MODEL_OBJECT_PROFILE_H

#include "labels.h"
#include "object_snapshot.h"
#include "run.h"

/* What a thread record says of an object. */
struct hp_object_part {
    const struct hp_object_part *next;
    struct hp_part part;
};

/* One record of a session. */
struct hp_object_record {
    struct hp_object_record *next; /* of the same row */
    const struct hp_snapshot *session;
    struct hp_object object;
    struct hp_kind kind;
    const struct hp_object_part *parts;
    const char *kind_name;
    const char *name;
    struct hp_location location;
    uint32_t session_index;
    uint32_t offset;
};

struct hp_objects {
    struct hp_object_record **rows; /* the first record of each, by kind and name */
    size_t count;
};

/* NULL: no memory. */
const struct hp_objects *hp_objects_of_run(struct hp_arena *arena, const struct hp_run *run);

/* By what a row is known: kind and name, and what else tells it from others. */
uint64_t hp_identity_of_object(const struct hp_object_record *row);

/* Whether a session of the run has objects of kinds that have a table of their own, or of others. */
bool hp_run_has_objects(const struct hp_run *run, bool with_own_table);

#endif
