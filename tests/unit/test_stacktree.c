/* The section `stacktree`, from made-up stacks. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "found_tree.h"
#include "function_role.h"
#include "model.h"
#include "report_fixture.h"

static struct found_tree tree;
static struct hp_arena model_arena;
static struct hp_model model;
static const hotpath_section *section;

static int set_up(void **state)
{
    fixture_set_up(state);
    strcpy(settings.show.report, "stacktree");
    tree_begin(&tree);
    tree_process(&tree, 100, "demo", "/usr/bin/demo");
    return 0;
}

static int tear_down(void **state)
{
    hp_arena_release(&model_arena);
    return fixture_tear_down(state);
}

static void build(const char *name)
{
    hp_arena_release(&model_arena);
    memset(&model, 0, sizeof model);
    assert_true(hp_model_build(&model, &model_arena, &model_arena, fixture_open(NULL)));
    model.functions = &tree.profile;
    const hotpath_results *made = hp_results_of_model(&model, &settings);
    assert_non_null(made);
    section = NULL;
    for (size_t at = 0; at < made->section_count; at++)
        if (strcmp(made->sections[at]->name, name) == 0)
            section = made->sections[at];
}

static float number(size_t row, const char *key) { return (float)cell_of(section, row, key).number; }

static void assert_row(size_t row, uint32_t depth, const char *name, double total_ms, double self_ms)
{
    assert_true(row < hotpath_section_rows(section));
    assert_string_equal(cell_of(section, row, "name").text, name);
    assert_int_equal(section->rows[row].depth, depth);
    assert_float_equal(number(row, "total_ns"), (float)(total_ms * (double)TREE_MS), 1);
    assert_float_equal(number(row, "self_ns"), (float)(self_ms * (double)TREE_MS), 1);
}

static void stacks_are_merged_by_path(void **state)
{
    (void)state;
    tree_add(&tree, "_start;__libc_start_main;main;load;parse", 200);
    tree_add(&tree, "_start;__libc_start_main;main;load;check", 300);
    tree_add(&tree, "_start;__libc_start_main;main;load", 50);
    tree_add(&tree, "_start;__libc_start_main;main;parse", 100);
    tree_add(&tree, "clone3;start_thread;worker;parse", 350);
    build("stacktree");
    assert_true(section->is_tree);
    assert_int_equal(hotpath_section_rows(section), 7);
    assert_row(0, 0, "main", 650, 0);
    assert_row(1, 1, "load", 550, 50);
    assert_row(2, 2, "check", 300, 300);
    assert_row(3, 2, "parse", 200, 200);
    assert_row(4, 1, "parse", 100, 100);
    assert_row(5, 0, "worker", 350, 0);
    assert_row(6, 1, "parse", 350, 350);
    assert_float_equal(number(1, "percent_total"), 55, 0.001);
    assert_string_equal(cell_of(section, 1, "library").text, "demo");
}

static void what_says_nothing_is_left_out(void **state)
{
    (void)state;
    tree_add(&tree, "_start;main;walk;walk;walk;visit", 400);
    tree_add(&tree, "_start;main;walk;walk", 100);
    tree_add(&tree, "_start;main;emit;[kernel: write]@;ksys_write@[kernel];vfs_write@[kernel]", 300);
    tree_add(&tree, HP_REST_OF_STACK "@;mix", 200);
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 7);
    assert_row(0, 0, "main", 800, 0);
    assert_row(1, 1, "walk", 500, 100);
    assert_row(2, 2, "visit", 400, 400);
    assert_row(3, 1, "emit", 300, 0);
    assert_row(4, 2, "[kernel: write]", 300, 300);
    assert_row(5, 0, HP_REST_OF_STACK, 200, 0); /* its callers are unknown, which is worth knowing */
    assert_row(6, 1, "mix", 200, 200);
}

