/* Whether debuginfod servers may be asked for names: only if the user wants it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_DEBUG_SERVERS_H
#define HP_CLI_DEBUG_SERVERS_H

#include "options.h"

/*
 * By --debuginfod or HOTPATH_DEBUGINFOD. If it is not possible, one line says why, and names are resolved without
 * them.
 */
void hp_debug_servers_allow(const struct hp_settings *settings);

/* After names were resolved: prints a line if the user interrupted the download. */
void hp_debug_servers_end(void);

#endif
