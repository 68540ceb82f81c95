/* stacks: the heaviest ones. SPDX-License-Identifier: MIT */
#include "mcp_results.h"
#include "mcp_stacks.h"
#include "mcp_tools.h"

static bool answer_stacks(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    static const enum hp_dimension of_cpu[] = {HP_OF_CPU, HP_OF_ZONE_CPU, HP_OF_ZONES};
    static const enum hp_dimension of_waits[] = {HP_OF_WAITS, HP_OF_ZONE_WAITS};
    static const enum hp_dimension of_alloc[] = {HP_OF_ZONE_ALLOC, HP_OF_ALLOC};
    const bool is_waits = hp_mcp_is(call, "of", "waits"), is_alloc = hp_mcp_is(call, "of", "alloc");
    const char *function = hp_mcp_text(call, "function");
    const hotpath_results *results =
        hp_mcp_results(call, "functions,bottlenecks,timing,alloc-functions,waits", NULL);
    if (results == NULL)
        return false;
    const struct hp_mcp_stacks stacks = {
        .of = is_waits   ? of_waits
              : is_alloc ? of_alloc
                         : of_cpu,
        .of_count = is_waits || is_alloc ? 2 : 3,
        .title = "stacks",
        .function = function,
        .limit = hp_mcp_count(call, "limit"),
        .depth = hp_mcp_count(call, "depth"),
    };
    if (!hp_mcp_put_stacks(call, answer, &stacks, true)) {
        if (function != NULL && hp_mcp_find_name(call, results, function) == NULL)
            return false;
        hp_mcp_put_sentence(answer, function != NULL
                                        ? "No such stack has that function."
                                        : "This session has no such stacks: record with 'hotpath run', and see "
                                          "'hotpath doctor' for what this machine allows.");
    }
    hp_mcp_put_trust(answer, results);
    hp_mcp_next_usual(call, answer);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "of", .type = HP_MCP_CHOICE, .words = "cpu|waits|alloc"},
    {.name = "function", .type = HP_MCP_TEXT, .about = "only stacks with it"},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
    {.name = "depth", .type = HP_MCP_COUNT, .usual = 12, .most = 60},
};

const struct hp_mcp_tool hp_mcp_tool_stacks = {
    .name = "stacks",
    .about = "The heaviest stacks by CPU time, waiting or allocated bytes: one line each, caller first.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_stacks,
};
