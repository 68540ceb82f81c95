/* Reading allocations, CPU time, waiting, and what threads used. SPDX-License-Identifier: MIT */
#include "snapshot_bytes.h"

#include <string.h>

#include "arith.h"

/* -------------------------------------------------------------------------------------- allocations */

bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc)
{
    if (thread->alloc == 0 || !hp_snapshot_has_record(snapshot, thread->alloc, sizeof *ret_alloc))
        return false;
    const size_t wide = offsetof(struct hp_alloc_thread, frames) / 8;
    hp_copy_words(ret_alloc, hp_snapshot_number_bytes(snapshot) + thread->alloc, sizeof *ret_alloc,
                  (UINT64_C(1) << wide) - 1);
    return true;
}

bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame)
{
    const uint64_t offset = (uint64_t)alloc->frames + (uint64_t)index * sizeof *ret_frame;
    if (alloc->frames == 0 || index >= thread->frame_capacity ||
        !hp_snapshot_has_record(snapshot, offset, sizeof *ret_frame))
        return false;
    hp_copy_words(ret_frame, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_frame, UINT64_MAX);
    return true;
}

static bool read_alloc_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_alloc_stat *ret_alloc)
{
    const size_t sums = offsetof(struct hp_alloc_stat, octaves);
    const unsigned char *from = offset != 0 ? hp_snapshot_numbers_at(snapshot, offset, sizeof *ret_alloc) : NULL;
    if (from == NULL)
        return false;
    hp_copy_words(ret_alloc, from, sums, UINT64_MAX);
    hp_copy_words(ret_alloc->octaves, from + sums, sizeof ret_alloc->octaves, 0);
    return true;
}

bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc)
{
    return read_alloc_stat(snapshot, stat->alloc, ret_alloc);
}

bool hp_snapshot_alloc_stat_of(const struct hp_snapshot *snapshot, uint32_t stat, struct hp_alloc_stat *ret_alloc)
{
    const unsigned char *from = hp_snapshot_numbers_at(snapshot, stat, sizeof(struct hotpath_stat_));
    return from != NULL &&
           read_alloc_stat(snapshot, hp_load32(from + offsetof(struct hotpath_stat_, alloc)), ret_alloc);
}

void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES])
{
    hp_snapshot_add_octaves(snapshot, alloc->octaves[measure], lines);
}

bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool)
{
    walk->offset = walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hp_pool, next))
                                  : hp_load32(snapshot->bytes + offsetof(struct hp_header, pools));
    walk->is_begun = walk->offset != 0 && hp_snapshot_has_record(snapshot, walk->offset, sizeof *ret_pool) &&
                     hp_snapshot_may_step(snapshot, walk, sizeof *ret_pool);
    if (walk->is_begun)
        hp_copy_words(ret_pool, hp_snapshot_number_bytes(snapshot) + walk->offset, sizeof *ret_pool,
                      ~HP_BIT_OF(struct hp_pool, next));
    return walk->is_begun;
}

/* ---------------------------------------------------------------------------------------------- CPU time */

bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu)
{
    if (thread->cpu == 0 || !hp_snapshot_has_record(snapshot, thread->cpu, sizeof *ret_cpu))
        return false;
    const uint64_t wide = HP_BIT_OF(struct hp_cpu_thread, table) - 1;
    hp_copy_words(ret_cpu, hp_snapshot_number_bytes(snapshot) + thread->cpu, sizeof *ret_cpu,
                  wide | HP_BIT_OF(struct hp_cpu_thread, skipped_ns) |
                      HP_BIT_OF(struct hp_cpu_thread, skipped_kernel_ns));
    return true;
}

static uint32_t places_in(const struct hp_snapshot *snapshot, uint32_t table)
{
    if (table == 0 || !hp_snapshot_has_record(snapshot, table, sizeof(struct hp_cpu_table)))
        return 0;
    const uint32_t capacity = hp_snapshot_field32(snapshot, table, offsetof(struct hp_cpu_table, capacity));
    const uint64_t bytes = (uint64_t)capacity * sizeof(struct hp_cpu_node);
    return hp_snapshot_has_many(snapshot, table, sizeof(struct hp_cpu_table), bytes) ? capacity : 0;
}

/* `index` is that of the next entry. */
bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node)
{
    const uint32_t places = places_in(snapshot, cpu->table);
    while (walk->index < places && hp_snapshot_may_step(snapshot, walk, sizeof *ret_node)) {
        walk->offset = cpu->table + (uint32_t)(sizeof(struct hp_cpu_table) + walk->index * sizeof *ret_node);
        walk->index++;
        hp_copy_words(ret_node, hp_snapshot_number_bytes(snapshot) + walk->offset, sizeof *ret_node,
                      ~HP_BIT_OF(struct hp_cpu_node, node));
        if (ret_node->node != 0)
            return true;
    }
    return false;
}

