/* Runs the console on the terminal, for the commands that show it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SHOW_CONSOLE_H
#define HP_CLI_SHOW_CONSOLE_H

#include "console.h"
#include "options.h"

/*
 * Returns when the user quits. Returns an exit status; an error costs one line on stderr. `ret_signal`: the signal
 * that ended it; 0: none.
 */
int hp_show_console(struct hp_console *console, const struct hp_settings *settings, int *ret_signal);

#endif
