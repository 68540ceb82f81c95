/* The tools, in the order in which clients see them. SPDX-License-Identifier: MIT */
#ifndef HP_MCP_MCP_TOOLS_H
#define HP_MCP_MCP_TOOLS_H

#include "mcp_answer.h"
#include "mcp_tool.h"

#define HP_MCP_TOOLS(TOOL)                                                                                         \
    TOOL(verdict)                                                                                                  \
    TOOL(sessions)                                                                                                 \
    TOOL(functions)                                                                                                \
    TOOL(function)                                                                                                 \
    TOOL(waits)                                                                                                    \
    TOOL(stacks)                                                                                                   \
    TOOL(flow)                                                                                                     \
    TOOL(memory)                                                                                                   \
    TOOL(compare)                                                                                                  \
    TOOL(run)
#define HP_MCP_DECLARE_TOOL_(name) extern const struct hp_mcp_tool hp_mcp_tool_##name;
HP_MCP_TOOLS(HP_MCP_DECLARE_TOOL_)

extern const struct hp_mcp_tool *const hp_mcp_tools[];
extern const size_t hp_mcp_tool_count;

/* NULL: there is none of that name. */
const struct hp_mcp_tool *hp_mcp_tool_find(const char *name);

/* The answer of `verdict` to a session that is open. False: the problem of the call says why. */
bool hp_mcp_answer_verdict(struct hp_mcp_call *call, struct hp_mcp_answer *answer);

/* The kind of flow that this tool leads to. */
void hp_mcp_next_flow(struct hp_mcp_call *call, struct hp_mcp_answer *answer, bool is_of_io);

/* What there is to ask next, whichever tool answered: kinds of flow that have data, memory, functions. */
void hp_mcp_next_usual(struct hp_mcp_call *call, struct hp_mcp_answer *answer);

#endif
