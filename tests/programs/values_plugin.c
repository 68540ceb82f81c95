/* A library with values, loaded and unloaded by a program. SPDX-License-Identifier: MIT */
#include <hotpath.h>

void plugin_run(int number);
void plugin_run(int number)
{
    HOTPATH_VALUE("of the plugin", number);
    HOTPATH_GAUGE_ADD("of both", 1);
}
