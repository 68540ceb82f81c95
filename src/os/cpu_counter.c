/*
 * The CPU's counter of instructions.
 *
 * Records of threads are found by their thread, lie in pages that are never freed, and are used again. The one of
 * a thread is written by it alone, also by its signal handlers: those find it opening, or as it was.
 * SPDX-License-Identifier: MIT
 */
#include "cpu_counter.h"

#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "memory.h"
#include "raw_call.h"

enum state { CLOSED, OPENING, BY_PAGE, BY_CALL, NOWHERE };

#define LEFT UINT32_MAX /* in place of a thread: it was one of the parent's, and is used no more */

struct hp_counted_thread {
    uint32_t tid; /* atomic; 0: free */
    uint32_t pid;
    uint32_t state;
    int fd;                                           /* BY_CALL */
    uint64_t id;                                      /* of the event */
    const volatile struct perf_event_mmap_page *page; /* BY_PAGE */
    uint64_t before;                                  /* what it counted before it was opened */
    uint64_t latest;
} __attribute__((aligned(64)));

#define IN_A_PAGE ((HP_LEAST_PAGE - sizeof(void *)) / sizeof(struct hp_counted_thread))

struct hp_counted_threads {
    struct hp_counted_thread all[IN_A_PAGE];
    struct hp_counted_threads *next;
};

/* The mark: in a forked child it is 0 until one of its threads has left behind what is the parent's. */
enum { FORKED, LEAVING, OURS };

static struct hp_cpu_counters own_counters;
static struct hp_cpu_counters *counters = &own_counters;
static bool (*may_call)(void);

void hp_cpu_counters_use(struct hp_cpu_counters *shared, bool (*asked)(void))
{
    counters = shared;
    may_call = asked;
}

const struct hp_cpu_counters *hp_cpu_counters(void) { return counters; }

/* Acquire pairs with the beginning: who finds it on finds the mark. */
bool hp_cpu_counter_is_on(void) { return __atomic_load_n(&counters->is_on, __ATOMIC_ACQUIRE) != 0; }

static void doubt(uint32_t why)
{
    if ((__atomic_load_n(&counters->doubts, __ATOMIC_RELAXED) & why) == 0)
        __atomic_fetch_or(&counters->doubts, why, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------------------------------ the CPU */

#if defined __x86_64__
static uint64_t read_this_cpu(uint32_t index)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
    return (uint64_t)high << 32 | low;
}
#elif defined __aarch64__
/* The choice of a counter is lost when the thread loses its CPU: then the page has changed. */
static uint64_t read_this_cpu(uint32_t index)
{
    const uint64_t chosen = index, of_cycles = 31;
    uint64_t value;
    __asm__ volatile("isb" ::: "memory");
    if (chosen == of_cycles)
        __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
    else
        __asm__ volatile("msr pmselr_el0, %1\n\tisb\n\tmrs %0, pmxevcntr_el0" : "=r"(value) : "r"(chosen));
    return value;
}
#else
#define read_this_cpu NULL
#endif

/* --------------------------------------------------------------------------------------------------- the kernel */

/* On arm64 a program asks for the right to read it; older kernels, and those that do not grant it, refuse that. */
#if defined __aarch64__
#define BY_USER 2u
#else
#define BY_USER 0u
#endif

struct hp_cpu_counter_source hp_cpu_counter_source = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
                                                      hp_raw_map_event, read_this_cpu};

