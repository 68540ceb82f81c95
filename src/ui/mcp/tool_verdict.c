/* verdict: what limits a program, and why. SPDX-License-Identifier: MIT */
#include <string.h>

#include "channel_profile.h"
#include "mcp_results.h"
#include "mcp_section.h"
#include "mcp_tools.h"

#define SECTIONS                                                                                                   \
    "bottlenecks,timing,functions,critical-path,blocked-by,channels,tasks,streams,loops,io-by,alloc-bytes,alloc-"  \
    "functions"
#define CAUSES 3u

static void put_session(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    static const char *const titles[] = {"name", "command", "processes", "state", "took", "started"};
    const struct hp_stored_session *session = &call->run.session;
    struct hp_mcp_session_words words;
    call->source->describe(session, &words);
    hp_mcp_table_begin(answer, "session", titles, sizeof titles / sizeof titles[0]);
    hp_mcp_table_cell(answer, words.name);
    hp_mcp_table_cell(answer, session->command);
    hp_mcp_table_cell(answer, words.processes);
    hp_mcp_table_cell(answer, words.state);
    const struct hp_run *run = &call->run.model->run;
    hp_mcp_table_cell(answer, hp_mcp_duration(run, (double)hp_run_elapsed_ns(run)).bytes);
    hp_mcp_table_cell(answer, words.age);
    hp_mcp_table_end(answer, 1, NULL);
}

/* ------------------------------------------------------------------------------------------------- what is next */

/* An earlier run of the same program: what has changed since? */
static void next_comparison(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    struct hp_sessions sessions = {0};
    struct hp_mcp_session_words before, now;
    const struct hp_stored_session *session = &call->run.session, *earlier = NULL;
    call->source->list(call->source->context, &sessions);
    for (size_t at = 0; at < sessions.count && earlier == NULL; at++)
        if (strcmp(sessions.all[at].program, session->program) == 0 && session->program[0] != '\0' &&
            sessions.all[at].began_ns < session->began_ns)
            earlier = &sessions.all[at];
    if (earlier != NULL) {
        call->source->describe(earlier, &before);
        call->source->describe(session, &now);
        hp_mcp_next(answer, "compare", "before", before.name, "after", now.name, NULL);
    }
    hp_sessions_free(&sessions);
}

static bool is_word(const char *text, const char *word) { return text != NULL && strcmp(text, word) == 0; }

static bool has_memory(const hotpath_results *results)
{
    return hp_mcp_section(results, "alloc-bytes") != NULL || hp_mcp_section(results, "alloc-functions") != NULL;
}

/* What is not a function of the program, such as <hotpath>, is no cause. */
static bool is_cause(const void *unused, const struct hotpath_section *causes, const struct hp_row *row)
{
    (void)unused;
    const char *name = hp_mcp_row_text(causes, row, "name");
    return name == NULL || name[0] != '<' || strcmp(causes->name, "functions") != 0;
}

/* The one that the first sentence is about: most of its time may be in functions that it calls. */
static const struct hp_row *first_cause(const hotpath_results *results, const struct hotpath_section *causes)
{
    const struct hp_row *said =
        results->headline_function != NULL ? hp_mcp_row_named(causes, results->headline_function) : NULL;
    for (size_t at = 0; said == NULL && at < causes->row_count; at++)
        said = is_cause(NULL, causes, &causes->rows[at]) ? &causes->rows[at] : NULL;
    return said != NULL ? said : &causes->rows[0];
}

/* What the largest cause is asked about. */
static void next_of_cause(struct hp_mcp_answer *answer, const struct hotpath_section *causes,
                          const struct hotpath_section *blocks, const struct hp_row *row)
{
    const char *name = hp_mcp_row_text(causes, row, "name"), *verdict = hp_mcp_row_text(causes, row, "verdict");
    if (name == NULL)
        return;
    const bool waits = hp_mcp_row_number(causes, row, "waiting_ns") > hp_mcp_row_number(causes, row, "cpu_ns") &&
                       hp_mcp_row_number(causes, row, "waiting_ns") > hp_mcp_row_number(causes, row, "self_ns") / 2;
    if (is_word(verdict, "allocation-heavy"))
        hp_mcp_next(answer, "memory", NULL);
    else if ((is_word(verdict, "waiting") || waits) && (blocks == NULL || hp_mcp_row_named(blocks, name) != NULL))
        hp_mcp_next(answer, "waits", "function", name, NULL);
    else if (is_word(verdict, "waiting") || waits)
        hp_mcp_next(answer, "waits", NULL); /* threads wait for one another elsewhere */
    else
        hp_mcp_next(answer, "function", "name", name, NULL);
}

static void put_next(struct hp_mcp_call *call, struct hp_mcp_answer *answer, const hotpath_results *results,
                     const struct hotpath_section *causes)
{
    struct hp_channel_jam jam;
    if (hp_channel_jam_of(call->run.model, true, &jam))
        hp_mcp_next(answer, "flow", "kind", "channels", NULL);
    if (causes != NULL)
        next_of_cause(answer, causes, hp_mcp_section(results, "blocked-by"), first_cause(results, causes));
    if (has_memory(results))
        hp_mcp_next(answer, "memory", NULL);
    next_comparison(call, answer);
    hp_mcp_next(answer, "functions", NULL);
    hp_mcp_next_usual(call, answer);
}

static const struct {
    const char *section, *kind;
} flows[] = {
    {"channels", "channels"}, {"tasks", "tasks"}, {"io", "io"}, {"loops", "loops"}, {"streams", "streams"}};

#define FLOWS (sizeof flows / sizeof flows[0])

