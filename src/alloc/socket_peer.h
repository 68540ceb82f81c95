/* The peer of a socket. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_SOCKET_PEER_H
#define HP_ALLOC_SOCKET_PEER_H

#include <stdint.h>

/* The inode of the peer of an AF_UNIX socket; 0: unknown. Opens a descriptor and closes it again. */
uint64_t hp_socket_peer(uint64_t inode);

#endif
