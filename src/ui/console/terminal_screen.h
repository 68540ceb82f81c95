/*
 * The console on a real terminal, with ncurses: copies the grid, reads keys, restores the terminal.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_TERMINAL_SCREEN_H
#define HP_CONSOLE_TERMINAL_SCREEN_H

#include "console.h"

/* Whether this hotpath was built with ncurses. */
bool hp_terminal_screen_is_there(void);

/*
 * Shows the console until the user quits, or a signal ends it. Returns that signal, 0: none; -1: the terminal
 * cannot be used, and `problem` says why.
 */
int hp_terminal_screen_run(struct hp_console *console, bool has_color, const char **ret_problem);

#endif
