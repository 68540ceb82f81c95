/*
 * Events of a run, in order of time: from the kernel, one queue per CPU (perf_source.c), from the processes
 * themselves (ring_source.c), and from the observer of waiting threads (wait_source.c). They are queued here until
 * the collector takes them. SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_EVENT_QUEUE_H
#define HP_COLLECT_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_file.h"
#include "machine.h"

enum hp_event_kind {
    HP_EVENT_FORKED,   /* `parent_pid` started `tid` of `pid`; for a thread, both pids are equal */
    HP_EVENT_EXECUTED, /* exec: its mappings are gone; `path` is its name */
    HP_EVENT_NAMED,    /* a thread has a new name, `path` */
    HP_EVENT_MAPPED,   /* mapped code of the file `path` */
    HP_EVENT_SAMPLE,
    HP_EVENT_COUNTED, /* CPU time counted on `processor` since the last count: `counted_ns`, for all samples */
    HP_EVENT_ENDED,   /* a thread ended */
    HP_EVENT_LOST,    /* that many samples were lost */
    HP_EVENT_WAITING, /* a thread was found waiting for `path`; `wait` is its number until the wait ends */
    HP_EVENT_WAITED,  /* the wait went on from `from_ns` to `to_ns`, for `waited_ns` */
    HP_EVENT_WAIT_ENDED,
    HP_EVENT_HELD,      /* `wait` is for a lock that thread `tid` holds */
    HP_EVENT_MAPS,      /* the current code mappings of `pid`, from /proc, in `path` */
    HP_EVENT_ALLOCATED, /* a sampled block, of `heap` */
    HP_EVENT_FREED,     /* the same */
    HP_EVENT_SEGMENT,   /* a segment of the critical path of `tid` ended at `to_ns`; `key`: its number */
    HP_EVENT_MET        /* `pid` is watched from now on; without kernel events, it may run another program now */
};

/* One event. */
struct hp_event {
    struct hp_event *next;
    size_t bytes; /* its size */
    uint64_t ns;  /* by CLOCK_MONOTONIC */
    enum hp_event_kind kind;
    uint32_t pid, tid;
    uint32_t parent_pid;
    uint64_t lost;
    uint32_t processor; /* of samples and counts */
    uint64_t counted_ns;
    uint64_t weight_ns;     /* of a sample of HP_EVENT_NO_PROCESSOR */
    uint32_t session, site; /* of its thread's zone (hp_session_number); 0: unknown. The site is plus 1 */
    /* Of mapped code. */
    uint64_t start, end, offset, inode;
    struct hp_build_id build_id;
    const char *path;
    /* Of a sample, and of a waiting thread. */
    bool is_kernel; /* it was in kernel mode; registers and stack are those of user mode */
    struct hp_registers registers;
    const void *stack;
    size_t stack_bytes;
    const uint64_t *kernel_chain; /* addresses of the kernel's functions, innermost first, if it tells them */
    size_t kernel_frames;
    /* Of waits. */
    uint32_t wait;
    uint32_t cause; /* number from the observer */
    uint64_t from_ns, to_ns;
    int64_t waited_ns, idle_ns; /* negative: less than was told before */
    uint32_t holder_wait;       /* of a lock: the wait of the thread that holds it; 0: that runs */
    uint64_t held_ns;           /* ... and has held it since then, all the time; 0: not known */
    uint32_t key;               /* of a segment */
    /* Of allocations. */
    uint32_t heap;  /* number of the process, one for each program that it executed */
    uint32_t block; /* its number there; 0: its free will not be reported */
    uint64_t bytes_asked, mean, heap_mean;
    uint64_t place;      /* stack address of the call of malloc */
    uint64_t live_bytes; /* in the process before it; 0: unknown */
    uint64_t order;      /* among events of the same time */
};

#define HP_EVENT_NO_PROCESSOR UINT32_MAX /* the sample has its own weight */

#define HP_EVENT_LINES 67u
#define HP_EVENT_BY_HEAP (HP_EVENT_LINES - 3)  /* the queue of sampled allocations */
#define HP_EVENT_BY_LOOKS (HP_EVENT_LINES - 1) /* the queue of wait samples */
#define HP_EVENT_BY_RINGS (HP_EVENT_LINES - 2) /* the queue of samples from inside processes */

/*
 * Creates an event with that many more bytes, at hp_event_more. NULL: no room, and it is counted as lost; events
 * other than stack copies always have room.
 */
struct hp_event *hp_event_new(enum hp_event_kind kind, uint64_t ns, size_t more_bytes);
void *hp_event_more(struct hp_event *event);

/* Copies a text to `to`, as its path. */
void hp_event_set_path(struct hp_event *event, void *to, const char *text, size_t size);

/* Appends it to a queue, which must stay sorted by time. */
void hp_event_put(size_t line, struct hp_event *event);

/* Counts events that another source lost. */
void hp_event_drop(uint64_t count);

/* Takes the events up to this time, in order, and the number lost. The caller frees each. */
struct hp_event *hp_event_take(uint64_t until_ns);

/* ----------------------------------------------------------------------------------------------------- sessions */

/*
 * Numbers the sessions of a run whose zones occur in stacks. Stacks come from rings, from heaps and from samples of
 * waiting threads, on several threads of ours; a zone is a site of a session.
 */

/*
 * The number of the session with this name, without its folder; always the same. 0: no memory, or the name is too
 * long. Any thread may call it.
 */
uint32_t hp_session_number(const char *name);

/* Its name, until they are freed. NULL: none. Any thread may call it. */
const char *hp_session_of_number(uint32_t number);
void hp_session_numbers_free(void);

#endif
