/* Decides whether debuginfod servers may be asked. SPDX-License-Identifier: MIT */
#include "debug_servers.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "debug_file.h"
#include "program_file.h"

void hp_debug_servers_allow(const struct hp_settings *settings)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!settings->show.debuginfod)
        return;
    if (!hp_is_in_path("debuginfod-find"))
        hp_fail("debug servers are not used: debuginfod-find is not installed (package debuginfod)");
    else if (urls == NULL || urls[strspn(urls, " \t\n")] == '\0')
        hp_fail("debug servers are not used: DEBUGINFOD_URLS is not set; set it to a server such as "
                "https://debuginfod.debian.net");
    else
        hp_debuginfod_allow();
}

void hp_debug_servers_end(void)
{
    if (hp_debuginfod_is_cut_short())
        hp_fail("interrupted while asking debug servers: functions without names are shown as addresses");
}
