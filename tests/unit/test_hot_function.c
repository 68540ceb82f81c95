/* The function that owns the CPU time, from made-up stacks: one test for each rule. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arena.h"
#include "found_tree.h"
#include "hot_function.h"
#include "name_marks.h"

static struct found_tree tree;
static struct hp_arena arena;
static struct hp_hot_function hot;
static struct hp_name_place places[HP_NAME_MARKS]; /* of the last sentence ... */
static size_t marked;                              /* ... and how many */

static int set_up(void **state)
{
    (void)state;
    tree_begin(&tree);
    tree_process(&tree, 100, "demo", "/usr/bin/demo");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hp_arena_release(&arena);
    return 0;
}

static bool is_of_process(const void *context, uint32_t process)
{
    const uint32_t *wanted = context;
    return wanted == NULL || process == *wanted;
}

static const char *plain(struct hp_text *line)
{
    marked = hp_name_marks_take(line, places, HP_NAME_MARKS);
    return hp_text_end(line);
}

static const char *said_of(const char *program, const uint32_t *process)
{
    static char bytes[1000];
    struct hp_text line;
    struct hp_hot_stacks stacks;
    hp_text_init(&line, bytes, sizeof bytes);
    assert_true(hp_hot_stacks_make(&stacks, &arena, &tree.profile, is_of_process, process));
    stacks.program = stacks.shown = program;
    hp_hot_function_put(&line, &stacks, " of the CPU time", &hot);
    return plain(&line);
}

static void assert_said(const char *sentence) { assert_string_equal(said_of("demo", NULL), sentence); }

static void the_deepest_function_with_half_of_the_time(void **state)
{
    (void)state;
    tree_add(&tree, "_start;main;run;encode;shuffle", 200);
    tree_add(&tree, "_start;main;run;encode;mix", 180);
    tree_add(&tree, "_start;main;run;encode", 180);
    tree_add(&tree, "_start;main;run;load", 340);
    tree_add(&tree, "_start;main;run;check", 100);
    assert_said(
        "encode takes 56 % of the CPU time: shuffle (20 %) and mix (18 %) have the largest parts; beside it, "
        "load has 34 %");
    assert_string_equal(hot.function->name, "encode");
}

static void its_own_code_or_its_leaf(void **state)
{
    (void)state;
    tree_add(&tree, "main;compress", 700);
    tree_add(&tree, "main;compress;hash", 100);
    tree_add(&tree, "main;load", 200);
    assert_said("compress takes 80 % of the CPU time, 70 % in its own code");
    tree_add(&tree, "main;compress;hash", 700);
    assert_said("compress takes 88 % of the CPU time, 47 % in hash");
}

/* A leaf with one caller is named; one that many call says less than they. */
static void callers_of_a_leaf(void **state)
{
    (void)state;
    tree_add(&tree, "main;encode_block;mix", 900);
    tree_add(&tree, "main;load", 100);
    assert_said("mix takes 90 % of the CPU time, called by encode_block");
    tree_add(&tree, "main;check;mix", 700);
    assert_said("mix takes 94 % of the CPU time, called by encode_block (53 %) and check (41 %)");
    tree_add(&tree, "main;encode_block;mix", 1000);
    assert_said("encode_block takes 70 % of the CPU time, all of it in mix");
}

static void functions_of_the_c_library_work_for_their_caller(void **state)
{
    (void)state;
    tree_add(&tree, "main;copy_rows;__memmove_evex_unaligned_erms@libc.so.6", 900);
    tree_add(&tree, "main;load", 100);
    assert_said("copy_rows takes 90 % of the CPU time, all of it in __memmove in libc");
}

static void system_calls_belong_to_their_caller(void **state)
{
    (void)state;
    tree_add(&tree, "main;emit;write@libc.so.6;[kernel: write]@;vfs_write@[kernel]", 600);
    tree_add(&tree, "main;emit", 300);
    tree_add(&tree, "main;load", 100);
    assert_said("emit takes 90 % of the CPU time, 60 % in the system call write");
    tree_add(&tree, "main;log_it;write@libc.so.6;[kernel: write]@", 100);
    assert_said("emit takes 82 % of the CPU time, most of it in the system call write");
}

static void page_faults_belong_to_their_caller(void **state)
{
    (void)state;
    tree_add(&tree, "main;fill;[kernel: page faults]@;clear_page@[kernel]", 700);
    tree_add(&tree, "main;load", 300);
    assert_said("fill takes 70 % of the CPU time, all of it in page faults");
}

