/*
 * Reading records of a session safely. Each walk counts its steps and stops at the number of such records that the
 * file could hold without overlap. SPDX-License-Identifier: MIT
 */
#include "snapshot_bytes.h"

#include <string.h>

#include "arith.h"

#define TEXT_MAX 4095u

/* ----------------------------------------------------------------------------------- single records */

const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset)
{
    const size_t head = offsetof(struct hp_string, bytes);
    if (!hp_snapshot_has(snapshot, offset, sizeof(struct hp_string), 4))
        return "";
    const uint32_t length = hp_load32(snapshot->bytes + offset);
    if (length > TEXT_MAX || !hp_snapshot_has(snapshot, offset, head + length + 1, 4))
        return "";
    const char *text = (const char *)snapshot->bytes + offset + head;
    return text[length] == '\0' ? text : "";
}

bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site)
{
    if (id >= HP_MAX_SITES)
        return false;
    /* Not from the copy: in a live session the chunk may be newer. */
    const size_t chunks = offsetof(struct hp_header, site_chunks);
    const uint32_t chunk = hp_load32(snapshot->bytes + chunks + 4 * (size_t)(id / HP_SITES_PER_CHUNK));
    const uint64_t offset = (uint64_t)chunk + (uint64_t)(id % HP_SITES_PER_CHUNK) * sizeof(struct hp_site);
    if (chunk == 0 || !hp_snapshot_has(snapshot, offset, sizeof(struct hp_site), 8))
        return false;
    /* The name is written last: if it is there, so is the rest. */
    if (hp_load32(snapshot->bytes + offset + offsetof(struct hp_site, name)) == 0)
        return false;
    hp_copy_words(ret_site, snapshot->bytes + offset, sizeof *ret_site, 0);
    return true;
}

#define COPY32(to, from, type, field) ((to)->field = hp_load32((from) + offsetof(type, field)))
#define COPY64(to, from, type, field) ((to)->field = hp_load64((from) + offsetof(type, field)))

/* The duration of a node's untimed calls: known once all are timed again. */
static uint32_t typical_of(const struct hp_snapshot *snapshot, uint32_t stat)
{
    const unsigned char *from = hp_snapshot_numbers_at(snapshot, stat, sizeof(struct hotpath_stat_));
    return from != NULL ? hp_load32(from + offsetof(struct hotpath_stat_, typical)) : 0;
}

/*
 * Links to children and siblings are not read: they are private to the writer, and parents give the same
 * information.
 */
void hp_snapshot_node_links(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node_links *ret_links)
{
    const unsigned char *from = hp_snapshot_number_bytes(snapshot) + offset;
    COPY32(ret_links, from, struct hotpath_node_, site);
    COPY32(ret_links, from, struct hotpath_node_, parent);
    COPY32(ret_links, from, struct hotpath_node_, stat);
}

/* The stat, which lies elsewhere, is read only if it is needed. */
void hp_snapshot_node_numbers(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node)
{
    const unsigned char *from = hp_snapshot_number_bytes(snapshot) + offset;
    COPY32(ret_node, from, struct hotpath_node_, site);
    COPY32(ret_node, from, struct hotpath_node_, parent);
    COPY32(ret_node, from, struct hotpath_node_, stat);
    COPY64(ret_node, from, struct hotpath_node_, calls);
    COPY64(ret_node, from, struct hotpath_node_, self);
    COPY64(ret_node, from, struct hotpath_node_, nested);
    COPY64(ret_node, from, struct hotpath_node_, untimed);
    ret_node->typical = ret_node->untimed != 0 ? typical_of(snapshot, ret_node->stat) : 0;
    ret_node->is_recursive = hp_load32(from + offsetof(struct hotpath_node_, is_folded)) != 0;
    const uint64_t total = hp_load64(from + offsetof(struct hotpath_node_, total));
    ret_node->outermost = total > ret_node->nested ? total - ret_node->nested : 0;
}

bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node)
{
    if (hp_snapshot_numbers_at(snapshot, offset, sizeof(struct hotpath_node_)) == NULL)
        return false;
    hp_snapshot_node_numbers(snapshot, offset, ret_node);
    return true;
}

