/* Numbers with units. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "units.h"

static char bytes[64];
static struct hp_text text;

static const char *ns(double number)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_units_ns(&text, number);
    return hp_text_end(&text);
}

static const char *size(uint64_t number)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_units_bytes(&text, number);
    return hp_text_end(&text);
}

static const char *signed_size(int64_t number)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_units_signed_bytes(&text, number);
    return hp_text_end(&text);
}

static const char *moment(uint64_t unix_ns)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_units_timestamp(&text, unix_ns);
    return hp_text_end(&text);
}

static void durations_choose_their_unit_after_rounding(void **state)
{
    (void)state;
    assert_string_equal(ns(0), "0");
    assert_string_equal(ns(0.476), "0.48 ns");
    assert_string_equal(ns(999.99), "999.99 ns");
    assert_string_equal(ns(999.996), "1.00 µs");
    assert_string_equal(ns(1234), "1.23 µs");
    assert_string_equal(ns(999995), "1.00 ms");
    assert_string_equal(ns(11770000), "11.77 ms");
    assert_string_equal(ns(15.61e9), "15.61 s");
    assert_string_equal(ns(86400e9), "86400.00 s");
}

static void sizes_are_in_powers_of_1024(void **state)
{
    (void)state;
    assert_string_equal(size(0), "0 B");
    assert_string_equal(size(1023), "1023 B");
    assert_string_equal(size(1024), "1.0 KB");
    assert_string_equal(size(1536), "1.5 KB");
    assert_string_equal(size(1048575), "1.0 MB");
    assert_string_equal(size(UINT64_MAX), "16.0 EB");
    assert_string_equal(signed_size(0), "0 B");
    assert_string_equal(signed_size(1536), "1.5 KB");
    assert_string_equal(signed_size(-1), "-1 B");
    assert_string_equal(signed_size(-1048576), "-1.0 MB");
    assert_string_equal(signed_size(INT64_MIN), "-8.0 EB");
}

static void percentages_and_frequencies(void **state)
{
    (void)state;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_units_percent(&text, 75.424);
    hp_text_char(&text, ' ');
    hp_units_hz(&text, 2.1e9);
    hp_text_char(&text, ' ');
    hp_units_hz(&text, 24e6);
    assert_string_equal(hp_text_end(&text), "75.42% 2.10 GHz 24.00 MHz");
}

static void estimates_have_two_digits(void **state)
{
    static const struct {
        uint64_t count;
        const char *shown;
    } cases[] = {{0, "about 0"},        {99, "about 99"},         {104, "about 100"},
                 {105, "about 110"},    {995, "about 1 k"},       {1049, "about 1 k"},
                 {1050, "about 1.1 k"}, {9950, "about 10 k"},     {15499, "about 15 k"},
                 {999499, "about 1 M"}, {3148924, "about 3.1 M"}, {UINT64_MAX, "about 18 E"}};
    (void)state;
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        hp_text_init(&text, bytes, sizeof bytes);
        hp_units_about(&text, cases[at].count);
        assert_string_equal(hp_text_end(&text), cases[at].shown);
    }
}

static void moments_are_rfc_3339(void **state)
{
    (void)state;
    assert_string_equal(moment(0), "1970-01-01T00:00:00.000Z");
    assert_string_equal(moment(UINT64_C(951782399999000000)), "2000-02-28T23:59:59.999Z");
    assert_string_equal(moment(UINT64_C(951782400000000000)), "2000-02-29T00:00:00.000Z");
    assert_string_equal(moment(UINT64_C(951868800000000000)), "2000-03-01T00:00:00.000Z");
    assert_string_equal(moment(UINT64_C(1709164800123456789)), "2024-02-29T00:00:00.123Z");
    assert_string_equal(moment(UINT64_C(1798761599000000000)), "2026-12-31T23:59:59.000Z");
    assert_string_equal(moment(UINT64_C(4107542400000000000)), "2100-03-01T00:00:00.000Z");
    assert_string_equal(moment(UINT64_MAX), "2554-07-21T23:34:33.709Z");
}

static void rounding_never_overflows(void **state)
{
    (void)state;
    assert_true(hp_units_round(0.5) == 1);
    assert_true(hp_units_round(-1) == 0);
    assert_true(hp_units_round(1e30) == UINT64_MAX);
    assert_true(hp_units_round(12345.4) == 12345);
    const double zero = (double)(bytes[0] - bytes[0]);
    assert_true(hp_units_round(zero / zero) == 0);
    assert_true(hp_units_round(1 / zero) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_choose_their_unit_after_rounding),
        cmocka_unit_test(sizes_are_in_powers_of_1024),
        cmocka_unit_test(percentages_and_frequencies),
        cmocka_unit_test(estimates_have_two_digits),
        cmocka_unit_test(moments_are_rfc_3339),
        cmocka_unit_test(rounding_never_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
