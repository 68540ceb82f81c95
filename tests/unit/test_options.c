/*
 * Options: each with a valid and an invalid value, the exact warnings, and precedence. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "number.h"
#include "options.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ------------------------------------------------------------------------- a stand-in for the environment */

struct variable {
    const char *name;
    const char *value;
};

/* The last field; the compiler may leave a gap behind it. */
#define END_OF_FIELDS (offsetof(struct hotpath_options, reserved) + sizeof((struct hotpath_options *)0)->reserved)
#define MAX_WARNINGS 64

static struct hp_settings settings;
static char warnings[MAX_WARNINGS][640];
static size_t warning_count;

static const char *lookup(const char *name, void *context)
{
    for (const struct variable *variable = context; variable && variable->name; variable++)
        if (strcmp(variable->name, name) == 0)
            return variable->value;
    return NULL;
}

static void collect(const char *line, void *context)
{
    assert_ptr_equal(context, warnings);
    assert_true(warning_count < MAX_WARNINGS);
    assert_true(strlen(line) < sizeof warnings[0]);
    strcpy(warnings[warning_count++], line);
}

static void resolve(const struct hotpath_options *options, struct variable *variables)
{
    warning_count = 0;
    memset(&settings, 0xa5, sizeof settings);
    hp_settings_resolve(&settings, options, lookup, variables, collect, warnings);
}

static void resolve_variable(const char *name, const char *value)
{
    struct variable variables[] = {{name, value}, {NULL, NULL}};
    resolve(NULL, variables);
}

static void assert_no_warning(void)
{
    if (warning_count != 0)
        fail_msg("unexpected warning: %s", warnings[0]);
}

static void assert_one_warning(const char *expected)
{
    assert_int_equal(warning_count, 1);
    assert_string_equal(warnings[0], expected);
}

static bool percentiles_are(size_t count, const double *expected)
{
    return settings.show.percentile_count == count &&
           memcmp(settings.show.percentiles, expected, count * sizeof *expected) == 0;
}

static bool is_share(double percent) { return memcmp(&settings.show.min_percent, &percent, sizeof percent) == 0; }

/* ----------------------------------------------------------------------------------------------- defaults */

static void assert_defaults(void)
{
    assert_true(percentiles_are(1, (const double[]){95}));
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
    assert_int_equal(settings.show.by, HP_BY_FUNCTION);
    assert_int_equal(settings.record.kinds, HP_RECORD_USUAL);
    assert_false(settings.record.is_set);
    assert_false(settings.record.is_off);
    assert_false(settings.show.exclude_wrapper);
    assert_false(settings.show.time_exclusive);
    assert_false(settings.show.alloc_cumulative);
    assert_int_equal(settings.show.alloc_metric, HP_ALLOC_BYTES_TOTAL);
    assert_false(settings.record.alloc_is_asked);
    assert_false(settings.record.leave_signals);
    assert_false(settings.record.reserve);
    assert_false(settings.record.waits);
    assert_false(settings.output.no_color);
    assert_false(settings.record.is_run);
    assert_int_equal(settings.show.functions_limit, 15);
    assert_int_equal(settings.show.calltree_limit, 50);
    assert_int_equal(settings.record.logs_limit, 50);
    assert_int_equal(settings.record.shutdown_ms, 0);
    assert_int_equal(settings.record.keep, 20);
    assert_int_equal(settings.record.max_bytes, 0);
    assert_string_equal(settings.output.output_path, "");
    assert_string_equal(settings.record.dir, "");
    assert_string_equal(settings.show.report, "short");
    assert_string_equal(settings.show.columns, "");
    assert_string_equal(settings.show.sort, "");
    assert_true(is_share(0));
    assert_string_equal(settings.show.focus, "");
    assert_string_equal(settings.show.slowest, "");
    assert_string_equal(settings.record.filter, "");
    assert_string_equal(settings.record.skip, "");
    assert_string_equal(settings.record.label, "");
    assert_string_equal(settings.record.metadata, "");
}

static void nothing_given_means_defaults(void **state)
{
    (void)state;
    const struct hotpath_options zero = {.size = sizeof zero};
    resolve(NULL, NULL);
    assert_no_warning();
    assert_defaults();
    resolve(&zero, NULL);
    assert_no_warning();
    assert_defaults();
    hp_settings_resolve(&settings, NULL, NULL, NULL, NULL, NULL);
    assert_defaults();
}

static void empty_values_are_not_given(void **state)
{
    (void)state;
    struct variable variables[64] = {{NULL, NULL}};
    assert_true(hp_option_count < COUNT(variables));
    for (size_t i = 0; i < hp_option_count; i++)
        variables[i] = (struct variable){hp_options[i].variable, ""};
    resolve(NULL, variables);
    assert_no_warning();
    assert_defaults();
}

