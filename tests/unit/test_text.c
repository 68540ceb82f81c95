/* Formatting text into a caller's buffer. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sort.h"
#include "text.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *fixed(double number, unsigned decimals)
{
    static char bytes[64];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_fixed(&text, number, decimals);
    return hp_text_end(&text);
}

static void writes_numbers(void **state)
{
    (void)state;
    char bytes[128];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_u64(&text, 0);
    hp_text_char(&text, ' ');
    hp_text_u64(&text, UINT64_MAX);
    hp_text_char(&text, ' ');
    hp_text_padded(&text, 7, 3);
    hp_text_char(&text, ' ');
    hp_text_hex(&text, 0x1b, 4);
    hp_text_char(&text, ' ');
    hp_text_i64(&text, INT64_MIN);
    hp_text_char(&text, ' ');
    hp_text_i64(&text, 12);
    assert_string_equal(hp_text_end(&text), "0 18446744073709551615 007 001b -9223372036854775808 12");
    assert_false(text.is_cut);
}

static void writes_fixed_decimals(void **state)
{
    (void)state;
    assert_string_equal(fixed(0, 2), "0.00");
    assert_string_equal(fixed(1.005, 0), "1");
    assert_string_equal(fixed(1.5, 0), "2");
    assert_string_equal(fixed(12.3456, 2), "12.35");
    assert_string_equal(fixed(0.004, 2), "0.00");
    assert_string_equal(fixed(0.005000001, 2), "0.01");
    assert_string_equal(fixed(99.999, 2), "100.00");
    assert_string_equal(fixed(-3, 2), "0.00");
    assert_string_equal(fixed(0.0 / (double)(fixed(0, 0)[0] - '0'), 2), "0.00"); /* NaN */
    assert_string_equal(fixed(1e300, 2), "9223372036854775808");
    assert_string_equal(fixed(4e18, 2), "4000000000000000000");
}

static void formats_as_printf(void **state)
{
    (void)state;
    char bytes[200], expected[200];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s|%.*s|%.*s|%c|%%|", "all", 2, "cut", 9, "short", '*');
    assert_string_equal(hp_text_end(&text), "all|cu|short|*|%|");
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%u %lu %llu %zu %" PRIu64 " %02u:%03" PRIu64 " %.0f %.2f", UINT32_MAX, ULONG_MAX,
                   ULLONG_MAX, SIZE_MAX, UINT64_MAX, 7u, UINT64_C(1234), 2.5, 0.125);
    snprintf(expected, sizeof expected, "%u %lu %llu %zu %" PRIu64 " 07:1234 3 0.13", UINT32_MAX, ULONG_MAX,
             ULLONG_MAX, SIZE_MAX, UINT64_MAX);
    assert_string_equal(hp_text_end(&text), expected);
    hp_text_init(&text, bytes, 6);
    hp_text_format(&text, "%s %u", "cut", 12345u);
    assert_string_equal(hp_text_end(&text), "cut 1");
    assert_true(text.is_cut);
}

static void cuts_text_that_does_not_fit(void **state)
{
    (void)state;
    char bytes[8];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, "0123456");
    assert_false(text.is_cut);
    assert_string_equal(hp_text_end(&text), "0123456");
    hp_text_string(&text, "789");
    assert_true(text.is_cut);
    assert_string_equal(hp_text_end(&text), "0123456");
    hp_text_repeat(&text, 'x', 1000);
    assert_string_equal(hp_text_end(&text), "0123456");
}

struct collected {
    char bytes[4096];
    size_t length;
    unsigned flushes;
    unsigned allowed;
};

static bool collect(void *context, const char *bytes, size_t length)
{
    struct collected *collected = context;
    if (collected->flushes == collected->allowed)
        return false;
    collected->flushes++;
    memcpy(collected->bytes + collected->length, bytes, length);
    collected->length += length;
    return true;
}

static void streams_through_a_small_buffer(void **state)
{
    (void)state;
    char buffer[7];
    struct collected collected = {.allowed = 1000};
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, collect, &collected);
    for (int line = 0; line < 100; line++)
        hp_text_string(&text, "a line of text\n");
    hp_text_repeat(&text, '-', 200);
    assert_true(hp_text_finish(&text));
    assert_int_equal(collected.length, 100 * 15 + 200);
    for (size_t line = 0; line < 100; line++)
        assert_memory_equal(collected.bytes + line * 15, "a line of text\n", 15);
}

static void stream_remembers_a_failed_write(void **state)
{
    (void)state;
    char buffer[8];
    struct collected collected = {.allowed = 1};
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, collect, &collected);
    for (int line = 0; line < 100; line++)
        hp_text_string(&text, "a line of text\n");
    assert_false(hp_text_finish(&text));
    assert_int_equal(collected.flushes, 1);
    assert_false(hp_text_finish(&text));
}

static void walks_lists(void **state)
{
    (void)state;
    static const char *const expected[] = {"a", "b c", "-d", "e"};
    const char *rest = " a,b c ,, -d,\te , ";
    size_t length, count = 0;
    for (const char *item; (item = hp_text_next_item(&rest, &length)) != NULL; count++) {
        assert_true(count < COUNT(expected));
        assert_int_equal(length, strlen(expected[count]));
        assert_memory_equal(item, expected[count], length);
    }
    assert_int_equal(count, COUNT(expected));
    rest = "";
    assert_null(hp_text_next_item(&rest, &length));
}

static void compares_without_case(void **state)
{
    (void)state;
    assert_true(hp_text_equal_nocase("Self", 4, "self"));
    assert_true(hp_text_equal_nocase("selfish", 4, "SELF"));
    assert_false(hp_text_equal_nocase("self", 4, "selfish"));
    assert_false(hp_text_equal_nocase("self", 4, "sel"));
    assert_true(hp_text_equal_nocase("", 0, ""));
}

static int compare_numbers(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x == y ? 0 : x < y ? -1 : 1;
}

static void sorts_pointers(void **state)
{
    (void)state;
    static unsigned numbers[1000];
    static unsigned *items[COUNT(numbers)];
    for (size_t count = 0; count <= COUNT(numbers); count += count < 10 ? 1 : 99) {
        unsigned seed = 12345 + (unsigned)count, sum = 0, sorted_sum = 0;
        for (size_t at = 0; at < count; at++) {
            seed = seed * 1103515245u + 12345u;
            numbers[at] = seed >> 16 & 127;
            items[at] = &numbers[at];
            sum += numbers[at];
        }
        hp_sort(items, count, compare_numbers);
        for (size_t at = 0; at < count; at++) {
            sorted_sum += *items[at];
            assert_true(at == 0 || *items[at - 1] <= *items[at]);
        }
        assert_int_equal(sorted_sum, sum);
    }
}

static void newlines_of_paths_as_the_kernel_writes_them(void **state)
{
    (void)state;
    char path[] = "/a\\012b/\\01\\012\\012", other[] = "/a\\013";
    hp_text_read_newlines(path);
    assert_string_equal(path, "/a\nb/\\01\n\n");
    hp_text_read_newlines(other);
    assert_string_equal(other, "/a\\013");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newlines_of_paths_as_the_kernel_writes_them),
        cmocka_unit_test(writes_numbers),
        cmocka_unit_test(writes_fixed_decimals),
        cmocka_unit_test(formats_as_printf),
        cmocka_unit_test(cuts_text_that_does_not_fit),
        cmocka_unit_test(streams_through_a_small_buffer),
        cmocka_unit_test(stream_remembers_a_failed_write),
        cmocka_unit_test(walks_lists),
        cmocka_unit_test(compares_without_case),
        cmocka_unit_test(sorts_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