static void recursion_counts_once(void **state)
{
    (void)state;
    tree_add(&tree, "main;walk;walk;walk;visit", 300);
    tree_add(&tree, "main;walk;walk;visit", 300);
    tree_add(&tree, "main;walk;walk", 200);
    tree_add(&tree, "main;load", 200);
    assert_said("visit takes 60 % of the CPU time, called by walk");
}

/* One frame for all addresses of a library: it is told by its entry, and by who calls that. */
static void a_library_without_names(void **state)
{
    (void)state;
    tree_add(&tree, "main;write_png;deflate@libz.so.1.2.13;libz.so.1.2.13+0x4970@libz.so.1.2.13", 400);
    tree_add(&tree, "main;write_png;deflate@libz.so.1.2.13;libz.so.1.2.13+0x5555@libz.so.1.2.13", 400);
    tree_add(&tree, "main;load", 200);
    assert_said("deflate in libz takes 80 % of the CPU time, called by write_png");
    assert_string_equal(hot.nameless, "libz.so.1.2.13");
}

static void a_program_without_names(void **state)
{
    (void)state;
    tree_add(&tree, "demo+0x10@demo;demo+0x20@demo;demo+0x30@demo", 500);
    tree_add(&tree, "demo+0x10@demo;demo+0x40@demo", 300);
    tree_add(&tree, "demo+0x10@demo;inflate@libz.so.1", 200);
    assert_said("its own code (no symbols) takes 80 % of the CPU time");
    assert_string_equal(hot.nameless, "demo");
}

/* A part is told by its entry, too; what has no names in the program itself is told beside it. */
static void a_library_without_names_is_a_part(void **state)
{
    (void)state;
    tree_add(&tree, "demo+0x10@demo;inflate@libz.so.1.2.13;libz.so.1.2.13+0x4970@libz.so.1.2.13", 390);
    tree_add(&tree, "demo+0x10@demo;demo+0x40@demo", 320);
    tree_add(&tree, "demo+0x10@demo;fputs@libc.so.6", 290);
    assert_said("inflate in libz (39 %) and fputs in libc (29 %) have the largest parts; 32 % is in code of demo "
                "without symbols");
    assert_string_equal(hot.nameless, "libz.so.1.2.13");
    tree_add(&tree, "demo+0x10@demo;demo+0x50@demo", 80);
    assert_string_equal(said_of("demo", NULL) + strlen("inflate in libz (36 %) and fputs in libc (27 %) "),
                        "have the largest parts; 37 % is in code of demo without symbols");
    assert_string_equal(hot.nameless, "demo");
}

/* Code without names between functions with names says nothing. */
static void code_without_names_is_skipped(void **state)
{
    (void)state;
    tree_add(&tree, "main;sort_all;libq.so.1+0x77@libq.so.1;compare", 600);
    tree_add(&tree, "main;sort_all;libq.so.1+0x77@libq.so.1", 300);
    tree_add(&tree, "main;load", 100);
    assert_said("compare takes 60 % of the CPU time, called by sort_all");
}

static void no_single_function_is_hot(void **state)
{
    char stack[100];
    (void)state;
    for (int at = 0; at < 20; at++) {
        snprintf(stack, sizeof stack, "main;compile;pass_%d;work_%d", at, at);
        tree_add(&tree, stack, 30 + (at == 7));
    }
    tree_add(&tree, "main;parse;lex", 99);
    tree_add(&tree, "main;parse;reduce", 100);
    assert_said("compile takes 75 % of the CPU time, parse has 25 %");
    for (int at = 0; at < 20; at++) {
        snprintf(stack, sizeof stack, "main;compile;pass_%d;work_%d", at, at);
        tree_add(&tree, stack, 100);
    }
    assert_said("compile takes 93 % of the CPU time; no single function is hot (the hottest, work_7, has 5 %)");
}

static void time_in_the_kernel_is_told_by_call(void **state)
{
    (void)state;
    tree_add(&tree, "main;serve;answer;[kernel: sendto]@", 200);
    tree_add(&tree, "main;serve;look;[kernel: epoll_wait]@", 190);
    tree_add(&tree, "main;serve;take;[kernel: read]@", 180);
    tree_add(&tree, "main;serve;leave;[kernel: close]@", 30);
    tree_add(&tree, "main;work;[kernel]@", 100);
    tree_add(&tree, "main;work;count", 300);
    assert_said("70 % of the CPU time is in the kernel (sendto 20 %, epoll_wait 19 %, read 18 %), under serve");
}

