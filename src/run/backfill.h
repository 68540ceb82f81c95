/*
 * Completes a run's sessions from outside when it is over: for processes that were killed, left by _exit or
 * executed another program, when they ended and the CPU time they had used; and for each process without a session,
 * a session with its name, its times and the reason. SPDX-License-Identifier: MIT
 */
#ifndef HP_RUN_BACKFILL_H
#define HP_RUN_BACKFILL_H

#include <stdbool.h>

#include "layout.h"
#include "process_table.h"

struct hp_backfill {
    const char *folder; /* of the run */
    const struct hp_process_table *table;
    const char *library;        /* preloaded to follow processes; "": none */
    struct hp_clock_pair began; /* with this machine's counter, or none */
    bool counts_instructions;   /* of programs, so what is seen from outside has none */
    const char *emulator;       /* which counts them; NULL: none */
    bool defers;                /* processes begin their sessions late, and brief ones have none */
    bool has_stacks;            /* only stacks were sampled: processes are listed into which nothing was loaded */
};

void hp_backfill_add(const struct hp_backfill *outside);

#endif
