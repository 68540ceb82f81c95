/*
 * The numbers by which a program knows its tasks, and the slots in the session that they lead to. Any number does no harm: what is not
 * that of an open task of this session is nobody's. With the head held, all of it. SPDX-License-Identifier: MIT
 */
#ifndef HP_RECORD_TASK_SLOTS_H
#define HP_RECORD_TASK_SLOTS_H

#include "objects.h"
#include "task_layout.h"

/* A slot for a task of that class, filled in, and its number. NULL: there are too many, or there is no space. */
struct hp_task_slot *hp_task_slot_take(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_id);
/* That of an open task; false: there is none. A number begins with where its slot would be, in units of 64 bytes. */
#define HP_SLOT_BITS 26u
static inline bool hp_task_slot_find(const struct hp_head *head, uint64_t id, struct hp_task_slot **ret_slot)
{
    char *const base = head->hot.base;
    const uint64_t used = __atomic_load_n(&((const struct hp_header *)(const void *)base)->used, __ATOMIC_RELAXED);
    const uint64_t offset = (id & ((UINT64_C(1) << HP_SLOT_BITS) - 1)) * 64;
    if (__builtin_expect(offset - HP_HEADER_BYTES >= used - HP_HEADER_BYTES, 0))
        return false;
    *ret_slot = (struct hp_task_slot *)(void *)(base + offset);
    return __atomic_load_n(&(*ret_slot)->id, __ATOMIC_ACQUIRE) == id;
}
/* The task has ended. False: another thread has ended it just now. */
bool hp_task_slot_end(struct hp_head *head, struct hp_task_slot *slot);
/* The class of a task that had a slot once; 0: not known. */
uint32_t hp_task_former_class(const struct hp_head *head, uint64_t id);

/*
 * A number for a task without a slot: its class, and when it was created as far as bits allow, which is what to count. 0: it
 * cannot be told.
 */
uint64_t hp_task_slotless(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_born);
/* False: it is no such number. */
bool hp_task_is_slotless(const struct hp_head *head, uint64_t id, uint32_t *ret_class, uint64_t *ret_born);

#endif
