/*
 * The sections about single calls: the latest ones, and the slowest one with everything inside it.
 * SPDX-License-Identifier: MIT
 */
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

static void logged_calls_add_the_section(void **state)
{
    (void)state;
    build_session();
    fixture_build();
    assert_null(section_named("calls")); /* a log without calls */
    strcpy(settings.show.report, "calls");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 0);
    assert_non_null(strstr(section_named("calls")->if_empty, "HOTPATH_LOG"));
    builder_logged_call(&builder, lex_node, 120, 30, 4242, NULL);
    settings.show.report[0] = '\0';
    fixture_build();
    assert_non_null(section_named("calls"));
    assert_non_null(section_named("timing"));
}

/* Each thread has kept as many as it was asked for; of all of them the latest count. */
static void calls_of_threads_are_merged_and_limited(void **state)
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
    settings.record.logs_limit = 3;
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
    settings.show.functions_limit = 1;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 3);
    settings.record.logs_limit = settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 30);
    strcpy(settings.show.focus, "lex");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("calls")), 10);
    assert_call(0, "lex", END - 9050, 50, 4242);
    strcpy(settings.show.focus, "nobody");
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
static void calls_that_start_in_the_future_start_now(void **state)
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
    strcpy(settings.show.report, "calls");
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
    settings.output.format = HP_FORMAT_JSON;
    const char *json = fixture_render(0, false);
    assert_null(strchr(json, '\x1b'));
    assert_non_null(strstr(json, "\"note\":\"a\\u001b[31m\\nb"));
}

/* ----------------------------------------------------------------------------------------- the slowest */

