/*
 * What tasks wait for. A request that an adapter makes for a task is a task, too. While it is open and the other
 * one does not run, the other one waits for it. The running time of a task can be read from its slot at any time,
 * so two readings are enough, when the request is made and when it has ended, on any threads. Requests that are
 * open at the same time count each.
 *
 * The sums are objects: a class for what was waited for, with an instance per waiting class, identified by its
 * site.
 *
 * SPDX-License-Identifier: MIT
 */
#include "task_waits.h"

#include "instances.h"

static const struct hp_kind_type await_kind = {
    .name = "await",
    .title = "Awaited",
    .flags = HP_KIND_BY_NAME | HP_KIND_OWN_TABLE,
    .goes_on = true,
    .counters = {[HP_AWAIT_COUNT] = {"awaited", "Awaited", HOTPATH_UNIT_COUNT, HP_MERGE_SUM},
                 [HP_AWAIT_TICKS] = {"awaited_ns", "Waiting", HOTPATH_UNIT_NS, HP_MERGE_SUM}},
};

static uint64_t since(uint64_t begin, uint64_t now) { return now > begin ? now - begin : 0; }

/*
 * Its running time. The thread that runs it may be just ending the poll: the poll counts once, or is seen as ended.
 */
static uint64_t busy_until(const struct hp_task_slot *slot, uint64_t now)
{
    const uint64_t start = __atomic_load_n(&slot->poll_start, __ATOMIC_ACQUIRE); /* pairs with end_poll */
    const uint64_t busy = HOTPATH_GET_(slot->busy);
    return busy + (start != 0 ? since(start, now) : 0);
}

void hp_task_wait_begin(const struct hp_thread_context *context, struct hp_task_slot *slot, uint64_t waiting,
                        uint64_t now)
{
    struct hp_task_slot *waiter;
    if (!hp_task_slot_find(context, waiting, &waiter))
        return;
    HOTPATH_PUT_(slot->waiting, waiting);
    HOTPATH_PUT_(slot->waiting_busy, busy_until(waiter, now));
    HOTPATH_PUT_(slot->extras, slot->extras | HP_TASK_IS_AWAITED);
}

struct hp_task_wait hp_task_wait_end(const struct hp_thread_context *context, const struct hp_task_slot *slot,
                                     uint64_t now)
{
    struct hp_task_slot *waiter;
    if (!hp_task_slot_find(context, HOTPATH_GET_(slot->waiting), &waiter))
        return (struct hp_task_wait){0};
    const uint64_t wall = since(HOTPATH_GET_(slot->born), now);
    const uint64_t busy = since(HOTPATH_GET_(slot->waiting_busy), busy_until(waiter, now));
    return (struct hp_task_wait){
        .site = __atomic_load_n(&hp_object_known(HOTPATH_GET_(slot->number))->await_site, __ATOMIC_ACQUIRE),
        .waiter = hp_object_known(HOTPATH_GET_(waiter->number))->site,
        .ticks = since(busy, wall),
    };
}

void hp_task_wait_count(const struct hp_task_wait *wait)
{
    struct hp_instance_use use;
    /* Site ids begin with 0, and address 0 means none. */
    const void *key = (const void *)((uintptr_t)wait->waiter + 1);
    if (wait->site == NULL || !hp_instance_begin(wait->site, &await_kind, key, &use))
        return;
    const uint32_t sequence = hp_part_change(use.part);
    hp_part_meet(use.part, use.class_.now);
    HOTPATH_ADD_(use.part->count[HP_AWAIT_COUNT], 1);
    HOTPATH_ADD_(use.part->count[HP_AWAIT_TICKS], wait->ticks);
    hp_part_changed(use.part, sequence);
    hp_object_end(&use.class_);
}
