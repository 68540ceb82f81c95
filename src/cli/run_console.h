/* A run with the console on it: `hotpath run --console`. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_CONSOLE_H
#define HP_CLI_RUN_CONSOLE_H

#include <stdbool.h>

#include "options.h"

/*
 * Has `run` do its work in a process of its own, whose input is empty and whose output is kept meanwhile, and shows the console of the
 * sessions in `folder`. Whoever quits it sees the output, and then all goes on as without, unless it `ends_with_console`: then the process is told
 * to end. Ends as that process does; if there is no terminal, at once, with one line.
 */
int hp_run_with_console(const char *folder, const struct hp_settings *settings, bool ends_with_console,
                        int (*run)(void *context), void *context);

#endif
