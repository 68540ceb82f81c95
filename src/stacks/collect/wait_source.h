/*
 * Stacks of waiting threads, read from outside while they wait: the kernel reports the registers of such a thread,
 * and lets us copy its memory. The thread is not touched. For one thread of ours only, the observer.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COLLECT_WAIT_SOURCE_H
#define HP_COLLECT_WAIT_SOURCE_H

#include <stdint.h>

/* A thread that was found waiting. */
struct hp_wait_look {
    uint32_t pid, tid;
    uint64_t sp, pc;        /* 0: unknown */
    uint32_t cause;         /* a number stored with it */
    const char *text;       /* what it waits for */
    uint32_t session, site; /* of its zone, as in event_queue.h */
};

/* Reports that the process runs another program now, as far as the observer knows. */
void hp_wait_source_meet(uint32_t pid);

/* Copies its stack. The copy is valid if the thread has not run until this returns. */
void hp_wait_source_take(const struct hp_wait_look *look);

/* Confirms that it is valid. Returns a number for the wait, or 0: none is left. */
uint32_t hp_wait_source_keep(void);

/* The wait has ended; its number is free. */
void hp_wait_source_end(uint32_t wait, uint64_t ns, uint64_t idle_ns);

#endif
