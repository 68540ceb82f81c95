/* The socket that a server listens on. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_LISTENER_H
#define HP_SERVE_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_listener {
    int fd;
    bool is_v6;
    bool is_loopback; /* nobody but this machine can reach it */
    char host[64];    /* for an address to open: "127.0.0.1:7878", "[::1]:7878" */
};

/*
 * `address` is one of this machine, by number, or "localhost"; port 0 is any free one. Where the port is taken, any free one will do if
 * `is_any_port_fine`. False: `problem` says what is wrong.
 */
bool hp_listener_open(struct hp_listener *listener, const char *address, uint16_t port, bool is_any_port_fine,
                      char *problem, size_t size);

#endif