/* Fields private to the writer stay zero. */
bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat)
{
    const unsigned char *from = hp_snapshot_numbers_at(snapshot, offset, sizeof *ret_stat);
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
            hp_load32(from + offsetof(struct hotpath_stat_, octaves) + octave * sizeof(uint32_t));
    return true;
}

static void add_counters(const struct hp_snapshot *snapshot, uint64_t offset, hp_duration_line line)
{
    const unsigned char *from = hp_snapshot_numbers_at(snapshot, offset, sizeof(hp_duration_line));
    for (size_t step = 0; from != NULL && step < 64; step++)
        line[step] += hp_load64(from + sizeof(uint64_t) * step);
}

/* From its origin an octave has counters 64 to 127, which are one line; octave 0 has 0 to 63 as well. */
void hp_snapshot_add_octaves(const struct hp_snapshot *snapshot, const uint32_t octaves[HOTPATH_OCTAVES_],
                             hp_duration_line lines[HP_DURATION_LINES])
{
    if (octaves[0] != 0)
        add_counters(snapshot, octaves[0], lines[0]);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        if (octaves[octave] != 0)
            add_counters(snapshot, octaves[octave] + (uint64_t)sizeof(hp_duration_line), lines[octave + 1]);
}

/* Prefetches bytes that will be read soon: they lie wherever there was space. */
static void foresee(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes)
{
    if (snapshot->fetch != NULL && snapshot->numbers == NULL)
        return; /* not loaded yet */
    for (size_t at = 0; at < bytes && hp_snapshot_is_within(snapshot, offset, bytes, 8); at += 64)
        __builtin_prefetch(hp_snapshot_number_bytes(snapshot) + offset + at);
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
    hp_snapshot_add_octaves(snapshot, stat->octaves, lines);
}

void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step)
{
    const uint32_t octave = hotpath_octave_(ticks);
    *ret_line = octave + (ticks >= 64);
    *ret_step = (uint32_t)(ticks >> octave) & 63;
}

/* -------------------------------------------------------------------------------------------- walks */

void hp_walk_rewind(struct hp_walk *walk) { *walk = (struct hp_walk){.steps = walk->steps}; }

/* Counts a step; false: there cannot be that many records of this size. */
bool hp_snapshot_may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes)
{
    return walk->steps++ < snapshot->size / record_bytes;
}

bool hp_snapshot_thread(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_thread *ret_thread)
{
    const uint64_t life = ~(HP_BIT_OF(struct hp_thread, life) - 1) & ~HP_BIT_OF(struct hp_thread, life);
    if (offset == 0 || !hp_snapshot_has_record(snapshot, offset, sizeof *ret_thread))
        return false;
    hp_copy_words(ret_thread, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_thread,
                  HP_BIT_OF(struct hp_thread, first_tick) | life);
    ret_thread->name[sizeof ret_thread->name - 1] = '\0';
    return true;
}

bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_thread *ret_thread)
{
    walk->offset = walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hp_thread, next))
                                  : hp_load32(snapshot->bytes + offsetof(struct hp_header, threads));
    walk->is_begun = hp_snapshot_thread(snapshot, walk->offset, ret_thread) &&
                     hp_snapshot_may_step(snapshot, walk, sizeof *ret_thread);
    if (!walk->is_begun)
        walk->offset = 0;
    return walk->is_begun;
}

/* Nodes of a chunk that lie within the bytes and within its own capacity. */
static uint32_t nodes_in(const struct hp_snapshot *snapshot, uint32_t chunk)
{
    const uint32_t capacity = hp_snapshot_field32(snapshot, chunk, offsetof(struct hp_node_chunk, capacity));
    const uint32_t used = hp_snapshot_field32(snapshot, chunk, offsetof(struct hp_node_chunk, used));
    const uint64_t fit = (snapshot->size - chunk - sizeof(struct hp_node_chunk)) / sizeof(struct hotpath_node_);
    const uint32_t claimed = used < capacity ? used : capacity;
    return claimed < fit ? claimed : (uint32_t)fit;
}

