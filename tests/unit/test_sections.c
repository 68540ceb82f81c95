/* Rows of sections, from sessions with known numbers. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function_profile.h"
#include "report_asserts.h"
#include "text.h"
#include "trust_line.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void assert_row(size_t row, const char *name, uint64_t calls, double avg, double total, double percent)
{
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, row, "name").text, name);
    assert_int_equal(cell_of(timing, row, "calls").count, calls);
    assert_float_equal(cell_of(timing, row, "avg_ns").number, avg, 0.001);
    assert_float_equal(cell_of(timing, row, "total_ns").number, total, 0.001);
    assert_float_equal(cell_of(timing, row, "percent_total").number, percent, 0.001);
}

/* main 1000 ticks, of which parse takes 2 x 300 and lex inside parse 4 x 100; on two threads. */
static void build_small_session(void)
{
    const uint32_t main_site = builder_site(&builder, "main", "src/main.c", 10);
    const uint32_t parse = builder_site(&builder, "parse", "src/parse.c", 20);
    const uint32_t lex = builder_site(&builder, "lex", "src/lex.c", 30);
    builder_header(&builder)->main_site = main_site;
    const uint32_t first = builder_thread(&builder), second = builder_thread(&builder);
    const uint32_t main_node = builder_node(&builder, first, 0, main_site);
    const uint32_t parse_node = builder_node(&builder, first, main_node, parse);
    const uint32_t lex_node = builder_node(&builder, first, parse_node, lex);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, parse_node, 300, 200);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, lex_node, 100, 0);
    builder_call(&builder, first, parse_node, 300, 200);
    builder_call(&builder, first, main_node, 1000, 600);
    const uint32_t alone = builder_node(&builder, second, 0, lex);
    builder_call(&builder, second, alone, 50, 0);
    builder_elapse(&builder, 2000, 1);
}

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

static void abandoned_and_missed_calls_are_not_averaged_wrongly(void **state)
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
        assert_string_equal(hotpath_section_column(timing, 3 + at)->title, titles[at]);
        assert_true(hotpath_section_column(timing, 3 + at)->visible);
    }
    assert_string_equal(hotpath_section_column(timing, 6)->key, "p99_99_ns");
    assert_string_equal(hotpath_section_column(timing, 8)->title, "Total");
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
    builder_open(&builder, thread, main_node, 2000, 1000); /* open for 8000, of which 1000 in the ended work */
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

static void a_start_in_the_future_is_no_time(void **state)
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

static void the_limit_spares_the_main_row(void **state)
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

/* ------------------------------------------------------------------------------------------- C++ names */

/* As a demangler would. */
static bool read_some(const char *linked, char *signature, size_t size)
{
    static const char *const names[][2] = {
        {"_Z4freeR3Box", "free(Box&)"},
        {"_ZN3Box3addEi", "Box::add(int)"},
        {"_ZN3Box3addEd", "Box::add(double)"},
        {"_ZL4inita", "init(signed char)"},
        {"_ZL4inita.constprop.0", "init(signed char)"},
    };
    for (size_t at = 0; at < COUNT(names); at++)
        if (strcmp(names[at][0], linked) == 0) {
            assert_true(strlen(names[at][1]) < size);
            strcpy(signature, names[at][1]);
            return true;
        }
    return false;
}

static void build_linked_names(void)
{
    static const char *const names[][2] = {
        {"_Z4freeR3Box", ""},  {"_ZN3Box3addEi", ""},  {"_ZN3Box3addEd", ""},
        {"_ZL4inita", "a.cc"}, {"_ZL4inita", "b.cc"},  {"_ZL4inita.constprop.0", "c.cc"},
        {"_Z7unknown", ""},    {"plain", "x/plain.c"}, {"plain", ""},
    };
    const uint32_t thread = builder_thread(&builder);
    for (size_t at = 0; at < COUNT(names); at++)
        builder_call(&builder, thread,
                     builder_node(&builder, thread, 0, builder_site(&builder, names[at][0], names[at][1], 0)),
                     100 - at, 0);
    builder_elapse(&builder, 10000, 1);
}

