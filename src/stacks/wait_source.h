/*
 * Stacks of threads that wait, read from outside while they do: the kernel says where such a thread stands, and lets us copy its
 * memory. Nothing is done to it. For one thread of ours alone, which looks at them. SPDX-License-Identifier: MIT
 */
#ifndef HP_STACKS_WAIT_SOURCE_H
#define HP_STACKS_WAIT_SOURCE_H

#include <stdint.h>

/* A thread that was found waiting. */
struct hp_wait_look {
    uint32_t pid, tid;
    uint64_t sp, pc;        /* 0: not known */
    uint32_t cause;         /* a number that is kept with it */
    const char *text;       /* what it waits for */
    uint32_t session, site; /* of its zone, as in seen.h */
};

/* From now on the process is another program, as far as those know who look at it. */
void hp_wait_source_meet(uint32_t pid);

/* Copies its stack. That is good if the thread has not run until this returns. */
void hp_wait_source_take(const struct hp_wait_look *look);

/* It is. Returns a number for it, or 0: no more are to be had. */
uint32_t hp_wait_source_keep(void);

/* It is over, and so is its number. */
void hp_wait_source_end(uint32_t wait, uint64_t ns, uint64_t idle_ns);

#endif
