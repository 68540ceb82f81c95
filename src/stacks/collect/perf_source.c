/*
 * One event per CPU, inherited by all descendants of the process.
 *
 * The kernel reserves the requested stack size in every record, however small the stack is. In our queue an event
 * has only the size that it needs. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* syscall */
#include "sources.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "event_queue.h"
#include "files.h"
#include "perf_ring.h"
#include "process.h"
#include "quiet_thread.h"

#define STACK_BYTES 63488u /* a record must be below 64 KB; compilers need that much, others a few KB */
#define PAGES 512u         /* if allowed */
#define LEAST_PAGES 32u
#define DRAIN_MS 5
#define COUNT_NS UINT64_C(50000000) /* between two readings of the events' counts */
#define URGENT (-10)                /* a reader that is late loses samples */

#define CHAIN_AT 24u /* in a sample */
#define MOST_KERNEL_FRAMES 64u

#define SWITCHED_OUT (1u << 13)         /* PERF_RECORD_MISC_SWITCH_OUT */
#define MAPPED_WITH_BUILD_ID (1u << 14) /* PERF_RECORD_MISC_MMAP_BUILD_ID */

_Static_assert(HP_PERF_PROCESSORS <= HP_EVENT_BY_HEAP, "each has a line");

static struct {
    struct hp_perf_rings rings;
    struct hp_quiet_thread thread;
    bool has_kernel;
    bool has_chain; /* samples have the kernel's functions */
    uint64_t register_mask;
    size_t register_count;
    uint64_t counts[HP_PERF_PROCESSORS]; /* of the events, at the last reading */
    uint64_t counted_ns;                 /* time of the last reading */
    struct hp_switches switches;
} source = {.switches.lock = PTHREAD_MUTEX_INITIALIZER};

/* --------------------------------------------------------------------------------------------- records */

/* Of a sample: how many words its chain of kernel functions takes, with their number; 0: it is broken. */
static size_t chain_words(const struct perf_event_header *record)
{
    if (!source.has_chain)
        return 0;
    const uint64_t count = record->size >= CHAIN_AT + 8 ? hp_perf_long_word(record, CHAIN_AT) : 0;
    return count < record->size / 8u ? (size_t)count + 1 : record->size;
}

/* Copies the kernel's functions from it, without the marks between parts of the chain. */
static size_t copy_chain(const struct perf_event_header *record, size_t words, uint64_t *to)
{
    size_t count = 0;
    for (size_t at = 1; at < words; at++) {
        const uint64_t address = hp_perf_long_word(record, CHAIN_AT + 8 * at);
        if (address == (uint64_t)PERF_CONTEXT_USER)
            break;
        if (address < (uint64_t)PERF_CONTEXT_MAX && count < MOST_KERNEL_FRAMES)
            to[count++] = address;
    }
    return count;
}

/*
 * header, pid, tid, time, the chain if it was asked for, abi of the registers, registers, size of the stack, the
 * stack, its used size. Registers and stack are missing if the thread had none: it was about to end.
 */
static struct hp_event *read_sample(const struct perf_event_header *record)
{
    const size_t words = chain_words(record), abi_at = CHAIN_AT + 8 * words, registers_at = abi_at + 8,
                 stack_at = registers_at + 8 * source.register_count;
    uint64_t values[64], chain[MOST_KERNEL_FRAMES];
    if (record->size < registers_at || hp_perf_long_word(record, abi_at) == PERF_SAMPLE_REGS_ABI_NONE ||
        record->size < stack_at + 16)
        return NULL;
    if (hp_perf_long_word(record, stack_at) > record->size - stack_at - 16 ||
        source.register_count > sizeof values / sizeof values[0])
        return NULL;
    const size_t room = (size_t)hp_perf_long_word(record, stack_at);
    const uint64_t used = hp_perf_long_word(record, stack_at + 8 + room);
    const size_t bytes = used < room ? (size_t)used : room;
    const size_t frames = copy_chain(record, words, chain), chain_bytes = frames * sizeof chain[0];
    struct hp_event *event = hp_event_new(HP_EVENT_SAMPLE, hp_perf_long_word(record, 16), chain_bytes + bytes);
    if (event == NULL)
        return NULL;
    char *more = hp_event_more(event);
    event->kernel_chain = memcpy(more, chain, chain_bytes);
    event->kernel_frames = frames;
    memcpy(values, (const char *)record + registers_at, 8 * source.register_count);
    hp_registers_from_perf(hp_machine_here(), source.register_mask, values, &event->registers);
    event->is_kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    event->stack = memcpy(more + chain_bytes, (const char *)record + stack_at + 8, bytes);
    event->stack_bytes = bytes;
    event->pid = hp_perf_word(record, 8);
    event->tid = hp_perf_word(record, 12);
    return event;
}

