/* The console on the terminal, for the commands that show it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_SHOW_CONSOLE_H
#define HP_CLI_SHOW_CONSOLE_H

#include "console.h"
#include "options.h"

/* Until somebody quits. Returns an exit status; what is wrong is said in one line. `ret_signal` is what told us to end, 0: nothing did. */
int hp_show_console(struct hp_console *console, const struct hp_settings *settings, int *ret_signal);

#endif