static void programs_are_at_the_top_of_several_processes(void **state)
{
    (void)state;
    tree_add(&tree, "main;run", 100);
    for (uint32_t pid = 200; pid < 203; pid++) {
        tree_process(&tree, pid, "cc1", "/usr/lib/cc1");
        tree_add(&tree, "main;compile", 200);
    }
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 6);
    assert_row(0, 0, "cc1, 3 processes", 600, 0);
    assert_row(1, 1, "main", 600, 0);
    assert_row(2, 2, "compile", 600, 600);
    assert_row(3, 0, "demo, process 100", 100, 0);
    assert_row(4, 1, "main", 100, 0);
    assert_int_equal(cell_of(section, 0, "processes").count, 3);
    assert_false(cell_of(section, 1, "processes").has_value);
}

static void waiting_is_that_of_all_callees(void **state)
{
    (void)state;
    tree_add(&tree, "main;work", 300);
    tree_wait(&tree, "main;save;write@libc.so.6", HP_WAIT_DISK, "disk: /data/x.db", 500);
    tree_wait(&tree, "main;save;read@libc.so.6", HP_WAIT_PIPE, "pipe", 200);
    tree.profile.waited_ns = 700 * TREE_MS;
    tree.profile.counts.waits = 70;
    build("stacktree");
    assert_row(0, 0, "main", 300, 0);
    assert_row(1, 1, "work", 300, 300);
    assert_row(2, 1, "save", 0, 0);
    assert_float_equal(number(2, "total_waiting_ns"), 700 * (float)TREE_MS, 1);
    assert_string_equal(cell_of(section, 0, "waits_for").text, "disk: /data/x.db");
    assert_string_equal(cell_of(section, 2, "waits_for").text, "disk: /data/x.db");
    assert_string_equal(cell_of(section, 4, "waits_for").text, "pipe");
    assert_false(cell_of(section, 1, "waits_for").has_value);
}

/* The first two rows of each path are hotter than the others; what is small has no rows below it either. */
static void limits(void **state)
{
    (void)state;
    tree_add(&tree, "main;a;deep", 500);
    tree_add(&tree, "main;b", 300);
    tree_add(&tree, "main;c;tiny", 4);
    settings.show.calltree_limit = 3;
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 3);
    assert_int_equal(hotpath_section_total_rows(section), 6);
    assert_row(2, 2, "deep", 500, 500);
    settings.show.calltree_limit = 0;
    settings.show.min_percent = 1;
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 4);
    assert_row(3, 1, "b", 300, 300);
}

static void rows_are_sorted_and_focused(void **state)
{
    (void)state;
    tree_add(&tree, "main;a", 300);
    tree_add(&tree, "main;b;own", 500);
    tree_add(&tree, "main;c", 400);
    strcpy(settings.show.sort, "self");
    build("stacktree");
    assert_row(1, 1, "c", 400, 400);
    assert_row(2, 1, "a", 300, 300);
    assert_row(3, 1, "b", 500, 0);
    strcpy(settings.show.sort, "-name");
    build("stacktree");
    assert_row(1, 1, "c", 400, 400);
    assert_row(4, 1, "a", 300, 300);
    settings.show.sort[0] = '\0';
    strcpy(settings.show.focus, "own");
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 3); /* with its callers */
    assert_row(2, 2, "own", 500, 500);
}

/* `tree` is the call tree of measured functions, and where there are none that of stacks. */
static void the_tree_that_has_functions(void **state)
{
    (void)state;
    tree_add(&tree, "main;a", 300);
    strcpy(settings.show.report, "tree");
    build("stacktree");
    assert_non_null(section);
    build("calltree");
    assert_null(section);
    const uint32_t thread = builder_thread(&builder);
    builder_call(&builder, thread, builder_node(&builder, thread, 0, builder_site(&builder, "a", "f.c", 1)), 9, 0);
    build("stacktree");
    assert_null(section);
    build("calltree");
    assert_non_null(section);
}

static void without_stacks(void **state)
{
    (void)state;
    tree.profile.node_count = 1;
    build("stacktree");
    assert_int_equal(hotpath_section_rows(section), 0);
    assert_string_equal(section->if_empty, "no function was found running");
    strcpy(settings.show.report, "all");
    build("stacktree");
    assert_null(section);
    strcpy(settings.show.report, "tree");
    build("calltree");
    assert_non_null(section);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stacks_are_merged_by_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_says_nothing_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_are_at_the_top_of_several_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(waiting_is_that_of_all_callees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_are_sorted_and_focused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_tree_that_has_functions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_stacks, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
