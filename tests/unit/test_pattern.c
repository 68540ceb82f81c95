/*
 * Patterns: a table of (pattern, subject, expected), a table of errors, random expressions compared with the C
 * library's matcher, and expressions on which a backtracking matcher takes forever. SPDX-License-Identifier: MIT
 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"

static bool matches(const char *text, const char *subject)
{
    struct hp_pattern pattern;
    const char *error = hp_pattern_compile(&pattern, text);
    if (error)
        fail_msg("'%s' does not compile: %s", text, error);
    return hp_pattern_matches(&pattern, subject);
}

struct match_case {
    const char *pattern;
    const char *subject;
    bool expected;
};

static const struct match_case match_cases[] = {
    /* plain text */
    {"", "", true},
    {"", "anything", true},
    {"parse", "parse", true},
    {"parse", "json_parse_text", true},
    {"parse", "Parse", false},
    {"parse", "pars", false},
    {"a.c", "abc", false},
    {"/", "a/b", true},
    {"/api", "GET /api", true},
    {"/i", "a/i", true},
    {"/i", "I", false},
    {"/a/x", "a", false},
    {"/a/x", "/a/x", true},
    {"\xc3\xa9t\xc3\xa9", "l'\xc3\xa9t\xc3\xa9", true},
    /* bytes and dots */
    {"//", "", true},
    {"//", "anything", true},
    {"/b/", "abc", true},
    {"/bd/", "abc", false},
    {"/a.c/", "abc", true},
    {"/a.c/", "ac", false},
    {"/a.c/", "a\nc", true},
    {"/^.$/", "\xff", true},
    {"/^..$/", "\xc3\xa9", true},
    {"/\xc3\xa9/", "caf\xc3\xa9", true},
    {"/\xc3\xa9/", "caf\xc3\xa8", false},
    {"/^\xc3\xa9*$/", "\xc3\xa9\xa9\xa9", true},
    {"/a/b/", "a/b", true},
    /* anchors */
    {"/^a/", "ab", true},
    {"/^a/", "ba", false},
    {"/a$/", "ba", true},
    {"/a$/", "ab", false},
    {"/^$/", "", true},
    {"/^$/", "a", false},
    {"/^a|b$/", "ax", true},
    {"/^a|b$/", "xb", true},
    {"/^a|b$/", "xbx", false},
    {"/a^b/", "ab", false},
    {"/(^|_)init$/", "init", true},
    {"/(^|_)init$/", "tty_init", true},
    {"/(^|_)init$/", "reinit", false},
    {"/\\bmap\\b/", "std::map<int>", true},
    {"/\\bmap\\b/", "bitmap", false},
    {"/\\bmap\\b/", "map", true},
    {"/\\Bmap/", "bitmap", true},
    {"/\\Bmap/", "map", false},
    {"/\\b/", "", false},
    {"/\\B/", "", true},
    /* sets */
    {"/^[abc]+$/", "cab", true},
    {"/^[abc]+$/", "cad", false},
    {"/^[a-c]$/", "b", true},
    {"/^[a-c]$/", "d", false},
    {"/^[^a-c]$/", "d", true},
    {"/^[^a-c]$/", "b", false},
    {"/^[^a-c]$/", "\x80", true},
    {"/^[]a]$/", "]", true},
    {"/^[^]a]$/", "b", true},
    {"/^[^]a]$/", "]", false},
    {"/^[a-]$/", "-", true},
    {"/^[-a]$/", "-", true},
    {"/^[a\\-c]$/", "-", true},
    {"/^[a\\-c]$/", "b", false},
    {"/^[\\]]$/", "]", true},
    {"/^[a^]$/", "^", true},
    {"/^[.]$/", "x", false},
    {"/^[\\d_]+$/", "4_2", true},
    {"/^[\\d_]+$/", "4a2", false},
    {"/^[^\\w]$/", "-", true},
    {"/^[^\\w]$/", "a", false},
    {"/^[\\W]$/", "a", false},
    {"/^[!-~]+$/", "a(b)", true},
    {"/^[[]$/", "[", true},
    {"/^[\x80-\xff]+$/", "\xc3\xa9", true},
    /* classes and escapes */
    {"/^\\d+$/", "0189", true},
    {"/^\\d+$/", "a", false},
    {"/^\\D+$/", "ab", true},
    {"/^\\D+$/", "a1", false},
    {"/^\\w+$/", "aZ_09", true},
    {"/^\\w+$/", "a-b", false},
    {"/^\\W+$/", "- \xff", true},
    {"/^a\\sb$/", "a b", true},
    {"/^a\\sb$/", "a\vb", true},
    {"/^a\\Sb$/", "a b", false},
    {"/^\\s\\n$/", "\t\n", true},
    {"/^\\t\\r$/", "\t\r", true},
    {"/a\\.c/", "a.c", true},
    {"/a\\.c/", "abc", false},
    {"/a\\/b/", "a/b", true},
    {"/\\(x\\)/", "f(x)", true},
    {"/\\{anonymous\\}/", "{anonymous}::f", true},
    {"/^\\\\$/", "\\", true},
    {"/^\\*\\+\\?\\|\\[\\]\\^\\$$/", "*+?|[]^$", true},
    {"/a}/", "a}", true},
    {"/a]/", "a]", true},
    /* repetitions */
    {"/^ab*c$/", "ac", true},
    {"/^ab*c$/", "abbbc", true},
    {"/^ab+c$/", "ac", false},
    {"/^ab+c$/", "abbc", true},
    {"/^ab?c$/", "ac", true},
    {"/^ab?c$/", "abbc", false},
    {"/^a{3}$/", "aaa", true},
    {"/^a{3}$/", "aa", false},
    {"/^a{3}$/", "aaaa", false},
    {"/^a{2,}$/", "a", false},
    {"/^a{2,}$/", "aaaaa", true},
    {"/^a{2,4}$/", "a", false},
    {"/^a{2,4}$/", "aa", true},
    {"/^a{2,4}$/", "aaaa", true},
    {"/^a{2,4}$/", "aaaaa", false},
    {"/^a{0}b$/", "b", true},
    {"/^a{0}b$/", "ab", false},
    {"/^a{0,2}$/", "", true},
    {"/^a{0,2}$/", "aa", true},
    {"/^a{0,2}$/", "aaa", false},
    {"/^a{0,}$/", "aaa", true},
    {"/^a{1}$/", "a", true},
    {"/^a{0,1}$/", "aa", false},
    {"/^a{255}$/", "a", false},
    {"/^(ab){2}$/", "abab", true},
    {"/^(ab){2}$/", "ab", false},
    {"/^(a|bc){2,3}$/", "bcabc", true},
    {"/^(a|bc){2,3}$/", "bc", false},
    {"/^(a|bc){2,3}$/", "aaaa", false},
    {"/^(a{2}){3}$/", "aaaaaa", true},
    {"/^(a{2}){3}$/", "aaaaa", false},
    {"/^(a+){2}$/", "a", false},
    {"/^(a+){2}$/", "aaa", true},
    {"/^(a?b){0,2}c$/", "babc", true},
    {"/^(a?b){0,2}c$/", "babbc", false},
    {"/^a+?b*?c??$/", "aab", true},
    {"/^a{2}?$/", "aa", true},
    /* alternatives and groups */
    {"/^(cat|dog)$/", "dog", true},
    {"/^(cat|dog)$/", "cow", false},
    {"/^(a|b|c|d)e$/", "de", true},
    {"/^(a|b|c|d)e$/", "ae", true},
    {"/^(a|b|c|d)e$/", "e", false},
    {"/^(a||b)c$/", "c", true},
    {"/^(|a)b$/", "ab", true},
    {"/^(a|)b$/", "b", true},
    {"/^()$/", "", true},
    {"/^(?:ab)+$/", "abab", true},
    {"/^(?:ab|)*$/", "abab", true},
    {"/^((a|b)c|d)+$/", "acdbc", true},
    {"/^((a|b)c|d)+$/", "acb", false},
    {"/^(a(b(c|d)?)?)?$/", "abd", true},
    {"/^(a(b(c|d)?)?)?$/", "ad", false},
    {"/a|b|c/", "xxc", true},
    /* expressions that match nothing in a loop must end */
    {"/^(a*)*$/", "aaab", false},
    {"/^(a*)*$/", "aaa", true},
    {"/^(a*)+$/", "", true},
    {"/^(|a)*$/", "aa", true},
    {"/^(|a)+$/", "aab", false},
    {"/^()*a$/", "a", true},
    {"/^()+a$/", "a", true},
    {"/^(){200}a$/", "a", true},
    {"/^(a?){3}$/", "", true},
    {"/^((a*)*)*b$/", "aab", true},
    /* upper and lower case alike */
    {"/PaRsE/i", "json_parse", true},
    {"/parse/i", "PARSE", true},
    {"/parse/", "PARSE", false},
    {"/^[a-c]$/i", "B", true},
    {"/^[A-C]$/i", "b", true},
    {"/^[^a-c]$/i", "B", false},
    {"/^[^A-C]$/i", "b", false},
    {"/^[k]$/", "K", false},
    {"/^\\w$/i", "[", false},
    {"/^@$/i", "`", false},
};

