/* Which socket is at the other end. SPDX-License-Identifier: MIT */
#ifndef HP_ALLOC_SOCKET_PEER_H
#define HP_ALLOC_SOCKET_PEER_H

#include <stdint.h>

/* The inode of what a socket of AF_UNIX is connected to; 0: that is not known. A descriptor is opened for it, and closed again. */
uint64_t hp_socket_peer(uint64_t inode);

#endif
