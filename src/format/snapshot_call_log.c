/* Single calls that a session has kept: the latest and the slowest. SPDX-License-Identifier: MIT */
#include "snapshot_bytes.h"

#include <string.h>

#include "arith.h"

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
 * Reads a number before and after what it stands for is copied. The fences pair with the writer's: a reader that
 * sees the number sees everything written before it was set, and a reader that sees anything written afterwards
 * sees the number changed.
 */
static bool look_at(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool is_there = copy_changing(snapshot, offset, to, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

/* Whether a live session has grown to this offset since the snapshot was taken. */
static bool is_newer(const struct hp_snapshot *snapshot, uint64_t offset)
{
    return snapshot->is_live && offset >= snapshot->size && offset < snapshot->header.capacity;
}

/* -------------------------------------------------------------------------------------------------------- logs */

bool hp_snapshot_log(const struct hp_snapshot *snapshot, uint32_t log, struct hp_log *ret_log)
{
    return log != 0 && hp_snapshot_has(snapshot, log, sizeof *ret_log, 8) &&
           look_at(snapshot, log, ret_log, sizeof *ret_log) && ret_log->capacity > 0 &&
           ret_log->text_bytes % 8 == 0 && ret_log->text_bytes <= HP_LOG_TEXT;
}

static uint64_t number_at(const struct hp_snapshot *snapshot, uint64_t offset)
{
    uint64_t number;
    return look_at(snapshot, offset + offsetof(struct hp_log_record, number), &number, sizeof number) ? number : 0;
}

/* A broken text counts as none. False: it is newer than the snapshot, so that its record is not part of that. */
static bool copy_text(const struct hp_snapshot *snapshot, const struct hp_log *log, uint64_t place,
                      struct hp_log_copy *copy)
{
    const uint64_t offset = log->texts + place * log->text_bytes;
    const uint32_t length = copy->record.text_length;
    copy->record.text_length = 0;
    copy->text[0] = '\0';
    if (length == 0)
        return true;
    if (length > log->text_bytes || log->texts == 0)
        return true;
    if (is_newer(snapshot, offset + length))
        return false;
    if (!hp_snapshot_has(snapshot, offset, length, 8) || !look_at(snapshot, offset, copy->text, length))
        return true;
    copy->record.text_length = length;
    copy->text[length] = '\0';
    return true;
}

enum found { IS_THERE, IS_UNREADABLE, IS_OVER };

/* Copies the record with this number, unless it is overwritten before or meanwhile. */
static enum found copy_record(const struct hp_snapshot *snapshot, const struct hp_log *log, uint64_t first,
                              uint64_t number, struct hp_log_copy *copy)
{
    const uint64_t place = number % log->capacity, offset = first + place * sizeof copy->record;
    if (!hp_snapshot_has(snapshot, offset, sizeof copy->record, 8))
        return IS_UNREADABLE;
    if (!look_at(snapshot, offset, &copy->record, sizeof copy->record) || copy->record.number != number + 1)
        return IS_OVER;
    const bool is_there = copy_text(snapshot, log, place, copy);
    if (number_at(snapshot, offset) != number + 1)
        return IS_OVER;
    return is_there && copy->record.what < HP_RECORD_KINDS ? IS_THERE : IS_UNREADABLE;
}

bool hp_snapshot_next_record(const struct hp_snapshot *snapshot, uint32_t log, struct hp_walk *walk,
                             struct hp_log_copy *ret_copy)
{
    struct hp_log about;
    if (!hp_snapshot_log(snapshot, log, &about))
        return walk->is_begun = false;
    if (!walk->is_begun) {
        walk->number = about.count;
        walk->left = about.capacity - 1;
    }
    while (walk->number > 0 && walk->left > 0 &&
           hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_log_record))) {
        walk->left--;
        const enum found found =
            copy_record(snapshot, &about, (uint64_t)log + sizeof about, --walk->number, ret_copy);
        if (found == IS_THERE)
            return walk->is_begun = true;
        if (found == IS_OVER)
            break;
    }
    return walk->is_begun = false;
}

/* ------------------------------------------------------------------------------------------------------- calls */

uint64_t hp_logged_call_end(const struct hp_logged_call *call)
{
    return call->ticks < UINT64_MAX - call->start ? call->start + call->ticks : UINT64_MAX;
}

bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_logged_call *ret_call)
{
    struct hp_log_copy copy;
    while (hp_snapshot_next_record(snapshot, stat->log, walk, &copy)) {
        if (copy.record.what != HP_RECORD_CALL)
            continue;
        *ret_call = (struct hp_logged_call){.start = copy.record.tick - copy.record.ticks,
                                            .ticks = copy.record.ticks,
                                            .node = copy.record.node,
                                            .tid = copy.record.tid,
                                            .note_length = copy.record.text_length,
                                            .alloc_bytes = copy.record.bytes,
                                            .alloc_count = copy.record.count,
                                            .index = walk->number};
        memcpy(ret_call->note, copy.text, sizeof copy.text);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------- the slowest calls */

static void set_call(struct hp_logged_call *call, const struct hp_call *stored)
{
    *call = (struct hp_logged_call){.start = stored->start,
                                    .ticks = stored->ticks,
                                    .node = stored->node,
                                    .tid = stored->tid,
                                    .alloc_bytes = stored->alloc_bytes,
                                    .alloc_count = stored->alloc_count};
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