static void compiles_and_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof match_cases / sizeof match_cases[0]; i++) {
        const struct match_case *c = &match_cases[i];
        if (matches(c->pattern, c->subject) != c->expected)
            fail_msg("'%s' and '%s': expected %s", c->pattern, c->subject, c->expected ? "a match" : "no match");
    }
}

static const struct {
    const char *pattern;
    const char *error;
} error_cases[] = {
    {"/(ab/", "'(' is never closed at byte 2"},
    {"/x((a)/", "'(' is never closed at byte 3"},
    {"/a)b/", "')' without '(' at byte 3"},
    {"/ab[cd/", "'[' is never closed at byte 4"},
    {"/[]/", "'[' is never closed at byte 2"},
    {"/[^]/", "'[' is never closed at byte 2"},
    {"/a[z-a]/", "a range in [...] is reversed at byte 4"},
    {"/[\\d-z]/", "a range in [...] needs a single byte on both sides at byte 3"},
    {"/[a-\\w]/", "a range in [...] needs a single byte on both sides at byte 3"},
    {"/[[:alpha:]]/", "sets such as [:alpha:] are not supported, use \\d, \\w and \\s at byte 3"},
    {"/*a/", "nothing to repeat at byte 2"},
    {"/a**/", "nothing to repeat at byte 4"},
    {"/(+)/", "nothing to repeat at byte 3"},
    {"/a|?/", "nothing to repeat at byte 4"},
    {"/^*/", "nothing to repeat at byte 3"},
    {"/{2}/", "nothing to repeat at byte 2"},
    {"/a{x}/", "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) at byte 3"},
    {"/a{1/", "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) at byte 3"},
    {"/a{,2}/", "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) at byte 3"},
    {"/a{256}/", "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) at byte 3"},
    {"/a{1,99999999999}/",
     "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte) at byte 3"},
    {"/a{3,2}/", "a repetition {m,n} is reversed at byte 3"},
    {"/a\\/", "'\\' has nothing to escape at byte 3"},
    {"/[\\/", "'\\' has nothing to escape at byte 3"},
    {"/a\\x/", "'\\' before a letter or digit that has no special meaning at byte 3"},
    {"/a\\1/", "'\\' before a letter or digit that has no special meaning at byte 3"},
    {"/[\\q]/", "'\\' before a letter or digit that has no special meaning at byte 3"},
    {"/(?=a)/", "'(?' must be followed by ':' at byte 2"},
    {"/(a{255}){3}/", "the expression is too long at byte 12"},
    {"/((a{9}){9}){9}/", "the expression is too long at byte 15"},
};