static void names_of_the_linker_become_readable(void **state)
{
    (void)state;
    static const char *const expected[] = {"free",
                                           "Box::add(int)",
                                           "Box::add(double)",
                                           "a:init(signed char)",
                                           "b:init(signed char)",
                                           "init [constprop.0]",
                                           "_Z7unknown",
                                           "plain:plain",
                                           "plain"};
    build_linked_names();
    read_name = read_some;
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), COUNT(expected));
    for (size_t at = 0; at < COUNT(expected); at++)
        assert_string_equal(cell_of(timing, at, "name").text, expected[at]);
    assert_non_null(strstr(timing->notes[timing->note_count - 1], "hotpath doctor"));
    strcpy(settings.show.focus, "Box::add");
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 2);
}

static void names_of_the_linker_stay_in_the_library(void **state)
{
    (void)state;
    build_linked_names();
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, 1, "name").text, "_ZN3Box3addEi");
    assert_string_equal(timing->notes[timing->note_count - 1],
                        "_Z... is a mangled C++ name: 'hotpath report' demangles it");
    strcpy(settings.show.focus, "Box::add"); /* as far as that can be read without a demangler */
    fixture_build();
    assert_int_equal(hotpath_section_rows(section_named("timing")), 2);
}

/* A label is what a user wrote. */
static void labels_are_never_read(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t id = builder_site(&builder, "_Z4freeR3Box", "f.cc", 1);
    struct hp_site *site = builder_at(&builder, builder_header(&builder)->site_chunks[0]);
    site[id].kind = HOTPATH_KIND_BLOCK_;
    builder_call(&builder, thread, builder_node(&builder, thread, 0, id), 100, 0);
    builder_elapse(&builder, 10000, 1);
    read_name = read_some;
    fixture_build();
    assert_string_equal(cell_of(section_named("timing"), 0, "name").text, "_Z4freeR3Box");
}

static void focus_chooses_rows_and_changes_no_share(void **state)
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

static void sections_are_chosen_by_the_grammar(void **state)
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
    char known[1024] = "unknown section 'sql': known sections are short, auto, all";
    for (size_t at = 0; at < hp_section_type_count; at++) {
        strcat(known, ", ");
        strcat(known, hp_section_types[at]->name);
    }
    assert_non_null(strstr(known, "bottlenecks, functions, timing, alloc-bytes, "));
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

static void labels_of_the_reader_win(void **state)
{
    (void)state;
    builder_header(&builder)->label = builder_text(&builder, "recorded");
    fixture_build();
    assert_string_equal(hotpath_results_label(results), "recorded");
    strcpy(settings.record.label, "asked");
    fixture_build();
    assert_string_equal(hotpath_results_label(results), "asked");
}

/* --------------------------------------------------------------------------------------------- names */

