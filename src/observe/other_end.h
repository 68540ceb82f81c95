/*
 * Which process has the other end of a pipe, a FIFO or a socket: found by the inode among the open files of the
 * processes of a run. For an observer outside of them.
 *
 * A look-up reads many links in /proc. So each end is looked up once, and again when that process is gone or, if
 * none was found, when there are other processes. No heap. SPDX-License-Identifier: MIT
 */
#ifndef HP_OBSERVE_OTHER_END_H
#define HP_OBSERVE_OTHER_END_H

#include <stddef.h>
#include <stdint.h>

#define HP_OTHER_ENDS 64u

struct hp_known_end {
    uint64_t key;        /* 0: free */
    uint32_t pid;        /* with the other end; 0: not found */
    uint32_t generation; /* of the processes, when it was looked up */
};

/* Zeroed but for the processes, which the caller sets before each look. */
struct hp_other_ends {
    const uint32_t *pids; /* those to search, the newest first */
    size_t count;
    size_t most_searched; /* of them; more take too long to do often */
    uint32_t generation;  /* changes with them */
    uint32_t next;
    struct hp_known_end known[HP_OTHER_ENDS];
};

/*
 * The process with the other end of a descriptor of a process; 0: none was found. The process itself: only its own
 * threads have both ends. `name` is that of a socket, by hp_socket_name: others than those of this machine are not
 * searched, since that takes the kernel a millisecond.
 */
uint32_t hp_other_end(struct hp_other_ends *ends, uint32_t pid, uint32_t descriptor, const char *name);

#endif