/* The table speaks of every field of the program's struct, once, in bounds, and in the words users read. */
static void table_is_complete(void **state)
{
    (void)state;
    static const char *const fields[] = {"percentiles",
                                         "format",
                                         "output_path",
                                         "report",
                                         "columns",
                                         "sort",
                                         "by",
                                         "focus",
                                         "filter",
                                         "label",
                                         "metadata",
                                         "dir",
                                         "record",
                                         "max_bytes",
                                         "limit",
                                         "functions_limit",
                                         "calltree_limit",
                                         "shutdown_ms",
                                         "keep",
                                         "exclude_wrapper",
                                         "min_percent",
                                         "time_exclusive",
                                         "leave_signals",
                                         "reserve",
                                         "logs_limit",
                                         "slowest",
                                         "log",
                                         "time_sampling_rate",
                                         "functions_time_sampling_rate",
                                         "keys_limit",
                                         "measuring_bound",
                                         "skip",
                                         "alloc_cumulative",
                                         "alloc_metric",
                                         "cpu",
                                         "cpu_rate",
                                         "cpu_engine",
                                         "cpu_inclusive",
                                         "waits"};
    size_t bytes = sizeof(size_t) + sizeof((struct hotpath_options *)0)->reserved;
    for (size_t i = 0; i < COUNT(fields); i++) {
        size_t found = 0;
        for (size_t j = 0; j < hp_option_count; j++)
            found += hp_options[j].field && strcmp(hp_options[j].field, fields[i]) == 0;
        assert_int_equal(found, 1);
    }
    for (size_t i = 0; i < hp_option_count; i++) {
        const struct hp_option *option = &hp_options[i];
        static const size_t sizes[] = {[HP_OPTION_TEXT] = sizeof(char *),
                                       [HP_OPTION_CHOICE] = sizeof(char *),
                                       [HP_OPTION_COUNT] = 4,
                                       [HP_OPTION_LIMIT] = 4,
                                       [HP_OPTION_BYTES] = 8,
                                       [HP_OPTION_NUMBER] = 8,
                                       [HP_OPTION_FLAG] = 1};
        bytes += option->field ? sizes[option->type] : 0;
        assert_true(strncmp(option->variable, "HOTPATH", 7) == 0 || strcmp(option->variable, "NO_COLOR") == 0);
        assert_true((option->initial[0] == '\0') == (option->unset[0] != '\0'));
        assert_int_equal(option->help[strlen(option->help) - 1], '.');
        assert_true(option->value[0] != '\0');
    }
    /* Where pointers are short, numbers of 8 bytes may have a gap before them. */
    assert_true(bytes <= END_OF_FIELDS && END_OF_FIELDS - bytes <= sizeof(uint64_t) - sizeof(void *));
}

/* ------------------------------------------------------------------------------- one option after the other */

static void what_is_recorded(void **state)
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

static void processor_time_is_asked_for(void **state)
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

static void how_often_samples_are_taken(void **state)
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

static void who_says_what_is_recorded(void **state)
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

static void percentiles_are_sorted_and_single(void **state)
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
    static const char *const names[] = {"table", "json", "json-pretty", "html", "none"};
    for (uint32_t i = 0; i < COUNT(names); i++) {
        resolve_variable("HOTPATH_OUTPUT_FORMAT", names[i]);
        assert_no_warning();
        assert_int_equal(settings.output.format, i);
    }
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "JSON");
    assert_int_equal(settings.output.format, HP_FORMAT_JSON);
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "xml");
    assert_one_warning("hotpath: HOTPATH_OUTPUT_FORMAT='xml' is not one of table, json, json-pretty, html, none; "
                       "using table");
    assert_defaults();
}

static void what_a_row_is_about(void **state)
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

static void what_tables_of_allocations_lead_with(void **state)
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

/* Whoever names allocations counts on them; whoever records everything does not. */
static void who_asks_for_allocations(void **state)
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
        {"HOTPATH_REPORT", settings.show.report, sizeof settings.show.report, "short"},
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

