/*
 * Objects: what a program tells about things that are no zones (values, gauges, channels). A kind is a descriptor and one
 * recorder file; this is what all of them share: who an object is, and where the calling thread counts for it.
 *
 *     struct hp_object_use use;
 *     if (hp_object_begin(site, &kind, &use)) {
 *         HOTPATH_ADD_(use.part->count[0], 1);      only this thread writes here, and the head is held
 *         hp_object_end(&use);
 *     }
 *
 * Quick where the thread has a part of the object already: no lock, and no cache line that another thread writes.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_OBJECTS_H
#define HP_RECORD_OBJECTS_H

#include "holding.h"

struct hp_field_type {
    const char *key, *title;
    enum hotpath_unit unit;
    enum hp_merge merge;
};

/* A kind, as it will be described in the session. */
struct hp_kind_type {
    const char *name, *title;
    uint32_t flags; /* HP_KIND_... */
    uint32_t typed; /* counters that are numbers of the part's type, a bit each */
    struct hp_field_type counters[HP_KIND_COUNTERS];
    struct hp_field_type histograms[HP_KIND_HISTOGRAMS];
};

/* An object as the process knows it, whatever session runs. */
struct hp_known_object {
    uint64_t place; /* atomic: number of the session it was last written into << 32 | its offset there */
    const struct hp_kind_type *kind;
    uint32_t site;
    uint32_t
        next; /* atomic: number of the next in its bucket; of an instance that has ended, of the next that did */
    uintptr_t address; /* atomic: of an instance, else 0 */
    uint32_t class_;   /* atomic: of an instance, the number of its class */
    uint32_t older;    /* of an instance, the number that was made before it */
};

/* An object in use: the head is held, so the session stays where it is. */
struct hp_object_use {
    struct hp_head *head;
    struct hp_part *part;
    uint64_t now; /* ticks */
};

/* False: nothing is to be recorded, or can be, which is counted then. This and all that follows leave errno as it is. */
bool hp_object_begin(struct hotpath_site *site, const struct hp_kind_type *kind, struct hp_object_use *ret_use);
static inline void hp_object_end(const struct hp_object_use *use) { hp_head_let_go(&use->head->hot); }

static inline struct hp_object *hp_object_of(const struct hp_object_use *use)
{
    return (struct hp_object *)(void *)(use->head->hot.base + use->part->object);
}

/* Memory for as many objects as fit into a chunk. Under the lock. */
void hp_objects_reserve(void);

/* --- for instances.c. Numbers begin with 1. */

/* What the process knows of an object that has a number. */
struct hp_known_object *hp_object_known(uint32_t number);
/* A number that no site leads to. 0: there is no space. Under the lock. */
uint32_t hp_object_new(uint32_t site, const struct hp_kind_type *kind);
/* An instance begins in the running session, unless it is there; or is over. False: no space. Under the lock. */
bool hp_object_write_instance(uint32_t number, uint32_t class_, const void *address);
void hp_object_write_end(uint32_t number);
/* The thread's part of an object, with the head held. NULL: there is no space, or it is not in this session. */
struct hp_part *hp_object_part(struct hp_head *head, uint32_t number);

/* --- for recorders of kinds */

/* Adds to a histogram of the part. What finds no space is counted there as missed. */
void hp_object_distribute(const struct hp_object_use *use, uint32_t histogram, double magnitude);

/* A value among the recent ones. `text` is that of a text, else NULL. */
void hp_object_remember(const struct hp_object_use *use, const struct hp_recent *value, const char *text);

#endif
