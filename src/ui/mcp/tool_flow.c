/*
 * flow: what moves through a program: queues, tasks, streams, event loops, files and connections.
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "channel_profile.h"
#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_tools.h"

static const struct flow {
    const char *kind, *sections;
    const char *what; /* what the first row is */
    const char *by;   /* its number; NULL: none */
} flows[] = {
    {"channels", "channels", "has the most items", "sent"},
    {"tasks", "tasks,task-waits,open-tasks", "took the most time", "total_ns"},
    {"streams", "streams", "yields the most items", "items"},
    {"loops", "loops", "is the busiest event loop, with turns of at most", "longest_turn_ns"},
    {"io", "io,io-by", "takes the most time", "time_ns"},
};

static const struct flow *flow_of(const struct hp_mcp_call *call)
{
    const struct flow *found = &flows[0];
    for (size_t at = 0; at < sizeof flows / sizeof flows[0]; at++)
        if (hp_mcp_is(call, "kind", flows[at].kind))
            found = &flows[at];
    return found;
}

/* Receivers that wait may have nothing to do: only senders that wait say anything. False: none do. */
static bool put_jam(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    struct hp_channel_jam jam;
    if (!hp_channel_jam_of(call->run.model, true, &jam))
        return false;
    hp_mcp_put_format(answer,
                      "Senders of %s were blocked %.0f %% of their time: the consumer%s%s is the "
                      "bottleneck.",
                      hp_mcp_quoted(jam.channel).bytes, 100 * jam.part, jam.slow != NULL ? " " : "",
                      jam.slow != NULL ? hp_mcp_quoted(jam.slow).bytes : "");
    return true;
}

static const struct hotpath_section *first_section(const hotpath_results *results)
{
    for (size_t at = 0; at < results->section_count; at++)
        if (results->sections[at]->row_count > 0)
            return results->sections[at];
    return NULL;
}

static void put_first(struct hp_mcp_answer *answer, const struct flow *flow, const struct hotpath_section *section)
{
    const struct hp_row *row = &section->rows[0];
    const char *function = hp_mcp_row_text(section, row, "function"), *op = hp_mcp_row_text(section, row, "op");
    hp_mcp_put_format(answer, "%s%s%s%s %s: %s%s%s.", hp_mcp_row_quoted(section, row, "name").bytes,
                      op != NULL ? " (" : "", op != NULL ? op : "", op != NULL ? ")" : "", flow->what,
                      hp_mcp_row_shown(section, row, flow->by).bytes, function != NULL ? ", in " : "",
                      function != NULL ? hp_mcp_quoted(function).bytes : "");
}

static void next_function(struct hp_mcp_answer *answer, const hotpath_results *results)
{
    static const char *const keys[] = {"receivers", "callback"};
    const struct hotpath_section *by = hp_mcp_section(results, "io-by");
    const char *name = by != NULL ? hp_mcp_row_text(by, &by->rows[0], "name") : NULL;
    const struct hotpath_section *section = first_section(results);
    for (size_t at = 0; name == NULL && at < sizeof keys / sizeof keys[0]; at++)
        name = hp_mcp_row_text(section, &section->rows[0], keys[at]);
    /* A list of several, or one that is no function, is no name. */
    if (name != NULL && name[0] != '<' && strpbrk(name, " ,") == NULL)
        hp_mcp_next(answer, "function", "name", name, NULL);
}

static bool answer_flow(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    const struct flow *flow = flow_of(call);
    const hotpath_results *results = hp_mcp_results(call, flow->sections, NULL);
    struct hp_channel_jam jam;
    if (results == NULL)
        return false;
    const struct hotpath_section *first = first_section(results);
    const bool are_channels = strcmp(flow->kind, "channels") == 0;
    if (first == NULL)
        hp_mcp_put_sentence(answer, hp_mcp_why_empty(results, flow->kind));
    else if (!are_channels || !put_jam(call, answer))
        put_first(answer, flow, first);
    for (size_t at = 0; at < results->section_count; at++)
        if (results->sections[at]->row_count > 0)
            hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = results->sections[at],
                                                                      .limit = hp_mcp_count(call, "limit")});
    hp_mcp_put_trust(answer, results);
    if (are_channels && first != NULL && hp_channel_jam_of(call->run.model, true, &jam) && jam.slow != NULL)
        hp_mcp_next(answer, "function", "name", jam.slow, NULL);
    else if (first != NULL)
        next_function(answer, results);
    hp_mcp_next_usual(call, answer);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "kind", .type = HP_MCP_CHOICE, .words = "channels|tasks|streams|loops|io"},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
};

const struct hp_mcp_tool hp_mcp_tool_flow = {
    .name = "flow",
    .about =
        "What moves through the program. channels: queues and pipes, which side waits; tasks: requests and what "
        "they waited for; streams; loops: longest turns of event loops; io: files, connections and labels.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = answer_flow,
};
