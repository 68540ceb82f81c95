/* run: what it takes; the server starts it and answers when it has ended. SPDX-License-Identifier: MIT */
#include "mcp_tools.h"

static const struct hp_mcp_parameter parameters[] = {
    {.name = "argv", .type = HP_MCP_WORDS, .is_required = true, .about = "the program and its arguments; no shell"},
    {.name = "seconds", .type = HP_MCP_COUNT, .usual = 30, .most = 300, .about = "it is ended after that time"},
};

const struct hp_mcp_tool hp_mcp_tool_run = {
    .name = "run",
    .about =
        "Runs a program measured, if the server was started with --allow-run for it; answers like verdict. Its "
        "output is not returned.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_starting = true,
};
