/* sessions: what was recorded. SPDX-License-Identifier: MIT */
#include <string.h>

#include "mcp_results.h"
#include "mcp_tools.h"

static bool is_wanted(const struct hp_mcp_call *call, const struct hp_stored_session *session)
{
    return hp_mcp_is(call, "state", "any") || hp_mcp_is(call, "state", hp_session_state_name(session->state));
}

static void put_row(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const struct hp_stored_session *session)
{
    struct hp_mcp_session_words words;
    call->source->describe(session, &words);
    hp_mcp_table_cell(answer, words.name);
    hp_mcp_table_cell(answer, words.state);
    hp_mcp_table_cell(answer, words.age);
    hp_mcp_table_cell(answer, words.processes);
    hp_mcp_table_cell(answer, session->command);
}

static void put_next(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const struct hp_sessions *sessions)
{
    struct hp_mcp_session_words words[2];
    for (size_t at = 0; at < 2 && at < sessions->count; at++) {
        call->source->describe(&sessions->all[at], &words[at]);
        hp_mcp_next(answer, "verdict", "session", words[at].name, NULL);
    }
    if (sessions->count > 1)
        hp_mcp_next(answer, "compare", "before", words[1].name, "after", words[0].name, NULL);
}

static bool answer_sessions(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    static const char *const titles[] = {"name", "state", "started", "processes", "command"};
    struct hp_sessions sessions = {0};
    size_t wanted = 0, put = 0;
    call->source->list(call->source->context, &sessions);
    for (size_t at = 0; at < sessions.count; at++)
        wanted += is_wanted(call, &sessions.all[at]);
    if (wanted == 0)
        hp_mcp_put_sentence(
            answer, "There is no such session: run a program with 'hotpath run', or one built with -DHOTPATH.");
    else
        hp_mcp_put_format(answer, "%zu session%s, the newest first.", wanted, wanted == 1 ? "" : "s");
    hp_mcp_table_begin(answer, "sessions", titles, sizeof titles / sizeof titles[0]);
    for (size_t at = 0; at < sessions.count && put < hp_mcp_count(call, "limit"); at++)
        if (is_wanted(call, &sessions.all[at])) {
            put_row(call, answer, &sessions.all[at]);
            put++;
        }
    hp_mcp_table_end(answer, wanted, NULL);
    put_next(call, answer, &sessions);
    hp_sessions_free(&sessions);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000},
    {.name = "state", .type = HP_MCP_CHOICE, .words = "any|live|finished|crashed|elsewhere"},
};

const struct hp_mcp_tool hp_mcp_tool_sessions = {
    .name = "sessions",
    .about = "The recorded runs: name, state, age, processes, command.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_sizes = true,
    .answer = answer_sessions,
};