static void errors_have_a_message_and_a_position(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof error_cases / sizeof error_cases[0]; i++) {
        struct hp_pattern pattern;
        const char *error = hp_pattern_compile(&pattern, error_cases[i].pattern);
        if (!error)
            fail_msg("'%s' compiles", error_cases[i].pattern);
        assert_string_equal(error, error_cases[i].error);
        assert_true(hp_pattern_matches(&pattern, "whatever"));
    }
}

static void text_is_bounded(void **state)
{
    (void)state;
    struct hp_pattern pattern;
    char text[HP_PATTERN_BYTES + 1];
    memset(text, 'a', sizeof text);
    text[HP_PATTERN_BYTES - 1] = '\0';
    assert_null(hp_pattern_compile(&pattern, text));
    assert_true(hp_pattern_matches(&pattern, text));
    assert_false(hp_pattern_matches(&pattern, text + 1));
    text[HP_PATTERN_BYTES - 1] = 'a';
    text[HP_PATTERN_BYTES] = '\0';
    assert_string_equal(hp_pattern_compile(&pattern, text), "the pattern is longer than 255 bytes");
}

static void groups_are_bounded(void **state)
{
    (void)state;
    struct hp_pattern pattern;
    char text[HP_PATTERN_BYTES];
    for (size_t depth = HP_PATTERN_DEPTH; depth <= HP_PATTERN_DEPTH + 1; depth++) {
        char *end = text;
        *end++ = '/';
        for (size_t i = 0; i < depth; i++)
            *end++ = '(';
        *end++ = 'a';
        for (size_t i = 0; i < depth; i++)
            *end++ = ')';
        strcpy(end, "/");
        const char *error = hp_pattern_compile(&pattern, text);
        if (depth == HP_PATTERN_DEPTH) {
            assert_null(error);
            assert_true(hp_pattern_matches(&pattern, "xax"));
            assert_false(hp_pattern_matches(&pattern, "xx"));
        } else {
            assert_string_equal(error, "groups are nested too deeply at byte 34");
        }
    }
}