static void assert_part(size_t row, uint32_t depth, const char *name, uint64_t calls, double total, double self,
                        double percent)
{
    const hotpath_section *slowest = section_named("slowest");
    assert_true(row < hotpath_section_rows(slowest));
    assert_string_equal(cell_of(slowest, row, "name").text, name);
    assert_int_equal(slowest->rows[row].depth, depth);
    assert_int_equal(cell_of(slowest, row, "calls").count, calls);
    assert_float_equal(cell_of(slowest, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(slowest, row, "self_ns").number, self, 0.001);
    assert_float_equal(cell_of(slowest, row, "percent_call").number, percent, 0.001);
}

static size_t slowest_rows(void) { return hotpath_section_rows(section_named("slowest")); }

static bool has_note(const char *words)
{
    const hotpath_section *section = section_named("slowest");
    for (size_t at = 0; at < section->note_count; at++)
        if (strstr(section->notes[at], words) != NULL)
            return true;
    return false;
}

/* A call of parse of 1000 ticks, with lex, eval and, inside eval, lex again. */
static uint32_t build_slow_call(void)
{
    build_session();
    const uint32_t eval_node = builder_node(&builder, thread, parse_node, builder_site(&builder, "eval", "a.c", 3));
    const uint32_t inner_lex = builder_node(&builder, thread, eval_node, lex);
    const uint32_t slow = builder_slow_call(&builder, parse_node, 300, 1000, 100, 4, 32);
    struct hp_slow_row *row = builder_slow_row(&builder, slow, lex_node, 3, 200, 200);
    builder_slow_row(&builder, slow, eval_node, 2, 700, 250);
    builder_slow_row(&builder, slow, inner_lex, 9, 450, 450);
    builder_slow_note(&builder, slow, row, "id=7");
    builder_slow_note(&builder, slow, NULL, "whole");
    return slow;
}

static void the_slowest_call_is_a_tree(void **state)
{
    (void)state;
    build_slow_call();
    strcpy(settings.show.slowest, "parse");
    fixture_build();
    const hotpath_section *slowest = section_named("slowest");
    assert_true(slowest->is_tree);
    assert_string_equal(slowest->percent_of, "call");
    assert_int_equal(slowest_rows(), 4);
    assert_int_equal(hotpath_section_total_rows(slowest), 4);
    assert_part(0, 0, "parse", 1, 1000, 100, 100);
    assert_part(1, 1, "eval", 2, 700, 250, 70);
    assert_part(2, 2, "lex", 9, 450, 450, 45);
    assert_part(3, 1, "lex", 3, 200, 200, 20);
    assert_text("slowest", 0, "note", "whole");
    assert_text("slowest", 1, "note", NULL);
    assert_text("slowest", 3, "note", "id=7");
    assert_text("slowest", 0, "thread", "demo");
    assert_text("slowest", 1, "thread", NULL);
    assert_int_equal(cell_of(slowest, 0, "tid").count, 4242);
    assert_float_equal(cell_of(slowest, 0, "started_ns").number, 300, 0.001);
    assert_float_equal(cell_of(slowest, 0, "ago_ns").number, END - 1300, 0.001);
    assert_false(cell_of(slowest, 1, "started_ns").has_value);
    assert_string_equal(slowest->description,
                        "The slowest call of parse: 300.00 ns after the start, 998.70 µs before "
                        "the end, thread 4242 (demo).");
    assert_int_equal(slowest->note_count, 0);
}

static void naming_a_function_adds_the_section(void **state)
{
    (void)state;
    build_slow_call();
    fixture_build();
    assert_null(section_named("slowest"));
    strcpy(settings.show.slowest, "parse");
    fixture_build();
    assert_non_null(section_named("timing"));
    assert_non_null(section_named("slowest"));
    strcpy(settings.show.report, "calltree");
    fixture_build();
    assert_null(section_named("timing"));
    assert_non_null(section_named("slowest"));
    strcpy(settings.show.report, "-slowest");
    fixture_build();
    assert_null(section_named("slowest"));
    strcpy(settings.show.report, "slowest");
    settings.show.slowest[0] = '\0';
    fixture_build();
    assert_int_equal(slowest_rows(), 0);
    assert_non_null(strstr(section_named("slowest")->if_empty, "--slowest NAME"));
}

static void slowest_takes_a_name_or_a_pattern(void **state)
{
    (void)state;
    build_slow_call();
    const uint32_t longer = builder_node(&builder, thread, 0, builder_site(&builder, "parse_all", "a.c", 4));
    builder_call(&builder, thread, longer, 2000, 0);
    builder_slow_call(&builder, longer, 0, 2000, 2000, 0, 0);
    strcpy(settings.show.slowest, "parse");
    fixture_build();
    assert_int_equal(slowest_rows(), 4); /* the function of that very name and no other */
    strcpy(settings.show.slowest, "pars");
    fixture_build();
    assert_int_equal(slowest_rows(), 5);
    assert_part(0, 0, "parse_all", 1, 2000, 2000, 100);
    assert_part(1, 0, "parse", 1, 1000, 100, 100);
    assert_string_equal(section_named("slowest")->description, "The slowest call of each of these functions.");
    assert_true(is_visible("slowest", "started_ns") && is_visible("slowest", "tid"));
    settings.show.functions_limit = 1;
    fixture_build();
    assert_int_equal(slowest_rows(), 1);
    assert_int_equal(hotpath_section_total_rows(section_named("slowest")), 2);
    strcpy(settings.show.slowest, "/^parse_/");
    fixture_build();
    assert_int_equal(slowest_rows(), 1);
    strcpy(settings.show.slowest, "no\x1b"
                                  "body");
    fixture_build();
    assert_int_equal(slowest_rows(), 0);
    assert_string_equal(section_named("slowest")->if_empty, "no called function matches 'no\\x1bbody'");
}

/* It is no question of the name, which is a pattern for all of them in the console. */
static void slowest_of_a_program_without_zones(void **state)
{
    (void)state;
    strcpy(settings.show.slowest, "/./");
    fixture_build();
    assert_string_equal(section_named("slowest")->if_empty,
                        "no function was measured: macros, or -finstrument-functions, measure calls");
}

static void slowest_call_of_all_threads_and_processes(void **state)
{
    (void)state;
    build_slow_call();
    strcpy(settings.show.slowest, "parse");
    const uint32_t node = builder_node(&builder, worker, 0, parse);
    const uint32_t inner = builder_node(&builder, worker, node, lex);
    builder_call(&builder, worker, node, 5000, 1000);
    const uint32_t slow = builder_slow_call(&builder, node, 9, 5000, 4000, 1, 0);
    ((struct hp_slow_call *)builder_at(&builder, slow))->call.tid = 4243;
    builder_slow_row(&builder, slow, inner, 8, 1000, 1000);
    fixture_build();
    assert_int_equal(slowest_rows(), 2);
    assert_part(0, 0, "parse", 1, 5000, 4000, 100);
    assert_part(1, 1, "lex", 8, 1000, 1000, 20);
    assert_text("slowest", 0, "thread", "worker");
    ((struct hp_slow_call *)builder_at(&builder, slow))->call.tid = 77; /* an earlier thread of the same record */
    fixture_build();
    assert_text("slowest", 0, "thread", NULL);
    assert_int_equal(cell_of(section_named("slowest"), 0, "tid").count, 77);
    assert_null(strstr(section_named("slowest")->description, "worker"));
    struct session_builder *other = fixture_add_session();
    const uint32_t its_thread = builder_thread(other);
    const uint32_t its_node = builder_node(other, its_thread, 0, builder_site(other, "parse", "a.c", 2));
    builder_call(other, its_thread, its_node, 6000, 0);
    builder_slow_call(other, its_node, 0, 6000, 6000, 0, 0);
    fixture_build();
    assert_int_equal(slowest_rows(), 1);
    assert_part(0, 0, "parse", 1, 6000, 6000, 100);
    assert_int_equal(cell_of(section_named("slowest"), 0, "pid").count, 4243);
}

static void slowest_call_without_details_is_noted(void **state)
{
    (void)state;
    build_session();
    strcpy(settings.show.slowest, "lex");
    fixture_build();
    assert_int_equal(slowest_rows(), 1);
    const hotpath_section *slowest = section_named("slowest");
    assert_float_equal(cell_of(slowest, 0, "total_ns").number, 600, 0.001);
    assert_false(cell_of(slowest, 0, "self_ns").has_value);
    assert_false(cell_of(slowest, 0, "tid").has_value);
    assert_true(has_note(
        "the calls inside were not kept: calls of lex are too short, or have not ended, or sampling was on"));
    strcpy(settings.show.slowest, "/lex|parse/");
    fixture_build();
    assert_int_equal(slowest_rows(), 2);
    assert_true(has_note("the calls inside were not kept: calls of 2 functions are too short"));
    builder_slow_call(&builder, lex_node, 0, 500, 500, 0, 0);
    strcpy(settings.show.slowest, "lex");
    fixture_build();
    assert_part(0, 0, "lex", 1, 500, 500, 100);
    assert_true(has_note("a call of lex took longer, 600.00 ns, but has not ended or was not recorded in detail"));
}

static void rows_that_were_left_out_are_counted(void **state)
{
    (void)state;
    const uint32_t slow = build_slow_call();
    strcpy(settings.show.slowest, "parse");
    ((struct hp_slow_call *)builder_at(&builder, slow))->rows_left_out = 12;
    fixture_build();
    assert_true(has_note("12 more call paths were not kept"));
    settings.show.calltree_limit = 2;
    fixture_build();
    assert_int_equal(slowest_rows(), 3); /* the call, and the two hottest rows below it */
    assert_int_equal(hotpath_section_total_rows(section_named("slowest")), 4);
    assert_part(2, 2, "lex", 9, 450, 450, 45);
}

/* Times that cannot be, as a broken file may have them. */
static void shares_are_at_most_100_percent(void **state)
{
    (void)state;
    build_session();
    strcpy(settings.show.slowest, "parse");
    const uint32_t slow = builder_slow_call(&builder, parse_node, 300, 1000, 100, 2, 0);
    builder_slow_row(&builder, slow, lex_node, 3, 1700, 900);
    builder_slow_row(&builder, slow, parse_node, 1, 300, 300); /* recursion onto the call's own node */
    fixture_build();
    assert_part(1, 1, "lex", 3, 1700, 900, 100);
    assert_part(2, 1, "parse", 1, 300, 300, 30);
    struct hp_slow_call *call = builder_at(&builder, slow);
    call->call.ticks = 0;
    builder_rows(call)[0].total = builder_rows(call)[0].self = builder_rows(call)[0].calls = UINT64_MAX;
    fixture_build();
    assert_false(cell_of(section_named("slowest"), 1, "percent_call").has_value);
    assert_float_equal(cell_of(section_named("slowest"), 1, "self_ns").number, 0, 0.001); /* below zero */
}

static struct hotpath_node_ *node_at(uint32_t node) { return builder_at(&builder, node); }

/* Rows with broken nodes still have a place. */
static void broken_trees_become_valid_trees(void **state)
{
    (void)state;
    const uint32_t slow = build_slow_call();
    strcpy(settings.show.slowest, "parse");
    struct hp_slow_call *call = builder_at(&builder, slow);
    const uint32_t eval_node = builder_rows(call)[1].node, inner = builder_rows(call)[2].node;
    /* The parent has no row: the row moves up to its nearest ancestor that has one, here the call. */
    builder_rows(call)[1].node = builder_node(&builder, worker, 0, parse);
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
    assert_part(1, 1, "parse", 2, 700, 250, 70);
    assert_part(2, 1, "lex", 9, 450, 450, 45);
    /* A parent that comes later is ignored, so two rows cannot be each other's parents. */
    builder_rows(call)[1].node = eval_node;
    node_at(eval_node)->parent = inner;
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
    assert_part(1, 1, "eval", 2, 700, 250, 70);
    assert_part(2, 2, "lex", 9, 450, 450, 45);
    node_at(eval_node)->parent = eval_node; /* its own parent */
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
    assert_part(2, 2, "lex", 9, 450, 450, 45);
    /* Nodes that are not there, or none: the same one three times, too. */
    builder_rows(call)[0].node = builder_rows(call)[1].node = builder_rows(call)[2].node = UINT32_MAX;
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
    assert_part(1, 1, "<unknown>", 2, 700, 250, 70);
    builder_rows(call)[0].node = builder_rows(call)[1].node = builder_rows(call)[2].node = 0;
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
    call->call.node = 12345;
    fixture_build();
    assert_int_equal(slowest_rows(), 4);
}

/* A path deeper than readers of JSON bear, and many functions that claim the same large call. */
static void large_calls_are_bounded(void **state)
{
    (void)state;
    build_session();
    strcpy(settings.show.slowest, "/./");
    settings.show.functions_limit = settings.show.calltree_limit = HOTPATH_NO_LIMIT;
    const uint32_t slow = builder_slow_call(&builder, parse_node, 0, 5000, 0, 1000, 0);
    uint32_t node = parse_node;
    for (unsigned depth = 0; depth < 1000; depth++) {
        node = builder_node(&builder, thread, node, lex);
        builder_slow_row(&builder, slow, node, 1, 5000 - depth, 1);
    }
    fixture_build();
    const hotpath_section *slowest = section_named("slowest");
    assert_int_equal(slowest->rows[199].depth, 199);
    assert_int_equal(slowest_rows(), 200 + 1); /* and lex, without a log */
    const uint32_t shared = builder_stat(&builder, thread, parse)->slowest;
    for (unsigned count = 0; count < 500; count++) {
        const uint32_t site = builder_site(&builder, "f", "b.c", count);
        builder_call(&builder, thread, builder_node(&builder, thread, 0, site), 1, 0);
        builder_stat(&builder, thread, site)->slowest = shared;
    }
    fixture_build();
    assert_true(slowest_rows() < 502 + builder_size(&builder) / sizeof(struct hp_slow_row));
}

static void the_slowest_call_is_shown_safely(void **state)
{
    (void)state;
    build_session();
    const uint32_t site = builder_site(&builder, "e\x1b[31mvil", "a.c", 9);
    const uint32_t node = builder_node(&builder, thread, 0, site);
    builder_call(&builder, thread, node, 4000, 0);
    const uint32_t slow = builder_slow_call(&builder, node, 10, 4000, 1000, 1, 100);
    struct hp_slow_row *row = builder_slow_row(&builder, slow, lex_node, 3, 3000, 3000);
    builder_slow_note(&builder, slow, row, "\x1b]0;title\x07 of a note that is longer than twenty columns");
    strcpy(((struct hp_thread *)builder_at(&builder, thread))->name, "t\x1b[1m");
    strcpy(settings.show.report, "slowest");
    strcpy(settings.show.slowest, "vil");
    const char *table = fixture_render(0, false);
    assert_null(strchr(table, '\x1b'));
    assert_null(strchr(table, '\x07'));
    assert_non_null(strstr(table, "slowest - The slowest call of e\\x1b[31mvil: 10.00 ns after the start"));
    assert_non_null(strstr(table, "thread 4242 (t\\x1b[1m)."));
    static const uint32_t widths[] = {60, 80, 120};
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++)
        assert_lines_fit(fixture_render(widths[at], false), widths[at]);
    settings.output.format = HP_FORMAT_JSON;
    const char *json = fixture_render(0, false);
    assert_null(strchr(json, '\x1b'));
    assert_non_null(strstr(json, "\"percent_of\":\"call\""));
    assert_non_null(strstr(json, "\"name\":\"lex\",\"calls\":3,\"polls\":null,\"total_ns\":3000,\"self_ns\":3000,"
                                 "\"percent_call\":75,\"note\":\"\\u001b]0;title\\u0007 of a note"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_latest_calls_come_by_function),
        TEST(logged_calls_add_the_section),
        TEST(calls_of_threads_are_merged_and_limited),
        TEST(names_of_earlier_threads_are_not_known),
        TEST(processes_are_merged),
        TEST(calls_that_start_in_the_future_start_now),
        TEST(notes_are_shown_safely),
        TEST(the_slowest_call_is_a_tree),
        TEST(naming_a_function_adds_the_section),
        TEST(slowest_takes_a_name_or_a_pattern),
        TEST(slowest_of_a_program_without_zones),
        TEST(slowest_call_of_all_threads_and_processes),
        TEST(slowest_call_without_details_is_noted),
        TEST(rows_that_were_left_out_are_counted),
        TEST(shares_are_at_most_100_percent),
        TEST(broken_trees_become_valid_trees),
        TEST(large_calls_are_bounded),
        TEST(the_slowest_call_is_shown_safely),
    };
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
