/* Sorting, dropping and splitting rows on request. SPDX-License-Identifier: MIT */
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
    strcpy(settings.show.sort, column);
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

static void sort_column_is_shown(void **state)
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

/* The limit cuts the last rows of the chosen order; the main row always stays. */
static void the_limit_follows_the_order(void **state)
{
    (void)state;
    build_session();
    settings.show.functions_limit = 3;
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
    strcpy(settings.show.report, "timing,calltree");
    for (size_t at = 0; at < COUNT(cases); at++) {
        sort_by(cases[at].sort);
        assert_string_equal(names_of("calltree"), cases[at].names);
        assert_int_equal(results->warning_count, 0);
    }
    sort_by("-open");
    assert_string_equal(section_named("calltree")->notes[0], "siblings are sorted by Open, ascending");
}

static void unknown_sort_column_is_reported(void **state)
{
    (void)state;
    build_session();
    sort_by("-colour");
    assert_string_equal(names_of("timing"), "main once often some never");
    assert_int_equal(section_named("timing")->note_count, 0);
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(
        results->warnings[0],
        "unknown column 'colour' to sort by: no section of this report has it; rows are in their default order");
}

static void json_says_the_order(void **state)
{
    (void)state;
    build_session();
    settings.output.format = HP_FORMAT_JSON;
    strcpy(settings.show.report, "all");
    assert_non_null(strstr(fixture_render(0, false), "\"percent_of\":\"main\",\"order\":{\"column\":\"total_ns\","
                                                     "\"direction\":\"descending\"},\"total_rows\""));
    strcpy(settings.show.sort, "name");
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
        {4, "main once often some", "main once often some some"}, /* a share that equals the minimum is kept */
        {4.001, "main once often some", "main once often some"},
        {12.001, "main once often", "main once often"},
        {33, "main once", "main once"},
        {100, "main", "main"},
    };
    build_session();
    strcpy(settings.show.report, "timing,calltree");
    for (size_t at = 0; at < COUNT(cases); at++) {
        settings.show.min_percent = cases[at].percent;
        fixture_build();
        assert_string_equal(names_of("timing"), cases[at].timing);
        assert_string_equal(names_of("calltree"), cases[at].tree);
        assert_int_equal(hotpath_section_total_rows(section_named("timing")), 5);
        assert_int_equal(hotpath_section_total_rows(section_named("calltree")), 6);
    }
    settings.show.functions_limit = 2;
    settings.show.min_percent = 33;
    sort_by("calls");
    assert_string_equal(names_of("timing"), "main once");
}

/* Self times count where they are shown. */
static void small_self_times_are_left_out(void **state)
{
    (void)state;
    build_session();
    settings.show.time_exclusive = true;
    settings.show.min_percent = 11;
    fixture_build();
    assert_string_equal(names_of("timing"), "once often some main"); /* main has 10 % */
    settings.show.exclude_wrapper = true;
    settings.show.min_percent = 30;
    fixture_build();
    assert_string_equal(names_of("timing"), "once often"); /* of 940 */
    settings.show.min_percent = 60;
    fixture_build();
    assert_string_equal(names_of("timing"), "");
    assert_non_null(strstr(fixture_render(80, false), "(0/4)\nevery function has a smaller share than "
                                                      "HOTPATH_MIN_PERCENT\n"));
}

/* A small parent hides its children, whatever their numbers. */
static void rows_are_hidden_with_their_parents(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t small = builder_node(&builder, thread, 0, builder_site(&builder, "small", "s.c", 1));
    const uint32_t large = builder_node(&builder, thread, small, builder_site(&builder, "large", "l.c", 1));
    builder_call(&builder, thread, large, 900, 0);
    builder_call(&builder, thread, small, 10, 0);
    builder_elapse(&builder, 1000, 1);
    strcpy(settings.show.report, "calltree");
    settings.show.min_percent = 50;
    fixture_build();
    assert_string_equal(names_of("calltree"), "");
    assert_int_equal(hotpath_section_total_rows(section_named("calltree")), 2);
}

/* -------------------------------------------------------------------------------------------- by thread */

static void name_thread(struct session_builder *session, uint32_t thread, const char *name, uint32_t tid,
                        uint32_t generation)
{
    struct hp_thread *record = builder_at(session, thread);
    strcpy(record->name, name);
    record->tid = tid;
    record->generation = generation;
}

