/* Names of the program in answers for coding agents: in rows, or in quotes. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mcp_answer.h"
#include "mcp_tools.h"
#include "trust_line.h"

static char text[HP_MCP_FULL_BYTES];

/* What an answer with this one part says. */
static const char *said(void (*put)(struct hp_mcp_answer *answer))
{
    static struct hp_mcp_call call;
    struct hp_mcp_answer answer;
    struct hp_body body = {0};
    call = (struct hp_mcp_call){.tool = &hp_mcp_tool_functions};
    hp_mcp_answer_begin(&answer, &call);
    put(&answer);
    assert_true(hp_mcp_answer_end(&answer, &body));
    assert_true(body.length < sizeof text);
    memcpy(text, body.bytes, body.length);
    text[body.length] = '\0';
    hp_body_free(&body);
    return text;
}

static void quotes_hold_every_name(void **state)
{
    static const struct {
        const char *name, *quoted;
    } names[] = {
        {"parse", "parse"},
        {"std::vector<int>::at(int)", "std::vector<int>::at(int)"},
        {"/srv/x.db", "/srv/x.db"},
        {"", "\"\""},
        {"call run", "\"call run\""},
        {"a\" b \"c", "\"a\\\" b \\\"c\""},
        {"a \\", "\"a \\\\\""},
        {"a \\\" b", "\"a \\\\\\\" b\""},
        {"a\nnext: run {}", "\"a\\nnext: run {}\""},
        {"\x1b[31mred", "\"\\x1b[31mred\""},
        {"a|b", "\"a\\|b\""},
        {"**now**", "\"**now**\""},
    };
    (void)state;
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++)
        assert_string_equal(hp_mcp_quoted(names[at].name).bytes, names[at].quoted);
    assert_string_equal(hp_mcp_in_quotes("parse").bytes, "\"parse\"");
}

static void quotes_of_a_long_name_are_closed(void **state)
{
    char name[1000];
    (void)state;
    for (size_t length = HP_MCP_NAME_BYTES - 30; length < sizeof name; length++) {
        memset(name, length % 3 == 0 ? '"' : length % 3 == 1 ? '\\' : 'x', length);
        name[0] = ' ';
        name[length] = '\0';
        const struct hp_mcp_quoted quoted = hp_mcp_quoted(name);
        const size_t end = strlen(quoted.bytes);
        assert_true(end < sizeof quoted.bytes - 1);
        for (size_t at = 1; at < end; at++) {
            assert_true(quoted.bytes[at] != '"' || at == end - 1);
            at += quoted.bytes[at] == '\\';
        }
        assert_int_equal(quoted.bytes[0], '"');
        assert_int_equal(quoted.bytes[end - 1], '"');
    }
}

static void cells_stay_the_same(void **state)
{
    (void)state;
    const struct hp_mcp_cell_text once = hp_mcp_cell_text("a | b \\| c\n");
    assert_string_equal(once.bytes, "a \\| b \\| c\\n");
    assert_string_equal(hp_mcp_cell_text(once.bytes).bytes, once.bytes);
    assert_true(hp_mcp_is_name("a | b", "a \\| b"));
}

/* ----------------------------------------------------------------------------------------------------- headline */

static struct hotpath_results results;

static void take_headline(struct hp_text *line)
{
    static char kept[600];
    results.headline_name_count = hp_name_marks_take(line, results.headline_names, HP_NAME_MARKS);
    snprintf(kept, sizeof kept, "%s", hp_text_end(line));
    results.headline = kept;
}

static void put_headline(struct hp_mcp_answer *answer) { hp_mcp_put_headline(answer, &results); }

static void names_of_a_headline_are_in_quotes(void **state)
{
    char bytes[300];
    struct hp_text line;
    (void)state;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_name_put_marked(&line, "go on");
    hp_text_string(&line, " waits (");
    hp_text_mark_begin(&line);
    hp_text_string(&line, "lock do it held in ");
    hp_name_put_marked(&line, "go on");
    hp_name_mark_end(&line);
    hp_text_string(&line, ") for ");
    hp_text_put_marked(&line, "pipe", 4);
    hp_text_string(&line, " and ");
    hp_text_put_marked(&line, "say \"yes\"", 9);
    take_headline(&line);
    assert_string_equal(results.headline, "go on waits (lock do it held in go on) for pipe and say \"yes\"");
    assert_int_equal(results.headline_name_count, 5);
    size_t functions = 0;
    for (size_t at = 0; at < results.headline_name_count; at++)
        functions += results.headline_names[at].is_function;
    assert_int_equal(functions, 2);
    assert_string_equal(said(put_headline),
                        "\"go on\" waits (\"lock do it held in go on\") for pipe and \"say \\\"yes\\\"\"\n");
}

static void a_name_that_is_cut_off_is_in_quotes(void **state)
{
    char bytes[40];
    struct hp_text line;
    (void)state;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "The bottleneck is ");
    hp_name_put_marked(&line, "a name with many words that call run and more");
    take_headline(&line);
    assert_int_equal(results.headline_name_count, 1);
    assert_false(results.headline_names[0].is_function);
    assert_non_null(strstr(said(put_headline), "The bottleneck is \"a name with "));
    assert_int_equal(text[strlen(text) - 2], '"');
}

/* ---------------------------------------------------------------------------------------------------- the rest */

static struct hp_trust trust;

static void put_end(struct hp_mcp_answer *answer)
{
    static const char *const titles[] = {"Function", "Calls"};
    hp_mcp_put_format(answer, "%s waits.", hp_mcp_quoted("go on").bytes);
    hp_mcp_table_begin(answer, "functions", titles, 2);
    hp_mcp_table_cell(answer, "next: run {}");
    hp_mcp_table_cell(answer, NULL);
    hp_mcp_table_end(answer, 1, NULL);
    hp_mcp_put_trust(answer, &results);
    hp_mcp_put_warning(answer, "no lines of next: run {}");
    hp_mcp_next(answer, "function", "name", "a | \"b\"", NULL);
}

static void lines_with_names_begin_as_rows(void **state)
{
    (void)state;
    results = (struct hotpath_results){.trust = &trust, .warning_count = 1, .warnings = {"go on | has 3 % alone"}};
    trust.clock = "monotonic";
    assert_true(hp_text_begins(said(put_end), "\"go on\" waits.\n"
                                              "functions: Function | Calls\n"
                                              "| next: run {} | -\n"
                                              "warnings: warning\n"
                                              "| go on \\| has 3 % alone\n"
                                              "| no lines of next: run {}\n"
                                              "trust: clock monotonic"));
    assert_non_null(strstr(text, "\nnext: function {\"name\":\"a \\\\| \\\"b\\\"\"}\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_hold_every_name),
        cmocka_unit_test(quotes_of_a_long_name_are_closed),
        cmocka_unit_test(cells_stay_the_same),
        cmocka_unit_test(names_of_a_headline_are_in_quotes),
        cmocka_unit_test(a_name_that_is_cut_off_is_in_quotes),
        cmocka_unit_test(lines_with_names_begin_as_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
