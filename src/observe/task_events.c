/*
 * One perf event per CPU, inherited by all descendants of the process. Each has its own ring buffer, which receives
 * the records of its CPU. SPDX-License-Identifier: MIT
 */
#include "task_events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"
#include "growing_array.h"
#include "perf_ring.h"

#define RING_PAGES 32u /* of the 516 KB per CPU that users may lock */
#define SETTLED_NS UINT64_C(1000000)

static struct {
    struct hp_perf_rings rings;
    struct hp_task_event *waiting; /* read but not delivered yet */
    size_t waiting_count, waiting_capacity;
    uint64_t maps, others; /* records received */
    bool has_missed;
} events;

/* ---------------------------------------------------------------------------------------------- beginning */

bool hp_task_events_begin(uint32_t pid)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.type = PERF_TYPE_SOFTWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_SW_DUMMY;
    event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    event.sample_id_all = 1;
    /*
     * inherit_stat would also report the CPU time of each, but makes context switches between the threads slower.
     */
    event.inherit = 1;
    event.task = event.comm = event.comm_exec = event.mmap = 1;
    event.exclude_kernel = event.exclude_hv = 1;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    return hp_perf_rings_open(&events.rings, &event, pid, RING_PAGES, RING_PAGES);
}

/* ------------------------------------------------------------------------------------------------ reading */

static struct hp_task_event *new_event(void)
{
    if (!HP_MAKE_ROOM(events.waiting, events.waiting_count + 1, events.waiting_capacity)) {
        events.has_missed = true;
        return NULL;
    }
    struct hp_task_event *event = &events.waiting[events.waiting_count++];
    memset(event, 0, sizeof *event);
    return event;
}

static void copy_text(struct hp_task_event *event, const char *record, size_t from, size_t size)
{
    const size_t room = sizeof event->text - 1, length = size > from ? strnlen(record + from, size - from) : 0;
    memcpy(event->text, record + from, length < room ? length : room);
}

/* Every record ends with the ids of its thread and the time. */
static void read_record(void *unused, const struct perf_event_header *header)
{
    const char *record = (const char *)header;
    const size_t size = header->size;
    const bool is_execution = header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC);
    (void)unused;
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
    event->pid = hp_perf_word(record, 8);
    event->ns = hp_perf_long_word(record, size - 8);
    if (is_fork) {
        event->parent = hp_perf_word(record, 12);
        event->kind = header->type == PERF_RECORD_EXIT ? HP_TASK_ENDED
                      : event->parent == event->pid    ? HP_TASK_THREAD
                                                       : HP_TASK_FORKED;
    } else {
        event->kind = is_execution ? HP_TASK_EXECUTED : HP_TASK_MAPPED;
        copy_text(event, record, is_execution ? 16 : 40, size - 16);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct hp_task_event *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

#define FLOOD 64u /* mappings per other event; a starting program maps some ten libraries */

static bool is_flooded(void) { return events.maps > FLOOD * events.others; }

void hp_task_events_take(hp_take_event *take, bool is_last)
{
    const uint64_t until = is_last ? UINT64_MAX : hp_clock_monotonic_ns() - SETTLED_NS;
    size_t taken = 0;
    for (size_t at = 0; at < events.rings.count; at++)
        hp_perf_ring_read(&events.rings.all[at], read_record, NULL);
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
    hp_perf_rings_close(&events.rings);
    free(events.waiting);
    events.waiting = NULL;
    events.waiting_count = events.waiting_capacity = 0;
}

/* ----------------------------------------------------------------------------------------------------- CPU time */

uint64_t hp_used_by(uint32_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t hp_used_by_children(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? hp_timeval_ns(&usage.ru_utime) + hp_timeval_ns(&usage.ru_stime)
                                                   : 0;
}
