/*
 * Sections and columns that are asked for, looked up before anything is run: a misspelt one is worth nothing at the end of a long
 * run. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_WISHES_H
#define HP_CLI_WISHES_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Whether every section or column is there that this option of the settings names: HOTPATH_REPORT, HOTPATH_COLUMNS or HOTPATH_SORT;
 * others name none. False: `problem` says which is not, and what may have been meant.
 */
bool hp_wishes_are_known(const struct hp_settings *settings, const char *variable, char *problem, size_t size);

#endif
