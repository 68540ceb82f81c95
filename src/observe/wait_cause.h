/*
 * What a thread is waiting for now: which system call it is in, and on what. No heap, no stdio.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_WAIT_CAUSE_H
#define HP_OBSERVE_WAIT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "sockets.h"

#define HP_WAIT_SOCKETS 64u

struct hp_known_socket {
    uint64_t inode;
    char name[HP_SOCKET_NAME];
};

/* Per process, zeroed except for its pid. Looking up a socket is slow, so the latest ones are cached. */
struct hp_wait_finder {
    uint32_t pid;
    uint32_t next_socket;
    struct hp_known_socket sockets[HP_WAIT_SOCKETS];
};

/* As in struct hp_wait. */
struct hp_wait_found {
    uint32_t cause;
    int32_t call;
    /* Thread of the process that owns what is waited for, or is waited for itself; 0: unknown. */
    uint32_t thread;
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

/* `state` is that of hp_task_state. False: the thread does not wait. */
bool hp_wait_find(struct hp_wait_finder *finder, uint32_t tid, char state, struct hp_wait_found *ret_found);

#endif