static void same_names_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name, *file;
        uint32_t line;
        const char *shown;
    } sites[] = {
        {"alone", "src/a.c", 1, "alone"},
        {"parse", "src/lexer.c", 5, "lexer:parse"},
        {"parse", "src/json.c", 9, "json:parse"},
        {"step", "src/run.c", 10, "run.c:10 step"},
        {"step", "src/run.c", 20, "run.c:20 step"},
        {"init", "one/init.c", 7, "one/init.c:7 init"},
        {"init", "two/init.c", 7, "two/init.c:7 init"},
        {"twin", "x.c", 3, NULL}, /* nothing tells them apart but their numbers */
        {"twin", "x.c", 3, NULL},
        {"json:parse", "other.c", 4, NULL}, /* a label that looks like a shown name */
    };
    const uint32_t thread = builder_thread(&builder);
    settings.show.functions_limit = HOTPATH_NO_LIMIT;
    for (size_t at = 0; at < COUNT(sites); at++) {
        const uint32_t site = builder_site(&builder, sites[at].name, sites[at].file, sites[at].line);
        builder_call(&builder, thread, builder_node(&builder, thread, 0, site), 1000 - at, 0);
    }
    const uint32_t other = builder_node(&builder, thread, 0, HP_SITE_OTHER);
    const uint32_t lost = builder_node(&builder, thread, 0, 700);
    builder_call(&builder, thread, other, 10, 0);
    builder_call(&builder, thread, lost, 5, 0);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_int_equal(hotpath_section_rows(timing), COUNT(sites) + 2);
    for (size_t row = 0; row < COUNT(sites) + 2; row++) {
        const char *name = cell_of(timing, row, "name").text;
        /* json:parse collides with the label, so both get more. */
        if (row < COUNT(sites) && sites[row].shown != NULL && strcmp(sites[row].shown, "json:parse") != 0)
            assert_string_equal(name, sites[row].shown);
        for (size_t before = 0; before < row; before++)
            assert_string_not_equal(name, cell_of(timing, before, "name").text);
    }
    assert_string_equal(cell_of(timing, COUNT(sites), "name").text, "<other>");
    assert_string_equal(cell_of(timing, COUNT(sites) + 1, "name").text, "<site 700>");
    assert_false(cell_of(timing, COUNT(sites), "location").has_value);
}

/* ---------------------------------------------------------------------------------------------- tree */

static void the_tree_merges_threads_by_path(void **state)
{
    (void)state;
    strcpy(settings.show.report, "calltree");
    const uint32_t a = builder_site(&builder, "a", "f.c", 1), b = builder_site(&builder, "b", "f.c", 2);
    const uint32_t c = builder_site(&builder, "c", "f.c", 3);
    for (unsigned count = 0; count < 3; count++) {
        const uint32_t thread = builder_thread(&builder);
        const uint32_t an = builder_node(&builder, thread, 0, a);
        const uint32_t cn = builder_node(&builder, thread, an, c);
        const uint32_t bn = builder_node(&builder, thread, an, b);
        const uint32_t cbn = builder_node(&builder, thread, bn, c);
        const uint32_t top = builder_node(&builder, thread, 0, c);
        builder_call(&builder, thread, an, 100, 60);
        builder_call(&builder, thread, bn, 50, 20);
        builder_call(&builder, thread, cbn, 20, 0);
        builder_call(&builder, thread, cn, 10, 0);
        builder_call(&builder, thread, top, 200, 0);
    }
    fixture_build();
    const hotpath_section *tree = section_named("calltree");
    assert_true(tree->is_tree);
    assert_int_equal(hotpath_section_rows(tree), 5);
    assert_place(0, 0, "c", 3, 600, 600);
    assert_place(1, 0, "a", 3, 300, 120);
    assert_place(2, 1, "b", 3, 150, 90);
    assert_place(3, 2, "c", 3, 60, 60);
    assert_place(4, 1, "c", 3, 30, 30);
}

static void the_tree_keeps_its_hottest_rows(void **state)
{
    (void)state;
    strcpy(settings.show.report, "calltree");
    settings.show.calltree_limit = 4;
    const uint32_t thread = builder_thread(&builder);
    uint32_t tops[3];
    for (uint32_t at = 0; at < 3; at++) {
        char name[] = {"abc"[at], '\0'};
        tops[at] = builder_node(&builder, thread, 0, builder_site(&builder, name, "f.c", at + 1));
        builder_call(&builder, thread, tops[at], 1000 - at * 100, 0);
        for (uint32_t child = 0; child < 3; child++) {
            char child_name[] = {"abc"[at], "123"[child], '\0'};
            const uint32_t node = builder_node(&builder, thread, tops[at],
                                               builder_site(&builder, child_name, "f.c", 10 + at * 3 + child));
            builder_call(&builder, thread, node, at == 2 ? 700 - child : 50 - child, 0);
        }
    }
    fixture_build();
    const hotpath_section *tree = section_named("calltree");
    assert_int_equal(hotpath_section_rows(tree), 4);
    assert_int_equal(hotpath_section_total_rows(tree), 12);
    assert_place(0, 0, "a", 1, 1000, 1000);
    assert_place(1, 0, "b", 1, 900, 900);
    assert_place(2, 0, "c", 1, 800, 800);
    assert_place(3, 1, "c1", 1, 700, 700);
}

