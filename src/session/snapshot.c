/*
 * Reading a session safely.
 *
 * Order. The writer fills a record with plain or relaxed stores and then links its offset with a release store; all
 * links are 32 bits wide, so every 32-bit word is loaded with acquire here and pairs with that store: whoever sees
 * the link sees the record. The 64-bit counters go up one by one by a single writer and are loaded relaxed.
 *
 * Bounds. One function, `is_within`, decides whether a record lies inside the bytes and is aligned; every load comes
 * after it. Each walk counts its steps and stops at the number of such records that the file could hold without
 * overlapping.
 *
 * SPDX-License-Identifier: MIT
 */
#include "snapshot.h"

#include <string.h>

#include "arith.h"
#include "text.h"
#include "units.h"

#define TEXT_MAX 4095u

static bool is_within(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes, size_t alignment)
{
    return offset >= HP_HEADER_BYTES && offset <= snapshot->size && bytes <= snapshot->size - offset &&
           offset % alignment == 0;
}

static bool has(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes, size_t alignment)
{
    return is_within(snapshot, offset, bytes, alignment) &&
           (snapshot->fetch == NULL || snapshot->fetch(snapshot->fetch_context, offset, bytes));
}

/* Where numbers are looked at: the caller has made sure that they are there. */
static const unsigned char *number_bytes(const struct hp_snapshot *snapshot)
{
    return snapshot->numbers != NULL ? snapshot->numbers : snapshot->bytes;
}

/* Whether there is a record of numbers. */
static bool has_record(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes)
{
    return snapshot->numbers != NULL ? is_within(snapshot, offset, bytes, 8) : has(snapshot, offset, bytes, 8);
}

/* That, or NULL. */
static const unsigned char *numbers_at(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes)
{
    return has_record(snapshot, offset, bytes) ? number_bytes(snapshot) + offset : NULL;
}

/* Whether there is a record with so many bytes behind it, which may be more than a size_t can hold. */
static bool has_many(const struct hp_snapshot *snapshot, uint64_t offset, size_t record, uint64_t bytes)
{
    return bytes <= snapshot->size && has_record(snapshot, offset, record + (size_t)bytes);
}

static uint32_t load32(const unsigned char *at)
{
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static uint64_t load64(const unsigned char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

/* Copies a record of which all but the 64-bit words named by `wide` (a bit per 8 bytes) are 32-bit words. */
static void copy_words(void *to, const unsigned char *from, size_t bytes, uint64_t wide)
{
    unsigned char *out = to;
    for (size_t at = 0; at < bytes; at += 8) {
        if (wide >> (at / 8 % 64) & 1) {
            const uint64_t word = load64(from + at);
            memcpy(out + at, &word, 8);
            continue;
        }
        const uint32_t low = load32(from + at), high = load32(from + at + 4);
        memcpy(out + at, &low, 4);
        memcpy(out + at + 4, &high, 4);
    }
}

#define BIT_OF(type, field) (UINT64_C(1) << offsetof(type, field) / 8)

/* ----------------------------------------------------------------------------------- single records */

const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset)
{
    const size_t head = offsetof(struct hp_string, bytes);
    if (!has(snapshot, offset, sizeof(struct hp_string), 4))
        return "";
    const uint32_t length = load32(snapshot->bytes + offset);
    if (length > TEXT_MAX || !has(snapshot, offset, head + length + 1, 4))
        return "";
    const char *text = (const char *)snapshot->bytes + offset + head;
    return text[length] == '\0' ? text : "";
}

bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site)
{
    if (id >= HP_MAX_SITES)
        return false;
    /* Not from the copy: in a live session the chunk may be newer than that. */
    const size_t chunks = offsetof(struct hp_header, site_chunks);
    const uint32_t chunk = load32(snapshot->bytes + chunks + 4 * (size_t)(id / HP_SITES_PER_CHUNK));
    const uint64_t offset = (uint64_t)chunk + (uint64_t)(id % HP_SITES_PER_CHUNK) * sizeof(struct hp_site);
    if (chunk == 0 || !has(snapshot, offset, sizeof(struct hp_site), 8))
        return false;
    /* The name is written last: with it, the rest is there. */
    if (load32(snapshot->bytes + offset + offsetof(struct hp_site, name)) == 0)
        return false;
    copy_words(ret_site, snapshot->bytes + offset, sizeof *ret_site, 0);
    return true;
}

#define COPY32(to, from, type, field) ((to)->field = load32((from) + offsetof(type, field)))
#define COPY64(to, from, type, field) ((to)->field = load64((from) + offsetof(type, field)))

/* What the calls of a node took that were not timed: known once all are timed again. */
static uint32_t typical_of(const struct hp_snapshot *snapshot, uint32_t stat)
{
    const unsigned char *from = numbers_at(snapshot, stat, sizeof(struct hotpath_stat_));
    return from != NULL ? load32(from + offsetof(struct hotpath_stat_, typical)) : 0;
}

