/*
 * One event for each processor, inherited by all that the process begins.
 *
 * The kernel copies as much of each stack as was asked for, so a record has its full size in the ring, however small the stack is;
 * in the list it has the size it needs. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* syscall */
#include "perf_source.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "perf_ring.h"
#include "quiet_thread.h"

#define STACK_BYTES 63488u /* a record has less than 64 KB; compilers need as much, others a few KB */
#define PAGES 512u         /* where it is allowed */
#define LEAST_PAGES 32u
#define MOST_WAITING (UINT64_C(96) << 20) /* bytes in the list; what comes then is lost, and counted */
#define DRAIN_MS 5
#define SETTLED_NS UINT64_C(20000000)

#define MAPPED_WITH_BUILD_ID (1u << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */

/* What one processor told, in order of time. */
struct line {
    struct hp_seen *first, **end;
};

static struct {
    struct hp_perf_rings rings;
    struct line lines[HP_PERF_PROCESSORS];
    pthread_mutex_t lock; /* of the lines and of what follows */
    uint64_t waiting_bytes, dropped;
    pthread_t thread;
    int wake; /* has something to read when it is over; -1: the thread finds out by itself */
    bool is_over, has_kernel;
    uint64_t register_mask;
    size_t register_count;
} source = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --------------------------------------------------------------------------------------------- records */

static struct hp_seen *new_seen(enum hp_seen_kind kind, uint64_t ns, size_t more_bytes)
{
    struct hp_seen *seen = NULL;
    if (source.waiting_bytes < MOST_WAITING || kind != HP_SEEN_SAMPLE)
        seen = malloc(sizeof *seen + more_bytes);
    if (seen == NULL) {
        source.dropped++;
        return NULL;
    }
    *seen = (struct hp_seen){.kind = kind, .ns = ns};
    source.waiting_bytes += sizeof *seen + more_bytes;
    return seen;
}

static void *more_of(struct hp_seen *seen) { return seen + 1; }

static void keep_text(struct hp_seen *seen, const char *text, size_t size)
{
    char *path = more_of(seen);
    const size_t length = strnlen(text, size);
    memcpy(path, text, length);
    path[length] = '\0';
    seen->path = path;
}

/*
 * header, pid, tid, time, abi of the registers, registers, size of the stack, the stack, how much of it is one. Registers and stack
 * are missing where the thread had none: it was about to end.
 */
static struct hp_seen *read_sample(const struct perf_event_header *record)
{
    const size_t registers_at = 32, stack_at = registers_at + 8 * source.register_count;
    uint64_t values[64];
    if (record->size < 32 || hp_perf_long_word(record, 24) == PERF_SAMPLE_REGS_ABI_NONE ||
        record->size < stack_at + 16)
        return NULL;
    if (hp_perf_long_word(record, stack_at) > record->size - stack_at - 16 ||
        source.register_count > sizeof values / sizeof values[0])
        return NULL;
    const size_t room = (size_t)hp_perf_long_word(record, stack_at);
    const uint64_t used = hp_perf_long_word(record, stack_at + 8 + room);
    const size_t bytes = used < room ? (size_t)used : room;
    struct hp_seen *seen = new_seen(HP_SEEN_SAMPLE, hp_perf_long_word(record, 16), bytes);
    if (seen == NULL)
        return NULL;
    memcpy(values, (const char *)record + registers_at, 8 * source.register_count);
    hp_registers_from_perf(hp_machine_here(), source.register_mask, values, &seen->registers);
    seen->is_kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    seen->stack = memcpy(more_of(seen), (const char *)record + stack_at + 8, bytes);
    seen->stack_bytes = bytes;
    seen->pid = hp_perf_word(record, 8);
    seen->tid = hp_perf_word(record, 12);
    return seen;
}

/* All but samples end with the ids of a thread and the time. */
static uint64_t time_of(const struct perf_event_header *record)
{
    return hp_perf_long_word(record, record->size - 8u);
}