static bool enter_chunk(const struct hp_snapshot *snapshot, struct hp_walk *walk, uint32_t chunk)
{
    walk->chunk = chunk;
    walk->index = 0;
    return chunk != 0 && hp_snapshot_has_record(snapshot, chunk, sizeof(struct hp_node_chunk)) &&
           hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_node_chunk));
}

bool hp_snapshot_next_node_run(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                               struct hp_walk *walk, struct hp_node_run *ret_run)
{
    const uint32_t chunk = walk->is_begun
                               ? hp_snapshot_field32(snapshot, walk->chunk, offsetof(struct hp_node_chunk, next))
                               : thread->node_chunks;
    if (!enter_chunk(snapshot, walk, chunk))
        return walk->is_begun = false;
    const uint64_t first = (uint64_t)chunk + sizeof(struct hp_node_chunk);
    const uint64_t most = (UINT32_MAX - first) / sizeof(struct hotpath_node_); /* addressable by offsets */
    const uint64_t left = hp_less(snapshot->size / sizeof(struct hotpath_node_), walk->steps);
    uint64_t count = nodes_in(snapshot, chunk);
    count = count < most ? count : most;
    count = count < left ? count : left;
    walk->steps += count;
    if (hp_snapshot_numbers_at(snapshot, first, (size_t)count * sizeof(struct hotpath_node_)) == NULL)
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
    const unsigned char *before =
        walk->is_begun ? hp_snapshot_numbers_at(snapshot, walk->offset, sizeof *ret_stat) : NULL;
    walk->offset = before != NULL ? hp_load32(before + offsetof(struct hotpath_stat_, next)) : thread->stats;
    walk->is_begun = walk->offset != 0 && hp_snapshot_may_step(snapshot, walk, sizeof *ret_stat) &&
                     hp_snapshot_stat(snapshot, walk->offset, ret_stat);
    return walk->is_begun;
}

/* The next frame of the stack, open or closed. */
bool hp_snapshot_next_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_walk *walk, struct hotpath_frame_ *ret_frame)
{
    walk->index++; /* frame 0 is the thread itself */
    const uint64_t offset = (uint64_t)thread->frames + (uint64_t)walk->index * sizeof *ret_frame;
    if (thread->frames == 0 || walk->index >= thread->frame_capacity || offset > UINT32_MAX ||
        !hp_snapshot_has_record(snapshot, offset, sizeof *ret_frame) ||
        !hp_snapshot_may_step(snapshot, walk, sizeof *ret_frame))
        return false;
    walk->offset = (uint32_t)offset;
    hp_copy_words(ret_frame, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_frame, 7);
    return true;
}

bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame)
{
    return hp_snapshot_next_frame(snapshot, thread, walk, ret_frame) && ret_frame->zone != 0;
}

/* ---------------------------------------------------------------------------------------------- lanes */

bool hp_snapshot_lane(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_lane *ret_lane)
{
    const uint64_t wide = HP_BIT_OF(struct hp_lane, has_flags) - HP_BIT_OF(struct hp_lane, stopped);
    if (offset == 0 || !hp_snapshot_has_record(snapshot, offset, sizeof *ret_lane))
        return false;
    hp_copy_words(ret_lane, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_lane, wide);
    return true;
}

bool hp_snapshot_next_lane(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_lane *ret_lane)
{
    walk->offset = walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hp_lane, next))
                                  : hp_load32(snapshot->bytes + offsetof(struct hp_header, lanes));
    walk->is_begun = hp_snapshot_lane(snapshot, walk->offset, ret_lane) &&
                     hp_snapshot_may_step(snapshot, walk, sizeof *ret_lane);
    return walk->is_begun;
}

/* A thread that is about to stop or resume there still, or already, has these frames. */
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

bool hp_snapshot_copy(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes, uint64_t wide)
{
    const unsigned char *from = offset != 0 ? hp_snapshot_numbers_at(snapshot, offset, bytes) : NULL;
    if (from != NULL)
        hp_copy_words(to, from, bytes, wide);
    return from != NULL;
}