static void sets_are_shared_and_bounded(void **state)
{
    (void)state;
    struct hp_pattern pattern;
    char text[HP_PATTERN_BYTES] = "/";
    for (size_t i = 0; i < HP_PATTERN_SETS + 8; i++)
        strcat(text, "\\w");
    strcat(text, "/");
    assert_null(hp_pattern_compile(&pattern, text));
    strcpy(text, "/");
    for (size_t i = 0; i < HP_PATTERN_SETS; i++) {
        const char set[] = {'[', (char)(i < 26 ? 'a' + i : 'A' + i - 26), ']', '\0'};
        strcat(text, set);
    }
    strcat(text, "/");
    assert_null(hp_pattern_compile(&pattern, text));
    strcpy(text + strlen(text) - 1, "[0]/");
    assert_string_equal(hp_pattern_compile(&pattern, text),
                        "the expression has too many different sets at byte 100");
}

/* The longest program that fits, to its last step: one step for each byte and one for the end. */
static void program_fits_to_its_last_step(void **state)
{
    (void)state;
    struct hp_pattern pattern;
    char subject[HP_PATTERN_STEPS];
    memset(subject, 'a', sizeof subject);
    subject[HP_PATTERN_STEPS - 1] = '\0';
    assert_null(hp_pattern_compile(&pattern, "/a{255}a{255}a/"));
    assert_true(hp_pattern_matches(&pattern, subject));
    assert_false(hp_pattern_matches(&pattern, subject + 1));
    static const char *const too_long[] = {"/a{255}a{255}aa/", "/a{255}a{255}a|/", "/(a{255}){2}a{2}/"};
    for (size_t i = 0; i < 3; i++) {
        const char *error = hp_pattern_compile(&pattern, too_long[i]);
        assert_non_null(error);
        assert_non_null(strstr(error, "the expression is too long at byte "));
    }
}

