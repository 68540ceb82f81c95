/* The section about single calls: the latest ones. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "utf8.h"

#define END 1000000u /* ticks from the start of a session to its end */

static uint32_t thread, worker;
static uint32_t parse, lex, parse_node, lex_node;

/* Two threads; parse takes 1000 ticks in all, lex inside it 600. Both are logged on the first one. */
static void build_session(void)
{
    thread = builder_thread(&builder);
    worker = builder_thread(&builder);
    strcpy(((struct hp_thread *)builder_at(&builder, thread))->name, "demo");
    strcpy(((struct hp_thread *)builder_at(&builder, worker))->name, "worker");
    lex = builder_site(&builder, "lex", "a.c", 1);
    parse = builder_site(&builder, "parse", "a.c", 2);
    parse_node = builder_node(&builder, thread, 0, parse);
    lex_node = builder_node(&builder, thread, parse_node, lex);
    builder_call(&builder, thread, parse_node, 1000, 600);
    builder_call(&builder, thread, lex_node, 600, 0);
    builder_log(&builder, thread, parse, 50);
    builder_log(&builder, thread, lex, 50);
}

/* ------------------------------------------------------------------------------------------ the latest */

static void assert_call(size_t row, const char *name, double ago, double duration, uint64_t tid)
{
    const hotpath_section *calls = section_named("calls");
    assert_string_equal(cell_of(calls, row, "name").text, name);
    assert_float_equal(cell_of(calls, row, "ago_ns").number, ago, 0.001);
    assert_float_equal(cell_of(calls, row, "duration_ns").number, duration, 0.001);
    assert_int_equal(cell_of(calls, row, "tid").count, tid);
}

static void assert_text(const char *section, size_t row, const char *key, const char *text)
{
    const struct hotpath_cell cell = cell_of(section_named(section), row, key);
    assert_int_equal(cell.has_value, text != NULL);
    if (text != NULL)
        assert_string_equal(cell.text, text);
}

static bool is_visible(const char *section, const char *key)
{
    return section_named(section)->columns[column_of(section_named(section), key)].shown.visible;
}

static void the_latest_calls_come_by_function(void **state)
{
    (void)state;
    build_session();
    builder_logged_call(&builder, lex_node, 120, 30, 4242, NULL);
    builder_logged_call(&builder, parse_node, 100, 500, 4242, "rows=5");
    builder_logged_call(&builder, parse_node, 700, 400, 4242, NULL);
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 3);
    assert_int_equal(hotpath_section_total_rows(section_named("calls")), 3);
    assert_call(0, "parse", END - 1100, 400, 4242);
    assert_call(1, "parse", END - 600, 500, 4242);
    assert_call(2, "lex", END - 150, 30, 4242);
    assert_text("calls", 0, "note", NULL);
    assert_text("calls", 1, "note", "rows=5");
    assert_text("calls", 1, "thread", "demo");
    assert_int_equal(cell_of(section_named("calls"), 1, "pid").count, 4242);
    assert_true(is_visible("calls", "note"));
    assert_false(is_visible("calls", "thread")); /* there is one only */
    assert_false(is_visible("calls", "tid"));
    assert_false(is_visible("calls", "pid"));
}

static void calls_show_up_by_themselves(void **state)
{
    (void)state;
    build_session();
    fixture_build();
    assert_null(section_named("calls")); /* a log without calls */
    strcpy(settings.report, "calls");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 0);
    assert_non_null(strstr(section_named("calls")->if_empty, "HOTPATH_LOG"));
    builder_logged_call(&builder, lex_node, 120, 30, 4242, NULL);
    settings.report[0] = '\0';
    fixture_build();
    assert_non_null(section_named("calls"));
    assert_non_null(section_named("timing"));
}

/* Each thread has kept as many as it was asked for; of all of them the latest count. */
static void threads_are_merged_and_cut(void **state)
{
    (void)state;
    build_session();
    const uint32_t node = builder_node(&builder, worker, 0, parse);
    builder_log(&builder, worker, parse, 50);
    for (uint64_t at = 0; at < 10; at++) {
        builder_logged_call(&builder, parse_node, 1000 * at, 100, 4242, NULL);
        builder_logged_call(&builder, node, 1000 * at + 500, 10, 4243, NULL);
        builder_logged_call(&builder, lex_node, 1000 * at, 50, 4242, NULL);
    }
    settings.logs_limit = 3;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 6);
    assert_int_equal(hotpath_section_total_rows(section_named("calls")), 30);
    assert_call(0, "parse", END - 9510, 10, 4243);
    assert_call(1, "parse", END - 9100, 100, 4242);
    assert_call(2, "parse", END - 8510, 10, 4243);
    assert_call(3, "lex", END - 9050, 50, 4242);
    assert_text("calls", 0, "thread", "worker");
    assert_text("calls", 1, "thread", "demo");
    assert_true(is_visible("calls", "thread"));
    assert_true(is_visible("calls", "tid"));
    settings.functions_limit = 1;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 3);
    settings.logs_limit = settings.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 30);
    strcpy(settings.focus, "lex");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 10);
    assert_call(0, "lex", END - 9050, 50, 4242);
    strcpy(settings.focus, "nobody");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 0);
    assert_non_null(strstr(section_named("calls")->if_empty, "focus"));
}

