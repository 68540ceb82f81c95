/*
 * Types of C++ as people write them: one pass from the left. Brackets of template arguments are counted, since some
 * rules hold only between them. SPDX-License-Identifier: MIT
 */
#include "cxxtidy.h"

#include <string.h>

#include "cxxtext.h"

#define MAX_DEPTH 64u

struct tidying {
    const char *first, *at;
    struct hp_text *out;
    size_t depth;           /* of template brackets */
    bool is_std[MAX_DEPTH]; /* whether the template of this bracket is one of the standard library */
};

static bool is_at_word(const struct tidying *tidying)
{
    return tidying->at == tidying->first || !hp_cxx_is_identifier(tidying->at[-1]);
}

/* Writes `text` in place of the bytes up to `end`. */
static bool replace(struct tidying *tidying, const char *text, const char *end)
{
    hp_text_string(tidying->out, text);
    tidying->at = end;
    return true;
}

/* gcc: long unsigned int. */
static bool put_number_type(struct tidying *tidying)
{
    static const char *const types[][2] = {
        {"long long unsigned int", "unsigned long long"}, {"long long int", "long long"},
        {"long unsigned int", "unsigned long"},           {"long int", "long"},
        {"short unsigned int", "unsigned short"},         {"short int", "short"},
    };
    for (size_t at = 0; is_at_word(tidying) && at < sizeof types / sizeof types[0]; at++) {
        const char *end = tidying->at + strlen(types[at][0]);
        if (hp_cxx_starts_with(tidying->at, types[at][0]) && !hp_cxx_is_identifier(*end))
            return replace(tidying, types[at][1], end);
    }
    return false;
}

/* "basic_string<char, std::char_traits<char>, std::allocator<char> >" is string; so are the others of that kind. */
static bool put_basic(struct tidying *tidying)
{
    static const char basic[] = "basic_", of_char[] = "<char", traits[] = ", std::char_traits<char>",
                      allocator[] = ", std::allocator<char>";
    if (!hp_cxx_starts_with(tidying->at, basic))
        return false;
    const char *name = tidying->at + sizeof basic - 1, *end = name;
    while (hp_cxx_is_identifier(*end))
        end++;
    const char *behind = end + sizeof of_char - 1;
    if (!hp_cxx_starts_with(end, of_char))
        return false;
    if (hp_cxx_starts_with(behind, traits))
        behind += sizeof traits - 1;
    if (hp_cxx_starts_with(behind, allocator))
        behind += sizeof allocator - 1;
    if (behind[*behind == ' '] != '>') /* with an allocator of its own it is another type */
        return false;
    hp_text_bytes(tidying->out, name, (size_t)(end - name));
    tidying->at = hp_cxx_skip_group(end);
    if (tidying->depth > 0 && hp_cxx_starts_with(tidying->at, " >"))
        tidying->at++;
    return true;
}

/* Versions of the library are in namespaces of their own, which nobody writes. */
static const char *behind_version(const char *at)
{
    static const char *const inside[] = {"__cxx11::", "__1::"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        if (hp_cxx_starts_with(at, inside[i]))
            return at + strlen(inside[i]);
    return at;
}

static bool put_std(struct tidying *tidying)
{
    if (!is_at_word(tidying) || !hp_cxx_starts_with(tidying->at, "std::"))
        return false;
    replace(tidying, "std::", tidying->at + 5);
    tidying->at = behind_version(tidying->at);
    put_basic(tidying);
    return true;
}

/* Arguments that are the default nearly always; the second list only in templates of the library itself. */
static bool skip_default(struct tidying *tidying)
{
    static const char *const defaults[] = {"allocator<", "char_traits<", "default_delete<",
                                           "less<",      "equal_to<",    "hash<"};
    static const size_t of_any = 3;
    const char *name = tidying->at + strlen(", std::");
    if (tidying->depth == 0 || tidying->depth > MAX_DEPTH || !hp_cxx_starts_with(tidying->at, ", std::"))
        return false;
    name = behind_version(name);
    const size_t count = tidying->is_std[tidying->depth - 1] ? sizeof defaults / sizeof defaults[0] : of_any;
    for (size_t at = 0; at < count; at++) {
        if (!hp_cxx_starts_with(name, defaults[at]))
            continue;
        const char *end = hp_cxx_skip_group(name + strlen(defaults[at]) - 1);
        const char *next = end + (*end == ' ');
        if (*next != '>' && *next != ',')
            return false;
        tidying->at = next;
        return true;
    }
    return false;
}

/* "3ul" is 3. */
static bool put_number(struct tidying *tidying)
{
    const char *end = tidying->at;
    if (tidying->depth == 0 || !is_at_word(tidying))
        return false;
    while (*end >= '0' && *end <= '9')
        end++;
    if (end == tidying->at)
        return false;
    const char *behind = end + strspn(end, "uUlL");
    if (hp_cxx_is_identifier(*behind))
        behind = end;
    hp_text_bytes(tidying->out, tidying->at, (size_t)(end - tidying->at));
    tidying->at = behind;
    return true;
}

/* clang: "char *". */
static bool skip_blank(struct tidying *tidying)
{
    const char *end = tidying->at + 1 + strspn(tidying->at + 1, "*&");
    if (*tidying->at != ' ' || end == tidying->at + 1 || tidying->at == tidying->first)
        return false;
    const bool is_type = *end == '\0' || strchr(",>)[(", *end) != NULL || hp_cxx_starts_with(end, " const");
    const char before = tidying->at[-1];
    if (!is_type || (!hp_cxx_is_identifier(before) && strchr(">*", before) == NULL))
        return false;
    tidying->at++;
    return true;
}

static bool put_operator(struct tidying *tidying)
{
    if (!hp_cxx_is_operator(tidying->first, tidying->at))
        return false;
    const size_t length = 8 + hp_cxx_sign_length(tidying->at + 8);
    hp_text_bytes(tidying->out, tidying->at, length);
    tidying->at += length;
    return true;
}

static bool begins_std(const struct tidying *tidying)
{
    const char *start = tidying->at;
    while (start > tidying->first && (hp_cxx_is_identifier(start[-1]) || start[-1] == ':'))
        start--;
    return hp_cxx_starts_with(start, "std::");
}

static void put_bracket(struct tidying *tidying)
{
    const bool is_open = *tidying->at == '<';
    if (is_open && tidying->at > tidying->first &&
        (hp_cxx_is_identifier(tidying->at[-1]) || tidying->at[-1] == ' ')) {
        if (tidying->depth < MAX_DEPTH)
            tidying->is_std[tidying->depth] = begins_std(tidying);
        tidying->depth++;
    }
    const bool is_arrow = tidying->at > tidying->first && tidying->at[-1] == '-';
    if (!is_open && !is_arrow && tidying->depth > 0)
        tidying->depth--;
    hp_text_char(tidying->out, *tidying->at++);
    if (!is_open && !is_arrow && tidying->depth > 0 && hp_cxx_starts_with(tidying->at, " >"))
        tidying->at++;
}

void hp_cxx_tidy(const char *name, struct hp_text *out)
{
    struct tidying tidying = {.first = name, .at = name, .out = out};
    while (*tidying.at != '\0') {
        if (put_operator(&tidying) || put_number_type(&tidying) || put_std(&tidying) || skip_default(&tidying) ||
            put_number(&tidying) || skip_blank(&tidying))
            continue;
        if (*tidying.at == '<' || *tidying.at == '>')
            put_bracket(&tidying);
        else
            hp_text_char(out, *tidying.at++);
    }
}