/* The links to children and siblings are left alone: they belong to the writer, and parents say the same. */
void hp_snapshot_node_links(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node_links *ret_links)
{
    const unsigned char *from = number_bytes(snapshot) + offset;
    COPY32(ret_links, from, struct hotpath_node_, site);
    COPY32(ret_links, from, struct hotpath_node_, parent);
    COPY32(ret_links, from, struct hotpath_node_, stat);
}

/* The stat, which lies elsewhere, is looked at only where its answer is needed. */
void hp_snapshot_node_numbers(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node)
{
    const unsigned char *from = number_bytes(snapshot) + offset;
    COPY32(ret_node, from, struct hotpath_node_, site);
    COPY32(ret_node, from, struct hotpath_node_, parent);
    COPY32(ret_node, from, struct hotpath_node_, stat);
    COPY64(ret_node, from, struct hotpath_node_, calls);
    COPY64(ret_node, from, struct hotpath_node_, self);
    COPY64(ret_node, from, struct hotpath_node_, nested);
    COPY64(ret_node, from, struct hotpath_node_, untimed);
    ret_node->typical = ret_node->untimed != 0 ? typical_of(snapshot, ret_node->stat) : 0;
    ret_node->is_recursive = load32(from + offsetof(struct hotpath_node_, is_folded)) != 0;
    const uint64_t total = load64(from + offsetof(struct hotpath_node_, total));
    ret_node->outermost = total > ret_node->nested ? total - ret_node->nested : 0;
}

bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node)
{
    if (numbers_at(snapshot, offset, sizeof(struct hotpath_node_)) == NULL)
        return false;
    hp_snapshot_node_numbers(snapshot, offset, ret_node);
    return true;
}

/* What belongs to the writer alone is left zero. */
bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat)
{
    const unsigned char *from = numbers_at(snapshot, offset, sizeof *ret_stat);
    if (from == NULL)
        return false;
    *ret_stat = (struct hotpath_stat_){0};
    COPY32(ret_stat, from, struct hotpath_stat_, site);
    COPY32(ret_stat, from, struct hotpath_stat_, next);
    COPY64(ret_stat, from, struct hotpath_stat_, min);
    COPY64(ret_stat, from, struct hotpath_stat_, max);
    COPY64(ret_stat, from, struct hotpath_stat_, missed);
    COPY32(ret_stat, from, struct hotpath_stat_, threads);
    COPY32(ret_stat, from, struct hotpath_stat_, period);
    COPY32(ret_stat, from, struct hotpath_stat_, typical);
    COPY32(ret_stat, from, struct hotpath_stat_, log);
    COPY32(ret_stat, from, struct hotpath_stat_, slowest);
    COPY32(ret_stat, from, struct hotpath_stat_, alloc);
    for (size_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        ret_stat->octaves[octave] =
            load32(from + offsetof(struct hotpath_stat_, octaves) + octave * sizeof(uint32_t));
    return true;
}

static void add_counters(const struct hp_snapshot *snapshot, uint64_t offset, hp_duration_line line)
{
    const unsigned char *from = numbers_at(snapshot, offset, sizeof(hp_duration_line));
    for (size_t step = 0; from != NULL && step < 64; step++)
        line[step] += load64(from + sizeof(uint64_t) * step);
}

/* From its origin an octave has counters 64 to 127, which are one line, and octave 0 has 0 to 63 as well. */
static void add_octaves(const struct hp_snapshot *snapshot, const uint32_t octaves[HOTPATH_OCTAVES_],
                        hp_duration_line lines[HP_DURATION_LINES])
{
    if (octaves[0] != 0)
        add_counters(snapshot, octaves[0], lines[0]);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        if (octaves[octave] != 0)
            add_counters(snapshot, octaves[octave] + (uint64_t)sizeof(hp_duration_line), lines[octave + 1]);
}

/* Has the processor fetch bytes that will be looked at soon: they lie wherever there was space. */
static void foresee(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes)
{
    if (snapshot->fetch != NULL && snapshot->numbers == NULL)
        return; /* they are not there yet */
    for (size_t at = 0; at < bytes && is_within(snapshot, offset, bytes, 8); at += 64)
        __builtin_prefetch(number_bytes(snapshot) + offset + at);
}

void hp_snapshot_foresee_stat(const struct hp_snapshot *snapshot, uint32_t offset)
{
    foresee(snapshot, offset, sizeof(struct hotpath_stat_));
}

void hp_snapshot_foresee_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    const size_t line = sizeof(hp_duration_line);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        if (stat->octaves[octave] != 0)
            foresee(snapshot, stat->octaves[octave] + (octave > 0 ? (uint64_t)line : 0),
                    octave > 0 ? line : 2 * line);
}

void hp_snapshot_add_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               hp_duration_line lines[HP_DURATION_LINES])
{
    add_octaves(snapshot, stat->octaves, lines);
}

void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step)
{
    const uint32_t octave = hotpath_octave_(ticks);
    *ret_line = octave + (ticks >= 64);
    *ret_step = (uint32_t)(ticks >> octave) & 63;
}

/* -------------------------------------------------------------------------------------------- walks */

void hp_walk_rewind(struct hp_walk *walk) { *walk = (struct hp_walk){.steps = walk->steps}; }

/* Counts a step; false when there cannot be that many records of this size. */
static bool may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes)
{
    return walk->steps++ < snapshot->size / record_bytes;
}

