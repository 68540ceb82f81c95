/*
 * The flame graph of the console: one frame per function below a caller, programs first where there are several,
 * zoom and cursor that stay on their frames when stacks change, and changes that are more than chance.
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flame.h"

enum { START, MAIN, HOT, HOT_AGAIN, COLD, WRITE, WAITING, FUNCTIONS };

static char texts[] = "";
static struct hp_named_image images[] = {{"/bin/test", texts, texts}, {"/lib/libc.so.6", texts, texts}};
static struct hp_named_function functions[FUNCTIONS] = {[START] = {"_start", texts, 0},
                                                        [MAIN] = {"main", texts, 0},
                                                        [HOT] = {"hot", texts, 0},
                                                        [HOT_AGAIN] = {"hot", texts, 0},
                                                        [COLD] = {"cold", texts, 0},
                                                        [WRITE] = {"write", texts, 1},
                                                        [WAITING] = {"[waiting: pipe]", texts, HP_STACK_NO_IMAGE}};
static struct hp_named_frame frames[FUNCTIONS] = {{START, 0}, {MAIN, 0},  {HOT, 0},    {HOT_AGAIN, 0},
                                                  {COLD, 0},  {WRITE, 0}, {WAITING, 0}};
static struct hp_named_program programs[] = {{"make", "/bin/make"}, {"cc", "/bin/cc"}};

#define NODE(below, place_, function) .parent = below, .place = place_, .first_frame = function, .frame_count = 1
#define CPU(ns) .weight[HP_STACK_USER_NS] = ns
#define PROCESS(pid, program) .image = HP_STACK_PROCESS, .place = (uint64_t)((program) + 1) << 32 | (pid)

static struct hp_found_part part_of(struct hp_named_node *nodes, size_t count)
{
    struct hp_found_part part = {.is_known = true,
                                 .stacks = {.images = images,
                                            .image_count = 2,
                                            .functions = functions,
                                            .function_count = FUNCTIONS,
                                            .frames = frames,
                                            .frame_count = FUNCTIONS,
                                            .programs = programs,
                                            .program_count = 2,
                                            .nodes = nodes,
                                            .node_count = count,
                                            .counts.period_ns = 10}};
    assert_true(hp_function_sums_make(&part.stacks, &part.functions));
    return part;
}
#define PART(nodes) part_of(nodes, sizeof(nodes) / sizeof(nodes)[0])

/* The frame at the end of a path such as "main/hot"; 0: there is none. */
static uint32_t frame_at(const struct hp_flame *flame, const char *path)
{
    uint32_t node = 0;
    while (*path != '\0') {
        const size_t length = strcspn(path, "/");
        uint32_t next = flame->nodes[node].first;
        while (next != 0 && (strlen(hp_flame_name(flame, next)->text) != length ||
                             strncmp(hp_flame_name(flame, next)->text, path, length) != 0))
            next = flame->nodes[next].next;
        if (next == 0)
            return 0;
        node = next;
        path += length + (path[length] == '/');
    }
    return node;
}

static uint64_t cpu_at(const struct hp_flame *flame, const char *path)
{
    const uint32_t node = frame_at(flame, path);
    assert_int_not_equal(node, 0);
    return flame->nodes[node].now[HP_MEASURE_CPU];
}

