/*
 * What `hotpath serve` and `hotpath agent` have in common: port, token, push and signals.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_SERVING_H
#define HP_CLI_SERVING_H

#include <signal.h>

#include "arguments.h"
#include "push.h"
#include "request.h"

struct hp_serving_port {
    uint16_t number;
    bool is_given;
};

/* The flag "port". False, with one line on stderr: it is wrong. */
bool hp_serving_read_port(const struct hp_arguments *arguments, struct hp_serving_port *ret_port);

/* By the flag "token-file", or a new one. False, with one line on stderr: it cannot be read. */
bool hp_serving_read_token(const struct hp_arguments *arguments, char token[HP_TOKEN_MOST + 1]);

/* The flags "push", "push-header" and "push-every". False, with one line on stderr: they are wrong. */
bool hp_serving_read_push(const struct hp_arguments *arguments, struct hp_push_targets *ret_targets,
                          uint64_t *ret_every_ns);

/* NULL, with one line on stderr: it cannot be done here. */
struct hp_push *hp_serving_open_push(const struct hp_push_targets *targets);

/* The signal that ends the server; 0: none yet. */
extern volatile sig_atomic_t hp_serving_told;
void hp_serving_listen_to_signals(void);

#endif