static uint32_t field32(const struct hp_snapshot *snapshot, uint32_t record, size_t field)
{
    return load32(number_bytes(snapshot) + record + field);
}

bool hp_snapshot_thread(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_thread *ret_thread)
{
    const uint64_t life = ~(BIT_OF(struct hp_thread, life) - 1) & ~BIT_OF(struct hp_thread, life);
    if (offset == 0 || !has_record(snapshot, offset, sizeof *ret_thread))
        return false;
    copy_words(ret_thread, number_bytes(snapshot) + offset, sizeof *ret_thread,
               BIT_OF(struct hp_thread, first_tick) | life);
    ret_thread->name[sizeof ret_thread->name - 1] = '\0';
    return true;
}

bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_thread *ret_thread)
{
    walk->offset = walk->is_begun ? field32(snapshot, walk->offset, offsetof(struct hp_thread, next))
                                  : load32(snapshot->bytes + offsetof(struct hp_header, threads));
    walk->is_begun =
        hp_snapshot_thread(snapshot, walk->offset, ret_thread) && may_step(snapshot, walk, sizeof *ret_thread);
    if (!walk->is_begun)
        walk->offset = 0;
    return walk->is_begun;
}

/* Nodes of a chunk that lie within the bytes and within its own capacity. */
static uint32_t nodes_in(const struct hp_snapshot *snapshot, uint32_t chunk)
{
    const uint32_t capacity = field32(snapshot, chunk, offsetof(struct hp_node_chunk, capacity));
    const uint32_t used = field32(snapshot, chunk, offsetof(struct hp_node_chunk, used));
    const uint64_t fit = (snapshot->size - chunk - sizeof(struct hp_node_chunk)) / sizeof(struct hotpath_node_);
    const uint32_t claimed = used < capacity ? used : capacity;
    return claimed < fit ? claimed : (uint32_t)fit;
}

static bool enter_chunk(const struct hp_snapshot *snapshot, struct hp_walk *walk, uint32_t chunk)
{
    walk->chunk = chunk;
    walk->index = 0;
    return chunk != 0 && has_record(snapshot, chunk, sizeof(struct hp_node_chunk)) &&
           may_step(snapshot, walk, sizeof(struct hp_node_chunk));
}

bool hp_snapshot_next_node_run(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                               struct hp_walk *walk, struct hp_node_run *ret_run)
{
    const uint32_t chunk =
        walk->is_begun ? field32(snapshot, walk->chunk, offsetof(struct hp_node_chunk, next)) : thread->node_chunks;
    if (!enter_chunk(snapshot, walk, chunk))
        return walk->is_begun = false;
    const uint64_t first = (uint64_t)chunk + sizeof(struct hp_node_chunk);
    const uint64_t most = (UINT32_MAX - first) / sizeof(struct hotpath_node_); /* that offsets can reach */
    const uint64_t left = hp_less(snapshot->size / sizeof(struct hotpath_node_), walk->steps);
    uint64_t count = nodes_in(snapshot, chunk);
    count = count < most ? count : most;
    count = count < left ? count : left;
    walk->steps += count;
    if (numbers_at(snapshot, first, (size_t)count * sizeof(struct hotpath_node_)) == NULL)
        count = 0;
    *ret_run = (struct hp_node_run){(uint32_t)first, (uint32_t)count};
    return walk->is_begun = true;
}

bool hp_snapshot_next_node(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_node *ret_node)
{
    while (!walk->is_begun || walk->index >= walk->run.count)
        if (!hp_snapshot_next_node_run(snapshot, thread, walk, &walk->run))
            return false;
    walk->offset = hp_node_run_offset(&walk->run, walk->index++);
    hp_snapshot_node_numbers(snapshot, walk->offset, ret_node);
    return true;
}

bool hp_snapshot_next_stat(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_stat_ *ret_stat)
{
    const unsigned char *before = walk->is_begun ? numbers_at(snapshot, walk->offset, sizeof *ret_stat) : NULL;
    walk->offset = before != NULL ? load32(before + offsetof(struct hotpath_stat_, next)) : thread->stats;
    walk->is_begun = walk->offset != 0 && may_step(snapshot, walk, sizeof *ret_stat) &&
                     hp_snapshot_stat(snapshot, walk->offset, ret_stat);
    return walk->is_begun;
}

/* The next frame of the stack, open or closed. */
static bool next_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                       struct hotpath_frame_ *ret_frame)
{
    walk->index++; /* frame 0 is the thread itself */
    const uint64_t offset = (uint64_t)thread->frames + (uint64_t)walk->index * sizeof *ret_frame;
    if (thread->frames == 0 || walk->index >= thread->frame_capacity || offset > UINT32_MAX ||
        !has_record(snapshot, offset, sizeof *ret_frame) || !may_step(snapshot, walk, sizeof *ret_frame))
        return false;
    walk->offset = (uint32_t)offset;
    copy_words(ret_frame, number_bytes(snapshot) + offset, sizeof *ret_frame, 7);
    return true;
}

bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame)
{
    return next_frame(snapshot, thread, walk, ret_frame) && ret_frame->zone != 0;
}

