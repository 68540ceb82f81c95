/* A library with values of its own, that a program opens and closes. SPDX-License-Identifier: MIT */
#include <hotpath.h>

void plugin_run(int number);
void plugin_run(int number)
{
    HOTPATH_VALUE("of the plugin", number);
    HOTPATH_GAUGE_ADD("of both", 1);
}
