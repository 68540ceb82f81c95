/* Reading JSON: what is JSON and what is not, numbers, strings, and skipping. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_reader.h"

static bool is_json(const char *text)
{
    /* On the heap, to its exact size, so that AddressSanitizer sees a byte too many. */
    const size_t length = strlen(text);
    char *bytes = malloc(length + 1);
    memcpy(bytes, text, length);
    bytes = realloc(bytes, length > 0 ? length : 1);
    struct hp_json_reader reader = hp_json_reader_of(bytes, length);
    enum hp_json_token token;
    do
        token = hp_json_next(&reader);
    while (token != HP_JSON_ERROR && token != HP_JSON_DONE);
    const bool stays = hp_json_next(&reader) == token;
    free(bytes);
    assert_true(stays);
    return token == HP_JSON_DONE;
}

static void accepts_json_only(void **state)
{
    (void)state;
    static const char *const good[] = {"{}",
                                       "[]",
                                       "0",
                                       "-0",
                                       "1.5e+3",
                                       "\"\"",
                                       "true",
                                       "false",
                                       "null",
                                       " [ 1 , 2 ] ",
                                       "{\"a\":[{}],\"b\":\"\\u00e9\"}",
                                       "[[],{},\"\\\\\"]",
                                       "1E5",
                                       "\"\\/\\b\\f\\n\\r\\t\"",
                                       "1e-999"};
    static const char *const bad[] = {"",           " ",       "{",           "[",
                                      "]",          "}",       "[1,]",        "[,1]",
                                      "[1 2]",      "{\"a\"}", "{\"a\":}",    "{1:2}",
                                      "01",         "-",       "1.",          ".5",
                                      "+1",         "1e",      "\"",          "\"\\x\"",
                                      "\"\\u12\"",  "\"\n\"",  "tru",         "nulll",
                                      "[1]]",       "1 2",     "{]",          "[}",
                                      "{\"a\":1,}", "{,}",     "'a'",         "NaN",
                                      "1e999",      "\"\\",    "\"\\u",       "{\"a\":1 \"b\":2}",
                                      "[\"a\":1]",  "-a",      "\"\\u00g0\"", "[1",
                                      "{\"a\"",     "{\"a\":", "{\"a\":1"};
    for (size_t at = 0; at < sizeof good / sizeof good[0]; at++)
        if (!is_json(good[at]))
            fail_msg("refused: %s", good[at]);
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++)
        if (is_json(bad[at]))
            fail_msg("accepted: %s", bad[at]);
}

static void bounds_nesting(void **state)
{
    (void)state;
    static char text[2 * HP_JSON_READ_DEPTH + 3];
    memset(text, '[', HP_JSON_READ_DEPTH);
    memset(text + HP_JSON_READ_DEPTH, ']', HP_JSON_READ_DEPTH);
    assert_true(is_json(text));
    memset(text, '[', HP_JSON_READ_DEPTH + 1);
    memset(text + HP_JSON_READ_DEPTH + 1, ']', HP_JSON_READ_DEPTH + 1);
    assert_false(is_json(text));
}

static double number_of(const char *text)
{
    struct hp_json_reader reader = hp_json_reader_of(text, strlen(text));
    assert_int_equal(hp_json_next(&reader), HP_JSON_NUMBER);
    assert_true(hp_json_finish(&reader));
    return reader.number;
}

static void reads_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {"0",
                                        "-1",
                                        "12345678901234567",
                                        "0.1",
                                        "75.42",
                                        "1e22",
                                        "2.5e-3",
                                        "1e-300",
                                        "123456789.125",
                                        "-0.0000001",
                                        "18446744073709551615",
                                        "1e308",
                                        "5e-320"};
    for (size_t at = 0; at < sizeof texts / sizeof texts[0]; at++) {
        const double right = strtod(texts[at], NULL), read = number_of(texts[at]);
        const double error = right != 0 ? read / right - 1 : read;
        assert_true(error < 1e-3 && error > -1e-3);
        assert_true((error < 1e-14 && error > -1e-14) || strcmp(texts[at], "5e-320") == 0);
    }
    assert_true(number_of("4503599627370497") == 4503599627370497.0);
}

static void reads_strings(void **state)
{
    (void)state;
    static const char text[] = "\"a\\\"\\\\\\n\\u00e9\\u20ac\\ud83d\\ude00\\ud800x\"";
    char copy[64], cut[4];
    struct hp_json_reader reader = hp_json_reader_of(text, sizeof text - 1);
    assert_int_equal(hp_json_next(&reader), HP_JSON_STRING);
    hp_json_copy(&reader, copy, sizeof copy);
    assert_string_equal(copy, "a\"\\\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdx");
    assert_int_equal(hp_json_copy(&reader, cut, sizeof cut), 3);
    assert_string_equal(cut, "a\"\\");
}

static void skips_and_leaves(void **state)
{
    (void)state;
    static const char text[] =
        "{\"skip\": {\"a\": [1, {\"b\": 2}]}, \"rows\": [{\"x\": 1, \"y\": [2]}, 3], \"end\": 4}";
    struct hp_json_reader reader = hp_json_reader_of(text, sizeof text - 1);
    double end = 0;
    assert_int_equal(hp_json_next(&reader), HP_JSON_OBJECT);
    while (hp_json_next(&reader) == HP_JSON_KEY)
        if (hp_json_is(&reader, "rows")) {
            assert_int_equal(hp_json_next(&reader), HP_JSON_ARRAY);
            assert_int_equal(hp_json_next(&reader), HP_JSON_OBJECT);
            assert_true(hp_json_leave(&reader));
            assert_int_equal(reader.token, HP_JSON_OBJECT_END);
            assert_true(hp_json_leave(&reader));
            assert_int_equal(reader.token, HP_JSON_ARRAY_END);
        } else if (hp_json_is(&reader, "end")) {
            assert_int_equal(hp_json_next(&reader), HP_JSON_NUMBER);
            end = reader.number;
        } else {
            assert_true(hp_json_skip(&reader));
        }
    assert_true(end == 4);
    assert_true(hp_json_finish(&reader));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_json_only), cmocka_unit_test(bounds_nesting),   cmocka_unit_test(reads_numbers),
        cmocka_unit_test(reads_strings),     cmocka_unit_test(skips_and_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