/* ---------------------------------------------------------------------------------------------- lanes */

bool hp_snapshot_lane(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_lane *ret_lane)
{
    const uint64_t wide = BIT_OF(struct hp_lane, has_flags) - BIT_OF(struct hp_lane, stopped);
    if (offset == 0 || !has_record(snapshot, offset, sizeof *ret_lane))
        return false;
    copy_words(ret_lane, number_bytes(snapshot) + offset, sizeof *ret_lane, wide);
    return true;
}

bool hp_snapshot_next_lane(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_lane *ret_lane)
{
    walk->offset = walk->is_begun ? field32(snapshot, walk->offset, offsetof(struct hp_lane, next))
                                  : load32(snapshot->bytes + offsetof(struct hp_header, lanes));
    walk->is_begun =
        hp_snapshot_lane(snapshot, walk->offset, ret_lane) && may_step(snapshot, walk, sizeof *ret_lane);
    return walk->is_begun;
}

/* A thread that is about to stop or to go on there has these frames still, or already. */
bool hp_snapshot_lane_thread(const struct hp_snapshot *snapshot, const struct hp_lane *lane,
                             struct hp_thread *ret_thread)
{
    if ((lane->state != HP_LANE_SUSPENDED && lane->state != HP_LANE_BELOW) || lane->depth == 0 ||
        !hp_snapshot_thread(snapshot, lane->thread, ret_thread) || ret_thread->frames == lane->frames)
        return false;
    ret_thread->frames = lane->frames;
    ret_thread->frame_capacity = lane->frame_capacity;
    return true;
}

bool hp_snapshot_lane_allocs(const struct hp_lane *lane, struct hp_alloc_thread *ret_alloc)
{
    const struct hp_lane_allocs *then = &lane->allocs;
    *ret_alloc = (struct hp_alloc_thread){.count = then->count,
                                          .bytes = then->bytes,
                                          .usable = (uint64_t)then->live,
                                          .freed_count = then->count - (uint64_t)then->blocks,
                                          .peak_live = then->peak_live,
                                          .peak_blocks = then->peak_blocks,
                                          .frames = lane->alloc_frames};
    return lane->alloc_frames != 0;
}

/* ------------------------------------------------------------------------------- calls that are kept */

/*
 * The writer uses places anew while they are read. It raises a number when a place is whole, and only then goes on to
 * the next one; so whoever copies a place and then finds the number still within bounds has copied one whole call.
 */

/* Copies what may change meanwhile, word by word; `offset` is a multiple of 8, and all of it within the bytes. */
static bool copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    const size_t words = bytes & ~(size_t)7;
    unsigned char *out = to;
    if (snapshot->read_anew != NULL)
        return snapshot->read_anew(snapshot->read_context, (uint32_t)offset, to, bytes);
    copy_words(out, snapshot->bytes + offset, words, UINT64_MAX);
    for (size_t at = words; at < bytes; at++)
        out[at] = __atomic_load_n(snapshot->bytes + offset + at, __ATOMIC_RELAXED);
    return true;
}

/*
 * Looks at the number, before and after a place is copied. The fences pair with the writer's: what it wrote before it raised
 * the number is seen by whoever sees the number, and who sees what it wrote afterwards sees the number raised.
 */
