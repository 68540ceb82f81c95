/* Options one by one: each with valid and invalid values, and the exact warnings. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options_fixture.h"

static void recorded_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint32_t record;
        bool is_set;
        bool is_off;
    } cases[] = {
        {"0", 0, false, true},
        {"off", 0, false, true},
        {"FALSE", 0, false, true},
        {"no", 0, false, true},
        {"1", HP_RECORD_USUAL, true, false},
        {"on", HP_RECORD_USUAL, true, false},
        {"True", HP_RECORD_USUAL, true, false},
        {"timing", HP_RECORD_TIMING, true, false},
        {" Timing ,", HP_RECORD_TIMING, true, false},
        {"timing,timing", HP_RECORD_TIMING, true, false},
        {"timing,alloc", HP_RECORD_TIMING | HP_RECORD_ALLOC, true, false},
        {"ALLOC", HP_RECORD_ALLOC, true, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        resolve_variable("HOTPATH", cases[i].value);
        assert_no_warning();
        assert_int_equal(settings.record.kinds, cases[i].record);
        assert_int_equal(settings.record.is_set, cases[i].is_set);
        assert_int_equal(settings.record.is_off, cases[i].is_off);
    }
    resolve_variable("HOTPATH", "timing,tming");
    assert_one_warning(
        "hotpath: HOTPATH='timing,tming' is not 0, 1 or a list of timing, alloc, cpu; using timing,alloc");
    assert_defaults();
    resolve_variable("HOTPATH", ",");
    assert_one_warning("hotpath: HOTPATH=',' is not 0, 1 or a list of timing, alloc, cpu; using timing,alloc");
    assert_defaults();
}

static void cpu_time_option(void **state)
{
    (void)state;
    static const struct {
        const char *record, *cpu; /* in the environment */
        const char *program_record;
        bool program_cpu;
        uint32_t expected;
    } cases[] = {
        {NULL, NULL, NULL, false, HP_RECORD_USUAL},
        {"1", NULL, NULL, false, HP_RECORD_USUAL},
        {NULL, "1", NULL, false, HP_RECORD_USUAL | HP_RECORD_CPU},
        {"1", "1", NULL, false, HP_RECORD_USUAL | HP_RECORD_CPU},
        {NULL, NULL, NULL, true, HP_RECORD_USUAL | HP_RECORD_CPU},
        {NULL, "0", NULL, true, HP_RECORD_USUAL},
        {"cpu", NULL, NULL, false, HP_RECORD_CPU},
        {"timing", NULL, NULL, true, HP_RECORD_TIMING}, /* a list in the environment is all of it ... */
        {"timing", "1", NULL, false, HP_RECORD_TIMING | HP_RECORD_CPU}, /* ... unless that adds to it */
        {"timing,cpu", "0", NULL, false, HP_RECORD_TIMING},
        {NULL, NULL, "timing", true, HP_RECORD_TIMING | HP_RECORD_CPU},
        {NULL, NULL, "cpu,timing", false, HP_RECORD_TIMING | HP_RECORD_CPU},
        {"0", "1", NULL, true, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hotpath_options program = {
            .size = sizeof program, .record = cases[i].program_record, .cpu = cases[i].program_cpu};
        struct variable variables[] = {{cases[i].record != NULL ? "HOTPATH" : "OTHER", cases[i].record},
                                       {cases[i].cpu != NULL ? "HOTPATH_CPU" : "OTHER", cases[i].cpu},
                                       {NULL, NULL}};
        resolve(&program, variables);
        assert_no_warning();
        assert_int_equal(settings.record.kinds, cases[i].expected);
    }
}