static void patterns_can_be_copied(void **state)
{
    (void)state;
    struct hp_pattern first;
    assert_null(hp_pattern_compile(&first, "/^(a|[b-d])+$/i"));
    struct hp_pattern second = first;
    memset(&first, 0xff, sizeof first);
    assert_true(hp_pattern_matches(&second, "aDcB"));
    assert_false(hp_pattern_matches(&second, "aDcBe"));
}

/*
 * Each of these is exponential (or worse than quadratic) for a matcher that tries one way after the other: such a
 * one would run for ages, and the time limit of every test would end it.
 */
static void hard_expressions_terminate(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "/(a*)*b/",           "/(a|aa)+$/", "/(a+)+$/", "/^(a|a)*b$/", "/(.*)(.*)(.*)(.*)x$/",
        "/(a?){100}a{100}$/", "/(a*a*)*b/",
    };
    static char subject[20001];
    memset(subject, 'a', sizeof subject - 2);
    subject[sizeof subject - 2] = 'c';
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        assert_false(matches(patterns[i], subject));
}

/* ---------------------------------------------------------------- against the C library's expressions */

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32) % bound;
}

/* A random expression that means the same in both dialects. */
static void random_expression(char *text, size_t pieces)
{
    static const char *const atoms[] = {"a",     "b",      "c",     ".",        "[ab]",  "[^a]",
                                        "(a|b)", "(ab|c)", "(a*b)", "(a+|b?c)", "(b|ca)"};
    static const char *const repeats[] = {"", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "{1,}"};
    text[0] = '\0';
    if (random_below(3) == 0)
        strcat(text, "^");
    for (size_t i = 0; i < pieces; i++) {
        const bool is_group = random_below(4) == 0;
        if (i > 0 && random_below(6) == 0)
            strcat(text, "|");
        if (is_group) {
            strcat(text, "(");
            strcat(text, atoms[random_below(11)]);
            strcat(text, repeats[random_below(10)]);
        }
        strcat(text, atoms[random_below(11)]);
        strcat(text, repeats[random_below(10)]);
        if (is_group) {
            strcat(text, ")");
            strcat(text, repeats[random_below(10)]);
        }
    }
    if (random_below(3) == 0)
        strcat(text, "$");
}

static void agrees_with_the_c_library(void **state)
{
    (void)state;
    size_t matched = 0;
    size_t compared = 0;
    for (size_t i = 0; i < 4000; i++) {
        char expression[160];
        char text[164];
        random_expression(expression, 1 + random_below(4));
        snprintf(text, sizeof text, "/%s/", expression);
        regex_t reference;
        assert_int_equal(regcomp(&reference, expression, REG_EXTENDED | REG_NOSUB), 0);
        struct hp_pattern pattern;
        const char *error = hp_pattern_compile(&pattern, text);
        if (error)
            fail_msg("'%s': %s", text, error);
        for (size_t j = 0; j < 10; j++) {
            char subject[12] = "";
            const uint32_t length = random_below(10);
            for (uint32_t k = 0; k < length; k++)
                subject[k] = (char)('a' + random_below(3));
            const bool expected = regexec(&reference, subject, 0, NULL, 0) == 0;
            if (hp_pattern_matches(&pattern, subject) != expected)
                fail_msg("'%s' and '%s': the C library says %d", text, subject, expected);
            matched += expected;
            compared++;
        }
        regfree(&reference);
    }
    /* A comparison in which one answer hardly occurs would say little. */
    assert_true(matched > compared / 4 && matched < compared - compared / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_and_matches),
        cmocka_unit_test(errors_have_a_message_and_a_position),
        cmocka_unit_test(text_is_bounded),
        cmocka_unit_test(groups_are_bounded),
        cmocka_unit_test(sets_are_shared_and_bounded),
        cmocka_unit_test(program_fits_to_its_last_step),
        cmocka_unit_test(patterns_can_be_copied),
        cmocka_unit_test(hard_expressions_terminate),
        cmocka_unit_test(agrees_with_the_c_library),
    };
    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
