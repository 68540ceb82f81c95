/*
 * The ids by which a program knows its tasks, and their slots in the session. Any number is harmless: one that is
 * not the id of an open task of this session matches nothing. The caller holds the context throughout.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_TASKS_TASK_SLOTS_H
#define HP_TASKS_TASK_SLOTS_H

#include "objects.h"
#include "task_layout.h"

/* A slot for a task of that class, filled in, and its id. NULL: too many, or no space. */
struct hp_task_slot *hp_task_slot_take(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_id);
/* Finds the slot of an open task; false: none. An id begins with the offset of its slot in units of 64 bytes. */
#define HP_SLOT_BITS 26u
static inline bool hp_task_slot_find(const struct hp_thread_context *context, uint64_t id,
                                     struct hp_task_slot **ret_slot)
{
    char *const base = context->hot.base;
    const uint64_t used = __atomic_load_n(&((const struct hp_header *)(const void *)base)->used, __ATOMIC_RELAXED);
    const uint64_t offset = (id & ((UINT64_C(1) << HP_SLOT_BITS) - 1)) * 64;
    if (__builtin_expect(offset - HP_HEADER_BYTES >= used - HP_HEADER_BYTES, 0))
        return false;
    *ret_slot = (struct hp_task_slot *)(void *)(base + offset);
    return __atomic_load_n(&(*ret_slot)->id, __ATOMIC_ACQUIRE) == id;
}
/*
 * Ends the task. False: another thread has just ended it. `cut_at`: the time, if it runs on another thread, which
 * then learns from hp_task_was_cut when it ended; else 0.
 */
bool hp_task_slot_end(struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t cut_at);
/* Whether another thread ended the task while it ran; not known for long after its slot is reused. */
bool hp_task_was_cut(const struct hp_thread_context *context, uint64_t id, uint64_t *ret_at);
/* The class of a task of this session that once had a slot; 0: unknown. */
uint32_t hp_task_former_class(const struct hp_thread_context *context, uint64_t id);

/*
 * An id for a task without a slot: its class and its creation time as far as bits allow; `*ret_born` is the time to
 * count. 0: not possible.
 */
uint64_t hp_task_slotless(const struct hp_object_use *use, uint32_t class_, uint64_t *ret_born);
/* What an id of this kind looks like, in any session. */
static inline bool hp_task_has_no_slot(uint64_t id) { return id >> 63 != 0; }
/* False: not such an id. */
bool hp_task_is_slotless(const struct hp_thread_context *context, uint64_t id, uint32_t *ret_class,
                         uint64_t *ret_born);

/* Whether hotpath_task_of gave the task out: then its id says whether the place is free. */
bool hp_task_is_placed(const hotpath_task *task);

/* ------------------------------------------------------------------------------------------ what tasks wait for */

/* A wait for a request that a task has made and continues after; it has ended. */
struct hp_task_wait {
    struct hotpath_site *site; /* of what was waited for; NULL: there was no wait */
    uint32_t waiter;           /* site of the waiting task */
    uint64_t ticks;            /* in which the waiter did not run */
};

/* Another task waits for the slot's task. The caller holds the context. */
void hp_task_wait_begin(const struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t waiting,
                        uint64_t now);
/* The wait ends now; if its waiter is over already, there was no wait. The caller holds the context. */
struct hp_task_wait hp_task_wait_end(const struct hp_thread_context *context, const struct hp_task_slot *slot,
                                     uint64_t now);
/* Counts it. Call with nothing held. */
void hp_task_wait_count(const struct hp_task_wait *wait);

#endif
