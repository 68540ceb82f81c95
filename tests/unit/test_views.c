/* How rows are ordered, left out and split up on request. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Names of the rows, one after the other: "main parse lex". */
static const char *names_of(const char *section_name)
{
    static char names[512];
    const hotpath_section *section = section_named(section_name);
    names[0] = '\0';
    for (size_t row = 0; row < hotpath_section_rows(section); row++) {
        strcat(names, row > 0 ? " " : "");
        strcat(names, cell_of(section, row, "name").text);
    }
    return names;
}

static void sort_by(const char *column)
{
    strcpy(settings.sort, column);
    fixture_build();
}

/*
 *   main     1 call,  1000 ticks
 *     once   1 call,   500
 *     often  10 calls, 30 each, one of them 50: 320
 *     some   3 calls,  40 each: 120, on two threads
 *     never             a call that was not timed
 */
static void build_session(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "z.c", 10);
    const uint32_t once = builder_site(&builder, "once", "c.c", 1),
                   often = builder_site(&builder, "often", "b.c", 1);
    const uint32_t some = builder_site(&builder, "some", "a.c", 1),
                   never = builder_site(&builder, "never", "d.c", 1);
    builder_header(&builder)->main_site = main_site;
    const uint32_t first = builder_thread(&builder), second = builder_thread(&builder);
    const uint32_t main_node = builder_node(&builder, first, 0, main_site);
    builder_call(&builder, first, builder_node(&builder, first, main_node, once), 500, 0);
    const uint32_t often_node = builder_node(&builder, first, main_node, often);
    for (int call = 0; call < 10; call++)
        builder_call(&builder, first, often_node, call == 5 ? 50 : 30, 0);
    const uint32_t some_node = builder_node(&builder, first, main_node, some);
    builder_call(&builder, first, some_node, 40, 0);
    builder_call(&builder, first, some_node, 40, 0);
    builder_abandoned_call(&builder, builder_node(&builder, first, main_node, never));
    builder_call(&builder, first, main_node, 1000, 900);
    builder_call(&builder, second, builder_node(&builder, second, 0, some), 40, 0);
    builder_elapse(&builder, 2000, 1);
}

/* ---------------------------------------------------------------------------------------------- sorting */

static void rows_are_sorted_by_any_column(void **state)
{
    (void)state;
    static const struct {
        const char *sort, *names;
        const char *note; /* NULL: it is the usual order */
    } cases[] = {
        {"", "main once often some never", NULL},
        {"total", "main once often some never", NULL},
        {"Percent_Total", "main once often some never", NULL},
        {"-total_ns", "never some often once main", "rows are sorted by Total, ascending"},
        {"calls", "often some main once never", "rows are sorted by Calls, descending"},
        {"-calls", "main once never some often", "rows are sorted by Calls, ascending"},
        {"self", "once often some main never", "rows are sorted by Self, descending"},
        {"avg", "main once some often never", "rows are sorted by Avg, descending"},
        {"-avg", "often some once main never", "rows are sorted by Avg, ascending"},
        {"p95_ns", "main once often some never", "rows are sorted by P95, descending"},
        {"Max", "main once often some never", "rows are sorted by Max, descending"},
        {"min", "main once some often never", "rows are sorted by Min, descending"},
        {"threads", "some main once often never", "rows are sorted by Threads, descending"},
        {"name", "main never often once some", "rows are sorted by Function, ascending"},
        {"-Function", "some once often never main", "rows are sorted by Function, descending"},
        {"location", "some often once never main", "rows are sorted by Location, ascending"},
    };
    build_session();
    for (size_t at = 0; at < COUNT(cases); at++) {
        sort_by(cases[at].sort);
        const hotpath_section *timing = section_named("timing");
        assert_string_equal(names_of("timing"), cases[at].names);
        assert_int_equal(timing->note_count, cases[at].note != NULL);
        if (cases[at].note != NULL)
            assert_string_equal(timing->notes[0], cases[at].note);
        assert_int_equal(results->warning_count, 0);
    }
}

static void a_column_that_is_sorted_by_is_shown(void **state)
{
    (void)state;
    build_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_false(hotpath_section_column(timing, column_of(timing, "self_ns"))->visible);
    sort_by("-self");
    timing = section_named("timing");
    assert_true(hotpath_section_column(timing, column_of(timing, "self_ns"))->visible);
}

/* The limit is for what comes last in the order that holds; the main row is exempt. */
static void the_limit_follows_the_order(void **state)
{
    (void)state;
    build_session();
    settings.functions_limit = 2;
    sort_by("calls");
    assert_string_equal(names_of("timing"), "often some main");
    assert_int_equal(hotpath_section_total_rows(section_named("timing")), 5);
    sort_by("");
    assert_string_equal(names_of("timing"), "main once often");
}

