/* Single calls that a session has kept: the latest and the slowest. SPDX-License-Identifier: MIT */
#include "snapshot_bytes.h"

#include <string.h>

#include "arith.h"

/*
 * The writer reuses entries while they are read. It raises a number when an entry is complete, and only then goes
 * on to the next one. So a reader that copies an entry and then finds the number still within bounds has copied one
 * complete call.
 */

/*
 * Copies data that may change meanwhile, word by word; `offset` is a multiple of 8, and all of it within the bytes.
 */
static bool copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    const size_t words = bytes & ~(size_t)7;
    unsigned char *out = to;
    if (snapshot->read_anew != NULL)
        return snapshot->read_anew(snapshot->read_context, (uint32_t)offset, to, bytes);
    hp_copy_words(out, snapshot->bytes + offset, words, UINT64_MAX);
    for (size_t at = words; at < bytes; at++)
        out[at] = __atomic_load_n(snapshot->bytes + offset + at, __ATOMIC_RELAXED);
    return true;
}

/*
 * Reads the number, before and after an entry is copied. The fences pair with the writer's: a reader that sees the
 * number sees everything written before it was raised, and a reader that sees anything written afterwards sees the
 * number raised.
 */
static bool look_at(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool is_there = copy_changing(snapshot, offset, to, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

uint64_t hp_logged_call_end(const struct hp_logged_call *call)
{
    return call->ticks < UINT64_MAX - call->start ? call->start + call->ticks : UINT64_MAX;
}

static void set_call(struct hp_logged_call *call, const struct hp_call *stored)
{
    call->start = stored->start;
    call->ticks = stored->ticks;
    call->node = stored->node;
    call->tid = stored->tid;
    call->alloc_bytes = stored->alloc_bytes;
    call->alloc_count = stored->alloc_count;
    call->note_length = 0;
    call->note[0] = '\0';
}

/* Whether a live session has grown to this offset since the snapshot was taken. */
static bool is_newer(const struct hp_snapshot *snapshot, uint32_t offset)
{
    return snapshot->is_live && offset >= snapshot->size && offset < snapshot->header.capacity;
}

/*
 * Copies the call at an offset; a broken note counts as none. A call whose note is newer than the snapshot is not
 * part of it.
 */
static bool copy_call(const struct hp_snapshot *snapshot, uint64_t offset, struct hp_logged_call *ret_call)
{
    struct hp_call stored;
    if (!hp_snapshot_has(snapshot, offset, sizeof stored, 8) ||
        !copy_changing(snapshot, offset, &stored, sizeof stored))
        return false;
    set_call(ret_call, &stored);
    if (stored.note_length > 0 && is_newer(snapshot, stored.note + stored.note_length))
        return false;
    if (stored.note == 0 || stored.note_length > HP_NOTE_BYTES ||
        !hp_snapshot_has(snapshot, stored.note, stored.note_length, 8) ||
        !copy_changing(snapshot, stored.note, ret_call->note, stored.note_length))
        return true;
    ret_call->note[stored.note_length] = '\0';
    ret_call->note_length = stored.note_length;
    return true;
}

static uint64_t count_of(const struct hp_snapshot *snapshot, uint32_t log)
{
    uint64_t count;
    return look_at(snapshot, log + offsetof(struct hp_call_log, count), &count, sizeof count) ? count : 0;
}

bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_logged_call *ret_call)
{
    const uint32_t log = stat->log;
    if (log == 0 || !hp_snapshot_has(snapshot, log, sizeof(struct hp_call_log), 8))
        return walk->is_begun = false;
    const uint32_t capacity = hp_snapshot_field32(snapshot, log, offsetof(struct hp_call_log, capacity));
    if (!walk->is_begun)
        walk->number = count_of(snapshot, log);
    while (walk->number > 0 && capacity > 0 && hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_call))) {
        walk->number--;
        const uint64_t offset =
            (uint64_t)log + sizeof(struct hp_call_log) + walk->number % capacity * sizeof(struct hp_call);
        const bool is_there = copy_call(snapshot, offset, ret_call);
        /* One entry is reserved for the writer, which may be writing it. */
        if (count_of(snapshot, log) - walk->number >= capacity)
            break;
        if (is_there)
            return walk->is_begun = true;
    }
    return walk->is_begun = false;
}

#define SLOWEST_TRIES 8u

/* One of the two buffers of a slowest call. */
struct slow_place {
    uint32_t number;
    uint32_t offset;
    uint32_t bytes;
};