static struct hp_seen *read_mapping(const struct perf_event_header *record)
{
    const size_t path_at = 72, end = record->size - 16u;
    if (record->size < path_at + 16)
        return NULL;
    struct hp_seen *seen = new_seen(HP_SEEN_MAPPED, time_of(record), end - path_at + 1);
    if (seen == NULL)
        return NULL;
    seen->pid = hp_perf_word(record, 8);
    seen->tid = hp_perf_word(record, 12);
    seen->start = hp_perf_long_word(record, 16);
    seen->end = seen->start + hp_perf_long_word(record, 24);
    seen->offset = hp_perf_long_word(record, 32);
    if (record->misc & MAPPED_WITH_BUILD_ID) {
        const uint8_t size = *((const uint8_t *)record + 40);
        seen->build_id.size = size <= 20 ? size : 0;
        memcpy(seen->build_id.bytes, (const char *)record + 44, seen->build_id.size);
    } else {
        seen->inode = hp_perf_long_word(record, 48);
    }
    keep_text(seen, (const char *)record + path_at, end - path_at);
    return seen;
}

static struct hp_seen *read_name(const struct perf_event_header *record)
{
    const size_t name_at = 16, end = record->size - 16u;
    const bool is_execution = record->misc & PERF_RECORD_MISC_COMM_EXEC;
    if (record->size < name_at + 16)
        return NULL;
    struct hp_seen *seen =
        new_seen(is_execution ? HP_SEEN_EXECUTED : HP_SEEN_NAMED, time_of(record), end - name_at + 1);
    if (seen == NULL)
        return NULL;
    seen->pid = hp_perf_word(record, 8);
    seen->tid = hp_perf_word(record, 12);
    keep_text(seen, (const char *)record + name_at, end - name_at);
    return seen;
}

static struct hp_seen *read_task(const struct perf_event_header *record)
{
    if (record->size < 32 + 16)
        return NULL;
    struct hp_seen *seen =
        new_seen(record->type == PERF_RECORD_FORK ? HP_SEEN_FORKED : HP_SEEN_ENDED, time_of(record), 0);
    if (seen == NULL)
        return NULL;
    seen->pid = hp_perf_word(record, 8);
    seen->parent_pid = hp_perf_word(record, 12);
    seen->tid = hp_perf_word(record, 16);
    return seen;
}

static struct hp_seen *read_record(const struct perf_event_header *record)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return read_sample(record);
    case PERF_RECORD_MMAP2:
        return read_mapping(record);
    case PERF_RECORD_COMM:
        return read_name(record);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        return read_task(record);
    case PERF_RECORD_LOST:
        source.dropped += record->size >= 24 ? hp_perf_long_word(record, 16) : 1;
        return NULL;
    default:
        return NULL;
    }
}

static void take_record(void *context, const struct perf_event_header *record)
{
    struct line *line = context;
    struct hp_seen *seen = read_record(record);
    if (seen == NULL)
        return;
    *line->end = seen;
    line->end = &seen->next;
}

/* ------------------------------------------------------------------------------------------- emptying */

static void drain_all(void)
{
    pthread_mutex_lock(&source.lock);
    for (size_t at = 0; at < source.rings.count; at++)
        hp_perf_ring_read(&source.rings.all[at], take_record, &source.lines[at]);
    pthread_mutex_unlock(&source.lock);
}

static bool is_over(void)
{
    pthread_mutex_lock(&source.lock);
    const bool is = source.is_over;
    pthread_mutex_unlock(&source.lock);
    return is;
}

static void *drain(void *unused)
{
    struct pollfd files[HP_PERF_PROCESSORS + 1] = {{.fd = source.wake, .events = POLLIN}};
    for (size_t at = 0; at < source.rings.count; at++)
        files[at + 1] = (struct pollfd){.fd = source.rings.all[at].fd, .events = POLLIN};
    while (!is_over()) {
        /* A file says POLLHUP for ever when all that it counted have ended. */
        for (size_t at = 0; at < source.rings.count; at++)
            if (files[at + 1].revents & POLLHUP)
                files[at + 1].fd = -1;
        poll(files, source.rings.count + 1, DRAIN_MS);
        drain_all();
    }
    return unused;
}

/* ------------------------------------------------------------------------------------------ beginning */

/* All registers that the unwinder knows; 0: it does not know this machine. */
static uint64_t mask_of(const struct hp_machine *machine)
{
    uint64_t mask = 0;
    for (unsigned number = 0; machine != NULL && number < HP_REGISTERS; number++)
        if (machine->perf_order[number] < 64)
            mask |= UINT64_C(1) << machine->perf_order[number];
    return mask;
}

