/*
 * The counter of the CPU that counts a thread's instructions in user mode, by perf_event_open.
 *
 * The kernel shares a page for each counter, by which a program can read it without a system call, if that is
 * allowed (rdpmc). Then no descriptor stays open: the page keeps the counter. Else a thread needs one, with a high
 * number, and a reading takes two system calls: the first asks whether it still is the counter, since the program
 * may have closed it and opened a file of its own in its place.
 *
 * A forked child has none of its parent's pages, and opens counters of its own, which go on from its parent's.
 * Usable in signal handlers. SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_CPU_COUNTER_H
#define HP_OS_CPU_COUNTER_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

/* What is counted, and how. Tests have others in their place, since few machines that run them have the counter. */
struct hp_cpu_counter_source {
    uint32_t type;
    uint64_t config;
    long (*map)(long fd);                   /* the event's page, or -errno */
    uint64_t (*read_cpu)(uint32_t counter); /* NULL: there is no instruction for it on this machine */
};
extern struct hp_cpu_counter_source hp_cpu_counter_source;

/* Why numbers may be wrong: bits of `doubts`. */
#define HP_COUNTER_IS_SHARED 1u  /* others counted, too: the counter was not always running */
#define HP_COUNTER_IS_MISSING 2u /* a thread has none: the kernel refused it, or the program closed it */

/* The counters of a process. The copies of the library in it share them. */
struct hp_cpu_counters {
    uint32_t is_on;  /* atomic, like all of these */
    uint32_t doubts; /* HP_COUNTER_... */
    uint32_t *mark;  /* emptied by the kernel in a forked child */
    struct hp_counted_threads *threads;
};

/*
 * From now on those of another copy. `may_call` is asked before each system call; NULL: they are always allowed.
 * Before the first use of what follows.
 */
void hp_cpu_counters_use(struct hp_cpu_counters *counters, bool (*may_call)(void));
const struct hp_cpu_counters *hp_cpu_counters(void);

/* What is known of a thread. Each copy of the library has a place for it in each thread: `own`, NULL at first. */
struct hp_counted_thread;

/* Begins to count, with the calling thread. False: not possible here. */
bool hp_cpu_counter_begin(struct hp_counted_thread **own);
bool hp_cpu_counter_is_on(void);
/*
 * The count of the calling thread, from its first call on. It never falls: a thread without a counter, or in a
 * vfork child, always gets the same number.
 */
uint64_t hp_cpu_counter_read(struct hp_counted_thread **own);
/* The calling thread is about to end, and reads it no more. Signals are blocked. */
void hp_cpu_counter_end_thread(struct hp_counted_thread **own);
/* Whether the kernel has the counter here: 0, or why not, as an errno. */
int hp_cpu_counter_obstacle(void);

/*
 * Reads a page. `read_counter` gives the present value of the CPU's counter with that index. The kernel changes
 * the page while the thread is not running; then it is read again.
 */
static inline uint64_t hp_counter_page_read(const volatile struct perf_event_mmap_page *page,
                                            uint64_t (*read_counter)(uint32_t index), bool *ret_is_shared)
{
    uint64_t count;
    uint32_t lock;
    do {
        lock = page->lock;
        __asm__ volatile("" ::: "memory"); /* changed on this CPU only, while we do not run */
        const uint32_t index = page->cap_user_rdpmc ? page->index : 0, width = page->pmc_width;
        count = (uint64_t)page->offset;
        *ret_is_shared = page->time_enabled != page->time_running;
        if (index != 0) {
            const unsigned unused = width > 0 && width < 64 ? 64 - width : 0; /* its sign is in the last bit */
            count += (uint64_t)((int64_t)(read_counter(index - 1) << unused) >> unused);
        }
        __asm__ volatile("" ::: "memory");
    } while (page->lock != lock);
    return count;
}

#endif
