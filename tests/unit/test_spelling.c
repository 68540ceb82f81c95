/* Spelling suggestions. SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spelling.h"

static const char *meant(const char *word)
{
    static const char *const words[] = {"timing", "calltree", "cpu", "calls", "HOTPATH_LIMIT"};
    struct hp_spelling spelling = hp_spelling_of(word, strlen(word));
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        hp_spelling_try(&spelling, words[at]);
    return spelling.best != NULL ? spelling.best : "";
}

static void near_words_are_found(void **state)
{
    (void)state;
    assert_string_equal(meant("timng"), "timing");      /* dropped */
    assert_string_equal(meant("timming"), "timing");    /* added */
    assert_string_equal(meant("tinimg"), "timing");     /* two changed */
    assert_string_equal(meant("claltree"), "calltree"); /* swapped */
    assert_string_equal(meant("CPU"), "cpu");
    assert_string_equal(meant("HOTPATH_LIMITS"), "HOTPATH_LIMIT");
}

/* A whole word is better. */
static void words_whose_last_parts_are_missing_are_found(void **state)
{
    (void)state;
    struct hp_spelling spelling = hp_spelling_of("HOTPATH_OUTPUT", 14);
    hp_spelling_try(&spelling, "HOTPATH_OUTPUT_FORMAT");
    hp_spelling_try(&spelling, "HOTPATH_OUTPUT_PATH"); /* less is missing */
    assert_string_equal(spelling.best, "HOTPATH_OUTPUT_PATH");
    spelling = hp_spelling_of("alocs", 5);
    hp_spelling_try(&spelling, "alloc-bytes");
    assert_string_equal(spelling.best, "alloc-bytes");
    hp_spelling_try(&spelling, "allocs");
    assert_string_equal(spelling.best, "allocs");
    spelling = hp_spelling_of("count", 5);
    hp_spelling_try(&spelling, "alloc-count");
    assert_null(spelling.best);
}

static void far_words_are_not_suggested(void **state)
{
    (void)state;
    assert_string_equal(meant(""), "");
    assert_string_equal(meant("tmng"), ""); /* of short words one letter */
    assert_string_equal(meant("waits"), "");
    assert_string_equal(meant("timingtiming"), "");
}

static void the_nearest_wins(void **state)
{
    (void)state;
    struct hp_spelling spelling = hp_spelling_of("callls", 6);
    hp_spelling_try(&spelling, "called");
    hp_spelling_try(&spelling, "calls");
    hp_spelling_try(&spelling, "walls");
    assert_string_equal(spelling.best, "calls");
}

static void long_words_are_survived(void **state)
{
    (void)state;
    char word[200];
    memset(word, 'x', sizeof word);
    struct hp_spelling spelling = hp_spelling_of(word, sizeof word);
    hp_spelling_try(&spelling, "timing");
    assert_null(spelling.best);
    word[sizeof word - 1] = '\0';
    spelling = hp_spelling_of("timing", 6);
    hp_spelling_try(&spelling, word);
    assert_null(spelling.best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(words_whose_last_parts_are_missing_are_found),
        cmocka_unit_test(far_words_are_not_suggested),
        cmocka_unit_test(the_nearest_wins),
        cmocka_unit_test(long_words_are_survived),
    };
    return cmocka_run_group_tests_name("spelling", tests, NULL, NULL);
}