static void cpu_sampling_rate(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_CPU_RATE", "10000");
    assert_no_warning();
    assert_int_equal(settings.record.cpu_rate, 10000);
    static const char *const wrong[] = {"0", "10001", "-1", "fast"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_CPU_RATE", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_CPU_RATE='%s' is not a number from 1 to 10000; using 997", wrong[i]);
        assert_one_warning(expected);
        assert_int_equal(settings.record.cpu_rate, 997);
    }
    resolve_variable("HOTPATH_CPU_ENGINE", "Timers");
    assert_no_warning();
    assert_int_equal(settings.record.cpu_engine, HP_CPU_ENGINE_TIMERS);
    resolve_variable("HOTPATH_CPU_ENGINE", "sundial");
    assert_one_warning("hotpath: HOTPATH_CPU_ENGINE='sundial' is not one of auto, timers; using auto");
    assert_int_equal(settings.record.cpu_engine, HP_CPU_ENGINE_AUTO);
}

static void precedence_of_recorded_kinds(void **state)
{
    (void)state;
    const struct hotpath_options off = {.size = sizeof off, .record = "0"};
    const struct hotpath_options on = {.size = sizeof on, .record = "timing"};
    struct variable say_0[] = {{"HOTPATH", "0"}, {NULL, NULL}};
    struct variable say_1[] = {{"HOTPATH", "1"}, {NULL, NULL}};
    resolve(&off, NULL);
    assert_true(settings.record.is_off);
    assert_int_equal(settings.record.kinds, 0);
    resolve(&off, say_1);
    assert_false(settings.record.is_off);
    assert_true(settings.record.is_set);
    assert_int_equal(settings.record.kinds, HP_RECORD_USUAL);
    resolve(&on, say_0);
    assert_true(settings.record.is_off);
    assert_int_equal(settings.record.kinds, 0);
    resolve(&on, NULL);
    assert_false(settings.record.is_off);
    assert_false(settings.record.is_set);
    assert_no_warning();
}

static void percentiles_are_sorted_and_unique(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t count;
        double expected[HP_MAX_PERCENTILES];
    } cases[] = {
        {"50", 1, {50}},
        {"50,95,99.9", 3, {50, 95, 99.9}},
        {" 99.9 , 50,\t95 ", 3, {50, 95, 99.9}},
        {"95,50,95.0,95", 2, {50, 95}},
        {"100,0", 2, {0, 100}},
        {"10,9,8,7,6,5,4,3,2,1", 10, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
        {"1,1,1,1,1,1,1,1,1,1,1,2", 2, {1, 2}},
        {"50,,95,", 2, {50, 95}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        resolve_variable("HOTPATH_PERCENTILES", cases[i].value);
        assert_no_warning();
        if (!percentiles_are(cases[i].count, cases[i].expected))
            fail_msg("'%s'", cases[i].value);
    }
    static const char *const wrong[] = {"p95", "100.1", "-1", "50;95", "50,x", "1,2,3,4,5,6,7,8,9,10,11",
                                        ",",   "1e1"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_PERCENTILES", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_PERCENTILES='%s' is not a list of at most 10 numbers from 0 to 100; using 95",
                 wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void formats(void **state)
{
    (void)state;
    static const char *const names[] = {"table", "json", "json-pretty", "csv", "markdown", "html", "none"};
    for (uint32_t i = 0; i < COUNT(names); i++) {
        resolve_variable("HOTPATH_OUTPUT_FORMAT", names[i]);
        assert_no_warning();
        assert_int_equal(settings.output.format, i);
    }
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "JSON");
    assert_int_equal(settings.output.format, HP_FORMAT_JSON);
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "xml");
    assert_one_warning(
        "hotpath: HOTPATH_OUTPUT_FORMAT='xml' is not one of table, json, json-pretty, csv, markdown, html, none; "
        "using table");
    assert_defaults();
}

static void rows_by_function_or_thread(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_BY", "Thread");
    assert_no_warning();
    assert_int_equal(settings.show.by, HP_BY_THREAD);
    resolve_variable("HOTPATH_BY", "function");
    assert_no_warning();
    assert_defaults();
    resolve_variable("HOTPATH_BY", "process");
    assert_one_warning("hotpath: HOTPATH_BY='process' is not one of function, thread; using function");
    assert_defaults();
}

static void allocation_metric(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        uint32_t metric;
    } cases[] = {{"bytes-total", HP_ALLOC_BYTES_TOTAL}, {"bytes-max", HP_ALLOC_BYTES_MAX},
                 {"count-total", HP_ALLOC_COUNT_TOTAL}, {"Count-Max", HP_ALLOC_COUNT_MAX},
                 {"bytes", HP_ALLOC_BYTES_TOTAL},       {"count", HP_ALLOC_COUNT_TOTAL}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        resolve_variable("HOTPATH_ALLOC_METRIC", cases[i].value);
        assert_no_warning();
        assert_int_equal(settings.show.alloc_metric, cases[i].metric);
    }
    resolve_variable("HOTPATH_ALLOC_METRIC", "peak");
    assert_one_warning("hotpath: HOTPATH_ALLOC_METRIC='peak' is not one of bytes-total, bytes-max, count-total, "
                       "count-max; using bytes-total");
    assert_defaults();
    const struct hotpath_options program = {
        .size = sizeof program, .alloc_metric = "count-max", .alloc_cumulative = 1};
    resolve(&program, NULL);
    assert_no_warning();
    assert_int_equal(settings.show.alloc_metric, HP_ALLOC_COUNT_MAX);
    assert_true(settings.show.alloc_cumulative);
}

