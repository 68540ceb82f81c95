/*
 * What a thread waits for that waits in the system call futex: a lock, a condition, a semaphore, a barrier, another thread's end.
 *
 * The kernel does not know; the C library's way of using a futex tells, by its operation, its value and the words around it.
 * docs/waits.md has the table. SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_FUTEX_H
#define HP_SESSION_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

#define HP_FUTEX_BEFORE 6u /* words that are read before the futex ... */
#define HP_FUTEX_AFTER 4u  /* ... and after it */

/* Whether the process has a thread of that number. */
typedef bool hp_futex_is_thread(const void *context, uint32_t tid);

/* One thread that waits. */
struct hp_futex {
    uint32_t operation; /* with its flags */
    uint32_t value;     /* that it is waited for to change */
    uint64_t address;
    uint64_t stack; /* where the thread's stack ends; 0: not known */
    bool has_words; /* could be read: */
    uint32_t words[HP_FUTEX_BEFORE + 1 + HP_FUTEX_AFTER];
    hp_futex_is_thread *is_thread;
    const void *context;
};

/* Returns an enum hp_wait_cause; `ret_tid` is the thread that is waited for, where that is known, or 0. */
uint32_t hp_futex_cause(const struct hp_futex *futex, uint32_t *ret_tid);

#endif
