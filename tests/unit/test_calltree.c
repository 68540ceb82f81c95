/* The section `calltree`: threads merged by path, and its limits. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report_asserts.h"

static void threads_are_merged_by_path(void **state)
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

static void limit_keeps_the_hottest_rows(void **state)
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

/* A thread has a root in the tree, but that is no function that a focus could leave out. */
static void tree_without_functions_is_not_filtered(void **state)
{
    (void)state;
    strcpy(settings.show.report, "calltree");
    builder_thread(&builder);
    fixture_build();
    assert_string_equal(section_named("calltree")->if_empty, "nothing was measured");
}

static void very_deep_tree_is_cut(void **state)
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(threads_are_merged_by_path),
        TEST(limit_keeps_the_hottest_rows),
        TEST(tree_without_functions_is_not_filtered),
        TEST(very_deep_tree_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
