/* Opens the user's web browser. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_BROWSER_H
#define HP_CLI_BROWSER_H

#include <stdbool.h>

/*
 * Opens a file or a URL in $BROWSER, else with xdg-open. False: there is neither. Does not wait; the browser's
 * output is discarded.
 */
bool hp_browser_open(const char *what);

#endif
