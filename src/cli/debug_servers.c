/* Whether servers of debug files may be asked. SPDX-License-Identifier: MIT */
#include "debug_servers.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "debuginfod.h"
#include "in_path.h"

static bool is_wanted(const struct hp_arguments *arguments)
{
    const char *value = getenv("HOTPATH_DEBUGINFOD");
    return hp_arguments_flag(arguments, "debuginfod") != NULL || (value != NULL && strcmp(value, "1") == 0);
}

void hp_debug_servers_allow(const struct hp_arguments *arguments)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (!is_wanted(arguments))
        return;
    if (!hp_is_in_path("debuginfod-find"))
        hp_fail("no debug server is asked: debuginfod-find is not installed; it is in the package debuginfod");
    else if (urls == NULL || urls[strspn(urls, " \t\n")] == '\0')
        hp_fail("no debug server is asked: DEBUGINFOD_URLS names none, such as https://debuginfod.debian.net");
    else
        hp_debuginfod_allow();
}