/* All but samples end with the ids of a thread and the time. */
static uint64_t time_of(const struct perf_event_header *record)
{
    return hp_perf_long_word(record, record->size - 8u);
}

static struct hp_event *read_mapping(const struct perf_event_header *record)
{
    const size_t path_at = 72, end = record->size - 16u;
    if (record->size < path_at + 16)
        return NULL;
    struct hp_event *event = hp_event_new(HP_EVENT_MAPPED, time_of(record), end - path_at + 1);
    if (event == NULL)
        return NULL;
    event->pid = hp_perf_word(record, 8);
    event->tid = hp_perf_word(record, 12);
    event->start = hp_perf_long_word(record, 16);
    event->end = event->start + hp_perf_long_word(record, 24);
    event->offset = hp_perf_long_word(record, 32);
    if (record->misc & MAPPED_WITH_BUILD_ID) {
        const uint8_t size = *((const uint8_t *)record + 40);
        event->build_id.size = size <= 20 ? size : 0;
        memcpy(event->build_id.bytes, (const char *)record + 44, event->build_id.size);
    } else {
        event->inode = hp_perf_long_word(record, 48);
    }
    hp_event_set_path(event, hp_event_more(event), (const char *)record + path_at, end - path_at);
    return event;
}

static struct hp_event *read_name(const struct perf_event_header *record)
{
    const size_t name_at = 16, end = record->size - 16u;
    const bool is_execution = record->misc & PERF_RECORD_MISC_COMM_EXEC;
    if (record->size < name_at + 16)
        return NULL;
    struct hp_event *event =
        hp_event_new(is_execution ? HP_EVENT_EXECUTED : HP_EVENT_NAMED, time_of(record), end - name_at + 1);
    if (event == NULL)
        return NULL;
    event->pid = hp_perf_word(record, 8);
    event->tid = hp_perf_word(record, 12);
    hp_event_set_path(event, hp_event_more(event), (const char *)record + name_at, end - name_at);
    return event;
}

static struct hp_event *read_task(const struct perf_event_header *record)
{
    if (record->size < 32 + 16)
        return NULL;
    struct hp_event *event =
        hp_event_new(record->type == PERF_RECORD_FORK ? HP_EVENT_FORKED : HP_EVENT_ENDED, time_of(record), 0);
    if (event == NULL)
        return NULL;
    event->pid = hp_perf_word(record, 8);
    event->parent_pid = hp_perf_word(record, 12);
    event->tid = hp_perf_word(record, 16);
    return event;
}

/* Without an event for each: there may be many thousands per second. A thread that has ended has left its CPU. */
static void note_switch(size_t processor, const struct perf_event_header *record)
{
    const bool is_switch = record->type == PERF_RECORD_SWITCH;
    const bool is_end = record->type == PERF_RECORD_EXIT || record->type == PERF_RECORD_LOST;
    if ((is_switch || is_end) && record->size >= sizeof *record + 16)
        hp_switches_put(&source.switches, processor, time_of(record), is_switch && !(record->misc & SWITCHED_OUT));
}

static struct hp_event *read_record(const struct perf_event_header *record)
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
        hp_event_drop(record->size >= 24 ? hp_perf_long_word(record, 16) : 1);
        return NULL;
    default:
        return NULL;
    }
}

static void take_record(void *context, const struct perf_event_header *record)
{
    const size_t processor = *(const size_t *)context;
    note_switch(processor, record);
    struct hp_event *event = read_record(record);
    if (event == NULL)
        return;
    event->processor = (uint32_t)processor;
    hp_event_put(processor, event);
}

/* ------------------------------------------------------------------------------------------- emptying */

/* An event also counts: the CPU time of all its threads on its CPU. */
static void take_count(size_t processor, uint64_t now)
{
    const uint64_t count = hp_perf_rings_count(&source.rings, processor);
    if (count <= source.counts[processor])
        return;
    struct hp_event *event = hp_event_new(HP_EVENT_COUNTED, now, 0);
    if (event == NULL)
        return;
    event->processor = (uint32_t)processor;
    event->counted_ns = count - source.counts[processor];
    source.counts[processor] = count;
    hp_event_put(processor, event);
}

