/*
 * Records of a perf event, as the kernel writes them for one processor into memory that it shares with us.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_PERF_RING_H
#define HP_STACKS_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HP_PERF_PROCESSORS 64u /* each thread that is followed has an event for each of them */

struct hp_perf_ring {
    int fd;
    size_t page_bytes, data_bytes;
    struct perf_event_mmap_page *page;
};

struct hp_perf_rings {
    struct hp_perf_ring all[HP_PERF_PROCESSORS];
    size_t count;
    int *
        more; /* events of other threads, whose records are in the same rings: one for each processor, thread by thread */
    size_t more_count, more_room;
};

/*
 * One event for each processor, with that many pages of records, or half of that and so on, down to `least_pages`: users have a
 * limit. Both are powers of two. On all processors or on none: half of the truth would look like all of it.
 */
bool hp_perf_rings_open(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t pid,
                        size_t pages, size_t least_pages);
/* The same event of another thread. False: it cannot be had; what of it was opened stays so. Who is gone needs none. */
bool hp_perf_rings_join(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t tid);

/* What the events of a processor have counted so far, of all threads. */
uint64_t hp_perf_rings_count(const struct hp_perf_rings *rings, size_t processor);
void hp_perf_rings_close(struct hp_perf_rings *rings);

/* Takes all records that are there. They lie in one piece, and are aligned, until the next one is given. */
typedef void hp_perf_take(void *context, const struct perf_event_header *record);
void hp_perf_ring_read(const struct hp_perf_ring *ring, hp_perf_take *take, void *context);

/* What is in a record, so many bytes from its start. */
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
