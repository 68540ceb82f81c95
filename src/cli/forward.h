/* Which of the signals that we take are for the program, and passing them on as they came. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_FORWARD_H
#define HP_CLI_FORWARD_H

#include <signal.h>
#include <sys/types.h>

#include "witness.h"

/* Each arrives at the program once: what it has by itself is left alone. A queued one keeps its value and its sender. */
void hp_forward(const siginfo_t *info, pid_t program, const struct hp_witness *witness);

#endif
