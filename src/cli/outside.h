/*
 * What a run's sessions cannot say themselves, added from outside when it is over: when processes that were killed, left by _exit or
 * became another program did so, and what processor time they had used; and a session for each that left none, with its name, its
 * times and the reason. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_OUTSIDE_H
#define HP_CLI_OUTSIDE_H

#include <stdbool.h>

#include "census.h"
#include "layout.h"

struct hp_outside {
    const char *folder; /* of the run */
    const struct hp_census *census;
    const char *library;        /* that processes were to be followed with; "": none were */
    struct hp_clock_pair began; /* with the counter of this machine, or none */
    bool has_stacks;            /* and nothing else: processes are named into which nothing was loaded */
};

void hp_outside_add(const struct hp_outside *outside);

#endif
