/*
 * Lists of patterns: a table of (list, name, file, expected), splitting into items, errors, and random lists that
 * are joined and split again. SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pattern_list.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct hp_pattern_list list;

static void compile(const char *text, bool is_skip)
{
    char bytes[200];
    struct hp_text problem;
    hp_text_init(&problem, bytes, sizeof bytes);
    if (!hp_pattern_list_compile(&list, text, is_skip, &problem))
        fail_msg("'%s' does not compile: %s", text, hp_text_end(&problem));
}

struct choice_case {
    const char *text;
    const char *name;
    const char *file;
    bool expected;
};

static const struct choice_case choice_cases[] = {
    /* as it was with one pattern */
    {"", "anything", "", true},
    {"parse", "json_parse_text", "", true},
    {"parse", "lex", "", false},
    {"a b", "a b c", "", true},
    {"parse(", "parse(int)", "", true},
    {"a.c", "abc", "", false},
    {"/api", "GET /api", "", true},
    {"/", "a/b", "", true},
    {"/^lex$/", "lex", "", true},
    {"/^lex$/", "lexer", "", false},
    {"/^LEX$/i", "lex", "", true},
    {"a\\b", "a\\b", "", true},
    /* several */
    {"parse,lex", "parse_int", "", true},
    {"parse,lex", "lexer", "", true},
    {"parse,lex", "main", "", false},
    {" parse , lex ", "lexer", "", true},
    {",,parse,,", "parse", "", true},
    {",,parse,,", "main", "", false},
    {",", "main", "", true},
    {"/^a{1,2}$/,b", "aa", "", true},
    {"/^a{1,2}$/,b", "aaa", "", false},
    {"/^a{1,2}$/,b", "b", "", true},
    {"b,/^a,c$/i", "A,C", "", true},
    {"/^a$/ ,/^b$/i , c", "B", "", true},
    {"/^a$/ ,/^b$/i , c", "c", "", true},
    {"/a\\/,b/", "a/,b", "", true},
    {"/a\\/,b/", "a/", "", false},
    {"/usr,b", "GET /usr", "", true}, /* no slash ends it: a text */
    {"/usr,b", "b", "", true},
    /* globs match the whole name */
    {"parse*", "parse_int", "", true},
    {"parse*", "json_parse", "", false},
    {"*parse", "json_parse", "", true},
    {"*parse", "json_parse_int", "", false},
    {"p?rse", "parse", "", true},
    {"p?rse", "prse", "", false},
    {"p?rse", "parsed", "", false},
    {"*", "", "", false}, /* a site without a name matches nothing */
    {"*", "x", "", true},
    {"a*b*c", "a__b__b_c", "", true},
    {"a*b*c", "a__b__b_", "", false},
    {"a**c", "ac", "", true},
    {"?", "", "", false},
    {"\\*x", "2*x", "", true}, /* a text */
    {"\\*x", "2x", "", false},
    {"*\\**", "operator*", "", true},
    {"*\\**", "operator+", "", false},
    {"*\\?", "really?", "", true},
    {"*\\?", "really!", "", false},
    {"a\\,b", "a,b", "", true},
    {"a\\,b", "a", "", false},
    {"\\-x", "a-x", "", true},
    {"\\@x", "@x", "", true},
    {"\\/x/", "a/x/", "", true},
    {"\\/x/", "x", "", false},
    {"a\\\\,b", "a\\", "", true},
    {"a\\\\,b", "b", "", true},
    /* files */
    {"file:json.c", "f", "json.c", true},
    {"file:json.c", "f", "/src/lib/json.c", true},
    {"file:lib/json.c", "f", "/src/lib/json.c", true},
    {"file:/src/lib/json.c", "f", "/src/lib/json.c", true},
    {"file:json.c", "f", "/src/lib/myjson.c", false},
    {"file:json.c", "json.c", "", false},
    {"file:json", "f", "json.c", false},
    {"file:json.*", "f", "lib/json.c", true},
    {"file:lib/*", "f", "/src/lib/deep/json.c", true},
    {"file:*.c,x", "x", "a.h", true},
    {"file:a\\,b.c", "f", "a,b.c", true},
    /* what is left out */
    {"-debug", "parse", "", true},
    {"-debug", "parse_debug", "", false},
    {"parse,-debug", "parse_debug", "", false},
    {"-debug,parse", "parse_debug", "", false},
    {"-debug,parse", "parse", "", true},
    {"-debug,parse", "lex", "", false},
    {"-/^a,b$/,x", "a,b", "", false},
    {"-/^a,b$/,x", "x", "", true},
    {"-file:*.h", "f", "x/list.h", false},
    {"-file:*.h", "f", "x/list.c", true},
    {"-p*e", "parse", "", false},
    {"--x", "a-x", "", false},
};