static void a_very_deep_tree_is_cut(void **state)
{
    (void)state;
    strcpy(settings.show.report, "calltree");
    settings.show.calltree_limit = HOTPATH_NO_LIMIT;
    const uint32_t thread = builder_thread(&builder);
    uint32_t node = 0;
    for (uint32_t depth = 0; depth < 1000; depth++) {
        node = builder_node(&builder, thread, node, builder_site(&builder, "f", "f.c", depth + 1));
        builder_call(&builder, thread, node, 2000 - depth, 1999 - depth);
    }
    fixture_build();
    const hotpath_section *tree = section_named("calltree");
    assert_int_equal(hotpath_section_total_rows(tree), 1000);
    assert_int_equal(hotpath_section_rows(tree), 200);
    assert_int_equal(tree->rows[199].depth, 199);
}

/* ------------------------------------------------------------------------------------------- estimates */

/* main, timed: 1000 ticks; in it `f`, of which ten calls of 160 were timed, and `g`, all of which were. */
static void build_sampled_session(uint64_t ticks_of_f)
{
    const uint32_t thread = builder_thread(&builder);
    const uint32_t main = builder_node(&builder, thread, 0, builder_site(&builder, "main", "m.c", 1));
    const uint32_t f = builder_node(&builder, thread, main, builder_site(&builder, "f", "m.c", 2));
    const uint32_t g = builder_node(&builder, thread, main, builder_site(&builder, "g", "m.c", 3));
    for (int call = 0; call < 10; call++)
        builder_call(&builder, thread, f, ticks_of_f, 0);
    struct hotpath_node_ *node = builder_at(&builder, f);
    node->calls = 160;
    node->untimed = 150;
    builder_call(&builder, thread, g, 200, 0);
    builder_call(&builder, thread, main, 1000, 10 * ticks_of_f + 200);
    builder_header(&builder)->time_period = 16;
    strcpy(settings.show.report, "timing,calltree");
    strcpy(settings.show.columns, "all");
}

static const char *scaled_of(const char *section, size_t row)
{
    return cell_of(section_named(section), row, "scaled").text;
}

static bool shows(const char *text, const char *line) { return strstr(text, line) != NULL; }

static void every_scaled_number_is_marked(void **state)
{
    (void)state;
    build_sampled_session(3);
    fixture_build();
    assert_string_equal(scaled_of("timing", 0), "self"); /* what 160 calls of f leave to it */
    assert_string_equal(scaled_of("timing", 1), "all");
    assert_string_equal(scaled_of("timing", 2), "none");
    assert_string_equal(scaled_of("calltree", 0), "self");
    assert_string_equal(scaled_of("calltree", 1), "all");
    assert_string_equal(scaled_of("calltree", 2), "none");
    const char *table = fixture_render(400, false);
    assert_true(shows(table, "|   1.00 µs |   1.00 µs |    1.00 µs |   0.10% | ^320.00 ns |   1.00 µs |"));
    assert_true(shows(table, "|  ^3.00 ns |  ^3.00 ns | ^480.00 ns |  ^0.05% | ^480.00 ns |  ^3.00 ns |"));
    assert_true(shows(table, "|   f      |   160 | ^480.00 ns | ^480.00 ns |  ^0.05% |"));
    assert_true(shows(table, "|   g      |     1 |  200.00 ns |  200.00 ns |   0.02% |"));
}

static void what_is_inside_is_not_estimated_as_longer(void **state)
{
    (void)state;
    build_sampled_session(30);
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_string_equal(cell_of(timing, 1, "name").text, "f");
    assert_float_equal(cell_of(timing, 1, "total_ns").number, 800, 0.001); /* and not 4800 of 1000 */
    assert_float_equal(cell_of(timing, 0, "self_ns").number, 0, 0.001);
    assert_float_equal(cell_of(section_named("calltree"), 1, "total_ns").number, 800, 0.001);
}