static void lists_of_names(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_REPORT", " timing , calltree,");
    assert_no_warning();
    assert_string_equal(settings.show.report, "timing,calltree");
    resolve_variable("HOTPATH_REPORT", "all,-timing");
    assert_string_equal(settings.show.report, "all,-timing");
    resolve_variable("HOTPATH_COLUMNS", "self, p99.9 ,rw_locks");
    assert_no_warning();
    assert_string_equal(settings.show.columns, "self,p99.9,rw_locks");
    static const char *const wrong[] = {"timing;calltree", "-", "--timing", "tim ing", "_x", ",,"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_REPORT", wrong[i]);
        snprintf(
            expected, sizeof expected,
            "hotpath: HOTPATH_REPORT='%s' is not a list of sections such as short, auto, all, timing,calltree or "
            "-timing; using short",
            wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
        resolve_variable("HOTPATH_COLUMNS", wrong[i]);
        snprintf(expected, sizeof expected,
                 "hotpath: HOTPATH_COLUMNS='%s' is not a list of columns such as self,min,max or all; using the "
                 "default columns",
                 wrong[i]);
        assert_one_warning(expected);
        assert_defaults();
    }
}

static void the_order_is_one_column(void **state)
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

static void the_least_share_is_a_percentage(void **state)
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
static void shares_of_the_program(void **state)
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

static void patterns(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_FOCUS", "/^parse_/i");
    assert_no_warning();
    assert_string_equal(settings.show.focus, "/^parse_/i");
    resolve_variable("HOTPATH_FILTER", "parse(");
    assert_no_warning();
    assert_string_equal(settings.record.filter, "parse(");
    resolve_variable("HOTPATH_SKIP", " parse* ,, file:a.c,/x,y/i,-z");
    assert_no_warning();
    assert_string_equal(settings.record.skip, "parse*,file:a.c,/x,y/i,-z");
    resolve_variable("HOTPATH_FOCUS", "/(/");
    assert_one_warning("hotpath: HOTPATH_FOCUS='/(/' is not a list of texts, globs and /regex/: item 1: '(' is "
                       "never closed at byte 2; using no focus (every row)");
    assert_defaults();
    resolve_variable("HOTPATH_FILTER", "x,/a{3,2}/");
    assert_one_warning("hotpath: HOTPATH_FILTER='x,/a{3,2}/' is not a list of texts, globs and /regex/: item 2: a "
                       "repetition {m,n} is reversed at byte 3; using no filter (every site)");
    assert_defaults();
    resolve_variable("HOTPATH_SKIP", "-");
    assert_one_warning("hotpath: HOTPATH_SKIP='-' is not a list of texts, globs and /regex/: item 1: '-' has "
                       "nothing after it to exclude; using nothing excluded");
    assert_defaults();
}

/* As long as fits, and one byte more. */
static void lists_of_patterns_are_bounded(void **state)
{
    (void)state;
    static char value[HP_PATTERN_LIST_BYTES + 1];
    for (size_t at = 0; at < HP_PATTERN_LIST_BYTES; at++)
        value[at] = at % 100 == 99 ? ',' : 'x';
    value[HP_PATTERN_LIST_BYTES - 1] = '\0';
    resolve_variable("HOTPATH_FILTER", value);
    assert_no_warning();
    assert_string_equal(settings.record.filter, value);
    value[HP_PATTERN_LIST_BYTES - 1] = 'x';
    resolve_variable("HOTPATH_FILTER", value);
    assert_int_equal(warning_count, 1);
    assert_non_null(strstr(warnings[0], ": the list is longer than 8191 bytes; using no filter (every site)"));
    assert_defaults();
}

/* ------------------------------------------------------------------------------------ lists in files */

static char list_path[] = "/tmp/hotpath_test_options.XXXXXX";

static void write_list(const char *content, size_t length)
{
    FILE *file = fopen(list_path, "w");
    assert_non_null(file);
    const size_t written = fwrite(content, 1, length, file);
    const int status = fclose(file);
    assert_int_equal(written, length);
    assert_int_equal(status, 0);
}

static void resolve_list(const char *variable, const char *before, const char *content)
{
    char value[200];
    write_list(content, strlen(content));
    snprintf(value, sizeof value, "%s@%s", before, list_path);
    resolve_variable(variable, value);
}

/* The value is shown cut, so what is expected is the rest; $ in it stands for the path. */
static void assert_list_warning(const char *expected)
{
    static const char start[] = "' is not a list of texts, globs and /regex/: ";
    char whole[300];
    const size_t before = strcspn(expected, "$");
    assert_int_equal(warning_count, 1);
    const char *problem = strstr(warnings[0], start);
    assert_non_null(problem);
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)before, expected, expected[before] != '\0' ? list_path : "",
             expected[before] != '\0' ? expected + before + 1 : "");
    assert_string_equal(problem + strlen(start), whole);
    assert_defaults();
}