/* A thread record has the name of its latest thread; calls of those before have nothing but a number. */
static void names_of_earlier_threads_are_not_known(void **state)
{
    (void)state;
    build_session();
    builder_logged_call(&builder, parse_node, 10, 20, 77, NULL);
    builder_logged_call(&builder, parse_node, 50, 20, 4242, NULL);
    fixture_build();
    assert_call(0, "parse", END - 70, 20, 4242);
    assert_text("calls", 0, "thread", "demo");
    assert_call(1, "parse", END - 30, 20, 77);
    assert_text("calls", 1, "thread", NULL);
}

static void processes_are_merged(void **state)
{
    (void)state;
    build_session();
    builder_logged_call(&builder, parse_node, 100, 10, 4242, NULL);
    builder_logged_call(&builder, parse_node, 300, 10, 4242, NULL);
    struct session_builder *other = fixture_add_session();
    const uint32_t its_thread = builder_thread(other);
    const uint32_t its_parse = builder_site(other, "parse", "a.c", 2); /* another id than in the first one */
    const uint32_t its_node = builder_node(other, its_thread, 0, its_parse);
    builder_call(other, its_thread, its_node, 10, 0);
    builder_log(other, its_thread, its_parse, 5);
    builder_logged_call(other, its_node, 200, 10, 4243, NULL);
    builder_elapse(other, END / 2, 1);
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 3);
    assert_call(0, "parse", END - 310, 10, 4242);
    assert_call(1, "parse", END - 210, 10, 4243); /* up to the end of the run, not to that of its process */
    assert_call(2, "parse", END - 110, 10, 4242);
    assert_true(is_visible("calls", "pid"));
    assert_int_equal(cell_of(section_named("calls"), 1, "pid").count, 4243);
}

/* The clock of a hostile file: an end that is later than now, and one beyond all numbers. */
static void calls_of_the_future_are_of_now(void **state)
{
    (void)state;
    build_session();
    builder_logged_call(&builder, parse_node, 100, UINT64_MAX, 4242, NULL);
    builder_logged_call(&builder, parse_node, 2 * END, 5, 4242, NULL);
    fixture_build();
    assert_call(0, "parse", 0, (double)UINT64_MAX, 4242);
    assert_call(1, "parse", 0, 5, 4242);
}

static void assert_lines_fit(const char *text, size_t width)
{
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        assert_true(hp_utf8_columns(line, length) <= width);
        line += length + (line[length] == '\n');
    }
}

static void notes_are_shown_safely(void **state)
{
    (void)state;
    build_session();
    char note[HP_NOTE_BYTES + 1];
    memset(note, 'n', HP_NOTE_BYTES);
    note[HP_NOTE_BYTES] = '\0';
    builder_logged_call(&builder, parse_node, 100, 10, 4242, note);
    builder_logged_call(&builder, parse_node, 200, 10, 4242, "a\x1b[31m\nb\xff\xe2\x80\xae");
    strcpy(settings.report, "calls");
    const char *table = fixture_render(0, false);
    assert_null(strchr(table, '\x1b'));
    assert_non_null(strstr(table, "| a\\x1b[31m\\nb\xef\xbf\xbd\\u202e "));
    assert_non_null(strstr(table, note));
    static const uint32_t widths[] = {60, 80, 120};
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++) {
        table = fixture_render(widths[at], false);
        assert_lines_fit(table, widths[at]);
        assert_non_null(strstr(table, "| a\\x1b[3")); /* the column is there */
        assert_non_null(strstr(table, "nnn…nnn"));
    }
    settings.format = HP_FORMAT_JSON;
    const char *json = fixture_render(0, false);
    assert_null(strchr(json, '\x1b'));
    assert_non_null(strstr(json, "\"note\":\"a\\u001b[31m\\nb"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_latest_calls_come_by_function),
        TEST(calls_show_up_by_themselves),
        TEST(threads_are_merged_and_cut),
        TEST(names_of_earlier_threads_are_not_known),
        TEST(processes_are_merged),
        TEST(calls_of_the_future_are_of_now),
        TEST(notes_are_shown_safely),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