/* Two addresses and two entries of one function, its direct recursion, and what starts a program. */
static void a_function_is_one_frame_below_a_caller(void **state)
{
    struct hp_named_node nodes[] = {
        {0},
        {NODE(0, 1, START)},
        {NODE(1, 2, MAIN)},
        {NODE(2, 3, HOT), CPU(30)},
        {NODE(2, 4, HOT), CPU(20)},
        {NODE(4, 5, HOT), CPU(7)},
        {NODE(2, 6, HOT_AGAIN), CPU(3)},
        {NODE(3, 7, COLD), CPU(5)},
        {NODE(7, 8, HOT), CPU(2)},
        {NODE(3, 9, WRITE)},
        {NODE(9, 10, WAITING), .weight[HP_STACK_WAITED_NS] = 50, .weight[HP_STACK_IDLE_NS] = 10}};
    struct hp_found_part now = PART(nodes);
    struct hp_flame flame = {0};
    (void)state;
    assert_true(hp_flame_make(&flame, &now, NULL));
    assert_int_equal(frame_at(&flame, "_start"), 0);
    assert_int_equal(cpu_at(&flame, "main"), 67);
    assert_int_equal(cpu_at(&flame, "main/hot"), 67);
    assert_int_equal(cpu_at(&flame, "main/hot/cold/hot"), 2);
    assert_int_equal(flame.whole[HP_MEASURE_CPU], 67);
    assert_int_equal(flame.whole[HP_MEASURE_WAITING], 40);
    assert_int_equal(flame.whole[HP_MEASURE_WALL], 107);
    assert_int_equal(flame.nodes[frame_at(&flame, "main/hot/write/[waiting: pipe]")].now[HP_MEASURE_WAITING], 40);
    assert_int_equal(hp_flame_name(&flame, frame_at(&flame, "main"))->kind, HP_FLAME_CODE);
    assert_int_equal(hp_flame_name(&flame, frame_at(&flame, "main/hot/write"))->kind, HP_FLAME_LIBRARY);
    /* In an outline of CPU time, waiting is not there. */
    uint32_t at = hp_flame_neighbour(&flame, 0, HP_MEASURE_CPU, 1, false);
    assert_int_equal(at, frame_at(&flame, "main"));
    at = hp_flame_neighbour(&flame, frame_at(&flame, "main/hot"), HP_MEASURE_CPU, 1, false);
    assert_int_equal(at, frame_at(&flame, "main/hot/cold"));
    assert_int_equal(hp_flame_neighbour(&flame, at, HP_MEASURE_CPU, 1, true), frame_at(&flame, "main/hot"));
    assert_int_equal(hp_flame_neighbour(&flame, at, HP_MEASURE_CPU, 3, false), 0);
    /* From any caller: with what it calls, and calls of itself within. */
    assert_true(hp_flame_make_only(&flame, &now, NULL, hp_flame_name(&flame, frame_at(&flame, "main/hot"))->id));
    assert_int_equal(cpu_at(&flame, "hot"), 67);
    assert_int_equal(hp_flame_root(&flame), frame_at(&flame, "hot"));
    hp_flame_free(&flame);
    hp_function_sums_free(&now.functions);
}

static void several_processes_begin_with_their_programs(void **state)
{
    struct hp_named_node nodes[] = {{0},
                                    {PROCESS(10, 0)},
                                    {NODE(1, 1, MAIN), CPU(10)},
                                    {PROCESS(11, 1)},
                                    {NODE(3, 2, MAIN), CPU(20)},
                                    {PROCESS(12, 1)},
                                    {NODE(5, 3, MAIN), CPU(30)}};
    struct hp_found_part all = PART(nodes), one = part_of(nodes, 3);
    struct hp_flame flame = {0};
    (void)state;
    assert_true(hp_flame_make(&flame, &all, NULL));
    assert_int_equal(cpu_at(&flame, "make/main"), 10);
    assert_int_equal(cpu_at(&flame, "cc/main"), 50);
    assert_true(hp_flame_make(&flame, &one, NULL));
    assert_int_equal(cpu_at(&flame, "main"), 10);
    hp_flame_free(&flame);
    hp_function_sums_free(&all.functions);
    hp_function_sums_free(&one.functions);
}

/* Of a window with one process and one with several, of other numbers: programs are compared. */
static void processes_that_come_and_go_are_compared_by_program(void **state)
{
    struct hp_named_node before[] = {{0},
                                     {PROCESS(10, 0)},
                                     {NODE(1, 1, MAIN), CPU(100)},
                                     {PROCESS(11, 1)},
                                     {NODE(3, 2, MAIN), CPU(500)},
                                     {PROCESS(12, 1)},
                                     {NODE(5, 3, MAIN), CPU(400)}};
    struct hp_named_node after[] = {{0}, {PROCESS(13, 1)}, {NODE(1, 1, MAIN), CPU(1000)}};
    struct hp_found_part first = PART(before), second = PART(after);
    struct hp_flame flame = {0};
    (void)state;
    assert_true(hp_flame_make(&flame, &second, &first));
    assert_int_equal(cpu_at(&flame, "cc/main"), 1000);
    assert_int_equal(flame.nodes[frame_at(&flame, "cc/main")].before[HP_MEASURE_CPU], 900);
    assert_int_equal(flame.nodes[frame_at(&flame, "make/main")].before[HP_MEASURE_CPU], 100);
    hp_flame_free(&flame);
    hp_function_sums_free(&first.functions);
    hp_function_sums_free(&second.functions);
}

