/*
 * Short names of C++ functions.
 *
 * One pass from the left. Words are collected until they turn out to be the return type: a blank, a pointer or a
 * reference restarts the name. The name is complete at the parameters, unless "::" follows them (a lambda or a type
 * within a function): then the parameters are skipped and the name continues. A function that returns a pointer to
 * a function has its name in parentheses; it is enough to enter them and restart the name.
 *
 * Two things need care. Names of operators contain brackets and blanks. And < may be a bracket or a comparison: it
 * is a comparison if the bracket around it is closed first, as in enable_if<(N < 3)>.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cxxname.h"

#include <string.h>

#include "text.h"

#define MAX_BRACKETS 64
#define MAX_SOURCE_NAME 4000u /* bytes of one component of a mangled name */
#define LONGEST_CHARACTER 16  /* length of a character literal: U'\x0010ffff' */

struct reader {
    const char *at; /* the text ends with a zero, which is never passed */
    struct hp_text name;
    char *out;
    size_t size;
    bool is_after_decltype; /* the last word was decltype: parentheses that follow belong to it */
};

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c > 127;
}

static bool starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* ---------------------------------------------------------------------------------------------- operators */

/* True when the word "operator" is at `at`; `first` is where the whole text begins. */
static bool is_operator(const char *first, const char *at)
{
    return starts_with(at, "operator") && !is_identifier(at[8]) && (at == first || !is_identifier(at[-1]));
}