static long open_with(uint64_t wishes)
{
    const struct perf_event_attr event = {.size = sizeof event,
                                          .type = hp_cpu_counter_source.type,
                                          .config = hp_cpu_counter_source.config,
                                          .config1 = wishes,
                                          .read_format =
                                              PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                          .exclude_kernel = 1,
                                          .exclude_hv = 1};
    return hp_raw(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long open_event(void)
{
    const long fd = open_with(BY_USER);
    return fd < 0 && BY_USER != 0 ? open_with(0) : fd;
}

int hp_cpu_counter_obstacle(void)
{
    const long fd = open_event();
    if (fd >= 0)
        hp_raw(SYS_close, fd);
    return fd < 0 ? (int)-fd : 0;
}

/* NULL: the CPU may not be asked. Its index is known while the thread runs, so it is now. */
static const volatile struct perf_event_mmap_page *readable_page(long fd)
{
    const long address = hp_cpu_counter_source.read_cpu != NULL ? hp_cpu_counter_source.map(fd) : -ENOSYS;
    if (hp_raw_is_error(address))
        return NULL;
    const volatile struct perf_event_mmap_page *page = (const volatile struct perf_event_mmap_page *)address;
    if (page->cap_user_rdpmc && page->index != 0)
        return page;
    hp_raw(SYS_munmap, address, HP_LEAST_PAGE);
    return NULL;
}

/* Above the numbers that programs usually have, and see in their logs. */
#define HIGH_NUMBER 1000u

static long move_up(long fd)
{
    const uint64_t limit = hp_raw_limit(RLIMIT_NOFILE), half = limit / 2;
    const long high = hp_raw(HP_SYS_FCNTL, fd, F_DUPFD_CLOEXEC, half < HIGH_NUMBER ? half : HIGH_NUMBER);
    hp_raw(SYS_close, fd);
    return high;
}

static bool is_open(const struct hp_counted_thread *thread)
{
    uint64_t id = 0;
    return hp_raw(SYS_ioctl, thread->fd, PERF_EVENT_IOC_ID, &id) == 0 && id == thread->id;
}

static bool is_allowed(void) { return may_call == NULL || may_call(); }

static bool ask_kernel(const struct hp_counted_thread *thread, uint64_t *ret_count, bool *ret_is_shared)
{
    uint64_t count_and_times[3];
    if (!is_allowed() || !is_open(thread) ||
        hp_raw(SYS_read, thread->fd, count_and_times, sizeof count_and_times) != (long)sizeof count_and_times)
        return false;
    *ret_count = count_and_times[0];
    *ret_is_shared = count_and_times[1] != count_and_times[2];
    return true;
}

/* ----------------------------------------------------------------------------------------------------- a thread */

static enum state open_for(struct hp_counted_thread *thread)
{
    const long fd = open_event();
    if (fd < 0)
        return NOWHERE;
    thread->page = readable_page(fd);
    if (thread->page != NULL) {
        hp_raw(SYS_close, fd);
        return BY_PAGE;
    }
    const long high = move_up(fd);
    thread->fd = (int)high;
    if (high < 0)
        return NOWHERE;
    if (hp_raw(SYS_ioctl, high, PERF_EVENT_IOC_ID, &thread->id) == 0)
        return BY_CALL;
    hp_raw(SYS_close, high);
    return NOWHERE;
}

/* Handlers that interrupt it get the latest count. */
static void set_state(struct hp_counted_thread *thread, enum state state)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    *(volatile uint32_t *)&thread->state = state;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void open_counter(struct hp_counted_thread *thread)
{
    uint32_t closed = CLOSED;
    if (!__atomic_compare_exchange_n(&thread->state, &closed, OPENING, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return; /* a handler was faster */
    thread->before = thread->latest;
    const enum state state = open_for(thread);
    if (state == NOWHERE)
        doubt(HP_COUNTER_IS_MISSING);
    set_state(thread, state);
}

static void close_counter(struct hp_counted_thread *thread)
{
    const uint32_t state = thread->state;
    set_state(thread, NOWHERE);
    if (state == BY_PAGE)
        hp_raw(SYS_munmap, thread->page, HP_LEAST_PAGE);
    else if (state == BY_CALL && is_open(thread))
        hp_raw(SYS_close, thread->fd);
}

/* The record of this thread, which another copy of the library may have made; else a free one for it. */
static struct hp_counted_thread *record_in(struct hp_counted_threads *page, uint32_t wanted, uint32_t tid)
{
    for (size_t at = 0; at < IN_A_PAGE; at++) {
        uint32_t expected = wanted;
        if (__atomic_load_n(&page->all[at].tid, __ATOMIC_RELAXED) == wanted &&
            __atomic_compare_exchange_n(&page->all[at].tid, &expected, tid, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
            return &page->all[at];
    }
    return NULL;
}

static struct hp_counted_thread *find_record(uint32_t wanted, uint32_t tid)
{
    struct hp_counted_thread *found = NULL;
    struct hp_counted_threads *page = __atomic_load_n(&counters->threads, __ATOMIC_ACQUIRE);
    for (; page != NULL && found == NULL; page = page->next)
        found = record_in(page, wanted, tid);
    return found;
}

/* NULL: no memory. Release pairs with the walks. */
static struct hp_counted_thread *new_record(uint32_t tid)
{
    struct hp_counted_threads *page = hp_memory_map(sizeof *page);
    if (page == NULL)
        return NULL;
    page->all[0].tid = tid;
    page->all[0].pid = hp_sys_process_id();
    page->next = __atomic_load_n(&counters->threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&counters->threads, &page->next, page, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
    return &page->all[0];
}

static struct hp_counted_thread *find_or_make_record(void)
{
    const uint32_t tid = hp_sys_thread_id();
    struct hp_counted_thread *thread = find_record(tid, tid);
    if (thread != NULL)
        return thread;
    thread = find_record(0, tid);
    if (thread != NULL)
        thread->pid = hp_sys_process_id();
    return thread != NULL ? thread : new_record(tid);
}

/* A handler that interrupts this may have taken one as well, and counts with it already: that one is kept. */
static void take_record(struct hp_counted_thread **own)
{
    struct hp_counted_thread *taken_by_handler = NULL, *thread = find_or_make_record();
    if (!__atomic_compare_exchange_n(own, &taken_by_handler, thread, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        thread != NULL && thread != taken_by_handler)
        __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}

/* ---------------------------------------------------------------------------------------------------- a process */

static bool is_ours(void) { return __atomic_load_n(counters->mark, __ATOMIC_ACQUIRE) == OURS; }

/*
 * Pages of counters do not exist in a child; what was mapped there since is not ours. Descriptors do. A child in a
 * PID namespace of its own may have the number of its parent, so numbers do not tell whose a record is.
 */
static void leave_parents(struct hp_counted_thread *thread, uint32_t pid, const struct hp_counted_thread *own)
{
    if (thread->state == BY_CALL && is_open(thread))
        hp_raw(SYS_close, thread->fd);
    set_state(thread, CLOSED);
    thread->pid = pid;
    __atomic_store_n(&thread->tid, thread == own ? hp_sys_thread_id() : LEFT, __ATOMIC_RELEASE);
}

/* Once in a forked child. Other threads of it, and handlers, find that it is under way. */
static void leave_parent(const struct hp_counted_thread *own)
{
    uint32_t expected = FORKED;
    const uint32_t pid = hp_sys_process_id();
    if (!__atomic_compare_exchange_n(counters->mark, &expected, LEAVING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    for (struct hp_counted_threads *page = counters->threads; page != NULL; page = page->next)
        for (size_t at = 0; at < IN_A_PAGE; at++)
            if (page->all[at].tid != 0 && page->all[at].tid != LEFT)
                leave_parents(&page->all[at], pid, own);
    __atomic_store_n(counters->mark, OURS, __ATOMIC_RELEASE);
}

/* The mark is found empty in a forked child. False: no kernel before Linux 4.14 does it. */
static bool make_mark(void)
{
    uint32_t *none = NULL, *mark = hp_memory_map(HP_LEAST_PAGE);
    if (mark == NULL || !hp_memory_wipe_on_fork(mark, HP_LEAST_PAGE)) {
        hp_memory_unmap(mark, HP_LEAST_PAGE);
        return false;
    }
    *mark = OURS;
    if (!__atomic_compare_exchange_n(&counters->mark, &none, mark, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        hp_memory_unmap(mark, HP_LEAST_PAGE); /* another thread was first */
    return true;
}

bool hp_cpu_counter_begin(struct hp_counted_thread **own)
{
    if (hp_cpu_counter_is_on())
        return true;
    if (hp_cpu_counter_obstacle() != 0 || !make_mark())
        return false;
    __atomic_store_n(&counters->is_on, 1, __ATOMIC_RELEASE);
    hp_cpu_counter_read(own);
    return true;
}

/* ------------------------------------------------------------------------------------------------------ reading */

/*
 * A forked child, or the first call of a thread. NULL: no memory, or under way, or no system call is allowed, even
 * to learn which thread this is.
 */
static struct hp_counted_thread *meet(struct hp_counted_thread **own)
{
    if (!is_allowed()) {
        doubt(HP_COUNTER_IS_MISSING);
        return NULL;
    }
    if (!is_ours())
        leave_parent(*own);
    if (!is_ours())
        return NULL;
    if (*own != NULL && (*own)->tid != hp_sys_thread_id())
        *own = NULL; /* another copy of the library has left it */
    if (*own == NULL)
        take_record(own);
    if (*own == NULL)
        doubt(HP_COUNTER_IS_MISSING);
    else if ((*own)->state == CLOSED)
        open_counter(*own);
    return *own;
}

static bool read_count(struct hp_counted_thread *thread, uint64_t *ret_count, bool *ret_is_shared)
{
    if (thread->state == BY_PAGE) {
        *ret_count = hp_counter_page_read(thread->page, hp_cpu_counter_source.read_cpu, ret_is_shared);
        return true;
    }
    return thread->state == BY_CALL && ask_kernel(thread, ret_count, ret_is_shared);
}

uint64_t hp_cpu_counter_read(struct hp_counted_thread **own)
{
    uint64_t count = 0;
    bool is_shared = false;
    struct hp_counted_thread *thread = *own;
    if (__builtin_expect(thread == NULL || !is_ours() || thread->state == CLOSED, 0)) {
        thread = meet(own);
        if (thread == NULL)
            return *own != NULL ? (*own)->latest : 0;
    }
    if (!read_count(thread, &count, &is_shared)) {
        if (thread->state == BY_CALL)
            doubt(HP_COUNTER_IS_MISSING);
        return thread->latest;
    }
    if (is_shared)
        doubt(HP_COUNTER_IS_SHARED);
    count += thread->before;
    if (count < thread->latest) /* a handler was later */
        return thread->latest;
    *(volatile uint64_t *)&thread->latest = count;
    return count;
}

void hp_cpu_counter_end_thread(struct hp_counted_thread **own)
{
    struct hp_counted_thread *thread = *own;
    if (thread == NULL || !is_allowed() || !is_ours() || thread->pid != hp_sys_process_id())
        return;
    close_counter(thread);
    thread->latest = 0;
    thread->state = CLOSED;
    *own = NULL;
    __atomic_store_n(&thread->tid, 0, __ATOMIC_RELEASE);
}