static bool look_at(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool is_there = copy_changing(snapshot, offset, to, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

uint64_t hp_kept_call_end(const struct hp_kept_call *call)
{
    return call->ticks < UINT64_MAX - call->start ? call->start + call->ticks : UINT64_MAX;
}

static void set_call(struct hp_kept_call *call, const struct hp_call *stored)
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

/* Where a session that goes on has grown to since the snapshot was taken. */
static bool is_newer(const struct hp_snapshot *snapshot, uint32_t offset)
{
    return snapshot->is_live && offset >= snapshot->size && offset < snapshot->header.capacity;
}

/* Copies the call at an offset; a note that is broken counts as none. A call with one that is newer than the snapshot is no part of it. */
static bool copy_call(const struct hp_snapshot *snapshot, uint64_t offset, struct hp_kept_call *ret_call)
{
    struct hp_call stored;
    if (!has(snapshot, offset, sizeof stored, 8) || !copy_changing(snapshot, offset, &stored, sizeof stored))
        return false;
    set_call(ret_call, &stored);
    if (stored.note_length > 0 && is_newer(snapshot, stored.note + stored.note_length))
        return false;
    if (stored.note == 0 || stored.note_length > HP_NOTE_BYTES ||
        !has(snapshot, stored.note, stored.note_length, 8) ||
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
                           struct hp_walk *walk, struct hp_kept_call *ret_call)
{
    const uint32_t log = stat->log;
    if (log == 0 || !has(snapshot, log, sizeof(struct hp_call_log), 8))
        return walk->is_begun = false;
    const uint32_t capacity = field32(snapshot, log, offsetof(struct hp_call_log, capacity));
    if (!walk->is_begun)
        walk->number = count_of(snapshot, log);
    while (walk->number > 0 && capacity > 0 && may_step(snapshot, walk, sizeof(struct hp_call))) {
        walk->number--;
        const uint64_t offset =
            (uint64_t)log + sizeof(struct hp_call_log) + walk->number % capacity * sizeof(struct hp_call);
        const bool is_there = copy_call(snapshot, offset, ret_call);
        /* One place is the writer's, who may be at work in it. */
        if (count_of(snapshot, log) - walk->number >= capacity)
            break;
        if (is_there)
            return walk->is_begun = true;
    }
    return walk->is_begun = false;
}

#define SLOWEST_TRIES 8u

/* One of the two places of a slowest call. */
struct slow_place {
    uint32_t number;
    uint32_t offset;
    uint32_t bytes;
};

/* The place of the latest one, with its head within the bytes. */
static bool find_slowest(const struct hp_snapshot *snapshot, uint32_t offset, struct slow_place *ret_place)
{
    struct hp_slowest slowest;
    if (offset == 0 || !has(snapshot, offset, sizeof slowest, 8) ||
        !look_at(snapshot, offset, &slowest, sizeof slowest))
        return false;
    const uint32_t which = slowest.number % 2;
    *ret_place = (struct slow_place){slowest.number, slowest.calls[which], slowest.bytes[which]};
    return ret_place->number != 0 && ret_place->bytes >= sizeof(struct hp_slow_call) &&
           has(snapshot, ret_place->offset, sizeof(struct hp_slow_call), 8);
}

/* Whether the place still has what was copied from it: with one more the writer may be at work in it. */
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
    if (stat->slowest == 0 || !has(snapshot, stat->slowest, sizeof slowest, 8) ||
        !copy_changing(snapshot, stat->slowest, &slowest, sizeof slowest))
        return 0;
    const uint32_t larger = slowest.bytes[0] > slowest.bytes[1] ? slowest.bytes[0] : slowest.bytes[1];
    return larger < snapshot->size ? larger : snapshot->size;
}

/* Bytes of all that belongs to a slow call, by its head. */
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
    if (bytes > place->bytes || bytes > size || !has(snapshot, place->offset, (size_t)bytes, 8) ||
        !copy_changing(snapshot, place->offset, memory, (size_t)bytes))
        return false;
    /* What was checked, and not what has come meanwhile. */
    memcpy(memory, &head, sizeof head);
    return true;
}

static bool is_note_within(uint32_t note, uint32_t length, uint32_t note_bytes)
{
    return length <= HP_NOTE_BYTES && note <= note_bytes && length <= note_bytes - note;
}

/* Makes sense of a copy that nobody changes any more. */
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

/* -------------------------------------------------------------------------------------- allocations */

bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc)
{
    if (thread->alloc == 0 || !has_record(snapshot, thread->alloc, sizeof *ret_alloc))
        return false;
    const size_t wide = offsetof(struct hp_alloc_thread, frames) / 8;
    copy_words(ret_alloc, number_bytes(snapshot) + thread->alloc, sizeof *ret_alloc, (UINT64_C(1) << wide) - 1);
    return true;
}

bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame)
{
    const uint64_t offset = (uint64_t)alloc->frames + (uint64_t)index * sizeof *ret_frame;
    if (alloc->frames == 0 || index >= thread->frame_capacity || !has_record(snapshot, offset, sizeof *ret_frame))
        return false;
    copy_words(ret_frame, number_bytes(snapshot) + offset, sizeof *ret_frame, UINT64_MAX);
    return true;
}

bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc)
{
    const size_t sums = offsetof(struct hp_alloc_stat, octaves);
    const unsigned char *from = stat->alloc != 0 ? numbers_at(snapshot, stat->alloc, sizeof *ret_alloc) : NULL;
    if (from == NULL)
        return false;
    copy_words(ret_alloc, from, sums, UINT64_MAX);
    copy_words(ret_alloc->octaves, from + sums, sizeof ret_alloc->octaves, 0);
    return true;
}

void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES])
{
    add_octaves(snapshot, alloc->octaves[measure], lines);
}

bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool)
{
    walk->offset = walk->is_begun ? field32(snapshot, walk->offset, offsetof(struct hp_pool, next))
                                  : load32(snapshot->bytes + offsetof(struct hp_header, pools));
    walk->is_begun = walk->offset != 0 && has_record(snapshot, walk->offset, sizeof *ret_pool) &&
                     may_step(snapshot, walk, sizeof *ret_pool);
    if (walk->is_begun)
        copy_words(ret_pool, number_bytes(snapshot) + walk->offset, sizeof *ret_pool,
                   ~BIT_OF(struct hp_pool, next));
    return walk->is_begun;
}

/* ---------------------------------------------------------------------------------------- processor time */

bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu)
{
    if (thread->cpu == 0 || !has_record(snapshot, thread->cpu, sizeof *ret_cpu))
        return false;
    const uint64_t wide = BIT_OF(struct hp_cpu_thread, table) - 1;
    copy_words(ret_cpu, number_bytes(snapshot) + thread->cpu, sizeof *ret_cpu,
               wide | BIT_OF(struct hp_cpu_thread, skipped_ns) | BIT_OF(struct hp_cpu_thread, skipped_kernel_ns));
    return true;
}