static void lists_come_from_files(void **state)
{
    (void)state;
    resolve_list("HOTPATH_FILTER", "first , ",
                 "# what is wanted\n\n  parse_*\t\r\n/^a,b$/i\nstd::map<int, char>\n-debug\nfile:json.c");
    assert_no_warning();
    assert_string_equal(settings.record.filter, "first,parse_*,/^a,b$/i,std::map<int\\, char>,-debug,file:json.c");
    resolve_list("HOTPATH_FOCUS", "-", "one\n-two\n");
    assert_no_warning();
    assert_string_equal(settings.show.focus, "-one,-two");
    resolve_list("HOTPATH_SKIP", "", "# nothing\n");
    assert_no_warning();
    assert_string_equal(settings.record.skip, "");
    /* What a list has become means the same when it is read again: hotpath run passes it on. */
    resolve_variable("HOTPATH_FILTER", "first,parse_*,/^a,b$/i,std::map<int\\, char>,-debug,\\/x");
    assert_string_equal(settings.record.filter, "first,parse_*,/^a,b$/i,std::map<int\\, char>,-debug,\\/x");
}

static void wrong_files_are_named_with_the_line(void **state)
{
    (void)state;
    resolve_list("HOTPATH_FILTER", "", "one\n\n# two\n  /(/\nthree\n");
    assert_list_warning("line 4 of '$': '(' is never closed at byte 2; using no filter (every site)");
    resolve_list("HOTPATH_FILTER", "x,", "one\n-@other");
    assert_list_warning("line 2 of '$': a list file cannot include another; using no filter (every site)");
    write_list("a\0b", 3);
    char value[200];
    snprintf(value, sizeof value, "@%s", list_path);
    resolve_variable("HOTPATH_FILTER", value);
    assert_list_warning("the file '$' is not a text file; using no filter (every site)");
    remove(list_path);
    resolve_variable("HOTPATH_FILTER", value);
    assert_list_warning("the file '$' cannot be read: no such file or directory; using no filter (every site)");
    resolve_variable("HOTPATH_FILTER", "@/dev/null");
    assert_list_warning("the file '/dev/null' cannot be read: not a regular file; using no filter (every site)");
    resolve_variable("HOTPATH_FILTER", "@/tmp");
    assert_list_warning("the file '/tmp' cannot be read: is a directory; using no filter (every site)");
    resolve_variable("HOTPATH_FILTER", "a,@");
    assert_list_warning("'@' has no path after it; using no filter (every site)");
}