/* Length of the operator's symbol at `at`; 0: none. Longer symbols come before shorter ones. */
static size_t sign_length(const char *at)
{
    static const char *const signs[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
        "&&", "||", "++",  "--", "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "+",
        "-",  "*",  "/",   "%",  "&",   "|",   "^",   "~",  "!",  "=",  "<",  ">",  ",",
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (starts_with(at, signs[i]))
            return strlen(signs[i]);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- groups */

/* The end of the character literal at `at`, or of its quote if it is none. */
static const char *skip_character(const char *at)
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

/* The position after the bracket that closes the one at `at`; the end of the text if none does. */
static const char *skip_group(const char *at)
{
    const char *const first = at;
    char open[MAX_BRACKETS];
    size_t depth = 0;
    do {
        if (is_operator(first, at)) {
            at += 8;
            at += sign_length(at);
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
            break; /* part of an arrow, no bracket */
        case '\'':
            at = skip_character(at);
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

/* --------------------------------------------------------------------------------------------- the reader */

static void begin_name(struct reader *reader) { hp_text_init(&reader->name, reader->out, reader->size); }

static bool name_is(const struct reader *reader, const char *text)
{
    return reader->name.length == strlen(text) && memcmp(reader->name.bytes, text, reader->name.length) == 0;
}

static void copy_until(struct reader *reader, const char *end)
{
    hp_text_bytes(&reader->name, reader->at, (size_t)(end - reader->at));
    reader->at = end;
}

/* Length of a qualifier at `at`, with the blank before it; 0 when there is none. */
static size_t qualifier_length(const char *at)
{
    static const char *const words[] = {" const", " volatile", " mutable", " noexcept", " static", " &&", " &"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (starts_with(at, words[i]) && !is_identifier(at[strlen(words[i])]))
            return strlen(words[i]);
    return 0;
}

/* After parameters or a lambda: moves to the "::" that follows. False: the name is complete. */
static bool goes_on(struct reader *reader)
{
    const char *at = reader->at;
    for (size_t length; (length = qualifier_length(at)) > 0;)
        at += length;
    if (!starts_with(at, "::"))
        return false;
    reader->at = at;
    return true;
}

/* The type of "operator const char*()": up to its parameters, which are the first () not followed by another (. */
static void read_conversion(struct reader *reader)
{
    while (*reader->at != '\0') {
        const char *at = reader->at;
        if (starts_with(at, "()") && at[2] != '(')
            return;
        copy_until(reader, *at == '(' || *at == '<' ? skip_group(at) : at + 1);
    }
}

/* "operator new []" and "operator new[]" are the same. False: the operator has no such name. */
static bool read_named_operator(struct reader *reader)
{
    static const char *const names[] = {" new", " delete", " co_await"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *end = reader->at + strlen(names[i]);
        if (!starts_with(reader->at, names[i]) || is_identifier(*end))
            continue;
        copy_until(reader, end);
        end += *end == ' ';
        if (starts_with(end, "[]")) {
            hp_text_string(&reader->name, "[]");
            reader->at = end + 2;
        }
        return true;
    }
    return false;
}

static void read_literal_operator(struct reader *reader)
{
    copy_until(reader, reader->at + 2);
    while (*reader->at == ' ')
        reader->at++;
    const char *end = reader->at;
    while (is_identifier(*end))
        end++;
    copy_until(reader, end);
}

static void read_operator(struct reader *reader)
{
    copy_until(reader, reader->at + 8);
    const size_t sign = sign_length(reader->at);
    if (sign > 0) {
        copy_until(reader, reader->at + sign);
        if (starts_with(reader->at, " <"))
            copy_until(reader, skip_group(reader->at + 1));
        return;
    }
    const char *quotes = reader->at + (*reader->at == ' ');
    if (starts_with(quotes, "\"\"")) {
        reader->at = quotes;
        read_literal_operator(reader);
    } else if (!read_named_operator(reader)) {
        read_conversion(reader);
    }
}

/* gcc: <lambda(int)>, <unnamed struct>, or template arguments. False: the name is complete. */
static bool read_angle(struct reader *reader)
{
    const char *end = skip_group(reader->at);
    if (starts_with(reader->at, "<lambda")) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end;
        return goes_on(reader);
    }
    if (starts_with(reader->at, "<unnamed ") && end[-1] == '>') {
        hp_text_string(&reader->name, "(anonymous ");
        reader->at += strlen("<unnamed ");
        copy_until(reader, end - 1);
        hp_text_char(&reader->name, ')');
        reader->at = end;
        return true;
    }
    copy_until(reader, end);
    return true;
}

/* Demanglers: {lambda(int)#1}::operator(), and clang's $_0::operator(). `end` is after the name of the class. */
static void read_closure(struct reader *reader, const char *end)
{
    static const char call[] = "::operator()";
    hp_text_string(&reader->name, "<lambda>");
    reader->at = starts_with(end, call) ? end + strlen(call) : end;
}

static bool read_brace(struct reader *reader)
{
    if (starts_with(reader->at, "{lambda(")) {
        read_closure(reader, skip_group(reader->at));
        return true;
    }
    if (!starts_with(reader->at, "{anonymous}")) {
        copy_until(reader, skip_group(reader->at));
        return true;
    }
    hp_text_string(&reader->name, "(anonymous namespace)");
    reader->at += strlen("{anonymous}");
    return true;
}

/* clang: (anonymous namespace), (anonymous struct), and (anonymous class)::operator() or (lambda)::operator(). */
static void read_anonymous(struct reader *reader)
{
    static const char call[] = "::operator()";
    const char *end = skip_group(reader->at);
    const bool is_class = starts_with(reader->at, "(anonymous class)") || starts_with(reader->at, "(lambda");
    if (is_class && starts_with(end, call)) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end + strlen(call);
    } else {
        copy_until(reader, end);
    }
}

/* False: these were the parameters, and the name is complete. */
static bool read_parenthesis(struct reader *reader)
{
    if (starts_with(reader->at, "(anonymous ") || starts_with(reader->at, "(lambda")) {
        read_anonymous(reader);
        return true;
    }
    if (reader->is_after_decltype || name_is(reader, "decltype")) {
        begin_name(reader);
        reader->at = skip_group(reader->at);
        return true;
    }
    if (reader->name.length == 0) {
        reader->at++;
        return true;
    }
    reader->at = skip_group(reader->at);
    return goes_on(reader);
}

/* The end of clang's name of an unnamed class, if its call operator follows; else NULL. */
static const char *end_of_numbered(const char *at)
{
    if (!starts_with(at, "$_"))
        return NULL;
    at += 2;
    while (*at >= '0' && *at <= '9')
        at++;
    return starts_with(at, "::operator()") ? at : NULL;
}

/* Reads the next piece. False: the name is complete. */
static bool read_piece(struct reader *reader, const char *pretty)
{
    if (is_operator(pretty, reader->at)) {
        read_operator(reader);
        return true;
    }
    switch (*reader->at) {
    case '<':
        return read_angle(reader);
    case '{':
        return read_brace(reader);
    case '(':
        return read_parenthesis(reader);
    case '[':
        reader->at = skip_group(reader->at);
        return true; /* [abi:cxx11] */
    case ' ':
    case '*':
    case '&':
    case ')':
        reader->is_after_decltype = name_is(reader, "decltype");
        begin_name(reader);
        reader->at++;
        return true;
    case '$':
        if (end_of_numbered(reader->at) != NULL) {
            read_closure(reader, end_of_numbered(reader->at));
            return true;
        }
        /* fall through */
    default:
        reader->is_after_decltype = false;
        copy_until(reader, reader->at + 1);
        return true;
    }
}

size_t hp_cxx_short_name(const char *pretty, char *out, size_t size)
{
    struct reader reader = {.at = pretty, .out = out, .size = size};
    bool is_complete = false;
    begin_name(&reader);
    while (!is_complete && *reader.at != '\0')
        is_complete = !read_piece(&reader, pretty);
    if (!is_complete || reader.name.length == 0) {
        begin_name(&reader);
        hp_text_string(&reader.name, pretty);
    }
    return strlen(hp_text_end(&reader.name));
}

/* ------------------------------------------------------------------------------------------ linker's names */

bool hp_cxx_is_mangled(const char *name) { return name[0] == '_' && name[1] == 'Z'; }

/* One component: "3foo". False: there is none, or the text ends too early. */
static bool read_source_name(const char **at, const char **ret_bytes, size_t *ret_length)
{
    size_t length = 0;
    const char *digit = *at;
    if (*digit < '1' || *digit > '9')
        return false;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        length = length * 10 + (size_t)(*digit - '0');
        if (length > MAX_SOURCE_NAME)
            return false;
    }
    if (strnlen(digit, length) < length)
        return false;
    *ret_bytes = digit;
    *ret_length = length;
    *at = digit + length;
    return true;
}

static void put_source_name(struct hp_text *name, const char *bytes, size_t length)
{
    static const char unnamed[] = "_GLOBAL__N_";
    if (length >= sizeof unnamed && memcmp(bytes, unnamed, sizeof unnamed - 1) == 0)
        hp_text_string(name, "(anonymous namespace)");
    else
        hp_text_bytes(name, bytes, length);
}

/* [abi:cxx11] and similar tags are not part of the name. */
static bool skip_tags(const char **at)
{
    const char *bytes;
    size_t length;
    while (**at == 'B') {
        ++*at;
        if (!read_source_name(at, &bytes, &length))
            return false;
    }
    return true;
}

static bool is_structor(const char *at)
{
    return (at[0] == 'C' && at[1] >= '1' && at[1] <= '5') || (at[0] == 'D' && at[1] >= '0' && at[1] <= '5');
}

/* One name, or a constructor or destructor, which has the name of its class: `*last`. */
static bool read_unqualified(const char **at, struct hp_text *name, const char **last, size_t *last_length)
{
    if (*last != NULL && is_structor(*at)) {
        hp_text_string(name, **at == 'D' ? "~" : "");
        hp_text_bytes(name, *last, *last_length);
        *at += 2;
        return skip_tags(at);
    }
    *at += **at == 'L';
    if (!read_source_name(at, last, last_length))
        return false;
    put_source_name(name, *last, *last_length);
    return skip_tags(at);
}

/* After "_Z": names in N...E, or a single one, which may be in std. */
static bool read_encoding(const char *at, struct hp_text *name)
{
    const char *last = NULL;
    size_t last_length = 0;
    const bool is_nested = *at == 'N';
    at += is_nested;
    while (is_nested && *at != '\0' && strchr("rVKRO", *at) != NULL)
        at++;
    if (starts_with(at, "St")) {
        hp_text_string(name, "std::");
        at += 2;
    }
    if (!read_unqualified(&at, name, &last, &last_length))
        return false;
    while (is_nested && *at != 'E') {
        hp_text_string(name, "::");
        if (!read_unqualified(&at, name, &last, &last_length))
            return false;
    }
    return *at != 'I';
}

size_t hp_cxx_qualified_name(const char *mangled, char *out, size_t size)
{
    struct hp_text name;
    hp_text_init(&name, out, size);
    if (!hp_cxx_is_mangled(mangled) || !read_encoding(mangled + 2, &name))
        hp_text_init(&name, out, size);
    return strlen(hp_text_end(&name));
}