static uint32_t places_in(const struct hp_snapshot *snapshot, uint32_t table)
{
    if (table == 0 || !has_record(snapshot, table, sizeof(struct hp_cpu_table)))
        return 0;
    const uint32_t capacity = field32(snapshot, table, offsetof(struct hp_cpu_table, capacity));
    const uint64_t bytes = (uint64_t)capacity * sizeof(struct hp_cpu_node);
    return has_many(snapshot, table, sizeof(struct hp_cpu_table), bytes) ? capacity : 0;
}

/* `index` is that of the next place. */
bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node)
{
    const uint32_t places = places_in(snapshot, cpu->table);
    while (walk->index < places && may_step(snapshot, walk, sizeof *ret_node)) {
        walk->offset = cpu->table + (uint32_t)(sizeof(struct hp_cpu_table) + walk->index * sizeof *ret_node);
        walk->index++;
        copy_words(ret_node, number_bytes(snapshot) + walk->offset, sizeof *ret_node,
                   ~BIT_OF(struct hp_cpu_node, node));
        if (ret_node->node != 0)
            return true;
    }
    return false;
}

static bool copy_chunk(const struct hp_snapshot *snapshot, uint32_t chunk, struct hp_sample_chunk *ret_chunk)
{
    if (chunk == 0 || !has_record(snapshot, chunk, sizeof *ret_chunk))
        return false;
    copy_words(ret_chunk, number_bytes(snapshot) + chunk, sizeof *ret_chunk, BIT_OF(struct hp_sample_chunk, first));
    const uint64_t bytes = (uint64_t)ret_chunk->used * sizeof(struct hp_sample);
    return ret_chunk->used <= ret_chunk->capacity && has_many(snapshot, chunk, sizeof *ret_chunk, bytes);
}

/* From the one after that which is being filled round to that one. `index` is that of the next sample in it. */
bool hp_snapshot_next_sample(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu,
                             struct hp_walk *walk, struct hp_sample *ret_sample)
{
    struct hp_sample_chunk chunk;
    if (!walk->is_begun) {
        if (!copy_chunk(snapshot, cpu->chunk, &chunk))
            return false;
        walk->is_begun = true;
        walk->chunk = chunk.next;
    }
    while (copy_chunk(snapshot, walk->chunk, &chunk) && may_step(snapshot, walk, sizeof *ret_sample)) {
        if (walk->index < chunk.used) {
            walk->offset = walk->chunk + (uint32_t)(sizeof chunk + walk->index * sizeof *ret_sample);
            walk->number = chunk.first + walk->index++;
            copy_words(ret_sample, number_bytes(snapshot) + walk->offset, sizeof *ret_sample,
                       BIT_OF(struct hp_sample, ticks));
            return true;
        }
        if (walk->chunk == cpu->chunk)
            return false;
        walk->chunk = chunk.next;
        walk->index = 0;
    }
    return false;
}

/* ---------------------------------------------------------------------------------------------- waiting */

bool hp_snapshot_waits(const struct hp_snapshot *snapshot, struct hp_waits *ret_waits)
{
    const uint32_t offset = snapshot->header.waits;
    if (offset == 0 || !has_record(snapshot, offset, sizeof *ret_waits))
        return false;
    copy_words(ret_waits, number_bytes(snapshot) + offset, sizeof *ret_waits,
               BIT_OF(struct hp_waits, looks) | BIT_OF(struct hp_waits, watched_ns) |
                   BIT_OF(struct hp_waits, left_out_ns) | BIT_OF(struct hp_waits, watcher_ns) |
                   BIT_OF(struct hp_waits, latest_ns));
    return ret_waits->watcher != 0;
}

bool hp_snapshot_next_wait(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_wait *ret_wait)
{
    struct hp_waits waits;
    walk->index = walk->is_begun ? walk->index + 1 : 0;
    walk->is_begun = false;
    if (!hp_snapshot_waits(snapshot, &waits) || walk->index >= waits.used || walk->index >= waits.capacity)
        return false;
    const uint64_t offset =
        (uint64_t)snapshot->header.waits + sizeof waits + (uint64_t)walk->index * sizeof *ret_wait;
    if (!has_record(snapshot, offset, sizeof *ret_wait) || !may_step(snapshot, walk, sizeof *ret_wait))
        return false;
    walk->offset = (uint32_t)offset;
    copy_words(ret_wait, number_bytes(snapshot) + offset, sizeof *ret_wait,
               BIT_OF(struct hp_wait, ns) | BIT_OF(struct hp_wait, beside_ns));
    ret_wait->what[sizeof ret_wait->what - 1] = '\0';
    return walk->is_begun = true;
}

/* --------------------------------------------------------------------------------- what threads used */

bool hp_snapshot_crew(const struct hp_snapshot *snapshot, struct hp_crew *ret_crew)
{
    const uint32_t offset = snapshot->header.crew;
    if (offset == 0 || !has_record(snapshot, offset, sizeof *ret_crew))
        return false;
    copy_words(ret_crew, number_bytes(snapshot) + offset, sizeof *ret_crew,
               ~(BIT_OF(struct hp_crew, sampled_ns) - 1));
    return ret_crew->samples != 0;
}

