/*
 * Rows of the section `timing` from sessions with known numbers, and which rows, columns and sections are shown.
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timing_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* -------------------------------------------------------------------------------------------- timing */

static void timing_adds_up_threads_and_places(void **state)
{
    (void)state;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_non_null(timing);
    assert_int_equal(hotpath_results_sections(results), 1);
    assert_int_equal(hotpath_results_elapsed_ns(results), 2000);
    assert_int_equal(hotpath_section_rows(timing), 3);
    assert_row(0, "main", 1, 1000, 1000, 100);
    assert_row(1, "parse", 2, 300, 600, 60);
    assert_row(2, "lex", 5, 90, 450, 45);
    assert_number(0, "self_ns", 400);
    assert_number(1, "self_ns", 200);
    assert_number(2, "self_ns", 450);
    assert_number(2, "min_ns", 50);
    assert_number(2, "max_ns", 100);
    assert_number(2, "p95_ns", 100);
    assert_int_equal(cell_of(timing, 2, "threads").count, 2);
    assert_int_equal(cell_of(timing, 2, "open").count, 0);
    assert_string_equal(cell_of(timing, 1, "location").text, "src/parse.c:20");
    assert_string_equal(timing->main, "main");
    assert_string_equal(timing->percent_of, "main");
    assert_int_equal(timing->note_count, 0);
}

static void ticks_become_nanoseconds(void **state)
{
    (void)state;
    build_small_session();
    builder_elapse(&builder, 2000000, 0.5);
    fixture_build();
    assert_row(1, "parse", 2, 150, 300, 60);
    assert_number(2, "min_ns", 25);
}

static void recursion_counts_once_in_totals(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "fib", "fib.c", 1));
    builder_nested_call(&builder, thread, node, 100, 0);
    builder_nested_call(&builder, thread, node, 300, 100);
    builder_call(&builder, thread, node, 500, 300);
    builder_elapse(&builder, 1000, 1);
    fixture_build();
    assert_row(0, "fib", 3, 300, 500, 50);
    assert_number(0, "self_ns", 500);
    assert_string_equal(section_named("timing")->percent_of, "elapsed");
    assert_int_equal(section_named("timing")->note_count, 1);
}

/* A live session: a call ended after its sums were read, and before its duration was. */
static void averages_ignore_calls_that_end_while_they_are_read(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    builder_call(&builder, thread, node, 100, 0);
    builder_call(&builder, thread, node, 100, 0);
    struct hotpath_node_ *sums = builder_at(&builder, node);
    sums->calls--;
    sums->total -= 100;
    sums->self -= 100;
    fixture_build();
    assert_row(0, "f", 1, 100, 100, 0.01);
    assert_int_equal(cell_of(section_named("timing"), 0, "timed").count, 1);
}

