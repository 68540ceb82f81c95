/* The socket that a server listens on. SPDX-License-Identifier: MIT */
#ifndef HP_SERVE_LISTENER_H
#define HP_SERVE_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_listener {
    int fd;
    bool is_v6;
    bool is_loopback; /* only this machine can reach it */
    char host[64];    /* for a URL: "127.0.0.1:7878", "[::1]:7878" */
};

/*
 * `address` is a numeric address of this machine, or "localhost"; port 0 is any free one. If the port is taken, any
 * free one is used if `is_any_port_fine`. False: `problem` says what is wrong.
 */
bool hp_listener_open(struct hp_listener *listener, const char *address, uint16_t port, bool is_any_port_fine,
                      char *problem, size_t size);

#endif
