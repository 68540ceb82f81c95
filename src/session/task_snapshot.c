/* Reading the tasks of a session safely. SPDX-License-Identifier: MIT */
#include "task_snapshot.h"

#define BIT_OF(field) (UINT64_C(1) << offsetof(struct hp_task_slot, field) / 8)

/* Not from the copy of the header: a live session may have newer ones. */
static uint32_t newest_chunk(const struct hp_snapshot *snapshot)
{
    return __atomic_load_n((const uint32_t *)(const void *)(snapshot->bytes + offsetof(struct hp_header, tasks)),
                           __ATOMIC_ACQUIRE);
}

static bool copy_slot(const struct hp_snapshot *snapshot, uint32_t chunk, uint32_t index,
                      struct hp_task_slot *ret_slot)
{
    const uint64_t offset = chunk + offsetof(struct hp_task_chunk, slots) + index * sizeof *ret_slot;
    return hp_snapshot_copy(snapshot, offset, ret_slot, sizeof *ret_slot,
                            BIT_OF(born) | BIT_OF(busy) | BIT_OF(poll_start));
}

/* False: no more chunks. */
static bool next_chunk(const struct hp_snapshot *snapshot, struct hp_walk *walk)
{
    uint32_t words[2] = {newest_chunk(snapshot), 0};
    if (walk->is_begun && !hp_snapshot_copy(snapshot, walk->chunk, words, sizeof words, 0))
        words[0] = 0;
    walk->is_begun = words[0] != 0 && hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_task_chunk));
    walk->chunk = words[0];
    walk->index = 0;
    return walk->is_begun;
}

bool hp_snapshot_next_task(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_task_slot *ret_slot)
{
    if (!walk->is_begun && !next_chunk(snapshot, walk))
        return false;
    for (;; walk->index = 0) {
        for (; walk->index < HP_TASK_SLOTS && copy_slot(snapshot, walk->chunk, walk->index, ret_slot);
             walk->index++)
            if (ret_slot->generation % 2 != 0 && ret_slot->object != 0) {
                walk->index++;
                return true;
            }
        if (!next_chunk(snapshot, walk))
            return false;
    }
}