static void files_are_bounded(void **state)
{
    (void)state;
    static char content[65537];
    memset(content, '#', sizeof content); /* one long comment */
    char value[200];
    write_list(content, 65536);
    snprintf(value, sizeof value, "@%s", list_path);
    resolve_variable("HOTPATH_FILTER", value);
    assert_no_warning();
    write_list(content, 65537);
    resolve_variable("HOTPATH_FILTER", value);
    assert_list_warning("the file '$' is longer than 65536 bytes; using no filter (every site)");
    for (size_t at = 0; at < 10000; at++)
        content[at] = at % 10 == 9 ? '\n' : 'x';
    write_list(content, 10000);
    resolve_variable("HOTPATH_FILTER", value);
    assert_list_warning("the list is longer than 8191 bytes; using no filter (every site)");
    remove(list_path);
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

/* ------------------------------------------------------------------------------------------------ levels */

static void every_field_of_the_program_is_read(void **state)
{
    (void)state;
    const struct hotpath_options program = {
        .size = sizeof program,
        .percentiles = "50,99",
        .format = "json",
        .output_path = "out.json",
        .report = "calltree",
        .columns = "self",
        .sort = "-calls",
        .by = "thread",
        .focus = "shown",
        .slowest = "explained",
        .filter = "recorded",
        .skip = "not recorded",
        .label = "run",
        .metadata = "a=b",
        .dir = "/dir",
        .record = "timing",
        .max_bytes = UINT64_C(4) << 30,
        .min_percent = 0.125,
        .functions_limit = 3,
        .calltree_limit = 4,
        .logs_limit = 7,
        .shutdown_ms = 5,
        .keep = 6,
        .exclude_wrapper = 1,
        .time_exclusive = 2,
        .leave_signals = 255,
        .reserve = 1,
    };
    resolve(&program, NULL);
    assert_no_warning();
    assert_true(percentiles_are(2, (const double[]){50, 99}));
    assert_int_equal(settings.output.format, HP_FORMAT_JSON);
    assert_string_equal(settings.output.output_path, "out.json");
    assert_string_equal(settings.show.report, "calltree");
    assert_string_equal(settings.show.columns, "self");
    assert_string_equal(settings.show.sort, "-calls");
    assert_int_equal(settings.show.by, HP_BY_THREAD);
    assert_string_equal(settings.show.focus, "shown");
    assert_string_equal(settings.show.slowest, "explained");
    assert_string_equal(settings.record.filter, "recorded");
    assert_string_equal(settings.record.skip, "not recorded");
    assert_string_equal(settings.record.label, "run");
    assert_string_equal(settings.record.metadata, "a=b");
    assert_string_equal(settings.record.dir, "/dir");
    assert_true(settings.record.max_bytes == UINT64_C(4) << 30);
    assert_true(is_share(0.125));
    assert_int_equal(settings.show.functions_limit, 3);
    assert_int_equal(settings.show.calltree_limit, 4);
    assert_int_equal(settings.record.logs_limit, 7);
    assert_int_equal(settings.record.shutdown_ms, 5);
    assert_int_equal(settings.record.keep, 6);
    assert_true(settings.show.exclude_wrapper && settings.show.time_exclusive && settings.record.leave_signals &&
                settings.record.reserve);
}

static void environment_overrules_the_program(void **state)
{
    (void)state;
    const struct hotpath_options program = {.size = sizeof program,
                                            .format = "json",
                                            .focus = "shown",
                                            .percentiles = "1,2,3",
                                            .shutdown_ms = 5,
                                            .reserve = 1,
                                            .label = "program's"};
    struct variable variables[] = {{"HOTPATH_OUTPUT_FORMAT", "none"}, {"HOTPATH_FOCUS", "other"},
                                   {"HOTPATH_PERCENTILES", "4"},      {"HOTPATH_SHUTDOWN_MS", "0"},
                                   {"HOTPATH_RESERVE", "0"},          {NULL, NULL}};
    resolve(&program, variables);
    assert_no_warning();
    assert_int_equal(settings.output.format, HP_FORMAT_NONE);
    assert_string_equal(settings.show.focus, "other");
    assert_true(percentiles_are(1, (const double[]){4}));
    assert_int_equal(settings.record.shutdown_ms, 0);
    assert_false(settings.record.reserve);
    assert_string_equal(settings.record.label, "program's");
}

static void a_wrong_value_gives_way_to_the_next_level(void **state)
{
    (void)state;
    const struct hotpath_options good = {.size = sizeof good, .format = "json"};
    const struct hotpath_options wrong = {.size = sizeof wrong, .format = "xml"};
    struct variable good_variable[] = {{"HOTPATH_OUTPUT_FORMAT", "none"}, {NULL, NULL}};
    struct variable wrong_variable[] = {{"HOTPATH_OUTPUT_FORMAT", "yaml"}, {NULL, NULL}};
    resolve(&good, wrong_variable);
    assert_one_warning("hotpath: HOTPATH_OUTPUT_FORMAT='yaml' is not one of table, json, json-pretty, html, none; "
                       "using the program's own value");
    assert_int_equal(settings.output.format, HP_FORMAT_JSON);
    resolve(&wrong, NULL);
    assert_one_warning(
        "hotpath: option format='xml' is not one of table, json, json-pretty, html, none; using table");
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
    resolve(&wrong, good_variable);
    assert_one_warning("hotpath: option format='xml' is not one of table, json, json-pretty, html, none; "
                       "using the value of HOTPATH_OUTPUT_FORMAT");
    assert_int_equal(settings.output.format, HP_FORMAT_NONE);
    resolve(&wrong, wrong_variable);
    assert_int_equal(warning_count, 2);
    assert_string_equal(
        warnings[0],
        "hotpath: option format='xml' is not one of table, json, json-pretty, html, none; using table");
    assert_string_equal(warnings[1],
                        "hotpath: HOTPATH_OUTPUT_FORMAT='yaml' is not one of table, json, json-pretty, "
                        "html, none; using table");
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
}

/* Every way to give or not to give the three limits on two levels: 64 combinations against a plain rule. */
static void limits_overrule_one_another_in_order(void **state)
{
    (void)state;
    for (unsigned given = 0; given < 64; given++) {
        struct hotpath_options program = {.size = sizeof program};
        struct variable variables[4] = {{NULL, NULL}};
        size_t count = 0;
        program.limit = given & 1 ? 101 : 0;
        program.functions_limit = given & 2 ? 102 : 0;
        program.calltree_limit = given & 4 ? 103 : 0;
        if (given & 8)
            variables[count++] = (struct variable){"HOTPATH_LIMIT", "201"};
        if (given & 16)
            variables[count++] = (struct variable){"HOTPATH_FUNCTIONS_LIMIT", "202"};
        if (given & 32)
            variables[count++] = (struct variable){"HOTPATH_CALLTREE_LIMIT", "203"};
        resolve(&program, variables);
        assert_no_warning();
        const uint32_t functions = given & 16 ? 202 : given & 8 ? 201 : given & 2 ? 102 : given & 1 ? 101 : 15;
        const uint32_t calltree = given & 32 ? 203 : given & 8 ? 201 : given & 4 ? 103 : given & 1 ? 101 : 50;
        assert_int_equal(settings.show.functions_limit, functions);
        assert_int_equal(settings.show.calltree_limit, calltree);
    }
}

static void no_limit_is_said_in_two_ways(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_LIMIT", "0");
    assert_int_equal(settings.show.functions_limit, HOTPATH_NO_LIMIT);
    assert_int_equal(settings.show.calltree_limit, HOTPATH_NO_LIMIT);
    resolve_variable("HOTPATH_CALLTREE_LIMIT", "0");
    assert_int_equal(settings.show.functions_limit, 15);
    assert_int_equal(settings.show.calltree_limit, HOTPATH_NO_LIMIT);
    const struct hotpath_options program = {
        .size = sizeof program, .limit = 7, .functions_limit = HOTPATH_NO_LIMIT};
    resolve(&program, NULL);
    assert_int_equal(settings.show.functions_limit, HOTPATH_NO_LIMIT);
    assert_int_equal(settings.show.calltree_limit, 7);
    resolve_variable("HOTPATH_LIMIT", "4294967294");
    assert_int_equal(settings.show.functions_limit, UINT32_MAX - 1);
    assert_int_equal(settings.record.logs_limit, 50); /* calls of a function are no rows of a section */
    resolve_variable("HOTPATH_LOGS_LIMIT", "0");
    assert_int_equal(settings.record.logs_limit, HOTPATH_NO_LIMIT);
    assert_no_warning();
}

static void wrong_limits_name_the_limit_used(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_LIMIT", "many");
    assert_one_warning("hotpath: HOTPATH_LIMIT='many' is not a number from 0 to 4294967294 (0: no limit); "
                       "using 15 (call tree: 50)");
    assert_defaults();
    resolve_variable("HOTPATH_FUNCTIONS_LIMIT", "4294967295");
    assert_one_warning("hotpath: HOTPATH_FUNCTIONS_LIMIT='4294967295' is not a number from 0 to 4294967294 "
                       "(0: no limit); using 15");
    assert_defaults();
    resolve_variable("HOTPATH_CALLTREE_LIMIT", "1.5");
    assert_one_warning("hotpath: HOTPATH_CALLTREE_LIMIT='1.5' is not a number from 0 to 4294967294 (0: no limit); "
                       "using 50");
    assert_defaults();
    resolve_variable("HOTPATH_LOGS_LIMIT", "-3");
    assert_one_warning("hotpath: HOTPATH_LOGS_LIMIT='-3' is not a number from 0 to 4294967294 (0: no limit); "
                       "using 50");
    assert_defaults();
    struct variable specific[] = {{"HOTPATH_LIMIT", "20"}, {"HOTPATH_FUNCTIONS_LIMIT", "x"}, {NULL, NULL}};
    resolve(NULL, specific);
    assert_one_warning("hotpath: HOTPATH_FUNCTIONS_LIMIT='x' is not a number from 0 to 4294967294 (0: no limit); "
                       "using 20");
    const struct hotpath_options program = {.size = sizeof program, .limit = HOTPATH_NO_LIMIT};
    struct variable general[] = {{"HOTPATH_LIMIT", "x"}, {NULL, NULL}};
    resolve(&program, general);
    assert_one_warning(
        "hotpath: HOTPATH_LIMIT='x' is not a number from 0 to 4294967294 (0: no limit); using no limit");
}

/* ---------------------------------------------------------------------------------------------- warnings */

static void values_are_shown_safely(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "a\nb\x1b[31m\x7f\xc3\xa9'\\");
    assert_one_warning(
        "hotpath: HOTPATH_OUTPUT_FORMAT='a\\x0ab\\x1b[31m\\x7f\\xc3\\xa9'\\' is not one of table, json, "
        "json-pretty, html, none; using table");
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "1234567890123456789012345678901234567890");
    assert_one_warning(
        "hotpath: HOTPATH_OUTPUT_FORMAT='1234567890123456789012345678901234567890' is not one of table, "
        "json, json-pretty, html, none; using table");
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "12345678901234567890123456789012345678901");
    assert_one_warning("hotpath: HOTPATH_OUTPUT_FORMAT='1234567890123456789012345678901234567890...' is not one of "
                       "table, json, json-pretty, html, none; using table");
}

