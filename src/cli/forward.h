/* Which of the signals that we take are for the program, and passing them on as they came. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_FORWARD_H
#define HP_CLI_FORWARD_H

#include <signal.h>
#include <sys/types.h>

#include "witness.h"

struct hp_forwarding {
    pid_t program;
    pid_t parent; /* who started us, and would have started the program; 0: nobody we could tell anything */
    struct hp_witness witness;
};

/*
 * Each arrives at the program once: what it has by itself is left alone. What the program sends to its parent arrives at ours. A
 * queued one keeps its value and its sender.
 */
void hp_forward(const siginfo_t *info, const struct hp_forwarding *forwarding);

/* The same when the program has ended: what it has sent to its parent before. */
void hp_forward_last(const siginfo_t *info, const struct hp_forwarding *forwarding);

#endif
