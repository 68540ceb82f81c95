/* Names of socket connections. No heap, no stdio. SPDX-License-Identifier: MIT */
#ifndef HP_OS_SOCKETS_H
#define HP_OS_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

#define HP_SOCKET_NAME 40u

/*
 * "tcp 127.0.0.1:6379" (the peer; without one "tcp at ...", its own address) or "unix /run/x", for the socket with
 * this inode, in the network namespace of the process. False: in no table, or too far down.
 */
bool hp_socket_name(uint32_t pid, uint64_t inode, char name[HP_SOCKET_NAME]);

#endif