static void siblings_are_sorted_by_the_same_column(void **state)
{
    (void)state;
    static const struct {
        const char *sort, *names;
    } cases[] = {
        {"", "main once often some never some"},       {"calls", "main often some once never some"},
        {"-calls", "main once never some often some"}, {"name", "main never often once some some"},
        {"-name", "some main some once often never"},  {"-percent_total", "some main never some often once"},
        {"p95", "main once often some never some"}, /* the tree has no such column */
    };
    build_session();
    strcpy(settings.report, "timing,calltree");
    for (size_t at = 0; at < COUNT(cases); at++) {
        sort_by(cases[at].sort);
        assert_string_equal(names_of("calltree"), cases[at].names);
        assert_int_equal(results->warning_count, 0);
    }
    sort_by("-open");
    assert_string_equal(section_named("calltree")->notes[0], "siblings are sorted by Open, ascending");
}

static void an_unknown_column_is_said_and_changes_nothing(void **state)
{
    (void)state;
    build_session();
    sort_by("-colour");
    assert_string_equal(names_of("timing"), "main once often some never");
    assert_int_equal(section_named("timing")->note_count, 0);
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(results->warnings[0],
                        "unknown column 'colour' to sort by: no section of this report has it; "
                        "rows are in their usual order");
}

static void json_says_the_order(void **state)
{
    (void)state;
    build_session();
    settings.format = HP_FORMAT_JSON;
    strcpy(settings.report, "all");
    assert_non_null(strstr(fixture_render(0, false), "\"percent_of\":\"main\",\"order\":{\"column\":\"total_ns\","
                                                     "\"direction\":\"descending\"},\"total_rows\""));
    strcpy(settings.sort, "name");
    assert_non_null(
        strstr(fixture_render(0, false), "\"order\":{\"column\":\"name\",\"direction\":\"ascending\"}"));
}

/* ----------------------------------------------------------------------------------------- least shares */

static void small_rows_are_left_out(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *timing, *tree;
    } cases[] = {
        {0, "main once often some never", "main once often some never some"},
        {0.001, "main once often some", "main once often some some"},
        {4, "main once often some", "main once often some some"}, /* what is exactly that is not below it */
        {4.001, "main once often some", "main once often some"},
        {12.001, "main once often", "main once often"},
        {33, "main once", "main once"},
        {100, "main", "main"},
    };
    build_session();
    strcpy(settings.report, "timing,calltree");
    for (size_t at = 0; at < COUNT(cases); at++) {
        settings.min_percent = cases[at].percent;
        fixture_build();
        assert_string_equal(names_of("timing"), cases[at].timing);
        assert_string_equal(names_of("calltree"), cases[at].tree);
        assert_int_equal(hotpath_section_total_rows(section_named("timing")), 5);
        assert_int_equal(hotpath_section_total_rows(section_named("calltree")), 6);
    }
    settings.functions_limit = 1;
    settings.min_percent = 33;
    sort_by("calls");
    assert_string_equal(names_of("timing"), "main once");
}

/* Self times count where they are shown. */
static void small_self_times_are_left_out(void **state)
{
    (void)state;
    build_session();
    settings.time_exclusive = true;
    settings.min_percent = 11;
    fixture_build();
    assert_string_equal(names_of("timing"), "once often some main"); /* main has 10 % */
    settings.exclude_wrapper = true;
    settings.min_percent = 30;
    fixture_build();
    assert_string_equal(names_of("timing"), "once often"); /* of 940 */
    settings.min_percent = 60;
    fixture_build();
    assert_string_equal(names_of("timing"), "");
    assert_non_null(strstr(fixture_render(80, false), "(0/4)\nevery function has a smaller share than "
                                                      "HOTPATH_MIN_PERCENT\n"));
}

/* A small parent takes its children along, whatever they claim. */
static void nobody_is_shown_without_its_parents(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t small = builder_node(&builder, thread, 0, builder_site(&builder, "small", "s.c", 1));
    const uint32_t large = builder_node(&builder, thread, small, builder_site(&builder, "large", "l.c", 1));
    builder_call(&builder, thread, large, 900, 0);
    builder_call(&builder, thread, small, 10, 0);
    builder_elapse(&builder, 1000, 1);
    strcpy(settings.report, "calltree");
    settings.min_percent = 50;
    fixture_build();
    assert_string_equal(names_of("calltree"), "");
    assert_int_equal(hotpath_section_total_rows(section_named("calltree")), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_sorted_by_any_column, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_column_that_is_sorted_by_is_shown, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_limit_follows_the_order, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(siblings_are_sorted_by_the_same_column, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_column_is_said_and_changes_nothing, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(json_says_the_order, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(small_rows_are_left_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(small_self_times_are_left_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(nobody_is_shown_without_its_parents, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