static void averages_ignore_abandoned_and_missed_calls(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    const uint32_t never = builder_node(&builder, thread, 0, builder_site(&builder, "never", "f.c", 2));
    const uint32_t missed = builder_node(&builder, thread, 0, builder_site(&builder, "missed", "f.c", 3));
    builder_call(&builder, thread, node, 100, 0);
    builder_abandoned_call(&builder, node);
    builder_missed_call(&builder, thread, node, 500);
    builder_abandoned_call(&builder, never);
    builder_missed_call(&builder, thread, missed, 40);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_row(0, "f", 3, 300, 600, 0.06);
    assert_number(0, "p95_ns", 100);
    assert_number(0, "max_ns", 500);
    assert_string_equal(cell_of(timing, 1, "name").text, "missed");
    assert_number(1, "avg_ns", 40);
    assert_false(cell_of(timing, 1, "p95_ns").has_value);
    assert_number(1, "min_ns", 40);
    assert_string_equal(cell_of(timing, 2, "name").text, "never");
    assert_int_equal(cell_of(timing, 2, "calls").count, 1);
    assert_false(cell_of(timing, 2, "avg_ns").has_value);
    assert_false(cell_of(timing, 2, "p95_ns").has_value);
    assert_false(cell_of(timing, 2, "min_ns").has_value);
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* Nearest rank over the raw durations. */
static double exact_percentile(const uint64_t *sorted, size_t count, double percentile)
{
    size_t rank = (size_t)ceil(percentile / 100 * (double)count - 1e-9);
    rank = rank < 1 ? 1 : rank > count ? count : rank;
    return (double)sorted[rank - 1];
}

static void percentiles_are_within_one_percent(void **state)
{
    (void)state;
    static const double wanted[] = {0, 1, 25, 50, 75, 90, 95, 99, 99.9, 100};
    static const char *const keys[] = {"min_ns", "p1_ns",  "p25_ns", "p50_ns",   "p75_ns",
                                       "p90_ns", "p95_ns", "p99_ns", "p99_9_ns", "max_ns"};
    static uint64_t durations[3][4000];
    memcpy(settings.show.percentiles, wanted, sizeof wanted);
    settings.show.percentile_count = COUNT(wanted);
    uint64_t seed = 7;
    for (size_t site = 0; site < 3; site++) {
        static const char *const names[] = {"even", "wide", "tiny"};
        const uint32_t id = builder_site(&builder, names[site], "f.c", (uint32_t)site + 1);
        uint32_t threads[4], nodes[4];
        for (size_t at = 0; at < 4; at++) {
            threads[at] = builder_thread(&builder);
            nodes[at] = builder_node(&builder, threads[at], 0, id);
        }
        for (size_t at = 0; at < 4000; at++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const uint64_t random = seed >> 33;
            /* Even over a range; over nine decades; and a few ticks only, where every value has its counter. */
            durations[site][at] = site == 0   ? 1000 + random % 9000
                                  : site == 1 ? (uint64_t)exp((double)(random % 20000) / 1000)
                                              : random % 100;
            builder_call(&builder, threads[at % 4], nodes[at % 4], durations[site][at], 0);
        }
        qsort(durations[site], 4000, sizeof durations[site][0], compare_u64);
    }
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    for (size_t row = 0; row < 3; row++) {
        const char *name = cell_of(timing, row, "name").text;
        const size_t site = name[0] == 'e' ? 0 : name[0] == 'w' ? 1 : 2;
        for (size_t at = 0; at < COUNT(wanted); at++) {
            const double exact = exact_percentile(durations[site], 4000, wanted[at]);
            const double found = cell_of(timing, row, keys[at]).number;
            const bool is_extreme = at == 0 || at + 1 == COUNT(wanted) || site == 2;
            assert_true(fabs(found - exact) <= (is_extreme ? 0 : 0.008 * exact));
        }
        const double quarter = cell_of(timing, row, "p25_ns").number, half = cell_of(timing, row, "p50_ns").number;
        assert_true(cell_of(timing, row, "quarter_ns").number == quarter);
        assert_true(cell_of(timing, row, "typical_ns").number == (quarter + half) / 2);
    }
}

static void percentiles_take_the_nearest_rank(void **state)
{
    (void)state;
    static const double wanted[] = {50, 99.9, 99.95};
    memcpy(settings.show.percentiles, wanted, sizeof wanted);
    settings.show.percentile_count = COUNT(wanted);
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    for (unsigned call = 0; call < 1000; call++)
        builder_call(&builder, thread, node, call < 500 ? 10 : call < 999 ? 20 : 100, 0);
    fixture_build();
    assert_number(0, "p50_ns", 10);     /* the 500th of 1000 */
    assert_number(0, "p99_9_ns", 20);   /* the 999th, though 99.9 / 100 * 1000 is a little more than 999 */
    assert_number(0, "p99_95_ns", 100); /* the 1000th */
}

static void percentiles_have_titles(void **state)
{
    (void)state;
    static const double wanted[] = {0, 50, 99.9, 99.99, 100};
    static const char *const titles[] = {"Min", "P50", "P99.9", "P99.99", "Max"};
    memcpy(settings.show.percentiles, wanted, sizeof wanted);
    settings.show.percentile_count = COUNT(wanted);
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    for (size_t at = 0; at < COUNT(titles); at++) {
        assert_string_equal(hotpath_section_column(timing, 4 + at)->title, titles[at]);
        assert_true(hotpath_section_column(timing, 4 + at)->visible);
    }
    assert_string_equal(hotpath_section_column(timing, 7)->key, "p99_99_ns");
    assert_string_equal(hotpath_section_column(timing, 9)->title, "Total");
    assert_number(2, "p99_9_ns", 100);
}

/* --------------------------------------------------------------------------------------------- open */

static void open_zones_count_until_now(void **state)
{
    (void)state;
    const struct hp_clock_pair now = {.ticks = BUILDER_START + 10000, .ns = 5000 + 10000};
    const uint32_t main_site = builder_site(&builder, "main", "m.c", 1);
    const uint32_t work = builder_site(&builder, "work", "m.c", 2);
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main_node = builder_node(&builder, thread, 0, main_site);
    const uint32_t work_node = builder_node(&builder, thread, main_node, work);
    builder_header(&builder)->main_site = main_site;
    builder_header(&builder)->state = HP_STATE_LIVE;
    builder_call(&builder, thread, work_node, 1000, 0);
    builder_open(&builder, thread, main_node, 2000, 1000); /* open for 8000, 1000 of it in the ended work */
    builder_open(&builder, thread, work_node, 7000, 0);    /* open for 3000 */
    builder_elapse(&builder, 5, 1);
    fixture_build_at(&now);
    const hotpath_section *timing = section_named("timing");
    assert_row(0, "main", 1, 8000, 8000, 100);
    assert_number(0, "self_ns", 4000);
    assert_int_equal(cell_of(timing, 0, "open").count, 1);
    assert_row(1, "work", 2, 2000, 4000, 50);
    assert_number(1, "self_ns", 4000);
    assert_number(1, "min_ns", 1000);
    assert_number(1, "max_ns", 3000);
    assert_number(1, "p95_ns", 2991.5); /* the middle of [2976, 3007] is within [min, max] */
    assert_true(timing->rows[1].is_open);
    assert_int_equal(timing->note_count, 1);
    assert_memory_equal(timing->notes[0], "* still running", 15);
}

static void an_open_recursion_counts_once(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t fib = builder_node(&builder, thread, 0, builder_site(&builder, "fib", "f.c", 1));
    const uint32_t log_node = builder_node(&builder, thread, fib, builder_site(&builder, "log", "f.c", 2));
    builder_open(&builder, thread, fib, 1000, 0);
    builder_open(&builder, thread, fib, 4000, 0);
    builder_open(&builder, thread, log_node, 6000, 0);
    builder_elapse(&builder, 10000, 1);
    fixture_build();
    assert_row(0, "fib", 2, 7500, 9000, 90);
    assert_number(0, "self_ns", 5000); /* 9000 less the 4000 in log */
    assert_row(1, "log", 1, 4000, 4000, 40);
}

static void open_zone_that_starts_in_the_future_has_no_time(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t node = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    builder_open(&builder, thread, node, 90000, 0);
    builder_elapse(&builder, 10000, 1);
    fixture_build();
    assert_row(0, "f", 1, 0, 0, 0);
}

/* ------------------------------------------------------------------------------------------ settings */

static void the_wrapper_can_be_left_out(void **state)
{
    (void)state;
    settings.show.exclude_wrapper = true;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 2);
    assert_row(0, "parse", 2, 300, 600, 100 * 600.0 / 1050);
    assert_row(1, "lex", 5, 90, 450, 100 * 450.0 / 1050);
    assert_string_equal(timing->percent_of, "rows");
}