static void drain_all(bool with_counts)
{
    const uint64_t now = hp_clock_monotonic_ns();
    const bool is_time = with_counts || now - source.counted_ns >= COUNT_NS;
    for (size_t at = 0; at < source.rings.count; at++) {
        hp_perf_ring_read(&source.rings.all[at], take_record, &at);
        if (is_time)
            take_count(at, now);
    }
    if (is_time)
        source.counted_ns = now;
}

static void *drain(void *unused)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), URGENT);
    struct pollfd files[HP_PERF_PROCESSORS + 1] = {{.fd = source.thread.wake, .events = POLLIN}};
    for (size_t at = 0; at < source.rings.count; at++)
        files[at + 1] = (struct pollfd){.fd = source.rings.all[at].fd, .events = POLLIN};
    while (!hp_quiet_thread_is_over(&source.thread)) {
        /* A descriptor reports POLLHUP forever after all its threads have ended. */
        for (size_t at = 0; at < source.rings.count; at++)
            if (files[at + 1].revents & POLLHUP)
                files[at + 1].fd = -1;
        poll(files, source.rings.count + 1, DRAIN_MS);
        drain_all(false);
    }
    return unused;
}

/* ------------------------------------------------------------------------------------------ beginning */

/* All registers that the unwinder knows; 0: it does not support this machine. */
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
    event.exclude_hv = event.exclude_guest = event.exclude_callchain_user = 1;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    event.watermark = 1;
    event.wakeup_watermark = 2 * STACK_BYTES;
    return event;
}

/* Tries everything first, then without what older kernels lack, then without kernel mode if that is not allowed. */
static bool open_rings(uint32_t pid, struct perf_event_attr *event)
{
    for (unsigned way = 0; way < 6; way++) {
        event->exclude_kernel = way & 1;
        event->build_id = way < 2;
        event->context_switch = way < 4;
        source.has_kernel = source.has_chain = !event->exclude_kernel;
        if (source.has_chain)
            event->sample_type |= PERF_SAMPLE_CALLCHAIN;
        else
            event->sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
        if (hp_perf_rings_open(&source.rings, event, pid, PAGES, LEAST_PAGES))
            return true;
    }
    return false;
}

static bool prepare(void)
{
    source.register_mask = mask_of(hp_machine_here());
    source.register_count = (size_t)__builtin_popcountll(source.register_mask);
    return source.register_count > 0;
}

static bool start(void)
{
    source.counted_ns = hp_clock_monotonic_ns();
    memset(source.counts, 0, sizeof source.counts);
    if (hp_quiet_thread_start(&source.thread, drain))
        return true;
    hp_perf_rings_close(&source.rings);
    return false;
}

bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns)
{
    struct perf_event_attr event;
    if (!prepare())
        return false;
    event = event_of(period_ns);
    return open_rings(pid, &event) && start();
}

/* Iterates over the threads of a process. */
struct attaching {
    struct perf_event_attr event;
    bool is_refused;
};

/* The first one that is opened creates the rings. */
static void attach_thread(const char *name, void *context)
{
    struct attaching *attaching = context;
    const uint32_t tid = (uint32_t)hp_task_number(&name);
    if (tid == 0 || attaching->is_refused)
        return;
    if (source.rings.count == 0)
        open_rings(tid, &attaching->event); /* it may have ended; of live threads all can be opened, or none */
    else
        attaching->is_refused = !hp_perf_rings_join(&source.rings, &attaching->event, tid);
}

static void attach_task(const struct hp_attached *task, struct attaching *attaching)
{
    char path[HP_TASK_PATH], name[16];
    if (task->tid == 0) {
        hp_file_each(hp_task_path(path, task->pid, 0, "task"), attach_thread, attaching);
        return;
    }
    snprintf(name, sizeof name, "%u", (unsigned)task->tid);
    attach_thread(name, attaching);
}

/* A part of the threads would look complete, but is not. */
bool hp_perf_source_attach(const struct hp_attached *tasks, size_t count, uint64_t period_ns)
{
    struct attaching attaching = {.is_refused = !prepare()};
    attaching.event = event_of(period_ns);
    source.rings.count = 0;
    for (size_t at = 0; at < count; at++)
        attach_task(&tasks[at], &attaching);
    if (source.rings.count > 0 && !attaching.is_refused)
        return start();
    hp_perf_rings_close(&source.rings);
    return false;
}

bool hp_perf_source_has_kernel(void) { return source.has_kernel; }

struct hp_switches *hp_perf_source_switches(void) { return &source.switches; }

void hp_perf_source_end(void)
{
    if (source.rings.count == 0)
        return;
    hp_quiet_thread_stop(&source.thread);
    drain_all(true);
    hp_perf_rings_close(&source.rings);
}
