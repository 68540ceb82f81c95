/*
 * What a thread waits for at this moment: which system call it is in, and what that is about. No heap, no stdio.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_SESSION_WAIT_CAUSE_H
#define HP_SESSION_WAIT_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "sockets.h"

#define HP_WAIT_SOCKETS 64u

struct hp_known_socket {
    uint64_t inode;
    char name[HP_SOCKET_NAME];
};

/* Of one process, zeroed but for its number. To look up a socket takes long, so the latest are remembered. */
struct hp_wait_finder {
    uint32_t pid;
    uint32_t next_socket;
    struct hp_known_socket sockets[HP_WAIT_SOCKETS];
};

/* As in struct hp_wait. */
struct hp_wait_found {
    uint32_t cause;
    int32_t call;
    uint32_t thread;           /* of the process, that has what is waited for, or is; 0: not known */
    char what[HP_SOCKET_NAME]; /* filled up with zeros */
    uint64_t sp, pc;           /* where it called the kernel; 0: not known */
};

/*
 * Whether waiting is idle, that is nobody's work: for others to come, to bring something or to end it always is, a sleep, a pipe or an unknown
 * futex while others work. A report, the console and the page mean this by the word.
 */
enum hp_idleness { HP_IDLE_NEVER, HP_IDLE_BESIDE_WORK, HP_IDLE_ALWAYS };
enum hp_idleness hp_wait_idleness(uint32_t cause);

/* `state` is that of hp_task_state. False: it does not wait. */
bool hp_wait_find(struct hp_wait_finder *finder, uint32_t tid, char state, struct hp_wait_found *ret_found);

#endif