/* Frames have other numbers then. */
static void zoom_and_cursor_stay_when_stacks_change(void **state)
{
    struct hp_named_node before[] = {
        {0}, {NODE(0, 1, MAIN)}, {NODE(1, 2, HOT), CPU(10)}, {NODE(2, 3, COLD), CPU(4)}};
    struct hp_named_node after[] = {{0},
                                    {NODE(0, 9, WRITE), CPU(1)},
                                    {NODE(0, 1, MAIN)},
                                    {NODE(2, 7, COLD), CPU(3)},
                                    {NODE(2, 2, HOT), CPU(20)}};
    struct hp_found_part first = PART(before), second = PART(after);
    struct hp_flame flame = {0};
    (void)state;
    assert_true(hp_flame_make(&flame, &first, NULL));
    flame.zoomed = frame_at(&flame, "main");
    flame.cursor = frame_at(&flame, "main/hot/cold");
    assert_true(hp_flame_make(&flame, &second, NULL));
    assert_int_equal(flame.zoomed, frame_at(&flame, "main"));
    assert_int_not_equal(flame.zoomed, 0);
    assert_int_equal(flame.cursor, frame_at(&flame, "main/hot")); /* what it was in, since that is gone */
    hp_flame_free(&flame);
    hp_function_sums_free(&first.functions);
    hp_function_sums_free(&second.functions);
}

/* A sample is 10: of 100 samples, twenty more are a change, three are not. */
static void changes_are_more_than_chance(void **state)
{
    struct hp_named_node before[] = {
        {0}, {NODE(0, 1, MAIN)}, {NODE(1, 2, HOT), CPU(500)}, {NODE(1, 3, COLD), CPU(500)}};
    struct hp_named_node after[] = {{0},
                                    {NODE(0, 1, MAIN)},
                                    {NODE(1, 2, HOT), CPU(970)},
                                    {NODE(1, 3, COLD), CPU(530)},
                                    {NODE(1, 4, WRITE), CPU(500)}};
    struct hp_found_part first = PART(before), second = PART(after);
    struct hp_found_part after_sums = second;
    struct hp_flame flame = {0};
    (void)state;
    assert_true(hp_flame_make(&flame, &second, &first));
    assert_true(flame.has_before);
    const double hot = hp_flame_change(&flame, frame_at(&flame, "main/hot"), HP_MEASURE_CPU, 10);
    assert_true(hot > 0.234 && hot < 0.236); /* 470 of 2000 */
    assert_true(hp_flame_change(&flame, frame_at(&flame, "main/cold"), HP_MEASURE_CPU, 10) == 0);
    assert_true(hp_flame_change(&flame, frame_at(&flame, "main/write"), HP_MEASURE_CPU, 10) == 0.25);
    assert_true(hp_flame_make(&flame, &first, &second));
    assert_true(hp_flame_change(&flame, frame_at(&flame, "main/write"), HP_MEASURE_CPU, 10) == -0.25);
    assert_int_equal(hp_flame_changed(&flame, HP_MEASURE_CPU, 10), frame_at(&flame, "main"));
    /* As much in half of the time was twice as much. */
    first.to_ns = 1000;
    second = first;
    second.to_ns = 500;
    assert_true(hp_flame_make(&flame, &first, &second));
    assert_true(hp_flame_change(&flame, frame_at(&flame, "main"), HP_MEASURE_CPU, 10) == -0.5);
    hp_flame_free(&flame);
    hp_function_sums_free(&first.functions);
    hp_function_sums_free(&after_sums.functions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_function_is_one_frame_below_a_caller),
                                       cmocka_unit_test(several_processes_begin_with_their_programs),
                                       cmocka_unit_test(processes_that_come_and_go_are_compared_by_program),
                                       cmocka_unit_test(zoom_and_cursor_stay_when_stacks_change),
                                       cmocka_unit_test(changes_are_more_than_chance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