/* --------------------------------------------------------------------------------------------- trust */

static void overhead_is_bounded_from_above(void **state)
{
    (void)state;
    build_small_session();
    builder_header(&builder)->zone_cost_ps = 10000; /* 10 ns, of which 4 fall into the zone itself */
    builder_header(&builder)->zone_inner_ps = 4000;
    fixture_build();
    const hotpath_section *timing = section_named("timing");
    assert_number(0, "overhead_max_ns", 4 + 6 * 10);
    assert_number(1, "overhead_max_ns", 2 * 4 + 4 * 10);
    assert_number(2, "overhead_max_ns", 5 * 4);
    assert_false(timing->rows[0].is_rough);
    assert_int_equal(timing->note_count, 0);
    builder_header(&builder)->zone_cost_ps = 20000;
    fixture_build();
    assert_true(section_named("timing")->rows[0].is_rough);  /* 124 of 1000 */
    assert_false(section_named("timing")->rows[2].is_rough); /* 20 of 450 */
    assert_int_equal(section_named("timing")->note_count, 1);
    /* The busiest thread made 7 of 8 calls: 140 of 2000 ns. */
    assert_float_equal(results->trust->share_percent, 7, 0.001);
}

/* Inner calls of f were folded onto the outer one, so nobody knows how many of them ran inside g and h. */
static void what_recursion_may_hide_counts_in_full(void **state)
{
    (void)state;
    const uint32_t thread = builder_thread(&builder);
    const uint32_t f = builder_node(&builder, thread, 0, builder_site(&builder, "f", "f.c", 1));
    const uint32_t g = builder_node(&builder, thread, f, builder_site(&builder, "g", "f.c", 2));
    const uint32_t h = builder_node(&builder, thread, g, builder_site(&builder, "h", "f.c", 3));
    builder_header(&builder)->zone_cost_ps = 10000;
    builder_header(&builder)->zone_inner_ps = 4000;
    builder_nested_call(&builder, thread, f, 3000, 0);
    builder_nested_call(&builder, thread, f, 4000, 0);
    builder_call(&builder, thread, f, 9000, 7000);
    for (unsigned call = 0; call < 4; call++)
        builder_call(&builder, thread, g, 2000, 1000);
    for (unsigned call = 0; call < 2; call++)
        builder_call(&builder, thread, h, 1000, 0);
    fixture_build();
    assert_row(0, "f", 3, 16000.0 / 3, 9000, 0.9);
    assert_number(0, "overhead_max_ns", 3 * 10 + (3 + 6) * 10);
    assert_row(1, "g", 4, 2000, 8000, 0.8);
    assert_number(1, "overhead_max_ns", 4 * 4 + (3 + 6) * 10);
    assert_row(2, "h", 2, 1000, 2000, 0.2);
    assert_number(2, "overhead_max_ns", 2 * 4 + (3 + 6) * 10);
}

static const char *line_of(const struct hp_trust *trust)
{
    static char bytes[1024];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_trust_put(trust, &text);
    return hp_text_end(&text);
}

static const char *trust_line(void) { return line_of(results->trust); }

static void the_trust_line_says_it_all(void **state)
{
    (void)state;
    build_small_session();
    builder_header(&builder)->zone_cost_ps = 46000;
    builder_elapse(&builder, 2100000, 1 / 2.1);
    fixture_build();
    assert_string_equal(trust_line(),
                        "clock tsc at 2.10 GHz; one zone costs 46.0 ns; measuring took less than 0.1 % of the run; "
                        "nothing was lost");
    builder_header(&builder)->losses[HP_LOSS_ABANDONED] = 12;
    builder_header(&builder)->losses[HP_LOSS_DEPTH] = 1;
    builder_header(&builder)->zone_cost_ps = 460000;
    fixture_build();
    assert_string_equal(
        trust_line(),
        "clock tsc at 2.10 GHz; one zone costs 460 ns; measuring took about 0.3 % of the run; 12 zones were left "
        "by longjmp or similar: timed up to their last recorded time; 1 zone was nested too deeply: not recorded");
}

