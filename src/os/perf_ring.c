/* Ring buffers of perf events. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* syscall */
#include "perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "growing_array.h"

#define MOST_RECORD 65536u /* its size has 16 bits */

static bool map_ring(struct hp_perf_ring *ring, size_t pages, size_t least_pages)
{
    for (; pages >= least_pages; pages /= 2) {
        void *memory = mmap(NULL, (pages + 1) * ring->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (memory == MAP_FAILED)
            continue;
        ring->page = memory;
        ring->data_bytes = pages * ring->page_bytes;
        return true;
    }
    return false;
}

static bool open_ring(struct hp_perf_ring *ring, const struct perf_event_attr *event, uint32_t pid, int processor,
                      size_t pages, size_t least_pages)
{
    ring->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    ring->fd = (int)syscall(SYS_perf_event_open, event, (pid_t)pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return false;
    if (map_ring(ring, pages, least_pages))
        return true;
    close(ring->fd);
    return false;
}

bool hp_perf_rings_open(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t pid,
                        size_t pages, size_t least_pages)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    rings->count = 0;
    if (processors < 1 || processors > (long)HP_PERF_PROCESSORS)
        return false;
    for (int at = 0; at < (int)processors; at++) {
        if (!open_ring(&rings->all[at], event, pid, at, pages, least_pages)) {
            hp_perf_rings_close(rings);
            return false;
        }
        rings->count++;
    }
    return true;
}

static bool keep_more(struct hp_perf_rings *rings, int fd)
{
    if (!HP_MAKE_ROOM(rings->more, rings->more_count + 1, rings->more_room))
        return false;
    rings->more[rings->more_count++] = fd;
    return true;
}

/* If a thread ends while its events are opened, none of them is kept. */
static void close_more(struct hp_perf_rings *rings, size_t kept)
{
    while (rings->more_count > kept)
        close(rings->more[--rings->more_count]);
}

bool hp_perf_rings_join(struct hp_perf_rings *rings, const struct perf_event_attr *event, uint32_t tid)
{
    const size_t before = rings->more_count;
    for (size_t at = 0; at < rings->count; at++) {
        const int fd = (int)syscall(SYS_perf_event_open, event, (pid_t)tid, (int)at, -1, PERF_FLAG_FD_CLOEXEC);
        if (fd < 0) {
            const bool is_gone = errno == ESRCH;
            close_more(rings, before);
            return is_gone;
        }
        if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rings->all[at].fd) != 0 || !keep_more(rings, fd)) {
            close(fd);
            return false;
        }
    }
    return true;
}

static uint64_t count_of(int fd)
{
    uint64_t count;
    return read(fd, &count, sizeof count) == (ssize_t)sizeof count ? count : 0;
}

uint64_t hp_perf_rings_count(const struct hp_perf_rings *rings, size_t processor)
{
    uint64_t count = count_of(rings->all[processor].fd);
    for (size_t at = processor; at < rings->more_count; at += rings->count)
        count += count_of(rings->more[at]);
    return count;
}

void hp_perf_rings_close(struct hp_perf_rings *rings)
{
    close_more(rings, 0);
    free(rings->more);
    rings->more = NULL;
    rings->more_room = 0;
    for (size_t at = 0; at < rings->count; at++) {
        struct hp_perf_ring *ring = &rings->all[at];
        munmap(ring->page, ring->page_bytes + ring->data_bytes);
        close(ring->fd);
    }
    rings->count = 0;
}

/* Copies a record that wraps around the end of the ring into one piece. */
static const struct perf_event_header *record_at(const struct hp_perf_ring *ring, uint64_t tail, size_t size,
                                                 char *room)
{
    const char *data = (const char *)ring->page + ring->page_bytes;
    const size_t at = (size_t)tail & (ring->data_bytes - 1), first = ring->data_bytes - at;
    if (size <= first)
        return (const struct perf_event_header *)(const void *)(data + at);
    memcpy(room, data + at, first);
    memcpy(room + first, data, size - first);
    return (const struct perf_event_header *)(const void *)room;
}

/* Records begin at multiples of 8, so no header wraps. */
void hp_perf_ring_read(const struct hp_perf_ring *ring, hp_perf_take *take, void *context)
{
    _Alignas(8) static _Thread_local char room[MOST_RECORD];
    /* Acquire pairs with the kernel's barrier after the records; release returns their space. */
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    while (head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, record_at(ring, tail, sizeof header, room), sizeof header);
        if (header.size < sizeof header || header.size > head - tail)
            break;
        take(context, record_at(ring, tail, header.size, room));
        tail += header.size;
        __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}
