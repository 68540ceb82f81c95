/*
 * The console without a terminal: prints one screen as text, or plays keys from a file and prints the resulting
 * screens. For tests and documentation.
 *
 *     # a comment
 *     size 100 30
 *     2 Down Down Enter     keys, by their names (keys.h)
 *     type stock            each letter is a key
 *     wait 500              milliseconds, with refreshes as usual
 *     refresh 100           reads and draws this many times
 *     screen                prints it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_SCRIPT_H
#define HP_CONSOLE_SCRIPT_H

#include <stdio.h>

#include "console.h"

/* Prints what the console shows now. False: it could not be written, or no memory. */
bool hp_console_print(struct hp_console *console, struct hp_screen *screen, FILE *output);

/* Plays a script. False: the script is invalid, and `problem`, of `size` bytes, says why. */
bool hp_console_play(struct hp_console *console, struct hp_screen *screen, FILE *script, FILE *output,
                     char *problem, size_t size);

#endif
