/*
 * Instances of a class of objects, identified by address: each of the channels of one label, say. The counts of a
 * class are exact whatever happens to its instances. HP_MOST_INSTANCES have records, HP_MOST_OF_CLASS per class.
 * Records of ended instances of a class are reused, oldest first; while all are in use, further instances count for
 * their class alone.
 *
 *     struct hp_instance_use use;
 *     if (hp_instance_begin(site, &kind, address, &use)) {
 *         HOTPATH_ADD_(use.part->count[0], 1);
 *         hp_object_end(&use.class_);
 *     }
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBJECTS_INSTANCES_H
#define HP_OBJECTS_INSTANCES_H

#include "objects.h"
#include "thread_context.h"

#define HP_MOST_INSTANCES 4096u /* with a record at the same time */
#define HP_MOST_OF_CLASS 1024u  /* of one class, so that others get some, too */

struct hp_instance_use {
    struct hp_object_use class_;
    struct hp_part *part; /* where to count: the instance's part, or its class's if it has no record */
};

/* The record it counts in: its own, or its class's. */
static inline struct hp_object *hp_instance_object(const struct hp_instance_use *use)
{
    return (struct hp_object *)(void *)(use->class_.context->hot.base + use->part->object);
}

static inline uint64_t hp_instance_hash(const void *address, uint32_t class_)
{
    return ((uint64_t)(uintptr_t)address ^ class_) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct hp_cached_instance *hp_instance_entry(struct hp_cached_instance *cache, const void *address,
                                                           uint32_t class_)
{
    return &cache[hp_instance_hash(address, class_) >> 58];
}

/*
 * Whether the cache entry is of this instance and the instance has not ended. A record of another generation
 * belongs to another instance. Entries are of the context's session; with the next session they are cleared.
 */
static inline bool hp_instance_is_cached(const struct hp_thread_context *context,
                                         const struct hp_cached_instance *entry, const void *address,
                                         uint32_t class_)
{
    if (entry->address != (uintptr_t)address || entry->class_ != class_)
        return false;
    const struct hp_object *object =
        (const struct hp_object *)(const void *)(context->hot.base + entry->part->object);
    return HOTPATH_GET_(object->generation) == entry->part->generation &&
           HOTPATH_GET_(object->state) == HP_OBJECT_LIVE;
}

/*
 * Fast path: the thread used the instance lately, and the time stamp counter is usable, as the gate says. Does not
 * look up the class and makes no call except a tail call, so everything stays in registers.
 */
static inline __attribute__((always_inline)) bool
hp_instance_begin_cached(const struct hotpath_site *site, const void *address, struct hp_instance_use *ret_use)
{
    struct hp_thread_context *context = (struct hp_thread_context *)(void *)hotpath_v1_context;
    const uint32_t class_ = HOTPATH_GET_(site->log);
    if (__builtin_expect(hp_context_is_held(&context->hot), 0))
        return false;
    hp_context_hold(&context->hot);
    if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(&context->hot) == context->hot.epoch && context->ready != NULL)) {
        const uint64_t now = hotpath_ticks_();
        const struct hp_cached_instance *entry = hp_instance_entry(context->ready, address, class_);
        if (HOTPATH_LIKELY_(hp_instance_is_cached(context, entry, address, class_))) {
            *ret_use = (struct hp_instance_use){{context, entry->class_part, now}, entry->part};
            return true;
        }
    }
    hp_context_let_go(&context->hot);
    return false;
}

bool hp_instance_begin_out_of_line(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                                   struct hp_instance_use *ret_use);

/* As hp_object_begin. Makes an instance when its address is first seen; NULL is none. */
static inline __attribute__((always_inline)) bool hp_instance_begin(struct hotpath_site *site,
                                                                    const struct hp_kind_type *kind,
                                                                    const void *address,
                                                                    struct hp_instance_use *ret_use)
{
    return HOTPATH_LIKELY_(hp_instance_begin_cached(site, address, ret_use)) ||
           hp_instance_begin_out_of_line(site, kind, address, ret_use);
}

/* The same, but only for an instance that the thread has used lately. */
bool hp_instance_begin_known(const struct hotpath_site *site, const void *address, struct hp_instance_use *ret_use);
/*
 * The thread's part of the object at that offset of the session (hp_known_object). For rare cases in which nothing
 * else is known. The caller holds the context. NULL: no space.
 */
struct hp_part *hp_instance_part_at(struct hp_thread_context *context, uint64_t place);

/* The instance ended at that moment of CLOCK_MONOTONIC, 0: now. Later events at its address belong to a new one. */
void hp_instance_ended(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                       uint64_t ns);

#endif
