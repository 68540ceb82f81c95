/*
 * Decides which of the signals that we receive are for the program, and forwards them unchanged.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_FORWARD_H
#define HP_CLI_FORWARD_H

#include <signal.h>
#include <sys/types.h>

#include "witness.h"

struct hp_forwarding {
    pid_t program;
    pid_t parent; /* our parent, which would have started the program; 0: none that we could signal */
    struct hp_witness witness;
};

/*
 * Each signal reaches the program once: what it received directly is not repeated. A signal from the program to its
 * parent goes to our parent. A queued one keeps its value and its sender.
 */
void hp_forward(const siginfo_t *info, const struct hp_forwarding *forwarding);

/* The same after the program has ended, for the signals that it sent to its parent before. */
void hp_forward_last(const siginfo_t *info, const struct hp_forwarding *forwarding);

#endif
