/*
 * What a thread in the system call futex waits for: a lock, a condition, a semaphore, a barrier, the exit of
 * another thread.
 *
 * The kernel does not know; the C library's use of the futex tells, by the operation, the value and the words
 * around it. docs/waits.md has the table. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_FUTEX_H
#define HP_OBSERVE_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#define HP_FUTEX_BEFORE 6u /* words to read before the futex ... */
#define HP_FUTEX_AFTER 4u  /* ... and after it */

/* Whether the process has a thread with that id. */
typedef bool hp_futex_is_thread(const void *context, uint32_t tid);

/* One waiting thread. */
struct hp_futex {
    uint32_t operation; /* with its flags */
    uint32_t value;     /* the value it expects to change */
    uint64_t address;
    uint64_t stack; /* end of the thread's stack; 0: unknown */
    bool has_words; /* the words could be read */
    uint32_t words[HP_FUTEX_BEFORE + 1 + HP_FUTEX_AFTER];
    hp_futex_is_thread *is_thread;
    const void *context;
};

/* Returns an enum hp_wait_cause; `ret_tid` is the thread that is waited for, or 0 if unknown. */
uint32_t hp_futex_cause(const struct hp_futex *futex, uint32_t *ret_tid);

#endif
