/*
 * The small pieces of C++ text. Two things need care. Names of operators contain brackets and blanks. And < may be
 * a bracket or a comparison: it is a comparison if the bracket around it is closed first, as in enable_if<(N < 3)>.
 * SPDX-License-Identifier: MIT
 */
#include "cxxtext.h"

#include <string.h>

#define MAX_BRACKETS 64
#define LONGEST_CHARACTER 16 /* of a character literal: U'\x0010ffff' */

bool hp_cxx_is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c > 127;
}

bool hp_cxx_starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* ---------------------------------------------------------------------------------------------- operators */

/* True when the word "operator" is at `at`; `first` is where the whole text begins. */
bool hp_cxx_is_operator(const char *first, const char *at)
{
    return hp_cxx_starts_with(at, "operator") && !hp_cxx_is_identifier(at[8]) &&
           (at == first || !hp_cxx_is_identifier(at[-1]));
}

/* Length of the sign of an operator at `at`; 0 when there is none. Longer signs come before shorter ones. */
size_t hp_cxx_sign_length(const char *at)
{
    static const char *const signs[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
        "&&", "||", "++",  "--", "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "+",
        "-",  "*",  "/",   "%",  "&",   "|",   "^",   "~",  "!",  "=",  "<",  ">",  ",",
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (hp_cxx_starts_with(at, signs[i]))
            return strlen(signs[i]);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- groups */

/* Behind the character literal at `at`, or behind its quote when it is none. */
const char *hp_cxx_skip_character(const char *at)
{
    const char *end = at + 1;
    if (*end == '\\')
        end++;
    if (*end != '\0')
        end++;
    while (*end != '\0' && *end != '\'' && end - at < LONGEST_CHARACTER)
        end++;
    return *end == '\'' ? end + 1 : at + 1;
}

static char opening_of(char closing)
{
    switch (closing) {
    case ')':
        return '(';
    case ']':
        return '[';
    case '}':
        return '{';
    default:
        return '<';
    }
}

/* Closes a bracket, and with it every < inside that turned out to be a comparison. */
static size_t close_bracket(const char *open, size_t depth, char closing)
{
    const char opening = opening_of(closing);
    if (closing == '>')
        return depth > 0 && open[depth - 1] == '<' ? depth - 1 : depth;
    while (depth > 0 && open[depth - 1] == '<')
        depth--;
    return depth > 0 && open[depth - 1] == opening ? depth - 1 : depth;
}

/* Behind the bracket that closes the one at `at`; at the end of the text when none does. */
const char *hp_cxx_skip_group(const char *at)
{
    const char *const first = at;
    char open[MAX_BRACKETS];
    size_t depth = 0;
    do {
        if (hp_cxx_is_operator(first, at)) {
            at += 8;
            at += hp_cxx_sign_length(at);
            continue;
        }
        switch (*at) {
        case '(':
        case '[':
        case '{':
        case '<':
            if (depth == MAX_BRACKETS)
                return at + strlen(at);
            open[depth++] = *at++;
            break;
        case '-':
            at += at[1] == '>' ? 2 : 1;
            break; /* an arrow closes nothing */
        case '\'':
            at = hp_cxx_skip_character(at);
            break;
        case ')':
        case ']':
        case '}':
        case '>':
            depth = close_bracket(open, depth, *at++);
            break;
        default:
            at++;
        }
    } while (depth > 0 && *at != '\0');
    return at;
}