/* The row of a function on a thread, by what the column says. */
static size_t row_of(const char *name, const char *thread)
{
    const hotpath_section *timing = section_named("timing");
    size_t found = SIZE_MAX;
    for (size_t row = 0; row < hotpath_section_rows(timing); row++)
        if (strcmp(cell_of(timing, row, "name").text, name) == 0 &&
            strcmp(cell_of(timing, row, "thread").text, thread) == 0) {
            assert_int_equal(found, SIZE_MAX);
            found = row;
        }
    assert_int_not_equal(found, SIZE_MAX);
    return found;
}

static void assert_numbers(const char *name, const char *thread, uint64_t calls, double total, double least,
                           double most)
{
    const hotpath_section *timing = section_named("timing");
    const size_t row = row_of(name, thread);
    assert_int_equal(cell_of(timing, row, "calls").count, calls);
    assert_float_equal(cell_of(timing, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(timing, row, "self_ns").number, total, 0.001);
    assert_float_equal(cell_of(timing, row, "avg_ns").number, (float)(total / (double)calls), 0.001);
    assert_float_equal(cell_of(timing, row, "min_ns").number, least, 0.001);
    assert_float_equal(cell_of(timing, row, "max_ns").number, most, 0.001);
    assert_float_equal(cell_of(timing, row, "p95_ns").number, most, 0.001);
    assert_float_equal(cell_of(timing, row, "percent_total").number, (float)(total / 10),
                       0.001); /* main has 1000 */
}

/* Main on a thread of its own; work on four records: of two threads, of a handler, and of three threads in turn. */
static uint32_t build_threads(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "m.c", 1),
                   work = builder_site(&builder, "work", "w.c", 1);
    builder_header(&builder)->main_site = main_site;
    const uint32_t first = builder_thread(&builder), one = builder_thread(&builder);
    const uint32_t two = builder_thread(&builder), turns = builder_thread(&builder),
                   handler = builder_thread(&builder);
    name_thread(&builder, first, "demo", 4242, 1);
    name_thread(&builder, one, "worker", 5001, 1);
    name_thread(&builder, two, "worker", 5002, 1);
    name_thread(&builder, turns, "", 5003, 3);
    name_thread(&builder, handler, "", 5001, 1);
    builder_call(&builder, first, builder_node(&builder, first, 0, main_site), 1000, 0);
    const uint32_t node = builder_node(&builder, one, 0, work);
    builder_call(&builder, one, node, 10, 0);
    builder_call(&builder, one, node, 30, 0);
    builder_call(&builder, handler, builder_node(&builder, handler, 0, work), 60, 0);
    builder_call(&builder, two, builder_node(&builder, two, 0, work), 50, 0);
    builder_call(&builder, turns, builder_node(&builder, turns, 0, work), 20, 0);
    builder_stat(&builder, turns, work)->threads = 2;
    builder_elapse(&builder, 2000, 1);
    return turns;
}

static void functions_are_split_by_thread(void **state)
{
    (void)state;
    build_threads();
    settings.show.by = HP_BY_THREAD;
    strcpy(settings.show.report, "timing,calltree");
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 4);
    assert_int_equal(row_of("main", "demo 4242"), 0);
    assert_numbers("work", "worker 5001", 3, 100, 10, 60); /* with its handler */
    assert_numbers("work", "worker 5002", 1, 50, 50, 50);
    assert_numbers("work", "5003 (3 threads)", 1, 20, 20, 20);
    assert_int_equal(cell_of(timing, row_of("work", "5003 (3 threads)"), "threads").count, 2);
    assert_string_equal(timing->main, "main");
    assert_int_equal(timing->note_count, 1);
    assert_string_equal(timing->notes[0],
                        "(n threads): threads that ran one after another share a row, with the id of the last");
    assert_string_equal(names_of("calltree"), "main work"); /* of all threads, as ever */
    settings.show.functions_limit = 2;
    fixture_build();
    assert_string_equal(names_of("timing"), "main work");
    assert_int_equal(hotpath_section_total_rows(section_named("timing")), 4);
    sort_by("-thread");
    assert_string_equal(cell_of(section_named("timing"), 0, "thread").text, "worker 5002");
    settings.show.by = HP_BY_FUNCTION;
    strcpy(settings.show.sort, "");
    fixture_build();
    assert_false(has_column(section_named("timing"), "thread"));
}