static void self_time_can_be_ranked(void **state)
{
    (void)state;
    settings.show.time_exclusive = true;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_row(0, "lex", 5, 90, 450, 45);
    assert_row(1, "main", 1, 400, 400, 40);
    assert_row(2, "parse", 2, 100, 200, 20);
    assert_false(has_column(timing, "p95_ns"));
    assert_false(has_column(timing, "min_ns"));
    assert_true(has_column(timing, "self_ns"));
}

static void limit_keeps_the_main_row(void **state)
{
    (void)state;
    settings.show.functions_limit = 2;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), 2);
    assert_int_equal(hotpath_section_total_rows(timing), 3);
    assert_row(0, "main", 1, 1000, 1000, 100);
    assert_row(1, "parse", 2, 300, 600, 60);
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 3);
}

static void ties_are_broken_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"delta", "alpha", "charlie", "bravo"};
    const uint32_t thread = builder_thread(&builder);
    for (size_t at = 0; at < COUNT(names); at++)
        builder_call(&builder, thread,
                     builder_node(&builder, thread, 0, builder_site(&builder, names[at], "f.c", (uint32_t)at)), 100,
                     0);
    fixture_build();
    for (size_t row = 0; row < COUNT(names); row++)
        assert_int_equal(cell_of(section_named("timing"), row, "name").text[0], 'a' + (int)row);
}

