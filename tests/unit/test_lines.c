/* One function, line by line. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function_sums.h"

#define MS UINT64_C(1000000)
#define USER [HP_STACK_USER_NS]
#define KERNEL [HP_STACK_KERNEL_NS]
#define WAITED [HP_STACK_WAITED_NS]

/*
 *   main:10 ─ work:20 ─ leaf                    10 ms in leaf
 *                     └ work:25 ─ work:20       3 ms in work:20, below two calls of itself
 *           ─ work:25 with tail:33 inlined      40 ms in tail
 *           ─ work:25                           4 ms, 1 of it in the kernel, and 6 ms of waiting above it
 */
enum { MAIN, WORK, LEAF, TAIL, WAITING };
static struct hp_named_function functions[] = {{"main", "main.c", 0},
                                               {"work", "work.c", 0},
                                               {"leaf", "", 0},
                                               {"tail", "work.c", 0},
                                               {"[waiting: pipe]", "", HP_STACK_NO_IMAGE}};
static struct hp_named_frame frames[] = {{MAIN, 10}, {WORK, 20}, {LEAF, 0},   {WORK, 25},
                                         {TAIL, 33}, {WORK, 25}, {WAITING, 0}};
static struct hp_named_node nodes[] = {
    {0},
    {.parent = 0, .place = 0x100, .first_frame = 0, .frame_count = 1},
    {.parent = 1, .place = 0x200, .first_frame = 1, .frame_count = 1},
    {.parent = 2, .place = 0x300, .first_frame = 2, .frame_count = 1, .weight = {USER = 10 * MS}},
    {.parent = 2, .place = 0x250, .first_frame = 3, .frame_count = 1},
    {.parent = 4, .place = 0x200, .first_frame = 1, .frame_count = 1, .weight = {USER = 3 * MS}},
    {.parent = 1, .place = 0x260, .first_frame = 4, .frame_count = 2, .weight = {USER = 40 * MS}},
    {.parent = 1, .place = 0x250, .first_frame = 3, .frame_count = 1, .weight = {USER = 3 * MS, KERNEL = 1 * MS}},
    {.parent = 7, .image = HP_STACK_WAITING, .first_frame = 6, .frame_count = 1, .weight = {WAITED = 6 * MS}},
};
static const struct hp_named_stacks example = {.functions = functions,
                                               .frames = frames,
                                               .nodes = nodes,
                                               .function_count = 5,
                                               .frame_count = 7,
                                               .node_count = sizeof nodes / sizeof nodes[0]};

static void check(const struct hp_line_table *table, size_t at, uint64_t place, uint64_t own_ms, uint64_t all_ms)
{
    assert_true(at < table->count);
    assert_int_equal(table->all[at].at, place);
    assert_int_equal(table->all[at].own_ns, own_ms * MS);
    assert_int_equal(table->all[at].all_ns, all_ms * MS);
}

/* Of a function that calls itself, a line has each stack once, and so has the function. */
static void time_per_line(void **state)
{
    (void)state;
    struct hp_line_sums sums;
    assert_true(hp_line_sums_make(&example, WORK, HP_LINES_CPU, &sums));
    assert_int_equal(sums.run_ns, 57 * MS);
    assert_int_equal(sums.all_ns, 57 * MS);
    assert_int_equal(sums.own_ns, 7 * MS);
    assert_int_equal(sums.lines.count, 2);
    check(&sums.lines, 0, 20, 3, 13);
    check(&sums.lines, 1, 25, 4, 47);
    hp_line_sums_free(&sums);
}

static void time_per_instruction(void **state)
{
    (void)state;
    struct hp_line_sums sums;
    assert_true(hp_line_sums_make(&example, WORK, HP_LINES_CPU, &sums));
    assert_int_equal(sums.places.count, 3);
    check(&sums.places, 0, 0x200, 3, 13);
    check(&sums.places, 1, 0x250, 4, 7);
    check(&sums.places, 2, 0x260, 0, 40);
    hp_line_sums_free(&sums);
}

/* The address of inlined code is that of the code around it; its lines are its own. */
static void inlined_functions_have_lines(void **state)
{
    (void)state;
    struct hp_line_sums sums;
    assert_true(hp_line_sums_make(&example, TAIL, HP_LINES_CPU, &sums));
    assert_int_equal(sums.own_ns, 40 * MS);
    assert_int_equal(sums.lines.count, 1);
    check(&sums.lines, 0, 33, 40, 40);
    check(&sums.places, 0, 0x260, 40, 40);
    hp_line_sums_free(&sums);
}

static void waiting_is_credited_to_the_calling_line(void **state)
{
    (void)state;
    struct hp_line_sums sums;
    assert_true(hp_line_sums_make(&example, WORK, HP_LINES_WAITING, &sums));
    assert_int_equal(sums.run_ns, 6 * MS);
    assert_int_equal(sums.all_ns, 6 * MS);
    assert_int_equal(sums.own_ns, 0);
    check(&sums.lines, 1, 25, 0, 6);
    hp_line_sums_free(&sums);
}

static void function_without_samples(void **state)
{
    (void)state;
    struct hp_line_sums sums;
    assert_true(hp_line_sums_make(&example, 99, HP_LINES_CPU, &sums));
    assert_int_equal(sums.lines.count, 0);
    assert_int_equal(sums.all_ns, 0);
    hp_line_sums_free(&sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_per_line), cmocka_unit_test(time_per_instruction),
                                       cmocka_unit_test(inlined_functions_have_lines),
                                       cmocka_unit_test(waiting_is_credited_to_the_calling_line),
                                       cmocka_unit_test(function_without_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
