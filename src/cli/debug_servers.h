/* Whether servers of debug files may be asked for names: only who wants it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_DEBUG_SERVERS_H
#define HP_CLI_DEBUG_SERVERS_H

#include "options.h"

/* By --debuginfod or HOTPATH_DEBUGINFOD. Where that cannot be, one line says why, and all goes on without. */
void hp_debug_servers_allow(const struct hp_settings *settings);

/* When names were looked for: says so if somebody did not want to wait for them. */
void hp_debug_servers_end(void);

#endif