static void focus_selects_rows_and_keeps_shares(void **state)
{
    (void)state;
    strcpy(settings.show.focus, "/^(lex|parse)$/");
    strcpy(settings.show.report, "all");
    build_small_session();
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 2);
    assert_row(0, "parse", 2, 300, 600, 60);
    assert_int_equal(hotpath_section_rows(section_named("calltree")), 4); /* main is kept for its descendants */
    strcpy(settings.show.focus, "le*,parse,-/^le/");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 1);
    assert_row(0, "parse", 2, 300, 600, 60);
    strcpy(settings.show.focus, "nobody");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 0);
    assert_int_equal(hotpath_section_rows(section_named("calltree")), 0);
    assert_string_equal(section_named("timing")->if_empty, "no function matches the focus");
}

static void sections_are_selected_by_the_report_option(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool timing, calltree;
        size_t warnings;
    } cases[] = {
        {"", true, false, 0},
        {"auto", true, false, 0},
        {"all", true, true, 0},
        {"timing", true, false, 0},
        {"functions-timing", true, false, 0},
        {"calltree", false, true, 0},
        {"calltree,timing", true, true, 0},
        {"CallTree", false, true, 0},
        {"-timing", false, false, 0},
        {"-calltree", true, false, 0},
        {"all,-timing", false, true, 0},
        {"-timing,all", false, true, 0},
        {"auto,calltree", true, true, 0},
        {"calltree,auto", true, true, 0},
        {"sql", true, false, 1}, /* nothing known is left: auto */
        {"sql,calltree", false, true, 1},
        {"-sql", true, false, 1},
    };
    build_small_session();
    for (size_t at = 0; at < COUNT(cases); at++) {
        strcpy(settings.show.report, cases[at].spec);
        fixture_build();
        assert_int_equal(section_named("timing") != NULL, cases[at].timing);
        assert_int_equal(section_named("calltree") != NULL, cases[at].calltree);
        assert_int_equal(results->warning_count, cases[at].warnings);
    }
    char known[1024] = "unknown section 'sql': known sections are short, auto, all, tree";
    for (size_t at = 0; at < hp_section_type_count; at++) {
        strcat(known, ", ");
        strcat(known, hp_section_types[at]->name);
    }
    assert_non_null(strstr(known, "bottlenecks, functions, critical-path, path-waits, timing, alloc-bytes, "));
    assert_string_equal(results->warnings[0], known);
}

static void columns_are_shown_on_request(void **state)
{
    (void)state;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_false(hotpath_section_column(timing, column_of(timing, "self_ns"))->visible);
    strcpy(settings.show.columns, "Self, max_ns, colour");
    fixture_build();
    timing = section_named("timing");
    assert_true(hotpath_section_column(timing, column_of(timing, "self_ns"))->visible);
    assert_true(hotpath_section_column(timing, column_of(timing, "max_ns"))->visible);
    assert_false(hotpath_section_column(timing, column_of(timing, "min_ns"))->visible);
    assert_int_equal(results->warning_count, 1);
    assert_string_equal(results->warnings[0], "unknown column 'colour': no section of this report has it");
    strcpy(settings.show.columns, "all");
    fixture_build();
    timing = section_named("timing");
    for (size_t at = 0; at < hotpath_section_columns(timing); at++)
        assert_true(hotpath_section_column(timing, at)->visible);
}

