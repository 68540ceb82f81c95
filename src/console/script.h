/*
 * The console without a terminal: one screen as text, or keys from a file and the screens that they lead to. Tests and documents use it.
 *
 *     # a comment
 *     size 100 30
 *     2 Down Down Enter     keys, by their names (keys.h)
 *     type stock            each letter is a key
 *     wait 500              milliseconds, in which the screen is read anew as usual
 *     refresh 100           reads it anew, and draws it, so many times
 *     screen                prints it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_CONSOLE_SCRIPT_H
#define HP_CONSOLE_SCRIPT_H

#include <stdio.h>

#include "console.h"

/* Prints what the console shows at this moment. False: it could not be written, or there is no memory. */
bool hp_console_print(struct hp_console *console, struct hp_screen *screen, FILE *output);

/* Plays a script. False: something is wrong with it, and `problem`, of `size` bytes, says what. */
bool hp_console_play(struct hp_console *console, struct hp_screen *screen, FILE *script, FILE *output,
                     char *problem, size_t size);

#endif
