/* Writing JSON. SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json.h"
#include "utf8.h"

static char bytes[65536];
static struct hp_text text;
static struct hp_json json;

static void begin(bool is_pretty)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_json_init(&json, &text, is_pretty);
}

static const char *number(double value, unsigned digits)
{
    begin(false);
    hp_json_number(&json, value, digits);
    return hp_text_end(&text);
}

static const char *string(const char *from, size_t length)
{
    begin(false);
    hp_json_string_bytes(&json, from, length);
    return hp_text_end(&text);
}

static void put_sample(void)
{
    hp_json_begin_object(&json);
    hp_json_key(&json, "a");
    hp_json_begin_array(&json);
    hp_json_u64(&json, 1);
    hp_json_begin_object(&json);
    hp_json_end_object(&json);
    hp_json_begin_array(&json);
    hp_json_end_array(&json);
    hp_json_null(&json);
    hp_json_end_array(&json);
    hp_json_key(&json, "b");
    hp_json_string(&json, "x");
    hp_json_end_object(&json);
}

static void nests_on_one_line(void **state)
{
    (void)state;
    begin(false);
    put_sample();
    assert_string_equal(hp_text_end(&text), "{\"a\":[1,{},[],null],\"b\":\"x\"}");
}

static void nests_indented(void **state)
{
    (void)state;
    begin(true);
    put_sample();
    assert_string_equal(hp_text_end(&text),
                        "{\n  \"a\": [\n    1,\n    {},\n    [],\n    null\n  ],\n  \"b\": \"x\"\n}");
}

static void nests_deeply(void **state)
{
    (void)state;
    begin(false);
    for (unsigned depth = 0; depth < HP_JSON_MAX_DEPTH - 1; depth++) {
        hp_json_begin_array(&json);
        hp_json_u64(&json, depth % 10);
    }
    for (unsigned depth = 0; depth < HP_JSON_MAX_DEPTH - 1; depth++)
        hp_json_end_array(&json);
    hp_text_end(&text);
    assert_memory_equal(bytes, "[0,[1,[2,[3,", 12);
    for (unsigned depth = 1; depth < HP_JSON_MAX_DEPTH - 1; depth++) {
        assert_int_equal(bytes[3 * depth - 1], ',');
        assert_int_equal(bytes[3 * depth], '[');
    }
}

static void escapes_strings(void **state)
{
    (void)state;
    assert_string_equal(string("plain", 5), "\"plain\"");
    assert_string_equal(string("a\"b\\c", 5), "\"a\\\"b\\\\c\"");
    assert_string_equal(string("\n\t\r\b\f\x01\x1f\x7f", 8), "\"\\n\\t\\r\\b\\f\\u0001\\u001f\\u007f\"");
    assert_string_equal(string("a\0b", 3), "\"a\\u0000b\"");
    assert_string_equal(string("gr\xc3\xb6\xc3\x9f"
                               "e",
                               7),
                        "\"größe\"");
    assert_string_equal(string("x\xffy\xc0\xaf", 5), "\"x\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* What a terminal obeys is not to reach one, by `cat report.json` either. */
static void escapes_terminal_control_characters(void **state)
{
    (void)state;
    assert_string_equal(string("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", 8), "\"\\u0080\\u009b\\u009f\xc2\xa0\"");
    assert_string_equal(string("a\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", 9), "\"a\\u061c\\u200e\\u200f\"");
    assert_string_equal(string("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\xe2\x80\xae", 12),
                        "\"\\u2028\\u2029\\u202a\\u202e\"");
    assert_string_equal(string("\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", 9), "\"\\u2066\\u2069\xe2\x81\xaa\"");
    for (uint32_t c = 1; c < 0x3000; c++) {
        const char encoded[3] = {(char)(c < 0x80    ? c
                                        : c < 0x800 ? 0xc0 | c >> 6
                                                    : 0xe0 | c >> 12),
                                 (char)(c < 0x800 ? 0x80 | (c & 0x3f) : 0x80 | (c >> 6 & 0x3f)),
                                 (char)(0x80 | (c & 0x3f))};
        const size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : 3;
        const bool is_escaped = string(encoded, length)[1] == '\\';
        assert_int_equal(is_escaped, hp_utf8_is_harmful(c) || c == '"' || c == '\\');
    }
}

static void writes_numbers_shortly(void **state)
{
    (void)state;
    assert_string_equal(number(0, 15), "0");
    assert_string_equal(number(1, 15), "1");
    assert_string_equal(number(-2.5, 15), "-2.5");
    assert_string_equal(number(0.1, 15), "0.1");
    assert_string_equal(number(13.125, 15), "13.125");
    assert_string_equal(number(99.999, 4), "100");
    assert_string_equal(number(1e15, 15), "1000000000000000");
    assert_string_equal(number(1e20, 15), "100000000000000000000");
    assert_string_equal(number(1e21, 15), "1e+21");
    assert_string_equal(number(0.0000001, 15), "0.0000001");
    assert_string_equal(number(0.000000012, 15), "1.2e-8");
    assert_string_equal(number(100.0 / 3, 8), "33.333333");
    assert_string_equal(number((double)INFINITY, 8), "null");
    assert_string_equal(number((double)NAN, 8), "null");
}

static void numbers_read_back(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (int round = 0; round < 20000; round++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value;
        /* Exponents from 2^-60 to 2^60: the range that durations and shares can have. */
        value = ldexp((double)(seed >> 11), (int)(seed % 120) - 60 - 52);
        const double back = strtod(number(value, 15), NULL);
        assert_true(fabs(back - value) <= 1e-14 * value);
    }
    assert_true(fabs(strtod(number(1.7e308, 15), NULL) - 1.7e308) <= 1e294);
    assert_true(fabs(strtod(number(2.3e-308, 15), NULL) - 2.3e-308) <= 1e-320);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nests_on_one_line),
        cmocka_unit_test(nests_indented),
        cmocka_unit_test(nests_deeply),
        cmocka_unit_test(escapes_strings),
        cmocka_unit_test(escapes_terminal_control_characters),
        cmocka_unit_test(writes_numbers_shortly),
        cmocka_unit_test(numbers_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
