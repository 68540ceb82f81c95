/* The page of what the console shows: the report as one file of HTML. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_CONSOLE_PAGE_H
#define HP_CLI_CONSOLE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Writes the page of a session, or of a run, into a new file in the folder for temporary ones. `text` is the path of the file, or why there
 * is none: then it returns false.
 */
bool hp_console_page(const struct hp_settings *settings, const char *path, const char *program, char *text,
                     size_t size);

#endif
