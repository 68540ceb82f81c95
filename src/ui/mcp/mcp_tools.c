/* The tools, in the order in which clients see them. SPDX-License-Identifier: MIT */
#include "mcp_tools.h"

#include <string.h>

#define TOOL(name) &hp_mcp_tool_##name,
const struct hp_mcp_tool *const hp_mcp_tools[] = {HP_MCP_TOOLS(TOOL)};
const size_t hp_mcp_tool_count = sizeof hp_mcp_tools / sizeof hp_mcp_tools[0];

const struct hp_mcp_tool *hp_mcp_tool_find(const char *name)
{
    for (size_t at = 0; at < hp_mcp_tool_count; at++)
        if (strcmp(hp_mcp_tools[at]->name, name) == 0)
            return hp_mcp_tools[at];
    return NULL;
}
