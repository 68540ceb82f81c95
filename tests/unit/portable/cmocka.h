/*
 * The part of cmocka that our unit tests use, in one header, for builds where the real one cannot be had: Debian
 * has no cmocka for musl nor for the machines that qemu stands in for. A test of ours that needs more adds it here.
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_PORTABLE_CMOCKA_H
#define HP_PORTABLE_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

typedef int CMFixtureFunction(void **state);

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    CMFixtureFunction *setup_func, *teardown_func;
    void *initial_state;
};

#define cmocka_unit_test(f) cmocka_unit_test_setup_teardown(f, NULL, NULL)
#define cmocka_unit_test_setup(f, setup) cmocka_unit_test_setup_teardown(f, setup, NULL)
#define cmocka_unit_test_teardown(f, teardown) cmocka_unit_test_setup_teardown(f, NULL, teardown)
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                                        \
    {                                                                                                              \
#f, f, setup, teardown, NULL                                                                               \
    }
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                  \
    cmocka_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)

/* How a failed test is left, and what became of it: 0 passed, 1 failed, 2 skipped. */
static jmp_buf cmocka_end;
enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED = 2 };

#define fail_msg(...)                                                                                              \
    (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), puts(""), longjmp(cmocka_end, CMOCKA_FAILED))
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) printf(__VA_ARGS__)
#define fail() fail_msg("failed")
#define skip() longjmp(cmocka_end, CMOCKA_SKIPPED)

#define cmocka_check(condition, ...) ((condition) ? (void)0 : (void)(fail_msg(__VA_ARGS__)))
#define assert_true(c) cmocka_check(c, "not true: %s", #c)
#define assert_false(c) cmocka_check(!(c), "not false: %s", #c)
#define assert_null(p) cmocka_check((p) == NULL, "not NULL: %s", #p)
#define assert_non_null(p) cmocka_check((p) != NULL, "NULL: %s", #p)
#define assert_ptr_equal(a, b) cmocka_check((const void *)(a) == (const void *)(b), "not the same: %s, %s", #a, #b)
#define assert_ptr_not_equal(a, b) cmocka_check((const void *)(a) != (const void *)(b), "the same: %s, %s", #a, #b)
#define assert_int_equal(a, b) cmocka_int_equal((uintmax_t)(a), (uintmax_t)(b), #a, #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)                                                                                 \
    cmocka_check((uintmax_t)(a) != (uintmax_t)(b), "%s and %s are both %" PRIdMAX, #a, #b, (intmax_t)(a))
#define assert_in_range(v, low, high)                                                                              \
    cmocka_in_range((uintmax_t)(v), (uintmax_t)(low), (uintmax_t)(high), #v, __FILE__, __LINE__)
#define assert_string_equal(a, b) cmocka_string_equal(a, b, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) cmocka_check(strcmp(a, b) != 0, "both are \"%s\"", (const char *)(a))
#define assert_memory_equal(a, b, size) cmocka_check(memcmp(a, b, size) == 0, "bytes differ: %s, %s", #a, #b)
#define assert_float_equal(a, b, most)                                                                             \
    cmocka_check((a) - (b) <= (most) && (b) - (a) <= (most), "%s is %g, %s is %g", #a, (double)(a), #b, (double)(b))

/* Functions, as in cmocka: arguments are evaluated once, and the compiler does not warn about constants. */
__attribute__((unused)) static void cmocka_int_equal(uintmax_t a, uintmax_t b, const char *a_text,
                                                     const char *b_text, const char *file, int line)
{
    if (a == b)
        return;
    printf("%s:%d: %s is %" PRIdMAX ", %s is %" PRIdMAX "\n", file, line, a_text, (intmax_t)a, b_text, (intmax_t)b);
    longjmp(cmocka_end, CMOCKA_FAILED);
}

__attribute__((unused)) static void cmocka_in_range(uintmax_t value, uintmax_t low, uintmax_t high,
                                                    const char *text, const char *file, int line)
{
    if (value >= low && value <= high)
        return;
    printf("%s:%d: %s is %" PRIuMAX "\n", file, line, text, value);
    longjmp(cmocka_end, CMOCKA_FAILED);
}

__attribute__((unused, noinline)) static void cmocka_string_equal(const char *a, const char *b, const char *file,
                                                                  int line)
{
    if (strcmp(a, b) == 0)
        return;
    printf("%s:%d: \"%s\" is not \"%s\"\n", file, line, a, b);
    longjmp(cmocka_end, CMOCKA_FAILED);
}

static int cmocka_run_one(const struct CMUnitTest *test)
{
    void *state = test->initial_state;
    if (test->setup_func && test->setup_func(&state) != 0)
        return CMOCKA_FAILED;
    const int end = setjmp(cmocka_end);
    if (end == 0)
        test->test_func(&state);
    if (test->teardown_func && test->teardown_func(&state) != 0)
        return CMOCKA_FAILED;
    return end;
}

static int cmocka_run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction *setup,
                      CMFixtureFunction *teardown)
{
    static const char *const words[] = {"[       OK ]", "[  FAILED  ]", "[  SKIPPED ]"}; /* as cmocka has it */
    void *state = NULL;
    volatile int failures = setup && setup(&state) != 0;
    printf("%s: %zu tests\n", name, count);
    for (volatile size_t i = 0; i < count; i++) {
        const int end = cmocka_run_one(&tests[i]);
        printf("%s %s\n", words[end], tests[i].name);
        failures += end == CMOCKA_FAILED;
    }
    if (teardown && teardown(&state) != 0)
        failures++;
    return failures;
}

#endif