/* Where each tool begins: so that together they lead to all kinds of flow. */
static size_t first_flow(const struct hp_mcp_call *call)
{
    static const struct {
        const char *tool;
        size_t first;
    } firsts[] = {{"waits", 1}, {"function", 1}, {"memory", 2}, {"stacks", 3}};
    for (size_t at = 0; at < sizeof firsts / sizeof firsts[0]; at++)
        if (strcmp(call->tool->name, firsts[at].tool) == 0)
            return firsts[at].first;
    for (size_t at = 0; at < FLOWS; at++)
        if (strcmp(call->tool->name, "flow") == 0 && hp_mcp_is(call, "kind", flows[at].kind))
            return at + 1; /* those after this one */
    return 0;
}

static void next_flows(const struct hp_mcp_call *call, struct hp_mcp_answer *answer, const hotpath_results *results,
                       size_t most)
{
    const size_t first = first_flow(call);
    for (size_t at = 0; at < FLOWS && most > 0; at++)
        if (hp_mcp_section(results, flows[(first + at) % FLOWS].section) != NULL) {
            hp_mcp_next(answer, "flow", "kind", flows[(first + at) % FLOWS].kind, NULL);
            most--;
        }
}

void hp_mcp_next_flow(struct hp_mcp_call *call, struct hp_mcp_answer *answer, bool is_of_io)
{
    const hotpath_results *results = hp_mcp_results(call, "channels,tasks,streams,loops,io", NULL);
    if (results == NULL)
        return;
    if (is_of_io && hp_mcp_section(results, "io") != NULL)
        hp_mcp_next(answer, "flow", "kind", "io", NULL);
    else
        next_flows(call, answer, results, 1);
}

/*
 * What a session has besides functions. Each answer ends with what it did not say, so that all of a session is a
 * few calls away.
 */
void hp_mcp_next_usual(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    const bool is_flow = strcmp(call->tool->name, "flow") == 0, is_memory = strcmp(call->tool->name, "memory") == 0;
    const hotpath_results *results =
        hp_mcp_results(call, "channels,tasks,streams,loops,io,alloc-bytes,alloc-functions,locks", NULL);
    if (results == NULL)
        return;
    if (is_flow)
        next_flows(call, answer, results, FLOWS);
    if (has_memory(results) && !is_memory)
        hp_mcp_next(answer, "memory", NULL);
    next_flows(call, answer, results, 1);
    if (hp_mcp_section(results, "locks") != NULL)
        hp_mcp_next(answer, "waits", NULL);
    if (call->tool->is_of_session)
        next_comparison(call, answer);
    hp_mcp_next(answer, "functions", NULL);
    hp_mcp_next(answer, "sessions", NULL);
}

/* ------------------------------------------------------------------------------------------------------- answer */

/* Their order is that of all their time, in which the outermost is first. */
static const struct hp_row *most_own(const struct hotpath_section *timing)
{
    const struct hp_row *most = &timing->rows[0];
    for (size_t at = 1; at < timing->row_count; at++)
        if (hp_mcp_row_number(timing, &timing->rows[at], "self_ns") > hp_mcp_row_number(timing, most, "self_ns"))
            most = &timing->rows[at];
    return most;
}

static void put_timed(struct hp_mcp_answer *answer, const struct hotpath_section *timing)
{
    const struct hp_row *row = most_own(timing);
    hp_mcp_put_format(
        answer,
        "%s has the most time of its own (%s). Only times were recorded: whether it computes or waits "
        "is known with 'hotpath run', or HOTPATH_CPU=1 and HOTPATH_WAITS=1.",
        hp_mcp_row_quoted(timing, row, "name").bytes, hp_mcp_row_shown(timing, row, "self_ns").bytes);
}

bool hp_mcp_answer_verdict(struct hp_mcp_call *call, struct hp_mcp_answer *answer)
{
    static const char *const measured[] = {
        "name",      "verdict",       "percent_own", "work_ns", "percent_cpu", "percent_waiting",
        "waits_for", "percent_alloc", "why",         NULL};
    static const char *const timed[] = {"name",     "calls",         "avg_ns",  "p99_ns",
                                        "total_ns", "percent_total", "self_ns", NULL};
    static const char *const found[] = {"name",       "library",   "self_ns", "percent_self",
                                        "waiting_ns", "waits_for", NULL};
    const hotpath_results *results = hp_mcp_results(call, SECTIONS, NULL);
    if (results == NULL)
        return false;
    const struct hotpath_section *causes = hp_mcp_functions(results);
    const bool has_verdicts = causes != NULL && strcmp(causes->name, "bottlenecks") == 0;
    const bool is_timed = causes != NULL && strcmp(causes->name, "timing") == 0;
    if (results->headline != NULL)
        hp_mcp_put_headline(answer, results);
    else if (is_timed)
        put_timed(answer, causes);
    else
        hp_mcp_put_sentence(answer, hp_mcp_why_empty(results, "functions"));
    put_session(call, answer);
    if (causes != NULL)
        hp_mcp_put_section(answer, &(struct hp_mcp_section_table){.section = causes,
                                                                  .title = "causes",
                                                                  .keys = has_verdicts ? measured
                                                                          : is_timed   ? timed
                                                                                       : found,
                                                                  .takes = is_cause,
                                                                  .limit = CAUSES,
                                                                  .more = "functions {}"});
    hp_mcp_put_trust(answer, results);
    put_next(call, answer, results, causes);
    return true;
}

const struct hp_mcp_tool hp_mcp_tool_verdict = {
    .name = "verdict",
    .about =
        "What limits the program, the three largest causes with numbers, and how far to trust them. Begin here, "
        "then make a call of its \"next:\" lines.",
    .is_of_session = true,
    .is_of_sizes = true,
    .answer = hp_mcp_answer_verdict,
};
