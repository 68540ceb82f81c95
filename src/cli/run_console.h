/* A run with the console on it: `hotpath run --console`. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_RUN_CONSOLE_H
#define HP_CLI_RUN_CONSOLE_H

#include <stdbool.h>

#include "console.h"
#include "options.h"

/*
 * Calls `run` in a child process, with empty input and its output kept, and shows the console of the sessions in
 * `folder`. After the user quits the console, the output is shown, and the run goes on as without a console, unless
 * `ends_with_console`: then the child is told to end. Ends as the child does. Without a terminal, fails at once
 * with one line on stderr.
 */
int hp_run_with_console(const char *folder, const struct hp_settings *settings, bool ends_with_console,
                        int (*run)(void *context), void *context);

/* The program of the next one ends by itself after so many seconds, which its console says; 0: unknown. */
void hp_run_console_lasts(double seconds);

/* ------------------------------------------------------------------------------------------------- show console */

/* Runs the console on the terminal, for the commands that show it. */

/*
 * Returns when the user quits. Returns an exit status; an error costs one line on stderr. `ret_signal`: the signal
 * that ended it; 0: none.
 */
int hp_show_console(struct hp_console *console, const struct hp_settings *settings, int *ret_signal);

#endif
