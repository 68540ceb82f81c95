/*
 * The users of an object: the innermost zones of its threads at their latest use, for kinds that store `node` in
 * their parts; or the threads, for kinds that are found automatically (HP_KIND_FOUND). SPDX-License-Identifier: MIT
 */
#ifndef HP_MODEL_OBJECT_USERS_H
#define HP_MODEL_OBJECT_USERS_H

#include "object_profile.h"

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