/* The longest line there can be is not cut: 40 bytes that are shown as four each, and the longest complaint. */
static void the_longest_warning_fits(void **state)
{
    (void)state;
    static const char longest[] =
        "...': '{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) "
        "at byte 254; using no filter (every site)";
    char path[64] = "@/tmp/", content[HP_PATTERN_BYTES];
    memset(path + strlen(path), '\x01', 50); /* the path is shown as well, in the same way */
    memset(content, '\x01', sizeof content);
    memcpy(content, "/", 1);
    strcpy(content + 253, "{/");
    FILE *file = fopen(path + 1, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    resolve_variable("HOTPATH_FILTER", path);
    remove(path + 1);
    assert_int_equal(warning_count, 1);
    const size_t length = strlen(warnings[0]);
    assert_true(length > sizeof longest);
    assert_string_equal(warnings[0] + length - (sizeof longest - 1), longest);
}

static void every_wrong_value_costs_one_line(void **state)
{
    (void)state;
    struct variable variables[64] = {{NULL, NULL}};
    char too_long[1100];
    memset(too_long, '=', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    for (size_t i = 0; i < hp_option_count; i++)
        variables[i] = (struct variable){hp_options[i].variable, too_long};
    resolve(NULL, variables);
    assert_int_equal(warning_count, hp_option_count - 1); /* NO_COLOR has no wrong value */
    for (size_t i = 0; i < warning_count; i++) {
        char start[128];
        snprintf(start, sizeof start, "hotpath: %s='====", hp_options[i].variable);
        assert_memory_equal(warnings[i], start, strlen(start));
        assert_null(strchr(warnings[i], '\n'));
    }
    settings.output.no_color = false;
    assert_defaults();
    hp_settings_resolve(&settings, NULL, lookup, variables, NULL, NULL); /* nobody listens */
    settings.output.no_color = false;
    assert_defaults();
}

static const struct hp_option *option_of(const char *variable)
{
    for (size_t i = 0; i < hp_option_count; i++)
        if (strcmp(hp_options[i].variable, variable) == 0)
            return &hp_options[i];
    fail();
    return NULL;
}

static void a_single_value_can_be_asked_about(void **state)
{
    (void)state;
    char problem[200];
    assert_true(hp_option_accepts(option_of("HOTPATH_LIMIT"), "3", problem, sizeof problem));
    assert_string_equal(problem, "");
    assert_false(hp_option_accepts(option_of("HOTPATH_LIMIT"), "many", problem, sizeof problem));
    assert_string_equal(problem, "is not a number from 0 to 4294967294 (0: no limit)");
    assert_false(hp_option_accepts(option_of("HOTPATH_OUTPUT_FORMAT"), "xml", problem, sizeof problem));
}

/* On the command line each flag and letter means one thing, and every flag has somebody who takes it. */
static void flags_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < hp_option_count; i++)
        for (size_t other = 0; other < i; other++) {
            const struct hp_option *a = &hp_options[i], *b = &hp_options[other];
            assert_true(a->flag == NULL || b->flag == NULL || strcmp(a->flag, b->flag) != 0);
            assert_true(a->letter == 0 || a->letter != b->letter);
            assert_true((a->flag != NULL) == (a->scope != 0));
        }
}

