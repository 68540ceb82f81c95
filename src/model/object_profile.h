/*
 * The objects of a run, grouped into rows. Objects of several processes are one row if kind and name are equal and,
 * for kinds where the place counts (HP_KIND_BY_NAME), file and line. An instance has its own row, unless its key is
 * the same in all processes (HP_KIND_OF_RUN). What the numbers mean is up to the kinds: value_profile.h for values.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_OBJECT_PROFILE_H
#define HP_MODEL_OBJECT_PROFILE_H

#include "labels.h"
#include "object_snapshot.h"
#include "run.h"

/* What a thread record says of an object. */
struct hp_object_part {
    const struct hp_object_part *next;
    struct hp_part part;         /* of an instance: without what earlier users of its record counted */
    const struct hp_part *whole; /* of an instance: including that. NULL: the same */
    bool is_former;              /* left by an earlier instance: counts for the class only */
};

/* One record of a session. */
struct hp_object_record {
    struct hp_object_record *next; /* of the same row */
    const struct hp_snapshot *session;
    struct hp_object object;
    struct hp_kind kind;
    const struct hp_object_part *parts;
    struct hp_object_record *members; /* of a class: its instances, in the same session ... */
    struct hp_object_record *next_member;
    const char *kind_name;
    const char *name;
    struct hp_location location;
    uint32_t session_index;
    uint32_t offset;
};

struct hp_objects {
    struct hp_object_record **rows; /* the first record of each, sorted by kind and name */
    size_t count;
};

/* NULL: no memory. */
const struct hp_objects *hp_objects_of_run(struct hp_arena *arena, const struct hp_run *run);

/*
 * Visits all parts of a row: of an instance its own; of a class also those of its instances, including instances
 * whose records were reused. `record` owns the part.
 */
typedef void hp_part_visitor(void *context, const struct hp_object_record *record, const struct hp_part *part);
void hp_object_visit_parts(const struct hp_object_record *row, hp_part_visitor *visit, void *context);
/* The same for one record of a row. */
void hp_object_visit_parts_of_one(const struct hp_object_record *record, hp_part_visitor *visit, void *context);

/* Whether it was used: records of channels that are found are made before that. */
bool hp_object_is_used(const struct hp_object_record *row);

/* The identity of a row: kind and name, and what else distinguishes it. */
uint64_t hp_identity_of_object(const struct hp_object_record *row);

/* Whether a table is about objects of a kind: each table has such a function. */
typedef bool hp_wants_kind(const char *name, const struct hp_kind *kind);

/* Whether a session of the run has objects of such kinds. */
bool hp_run_has_objects(const struct hp_run *run, hp_wants_kind *is_wanted);

#endif
