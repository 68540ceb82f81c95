/* Writes the report that the console shows as one HTML file. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_CONSOLE_PAGE_H
#define HP_CLI_CONSOLE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Writes the page of a session, or of a run, into a new file in the temporary folder. `text` receives the path of
 * the file; on failure (false), the reason.
 */
bool hp_console_page(const struct hp_settings *settings, const char *path, const char *program, char *text,
                     size_t size);

#endif
