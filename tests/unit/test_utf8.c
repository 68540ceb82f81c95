/* UTF-8 as a terminal shows it. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "utf8.h"

static char bytes[256];
static struct hp_text text;

static const char *safe(const char *from, size_t length)
{
    hp_text_init(&text, bytes, sizeof bytes);
    hp_utf8_put_safe(&text, from, length);
    return hp_text_end(&text);
}

static const char *fitted(const char *from, size_t columns)
{
    hp_text_init(&text, bytes, sizeof bytes);
    const size_t taken = hp_utf8_put_fitted(&text, from, strlen(from), columns);
    assert_true(taken <= columns);
    assert_int_equal(taken, hp_utf8_columns(bytes, text.length));
    return hp_text_end(&text);
}

static size_t columns(const char *from) { return hp_utf8_columns(from, strlen(from)); }

static void decodes_valid_sequences_only(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t first;
        size_t length;
    } cases[] = {
        {"A", 'A', 1},
        {"\xc2\xb5", 0xb5, 2},
        {"\xe2\x82\xac", 0x20ac, 3},
        {"\xf0\x9f\x94\xa5", 0x1f525, 4},
        {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
        {"\xc0\x80", HP_UTF8_INVALID, 1},         /* overlong zero */
        {"\xc1\xbf", HP_UTF8_INVALID, 1},         /* overlong */
        {"\xe0\x9f\xbf", HP_UTF8_INVALID, 1},     /* overlong */
        {"\xf0\x8f\xbf\xbf", HP_UTF8_INVALID, 1}, /* overlong */
        {"\xed\xa0\x80", HP_UTF8_INVALID, 1},     /* surrogate */
        {"\xf4\x90\x80\x80", HP_UTF8_INVALID, 1}, /* above the last */
        {"\xf8\x88\x80\x80\x80", HP_UTF8_INVALID, 1},
        {"\x80", HP_UTF8_INVALID, 1},
        {"\xe2\x82", HP_UTF8_INVALID, 1}, /* cut off */
        {"\xe2(\xac", HP_UTF8_INVALID, 1},
    };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        const char *next = cases[at].text;
        assert_int_equal(hp_utf8_next(&next, cases[at].text + strlen(cases[at].text)), cases[at].first);
        assert_int_equal(next - cases[at].text, cases[at].length);
    }
}

static void knows_widths(void **state)
{
    (void)state;
    assert_int_equal(columns("parse"), 5);
    assert_int_equal(columns("größe"), 5);
    assert_int_equal(columns("e\xcc\x81"), 1); /* e and a combining acute */
    assert_int_equal(columns("解析"), 4);
    assert_int_equal(columns("파싱"), 4);
    assert_int_equal(columns("ﾊ"), 1); /* half width */
    assert_int_equal(columns("🔥"), 2);
    assert_int_equal(columns("Ω"), 1);
    assert_int_equal(columns("\xe2\x80\x8b"), 0); /* zero width space */
    assert_int_equal(columns("\xff\xfe"), 2);     /* each shown as U+FFFD */
    assert_int_equal(columns("…"), 1);
    assert_int_equal(columns("กำ"), 2);
    assert_int_equal(columns(""), 0);
}

static void any_bytes_become_safe_text(void **state)
{
    (void)state;
    assert_string_equal(safe("a\nb\tc\rd", 7), "a\\nb\\tc\\rd");
    assert_string_equal(safe("\x1b[31m", 5), "\\x1b[31m");
    assert_string_equal(safe("x\0y", 3), "x\\x00y");
    assert_string_equal(safe("\x7f", 1), "\\x7f");
    assert_string_equal(safe("\xc2\x9b", 2), "\\x9b"); /* C1: a control sequence on some terminals */
    assert_string_equal(safe("a\xe2\x80\xaeknil", 8), "a\\u202eknil");
    assert_string_equal(safe("a\xd8\x9c", 3), "a\\u061c");
    assert_string_equal(safe("ok\xff!", 4), "ok\xef\xbf\xbd!");
    assert_string_equal(safe("größe 解", strlen("größe 解")), "größe 解");
}

static void shortens_in_the_middle(void **state)
{
    (void)state;
    assert_string_equal(fitted("parse_header", 12), "parse_header");
    assert_string_equal(fitted("parse_header", 11), "parse…eader");
    assert_string_equal(fitted("parse_header", 4), "p…er");
    assert_string_equal(fitted("parse_header", 2), "…r");
    assert_string_equal(fitted("parse_header", 1), "…");
    assert_string_equal(fitted("parse_header", 0), "");
    assert_string_equal(fitted("解析解析解析", 12), "解析解析解析");
    assert_string_equal(fitted("解析解析解析", 8), "解…解析");
    assert_string_equal(fitted("解析解析解析", 7), "解…析");
    assert_string_equal(fitted("ae\xcc\x81xyz", 3), "a…z");
}

/* Text cut to fit into memory of any size is still UTF-8. */
static void cuts_between_characters(void **state)
{
    (void)state;
    static const char name[] = "aé解\xff🔥é解🔥";
    for (size_t size = 1; size < 40; size++) {
        char room[40];
        struct hp_text cut;
        hp_text_init(&cut, room, size);
        hp_utf8_put_safe(&cut, name, strlen(name));
        for (const char *at = room, *end = room + cut.length; at < end;)
            assert_true(hp_utf8_next(&at, end) != HP_UTF8_INVALID);
        for (const char *at = hp_text_end(&cut), *end = at + strlen(at); at < end;)
            assert_true(hp_utf8_next(&at, end) != HP_UTF8_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_valid_sequences_only), cmocka_unit_test(knows_widths),
        cmocka_unit_test(any_bytes_become_safe_text),   cmocka_unit_test(shortens_in_the_middle),
        cmocka_unit_test(cuts_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
