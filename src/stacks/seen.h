/*
 * What was seen of a run, in order of time: by the kernel, one line for each processor (perf_source.h), by the processes
 * themselves (ring_source.h), and by whoever looks at threads that wait (wait_source.h). It lies here until the collector takes it. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_SEEN_H
#define HP_STACKS_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_file.h"
#include "machine.h"

enum hp_seen_kind {
    HP_SEEN_FORKED,   /* `tid` of `pid` was begun by `parent_pid`, which is the same for a thread */
    HP_SEEN_EXECUTED, /* what was mapped is gone; `path` is its name */
    HP_SEEN_NAMED,    /* a thread is called `path` from now on */
    HP_SEEN_MAPPED,   /* code of the file `path` */
    HP_SEEN_SAMPLE,
    HP_SEEN_COUNTED,   /* `counted_ns` more of processor time, of all samples of `processor` since the last one */
    HP_SEEN_ENDED,     /* a thread */
    HP_SEEN_LOST,      /* that many samples */
    HP_SEEN_WAITING,   /* a thread was found so, for what `path` says; `wait` is its number until that is over */
    HP_SEEN_WAITED,    /* it is over */
    HP_SEEN_MAPS,      /* what code `pid` has mapped by now, as /proc says it: `path` */
    HP_SEEN_ALLOCATED, /* a sampled block, of `heap` */
    HP_SEEN_FREED,     /* the same */
    HP_SEEN_MET /* `pid` is looked at from now on; where the kernel tells nothing, it may be another program */
};

/* One of these. */
struct hp_seen {
    struct hp_seen *next;
    size_t bytes; /* that it takes */
    uint64_t ns;  /* by CLOCK_MONOTONIC */
    enum hp_seen_kind kind;
    uint32_t pid, tid;
    uint32_t parent_pid;
    uint64_t lost;
    uint32_t processor; /* of samples and counts */
    uint64_t counted_ns;
    uint64_t weight_ns; /* of a sample of HP_SEEN_NO_PROCESSOR */
    uint32_t session,
        site; /* of the zone that its thread was in (hp_session_number); 0: none is known. The site is 1 more */
    /* Of mapped code. */
    uint64_t start, end, offset, inode;
    struct hp_build_id build_id;
    const char *path;
    /* Of a sample, and of a thread that waits. */
    bool is_kernel; /* it was in the kernel; registers and stack are those it came from */
    struct hp_registers registers;
    const void *stack;
    size_t stack_bytes;
    /* Of waiting. */
    uint32_t wait;
    uint32_t cause; /* of whoever looked */
    uint64_t waited_ns, idle_ns;
    /* Of allocations. */
    uint32_t heap;  /* which process's, each program that it executed by itself */
    uint32_t block; /* its number there; 0: when it is freed will not be known */
    uint64_t bytes_asked, mean, heap_mean;
    uint64_t place;      /* where on the stack malloc was called */
    uint64_t live_bytes; /* in the process before it; 0: not known */
    uint64_t order;      /* among those that were seen at once */
};

#define HP_SEEN_NO_PROCESSOR UINT32_MAX /* the sample knows by itself how much it stands for */

#define HP_SEEN_LINES 67u
#define HP_SEEN_BY_HEAP (HP_SEEN_LINES - 3)  /* the line of sampled allocations */
#define HP_SEEN_BY_LOOKS (HP_SEEN_LINES - 1) /* the line of those who look at threads */
#define HP_SEEN_BY_RINGS (HP_SEEN_LINES - 2) /* that of samples from inside processes */

/*
 * With that many more bytes, which begin at hp_seen_more. NULL: there is no room, and it is counted; of what is no copy of a stack there
 * always is.
 */
struct hp_seen *hp_seen_new(enum hp_seen_kind kind, uint64_t ns, size_t more_bytes);
void *hp_seen_more(struct hp_seen *seen);

/* Copies a text to there, as its path. */
void hp_seen_set_path(struct hp_seen *seen, void *to, const char *text, size_t size);

/* Puts it at the end of a line: in each, what is later comes later. */
void hp_seen_put(size_t line, struct hp_seen *seen);

/* Somebody else had no room for that many. */
void hp_seen_drop(uint64_t count);

/* What was seen until then, in order of time, and how much was lost. Whoever takes it frees each. */
struct hp_seen *hp_seen_take(uint64_t until_ns);

#endif
