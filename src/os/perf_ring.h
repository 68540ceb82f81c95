/*
 * Records of a perf event, which the kernel writes per CPU into memory that it shares with us.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_PERF_RING_H
#define HP_OS_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HP_PERF_PROCESSORS 64u /* each followed thread has one event per CPU */

struct hp_perf_ring {
    int fd;
    size_t page_bytes, data_bytes;
    struct perf_event_mmap_page *page;
};

struct hp_perf_rings {
    struct hp_perf_ring all[HP_PERF_PROCESSORS];
    size_t count;
    int *more; /* events of other threads, with records in the same rings: one per CPU, thread by thread */
    size_t more_count, more_room;
};

/*
 * Opens one event per CPU, with that many pages of records, or half of that and so on, down to `least_pages`: users
 * have a limit. Both are powers of two. On all CPUs or on none: partial data would look complete.
 */
bool hp_perf_rings_open(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t pid,
                        size_t pages, size_t least_pages);
/*
 * Opens the same event for another thread. False: not possible; what was opened stays open. A thread that has ended
 * needs none.
 */
bool hp_perf_rings_join(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t tid);

/* The current count of a CPU's events, over all threads. */
uint64_t hp_perf_rings_count(const struct hp_perf_rings *rings, size_t processor);
void hp_perf_rings_close(struct hp_perf_rings *rings);

/* Takes all available records. Each is contiguous and aligned until the next one is passed. */
typedef void hp_perf_take(void *context, const struct perf_event_header *record);
void hp_perf_ring_read(const struct hp_perf_ring *ring, hp_perf_take *take, void *context);

/* The word at this offset in a record. */
static inline uint32_t hp_perf_word(const void *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

static inline uint64_t hp_perf_long_word(const void *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)record + offset, sizeof value);
    return value;
}

#endif
