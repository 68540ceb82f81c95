/*
 * What descriptors lead to: their links in /proc, and the other end of a unix socket. No heap, no stdio.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_OS_DESCRIPTOR_LINKS_H
#define HP_OS_DESCRIPTOR_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "task_path.h"

/* "/proc/PID/fd/7"; a pid of 0 stands for our own process. */
const char *hp_descriptor_path(char path[HP_TASK_PATH], uint32_t pid, uint32_t descriptor);

/* "/data/x.db", "pipe:[4711]", with a zero at the end. Returns its length; 0: it is closed, or hidden from us. */
size_t hp_descriptor_link(uint32_t pid, uint32_t descriptor, char *target, size_t size);

/* The inode of "socket:[4711]"; 0: it is no socket. */
uint64_t hp_descriptor_socket(const char *target);

/*
 * The inode of the peer of a unix socket; 0: it has none, or the kernel does not tell. Asks as ss(8) does, without
 * privileges. Opens a descriptor and closes it again; nothing waits.
 */
uint64_t hp_unix_socket_peer(uint64_t inode);

#endif
