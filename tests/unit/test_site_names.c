/*
 * Names of functions in reports: readable C++ names, labels, and equal names made distinct.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report_asserts.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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

static void mangled_names_are_demangled_by_the_reader(void **state)
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

static void mangled_names_stay_without_a_reader(void **state)
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
static void labels_are_never_demangled(void **state)
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

static void label_of_the_reader_overrides(void **state)
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

static void equal_names_are_distinguished(void **state)
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
        {"json:parse", "other.c", 4, NULL}, /* a label that has the form of a displayed name */
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(mangled_names_are_demangled_by_the_reader),
        TEST(mangled_names_stay_without_a_reader),
        TEST(labels_are_never_demangled),
        TEST(label_of_the_reader_overrides),
        TEST(equal_names_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
