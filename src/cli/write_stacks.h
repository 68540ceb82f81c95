/* Writes the stacks of threads, as text or as JSON (docs/stacks.schema.json). SPDX-License-Identifier: MIT */
#ifndef HP_CLI_WRITE_STACKS_H
#define HP_CLI_WRITE_STACKS_H

#include <stdio.h>

#include "thread_stacks.h"

/* Where the stacks of running threads come from. */
enum hp_running_stacks { HP_RUNNING_BY_PERF, HP_RUNNING_BY_PROGRAM, HP_RUNNING_UNKNOWN };

/* What is shown. */
struct hp_stacks_shown {
    const struct hp_live_threads *threads;
    const struct hp_thread_stacks *stacks;
    enum hp_running_stacks source;
};

void hp_write_stacks_text(const struct hp_stacks_shown *shown, FILE *to);
void hp_write_stacks_json(const struct hp_stacks_shown *shown, FILE *to);

#endif
