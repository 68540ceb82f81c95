/*
 * Rules that hold for all options: defaults, precedence, warnings, and structs of other versions.
 * SPDX-License-Identifier: MIT
 */
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

/* ----------------------------------------------------------------------------------------------- defaults */

static void no_options_give_defaults(void **state)
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

static void environment_overrides_the_program(void **state)
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

static void invalid_value_falls_back_to_the_next_level(void **state)
{
    (void)state;
    const struct hotpath_options good = {.size = sizeof good, .format = "json"};
    const struct hotpath_options wrong = {.size = sizeof wrong, .format = "xml"};
    struct variable good_variable[] = {{"HOTPATH_OUTPUT_FORMAT", "none"}, {NULL, NULL}};
    struct variable wrong_variable[] = {{"HOTPATH_OUTPUT_FORMAT", "yaml"}, {NULL, NULL}};
    resolve(&good, wrong_variable);
    assert_one_warning(
        "hotpath: HOTPATH_OUTPUT_FORMAT='yaml' is not one of table, json, json-pretty, csv, markdown, html, none; "
        "using the program's own value");
    assert_int_equal(settings.output.format, HP_FORMAT_JSON);
    resolve(&wrong, NULL);
    assert_one_warning("hotpath: option format='xml' is not one of table, json, json-pretty, csv, markdown, html, "
                       "none; using table");
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
    resolve(&wrong, good_variable);
    assert_one_warning(
        "hotpath: option format='xml' is not one of table, json, json-pretty, csv, markdown, html, none; "
        "using the value of HOTPATH_OUTPUT_FORMAT");
    assert_int_equal(settings.output.format, HP_FORMAT_NONE);
    resolve(&wrong, wrong_variable);
    assert_int_equal(warning_count, 2);
    assert_string_equal(warnings[0], "hotpath: option format='xml' is not one of table, json, json-pretty, csv, "
                                     "markdown, html, none; using table");
    assert_string_equal(warnings[1],
                        "hotpath: HOTPATH_OUTPUT_FORMAT='yaml' is not one of table, json, json-pretty, "
                        "csv, markdown, html, none; using table");
    assert_int_equal(settings.output.format, HP_FORMAT_TABLE);
}

/* Every way to give or not to give the three limits on two levels: 64 combinations against a plain rule. */
static void precedence_of_limits(void **state)
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

static void no_limit_in_environment_and_program(void **state)
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

static void invalid_limits_name_the_limit_used(void **state)
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
        "json-pretty, csv, markdown, html, none; using table");
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "1234567890123456789012345678901234567890");
    assert_one_warning(
        "hotpath: HOTPATH_OUTPUT_FORMAT='1234567890123456789012345678901234567890' is not one of table, "
        "json, json-pretty, csv, markdown, html, none; using table");
    resolve_variable("HOTPATH_OUTPUT_FORMAT", "12345678901234567890123456789012345678901");
    assert_one_warning("hotpath: HOTPATH_OUTPUT_FORMAT='1234567890123456789012345678901234567890...' is not one of "
                       "table, json, json-pretty, csv, markdown, html, none; using table");
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

static void each_invalid_value_gives_one_warning(void **state)
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
    hp_settings_resolve(&settings, NULL, lookup, variables, NULL, NULL); /* no callback for warnings */
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

static void single_value_can_be_checked(void **state)
{
    (void)state;
    char problem[200];
    assert_true(hp_option_accepts(option_of("HOTPATH_LIMIT"), "3", problem, sizeof problem));
    assert_string_equal(problem, "");
    assert_false(hp_option_accepts(option_of("HOTPATH_LIMIT"), "many", problem, sizeof problem));
    assert_string_equal(problem, "is not a number from 0 to 4294967294 (0: no limit)");
    assert_false(hp_option_accepts(option_of("HOTPATH_OUTPUT_FORMAT"), "xml", problem, sizeof problem));
}

/* On the command line each flag and letter has one meaning, and every flag is taken by a command. */
static void command_line_flags_are_unique(void **state)
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

static void structs_of_other_sizes(void **state)
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

static void unknown_variables_are_named(void **state)
{
    (void)state;
#define VARIABLE(text) ((char[]){text})
    char *const environment[] = {VARIABLE("HOTPATH_LIMITS=3"),
                                 VARIABLE("PATH=/bin"),
                                 VARIABLE("HOTPATH=1"),
                                 VARIABLE("HOTPATH_PRELOAD=all"),
                                 VARIABLE("HOTPATH_REPORT=all"),
                                 VARIABLE("HOTPATH_SOMETHING_ELSE"),
                                 VARIABLE("MY_HOTPATH_LIMIT=1"),
                                 VARIABLE("HOTPATH_SECTIONS=all"),
                                 NULL};
    warning_count = 0;
    hp_options_warn_unknown(environment, collect, warnings);
    assert_int_equal(warning_count, 2);
    assert_string_equal(warnings[0], "hotpath: unknown variable HOTPATH_LIMITS; did you mean HOTPATH_LIMIT?");
    assert_string_equal(warnings[1],
                        "hotpath: unknown variable HOTPATH_SOMETHING_ELSE; see 'hotpath help environment'");
    hp_options_warn_unknown(NULL, collect, warnings);
}

static void given_limit_is_distinguished_from_the_default(void **state)
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_options_give_defaults),
        cmocka_unit_test(empty_values_are_not_given),
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(every_field_of_the_program_is_read),
        cmocka_unit_test(environment_overrides_the_program),
        cmocka_unit_test(invalid_value_falls_back_to_the_next_level),
        cmocka_unit_test(precedence_of_limits),
        cmocka_unit_test(no_limit_in_environment_and_program),
        cmocka_unit_test(invalid_limits_name_the_limit_used),
        cmocka_unit_test(values_are_shown_safely),
        cmocka_unit_test(the_longest_warning_fits),
        cmocka_unit_test(each_invalid_value_gives_one_warning),
        cmocka_unit_test(single_value_can_be_checked),
        cmocka_unit_test(command_line_flags_are_unique),
        cmocka_unit_test(structs_of_other_sizes),
        cmocka_unit_test(fields_beyond_the_size_are_not_read),
        cmocka_unit_test(unknown_variables_are_named),
        cmocka_unit_test(given_limit_is_distinguished_from_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