bool hp_snapshot_next_in_crew(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_crew_row *ret_row)
{
    struct hp_crew crew;
    const uint64_t counters =
        (BIT_OF(struct hp_crew_row, now_permille) - 1) & ~(BIT_OF(struct hp_crew_row, user_ns) - 1);
    walk->index = walk->is_begun ? walk->index + 1 : 0;
    walk->is_begun = false;
    if (!hp_snapshot_crew(snapshot, &crew))
        return false;
    for (; walk->index < crew.used && walk->index < crew.capacity; walk->index++) {
        const uint64_t offset =
            (uint64_t)snapshot->header.crew + sizeof crew + (uint64_t)walk->index * sizeof *ret_row;
        if (!has_record(snapshot, offset, sizeof *ret_row) || !may_step(snapshot, walk, sizeof *ret_row))
            return false;
        walk->offset = (uint32_t)offset;
        copy_words(ret_row, number_bytes(snapshot) + offset, sizeof *ret_row, counters);
        ret_row->name[sizeof ret_row->name - 1] = '\0';
        if (ret_row->threads != 0)
            return walk->is_begun = true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ for other files */

bool hp_snapshot_copy(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes, uint64_t wide)
{
    const unsigned char *from = offset != 0 ? numbers_at(snapshot, offset, bytes) : NULL;
    if (from != NULL)
        copy_words(to, from, bytes, wide);
    return from != NULL;
}

bool hp_snapshot_copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    return offset != 0 && has(snapshot, offset, bytes, 8) && look_at(snapshot, offset, to, bytes);
}

bool hp_snapshot_may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes)
{
    return may_step(snapshot, walk, record_bytes);
}

/* ------------------------------------------------------------------------------------------ opening */

static bool read_counter64(size_t at)
{
    return (at >= offsetof(struct hp_header, capacity) && at < offsetof(struct hp_header, gate)) ||
           at == offsetof(struct hp_header, process_start) || at == offsetof(struct hp_header, wall_start_ns) ||
           (at >= offsetof(struct hp_header, clock_start) && at < offsetof(struct hp_header, site_count)) ||
           (at >= offsetof(struct hp_header, losses) && at < offsetof(struct hp_header, site_chunks)) ||
           at >= offsetof(struct hp_header, alloc_live);
}

static void copy_header(struct hp_snapshot *snapshot)
{
    unsigned char *out = (unsigned char *)&snapshot->header;
    for (size_t at = 0; at < HP_HEADER_USED; at += 8)
        copy_words(out + at, snapshot->bytes + at, 8, read_counter64(at));
}

static const char *say(struct hp_snapshot *snapshot, const char *before, uint64_t first, const char *between,
                       uint64_t second, const char *after)
{
    struct hp_text text;
    hp_text_init(&text, snapshot->problem, sizeof snapshot->problem);
    hp_text_string(&text, before);
    hp_text_u64(&text, first);
    hp_text_string(&text, between);
    hp_text_u64(&text, second);
    hp_text_string(&text, after);
    return hp_text_end(&text);
}

static uint32_t swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

/* The fields that say whether the rest can be understood: they have their places in every version. */
static const char *check_opening(struct hp_snapshot *snapshot)
{
    const unsigned char *bytes = snapshot->bytes;
    const size_t size = snapshot->size;
    const size_t opening = offsetof(struct hp_header, features);
    if ((uintptr_t)bytes % 8 != 0)
        return "not a hotpath session: its bytes are not aligned in memory";
    if (size < sizeof HP_MAGIC)
        return say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    if (memcmp(bytes, HP_MAGIC, sizeof HP_MAGIC) != 0)
        return "not a hotpath session: it does not begin like one";
    if (size < opening)
        return say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    const uint32_t order = load32(bytes + offsetof(struct hp_header, byte_order));
    const uint32_t version = load32(bytes + offsetof(struct hp_header, version));
    const uint32_t header = load32(bytes + offsetof(struct hp_header, header_bytes));
    if (order != HP_BYTE_ORDER)
        return swapped(order) == HP_BYTE_ORDER
                   ? "a hotpath session of a machine with the other byte order: read it on such a machine"
                   : "not a hotpath session: its byte order mark is broken";
    if (version != HP_LAYOUT_VERSION)
        return say(snapshot, "a hotpath session of format version ", version, ", while this hotpath reads version ",
                   HP_LAYOUT_VERSION, "");
    if (header != HP_HEADER_BYTES)
        return say(snapshot, "a broken hotpath session: its header claims ", header, " bytes instead of ",
                   HP_HEADER_BYTES, "");
    if (size < HP_HEADER_BYTES)
        return say(snapshot, "a hotpath session cut off within its header: ", size, " of ", HP_HEADER_BYTES,
                   " bytes");
    return NULL;
}

/*
 * The rate comes from the two pairs that are furthest apart. Pairs closer than this say little: reading both clocks
 * takes some 50 ns, and 50 ns in 20 µs is 0.3 %.
 */
#define SHORTEST_BASE_NS 20000u
#define LONGEST_LIFE_NS (UINT64_C(100) * 366 * 86400 * 1000000000) /* that can be believed */