/* Naming allocations requests them; recording everything does not. */
static void allocations_requested_explicitly(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool is_asked;
    } cases[] = {{"alloc", true}, {"timing,alloc", true}, {"timing", false},
                 {"1", false},    {"0", false},           {"what", false}};
    const struct hotpath_options program = {.size = sizeof program, .record = "alloc"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        resolve_variable("HOTPATH", cases[i].value);
        assert_int_equal(settings.record.alloc_is_asked, cases[i].is_asked);
    }
    resolve(&program, NULL);
    assert_true(settings.record.alloc_is_asked);
    resolve(&program, (struct variable[]){{"HOTPATH", "1"}, {NULL, NULL}});
    assert_false(settings.record.alloc_is_asked);
}

/* Texts: as long as fits, and one byte more. */
static void texts_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        const char *text;
        size_t size;
        const char *used;
    } cases[] = {
        {"HOTPATH_OUTPUT_PATH", settings.output.output_path, sizeof settings.output.output_path, "stderr"},
        {"HOTPATH_DIR", settings.record.dir, sizeof settings.record.dir,
         "$XDG_RUNTIME_DIR/hotpath, /dev/shm/hotpath-UID or /tmp/hotpath-UID"},
        {"HOTPATH_REPORT_LABEL", settings.record.label, sizeof settings.record.label, "no label"},
        {"HOTPATH_SECTIONS", settings.show.report, sizeof settings.show.report, "short"},
        {"HOTPATH_COLUMNS", settings.show.columns, sizeof settings.show.columns, "the default columns"},
        {"HOTPATH_SORT", settings.show.sort, sizeof settings.show.sort, "the default order"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char value[1100];
        char expected[256];
        memset(value, 'x', sizeof value);
        value[cases[i].size - 1] = '\0';
        resolve_variable(cases[i].variable, value);
        assert_no_warning();
        assert_string_equal(cases[i].text, value);
        value[cases[i].size - 1] = 'x';
        value[cases[i].size] = '\0';
        resolve_variable(cases[i].variable, value);
        snprintf(expected, sizeof expected, "hotpath: %s='%.40s...' is longer than %zu bytes; using %s",
                 cases[i].variable, value, cases[i].size - 1, cases[i].used);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void texts_are_copied(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_OUTPUT_PATH", "/tmp/report-%p.json");
    assert_string_equal(settings.output.output_path, "/tmp/report-%p.json");
    resolve_variable("HOTPATH_REPORT_LABEL", "nightly, with spaces");
    assert_string_equal(settings.record.label, "nightly, with spaces");
    resolve_variable("HOTPATH_DIR", "/run/user/1000/x");
    assert_string_equal(settings.record.dir, "/run/user/1000/x");
    assert_no_warning();
}

static void sort_column(void **state)
{
    (void)state;
    static const struct {
        const char *value, *sort;
    } good[] = {{"calls", "calls"}, {" -Self ", "-Self"}, {"p99.9", "p99.9"}, {"percent_total,", "percent_total"}};
    for (size_t i = 0; i < COUNT(good); i++) {
        resolve_variable("HOTPATH_SORT", good[i].value);
        assert_no_warning();
        assert_string_equal(settings.show.sort, good[i].sort);
    }
    static const char *const wrong[] = {"calls,self", "-", "--calls", "% Total", ",", "+calls"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_SORT", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_SORT='%s' is not a column such as total, self, calls or name, or -calls; using "
                 "the default order",
                 wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void minimum_percent_in_the_environment(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        double percent;
    } good[] = {{"0", 0}, {"1", 1}, {"0.05", 0.05}, {"99.999", 99.999}, {"100", 100}, {".5", 0.5}};
    for (size_t i = 0; i < COUNT(good); i++) {
        resolve_variable("HOTPATH_MIN_PERCENT", good[i].value);
        assert_no_warning();
        assert_true(is_share(good[i].percent));
    }
    static const char *const wrong[] = {"-1", "100.1", "5%", "1,5", "one", "1e1"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_MIN_PERCENT", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_MIN_PERCENT='%s' is not a number from 0 to 100, such as 0.5; using 0", wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
}

/* What a program gives as a number is said as it would write it. */
static void minimum_percent_in_the_program(void **state)
{
    (void)state;
    static const struct {
        double percent;
        const char *shown; /* NULL: it is all right */
    } cases[] = {{0.1, NULL},    {33.25, NULL},  {100, NULL},  {1e-9, NULL},
                 {-0.5, "-0.5"}, {-100, "-100"}, {250, "250"}, {(double)NAN, "nan"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct hotpath_options program = {.size = sizeof program, .min_percent = cases[i].percent};
        char expected[256];
        resolve(&program, NULL);
        if (cases[i].shown == NULL) {
            assert_no_warning();
            assert_true(is_share(cases[i].percent));
            continue;
        }
        snprintf(expected, sizeof expected,
                 "hotpath: option min_percent='%s' is not a number from 0 to 100, such as 0.5; using 0",
                 cases[i].shown);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void metadata(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_USER_METADATA", "commit=abc123, branch=main ,empty=,formula=a=b");
    assert_no_warning();
    assert_string_equal(settings.record.metadata, "commit=abc123,branch=main,empty=,formula=a=b");
    static const char *const wrong[] = {"commit", "=abc", "a=1,b", ","};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_USER_METADATA", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_USER_METADATA='%s' is not a list of pairs such as key=value,key=value; using no "
                 "metadata",
                 wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
    char value[1025] = "k=";
    memset(value + 2, 'v', sizeof value - 3);
    resolve_variable("HOTPATH_USER_METADATA", value);
    assert_one_warning(
        "hotpath: HOTPATH_USER_METADATA='k=vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv...' is longer than "
        "1023 bytes; using no metadata");
}

static void counts(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_SHUTDOWN_MS", "4294967295");
    assert_int_equal(settings.record.shutdown_ms, UINT32_MAX);
    resolve_variable("HOTPATH_KEEP", "0");
    assert_int_equal(settings.record.keep, 0);
    resolve_variable("HOTPATH_KEEP", "7");
    assert_int_equal(settings.record.keep, 7);
    assert_no_warning();
    resolve_variable("HOTPATH_SHUTDOWN_MS", "4294967296");
    assert_one_warning("hotpath: HOTPATH_SHUTDOWN_MS='4294967296' is not a number from 0 to 4294967295; using 0");
    assert_defaults();
    resolve_variable("HOTPATH_KEEP", "-1");
    assert_one_warning("hotpath: HOTPATH_KEEP='-1' is not a number from 0 to 4294967295; using 20");
    assert_defaults();
}

static void sizes(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_MAX_BYTES", "256KB");
    assert_int_equal(settings.record.max_bytes, 256u << 10);
    resolve_variable("HOTPATH_MAX_BYTES", "8m");
    assert_int_equal(settings.record.max_bytes, 8u << 20);
    resolve_variable("HOTPATH_MAX_BYTES", "4GiB");
    assert_true(settings.record.max_bytes == UINT64_C(4) << 30);
    resolve_variable("HOTPATH_MAX_BYTES", "0");
    assert_int_equal(settings.record.max_bytes, 0);
    assert_no_warning();
    static const char *const wrong[] = {"255KB", "1", "5GB", "much", "64 MB", "4294967297"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_MAX_BYTES", wrong[i]);
        snprintf(
            expected, sizeof expected,
            "hotpath: HOTPATH_MAX_BYTES='%s' is not a size from 256KB to 4GB; using a quarter of the free space, "
            "at most 64MB",
            wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
    const struct hotpath_options program = {.size = sizeof program, .max_bytes = 1000};
    resolve(&program, NULL);
    assert_one_warning(
        "hotpath: option max_bytes='1000' is not a size from 256KB to 4GB; using a quarter of the free "
        "space, at most 64MB");
}

static void flags(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        const bool *flag;
    } cases[] = {
        {"HOTPATH_EXCLUDE_WRAPPER", &settings.show.exclude_wrapper},
        {"HOTPATH_TIME_EXCLUSIVE", &settings.show.time_exclusive},
        {"HOTPATH_LEAVE_SIGNALS", &settings.record.leave_signals},
        {"HOTPATH_RESERVE", &settings.record.reserve},
        {"HOTPATH_ALLOC_CUMULATIVE", &settings.show.alloc_cumulative},
        {"HOTPATH_DEBUGINFOD", &settings.show.debuginfod},
        {"HOTPATH_CPU_INCLUSIVE", &settings.show.cpu_inclusive},
        {"HOTPATH_WAITS", &settings.record.waits},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        resolve_variable(cases[i].variable, "Yes");
        assert_no_warning();
        assert_true(*cases[i].flag);
        assert_int_equal(settings.show.exclude_wrapper + settings.show.time_exclusive +
                             settings.record.leave_signals + settings.record.reserve +
                             settings.show.alloc_cumulative + settings.show.debuginfod +
                             settings.show.cpu_inclusive + settings.record.waits,
                         1);
        resolve_variable(cases[i].variable, "off");
        assert_no_warning();
        assert_defaults();
        resolve_variable(cases[i].variable, "maybe");
        snprintf(expected, sizeof expected,
                 "hotpath: %s='maybe' is not one of 1, true, yes, on, 0, false, no, off; using 0",
                 cases[i].variable);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void no_color_is_set_by_any_text(void **state)
{
    (void)state;
    static const char *const values[] = {"1", "0", "false", "whatever"};
    for (size_t i = 0; i < COUNT(values); i++) {
        resolve_variable("NO_COLOR", values[i]);
        assert_no_warning();
        assert_true(settings.output.no_color);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_kinds),
        cmocka_unit_test(cpu_time_option),
        cmocka_unit_test(cpu_sampling_rate),
        cmocka_unit_test(precedence_of_recorded_kinds),
        cmocka_unit_test(percentiles_are_sorted_and_unique),
        cmocka_unit_test(formats),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(sort_column),
        cmocka_unit_test(minimum_percent_in_the_environment),
        cmocka_unit_test(minimum_percent_in_the_program),
        cmocka_unit_test(rows_by_function_or_thread),
        cmocka_unit_test(allocation_metric),
        cmocka_unit_test(allocations_requested_explicitly),
        cmocka_unit_test(metadata),
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(flags),
        cmocka_unit_test(no_color_is_set_by_any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