static void libraries_share_the_time(void **state)
{
    char stack[100];
    (void)state;
    for (int at = 0; at < 20; at++) {
        snprintf(stack, sizeof stack, "pass_%d@libLLVM-14.so.1", at);
        tree_add(&tree, stack, 60);
        snprintf(stack, sizeof stack, "step_%d", at);
        tree_add(&tree, stack, 40);
    }
    assert_said(
        "no single function is hot: CPU time is spread over libLLVM (60 %), demo itself (40 %); the hottest "
        "function is pass_0 in libLLVM (3 %)");
}

static void interpreters(void **state)
{
    (void)state;
    tree_add(&tree, "main@python3.11;Py_RunMain@python3.11;_PyEval_EvalFrameDefault@python3.11", 600);
    tree_add(&tree, "main@python3.11;Py_RunMain@python3.11;PyDict_Get@python3.11", 150);
    tree_add(&tree, "main@python3.11;Py_RunMain@python3.11;crc32@libz.so.1", 250);
    assert_string_equal(
        said_of("python3.11", NULL),
        "python3.11 interprets Python code (hottest function: _PyEval_EvalFrameDefault, 60 %); 25 % of "
        "the CPU time is in libz");
    tree_add(&tree, "main@python3.11;Py_RunMain@python3.11;crc32@libz.so.1", 2000);
    assert_string_equal(said_of("python3.11", NULL),
                        "crc32 in libz takes 75 % of the CPU time, called by Py_RunMain");
}

static void code_made_at_run_time(void **state)
{
    (void)state;
    tree_add(&tree, "start_thread@libc.so.6;[code in no file]@", 600);
    tree_add(&tree, "start_thread@libc.so.6;compile@libjvm.so", 400);
    assert_string_equal(
        said_of("java", NULL),
        "60 % of the CPU time is Java code compiled at run time, without names; 40 % of the CPU time is "
        "in libjvm");
}

static void callers_are_unknown_in_broken_stacks(void **state)
{
    (void)state;
    tree_add(&tree, "[rest of the stack unknown]@;encode;mix", 900);
    tree_add(&tree, "main;load", 100);
    tree.profile.counts.whole = 100;
    assert_said("mix takes 90 % of the CPU time (its callers are unknown), nearly all in its own code");
}

static void stacks_of_one_process(void **state)
{
    static const uint32_t second = 1;
    (void)state;
    tree_add(&tree, "main;load", 5000);
    tree_process(&tree, 101, "other", "/usr/bin/other");
    tree_add(&tree, "main;encode;mix", 900);
    tree_add(&tree, "main;load", 100);
    assert_string_equal(said_of("other", &second), "mix takes 90 % of the CPU time, called by encode");
}

static void what_is_in_zones_is_left_out(void **state)
{
    static char bytes[1000];
    struct hp_text line;
    struct hp_hot_stacks stacks;
    (void)state;
    tree_add(&tree, "main;parse", 5000);
    tree.nodes[tree.profile.node_count - 1].zoned_ns = 4900 * TREE_MS;
    tree_add(&tree, "main;encode;mix", 900);
    hp_text_init(&line, bytes, sizeof bytes);
    assert_true(hp_hot_stacks_make_outside(&stacks, &arena, &tree.profile));
    hp_hot_function_put(&line, &stacks, " of that", &hot);
    assert_string_equal(plain(&line), "mix takes 90 % of that, called by encode");
    assert_int_equal(marked, 2);
    assert_int_equal(places[0].at + places[0].length, 3);
    assert_int_equal(places[1].at, strlen("mix takes 90 % of that, called by "));
    assert_int_equal(places[1].length, 6);
}

static void names_are_short(void **state)
{
    (void)state;
    tree_add(&tree, "main;copy.part.0.isra.1", 900);
    tree_add(&tree, "main;load", 100);
    assert_said("copy takes 90 % of the CPU time, nearly all in its own code");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_deepest_function_with_half_of_the_time),
        TEST(its_own_code_or_its_leaf),
        TEST(callers_of_a_leaf),
        TEST(functions_of_the_c_library_work_for_their_caller),
        TEST(system_calls_belong_to_their_caller),
        TEST(page_faults_belong_to_their_caller),
        TEST(recursion_counts_once),
        TEST(a_library_without_names),
        TEST(a_program_without_names),
        TEST(a_library_without_names_is_a_part),
        TEST(code_without_names_is_skipped),
        TEST(no_single_function_is_hot),
        TEST(time_in_the_kernel_is_told_by_call),
        TEST(libraries_share_the_time),
        TEST(interpreters),
        TEST(code_made_at_run_time),
        TEST(callers_are_unknown_in_broken_stacks),
        TEST(stacks_of_one_process),
        TEST(what_is_in_zones_is_left_out),
        TEST(names_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