/* ------------------------------------------------------------------------------------------ the rest */

static void empty_report_names_the_macro(void **state)
{
    (void)state;
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_non_null(timing);
    assert_int_equal(hotpath_section_rows(timing), 0);
    assert_non_null(strstr(timing->if_empty, "HOTPATH_MEASURE()"));
}

static void the_public_api_refuses_bad_indexes(void **state)
{
    (void)state;
    struct hotpath_cell cell;
    build_small_session();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_null(hotpath_results_section(results, 1));
    assert_null(hotpath_section_column(timing, 1000));
    assert_int_equal(hotpath_section_cell(timing, 3, 0, &cell), HOTPATH_E_OPTIONS);
    assert_int_equal(cell.has_value, 0);
    assert_int_equal(hotpath_section_cell(timing, 0, 1000, &cell), HOTPATH_E_OPTIONS);
    assert_int_equal(cell_of(timing, 0, "calls").unit, HOTPATH_UNIT_COUNT);
    assert_null(cell_of(timing, 0, "calls").text);
    assert_int_equal(cell_of(timing, 1, "avg_ns").count, 300);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    build_small_session();
    strcpy(settings.show.report, "all");
    assert_true(fixture_builds_that_fail() > 100);
}

/* Many sites may share one text. The memory for names made of it is bounded. */
static void sites_that_share_a_long_name_take_little_memory(void **state)
{
    (void)state;
    static char name[4001];
    const uint32_t sites = 4000, thread = builder_thread(&builder);
    memset(name, 'n', sizeof name - 1);
    const uint32_t text = builder_text(&builder, name);
    for (uint32_t at = 0; at < sites; at++) {
        const uint32_t id = builder_site(&builder, "", "file.c", 7);
        struct hp_site *site =
            (struct hp_site *)builder_at(&builder, builder_header(&builder)->site_chunks[id / HP_SITES_PER_CHUNK]) +
            id % HP_SITES_PER_CHUNK;
        site->name = site->function = text;
        HOTPATH_ADD_(((struct hotpath_node_ *)builder_at(&builder, builder_node(&builder, thread, 0, id)))->calls,
                     1);
    }
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    strcpy(settings.show.report, "timing");
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), sites);
    assert_string_not_equal(cell_of(timing, 0, "name").text, cell_of(timing, 1, "name").text);
    assert_true(strlen(cell_of(timing, 0, "name").text) < 512);
    assert_true(results->model->arena->taken / sites < 3000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(timing_adds_up_threads_and_places),
        TEST(ticks_become_nanoseconds),
        TEST(recursion_counts_once_in_totals),
        TEST(averages_ignore_calls_that_end_while_they_are_read),
        TEST(averages_ignore_abandoned_and_missed_calls),
        TEST(percentiles_are_within_one_percent),
        TEST(percentiles_take_the_nearest_rank),
        TEST(percentiles_have_titles),
        TEST(open_zones_count_until_now),
        TEST(an_open_recursion_counts_once),
        TEST(open_zone_that_starts_in_the_future_has_no_time),
        TEST(the_wrapper_can_be_left_out),
        TEST(self_time_can_be_ranked),
        TEST(limit_keeps_the_main_row),
        TEST(ties_are_broken_by_name),
        TEST(focus_selects_rows_and_keeps_shares),
        TEST(sections_are_selected_by_the_report_option),
        TEST(columns_are_shown_on_request),
        TEST(empty_report_names_the_macro),
        TEST(the_public_api_refuses_bad_indexes),
        TEST(running_out_of_memory_is_reported),
        TEST(sites_that_share_a_long_name_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