/* The buffer of the latest one, with its header within the bytes. */
static bool find_slowest(const struct hp_snapshot *snapshot, uint32_t offset, struct slow_place *ret_place)
{
    struct hp_slowest slowest;
    if (offset == 0 || !hp_snapshot_has(snapshot, offset, sizeof slowest, 8) ||
        !look_at(snapshot, offset, &slowest, sizeof slowest))
        return false;
    const uint32_t which = slowest.number % 2;
    *ret_place = (struct slow_place){slowest.number, slowest.calls[which], slowest.bytes[which]};
    return ret_place->number != 0 && ret_place->bytes >= sizeof(struct hp_slow_call) &&
           hp_snapshot_has(snapshot, ret_place->offset, sizeof(struct hp_slow_call), 8);
}

/* Whether the buffer still has what was copied: after one more call the writer may be using it. */
static bool is_unchanged(const struct hp_snapshot *snapshot, uint32_t slowest, const struct slow_place *place)
{
    struct slow_place now;
    return find_slowest(snapshot, slowest, &now) && now.number == place->number;
}

bool hp_snapshot_slowest_ticks(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               uint64_t *ret_ticks)
{
    struct slow_place place;
    for (unsigned try = 0; try < SLOWEST_TRIES && find_slowest(snapshot, stat->slowest, &place); try++)
        if (copy_changing(snapshot, place.offset + offsetof(struct hp_slow_call, call.ticks), ret_ticks,
                          sizeof *ret_ticks) &&
            is_unchanged(snapshot, stat->slowest, &place))
            return true;
    return false;
}

size_t hp_snapshot_slowest_bytes(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    struct hp_slowest slowest;
    if (stat->slowest == 0 || !hp_snapshot_has(snapshot, stat->slowest, sizeof slowest, 8) ||
        !copy_changing(snapshot, stat->slowest, &slowest, sizeof slowest))
        return 0;
    const uint32_t larger = slowest.bytes[0] > slowest.bytes[1] ? slowest.bytes[0] : slowest.bytes[1];
    return larger < snapshot->size ? larger : snapshot->size;
}

/* Size of a slow call with everything that belongs to it, by its header. */
static uint64_t slow_call_bytes(const struct hp_slow_call *head)
{
    return sizeof *head + (uint64_t)head->row_count * sizeof(struct hp_slow_row) + head->note_bytes;
}

static bool copy_place(const struct hp_snapshot *snapshot, const struct slow_place *place, void *memory,
                       size_t size)
{
    struct hp_slow_call head;
    if (!copy_changing(snapshot, place->offset, &head, sizeof head))
        return false;
    const uint64_t bytes = slow_call_bytes(&head);
    if (bytes > place->bytes || bytes > size || !hp_snapshot_has(snapshot, place->offset, (size_t)bytes, 8) ||
        !copy_changing(snapshot, place->offset, memory, (size_t)bytes))
        return false;
    /* The header that was checked, not one that came meanwhile. */
    memcpy(memory, &head, sizeof head);
    return true;
}

static bool is_note_within(uint32_t note, uint32_t length, uint32_t note_bytes)
{
    return length <= HP_NOTE_BYTES && note <= note_bytes && length <= note_bytes - note;
}

/* Sets the pointers into a copy, which does not change any more. */
static void describe_slowest(void *memory, struct hp_slow_copy *ret_copy)
{
    const struct hp_slow_call *slow = memory;
    struct hp_slow_row *rows = (struct hp_slow_row *)(void *)((unsigned char *)memory + sizeof *slow);
    const unsigned char *notes = (const unsigned char *)(rows + slow->row_count);
    for (uint32_t at = 0; at < slow->row_count; at++)
        if (!is_note_within(rows[at].note, rows[at].note_length, slow->note_bytes))
            rows[at].note = rows[at].note_length = 0;
    set_call(&ret_copy->call, &slow->call);
    if (is_note_within(slow->call.note, slow->call.note_length, slow->note_bytes)) {
        memcpy(ret_copy->call.note, notes + slow->call.note, slow->call.note_length);
        ret_copy->call.note[slow->call.note_length] = '\0';
        ret_copy->call.note_length = slow->call.note_length;
    }
    ret_copy->self = slow->self < slow->call.ticks ? slow->self : slow->call.ticks;
    ret_copy->row_count = slow->row_count;
    ret_copy->rows_left_out = slow->rows_left_out;
    ret_copy->rows = rows;
    ret_copy->notes = (const char *)notes;
}

bool hp_snapshot_copy_slowest(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat, void *memory,
                              size_t size, struct hp_slow_copy *ret_copy)
{
    struct slow_place place;
    for (unsigned try = 0; try < SLOWEST_TRIES && find_slowest(snapshot, stat->slowest, &place); try++) {
        const bool is_copied = copy_place(snapshot, &place, memory, size);
        if (!is_unchanged(snapshot, stat->slowest, &place))
            continue;
        if (is_copied)
            describe_slowest(memory, ret_copy);
        return is_copied;
    }
    return false;
}

bool hp_snapshot_copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    return offset != 0 && hp_snapshot_has(snapshot, offset, bytes, 8) && look_at(snapshot, offset, to, bytes);
}