static bool copy_chunk(const struct hp_snapshot *snapshot, uint32_t chunk, struct hp_sample_chunk *ret_chunk)
{
    if (chunk == 0 || !hp_snapshot_has_record(snapshot, chunk, sizeof *ret_chunk))
        return false;
    hp_copy_words(ret_chunk, hp_snapshot_number_bytes(snapshot) + chunk, sizeof *ret_chunk,
                  HP_BIT_OF(struct hp_sample_chunk, first));
    const uint64_t bytes = (uint64_t)ret_chunk->used * sizeof(struct hp_sample);
    return ret_chunk->used <= ret_chunk->capacity &&
           hp_snapshot_has_many(snapshot, chunk, sizeof *ret_chunk, bytes);
}

/* From the chunk after the one being filled round to that one. `index` is that of the next sample in it. */
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
    while (copy_chunk(snapshot, walk->chunk, &chunk) && hp_snapshot_may_step(snapshot, walk, sizeof *ret_sample)) {
        if (walk->index < chunk.used) {
            walk->offset = walk->chunk + (uint32_t)(sizeof chunk + walk->index * sizeof *ret_sample);
            walk->number = chunk.first + walk->index++;
            hp_copy_words(ret_sample, hp_snapshot_number_bytes(snapshot) + walk->offset, sizeof *ret_sample,
                          HP_BIT_OF(struct hp_sample, ticks));
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
    if (offset == 0 || !hp_snapshot_has_record(snapshot, offset, sizeof *ret_waits))
        return false;
    hp_copy_words(ret_waits, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_waits,
                  HP_BIT_OF(struct hp_waits, probes) | HP_BIT_OF(struct hp_waits, watched_ns) |
                      HP_BIT_OF(struct hp_waits, left_out_ns) | HP_BIT_OF(struct hp_waits, watcher_ns) |
                      HP_BIT_OF(struct hp_waits, latest_ns));
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
    if (!hp_snapshot_has_record(snapshot, offset, sizeof *ret_wait) ||
        !hp_snapshot_may_step(snapshot, walk, sizeof *ret_wait))
        return false;
    walk->offset = (uint32_t)offset;
    hp_copy_words(ret_wait, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_wait,
                  HP_BIT_OF(struct hp_wait, ns) | HP_BIT_OF(struct hp_wait, beside_ns));
    ret_wait->what[sizeof ret_wait->what - 1] = '\0';
    return walk->is_begun = true;
}

/* --------------------------------------------------------------------------------- what threads used */

bool hp_snapshot_thread_usage(const struct hp_snapshot *snapshot, struct hp_thread_usage *ret_usage)
{
    const uint32_t offset = snapshot->header.thread_usage;
    if (offset == 0 || !hp_snapshot_has_record(snapshot, offset, sizeof *ret_usage))
        return false;
    hp_copy_words(ret_usage, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_usage,
                  ~(HP_BIT_OF(struct hp_thread_usage, sampled_ns) - 1));
    return ret_usage->samples != 0;
}

bool hp_snapshot_next_thread_usage(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                                   struct hp_thread_usage_row *ret_row)
{
    struct hp_thread_usage usage;
    const uint64_t waited = ~(HP_BIT_OF(struct hp_thread_usage_row, waited_ns) - 1);
    const uint64_t counters = waited | ((HP_BIT_OF(struct hp_thread_usage_row, now_permille) - 1) &
                                        ~(HP_BIT_OF(struct hp_thread_usage_row, user_ns) - 1));
    walk->index = walk->is_begun ? walk->index + 1 : 0;
    walk->is_begun = false;
    if (!hp_snapshot_thread_usage(snapshot, &usage))
        return false;
    for (; walk->index < usage.used && walk->index < usage.capacity; walk->index++) {
        const uint64_t offset =
            (uint64_t)snapshot->header.thread_usage + sizeof usage + (uint64_t)walk->index * sizeof *ret_row;
        if (!hp_snapshot_has_record(snapshot, offset, sizeof *ret_row) ||
            !hp_snapshot_may_step(snapshot, walk, sizeof *ret_row))
            return false;
        walk->offset = (uint32_t)offset;
        hp_copy_words(ret_row, hp_snapshot_number_bytes(snapshot) + offset, sizeof *ret_row, counters);
        ret_row->name[sizeof ret_row->name - 1] = '\0';
        if (ret_row->threads != 0)
            return walk->is_begun = true;
    }
    return false;
}
