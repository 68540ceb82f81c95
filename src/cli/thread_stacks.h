/*
 * The stack of each thread, from stacks that were kept apart by thread (collector.h), and threads with equal ones
 * together. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_THREAD_STACKS_H
#define HP_CLI_THREAD_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live_threads.h"
#include "named_stacks.h"

/* A function that a stack has, as often as it calls itself there. */
struct hp_stack_line {
    uint32_t function; /* of the named stacks */
    uint32_t line;     /* in its source, of the innermost call; 0: unknown */
    uint32_t times;    /* calls of itself, one directly in the other */
};

struct hp_thread_stack {
    const struct hp_live_thread *thread;
    const char *zone, *task; /* NULL: none is known */
    bool is_waiting;
    uint32_t samples;            /* of a running thread: all of them; its most common stack is shown. 0: none */
    bool is_whole;               /* the stack begins where the thread does */
    struct hp_stack_line *lines; /* the innermost first */
    size_t line_count;
    size_t group; /* of equal threads of a process, numbered in the order in which they are shown */
};

struct hp_thread_stacks {
    struct hp_named_stacks named;
    struct hp_shown_names names; /* of its functions */
    struct hp_thread_stack *all; /* group by group */
    size_t count;
};

/* Takes over the named stacks. Threads that have ended are left out. False: no memory. */
bool hp_thread_stacks_make(struct hp_thread_stacks *stacks, const struct hp_live_threads *threads);

/* Puts equal threads together: to be called when zones and tasks are set. */
void hp_thread_stacks_group(struct hp_thread_stacks *stacks);

void hp_thread_stacks_free(struct hp_thread_stacks *stacks);

#endif
