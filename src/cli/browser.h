/* The browser of whoever sits before the screen. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_BROWSER_H
#define HP_CLI_BROWSER_H

#include <stdbool.h>

/* Whether somebody can see what it shows: there is a screen, and our output is a terminal. */
bool hp_browser_has_screen(void);

/*
 * Opens a file or an address in it: in $BROWSER, else by xdg-open. False: there is neither. It goes on by itself, and what it prints is not
 * shown.
 */
bool hp_browser_open(const char *what);

#endif
