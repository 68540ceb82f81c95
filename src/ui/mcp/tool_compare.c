/* compare: what has changed between runs; the text is that of `hotpath diff`. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* strtok_r */
#include <stdlib.h>
#include <string.h>

#include "mcp_results.h"
#include "mcp_tools.h"
#include "text.h"

/* How many "and 7 more" tells of; 0: it is another line. */
static size_t count_more(const char *rest)
{
    char *end;
    if (strncmp(rest, "and ", 4) != 0 || rest[4] < '0' || rest[4] > '9')
        return 0;
    const size_t more = strtoul(rest + 4, &end, 10);
    return strcmp(end, " more") == 0 ? more : 0;
}

/* "slower   render  +5.1 %": the kind, then what it is about. Both are cells: names in them are data. */
static void put_line(struct hp_mcp_answer *answer, char *line, size_t *count)
{
    const size_t kind = strcspn(line, " ");
    const char *rest = line + kind + strspn(line + kind, " ");
    const size_t more = count_more(rest);
    *count += more > 0 ? more : 1;
    if (more > 0 || !hp_mcp_table_has_room(answer))
        return;
    line[kind] = '\0';
    hp_mcp_table_cell(answer, line);
    hp_mcp_table_long_cell(answer, rest);
}

/* The first line is the answer. */
static void put_lines(struct hp_mcp_answer *answer, char *lines)
{
    static const char *const titles[] = {"what", "change"};
    size_t count = 0;
    char *line = strtok_r(lines, "\n", &lines);
    hp_mcp_put_sentence(answer, line != NULL ? line : "");
    hp_mcp_table_begin(answer, "changes", titles, 2);
    while ((line = strtok_r(NULL, "\n", &lines)) != NULL)
        put_line(answer, line, &count);
    hp_mcp_table_end(answer, count, NULL);
}

static bool answer_compare(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    const struct hp_mcp_words *before = &hp_mcp_value(call, "before")->words,
                              *now = &hp_mcp_value(call, "after")->words;
    struct hp_body body = {0};
    char buffer[4096];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_body_add, &body);
    bool is_done = call->source->compare(call->source->context, before, now, hp_mcp_count(call, "limit"), &text);
    if (!is_done)
        hp_mcp_fail(call, "%s", call->source->problem(call->source->context));
    else if (!hp_text_finish(&text) || !hp_body_add(&body, "", 1))
        is_done = hp_mcp_fail(call, "not enough memory for the comparison");
    else
        put_lines(answer, body.bytes);
    hp_body_free(&body);
    if (!is_done)
        return false;
    hp_mcp_put_note(answer,
                    "calls, allocations and bytes are judged from one run on each side, times from five: 'hotpath "
                    "bench' records them in turns");
    if (!hp_text_has_suffix(now->all[0], ".json")) { /* reports can only be compared */
        hp_mcp_next(answer, "verdict", "session", now->all[0], NULL);
        hp_mcp_next(answer, "functions", "session", now->all[0], NULL);
    }
    hp_mcp_next(answer, "sessions", NULL);
    return true;
}

static const struct hp_mcp_parameter parameters[] = {
    {.name = "before", .type = HP_MCP_WORDS, .is_required = true, .about = "sessions, or reports: NAME.json"},
    {.name = "after", .type = HP_MCP_WORDS, .is_required = true},
    {.name = "limit", .type = HP_MCP_COUNT, .usual = 10, .most = 1000, .about = "rows of one kind"},
};

const struct hp_mcp_tool hp_mcp_tool_compare = {
    .name = "compare",
    .about =
        "What has changed between runs: better, worse or not told apart, function by function, and what size of "
        "change these runs could show.",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof parameters[0],
    .is_of_sizes = true,
    .answer = answer_compare,
};
