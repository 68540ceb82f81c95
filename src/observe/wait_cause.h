/*
 * What a thread is waiting for now: which system call it is in, and on what. No heap, no stdio.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_WAIT_CAUSE_H
#define HP_OBSERVE_WAIT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "axis.h"
#include "layout.h"

/* --------------------------------------------------------------------------------------------- names of sockets */

#define HP_SOCKET_NAME 40u

/*
 * "tcp 127.0.0.1:6379" (the peer; without one "tcp at ...", its own address) or "unix /run/x", for the socket with
 * this inode, in the network namespace of the process. False: in no table, or too far down.
 */
bool hp_socket_name(uint32_t pid, uint64_t inode, char name[HP_SOCKET_NAME]);

/* The inode of the socket at the other end of a TCP connection within this machine; 0: unknown. */
uint64_t hp_socket_peer(uint32_t pid, uint64_t inode);

/* ------------------------------------------------------------------------------------------------------ futexes */

/*
 * What a thread in the system call futex waits for: a lock, a condition, a semaphore, a barrier, the exit of
 * another thread.
 *
 * The kernel does not know; the C library's use of the futex tells, by the operation, the value and the words
 * around it. docs/waits.md has the table.
 */

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

/* -------------------------------------------------------------------------------------------------------- waits */

#define HP_WAIT_SOCKETS 64u

struct hp_known_socket {
    uint64_t inode;
    char name[HP_SOCKET_NAME];
};

/* Per process, zeroed except for the first three. Looking up a socket is slow, so the latest ones are cached. */
/* The process with the other end of a descriptor; 0: unknown. `what` is as found, for sockets by hp_socket_name. */
typedef uint32_t hp_find_other_end(void *context, uint32_t pid, uint32_t descriptor, const char *what);

struct hp_wait_finder {
    uint32_t pid;
    hp_find_other_end *other_end; /* NULL: not looked for */
    void *context;
    uint32_t next_socket;
    struct hp_known_socket sockets[HP_WAIT_SOCKETS];
};

/* As in struct hp_wait. */
struct hp_wait_found {
    uint32_t cause;
    int32_t call;
    /* Thread of the process that owns what is waited for, or is waited for itself; 0: unknown. */
    uint32_t thread;
    uint32_t peer;             /* process with the other end of the pipe or socket; 0: unknown */
    uint64_t lock;             /* address of the lock; 0: it waits for something else */
    char what[HP_SOCKET_NAME]; /* zero-padded */
    uint64_t sp, pc;           /* where it entered the kernel; 0: unknown */
};

/*
 * Whether a wait is idle, that is, for new work: waiting for clients, input or the end of others always is; a
 * sleep, a pipe or an unknown futex is while others work. Reports, the console and the page use the word in this
 * sense.
 */
enum hp_idleness { HP_IDLE_NEVER, HP_IDLE_BESIDE_WORK, HP_IDLE_ALWAYS };
enum hp_idleness hp_wait_idleness(uint32_t cause);

/* The same if the other end is known: a socket to another process of the run is as good as a pipe. */
enum hp_idleness hp_wait_idleness_with(uint32_t cause, bool is_other_in_run);

/* The group of a cause, and a word for each group, with HP_PART_IDLE. */
enum hp_activity hp_part_of_cause(uint32_t cause);
const char *hp_part_name(enum hp_activity part);

/* `state` is that of hp_task_state. False: the thread does not wait. */
bool hp_wait_find(struct hp_wait_finder *finder, uint32_t tid, char state, struct hp_wait_found *ret_found);

#endif
