/* The table of a head that leads from the numbers of objects to the thread's parts of them. SPDX-License-Identifier: MIT */
#ifndef HP_RECORD_OBJECT_PARTS_H
#define HP_RECORD_OBJECT_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_head;

/* A head begins with a new record: it has no parts of objects yet. */
void hp_parts_forget(struct hp_head *head);
/* Room for this number; false without memory. With the head held. */
bool hp_parts_make_places(struct hp_head *head, uint32_t number);
/* Memory for the parts of as many objects as fit into a chunk. Under the lock. */
void hp_parts_reserve(struct hp_head *head);

#endif