static void the_trust_line_says_what_is_not_known_better(void **state)
{
    (void)state;
    struct hp_trust trust = {.clock = "tsc", .zone_cost_ns = 46, .share_percent = 20, .least_percent = 16};
    assert_non_null(strstr(line_of(&trust), "measuring took about 20.0 % of the run"));
    trust.least_percent = 4;
    assert_non_null(strstr(line_of(&trust), "measuring took about 4.0 to 20.0 % of the run"));
    trust.least_percent = 0.01;
    assert_non_null(strstr(line_of(&trust), "measuring took at most about 20.0 % of the run"));
}

static void the_trust_line_says_what_is_lost_of_stacks(void **state)
{
    (void)state;
    struct hp_function_profile functions = {.samples = 5, .source = HP_STACKS_BY_TIMERS};
    struct hp_trust trust = {.clock = "monotonic", .functions = &functions};
    assert_non_null(strstr(line_of(&trust), "; nothing was lost"));
    functions.lost = 34;
    assert_non_null(strstr(line_of(&trust), "5 samples by timers in the program; 34 stack samples were lost: no "
                                            "space for them, or their processes had ended"));
    assert_null(strstr(line_of(&trust), "nothing was lost"));
    functions.lost = 0;
    functions.allocs_lost = 1;
    assert_non_null(strstr(line_of(&trust), "; 1 allocation sample was lost: no space for it"));
    assert_null(strstr(line_of(&trust), "nothing was lost"));
}

static void nothing_measured_is_said(void **state)
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

static void running_out_of_memory_is_an_answer(void **state)
{
    (void)state;
    build_small_session();
    strcpy(settings.show.report, "all");
    assert_true(fixture_builds_that_fail() > 100);
}

/* Many sites may point at one text. What is made of it, more than once, is bounded. */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(timing_adds_up_threads_and_places, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(ticks_become_nanoseconds, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(recursion_counts_once_in_totals, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(abandoned_and_missed_calls_are_not_averaged_wrongly, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(percentiles_are_within_one_percent, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(percentiles_take_the_nearest_rank, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(percentiles_have_titles, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(open_zones_count_until_now, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(an_open_recursion_counts_once, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_start_in_the_future_is_no_time, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_wrapper_can_be_left_out, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(self_time_can_be_ranked, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_limit_spares_the_main_row, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(ties_are_broken_by_name, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_of_the_linker_become_readable, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(names_of_the_linker_stay_in_the_library, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(labels_are_never_read, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(focus_chooses_rows_and_changes_no_share, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sections_are_chosen_by_the_grammar, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(columns_are_shown_on_request, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(labels_of_the_reader_win, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(same_names_are_told_apart, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_tree_merges_threads_by_path, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_tree_keeps_its_hottest_rows, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(a_very_deep_tree_is_cut, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(every_scaled_number_is_marked, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_is_inside_is_not_estimated_as_longer, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(overhead_is_bounded_from_above, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(what_recursion_may_hide_counts_in_full, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_trust_line_says_it_all, fixture_set_up, fixture_tear_down),
        cmocka_unit_test(the_trust_line_says_what_is_lost_of_stacks),
        cmocka_unit_test_setup_teardown(the_trust_line_says_what_is_not_known_better, fixture_set_up,
                                        fixture_tear_down),
        cmocka_unit_test_setup_teardown(nothing_measured_is_said, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(the_public_api_refuses_bad_indexes, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(running_out_of_memory_is_an_answer, fixture_set_up, fixture_tear_down),
        cmocka_unit_test_setup_teardown(sites_that_share_a_long_name_take_little_memory, fixture_set_up,
                                        fixture_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
