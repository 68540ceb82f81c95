/* Parsing numbers and flags. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "units.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define UNTOUCHED 4242u

static void reads_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t most;
        bool is_good;
        uint64_t number;
    } cases[] = {
        {"0", 10, true, 0},
        {"10", 10, true, 10},
        {"11", 10, false, 0},
        {"007", 10, true, 7},
        {"4294967295", UINT32_MAX, true, UINT32_MAX},
        {"4294967296", UINT32_MAX, false, 0},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"18446744073709551620", UINT64_MAX, false, 0},
        {"99999999999999999999999999", UINT64_MAX, false, 0},
        {"", 10, false, 0},
        {" 1", 10, false, 0},
        {"1 ", 10, false, 0},
        {"+1", 10, false, 0},
        {"-1", 10, false, 0},
        {"1x", 10, false, 0},
        {"0x1", 10, false, 0},
        {"1.0", 10, false, 0},
        {":", 100, false, 0},
        {"/", 100, false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t number = UNTOUCHED;
        const bool is_good = hp_number_unsigned(cases[i].text, strlen(cases[i].text), cases[i].most, &number);
        if (is_good != cases[i].is_good || number != (is_good ? cases[i].number : UNTOUCHED))
            fail_msg("'%s': %d, %llu", cases[i].text, is_good, (unsigned long long)number);
    }
}

static void reads_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t most;
        bool is_good;
        uint64_t bytes;
    } cases[] = {
        {"0", UINT64_MAX, true, 0},
        {"4096", UINT64_MAX, true, 4096},
        {"12b", UINT64_MAX, true, 12},
        {"512K", UINT64_MAX, true, UINT64_C(512) << 10},
        {"1kb", UINT64_MAX, true, 1024},
        {"3KiB", UINT64_MAX, true, 3072},
        {"64MB", UINT64_MAX, true, UINT64_C(64) << 20},
        {"64m", UINT64_MAX, true, UINT64_C(64) << 20},
        {"1GiB", UINT64_MAX, true, UINT64_C(1) << 30},
        {"2g", UINT64_MAX, true, UINT64_C(2) << 30},
        {"2TB", UINT64_MAX, true, UINT64_C(2) << 40},
        {"2tib", UINT64_MAX, true, UINT64_C(2) << 40},
        {"16777215T", UINT64_MAX, true, UINT64_C(16777215) << 40},
        {"16777216T", UINT64_MAX, false, 0},
        {"4GB", UINT64_C(4) << 30, true, UINT64_C(4) << 30},
        {"5GB", UINT64_C(4) << 30, false, 0},
        {"1KB", 1023, false, 0},
        {"0KB", 1023, true, 0},
        {"", UINT64_MAX, false, 0},
        {"MB", UINT64_MAX, false, 0},
        {"1 MB", UINT64_MAX, false, 0},
        {"1.5MB", UINT64_MAX, false, 0},
        {"1MBx", UINT64_MAX, false, 0},
        {"1PB", UINT64_MAX, false, 0},
        {"-1K", UINT64_MAX, false, 0},
        {"1i", UINT64_MAX, false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t bytes = UNTOUCHED;
        const bool is_good = hp_number_bytes(cases[i].text, strlen(cases[i].text), cases[i].most, &bytes);
        if (is_good != cases[i].is_good || bytes != (is_good ? cases[i].bytes : UNTOUCHED))
            fail_msg("'%s': %d, %llu", cases[i].text, is_good, (unsigned long long)bytes);
    }
}

static void reads_decimals_as_the_compiler_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_good;
        double number;
    } cases[] = {
        {"0", true, 0.0},
        {"95", true, 95.0},
        {"99.9", true, 99.9},
        {"99.99", true, 99.99},
        {"99.999", true, 99.999},
        {"0.1", true, 0.1},
        {".5", true, 0.5},
        {"5.", true, 5.0},
        {"33.3333333333333", true, 33.3333333333333},
        {"0.00000000000001", true, 0.00000000000001},
        {"123456789012345", true, 123456789012345.0},
        {"1234567890123456", false, 0},
        {"0.0000000000000001", false, 0},
        {"", false, 0},
        {".", false, 0},
        {"1e2", false, 0},
        {"-1", false, 0},
        {"+1", false, 0},
        {"1,5", false, 0},
        {"1.2.3", false, 0},
        {"nan", false, 0},
        {"inf", false, 0},
        {"0x10", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double number = UNTOUCHED;
        const bool is_good = hp_number_decimal(cases[i].text, strlen(cases[i].text), &number);
        const double expected = is_good ? cases[i].number : UNTOUCHED;
        if (is_good != cases[i].is_good || memcmp(&number, &expected, sizeof number) != 0)
            fail_msg("'%s': %d, %.17g", cases[i].text, is_good, number);
    }
}

/* Every percentile a user can write with up to three decimals is the double of its literal. */
static void every_percentile_is_exact(void **state)
{
    (void)state;
    for (unsigned thousandths = 0; thousandths <= 100000; thousandths++) {
        char text[16];
        const int length = snprintf(text, sizeof text, "%u.%03u", thousandths / 1000, thousandths % 1000);
        double number = -1;
        double expected = -2;
        assert_true(hp_number_decimal(text, (size_t)length, &number));
        assert_int_equal(sscanf(text, "%lf", &expected), 1);
        assert_memory_equal(&number, &expected, sizeof number);
    }
}

static void reads_flags(void **state)
{
    (void)state;
    static const char *const on[] = {"1", "true", "TRUE", "True", "yes", "YES", "on", "On"};
    static const char *const off[] = {"0", "false", "FALSE", "no", "No", "off", "OFF"};
    static const char *const wrong[] = {"", "2", "t", "truth", "y", "enable", " 1", "1 ", "00", "oui"};
    for (size_t i = 0; i < COUNT(on); i++) {
        bool flag = false;
        assert_true(hp_number_flag(on[i], strlen(on[i]), &flag));
        assert_true(flag);
    }
    for (size_t i = 0; i < COUNT(off); i++) {
        bool flag = true;
        assert_true(hp_number_flag(off[i], strlen(off[i]), &flag));
        assert_false(flag);
    }
    for (size_t i = 0; i < COUNT(wrong); i++) {
        bool flag = i % 2;
        assert_false(hp_number_flag(wrong[i], strlen(wrong[i]), &flag));
        assert_int_equal(flag, i % 2);
    }
}

static void reads_no_further_than_the_length(void **state)
{
    (void)state;
    uint64_t number;
    double decimal;
    bool flag;
    assert_true(hp_number_unsigned("123", 2, 1000, &number));
    assert_int_equal(number, 12);
    assert_true(hp_number_bytes("1KB", 2, UINT64_MAX, &number));
    assert_int_equal(number, 1024);
    assert_true(hp_number_decimal("99.95", 4, &decimal));
    assert_true(decimal == 99.9);
    assert_true(hp_number_flag("1,2", 1, &flag));
    assert_false(hp_number_unsigned("1", 0, 1, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_numbers),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(reads_decimals_as_the_compiler_does),
        cmocka_unit_test(every_percentile_is_exact),
        cmocka_unit_test(reads_flags),
        cmocka_unit_test(reads_no_further_than_the_length),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
