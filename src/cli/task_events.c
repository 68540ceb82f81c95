/*
 * One event for each processor, inherited by all that the process begins. Each has a ring of records; what happens on a processor
 * is in the ring of that one. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* syscall */
#include "task_events.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

#define MOST_PROCESSORS 64u /* each thread of the program has an event for each of them */
#define RING_PAGES 32u      /* a power of two; of 516 KB that users have for each processor */
#define SETTLED_NS UINT64_C(1000000)

struct ring {
    int fd;
    struct perf_event_mmap_page *page;
};

static struct {
    struct ring rings[MOST_PROCESSORS];
    size_t count;
    size_t page_bytes;
    struct hp_task_event *waiting; /* read and not taken yet */
    size_t waiting_count, waiting_capacity;
    uint64_t maps, others; /* records that came */
    bool has_missed;
} events;

/* ---------------------------------------------------------------------------------------------- beginning */

static int open_event(uint32_t pid, int processor)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.type = PERF_TYPE_SOFTWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_SW_DUMMY;
    event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    event.sample_id_all = 1;
    event.inherit =
        1; /* what each used could be told, too (inherit_stat), but then threads that take turns pay for it */
    event.task = event.comm = event.comm_exec = event.mmap = 1;
    event.exclude_kernel = event.exclude_hv = 1;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    return (int)syscall(SYS_perf_event_open, &event, (pid_t)pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool begin_ring(uint32_t pid, int processor)
{
    struct ring *ring = &events.rings[events.count];
    ring->fd = open_event(pid, processor);
    if (ring->fd < 0)
        return false;
    void *memory =
        mmap(NULL, (RING_PAGES + 1) * events.page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (memory == MAP_FAILED) {
        close(ring->fd);
        return false;
    }
    ring->page = memory;
    events.count++;
    return true;
}

/* On all processors or on none: half of the truth would look like all of it. */
bool hp_task_events_begin(uint32_t pid)
{
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    events.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (processors < 1 || processors > (long)MOST_PROCESSORS)
        return false;
    for (int at = 0; at < (int)processors; at++)
        if (!begin_ring(pid, at)) {
            hp_task_events_end();
            return false;
        }
    return true;
}

/* ------------------------------------------------------------------------------------------------ reading */

#define MOST_RECORD 8192u

static struct hp_task_event *new_event(void)
{
    if (events.waiting_count == events.waiting_capacity) {
        const size_t capacity = 2 * events.waiting_capacity + 64;
        struct hp_task_event *more = realloc(events.waiting, capacity * sizeof *more);
        if (more == NULL) {
            events.has_missed = true;
            return NULL;
        }
        events.waiting = more;
        events.waiting_capacity = capacity;
    }
    struct hp_task_event *event = &events.waiting[events.waiting_count++];
    memset(event, 0, sizeof *event);
    return event;
}

static uint32_t word(const char *record, size_t offset)
{
    uint32_t value;
    memcpy(&value, record + offset, sizeof value);
    return value;
}

static uint64_t long_word(const char *record, size_t offset)
{
    uint64_t value;
    memcpy(&value, record + offset, sizeof value);
    return value;
}

static void copy_text(struct hp_task_event *event, const char *record, size_t from, size_t size)
{
    const size_t room = sizeof event->text - 1, length = size > from ? strnlen(record + from, size - from) : 0;
    memcpy(event->text, record + from, length < room ? length : room);
}

/* Every record ends with the ids of its thread and the time. */
static void read_record(const struct perf_event_header *header, const char *record)
{
    const size_t size = header->size;
    const bool is_execution = header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC);
    const bool is_fork = header->type == PERF_RECORD_FORK || header->type == PERF_RECORD_EXIT;
    if (header->type == PERF_RECORD_LOST)
        events.has_missed = true;
    else
        *(header->type == PERF_RECORD_MMAP ? &events.maps : &events.others) += 1;
    if (size < 32 || (!is_execution && !is_fork && header->type != PERF_RECORD_MMAP))
        return;
    struct hp_task_event *event = new_event();
    if (event == NULL)
        return;
    event->pid = word(record, 8);
    event->ns = long_word(record, size - 8);
    if (is_fork) {
        event->parent = word(record, 12);
        event->kind = header->type == PERF_RECORD_EXIT ? HP_TASK_ENDED
                      : event->parent == event->pid    ? HP_TASK_THREAD
                                                       : HP_TASK_FORKED;
    } else {
        event->kind = is_execution ? HP_TASK_EXECUTED : HP_TASK_MAPPED;
        copy_text(event, record, is_execution ? 16 : 40, size - 16);
    }
}

static void copy_ring(const struct ring *ring, uint64_t from, void *to, size_t bytes)
{
    const char *data = (const char *)ring->page + events.page_bytes;
    const size_t size = RING_PAGES * events.page_bytes, at = (size_t)from & (size - 1);
    const size_t first = bytes < size - at ? bytes : size - at;
    memcpy(to, data + at, first);
    memcpy((char *)to + first, data, bytes - first);
}

static void read_ring(const struct ring *ring)
{
    static _Alignas(8) char record[MOST_RECORD];
    /* Acquire pairs with the kernel's barrier after the records; release gives their space back. */
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    while (head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        copy_ring(ring, tail, &header, sizeof header);
        if (header.size < sizeof header || header.size > head - tail)
            break;
        if (header.size <= sizeof record) {
            copy_ring(ring, tail, record, header.size);
            read_record(&header, record);
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static int by_time(const void *a, const void *b)
{
    const struct hp_task_event *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

#define FLOOD 64u /* maps for each other one; a program that starts maps some ten libraries */

static bool is_flooded(void) { return events.maps > FLOOD * events.others; }

void hp_task_events_take(hp_take_event *take, bool is_last)
{
    const uint64_t until = is_last ? UINT64_MAX : hp_clock_monotonic_ns() - SETTLED_NS;
    size_t taken = 0;
    for (size_t at = 0; at < events.count; at++)
        read_ring(&events.rings[at]);
    if (events.waiting_count > 0)
        qsort(events.waiting, events.waiting_count, sizeof *events.waiting, by_time);
    while (taken < events.waiting_count && events.waiting[taken].ns <= until)
        take(&events.waiting[taken++]);
    events.waiting_count -= taken;
    if (taken > 0 && events.waiting_count > 0)
        memmove(events.waiting, events.waiting + taken, events.waiting_count * sizeof *events.waiting);
    if (events.has_missed)
        take(&(struct hp_task_event){.kind = is_flooded() ? HP_TASK_FLOODED : HP_TASK_MISSED});
    events.has_missed = false;
}

/* ------------------------------------------------------------------------------------------------- ending */

void hp_task_events_end(void)
{
    for (size_t at = 0; at < events.count; at++) {
        munmap(events.rings[at].page, (RING_PAGES + 1) * events.page_bytes);
        close(events.rings[at].fd);
    }
    events.count = 0;
    free(events.waiting);
    events.waiting = NULL;
    events.waiting_count = events.waiting_capacity = 0;
}
