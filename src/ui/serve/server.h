/*
 * The server: one thread, which answers requests and tells pages about new data. It reads sessions and writes
 * nothing. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_SERVER_H
#define HP_SERVE_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "listener.h"
#include "served.h"

struct hp_server_settings {
    const char *token;
    uint32_t every_ms; /* how often watched sessions are read */
    /* What else is done in its loop. Returns when again, by CLOCK_MONOTONIC. NULL: nothing. */
    uint64_t (*turn)(void *context, uint64_t now_ns);
    void *context; /* of that */
};

/* Serves until *told is not 0, and closes the listener's socket. False: `problem` says why it could not start. */
bool hp_server_run(struct hp_serving *serving, const struct hp_listener *listener,
                   const struct hp_server_settings *settings, const volatile sig_atomic_t *told, char *problem,
                   size_t size);

/* NULL: it can serve. Otherwise what is missing. */
const char *hp_server_is_missing(void);

#endif