/* ------------------------------------------------------------------------------- sizes of the program's struct */

static void structs_of_other_versions(void **state)
{
    (void)state;
    struct {
        struct hotpath_options options;
        unsigned char beyond[16];
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.options.size = sizeof newer.options;
    assert_true(hp_options_are_known(NULL));
    assert_true(hp_options_are_known(&newer.options));
    newer.beyond[0] = 1;
    assert_true(hp_options_are_known(&newer.options));
    newer.options.size = sizeof newer;
    assert_false(hp_options_are_known(&newer.options));
    newer.beyond[0] = 0;
    assert_true(hp_options_are_known(&newer.options));
    newer.beyond[15] = 1;
    assert_false(hp_options_are_known(&newer.options));
    newer.options.size = sizeof newer - 1;
    assert_true(hp_options_are_known(&newer.options));
    newer.options.size = sizeof newer.options;
    newer.options.reserved[sizeof newer.options.reserved - 1] = 1;
    assert_false(hp_options_are_known(&newer.options));
    newer.options.reserved[sizeof newer.options.reserved - 1] = 0;
    memset((char *)&newer + END_OF_FIELDS, 0xff, sizeof newer.options - END_OF_FIELDS);
    assert_true(hp_options_are_known(&newer.options));
    static const size_t sizes_of_nobody[] = {
        0, 1, sizeof(size_t), offsetof(struct hotpath_options, exclude_wrapper) + 11, 4097, SIZE_MAX};
    for (size_t i = 0; i < COUNT(sizes_of_nobody); i++) {
        newer.options.size = sizes_of_nobody[i];
        assert_false(hp_options_are_known(&newer.options));
    }
}

/* A struct that ends early is read to its end and no further, not even where it ends within a field. */
static void fields_beyond_the_size_are_not_read(void **state)
{
    (void)state;
    const struct hotpath_options whole = {.size = sizeof whole, .percentiles = "1", .format = "json", .reserve = 1};
    const size_t sizes_to_try[] = {sizeof(size_t), offsetof(struct hotpath_options, format),
                                   offsetof(struct hotpath_options, format) + 1,
                                   offsetof(struct hotpath_options, output_path)};
    for (size_t i = 0; i < COUNT(sizes_to_try); i++) {
        struct hotpath_options *cut = malloc(sizes_to_try[i]); /* the sanitizer knows where it ends */
        assert_non_null(cut);
        memcpy(cut, &whole, sizes_to_try[i]);
        memcpy(cut, &sizes_to_try[i], sizeof(size_t));
        resolve(cut, NULL);
        assert_no_warning();
        assert_true(percentiles_are(1, (const double[]){i == 0 ? 95 : 1}));
        assert_int_equal(settings.output.format, i == 3 ? HP_FORMAT_JSON : HP_FORMAT_TABLE);
        assert_false(settings.record.reserve);
        free(cut);
    }
}

static void variables_that_are_none_are_named(void **state)
{
    (void)state;
#define VARIABLE(text) ((char[]){text})
    char *const environment[] = {VARIABLE("HOTPATH_LIMITS=3"),   VARIABLE("PATH=/bin"),
                                 VARIABLE("HOTPATH=1"),          VARIABLE("HOTPATH_PRELOAD=all"),
                                 VARIABLE("HOTPATH_REPORT=all"), VARIABLE("HOTPATH_SOMETHING_ELSE"),
                                 VARIABLE("MY_HOTPATH_LIMIT=1"), NULL};
    warning_count = 0;
    hp_options_warn_unknown(environment, collect, warnings);
    assert_int_equal(warning_count, 2);
    assert_string_equal(warnings[0], "hotpath: unknown variable HOTPATH_LIMITS; did you mean HOTPATH_LIMIT?");
    assert_string_equal(warnings[1],
                        "hotpath: unknown variable HOTPATH_SOMETHING_ELSE; see 'hotpath help environment'");
    hp_options_warn_unknown(NULL, collect, warnings);
}

static void a_limit_that_is_given_is_told_from_the_usual_one(void **state)
{
    (void)state;
    const struct hotpath_options given = {.size = sizeof given, .limit = 15};
    resolve(NULL, NULL);
    assert_false(settings.show.functions_limit_is_given);
    resolve(&given, NULL);
    assert_true(settings.show.functions_limit_is_given);
    assert_int_equal(settings.show.functions_limit, 15);
}

int main(void)
{
    const int list_file = mkstemp(list_path);
    if (list_file < 0)
        return 1;
    close(list_file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given_means_defaults),
        cmocka_unit_test(empty_values_are_not_given),
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(what_is_recorded),
        cmocka_unit_test(processor_time_is_asked_for),
        cmocka_unit_test(how_often_samples_are_taken),
        cmocka_unit_test(who_says_what_is_recorded),
        cmocka_unit_test(percentiles_are_sorted_and_single),
        cmocka_unit_test(formats),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(lists_of_names),
        cmocka_unit_test(the_order_is_one_column),
        cmocka_unit_test(the_least_share_is_a_percentage),
        cmocka_unit_test(shares_of_the_program),
        cmocka_unit_test(what_a_row_is_about),
        cmocka_unit_test(what_tables_of_allocations_lead_with),
        cmocka_unit_test(who_asks_for_allocations),
        cmocka_unit_test(patterns),
        cmocka_unit_test(lists_of_patterns_are_bounded),
        cmocka_unit_test(lists_come_from_files),
        cmocka_unit_test(wrong_files_are_named_with_the_line),
        cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(metadata),
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(flags),
        cmocka_unit_test(no_color_is_set_by_any_text),
        cmocka_unit_test(every_field_of_the_program_is_read),
        cmocka_unit_test(environment_overrules_the_program),
        cmocka_unit_test(a_wrong_value_gives_way_to_the_next_level),
        cmocka_unit_test(limits_overrule_one_another_in_order),
        cmocka_unit_test(no_limit_is_said_in_two_ways),
        cmocka_unit_test(wrong_limits_name_the_limit_used),
        cmocka_unit_test(values_are_shown_safely),
        cmocka_unit_test(the_longest_warning_fits),
        cmocka_unit_test(every_wrong_value_costs_one_line),
        cmocka_unit_test(a_single_value_can_be_asked_about),
        cmocka_unit_test(flags_differ),
        cmocka_unit_test(structs_of_other_versions),
        cmocka_unit_test(fields_beyond_the_size_are_not_read),
        cmocka_unit_test(variables_that_are_none_are_named),
        cmocka_unit_test(a_limit_that_is_given_is_told_from_the_usual_one),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
