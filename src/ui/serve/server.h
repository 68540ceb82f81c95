/*
 * The server: one thread, which answers requests and tells pages about new data. It reads sessions and writes
 * nothing. SPDX-License-Identifier: MIT
 */
#ifndef HP_SERVE_SERVER_H
#define HP_SERVE_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "answer.h"
#include "listener.h"
#include "served.h"

/*
 * Answers that take time: the connection waits for them, and the server answers others meanwhile. Those of `hotpath
 * serve` are profiles.
 */
struct hp_slow_answers {
    bool (*has)(enum hp_route route);
    /* NULL: *ret_problem says why, with its HTTP status. */
    void *(*begin)(void *context, const struct hp_request *request, const struct hp_asked *asked,
                   const char **ret_problem, unsigned *ret_status);
    bool (*is_ready)(void *answer);
    void (*write)(void *answer, struct hp_answer *ret_answer); /* once */
    void (*free)(void *answer);
    unsigned most;     /* at a time */
    uint64_t every_ns; /* how often they are looked at */
    void *context;
};

struct hp_server_settings {
    const char *token;
    uint32_t every_ms; /* how often watched sessions are read */
    /* What else is done in its loop. Returns when again, by CLOCK_MONOTONIC. NULL: nothing. */
    uint64_t (*turn)(void *context, uint64_t now_ns);
    void *context;                      /* of that */
    const struct hp_slow_answers *slow; /* NULL: profiles of what is served */
    /* Requests are those of programs: the token is in a header, which no page of another site can send. */
    bool is_for_programs;
};

/*
 * Serves until *told is not 0, and closes the listener's socket. False: `problem` says why it could not start.
 * `serving` may be NULL if all answers are slow ones.
 */
bool hp_server_run(struct hp_serving *serving, const struct hp_listener *listener,
                   const struct hp_server_settings *settings, const volatile sig_atomic_t *told, char *problem,
                   size_t size);

/* NULL: it can serve. Otherwise what is missing. */
const char *hp_server_is_missing(void);

#endif
