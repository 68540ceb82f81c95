/*
 * Instances of a class of objects, known by their addresses: each of the channels that one label stands for, say. What a class
 * counts is exact whatever becomes of its instances, which have HP_MOST_INSTANCES records; those that have ended are used
 * again, the oldest first, and while all are in use further instances count for their class alone.
 *
 *     struct hp_instance_use use;
 *     if (hp_instance_begin(site, &kind, address, &use)) {
 *         HOTPATH_ADD_(use.class_.part->count[0], 1);
 *         if (use.part != NULL)
 *             HOTPATH_ADD_(use.part->count[0], 1);
 *         hp_object_end(&use.class_);
 *     }
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_INSTANCES_H
#define HP_RECORD_INSTANCES_H

#include "objects.h"

#define HP_MOST_INSTANCES 4096u /* that have a record at a time */
#define HP_CACHED_INSTANCES 64u

/* An instance that a thread used lately. */
struct hp_cached_instance {
    uintptr_t address;
    uint32_t class_, number;
};

struct hp_instance_use {
    struct hp_object_use class_;
    struct hp_part *part; /* of the instance; NULL: it has no record */
};

/* As hp_object_begin. An instance is made when its address comes up for the first time; NULL is none. */
bool hp_instance_begin(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                       struct hp_instance_use *ret_use);

/* The instance is no more. What comes later from its address is another one. */
void hp_instance_end(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address);

#endif
