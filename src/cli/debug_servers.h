/* Whether servers of debug files may be asked for names: only who wants it. SPDX-License-Identifier: MIT */
#ifndef HP_CLI_DEBUG_SERVERS_H
#define HP_CLI_DEBUG_SERVERS_H

#include "arguments.h"

/* A row for the table of a command's flags. */
#define HP_DEBUGINFOD_FLAG                                                                                         \
    {                                                                                                              \
        "debuginfod", 0, NULL,                                                                                     \
            "Ask the servers of DEBUGINFOD_URLS for debug information that is not installed, by "                  \
            "debuginfod-find. Also by HOTPATH_DEBUGINFOD=1."                                                       \
    }

/* By --debuginfod or HOTPATH_DEBUGINFOD=1. Where that cannot be, one line says why, and all goes on without. */
void hp_debug_servers_allow(const struct hp_arguments *arguments);

#endif
