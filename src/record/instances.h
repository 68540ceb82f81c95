/*
 * Instances of a class of objects, known by their addresses: each of the channels that one label stands for, say. What a class
 * counts is exact whatever becomes of its instances, of which HP_MOST_INSTANCES have records, HP_MOST_OF_CLASS of one class; those of
 * a class that have ended are used again, the oldest first, and while all are in use further instances count for their class alone.
 *
 *     struct hp_instance_use use;
 *     if (hp_instance_begin(site, &kind, address, &use)) {
 *         HOTPATH_ADD_(use.part->count[0], 1);
 *         hp_object_end(&use.class_);
 *     }
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_INSTANCES_H
#define HP_RECORD_INSTANCES_H

#include "object_parts.h"
#include "objects.h"

#define HP_MOST_INSTANCES 4096u /* that have a record at a time */
#define HP_MOST_OF_CLASS 1024u  /* of these, so that others have some, too */

struct hp_instance_use {
    struct hp_object_use class_;
    struct hp_part *part; /* to count in: that of the instance, or that of its class where it has no record */
};

/* The record that it counts in: its own, or that of its class. */
static inline struct hp_object *hp_instance_object(const struct hp_instance_use *use)
{
    return (struct hp_object *)(void *)(use->class_.head->hot.base + use->part->object);
}

static inline uint64_t hp_instance_hash(const void *address, uint32_t class_)
{
    return ((uint64_t)(uintptr_t)address ^ class_) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct hp_cached_instance *hp_instance_entry(const struct hp_head *head, const void *address,
                                                           uint32_t class_)
{
    return &head->instances[hp_instance_hash(address, class_) >> 58];
}

/*
 * Whether the entry is that of the instance, and this has not ended. A record of another generation is another one's. Entries are of
 * the session that the head works for: with another one they are forgotten.
 */
static inline bool hp_instance_is_cached(const struct hp_head *head, const struct hp_cached_instance *entry,
                                         const void *address, uint32_t class_)
{
    if (entry->address != (uintptr_t)address || entry->class_ != class_)
        return false;
    const struct hp_object *object = (const struct hp_object *)(const void *)(head->hot.base + entry->part->object);
    return HOTPATH_GET_(object->generation) == entry->part->generation &&
           HOTPATH_GET_(object->state) == HP_OBJECT_LIVE;
}

/*
 * The quick way: of an instance that the thread has used lately, where the CPU's counter can be read, which the gate says. Its class
 * is not looked for, and nothing is called: what calls nobody but at its very end has all it needs in registers.
 */
static inline __attribute__((always_inline)) bool
hp_instance_begin_cached(const struct hotpath_site *site, const void *address, struct hp_instance_use *ret_use)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    const uint32_t class_ = HOTPATH_GET_(site->log);
    if (__builtin_expect(hp_head_is_held(&head->hot), 0))
        return false;
    hp_head_hold(&head->hot);
    if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(&head->hot) == head->hot.epoch && head->instances != NULL)) {
        const uint64_t now = hotpath_ticks_();
        const struct hp_cached_instance *entry = hp_instance_entry(head, address, class_);
        if (HOTPATH_LIKELY_(hp_instance_is_cached(head, entry, address, class_))) {
            *ret_use = (struct hp_instance_use){{head, entry->class_part, now}, entry->part};
            return true;
        }
    }
    hp_head_let_go(&head->hot);
    return false;
}

bool hp_instance_begin_out_of_line(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address,
                                   struct hp_instance_use *ret_use);

/* As hp_object_begin. An instance is made when its address comes up for the first time; NULL is none. */
static inline __attribute__((always_inline)) bool hp_instance_begin(struct hotpath_site *site,
                                                                    const struct hp_kind_type *kind,
                                                                    const void *address,
                                                                    struct hp_instance_use *ret_use)
{
    return HOTPATH_LIKELY_(hp_instance_begin_cached(site, address, ret_use)) ||
           hp_instance_begin_out_of_line(site, kind, address, ret_use);
}

/* The same of one that the thread has used lately, and only then. */
bool hp_instance_begin_known(const struct hotpath_site *site, const void *address, struct hp_instance_use *ret_use);
/*
 * The thread's part of the object at that place of the session (hp_known_object), with the head held: for those who have lost all else,
 * and seldom. NULL: there is no space.
 */
struct hp_part *hp_instance_part_at(struct hp_head *head, uint64_t place);

/* The instance is no more. What comes later from its address is another one. */
void hp_instance_end(struct hotpath_site *site, const struct hp_kind_type *kind, const void *address);

#endif
