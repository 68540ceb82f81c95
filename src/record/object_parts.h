/* The table of a head that leads from the numbers of objects to the thread's parts of them. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_OBJECT_PARTS_H
#define HP_RECORD_OBJECT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_head;
struct hp_part;

#define HP_CACHED_INSTANCES 64u

/* An instance that a thread used lately, and its parts of it and of its class. An address of NULL stands for the class itself. */
struct hp_cached_instance {
    uintptr_t address;
    struct hp_part *part, *class_part;
    uint32_t class_; /* UINT32_MAX: the entry is empty */
    uint32_t reserved;
};

/* Memory for these, all empty; false without. With the head held. */
bool hp_parts_make_cache(struct hp_head *head);
/* A head begins with a new record: it has no parts of objects yet. */
void hp_parts_forget(struct hp_head *head);
/* Room for this number; false without memory. With the head held. */
bool hp_parts_make_places(struct hp_head *head, uint32_t number);
/* Memory for the parts of as many objects as fit into a chunk. Under the lock. */
void hp_parts_reserve(struct hp_head *head);

#endif