static struct perf_event_attr event_of(uint64_t period_ns)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = period_ns;
    event.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    event.sample_regs_user = source.register_mask;
    event.sample_stack_user = STACK_BYTES;
    event.sample_id_all = event.inherit = 1;
    event.task = event.comm = event.comm_exec = event.mmap = event.mmap2 = 1;
    event.exclude_hv = event.exclude_guest = 1;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    event.watermark = 1;
    event.wakeup_watermark = 2 * STACK_BYTES;
    return event;
}

/* With all there is, then without what older kernels do not know, and without the kernel where it is not ours to see. */
static bool open_rings(uint32_t pid, uint64_t period_ns)
{
    struct perf_event_attr event = event_of(period_ns);
    for (unsigned way = 0; way < 4; way++) {
        event.exclude_kernel = way & 1;
        event.build_id = way < 2;
        source.has_kernel = !event.exclude_kernel;
        if (hp_perf_rings_open(&source.rings, &event, pid, PAGES, LEAST_PAGES))
            return true;
    }
    return false;
}

static void close_all(void)
{
    hp_perf_rings_close(&source.rings);
    if (source.wake >= 0)
        close(source.wake);
}

bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns)
{
    source.register_mask = mask_of(hp_machine_here());
    source.register_count = (size_t)__builtin_popcountll(source.register_mask);
    if (source.register_count == 0 || !open_rings(pid, period_ns))
        return false;
    for (size_t at = 0; at < source.rings.count; at++)
        source.lines[at] = (struct line){.end = &source.lines[at].first};
    source.wake = eventfd(0, EFD_CLOEXEC);
    source.is_over = false;
    source.dropped = source.waiting_bytes = 0;
    if (hp_quiet_thread_start(&source.thread, drain))
        return true;
    close_all();
    return false;
}

bool hp_perf_source_has_kernel(void) { return source.has_kernel; }

/* ---------------------------------------------------------------------------------------------- taking */

static struct line *earliest(uint64_t until)
{
    struct line *best = NULL;
    for (size_t at = 0; at < HP_PERF_PROCESSORS; at++) {
        struct line *line = &source.lines[at];
        if (line->first != NULL && line->first->ns <= until && (best == NULL || line->first->ns < best->first->ns))
            best = line;
    }
    return best;
}

static size_t bytes_of(const struct hp_seen *seen)
{
    return sizeof *seen + seen->stack_bytes + (seen->path != NULL ? strlen(seen->path) + 1 : 0);
}

static struct hp_seen *take_first(struct line *line)
{
    struct hp_seen *seen = line->first;
    const uint64_t bytes = bytes_of(seen);
    line->first = seen->next;
    if (line->first == NULL)
        line->end = &line->first;
    source.waiting_bytes -= bytes < source.waiting_bytes ? bytes : source.waiting_bytes;
    seen->next = NULL;
    return seen;
}

static struct hp_seen *tell_dropped(uint64_t ns)
{
    struct hp_seen *seen = source.dropped > 0 ? new_seen(HP_SEEN_LOST, ns, 0) : NULL;
    if (seen == NULL)
        return NULL;
    seen->lost = source.dropped;
    source.dropped = 0;
    return seen;
}

struct hp_seen *hp_perf_source_take(bool is_last)
{
    struct hp_seen *first = NULL, **end = &first;
    const uint64_t now = hp_clock_monotonic_ns(), until = is_last ? UINT64_MAX : now - SETTLED_NS;
    pthread_mutex_lock(&source.lock);
    for (struct line *line = earliest(until); line != NULL; line = earliest(until)) {
        *end = take_first(line);
        end = &(*end)->next;
    }
    *end = tell_dropped(now);
    pthread_mutex_unlock(&source.lock);
    return first;
}

void hp_perf_source_end(void)
{
    if (source.rings.count == 0)
        return;
    pthread_mutex_lock(&source.lock);
    source.is_over = true;
    pthread_mutex_unlock(&source.lock);
    if (source.wake >= 0)
        eventfd_write(source.wake, 1);
    pthread_join(source.thread, NULL);
    drain_all();
    close_all();
}
