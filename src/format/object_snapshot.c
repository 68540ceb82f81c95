/* Reading the objects of a session safely. SPDX-License-Identifier: MIT */
#include "object_snapshot.h"

#include <string.h>

#include "snapshot.h"

/* ------------------------------------------------------------------------------------------------ task snapshot */

/*
 * Reading the tasks of a session safely.
 */

#define BIT_OF(type, field) (UINT64_C(1) << offsetof(type, field) / 8)

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
                            BIT_OF(struct hp_task_slot, born) | BIT_OF(struct hp_task_slot, busy) |
                                BIT_OF(struct hp_task_slot, poll_start));
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

/* ---------------------------------------------------------------------------------------------- object snapshot */

#define MOST_TRIES 16384u /* some milliseconds: a thread may have been preempted in the middle of a change */

/* Not from the copy of the header: a live session may have newer ones. */
static uint32_t newest_object(const struct hp_snapshot *snapshot)
{
    return __atomic_load_n((const uint32_t *)(const void *)(snapshot->bytes + offsetof(struct hp_header, objects)),
                           __ATOMIC_ACQUIRE);
}

static bool copy_object(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_object *ret_object)
{
    return hp_snapshot_copy(snapshot, offset, ret_object, sizeof *ret_object,
                            BIT_OF(struct hp_object, key) | BIT_OF(struct hp_object, born) |
                                BIT_OF(struct hp_object, ended) |
                                (UINT64_MAX << offsetof(struct hp_object, shared) / 8));
}

bool hp_snapshot_next_object(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_object *ret_object)
{
    const uint32_t offset = walk->is_begun ? walk->chunk : newest_object(snapshot);
    walk->is_begun = offset != 0 && hp_snapshot_may_step(snapshot, walk, sizeof *ret_object) &&
                     copy_object(snapshot, offset, ret_object);
    walk->offset = offset;
    walk->chunk = walk->is_begun ? ret_object->next : 0;
    return walk->is_begun;
}

bool hp_snapshot_kind(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_kind *ret_kind)
{
    return hp_snapshot_copy(snapshot, offset, ret_kind, sizeof *ret_kind, 0) &&
           ret_kind->counter_count <= HP_KIND_COUNTERS && ret_kind->histogram_count <= HP_KIND_HISTOGRAMS;
}

/* Reads the current bytes: a copy may have been made in the middle of a change. */
static bool look_at(const struct hp_snapshot *snapshot, uint32_t offset, void *to, size_t bytes, uint64_t wide)
{
    return snapshot->read_anew != NULL ? hp_snapshot_copy_changing(snapshot, offset, to, bytes)
                                       : hp_snapshot_copy(snapshot, offset, to, bytes, wide);
}

/* `sequence` and the word beside it. */
static bool look_at_sequence(const struct hp_snapshot *snapshot, uint32_t part, uint32_t *ret_sequence)
{
    uint32_t words[2];
    const bool is_there = look_at(snapshot, part + offsetof(struct hp_part, sequence), words, sizeof words, 0);
    *ret_sequence = is_there ? words[0] : 0;
    return is_there;
}
_Static_assert(offsetof(struct hp_part, sequence) % 8 == 0, "looked at by itself");

/*
 * Related counters are written between two changes of `sequence`: a copy made meanwhile is repeated. A writer that
 * was killed, or is interrupted by this reader, has left it odd: then the copy is used as it is, with an odd
 * `sequence`.
 */
static bool copy_part(const struct hp_snapshot *snapshot, uint32_t offset, size_t size,
                      struct hp_instance_part *ret)
{
    const uint64_t ticks = (BIT_OF(struct hp_part, own) << 1) - BIT_OF(struct hp_part, first_tick);
    const uint64_t base = BIT_OF(struct hp_instance_part, reserved) - BIT_OF(struct hp_instance_part, base);
    for (unsigned tries = 0; tries < MOST_TRIES; tries++) {
        uint32_t before, after;
        if (!look_at_sequence(snapshot, offset, &before))
            return false;
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* both fences pair with hp_part_change */
        if (!look_at(snapshot, offset, ret, size, ticks | base))
            return false;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!look_at_sequence(snapshot, offset, &after))
            return false;
        if (before == after && (after & 1) == 0)
            return true;
        if (!snapshot->is_live)
            break;
    }
    ret->part.sequence |= 1;
    return true;
}

bool hp_snapshot_next_part(const struct hp_snapshot *snapshot, const struct hp_object *object, struct hp_walk *walk,
                           struct hp_instance_part *ret_part)
{
    const size_t size = object->class_ != 0 ? sizeof *ret_part : sizeof ret_part->part;
    const uint32_t offset = walk->is_begun ? walk->chunk : object->parts;
    memset(ret_part, 0, sizeof *ret_part);
    walk->is_begun =
        offset != 0 && hp_snapshot_may_step(snapshot, walk, size) && copy_part(snapshot, offset, size, ret_part);
    walk->offset = offset;
    walk->chunk = walk->is_begun ? ret_part->part.sibling : 0;
    return walk->is_begun;
}

static void add_octave(const struct hp_snapshot *snapshot, uint32_t offset, uint64_t steps[HP_MAGNITUDE_STEPS])
{
    uint64_t copy[HP_MAGNITUDE_STEPS];
    if (!hp_snapshot_copy(snapshot, offset, copy, sizeof copy, UINT64_MAX))
        return;
    for (size_t step = 0; step < HP_MAGNITUDE_STEPS; step++)
        steps[step] += copy[step];
}

void hp_snapshot_add_magnitudes(const struct hp_snapshot *snapshot, uint32_t histogram,
                                struct hp_magnitudes *magnitudes)
{
    struct hp_histogram copy;
    if (!hp_snapshot_copy(snapshot, histogram, &copy.zeros, offsetof(struct hp_histogram, octaves), 3) ||
        !hp_snapshot_copy(snapshot, histogram + (uint64_t)offsetof(struct hp_histogram, octaves), copy.octaves,
                          sizeof copy.octaves, 0))
        return;
    magnitudes->zeros += copy.zeros;
    magnitudes->missed += copy.missed;
    for (size_t octave = 0; octave < HP_MAGNITUDES; octave++)
        if (copy.octaves[octave] != 0)
            add_octave(snapshot, copy.octaves[octave], magnitudes->steps[octave]);
}

/* ---------------------------------------------------------------------------------------------- recent values */

/* A value, or else the text. */
static struct hp_recent value_of(const struct hp_log_record *record)
{
    if (record->what == HP_RECORD_VALUE && record->type != HP_VALUE_TEXT)
        return (struct hp_recent){record->tick, record->id, record->type};
    return (struct hp_recent){record->tick, record->text_length, HP_VALUE_TEXT};
}

bool hp_snapshot_next_recent(const struct hp_snapshot *snapshot, const struct hp_part *part, struct hp_walk *walk,
                             struct hp_recent_copy *ret_recent)
{
    struct hp_log_copy copy;
    while (hp_snapshot_next_record(snapshot, part->log, walk, &copy)) {
        const struct hp_log_record *record = &copy.record;
        if ((record->what != HP_RECORD_VALUE && record->text_length == 0) || record->type >= HP_VALUE_TYPES)
            continue;
        ret_recent->value = value_of(record);
        memset(ret_recent->text, 0, sizeof ret_recent->text);
        memcpy(ret_recent->text, copy.text,
               record->text_length < HP_RECENT_TEXT ? record->text_length : HP_RECENT_TEXT);
        return true;
    }
    return false;
}
