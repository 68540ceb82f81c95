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

/* -------------------------------------------------------------------------------------------------- object sums */

/*
 * The counters of an object over all threads and processes, combined as its kind says. Their meaning does not
 * matter here.
 */

struct hp_object_sums {
    uint64_t count[HP_KIND_COUNTERS];
    uint64_t newest;  /* tick of the most recent part */
    uint32_t threads; /* records of threads that used it */
    uint32_t parts;   /* parts that were added */
};

void hp_object_sums_of(const struct hp_object_record *row, struct hp_object_sums *ret_sums);

/*
 * What remains of a class without its listed instances: the sum of instances without a row. Only counters that are
 * sums can be subtracted; the others are 0. False: nothing remains.
 */
bool hp_object_sums_left(const struct hp_object_record *row, const struct hp_object_sums *class_,
                         const struct hp_object_sums *instances, struct hp_object_sums *ret_left);

/* ------------------------------------------------------------------------------------------------- object users */

/*
 * The users of an object: the innermost zones of its threads at their latest use, for kinds that store `node` in
 * their parts; or the threads, for kinds that are found automatically (HP_KIND_FOUND).
 */

struct hp_arena;
struct hp_profile;

#define HP_MOST_USERS 8u

struct hp_object_user {
    const char *name;
    uint64_t count;
};

struct hp_object_users {
    struct hp_object_user all[HP_MOST_USERS]; /* largest count first */
    uint32_t count;
    uint32_t left_out; /* parts of users that are not listed */
};

/* The name of the zone of a node of its session; NULL: none, or unknown. */
const char *hp_object_name_of_node(const struct hp_profile *profile, const struct hp_object_record *record,
                                   uint32_t node);

/* Users whose parts have counted something in one of two counters. */
void hp_object_users_of(struct hp_arena *arena, const struct hp_profile *profile,
                        const struct hp_object_record *row, uint32_t counter, uint32_t or_counter,
                        struct hp_object_users *ret_users);

#endif