static void set_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *end)
{
    const struct hp_clock_pair *start = &snapshot->header.clock_start;
    snapshot->ns_per_tick = 1;
    snapshot->is_rate_known = snapshot->header.clock_kind == HP_CLOCK_MONOTONIC;
    if (snapshot->is_rate_known || end->ticks <= start->ticks || end->ns <= start->ns ||
        end->ns - start->ns < SHORTEST_BASE_NS)
        return;
    const double rate = (double)(end->ns - start->ns) / (double)(end->ticks - start->ticks);
    if (rate < 1e-4 || rate > 1e9) /* no counter runs at more than 10 THz or less than 1 Hz */
        return;
    snapshot->ns_per_tick = rate;
    snapshot->is_rate_known = true;
}

static uint64_t latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/*
 * The tick at which somebody who watched the process last found it alive; 0: nobody did, or it cannot be told. The process
 * itself leaves no sign while it waits.
 */
static uint64_t last_seen(const struct hp_snapshot *snapshot)
{
    const struct hp_clock_pair *start = &snapshot->header.clock_start;
    struct hp_waits waits;
    if (!snapshot->is_rate_known || !hp_snapshot_waits(snapshot, &waits) || waits.latest_ns <= start->ns ||
        waits.latest_ns - start->ns > LONGEST_LIFE_NS)
        return 0;
    return start->ticks + hp_units_round((double)(waits.latest_ns - start->ns) / snapshot->ns_per_tick);
}

/* A closed frame has its end in `child`. When a call began that is not timed is not known. */
static uint64_t sign_of(const struct hotpath_frame_ *frame)
{
    if (frame->zone == 0)
        return frame->child;
    return frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_) ? 0 : frame->start;
}

/* The last sign of life of a process that ended without finishing its session. */
static uint64_t last_sign(const struct hp_snapshot *snapshot)
{
    struct hp_walk threads = {0}, frames = {0}, lanes = {0};
    struct hp_thread thread;
    struct hotpath_frame_ frame;
    uint64_t ticks = latest(snapshot->header.clock_start.ticks, snapshot->header.clock_latest.ticks);
    ticks = latest(ticks, last_seen(snapshot));
    while (hp_snapshot_next_thread(snapshot, &threads, &thread)) {
        hp_walk_rewind(&frames);
        while (next_frame(snapshot, &thread, &frames, &frame))
            ticks = latest(ticks, sign_of(&frame));
    }
    for (struct hp_lane lane; hp_snapshot_next_lane(snapshot, &lanes, &lane);)
        ticks = latest(ticks, lane.stopped);
    return ticks;
}

void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later)
{
    set_rate(snapshot, later);
    if (!snapshot->is_live && !snapshot->is_finished)
        snapshot->now_ticks = last_sign(snapshot);
}

const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now)
{
    return hp_snapshot_open_pieces(snapshot, bytes, size, now, &(struct hp_snapshot_pieces){.fetch = NULL});
}

const char *hp_snapshot_open_pieces(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                                    const struct hp_clock_pair *now, const struct hp_snapshot_pieces *pieces)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->bytes = bytes;
    snapshot->size = size;
    snapshot->fetch = pieces->fetch;
    snapshot->fetch_context = pieces->context;
    snapshot->numbers = pieces->numbers;
    const char *problem = check_opening(snapshot);
    if (problem != NULL)
        return problem;
    copy_header(snapshot);
    const struct hp_header *header = &snapshot->header;
    snapshot->is_finished = header->state == HP_STATE_FINISHED;
    snapshot->is_live = now != NULL;
    snapshot->is_cut_off = now == NULL && header->used > size;
    if (now != NULL && !snapshot->is_finished) {
        set_rate(snapshot, now);
        snapshot->now_ticks = latest(now->ticks, header->clock_start.ticks);
        return NULL;
    }
    set_rate(snapshot, &header->clock_latest);
    snapshot->now_ticks =
        snapshot->is_finished ? latest(header->clock_latest.ticks, header->clock_start.ticks) : last_sign(snapshot);
    return NULL;
}

double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks)
{
    return (double)ticks * snapshot->ns_per_tick;
}

uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot)
{
    return snapshot->now_ticks - snapshot->header.clock_start.ticks;
}

uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot)
{
    return hp_units_round(hp_snapshot_ns(snapshot, hp_snapshot_elapsed(snapshot)));
}

enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot)
{
    if (snapshot->is_finished)
        return HP_SNAPSHOT_FINISHED;
    return snapshot->is_live ? HP_SNAPSHOT_RUNNING : HP_SNAPSHOT_ENDED;
}

const char *hp_snapshot_state_name(enum hp_snapshot_state state)
{
    static const char *const names[] = {
        [HP_SNAPSHOT_RUNNING] = "running", [HP_SNAPSHOT_FINISHED] = "finished", [HP_SNAPSHOT_ENDED] = "ended"};
    return names[state];
}

bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other)
{
    return memcmp(snapshot->header.boot_id, other->header.boot_id, sizeof snapshot->header.boot_id) == 0;
}
