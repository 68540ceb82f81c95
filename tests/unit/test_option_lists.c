/* Options that are lists: of names and of patterns, given directly or in files. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "options_fixture.h"

static void lists_of_names(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_SECTIONS", " timing , calltree,");
    assert_no_warning();
    assert_string_equal(settings.show.report, "timing,calltree");
    resolve_variable("HOTPATH_SECTIONS", "all,-timing");
    assert_string_equal(settings.show.report, "all,-timing");
    resolve_variable("HOTPATH_COLUMNS", "self, p99.9 ,rw_locks");
    assert_no_warning();
    assert_string_equal(settings.show.columns, "self,p99.9,rw_locks");
    static const char *const wrong[] = {"timing;calltree", "-", "--timing", "tim ing", "_x", ",,"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char expected[256];
        resolve_variable("HOTPATH_SECTIONS", wrong[i]);
        snprintf(
            expected, sizeof expected,
            "hotpath: HOTPATH_SECTIONS='%s' is not a list of sections such as short, auto, all, timing,calltree or "
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

/* HOTPATH_REPORT chooses sections if HOTPATH_SECTIONS does not. */
static void sections_by_either_name(void **state)
{
    (void)state;
    resolve_variable("HOTPATH_REPORT", "timing");
    assert_no_warning();
    assert_string_equal(settings.show.report, "timing");
    resolve(NULL, (struct variable[]){{"HOTPATH_REPORT", "timing"}, {"HOTPATH_SECTIONS", "cpu"}, {NULL, NULL}});
    assert_no_warning();
    assert_string_equal(settings.show.report, "cpu");
    resolve(NULL, (struct variable[]){{"HOTPATH_REPORT", "timing"}, {"HOTPATH_SECTIONS", ""}, {NULL, NULL}});
    assert_string_equal(settings.show.report, "timing");
    const struct hotpath_options program = {.size = sizeof program, .report = "calltree"};
    resolve(&program, (struct variable[]){{"HOTPATH_REPORT", "!"}, {NULL, NULL}});
    assert_one_warning("hotpath: HOTPATH_REPORT='!' is not a list of sections such as short, auto, all, "
                       "timing,calltree or -timing; using the program's own value");
    assert_string_equal(settings.show.report, "calltree");
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

/* The value is shown cut, so only the rest is compared; $ stands for the path. */
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

static void invalid_list_files_are_named_with_the_line(void **state)
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

int main(void)
{
    const int list_file = mkstemp(list_path);
    if (list_file < 0)
        return 1;
    close(list_file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_names),
        cmocka_unit_test(sections_by_either_name),
        cmocka_unit_test(patterns),
        cmocka_unit_test(lists_of_patterns_are_bounded),
        cmocka_unit_test(lists_come_from_files),
        cmocka_unit_test(invalid_list_files_are_named_with_the_line),
        cmocka_unit_test(files_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
