/*
 * Checks the names of requested sections and columns before anything is run: an error at the end of a long run
 * would come too late. SPDX-License-Identifier: MIT
 */
#ifndef HP_CLI_REQUESTED_SECTIONS_H
#define HP_CLI_REQUESTED_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/*
 * Whether all sections or columns named by this option exist: HOTPATH_REPORT, HOTPATH_COLUMNS or HOTPATH_SORT;
 * other options name none. False: `problem` says which does not, and what may have been meant.
 */
bool hp_wishes_are_known(const struct hp_settings *settings, const char *variable, char *problem, size_t size);

#endif