static void lists_select_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(choice_cases); i++) {
        const struct choice_case *one = &choice_cases[i];
        const struct hp_pattern_subject subject = {.names = {one->name}, .files = {one->file}};
        compile(one->text, false);
        if (hp_pattern_list_chooses(&list, &subject) != one->expected)
            fail_msg("'%s' should%s choose '%s' in '%s'", one->text, one->expected ? "" : " not", one->name,
                     one->file);
    }
}

static void every_item_of_a_skip_list_excludes(void **state)
{
    (void)state;
    compile("parse,-lex,file:a.h", true);
    assert_false(hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"parse"}}));
    assert_false(hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"lex"}}));
    assert_false(hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"x"}, .files = {"a.h"}}));
    assert_true(hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"x"}, .files = {"a.c"}}));
}

static void every_name_and_file_counts(void **state)
{
    (void)state;
    compile("foo::bar,file:libx.so*", false);
    assert_true(hp_pattern_list_chooses(
        &list, &(struct hp_pattern_subject){.names = {"_ZN3foo3barEv", "foo::bar"}, .files = {"", "/bin/x"}}));
    assert_true(hp_pattern_list_chooses(
        &list, &(struct hp_pattern_subject){.names = {"x", ""}, .files = {"x.c", "/usr/lib/libx.so.1"}}));
    assert_false(
        hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"x", NULL}, .files = {"x.c", NULL}}));
}

static void invalid_lists_have_a_message(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *problem;
    } cases[] = {
        {"/(/", "item 1: '(' is never closed at byte 2"},
        {"a,b,-/x{3,2}/", "item 3: a repetition {m,n} is reversed at byte 3"},
        {"a,-", "item 2: '-' has nothing after it to exclude"},
        {"file:", "item 1: 'file:' has no name after it"},
        {"-file:,x", "item 1: 'file:' has no name after it"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[200];
        struct hp_text problem;
        hp_text_init(&problem, bytes, sizeof bytes);
        assert_false(hp_pattern_list_compile(&list, cases[i].text, false, &problem));
        assert_string_equal(hp_text_end(&problem), cases[i].problem);
        assert_true(hp_pattern_list_chooses(&list, &(struct hp_pattern_subject){.names = {"anything"}}));
    }
}

/* As much as fits, and one more of each. */
static void lists_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *item;
        size_t most;
        const char *problem;
    } cases[] = {{"a", 1024, "item 1025: there are more than 1024 items"},
                 {"/a/", 32, "item 33: there are more than 32 expressions: join some with |"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        static char text[16384];
        char bytes[200];
        struct hp_text whole, problem;
        hp_text_init(&whole, text, sizeof text);
        hp_text_init(&problem, bytes, sizeof bytes);
        for (size_t item = 0; item < cases[i].most; item++) {
            hp_text_string(&whole, item > 0 ? "," : "");
            hp_text_string(&whole, cases[i].item);
        }
        compile(hp_text_end(&whole), false);
        hp_text_char(&whole, ',');
        hp_text_string(&whole, cases[i].item);
        assert_false(hp_pattern_list_compile(&list, hp_text_end(&whole), false, &problem));
        assert_string_equal(hp_text_end(&problem), cases[i].problem);
    }
    char text[300];
    memset(text, 'x', sizeof text);
    text[255] = '\0';
    compile(text, false);
    text[255] = 'x';
    text[256] = '\0';
    assert_false(hp_pattern_list_compile(&list, text, false, NULL));
}

