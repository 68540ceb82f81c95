/* What open zones have allocated so far. SPDX-License-Identifier: MIT */
#include "open_allocs.h"

#include "arith.h"

static int64_t minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

/* The height of the thread's peak above the live bytes at the zone's beginning. */
static uint64_t height(int64_t peak, int64_t at_begin)
{
    const int64_t height = minus(peak, at_begin);
    return height > 0 ? (uint64_t)height : 0;
}

/* From the innermost zone outwards: each zone includes the totals and the peak of the one inside it. */
void hp_open_allocs_settle(const struct hp_snapshot *session, const struct hp_thread *thread,
                           const struct hp_alloc_thread *counters, struct hp_open_link *innermost)
{
    struct hp_alloc_thread alloc = {0};
    struct hp_alloc_frame begun;
    const bool has_any = counters != NULL;
    if (has_any)
        alloc = *counters;
    uint64_t inside_bytes = 0, inside_count = 0;
    for (struct hp_open_link *link = innermost; link != NULL; link = link->around) {
        link->has_allocs =
            link->has_allocs && has_any && hp_snapshot_alloc_frame(session, thread, &alloc, link->index, &begun);
        if (!link->has_allocs)
            continue;
        const uint64_t all_bytes = hp_less(alloc.bytes, begun.bytes), all_count = hp_less(alloc.count, begun.count);
        link->allocs = (struct hp_open_allocs){
            .measures = {[HP_ALLOC_OWN_BYTES] = hp_less(hp_less(all_bytes, begun.inner_bytes), inside_bytes),
                         [HP_ALLOC_OWN_COUNT] = hp_less(hp_less(all_count, begun.inner_count), inside_count),
                         [HP_ALLOC_ALL_BYTES] = all_bytes,
                         [HP_ALLOC_ALL_COUNT] = all_count,
                         [HP_ALLOC_PEAK_BYTES] = height(alloc.peak_live, begun.live),
                         [HP_ALLOC_PEAK_BLOCKS] = height(alloc.peak_blocks, begun.blocks)},
            .net_bytes = minus(hp_alloc_live(&alloc), begun.live),
            .net_blocks = minus(hp_alloc_live_blocks(&alloc), begun.blocks),
        };
        inside_bytes = all_bytes;
        inside_count = all_count;
        alloc.peak_live = higher(alloc.peak_live, begun.peak_live);
        alloc.peak_blocks = higher(alloc.peak_blocks, begun.peak_blocks);
    }
}