static void json_has_threads_as_objects(void **state)
{
    (void)state;
    build_threads();
    settings.show.by = HP_BY_THREAD;
    settings.output.format = HP_FORMAT_JSON;
    const char *json = fixture_render(0, false);
    assert_non_null(strstr(json, "\"by\":\"thread\""));
    assert_non_null(strstr(json, "\"name\":\"work\",\"thread\":{\"name\":\"worker\",\"pid\":4242,\"tid\":5001,"
                                 "\"threads\":1},\"calls\":3,"));
    assert_non_null(strstr(json, "\"thread\":{\"name\":\"\",\"pid\":4242,\"tid\":5003,\"threads\":3}"));
}

/* Calls of a thread count up to now on that thread alone, and what measuring cost is known of it. */
static void open_zones_and_overhead_belong_to_a_thread(void **state)
{
    (void)state;
    const uint32_t outer = builder_site(&builder, "outer", "o.c", 1),
                   inner = builder_site(&builder, "inner", "i.c", 1);
    const uint32_t one = builder_thread(&builder), two = builder_thread(&builder);
    name_thread(&builder, one, "one", 1, 1);
    name_thread(&builder, two, "two", 2, 1);
    const uint32_t outer_one = builder_node(&builder, one, 0, outer),
                   outer_two = builder_node(&builder, two, 0, outer);
    const uint32_t inner_one = builder_node(&builder, one, outer_one, inner);
    for (int call = 0; call < 10; call++)
        builder_call(&builder, one, inner_one, 1000, 0);
    builder_call(&builder, one, outer_one, 20000, 10000);
    builder_call(&builder, two, builder_node(&builder, two, outer_two, inner), 1000, 0);
    builder_open(&builder, two, outer_two, 10000, 1000);
    builder_header(&builder)->zone_cost_ps = 100000;
    builder_header(&builder)->zone_inner_ps = 40000;
    builder_elapse(&builder, 40000, 1);
    settings.show.by = HP_BY_THREAD;
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 4);
    assert_int_equal(cell_of(timing, row_of("outer", "one 1"), "open").count, 0);
    assert_int_equal(cell_of(timing, row_of("outer", "two 2"), "open").count, 1);
    assert_float_equal(cell_of(timing, row_of("outer", "two 2"), "total_ns").number, 30000, 0.001);
    assert_float_equal(cell_of(timing, row_of("outer", "two 2"), "overhead_max_ns").number, 40 + 100, 0.001);
    assert_float_equal(cell_of(timing, row_of("outer", "one 1"), "overhead_max_ns").number, 40 + 10 * 100, 0.001);
}

/* Two processes that call the same function, and one that has another of the same name. */
static void threads_of_processes_are_separate(void **state)
{
    (void)state;
    build_threads();
    struct session_builder *other = fixture_add_session();
    const uint32_t twin = builder_site(other, "work", "other.c", 9), work = builder_site(other, "work", "w.c", 1);
    const uint32_t thread = builder_thread(other);
    name_thread(other, thread, "worker", 5001, 1);
    builder_call(other, thread, builder_node(other, thread, 0, work), 70, 0);
    builder_call(other, thread, builder_node(other, thread, 0, twin), 5, 0);
    builder_elapse(other, 2000, 1);
    strcpy(settings.show.report, "timing");
    settings.show.by = HP_BY_THREAD;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 6);
    assert_numbers("w:work", "worker 4242/5001", 3, 100, 10, 60);
    assert_numbers("w:work", "worker 4243/5001", 1, 70, 70, 70);
    assert_numbers("other:work", "worker 4243/5001", 1, 5, 5, 5);
}

static void threads_need_memory(void **state)
{
    (void)state;
    build_threads();
    settings.show.by = HP_BY_THREAD;
    assert_true(fixture_builds_that_fail() > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_sorted_by_any_column, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sort_column_is_shown, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_limit_follows_the_order, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(siblings_are_sorted_by_the_same_column, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(unknown_sort_column_is_reported, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(json_says_the_order, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(small_rows_are_left_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(small_self_times_are_left_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(rows_are_hidden_with_their_parents, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(functions_are_split_by_thread, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(json_has_threads_as_objects, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(open_zones_and_overhead_belong_to_a_thread, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(threads_of_processes_are_separate, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(threads_need_memory, fixture_set_up, fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
