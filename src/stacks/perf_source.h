/*
 * Samples of all processes of a run, taken by the kernel: registers, and the bytes of the stack above them. Nothing of it is in
 * the program, and no signal goes to it. Needs kernel.perf_event_paranoid of 2 or less.
 *
 * A thread does nothing but empty the kernel's rings; what it finds waits in a list until somebody takes it.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_PERF_SOURCE_H
#define HP_STACKS_PERF_SOURCE_H

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
    HP_SEEN_ENDED, /* a thread */
    HP_SEEN_LOST   /* that many samples */
};

/* One thing that the kernel told. */
struct hp_seen {
    struct hp_seen *next;
    uint64_t ns; /* by CLOCK_MONOTONIC */
    enum hp_seen_kind kind;
    uint32_t pid, tid;
    uint32_t parent_pid;
    uint64_t lost;
    /* Of mapped code. */
    uint64_t start, end, offset, inode;
    struct hp_build_id build_id;
    const char *path;
    /* Of a sample. */
    bool is_kernel; /* it was in the kernel; registers and stack are those it came from */
    struct hp_registers registers;
    const void *stack;
    size_t stack_bytes;
};

/*
 * Begins to sample a process that has not begun to run yet, and all that it starts, once in so many nanoseconds of processor time
 * of each thread. False: the kernel does not let us.
 */
bool hp_perf_source_begin(uint32_t pid, uint64_t period_ns);

/*
 * What was seen since the last time, in order of time; the most recent wait for the next time, since another processor may be about
 * to tell something earlier, unless it `is_last`. Whoever takes it frees each.
 */
struct hp_seen *hp_perf_source_take(bool is_last);

/* Whether samples come from the kernel, too. */
bool hp_perf_source_has_kernel(void);

/* Ends the thread. What is left can still be taken. */
void hp_perf_source_end(void);

#endif