/* A line with commas is one item, also after it has been in a list. */
static void lines_stay_whole(void **state)
{
    (void)state;
    static const char *const lines[] = {"std::map<int, char>::at",
                                        "/^a{1,2}$/",
                                        "-x,y",
                                        "/usr,bin",
                                        "a\\,b",
                                        "file:a,b.c",
                                        "-/x,y/i",
                                        "/tail",
                                        "a*,b",
                                        "end\\"};
    char bytes[400];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    for (size_t i = 0; i < COUNT(lines); i++)
        hp_pattern_list_put(&text, lines[i], strlen(lines[i]), i == 0);
    hp_text_end(&text);
    assert_string_equal(bytes, "-std::map<int\\, char>::at,/^a{1,2}$/,-x\\,y,\\/usr\\,bin,a\\,b,file:a\\,b.c,"
                               "-/x,y/i,\\/tail,a*\\,b,end\\");
    size_t count = 0, length;
    for (const char *rest = bytes; hp_pattern_list_next(&rest, &length) != NULL;)
        count++;
    assert_int_equal(count, COUNT(lines));
}

static void slash_ends_an_expression(void **state)
{
    (void)state;
    char bytes[200];
    struct hp_pattern scratch;
    struct hp_text problem;
    hp_text_init(&problem, bytes, sizeof bytes);
    assert_false(hp_pattern_item_check("/a/,b/", 6, &scratch, &problem));
    assert_string_equal(hp_text_end(&problem), "a / before a comma ends the expression: write \\/");
    assert_true(hp_pattern_item_check("/a\\/,b/", 7, &scratch, &problem));
    assert_true(hp_pattern_item_check("a,b", 3, &scratch, &problem));
}

/* Items put into a list one by one come out unchanged, whatever they contain. */
static void random_items_survive(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", ",", "/", "\\", "*", "?", "-", "@", "file:", " ", "i", "(", "b"};
    uint64_t random = 88172645463325252u;
    size_t survived = 0;
    for (size_t i = 0; i < 20000; i++) {
        char bytes[400], again[400], problem_bytes[100];
        struct hp_text text, second, problem;
        struct hp_pattern scratch;
        hp_text_init(&text, bytes, sizeof bytes);
        hp_text_init(&second, again, sizeof again);
        size_t count = 0, length;
        for (size_t item = 0; item < i % 5; item++) {
            char line[64] = "";
            for (size_t piece = 0; piece < 5; piece++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                strcat(line, pieces[(random >> 32) % COUNT(pieces)]);
            }
            const char *start = line + strspn(line, " ");
            length = strlen(start);
            while (length > 0 && start[length - 1] == ' ')
                length--;
            char *copy = calloc(1, length + 1); /* with a watched end */
            assert_non_null(copy);
            memcpy(copy, start, length);
            hp_text_init(&problem, problem_bytes, sizeof problem_bytes);
            if (length > 0 && hp_pattern_item_check(copy, length, &scratch, &problem) && copy[length - 1] != '\\') {
                hp_pattern_list_put(&text, copy, length, false);
                count++;
            }
            free(copy);
        }
        hp_text_end(&text);
        compile(bytes, false);
        for (const char *rest = bytes, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;) {
            hp_pattern_list_put(&second, item, length, false);
            survived++;
            count--;
        }
        if (count != 0 || strcmp(bytes, hp_text_end(&second)) != 0)
            fail_msg("'%s' became '%s'", bytes, again);
    }
    assert_true(survived > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_select_names),         cmocka_unit_test(every_item_of_a_skip_list_excludes),
        cmocka_unit_test(every_name_and_file_counts), cmocka_unit_test(invalid_lists_have_a_message),
        cmocka_unit_test(lists_are_bounded),          cmocka_unit_test(lines_stay_whole),
        cmocka_unit_test(slash_ends_an_expression),   cmocka_unit_test(random_items_survive),
    };
    return cmocka_run_group_tests_name("pattern_list", tests, NULL, NULL);
}
