/*
 * hotpath 0.1.0, the whole library in one file. Put it into your program together with hotpath.h:
 *
 *     cc -DHOTPATH main.c hotpath.c -pthread
 *
 * It needs no options of its own; -DHOTPATH switches on what is measured in your sources. With -DHOTPATH_ALLOC it has malloc
 * and its kin in it, and counts what the program allocates. (A static executable needs -DHOTPATH_ALLOC_WRAP and
 * the linker's --wrap instead, see hotpath(3).) Generated from the sources of hotpath by tools/amalgamate.py: change
 * those, not this.
 *
 * MIT License
 *
 * Copyright (c) 2026 the hotpath authors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all
 * copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
 * SOFTWARE.
 *
 * SPDX-License-Identifier: MIT
 */
#ifdef __cplusplus
#error "hotpath.c is C: give it to the C compiler, hotpath.h is for C++ too"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#undef HOTPATH /* the library itself is never compiled out */
#define HOTPATH 1

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/perf_event.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "hotpath.h"

/* Nothing but what hotpath.h declares is seen from outside; functions that the library does not need are left out. */
#define HP_PRIVATE static __attribute__((unused))
#define HP_SHARED extern __attribute__((visibility("hidden")))

/* In one unit gcc looks through more calls than it understands: where a bound was checked, it no longer knows. */
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpragmas" /* old versions do not know all of these */
#pragma GCC diagnostic ignored "-Warray-bounds"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif

/* ---- src/base/cxxname.h -------------------------------------------------------------------------------------- */

/*
 * The short name of a C++ function, out of what gcc and clang call __PRETTY_FUNCTION__:
 *
 *     int ns::Class<T>::method(int, const char*) const [with T = int]     ns::Class<T>::method
 *     void (* handler(int))(double)                                       handler
 *     auto main()::(anonymous class)::operator()(int) const               main::<lambda>
 *
 * Return type, parameters, qualifiers and template bindings are left out. Both compilers' words for lambdas,
 * unnamed namespaces and unnamed types become the same ones: <lambda>, (anonymous namespace), (anonymous struct).
 *
 * May be used in a signal handler.
 */

/*
 * Writes the short name and a zero to `out`, cut to `size` bytes in all, and returns its length. What does not
 * look like a function of C++ is copied as it is.
 */
HP_PRIVATE size_t hp_cxx_short_name(const char *pretty, char *out, size_t size);

/* Whether a name of the linker's is one of C++: it begins with _Z. */
HP_PRIVATE bool hp_cxx_is_mangled(const char *name);

/*
 * The qualified name in a name of the linker's, without a demangler:
 *
 *     _ZNK3foo3barEv     foo::bar        _ZN3fooC2Ei     foo::foo        _ZSt4sortv     std::sort
 *
 * Returns its length, or 0 where the name is not of C++, or has templates, operators or anything else that takes more than
 * reading names one after the other. Cut to `size` bytes in all.
 */
HP_PRIVATE size_t hp_cxx_qualified_name(const char *mangled, char *out, size_t size);

/* ---- src/base/text.h ----------------------------------------------------------------------------------------- */

/*
 * Text into memory of the caller: no heap, no stdio, no locale. Two ways to use it:
 *
 *   a bounded buffer       hp_text_init; what does not fit is cut and `is_cut` says so
 *   a stream               hp_text_init_stream; the buffer is handed to `flush` whenever it is full
 *
 * Numbers look the same in every locale. May be used in a signal handler.
 */

/* Takes bytes off a stream; false gives up, and the stream ignores what follows. */
typedef bool hp_text_flush(void *context, const char *bytes, size_t length);

struct hp_text {
    char *bytes;
    size_t capacity;
    size_t length;
    bool is_cut; /* something did not fit, or could not be written */
    hp_text_flush *flush;
    void *context;
};

HP_PRIVATE void hp_text_init(struct hp_text *text, char *bytes, size_t capacity);
HP_PRIVATE void hp_text_init_stream(struct hp_text *text, char *bytes, size_t capacity, hp_text_flush *flush, void *context);

HP_PRIVATE void hp_text_char(struct hp_text *text, char c);
HP_PRIVATE void hp_text_bytes(struct hp_text *text, const char *bytes, size_t length);
HP_PRIVATE void hp_text_string(struct hp_text *text, const char *string);
HP_PRIVATE void hp_text_repeat(struct hp_text *text, char c, size_t count);
HP_PRIVATE void hp_text_u64(struct hp_text *text, uint64_t number);
HP_PRIVATE void hp_text_i64(struct hp_text *text, int64_t number);
/* At least `width` digits, filled up with zeros. */
HP_PRIVATE void hp_text_padded(struct hp_text *text, uint64_t number, unsigned width);
HP_PRIVATE void hp_text_hex(struct hp_text *text, uint32_t number, unsigned width);
/* With a fixed number of decimals (at most 9), rounded half up; negative and NaN count as 0. */
HP_PRIVATE void hp_text_fixed(struct hp_text *text, double number, unsigned decimals);

/* Writes what is left of a stream. False: not everything was written. */
HP_PRIVATE bool hp_text_finish(struct hp_text *text);

/* Ends a bounded buffer with a zero, over the last byte if need be, and returns it. */
HP_PRIVATE const char *hp_text_end(struct hp_text *text);

/* Whether `text` ends in `suffix` and has something before it. */
HP_PRIVATE bool hp_text_has_suffix(const char *text, const char *suffix);

/* ASCII only: the locale has no say. */
HP_PRIVATE bool hp_text_equal_nocase(const char *a, size_t a_length, const char *b);

/*
 * Cuts the next item off a comma separated list, without the blanks around it; empty items are skipped.
 *
 *     for (const char *rest = list, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
 */
HP_PRIVATE const char *hp_text_next_item(const char **rest, size_t *ret_length);

/* ---- src/base/cxxname.c -------------------------------------------------------------------------------------- */

/*
 * Short names of C++ functions.
 *
 * One pass from the left. Words are collected until it turns out that they were the return type: a blank, a
 * pointer or a reference begins the name anew. The name is complete at the parameters, unless "::" follows them (a
 * lambda or a type within a function): then the parameters are left out and the name goes on. A function that
 * returns a pointer to a function hides its name in parentheses; walking into them with the name begun anew is all
 * it takes.
 *
 * Two things need care. Names of operators contain brackets and blanks. And < may be a bracket or a comparison: it
 * is a comparison if the bracket around it is closed first, as in enable_if<(N < 3)>.
 */

#define HP_CXXNAME_MAX_BRACKETS 64
#define HP_CXXNAME_MAX_SOURCE_NAME 4000u /* bytes of one piece of a linker's name */
#define HP_CXXNAME_LONGEST_CHARACTER 16  /* of a character literal: U'\x0010ffff' */

struct hp_cxxname_reader {
    const char *at; /* the text ends with a zero, which is never passed */
    struct hp_text name;
    char *out;
    size_t size;
    bool is_after_decltype; /* the last word was decltype: parentheses that follow belong to it */
};

static bool hp_cxxname_is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c > 127;
}

static bool hp_cxxname_starts_with(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

/* ---------------------------------------------------------------------------------------------- operators */

/* True when the word "operator" is at `at`; `first` is where the whole text begins. */
static bool hp_cxxname_is_operator(const char *first, const char *at)
{
    return hp_cxxname_starts_with(at, "operator") && !hp_cxxname_is_identifier(at[8]) && (at == first || !hp_cxxname_is_identifier(at[-1]));
}

/* Length of the sign of an operator at `at`; 0 when there is none. Longer signs come before shorter ones. */
static size_t hp_cxxname_sign_length(const char *at)
{
    static const char *const signs[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
        "&&", "||", "++",  "--", "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "+",
        "-",  "*",  "/",   "%",  "&",   "|",   "^",   "~",  "!",  "=",  "<",  ">",  ",",
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (hp_cxxname_starts_with(at, signs[i]))
            return strlen(signs[i]);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- groups */

/* Behind the character literal at `at`, or behind its quote when it is none. */
static const char *hp_cxxname_skip_character(const char *at)
{
    const char *end = at + 1;
    if (*end == '\\')
        end++;
    if (*end != '\0')
        end++;
    while (*end != '\0' && *end != '\'' && end - at < HP_CXXNAME_LONGEST_CHARACTER)
        end++;
    return *end == '\'' ? end + 1 : at + 1;
}

static char hp_cxxname_opening_of(char closing)
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
static size_t hp_cxxname_close_bracket(const char *open, size_t depth, char closing)
{
    const char opening = hp_cxxname_opening_of(closing);
    if (closing == '>')
        return depth > 0 && open[depth - 1] == '<' ? depth - 1 : depth;
    while (depth > 0 && open[depth - 1] == '<')
        depth--;
    return depth > 0 && open[depth - 1] == opening ? depth - 1 : depth;
}

/* Behind the bracket that closes the one at `at`; at the end of the text when none does. */
static const char *hp_cxxname_skip_group(const char *at)
{
    const char *const first = at;
    char open[HP_CXXNAME_MAX_BRACKETS];
    size_t depth = 0;
    do {
        if (hp_cxxname_is_operator(first, at)) {
            at += 8;
            at += hp_cxxname_sign_length(at);
            continue;
        }
        switch (*at) {
        case '(':
        case '[':
        case '{':
        case '<':
            if (depth == HP_CXXNAME_MAX_BRACKETS)
                return at + strlen(at);
            open[depth++] = *at++;
            break;
        case '-':
            at += at[1] == '>' ? 2 : 1;
            break; /* an arrow closes nothing */
        case '\'':
            at = hp_cxxname_skip_character(at);
            break;
        case ')':
        case ']':
        case '}':
        case '>':
            depth = hp_cxxname_close_bracket(open, depth, *at++);
            break;
        default:
            at++;
        }
    } while (depth > 0 && *at != '\0');
    return at;
}

/* --------------------------------------------------------------------------------------------- the reader */

static void hp_cxxname_begin_name(struct hp_cxxname_reader *reader) { hp_text_init(&reader->name, reader->out, reader->size); }

static bool hp_cxxname_name_is(const struct hp_cxxname_reader *reader, const char *text)
{
    return reader->name.length == strlen(text) && memcmp(reader->name.bytes, text, reader->name.length) == 0;
}

static void hp_cxxname_copy_until(struct hp_cxxname_reader *reader, const char *end)
{
    hp_text_bytes(&reader->name, reader->at, (size_t)(end - reader->at));
    reader->at = end;
}

/* Length of a qualifier at `at`, with the blank before it; 0 when there is none. */
static size_t hp_cxxname_qualifier_length(const char *at)
{
    static const char *const words[] = {" const", " volatile", " mutable", " noexcept", " static", " &&", " &"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (hp_cxxname_starts_with(at, words[i]) && !hp_cxxname_is_identifier(at[strlen(words[i])]))
            return strlen(words[i]);
    return 0;
}

/* After parameters or a lambda: moves on to the "::" behind them. False: the name is complete. */
static bool hp_cxxname_goes_on(struct hp_cxxname_reader *reader)
{
    const char *at = reader->at;
    for (size_t length; (length = hp_cxxname_qualifier_length(at)) > 0;)
        at += length;
    if (!hp_cxxname_starts_with(at, "::"))
        return false;
    reader->at = at;
    return true;
}

/* The type of "operator const char*()": up to its parameters, which are the first () that no other ( follows. */
static void hp_cxxname_read_conversion(struct hp_cxxname_reader *reader)
{
    while (*reader->at != '\0') {
        const char *at = reader->at;
        if (hp_cxxname_starts_with(at, "()") && at[2] != '(')
            return;
        hp_cxxname_copy_until(reader, *at == '(' || *at == '<' ? hp_cxxname_skip_group(at) : at + 1);
    }
}

/* "operator new []" and "operator new[]" are one. False: the operator has no such name. */
static bool hp_cxxname_read_named_operator(struct hp_cxxname_reader *reader)
{
    static const char *const names[] = {" new", " delete", " co_await"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *end = reader->at + strlen(names[i]);
        if (!hp_cxxname_starts_with(reader->at, names[i]) || hp_cxxname_is_identifier(*end))
            continue;
        hp_cxxname_copy_until(reader, end);
        end += *end == ' ';
        if (hp_cxxname_starts_with(end, "[]")) {
            hp_text_string(&reader->name, "[]");
            reader->at = end + 2;
        }
        return true;
    }
    return false;
}

static void hp_cxxname_read_literal_operator(struct hp_cxxname_reader *reader)
{
    hp_cxxname_copy_until(reader, reader->at + 2);
    while (*reader->at == ' ')
        reader->at++;
    const char *end = reader->at;
    while (hp_cxxname_is_identifier(*end))
        end++;
    hp_cxxname_copy_until(reader, end);
}

static void hp_cxxname_read_operator(struct hp_cxxname_reader *reader)
{
    hp_cxxname_copy_until(reader, reader->at + 8);
    const size_t sign = hp_cxxname_sign_length(reader->at);
    if (sign > 0) {
        hp_cxxname_copy_until(reader, reader->at + sign);
        if (hp_cxxname_starts_with(reader->at, " <"))
            hp_cxxname_copy_until(reader, hp_cxxname_skip_group(reader->at + 1));
        return;
    }
    const char *quotes = reader->at + (*reader->at == ' ');
    if (hp_cxxname_starts_with(quotes, "\"\"")) {
        reader->at = quotes;
        hp_cxxname_read_literal_operator(reader);
    } else if (!hp_cxxname_read_named_operator(reader)) {
        hp_cxxname_read_conversion(reader);
    }
}

/* gcc: <lambda(int)>, <unnamed struct>, or template arguments. False: the name is complete. */
static bool hp_cxxname_read_angle(struct hp_cxxname_reader *reader)
{
    const char *end = hp_cxxname_skip_group(reader->at);
    if (hp_cxxname_starts_with(reader->at, "<lambda")) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end;
        return hp_cxxname_goes_on(reader);
    }
    if (hp_cxxname_starts_with(reader->at, "<unnamed ") && end[-1] == '>') {
        hp_text_string(&reader->name, "(anonymous ");
        reader->at += strlen("<unnamed ");
        hp_cxxname_copy_until(reader, end - 1);
        hp_text_char(&reader->name, ')');
        reader->at = end;
        return true;
    }
    hp_cxxname_copy_until(reader, end);
    return true;
}

/* Demanglers: {lambda(int)#1}::operator(), and clang's own $_0::operator(). `end` is behind the name of the class. */
static void hp_cxxname_read_closure(struct hp_cxxname_reader *reader, const char *end)
{
    static const char call[] = "::operator()";
    hp_text_string(&reader->name, "<lambda>");
    reader->at = hp_cxxname_starts_with(end, call) ? end + strlen(call) : end;
}

static bool hp_cxxname_read_brace(struct hp_cxxname_reader *reader)
{
    if (hp_cxxname_starts_with(reader->at, "{lambda(")) {
        hp_cxxname_read_closure(reader, hp_cxxname_skip_group(reader->at));
        return true;
    }
    if (!hp_cxxname_starts_with(reader->at, "{anonymous}")) {
        hp_cxxname_copy_until(reader, hp_cxxname_skip_group(reader->at));
        return true;
    }
    hp_text_string(&reader->name, "(anonymous namespace)");
    reader->at += strlen("{anonymous}");
    return true;
}

/* clang: (anonymous namespace), (anonymous struct), and (anonymous class)::operator() or (lambda)::operator(). */
static void hp_cxxname_read_anonymous(struct hp_cxxname_reader *reader)
{
    static const char call[] = "::operator()";
    const char *end = hp_cxxname_skip_group(reader->at);
    const bool is_class = hp_cxxname_starts_with(reader->at, "(anonymous class)") || hp_cxxname_starts_with(reader->at, "(lambda");
    if (is_class && hp_cxxname_starts_with(end, call)) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end + strlen(call);
    } else {
        hp_cxxname_copy_until(reader, end);
    }
}

/* False: these were the parameters, and the name is complete. */
static bool hp_cxxname_read_parenthesis(struct hp_cxxname_reader *reader)
{
    if (hp_cxxname_starts_with(reader->at, "(anonymous ") || hp_cxxname_starts_with(reader->at, "(lambda")) {
        hp_cxxname_read_anonymous(reader);
        return true;
    }
    if (reader->is_after_decltype || hp_cxxname_name_is(reader, "decltype")) {
        hp_cxxname_begin_name(reader);
        reader->at = hp_cxxname_skip_group(reader->at);
        return true;
    }
    if (reader->name.length == 0) {
        reader->at++;
        return true;
    }
    reader->at = hp_cxxname_skip_group(reader->at);
    return hp_cxxname_goes_on(reader);
}

/* Behind clang's name of an unnamed class, if it is followed by what one calls; else NULL. */
static const char *hp_cxxname_end_of_numbered(const char *at)
{
    if (!hp_cxxname_starts_with(at, "$_"))
        return NULL;
    at += 2;
    while (*at >= '0' && *at <= '9')
        at++;
    return hp_cxxname_starts_with(at, "::operator()") ? at : NULL;
}

/* Reads on. False: the name is complete. */
static bool hp_cxxname_read_piece(struct hp_cxxname_reader *reader, const char *pretty)
{
    if (hp_cxxname_is_operator(pretty, reader->at)) {
        hp_cxxname_read_operator(reader);
        return true;
    }
    switch (*reader->at) {
    case '<':
        return hp_cxxname_read_angle(reader);
    case '{':
        return hp_cxxname_read_brace(reader);
    case '(':
        return hp_cxxname_read_parenthesis(reader);
    case '[':
        reader->at = hp_cxxname_skip_group(reader->at);
        return true; /* [abi:cxx11] */
    case ' ':
    case '*':
    case '&':
    case ')':
        reader->is_after_decltype = hp_cxxname_name_is(reader, "decltype");
        hp_cxxname_begin_name(reader);
        reader->at++;
        return true;
    case '$':
        if (hp_cxxname_end_of_numbered(reader->at) != NULL) {
            hp_cxxname_read_closure(reader, hp_cxxname_end_of_numbered(reader->at));
            return true;
        }
        /* fall through */
    default:
        reader->is_after_decltype = false;
        hp_cxxname_copy_until(reader, reader->at + 1);
        return true;
    }
}

size_t hp_cxx_short_name(const char *pretty, char *out, size_t size)
{
    struct hp_cxxname_reader reader = {.at = pretty, .out = out, .size = size};
    bool is_complete = false;
    hp_cxxname_begin_name(&reader);
    while (!is_complete && *reader.at != '\0')
        is_complete = !hp_cxxname_read_piece(&reader, pretty);
    if (!is_complete || reader.name.length == 0) {
        hp_cxxname_begin_name(&reader);
        hp_text_string(&reader.name, pretty);
    }
    return strlen(hp_text_end(&reader.name));
}

/* ------------------------------------------------------------------------------------------ linker's names */

bool hp_cxx_is_mangled(const char *name) { return name[0] == '_' && name[1] == 'Z'; }

/* A piece of a name: "3foo". False: there is none, or the text ends before it does. */
static bool hp_cxxname_read_source_name(const char **at, const char **ret_bytes, size_t *ret_length)
{
    size_t length = 0;
    const char *digit = *at;
    if (*digit < '1' || *digit > '9')
        return false;
    for (; *digit >= '0' && *digit <= '9'; digit++) {
        length = length * 10 + (size_t)(*digit - '0');
        if (length > HP_CXXNAME_MAX_SOURCE_NAME)
            return false;
    }
    if (strnlen(digit, length) < length)
        return false;
    *ret_bytes = digit;
    *ret_length = length;
    *at = digit + length;
    return true;
}

static void hp_cxxname_put_source_name(struct hp_text *name, const char *bytes, size_t length)
{
    static const char unnamed[] = "_GLOBAL__N_";
    if (length >= sizeof unnamed && memcmp(bytes, unnamed, sizeof unnamed - 1) == 0)
        hp_text_string(name, "(anonymous namespace)");
    else
        hp_text_bytes(name, bytes, length);
}

/* [abi:cxx11] and the like are no part of the name. */
static bool hp_cxxname_skip_tags(const char **at)
{
    const char *bytes;
    size_t length;
    while (**at == 'B') {
        ++*at;
        if (!hp_cxxname_read_source_name(at, &bytes, &length))
            return false;
    }
    return true;
}

static bool hp_cxxname_is_structor(const char *at)
{
    return (at[0] == 'C' && at[1] >= '1' && at[1] <= '5') || (at[0] == 'D' && at[1] >= '0' && at[1] <= '5');
}

/* One name, or a constructor or destructor, which are named like what they are in: `*last`. */
static bool hp_cxxname_read_unqualified(const char **at, struct hp_text *name, const char **last, size_t *last_length)
{
    if (*last != NULL && hp_cxxname_is_structor(*at)) {
        hp_text_string(name, **at == 'D' ? "~" : "");
        hp_text_bytes(name, *last, *last_length);
        *at += 2;
        return hp_cxxname_skip_tags(at);
    }
    *at += **at == 'L';
    if (!hp_cxxname_read_source_name(at, last, last_length))
        return false;
    hp_cxxname_put_source_name(name, *last, *last_length);
    return hp_cxxname_skip_tags(at);
}

/* Behind "_Z": names in N...E, or a single one, which may be in std. */
static bool hp_cxxname_read_encoding(const char *at, struct hp_text *name)
{
    const char *last = NULL;
    size_t last_length = 0;
    const bool is_nested = *at == 'N';
    at += is_nested;
    while (is_nested && *at != '\0' && strchr("rVKRO", *at) != NULL)
        at++;
    if (hp_cxxname_starts_with(at, "St")) {
        hp_text_string(name, "std::");
        at += 2;
    }
    if (!hp_cxxname_read_unqualified(&at, name, &last, &last_length))
        return false;
    while (is_nested && *at != 'E') {
        hp_text_string(name, "::");
        if (!hp_cxxname_read_unqualified(&at, name, &last, &last_length))
            return false;
    }
    return *at != 'I';
}

size_t hp_cxx_qualified_name(const char *mangled, char *out, size_t size)
{
    struct hp_text name;
    hp_text_init(&name, out, size);
    if (!hp_cxx_is_mangled(mangled) || !hp_cxxname_read_encoding(mangled + 2, &name))
        hp_text_init(&name, out, size);
    return strlen(hp_text_end(&name));
}

/* ---- src/base/json.h ----------------------------------------------------------------------------------------- */

/*
 * Writing JSON, value by value; commas, indentation and escapes are done here. One line, or indented by two.
 *
 *     hp_json_begin_object(&json);
 *     hp_json_key(&json, "calls");
 *     hp_json_u64(&json, 3);
 *     hp_json_end_object(&json);
 *
 * Strings may be anything: bytes that are no UTF-8 become U+FFFD. Numbers that JSON cannot hold become null.
 */

#define HP_JSON_MAX_DEPTH 1024u /* nesting deeper than this still closes properly, but is not separated by commas */

struct hp_json {
    struct hp_text *text;
    bool is_pretty;
    bool is_after_key;
    uint32_t depth;
    uint64_t has_items[HP_JSON_MAX_DEPTH / 64]; /* one bit per level */
};

HP_PRIVATE void hp_json_init(struct hp_json *json, struct hp_text *text, bool is_pretty);

HP_PRIVATE void hp_json_begin_object(struct hp_json *json);
HP_PRIVATE void hp_json_end_object(struct hp_json *json);
HP_PRIVATE void hp_json_begin_array(struct hp_json *json);
HP_PRIVATE void hp_json_end_array(struct hp_json *json);

HP_PRIVATE void hp_json_key(struct hp_json *json, const char *key);
HP_PRIVATE void hp_json_key_bytes(struct hp_json *json, const char *key, size_t length);
HP_PRIVATE void hp_json_string(struct hp_json *json, const char *string);
HP_PRIVATE void hp_json_string_bytes(struct hp_json *json, const char *bytes, size_t length);
HP_PRIVATE void hp_json_u64(struct hp_json *json, uint64_t number);
HP_PRIVATE void hp_json_i64(struct hp_json *json, int64_t number);
/* With at most `digits` significant digits (1 to 15), as short as possible. */
HP_PRIVATE void hp_json_number(struct hp_json *json, double number, unsigned digits);
HP_PRIVATE void hp_json_bool(struct hp_json *json, bool value);
HP_PRIVATE void hp_json_null(struct hp_json *json);

/* A key with its value. */
HP_PRIVATE void hp_json_put_string(struct hp_json *json, const char *key, const char *string);
HP_PRIVATE void hp_json_put_u64(struct hp_json *json, const char *key, uint64_t number);

/* ---- src/base/utf8.h ----------------------------------------------------------------------------------------- */

/*
 * UTF-8 as a terminal shows it: one character after the other, how many columns each takes, and a form of any bytes
 * that is safe to print. No locale.
 */

#define HP_UTF8_INVALID UINT32_MAX
#define HP_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Reads the character at *at and moves past it; `*at` must be below `end`. HP_UTF8_INVALID for one byte that is no
 * part of valid UTF-8 (overlong, surrogate, beyond U+10FFFF, cut off).
 */
HP_PRIVATE uint32_t hp_utf8_next(const char **at, const char *end);

/* Columns: 0 for combining and invisible characters, 2 for East Asian wide ones and emoji, otherwise 1. */
HP_PRIVATE unsigned hp_utf8_width(uint32_t character);
HP_PRIVATE size_t hp_utf8_columns(const char *bytes, size_t length);

/*
 * Writes bytes of unknown origin so that they can do no harm to a terminal: control characters and those that turn
 * the direction of text become \n, \x1b, \u202e; what is no UTF-8 becomes U+FFFD.
 */
HP_PRIVATE void hp_utf8_put_safe(struct hp_text *text, const char *bytes, size_t length);

/*
 * Writes text (already safe) in at most `columns` columns: whole if it fits, otherwise its beginning and its end
 * with an ellipsis between, since names differ at their ends as often as at their beginnings. Returns the columns
 * taken.
 */
HP_PRIVATE size_t hp_utf8_put_fitted(struct hp_text *text, const char *bytes, size_t length, size_t columns);

/* ---- src/base/json.c ----------------------------------------------------------------------------------------- */

/* Writing JSON. */

void hp_json_init(struct hp_json *json, struct hp_text *text, bool is_pretty)
{
    *json = (struct hp_json){.text = text, .is_pretty = is_pretty};
}

static bool hp_json_has_items(const struct hp_json *json)
{
    return json->depth < HP_JSON_MAX_DEPTH && (json->has_items[json->depth / 64] >> json->depth % 64 & 1) != 0;
}

static void hp_json_set_has_items(struct hp_json *json, bool value)
{
    if (json->depth >= HP_JSON_MAX_DEPTH)
        return;
    const uint64_t bit = UINT64_C(1) << json->depth % 64;
    if (value)
        json->has_items[json->depth / 64] |= bit;
    else
        json->has_items[json->depth / 64] &= ~bit;
}

static void hp_json_break_line(struct hp_json *json)
{
    if (!json->is_pretty)
        return;
    hp_text_char(json->text, '\n');
    hp_text_repeat(json->text, ' ', 2 * (size_t)json->depth);
}

/* Everything that goes before a value or a key: nothing after a key, otherwise a comma and a new line. */
static void hp_json_separate(struct hp_json *json)
{
    if (json->is_after_key) {
        json->is_after_key = false;
        return;
    }
    if (hp_json_has_items(json))
        hp_text_char(json->text, ',');
    if (json->depth > 0)
        hp_json_break_line(json);
    hp_json_set_has_items(json, true);
}

static void hp_json_begin(struct hp_json *json, char bracket)
{
    hp_json_separate(json);
    hp_text_char(json->text, bracket);
    json->depth++;
    hp_json_set_has_items(json, false);
}

static void hp_json_end(struct hp_json *json, char bracket)
{
    const bool had_items = hp_json_has_items(json);
    if (json->depth > 0)
        json->depth--;
    if (had_items)
        hp_json_break_line(json);
    hp_text_char(json->text, bracket);
}

void hp_json_begin_object(struct hp_json *json) { hp_json_begin(json, '{'); }

void hp_json_end_object(struct hp_json *json) { hp_json_end(json, '}'); }

void hp_json_begin_array(struct hp_json *json) { hp_json_begin(json, '['); }

void hp_json_end_array(struct hp_json *json) { hp_json_end(json, ']'); }

static void hp_json_put_escaped(struct hp_text *text, uint32_t c)
{
    static const char named[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *found = c < 0x20 && c != 0 ? strchr(named, (int)c) : NULL;
    hp_text_char(text, '\\');
    if (c == '"' || c == '\\') {
        hp_text_char(text, (char)c);
    } else if (found != NULL) {
        hp_text_char(text, letters[found - named]);
    } else {
        hp_text_char(text, 'u');
        hp_text_hex(text, c, 4);
    }
}

static void hp_json_put_string_(struct hp_text *text, const char *bytes, size_t length)
{
    const char *at = bytes, *const stop = bytes + length;
    hp_text_char(text, '"');
    while (at < stop) {
        const char *const from = at;
        const uint32_t c = hp_utf8_next(&at, stop);
        if (c == HP_UTF8_INVALID)
            hp_text_string(text, HP_UTF8_REPLACEMENT);
        else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            hp_json_put_escaped(text, c);
        else
            hp_text_bytes(text, from, (size_t)(at - from));
    }
    hp_text_char(text, '"');
}

void hp_json_key_bytes(struct hp_json *json, const char *key, size_t length)
{
    hp_json_separate(json);
    hp_json_put_string_(json->text, key, length);
    hp_text_string(json->text, json->is_pretty ? ": " : ":");
    json->is_after_key = true;
}

void hp_json_key(struct hp_json *json, const char *key) { hp_json_key_bytes(json, key, strlen(key)); }

void hp_json_string_bytes(struct hp_json *json, const char *bytes, size_t length)
{
    hp_json_separate(json);
    hp_json_put_string_(json->text, bytes, length);
}

void hp_json_string(struct hp_json *json, const char *string)
{
    hp_json_string_bytes(json, string, strlen(string));
}

void hp_json_u64(struct hp_json *json, uint64_t number)
{
    hp_json_separate(json);
    hp_text_u64(json->text, number);
}

void hp_json_i64(struct hp_json *json, int64_t number)
{
    hp_json_separate(json);
    hp_text_i64(json->text, number);
}

void hp_json_bool(struct hp_json *json, bool value)
{
    hp_json_separate(json);
    hp_text_string(json->text, value ? "true" : "false");
}

void hp_json_null(struct hp_json *json)
{
    hp_json_separate(json);
    hp_text_string(json->text, "null");
}

/* Powers of ten up to 10^22 are exact in a double, so each step rounds once: two for any duration, 15 at the ends. */
static double hp_json_scale_by_ten(double value, int exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; exponent > 22; exponent -= 22)
        value *= power[22];
    for (; exponent < -22; exponent += 22)
        value /= power[22];
    return exponent < 0 ? value / power[-exponent] : value * power[exponent];
}

/* The decimal exponent of the first significant digit. */
static int hp_json_decimal_exponent(double value)
{
    int exponent = 0;
    for (; value >= 1e16; exponent += 16)
        value /= 1e16;
    for (; value >= 10; exponent++)
        value /= 10;
    for (; value < 1e-16; exponent -= 16)
        value *= 1e16;
    for (; value < 1; exponent--)
        value *= 10;
    return exponent;
}

/* `digits` with the decimal point after the first `whole` of them (whole may be 0 or less). */
static void hp_json_put_plain(struct hp_text *text, const char *digits, int count, int whole)
{
    if (whole <= 0)
        hp_text_char(text, '0');
    for (int at = 0; at < whole; at++)
        hp_text_char(text, at < count ? digits[at] : '0');
    if (count <= whole)
        return;
    hp_text_char(text, '.');
    for (int at = whole; at < 0; at++)
        hp_text_char(text, '0');
    hp_text_bytes(text, digits + (whole > 0 ? whole : 0), (size_t)(count - (whole > 0 ? whole : 0)));
}

static void hp_json_put_exponent(struct hp_text *text, int exponent)
{
    hp_text_char(text, 'e');
    hp_text_char(text, exponent < 0 ? '-' : '+');
    hp_text_u64(text, (uint64_t)(exponent < 0 ? -exponent : exponent));
}

/*
 * Digits are made as one integer of at most 15 digits, where a double is exact. That is not the shortest text that
 * reads back to the same double, but it differs from it by less than one part in 10^14, and no measurement here is
 * that good.
 */
static void hp_json_put_number(struct hp_text *text, double value, unsigned digits)
{
    int exponent = hp_json_decimal_exponent(value);
    uint64_t integer = (uint64_t)(hp_json_scale_by_ten(value, (int)digits - 1 - exponent) + 0.5);
    uint64_t limit = 1;
    for (unsigned digit = 0; digit < digits; digit++)
        limit *= 10;
    if (integer >= limit) {
        integer /= 10;
        exponent++;
    }
    char decimal[20];
    int count = 0;
    for (uint64_t power = limit / 10; power > 0; power /= 10)
        decimal[count++] = (char)('0' + integer / power % 10);
    while (count > 1 && decimal[count - 1] == '0')
        count--;
    if (exponent >= -7 && exponent < 21) {
        hp_json_put_plain(text, decimal, count, exponent + 1);
    } else {
        hp_json_put_plain(text, decimal, count, 1);
        hp_json_put_exponent(text, exponent);
    }
}

void hp_json_number(struct hp_json *json, double number, unsigned digits)
{
    if (!(number - number == 0)) { /* neither infinite nor NaN */
        hp_json_null(json);
        return;
    }
    hp_json_separate(json);
    if (number < 0)
        hp_text_char(json->text, '-');
    if (number == 0)
        hp_text_char(json->text, '0');
    else
        hp_json_put_number(json->text, number < 0 ? -number : number, digits < 1 ? 1 : digits > 15 ? 15 : digits);
}

void hp_json_put_string(struct hp_json *json, const char *key, const char *string)
{
    hp_json_key(json, key);
    hp_json_string(json, string);
}

void hp_json_put_u64(struct hp_json *json, const char *key, uint64_t number)
{
    hp_json_key(json, key);
    hp_json_u64(json, number);
}

/* ---- src/base/number.h --------------------------------------------------------------------------------------- */

/*
 * Numbers and flags out of text, the same in every locale. The text is `length` bytes long, needs no final zero
 * and must be the value as a whole: no blanks, no signs, nothing behind it. Every function returns false when it
 * is not, or when the value is too large, and writes its result on success only.
 *
 * May be used in a signal handler.
 */

/* Decimal digits: "15". */
HP_PRIVATE bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number);

/* A size: digits and a unit of any case in powers of 1024: "4096", "64MB", "512K", "1GiB". */
HP_PRIVATE bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes);

/* Digits with an optional fraction: "95", "99.9", ".5". Up to 15 digits count; the result is the nearest double. */
HP_PRIVATE bool hp_number_decimal(const char *text, size_t length, double *ret_number);

/* 1, true, yes, on or 0, false, no, off, in any case. */
HP_PRIVATE bool hp_number_flag(const char *text, size_t length, bool *ret_flag);

/* ---- src/base/number.c --------------------------------------------------------------------------------------- */

/*
 * Numbers out of text. strtoul and friends skip blanks, accept signs and ask the locale; none of that is wanted
 * here.
 */

static bool hp_number_is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t hp_number_count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && hp_number_is_digit(text[count]))
        count++;
    return count;
}

bool hp_number_unsigned(const char *text, size_t length, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (length == 0 || hp_number_count_digits(text, length) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (number > most)
        return false;
    *ret_number = number;
    return true;
}

/* The power of two a unit stands for. Returns false for what is no unit. */
static bool hp_number_unit_shift(const char *unit, size_t length, unsigned *ret_shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {
        {"", 0},     {"B", 0},  {"K", 10},  {"KB", 10},  {"KiB", 10}, {"M", 20},  {"MB", 20},
        {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}, {"T", 40},   {"TB", 40}, {"TiB", 40},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (hp_text_equal_nocase(unit, length, units[i].name)) {
            *ret_shift = units[i].shift;
            return true;
        }
    return false;
}

bool hp_number_bytes(const char *text, size_t length, uint64_t most, uint64_t *ret_bytes)
{
    const size_t digits = hp_number_count_digits(text, length);
    uint64_t number;
    unsigned shift;
    if (!hp_number_unit_shift(text + digits, length - digits, &shift) ||
        !hp_number_unsigned(text, digits, most >> shift, &number))
        return false;
    *ret_bytes = number << shift;
    return true;
}

/*
 * Both the digits as a whole number and the power of ten below it are exact in a double up to 15 digits, so one
 * division gives the nearest double, the same that a compiler makes of the literal.
 */
bool hp_number_decimal(const char *text, size_t length, double *ret_number)
{
    const size_t whole = hp_number_count_digits(text, length);
    const bool has_point = whole < length && text[whole] == '.';
    const size_t fraction = has_point ? hp_number_count_digits(text + whole + 1, length - whole - 1) : 0;
    if (whole + has_point + fraction != length || whole + fraction == 0 || whole + fraction > 15)
        return false;
    double digits = 0;
    double scale = 1;
    for (size_t i = 0; i < length; i++) {
        if (i == whole)
            continue;
        digits = digits * 10 + (text[i] - '0');
        if (i > whole)
            scale *= 10;
    }
    *ret_number = digits / scale;
    return true;
}

bool hp_number_flag(const char *text, size_t length, bool *ret_flag)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (hp_text_equal_nocase(text, length, words[i])) {
            *ret_flag = i % 2 == 1;
            return true;
        }
    return false;
}

/* ---- src/base/pattern.h -------------------------------------------------------------------------------------- */

/*
 * Patterns that choose names: what HOTPATH_FOCUS and HOTPATH_FILTER hold.
 *
 *     struct hp_pattern pattern;
 *     const char *error = hp_pattern_compile(&pattern, "/^parse_(int|text)$/");
 *     if (!error && hp_pattern_matches(&pattern, "parse_int")) ...
 *
 *   (empty)     everything
 *   text        every name that contains the text; upper and lower case differ
 *   /regex/     every name in which the expression matches somewhere
 *   /regex/i    the same, and ASCII upper and lower case are alike
 *
 * A text that starts with a slash and does not end like the last two forms is a plain text. Within an expression:
 *
 *   .  any byte       [a-z_] [^0-9]  sets         \d \w \s  digits, word bytes, blanks; \D \W \S  all others
 *   ^ $  both ends    \b \B  at a word's edge     a|b  either     (...) (?:...)  a group
 *   * + ? {m} {m,} {m,n}  repeated, n at most 255 (a following ? changes nothing)
 *   \t \n \r  as in C; \ before any other byte that is neither letter nor digit means that byte
 *
 * Classes are ASCII. Bytes above 127 stand for themselves, so a name in UTF-8 is matched byte by byte.
 *
 * The time a match takes grows with the length of the name times the length of the pattern, whatever the pattern
 * is. A pattern holds no pointers: it may be copied, kept across fork and used in signal handlers and by several
 * threads. Nothing allocates.
 */

#define HP_PATTERN_BYTES 256 /* of text, with the final zero */
#define HP_PATTERN_STEPS 512 /* of a compiled expression; at least one for each byte it can match in a row */
#define HP_PATTERN_SETS 32   /* different sets in one expression */
#define HP_PATTERN_DEPTH 32  /* groups within groups */

/* One step of a compiled expression; private to pattern.c. */
struct hp_pattern_step {
    uint8_t kind;
    uint8_t argument;
    int16_t jump; /* distance to the other step that may follow */
};

/* All fields are private to pattern.c. */
struct hp_pattern {
    bool is_regex;
    bool ignores_case;
    uint16_t step_count;
    uint16_t set_count;
    char text[HP_PATTERN_BYTES]; /* what a plain pattern looks for */
    struct hp_pattern_step steps[HP_PATTERN_STEPS];
    uint64_t sets[HP_PATTERN_SETS][4]; /* one bit for each of 256 bytes */
    char error[128];
};

/*
 * Returns NULL, or what is wrong with the text and at which of its bytes (the first is byte 1), in lower case and
 * without a final stop. The sentence lives as long as the pattern. A pattern that did not compile matches
 * everything.
 */
HP_PRIVATE const char *hp_pattern_compile(struct hp_pattern *pattern, const char *text);

HP_PRIVATE bool hp_pattern_matches(const struct hp_pattern *pattern, const char *subject);

/* ---- src/base/pattern.c -------------------------------------------------------------------------------------- */

/*
 * Patterns: a compiler for small regular expressions and a simulation of the automaton they describe.
 *
 * The program is Thompson's construction, written out as steps that follow one another. A step that can continue
 * in two places continues at the next step and at `jump` steps from itself. Because jumps are relative and never
 * leave the piece of program that their expression became, a piece can be moved (to put a step in front of it) and
 * copied (for x{3}).
 *
 * Matching keeps the set of steps the expression can be at, as bits, and moves the whole set over one byte at a
 * time. Names and patterns come from outside, so a backtracking matcher, which is exponential for (a*)*b, is out
 * of the question.
 */

enum hp_pattern_step_kind {
    HP_PATTERN_STEP_MATCH,
    HP_PATTERN_STEP_BYTE,  /* argument: the byte, in lower case where case is ignored */
    HP_PATTERN_STEP_ANY,   /* any byte */
    HP_PATTERN_STEP_SET,   /* argument: index of the set */
    HP_PATTERN_STEP_SPLIT, /* the next step, and `jump` */
    HP_PATTERN_STEP_JUMP,  /* only `jump` */
    HP_PATTERN_STEP_AT_START,
    HP_PATTERN_STEP_AT_END,
    HP_PATTERN_STEP_AT_EDGE,    /* between a word byte and another */
    HP_PATTERN_STEP_NOT_AT_EDGE /* anywhere else */
};

#define HP_PATTERN_MAX_REPEAT 255u
#define HP_PATTERN_UNBOUNDED UINT32_MAX
#define HP_PATTERN_NO_ATOM SIZE_MAX

_Static_assert(HP_PATTERN_STEPS % 64 == 0, "sets of steps are made of whole words");
_Static_assert(HP_PATTERN_STEPS <= INT16_MAX, "a jump reaches every step");

/* ------------------------------------------------------------------------------------------------ bytes */

static bool hp_pattern_is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

static bool hp_pattern_is_letter(unsigned char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

static bool hp_pattern_is_word(unsigned char byte) { return hp_pattern_is_digit(byte) || hp_pattern_is_letter(byte) || byte == '_'; }

static bool hp_pattern_is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static unsigned char hp_pattern_to_lower(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : byte;
}

static unsigned char hp_pattern_to_upper(unsigned char byte)
{
    return byte >= 'a' && byte <= 'z' ? (unsigned char)(byte - ('a' - 'A')) : byte;
}

static void hp_pattern_set_add(uint64_t set[4], unsigned byte) { set[byte / 64] |= UINT64_C(1) << byte % 64; }

static bool hp_pattern_set_has(const uint64_t set[4], unsigned byte) { return set[byte / 64] >> byte % 64 & 1; }

static void hp_pattern_set_add_range(uint64_t set[4], unsigned first, unsigned last)
{
    for (unsigned byte = first; byte <= last; byte++)
        hp_pattern_set_add(set, byte);
}

/* Adds the bytes of \d, \w, \s or of their opposites. Returns false when `letter` names none of them. */
static bool hp_pattern_set_add_class(uint64_t set[4], unsigned char letter)
{
    bool (*belongs)(unsigned char);
    switch (hp_pattern_to_lower(letter)) {
    case 'd':
        belongs = hp_pattern_is_digit;
        break;
    case 'w':
        belongs = hp_pattern_is_word;
        break;
    case 's':
        belongs = hp_pattern_is_blank;
        break;
    default:
        return false;
    }
    const bool is_opposite = letter != hp_pattern_to_lower(letter);
    for (unsigned byte = 0; byte < 256; byte++)
        if (belongs((unsigned char)byte) != is_opposite)
            hp_pattern_set_add(set, byte);
    return true;
}

static void hp_pattern_set_fold_case(uint64_t set[4])
{
    for (unsigned byte = 'a'; byte <= 'z'; byte++) {
        const unsigned upper = hp_pattern_to_upper((unsigned char)byte);
        if (hp_pattern_set_has(set, byte))
            hp_pattern_set_add(set, upper);
        else if (hp_pattern_set_has(set, upper))
            hp_pattern_set_add(set, byte);
    }
}

/* --------------------------------------------------------------------------------------------- compiling */

/* An open group. Each finished alternative ends in a STEP_JUMP that waits for the group's end to be known. */
struct hp_pattern_group {
    size_t start;     /* first step of the group */
    size_t branch;    /* first step of the alternative being read */
    size_t last_jump; /* the latest waiting jump, whose `jump` is the index of the one before; 0: none */
    size_t opened_at; /* where its parenthesis is in the text */
};

struct hp_pattern_compiler {
    struct hp_pattern *pattern;
    const char *text;
    size_t at;   /* next byte to read */
    size_t end;  /* the closing slash */
    size_t atom; /* first step of what a repetition would repeat, or NO_ATOM */
    size_t depth;
    struct hp_pattern_group groups[HP_PATTERN_DEPTH + 1];
};

/* Always false, so that a caller can fail with it. `at` counts from 0 in the text as it was given. */
static bool hp_pattern_fail(struct hp_pattern_compiler *compiler, const char *what, size_t at)
{
    struct hp_text error;
    hp_text_init(&error, compiler->pattern->error, sizeof compiler->pattern->error);
    hp_text_string(&error, what);
    hp_text_string(&error, " at byte ");
    hp_text_u64(&error, at + 1);
    hp_text_end(&error);
    return false;
}

static bool hp_pattern_fail_too_long(struct hp_pattern_compiler *compiler)
{
    return hp_pattern_fail(compiler, "the expression becomes too long", compiler->at - 1);
}

static size_t hp_pattern_step_count(const struct hp_pattern_compiler *compiler) { return compiler->pattern->step_count; }

/* Makes room for one step before `index`. What lies behind moves as a whole, so its relative jumps stay right. */
static bool hp_pattern_insert_step(struct hp_pattern_compiler *compiler, size_t index, enum hp_pattern_step_kind kind, unsigned argument,
                        ptrdiff_t jump)
{
    struct hp_pattern *pattern = compiler->pattern;
    if (pattern->step_count == HP_PATTERN_STEPS)
        return hp_pattern_fail_too_long(compiler);
    struct hp_pattern_step *step = &pattern->steps[index];
    memmove(step + 1, step, (pattern->step_count - index) * sizeof *step);
    *step = (struct hp_pattern_step){(uint8_t)kind, (uint8_t)argument, (int16_t)jump};
    pattern->step_count++;
    return true;
}

static bool hp_pattern_append_step(struct hp_pattern_compiler *compiler, enum hp_pattern_step_kind kind, unsigned argument, ptrdiff_t jump)
{
    return hp_pattern_insert_step(compiler, hp_pattern_step_count(compiler), kind, argument, jump);
}

static bool hp_pattern_append_atom(struct hp_pattern_compiler *compiler, enum hp_pattern_step_kind kind, unsigned argument)
{
    compiler->atom = hp_pattern_step_count(compiler);
    return hp_pattern_append_step(compiler, kind, argument, 0);
}

static bool hp_pattern_append_byte(struct hp_pattern_compiler *compiler, unsigned char byte)
{
    return hp_pattern_append_atom(compiler, HP_PATTERN_STEP_BYTE, compiler->pattern->ignores_case ? hp_pattern_to_lower(byte) : byte);
}

static bool hp_pattern_append_assertion(struct hp_pattern_compiler *compiler, enum hp_pattern_step_kind kind)
{
    compiler->atom = HP_PATTERN_NO_ATOM;
    return hp_pattern_append_step(compiler, kind, 0, 0);
}

static bool hp_pattern_append_copy(struct hp_pattern_compiler *compiler, size_t start, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const struct hp_pattern_step step = compiler->pattern->steps[start + i];
        if (!hp_pattern_append_step(compiler, (enum hp_pattern_step_kind)step.kind, step.argument, step.jump))
            return false;
    }
    return true;
}

/* Equal sets share one place: \w may be used forty times. */
static bool hp_pattern_append_set(struct hp_pattern_compiler *compiler, const uint64_t set[4])
{
    struct hp_pattern *pattern = compiler->pattern;
    unsigned index = 0;
    while (index < pattern->set_count && memcmp(pattern->sets[index], set, sizeof pattern->sets[index]) != 0)
        index++;
    if (index == HP_PATTERN_SETS)
        return hp_pattern_fail(compiler, "the expression has too many different sets", compiler->at - 1);
    if (index == pattern->set_count) {
        memcpy(pattern->sets[index], set, sizeof pattern->sets[index]);
        pattern->set_count++;
    }
    return hp_pattern_append_atom(compiler, HP_PATTERN_STEP_SET, index);
}

static bool hp_pattern_is_at_end(const struct hp_pattern_compiler *compiler) { return compiler->at == compiler->end; }

/* The next byte; 0 at the end, which no text contains. */
static unsigned char hp_pattern_peek(const struct hp_pattern_compiler *compiler)
{
    return hp_pattern_is_at_end(compiler) ? 0 : (unsigned char)compiler->text[compiler->at];
}

static bool hp_pattern_accept(struct hp_pattern_compiler *compiler, char byte)
{
    if (hp_pattern_is_at_end(compiler) || compiler->text[compiler->at] != byte)
        return false;
    compiler->at++;
    return true;
}

static unsigned char hp_pattern_take(struct hp_pattern_compiler *compiler) { return (unsigned char)compiler->text[compiler->at++]; }

/* What \ and `byte` mean as a single byte. Returns false when they mean nothing, or more than one byte. */
static bool hp_pattern_escaped_byte(unsigned char byte, unsigned char *ret_byte)
{
    switch (byte) {
    case 't':
        *ret_byte = '\t';
        return true;
    case 'n':
        *ret_byte = '\n';
        return true;
    case 'r':
        *ret_byte = '\r';
        return true;
    default:
        *ret_byte = byte;
        return !hp_pattern_is_letter(byte) && !hp_pattern_is_digit(byte);
    }
}

/* Reads what follows a backslash outside of a set. */
static bool hp_pattern_read_escape(struct hp_pattern_compiler *compiler)
{
    if (hp_pattern_is_at_end(compiler))
        return hp_pattern_fail(compiler, "'\\' has nothing to escape", compiler->at - 1);
    const unsigned char letter = hp_pattern_take(compiler);
    if (letter == 'b' || letter == 'B')
        return hp_pattern_append_assertion(compiler, letter == 'b' ? HP_PATTERN_STEP_AT_EDGE : HP_PATTERN_STEP_NOT_AT_EDGE);
    uint64_t set[4] = {0};
    if (hp_pattern_set_add_class(set, letter))
        return hp_pattern_append_set(compiler, set);
    unsigned char byte;
    if (!hp_pattern_escaped_byte(letter, &byte))
        return hp_pattern_fail(compiler, "'\\' before a letter or digit that has no such meaning", compiler->at - 2);
    return hp_pattern_append_byte(compiler, byte);
}

/* One member of a set: a byte, or a class, which cannot begin or end a range. */
struct hp_pattern_member {
    unsigned char byte;
    bool is_class;
};

/* Reads one member; a class is added to the set at once. */
static bool hp_pattern_read_member(struct hp_pattern_compiler *compiler, uint64_t set[4], struct hp_pattern_member *ret_member)
{
    const size_t start = compiler->at;
    ret_member->is_class = false;
    ret_member->byte = hp_pattern_take(compiler);
    if (ret_member->byte == '[' && hp_pattern_peek(compiler) == ':')
        return hp_pattern_fail(compiler, "sets such as [:alpha:] are not known, use \\d, \\w and \\s", start);
    if (ret_member->byte != '\\')
        return true;
    if (hp_pattern_is_at_end(compiler))
        return hp_pattern_fail(compiler, "'\\' has nothing to escape", start);
    const unsigned char letter = hp_pattern_take(compiler);
    ret_member->is_class = hp_pattern_set_add_class(set, letter);
    if (!ret_member->is_class && !hp_pattern_escaped_byte(letter, &ret_member->byte))
        return hp_pattern_fail(compiler, "'\\' before a letter or digit that has no such meaning", start);
    return true;
}

static bool hp_pattern_is_at_range(const struct hp_pattern_compiler *compiler)
{
    return compiler->end - compiler->at >= 2 && compiler->text[compiler->at] == '-' &&
           compiler->text[compiler->at + 1] != ']';
}

static bool hp_pattern_read_range_or_member(struct hp_pattern_compiler *compiler, uint64_t set[4])
{
    const size_t start = compiler->at;
    struct hp_pattern_member first;
    if (!hp_pattern_read_member(compiler, set, &first))
        return false;
    struct hp_pattern_member last = first;
    if (hp_pattern_is_at_range(compiler)) {
        compiler->at++;
        if (!hp_pattern_read_member(compiler, set, &last))
            return false;
        if (first.is_class || last.is_class)
            return hp_pattern_fail(compiler, "a range in [...] needs a single byte on both sides", start);
        if (first.byte > last.byte)
            return hp_pattern_fail(compiler, "a range in [...] runs backwards", start);
    }
    if (!first.is_class)
        hp_pattern_set_add_range(set, first.byte, last.byte);
    return true;
}

/* Reads a set whose '[' was taken. A ']' in first place is a member, as everywhere. */
static bool hp_pattern_read_set(struct hp_pattern_compiler *compiler)
{
    const size_t opened_at = compiler->at - 1;
    const bool is_opposite = hp_pattern_accept(compiler, '^');
    uint64_t set[4] = {0};
    bool is_first = true;
    while (is_first || !hp_pattern_accept(compiler, ']')) {
        if (hp_pattern_is_at_end(compiler))
            return hp_pattern_fail(compiler, "'[' is never closed", opened_at);
        if (!hp_pattern_read_range_or_member(compiler, set))
            return false;
        is_first = false;
    }
    if (compiler->pattern->ignores_case)
        hp_pattern_set_fold_case(set);
    for (size_t i = 0; is_opposite && i < 4; i++)
        set[i] = ~set[i];
    return hp_pattern_append_set(compiler, set);
}

static void hp_pattern_open_branch(struct hp_pattern_compiler *compiler, size_t opened_at)
{
    const size_t start = hp_pattern_step_count(compiler);
    compiler->groups[compiler->depth] = (struct hp_pattern_group){start, start, 0, opened_at};
    compiler->atom = HP_PATTERN_NO_ATOM;
}

/* Reads what follows a '('. */
static bool hp_pattern_open_group(struct hp_pattern_compiler *compiler)
{
    const size_t opened_at = compiler->at - 1;
    if (hp_pattern_accept(compiler, '?') && !hp_pattern_accept(compiler, ':'))
        return hp_pattern_fail(compiler, "'(?' must be followed by ':'", opened_at);
    if (compiler->depth == HP_PATTERN_DEPTH)
        return hp_pattern_fail(compiler, "too many groups within groups", opened_at);
    compiler->depth++;
    hp_pattern_open_branch(compiler, opened_at);
    return true;
}

/* Ends one alternative: SPLIT in front of it leads to the next, JUMP behind it to the end of the group. */
static bool hp_pattern_end_alternative(struct hp_pattern_compiler *compiler)
{
    struct hp_pattern_group *group = &compiler->groups[compiler->depth];
    const size_t length = hp_pattern_step_count(compiler) - group->branch;
    if (!hp_pattern_insert_step(compiler, group->branch, HP_PATTERN_STEP_SPLIT, 0, (ptrdiff_t)length + 2) ||
        !hp_pattern_append_step(compiler, HP_PATTERN_STEP_JUMP, 0, (ptrdiff_t)group->last_jump))
        return false;
    group->last_jump = hp_pattern_step_count(compiler) - 1;
    group->branch = hp_pattern_step_count(compiler);
    compiler->atom = HP_PATTERN_NO_ATOM;
    return true;
}

/* Lets the waiting jumps of the innermost group lead to its end. */
static void hp_pattern_land_jumps(struct hp_pattern_compiler *compiler)
{
    struct hp_pattern_step *steps = compiler->pattern->steps;
    size_t index = compiler->groups[compiler->depth].last_jump;
    while (index != 0) {
        const size_t before = (size_t)steps[index].jump;
        steps[index].jump = (int16_t)(hp_pattern_step_count(compiler) - index);
        index = before;
    }
}

static bool hp_pattern_close_group(struct hp_pattern_compiler *compiler)
{
    if (compiler->depth == 0)
        return hp_pattern_fail(compiler, "')' without '('", compiler->at - 1);
    hp_pattern_land_jumps(compiler);
    compiler->atom = compiler->groups[compiler->depth].start;
    compiler->depth--;
    return true;
}

/* Makes the latest atom match from `least` to `most` times. */
static bool hp_pattern_repeat(struct hp_pattern_compiler *compiler, uint32_t least, uint32_t most)
{
    const size_t start = compiler->atom;
    const size_t length = hp_pattern_step_count(compiler) - start;
    const ptrdiff_t distance = (ptrdiff_t)length;
    if (most == 0) {
        compiler->pattern->step_count = (uint16_t)start;
        return true;
    }
    for (uint32_t i = 1; i < least; i++)
        if (!hp_pattern_append_copy(compiler, start, length))
            return false;
    if (most == HP_PATTERN_UNBOUNDED)
        return least > 0 ? hp_pattern_append_step(compiler, HP_PATTERN_STEP_SPLIT, 0, -distance)
                         : hp_pattern_insert_step(compiler, start, HP_PATTERN_STEP_SPLIT, 0, distance + 2) &&
                               hp_pattern_append_step(compiler, HP_PATTERN_STEP_JUMP, 0, -(distance + 1));
    if (least == 0 && !hp_pattern_insert_step(compiler, start, HP_PATTERN_STEP_SPLIT, 0, distance + 1))
        return false;
    /* Copies that may be left out: each is the piece with a SPLIT around it. */
    const size_t piece = start + (least == 0);
    for (uint32_t i = least == 0 ? 1 : least; i < most; i++)
        if (!hp_pattern_append_step(compiler, HP_PATTERN_STEP_SPLIT, 0, distance + 1) || !hp_pattern_append_copy(compiler, piece, length))
            return false;
    return true;
}

/* Reads digits. Returns false when there are none or the number is above MAX_REPEAT. */
static bool hp_pattern_read_repeat_count(struct hp_pattern_compiler *compiler, uint32_t *ret_count)
{
    uint32_t count = 0;
    const size_t start = compiler->at;
    while (hp_pattern_is_digit(hp_pattern_peek(compiler)) && count <= HP_PATTERN_MAX_REPEAT)
        count = count * 10 + (uint32_t)(hp_pattern_take(compiler) - '0');
    *ret_count = count;
    return compiler->at > start && count <= HP_PATTERN_MAX_REPEAT;
}

/* Reads what follows a '{' that repeats. */
static bool hp_pattern_read_repeat_bounds(struct hp_pattern_compiler *compiler, uint32_t *ret_least, uint32_t *ret_most)
{
    const size_t opened_at = compiler->at - 1;
    bool is_good = hp_pattern_read_repeat_count(compiler, ret_least);
    *ret_most = *ret_least;
    if (is_good && hp_pattern_accept(compiler, ',')) {
        *ret_most = HP_PATTERN_UNBOUNDED;
        if (hp_pattern_peek(compiler) != '}')
            is_good = hp_pattern_read_repeat_count(compiler, ret_most);
    }
    if (!is_good || !hp_pattern_accept(compiler, '}'))
        return hp_pattern_fail(compiler, "'{' must be {m}, {m,} or {m,n} with numbers up to 255 (write \\{ for the byte)",
                    opened_at);
    if (*ret_least > *ret_most)
        return hp_pattern_fail(compiler, "a repetition {m,n} runs backwards", opened_at);
    return true;
}

/* Reads a repetition whose first byte was taken. */
static bool hp_pattern_read_repetition(struct hp_pattern_compiler *compiler, unsigned char sign)
{
    uint32_t least = sign == '+';
    uint32_t most = sign == '?' ? 1 : HP_PATTERN_UNBOUNDED;
    if (compiler->atom == HP_PATTERN_NO_ATOM)
        return hp_pattern_fail(compiler, "a repetition has nothing to repeat", compiler->at - 1);
    if (sign == '{' && !hp_pattern_read_repeat_bounds(compiler, &least, &most))
        return false;
    hp_pattern_accept(compiler, '?'); /* as few as possible: no difference to whether there is a match */
    if (!hp_pattern_repeat(compiler, least, most))
        return false;
    compiler->atom = HP_PATTERN_NO_ATOM;
    return true;
}

static bool hp_pattern_read_item(struct hp_pattern_compiler *compiler)
{
    const unsigned char byte = hp_pattern_take(compiler);
    switch (byte) {
    case '.':
        return hp_pattern_append_atom(compiler, HP_PATTERN_STEP_ANY, 0);
    case '[':
        return hp_pattern_read_set(compiler);
    case '(':
        return hp_pattern_open_group(compiler);
    case ')':
        return hp_pattern_close_group(compiler);
    case '|':
        return hp_pattern_end_alternative(compiler);
    case '^':
        return hp_pattern_append_assertion(compiler, HP_PATTERN_STEP_AT_START);
    case '$':
        return hp_pattern_append_assertion(compiler, HP_PATTERN_STEP_AT_END);
    case '\\':
        return hp_pattern_read_escape(compiler);
    case '*':
    case '+':
    case '?':
    case '{':
        return hp_pattern_read_repetition(compiler, byte);
    default:
        return hp_pattern_append_byte(compiler, byte);
    }
}

static bool hp_pattern_compile_regex(struct hp_pattern_compiler *compiler)
{
    hp_pattern_open_branch(compiler, 0);
    while (!hp_pattern_is_at_end(compiler))
        if (!hp_pattern_read_item(compiler))
            return false;
    if (compiler->depth > 0)
        return hp_pattern_fail(compiler, "'(' is never closed", compiler->groups[compiler->depth].opened_at);
    hp_pattern_land_jumps(compiler);
    return hp_pattern_append_step(compiler, HP_PATTERN_STEP_MATCH, 0, 0);
}

/* Where the closing slash of /.../ or /.../i is; 0 when the text is a plain one. */
static size_t hp_pattern_closing_slash(const char *text, size_t length)
{
    if (length < 2 || text[0] != '/')
        return 0;
    if (text[length - 1] == '/')
        return length - 1;
    return length > 2 && text[length - 2] == '/' && text[length - 1] == 'i' ? length - 2 : 0;
}

const char *hp_pattern_compile(struct hp_pattern *pattern, const char *text)
{
    const size_t length = strlen(text);
    memset(pattern, 0, sizeof *pattern);
    if (length >= sizeof pattern->text)
        return "the pattern is longer than 255 bytes";
    const size_t end = hp_pattern_closing_slash(text, length);
    if (end == 0) {
        memcpy(pattern->text, text, length);
        return NULL;
    }
    pattern->ignores_case = text[length - 1] == 'i';
    struct hp_pattern_compiler compiler = {.pattern = pattern, .text = text, .at = 1, .end = end};
    pattern->is_regex = hp_pattern_compile_regex(&compiler);
    return pattern->is_regex ? NULL : pattern->error;
}

_Static_assert(HP_PATTERN_BYTES == 256, "the message above names the limit");

/* ---------------------------------------------------------------------------------------------- matching */

#define HP_PATTERN_STEP_WORDS (HP_PATTERN_STEPS / 64)

/* A set of steps. */
struct hp_pattern_steps {
    uint64_t words[HP_PATTERN_STEP_WORDS];
};

/* A place in the subject, between two bytes; 0 stands for "no byte". */
struct hp_pattern_place {
    unsigned char before;
    unsigned char after;
    bool is_start;
};

/* Adds a step to a set and to the list of those not yet followed. The set keeps a step from being listed twice. */
static void hp_pattern_follow(struct hp_pattern_steps *set, uint16_t *list, size_t *count, size_t step)
{
    const uint64_t bit = UINT64_C(1) << step % 64;
    if (set->words[step / 64] & bit)
        return;
    set->words[step / 64] |= bit;
    list[(*count)++] = (uint16_t)step;
}

static bool hp_pattern_holds_at(enum hp_pattern_step_kind assertion, const struct hp_pattern_place *place)
{
    const bool is_edge = hp_pattern_is_word(place->before) != hp_pattern_is_word(place->after);
    switch (assertion) {
    case HP_PATTERN_STEP_AT_START:
        return place->is_start;
    case HP_PATTERN_STEP_AT_END:
        return place->after == 0;
    case HP_PATTERN_STEP_AT_EDGE:
        return is_edge;
    case HP_PATTERN_STEP_NOT_AT_EDGE:
        return !is_edge;
    default:
        return false;
    }
}

/*
 * Adds the first step and all steps that can be reached from those in the set without reading a byte. Returns true
 * when the end of the expression is among them.
 */
static bool hp_pattern_close_steps(const struct hp_pattern *pattern, struct hp_pattern_steps *set, const struct hp_pattern_steps *seeds,
                        const struct hp_pattern_place *place)
{
    uint16_t list[HP_PATTERN_STEPS];
    size_t count = 0;
    memset(set, 0, sizeof *set);
    hp_pattern_follow(set, list, &count, 0);
    for (size_t i = 0; i < HP_PATTERN_STEP_WORDS; i++)
        for (uint64_t rest = seeds->words[i]; rest; rest &= rest - 1)
            hp_pattern_follow(set, list, &count, i * 64 + (size_t)__builtin_ctzll(rest));
    while (count > 0) {
        const size_t index = list[--count];
        const struct hp_pattern_step *step = &pattern->steps[index];
        const size_t target = (size_t)((ptrdiff_t)index + step->jump);
        switch (step->kind) {
        case HP_PATTERN_STEP_MATCH:
            return true;
        case HP_PATTERN_STEP_JUMP:
            hp_pattern_follow(set, list, &count, target);
            break;
        case HP_PATTERN_STEP_SPLIT:
            hp_pattern_follow(set, list, &count, target);
            hp_pattern_follow(set, list, &count, index + 1);
            break;
        default:
            if (hp_pattern_holds_at((enum hp_pattern_step_kind)step->kind, place))
                hp_pattern_follow(set, list, &count, index + 1);
        }
    }
    return false;
}

static bool hp_pattern_reads_byte(const struct hp_pattern *pattern, const struct hp_pattern_step *step, unsigned char byte)
{
    switch (step->kind) {
    case HP_PATTERN_STEP_ANY:
        return true;
    case HP_PATTERN_STEP_BYTE:
        return step->argument == (pattern->ignores_case ? hp_pattern_to_lower(byte) : byte);
    case HP_PATTERN_STEP_SET:
        return hp_pattern_set_has(pattern->sets[step->argument], byte);
    default:
        return false;
    }
}

/* The steps that follow those of `set` that can read the byte. */
static void hp_pattern_advance(const struct hp_pattern *pattern, const struct hp_pattern_steps *set, unsigned char byte,
                    struct hp_pattern_steps *ret_next)
{
    memset(ret_next, 0, sizeof *ret_next);
    for (size_t i = 0; i < HP_PATTERN_STEP_WORDS; i++)
        for (uint64_t rest = set->words[i]; rest; rest &= rest - 1) {
            const size_t index = i * 64 + (size_t)__builtin_ctzll(rest);
            if (hp_pattern_reads_byte(pattern, &pattern->steps[index], byte))
                ret_next->words[(index + 1) / 64] |= UINT64_C(1) << (index + 1) % 64;
        }
}

static bool hp_pattern_regex_matches(const struct hp_pattern *pattern, const char *subject)
{
    struct hp_pattern_steps set;
    struct hp_pattern_steps seeds = {{0}};
    struct hp_pattern_place place = {0, (unsigned char)subject[0], true};
    for (;;) {
        if (hp_pattern_close_steps(pattern, &set, &seeds, &place))
            return true;
        if (place.after == 0)
            return false;
        hp_pattern_advance(pattern, &set, place.after, &seeds);
        subject++;
        place = (struct hp_pattern_place){place.after, (unsigned char)subject[0], false};
    }
}

bool hp_pattern_matches(const struct hp_pattern *pattern, const char *subject)
{
    return pattern->is_regex ? hp_pattern_regex_matches(pattern, subject) : strstr(subject, pattern->text) != NULL;
}

/* ---- src/base/pattern_list.h --------------------------------------------------------------------------------- */

/*
 * Lists of patterns that choose sites: what HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_FOCUS hold.
 *
 *     hp_pattern_list_compile(list, "parse*,/^lex_/,file:json.c,-parse_debug", false, &problem);
 *     if (hp_pattern_list_chooses(list, &(struct hp_pattern_subject){.names = {"parse_int"}, .files = {"src/json.c"}})) ...
 *
 * Items are separated by commas; blanks around them and empty items do not count.
 *
 *   text, /regex/, /regex/i   as in pattern.h; a comma within /.../ separates nothing
 *   a*b?                      a text with * or ? is a glob: the whole name has to match; * is any text, ? any byte
 *   file:GLOB                 the source file: its path, or any end of the path that begins behind a slash
 *   -ITEM                     what matches is left out
 *   \                         before , * ? - @ / or \ takes the meaning from it
 *
 * Chosen is what matches any item without a minus, or everything where there is none, but nothing that matches an item with
 * one. An item @PATH stands for the items in a file; whoever can read files has put them in its place before
 * (hp_pattern_list_put helps).
 *
 * A list holds no pointers and is large: it lives in memory of its own. It may be copied, kept across fork and read in
 * signal handlers and by several threads. Nothing allocates.
 */

#define HP_PATTERN_LIST_BYTES 8192 /* of text, with the final zero */
#define HP_PATTERN_LIST_ITEMS 1024
#define HP_PATTERN_LIST_REGEXES 32

/* All fields are private to pattern_list.c, here and below. */
struct hp_pattern_item {
    uint16_t text;  /* where its text begins in `text` */
    uint16_t regex; /* which of `regexes` */
    uint8_t kind;
    bool is_out;
};

struct hp_pattern_list {
    uint32_t count;
    uint32_t regex_count;
    uint32_t text_length;
    bool has_wanted; /* an item without a minus */
    struct hp_pattern_item items[HP_PATTERN_LIST_ITEMS];
    char text[HP_PATTERN_LIST_BYTES];
    struct hp_pattern regexes[HP_PATTERN_LIST_REGEXES];
};

/* What is known of a site. A field that is NULL or empty matches nothing. */
struct hp_pattern_subject {
    const char *names[2]; /* what it is called */
    const char *files[2]; /* where it is from: its source, its program or library */
};

/*
 * Reads a list; with `is_skip` every item counts as if it had a minus. Returns false when something is wrong with it, which
 * `problem`, if there is one, gets as a sentence without capital and stop. Such a list chooses everything.
 */
HP_PRIVATE bool hp_pattern_list_compile(struct hp_pattern_list *list, const char *text, bool is_skip, struct hp_text *problem);

HP_PRIVATE bool hp_pattern_list_chooses(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject);

/*
 * Cuts the next item off, without the blanks around it, as hp_text_next_item does:
 *
 *     for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;)
 */
HP_PRIVATE const char *hp_pattern_list_next(const char **rest, size_t *ret_length);

/* Looks at one item, which need not be cut off a list and may have commas. `scratch` is for its expression. */
HP_PRIVATE bool hp_pattern_item_check(const char *item, size_t length, struct hp_pattern *scratch, struct hp_text *problem);

/* Adds such an item, which has passed the check, to the text of a list. */
HP_PRIVATE void hp_pattern_list_put(struct hp_text *list, const char *line, size_t length, bool is_out);

/* ---- src/base/pattern_list.c --------------------------------------------------------------------------------- */

/*
 * Lists of patterns. Reading is done in two steps: the text is cut into items, and each item is turned into what it looks
 * for. The first step is also there for those who want to see the items of a list.
 *
 * The one difficulty is that a comma within /.../ separates nothing, while an item may begin with a slash and be a plain text
 * all the same. An item is an expression if there is a slash (or /i) behind which a comma or the end follows; the first such
 * slash ends it.
 */

enum hp_pattern_list_item_kind { HP_PATTERN_LIST_ITEM_TEXT, HP_PATTERN_LIST_ITEM_GLOB, HP_PATTERN_LIST_ITEM_FILE, HP_PATTERN_LIST_ITEM_REGEX };

static const char hp_pattern_list_file_mark[] = "file:";
#define HP_PATTERN_LIST_FILE_MARK_LENGTH (sizeof hp_pattern_list_file_mark - 1)

/* ---------------------------------------------------------------------------------------------- cutting */

static bool hp_pattern_list_is_blank(char c) { return c == ' ' || c == '\t'; }

static bool hp_pattern_list_can_be_escaped(char c) { return c != '\0' && strchr(",*?-@/\\", c) != NULL; }

static bool hp_pattern_list_is_escape(const char *at) { return at[0] == '\\' && hp_pattern_list_can_be_escaped(at[1]); }

static const char *hp_pattern_list_skip_blanks(const char *at)
{
    while (hp_pattern_list_is_blank(*at))
        at++;
    return at;
}

static bool hp_pattern_list_is_end(const char *at)
{
    at = hp_pattern_list_skip_blanks(at);
    return *at == '\0' || *at == ',';
}

/* Behind the closing slash of the expression at `at`, and its i; NULL where none begins. */
static const char *hp_pattern_list_end_of_regex(const char *at)
{
    if (*at != '/')
        return NULL;
    for (at++; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '/' && hp_pattern_list_is_end(at + 1))
            return at + 1;
        else if (*at == '/' && at[1] == 'i' && hp_pattern_list_is_end(at + 2))
            return at + 2;
    }
    return NULL;
}

static const char *hp_pattern_list_end_of_item(const char *at)
{
    const char *end = hp_pattern_list_end_of_regex(at + (*at == '-'));
    if (end != NULL)
        return end;
    while (*at != '\0' && *at != ',')
        at += hp_pattern_list_is_escape(at) ? 2 : 1;
    return at;
}

const char *hp_pattern_list_next(const char **rest, size_t *ret_length)
{
    const char *at = *rest;
    while (*at == ',' || hp_pattern_list_is_blank(*at))
        at++;
    const char *end = hp_pattern_list_end_of_item(at);
    *rest = end;
    while (end > at && hp_pattern_list_is_blank(end[-1]))
        end--;
    *ret_length = (size_t)(end - at);
    return end > at ? at : NULL;
}

/* ---------------------------------------------------------------------------------------------- reading */

/* An item as it stands in a list, without its minus. */
struct hp_pattern_list_raw_item {
    const char *bytes;
    size_t length;
    bool is_out;
    enum hp_pattern_list_item_kind kind;
};

static bool hp_pattern_list_complain(struct hp_text *problem, const char *what)
{
    hp_text_string(problem, what);
    return false;
}

static bool hp_pattern_list_has_wildcard(const char *bytes, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (hp_pattern_list_is_escape(bytes + at))
            at++;
        else if (bytes[at] == '*' || bytes[at] == '?')
            return true;
    }
    return false;
}

static bool hp_pattern_list_is_whole_regex(const char *bytes, size_t length)
{
    return length >= 2 && bytes[0] == '/' &&
           (bytes[length - 1] == '/' || (length > 2 && bytes[length - 1] == 'i' && bytes[length - 2] == '/'));
}

static struct hp_pattern_list_raw_item hp_pattern_list_look_at(const char *bytes, size_t length)
{
    struct hp_pattern_list_raw_item item = {bytes, length, length > 0 && bytes[0] == '-', HP_PATTERN_LIST_ITEM_TEXT};
    if (item.is_out) {
        item.bytes++;
        item.length--;
    }
    if (item.length >= HP_PATTERN_LIST_FILE_MARK_LENGTH && memcmp(item.bytes, hp_pattern_list_file_mark, HP_PATTERN_LIST_FILE_MARK_LENGTH) == 0) {
        item.kind = HP_PATTERN_LIST_ITEM_FILE;
        item.bytes += HP_PATTERN_LIST_FILE_MARK_LENGTH;
        item.length -= HP_PATTERN_LIST_FILE_MARK_LENGTH;
    } else if (hp_pattern_list_is_whole_regex(item.bytes, item.length)) {
        item.kind = HP_PATTERN_LIST_ITEM_REGEX;
    } else if (hp_pattern_list_has_wildcard(item.bytes, item.length)) {
        item.kind = HP_PATTERN_LIST_ITEM_GLOB;
    }
    return item;
}

/* What the item looks for: of texts without the escapes, of others as it is. False: too long. */
static bool hp_pattern_list_copy_text(const struct hp_pattern_list_raw_item *item, char text[HP_PATTERN_BYTES])
{
    size_t length = 0;
    for (size_t at = 0; at < item->length; at++) {
        if (item->kind == HP_PATTERN_LIST_ITEM_TEXT && at + 1 < item->length && hp_pattern_list_is_escape(item->bytes + at))
            at++;
        if (length + 1 == HP_PATTERN_BYTES)
            return false;
        text[length++] = item->bytes[at];
    }
    text[length] = '\0';
    return true;
}

static bool hp_pattern_list_read_item(const struct hp_pattern_list_raw_item *item, char text[HP_PATTERN_BYTES], struct hp_pattern *regex,
                      struct hp_text *problem)
{
    if (item->length == 0)
        return hp_pattern_list_complain(problem, item->kind == HP_PATTERN_LIST_ITEM_FILE ? "'file:' has no name behind it"
                                                         : "'-' has nothing behind it to leave out");
    if (!hp_pattern_list_copy_text(item, text))
        return hp_pattern_list_complain(problem, "the pattern is longer than 255 bytes");
    const char *error = item->kind == HP_PATTERN_LIST_ITEM_REGEX ? hp_pattern_compile(regex, text) : NULL;
    return error == NULL || hp_pattern_list_complain(problem, error);
}

_Static_assert(HP_PATTERN_BYTES == 256, "the message above names the limit");

bool hp_pattern_item_check(const char *item, size_t length, struct hp_pattern *scratch, struct hp_text *problem)
{
    char text[HP_PATTERN_BYTES];
    const struct hp_pattern_list_raw_item raw = hp_pattern_list_look_at(item, length);
    if (!hp_pattern_list_read_item(&raw, text, scratch, problem))
        return false;
    return raw.kind != HP_PATTERN_LIST_ITEM_REGEX || hp_pattern_list_end_of_regex(text) == text + raw.length ||
           hp_pattern_list_complain(problem, "a / before a comma ends the expression: write \\/");
}

static bool hp_pattern_list_add_item(struct hp_pattern_list *list, const struct hp_pattern_list_raw_item *raw, bool is_skip,
                     struct hp_text *problem)
{
    char text[HP_PATTERN_BYTES];
    if (list->count == HP_PATTERN_LIST_ITEMS)
        return hp_pattern_list_complain(problem, "there are more than 1024 items");
    if (raw->kind == HP_PATTERN_LIST_ITEM_REGEX && list->regex_count == HP_PATTERN_LIST_REGEXES)
        return hp_pattern_list_complain(problem, "there are more than 32 expressions: join some with |");
    struct hp_pattern_item *item = &list->items[list->count];
    *item = (struct hp_pattern_item){.text = (uint16_t)list->text_length,
                                     .regex = (uint16_t)list->regex_count,
                                     .kind = (uint8_t)raw->kind,
                                     .is_out = raw->is_out || is_skip};
    if (!hp_pattern_list_read_item(raw, text, &list->regexes[item->regex % HP_PATTERN_LIST_REGEXES], problem))
        return false;
    const size_t size = strlen(text) + 1;
    if (raw->kind != HP_PATTERN_LIST_ITEM_REGEX) {
        if (list->text_length + size > sizeof list->text)
            return hp_pattern_list_complain(problem, "the list is longer than 8191 bytes");
        memcpy(list->text + list->text_length, text, size);
        list->text_length += (uint32_t)size;
    }
    list->regex_count += raw->kind == HP_PATTERN_LIST_ITEM_REGEX;
    list->has_wanted |= !item->is_out;
    list->count++;
    return true;
}

_Static_assert(HP_PATTERN_LIST_ITEMS == 1024 && HP_PATTERN_LIST_REGEXES == 32 && HP_PATTERN_LIST_BYTES == 8192,
               "the messages above name the limits");

static void hp_pattern_list_begin_list(struct hp_pattern_list *list)
{
    list->count = list->regex_count = list->text_length = 0;
    list->has_wanted = false;
}

/* "item 3: '-' has nothing behind it to leave out" */
static void hp_pattern_list_put_problem(struct hp_text *problem, size_t number, const char *what)
{
    hp_text_string(problem, "item ");
    hp_text_u64(problem, number);
    hp_text_string(problem, ": ");
    hp_text_string(problem, what);
}

bool hp_pattern_list_compile(struct hp_pattern_list *list, const char *text, bool is_skip, struct hp_text *problem)
{
    char what_bytes[128];
    struct hp_text what;
    size_t length, number = 0;
    hp_pattern_list_begin_list(list);
    hp_text_init(&what, what_bytes, sizeof what_bytes);
    for (const char *rest = text, *bytes; (bytes = hp_pattern_list_next(&rest, &length)) != NULL;) {
        const struct hp_pattern_list_raw_item item = hp_pattern_list_look_at(bytes, length);
        number++;
        if (hp_pattern_list_add_item(list, &item, is_skip, &what))
            continue;
        if (problem != NULL)
            hp_pattern_list_put_problem(problem, number, hp_text_end(&what));
        hp_pattern_list_begin_list(list);
        return false;
    }
    return true;
}

void hp_pattern_list_put(struct hp_text *list, const char *line, size_t length, bool is_out)
{
    const struct hp_pattern_list_raw_item item = hp_pattern_list_look_at(line, length);
    if (list->length > 0)
        hp_text_char(list, ',');
    if (is_out || item.is_out)
        hp_text_char(list, '-');
    if (item.kind == HP_PATTERN_LIST_ITEM_REGEX) {
        hp_text_bytes(list, item.bytes, item.length);
        return;
    }
    if (item.kind == HP_PATTERN_LIST_ITEM_FILE)
        hp_text_string(list, hp_pattern_list_file_mark);
    else if (item.length > 0 && item.bytes[0] == '/') /* or it could be taken for the beginning of an expression */
        hp_text_char(list, '\\');
    for (size_t at = 0; at < item.length; at++) {
        if (at + 1 < item.length && hp_pattern_list_is_escape(item.bytes + at))
            hp_text_char(list, item.bytes[at++]);
        else if (item.bytes[at] == ',')
            hp_text_char(list, '\\');
        hp_text_char(list, item.bytes[at]);
    }
}

/* --------------------------------------------------------------------------------------------- matching */

/* Whether the whole subject matches. After a mismatch only the latest * can give way, so this takes length times length. */
static bool hp_pattern_list_glob_matches(const char *glob, const char *subject)
{
    const char *star = NULL, *retry = subject;
    while (*subject != '\0' || *glob == '*') {
        if (*glob == '*') {
            star = ++glob;
            retry = subject;
            continue;
        }
        const char *literal = glob + hp_pattern_list_is_escape(glob);
        if (*literal != '\0' && ((*glob == '?' && literal == glob) || *literal == *subject)) {
            glob = literal + 1;
            subject++;
        } else if (star != NULL && *retry != '\0') {
            glob = star;
            subject = ++retry;
        } else {
            return false;
        }
    }
    return *glob == '\0';
}

static bool hp_pattern_list_path_matches(const char *glob, const char *path)
{
    for (;;) {
        if (hp_pattern_list_glob_matches(glob, path))
            return true;
        path = strchr(path, '/');
        if (path == NULL)
            return false;
        path++;
    }
}

static bool hp_pattern_list_item_matches(const struct hp_pattern_list *list, const struct hp_pattern_item *item,
                         const char *subject)
{
    const char *text = list->text + item->text;
    switch ((enum hp_pattern_list_item_kind)item->kind) {
    case HP_PATTERN_LIST_ITEM_TEXT:
        return strstr(subject, text) != NULL;
    case HP_PATTERN_LIST_ITEM_GLOB:
        return hp_pattern_list_glob_matches(text, subject);
    case HP_PATTERN_LIST_ITEM_FILE:
        return hp_pattern_list_path_matches(text, subject);
    default:
        return hp_pattern_matches(&list->regexes[item->regex], subject);
    }
}

static bool hp_pattern_list_any_matches(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject, bool is_out)
{
    for (uint32_t at = 0; at < list->count; at++) {
        const struct hp_pattern_item *item = &list->items[at];
        const char *const *words = item->kind == HP_PATTERN_LIST_ITEM_FILE ? subject->files : subject->names;
        if (item->is_out != is_out)
            continue;
        for (size_t word = 0; word < 2; word++)
            if (words[word] != NULL && words[word][0] != '\0' && hp_pattern_list_item_matches(list, item, words[word]))
                return true;
    }
    return false;
}

bool hp_pattern_list_chooses(const struct hp_pattern_list *list, const struct hp_pattern_subject *subject)
{
    return (!list->has_wanted || hp_pattern_list_any_matches(list, subject, false)) && !hp_pattern_list_any_matches(list, subject, true);
}

/* ---- src/base/sort.h ----------------------------------------------------------------------------------------- */

/*
 * Sorting pointers in place, without memory of its own (qsort may allocate) and in n log n steps for any input,
 * since the input may be hostile. Not stable: let `compare` break ties.
 */

/* Below, at or above zero: `a` comes before, with or after `b`. */
typedef int hp_sort_compare(const void *a, const void *b);

/* `items` is an array of pointers to whatever `compare` expects. */
HP_PRIVATE void hp_sort(void *items, size_t count, hp_sort_compare *compare);

/* ---- src/base/sort.c ----------------------------------------------------------------------------------------- */

/* Heapsort. */

/* Pointers of any type are moved as bytes, so that arrays need not be of `void *`. */
static void *hp_sort_get(const char *items, size_t index)
{
    void *item;
    memcpy(&item, items + index * sizeof item, sizeof item);
    return item;
}

static void hp_sort_put(char *items, size_t index, void *item) { memcpy(items + index * sizeof item, &item, sizeof item); }

static void hp_sort_sift_down(char *items, size_t root, size_t count, hp_sort_compare *compare)
{
    void *const item = hp_sort_get(items, root);
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && compare(hp_sort_get(items, child), hp_sort_get(items, child + 1)) < 0)
            child++;
        if (compare(item, hp_sort_get(items, child)) >= 0)
            break;
        hp_sort_put(items, root, hp_sort_get(items, child));
        root = child;
    }
    hp_sort_put(items, root, item);
}

void hp_sort(void *items, size_t count, hp_sort_compare *compare)
{
    for (size_t root = count / 2; root-- > 0;)
        hp_sort_sift_down(items, root, count, compare);
    for (size_t end = count; end-- > 1;) {
        void *const largest = hp_sort_get(items, 0);
        hp_sort_put(items, 0, hp_sort_get(items, end));
        hp_sort_put(items, end, largest);
        hp_sort_sift_down(items, 0, end, compare);
    }
}

/* ---- src/base/text.c ----------------------------------------------------------------------------------------- */

/* Text into memory of the caller. */

void hp_text_init(struct hp_text *text, char *bytes, size_t capacity)
{
    *text = (struct hp_text){.bytes = bytes, .capacity = capacity};
}

void hp_text_init_stream(struct hp_text *text, char *bytes, size_t capacity, hp_text_flush *flush, void *context)
{
    *text = (struct hp_text){.bytes = bytes, .capacity = capacity, .flush = flush, .context = context};
}

static bool hp_text_drain(struct hp_text *text)
{
    if (text->flush == NULL || text->is_cut || !text->flush(text->context, text->bytes, text->length))
        text->is_cut = true;
    text->length = text->flush == NULL ? text->length : 0;
    return !text->is_cut;
}

void hp_text_bytes(struct hp_text *text, const char *bytes, size_t length)
{
    while (length > 0) {
        const size_t room = text->capacity - text->length;
        const size_t part = length < room ? length : room;
        if (part > 0)
            memcpy(text->bytes + text->length, bytes, part);
        text->length += part;
        bytes += part;
        length -= part;
        if (length > 0 && !hp_text_drain(text))
            return;
    }
}

void hp_text_char(struct hp_text *text, char c) { hp_text_bytes(text, &c, 1); }

void hp_text_string(struct hp_text *text, const char *string) { hp_text_bytes(text, string, strlen(string)); }

void hp_text_repeat(struct hp_text *text, char c, size_t count)
{
    char run[64];
    memset(run, c, sizeof run);
    for (; count > sizeof run && !text->is_cut; count -= sizeof run)
        hp_text_bytes(text, run, sizeof run);
    hp_text_bytes(text, run, count < sizeof run ? count : sizeof run);
}

void hp_text_padded(struct hp_text *text, uint64_t number, unsigned width)
{
    char digits[32];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (sizeof digits - at < width && at > 0)
        digits[--at] = '0';
    hp_text_bytes(text, digits + at, sizeof digits - at);
}

void hp_text_u64(struct hp_text *text, uint64_t number) { hp_text_padded(text, number, 1); }

void hp_text_i64(struct hp_text *text, int64_t number)
{
    if (number < 0)
        hp_text_char(text, '-');
    hp_text_u64(text, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void hp_text_hex(struct hp_text *text, uint32_t number, unsigned width)
{
    for (unsigned digit = width; digit-- > 0;)
        hp_text_char(text, "0123456789abcdef"[number >> (4 * digit) & 15]);
}

void hp_text_fixed(struct hp_text *text, double number, unsigned decimals)
{
    uint64_t scale = 1;
    for (unsigned digit = 0; digit < decimals && digit < 9; digit++)
        scale *= 10;
    const double scaled = number > 0 ? number * (double)scale + 0.5 : 0;
    /* Beyond 2^63 a double has no decimals anyway. */
    if (scaled >= 0x1p63) {
        hp_text_u64(text, number < 0x1p63 ? (uint64_t)number : UINT64_C(1) << 63);
        return;
    }
    const uint64_t units = (uint64_t)scaled;
    hp_text_u64(text, units / scale);
    if (scale > 1) {
        hp_text_char(text, '.');
        hp_text_padded(text, units % scale, decimals < 9 ? decimals : 9);
    }
}

bool hp_text_finish(struct hp_text *text) { return text->length == 0 ? !text->is_cut : hp_text_drain(text); }

const char *hp_text_end(struct hp_text *text)
{
    if (text->capacity == 0)
        return "";
    if (text->length == text->capacity) {
        text->length--;
        text->is_cut = true;
    }
    text->bytes[text->length] = '\0';
    return text->bytes;
}

static char hp_text_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool hp_text_equal_nocase(const char *a, size_t a_length, const char *b)
{
    size_t at = 0;
    while (at < a_length && b[at] != '\0' && hp_text_lower(a[at]) == hp_text_lower(b[at]))
        at++;
    return at == a_length && b[at] == '\0';
}

static bool hp_text_is_blank(char c) { return c == ' ' || c == '\t'; }

const char *hp_text_next_item(const char **rest, size_t *ret_length)
{
    const char *at = *rest;
    while (*at == ',' || hp_text_is_blank(*at))
        at++;
    const char *end = at;
    while (*end != '\0' && *end != ',')
        end++;
    *rest = end;
    size_t length = (size_t)(end - at);
    while (length > 0 && hp_text_is_blank(at[length - 1]))
        length--;
    *ret_length = length;
    return length > 0 ? at : NULL;
}

bool hp_text_has_suffix(const char *text, const char *suffix)
{
    const size_t length = strlen(text), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

/* ---- src/base/units.h ---------------------------------------------------------------------------------------- */

/*
 * Numbers with units, as people read them: 1.23 µs, 1.0 KB, 75.42%, 2.10 GHz.
 */

HP_PRIVATE void hp_units_ns(struct hp_text *text, double ns);               /* two decimals: "1.23 µs" */
HP_PRIVATE void hp_units_bytes(struct hp_text *text, uint64_t bytes);       /* one decimal, powers of 1024: "1.0 KB", "12 B" */
HP_PRIVATE void hp_units_signed_bytes(struct hp_text *text, int64_t bytes); /* the same, perhaps with a minus */
HP_PRIVATE void hp_units_percent(struct hp_text *text, double percent);     /* "75.42%" */
HP_PRIVATE void hp_units_hz(struct hp_text *text, double hz);               /* "2.10 GHz" */

/* A moment as RFC 3339 in UTC with milliseconds: "2026-10-02T08:15:30.123Z". */
HP_PRIVATE void hp_units_moment(struct hp_text *text, uint64_t unix_ns);

/* To the nearest whole number; what is below 0 or no number is 0, what is too large is UINT64_MAX. */
HP_PRIVATE uint64_t hp_units_round(double number);

/* ---- src/base/units.c ---------------------------------------------------------------------------------------- */

/* Numbers with units. */

struct hp_units_scale {
    double factor; /* of the next unit */
    const char *name;
};

/*
 * Moves up while the number would show as 1000 or more: the choice is made on what rounding will print, so that
 * 999.996 ns is "1.00 µs" and never "1000.00 ns".
 */
static void hp_units_put_scaled(struct hp_text *text, double number, const struct hp_units_scale *scales, unsigned count)
{
    unsigned at = 0;
    while (at + 1 < count && number >= 999.995) {
        number /= scales[at].factor;
        at++;
    }
    hp_text_fixed(text, number, 2);
    hp_text_char(text, ' ');
    hp_text_string(text, scales[at].name);
}

void hp_units_ns(struct hp_text *text, double ns)
{
    static const struct hp_units_scale scales[] = {{1e3, "ns"}, {1e3, "µs"}, {1e3, "ms"}, {1e3, "s"}};
    hp_units_put_scaled(text, ns, scales, 4);
}

void hp_units_hz(struct hp_text *text, double hz)
{
    static const struct hp_units_scale scales[] = {{1e3, "Hz"}, {1e3, "kHz"}, {1e3, "MHz"}, {1e3, "GHz"}};
    hp_units_put_scaled(text, hz, scales, 4);
}

void hp_units_bytes(struct hp_text *text, uint64_t bytes)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double number = (double)bytes;
    unsigned at = 0;
    if (bytes < 1024) {
        hp_text_u64(text, bytes);
    } else {
        for (; at + 1 < sizeof names / sizeof names[0] && number >= 1023.95; at++)
            number /= 1024;
        hp_text_fixed(text, number, 1);
    }
    hp_text_char(text, ' ');
    hp_text_string(text, names[at]);
}

void hp_units_signed_bytes(struct hp_text *text, int64_t bytes)
{
    if (bytes < 0)
        hp_text_char(text, '-');
    hp_units_bytes(text, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
}

void hp_units_percent(struct hp_text *text, double percent)
{
    hp_text_fixed(text, percent, 2);
    hp_text_char(text, '%');
}

/* Days since 1970 to a date: years begin in March here, so that the leap day is the last of its year. */
static void hp_units_put_date(struct hp_text *text, uint64_t days)
{
    days += 719468;
    const uint64_t era = days / 146097, day_of_era = days % 146097;
    const uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    const uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    hp_text_padded(text, era * 400 + year_of_era + (month <= 2), 4);
    hp_text_char(text, '-');
    hp_text_padded(text, month, 2);
    hp_text_char(text, '-');
    hp_text_padded(text, day_of_year - (153 * month_from_march + 2) / 5 + 1, 2);
}

void hp_units_moment(struct hp_text *text, uint64_t unix_ns)
{
    const uint64_t ms = unix_ns / 1000000, seconds = ms / 1000;
    hp_units_put_date(text, seconds / 86400);
    hp_text_char(text, 'T');
    hp_text_padded(text, seconds / 3600 % 24, 2);
    hp_text_char(text, ':');
    hp_text_padded(text, seconds / 60 % 60, 2);
    hp_text_char(text, ':');
    hp_text_padded(text, seconds % 60, 2);
    hp_text_char(text, '.');
    hp_text_padded(text, ms % 1000, 3);
    hp_text_char(text, 'Z');
}

uint64_t hp_units_round(double number)
{
    if (!(number > 0))
        return 0;
    return number >= 0x1p64 - 2048 ? UINT64_MAX : (uint64_t)(number + 0.5);
}

/* ---- src/base/utf8.c ----------------------------------------------------------------------------------------- */

/*
 * UTF-8. The two tables come from the Unicode character database, version 14: `zero_width` is the general
 * categories Mn, Me and Cf (without the soft hyphen and the visible signs among them) and the Hangul vowels and
 * finals, `double_width` is East_Asian_Width W and F. Unassigned gaps within a run are taken with it.
 */

struct hp_utf8_range {
    uint32_t first;
    uint32_t last;
};

static const struct hp_utf8_range hp_utf8_zero_width[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489},   {0x0591, 0x05bd},   {0x05bf, 0x05bf},   {0x05c1, 0x05c2},
    {0x05c4, 0x05c5},   {0x05c7, 0x05c7},   {0x0610, 0x061a},   {0x061c, 0x061c},   {0x064b, 0x065f},
    {0x0670, 0x0670},   {0x06d6, 0x06dc},   {0x06df, 0x06e4},   {0x06e7, 0x06e8},   {0x06ea, 0x06ed},
    {0x0711, 0x0711},   {0x0730, 0x074a},   {0x07a6, 0x07b0},   {0x07eb, 0x07f3},   {0x07fd, 0x07fd},
    {0x0816, 0x0819},   {0x081b, 0x0823},   {0x0825, 0x0827},   {0x0829, 0x082d},   {0x0859, 0x085b},
    {0x0898, 0x089f},   {0x08ca, 0x08e1},   {0x08e3, 0x0902},   {0x093a, 0x093a},   {0x093c, 0x093c},
    {0x0941, 0x0948},   {0x094d, 0x094d},   {0x0951, 0x0957},   {0x0962, 0x0963},   {0x0981, 0x0981},
    {0x09bc, 0x09bc},   {0x09c1, 0x09c4},   {0x09cd, 0x09cd},   {0x09e2, 0x09e3},   {0x09fe, 0x0a02},
    {0x0a3c, 0x0a3c},   {0x0a41, 0x0a51},   {0x0a70, 0x0a71},   {0x0a75, 0x0a75},   {0x0a81, 0x0a82},
    {0x0abc, 0x0abc},   {0x0ac1, 0x0ac8},   {0x0acd, 0x0acd},   {0x0ae2, 0x0ae3},   {0x0afa, 0x0b01},
    {0x0b3c, 0x0b3c},   {0x0b3f, 0x0b3f},   {0x0b41, 0x0b44},   {0x0b4d, 0x0b56},   {0x0b62, 0x0b63},
    {0x0b82, 0x0b82},   {0x0bc0, 0x0bc0},   {0x0bcd, 0x0bcd},   {0x0c00, 0x0c00},   {0x0c04, 0x0c04},
    {0x0c3c, 0x0c3c},   {0x0c3e, 0x0c40},   {0x0c46, 0x0c56},   {0x0c62, 0x0c63},   {0x0c81, 0x0c81},
    {0x0cbc, 0x0cbc},   {0x0cbf, 0x0cbf},   {0x0cc6, 0x0cc6},   {0x0ccc, 0x0ccd},   {0x0ce2, 0x0ce3},
    {0x0d00, 0x0d01},   {0x0d3b, 0x0d3c},   {0x0d41, 0x0d44},   {0x0d4d, 0x0d4d},   {0x0d62, 0x0d63},
    {0x0d81, 0x0d81},   {0x0dca, 0x0dca},   {0x0dd2, 0x0dd6},   {0x0e31, 0x0e31},   {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e},   {0x0eb1, 0x0eb1},   {0x0eb4, 0x0ebc},   {0x0ec8, 0x0ecd},   {0x0f18, 0x0f19},
    {0x0f35, 0x0f35},   {0x0f37, 0x0f37},   {0x0f39, 0x0f39},   {0x0f71, 0x0f7e},   {0x0f80, 0x0f84},
    {0x0f86, 0x0f87},   {0x0f8d, 0x0fbc},   {0x0fc6, 0x0fc6},   {0x102d, 0x1030},   {0x1032, 0x1037},
    {0x1039, 0x103a},   {0x103d, 0x103e},   {0x1058, 0x1059},   {0x105e, 0x1060},   {0x1071, 0x1074},
    {0x1082, 0x1082},   {0x1085, 0x1086},   {0x108d, 0x108d},   {0x109d, 0x109d},   {0x1160, 0x11ff},
    {0x135d, 0x135f},   {0x1712, 0x1714},   {0x1732, 0x1733},   {0x1752, 0x1753},   {0x1772, 0x1773},
    {0x17b4, 0x17b5},   {0x17b7, 0x17bd},   {0x17c6, 0x17c6},   {0x17c9, 0x17d3},   {0x17dd, 0x17dd},
    {0x180b, 0x180f},   {0x1885, 0x1886},   {0x18a9, 0x18a9},   {0x1920, 0x1922},   {0x1927, 0x1928},
    {0x1932, 0x1932},   {0x1939, 0x193b},   {0x1a17, 0x1a18},   {0x1a1b, 0x1a1b},   {0x1a56, 0x1a56},
    {0x1a58, 0x1a60},   {0x1a62, 0x1a62},   {0x1a65, 0x1a6c},   {0x1a73, 0x1a7f},   {0x1ab0, 0x1b03},
    {0x1b34, 0x1b34},   {0x1b36, 0x1b3a},   {0x1b3c, 0x1b3c},   {0x1b42, 0x1b42},   {0x1b6b, 0x1b73},
    {0x1b80, 0x1b81},   {0x1ba2, 0x1ba5},   {0x1ba8, 0x1ba9},   {0x1bab, 0x1bad},   {0x1be6, 0x1be6},
    {0x1be8, 0x1be9},   {0x1bed, 0x1bed},   {0x1bef, 0x1bf1},   {0x1c2c, 0x1c33},   {0x1c36, 0x1c37},
    {0x1cd0, 0x1cd2},   {0x1cd4, 0x1ce0},   {0x1ce2, 0x1ce8},   {0x1ced, 0x1ced},   {0x1cf4, 0x1cf4},
    {0x1cf8, 0x1cf9},   {0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x20d0, 0x20f0},   {0x2cef, 0x2cf1},   {0x2d7f, 0x2d7f},   {0x2de0, 0x2dff},   {0x302a, 0x302d},
    {0x3099, 0x309a},   {0xa66f, 0xa672},   {0xa674, 0xa67d},   {0xa69e, 0xa69f},   {0xa6f0, 0xa6f1},
    {0xa802, 0xa802},   {0xa806, 0xa806},   {0xa80b, 0xa80b},   {0xa825, 0xa826},   {0xa82c, 0xa82c},
    {0xa8c4, 0xa8c5},   {0xa8e0, 0xa8f1},   {0xa8ff, 0xa8ff},   {0xa926, 0xa92d},   {0xa947, 0xa951},
    {0xa980, 0xa982},   {0xa9b3, 0xa9b3},   {0xa9b6, 0xa9b9},   {0xa9bc, 0xa9bd},   {0xa9e5, 0xa9e5},
    {0xaa29, 0xaa2e},   {0xaa31, 0xaa32},   {0xaa35, 0xaa36},   {0xaa43, 0xaa43},   {0xaa4c, 0xaa4c},
    {0xaa7c, 0xaa7c},   {0xaab0, 0xaab0},   {0xaab2, 0xaab4},   {0xaab7, 0xaab8},   {0xaabe, 0xaabf},
    {0xaac1, 0xaac1},   {0xaaec, 0xaaed},   {0xaaf6, 0xaaf6},   {0xabe5, 0xabe5},   {0xabe8, 0xabe8},
    {0xabed, 0xabed},   {0xfb1e, 0xfb1e},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},   {0x101fd, 0x101fd}, {0x102e0, 0x102e0}, {0x10376, 0x1037a}, {0x10a01, 0x10a0f},
    {0x10a38, 0x10a3f}, {0x10ae5, 0x10ae6}, {0x10d24, 0x10d27}, {0x10eab, 0x10eac}, {0x10f46, 0x10f50},
    {0x10f82, 0x10f85}, {0x11001, 0x11001}, {0x11038, 0x11046}, {0x11070, 0x11070}, {0x11073, 0x11074},
    {0x1107f, 0x11081}, {0x110b3, 0x110b6}, {0x110b9, 0x110ba}, {0x110c2, 0x110c2}, {0x11100, 0x11102},
    {0x11127, 0x1112b}, {0x1112d, 0x11134}, {0x11173, 0x11173}, {0x11180, 0x11181}, {0x111b6, 0x111be},
    {0x111c9, 0x111cc}, {0x111cf, 0x111cf}, {0x1122f, 0x11231}, {0x11234, 0x11234}, {0x11236, 0x11237},
    {0x1123e, 0x1123e}, {0x112df, 0x112df}, {0x112e3, 0x112ea}, {0x11300, 0x11301}, {0x1133b, 0x1133c},
    {0x11340, 0x11340}, {0x11366, 0x11374}, {0x11438, 0x1143f}, {0x11442, 0x11444}, {0x11446, 0x11446},
    {0x1145e, 0x1145e}, {0x114b3, 0x114b8}, {0x114ba, 0x114ba}, {0x114bf, 0x114c0}, {0x114c2, 0x114c3},
    {0x115b2, 0x115b5}, {0x115bc, 0x115bd}, {0x115bf, 0x115c0}, {0x115dc, 0x115dd}, {0x11633, 0x1163a},
    {0x1163d, 0x1163d}, {0x1163f, 0x11640}, {0x116ab, 0x116ab}, {0x116ad, 0x116ad}, {0x116b0, 0x116b5},
    {0x116b7, 0x116b7}, {0x1171d, 0x1171f}, {0x11722, 0x11725}, {0x11727, 0x1172b}, {0x1182f, 0x11837},
    {0x11839, 0x1183a}, {0x1193b, 0x1193c}, {0x1193e, 0x1193e}, {0x11943, 0x11943}, {0x119d4, 0x119db},
    {0x119e0, 0x119e0}, {0x11a01, 0x11a0a}, {0x11a33, 0x11a38}, {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47},
    {0x11a51, 0x11a56}, {0x11a59, 0x11a5b}, {0x11a8a, 0x11a96}, {0x11a98, 0x11a99}, {0x11c30, 0x11c3d},
    {0x11c3f, 0x11c3f}, {0x11c92, 0x11ca7}, {0x11caa, 0x11cb0}, {0x11cb2, 0x11cb3}, {0x11cb5, 0x11cb6},
    {0x11d31, 0x11d45}, {0x11d47, 0x11d47}, {0x11d90, 0x11d91}, {0x11d95, 0x11d95}, {0x11d97, 0x11d97},
    {0x11ef3, 0x11ef4}, {0x13430, 0x13438}, {0x16af0, 0x16af4}, {0x16b30, 0x16b36}, {0x16f4f, 0x16f4f},
    {0x16f8f, 0x16f92}, {0x16fe4, 0x16fe4}, {0x1bc9d, 0x1bc9e}, {0x1bca0, 0x1cf46}, {0x1d167, 0x1d169},
    {0x1d173, 0x1d182}, {0x1d185, 0x1d18b}, {0x1d1aa, 0x1d1ad}, {0x1d242, 0x1d244}, {0x1da00, 0x1da36},
    {0x1da3b, 0x1da6c}, {0x1da75, 0x1da75}, {0x1da84, 0x1da84}, {0x1da9b, 0x1daaf}, {0x1e000, 0x1e02a},
    {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e8d0, 0x1e8d6}, {0x1e944, 0x1e94a},
    {0xe0001, 0xe01ef},
};

static const struct hp_utf8_range hp_utf8_double_width[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x23f0, 0x23f0},
    {0x23f3, 0x23f3},   {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},   {0x26bd, 0x26be},   {0x26c4, 0x26c5},
    {0x26ce, 0x26ce},   {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},   {0x26f5, 0x26f5},
    {0x26fa, 0x26fa},   {0x26fd, 0x26fd},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27b0, 0x27b0},   {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2b55, 0x2b55},
    {0x2e80, 0x3029},   {0x302e, 0x303e},   {0x3041, 0x3096},   {0x309b, 0x3247},   {0x3250, 0x4dbf},
    {0x4e00, 0xa4c6},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfad9},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6b},   {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x16fe3}, {0x16ff0, 0x1b2fb},
    {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc},
    {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
    {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2},
    {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a},
    {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faf6}, {0x20000, 0x3fffd},
};

static bool hp_utf8_is_in(const struct hp_utf8_range *ranges, size_t count, uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (character > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && character >= ranges[low].first;
}

#define HP_UTF8_COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

unsigned hp_utf8_width(uint32_t character)
{
    if (character < 0x300)
        return 1;
    if (hp_utf8_is_in(hp_utf8_zero_width, HP_UTF8_COUNT_OF(hp_utf8_zero_width), character))
        return 0;
    return hp_utf8_is_in(hp_utf8_double_width, HP_UTF8_COUNT_OF(hp_utf8_double_width), character) ? 2 : 1;
}

/* How many bytes a character has by its first one; 0 for a byte that cannot be first. */
static unsigned hp_utf8_bytes_of(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2) /* c0 and c1 would be overlong */
        return 0;
    if (first < 0xe0)
        return 2;
    return first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

static bool hp_utf8_is_scalar(uint32_t character, unsigned bytes)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    return character >= smallest[bytes] && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
}

uint32_t hp_utf8_next(const char **at, const char *end)
{
    const char *next = *at;
    const unsigned char first = (unsigned char)*next++;
    const unsigned bytes = hp_utf8_bytes_of(first);
    *at = next;
    if (bytes <= 1)
        return bytes == 1 ? first : HP_UTF8_INVALID;
    if ((size_t)(end - next) < bytes - 1)
        return HP_UTF8_INVALID;
    uint32_t character = first & (0x7fu >> bytes);
    for (unsigned left = bytes - 1; left > 0; left--) {
        const unsigned char more = (unsigned char)*next++;
        if ((more & 0xc0) != 0x80)
            return HP_UTF8_INVALID;
        character = character << 6 | (more & 0x3f);
    }
    if (!hp_utf8_is_scalar(character, bytes))
        return HP_UTF8_INVALID;
    *at = next;
    return character;
}

size_t hp_utf8_columns(const char *bytes, size_t length)
{
    const char *at = bytes, *const end = bytes + length;
    size_t columns = 0;
    while (at < end) {
        const uint32_t character = hp_utf8_next(&at, end);
        columns += character == HP_UTF8_INVALID ? 1 : hp_utf8_width(character);
    }
    return columns;
}

/* C0, DEL, C1, line separators, and everything that embeds, overrides or isolates a direction. */
static bool hp_utf8_is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static void hp_utf8_put_escape(struct hp_text *text, uint32_t c)
{
    hp_text_char(text, '\\');
    if (c == '\n' || c == '\t' || c == '\r') {
        hp_text_char(text, c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
    } else if (c < 0x100) {
        hp_text_char(text, 'x');
        hp_text_hex(text, c, 2);
    } else {
        hp_text_char(text, 'u');
        hp_text_hex(text, c, 4);
    }
}

void hp_utf8_put_safe(struct hp_text *text, const char *bytes, size_t length)
{
    const char *at = bytes, *const end = bytes + length;
    while (at < end) {
        const char *const from = at;
        const uint32_t c = hp_utf8_next(&at, end);
        if (c == HP_UTF8_INVALID)
            hp_text_string(text, HP_UTF8_REPLACEMENT);
        else if (hp_utf8_is_harmful(c))
            hp_utf8_put_escape(text, c);
        else
            hp_text_bytes(text, from, (size_t)(at - from));
    }
}

/* The longest beginning that takes at most `columns`. */
static size_t hp_utf8_head_length(const char *bytes, size_t length, size_t columns)
{
    const char *at = bytes, *const end = bytes + length;
    size_t taken = 0, fits = 0;
    while (at < end) {
        const uint32_t c = hp_utf8_next(&at, end);
        taken += c == HP_UTF8_INVALID ? 1 : hp_utf8_width(c);
        if (taken > columns)
            break;
        fits = (size_t)(at - bytes);
    }
    return fits;
}

/* Where the longest end that takes at most `columns` begins; it never begins with a combining character. */
static size_t hp_utf8_tail_start(const char *bytes, size_t length, size_t columns)
{
    const char *at = bytes, *const end = bytes + length;
    size_t left = hp_utf8_columns(bytes, length);
    while (at < end && left > columns) {
        const uint32_t c = hp_utf8_next(&at, end);
        left -= c == HP_UTF8_INVALID ? 1 : hp_utf8_width(c);
    }
    while (at < end) {
        const char *next = at;
        const uint32_t c = hp_utf8_next(&next, end);
        if (c == HP_UTF8_INVALID || hp_utf8_width(c) > 0)
            break;
        at = next;
    }
    return (size_t)(at - bytes);
}

size_t hp_utf8_put_fitted(struct hp_text *text, const char *bytes, size_t length, size_t columns)
{
    const size_t natural = hp_utf8_columns(bytes, length);
    if (natural <= columns) {
        hp_text_bytes(text, bytes, length);
        return natural;
    }
    if (columns == 0)
        return 0;
    const size_t head = hp_utf8_head_length(bytes, length, (columns - 1) / 2);
    const size_t tail = hp_utf8_tail_start(bytes, length, columns - 1 - (columns - 1) / 2);
    hp_text_bytes(text, bytes, head);
    hp_text_string(text, "…");
    hp_text_bytes(text, bytes + tail, length - tail);
    return hp_utf8_columns(bytes, head) + 1 + hp_utf8_columns(bytes + tail, length - tail);
}

/* ---- src/os/arena.h ------------------------------------------------------------------------------------------ */

/*
 * An arena: memory that is handed out piece by piece and given back all at once. It comes straight from the kernel,
 * so it may be used in a signal handler and when the host's heap is broken.
 *
 *     struct hp_arena arena = {0};
 *     struct row *rows = hp_arena_take_array(&arena, count, sizeof *rows);   NULL without memory
 *     hp_arena_release(&arena);
 *
 * One thread at a time.
 */

struct hp_arena_chunk;

struct hp_arena {
    struct hp_arena_chunk *chunks;
    char *free; /* the next free byte of the newest chunk */
    char *end;
    size_t mapped;
    size_t taken;
    size_t limit; /* bytes it may hand out in all; 0: as many as the kernel gives */
};

/* Zeroed, aligned for anything. NULL without memory; what was taken before stays valid. */
HP_PRIVATE void *hp_arena_take(struct hp_arena *arena, size_t size);
HP_PRIVATE void *hp_arena_take_array(struct hp_arena *arena, size_t count, size_t size);

/* A copy of `length` bytes, ended by a zero. */
HP_PRIVATE char *hp_arena_copy(struct hp_arena *arena, const char *bytes, size_t length);

/* Gives everything back; the arena is empty and can be used again. */
HP_PRIVATE void hp_arena_release(struct hp_arena *arena);

/* ---- src/os/memory.h ----------------------------------------------------------------------------------------- */

/* Private memory straight from the kernel: zeroed, never from the host's heap. */

HP_PRIVATE void *hp_memory_map(size_t size); /* NULL without memory */
HP_PRIVATE void hp_memory_unmap(void *memory, size_t size);

/* In a forked child these pages read as zero. False: the kernel cannot (before Linux 4.14). */
HP_PRIVATE bool hp_memory_wipe_on_fork(void *memory, size_t size);

/* Waits until every running thread of the process has passed a full memory barrier. False: cannot. */
HP_PRIVATE bool hp_memory_barrier_everywhere(void);

/* ---- src/os/arena.c ------------------------------------------------------------------------------------------ */

/* A bump arena over mapped chunks, each twice as large as the one before. */

#define HP_ARENA_ALIGNMENT 16u
#define HP_ARENA_FIRST_CHUNK ((size_t)256 << 10)
#define HP_ARENA_LARGEST_CHUNK ((size_t)16 << 20)

struct hp_arena_chunk {
    struct hp_arena_chunk *next;
    size_t size;
};

_Static_assert(sizeof(struct hp_arena_chunk) <= HP_ARENA_ALIGNMENT, "the first piece of a chunk must be aligned");

static size_t hp_arena_chunk_size(const struct hp_arena *arena, size_t at_least)
{
    size_t size = arena->mapped < HP_ARENA_FIRST_CHUNK ? HP_ARENA_FIRST_CHUNK : arena->mapped;
    size = size < HP_ARENA_LARGEST_CHUNK ? size : HP_ARENA_LARGEST_CHUNK;
    return size < at_least ? (at_least + 4095) & ~(size_t)4095 : size;
}

static void *hp_arena_add_chunk(struct hp_arena *arena, size_t size)
{
    const size_t bytes = hp_arena_chunk_size(arena, size + HP_ARENA_ALIGNMENT);
    struct hp_arena_chunk *chunk = hp_memory_map(bytes);
    if (chunk == NULL)
        return NULL;
    chunk->next = arena->chunks;
    chunk->size = bytes;
    arena->chunks = chunk;
    arena->mapped += bytes;
    arena->free = (char *)chunk + HP_ARENA_ALIGNMENT;
    arena->end = (char *)chunk + bytes;
    return chunk;
}

void *hp_arena_take(struct hp_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + HP_ARENA_ALIGNMENT - 1) & ~(size_t)(HP_ARENA_ALIGNMENT - 1);
    if (arena->limit != 0 && size > arena->limit - arena->taken)
        return NULL;
    if (arena->free == NULL || size > (size_t)(arena->end - arena->free))
        if (hp_arena_add_chunk(arena, size) == NULL)
            return NULL;
    void *piece = arena->free;
    arena->free += size;
    arena->taken += size;
    return piece;
}

void *hp_arena_take_array(struct hp_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : hp_arena_take(arena, bytes);
}

char *hp_arena_copy(struct hp_arena *arena, const char *bytes, size_t length)
{
    char *copy = hp_arena_take(arena, length + 1);
    if (copy != NULL)
        memcpy(copy, bytes, length);
    return copy;
}

void hp_arena_release(struct hp_arena *arena)
{
    struct hp_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        struct hp_arena_chunk *const next = chunk->next;
        hp_memory_unmap(chunk, chunk->size);
        chunk = next;
    }
    *arena = (struct hp_arena){.limit = arena->limit};
}

/* ---- src/os/clock.h ------------------------------------------------------------------------------------------ */

/*
 * Ticks: the cheapest counter that can be trusted, and what it is worth in nanoseconds.
 *
 * hotpath_ticks_() in hotpath.h reads the CPU's counter without asking. Whether it may is decided here, once: if not,
 * hp_clock_kind() is HP_CLOCK_MONOTONIC, every zone takes the out-of-line way and ticks are nanoseconds.
 */

enum hp_counter { HP_COUNTER_NONE, HP_COUNTER_TSC, HP_COUNTER_CNTVCT, HP_COUNTER_RDTIME };

/* The CPU's counter if it is there, runs at one rate, agrees between cores and may be read. */
HP_PRIVATE enum hp_counter hp_clock_counter(void);

HP_PRIVATE uint64_t hp_clock_monotonic_ns(void);
HP_PRIVATE uint64_t hp_clock_wall_ns(void);

/* Reads `counter` (or CLOCK_MONOTONIC for HP_COUNTER_NONE). */
HP_PRIVATE uint64_t hp_clock_ticks(enum hp_counter counter);

/* Ticks and nanoseconds of one moment, as close together as a few tries can bring them. */
HP_PRIVATE void hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns);

/* ---- src/os/files.h ------------------------------------------------------------------------------------------ */

/* Files, without descriptors that stay open and without signals the host did not ask for. */

/* Which file something is, so that a reused path or descriptor is noticed. */
struct hp_file_identity {
    dev_t device;
    ino_t inode;
    bool is_known;
};

HP_PRIVATE struct hp_file_identity hp_file_identify(int fd);
HP_PRIVATE bool hp_file_is(int fd, const struct hp_file_identity *identity);

/* Reads a small file whole and ends it with a zero; a longer one is cut. False: cannot be read. */
HP_PRIVATE bool hp_file_read_text(const char *path, char *text, size_t size);
/* The same for bytes; returns how many, or 0. */
HP_PRIVATE size_t hp_file_read_bytes(const char *path, void *bytes, size_t size);

/*
 * Reads up to `size` bytes of a file that has to be a regular one, so that nothing can keep us waiting. Returns how many, or
 * -1 with errno; EINVAL: it is something else.
 */
HP_PRIVATE ssize_t hp_file_read_regular(const char *path, void *bytes, size_t size);

/*
 * Makes sure that bytes [from, to) of an open file exist on its disk, so that touching a mapping of them cannot fail.
 * Honours RLIMIT_FSIZE instead of running into SIGXFSZ.
 */
HP_PRIVATE bool hp_file_reserve(int fd, uint64_t from, uint64_t to);

/* Whether RLIMIT_FSIZE lets a file be that long. */
HP_PRIVATE bool hp_file_size_is_allowed(uint64_t size);

/*
 * Writes all of it, waiting (bounded) where the descriptor does not block. A reader that went away or a file that may
 * not grow is a false, never a signal.
 */
HP_PRIVATE bool hp_file_write(int fd, const char *bytes, size_t length);

/* Makes `path` a folder of ours that nobody else can write to; its parents must exist. False: errno says why. */
HP_PRIVATE bool hp_file_make_private_folder(const char *path);

/* Makes the folders above `path`, as far as they are missing. */
HP_PRIVATE void hp_file_make_parents(const char *path);

/*
 * Bytes that are free on the file system of `path`, less a twentieth of it all, which is spared for others: a host's
 * many processes must not fill it up. 0 when that cannot be told.
 */
HP_PRIVATE uint64_t hp_file_free_bytes(const char *path);

/*
 * Whether somebody holds a lock (flock) on a folder. Also true where that cannot be told.
 */
HP_PRIVATE bool hp_file_is_locked(const char *folder);

/* Calls `visit` with each name in a folder, without allocating. */
typedef void hp_file_visit(const char *name, void *context);
HP_PRIVATE void hp_file_each(const char *folder, hp_file_visit *visit, void *context);

/* The words for an errno; strerror is not for signal handlers. */
HP_PRIVATE const char *hp_file_error(int number);

/* ---- src/os/clock.c ------------------------------------------------------------------------------------------ */

/* Which clock can be trusted on this machine. */

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

static uint64_t hp_clock_read_clock(clockid_t id)
{
    struct timespec time = {0, 0};
    clock_gettime(id, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

uint64_t hp_clock_monotonic_ns(void) { return hp_clock_read_clock(CLOCK_MONOTONIC); }

uint64_t hp_clock_wall_ns(void) { return hp_clock_read_clock(CLOCK_REALTIME); }

#if defined(__x86_64__) || defined(__i386__)

static bool hp_clock_tsc_may_be_read(void)
{
#ifdef PR_GET_TSC
    int mode = PR_TSC_ENABLE;
    if (prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV)
        return false;
#endif
    return true;
}

static bool hp_clock_tsc_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)) != 0;
}

/* The kernel strikes the TSC off this list when it has seen it drift or differ between cores. */
static bool hp_clock_kernel_trusts_tsc(void)
{
    char sources[256];
    if (!hp_file_read_text("/sys/devices/system/clocksource/clocksource0/available_clocksource", sources,
                           sizeof sources))
        return hp_clock_tsc_is_invariant(); /* no sysfs in this container: the CPU's word has to do */
    for (const char *at = sources; *at; at++)
        if (at[0] == 't' && at[1] == 's' && at[2] == 'c' && (at == sources || at[-1] == ' '))
            return true;
    return false;
}

enum hp_counter hp_clock_counter(void)
{
    return hp_clock_tsc_may_be_read() && hp_clock_kernel_trusts_tsc() ? HP_COUNTER_TSC : HP_COUNTER_NONE;
}

#elif defined(__aarch64__)
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_CNTVCT; }
#elif defined(__riscv) && __riscv_xlen == 64
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_RDTIME; }
#else
enum hp_counter hp_clock_counter(void) { return HP_COUNTER_NONE; }
#endif

uint64_t hp_clock_ticks(enum hp_counter counter)
{
    switch (counter) {
#if defined(__x86_64__) || defined(__i386__)
    case HP_COUNTER_TSC:
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    case HP_COUNTER_CNTVCT: {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#elif defined(__riscv) && __riscv_xlen == 64
    case HP_COUNTER_RDTIME: {
        uint64_t ticks;
        __asm__ volatile("rdtime %0" : "=r"(ticks));
        return ticks;
    }
#endif
    default:
        return hp_clock_monotonic_ns();
    }
}

void hp_clock_pair(enum hp_counter counter, uint64_t *ret_ticks, uint64_t *ret_ns)
{
    uint64_t narrowest = UINT64_MAX;
    for (int try = 0; try < 5; try++) {
        const uint64_t before = hp_clock_ticks(counter);
        const uint64_t ns = hp_clock_monotonic_ns();
        const uint64_t after = hp_clock_ticks(counter);
        if (after - before < narrowest) {
            narrowest = after - before;
            *ret_ticks = before + (after - before) / 2;
            *ret_ns = ns;
        }
    }
    if (counter == HP_COUNTER_NONE)
        *ret_ticks = *ret_ns;
}

/* ---- src/os/cpu.h -------------------------------------------------------------------------------------------- */

/*
 * Processor time: how much of it threads and the process have used, and signals that come as they use it.
 *
 * Two sources of signals, both of the calling thread alone, neither of which comes while it sleeps:
 *
 *   timer  on the thread's processor clock. The kernel looks at such timers on its ticks (100 to 1000 a second), whether
 *          the thread is in user or in kernel mode. The signal comes on the way back to user mode.
 *   perf   the kernel's software clock event, which is not bound to ticks but, without privileges, sees user mode only.
 *          The descriptor is closed at once: a mapping of one page keeps the event alive, and so nothing is left that a
 *          host could close, inherit or mistake for its own.
 *
 * System calls only, usable in signal handlers.
 */

/* Ignored by default, and by debuggers: a program that takes it for its own, or resets it, comes to no harm. */
#define HP_CPU_SIGNAL SIGURG

struct hp_cpu_time {
    uint64_t ns;        /* user and kernel mode together, exactly */
    uint64_t kernel_ns; /* as the kernel accounts for it: on most systems by what its ticks find */
};

HP_PRIVATE struct hp_cpu_time hp_cpu_of_thread(void);
HP_PRIVATE struct hp_cpu_time hp_cpu_of_process(void);

/* Both in nanoseconds of processor time; the first signal may be due earlier. False: the kernel has refused. */
HP_PRIVATE bool hp_cpu_timer_start(int *ret_timer, uint64_t first_ns, uint64_t period_ns);
HP_PRIVATE void hp_cpu_timer_change(int timer, uint64_t period_ns);
HP_PRIVATE void hp_cpu_timer_stop(int timer);

/* A mapping to be given to hp_cpu_perf_stop, or NULL: the kernel has refused. */
HP_PRIVATE void *hp_cpu_perf_start(uint64_t period_ns);
HP_PRIVATE void hp_cpu_perf_stop(void *mapping);
/*
 * Whether perf's clock may be used here: 0, or why not, as an errno. What is returned beside is an event that never fires,
 * to be kept as long as others may be started: the first event on a machine takes the kernel ten milliseconds.
 */
HP_PRIVATE int hp_cpu_perf_prepare(void **ret_mapping);

/* Lets the signal through in the calling thread. */
HP_PRIVATE void hp_cpu_signal_unblock(void);

enum hp_cpu_source { HP_CPU_BY_OTHERS, HP_CPU_BY_TIMER, HP_CPU_BY_PERF };

/* Who sent a signal, by what it says of itself (a siginfo_t); for timers, which one. */
HP_PRIVATE enum hp_cpu_source hp_cpu_source_of(const void *info, int *ret_timer);

/* The stack pointer of what a signal has interrupted (a ucontext_t); 0: not known on this machine. */
HP_PRIVATE uintptr_t hp_cpu_stack_of(const void *context);

/* ---- src/os/sys.h -------------------------------------------------------------------------------------------- */

/*
 * System calls as the recorder needs them: never a cancellation point (a thread that is being cancelled must not
 * unwind out of the recorder), never through a function the host may have replaced. Each returns what the kernel
 * does, -1 with errno set on failure; entry points of the library save and restore errno around all of it.
 *
 * Calls that are no cancellation points in any libc (fstat, mmap, mkdir, unlinkat, ...) are used as they are.
 */

static inline int hp_sys_open(const char *path, int flags, unsigned mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline int hp_sys_close(int fd) { return (int)syscall(SYS_close, fd); }

static inline ssize_t hp_sys_read(int fd, void *bytes, size_t size)
{
    return (ssize_t)syscall(SYS_read, fd, bytes, size);
}

static inline ssize_t hp_sys_write(int fd, const void *bytes, size_t size)
{
    return (ssize_t)syscall(SYS_write, fd, bytes, size);
}

/* Offsets here are below 4 GiB; where registers are 32 bits wide the halves go in separately. */
static inline int hp_sys_fallocate(int fd, uint64_t offset, uint64_t size)
{
#if UINTPTR_MAX > UINT32_MAX
    return (int)syscall(SYS_fallocate, fd, 0, offset, size);
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (int)syscall(SYS_fallocate, fd, 0, (uint32_t)offset, 0, (uint32_t)size, 0);
#else
    return (int)syscall(SYS_fallocate, fd, 0, 0, (uint32_t)offset, 0, (uint32_t)size);
#endif
}

static inline uint32_t hp_sys_thread_id(void) { return (uint32_t)syscall(SYS_gettid); }

static inline uint32_t hp_sys_process_id(void) { return (uint32_t)syscall(SYS_getpid); }

/* ---- src/os/cpu.c -------------------------------------------------------------------------------------------- */

/* Processor time, by system calls alone. */

#define HP_CPU_SECOND UINT64_C(1000000000)

/* ------------------------------------------------------------------------------------------------ clocks */

/* As the kernel has them where the C library's are newer: 64 bits of time on machines of 32 are another system call. */
struct hp_cpu_kernel_timespec {
    long seconds, nanoseconds;
};

struct hp_cpu_kernel_timerspec {
    struct hp_cpu_kernel_timespec interval, value;
};

#ifdef SYS_clock_gettime
#define HP_CPU_READ_CLOCK SYS_clock_gettime
#define HP_CPU_SET_TIMER SYS_timer_settime
#else
#define HP_CPU_READ_CLOCK SYS_clock_gettime64
#define HP_CPU_SET_TIMER SYS_timer_settime64
#endif

static uint64_t hp_cpu_read_clock(clockid_t clock)
{
    struct hp_cpu_kernel_timespec now = {0, 0};
    syscall(HP_CPU_READ_CLOCK, clock, &now);
    return (uint64_t)now.seconds * HP_CPU_SECOND + (uint64_t)now.nanoseconds;
}

static struct hp_cpu_time hp_cpu_read_time(clockid_t clock, int who)
{
    struct rusage usage;
    struct hp_cpu_time time = {.ns = hp_cpu_read_clock(clock)};
    if (getrusage(who, &usage) == 0)
        time.kernel_ns = (uint64_t)usage.ru_stime.tv_sec * HP_CPU_SECOND + (uint64_t)usage.ru_stime.tv_usec * 1000u;
    if (time.kernel_ns > time.ns)
        time.kernel_ns = time.ns;
    return time;
}

struct hp_cpu_time hp_cpu_of_thread(void) { return hp_cpu_read_time(CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD); }

struct hp_cpu_time hp_cpu_of_process(void) { return hp_cpu_read_time(CLOCK_PROCESS_CPUTIME_ID, RUSAGE_SELF); }

/* ------------------------------------------------------------------------------------------------ timers */

/* The kernel's own: the C library's names for the last member differ. */
struct hp_cpu_kernel_sigevent {
    union sigval value;
    int signal;
    int notify;
    int thread;
    char padding[64];
};

static struct hp_cpu_kernel_timespec hp_cpu_as_timespec(uint64_t ns)
{
    return (struct hp_cpu_kernel_timespec){(long)(ns / HP_CPU_SECOND), (long)(ns % HP_CPU_SECOND)};
}

static bool hp_cpu_set_timer(int timer, uint64_t first_ns, uint64_t period_ns)
{
    const struct hp_cpu_kernel_timerspec when = {hp_cpu_as_timespec(period_ns), hp_cpu_as_timespec(first_ns > 0 ? first_ns : 1)};
    return syscall(HP_CPU_SET_TIMER, timer, 0, &when, NULL) == 0;
}

bool hp_cpu_timer_start(int *ret_timer, uint64_t first_ns, uint64_t period_ns)
{
    struct hp_cpu_kernel_sigevent event;
    memset(&event, 0, sizeof event);
    event.signal = HP_CPU_SIGNAL;
    event.notify = SIGEV_THREAD_ID;
    event.thread = (int)hp_sys_thread_id();
    if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, ret_timer) != 0)
        return false;
    if (hp_cpu_set_timer(*ret_timer, first_ns, period_ns))
        return true;
    hp_cpu_timer_stop(*ret_timer);
    return false;
}

void hp_cpu_timer_change(int timer, uint64_t period_ns) { hp_cpu_set_timer(timer, period_ns, period_ns); }

void hp_cpu_timer_stop(int timer) { syscall(SYS_timer_delete, timer); }

/* -------------------------------------------------------------------------------------------------- perf */

/* User mode only, even where more is allowed: a signal that comes due in the kernel can cut a sleep short. */
static int hp_cpu_open_event(uint64_t period_ns, bool is_idle)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = period_ns;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.wakeup_events = 1;
    event.disabled = is_idle;
    return (int)syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool hp_cpu_send_signals(int fd)
{
    const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)hp_sys_thread_id()};
    return fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, HP_CPU_SIGNAL) == 0 &&
           fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

static size_t hp_cpu_page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static void *hp_cpu_start_event(uint64_t period_ns, bool is_idle)
{
    const int fd = hp_cpu_open_event(period_ns, is_idle);
    if (fd < 0)
        return NULL;
    void *mapping = hp_cpu_send_signals(fd) ? mmap(NULL, hp_cpu_page_size(), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    const int problem = errno;
    hp_sys_close(fd);
    errno = problem;
    return mapping == MAP_FAILED ? NULL : mapping;
}

void *hp_cpu_perf_start(uint64_t period_ns) { return hp_cpu_start_event(period_ns, false); }

void hp_cpu_perf_stop(void *mapping)
{
    if (mapping != NULL)
        munmap(mapping, hp_cpu_page_size());
}

int hp_cpu_perf_prepare(void **ret_mapping)
{
    *ret_mapping = hp_cpu_start_event(HP_CPU_SECOND, true);
    return *ret_mapping != NULL ? 0 : errno;
}

/* ----------------------------------------------------------------------------------------------- signals */

void hp_cpu_signal_unblock(void)
{
    const uint64_t mask = UINT64_C(1) << (HP_CPU_SIGNAL - 1);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask);
}

enum hp_cpu_source hp_cpu_source_of(const void *info, int *ret_timer)
{
    const siginfo_t *sent = info;
    *ret_timer = -1;
    if (sent->si_code == SI_TIMER) {
        *ret_timer = sent->si_timerid;
        return HP_CPU_BY_TIMER;
    }
    return sent->si_code == POLL_IN ? HP_CPU_BY_PERF : HP_CPU_BY_OTHERS;
}

uintptr_t hp_cpu_stack_of(const void *context)
{
    const ucontext_t *interrupted = context;
#if defined __x86_64__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
#elif defined __i386__
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_ESP];
#elif defined __aarch64__
    return (uintptr_t)interrupted->uc_mcontext.sp;
#elif defined __arm__
    return (uintptr_t)interrupted->uc_mcontext.arm_sp;
#elif defined __riscv
    return (uintptr_t)interrupted->uc_mcontext.__gregs[REG_SP];
#else
    (void)interrupted;
    return 0;
#endif
}

/* ---- src/os/elf_file.h --------------------------------------------------------------------------------------- */

/*
 * What an ELF file of this machine's kind says about functions: where its parts are in memory, and the symbols of its
 * functions by address. Nothing in the file is believed before it is checked, and tables are copied, since a mapping of the
 * file would fault when somebody shortens it. Nothing is taken from the heap.
 */

#define HP_ELF_PARTS 16u /* loaded segments of a file; there are four or five */

/* A segment: where it is in the file, and where the linker put it. */
struct hp_elf_part {
    uint64_t offset, size, linked;
    bool is_code;
};

struct hp_elf {
    ElfW(Ehdr) header;
    struct hp_elf_part parts[HP_ELF_PARTS];
    size_t part_count;
    char *names; /* the table of strings */
    size_t names_size;
    ElfW(Sym) * symbols; /* as they are in the file */
    size_t symbols_size;
    ElfW(Sym) * *sorted; /* functions by address */
    size_t count;
};

/* Reads the file into a zeroed struct. False: it is no such file; without symbols there are no functions. */
HP_PRIVATE bool hp_elf_read(struct hp_elf *elf, int fd);
HP_PRIVATE void hp_elf_free(struct hp_elf *elf);

/* The address that the linker gave to what lies there in the file. */
HP_PRIVATE bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address);

/* The last function that begins at or before the address, if it reaches that far; of several the same in every reading. */
HP_PRIVATE const ElfW(Sym) * hp_elf_function(const struct hp_elf *elf, uint64_t address);

/* Of a function. The file is the source of a static one, as the compiler was told; else "". */
HP_PRIVATE uint64_t hp_elf_start(const ElfW(Sym) * symbol);
HP_PRIVATE const char *hp_elf_name(const struct hp_elf *elf, const ElfW(Sym) * symbol);
HP_PRIVATE const char *hp_elf_source(const struct hp_elf *elf, const ElfW(Sym) * symbol);

/* Pieces of the file. A copy is memory of its own, for hp_memory_unmap; NULL when it is not there. */
HP_PRIVATE bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size);
HP_PRIVATE void *hp_elf_copy(int fd, uint64_t offset, uint64_t size);
HP_PRIVATE bool hp_elf_section(const struct hp_elf *elf, int fd, size_t index, ElfW(Shdr) * ret_section);

/* ---- src/os/elf_file.c --------------------------------------------------------------------------------------- */

/* What an ELF file says about functions. */

#define HP_ELF_FILE_MAX_TABLE (UINT64_C(1) << 30)

/* ---------------------------------------------------------------------------------------------- pieces */

bool hp_elf_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t got = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void *hp_elf_copy(int fd, uint64_t offset, uint64_t size)
{
    void *bytes = size > 0 && size <= HP_ELF_FILE_MAX_TABLE ? hp_memory_map((size_t)size) : NULL;
    if (bytes != NULL && !hp_elf_read_at(fd, offset, bytes, (size_t)size)) {
        hp_memory_unmap(bytes, (size_t)size);
        return NULL;
    }
    return bytes;
}

bool hp_elf_section(const struct hp_elf *elf, int fd, size_t index, ElfW(Shdr) * ret_section)
{
    return index < elf->header.e_shnum &&
           hp_elf_read_at(fd, elf->header.e_shoff + index * sizeof *ret_section, ret_section, sizeof *ret_section);
}

static bool hp_elf_file_read_header(int fd, ElfW(Ehdr) * ret_header)
{
    return hp_elf_read_at(fd, 0, ret_header, sizeof *ret_header) &&
           memcmp(ret_header->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret_header->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
           ret_header->e_phentsize == sizeof(ElfW(Phdr)) && ret_header->e_shentsize == sizeof(ElfW(Shdr));
}

static void hp_elf_file_read_parts(struct hp_elf *elf, int fd)
{
    ElfW(Phdr) part;
    for (size_t at = 0; at < elf->header.e_phnum && elf->part_count < HP_ELF_PARTS; at++)
        if (hp_elf_read_at(fd, elf->header.e_phoff + at * sizeof part, &part, sizeof part) &&
            part.p_type == PT_LOAD)
            elf->parts[elf->part_count++] =
                (struct hp_elf_part){part.p_offset, part.p_filesz, part.p_vaddr, (part.p_flags & PF_X) != 0};
}

/* --------------------------------------------------------------------------------------------- symbols */

/* The table of all symbols; of a stripped file that of the exported ones. */
static bool hp_elf_file_find_table(const struct hp_elf *elf, int fd, ElfW(Shdr) * ret_table)
{
    ElfW(Shdr) section;
    bool is_found = false;
    for (size_t index = 0; hp_elf_section(elf, fd, index, &section); index++)
        if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !is_found)) {
            *ret_table = section;
            is_found = true;
        }
    return is_found && ret_table->sh_entsize == sizeof(ElfW(Sym));
}

static bool hp_elf_file_is_function(const ElfW(Sym) * symbol)
{
    const unsigned type = symbol->st_info & 15;
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Of several names of one function a global one comes last, which is the one that is found. */
static int hp_elf_file_compare_symbols(const void *a, const void *b)
{
    const ElfW(Sym) *x = a, *y = b;
    if (x->st_value != y->st_value)
        return x->st_value < y->st_value ? -1 : 1;
    const unsigned xb = x->st_info >> 4, yb = y->st_info >> 4;
    if ((xb == STB_GLOBAL) != (yb == STB_GLOBAL))
        return xb == STB_GLOBAL ? 1 : -1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* `count` comes last: a child that is forked meanwhile finds a table that is sorted, or none. */
static void hp_elf_file_sort_symbols(struct hp_elf *elf, size_t total)
{
    size_t count = 0;
    elf->sorted = hp_memory_map((total + 1) * sizeof(ElfW(Sym) *));
    if (elf->sorted == NULL)
        return;
    for (size_t at = 0; at < total; at++)
        if (hp_elf_file_is_function(&elf->symbols[at]))
            elf->sorted[count++] = &elf->symbols[at];
    hp_sort(elf->sorted, count, hp_elf_file_compare_symbols);
    __atomic_store_n(&elf->count, count, __ATOMIC_RELEASE);
}

static void hp_elf_file_read_symbols(struct hp_elf *elf, int fd)
{
    ElfW(Shdr) table = {0}, strings;
    if (!hp_elf_file_find_table(elf, fd, &table) || !hp_elf_section(elf, fd, table.sh_link, &strings))
        return;
    elf->names = hp_elf_copy(fd, strings.sh_offset, strings.sh_size);
    elf->symbols = hp_elf_copy(fd, table.sh_offset, table.sh_size);
    elf->names_size = elf->names != NULL ? strings.sh_size : 0;
    elf->symbols_size = elf->symbols != NULL ? table.sh_size : 0;
    if (elf->names == NULL || elf->symbols == NULL)
        return;
    elf->names[elf->names_size - 1] = '\0'; /* ends the last name, whatever the file says */
    hp_elf_file_sort_symbols(elf, table.sh_size / sizeof(ElfW(Sym)));
}

bool hp_elf_read(struct hp_elf *elf, int fd)
{
    if (!hp_elf_file_read_header(fd, &elf->header))
        return false;
    hp_elf_file_read_parts(elf, fd);
    hp_elf_file_read_symbols(elf, fd);
    return true;
}

void hp_elf_free(struct hp_elf *elf)
{
    const size_t total = elf->symbols_size / sizeof(ElfW(Sym));
    if (elf->sorted != NULL)
        hp_memory_unmap(elf->sorted, (total + 1) * sizeof(ElfW(Sym) *));
    if (elf->symbols != NULL)
        hp_memory_unmap(elf->symbols, elf->symbols_size);
    if (elf->names != NULL)
        hp_memory_unmap(elf->names, elf->names_size);
    *elf = (struct hp_elf){.part_count = 0};
}

/* --------------------------------------------------------------------------------------------- finding */

bool hp_elf_linked(const struct hp_elf *elf, uint64_t offset, uint64_t *ret_address)
{
    for (size_t at = 0; at < elf->part_count; at++) {
        const struct hp_elf_part *part = &elf->parts[at];
        if (offset >= part->offset && offset - part->offset < part->size) {
            *ret_address = offset - part->offset + part->linked;
            return true;
        }
    }
    return false;
}

uint64_t hp_elf_start(const ElfW(Sym) * symbol)
{
#if defined(__arm__)
    return symbol->st_value & ~UINT64_C(1);
#else
    return symbol->st_value;
#endif
}

const ElfW(Sym) * hp_elf_function(const struct hp_elf *elf, uint64_t address)
{
    size_t low = 0, high = elf->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (hp_elf_start(elf->sorted[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const ElfW(Sym) *symbol = elf->sorted[low - 1];
    const uint64_t into = address - hp_elf_start(symbol);
    return into == 0 || into < symbol->st_size ? symbol : NULL;
}

const char *hp_elf_name(const struct hp_elf *elf, const ElfW(Sym) * symbol)
{
    return symbol->st_name < elf->names_size ? elf->names + symbol->st_name : "";
}

/* Static functions stand behind the name of their source. */
const char *hp_elf_source(const struct hp_elf *elf, const ElfW(Sym) * symbol)
{
    if (symbol->st_info >> 4 != STB_LOCAL)
        return "";
    for (const ElfW(Sym) *at = symbol; at >= elf->symbols; at--)
        if ((at->st_info & 15) == STT_FILE)
            return hp_elf_name(elf, at);
    return "";
}

/* ---- src/os/signals.h ---------------------------------------------------------------------------------------- */

/*
 * Holding signals back. While they are held, nothing interrupts this thread, not even a cancellation: libc's
 * own signals are held too, which its functions would refuse to do.
 */

struct hp_signals {
    uint64_t before; /* the mask to go back to */
    bool is_held;
};

HP_PRIVATE void hp_signals_hold(struct hp_signals *held);
HP_PRIVATE void hp_signals_release(const struct hp_signals *held);

/* The signals that wait to be delivered to this thread, as a mask. */
HP_PRIVATE uint64_t hp_signals_pending(void);

/* Takes away SIGPIPE and SIGXFSZ that a write of ours caused while they were held; those pending before stay. */
HP_PRIVATE void hp_signals_swallow_write_errors(uint64_t pending_before);

/* Lets `signal` through in this thread and sends it. */
HP_PRIVATE void hp_signals_raise_now(int signal);

/* ---- src/os/files.c ------------------------------------------------------------------------------------------ */

/* Files. */

struct hp_file_identity hp_file_identify(int fd)
{
    struct stat status;
    struct hp_file_identity identity = {0, 0, false};
    if (fstat(fd, &status) == 0) {
        identity.device = status.st_dev;
        identity.inode = status.st_ino;
        identity.is_known = true;
    }
    return identity;
}

bool hp_file_is(int fd, const struct hp_file_identity *identity)
{
    const struct hp_file_identity now = hp_file_identify(fd);
    return identity->is_known && now.is_known && now.device == identity->device && now.inode == identity->inode;
}

/* Up to `size` bytes, or as many as there are before the first error. */
static size_t hp_files_read_open(int fd, void *bytes, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t got = hp_sys_read(fd, (char *)bytes + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    return length;
}

size_t hp_file_read_bytes(const char *path, void *bytes, size_t size)
{
    const int fd = hp_sys_open(path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return 0;
    const size_t length = hp_files_read_open(fd, bytes, size);
    hp_sys_close(fd);
    return length;
}

ssize_t hp_file_read_regular(const char *path, void *bytes, size_t size)
{
    struct stat status;
    const int fd = hp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    ssize_t length = -1;
    if (fstat(fd, &status) == 0) {
        if (S_ISREG(status.st_mode))
            length = (ssize_t)hp_files_read_open(fd, bytes, size);
        else
            errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    }
    const int error = errno;
    hp_sys_close(fd);
    errno = error;
    return length;
}

bool hp_file_read_text(const char *path, char *text, size_t size)
{
    const size_t length = hp_file_read_bytes(path, text, size - 1);
    text[length] = '\0';
    return length > 0;
}

bool hp_file_size_is_allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* File systems without fallocate: writing zeros is the only reservation they know. */
static bool hp_files_reserve_by_writing(int fd, uint64_t from, uint64_t to)
{
    static const char zeros[4096];
    /* Only ever at the end: what is there already, another thread may be using. */
    if (fcntl(fd, F_SETFL, O_APPEND) != 0)
        return false;
    for (;;) {
        const off_t end = lseek(fd, 0, SEEK_END);
        if (end < 0)
            return false;
        from = (uint64_t)end;
        if (from >= to)
            return true;
        const size_t size = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        const ssize_t put = hp_sys_write(fd, zeros, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
    }
}

bool hp_file_reserve(int fd, uint64_t from, uint64_t to)
{
    if (!hp_file_size_is_allowed(to))
        return false;
    int result;
    do
        result = hp_sys_fallocate(fd, from, to - from);
    while (result != 0 && errno == EINTR);
    if (result == 0)
        return true;
    return (errno == EOPNOTSUPP || errno == ENOSYS) && hp_files_reserve_by_writing(fd, from, to);
}

static bool hp_files_wait_until_writable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT, .revents = 0};
    const struct timespec second = {1, 0};
    return syscall(SYS_ppoll, &wait, 1, &second, NULL, (size_t)8) > 0;
}

bool hp_file_write(int fd, const char *bytes, size_t length)
{
    struct hp_signals held;
    hp_signals_hold(&held);
    const uint64_t pending = hp_signals_pending();
    bool is_whole = true;
    while (length > 0 && is_whole) {
        const ssize_t put = hp_sys_write(fd, bytes, length);
        if (put > 0) {
            bytes += put;
            length -= (size_t)put;
        } else if (put < 0 && errno == EAGAIN) {
            is_whole = hp_files_wait_until_writable(fd);
        } else if (put == 0 || errno != EINTR) {
            is_whole = false;
        }
    }
    hp_signals_swallow_write_errors(pending);
    hp_signals_release(&held);
    return is_whole;
}

bool hp_file_make_private_folder(const char *path)
{
    struct stat status;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    if (lstat(path, &status) != 0)
        return false;
    if (!S_ISDIR(status.st_mode))
        errno = ENOTDIR;
    else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        errno = EPERM;
    else
        return true;
    return false;
}

bool hp_file_is_locked(const char *folder)
{
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return true;
    const bool is_locked = syscall(SYS_flock, fd, LOCK_SH | LOCK_NB) != 0;
    hp_sys_close(fd);
    return is_locked;
}

void hp_file_make_parents(const char *path)
{
    char folder[1024];
    const size_t length = strlen(path);
    if (length >= sizeof folder)
        return;
    memcpy(folder, path, length + 1);
    for (size_t at = 1; at < length; at++) {
        if (folder[at] != '/')
            continue;
        folder[at] = '\0';
        mkdir(folder, 0777);
        folder[at] = '/';
    }
}

uint64_t hp_file_free_bytes(const char *path)
{
    struct statfs status;
    if (statfs(path, &status) != 0)
        return 0;
    const uint64_t free_blocks = (uint64_t)status.f_bavail, spared = (uint64_t)status.f_blocks / 20;
    return free_blocks > spared ? (free_blocks - spared) * (uint64_t)status.f_bsize : 0;
}

/* The kernel's record of a directory entry; libc's readdir would allocate. */
struct hp_files_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

void hp_file_each(const char *folder, hp_file_visit *visit, void *context)
{
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    _Alignas(8) char buffer[1024]; /* small: a forked child may be here on a signal stack */
    long got;
    while ((got = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < got;) {
            const struct hp_files_entry *entry = (const struct hp_files_entry *)(const void *)(buffer + at);
            visit(entry->name, context);
            at += entry->length;
        }
    }
    hp_sys_close(fd);
}

const char *hp_file_error(int number)
{
    switch (number) {
    case ENOENT:
        return "no such file or folder";
    case EACCES:
    case EPERM:
        return "permission denied";
    case EROFS:
        return "read-only file system";
    case ENOSPC:
    case EDQUOT:
        return "no space left";
    case EFBIG:
        return "file too large";
    case EISDIR:
        return "is a folder";
    case EINVAL:
        return "not a regular file";
    case ENOTDIR:
        return "not a folder";
    case ELOOP:
        return "too many symbolic links";
    case ENAMETOOLONG:
        return "name too long";
    case EMFILE:
    case ENFILE:
        return "too many open files";
    default:
        return "input/output error";
    }
}

/* ---- src/os/images.h ----------------------------------------------------------------------------------------- */

/* The process's own ELF images: the program and the shared objects loaded into it. */

/*
 * A note of ours: it leads, by a 32-bit distance from where that distance stands, to an object of the image it is in.
 * To be used once per image, at file level.
 */
#if defined(__arm__)
#define HP_IMAGE_NOTE_TYPE_ "%note"
#else
#define HP_IMAGE_NOTE_TYPE_ "@note"
#endif
#define HP_IMAGE_NOTE(object)                                                                                      \
    __asm__(".pushsection .note.hotpath,\"a\"," HP_IMAGE_NOTE_TYPE_ "\n"                                           \
            ".p2align 2\n"                                                                                         \
            ".long 8, 4, 1\n" /* bytes of the name, bytes of the distance, type */                                 \
            ".asciz \"hotpath\"\n"                                                                                 \
            ".long " object " - .\n"                                                                               \
            ".popsection\n")

/* Calls `visit` with the object that each note of ours in any image leads to. Not in a signal handler. */
typedef void hp_image_visit(const void *object, void *context);
HP_PRIVATE void hp_images_each_note(hp_image_visit *visit, void *context);

/* Keeps the shared object that `address` lies in from being unloaded. */
HP_PRIVATE void hp_image_stay_loaded(const void *address);

/* ---- src/os/images.c ----------------------------------------------------------------------------------------- */

/* The process's own ELF images. */

/* In glibc before 2.34, and in static programs, these may not be there. */
#pragma weak dladdr
#pragma weak dlsym
#pragma weak dl_iterate_phdr

static const char hp_images_our_name[] = "hotpath";

struct hp_images_notes {
    hp_image_visit *visit;
    void *context;
};

static size_t hp_images_round_up(size_t size, size_t step) { return (size + step - 1) & ~(step - 1); }

static void hp_images_follow(const ElfW(Nhdr) * note, const char *name, const char *target, const struct hp_images_notes *notes)
{
    int32_t distance;
    if (note->n_namesz != sizeof hp_images_our_name || note->n_descsz != sizeof distance || note->n_type != 1 ||
        memcmp(name, hp_images_our_name, sizeof hp_images_our_name) != 0)
        return;
    memcpy(&distance, target, sizeof distance);
    notes->visit(target + distance, notes->context);
}

static void hp_images_read_notes(const char *from, size_t size, size_t step, const struct hp_images_notes *notes)
{
    const char *end = from + size;
    while ((size_t)(end - from) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)from;
        const size_t name_bytes = hp_images_round_up(note->n_namesz, step);
        const size_t rest_bytes = hp_images_round_up(note->n_descsz, step);
        from += sizeof *note;
        if (name_bytes > (size_t)(end - from) || rest_bytes > (size_t)(end - from) - name_bytes)
            return;
        hp_images_follow(note, from, from + name_bytes, notes);
        from += name_bytes + rest_bytes;
    }
}

static int hp_images_look_at(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    for (size_t at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        if (part->p_type == PT_NOTE)
            hp_images_read_notes((const char *)(object->dlpi_addr + part->p_vaddr), part->p_memsz, part->p_align == 8 ? 8 : 4,
                       context);
    }
    return 0;
}

void hp_images_each_note(hp_image_visit *visit, void *context)
{
    struct hp_images_notes notes = {visit, context};
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(hp_images_look_at, &notes);
}

struct hp_images_place {
    uintptr_t address;
    bool is_in_program;
};

/* The first object is the program itself, which is never unloaded; the answer 1 ends the search there. */
static int hp_images_look_at_program(struct dl_phdr_info *object, size_t size, void *context)
{
    struct hp_images_place *place = context;
    (void)size;
    for (size_t at = 0; at < object->dlpi_phnum; at++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[at];
        const uintptr_t from = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && place->address >= from && place->address - from < part->p_memsz)
            place->is_in_program = true;
    }
    return 1;
}

/* By its name: where it is mentioned, linkers warn whoever links a static program, although none ever comes here. */
static void hp_images_reopen(const char *path, int flags)
{
    union {
        void *object;
        void *(*function)(const char *path, int flags);
    } open = {dlsym != NULL ? dlsym(RTLD_DEFAULT, "dlopen") : NULL};
    if (open.object != NULL)
        open.function(path, flags);
}

void hp_image_stay_loaded(const void *address)
{
    struct hp_images_place place = {(uintptr_t)address, dl_iterate_phdr == NULL};
    Dl_info object;
    if (dl_iterate_phdr != NULL)
        dl_iterate_phdr(hp_images_look_at_program, &place);
    if (!place.is_in_program && dladdr != NULL && dladdr(address, &object) != 0 && object.dli_fname != NULL)
        hp_images_reopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- src/os/memory.c ----------------------------------------------------------------------------------------- */

/* Private memory. */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void *hp_memory_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void hp_memory_unmap(void *memory, size_t size)
{
    if (memory != NULL)
        munmap(memory, size);
}

bool hp_memory_wipe_on_fork(void *memory, size_t size) { return madvise(memory, size, MADV_WIPEONFORK) == 0; }

/* linux/membarrier.h is not there for musl-gcc; these numbers are the kernel's ABI. */
enum { HP_MEMORY_MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, HP_MEMORY_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool hp_memory_barrier_everywhere(void)
{
#ifdef SYS_membarrier
    return syscall(SYS_membarrier, HP_MEMORY_MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, HP_MEMORY_MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) == 0;
#else
    return false;
#endif
}

/* ---- src/os/process.h ---------------------------------------------------------------------------------------- */

/* Facts about this process, this thread and this machine. */

/* The kernel's start time of a process (clock ticks since boot), 0 when there is no such process or no /proc. */
HP_PRIVATE uint64_t hp_process_start_time(uint32_t pid);

HP_PRIVATE bool hp_process_exists(uint32_t pid);

/*
 * Whether the process that was started then, in that pid namespace, is still there. From another namespace, or where its
 * start is not known, that cannot be told.
 */
enum hp_life { HP_LIFE_OVER, HP_LIFE_LIVE, HP_LIFE_UNKNOWN };
HP_PRIVATE enum hp_life hp_process_life(uint32_t pid, uint64_t start, uint32_t pid_namespace);

/* Whether this process has such a thread. */
HP_PRIVATE bool hp_process_has_thread(uint32_t thread_id);

/* The pid namespace this process is in, as a number; 0: not known. */
HP_PRIVATE uint32_t hp_process_namespace(void);

/* True in a program that got rights its caller does not have (setuid and the like). */
HP_PRIVATE bool hp_process_is_privileged(void);

/* The command line, arguments separated by spaces; the executable's path; both cut to `size`, ended by a zero. */
HP_PRIVATE void hp_process_command(char *text, size_t size);
HP_PRIVATE void hp_process_executable(char *text, size_t size);

/* "name", and "Linux 6.1.0 x86_64". */
HP_PRIVATE void hp_process_host(char *text, size_t size);
HP_PRIVATE void hp_process_system(char *text, size_t size);

HP_PRIVATE void hp_process_boot_id(unsigned char id[16]);
HP_PRIVATE uint32_t hp_process_cores(void);

/* The name of the calling thread as the kernel knows it. */
HP_PRIVATE void hp_process_thread_name(char name[16]);

/* A variable of the environment, or NULL. Reads the environment in place: no lock, no allocation. */
HP_PRIVATE const char *hp_environment(const char *name);

/* ---- src/os/process.c ---------------------------------------------------------------------------------------- */

/* Facts about the process. */

/* "/proc/PID/what"; a pid of 0 is this process. */
static void hp_process_proc_path(char path[64], uint32_t pid, const char *what)
{
    struct hp_text text;
    hp_text_init(&text, path, 64);
    hp_text_string(&text, "/proc/");
    if (pid == 0)
        hp_text_string(&text, "self");
    else
        hp_text_u64(&text, pid);
    hp_text_char(&text, '/');
    hp_text_string(&text, what);
    hp_text_end(&text);
}

uint64_t hp_process_start_time(uint32_t pid)
{
    char path[64], text[1024];
    hp_process_proc_path(path, pid, "stat");
    if (!hp_file_read_text(path, text, sizeof text))
        return 0;
    /* The name in field 2 may hold anything, so count from its closing bracket: field 22 is the 20th after. */
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    uint64_t start = 0;
    for (; at != NULL && *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    return start;
}

bool hp_process_exists(uint32_t pid) { return kill((pid_t)pid, 0) == 0 || errno == EPERM; }

enum hp_life hp_process_life(uint32_t pid, uint64_t start, uint32_t pid_namespace)
{
    if (start == 0 || pid == 0 || pid_namespace != hp_process_namespace())
        return HP_LIFE_UNKNOWN;
    return hp_process_exists(pid) && hp_process_start_time(pid) == start ? HP_LIFE_LIVE : HP_LIFE_OVER;
}

bool hp_process_has_thread(uint32_t thread_id)
{
    return syscall(SYS_tgkill, hp_sys_process_id(), thread_id, 0) == 0 || errno != ESRCH;
}

uint32_t hp_process_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint32_t)status.st_ino : 0;
}

bool hp_process_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

void hp_process_command(char *text, size_t size)
{
    const size_t length = hp_file_read_bytes("/proc/self/cmdline", text, size - 1);
    for (size_t at = 0; at + 1 < length; at++)
        if (text[at] == '\0')
            text[at] = ' ';
    text[length] = '\0';
}

void hp_process_executable(char *text, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", text, size - 1);
    text[length > 0 ? length : 0] = '\0';
}

void hp_process_host(char *text, size_t size)
{
    struct utsname names;
    struct hp_text out;
    hp_text_init(&out, text, size);
    if (uname(&names) == 0)
        hp_text_string(&out, names.nodename);
    hp_text_end(&out);
}

void hp_process_system(char *text, size_t size)
{
    struct utsname names;
    struct hp_text out;
    hp_text_init(&out, text, size);
    if (uname(&names) == 0) {
        hp_text_string(&out, names.sysname);
        hp_text_char(&out, ' ');
        hp_text_string(&out, names.release);
        hp_text_char(&out, ' ');
        hp_text_string(&out, names.machine);
    }
    hp_text_end(&out);
}

static int hp_process_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hp_process_boot_id(unsigned char id[16])
{
    char text[64];
    memset(id, 0, 16);
    if (!hp_file_read_text("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return;
    size_t nibbles = 0;
    for (const char *at = text; *at && nibbles < 32; at++) {
        const int digit = hp_process_hex_digit(*at);
        if (digit < 0)
            continue;
        id[nibbles / 2] = (unsigned char)(id[nibbles / 2] << 4 | digit);
        nibbles++;
    }
}

uint32_t hp_process_cores(void)
{
    unsigned long mask[64] = {0};
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    uint32_t cores = 0;
    for (size_t word = 0; bytes > 0 && word < (size_t)bytes / sizeof mask[0]; word++)
        cores += (uint32_t)__builtin_popcountl(mask[word]);
    return cores ? cores : 1;
}

void hp_process_thread_name(char name[16])
{
    memset(name, 0, 16);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    name[15] = '\0';
}

extern char **environ;

const char *hp_environment(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

/* ---- src/os/signals.c ---------------------------------------------------------------------------------------- */

/* Holding signals back, by the kernel's own 64-bit mask. */

static uint64_t hp_signals_bit(int signal) { return UINT64_C(1) << (signal - 1); }

static void hp_signals_set_mask(int how, uint64_t mask, uint64_t *ret_before)
{
    syscall(SYS_rt_sigprocmask, how, &mask, ret_before, sizeof mask);
}

void hp_signals_hold(struct hp_signals *held)
{
    /* Faults stay as they are: a held SIGSEGV would turn a crash into something else. */
    const uint64_t faults = hp_signals_bit(SIGSEGV) | hp_signals_bit(SIGBUS) | hp_signals_bit(SIGFPE) | hp_signals_bit(SIGILL) | hp_signals_bit(SIGTRAP) | hp_signals_bit(SIGABRT);
    held->before = 0;
    held->is_held = true;
    hp_signals_set_mask(SIG_BLOCK, ~faults, &held->before);
}

void hp_signals_release(const struct hp_signals *held) { hp_signals_set_mask(SIG_SETMASK, held->before, NULL); }

uint64_t hp_signals_pending(void)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return pending;
}

void hp_signals_swallow_write_errors(uint64_t pending_before)
{
    const uint64_t ours = (hp_signals_bit(SIGPIPE) | hp_signals_bit(SIGXFSZ)) & ~pending_before;
    const struct timespec at_once = {0, 0};
    if (ours != 0)
        while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, sizeof ours) > 0)
            ;
}

void hp_signals_raise_now(int signal)
{
    syscall(SYS_tgkill, hp_sys_process_id(), hp_sys_thread_id(), signal);
    hp_signals_set_mask(SIG_UNBLOCK, hp_signals_bit(signal), NULL);
}

/* ---- src/os/symbols.h ---------------------------------------------------------------------------------------- */

/*
 * Names of functions, from the ELF symbol tables of the program and the libraries it has loaded. The tables are read and
 * sorted once each; nothing is taken from the heap and no lock of the dynamic linker is asked for.
 * One thread at a time.
 */

struct hp_symbol {
    const char *name;  /* as the linker knows it */
    const char *file;  /* the source of a static function, as the compiler was told; "" where it is not known */
    const char *image; /* the path of the program or library; NULL where it is not known */
    uint64_t address;  /* that which was asked for, as the linker of that file gave it */
};

/* The function that `address` lies in. False: its image cannot be read, or has no such symbol. Texts stay valid. */
HP_PRIVATE bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol);

/* The file that is mapped at an address, and how far into it that is. False: none. The path is valid until the next call. */
HP_PRIVATE bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset);

/* ---- src/os/symbols.c ---------------------------------------------------------------------------------------- */

/*
 * Names of functions. /proc/self/maps says which file is mapped at an address, and where in the file that is; the file's
 * program headers turn this into the address the linker gave it, and its symbol table has the name.
 *
 * Where the path leads to another inode than is mapped, the file may have been replaced, or the file
 * system may show other numbers than it maps; then its code has to be the one in memory.
 *
 * All that is large is static, since a signal handler may come here on a small stack.
 */

#define HP_SYMBOLS_MAX_IMAGES 256u
#define HP_SYMBOLS_PATH_BYTES 512u
#define HP_SYMBOLS_CODE_BYTES 16u

/* One line of the map: a range of addresses and where in its file that begins. */
struct hp_symbols_mapping {
    uintptr_t from, to;
    uint64_t offset;
    uint64_t inode;
    char path[HP_SYMBOLS_PATH_BYTES];
};

struct hp_symbols_image {
    struct hp_symbols_mapping mapping; /* the range that was asked for first */
    struct stat status;     /* of the file, when it was read */
    struct hp_elf elf;
};

static struct hp_symbols_image *hp_symbols_images; /* MAX_IMAGES of them */
static uint32_t hp_symbols_image_count;

/* ----------------------------------------------------------------------------------------------- the map */

static const char *hp_symbols_read_hex(const char *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (;; at++) {
        const char c = *at;
        if (c >= '0' && c <= '9')
            number = number * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            number = number * 16 + (uint64_t)(c - 'a' + 10);
        else
            break;
    }
    *ret_number = number;
    return at;
}

/* "from-to rwxp offset major:minor inode   path", without its end. */
static bool hp_symbols_read_line(const char *line, struct hp_symbols_mapping *ret_mapping)
{
    uint64_t from, to, device;
    const char *at = hp_symbols_read_hex(line, &from);
    at = *at == '-' ? hp_symbols_read_hex(at + 1, &to) : NULL;
    if (at == NULL || *at != ' ')
        return false;
    at = strchr(at + 1, ' ');
    if (at == NULL)
        return false;
    at = hp_symbols_read_hex(at + 1, &ret_mapping->offset);
    at = hp_symbols_read_hex(at + 1, &device);
    at = hp_symbols_read_hex(at + 1, &device);
    uint64_t inode = 0;
    for (at++; *at >= '0' && *at <= '9'; at++)
        inode = inode * 10 + (uint64_t)(*at - '0');
    at += strspn(at, " ");
    const size_t length = strlen(at);
    if (*at != '/' || length >= HP_SYMBOLS_PATH_BYTES)
        return false;
    ret_mapping->from = (uintptr_t)from;
    ret_mapping->to = (uintptr_t)to;
    ret_mapping->inode = inode;
    memcpy(ret_mapping->path, at, length + 1);
    return true;
}

struct hp_symbols_map_reader {
    int fd;
    size_t length, at;
    char buffer[4096];
};

/* The next line, cut to `size`. False: there are no more. */
static bool hp_symbols_next_line(struct hp_symbols_map_reader *reader, char *line, size_t size)
{
    size_t length = 0;
    for (;;) {
        if (reader->at == reader->length) {
            const ssize_t got = hp_sys_read(reader->fd, reader->buffer, sizeof reader->buffer);
            if (got <= 0)
                return false;
            reader->length = (size_t)got;
            reader->at = 0;
        }
        const char c = reader->buffer[reader->at++];
        if (c == '\n')
            break;
        if (length + 1 < size)
            line[length++] = c;
    }
    line[length] = '\0';
    return true;
}

/* A file that is no longer where it was is known by the path it had. */
static void hp_symbols_strip_deleted(char *path)
{
    static const char mark[] = " (deleted)";
    if (hp_text_has_suffix(path, mark))
        path[strlen(path) - (sizeof mark - 1)] = '\0';
}

static bool hp_symbols_find_mapping(uintptr_t address, struct hp_symbols_mapping *ret_mapping)
{
    static struct hp_symbols_map_reader reader;
    static char line[HP_SYMBOLS_PATH_BYTES + 100];
    bool is_found = false;
    reader.length = reader.at = 0;
    reader.fd = hp_sys_open("/proc/self/maps", O_RDONLY, 0);
    if (reader.fd < 0)
        return false;
    while (!is_found && hp_symbols_next_line(&reader, line, sizeof line))
        is_found = hp_symbols_read_line(line, ret_mapping) && address >= ret_mapping->from && address < ret_mapping->to;
    hp_sys_close(reader.fd);
    if (is_found)
        hp_symbols_strip_deleted(ret_mapping->path);
    return is_found;
}

/* --------------------------------------------------------------------------------------------- the file */

/* Whether the file has the code that is in memory, but for a breakpoint or two. Not every code may be read as data. */
static bool hp_symbols_has_code(int fd, const struct hp_symbols_mapping *mapping, uintptr_t address)
{
    unsigned char here[HP_SYMBOLS_CODE_BYTES], there[HP_SYMBOLS_CODE_BYTES];
    unsigned differences = 0;
    const int memory = hp_sys_open("/proc/self/mem", O_RDONLY, 0);
    const bool is_read = memory >= 0 && hp_elf_read_at(memory, address, here, sizeof here) &&
                         hp_elf_read_at(fd, address - mapping->from + mapping->offset, there, sizeof there);
    if (memory >= 0)
        hp_sys_close(memory);
    for (size_t at = 0; is_read && at < sizeof here; at++)
        differences += here[at] != there[at];
    return is_read && differences <= 2;
}

static void hp_symbols_read_image(struct hp_symbols_image *image, uintptr_t address)
{
    const int fd = hp_sys_open(image->mapping.path, O_RDONLY | O_NOCTTY, 0);
    if (fd < 0)
        return;
    if (fstat(fd, &image->status) == 0 && S_ISREG(image->status.st_mode) &&
        (image->status.st_ino == image->mapping.inode || hp_symbols_has_code(fd, &image->mapping, address)))
        hp_elf_read(&image->elf, fd);
    hp_sys_close(fd);
}

/* ---------------------------------------------------------------------------------------------- finding */

/* A file that was written to since it was read is another one; one that is gone is still what it was. */
static bool hp_symbols_is_unchanged(const struct hp_symbols_image *image)
{
    struct stat now;
    if (stat(image->mapping.path, &now) != 0 || now.st_ino != image->status.st_ino)
        return true;
    return now.st_size == image->status.st_size && now.st_mtim.tv_sec == image->status.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == image->status.st_mtim.tv_nsec;
}

static struct hp_symbols_image *hp_symbols_known_image(const struct hp_symbols_mapping *mapping)
{
    for (uint32_t at = hp_symbols_image_count; at-- > 0;)
        if (hp_symbols_images[at].mapping.inode == mapping->inode && strcmp(hp_symbols_images[at].mapping.path, mapping->path) == 0)
            return hp_symbols_is_unchanged(&hp_symbols_images[at]) ? &hp_symbols_images[at] : NULL;
    return NULL;
}

static struct hp_symbols_image *hp_symbols_image_of(const struct hp_symbols_mapping *mapping, uintptr_t address)
{
    struct hp_symbols_image *image = hp_symbols_known_image(mapping);
    if (image != NULL)
        return image;
    if (hp_symbols_images == NULL)
        hp_symbols_images = hp_memory_map(HP_SYMBOLS_MAX_IMAGES * sizeof *hp_symbols_images);
    if (hp_symbols_images == NULL || hp_symbols_image_count == HP_SYMBOLS_MAX_IMAGES)
        return NULL;
    image = &hp_symbols_images[hp_symbols_image_count];
    memset(image, 0, sizeof *image);
    image->mapping = *mapping;
    hp_symbols_read_image(image, address);
    __atomic_store_n(&hp_symbols_image_count, hp_symbols_image_count + 1, __ATOMIC_RELEASE);
    return image;
}

/* The function that lies there, and which address the linker gave to that place. */
static const ElfW(Sym) *
    hp_symbols_symbol_in(const struct hp_symbols_image *image, const struct hp_symbols_mapping *mapping, uintptr_t address, uint64_t *ret_linked)
{
    if (!hp_elf_linked(&image->elf, address - mapping->from + mapping->offset, ret_linked))
        return NULL;
    const ElfW(Sym) *symbol = hp_elf_function(&image->elf, *ret_linked);
    return symbol != NULL && hp_elf_name(&image->elf, symbol)[0] != '\0' ? symbol : NULL;
}

/*
 * A function that begins at the address in an image that was there before: most likely it still is, which saves looking
 * at the map again. Where another library has taken its place, few of its functions begin where those of the old did.
 */
static const ElfW(Sym) * hp_symbols_symbol_where_it_was(uintptr_t address, struct hp_symbols_image **ret_image, uint64_t *ret_linked)
{
    for (uint32_t at = hp_symbols_image_count; at-- > 0;) {
        struct hp_symbols_image *image = &hp_symbols_images[at];
        if (address < image->mapping.from || address >= image->mapping.to)
            continue;
        const ElfW(Sym) *symbol = hp_symbols_symbol_in(image, &image->mapping, address, ret_linked);
        if (symbol != NULL && hp_elf_start(symbol) == *ret_linked) {
            *ret_image = image;
            return symbol;
        }
    }
    return NULL;
}

bool hp_symbol_find(uintptr_t address, struct hp_symbol *ret_symbol)
{
    static struct hp_symbols_mapping mapping;
    struct hp_symbols_image *image;
    uint64_t linked;
#if defined(__arm__)
    address &= ~(uintptr_t)1; /* tells the kind of code */
#endif
    const ElfW(Sym) *symbol = hp_symbols_symbol_where_it_was(address, &image, &linked);
    if (symbol == NULL) {
        image = hp_symbols_find_mapping(address, &mapping) ? hp_symbols_image_of(&mapping, address) : NULL;
        symbol = image != NULL ? hp_symbols_symbol_in(image, &mapping, address, &linked) : NULL;
    }
    if (symbol == NULL)
        return false;
    ret_symbol->name = hp_elf_name(&image->elf, symbol);
    ret_symbol->file = hp_elf_source(&image->elf, symbol);
    ret_symbol->image = image->mapping.path;
    ret_symbol->address = linked;
    return true;
}

bool hp_symbol_image(uintptr_t address, const char **ret_path, uint64_t *ret_offset)
{
    static struct hp_symbols_mapping mapping;
    if (!hp_symbols_find_mapping(address, &mapping))
        return false;
    *ret_path = mapping.path;
    *ret_offset = address - mapping.from + mapping.offset;
    return true;
}

/* ---- src/os/terminal.h --------------------------------------------------------------------------------------- */

/* Whether somebody looks at what is written, and how much fits. */

struct hp_terminal {
    uint32_t columns; /* 0: not a terminal, or of unknown width */
    bool has_color;
};

HP_PRIVATE struct hp_terminal hp_terminal_of(int fd);

/* ---- src/os/terminal.c --------------------------------------------------------------------------------------- */

/* Whether somebody looks at what is written. */

struct hp_terminal hp_terminal_of(int fd)
{
    struct winsize size;
    const char *kind = hp_environment("TERM");
    memset(&size, 0, sizeof size);
    const bool is_terminal = ioctl(fd, TIOCGWINSZ, &size) == 0;
    return (struct hp_terminal){.columns = size.ws_col,
                                .has_color = is_terminal && (kind == NULL || strcmp(kind, "dumb") != 0)};
}

/* ---- src/session/options.h ----------------------------------------------------------------------------------- */

/*
 * Options: one table says everything about each of them, and help, docs and the environment come from it.
 *
 * Two forms. `struct hotpath_options` (hotpath.h) is what a program passes: pointers, zero is default. `struct
 * hp_settings` is what the rest of hotpath works with: parsed, bounded, copied, no pointers, so that it can be
 * kept across fork and read in a signal handler. hp_settings_resolve goes from the one to the other: defaults,
 * then the program's options, then the environment. A variable that is empty counts as not set. A value that is
 * not allowed costs one warning and counts as not given: the program's value is used instead of the environment's,
 * the default instead of the program's.
 *
 * A list of patterns may name files (@PATH); they are read here, and the settings hold what was in them.
 *
 * Nothing here takes memory from the heap. The settings are large: keep them off small stacks.
 */

#define HP_MAX_PERCENTILES 10

enum hp_format { HP_FORMAT_TABLE, HP_FORMAT_JSON, HP_FORMAT_JSON_PRETTY, HP_FORMAT_NONE };

enum hp_by { HP_BY_FUNCTION, HP_BY_THREAD };

/* What a table of allocations leads with: bytes or numbers; all of what was allocated, or the most that lived at once. */
enum hp_alloc_metric { HP_ALLOC_BYTES_TOTAL, HP_ALLOC_BYTES_MAX, HP_ALLOC_COUNT_TOTAL, HP_ALLOC_COUNT_MAX };

/* As users write it: "bytes-total". */
HP_PRIVATE const char *hp_alloc_metric_name(uint32_t metric);

/* What samples processor time: the best there is, or timers alone. */
enum hp_cpu_engine_choice { HP_CPU_ENGINE_AUTO, HP_CPU_ENGINE_TIMERS };

/* What is recorded. Allocations are where malloc is watched (src/record/allocations.h). */
#define HP_RECORD_TIMING 1u
#define HP_RECORD_ALLOC 2u
#define HP_RECORD_CPU 4u
#define HP_RECORD_USUAL (HP_RECORD_TIMING | HP_RECORD_ALLOC) /* by HOTPATH=1; processor time only if it is named */

#define HP_MAX_CPU_RATE 10000u

struct hp_settings {
    double percentiles[HP_MAX_PERCENTILES]; /* ascending, no two alike */
    double min_percent;                     /* rows with a smaller share are not shown; 0: all are */
    uint32_t percentile_count;
    uint32_t format;       /* enum hp_format */
    uint32_t by;           /* enum hp_by: what a row of the sections about functions is about */
    uint32_t alloc_metric; /* enum hp_alloc_metric */
    uint32_t cpu_engine;   /* enum hp_cpu_engine_choice */
    uint32_t record;       /* HP_RECORD_... bits; 0: record nothing */
    bool record_is_set;    /* HOTPATH was given in the environment, and not 0: record without HOTPATH_MAIN */
    bool record_is_off;    /* HOTPATH=0: record nothing, whatever the program says; also when it says so itself */
    bool record_is_list;   /* the value that holds is a list of names */
    bool alloc_is_asked;   /* the program or the environment names allocations in such a list */
    bool exclude_wrapper;
    bool time_exclusive;
    bool alloc_cumulative;
    bool cpu; /* as it was given; what holds is in `record` */
    bool cpu_inclusive;
    bool leave_signals;
    bool reserve;
    bool no_color;            /* NO_COLOR is set and not empty */
    bool is_run;              /* HOTPATH_RUN: another process reports at the end */
    uint32_t functions_limit; /* HOTPATH_NO_LIMIT for all rows; HOTPATH_LIMIT is worked in */
    uint32_t calltree_limit;
    uint32_t logs_limit;  /* latest calls of a function; not a limit of rows, so HOTPATH_LIMIT leaves it alone */
    uint32_t shutdown_ms; /* 0: never */
    uint32_t keep;
    uint32_t time_period;     /* one call in so many is timed; 1: all */
    uint32_t cpu_rate;        /* from 1 to HP_MAX_CPU_RATE */
    uint32_t measuring_bound; /* percent; 0: none */
    uint32_t keys_limit;
    uint64_t max_bytes; /* 0: choose from what is free */
    char output_path[1024];
    char dir[1024];
    char report[256];  /* as in hotpath.h, without blanks; not checked against the sections there are */
    char columns[256]; /* likewise; empty: the usual ones */
    char sort[64];     /* likewise one column, perhaps with a minus in front; empty: the usual order */
    char slowest[256]; /* hp_pattern_compile accepts it; empty: no slowest call is shown */
    char focus[HP_PATTERN_LIST_BYTES];  /* hp_pattern_list_compile accepts it; what files held is in it */
    char filter[HP_PATTERN_LIST_BYTES]; /* likewise */
    char skip[HP_PATTERN_LIST_BYTES];   /* likewise */
    char log[HP_PATTERN_LIST_BYTES];    /* likewise */
    char label[256];
    char metadata[1024]; /* "key=value,key=value", no blanks around the pairs, no empty key */
};

/* Looks a variable up: getenv, or a stand-in for tests. */
typedef const char *hp_lookup(const char *name, void *context);
/* Receives one warning: a whole line without its end. */
typedef void hp_warn(const char *line, void *context);

/*
 * Fills in `settings`. `options` may be NULL, and is read no further than its size says: check it with
 * hp_options_are_known before. `warn` may be NULL; nothing it is given lives longer than the call.
 */
HP_PRIVATE void hp_settings_resolve(struct hp_settings *settings, const struct hotpath_options *options, hp_lookup *lookup,
                         void *lookup_context, hp_warn *warn, void *warn_context);

/*
 * True when every byte of `options` means something to this library: its size is at least that of the first
 * version, and what lies beyond the fields known here, which a newer program may have set, is zero. NULL is known.
 */
HP_PRIVATE bool hp_options_are_known(const struct hotpath_options *options);

/* Types of values, for help and the command line. The type says what the field in the program's struct is. */
enum hp_option_type {
    HP_OPTION_TEXT,   /* const char * */
    HP_OPTION_CHOICE, /* const char *, one of a few words */
    HP_OPTION_COUNT,  /* uint32_t */
    HP_OPTION_LIMIT,  /* uint32_t: a program says HOTPATH_NO_LIMIT where the environment says 0 */
    HP_OPTION_BYTES,  /* uint64_t */
    HP_OPTION_NUMBER, /* double */
    HP_OPTION_FLAG    /* uint8_t */
};

/* What an option is about: which commands of the program take it as a flag. */
enum hp_option_scope {
    HP_SCOPE_RECORD = 1, /* what is recorded, and where */
    HP_SCOPE_SHOW = 2,   /* what of it is shown */
    HP_SCOPE_OUTPUT = 4, /* how and where */
    HP_SCOPE_FOLDER = 8  /* where sessions are */
};

struct hp_text;

struct hp_option {
    const char *variable; /* HOTPATH_LIMIT */
    const char *field;    /* limit: field of struct hotpath_options; NULL when there is none (NO_COLOR) */
    const char *flag;     /* limit: --limit on the command line; NULL when there is none */
    char letter;          /* n: -n; 0 when there is none */
    uint32_t scope;       /* enum hp_option_scope; one or several */
    const char *value;    /* how the value is called in help: "N", "PATH", "table|json|json-pretty|none" */
    const char *initial;  /* the default, as a user would write it; "" for none */
    const char *unset;    /* what holds when there is no default, as it follows "using": "stderr" */
    const char *help;     /* one sentence */
    enum hp_option_type type;
    /* private to options.c from here on */
    size_t options_offset;
    size_t settings_offset;
    size_t settings_size;
    bool (*parse)(const struct hp_option *option, const char *text, struct hp_settings *settings,
                  struct hp_text *ret_problem);
};

HP_SHARED const struct hp_option hotpath_options_[];
HP_SHARED const size_t hotpath_option_count_;

/* Whether a value is allowed. If not, `problem` gets the end of a sentence that begins with the value. */
HP_PRIVATE bool hp_option_accepts(const struct hp_option *option, const char *value, char *problem, size_t size);

/* ---- src/session/layout.h ------------------------------------------------------------------------------------ */

/*
 * The session file, byte by byte. docs/session-format.md is the manual; this is the source of truth.
 *
 *   header (4096 bytes) | arena: everything else, in any order, found through offsets from the file's start
 *
 * The arena only grows: `used` moves up by compare-and-swap, nothing is ever freed. An offset of 0 means
 * "none" (the header is there). Offsets are 32 bits wide, so a session is smaller than 4 GiB.
 *
 *   header ─▶ site chunks ─▶ sites ─▶ strings
 *          └▶ threads (a list) ─▶ frames (open zones, an array)
 *                              ├▶ node chunks (a list) ─▶ nodes: the call tree
 *                              └▶ stats (a list) ─▶ octaves: the histograms
 *                                               ├▶ log: the latest calls ─▶ notes
 *                                               ├▶ slowest: the slowest call, with what was inside
 *                                               └▶ alloc: what its calls allocated ─▶ octaves
 *                              ├▶ alloc: what the thread allocates ─▶ frames of that (beside those of zones)
 *                              └▶ cpu: its processor time ─▶ table: by node
 *                                                         └▶ sample chunks: the latest samples
 *          └▶ waits: what threads waited for, by node
 *
 * Who writes: the header's plain fields are written once, before the file gets its name; its counters by
 * any thread, atomically; a thread record and everything below it by its thread alone. Who reads: anyone, at any
 * time, through snapshot.h, which trusts nothing it finds.
 *
 * The structs shared with the inline part (frames, nodes, stats) are in hotpath.h.
 */

#define HP_MAGIC "hotpath" /* with its final zero: 8 bytes */
#define HP_BYTE_ORDER 0x01020304u
#define HP_LAYOUT_VERSION 4u /* readers refuse any other */

#define HP_HEADER_BYTES 4096u
#define HP_HEADER_USED 1488u /* bytes of the header that have a meaning */
#define HP_SITES_PER_CHUNK 1024u
#define HP_SITE_CHUNKS 256u
#define HP_MAX_SITES (HP_SITES_PER_CHUNK * HP_SITE_CHUNKS)
#define HP_MIN_BYTES (256u << 10) /* the smallest session that is worth starting */

#define HP_GATE_PAUSED 0x40000000u /* bit in `gate`, set and taken away from outside: nothing new is recorded */
#define HP_GATE_GONE 0x7fffffffu   /* `gate` of a range that has no session and never will */

/* Feature bits: what kinds of records the file may hold. A reader ignores those it does not know. */
#define HP_FEATURE_TIMING 1u
#define HP_FEATURE_ALLOC 2u /* allocations were counted */
#define HP_FEATURE_CPU 4u   /* processor time was sampled */

enum hp_state {
    HP_STATE_LIVE = 1,    /* the process runs, or was killed: ask the kernel which */
    HP_STATE_FINISHED = 2 /* hotpath_stop or exit: the numbers are final */
};

enum hp_clock_kind {
    HP_CLOCK_MONOTONIC = 1, /* clock_gettime: a tick is a nanosecond */
    HP_CLOCK_TSC = 2,
    HP_CLOCK_CNTVCT = 3,
    HP_CLOCK_RDTIME = 4
};
/* Each is a counter of the CPU, or none: the two lists go side by side. */
_Static_assert(HP_CLOCK_TSC - HP_CLOCK_MONOTONIC == HP_COUNTER_TSC && HP_COUNTER_NONE == 0, "side by side");
_Static_assert(HP_CLOCK_RDTIME - HP_CLOCK_MONOTONIC == HP_COUNTER_RDTIME, "side by side");
static inline uint32_t hp_clock_kind_of(enum hp_counter counter) { return HP_CLOCK_MONOTONIC + (uint32_t)counter; }

/* Ticks and CLOCK_MONOTONIC nanoseconds taken at the same moment. */
struct hp_clock_pair {
    uint64_t ticks;
    uint64_t ns;
};

/* What could not be recorded, by reason. Counters; zero is the normal state and is not shown. */
enum hp_loss {
    HP_LOSS_ZONES,     /* zones that found no thread record */
    HP_LOSS_NODES,     /* zones counted under <other>: no space or too many nodes */
    HP_LOSS_BUCKETS,   /* durations that are in no histogram: no space for an octave */
    HP_LOSS_SITES,     /* sites that found no space */
    HP_LOSS_ABANDONED, /* zones left by longjmp and the like: timed up to their last sign */
    HP_LOSS_FOREIGN,   /* zones closed on another thread, or twice */
    HP_LOSS_DEPTH,     /* zones deeper than the stack of zones can grow */
    HP_LOSS_CLOCK,     /* durations below zero, clamped */
    HP_LOSS_CHILDREN,  /* forked children that could not begin a session */
    HP_LOSS_CALLS,     /* calls that were to be kept and found no space */
    HP_LOSS_ALLOCS,    /* calls whose allocations are in no row: no space */
    HP_LOSS_SAMPLES,   /* samples for whose zone there was no space: their time is counted as outside of all */
    HP_LOSSES = 16     /* room for more */
};

struct hp_header {
    char magic[8];
    uint32_t byte_order;
    uint32_t version;
    uint32_t header_bytes;
    uint32_t features;
    uint64_t capacity; /* bytes the mapping may grow to */
    uint64_t used;     /* arena: first free byte */
    uint64_t backed;   /* bytes reserved on disk so far */

    uint32_t gate;  /* what heads compare with their epoch: 0 over, the session's number on, other bits: ask */
    uint32_t state; /* enum hp_state */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start; /* kernel's start time of the process: tells a reused pid apart */
    uint32_t exec_count;    /* sessions of this process before this one */
    uint32_t main_site;     /* id of the 100 % row; 0xffffffff when there is none */
    uint64_t wall_start_ns; /* CLOCK_REALTIME */
    unsigned char boot_id[16];

    uint32_t clock_kind; /* enum hp_clock_kind */
    uint32_t cores;
    struct hp_clock_pair clock_start;
    struct hp_clock_pair clock_latest; /* refreshed now and then, and at the end */
    uint64_t zone_cost_ps;             /* picoseconds one empty zone takes in all, measured at start */
    uint64_t zone_inner_ps;            /* the part of it that its own duration includes */

    uint32_t site_count;   /* ids handed out; a chunk may lag behind for an instant */
    uint32_t threads;      /* offset of the first thread record */
    uint32_t thread_count; /* thread records */
    uint32_t threads_seen; /* threads that ever recorded */

    /* Offsets of strings (see hp_string). */
    uint32_t command;
    uint32_t executable;
    uint32_t host;
    uint32_t system; /* kernel and CPU architecture */
    uint32_t label;
    uint32_t metadata;
    uint32_t library;       /* hotpath version and the compiler it was built with */
    uint32_t pid_namespace; /* in which `pid` means something; 0: not known */

    uint64_t losses[HP_LOSSES];

    uint32_t site_chunks[HP_SITE_CHUNKS]; /* offsets of hp_site[HP_SITES_PER_CHUNK] */
    uint32_t time_period;                 /* one call in so many is timed; 0 and 1: all are */
    uint32_t filter; /* offsets of strings: HOTPATH_FILTER and HOTPATH_SKIP, without which more would be there */
    uint32_t skip;
    uint32_t pools;      /* offset of the newest hp_pool */
    int64_t alloc_live;  /* usable bytes that live, of all threads, as far as they have told: see hp_alloc_thread */
    int64_t alloc_peak;  /* the highest that was */
    uint64_t late_count; /* allocations on threads that have no record, or no longer */
    uint64_t late_bytes; /* asked for */
    uint64_t late_usable;  /* the same in usable bytes */
    uint64_t late_frees;   /* blocks freed there */
    uint64_t late_freed;   /* usable bytes */
    uint64_t alloc_failed; /* allocations that the host was refused; in no other number */
    uint32_t cpu_engine;   /* enum hp_cpu_engine */
    uint32_t cpu_rate;     /* samples for a second of processor time, as asked for */
    uint64_t cpu_start_ns; /* processor time of the whole process when the session began ... */
    uint64_t cpu_start_kernel_ns;
    uint64_t cpu_latest_ns; /* ... and at clock_latest */
    uint64_t cpu_latest_kernel_ns;
    uint32_t waits;       /* offset of hp_waits; 0: nobody was to watch */
    uint32_t cpu_refusal; /* errno with which the kernel refused perf; 0: it did not, or was not asked */
    unsigned char reserved[HP_HEADER_BYTES - HP_HEADER_USED];
};

/* A string: length, then bytes, then a zero that is not counted. */
struct hp_string {
    uint32_t length;
    char bytes[4];
};

struct hp_site {
    uint32_t name;     /* offset of a string; 0 while the site is being written */
    uint32_t function; /* offset of a string */
    uint32_t file;     /* offset of a string */
    uint32_t line;
    uint32_t kind;  /* HOTPATH_KIND_... */
    uint32_t image; /* offset of a string: the file of a function that the compiler measures; 0: not known */
    uint32_t address_low, address_high; /* where in it: as in its table of symbols */
};

enum hp_thread_state {
    HP_THREAD_FREE = 0, /* its thread ended; the next new one goes on with it */
    HP_THREAD_LIVE = 1
};

struct hp_thread {
    uint32_t next;       /* offset of the next thread record */
    uint32_t state;      /* enum hp_thread_state */
    uint32_t tid;        /* of the thread that writes, or wrote last */
    uint32_t generation; /* how many threads have written here */
    uint32_t frames;     /* offset of hotpath_frame_[frame_capacity]; frame 0 is the thread itself */
    uint32_t frame_capacity;
    uint32_t root;        /* offset of the root node */
    uint32_t other;       /* offset of the <other> node */
    uint32_t node_chunks; /* offset of the newest hp_node_chunk */
    uint32_t stats;       /* offset of the newest hotpath_stat_ */
    uint32_t node_count;
    uint32_t stat_count;
    uint64_t first_tick; /* when the present thread began to record */
    char name[16];       /* as the kernel knows it */
    uint32_t blank_stat; /* offset of a stat without octaves, for frames with HOTPATH_KEPT_; 0: none yet */
    uint32_t alloc;      /* offset of hp_alloc_thread; 0: nothing was allocated or freed here */
    uint32_t cpu;        /* offset of hp_cpu_thread; 0: its processor time was not sampled */
    uint32_t reserved[7];
};

/* `used` nodes are valid; a reader may see a count that is one too small. */
struct hp_node_chunk {
    uint32_t next; /* offset of an older chunk */
    uint32_t capacity;
    uint32_t used;
    uint32_t reserved[13];
    struct hotpath_node_ nodes[];
};

/* --- more than numbers of a call */

#define HP_NOTE_BYTES 200u /* longest note, without an end mark: its length is kept beside it */

/* One call that has ended. */
struct hp_call {
    uint64_t start; /* ticks */
    uint64_t ticks; /* how long it took */
    uint32_t node;
    uint32_t tid;
    uint32_t note; /* offset of HP_NOTE_BYTES bytes that belong to this place in the log, or 0 */
    uint32_t note_length;
    uint64_t alloc_bytes; /* asked for, in this call and what it called */
    uint64_t alloc_count;
};

/*
 * The latest calls of a site in one thread record: the call number n (from 0) is at n % capacity. One place more than calls
 * are asked for, since the one after the latest may be half written; `count` is raised when a call is in its place.
 */
struct hp_call_log {
    uint64_t count; /* calls that were ever written */
    uint32_t capacity;
    uint32_t reserved;
    struct hp_call calls[];
};

/* A path of calls inside a slow call: what the calls of one node, made within it, took together. */
struct hp_slow_row {
    uint32_t node;
    uint32_t note; /* offset, within the notes of the slow call, of that of the last such call that had one; */
    uint32_t note_length; /* 0: no note */
    uint32_t is_sampled;  /* not all of the calls were timed; times are scaled up */
    uint64_t calls;
    uint64_t total; /* ticks, without those of calls inside other calls of the same site */
    uint64_t self;
};

/* A slow call. Behind it are its rows, parents before their children, then `note_bytes` of notes. */
struct hp_slow_call {
    struct hp_call call; /* `note` is an offset within the notes */
    uint64_t self;       /* ticks of it outside of zones inside */
    uint32_t row_count;
    uint32_t rows_left_out; /* for which there was no space: the smallest */
    uint32_t note_bytes;
    uint32_t reserved;
};

/* The slowest call of a site in one thread record, in one of two places, so that one is whole at any time. */
struct hp_slowest {
    uint32_t number;   /* how many there were; the latest is in calls[number % 2]; 0: none yet */
    uint32_t calls[2]; /* offsets of hp_slow_call */
    uint32_t bytes[2]; /* what these places hold */
    uint32_t reserved[3];
};

/* --- allocations */

/*
 * What a thread allocates and frees. malloc and free touch the first 64 bytes, and the frame of the innermost zone to see
 * whether it has an hp_alloc_frame. What lives is counted in usable bytes, which are all that is known when a block is
 * freed: `usable - freed`, and `count - freed_count` blocks. Both are negative in threads that free what others have allocated.
 */
struct hp_alloc_thread {
    uint64_t count;       /* allocations */
    uint64_t bytes;       /* asked for */
    uint64_t usable;      /* the same in usable bytes */
    uint64_t freed_count; /* blocks */
    uint64_t freed;       /* usable bytes */
    int64_t peak_live;    /* the most that lived since the innermost zone began that has an hp_alloc_frame */
    int64_t peak_blocks;
    int64_t
        published; /* of what lives, what is in the header's sum: never far from it where there are more threads */

    uint64_t foreign_count; /* blocks freed here that other threads had allocated */
    uint64_t foreign_bytes; /* usable */
    uint32_t frames;        /* offset of hp_alloc_frame[frame_capacity of the thread record] */
    uint32_t reserved[11];
};

static inline int64_t hp_alloc_live(const struct hp_alloc_thread *thread)
{
    return (int64_t)(thread->usable - thread->freed);
}

static inline int64_t hp_alloc_live_blocks(const struct hp_alloc_thread *thread)
{
    return (int64_t)(thread->count - thread->freed_count);
}

/*
 * How far what lives may be from what the header knows of it, per thread. Small, since the peak of the process is only as good
 * as this; large enough that what comes and goes in a loop does not touch what all threads share.
 */
#define HP_ALLOC_UNPUBLISHED 32768

/*
 * What the thread's counters were when an open zone began. Made by the first allocation or free inside a zone, for that
 * zone and all around it that have none yet: until then nothing has changed since they began. A frame that has one bears
 * HOTPATH_ALLOCATES_; frame 0 stands for what is outside of all zones.
 */
struct hp_alloc_frame {
    uint64_t count;
    uint64_t bytes;
    int64_t live;      /* usable - freed */
    int64_t blocks;    /* count - freed_count */
    int64_t peak_live; /* of the zone around it, up to then */
    int64_t peak_blocks;
    uint64_t inner_count; /* what zones directly inside that have ended allocated, and those inside them */
    uint64_t inner_bytes;
};

/* What is told of a call. Each has a histogram of its own, with octaves as in hotpath_stat_. */
enum hp_alloc_measure {
    HP_ALLOC_OWN_BYTES, /* asked for by the call itself, not by zones inside */
    HP_ALLOC_OWN_COUNT,
    HP_ALLOC_ALL_BYTES, /* with zones inside */
    HP_ALLOC_ALL_COUNT,
    HP_ALLOC_PEAK_BYTES, /* most usable bytes that lived at once, beyond those at its beginning, zones inside included */
    HP_ALLOC_PEAK_BLOCKS,
    HP_ALLOC_MEASURES
};

/* What calls of a site allocated, in one thread record. Calls without an hp_alloc_frame are not here: all theirs is 0. */
struct hp_alloc_stat {
    uint64_t calls;     /* that allocated or freed */
    uint64_t own_bytes; /* sums over all calls */
    uint64_t own_count;
    uint64_t all_bytes; /* sums over calls that were not inside another call of the site */
    uint64_t all_count;
    int64_t net_bytes; /* usable bytes that such calls left behind */
    int64_t net_blocks;
    uint64_t missed; /* values that found no space for their octave */
    uint64_t max[HP_ALLOC_MEASURES];
    uint32_t octaves[HP_ALLOC_MEASURES][HOTPATH_OCTAVES_];
};

/* Memory that the program hands out itself, by name (hotpath_alloc_event). Written by any thread, atomically. */
struct hp_pool {
    uint32_t next; /* offset of an older one */
    uint32_t name; /* offset of a string */
    uint64_t count;
    uint64_t bytes;
    uint64_t freed_count;
    uint64_t freed_bytes;
    int64_t live; /* bytes */
    int64_t peak_live;
    int64_t peak_blocks;
};

/* --- processor time */

enum hp_cpu_engine {
    HP_CPU_NONE = 0,
    HP_CPU_TIMERS =
        1, /* a timer on each thread's processor clock: fires on the kernel's ticks, in user and kernel mode */
    HP_CPU_PERF = 2 /* the same, and samples of user mode by perf's clock, which are not bound to ticks */
};

/*
 * The processor time of a thread, and of those before it with the same record. All of it was measured by the thread's clock;
 * samples only say which nodes it is credited to: what has passed since the last one, to where the thread is found. What is
 * not credited yet (the time since the last sample of a thread that has ended) waits for the next sample.
 */
struct hp_cpu_thread {
    uint64_t user_ns; /* measured so far, credited or not */
    uint64_t kernel_ns;
    uint64_t waiting_user_ns; /* of that, not credited yet */
    uint64_t waiting_kernel_ns;
    uint64_t samples;      /* taken, by either means; */
    uint64_t perf_samples; /* of these, by perf */
    uint64_t recorded;     /* samples that went into the chunks, those included that were written over */
    uint32_t table;        /* offset of hp_cpu_table */
    uint32_t chunk;        /* offset of the hp_sample_chunk that is being filled */
    uint32_t chunk_count;
    uint32_t last_node; /* where it was found last; 0: never yet */
    uint32_t reserved[14];
};

/* What was credited to a node. */
struct hp_cpu_node {
    uint32_t node; /* offset; 0: this place is free */
    uint32_t reserved;
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
    /*
     * Of recursive calls: samples taken in a call further in that was folded onto a node further out, so that this one is
     * not above it in the tree, though its call is on the stack.
     */
    uint64_t also_samples;
    uint64_t also_ns;
};

/* Open addressing: a node is at its hash or after that. A larger table replaces a full one. */
struct hp_cpu_table {
    uint32_t capacity; /* a power of two */
    uint32_t used;
    uint32_t reserved[6];
    struct hp_cpu_node nodes[];
};

enum hp_sample_kind { HP_SAMPLE_TIMER = 1, HP_SAMPLE_PERF = 2 };

/* One sample. */
struct hp_sample {
    uint64_t ticks; /* when */
    uint32_t node;
    uint32_t tid;
    uint32_t stack; /* offset of the addresses on the thread's stack; 0: not recorded */
    uint32_t kind;  /* enum hp_sample_kind */
};

/*
 * The latest samples of a thread record, in chunks that form a ring: `next` of the one that is being filled is the oldest,
 * which is used again when there is to be no further one. The number of a sample within its thread is `first` plus its place.
 */
struct hp_sample_chunk {
    uint32_t next;
    uint32_t capacity;
    uint32_t used;
    uint32_t reserved;
    uint64_t first;
    uint64_t reserved_too;
    struct hp_sample samples[];
};

/* --- waiting */

enum hp_wait_cause {
    HP_WAIT_OTHER,     /* a system call that is none of the following */
    HP_WAIT_RUN_QUEUE, /* ready to run, with no processor to run on */
    HP_WAIT_LOCK,      /* futex: mutexes, condition variables, the end of a thread */
    HP_WAIT_SLEEP,     /* nanosleep and the like */
    HP_WAIT_POLL,      /* poll, select, epoll_wait: one of several descriptors */
    HP_WAIT_DISK,      /* a file system or a block device */
    HP_WAIT_SOCKET,
    HP_WAIT_PIPE,
    HP_WAIT_TERMINAL,
    HP_WAIT_CHILD,   /* the end of a process */
    HP_WAIT_SIGNAL,  /* sigwait, pause */
    HP_WAIT_FAULT,   /* a page that had to be read */
    HP_WAIT_STOPPED, /* by a signal, or by a debugger */
    HP_WAIT_CAUSES
};

/* What threads waited for at one place. */
struct hp_wait {
    uint32_t
        node; /* of the innermost open zone; of the root of the thread's tree: outside of all; 0: a thread without record */
    uint32_t cause; /* enum hp_wait_cause */
    int32_t call;   /* number of the system call; -1: none */
    uint32_t looks; /* how often it was found so */
    uint64_t ns;
    char what[40]; /* the file, socket or pipe, if known: its end, if it is longer; filled up with zeros */
};

/*
 * Written from outside by whoever watches the process (`hotpath run`), or by a thread of the library; by one of them at a
 * time. The place is made when the session begins, since nobody else may make space in it.
 */
struct hp_waits {
    uint32_t capacity;
    uint32_t used;        /* entries that are valid: raised when an entry is written */
    uint32_t watcher;     /* process that watches, or did; 0: nobody came */
    uint32_t period_us;   /* between two looks, as it was last */
    uint64_t looks;       /* at threads */
    uint64_t watched_ns;  /* time of threads that was watched: run, ready to run, or waiting */
    uint64_t left_out_ns; /* waiting for which there was no entry left */
    uint64_t watcher_ns;  /* processor time that watching took */
    uint32_t reserved[4];
    struct hp_wait all[];
};

/* Site ids of nodes that stand for no place in code. */
#define HP_SITE_ROOT 0xffffffffu
#define HP_SITE_OTHER 0xfffffffeu

_Static_assert(sizeof(struct hp_header) == HP_HEADER_BYTES, "the header is one page");
_Static_assert(offsetof(struct hp_header, gate) == HOTPATH_GATE_, "inline code looks there");
_Static_assert(sizeof(struct hotpath_frame_) == 32, "part of the file");
_Static_assert(sizeof(struct hotpath_node_) == 64, "part of the file");
_Static_assert(sizeof(struct hotpath_stat_) == 312, "part of the file");
_Static_assert(sizeof(struct hp_site) == 32, "part of the file");
_Static_assert(sizeof(struct hp_thread) == 112, "part of the file");
_Static_assert(sizeof(struct hp_node_chunk) == 64, "part of the file");
_Static_assert(sizeof(struct hp_call) == 48 && sizeof(struct hp_call_log) == 16, "part of the file");
_Static_assert(sizeof(struct hp_slow_row) == 40 && sizeof(struct hp_slow_call) == 72, "part of the file");
_Static_assert(sizeof(struct hp_slowest) == 32, "part of the file");
_Static_assert(sizeof(struct hp_alloc_thread) == 128 && offsetof(struct hp_alloc_thread, foreign_count) == 64,
               "part of the file");
_Static_assert(sizeof(struct hp_alloc_frame) == 2 * sizeof(struct hotpath_frame_), "recorders compute with that");
_Static_assert(sizeof(struct hp_cpu_thread) == 128 && sizeof(struct hp_cpu_node) == 48, "part of the file");
_Static_assert(sizeof(struct hp_cpu_table) == 32 && sizeof(struct hp_sample) == 24, "part of the file");
_Static_assert(sizeof(struct hp_sample_chunk) == 32 && sizeof(struct hp_wait) == 64, "part of the file");
_Static_assert(sizeof(struct hp_waits) == 64, "part of the file");
_Static_assert(sizeof(struct hp_alloc_stat) == 1504 && sizeof(struct hp_pool) == 64, "part of the file");

/* ---- src/session/options.c ----------------------------------------------------------------------------------- */

/*
 * The table of options, the parsers of their values, and the way from all sources to one struct of settings.
 *
 * Values are applied level by level (defaults, program, environment) and, within a level, in the order of the
 * table. That alone makes HOTPATH_LIMIT work: it stands before the limits of single sections and sets them all, so
 * that a single one overrules it within its own level and is overruled by it from the next. Warnings are written
 * when all levels are done, because only then is it known what is used instead.
 *
 * A parser writes to the settings when all is well, and otherwise says what is wrong as the end of a sentence that
 * begins with the value: "is not a number". So a value that failed can be parsed again for its sentence.
 */

#define HP_OPTIONS_PROBLEM_BYTES 360
#define HP_OPTIONS_LINE_BYTES 640
#define HP_OPTIONS_SHOWN_BYTES 40
#define HP_OPTIONS_LIST_FILE_BYTES 65536 /* of a file of patterns */

/* ---------------------------------------------------------------------------------------------- parsers */

static bool hp_options_complain(struct hp_text *problem, const char *what)
{
    hp_text_string(problem, what);
    return false;
}

static void *hp_options_setting(const struct hp_option *option, struct hp_settings *settings)
{
    return (char *)settings + option->settings_offset;
}

static bool hp_options_complain_too_long(struct hp_text *problem, const struct hp_option *option)
{
    hp_text_string(problem, "is longer than ");
    hp_text_u64(problem, option->settings_size - 1);
    hp_text_string(problem, " bytes");
    return false;
}

static bool hp_options_parse_text(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    const size_t length = strlen(text);
    if (length >= option->settings_size)
        return hp_options_complain_too_long(ret_problem, option);
    memcpy(hp_options_setting(option, settings), text, length + 1);
    return true;
}

static bool hp_options_parse_pattern(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    struct hp_pattern pattern;
    if (strlen(text) >= option->settings_size)
        return hp_options_complain_too_long(ret_problem, option);
    const char *error = hp_pattern_compile(&pattern, text);
    if (!error)
        return hp_options_parse_text(option, text, settings, ret_problem);
    hp_text_string(ret_problem, "is not a text or /regex/: ");
    hp_text_string(ret_problem, error);
    return false;
}

_Static_assert(sizeof((struct hp_settings *)0)->slowest == HP_PATTERN_BYTES, "every name fits into a pattern");

/* ---------------------------------------------------------------------------------- lists of patterns */

/* Bytes of a value as one can show them on any terminal and in any log. */
static void hp_options_add_shown(struct hp_text *line, const char *value)
{
    size_t shown = 0;
    for (; value[shown] && shown < HP_OPTIONS_SHOWN_BYTES; shown++) {
        const unsigned char byte = (unsigned char)value[shown];
        if (byte >= ' ' && byte <= '~') {
            hp_text_char(line, (char)byte);
        } else {
            hp_text_string(line, "\\x");
            hp_text_hex(line, byte, 2);
        }
    }
    if (value[shown])
        hp_text_string(line, "...");
}

/* What reading a list takes: too much for a stack. */
struct hp_options_list_reader {
    struct hp_text *problem;
    struct hp_text list;
    char list_bytes[HP_PATTERN_LIST_BYTES];
    struct hp_pattern scratch;
    char path[1024];
    char file[HP_OPTIONS_LIST_FILE_BYTES + 1];
};

/* "line 3 of 'functions.txt': ", or without a line "the file 'functions.txt' " */
static bool hp_options_complain_about_file(const struct hp_options_list_reader *reader, size_t line, const char *what)
{
    struct hp_text *problem = reader->problem;
    hp_text_string(problem, line > 0 ? "line " : "the file '");
    if (line > 0) {
        hp_text_u64(problem, line);
        hp_text_string(problem, " of '");
    }
    hp_options_add_shown(problem, reader->path);
    hp_text_string(problem, line > 0 ? "': " : "' ");
    hp_text_string(problem, what);
    return false;
}

static bool hp_options_complain_unreadable(const struct hp_options_list_reader *reader, int error)
{
    hp_options_complain_about_file(reader, 0, "cannot be read: ");
    return hp_options_complain(reader->problem, hp_file_error(error));
}

/* The file that an item @PATH names. Other than regular ones could keep us waiting. */
static bool hp_options_read_list_file(struct hp_options_list_reader *reader, const char *path, size_t length)
{
    if (length == 0)
        return hp_options_complain(reader->problem, "'@' has no path behind it");
    if (length >= sizeof reader->path)
        return hp_options_complain(reader->problem, "the path behind '@' is longer than 1023 bytes");
    memcpy(reader->path, path, length);
    reader->path[length] = '\0';
    const ssize_t size = hp_file_read_regular(reader->path, reader->file, sizeof reader->file);
    if (size < 0)
        return hp_options_complain_unreadable(reader, errno);
    if (size > HP_OPTIONS_LIST_FILE_BYTES)
        return hp_options_complain_about_file(reader, 0, "is longer than 65536 bytes");
    if (memchr(reader->file, '\0', (size_t)size) != NULL)
        return hp_options_complain_about_file(reader, 0, "is no text");
    reader->file[size] = '\0';
    return true;
}

_Static_assert(HP_OPTIONS_LIST_FILE_BYTES == 65536, "the message above names the limit");

static bool hp_options_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool hp_options_add_line(struct hp_options_list_reader *reader, const char *line, size_t length, size_t number, bool is_out)
{
    char bytes[HP_OPTIONS_PROBLEM_BYTES];
    struct hp_text what;
    for (; length > 0 && hp_options_is_blank(line[0]); length--)
        line++;
    while (length > 0 && hp_options_is_blank(line[length - 1]))
        length--;
    if (length == 0 || line[0] == '#')
        return true;
    if (line[0] == '@' || (line[0] == '-' && line[1] == '@'))
        return hp_options_complain_about_file(reader, number, "a file cannot name another");
    hp_text_init(&what, bytes, sizeof bytes);
    if (!hp_pattern_item_check(line, length, &reader->scratch, &what))
        return hp_options_complain_about_file(reader, number, hp_text_end(&what));
    hp_pattern_list_put(&reader->list, line, length, is_out);
    return true;
}

static bool hp_options_add_file(struct hp_options_list_reader *reader, const char *path, size_t length, bool is_out)
{
    size_t number = 0;
    if (!hp_options_read_list_file(reader, path, length))
        return false;
    for (const char *line = reader->file, *end; *line != '\0'; line = end + (*end != '\0')) {
        end = line + strcspn(line, "\n");
        if (!hp_options_add_line(reader, line, (size_t)(end - line), ++number, is_out))
            return false;
    }
    return true;
}

/* Puts what files hold in the place of their names. */
static bool hp_options_read_list(struct hp_options_list_reader *reader, const char *text)
{
    size_t length;
    for (const char *rest = text, *item; (item = hp_pattern_list_next(&rest, &length)) != NULL;) {
        const bool is_out = item[0] == '-', is_file = item[is_out] == '@';
        if (!is_file)
            hp_pattern_list_put(&reader->list, item, length, false);
        else if (!hp_options_add_file(reader, item + is_out + 1, length - is_out - 1, is_out))
            return false;
    }
    hp_text_end(&reader->list);
    return !reader->list.is_cut || hp_options_complain(reader->problem, "the list is longer than 8191 bytes");
}

_Static_assert(HP_PATTERN_LIST_BYTES == 8192, "the message above names the limit");

static bool hp_options_compile_list(const char *text, struct hp_text *problem)
{
    struct hp_pattern_list *list = hp_memory_map(sizeof *list);
    const bool is_good = list != NULL ? hp_pattern_list_compile(list, text, false, problem)
                                      : hp_options_complain(problem, "there is no memory for it");
    hp_memory_unmap(list, sizeof *list);
    return is_good;
}

static bool hp_options_parse_patterns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    char bytes[HP_OPTIONS_PROBLEM_BYTES];
    struct hp_text what;
    struct hp_options_list_reader *reader = hp_memory_map(sizeof *reader);
    if (reader == NULL)
        return hp_options_complain(ret_problem, "has no effect: there is no memory for it");
    hp_text_init(&what, bytes, sizeof bytes);
    hp_text_init(&reader->list, reader->list_bytes, sizeof reader->list_bytes);
    reader->problem = &what;
    const bool is_good = hp_options_read_list(reader, text) && hp_options_compile_list(reader->list_bytes, &what);
    if (is_good) {
        memcpy(hp_options_setting(option, settings), reader->list_bytes, sizeof reader->list_bytes);
    } else {
        hp_text_string(ret_problem, "is not a list of texts, globs and /regex/: ");
        hp_text_string(ret_problem, hp_text_end(&what));
    }
    hp_memory_unmap(reader, sizeof *reader);
    return is_good;
}

/* ----------------------------------------------------------------------------------------- other lists */

static bool hp_options_is_name_byte(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (!is_first && (c == '_' || c == '-' || c == '.'));
}

/* A name of a section or column, with an optional minus in front. */
static bool hp_options_is_name(const char *item, size_t length)
{
    const size_t start = length > 0 && item[0] == '-';
    for (size_t i = start; i < length; i++)
        if (!hp_options_is_name_byte(item[i], i == start))
            return false;
    return length > start;
}

static bool hp_options_is_pair(const char *item, size_t length)
{
    const char *equals = memchr(item, '=', length);
    return equals != NULL && equals != item;
}

static bool hp_options_are_items(const char *list, bool (*is_allowed)(const char *item, size_t length))
{
    const char *item;
    size_t length;
    size_t count = 0;
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL; count++)
        if (!is_allowed(item, length))
            return false;
    return count > 0;
}

/* Copies a list without the blanks around its items. */
static void hp_options_copy_items(char *bytes, size_t size, const char *list)
{
    const char *item;
    size_t length;
    struct hp_text copy;
    hp_text_init(&copy, bytes, size);
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        if (copy.length > 0)
            hp_text_char(&copy, ',');
        hp_text_bytes(&copy, item, length);
    }
    hp_text_end(&copy);
}

static bool hp_options_parse_items(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem, bool (*is_allowed)(const char *item, size_t length),
                        const char *what)
{
    if (strlen(text) >= option->settings_size)
        return hp_options_complain_too_long(ret_problem, option);
    if (!hp_options_are_items(text, is_allowed))
        return hp_options_complain(ret_problem, what);
    hp_options_copy_items(hp_options_setting(option, settings), option->settings_size, text);
    return true;
}

static bool hp_options_parse_sections(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    return hp_options_parse_items(option, text, settings, ret_problem, hp_options_is_name,
                       "is not a list of sections such as auto, all, timing,calltree or -timing");
}

static bool hp_options_parse_columns(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    return hp_options_parse_items(option, text, settings, ret_problem, hp_options_is_name,
                       "is not a list of columns such as self,min,max or all");
}

/* One column, without blanks around it. */
static bool hp_options_parse_sort(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    size_t length = 0, ignored;
    const char *rest = text;
    const char *item = hp_text_next_item(&rest, &length);
    if (item == NULL || !hp_options_is_name(item, length) || hp_text_next_item(&rest, &ignored) != NULL)
        return hp_options_complain(ret_problem, "is not a column such as total, self, calls or name, or -calls");
    if (length >= option->settings_size)
        return hp_options_complain_too_long(ret_problem, option);
    hp_options_copy_items(hp_options_setting(option, settings), option->settings_size, text);
    return true;
}

static bool hp_options_parse_metadata(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    return hp_options_parse_items(option, text, settings, ret_problem, hp_options_is_pair,
                       "is not a list of pairs such as key=value,key=value");
}

/* Keeps the percentiles ascending, each once. Returns false when there is no space for one more. */
static bool hp_options_add_percentile(double *percentiles, uint32_t *count, double percentile)
{
    uint32_t at = 0;
    while (at < *count && percentiles[at] < percentile)
        at++;
    if (at < *count && percentiles[at] <= percentile)
        return true;
    if (*count == HP_MAX_PERCENTILES)
        return false;
    memmove(&percentiles[at + 1], &percentiles[at], (*count - at) * sizeof *percentiles);
    percentiles[at] = percentile;
    ++*count;
    return true;
}

_Static_assert(HP_MAX_PERCENTILES == 10, "the message below names the limit");

static bool hp_options_parse_percentiles(const struct hp_option *option, const char *text, struct hp_settings *settings,
                              struct hp_text *ret_problem)
{
    double percentiles[HP_MAX_PERCENTILES];
    uint32_t count = 0;
    const char *item;
    size_t length;
    (void)option;
    for (const char *rest = text; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        double percentile;
        if (!hp_number_decimal(item, length, &percentile) || percentile > 100 ||
            !hp_options_add_percentile(percentiles, &count, percentile))
            return hp_options_complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    }
    if (count == 0)
        return hp_options_complain(ret_problem, "is not a list of at most 10 numbers from 0 to 100");
    memcpy(settings->percentiles, percentiles, count * sizeof *percentiles);
    settings->percentile_count = count;
    return true;
}

static bool hp_options_parse_percent(const struct hp_option *option, const char *text, struct hp_settings *settings,
                          struct hp_text *ret_problem)
{
    double percent;
    if (!hp_number_decimal(text, strlen(text), &percent) || percent > 100)
        return hp_options_complain(ret_problem, "is not a number from 0 to 100, such as 0.5");
    memcpy(hp_options_setting(option, settings), &percent, sizeof percent);
    return true;
}

/* Sets a uint32_t to the index of the word. */
static bool hp_options_parse_choice(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (hp_text_equal_nocase(text, strlen(text), words[i])) {
            memcpy(hp_options_setting(option, settings), &i, sizeof i);
            return true;
        }
    return false;
}

static bool hp_options_parse_format(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const names[] = {
        [HP_FORMAT_TABLE] = "table",
        [HP_FORMAT_JSON] = "json",
        [HP_FORMAT_JSON_PRETTY] = "json-pretty",
        [HP_FORMAT_NONE] = "none",
    };
    return hp_options_parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_options_complain(ret_problem, "is not one of table, json, json-pretty, none");
}

static bool hp_options_parse_by(const struct hp_option *option, const char *text, struct hp_settings *settings,
                     struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_BY_FUNCTION] = "function", [HP_BY_THREAD] = "thread"};
    return hp_options_parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_options_complain(ret_problem, "is not one of function, thread");
}

static const char *const hp_options_metric_names[] = {[HP_ALLOC_BYTES_TOTAL] = "bytes-total",
                                           [HP_ALLOC_BYTES_MAX] = "bytes-max",
                                           [HP_ALLOC_COUNT_TOTAL] = "count-total",
                                           [HP_ALLOC_COUNT_MAX] = "count-max"};

#define HP_OPTIONS_METRIC_COUNT (sizeof hp_options_metric_names / sizeof hp_options_metric_names[0])

const char *hp_alloc_metric_name(uint32_t metric) { return hp_options_metric_names[metric % HP_OPTIONS_METRIC_COUNT]; }

/* "bytes" and "count" are the totals. */
static bool hp_options_parse_metric(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const short_names[] = {
        [HP_ALLOC_BYTES_TOTAL] = "bytes", [HP_ALLOC_BYTES_MAX] = "bytes-max", [HP_ALLOC_COUNT_TOTAL] = "count"};
    return hp_options_parse_choice(option, text, settings, hp_options_metric_names, HP_OPTIONS_METRIC_COUNT) ||
           hp_options_parse_choice(option, text, settings, short_names, sizeof short_names / sizeof short_names[0]) ||
           hp_options_complain(ret_problem, "is not one of bytes-total, bytes-max, count-total, count-max");
}

static const struct {
    const char *name;
    uint32_t bit;
} hp_options_records[] = {{"timing", HP_RECORD_TIMING}, {"alloc", HP_RECORD_ALLOC}, {"cpu", HP_RECORD_CPU}};

#define HP_OPTIONS_RECORD_COUNT (sizeof hp_options_records / sizeof hp_options_records[0])

static uint32_t hp_options_record_bit(const char *name, size_t length)
{
    for (size_t i = 0; i < HP_OPTIONS_RECORD_COUNT; i++)
        if (hp_text_equal_nocase(name, length, hp_options_records[i].name))
            return hp_options_records[i].bit;
    return 0;
}

/* The bits of a list of names; 0 when one of them is unknown. */
static uint32_t hp_options_record_bits(const char *list)
{
    uint32_t bits = 0;
    const char *item;
    size_t length;
    for (const char *rest = list; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const uint32_t bit = hp_options_record_bit(item, length);
        if (bit == 0)
            return 0;
        bits |= bit;
    }
    return bits;
}

static bool hp_options_parse_engine(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    static const char *const names[] = {[HP_CPU_ENGINE_AUTO] = "auto", [HP_CPU_ENGINE_TIMERS] = "timers"};
    return hp_options_parse_choice(option, text, settings, names, sizeof names / sizeof names[0]) ||
           hp_options_complain(ret_problem, "is not one of auto, timers");
}

/* A flag or a list. */
static bool hp_options_parse_record(const struct hp_option *option, const char *text, struct hp_settings *settings,
                         struct hp_text *ret_problem)
{
    bool is_on = true;
    const bool is_flag = hp_number_flag(text, strlen(text), &is_on);
    const uint32_t bits = is_flag ? HP_RECORD_USUAL : hp_options_record_bits(text);
    (void)option;
    if (bits == 0)
        return hp_options_complain(ret_problem, "is not 0, 1 or a list of timing, alloc, cpu");
    settings->record = is_on ? bits : 0;
    settings->record_is_off = !is_on;
    settings->record_is_list = !is_flag;
    return true;
}

static bool hp_options_parse_count(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), UINT32_MAX, &number))
        return hp_options_complain(ret_problem, "is not a number from 0 to 4294967295");
    const uint32_t count = (uint32_t)number;
    memcpy(hp_options_setting(option, settings), &count, sizeof count);
    return true;
}

static bool hp_options_parse_cpu_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    uint64_t number;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), HP_MAX_CPU_RATE, &number) || number == 0)
        return hp_options_complain(ret_problem, "is not a number from 1 to 10000");
    settings->cpu_rate = (uint32_t)number;
    return true;
}

static bool hp_options_read_limit(const char *text, uint32_t *ret_limit, struct hp_text *ret_problem)
{
    uint64_t number;
    if (!hp_number_unsigned(text, strlen(text), HOTPATH_NO_LIMIT - 1, &number))
        return hp_options_complain(ret_problem, "is not a number from 0 to 4294967294 (0: no limit)");
    *ret_limit = number == 0 ? HOTPATH_NO_LIMIT : (uint32_t)number;
    return true;
}

static bool hp_options_parse_limit(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint32_t limit;
    if (!hp_options_read_limit(text, &limit, ret_problem))
        return false;
    memcpy(hp_options_setting(option, settings), &limit, sizeof limit);
    return true;
}

static bool hp_options_parse_limit_of_all(const struct hp_option *option, const char *text, struct hp_settings *settings,
                               struct hp_text *ret_problem)
{
    uint32_t limit;
    (void)option;
    if (!hp_options_read_limit(text, &limit, ret_problem))
        return false;
    settings->functions_limit = limit;
    settings->calltree_limit = limit;
    return true;
}

/* A part of the whole, "0.0625" or "1/16", as one in so many; the nearest there is. */
static bool hp_options_read_part(const char *text, uint32_t *ret_period)
{
    uint64_t whole;
    double part;
    const size_t length = strlen(text);
    if (length > 2 && memcmp(text, "1/", 2) == 0) {
        if (!hp_number_unsigned(text + 2, length - 2, UINT32_MAX, &whole) || whole == 0)
            return false;
        *ret_period = (uint32_t)whole;
        return true;
    }
    if (!hp_number_decimal(text, length, &part) || part > 1)
        return false;
    *ret_period = part < 1e-9 ? UINT32_MAX : (uint32_t)(1 / part + 0.5);
    return true;
}

static bool hp_options_parse_sampling_rate(const struct hp_option *option, const char *text, struct hp_settings *settings,
                                struct hp_text *ret_problem)
{
    (void)option;
    if (!hp_options_read_part(text, &settings->time_period))
        return hp_options_complain(ret_problem, "is not a part of all calls such as 1/16 or 0.0625");
    return true;
}

static bool hp_options_parse_bound(const struct hp_option *option, const char *text, struct hp_settings *settings,
                        struct hp_text *ret_problem)
{
    uint64_t percent;
    (void)option;
    if (!hp_number_unsigned(text, strlen(text), 100, &percent))
        return hp_options_complain(ret_problem, "is not a percentage from 0 to 100 (0: no bound)");
    settings->measuring_bound = (uint32_t)percent;
    return true;
}

#define HP_OPTIONS_MOST_BYTES (UINT64_C(4) << 30)
_Static_assert(HP_MIN_BYTES == 262144, "the message below names the limit");

static bool hp_options_parse_max_bytes(const struct hp_option *option, const char *text, struct hp_settings *settings,
                            struct hp_text *ret_problem)
{
    uint64_t bytes;
    (void)option;
    if (!hp_number_bytes(text, strlen(text), HP_OPTIONS_MOST_BYTES, &bytes) || (bytes > 0 && bytes < HP_MIN_BYTES))
        return hp_options_complain(ret_problem, "is not a size from 256KB to 4GB");
    settings->max_bytes = bytes;
    return true;
}

static bool hp_options_parse_flag(const struct hp_option *option, const char *text, struct hp_settings *settings,
                       struct hp_text *ret_problem)
{
    bool flag;
    if (!hp_number_flag(text, strlen(text), &flag))
        return hp_options_complain(ret_problem, "is not one of 1, true, yes, on, 0, false, no, off");
    memcpy(hp_options_setting(option, settings), &flag, sizeof flag);
    return true;
}

/* NO_COLOR means what it says whatever its value is: https://no-color.org. */
static bool hp_options_parse_no_color(const struct hp_option *option, const char *text, struct hp_settings *settings,
                           struct hp_text *ret_problem)
{
    (void)option;
    (void)text;
    (void)ret_problem;
    settings->no_color = true;
    return true;
}

/* ------------------------------------------------------------------------------------------------ table */

/* Entries that are looked at by themselves. */
#define HP_OPTIONS_RECORD_INDEX 0
#define HP_OPTIONS_CPU_INDEX 1

/* Where the values of an option are: in both structs under the same name, or in one of them only. */
#define HP_OPTIONS_AT_BOTH(name)                                                                                              \
    offsetof(struct hotpath_options, name), offsetof(struct hp_settings, name),                                    \
        sizeof((struct hp_settings *)0)->name
#define HP_OPTIONS_AT_RATE(name)                                                                                              \
    offsetof(struct hotpath_options, name), offsetof(struct hp_settings, time_period),                             \
        sizeof((struct hp_settings *)0)->time_period
#define HP_OPTIONS_AT_OPTIONS(name) offsetof(struct hotpath_options, name), 0, 0
#define HP_OPTIONS_AT_SETTINGS(name) 0, offsetof(struct hp_settings, name), sizeof((struct hp_settings *)0)->name

/* The same on the command line. */
#define HP_OPTIONS_FLAG(name, letter, scope) name, letter, HP_SCOPE_##scope
#define HP_OPTIONS_FLAG_OF_TWO(name, letter, one, other) name, letter, HP_SCOPE_##one | HP_SCOPE_##other
#define HP_OPTIONS_NO_FLAG NULL, 0, 0

const struct hp_option hotpath_options_[] = {
    [HP_OPTIONS_RECORD_INDEX] = {"HOTPATH", "record", HP_OPTIONS_FLAG("only", 0, RECORD), "0|1|LIST", "timing,alloc", "",
                      "What is recorded: 0 nothing, 1 the usual, or a list of timing, alloc (where malloc is "
                      "watched), cpu; other than 0 it also starts recording in programs without HOTPATH_MAIN.",
                      HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(record), hp_options_parse_record},
    [HP_OPTIONS_CPU_INDEX] = {"HOTPATH_CPU", "cpu", HP_OPTIONS_FLAG("cpu", 0, RECORD), "0|1", "0", "",
                   "Sample whose processor time it is, beside what else is recorded; hotpath run does unless told "
                   "otherwise.",
                   HP_OPTION_FLAG, HP_OPTIONS_AT_BOTH(cpu), hp_options_parse_flag},
    {"HOTPATH_CPU_RATE", "cpu_rate", HP_OPTIONS_FLAG("cpu-rate", 0, RECORD), "N", "997", "",
     "Samples for each second of processor time, from 1 to 10000.", HP_OPTION_COUNT, HP_OPTIONS_AT_BOTH(cpu_rate),
     hp_options_parse_cpu_rate},
    {"HOTPATH_CPU_ENGINE", "cpu_engine", HP_OPTIONS_FLAG("cpu-engine", 0, RECORD), "auto|timers", "auto", "",
     "What samples processor time: the best there is, or timers alone.", HP_OPTION_CHOICE, HP_OPTIONS_AT_BOTH(cpu_engine),
     hp_options_parse_engine},
    {"HOTPATH_FILTER", "filter", HP_OPTIONS_FLAG("filter", 0, RECORD), "LIST", "", "no filter (every site)",
     "Record only the functions and blocks that a list of patterns chooses, such as parse*,/^lex/,file:json.c; "
     "-ITEM leaves out, @PATH is a file of items. See PATTERNS in hotpath(7).",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(filter), hp_options_parse_patterns},
    {"HOTPATH_SKIP", "skip", HP_OPTIONS_FLAG("skip", 0, RECORD), "LIST", "", "nothing left out",
     "Do not record the functions and blocks that match any item of this list of patterns.", HP_OPTION_TEXT,
     HP_OPTIONS_AT_BOTH(skip), hp_options_parse_patterns},
    {"HOTPATH_LOG", "log", HP_OPTIONS_FLAG("log", 0, RECORD), "LIST", "", "only what the program logs itself",
     "Keep the latest calls, with their notes, of the functions and blocks that match this list of patterns.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(log), hp_options_parse_patterns},
    /* The general rate before those of single sections, as with the limits. */
    {"HOTPATH_TIME_SAMPLING_RATE", "time_sampling_rate", HP_OPTIONS_FLAG("sampling", 0, RECORD), "1/N|PART", "1", "",
     "Part of the calls that is timed, such as 1/16 or 0.0625; all are counted, and times are scaled up.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_RATE(time_sampling_rate), hp_options_parse_sampling_rate},
    {"HOTPATH_FUNCTIONS_TIME_SAMPLING_RATE", "functions_time_sampling_rate", HP_OPTIONS_FLAG("functions-sampling", 0, RECORD),
     "1/N|PART", "", "HOTPATH_TIME_SAMPLING_RATE", "The same for functions and blocks alone.", HP_OPTION_TEXT,
     HP_OPTIONS_AT_RATE(functions_time_sampling_rate), hp_options_parse_sampling_rate},
    {"HOTPATH_MEASURING_BOUND", "measuring_bound", HP_OPTIONS_FLAG("measuring-bound", 0, RECORD), "PERCENT", "50", "",
     "Functions measured by the compiler are only counted, and now and then timed, where measuring would be more "
     "than "
     "this part of their time; 0 times every call.",
     HP_OPTION_LIMIT, HP_OPTIONS_AT_BOTH(measuring_bound), hp_options_parse_bound},
    {"HOTPATH_KEYS_LIMIT", "keys_limit", HP_OPTIONS_FLAG("keys-limit", 0, RECORD), "N", "256", "",
     "Keys of one HOTPATH_BLOCK_KEY that get rows of their own; further ones share one.", HP_OPTION_COUNT,
     HP_OPTIONS_AT_BOTH(keys_limit), hp_options_parse_count},
    {"HOTPATH_REPORT", "report", HP_OPTIONS_FLAG("section", 's', SHOW), "LIST", "auto", "",
     "Sections of the report: auto, all, a list such as timing,calltree, or -NAME to leave one out.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(report), hp_options_parse_sections},
    {"HOTPATH_FOCUS", "focus", HP_OPTIONS_FLAG("focus", 0, SHOW), "LIST", "", "no focus (every row)",
     "Show only the rows that a list of patterns chooses, as HOTPATH_FILTER does.", HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(focus),
     hp_options_parse_patterns},
    {"HOTPATH_SLOWEST", "slowest", HP_OPTIONS_FLAG("slowest", 0, SHOW), "NAME|/REGEX/", "", "no function",
     "Show the slowest call of the function NAME, or of those whose name contains NAME or matches REGEX, with what "
     "ran "
     "inside it.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(slowest), hp_options_parse_pattern},
    {"HOTPATH_COLUMNS", "columns", HP_OPTIONS_FLAG("columns", 'c', SHOW), "LIST", "", "the usual columns",
     "Further columns of the table, such as self,min,max,threads, or all.", HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(columns),
     hp_options_parse_columns},
    {"HOTPATH_SORT", "sort", HP_OPTIONS_FLAG("sort", 0, SHOW), "COLUMN", "", "the usual order",
     "Order of the rows: by a column such as total, self, calls, avg, p95 or name; -COLUMN turns it round.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(sort), hp_options_parse_sort},
    {"HOTPATH_BY", "by", HP_OPTIONS_FLAG("by", 0, SHOW), "function|thread", "function", "",
     "What a row of the sections about functions is about: a function, or a function on one thread.",
     HP_OPTION_CHOICE, HP_OPTIONS_AT_BOTH(by), hp_options_parse_by},
    {"HOTPATH_PERCENTILES", "percentiles", HP_OPTIONS_FLAG("percentiles", 'p', SHOW), "LIST", "95", "",
     "Percentiles shown: up to 10 numbers from 0 to 100, fractions allowed; 0 is the minimum and 100 the maximum.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(percentiles), hp_options_parse_percentiles},
    /* Before the limits of single sections: see the top of this file. */
    {"HOTPATH_LIMIT", "limit", HP_OPTIONS_FLAG("limit", 'n', SHOW), "N", "", "the limit of each section",
     "Rows shown of every section; 0 shows all.", HP_OPTION_LIMIT, HP_OPTIONS_AT_OPTIONS(limit), hp_options_parse_limit_of_all},
    {"HOTPATH_FUNCTIONS_LIMIT", "functions_limit", HP_OPTIONS_FLAG("functions-limit", 0, SHOW), "N", "15", "",
     "Rows shown of the sections about functions and processes; 0 shows all.", HP_OPTION_LIMIT,
     HP_OPTIONS_AT_BOTH(functions_limit), hp_options_parse_limit},
    {"HOTPATH_CALLTREE_LIMIT", "calltree_limit", HP_OPTIONS_FLAG("calltree-limit", 0, SHOW), "N", "50", "",
     "Rows shown of the call tree; 0 shows all.", HP_OPTION_LIMIT, HP_OPTIONS_AT_BOTH(calltree_limit), hp_options_parse_limit},
    {"HOTPATH_LOGS_LIMIT", "logs_limit", HP_OPTIONS_FLAG_OF_TWO("logs-limit", 0, RECORD, SHOW), "N", "50", "",
     "Latest calls kept, and shown, of each function whose calls are logged; 0 sets no limit.", HP_OPTION_LIMIT,
     HP_OPTIONS_AT_BOTH(logs_limit), hp_options_parse_limit},
    {"HOTPATH_MIN_PERCENT", "min_percent", HP_OPTIONS_FLAG("min-percent", 0, SHOW), "P", "0", "",
     "Leave out functions and paths of calls whose share of the whole is below P percent, fractions allowed.",
     HP_OPTION_NUMBER, HP_OPTIONS_AT_BOTH(min_percent), hp_options_parse_percent},
    {"HOTPATH_TIME_EXCLUSIVE", "time_exclusive", HP_OPTIONS_FLAG("exclusive", 0, SHOW), "0|1", "0", "",
     "Rank and show the time spent in a function itself, without the measured functions it calls.", HP_OPTION_FLAG,
     HP_OPTIONS_AT_BOTH(time_exclusive), hp_options_parse_flag},
    {"HOTPATH_ALLOC_CUMULATIVE", "alloc_cumulative", HP_OPTIONS_FLAG("alloc-cumulative", 0, SHOW), "0|1", "0", "",
     "Count what measured functions inside allocate to the functions that call them, too.", HP_OPTION_FLAG,
     HP_OPTIONS_AT_BOTH(alloc_cumulative), hp_options_parse_flag},
    {"HOTPATH_ALLOC_METRIC", "alloc_metric", HP_OPTIONS_FLAG("alloc-metric", 0, SHOW),
     "bytes-total|bytes-max|count-total|count-max", "bytes-total", "",
     "What the table of allocations leads with: bytes or numbers, of all that a call allocates or of the most that "
     "lived "
     "at once during it.",
     HP_OPTION_CHOICE, HP_OPTIONS_AT_BOTH(alloc_metric), hp_options_parse_metric},
    {"HOTPATH_CPU_INCLUSIVE", "cpu_inclusive", HP_OPTIONS_FLAG("cpu-inclusive", 0, SHOW), "0|1", "0", "",
     "Count the processor time of measured functions inside to the functions that call them, too.", HP_OPTION_FLAG,
     HP_OPTIONS_AT_BOTH(cpu_inclusive), hp_options_parse_flag},
    {"HOTPATH_EXCLUDE_WRAPPER", "exclude_wrapper", HP_OPTIONS_FLAG("exclude-wrapper", 0, SHOW), "0|1", "0", "",
     "Leave the main function out and show shares of the sum of the other rows.", HP_OPTION_FLAG,
     HP_OPTIONS_AT_BOTH(exclude_wrapper), hp_options_parse_flag},
    {"HOTPATH_OUTPUT_FORMAT", "format", HP_OPTIONS_FLAG("format", 'f', OUTPUT), "table|json|json-pretty|none", "table", "",
     "How the report is written.", HP_OPTION_CHOICE, HP_OPTIONS_AT_BOTH(format), hp_options_parse_format},
    {"HOTPATH_OUTPUT_PATH", "output_path", HP_OPTIONS_FLAG("output", 'o', OUTPUT), "PATH", "", "stderr",
     "File the report is written to; %p in it stands for the process id.", HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(output_path),
     hp_options_parse_text},
    {"HOTPATH_REPORT_LABEL", "label", HP_OPTIONS_FLAG("label", 0, SHOW), "TEXT", "", "no label",
     "A name for this run, shown in the report.", HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(label), hp_options_parse_text},
    {"HOTPATH_USER_METADATA", "metadata", HP_OPTIONS_FLAG("metadata", 0, SHOW), "KEY=VALUE,...", "", "no metadata",
     "Facts of your own about this run, kept in the report.", HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(metadata), hp_options_parse_metadata},
    {"HOTPATH_SHUTDOWN_MS", "shutdown_ms", HP_OPTIONS_FLAG("timeout", 0, RECORD), "MS", "0", "",
     "Report and end the process after this many milliseconds, by HOTPATH_MAIN or hotpath run; 0 never does.",
     HP_OPTION_COUNT, HP_OPTIONS_AT_BOTH(shutdown_ms), hp_options_parse_count},
    {"HOTPATH_LEAVE_SIGNALS", "leave_signals", HP_OPTIONS_NO_FLAG, "0|1", "0", "",
     "Do not report on SIGINT and SIGTERM; without it HOTPATH_MAIN has both report and then do what they did "
     "before.",
     HP_OPTION_FLAG, HP_OPTIONS_AT_BOTH(leave_signals), hp_options_parse_flag},
    {"HOTPATH_DIR", "dir", HP_OPTIONS_FLAG("dir", 0, FOLDER), "PATH", "",
     "$XDG_RUNTIME_DIR/hotpath, /dev/shm/hotpath-UID or /tmp/hotpath-UID", "Folder of the session file.",
     HP_OPTION_TEXT, HP_OPTIONS_AT_BOTH(dir), hp_options_parse_text},
    {"HOTPATH_MAX_BYTES", "max_bytes", HP_OPTIONS_FLAG("max-bytes", 0, RECORD), "SIZE", "",
     "a quarter of the free space, at most 64MB",
     "Largest size of the session file, from 256KB to 4GB; K, M and G are powers of 1024.", HP_OPTION_BYTES,
     HP_OPTIONS_AT_BOTH(max_bytes), hp_options_parse_max_bytes},
    {"HOTPATH_RESERVE", "reserve", HP_OPTIONS_FLAG("reserve", 0, RECORD), "0|1", "0", "",
     "Reserve the whole session file at start, so that recording makes no system call later; then only the thread "
     "that starts is recorded.",
     HP_OPTION_FLAG, HP_OPTIONS_AT_BOTH(reserve), hp_options_parse_flag},
    {"HOTPATH_KEEP", "keep", HP_OPTIONS_FLAG("keep", 0, RECORD), "N", "20", "",
     "Finished sessions kept in the folder when another one begins; 0 keeps none.", HP_OPTION_COUNT, HP_OPTIONS_AT_BOTH(keep),
     hp_options_parse_count},
    {"HOTPATH_RUN", NULL, HP_OPTIONS_NO_FLAG, "0|1", "0", "",
     "Set by hotpath run, which reports when all is over: the program writes no report at its end.", HP_OPTION_FLAG,
     HP_OPTIONS_AT_SETTINGS(is_run), hp_options_parse_flag},
    {"NO_COLOR", NULL, HP_OPTIONS_FLAG("no-color", 0, SHOW), "ANY", "", "colour on a terminal",
     "Set to anything: no colour, not even on a terminal.", HP_OPTION_FLAG, HP_OPTIONS_AT_SETTINGS(no_color), hp_options_parse_no_color},
};

#define HP_OPTIONS_OPTION_COUNT (sizeof hotpath_options_ / sizeof hotpath_options_[0])

const size_t hotpath_option_count_ = HP_OPTIONS_OPTION_COUNT;

bool hp_option_accepts(const struct hp_option *option, const char *value, char *problem, size_t size)
{
    static struct hp_settings ignored; /* too large for a stack, and nobody reads it */
    struct hp_text text;
    hp_text_init(&text, problem, size);
    const bool is_accepted = option->parse(option, value, &ignored, &text);
    hp_text_end(&text);
    return is_accepted;
}

/* ------------------------------------------------------------------------------------ the program's struct */

#define HP_OPTIONS_END_OF(member) (offsetof(struct hotpath_options, member) + sizeof((struct hotpath_options *)0)->member)

/* The first version ended with these fields, which later ones may put to use; its programs will be around. */
#define HP_OPTIONS_FIRST_VERSION_BYTES (offsetof(struct hotpath_options, reserved) + 4)
/* Nobody's struct is larger; a size that is, is not a size. */
#define HP_OPTIONS_LARGEST_BYTES 4096u

static bool hp_options_are_zero(const struct hotpath_options *options, size_t from, size_t to)
{
    const unsigned char *bytes = (const unsigned char *)options;
    for (size_t i = from; i < to && i < options->size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Between the reserved fields and the end of the struct the compiler may leave a gap, in which anything may be. */
bool hp_options_are_known(const struct hotpath_options *options)
{
    if (!options)
        return true;
    return options->size >= HP_OPTIONS_FIRST_VERSION_BYTES && options->size <= HP_OPTIONS_LARGEST_BYTES &&
           hp_options_are_zero(options, offsetof(struct hotpath_options, reserved), HP_OPTIONS_END_OF(reserved)) &&
           hp_options_are_zero(options, sizeof *options, options->size);
}

#define HP_OPTIONS_NUMBER_BYTES 24

static size_t hp_options_field_size(enum hp_option_type type)
{
    switch (type) {
    case HP_OPTION_COUNT:
    case HP_OPTION_LIMIT:
        return sizeof(uint32_t);
    case HP_OPTION_BYTES:
        return sizeof(uint64_t);
    case HP_OPTION_NUMBER:
        return sizeof(double);
    case HP_OPTION_FLAG:
        return sizeof(uint8_t);
    case HP_OPTION_TEXT:
    case HP_OPTION_CHOICE:
        break;
    }
    return sizeof(const char *);
}

/* The number in a field of the program's struct. */
static uint64_t hp_options_field_number(const struct hp_option *option, const void *field)
{
    uint8_t flag;
    uint32_t count;
    uint64_t bytes;
    switch (hp_options_field_size(option->type)) {
    case sizeof flag:
        memcpy(&flag, field, sizeof flag);
        return flag;
    case sizeof count:
        memcpy(&count, field, sizeof count);
        return count;
    default:
        memcpy(&bytes, field, sizeof bytes);
        return bytes;
    }
}

/* Writes a number of the program as the environment would have it. */
static const char *hp_options_number_text(const struct hp_option *option, uint64_t number, char buffer[HP_OPTIONS_NUMBER_BYTES])
{
    struct hp_text text;
    if (option->type == HP_OPTION_FLAG)
        number = 1;
    if (option->type == HP_OPTION_LIMIT && number == HOTPATH_NO_LIMIT)
        number = 0;
    hp_text_init(&text, buffer, HP_OPTIONS_NUMBER_BYTES);
    hp_text_u64(&text, number);
    return hp_text_end(&text);
}

/* The same for one with decimals; what is no number is not taken for one. */
static const char *hp_options_decimal_text(double number, char buffer[HP_OPTIONS_NUMBER_BYTES])
{
    struct hp_text text;
    hp_text_init(&text, buffer, HP_OPTIONS_NUMBER_BYTES);
    if (!(number > 0)) {
        hp_text_string(&text, number < 0 ? "-" : "nan");
        number = -number;
    }
    if (number > 0) {
        hp_text_fixed(&text, number, 9);
        while (memchr(buffer, '.', text.length) != NULL && strchr(".0", buffer[text.length - 1]) != NULL)
            text.length--;
    }
    return hp_text_end(&text);
}

/* What the program says about an option, as the environment would say it; NULL when it says nothing. */
static const char *hp_options_program_value(const struct hp_option *option, const struct hotpath_options *options,
                                 char buffer[HP_OPTIONS_NUMBER_BYTES])
{
    if (!options || !option->field || option->options_offset + hp_options_field_size(option->type) > options->size)
        return NULL;
    const char *field = (const char *)options + option->options_offset;
    if (option->type == HP_OPTION_TEXT || option->type == HP_OPTION_CHOICE) {
        const char *text;
        memcpy(&text, field, sizeof text);
        return text && text[0] ? text : NULL;
    }
    if (option->type == HP_OPTION_NUMBER) {
        double number;
        memcpy(&number, field, sizeof number);
        return number < 0 || number > 0 || number != number ? hp_options_decimal_text(number, buffer) : NULL;
    }
    const uint64_t number = hp_options_field_number(option, field);
    return number != 0 ? hp_options_number_text(option, number, buffer) : NULL;
}

/* --------------------------------------------------------------------------------------------- resolving */

enum hp_options_level { HP_OPTIONS_LEVEL_DEFAULT, HP_OPTIONS_LEVEL_PROGRAM, HP_OPTIONS_LEVEL_ENVIRONMENT, HP_OPTIONS_LEVELS };

/* Everything that one call of hp_settings_resolve works with. */
struct hp_options_resolution {
    struct hp_settings *settings;
    const struct hotpath_options *options;
    hp_lookup *lookup;
    void *lookup_context;
    hp_warn *warn;
    void *warn_context;
    uint8_t origin[HP_OPTIONS_OPTION_COUNT]; /* enum level: where the value in the settings comes from */
    bool is_wrong[HP_OPTIONS_LEVELS][HP_OPTIONS_OPTION_COUNT];
};

static const char *hp_options_environment_value(const struct hp_options_resolution *resolution, const struct hp_option *option)
{
    const char *value =
        resolution->lookup ? resolution->lookup(option->variable, resolution->lookup_context) : NULL;
    return value && value[0] ? value : NULL;
}

/* What one level says about an option; NULL when it says nothing. */
static const char *hp_options_value_at(const struct hp_options_resolution *resolution, enum hp_options_level level, const struct hp_option *option,
                            char buffer[HP_OPTIONS_NUMBER_BYTES])
{
    switch (level) {
    case HP_OPTIONS_LEVEL_DEFAULT:
        return option->initial[0] ? option->initial : NULL;
    case HP_OPTIONS_LEVEL_PROGRAM:
        return hp_options_program_value(option, resolution->options, buffer);
    default:
        return hp_options_environment_value(resolution, option);
    }
}

static void hp_options_apply_level(struct hp_options_resolution *resolution, enum hp_options_level level)
{
    char buffer[HP_OPTIONS_NUMBER_BYTES];
    char bytes[HP_OPTIONS_PROBLEM_BYTES];
    struct hp_text ignored;
    for (size_t i = 0; i < HP_OPTIONS_OPTION_COUNT; i++) {
        const struct hp_option *option = &hotpath_options_[i];
        const char *value = hp_options_value_at(resolution, level, option, buffer);
        hp_text_init(&ignored, bytes, sizeof bytes);
        if (!value)
            continue;
        if (option->parse(option, value, resolution->settings, &ignored))
            resolution->origin[i] = (uint8_t)level;
        else
            resolution->is_wrong[level][i] = true;
    }
}

/* ---------------------------------------------------------------------------------------------- warnings */

/* "hotpath: HOTPATH_LIMIT='many' " or "hotpath: option format='xml' " */
static void hp_options_begin_warning(struct hp_text *line, char bytes[HP_OPTIONS_LINE_BYTES], enum hp_options_level level,
                          const struct hp_option *option, const char *value)
{
    hp_text_init(line, bytes, HP_OPTIONS_LINE_BYTES);
    hp_text_string(line, "hotpath: ");
    if (level == HP_OPTIONS_LEVEL_PROGRAM)
        hp_text_string(line, "option ");
    hp_text_string(line, level == HP_OPTIONS_LEVEL_PROGRAM ? option->field : option->variable);
    hp_text_string(line, "='");
    hp_options_add_shown(line, value);
    hp_text_string(line, "' ");
}

static void hp_options_give_warning(const struct hp_options_resolution *resolution, struct hp_text *line)
{
    const char *text = hp_text_end(line);
    if (resolution->warn)
        resolution->warn(text, resolution->warn_context);
}

static void hp_options_add_limit(struct hp_text *line, uint32_t limit)
{
    if (limit == HOTPATH_NO_LIMIT)
        hp_text_string(line, "no limit");
    else
        hp_text_u64(line, limit);
}

/* A limit that was not understood gives way to others on several levels, so the result is named as a number. */
static void hp_options_add_limits_used(struct hp_text *line, const struct hp_option *option,
                            const struct hp_settings *settings)
{
    if (option->parse == hp_options_parse_limit) {
        uint32_t limit;
        memcpy(&limit, (const char *)settings + option->settings_offset, sizeof limit);
        hp_options_add_limit(line, limit);
        return;
    }
    hp_options_add_limit(line, settings->functions_limit);
    if (settings->calltree_limit != settings->functions_limit) {
        hp_text_string(line, " (call tree: ");
        hp_options_add_limit(line, settings->calltree_limit);
        hp_text_char(line, ')');
    }
}

/* What is used instead of a value that was not understood. */
static void hp_options_add_used(struct hp_text *line, const struct hp_options_resolution *resolution, size_t index)
{
    const struct hp_option *option = &hotpath_options_[index];
    hp_text_string(line, "; using ");
    if (option->type == HP_OPTION_LIMIT) {
        hp_options_add_limits_used(line, option, resolution->settings);
    } else if (resolution->origin[index] == HP_OPTIONS_LEVEL_ENVIRONMENT) {
        hp_text_string(line, "the value of ");
        hp_text_string(line, option->variable);
    } else if (resolution->origin[index] == HP_OPTIONS_LEVEL_PROGRAM) {
        hp_text_string(line, "the value the program gives");
    } else {
        hp_text_string(line, option->initial[0] ? option->initial : option->unset);
    }
}

static void hp_options_warn_about(const struct hp_options_resolution *resolution, enum hp_options_level level, size_t index)
{
    const struct hp_option *option = &hotpath_options_[index];
    char number[HP_OPTIONS_NUMBER_BYTES];
    char problem_bytes[HP_OPTIONS_PROBLEM_BYTES];
    char line_bytes[HP_OPTIONS_LINE_BYTES];
    struct hp_text problem;
    struct hp_text line;
    const char *value = hp_options_value_at(resolution, level, option, number);
    hp_text_init(&problem, problem_bytes, sizeof problem_bytes);
    option->parse(option, value, resolution->settings, &problem); /* fails again: see the top of this file */
    hp_options_begin_warning(&line, line_bytes, level, option, value);
    hp_text_string(&line, hp_text_end(&problem));
    hp_options_add_used(&line, resolution, index);
    hp_options_give_warning(resolution, &line);
}

static void hp_options_warn_about_all(const struct hp_options_resolution *resolution)
{
    for (size_t i = 0; i < HP_OPTIONS_OPTION_COUNT; i++)
        for (enum hp_options_level level = HP_OPTIONS_LEVEL_PROGRAM; level < HP_OPTIONS_LEVELS; level++)
            if (resolution->is_wrong[level][i])
                hp_options_warn_about(resolution, level, i);
}

/* HOTPATH_CPU wins over a list in HOTPATH, that one over the program's option, and that adds to what else it records. */
static void hp_options_choose_cpu(const struct hp_options_resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    const bool is_listed = resolution->origin[HP_OPTIONS_RECORD_INDEX] == HP_OPTIONS_LEVEL_ENVIRONMENT && settings->record_is_list;
    if (settings->record_is_off || settings->record == 0)
        return;
    if (resolution->origin[HP_OPTIONS_CPU_INDEX] == HP_OPTIONS_LEVEL_ENVIRONMENT && !settings->cpu)
        settings->record &= ~HP_RECORD_CPU;
    else if (settings->cpu && (resolution->origin[HP_OPTIONS_CPU_INDEX] == HP_OPTIONS_LEVEL_ENVIRONMENT || !is_listed))
        settings->record |= HP_RECORD_CPU;
}

static void hp_options_finish_record(const struct hp_options_resolution *resolution)
{
    struct hp_settings *settings = resolution->settings;
    settings->alloc_is_asked = resolution->origin[HP_OPTIONS_RECORD_INDEX] != HP_OPTIONS_LEVEL_DEFAULT && settings->record_is_list &&
                               (settings->record & HP_RECORD_ALLOC);
    settings->record_is_set = resolution->origin[HP_OPTIONS_RECORD_INDEX] == HP_OPTIONS_LEVEL_ENVIRONMENT && !settings->record_is_off;
    hp_options_choose_cpu(resolution);
}

void hp_settings_resolve(struct hp_settings *settings, const struct hotpath_options *options, hp_lookup *lookup,
                         void *lookup_context, hp_warn *warn, void *warn_context)
{
    struct hp_options_resolution resolution = {
        .settings = settings,
        .options = options,
        .lookup = lookup,
        .lookup_context = lookup_context,
        .warn = warn,
        .warn_context = warn_context,
    };
    memset(settings, 0, sizeof *settings);
    hp_options_apply_level(&resolution, HP_OPTIONS_LEVEL_DEFAULT);
    hp_options_apply_level(&resolution, HP_OPTIONS_LEVEL_PROGRAM);
    hp_options_apply_level(&resolution, HP_OPTIONS_LEVEL_ENVIRONMENT);
    hp_options_warn_about_all(&resolution);
    hp_options_finish_record(&resolution);
}

/* ---- src/session/places.h ------------------------------------------------------------------------------------ */

/* Where sessions are. */

#define HP_SESSION_SUFFIX ".hotpath"
#define HP_RUN_SUFFIX ".run" /* of a folder with the sessions of one `hotpath run` */

/*
 * The n-th folder in which a session may live, best first: writers take the first that will do, readers look into all.
 * False: there are no more. Empty: this one does not exist here.
 */
HP_PRIVATE bool hp_place(const struct hp_settings *settings, unsigned n, char *text, size_t size);

/* Makes the folder if need be and says whether a session can live there. False: errno says why. */
HP_PRIVATE bool hp_place_is_usable(const char *place);

/* The path of a report: `pattern` with the process id for %p. False: it is too long, or empty. */
HP_PRIVATE bool hp_place_of_report(const char *pattern, uint32_t pid, char *path, size_t size);

/* ---- src/session/places.c ------------------------------------------------------------------------------------ */

/* Where sessions are. */

static void hp_places_put_runtime_folder(struct hp_text *place)
{
    const char *runtime = hp_environment("XDG_RUNTIME_DIR");
    if (runtime == NULL || runtime[0] != '/')
        return;
    hp_text_string(place, runtime);
    hp_text_string(place, "/hotpath");
}

static void hp_places_put_folder_of_user(struct hp_text *place, const char *folder)
{
    hp_text_string(place, folder);
    hp_text_string(place, "/hotpath-");
    hp_text_u64(place, geteuid());
}

bool hp_place(const struct hp_settings *settings, unsigned n, char *text, size_t size)
{
    struct hp_text place;
    hp_text_init(&place, text, size);
    const bool is_chosen = settings->dir[0] != '\0';
    if (is_chosen)
        hp_text_string(&place, settings->dir);
    else if (n == 0)
        hp_places_put_runtime_folder(&place);
    else
        hp_places_put_folder_of_user(&place, n == 1 ? "/dev/shm" : "/tmp");
    hp_text_end(&place);
    return n < (is_chosen ? 1 : 3); /* the user chose: no other place behind his back */
}

/* A session takes a quarter of what is free at most. */
bool hp_place_is_usable(const char *place)
{
    if (place[0] == '\0')
        errno = ENOENT;
    if (place[0] == '\0' || !hp_file_make_private_folder(place))
        return false;
    if (hp_file_free_bytes(place) >= 4 * (uint64_t)HP_MIN_BYTES)
        return true;
    errno = ENOSPC;
    return false;
}

bool hp_place_of_report(const char *pattern, uint32_t pid, char *path, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, path, size);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            hp_text_u64(&text, pid);
            pattern++;
        } else {
            hp_text_char(&text, *pattern);
        }
    }
    hp_text_end(&text);
    return !text.is_cut && text.length > 0 && text.length < size;
}

/* ---- src/session/snapshot.h ---------------------------------------------------------------------------------- */

/*
 * Reading a session safely. A snapshot is a view of a session's bytes: the mapping of the running process itself,
 * or a copy of a file that may be cut off, stale or hostile. Nothing in it is trusted: every offset, count and
 * string is checked against the size before use, every list walk is bounded, so a reader can neither crash nor
 * hang.
 *
 * Bytes of a live session change while they are read. Numbers of one row may then differ by the calls in flight;
 * structure never does, since everything is written before it is linked.
 *
 * No allocation, no system call; may be used in a signal handler.
 */

enum hp_snapshot_state {
    HP_SNAPSHOT_RUNNING,
    HP_SNAPSHOT_FINISHED,
    HP_SNAPSHOT_ENDED, /* without finishing: the process was killed, or left by _exit */
    HP_SNAPSHOT_STATES
};

/* Reads bytes of a session's file anew. False: they cannot be had. */
typedef bool hp_snapshot_read(void *context, uint32_t offset, void *to, size_t bytes);

struct hp_snapshot {
    const unsigned char *bytes;
    size_t size;
    /*
     * Of a copy of a session that goes on, set after opening: what is kept of single calls is written over again and again,
     * and a copy of all the file is too slow to catch it whole. NULL: `bytes` are the session, or nobody writes any more.
     */
    hp_snapshot_read *read_anew;
    void *read_context;
    struct hp_header header; /* a copy, taken when opened */
    uint64_t now_ticks;      /* open zones are counted to here */
    double ns_per_tick;
    bool is_rate_known; /* false: the two clock readings are too close together, a tick is taken for a nanosecond */
    bool is_live;       /* the process was running when the snapshot was taken */
    bool is_finished;   /* the session was ended properly: its numbers are final */
    bool is_cut_off;    /* the bytes end before what the header says is used */
    char problem[128];  /* storage of the sentence that hp_snapshot_open returns */
};

/* Makes a name of the linker's readable, as the whole signature of a function. False: it stays as it is. */
typedef bool hp_read_name(const char *linked, char *signature, size_t size);

/*
 * Snapshots that are looked at together, one at least: those of all the processes of a program, say. The first is the
 * principal one, which speaks for all where only one can.
 */
struct hp_snapshots {
    const struct hp_snapshot *const *all;
    size_t count;
    hp_read_name *read_name; /* NULL: names stay as the linker has them, as in the report of the library */
};

/*
 * Looks at `size` bytes of a session, which begin at a multiple of 8. `now` is the present moment when the process
 * is alive (so that open zones count up to it), NULL when it is dead: then its last sign of life is taken. Returns
 * NULL, or one line that says what is wrong with the bytes, valid as long as `snapshot`.
 */
HP_PRIVATE const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now);

/*
 * Takes the rate of the ticks from a reading of the same clock later on. For a process that died before it left a good
 * pair of its own, read since the same boot of the same machine.
 */
HP_PRIVATE void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later);

HP_PRIVATE double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks);

/* Time from the start of the session to `now_ticks`, in ticks and in nanoseconds. */
HP_PRIVATE uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot);
HP_PRIVATE uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot);

HP_PRIVATE enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot);
/* "running", "finished", "ended" */
HP_PRIVATE const char *hp_snapshot_state_name(enum hp_snapshot_state state);

/* Whether both were recorded since the same boot of the same machine, so that their clocks began together. */
HP_PRIVATE bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other);

/*
 * A string in the file; an empty one where the offset is 0 or broken. Ends in a zero byte, below 4096 bytes long.
 */
HP_PRIVATE const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset);

/* Copies site `id`. False: there is no such site. */
HP_PRIVATE bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site);

/*
 * Walks. Start with a zeroed walk; each call moves to the next valid record, copies it and returns true; false at
 * the end. `offset` then names the record just copied.
 *
 *     struct hp_walk threads = {0}, nodes = {0};
 *     while (hp_snapshot_next_thread(&snapshot, &threads, &thread)) {
 *         hp_walk_rewind(&nodes);
 *         while (hp_snapshot_next_node(&snapshot, &thread, &nodes, &node)) ...
 *     }
 *
 * Rewinding instead of zeroing keeps the count of steps, so that all threads together take no more steps than there
 * can be records in the file, even if many (hostile) threads claim the same ones.
 */
struct hp_walk {
    uint32_t offset; /* of the record just copied */
    uint32_t chunk;  /* nodes: of the chunk being walked */
    uint32_t index;  /* within the chunk, or the stack */
    bool is_begun;
    uint64_t number; /* calls: of the one just copied, from 0 */
    uint64_t steps;  /* taken so far; bounds every walk */
};

HP_PRIVATE void hp_walk_rewind(struct hp_walk *walk);

/* A node as a reader wants it; how the writer splits its sums is the writer's business. */
struct hp_node {
    uint32_t site;
    uint32_t parent; /* offset; 0: none */
    uint32_t stat;   /* offset of the site's stat in its thread record */
    uint64_t calls;
    uint64_t outermost; /* ticks of calls that were not inside another call of this node */
    uint64_t nested;    /* ticks of those that were */
    uint64_t self;      /* ticks not spent in zones inside; may wrap, sums are right */
    uint64_t untimed;   /* calls without a duration, because of sampling */
    uint32_t typical;   /* what each of these took, in 1/256 ticks; 0: as long as the others */
    bool is_recursive;  /* calls of its site were inside one another; outermost ones are timed, all of them */
};

HP_PRIVATE bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk,
                             struct hp_thread *ret_thread);
HP_PRIVATE bool hp_snapshot_next_node(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_node *ret_node);
HP_PRIVATE bool hp_snapshot_next_stat(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_stat_ *ret_stat);
/* Open zones of a thread, outermost first; frame 0, which stands for the thread itself, is left out. */
HP_PRIVATE bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame);

/* Copies the node at an offset that a call names. False: there cannot be one. */
HP_PRIVATE bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node);

/* Copies the stat at an offset that a walk has found. */
HP_PRIVATE bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat);

/* A call that was kept, with a copy of its note, which may hold any bytes. */
struct hp_kept_call {
    uint64_t start; /* ticks */
    uint64_t ticks;
    uint32_t node;
    uint32_t tid;
    uint32_t note_length; /* 0: no note */
    uint64_t alloc_bytes; /* asked for, in this call and what it called */
    uint64_t alloc_count;
    char note[HP_NOTE_BYTES + 1];
};

/* The moment it ended, in ticks. */
HP_PRIVATE uint64_t hp_kept_call_end(const struct hp_kept_call *call);

/* The latest calls of a stat, newest first. Those that are overwritten meanwhile end the walk: older ones were before. */
HP_PRIVATE bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_kept_call *ret_call);

/* The slowest call of a stat, with what was inside, in memory of the caller. */
struct hp_slow_copy {
    struct hp_kept_call call;
    uint64_t self;
    uint32_t row_count;
    uint32_t rows_left_out;
    const struct hp_slow_row *rows; /* notes of rows are within `notes`, or have no length */
    const char *notes;
};

/* How long it took, so that one can choose before one copies. False: there is none. */
HP_PRIVATE bool hp_snapshot_slowest_ticks(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               uint64_t *ret_ticks);

/* Bytes that a copy may need; at most what the two places in the file have. */
HP_PRIVATE size_t hp_snapshot_slowest_bytes(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat);

/*
 * Copies it into `size` bytes at `memory`, which is aligned to 8. False: there is none, it is broken, it needs more, or
 * it was replaced again and again meanwhile.
 */
HP_PRIVATE bool hp_snapshot_copy_slowest(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat, void *memory,
                              size_t size, struct hp_slow_copy *ret_copy);

/*
 * A histogram of durations. Line 0 counts 0 to 63 ticks one by one; line n counts [32 << n, 64 << n) in 64 equal
 * steps.
 */
#define HP_DURATION_LINES (HOTPATH_OCTAVES_ + 1)
typedef uint64_t hp_duration_line[64];

/* Adds the histogram of a stat to `lines`, as far as it is within the bytes. */
HP_PRIVATE void hp_snapshot_add_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               hp_duration_line lines[HP_DURATION_LINES]);

/* The place of a duration in such a histogram. */
HP_PRIVATE void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step);

/* --- allocations */

/* Copies what a thread allocates and frees. False: nothing yet, or it is broken. */
HP_PRIVATE bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc);

/* Copies what belongs to the frame of that number (0: the thread itself) in the stack of zones. False: there is none. */
HP_PRIVATE bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame);

/* Copies what the calls of a stat allocated. False: nothing. */
HP_PRIVATE bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc);

/* Adds the histogram of one measure to `lines`, which count as those of durations do. */
HP_PRIVATE void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES]);

/* The pools of a session, newest first. */
HP_PRIVATE bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool);

/* --- processor time */

/* Copies what a thread used. False: it was not sampled, or that is broken. */
HP_PRIVATE bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu);

/* The nodes that something was credited to. */
HP_PRIVATE bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node);

/* The latest samples, oldest first; `number` of the walk is theirs within the thread record. */
HP_PRIVATE bool hp_snapshot_next_sample(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu,
                             struct hp_walk *walk, struct hp_sample *ret_sample);

/* ---- src/session/snapshot.c ---------------------------------------------------------------------------------- */

/*
 * Reading a session safely.
 *
 * Order. The writer fills a record with plain or relaxed stores and then links its offset with a release store; all
 * links are 32 bits wide, so every 32-bit word is loaded with acquire here and pairs with that store: whoever sees
 * the link sees the record. The 64-bit counters go up one by one by a single writer and are loaded relaxed.
 *
 * Bounds. One function, `has`, decides whether a record lies inside the bytes and is aligned; every load comes
 * after it. Each walk counts its steps and stops at the number of such records that the file could hold without
 * overlapping.
 */

#define HP_SNAPSHOT_TEXT_MAX 4095u

static bool hp_snapshot_has(const struct hp_snapshot *snapshot, uint64_t offset, size_t bytes, size_t alignment)
{
    return offset >= HP_HEADER_BYTES && offset <= snapshot->size && bytes <= snapshot->size - offset &&
           offset % alignment == 0;
}

/* Offsets within the header and arena alike; the caller has asked `has`. */
static uint32_t hp_snapshot_load32(const unsigned char *at)
{
    return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static uint64_t hp_snapshot_load64(const unsigned char *at)
{
    return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

/* Copies a record of which all but the 64-bit words named by `wide` (a bit per 8 bytes) are 32-bit words. */
static void hp_snapshot_copy_words(void *to, const unsigned char *from, size_t bytes, uint64_t wide)
{
    unsigned char *out = to;
    for (size_t at = 0; at < bytes; at += 8) {
        if (wide >> (at / 8 % 64) & 1) {
            const uint64_t word = hp_snapshot_load64(from + at);
            memcpy(out + at, &word, 8);
            continue;
        }
        const uint32_t low = hp_snapshot_load32(from + at), high = hp_snapshot_load32(from + at + 4);
        memcpy(out + at, &low, 4);
        memcpy(out + at + 4, &high, 4);
    }
}

#define HP_SNAPSHOT_BIT_OF(type, field) (UINT64_C(1) << offsetof(type, field) / 8)

/* ----------------------------------------------------------------------------------- single records */

const char *hp_snapshot_text(const struct hp_snapshot *snapshot, uint32_t offset)
{
    const size_t head = offsetof(struct hp_string, bytes);
    if (!hp_snapshot_has(snapshot, offset, sizeof(struct hp_string), 4))
        return "";
    const uint32_t length = hp_snapshot_load32(snapshot->bytes + offset);
    if (length > HP_SNAPSHOT_TEXT_MAX || !hp_snapshot_has(snapshot, offset, head + length + 1, 4))
        return "";
    const char *text = (const char *)snapshot->bytes + offset + head;
    return text[length] == '\0' ? text : "";
}

bool hp_snapshot_site(const struct hp_snapshot *snapshot, uint32_t id, struct hp_site *ret_site)
{
    if (id >= HP_MAX_SITES)
        return false;
    /* Not from the copy: in a live session the chunk may be newer than that. */
    const size_t chunks = offsetof(struct hp_header, site_chunks);
    const uint32_t chunk = hp_snapshot_load32(snapshot->bytes + chunks + 4 * (size_t)(id / HP_SITES_PER_CHUNK));
    const uint64_t offset = (uint64_t)chunk + (uint64_t)(id % HP_SITES_PER_CHUNK) * sizeof(struct hp_site);
    if (chunk == 0 || !hp_snapshot_has(snapshot, offset, sizeof(struct hp_site), 8))
        return false;
    /* The name is written last: with it, the rest is there. */
    if (hp_snapshot_load32(snapshot->bytes + offset + offsetof(struct hp_site, name)) == 0)
        return false;
    hp_snapshot_copy_words(ret_site, snapshot->bytes + offset, sizeof *ret_site, 0);
    return true;
}

#define HP_SNAPSHOT_COPY32(to, from, type, field) ((to)->field = hp_snapshot_load32((from) + offsetof(type, field)))
#define HP_SNAPSHOT_COPY64(to, from, type, field) ((to)->field = hp_snapshot_load64((from) + offsetof(type, field)))

/* What the calls of a node took that were not timed: known once all are timed again. */
static uint32_t hp_snapshot_typical_of(const struct hp_snapshot *snapshot, uint32_t stat)
{
    const unsigned char *from = snapshot->bytes + stat;
    if (!hp_snapshot_has(snapshot, stat, sizeof(struct hotpath_stat_), 8))
        return 0;
    return hp_snapshot_load32(from + offsetof(struct hotpath_stat_, typical));
}

/* The links to children and siblings are left alone: they belong to the writer, and parents say the same. */
bool hp_snapshot_node(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_node *ret_node)
{
    const unsigned char *from = snapshot->bytes + offset;
    if (!hp_snapshot_has(snapshot, offset, sizeof(struct hotpath_node_), 8))
        return false;
    HP_SNAPSHOT_COPY32(ret_node, from, struct hotpath_node_, site);
    HP_SNAPSHOT_COPY32(ret_node, from, struct hotpath_node_, parent);
    HP_SNAPSHOT_COPY32(ret_node, from, struct hotpath_node_, stat);
    HP_SNAPSHOT_COPY64(ret_node, from, struct hotpath_node_, calls);
    HP_SNAPSHOT_COPY64(ret_node, from, struct hotpath_node_, self);
    HP_SNAPSHOT_COPY64(ret_node, from, struct hotpath_node_, nested);
    HP_SNAPSHOT_COPY64(ret_node, from, struct hotpath_node_, untimed);
    ret_node->typical = hp_snapshot_typical_of(snapshot, ret_node->stat);
    ret_node->is_recursive = hp_snapshot_load32(from + offsetof(struct hotpath_node_, is_folded)) != 0;
    const uint64_t total = hp_snapshot_load64(from + offsetof(struct hotpath_node_, total));
    ret_node->outermost = total > ret_node->nested ? total - ret_node->nested : 0;
    return true;
}

/* What belongs to the writer alone is left zero. */
bool hp_snapshot_stat(const struct hp_snapshot *snapshot, uint32_t offset, struct hotpath_stat_ *ret_stat)
{
    const unsigned char *from = snapshot->bytes + offset;
    if (!hp_snapshot_has(snapshot, offset, sizeof *ret_stat, 8))
        return false;
    *ret_stat = (struct hotpath_stat_){0};
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, site);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, next);
    HP_SNAPSHOT_COPY64(ret_stat, from, struct hotpath_stat_, min);
    HP_SNAPSHOT_COPY64(ret_stat, from, struct hotpath_stat_, max);
    HP_SNAPSHOT_COPY64(ret_stat, from, struct hotpath_stat_, missed);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, threads);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, period);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, typical);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, log);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, slowest);
    HP_SNAPSHOT_COPY32(ret_stat, from, struct hotpath_stat_, alloc);
    for (size_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        ret_stat->octaves[octave] =
            hp_snapshot_load32(from + offsetof(struct hotpath_stat_, octaves) + octave * sizeof(uint32_t));
    return true;
}

static void hp_snapshot_add_counters(const struct hp_snapshot *snapshot, uint64_t offset, hp_duration_line line)
{
    if (!hp_snapshot_has(snapshot, offset, sizeof(hp_duration_line), 8))
        return;
    for (size_t step = 0; step < 64; step++)
        line[step] += hp_snapshot_load64(snapshot->bytes + offset + sizeof(uint64_t) * step);
}

/* From its origin an octave has counters 64 to 127, which are one line, and octave 0 has 0 to 63 as well. */
static void hp_snapshot_add_octaves(const struct hp_snapshot *snapshot, const uint32_t octaves[HOTPATH_OCTAVES_],
                        hp_duration_line lines[HP_DURATION_LINES])
{
    if (octaves[0] != 0)
        hp_snapshot_add_counters(snapshot, octaves[0], lines[0]);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        if (octaves[octave] != 0)
            hp_snapshot_add_counters(snapshot, octaves[octave] + (uint64_t)sizeof(hp_duration_line), lines[octave + 1]);
}

void hp_snapshot_add_durations(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               hp_duration_line lines[HP_DURATION_LINES])
{
    hp_snapshot_add_octaves(snapshot, stat->octaves, lines);
}

void hp_duration_place(uint64_t ticks, uint32_t *ret_line, uint32_t *ret_step)
{
    const uint32_t octave = hotpath_octave_(ticks);
    *ret_line = octave + (ticks >= 64);
    *ret_step = (uint32_t)(ticks >> octave) & 63;
}

/* -------------------------------------------------------------------------------------------- walks */

void hp_walk_rewind(struct hp_walk *walk) { *walk = (struct hp_walk){.steps = walk->steps}; }

/* Counts a step; false when there cannot be that many records of this size. */
static bool hp_snapshot_may_step(const struct hp_snapshot *snapshot, struct hp_walk *walk, size_t record_bytes)
{
    return walk->steps++ < snapshot->size / record_bytes;
}

static uint32_t hp_snapshot_field32(const struct hp_snapshot *snapshot, uint32_t record, size_t field)
{
    return hp_snapshot_load32(snapshot->bytes + record + field);
}

bool hp_snapshot_next_thread(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_thread *ret_thread)
{
    walk->offset = walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hp_thread, next))
                                  : hp_snapshot_load32(snapshot->bytes + offsetof(struct hp_header, threads));
    if (walk->offset == 0 || !hp_snapshot_has(snapshot, walk->offset, sizeof *ret_thread, 8) ||
        !hp_snapshot_may_step(snapshot, walk, sizeof *ret_thread)) {
        walk->offset = 0;
        return walk->is_begun = false;
    }
    walk->is_begun = true;
    hp_snapshot_copy_words(ret_thread, snapshot->bytes + walk->offset, sizeof *ret_thread,
               HP_SNAPSHOT_BIT_OF(struct hp_thread, first_tick));
    ret_thread->name[sizeof ret_thread->name - 1] = '\0';
    return true;
}

/* Nodes of a chunk that lie within the bytes and within its own capacity. */
static uint32_t hp_snapshot_nodes_in(const struct hp_snapshot *snapshot, uint32_t chunk)
{
    const uint32_t capacity = hp_snapshot_field32(snapshot, chunk, offsetof(struct hp_node_chunk, capacity));
    const uint32_t used = hp_snapshot_field32(snapshot, chunk, offsetof(struct hp_node_chunk, used));
    const uint64_t fit = (snapshot->size - chunk - sizeof(struct hp_node_chunk)) / sizeof(struct hotpath_node_);
    const uint32_t claimed = used < capacity ? used : capacity;
    return claimed < fit ? claimed : (uint32_t)fit;
}

static bool hp_snapshot_enter_chunk(const struct hp_snapshot *snapshot, struct hp_walk *walk, uint32_t chunk)
{
    walk->chunk = chunk;
    walk->index = 0;
    return chunk != 0 && hp_snapshot_has(snapshot, chunk, sizeof(struct hp_node_chunk), 8) &&
           hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_node_chunk));
}

bool hp_snapshot_next_node(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_node *ret_node)
{
    if (!walk->is_begun) {
        walk->is_begun = true;
        if (!hp_snapshot_enter_chunk(snapshot, walk, thread->node_chunks))
            return walk->is_begun = false;
    }
    while (walk->index >= hp_snapshot_nodes_in(snapshot, walk->chunk))
        if (!hp_snapshot_enter_chunk(snapshot, walk, hp_snapshot_field32(snapshot, walk->chunk, offsetof(struct hp_node_chunk, next))))
            return walk->is_begun = false;
    const uint64_t offset =
        (uint64_t)walk->chunk + sizeof(struct hp_node_chunk) + (uint64_t)walk->index * sizeof(struct hotpath_node_);
    if (offset > UINT32_MAX || !hp_snapshot_may_step(snapshot, walk, sizeof(struct hotpath_node_)))
        return walk->is_begun = false;
    walk->offset = (uint32_t)offset;
    walk->index++;
    return hp_snapshot_node(snapshot, walk->offset, ret_node);
}

bool hp_snapshot_next_stat(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_stat_ *ret_stat)
{
    walk->offset =
        walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hotpath_stat_, next)) : thread->stats;
    walk->is_begun = walk->offset != 0 && hp_snapshot_may_step(snapshot, walk, sizeof *ret_stat) &&
                     hp_snapshot_stat(snapshot, walk->offset, ret_stat);
    return walk->is_begun;
}

/* The next frame of the stack, open or closed. */
static bool hp_snapshot_next_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                       struct hotpath_frame_ *ret_frame)
{
    walk->index++; /* frame 0 is the thread itself */
    const uint64_t offset = (uint64_t)thread->frames + (uint64_t)walk->index * sizeof *ret_frame;
    if (thread->frames == 0 || walk->index >= thread->frame_capacity || offset > UINT32_MAX ||
        !hp_snapshot_has(snapshot, offset, sizeof *ret_frame, 8) || !hp_snapshot_may_step(snapshot, walk, sizeof *ret_frame))
        return false;
    walk->offset = (uint32_t)offset;
    hp_snapshot_copy_words(ret_frame, snapshot->bytes + offset, sizeof *ret_frame, 7);
    return true;
}

bool hp_snapshot_next_open(const struct hp_snapshot *snapshot, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hotpath_frame_ *ret_frame)
{
    return hp_snapshot_next_frame(snapshot, thread, walk, ret_frame) && ret_frame->zone != 0;
}

/* ------------------------------------------------------------------------------- calls that are kept */

/*
 * The writer uses places anew while they are read. It raises a number when a place is whole, and only then goes on to
 * the next one; so whoever copies a place and then finds the number still within bounds has copied one whole call.
 */

/* Copies what may change meanwhile, word by word; `offset` is a multiple of 8, and all of it within the bytes. */
static bool hp_snapshot_copy_changing(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    const size_t words = bytes & ~(size_t)7;
    unsigned char *out = to;
    if (snapshot->read_anew != NULL)
        return snapshot->read_anew(snapshot->read_context, (uint32_t)offset, to, bytes);
    hp_snapshot_copy_words(out, snapshot->bytes + offset, words, UINT64_MAX);
    for (size_t at = words; at < bytes; at++)
        out[at] = __atomic_load_n(snapshot->bytes + offset + at, __ATOMIC_RELAXED);
    return true;
}

/*
 * Looks at the number, before and after a place is copied. The fences pair with the writer's: what it wrote before it raised
 * the number is seen by whoever sees the number, and who sees what it wrote afterwards sees the number raised.
 */
static bool hp_snapshot_look_at(const struct hp_snapshot *snapshot, uint64_t offset, void *to, size_t bytes)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool is_there = hp_snapshot_copy_changing(snapshot, offset, to, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

uint64_t hp_kept_call_end(const struct hp_kept_call *call)
{
    return call->ticks < UINT64_MAX - call->start ? call->start + call->ticks : UINT64_MAX;
}

static void hp_snapshot_set_call(struct hp_kept_call *call, const struct hp_call *stored)
{
    call->start = stored->start;
    call->ticks = stored->ticks;
    call->node = stored->node;
    call->tid = stored->tid;
    call->alloc_bytes = stored->alloc_bytes;
    call->alloc_count = stored->alloc_count;
    call->note_length = 0;
    call->note[0] = '\0';
}

/* Copies the call at an offset; a note that is broken counts as none. */
static bool hp_snapshot_copy_call(const struct hp_snapshot *snapshot, uint64_t offset, struct hp_kept_call *ret_call)
{
    struct hp_call stored;
    if (!hp_snapshot_has(snapshot, offset, sizeof stored, 8) || !hp_snapshot_copy_changing(snapshot, offset, &stored, sizeof stored))
        return false;
    hp_snapshot_set_call(ret_call, &stored);
    if (stored.note == 0 || stored.note_length > HP_NOTE_BYTES ||
        !hp_snapshot_has(snapshot, stored.note, stored.note_length, 8) ||
        !hp_snapshot_copy_changing(snapshot, stored.note, ret_call->note, stored.note_length))
        return true;
    ret_call->note[stored.note_length] = '\0';
    ret_call->note_length = stored.note_length;
    return true;
}

static uint64_t hp_snapshot_count_of(const struct hp_snapshot *snapshot, uint32_t log)
{
    uint64_t count;
    return hp_snapshot_look_at(snapshot, log + offsetof(struct hp_call_log, count), &count, sizeof count) ? count : 0;
}

bool hp_snapshot_next_call(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                           struct hp_walk *walk, struct hp_kept_call *ret_call)
{
    const uint32_t log = stat->log;
    if (log == 0 || !hp_snapshot_has(snapshot, log, sizeof(struct hp_call_log), 8))
        return walk->is_begun = false;
    const uint32_t capacity = hp_snapshot_field32(snapshot, log, offsetof(struct hp_call_log, capacity));
    if (!walk->is_begun)
        walk->number = hp_snapshot_count_of(snapshot, log);
    while (walk->number > 0 && capacity > 0 && hp_snapshot_may_step(snapshot, walk, sizeof(struct hp_call))) {
        walk->number--;
        const uint64_t offset =
            (uint64_t)log + sizeof(struct hp_call_log) + walk->number % capacity * sizeof(struct hp_call);
        const bool is_there = hp_snapshot_copy_call(snapshot, offset, ret_call);
        /* One place is the writer's, who may be at work in it. */
        if (hp_snapshot_count_of(snapshot, log) - walk->number >= capacity)
            break;
        if (is_there)
            return walk->is_begun = true;
    }
    return walk->is_begun = false;
}

#define HP_SNAPSHOT_SLOWEST_TRIES 8u

/* One of the two places of a slowest call. */
struct hp_snapshot_slow_place {
    uint32_t number;
    uint32_t offset;
    uint32_t bytes;
};

/* The place of the latest one, with its head within the bytes. */
static bool hp_snapshot_find_slowest(const struct hp_snapshot *snapshot, uint32_t offset, struct hp_snapshot_slow_place *ret_place)
{
    struct hp_slowest slowest;
    if (offset == 0 || !hp_snapshot_has(snapshot, offset, sizeof slowest, 8) ||
        !hp_snapshot_look_at(snapshot, offset, &slowest, sizeof slowest))
        return false;
    const uint32_t which = slowest.number % 2;
    *ret_place = (struct hp_snapshot_slow_place){slowest.number, slowest.calls[which], slowest.bytes[which]};
    return ret_place->number != 0 && ret_place->bytes >= sizeof(struct hp_slow_call) &&
           hp_snapshot_has(snapshot, ret_place->offset, sizeof(struct hp_slow_call), 8);
}

/* Whether the place still has what was copied from it: with one more the writer may be at work in it. */
static bool hp_snapshot_is_unchanged(const struct hp_snapshot *snapshot, uint32_t slowest, const struct hp_snapshot_slow_place *place)
{
    struct hp_snapshot_slow_place now;
    return hp_snapshot_find_slowest(snapshot, slowest, &now) && now.number == place->number;
}

bool hp_snapshot_slowest_ticks(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                               uint64_t *ret_ticks)
{
    struct hp_snapshot_slow_place place;
    for (unsigned try = 0; try < HP_SNAPSHOT_SLOWEST_TRIES && hp_snapshot_find_slowest(snapshot, stat->slowest, &place); try++)
        if (hp_snapshot_copy_changing(snapshot, place.offset + offsetof(struct hp_slow_call, call.ticks), ret_ticks,
                          sizeof *ret_ticks) &&
            hp_snapshot_is_unchanged(snapshot, stat->slowest, &place))
            return true;
    return false;
}

size_t hp_snapshot_slowest_bytes(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat)
{
    struct hp_slowest slowest;
    if (stat->slowest == 0 || !hp_snapshot_has(snapshot, stat->slowest, sizeof slowest, 8) ||
        !hp_snapshot_copy_changing(snapshot, stat->slowest, &slowest, sizeof slowest))
        return 0;
    const uint32_t larger = slowest.bytes[0] > slowest.bytes[1] ? slowest.bytes[0] : slowest.bytes[1];
    return larger < snapshot->size ? larger : snapshot->size;
}

/* Bytes of all that belongs to a slow call, by its head. */
static uint64_t hp_snapshot_slow_call_bytes(const struct hp_slow_call *head)
{
    return sizeof *head + (uint64_t)head->row_count * sizeof(struct hp_slow_row) + head->note_bytes;
}

static bool hp_snapshot_copy_place(const struct hp_snapshot *snapshot, const struct hp_snapshot_slow_place *place, void *memory,
                       size_t size)
{
    struct hp_slow_call head;
    if (!hp_snapshot_copy_changing(snapshot, place->offset, &head, sizeof head))
        return false;
    const uint64_t bytes = hp_snapshot_slow_call_bytes(&head);
    if (bytes > place->bytes || bytes > size || !hp_snapshot_has(snapshot, place->offset, (size_t)bytes, 8) ||
        !hp_snapshot_copy_changing(snapshot, place->offset, memory, (size_t)bytes))
        return false;
    /* What was checked, and not what has come meanwhile. */
    memcpy(memory, &head, sizeof head);
    return true;
}

static bool hp_snapshot_is_note_within(uint32_t note, uint32_t length, uint32_t note_bytes)
{
    return length <= HP_NOTE_BYTES && note <= note_bytes && length <= note_bytes - note;
}

/* Makes sense of a copy that nobody changes any more. */
static void hp_snapshot_describe_slowest(void *memory, struct hp_slow_copy *ret_copy)
{
    const struct hp_slow_call *slow = memory;
    struct hp_slow_row *rows = (struct hp_slow_row *)(void *)((unsigned char *)memory + sizeof *slow);
    const unsigned char *notes = (const unsigned char *)(rows + slow->row_count);
    for (uint32_t at = 0; at < slow->row_count; at++)
        if (!hp_snapshot_is_note_within(rows[at].note, rows[at].note_length, slow->note_bytes))
            rows[at].note = rows[at].note_length = 0;
    hp_snapshot_set_call(&ret_copy->call, &slow->call);
    if (hp_snapshot_is_note_within(slow->call.note, slow->call.note_length, slow->note_bytes)) {
        memcpy(ret_copy->call.note, notes + slow->call.note, slow->call.note_length);
        ret_copy->call.note[slow->call.note_length] = '\0';
        ret_copy->call.note_length = slow->call.note_length;
    }
    ret_copy->self = slow->self < slow->call.ticks ? slow->self : slow->call.ticks;
    ret_copy->row_count = slow->row_count;
    ret_copy->rows_left_out = slow->rows_left_out;
    ret_copy->rows = rows;
    ret_copy->notes = (const char *)notes;
}

bool hp_snapshot_copy_slowest(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat, void *memory,
                              size_t size, struct hp_slow_copy *ret_copy)
{
    struct hp_snapshot_slow_place place;
    for (unsigned try = 0; try < HP_SNAPSHOT_SLOWEST_TRIES && hp_snapshot_find_slowest(snapshot, stat->slowest, &place); try++) {
        const bool is_copied = hp_snapshot_copy_place(snapshot, &place, memory, size);
        if (!hp_snapshot_is_unchanged(snapshot, stat->slowest, &place))
            continue;
        if (is_copied)
            hp_snapshot_describe_slowest(memory, ret_copy);
        return is_copied;
    }
    return false;
}

/* -------------------------------------------------------------------------------------- allocations */

bool hp_snapshot_alloc_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                              struct hp_alloc_thread *ret_alloc)
{
    if (thread->alloc == 0 || !hp_snapshot_has(snapshot, thread->alloc, sizeof *ret_alloc, 8))
        return false;
    const size_t wide = offsetof(struct hp_alloc_thread, frames) / 8;
    hp_snapshot_copy_words(ret_alloc, snapshot->bytes + thread->alloc, sizeof *ret_alloc, (UINT64_C(1) << wide) - 1);
    return true;
}

bool hp_snapshot_alloc_frame(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                             const struct hp_alloc_thread *alloc, uint32_t index, struct hp_alloc_frame *ret_frame)
{
    const uint64_t offset = (uint64_t)alloc->frames + (uint64_t)index * sizeof *ret_frame;
    if (alloc->frames == 0 || index >= thread->frame_capacity || !hp_snapshot_has(snapshot, offset, sizeof *ret_frame, 8))
        return false;
    hp_snapshot_copy_words(ret_frame, snapshot->bytes + offset, sizeof *ret_frame, UINT64_MAX);
    return true;
}

bool hp_snapshot_alloc_stat(const struct hp_snapshot *snapshot, const struct hotpath_stat_ *stat,
                            struct hp_alloc_stat *ret_alloc)
{
    const size_t sums = offsetof(struct hp_alloc_stat, octaves);
    if (stat->alloc == 0 || !hp_snapshot_has(snapshot, stat->alloc, sizeof *ret_alloc, 8))
        return false;
    const unsigned char *from = snapshot->bytes + stat->alloc;
    hp_snapshot_copy_words(ret_alloc, from, sums, UINT64_MAX);
    hp_snapshot_copy_words(ret_alloc->octaves, from + sums, sizeof ret_alloc->octaves, 0);
    return true;
}

void hp_snapshot_add_measures(const struct hp_snapshot *snapshot, const struct hp_alloc_stat *alloc,
                              enum hp_alloc_measure measure, hp_duration_line lines[HP_DURATION_LINES])
{
    hp_snapshot_add_octaves(snapshot, alloc->octaves[measure], lines);
}

bool hp_snapshot_next_pool(const struct hp_snapshot *snapshot, struct hp_walk *walk, struct hp_pool *ret_pool)
{
    walk->offset = walk->is_begun ? hp_snapshot_field32(snapshot, walk->offset, offsetof(struct hp_pool, next))
                                  : hp_snapshot_load32(snapshot->bytes + offsetof(struct hp_header, pools));
    walk->is_begun = walk->offset != 0 && hp_snapshot_has(snapshot, walk->offset, sizeof *ret_pool, 8) &&
                     hp_snapshot_may_step(snapshot, walk, sizeof *ret_pool);
    if (walk->is_begun)
        hp_snapshot_copy_words(ret_pool, snapshot->bytes + walk->offset, sizeof *ret_pool, ~HP_SNAPSHOT_BIT_OF(struct hp_pool, next));
    return walk->is_begun;
}

/* ---------------------------------------------------------------------------------------- processor time */

bool hp_snapshot_cpu_thread(const struct hp_snapshot *snapshot, const struct hp_thread *thread,
                            struct hp_cpu_thread *ret_cpu)
{
    if (thread->cpu == 0 || !hp_snapshot_has(snapshot, thread->cpu, sizeof *ret_cpu, 8))
        return false;
    const size_t wide = offsetof(struct hp_cpu_thread, table) / 8;
    hp_snapshot_copy_words(ret_cpu, snapshot->bytes + thread->cpu, sizeof *ret_cpu, (UINT64_C(1) << wide) - 1);
    return true;
}

static uint32_t hp_snapshot_places_in(const struct hp_snapshot *snapshot, uint32_t table)
{
    if (table == 0 || !hp_snapshot_has(snapshot, table, sizeof(struct hp_cpu_table), 8))
        return 0;
    const uint32_t capacity = hp_snapshot_field32(snapshot, table, offsetof(struct hp_cpu_table, capacity));
    const uint64_t bytes = (uint64_t)capacity * sizeof(struct hp_cpu_node);
    return hp_snapshot_has(snapshot, table, (size_t)(sizeof(struct hp_cpu_table) + bytes), 8) ? capacity : 0;
}

/* `index` is that of the next place. */
bool hp_snapshot_next_cpu(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu, struct hp_walk *walk,
                          struct hp_cpu_node *ret_node)
{
    const uint32_t places = hp_snapshot_places_in(snapshot, cpu->table);
    while (walk->index < places && hp_snapshot_may_step(snapshot, walk, sizeof *ret_node)) {
        walk->offset = cpu->table + (uint32_t)(sizeof(struct hp_cpu_table) + walk->index * sizeof *ret_node);
        walk->index++;
        hp_snapshot_copy_words(ret_node, snapshot->bytes + walk->offset, sizeof *ret_node, ~HP_SNAPSHOT_BIT_OF(struct hp_cpu_node, node));
        if (ret_node->node != 0)
            return true;
    }
    return false;
}

static bool hp_snapshot_copy_chunk(const struct hp_snapshot *snapshot, uint32_t chunk, struct hp_sample_chunk *ret_chunk)
{
    if (chunk == 0 || !hp_snapshot_has(snapshot, chunk, sizeof *ret_chunk, 8))
        return false;
    hp_snapshot_copy_words(ret_chunk, snapshot->bytes + chunk, sizeof *ret_chunk, HP_SNAPSHOT_BIT_OF(struct hp_sample_chunk, first));
    const uint64_t bytes = (uint64_t)ret_chunk->used * sizeof(struct hp_sample);
    return ret_chunk->used <= ret_chunk->capacity && hp_snapshot_has(snapshot, chunk, (size_t)(sizeof *ret_chunk + bytes), 8);
}

/* From the one after that which is being filled round to that one. `index` is that of the next sample in it. */
bool hp_snapshot_next_sample(const struct hp_snapshot *snapshot, const struct hp_cpu_thread *cpu,
                             struct hp_walk *walk, struct hp_sample *ret_sample)
{
    struct hp_sample_chunk chunk;
    if (!walk->is_begun) {
        if (!hp_snapshot_copy_chunk(snapshot, cpu->chunk, &chunk))
            return false;
        walk->is_begun = true;
        walk->chunk = chunk.next;
    }
    while (hp_snapshot_copy_chunk(snapshot, walk->chunk, &chunk) && hp_snapshot_may_step(snapshot, walk, sizeof *ret_sample)) {
        if (walk->index < chunk.used) {
            walk->offset = walk->chunk + (uint32_t)(sizeof chunk + walk->index * sizeof *ret_sample);
            walk->number = chunk.first + walk->index++;
            hp_snapshot_copy_words(ret_sample, snapshot->bytes + walk->offset, sizeof *ret_sample,
                       HP_SNAPSHOT_BIT_OF(struct hp_sample, ticks));
            return true;
        }
        if (walk->chunk == cpu->chunk)
            return false;
        walk->chunk = chunk.next;
        walk->index = 0;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ opening */

static bool hp_snapshot_read_counter64(size_t at)
{
    return (at >= offsetof(struct hp_header, capacity) && at < offsetof(struct hp_header, gate)) ||
           at == offsetof(struct hp_header, process_start) || at == offsetof(struct hp_header, wall_start_ns) ||
           (at >= offsetof(struct hp_header, clock_start) && at < offsetof(struct hp_header, site_count)) ||
           (at >= offsetof(struct hp_header, losses) && at < offsetof(struct hp_header, site_chunks)) ||
           at >= offsetof(struct hp_header, alloc_live);
}

static void hp_snapshot_copy_header(struct hp_snapshot *snapshot)
{
    unsigned char *out = (unsigned char *)&snapshot->header;
    for (size_t at = 0; at < HP_HEADER_USED; at += 8)
        hp_snapshot_copy_words(out + at, snapshot->bytes + at, 8, hp_snapshot_read_counter64(at));
}

static const char *hp_snapshot_say(struct hp_snapshot *snapshot, const char *before, uint64_t first, const char *between,
                       uint64_t second, const char *after)
{
    struct hp_text text;
    hp_text_init(&text, snapshot->problem, sizeof snapshot->problem);
    hp_text_string(&text, before);
    hp_text_u64(&text, first);
    hp_text_string(&text, between);
    hp_text_u64(&text, second);
    hp_text_string(&text, after);
    return hp_text_end(&text);
}

static uint32_t hp_snapshot_swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00u) | (word << 8 & 0xff0000u) | word << 24;
}

/* The fields that say whether the rest can be understood: they have their places in every version. */
static const char *hp_snapshot_check_opening(struct hp_snapshot *snapshot)
{
    const unsigned char *bytes = snapshot->bytes;
    const size_t size = snapshot->size;
    const size_t opening = offsetof(struct hp_header, features);
    if ((uintptr_t)bytes % 8 != 0)
        return "not a hotpath session: its bytes are not aligned in memory";
    if (size < sizeof HP_MAGIC)
        return hp_snapshot_say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    if (memcmp(bytes, HP_MAGIC, sizeof HP_MAGIC) != 0)
        return "not a hotpath session: it does not begin like one";
    if (size < opening)
        return hp_snapshot_say(snapshot, "too short for a hotpath session: ", size, " of at least ", HP_HEADER_BYTES, " bytes");
    const uint32_t order = hp_snapshot_load32(bytes + offsetof(struct hp_header, byte_order));
    const uint32_t version = hp_snapshot_load32(bytes + offsetof(struct hp_header, version));
    const uint32_t header = hp_snapshot_load32(bytes + offsetof(struct hp_header, header_bytes));
    if (order != HP_BYTE_ORDER)
        return hp_snapshot_swapped(order) == HP_BYTE_ORDER
                   ? "a hotpath session of a machine with the other byte order: read it on such a machine"
                   : "not a hotpath session: its byte order mark is broken";
    if (version != HP_LAYOUT_VERSION)
        return hp_snapshot_say(snapshot, "a hotpath session of format version ", version, ", while this hotpath reads version ",
                   HP_LAYOUT_VERSION, "");
    if (header != HP_HEADER_BYTES)
        return hp_snapshot_say(snapshot, "a broken hotpath session: its header claims ", header, " bytes instead of ",
                   HP_HEADER_BYTES, "");
    if (size < HP_HEADER_BYTES)
        return hp_snapshot_say(snapshot, "a hotpath session cut off within its header: ", size, " of ", HP_HEADER_BYTES,
                   " bytes");
    return NULL;
}

/*
 * The rate comes from the two pairs that are furthest apart. Pairs closer than this say little: reading both clocks
 * takes some 50 ns, and 50 ns in 20 µs is 0.3 %.
 */
#define HP_SNAPSHOT_SHORTEST_BASE_NS 20000u

static void hp_snapshot_set_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *end)
{
    const struct hp_clock_pair *start = &snapshot->header.clock_start;
    snapshot->ns_per_tick = 1;
    snapshot->is_rate_known = snapshot->header.clock_kind == HP_CLOCK_MONOTONIC;
    if (snapshot->is_rate_known || end->ticks <= start->ticks || end->ns <= start->ns ||
        end->ns - start->ns < HP_SNAPSHOT_SHORTEST_BASE_NS)
        return;
    const double rate = (double)(end->ns - start->ns) / (double)(end->ticks - start->ticks);
    if (rate < 1e-4 || rate > 1e9) /* no counter runs at more than 10 THz or less than 1 Hz */
        return;
    snapshot->ns_per_tick = rate;
    snapshot->is_rate_known = true;
}

void hp_snapshot_use_rate(struct hp_snapshot *snapshot, const struct hp_clock_pair *later)
{
    hp_snapshot_set_rate(snapshot, later);
}

static uint64_t hp_snapshot_latest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/*
 * The last sign of life of a process that ended without finishing its session. A closed frame has its end in
 * `child`.
 */
static uint64_t hp_snapshot_last_sign(const struct hp_snapshot *snapshot)
{
    struct hp_walk threads = {0}, frames = {0};
    struct hp_thread thread;
    struct hotpath_frame_ frame;
    uint64_t ticks = hp_snapshot_latest(snapshot->header.clock_start.ticks, snapshot->header.clock_latest.ticks);
    while (hp_snapshot_next_thread(snapshot, &threads, &thread)) {
        hp_walk_rewind(&frames);
        while (hp_snapshot_next_frame(snapshot, &thread, &frames, &frame))
            ticks = hp_snapshot_latest(ticks, frame.zone != 0 ? frame.start : frame.child);
    }
    return ticks;
}

const char *hp_snapshot_open(struct hp_snapshot *snapshot, const void *bytes, size_t size,
                             const struct hp_clock_pair *now)
{
    memset(snapshot, 0, sizeof *snapshot);
    snapshot->bytes = bytes;
    snapshot->size = size;
    const char *problem = hp_snapshot_check_opening(snapshot);
    if (problem != NULL)
        return problem;
    hp_snapshot_copy_header(snapshot);
    const struct hp_header *header = &snapshot->header;
    snapshot->is_finished = header->state == HP_STATE_FINISHED;
    snapshot->is_live = now != NULL;
    snapshot->is_cut_off = now == NULL && header->used > size;
    if (now != NULL && !snapshot->is_finished) {
        hp_snapshot_set_rate(snapshot, now);
        snapshot->now_ticks = hp_snapshot_latest(now->ticks, header->clock_start.ticks);
        return NULL;
    }
    hp_snapshot_set_rate(snapshot, &header->clock_latest);
    snapshot->now_ticks =
        snapshot->is_finished ? hp_snapshot_latest(header->clock_latest.ticks, header->clock_start.ticks) : hp_snapshot_last_sign(snapshot);
    return NULL;
}

double hp_snapshot_ns(const struct hp_snapshot *snapshot, uint64_t ticks)
{
    return (double)ticks * snapshot->ns_per_tick;
}

uint64_t hp_snapshot_elapsed(const struct hp_snapshot *snapshot)
{
    return snapshot->now_ticks - snapshot->header.clock_start.ticks;
}

uint64_t hp_snapshot_elapsed_ns(const struct hp_snapshot *snapshot)
{
    return hp_units_round(hp_snapshot_ns(snapshot, hp_snapshot_elapsed(snapshot)));
}

enum hp_snapshot_state hp_snapshot_state(const struct hp_snapshot *snapshot)
{
    if (snapshot->is_finished)
        return HP_SNAPSHOT_FINISHED;
    return snapshot->is_live ? HP_SNAPSHOT_RUNNING : HP_SNAPSHOT_ENDED;
}

const char *hp_snapshot_state_name(enum hp_snapshot_state state)
{
    static const char *const names[] = {
        [HP_SNAPSHOT_RUNNING] = "running", [HP_SNAPSHOT_FINISHED] = "finished", [HP_SNAPSHOT_ENDED] = "ended"};
    return names[state];
}

bool hp_snapshot_has_same_boot(const struct hp_snapshot *snapshot, const struct hp_snapshot *other)
{
    return memcmp(snapshot->header.boot_id, other->header.boot_id, sizeof snapshot->header.boot_id) == 0;
}

/* ---- src/session/store.h ------------------------------------------------------------------------------------- */

/*
 * The session file from the writer's side: creating it, growing it, handing out space in it.
 *
 * One mapping of the full capacity is made at the start and stays where it is; growing only makes more of the
 * file behind it real. No descriptor is kept: to grow, the file is opened again by its path and compared with the one
 * that was mapped. Space comes from one end and is never given back, so handing it out is a compare-and-swap.
 *
 * No heap, no libc locks: usable in a signal handler and in a forked child of a threaded process.
 */

struct hp_store {
    char *base;      /* the mapping; NULL: no session */
    uint64_t mapped; /* bytes of it */
    struct hp_file_identity file;
    uint32_t refusals; /* times the file could not grow, since it last could */
    uint32_t number;   /* sessions of this process before this one, across exec too */
    bool is_memory;    /* no file could be had: everything is there already, nobody else can read it */
    char path[1200];   /* "" when there is no file */
};

/* Why a session could not begin, as a sentence; or NULL. */
HP_PRIVATE const char *hp_store_create(struct hp_store *store, const struct hp_settings *settings, uint32_t pid);

/*
 * Lets go of the file but keeps the address range, empty: a late writer writes into nothing. When `is_quiet` says that
 * nobody can still be writing, the next hp_store_create may use the store again; otherwise it is his for good.
 */
HP_PRIVATE void hp_store_retire(struct hp_store *store, bool is_quiet);

/* In a forked child: drops the parent's mapping without touching what is in it. */
HP_PRIVATE void hp_store_forget(struct hp_store *store);

static inline struct hp_header *hp_store_header(const struct hp_store *store)
{
    return (struct hp_header *)(void *)store->base;
}

static inline void *hp_store_at(const struct hp_store *store, uint32_t offset) { return store->base + offset; }

/* Hands out `size` zeroed bytes; `align` is a power of two. Returns their offset, or 0 when there is no space. */
HP_PRIVATE uint32_t hp_store_allocate(struct hp_store *store, uint32_t size, uint32_t align);

/* Copies text into the session, cut to 4095 bytes; 0 when there is no space or no text. */
HP_PRIVATE uint32_t hp_store_text(struct hp_store *store, const char *text);

/* Adds to a loss counter. */
HP_PRIVATE void hp_store_lose(struct hp_store *store, enum hp_loss loss, uint64_t count);

/* Makes the whole capacity real at once. */
HP_PRIVATE bool hp_store_reserve_all(struct hp_store *store);

/*
 * Removes old sessions of dead processes from the folder of `store`, all but the newest `keep`.
 */
HP_PRIVATE void hp_store_prune(const struct hp_store *store, uint32_t keep);

/* ---- src/session/store.c ------------------------------------------------------------------------------------- */

/*
 * Creating and growing the session file.
 *
 * Protocol of the two counters in the header. `backed` says how many bytes are real; it only rises, after the
 * file system has said yes, by compare-and-swap (two threads may reserve overlapping ranges; that is harmless). `used`
 * is moved only to values not above `backed`, by compare-and-swap; the winner owns the bytes between. Both are
 * relaxed: what is written into the bytes is published by whoever links their offset, with release order.
 */

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#endif

#define HP_STORE_FIRST_BYTES (128u << 10)
#define HP_STORE_GROW_AT_LEAST (64u << 10)
#define HP_STORE_GROW_AT_MOST (4u << 20)
#define HP_STORE_DEFAULT_CAPACITY (UINT64_C(64) << 20)
#define HP_STORE_PAGE UINT64_C(65536) /* the largest page size of the platforms we know */

static uint64_t hp_store_page_floor(uint64_t size) { return size & ~(HP_STORE_PAGE - 1); }

/* ------------------------------------------------------------------------------------------ text */

static size_t hp_store_put_text(char *out, size_t size, size_t at, const char *text)
{
    struct hp_text rest;
    hp_text_init(&rest, out + at, size - at);
    hp_text_string(&rest, text);
    return at + strlen(hp_text_end(&rest));
}

static size_t hp_store_put_number(char *out, size_t size, size_t at, uint64_t number)
{
    struct hp_text rest;
    hp_text_init(&rest, out + at, size - at);
    hp_text_u64(&rest, number);
    return at + strlen(hp_text_end(&rest));
}

/* --------------------------------------------------------------------------------------- capacity */

static uint64_t hp_store_choose_capacity(const struct hp_settings *settings, const char *folder)
{
    uint64_t capacity = settings->max_bytes;
    if (capacity == 0) {
        const uint64_t quarter = hp_file_free_bytes(folder) / 4;
        capacity = quarter < HP_STORE_DEFAULT_CAPACITY ? quarter : HP_STORE_DEFAULT_CAPACITY;
    }
    if (capacity > UINT32_MAX)
        capacity = UINT32_MAX;
    return hp_store_page_floor(capacity);
}

/* ---------------------------------------------------------------------------------------- mapping */

/* Maps `fd` (or plain memory for -1); where the address space is short, less of it. */
static bool hp_store_map_file(struct hp_store *store, int fd, uint64_t capacity)
{
    const int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
    if (store->base != NULL && store->mapped == capacity) {
        void *again = mmap(store->base, (size_t)capacity, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
        return again != MAP_FAILED;
    }
    for (; capacity >= HP_MIN_BYTES; capacity = hp_store_page_floor(capacity / 2)) {
        void *fresh = mmap(NULL, (size_t)capacity, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (fresh != MAP_FAILED) {
            store->base = fresh;
            store->mapped = capacity;
            return true;
        }
    }
    return false;
}

static void hp_store_begin_header(struct hp_store *store, uint64_t backed)
{
    struct hp_header *header = hp_store_header(store);
    header->byte_order = HP_BYTE_ORDER;
    header->version = HP_LAYOUT_VERSION;
    header->header_bytes = HP_HEADER_BYTES;
    header->capacity = store->mapped;
    header->used = HP_HEADER_BYTES;
    header->backed = backed;
}

/* -------------------------------------------------------------------------------------- file names */

/* FOLDER/PID-STARTTIME-N.hotpath; N counts the sessions of the process, across exec too. */
static bool hp_store_create_file(struct hp_store *store, const char *folder, uint32_t pid, uint64_t start_time, int *ret_fd)
{
    for (uint32_t number = 0; number < 10000; number++) {
        size_t at = hp_store_put_text(store->path, sizeof store->path, 0, folder);
        at = hp_store_put_text(store->path, sizeof store->path, at, "/");
        at = hp_store_put_number(store->path, sizeof store->path, at, pid);
        at = hp_store_put_text(store->path, sizeof store->path, at, "-");
        at = hp_store_put_number(store->path, sizeof store->path, at, start_time);
        at = hp_store_put_text(store->path, sizeof store->path, at, "-");
        at = hp_store_put_number(store->path, sizeof store->path, at, number);
        hp_store_put_text(store->path, sizeof store->path, at, HP_SESSION_SUFFIX);
        *ret_fd = hp_sys_open(store->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (*ret_fd >= 0) {
            store->number = number;
            return true;
        }
        if (errno != EEXIST)
            break;
    }
    store->path[0] = '\0';
    return false;
}

static bool hp_store_create_in(struct hp_store *store, const struct hp_settings *settings, const char *folder, uint32_t pid)
{
    int fd;
    if (folder[0] != '/' || !hp_file_make_private_folder(folder))
        return false;
    const uint64_t capacity = hp_store_choose_capacity(settings, folder);
    if (capacity < HP_MIN_BYTES || !hp_store_create_file(store, folder, pid, hp_process_start_time(0), &fd))
        return false;
    const bool is_ready = hp_file_reserve(fd, 0, HP_STORE_FIRST_BYTES) && hp_store_map_file(store, fd, capacity);
    store->file = hp_file_identify(fd);
    store->is_memory = false;
    hp_sys_close(fd);
    if (!is_ready) {
        unlink(store->path);
        store->path[0] = '\0';
        return false;
    }
    store->refusals = 0;
    hp_store_begin_header(store, HP_STORE_FIRST_BYTES);
    return true;
}

/*
 * No folder will do: memory that lasts as long as the process. A memfd would be readable by others, but the
 * kernel counts its size against RLIMIT_FSIZE as well, so plain shared memory is the last resort that always works.
 */
static bool hp_store_create_in_memory(struct hp_store *store, const struct hp_settings *settings)
{
    uint64_t capacity = settings->max_bytes ? hp_store_page_floor(settings->max_bytes) : HP_STORE_DEFAULT_CAPACITY;
    int fd = -1;
#ifdef SYS_memfd_create
    fd = (int)syscall(SYS_memfd_create, "hotpath-session", MFD_CLOEXEC);
    if (fd >= 0 && !(hp_file_size_is_allowed(capacity) && ftruncate(fd, (off_t)capacity) == 0)) {
        hp_sys_close(fd);
        fd = -1;
    }
#endif
    if (capacity < HP_MIN_BYTES)
        capacity = HP_MIN_BYTES;
    if (capacity > UINT32_MAX)
        capacity = hp_store_page_floor(UINT32_MAX);
    const bool is_mapped = hp_store_map_file(store, fd, capacity);
    if (fd >= 0)
        hp_sys_close(fd);
    if (!is_mapped)
        return false;
    store->is_memory = true;
    store->path[0] = '\0';
    hp_store_begin_header(store, store->mapped);
    return true;
}

const char *hp_store_create(struct hp_store *store, const struct hp_settings *settings, uint32_t pid)
{
    char folder[1100];
    for (unsigned n = 0; hp_place(settings, n, folder, sizeof folder); n++)
        if (hp_store_create_in(store, settings, folder, pid))
            return NULL;
    if (hp_store_create_in_memory(store, settings))
        return NULL;
    return "no memory for a session could be mapped";
}

void hp_store_retire(struct hp_store *store, bool is_quiet)
{
    if (store->base == NULL)
        return;
    (void)mmap(store->base, (size_t)store->mapped, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    /* Left to late writers for good. The gate there is no session's, so whoever looks at it comes to ask. */
    if (!is_quiet)
        __atomic_store_n(&hp_store_header(store)->gate, HP_GATE_GONE, __ATOMIC_RELAXED);
    store->path[0] = '\0';
}

void hp_store_forget(struct hp_store *store)
{
    if (store->base != NULL)
        munmap(store->base, (size_t)store->mapped);
    store->base = NULL;
    store->path[0] = '\0';
}

/* ------------------------------------------------------------------------------------------- space */

static bool hp_store_raise_backed(struct hp_header *header, uint64_t to)
{
    uint64_t backed = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    while (backed < to)
        if (__atomic_compare_exchange_n(&header->backed, &backed, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
    return true;
}

/* A full disk stays full for a while: asking again costs the host system calls, so most times the answer is known. */
#define HP_STORE_ASK_AGAIN 4096u

static bool hp_store_is_worth_asking(struct hp_store *store)
{
    const uint32_t refusals = __atomic_load_n(&store->refusals, __ATOMIC_RELAXED);
    if (refusals != 0)
        __atomic_store_n(&store->refusals, refusals + 1, __ATOMIC_RELAXED);
    return refusals % HP_STORE_ASK_AGAIN == 0;
}

/* Makes the file real up to `to`, and a good piece further. */
static bool hp_store_grow(struct hp_store *store, uint64_t to)
{
    struct hp_header *header = hp_store_header(store);
    const uint64_t backed = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    if (backed >= to)
        return true; /* another thread was here meanwhile */
    uint64_t step = backed / 2;
    step = step < HP_STORE_GROW_AT_LEAST ? HP_STORE_GROW_AT_LEAST : step > HP_STORE_GROW_AT_MOST ? HP_STORE_GROW_AT_MOST : step;
    const uint64_t exact = (to + 4095) & ~UINT64_C(4095);
    uint64_t generous = exact + step;
    if (generous > store->mapped)
        generous = store->mapped;
    if (!hp_store_is_worth_asking(store))
        return false;
    const int fd = hp_sys_open(store->path, O_RDWR | O_NOFOLLOW, 0);
    const bool has_grown = fd >= 0 && hp_file_is(fd, &store->file) &&
                           ((hp_file_reserve(fd, backed, generous) && hp_store_raise_backed(header, generous)) ||
                            (hp_file_reserve(fd, backed, exact) && hp_store_raise_backed(header, exact)));
    if (fd >= 0)
        hp_sys_close(fd);
    __atomic_store_n(&store->refusals, has_grown ? 0 : 1, __ATOMIC_RELAXED);
    return has_grown;
}

bool hp_store_reserve_all(struct hp_store *store)
{
    const uint64_t backed = __atomic_load_n(&hp_store_header(store)->backed, __ATOMIC_RELAXED);
    return backed >= store->mapped || (hp_store_grow(store, store->mapped));
}

uint32_t hp_store_allocate(struct hp_store *store, uint32_t size, uint32_t align)
{
    struct hp_header *header = hp_store_header(store);
    uint64_t used = __atomic_load_n(&header->used, __ATOMIC_RELAXED);
    for (;;) {
        const uint64_t from = (used + align - 1) & ~(uint64_t)(align - 1);
        const uint64_t to = from + size;
        if (to > store->mapped)
            return 0;
        if (to > __atomic_load_n(&header->backed, __ATOMIC_RELAXED) && !hp_store_grow(store, to))
            return 0;
        if (__atomic_compare_exchange_n(&header->used, &used, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return (uint32_t)from;
    }
}

uint32_t hp_store_text(struct hp_store *store, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return 0;
    const size_t whole = strlen(text);
    const uint32_t length = whole < 4095 ? (uint32_t)whole : 4095;
    const uint32_t offset = hp_store_allocate(store, (uint32_t)sizeof(uint32_t) + length + 1, 8);
    if (offset == 0)
        return 0;
    struct hp_string *string = hp_store_at(store, offset);
    string->length = length;
    memcpy(string->bytes, text, length);
    return offset;
}

void hp_store_lose(struct hp_store *store, enum hp_loss loss, uint64_t count)
{
    __atomic_fetch_add(&hp_store_header(store)->losses[loss], count, __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------------------------------------- pruning */

#define HP_STORE_PRUNE_LOOKS_AT 512

struct hp_store_found {
    int64_t changed;
    char name[64];
};

struct hp_store_prune_ {
    char folder[1200];
    size_t count;
    struct hp_store_found found[HP_STORE_PRUNE_LOOKS_AT];
};

/*
 * Whether a session is over: it was finished, or its process is gone. Of a process in another pid namespace, or one
 * whose start nobody knows, the latter cannot be told from here, and then it is not over.
 */
static bool hp_store_is_over(const struct hp_store_prune_ *prune, const char *name, uint32_t pid, uint64_t start)
{
    char path[sizeof prune->folder + 65];
    uint32_t words[offsetof(struct hp_header, losses) / sizeof(uint32_t)];
    hp_store_put_text(path, sizeof path, hp_store_put_text(path, sizeof path, hp_store_put_text(path, sizeof path, 0, prune->folder), "/"),
             name);
    if (hp_file_read_bytes(path, words, sizeof words) != sizeof words)
        return true;
    if (words[offsetof(struct hp_header, state) / sizeof(uint32_t)] == HP_STATE_FINISHED)
        return true;
    const uint32_t pid_namespace = words[offsetof(struct hp_header, pid_namespace) / sizeof(uint32_t)];
    return hp_process_life(pid, start, pid_namespace) == HP_LIFE_OVER;
}

/* Remembers names of the form PID-STARTTIME-N.hotpath. */
static void hp_store_remember(const char *name, void *context)
{
    struct hp_store_prune_ *prune = context;
    const size_t length = strlen(name);
    if (prune->count == HP_STORE_PRUNE_LOOKS_AT || length >= sizeof prune->found[0].name ||
        !hp_text_has_suffix(name, HP_SESSION_SUFFIX))
        return;
    uint64_t pid = 0, start = 0;
    const char *at = name;
    for (; *at >= '0' && *at <= '9' && pid < UINT32_MAX; at++)
        pid = pid * 10 + (uint64_t)(*at - '0');
    if (at == name || *at != '-')
        return;
    for (at++; *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    if (*at != '-' || !hp_store_is_over(prune, name, (uint32_t)pid, start))
        return;
    struct hp_store_found *found = &prune->found[prune->count++];
    memcpy(found->name, name, length + 1);
}

/* The index of the session that ended first. */
static size_t hp_store_oldest(const struct hp_store_prune_ *prune)
{
    size_t best = 0;
    for (size_t at = 1; at < prune->count; at++)
        if (prune->found[at].changed < prune->found[best].changed)
            best = at;
    return best;
}

void hp_store_prune(const struct hp_store *store, uint32_t keep)
{
    struct hp_store_prune_ *prune = hp_memory_map(sizeof *prune);
    if (prune == NULL)
        return;
    const char *folder = prune->folder;
    hp_store_put_text(prune->folder, sizeof prune->folder, 0, store->path);
    *strrchr(prune->folder, '/') = '\0';
    hp_file_each(folder, hp_store_remember, prune);
    const int fd = hp_sys_open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    for (size_t at = 0; fd >= 0 && at < prune->count; at++) {
        struct stat status;
        if (fstatat(fd, prune->found[at].name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            prune->found[at].changed = (int64_t)status.st_mtime;
    }
    while (fd >= 0 && prune->count > keep) {
        const size_t victim = hp_store_oldest(prune);
        unlinkat(fd, prune->found[victim].name, 0);
        prune->found[victim] = prune->found[--prune->count];
    }
    if (fd >= 0)
        hp_sys_close(fd);
    hp_memory_unmap(prune, sizeof *prune);
}

/* ---- src/sections/run.h -------------------------------------------------------------------------------------- */

/*
 * What a report is about: the sessions that are added up, and what holds for all of them.
 *
 * Sessions can be added where their ticks mean the same: the same kind of clock, since the same boot of the machine.
 * Those that do not fit the principal one are left out, and the report says so.
 */

struct hp_arena;

struct hp_run {
    const struct hp_snapshot **sessions; /* those that are added up, the principal one first */
    size_t count;
    const struct hp_snapshot **left_out;
    size_t left_out_count;
    double ns_per_tick;
    bool is_rate_known;
    uint64_t start_ns;                 /* by CLOCK_MONOTONIC: when the first session began */
    uint64_t elapsed_ticks;            /* from there to the end of the last one */
    double zone_cost_ns;               /* what one zone costs, on average over the sessions; 0: not known */
    double zone_inner_ns;              /* the part of it that falls into the zone's own duration */
    size_t states[HP_SNAPSHOT_STATES]; /* how many sessions are running, finished, ended */
    size_t cut_off;                    /* how many have lost the end of their file */
    hp_read_name *read_name;           /* as in struct hp_snapshots */
};

/* Sorts out the sessions. False: no memory. The snapshots must stay as long as the run is used. */
HP_PRIVATE bool hp_run_init(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots);

HP_PRIVATE double hp_run_ns(const struct hp_run *run, uint64_t ticks);
HP_PRIVATE uint64_t hp_run_elapsed_ns(const struct hp_run *run);

/* How long after the beginning of the run a session began. */
HP_PRIVATE uint64_t hp_run_started_ns(const struct hp_run *run, const struct hp_snapshot *session);

/* Running while one of them runs, finished when all have finished, otherwise ended. */
HP_PRIVATE enum hp_snapshot_state hp_run_state(const struct hp_run *run);

/* ---- src/sections/section.h ---------------------------------------------------------------------------------- */

/*
 * The one row model: a section is a kind of table (timing, call tree, ...), described by its columns and filled by
 * one function from the sessions of a run. Renderers know columns and units, never sections; a new section is a new
 * file in this folder and one line in registry.c.
 *
 *   results ─▶ sections ─▶ columns (key, title, unit)
 *                       └▶ rows ─▶ cells, one per column
 *
 * Everything is carved out of an arena of mapped memory, so results can be built in a signal handler. A function
 * here that returns a pointer returns NULL when the memory does not suffice.
 */

struct hp_allocs;
struct hp_arena;
struct hp_cpu;
struct hp_profile;
struct hp_site_sums;

#define HP_MAX_COLUMNS 48u
#define HP_MAX_NOTES 8u
#define HP_MAX_TOTALS 16u
#define HP_MAX_SECTIONS 16u
#define HP_MAX_WARNINGS 16u

/* A place in the sources. */
struct hp_location {
    const char *file;
    const char *function;
    uint32_t line;
};

/* A thread, or several that recorded one after the other in the same place: then the last of them. */
struct hp_thread_label {
    const char *name; /* as the kernel knows it; may be empty */
    uint32_t pid;
    uint32_t tid;
    uint32_t threads;
    uint32_t number; /* unlike that of any other of the run */
};

/* What a renderer may do with a column, beyond what its unit says. */
enum hp_column_trait {
    HP_COLUMN_NAME =
        1 << 0, /* names the row: indented in a tree, marked when open, shortened when space is short */
    HP_COLUMN_KEEP = 1 << 1,     /* stays however narrow the terminal is */
    HP_COLUMN_LATE = 1 << 4,     /* goes only when all others that can have gone */
    HP_COLUMN_ELASTIC = 1 << 5,  /* text of any length: gives way before names do */
    HP_COLUMN_ROUGH = 1 << 2,    /* shows the mark of rows that measuring may have changed much */
    HP_COLUMN_SAMPLED = 1 << 6,  /* shows the mark of rows of which not all calls were timed */
    HP_COLUMN_LOCATION = 1 << 3, /* cells hold a struct hp_location besides their text: an object in JSON */
    HP_COLUMN_THREAD = 1 << 7,   /* likewise a struct hp_thread_label */
};

struct hp_column {
    struct hotpath_column shown;
    uint32_t traits; /* enum hp_column_trait */
};

struct hp_cell {
    bool has_value;
    uint64_t count;   /* COUNT, BYTES; SIGNED_COUNT, SIGNED_BYTES as an int64_t */
    double number;    /* NS, PERCENT, NUMBER */
    const char *text; /* TEXT; of locations "file:line", of threads "name tid" */
    union {
        const struct hp_location *location;   /* HP_COLUMN_LOCATION */
        const struct hp_thread_label *thread; /* HP_COLUMN_THREAD */
    };
};

struct hp_row {
    struct hp_cell *cells; /* one per column */
    uint32_t depth;        /* in a tree; rows come parent first */
    bool is_open;          /* counts something that has not ended */
    bool is_rough;         /* measuring may be a good part of its numbers */
    bool is_main;          /* the row the shares refer to */
    bool is_sampled;       /* not all of its calls were timed */
};

/* The order of a section's rows, or of siblings in a tree (order.h). */
struct hp_order {
    size_t column;
    bool is_ascending;
    bool is_usual; /* that which the section has by itself */
    bool is_set;   /* false: rows have an order that no column stands for */
};

/* A number about the whole of a section: an entry of its `totals` in JSON. */
struct hp_total {
    const char *key;
    uint32_t unit; /* enum hotpath_unit */
    struct hp_cell cell;
};

struct hotpath_section {
    const char *name;
    const char *group; /* what the title of the report calls it */
    const char *description;
    const char *main;       /* name of the row the shares refer to, or NULL */
    const char *percent_of; /* what 100 % is: "main", "elapsed", "rows", "allocated" */
    const char *if_empty;   /* what to say instead of a table without rows */
    const char *summary;    /* a line above the table, or NULL */
    struct hp_total totals[HP_MAX_TOTALS];
    size_t total_count;
    const char *notes[HP_MAX_NOTES]; /* lines below the table */
    size_t note_count;
    bool is_tree;
    struct hp_column columns[HP_MAX_COLUMNS];
    size_t column_count;
    struct hp_order order;
    struct hp_row *rows;
    size_t row_count;
    size_t total_rows; /* before the limit */
};

/* What measuring did to the run, and what it could not record. */
struct hp_trust {
    double zone_cost_ns;
    double zone_inner_ns; /* the part of it that falls into the zone's own duration */
    double share_percent; /* of the run's time; at most */
    double clock_hz;      /* 0: not known */
    const char *clock;
    const struct hp_cpu *cpu; /* NULL: processor time was not sampled */
    uint64_t lost[HP_LOSSES];
};

struct hotpath_results {
    struct hp_arena *arena;
    struct hp_run run;
    const struct hp_settings *settings;
    struct hp_profile *profile;
    struct hp_profile *by_thread;   /* see hp_results_profile_of_rows */
    const struct hp_allocs *allocs; /* see hp_results_allocs */
    const struct hp_cpu *cpu;       /* see hp_results_cpu */
    struct hp_pattern_list *focus;
    const char *label;
    const char *metadata;
    struct hotpath_section *sections[HP_MAX_SECTIONS];
    size_t section_count;
    const char *warnings[HP_MAX_WARNINGS];
    size_t warning_count;
    struct hp_trust trust;
};

/* A kind of section. */
struct hp_section_type {
    const char *name;
    const char *alias;                                       /* another name it answers to, or NULL */
    const char *group;                                       /* a name that it shares with others, or NULL */
    bool is_on_request;                                      /* "auto" leaves it out */
    bool (*is_usual)(const struct hp_settings *settings);    /* NULL: "auto" takes it */
    bool is_left_out_empty;                                  /* "all" leaves it out where it has no data */
    bool (*is_available)(void);                              /* NULL: always; "all" leaves out what is not */
    const char *elsewhere;                                   /* where it is to be had, if it is not */
    bool (*has_data)(const struct hotpath_results *results); /* NULL: "auto" always takes it */
    bool (*fill)(struct hotpath_results *results, struct hotpath_section *section); /* false: no memory */
};

/* All of them, in the order of the report (registry.c). */
HP_SHARED const struct hp_section_type *const hotpath_section_types_[];
HP_SHARED const size_t hotpath_section_type_count_;

/*
 * Builds the sections that the settings ask for, from all the snapshots together. What is known of one process only
 * (its label, its command) is that of the first. Everything passed in must stay as long as the results are used.
 * NULL: the arena has no memory.
 */
HP_PRIVATE const hotpath_results *hp_results_build(struct hp_arena *arena, const struct hp_snapshots *snapshots,
                                        const struct hp_settings *settings);

/* For sections: describing and filling (section.c). */

/* Adds a column, or returns the index of the one with this key. HP_MAX_COLUMNS when there is no room. */
HP_PRIVATE size_t hp_section_add_column(struct hotpath_section *section, const char *key, const char *title,
                             enum hotpath_unit unit, uint32_t traits, bool is_visible);
/* Makes the columns visible that the settings ask for. */
HP_PRIVATE void hp_section_show_columns(struct hotpath_results *results, struct hotpath_section *section);
/* By key or title, in any case, with or without the unit: "self", "self_ns". */
HP_PRIVATE bool hp_section_has_column(const struct hotpath_section *section, const char *name, size_t length);
/* Its index, or how many there are. */
HP_PRIVATE size_t hp_section_find_column(const struct hotpath_section *section, const char *name, size_t length);
HP_PRIVATE bool hp_section_make_rows(struct hotpath_results *results, struct hotpath_section *section, size_t count);
HP_PRIVATE void hp_section_set_text(struct hp_row *row, size_t column, const char *text);
HP_PRIVATE void hp_section_set_count(struct hp_row *row, size_t column, uint64_t count);
HP_PRIVATE void hp_section_set_number(struct hp_row *row, size_t column, double number);
/* Also as text, "file:line". */
HP_PRIVATE bool hp_section_set_location(struct hotpath_results *results, struct hp_row *row, size_t column,
                             const struct hp_location *location);
/* As text "name tid", with the process before the tid where there are several. */
HP_PRIVATE bool hp_section_set_thread(struct hotpath_results *results, struct hp_row *row, size_t column,
                           const struct hp_thread_label *thread);
HP_PRIVATE void hp_section_set_signed(struct hp_row *row, size_t column, int64_t number);
HP_PRIVATE void hp_section_note(struct hotpath_section *section, const char *line);
/* A number about the whole; of SIGNED units an int64_t. */
HP_PRIVATE void hp_section_add_total(struct hotpath_section *section, const char *key, enum hotpath_unit unit, uint64_t count);

/* The profile whose sites are rows: with HOTPATH_BY=thread one that keeps threads apart. NULL: no memory. */
HP_PRIVATE const struct hp_profile *hp_results_profile_of_rows(struct hotpath_results *results);

/* What the run allocated, made by the first section that asks. NULL: no memory. */
HP_PRIVATE const struct hp_allocs *hp_results_allocs(struct hotpath_results *results);

/* Whose processor time the run used, by the sites of `profile`, made by the first section that asks. NULL: no memory. */
HP_PRIVATE const struct hp_cpu *hp_results_cpu(struct hotpath_results *results);

/* Whether HOTPATH_FOCUS wants to see the rows of a site. */
HP_PRIVATE bool hp_results_show(const struct hotpath_results *results, const struct hp_site_sums *site);
HP_PRIVATE bool hp_results_show_subject(const struct hotpath_results *results, const struct hp_pattern_subject *subject);

/* Whether a cell of that unit has its value in `count`, and as a number. */
HP_PRIVATE bool hp_unit_is_whole(uint32_t unit);
HP_PRIVATE double hp_cell_number(const struct hp_cell *cell, uint32_t unit);

/* Keeps a line for the reader of the report, as it is. */
HP_PRIVATE void hp_results_warn_line(struct hotpath_results *results, const char *line);

/* Keeps a line for the reader of the report: `before`, then 'text' in quotes, then `after`. */
HP_PRIVATE void hp_results_warn(struct hotpath_results *results, const char *before, const char *text, size_t length,
                     const char *after);

/* ---- src/sections/alloc_pools.h ------------------------------------------------------------------------------ */

/* The section `alloc-pools`. */

HP_SHARED const struct hp_section_type hotpath_section_alloc_pools_;

/* ---- src/sections/order.h ------------------------------------------------------------------------------------ */

/*
 * In which order the rows of a section stand. A section has an order of its own, the usual one, and HOTPATH_SORT may ask
 * for that of another column: names and other text ascending, numbers descending, a minus in front turns it round.
 *
 *     hp_order_choose, when the columns are there; section->order says from then on what holds
 *     hp_order_apply, when all rows are filled, in the usual order
 */

/*
 * Settles the order of a section whose usual one is that of the column `usual`, the largest first; `share` is the column
 * that has the same order, as a share, or HP_MAX_COLUMNS. The column that is asked for becomes visible, and a note says so.
 * False: no memory.
 */
HP_PRIVATE bool hp_order_choose(struct hotpath_results *results, struct hotpath_section *section, size_t usual, size_t share);

/* Puts rows in that order and cuts them to the limit, from which main rows are exempt. False: no memory. */
HP_PRIVATE bool hp_order_apply(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit);

/* ---- src/sections/alloc_pools.c ------------------------------------------------------------------------------ */

/*
 * The section `alloc-pools`: memory that the program hands out itself, one row per name. Pools of several processes that
 * have the same name are one row; its peak is the highest that one of them had.
 */

struct hp_alloc_pools_pool {
    struct hp_alloc_pools_pool *next; /* in order of arrival */
    const char *name;
    struct hp_pool sums;
};

struct hp_alloc_pools_columns {
    size_t name, count, bytes, freed, live, peak, freed_count, live_blocks, peak_blocks;
};

struct hp_alloc_pools_view {
    struct hotpath_results *results;
    struct hp_alloc_pools_pool *first;
    struct hp_alloc_pools_pool **all;
    size_t count;
};

/* -------------------------------------------------------------------------------------------- gather */

static bool hp_alloc_pools_add_pool(struct hp_alloc_pools_view *view, const struct hp_snapshot *session, const struct hp_pool *stored)
{
    struct hp_alloc_pools_pool *pool = hp_arena_take(view->results->arena, sizeof *pool);
    const char *name = hp_snapshot_text(session, stored->name);
    if (pool == NULL)
        return false;
    *pool = (struct hp_alloc_pools_pool){.next = view->first, .name = name[0] != '\0' ? name : "<unknown>", .sums = *stored};
    view->first = pool;
    view->count++;
    return true;
}

static int hp_alloc_pools_compare_names(const void *a, const void *b)
{
    const struct hp_alloc_pools_pool *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int64_t hp_alloc_pools_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static int64_t hp_alloc_pools_higher(int64_t a, int64_t b) { return a > b ? a : b; }

static void hp_alloc_pools_merge(struct hp_pool *to, const struct hp_pool *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->freed_count += from->freed_count;
    to->freed_bytes += from->freed_bytes;
    to->live = hp_alloc_pools_plus(to->live, from->live);
    to->peak_live = hp_alloc_pools_higher(to->peak_live, from->peak_live);
    to->peak_blocks = hp_alloc_pools_higher(to->peak_blocks, from->peak_blocks);
}

static int hp_alloc_pools_compare_bytes(const void *a, const void *b)
{
    const struct hp_alloc_pools_pool *x = a, *y = b;
    if (x->sums.bytes != y->sums.bytes)
        return x->sums.bytes > y->sums.bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool hp_alloc_pools_gather(struct hp_alloc_pools_view *view)
{
    const struct hp_run *run = &view->results->run;
    struct hp_pool stored;
    for (size_t at = 0; at < run->count; at++) {
        struct hp_walk walk = {0};
        while (hp_snapshot_next_pool(run->sessions[at], &walk, &stored))
            if (!hp_alloc_pools_add_pool(view, run->sessions[at], &stored))
                return false;
    }
    view->all = hp_arena_take_array(view->results->arena, view->count + 1, sizeof(void *));
    if (view->all == NULL)
        return false;
    size_t count = 0, kept = 0;
    for (struct hp_alloc_pools_pool *pool = view->first; pool != NULL; pool = pool->next)
        view->all[count++] = pool;
    hp_sort(view->all, count, hp_alloc_pools_compare_names);
    for (size_t at = 0; at < count; at++)
        if (kept > 0 && strcmp(view->all[kept - 1]->name, view->all[at]->name) == 0)
            hp_alloc_pools_merge(&view->all[kept - 1]->sums, &view->all[at]->sums);
        else
            view->all[kept++] = view->all[at];
    view->count = kept;
    hp_sort(view->all, kept, hp_alloc_pools_compare_bytes);
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static struct hp_alloc_pools_columns hp_alloc_pools_describe(struct hotpath_section *section)
{
    struct hp_alloc_pools_columns columns;
    columns.name =
        hp_section_add_column(section, "name", "Pool", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.count = hp_section_add_column(section, "allocations", "Allocations", HOTPATH_UNIT_COUNT, 0, true);
    columns.bytes =
        hp_section_add_column(section, "allocated_bytes", "Bytes", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP, true);
    columns.freed = hp_section_add_column(section, "freed_bytes", "Freed", HOTPATH_UNIT_BYTES, 0, true);
    columns.live =
        hp_section_add_column(section, "live_bytes", "Live", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_LATE, true);
    columns.peak =
        hp_section_add_column(section, "peak_bytes", "Peak", HOTPATH_UNIT_SIGNED_BYTES, HP_COLUMN_LATE, true);
    columns.freed_count =
        hp_section_add_column(section, "freed_blocks", "Freed Blocks", HOTPATH_UNIT_COUNT, 0, false);
    columns.live_blocks =
        hp_section_add_column(section, "live_blocks", "Live Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, false);
    columns.peak_blocks =
        hp_section_add_column(section, "peak_blocks", "Peak Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, false);
    return columns;
}

static void hp_alloc_pools_fill_row(struct hp_row *row, const struct hp_alloc_pools_columns *columns, const struct hp_alloc_pools_pool *pool)
{
    hp_section_set_text(row, columns->name, pool->name);
    hp_section_set_count(row, columns->count, pool->sums.count);
    hp_section_set_count(row, columns->bytes, pool->sums.bytes);
    hp_section_set_count(row, columns->freed, pool->sums.freed_bytes);
    hp_section_set_signed(row, columns->live, pool->sums.live);
    hp_section_set_signed(row, columns->peak, pool->sums.peak_live);
    hp_section_set_count(row, columns->freed_count, pool->sums.freed_count);
    hp_section_set_signed(row, columns->live_blocks, (int64_t)(pool->sums.count - pool->sums.freed_count));
    hp_section_set_signed(row, columns->peak_blocks, pool->sums.peak_blocks);
}

static bool hp_alloc_pools_has_data(const struct hotpath_results *results)
{
    for (size_t at = 0; at < results->run.count; at++)
        if (results->run.sessions[at]->header.pools != 0)
            return true;
    return false;
}

static bool hp_alloc_pools_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_alloc_pools_view view = {.results = results};
    const struct hp_alloc_pools_columns columns = hp_alloc_pools_describe(section);
    hp_section_show_columns(results, section);
    section->description = "Memory that the program hands out itself.";
    section->if_empty = "the program has told of no pool of its own";
    if (!hp_alloc_pools_gather(&view) || !hp_order_choose(results, section, columns.bytes, HP_MAX_COLUMNS) ||
        !hp_section_make_rows(results, section, view.count))
        return false;
    section->total_rows = view.count;
    for (size_t at = 0; at < view.count; at++)
        hp_alloc_pools_fill_row(&section->rows[at], &columns, view.all[at]);
    return hp_order_apply(results, section, results->settings->functions_limit);
}

const struct hp_section_type hotpath_section_alloc_pools_ = {
    .name = "alloc-pools", .is_left_out_empty = true, .has_data = hp_alloc_pools_has_data, .fill = hp_alloc_pools_fill};

/* ---- src/sections/profile.h ---------------------------------------------------------------------------------- */

/*
 * A run added up: every tree of every thread of every session merged into one, and every site's numbers over all of
 * them. The sections are views of this. All times are in ticks; hp_run_ns converts.
 *
 * On request sites are kept apart by thread: then there is one for every thread that called it, with the numbers of that
 * thread alone.
 *
 * Zones that are open at the moment of their session's snapshot count as calls that end there.
 */

/* Sums that sites and places in the tree have in common. */
struct hp_sums {
    uint64_t calls;   /* all: ended, abandoned and open */
    uint64_t open;    /* of which are open */
    uint64_t untimed; /* of which have no duration, because of sampling: the times below are scaled up for them */
    uint64_t total;   /* ticks of outermost calls */
    uint64_t nested;  /* ticks of calls inside another call of the same node (recursion) */
    uint64_t self;    /* ticks outside of zones inside; wraps while adding, read it with hp_sums_self */
};

HP_PRIVATE uint64_t hp_sums_self(const struct hp_sums *sums);

/* A stat of a site, in one thread record of one session. */
struct hp_stat_link {
    struct hp_stat_link *next;
    const struct hp_snapshot *session;
    uint32_t offset;
};

/* What a call that is open has allocated up to now. */
struct hp_open_allocs {
    uint64_t measures[HP_ALLOC_MEASURES];
    int64_t net_bytes; /* usable bytes that it has left behind so far */
    int64_t net_blocks;
};

/* A call of a site that is open. */
struct hp_open_link {
    struct hp_open_link *next;
    struct hp_open_link *around; /* the zone that it is in */
    uint64_t ticks;
    uint32_t index; /* of its frame */
    bool is_timed;
    bool is_inner;   /* within another call of the site */
    bool has_allocs; /* it has allocated or freed something */
    struct hp_open_allocs allocs;
};

/* A site, over all sessions, all threads and all places it was called from. */
struct hp_site_sums {
    struct hp_sums sums;
    const char *name; /* as shown: alone among all sites */
    struct hp_location location;
    uint32_t session; /* index of the first session that has it ... */
    uint32_t id;      /* ... and the number it has there */
    uint32_t kind;
    bool is_limited;                      /* calls were too short to be timed all: see HOTPATH_MEASURING_BOUND */
    const struct hp_thread_label *thread; /* NULL: all threads */
    bool is_main;                         /* the main function of a process */
    uint32_t threads;                     /* threads that called it */
    uint64_t min;                         /* ticks; UINT64_MAX: no call was timed */
    uint64_t max;
    uint64_t calls_inside;  /* zones of others that ran inside its calls */
    const char *plain_name; /* the name alone, which others may have, too */
    const char *signature;  /* the whole of a name that was made readable, or NULL; private from here on */
    uint32_t name_level;
    bool is_named;
    struct hp_site_sums *next;
    struct hp_site_sums *same; /* the one that counts for it; by thread, the one that names it */
    struct hp_stat_link *stats;
    uint32_t open_in; /* number of the last thread in which it was open */
    struct hp_open_link *opens;
};

/* Unlike that of any other site of the run; for those of the first session, their id. */
static inline uint64_t hp_site_number(const struct hp_site_sums *site)
{
    return (uint64_t)site->session << 32 | site->id;
}

static inline uint32_t hp_thread_number(const struct hp_site_sums *site)
{
    return site->thread != NULL ? site->thread->number : 0;
}

/* A place in the merged call tree. */
struct hp_tree_node {
    struct hp_sums sums;
    struct hp_site_sums *site;
    struct hp_tree_node *parent;
    struct hp_tree_node *first_child;
    struct hp_tree_node *next_sibling;
    struct hp_tree_node *folded; /* the outermost node from here up that calls were folded onto, or NULL */
    uint64_t calls_inside;
    uint32_t depth;
    uint32_t index; /* in the profile's nodes */
};

/* A session of the run, over all its threads. */
struct hp_session_sums {
    const struct hp_snapshot *snapshot;
    struct hp_site_sums *main; /* its own 100 % row, or NULL */
    uint64_t calls;
    uint64_t timed_calls;
    uint64_t calls_of_busiest_thread; /* timed ones */
    uint64_t open;
    uint64_t total;   /* ticks of zones that are not inside other zones */
    uint64_t in_main; /* self time of main functions, a part of it; wraps as hp_sums.self does */
};

struct hp_profile {
    const struct hp_run *run;
    struct hp_session_sums *sessions; /* as many as the run has, in the same order */
    struct hp_site_sums **sites;      /* those that have calls, in no order */
    size_t site_count;
    struct hp_tree_node *first_root;
    struct hp_tree_node **nodes; /* all, parents before their children */
    size_t node_count;
    const struct hp_site_sums *main; /* the 100 % row, or NULL */
    bool has_sampled;                /* not all calls were timed, since sampling was asked for */
    bool has_limited;                /* ... since they were too short */
    struct hp_site_sums **known;     /* of every session, with calls or without, by session and id */
    size_t known_count;
    bool has_different_mains; /* the processes have different main functions: there is no such row */
};

/* By thread, the tree has the paths of each thread by themselves, and there is no main row. NULL: no memory. */
HP_PRIVATE struct hp_profile *hp_profile_build(struct hp_arena *arena, const struct hp_run *run, bool is_by_thread);

/* The site that has this id in a session of the run, or NULL. */
HP_PRIVATE const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id);

/* What the mark of open zones means. */
HP_PRIVATE const char *hp_profile_open_note(const struct hp_profile *profile);

/*
 * What 100 % is, in ticks, and what that is called: the main row's total ("main"), without one the time of the
 * run ("elapsed"), and when the main row is to be left out the sum of all others ("rows").
 */
HP_PRIVATE uint64_t hp_profile_whole(const struct hp_profile *profile, const struct hp_settings *settings,
                          const char **ret_percent_of);

/* Whether that share of the whole is too small to be shown. */
HP_PRIVATE bool hp_profile_is_small(uint64_t ticks, uint64_t whole, const struct hp_settings *settings);

/* What has to be said about shares of that, or NULL. */
HP_PRIVATE const char *hp_profile_share_note(const struct hp_profile *profile, const char *percent_of);

/* The distribution of a site's call durations, added up. Large: keep one and use it again. */
struct hp_durations {
    hp_duration_line lines[HP_DURATION_LINES];
    uint64_t timed;   /* calls with a duration, in the buckets or not */
    uint64_t counted; /* calls in the buckets */
    uint64_t min;
    uint64_t max;
};

HP_PRIVATE void hp_profile_durations(const struct hp_site_sums *site, struct hp_durations *ret_durations);

/* The nearest-rank percentile in ticks, within 0.8 %; 0 and 100 are exact. False: no call was timed. */
HP_PRIVATE bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks);

/*
 * For distributions of other numbers than ticks, which are counted alike. `min` of these is found afterwards, from the
 * counters, and so is the mean: both within 0.8 %, and exact below 128.
 */
HP_PRIVATE void hp_durations_add(struct hp_durations *durations, uint64_t ticks);
HP_PRIVATE void hp_durations_find_min(struct hp_durations *durations);
HP_PRIVATE double hp_durations_mean(const struct hp_durations *durations);

/* What measuring may have added to the times of a site, at most, in nanoseconds. */
HP_PRIVATE double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site);

/* ---- src/sections/alloc_profile.h ---------------------------------------------------------------------------- */

/*
 * What a run allocated: by site, by thread, and in all. The sections about allocations are views of this.
 *
 * What was asked for is in bytes; what lives, its peak and what was freed is in usable bytes, which are all that is known of a
 * block when it is freed.
 */

/* A site, over all that the profile counts as one; calls that are open count up to now. */
struct hp_site_allocs {
    uint64_t calls; /* that allocated or freed: all measures of the others are 0 */
    uint64_t own_bytes;
    uint64_t own_count;
    uint64_t all_bytes; /* with zones inside; of calls within calls of the site only the outermost */
    uint64_t all_count;
    int64_t net_bytes; /* left behind by these */
    int64_t net_blocks;
    uint64_t max[HP_ALLOC_MEASURES];
};

HP_PRIVATE void hp_allocs_of_site(const struct hp_site_sums *site, struct hp_site_allocs *ret_allocs);

/* One value for each call, be it 0; of those for which there was no space none. `allocs` are those of the site. */
HP_PRIVATE void hp_allocs_distribution(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                            enum hp_alloc_measure measure, struct hp_durations *ret_values);

/* What was allocated and freed, by a thread or a process. */
struct hp_alloc_totals {
    uint64_t count;
    uint64_t bytes; /* asked for */
    uint64_t freed_count;
    uint64_t freed_bytes;   /* usable, as all that follow */
    uint64_t foreign_count; /* of what was freed, that which another thread had allocated */
    uint64_t foreign_bytes;
    int64_t live_bytes;
    int64_t live_blocks;
    int64_t peak_bytes; /* of several processes, the highest that one of them had */
    int64_t peak_blocks;
};

/* A thread, all its records together. */
struct hp_thread_allocs {
    const struct hp_thread_label *label; /* NULL: threads that had no record yet, or none any more, of a process */
    uint32_t pid;
    struct hp_alloc_totals totals;
    uint64_t outside_bytes; /* asked for outside of all zones */
    uint64_t outside_count;
};

struct hp_allocs {
    struct hp_thread_allocs *threads; /* those that allocated or freed something */
    size_t thread_count;
    struct hp_alloc_totals totals;
    uint64_t failed;      /* allocations that were refused */
    uint64_t peak_error;  /* by how much the peak in bytes may be off; 0: it is exact */
    bool has_peak_blocks; /* the peak in blocks is known, too */
};

/* NULL: no memory. */
HP_PRIVATE const struct hp_allocs *hp_allocs_of_run(struct hp_arena *arena, const struct hp_run *run);

/* What a section says that has none. */
#define HP_NO_ALLOCS                                                                                               \
    "no allocations were recorded: malloc is watched in programs that are linked with -lhotpath_alloc or "         \
    "started by 'hotpath run'"

/* Whether a session of the run has counted allocations. */
HP_PRIVATE bool hp_run_has_allocs(const struct hp_run *run);

/* Of the zones that are open on a thread: what each of them has allocated. For profile.c. */
HP_PRIVATE void hp_allocs_settle_open(const struct hp_snapshot *session, const struct hp_thread *thread,
                           struct hp_open_link *innermost);

/* ---- src/sections/thread_list.h ------------------------------------------------------------------------------ */

/*
 * The threads of a session, each with all its records: a thread whose signal handlers measure has several.
 *
 *     struct hp_thread_list list;
 *     hp_thread_list_read(&list, arena, session);
 *     for (size_t from = 0, to; from < list.count; from = to) {
 *         to = hp_thread_list_end(&list, from);
 *         label = hp_thread_list_label(&list, from, to, ++number); ... list.all[from] to list.all[to - 1]
 *     }
 */

/* A record of a thread. */
struct hp_listed_thread {
    struct hp_listed_thread *next; /* private */
    struct hp_thread record;
    uint32_t offset;
};

struct hp_thread_list {
    struct hp_arena *arena;
    const struct hp_snapshot *session;
    struct hp_listed_thread **all; /* by thread id */
    size_t count;
};

/* False: no memory. */
HP_PRIVATE bool hp_thread_list_read(struct hp_thread_list *list, struct hp_arena *arena, const struct hp_snapshot *session);

/* Behind the last record of the thread that the one at `from` belongs to. */
HP_PRIVATE size_t hp_thread_list_end(const struct hp_thread_list *list, size_t from);

/* What the thread with these records is called. NULL: no memory. */
HP_PRIVATE const struct hp_thread_label *hp_thread_list_label(const struct hp_thread_list *list, size_t from, size_t to,
                                                   uint32_t number);

/* ---- src/sections/alloc_profile.c ---------------------------------------------------------------------------- */

/*
 * What a run allocated.
 *
 * Sums are added as unsigned numbers, so that a broken file cannot overflow them; differences of counters that a thread
 * changes meanwhile are not below zero.
 */

static int64_t hp_alloc_profile_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static int64_t hp_alloc_profile_minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static uint64_t hp_alloc_profile_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static int64_t hp_alloc_profile_higher(int64_t a, int64_t b) { return a > b ? a : b; }

bool hp_run_has_allocs(const struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.features & HP_FEATURE_ALLOC)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------ open zones */

/* A peak of the thread, as one above what lived when a zone began. */
static uint64_t hp_alloc_profile_height(int64_t peak, int64_t at_begin)
{
    const int64_t hp_alloc_profile_height = hp_alloc_profile_minus(peak, at_begin);
    return hp_alloc_profile_height > 0 ? (uint64_t)hp_alloc_profile_height : 0;
}

/* From the innermost zone outwards: each has in it what the last one had in all, and what that one's peak was. */
void hp_allocs_settle_open(const struct hp_snapshot *session, const struct hp_thread *thread,
                           struct hp_open_link *innermost)
{
    struct hp_alloc_thread alloc;
    struct hp_alloc_frame begun;
    const bool has_any = hp_snapshot_alloc_thread(session, thread, &alloc);
    uint64_t inside_bytes = 0, inside_count = 0;
    for (struct hp_open_link *link = innermost; link != NULL; link = link->around) {
        link->has_allocs =
            link->has_allocs && has_any && hp_snapshot_alloc_frame(session, thread, &alloc, link->index, &begun);
        if (!link->has_allocs)
            continue;
        const uint64_t all_bytes = hp_alloc_profile_less(alloc.bytes, begun.bytes), all_count = hp_alloc_profile_less(alloc.count, begun.count);
        link->allocs = (struct hp_open_allocs){
            .measures = {[HP_ALLOC_OWN_BYTES] = hp_alloc_profile_less(hp_alloc_profile_less(all_bytes, begun.inner_bytes), inside_bytes),
                         [HP_ALLOC_OWN_COUNT] = hp_alloc_profile_less(hp_alloc_profile_less(all_count, begun.inner_count), inside_count),
                         [HP_ALLOC_ALL_BYTES] = all_bytes,
                         [HP_ALLOC_ALL_COUNT] = all_count,
                         [HP_ALLOC_PEAK_BYTES] = hp_alloc_profile_height(alloc.peak_live, begun.live),
                         [HP_ALLOC_PEAK_BLOCKS] = hp_alloc_profile_height(alloc.peak_blocks, begun.blocks)},
            .net_bytes = hp_alloc_profile_minus(hp_alloc_live(&alloc), begun.live),
            .net_blocks = hp_alloc_profile_minus(hp_alloc_live_blocks(&alloc), begun.blocks),
        };
        inside_bytes = all_bytes;
        inside_count = all_count;
        alloc.peak_live = hp_alloc_profile_higher(alloc.peak_live, begun.peak_live);
        alloc.peak_blocks = hp_alloc_profile_higher(alloc.peak_blocks, begun.peak_blocks);
    }
}

/* ----------------------------------------------------------------------------------------------- sites */

static void hp_alloc_profile_raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

static void hp_alloc_profile_add_stat(struct hp_site_allocs *allocs, const struct hp_alloc_stat *stat)
{
    allocs->calls += stat->calls;
    allocs->own_bytes += stat->own_bytes;
    allocs->own_count += stat->own_count;
    allocs->all_bytes += stat->all_bytes;
    allocs->all_count += stat->all_count;
    allocs->net_bytes = hp_alloc_profile_plus(allocs->net_bytes, stat->net_bytes);
    allocs->net_blocks = hp_alloc_profile_plus(allocs->net_blocks, stat->net_blocks);
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++)
        hp_alloc_profile_raise_to(&allocs->max[measure], stat->max[measure]);
}

static void hp_alloc_profile_add_open(struct hp_site_allocs *allocs, const struct hp_open_link *link)
{
    const struct hp_open_allocs *open = &link->allocs;
    allocs->calls++;
    allocs->own_bytes += open->measures[HP_ALLOC_OWN_BYTES];
    allocs->own_count += open->measures[HP_ALLOC_OWN_COUNT];
    for (size_t measure = 0; measure < HP_ALLOC_MEASURES; measure++)
        hp_alloc_profile_raise_to(&allocs->max[measure], open->measures[measure]);
    if (link->is_inner)
        return;
    allocs->all_bytes += open->measures[HP_ALLOC_ALL_BYTES];
    allocs->all_count += open->measures[HP_ALLOC_ALL_COUNT];
    allocs->net_bytes = hp_alloc_profile_plus(allocs->net_bytes, open->net_bytes);
    allocs->net_blocks = hp_alloc_profile_plus(allocs->net_blocks, open->net_blocks);
}

static bool hp_alloc_profile_read_stat(const struct hp_stat_link *link, struct hp_alloc_stat *ret_alloc)
{
    struct hotpath_stat_ stat;
    return hp_snapshot_stat(link->session, link->offset, &stat) &&
           hp_snapshot_alloc_stat(link->session, &stat, ret_alloc);
}

void hp_allocs_of_site(const struct hp_site_sums *site, struct hp_site_allocs *ret_allocs)
{
    struct hp_alloc_stat stat;
    *ret_allocs = (struct hp_site_allocs){0};
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (hp_alloc_profile_read_stat(link, &stat))
            hp_alloc_profile_add_stat(ret_allocs, &stat);
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->has_allocs)
            hp_alloc_profile_add_open(ret_allocs, link);
}

/* Whether every call has the highest value: then it is known exactly. */
static bool hp_alloc_profile_are_alike(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                      enum hp_alloc_measure measure)
{
    uint64_t product;
    if (site->sums.calls == 1)
        return true;
    const uint64_t sum = measure == HP_ALLOC_OWN_BYTES   ? allocs->own_bytes
                         : measure == HP_ALLOC_OWN_COUNT ? allocs->own_count
                         : measure == HP_ALLOC_ALL_BYTES ? allocs->all_bytes
                                                         : allocs->all_count;
    return measure <= HP_ALLOC_ALL_COUNT &&
           !__builtin_mul_overflow(site->sums.calls, allocs->max[measure], &product) && product == sum;
}

void hp_allocs_distribution(const struct hp_site_sums *site, const struct hp_site_allocs *allocs,
                            enum hp_alloc_measure measure, struct hp_durations *ret_values)
{
    struct hp_alloc_stat stat;
    memset(ret_values, 0, sizeof *ret_values);
    ret_values->max = allocs->max[measure];
    ret_values->timed = site->sums.calls;
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        if (hp_alloc_profile_read_stat(link, &stat))
            hp_snapshot_add_measures(link->session, &stat, measure, ret_values->lines);
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->has_allocs)
            hp_durations_add(ret_values, link->allocs.measures[measure]);
    ret_values->lines[0][0] += hp_alloc_profile_less(site->sums.calls, allocs->calls);
    ret_values->counted = 0;
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step++)
            ret_values->counted += ret_values->lines[line][step];
    hp_durations_find_min(ret_values);
    if (hp_alloc_profile_are_alike(site, allocs, measure))
        ret_values->min = ret_values->max;
}

/* --------------------------------------------------------------------------------------------- threads */

static void hp_alloc_profile_add_totals(struct hp_alloc_totals *to, const struct hp_alloc_totals *from)
{
    to->count += from->count;
    to->bytes += from->bytes;
    to->freed_count += from->freed_count;
    to->freed_bytes += from->freed_bytes;
    to->foreign_count += from->foreign_count;
    to->foreign_bytes += from->foreign_bytes;
    to->live_bytes = hp_alloc_profile_plus(to->live_bytes, from->live_bytes);
    to->live_blocks = hp_alloc_profile_plus(to->live_blocks, from->live_blocks);
    to->peak_bytes = hp_alloc_profile_higher(to->peak_bytes, from->peak_bytes);
    to->peak_blocks = hp_alloc_profile_higher(to->peak_blocks, from->peak_blocks);
}

/* Raises the peaks to those that open zones have put aside, and tells what the outermost of them allocated. */
static void hp_alloc_profile_look_into_open(const struct hp_snapshot *session, const struct hp_thread *thread, struct hp_walk *walk,
                           struct hp_alloc_thread *alloc, uint64_t *ret_bytes, uint64_t *ret_count)
{
    struct hotpath_frame_ frame;
    struct hp_alloc_frame begun;
    *ret_bytes = *ret_count = 0;
    hp_walk_rewind(walk);
    while (hp_snapshot_next_open(session, thread, walk, &frame) && (frame.stat & HOTPATH_ALLOCATES_) &&
           hp_snapshot_alloc_frame(session, thread, alloc, walk->index, &begun)) {
        if (walk->index == 1) {
            *ret_bytes = hp_alloc_profile_less(alloc->bytes, begun.bytes);
            *ret_count = hp_alloc_profile_less(alloc->count, begun.count);
        }
        alloc->peak_live = hp_alloc_profile_higher(alloc->peak_live, begun.peak_live);
        alloc->peak_blocks = hp_alloc_profile_higher(alloc->peak_blocks, begun.peak_blocks);
    }
}

/* Adds a record to its thread. False: it has neither allocated nor freed anything. */
static bool hp_alloc_profile_add_record(struct hp_thread_allocs *to, const struct hp_snapshot *session,
                       const struct hp_thread *thread, struct hp_walk *opens)
{
    struct hp_alloc_thread alloc;
    struct hp_alloc_frame outside = {0};
    uint64_t open_bytes, open_count;
    if (!hp_snapshot_alloc_thread(session, thread, &alloc))
        return false;
    hp_snapshot_alloc_frame(session, thread, &alloc, 0, &outside);
    hp_alloc_profile_look_into_open(session, thread, opens, &alloc, &open_bytes, &open_count);
    to->outside_bytes += hp_alloc_profile_less(hp_alloc_profile_less(alloc.bytes, outside.inner_bytes), open_bytes);
    to->outside_count += hp_alloc_profile_less(hp_alloc_profile_less(alloc.count, outside.inner_count), open_count);
    const struct hp_alloc_totals totals = {
        .count = alloc.count,
        .bytes = alloc.bytes,
        .freed_count = alloc.freed_count,
        .freed_bytes = alloc.freed,
        .foreign_count = alloc.foreign_count,
        .foreign_bytes = alloc.foreign_bytes,
        .live_bytes = hp_alloc_live(&alloc),
        .live_blocks = hp_alloc_live_blocks(&alloc),
        .peak_bytes = alloc.peak_live,
        .peak_blocks = alloc.peak_blocks,
    };
    hp_alloc_profile_add_totals(&to->totals, &totals);
    return true;
}

/* What has no thread; no peak is known of it. */
static struct hp_thread_allocs hp_alloc_profile_late_of(const struct hp_header *header)
{
    return (struct hp_thread_allocs){
        .pid = header->pid,
        .totals = {.count = header->late_count,
                   .bytes = header->late_bytes,
                   .freed_count = header->late_frees,
                   .freed_bytes = header->late_freed,
                   .live_bytes = (int64_t)(header->late_usable - header->late_freed),
                   .live_blocks = (int64_t)(header->late_count - header->late_frees)},
        .outside_bytes = header->late_bytes,
        .outside_count = header->late_count,
    };
}

/* ----------------------------------------------------------------------------------------------- a run */

/* The peak of a process is that of its thread if there is one; of several the sum was kept, as far as they told. */
static void hp_alloc_profile_add_session(struct hp_allocs *allocs, const struct hp_thread_allocs *threads, size_t count,
                        size_t records, const struct hp_header *header)
{
    struct hp_alloc_totals totals = {0};
    for (size_t at = 0; at < count; at++)
        hp_alloc_profile_add_totals(&totals, &threads[at].totals);
    const bool is_exact = records <= 1 && header->late_count == 0 && header->late_frees == 0;
    allocs->has_peak_blocks &= is_exact;
    if (!is_exact)
        totals.peak_bytes = hp_alloc_profile_higher(hp_alloc_profile_higher(header->alloc_peak, totals.live_bytes), 0);
    if (totals.peak_bytes >= allocs->totals.peak_bytes)
        allocs->peak_error = is_exact ? 0 : HP_ALLOC_UNPUBLISHED * (uint64_t)(records > 0 ? records : 1);
    allocs->failed += header->alloc_failed;
    hp_alloc_profile_add_totals(&allocs->totals, &totals);
}

/* The threads of a session, behind those that are there; there is room for them. False: no memory. */
static bool hp_alloc_profile_add_threads(struct hp_allocs *allocs, const struct hp_thread_list *list, uint32_t *number)
{
    const struct hp_header *header = &list->session->header;
    struct hp_thread_allocs *threads = allocs->threads + allocs->thread_count;
    struct hp_walk opens = {0};
    size_t records = 0, count = 0;
    for (size_t from = 0, to; from < list->count; from = to) {
        bool has_any = false;
        to = hp_thread_list_end(list, from);
        threads[count] =
            (struct hp_thread_allocs){.label = hp_thread_list_label(list, from, to, ++*number), .pid = header->pid};
        if (threads[count].label == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            if (hp_alloc_profile_add_record(&threads[count], list->session, &list->all[at]->record, &opens)) {
                has_any = true;
                records++;
            }
        count += has_any;
    }
    if (header->late_count > 0 || header->late_frees > 0)
        threads[count++] = hp_alloc_profile_late_of(header);
    hp_alloc_profile_add_session(allocs, threads, count, records, header);
    allocs->thread_count += count;
    return true;
}

/* Lists first: a session that goes on may have more threads the next time it is looked at. */
const struct hp_allocs *hp_allocs_of_run(struct hp_arena *arena, const struct hp_run *run)
{
    struct hp_allocs *allocs = hp_arena_take(arena, sizeof *allocs);
    struct hp_thread_list *lists = hp_arena_take_array(arena, run->count, sizeof *lists);
    size_t most = run->count; /* what has no thread, of each session */
    uint32_t number = 0;
    if (allocs == NULL || lists == NULL)
        return NULL;
    for (size_t at = 0; at < run->count; at++) {
        if (!hp_thread_list_read(&lists[at], arena, run->sessions[at]))
            return NULL;
        most += lists[at].count;
    }
    allocs->threads = hp_arena_take_array(arena, most, sizeof *allocs->threads);
    if (allocs->threads == NULL)
        return NULL;
    allocs->has_peak_blocks = true;
    for (size_t at = 0; at < run->count; at++)
        if (!hp_alloc_profile_add_threads(allocs, &lists[at], &number))
            return NULL;
    return allocs;
}

/* ---- src/sections/alloc_table.h ------------------------------------------------------------------------------ */

/* The sections `alloc-bytes` and `alloc-count`. */

HP_SHARED const struct hp_section_type hotpath_section_alloc_bytes_;
HP_SHARED const struct hp_section_type hotpath_section_alloc_count_;

/* ---- src/sections/percentile.h ------------------------------------------------------------------------------- */

/* What the column of a percentile is called. */

struct hp_arena;

struct hp_percentile_names {
    const char *title; /* "P99.9", "Min", "Max" */
    const char *key;   /* "p99_9_ns" */
};

/* 0 is the minimum, 100 the maximum. `after_key` and `after_title` are put behind them. False: no memory. */
HP_PRIVATE bool hp_percentile_name(struct hp_arena *arena, double percentile, const char *after_key, const char *after_title,
                        struct hp_percentile_names *ret_names);

/* ---- src/sections/alloc_table.c ------------------------------------------------------------------------------ */

/*
 * The sections `alloc-bytes` and `alloc-count`: one row per site, or per site and thread, and what its calls allocated. One is
 * in bytes and the other in blocks; both have the same rows.
 *
 * Every site that was called has a row, and every call counts in averages and percentiles, be it with 0. What was allocated
 * outside of all zones has a row of its own, so that exclusive totals add up to the total of the run.
 *
 * Which numbers lead is HOTPATH_ALLOC_METRIC's choice: what calls allocated, by themselves or with all inside, or the most
 * that lived at once during one. The others are there all the same, as columns that are not shown unless asked for.
 */

#define HP_ALLOC_TABLE_OUTSIDE "<outside>"
#define HP_ALLOC_TABLE_LINE_BYTES 320u

/* What makes the difference between the two. */
struct hp_alloc_table_kind {
    enum hp_alloc_measure own, all, peak;
    enum hotpath_unit unit, average_unit, signed_unit;
    const char *average_key, *total_key, *suffix;
    const char *average_peak_key, *peak_key, *peak_suffix;
    const char *net_key;
    const char *exclusive, *cumulative, *highest; /* descriptions, without their ends */
};

static const struct hp_alloc_table_kind hp_alloc_table_bytes_kind = {
    .own = HP_ALLOC_OWN_BYTES,
    .all = HP_ALLOC_ALL_BYTES,
    .peak = HP_ALLOC_PEAK_BYTES,
    .unit = HOTPATH_UNIT_BYTES,
    .average_unit = HOTPATH_UNIT_BYTES,
    .signed_unit = HOTPATH_UNIT_SIGNED_BYTES,
    .average_key = "avg_bytes",
    .total_key = "total_bytes",
    .suffix = "_bytes",
    .average_peak_key = "avg_peak_usable_bytes",
    .peak_key = "peak_usable_bytes",
    .peak_suffix = "_peak_usable_bytes",
    .net_key = "net_usable_bytes",
    .exclusive = "Exclusive allocation bytes by each function",
    .cumulative = "Cumulative allocation bytes by each function",
    .highest = "Most bytes that lived at once during a call of each function",
};

static const struct hp_alloc_table_kind hp_alloc_table_count_kind = {
    .own = HP_ALLOC_OWN_COUNT,
    .all = HP_ALLOC_ALL_COUNT,
    .peak = HP_ALLOC_PEAK_BLOCKS,
    .unit = HOTPATH_UNIT_COUNT,
    .average_unit = HOTPATH_UNIT_NUMBER,
    .signed_unit = HOTPATH_UNIT_SIGNED_COUNT,
    .average_key = "avg_count",
    .total_key = "total_count",
    .suffix = "_count",
    .average_peak_key = "avg_peak_blocks",
    .peak_key = "peak_blocks",
    .peak_suffix = "_peak_blocks",
    .net_key = "net_blocks",
    .exclusive = "Exclusive allocation count by each function",
    .cumulative = "Cumulative allocation count by each function",
    .highest = "Most blocks that lived at once during a call of each function",
};

/* A group of columns of which one leads. */
struct hp_alloc_table_measured {
    size_t average;
    size_t percentiles[HP_MAX_PERCENTILES];
};

struct hp_alloc_table_columns {
    size_t name, thread, calls, total, percent, peak, net, own_bytes, all_bytes, own_count, all_count,
        peak_usable_bytes, peak_blocks, net_usable_bytes, net_blocks, location, open;
    struct hp_alloc_table_measured totals, peaks;
};

/* What becomes a row. */
struct hp_alloc_table_entry {
    const struct hp_site_sums *site; /* NULL: what is outside of all */
    const struct hp_thread_label *thread;
    struct hp_site_allocs allocs;
    uint64_t total;
    uint64_t rank; /* that by which rows are sorted */
};

struct hp_alloc_table_view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_alloc_table_kind *kind;
    const struct hp_profile *profile; /* whose sites are the rows: that of the results, or one by thread */
    const struct hp_allocs *allocs;
    bool is_peak_first;
    uint64_t whole;
    struct hp_alloc_table_columns columns;
    struct hp_durations *values;
    struct hp_alloc_table_entry **entries;
    size_t count;
};

static bool hp_alloc_table_is_peak(uint32_t metric) { return metric == HP_ALLOC_BYTES_MAX || metric == HP_ALLOC_COUNT_MAX; }

static bool hp_alloc_table_is_bytes(const struct hp_settings *settings)
{
    return settings->alloc_metric == HP_ALLOC_BYTES_TOTAL || settings->alloc_metric == HP_ALLOC_BYTES_MAX;
}

static bool hp_alloc_table_is_count(const struct hp_settings *settings) { return !hp_alloc_table_is_bytes(settings); }

/* ------------------------------------------------------------------------------------------- columns */

static bool hp_alloc_table_add_measured(struct hp_alloc_table_view *view, struct hp_alloc_table_measured *measured, bool are_peaks)
{
    const struct hp_alloc_table_kind *kind = view->kind;
    const struct hp_settings *settings = view->results->settings;
    const bool is_visible = are_peaks == view->is_peak_first;
    measured->average = hp_section_add_column(view->section, are_peaks ? kind->average_peak_key : kind->average_key,
                                              are_peaks ? "Avg Peak" : "Avg", kind->average_unit, 0, is_visible);
    for (uint32_t at = 0; at < settings->percentile_count && at < HP_MAX_PERCENTILES; at++) {
        struct hp_percentile_names names;
        if (!hp_percentile_name(view->results->arena, settings->percentiles[at],
                                are_peaks ? kind->peak_suffix : kind->suffix, are_peaks ? " Peak" : "", &names))
            return false;
        measured->percentiles[at] =
            hp_section_add_column(view->section, names.key, names.title, kind->unit, 0, is_visible);
    }
    return true;
}

static void hp_alloc_table_add_total(struct hp_alloc_table_view *view)
{
    struct hp_alloc_table_columns *columns = &view->columns;
    columns->total = hp_section_add_column(view->section, view->kind->total_key, "Total", view->kind->unit,
                                           HP_COLUMN_KEEP, true);
    columns->percent = hp_section_add_column(view->section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT,
                                             HP_COLUMN_LATE, true);
}

/* Whatever leads, all is there. */
static void hp_alloc_table_add_rest(struct hp_alloc_table_view *view)
{
    struct hotpath_section *section = view->section;
    struct hp_alloc_table_columns *columns = &view->columns;
    columns->own_bytes = hp_section_add_column(section, "own_bytes", "Own Bytes", HOTPATH_UNIT_BYTES, 0, false);
    columns->all_bytes = hp_section_add_column(section, "all_bytes", "All Bytes", HOTPATH_UNIT_BYTES, 0, false);
    columns->own_count = hp_section_add_column(section, "own_count", "Own Allocs", HOTPATH_UNIT_COUNT, 0, false);
    columns->all_count = hp_section_add_column(section, "all_count", "All Allocs", HOTPATH_UNIT_COUNT, 0, false);
    columns->peak_usable_bytes =
        hp_section_add_column(section, "peak_usable_bytes", "Peak Bytes", HOTPATH_UNIT_BYTES, 0, false);
    columns->peak_blocks =
        hp_section_add_column(section, "peak_blocks", "Peak Blocks", HOTPATH_UNIT_COUNT, 0, false);
    columns->net_usable_bytes =
        hp_section_add_column(section, "net_usable_bytes", "Net Bytes", HOTPATH_UNIT_SIGNED_BYTES, 0, false);
    columns->net_blocks =
        hp_section_add_column(section, "net_blocks", "Net Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, false);
    columns->location =
        hp_section_add_column(section, "location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION, false);
    columns->open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
}

static bool hp_alloc_table_describe(struct hp_alloc_table_view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_alloc_table_kind *kind = view->kind;
    struct hp_alloc_table_columns *columns = &view->columns;
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    if (view->results->settings->by == HP_BY_THREAD)
        columns->thread = hp_section_add_column(section, "thread", "Thread", HOTPATH_UNIT_TEXT,
                                                HP_COLUMN_KEEP | HP_COLUMN_THREAD, true);
    columns->calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    if (!hp_alloc_table_add_measured(view, view->is_peak_first ? &columns->peaks : &columns->totals, view->is_peak_first))
        return false;
    if (!view->is_peak_first)
        hp_alloc_table_add_total(view);
    columns->peak = hp_section_add_column(section, kind->peak_key, "Peak", kind->unit,
                                          view->is_peak_first ? HP_COLUMN_KEEP : 0, true);
    if (view->is_peak_first)
        hp_alloc_table_add_total(view);
    columns->net = hp_section_add_column(section, kind->net_key, "Net", kind->signed_unit, 0, true);
    if (!hp_alloc_table_add_measured(view, view->is_peak_first ? &columns->totals : &columns->peaks, !view->is_peak_first))
        return false;
    hp_alloc_table_add_rest(view);
    hp_section_show_columns(view->results, section);
    return hp_order_choose(view->results, section, view->is_peak_first ? columns->peak : columns->total,
                           view->is_peak_first ? HP_MAX_COLUMNS : columns->percent);
}

/* ------------------------------------------------------------------------------------------- entries */

static uint64_t hp_alloc_table_measure_of(const struct hp_alloc_table_view *view, const struct hp_site_allocs *allocs)
{
    const bool is_all = view->results->settings->alloc_cumulative;
    if (view->kind == &hp_alloc_table_bytes_kind)
        return is_all ? allocs->all_bytes : allocs->own_bytes;
    return is_all ? allocs->all_count : allocs->own_count;
}

static void hp_alloc_table_add_entry(struct hp_alloc_table_view *view, const struct hp_alloc_table_entry *entry)
{
    struct hp_alloc_table_entry *added = view->entries[view->count++];
    *added = *entry;
    added->total = hp_alloc_table_measure_of(view, &added->allocs);
    added->rank = view->is_peak_first ? added->allocs.max[view->kind->peak] : added->total;
}

static void hp_alloc_table_add_site(struct hp_alloc_table_view *view, const struct hp_site_sums *site)
{
    struct hp_alloc_table_entry entry = {.site = site, .thread = site->thread};
    hp_allocs_of_site(site, &entry.allocs);
    hp_alloc_table_add_entry(view, &entry);
}

static bool hp_alloc_table_shows_outside(const struct hp_alloc_table_view *view)
{
    const struct hp_pattern_subject subject = {.names = {HP_ALLOC_TABLE_OUTSIDE}};
    return hp_results_show_subject(view->results, &subject);
}

static void hp_alloc_table_add_outside(struct hp_alloc_table_view *view, const struct hp_thread_label *thread, uint64_t bytes, uint64_t count)
{
    const struct hp_site_allocs allocs = {
        .own_bytes = bytes, .own_count = count, .all_bytes = bytes, .all_count = count};
    if (bytes > 0 || count > 0)
        hp_alloc_table_add_entry(view, &(struct hp_alloc_table_entry){.thread = thread, .allocs = allocs});
}

/* One for each thread, or for all; what has no thread has none. */
static void hp_alloc_table_add_all_outside(struct hp_alloc_table_view *view)
{
    const bool is_by_thread = view->results->settings->by == HP_BY_THREAD;
    uint64_t bytes = 0, count = 0;
    for (size_t at = 0; at < view->allocs->thread_count; at++) {
        const struct hp_thread_allocs *thread = &view->allocs->threads[at];
        if (is_by_thread && thread->label != NULL) {
            hp_alloc_table_add_outside(view, thread->label, thread->outside_bytes, thread->outside_count);
            continue;
        }
        bytes += thread->outside_bytes;
        count += thread->outside_count;
    }
    hp_alloc_table_add_outside(view, NULL, bytes, count);
}

static const char *hp_alloc_table_name_of(const struct hp_alloc_table_entry *entry) { return entry->site != NULL ? entry->site->name : HP_ALLOC_TABLE_OUTSIDE; }

static int hp_alloc_table_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

static uint64_t hp_alloc_table_number_of(const struct hp_alloc_table_entry *entry)
{
    return entry->site != NULL ? hp_site_number(entry->site) : UINT64_MAX;
}

static int hp_alloc_table_compare_entries(const void *a, const void *b)
{
    const struct hp_alloc_table_entry *x = a, *y = b;
    int order = hp_alloc_table_by_number(y->rank, x->rank);
    if (order == 0)
        order = hp_alloc_table_by_number(y->total, x->total);
    if (order == 0)
        order = strcmp(hp_alloc_table_name_of(x), hp_alloc_table_name_of(y));
    if (order == 0)
        order = hp_alloc_table_by_number(hp_alloc_table_number_of(x), hp_alloc_table_number_of(y));
    return order != 0
               ? order
               : hp_alloc_table_by_number(x->thread != NULL ? x->thread->number : 0, y->thread != NULL ? y->thread->number : 0);
}

/* The whole of which the rows have their shares: all that was allocated, or what all rows have without main functions. */
static void hp_alloc_table_set_whole(struct hp_alloc_table_view *view)
{
    const struct hp_alloc_totals *totals = &view->allocs->totals;
    view->whole = view->kind == &hp_alloc_table_bytes_kind ? totals->bytes : totals->count;
    view->section->percent_of = "allocated";
    if (!view->results->settings->exclude_wrapper)
        return;
    view->section->percent_of = "rows";
    view->whole = 0;
    for (size_t at = 0; at < view->count; at++)
        view->whole += view->entries[at]->total;
}

/* False: no memory. */
static bool hp_alloc_table_gather(struct hp_alloc_table_view *view)
{
    const struct hotpath_results *results = view->results;
    const size_t most = view->profile->site_count + view->allocs->thread_count + 1;
    struct hp_alloc_table_entry *entries = hp_arena_take_array(results->arena, most, sizeof *entries);
    view->entries = hp_arena_take_array(results->arena, most, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < most; at++)
        view->entries[at] = &entries[at];
    for (size_t at = 0; at < view->profile->site_count; at++)
        if (!(results->settings->exclude_wrapper && view->profile->sites[at]->is_main))
            hp_alloc_table_add_site(view, view->profile->sites[at]);
    hp_alloc_table_add_all_outside(view);
    hp_alloc_table_set_whole(view);
    return true;
}

/* Leaves what is to be shown, in order. */
static void hp_alloc_table_choose(struct hp_alloc_table_view *view)
{
    const struct hp_settings *settings = view->results->settings;
    const bool has_outside = hp_alloc_table_shows_outside(view);
    size_t kept = 0;
    for (size_t at = 0; at < view->count; at++) {
        struct hp_alloc_table_entry *entry = view->entries[at];
        if (entry->site != NULL ? hp_results_show(view->results, entry->site) : has_outside)
            view->entries[kept++] = entry;
    }
    view->section->total_rows = kept;
    view->count = 0;
    for (size_t at = 0; at < kept; at++)
        if (!hp_profile_is_small(view->entries[at]->total, view->whole, settings))
            view->entries[view->count++] = view->entries[at];
    hp_sort(view->entries, view->count, hp_alloc_table_compare_entries);
}

/* ---------------------------------------------------------------------------------------------- rows */

static void hp_alloc_table_set_average(const struct hp_alloc_table_view *view, struct hp_row *row, size_t column, double average)
{
    if (view->kind->average_unit == HOTPATH_UNIT_NUMBER)
        hp_section_set_number(row, column, average);
    else
        hp_section_set_count(row, column, hp_units_round(average));
}

static void hp_alloc_table_fill_percentiles(struct hp_alloc_table_view *view, struct hp_row *row, const struct hp_alloc_table_measured *measured)
{
    const struct hp_settings *settings = view->results->settings;
    double value;
    for (uint32_t at = 0; at < settings->percentile_count && at < HP_MAX_PERCENTILES; at++)
        if (hp_durations_percentile(view->values, settings->percentiles[at], &value))
            hp_section_set_count(row, measured->percentiles[at], hp_units_round(value));
}

/* Most functions allocate nothing. */
static void hp_alloc_table_fill_zeros(struct hp_alloc_table_view *view, struct hp_row *row, const struct hp_alloc_table_measured *measured)
{
    const struct hp_settings *settings = view->results->settings;
    hp_alloc_table_set_average(view, row, measured->average, 0);
    for (uint32_t at = 0; at < settings->percentile_count && at < HP_MAX_PERCENTILES; at++)
        hp_section_set_count(row, measured->percentiles[at], 0);
}

static void hp_alloc_table_fill_values(struct hp_alloc_table_view *view, struct hp_row *row, const struct hp_alloc_table_entry *entry)
{
    const struct hp_alloc_table_kind *kind = view->kind;
    const struct hp_alloc_table_columns *columns = &view->columns;
    const bool is_all = view->results->settings->alloc_cumulative;
    const uint64_t calls = entry->site->sums.calls;
    if (entry->allocs.calls == 0) {
        hp_alloc_table_fill_zeros(view, row, &columns->totals);
        hp_alloc_table_fill_zeros(view, row, &columns->peaks);
        return;
    }
    hp_allocs_distribution(entry->site, &entry->allocs, is_all ? kind->all : kind->own, view->values);
    hp_alloc_table_set_average(view, row, columns->totals.average, calls > 0 ? (double)entry->total / (double)calls : 0);
    hp_alloc_table_fill_percentiles(view, row, &columns->totals);
    hp_allocs_distribution(entry->site, &entry->allocs, kind->peak, view->values);
    hp_alloc_table_set_average(view, row, columns->peaks.average, hp_durations_mean(view->values));
    hp_alloc_table_fill_percentiles(view, row, &columns->peaks);
}

static void hp_alloc_table_fill_peaks(const struct hp_alloc_table_view *view, struct hp_row *row, const struct hp_site_allocs *allocs)
{
    const struct hp_alloc_table_columns *columns = &view->columns;
    hp_section_set_count(row, columns->peak_usable_bytes, allocs->max[HP_ALLOC_PEAK_BYTES]);
    hp_section_set_count(row, columns->peak_blocks, allocs->max[HP_ALLOC_PEAK_BLOCKS]);
    hp_section_set_signed(row, columns->net_usable_bytes, allocs->net_bytes);
    hp_section_set_signed(row, columns->net_blocks, allocs->net_blocks);
}

/* What is outside has no calls, and its peak would be that of all. */
static bool hp_alloc_table_fill_row(struct hp_alloc_table_view *view, struct hp_row *row, const struct hp_alloc_table_entry *entry)
{
    const struct hp_alloc_table_columns *columns = &view->columns;
    hp_section_set_text(row, columns->name, hp_alloc_table_name_of(entry));
    hp_section_set_count(row, columns->total, entry->total);
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)entry->total / (double)view->whole);
    hp_section_set_count(row, columns->own_bytes, entry->allocs.own_bytes);
    hp_section_set_count(row, columns->all_bytes, entry->allocs.all_bytes);
    hp_section_set_count(row, columns->own_count, entry->allocs.own_count);
    hp_section_set_count(row, columns->all_count, entry->allocs.all_count);
    if (entry->thread != NULL && !hp_section_set_thread(view->results, row, columns->thread, entry->thread))
        return false;
    if (entry->site == NULL)
        return true;
    hp_section_set_count(row, columns->calls, entry->site->sums.calls);
    hp_section_set_count(row, columns->open, entry->site->sums.open);
    row->is_open = entry->site->sums.open > 0;
    hp_alloc_table_fill_peaks(view, row, &entry->allocs);
    hp_alloc_table_fill_values(view, row, entry);
    return hp_section_set_location(view->results, row, columns->location, &entry->site->location);
}

static bool hp_alloc_table_fill_rows(struct hp_alloc_table_view *view)
{
    const uint32_t limit = view->results->settings->functions_limit;
    size_t count = view->count;
    if (view->section->order.is_usual && limit != 0 && limit < count)
        count = limit;
    if (!hp_section_make_rows(view->results, view->section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        if (!hp_alloc_table_fill_row(view, &view->section->rows[at], view->entries[at]))
            return false;
    return hp_order_apply(view->results, view->section, limit);
}

/* ------------------------------------------------------------------------------------ above and below */

static void hp_alloc_table_put_count(struct hp_text *line, uint64_t count, const char *one, const char *many)
{
    hp_text_u64(line, count);
    hp_text_string(line, count == 1 ? one : many);
}

static void hp_alloc_table_put_bytes_total(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_units_bytes(line, totals->bytes);
    hp_text_string(line, " in ");
    hp_alloc_table_put_count(line, totals->count, " allocation", " allocations");
    hp_text_string(line, "; usable: ");
    hp_units_bytes(line, totals->freed_bytes);
    hp_text_string(line, " freed, ");
    hp_units_signed_bytes(line, totals->live_bytes);
    hp_text_string(line, allocs->peak_error > 0 ? " live, peak about " : " live, peak ");
    hp_units_signed_bytes(line, totals->peak_bytes);
    if (totals->foreign_count > 0) {
        hp_text_string(line, "; ");
        hp_units_bytes(line, totals->foreign_bytes);
        hp_text_string(line, " freed by another thread");
    }
}

static void hp_alloc_table_put_count_total(struct hp_text *line, const struct hp_allocs *allocs)
{
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_alloc_table_put_count(line, totals->count, " allocation of ", " allocations of ");
    hp_units_bytes(line, totals->bytes);
    hp_text_string(line, "; blocks: ");
    hp_text_u64(line, totals->freed_count);
    hp_text_string(line, " freed, ");
    hp_text_i64(line, totals->live_blocks);
    hp_text_string(line, " live");
    if (allocs->has_peak_blocks) {
        hp_text_string(line, ", peak ");
        hp_text_i64(line, totals->peak_blocks);
    }
    if (totals->foreign_count > 0) {
        hp_text_string(line, "; ");
        hp_text_u64(line, totals->foreign_count);
        hp_text_string(line, " freed by another thread");
    }
}

static const char *hp_alloc_table_keep_line(const struct hp_alloc_table_view *view, struct hp_text *line)
{
    return hp_arena_copy(view->results->arena, line->bytes, line->length);
}

static bool hp_alloc_table_set_summary(struct hp_alloc_table_view *view)
{
    char bytes[HP_ALLOC_TABLE_LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    if (view->kind == &hp_alloc_table_bytes_kind)
        hp_alloc_table_put_bytes_total(&line, view->allocs);
    else
        hp_alloc_table_put_count_total(&line, view->allocs);
    if (view->allocs->failed > 0) {
        hp_text_string(&line, "; ");
        hp_alloc_table_put_count(&line, view->allocs->failed, " failed", " failed");
    }
    view->section->summary = hp_alloc_table_keep_line(view, &line);
    return view->section->summary != NULL;
}

static void hp_alloc_table_add_totals(struct hp_alloc_table_view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_allocs *allocs = view->allocs;
    const struct hp_alloc_totals *totals = &allocs->totals;
    hp_section_add_total(section, "requested_bytes", HOTPATH_UNIT_BYTES, totals->bytes);
    hp_section_add_total(section, "allocations", HOTPATH_UNIT_COUNT, totals->count);
    hp_section_add_total(section, "freed_usable_bytes", HOTPATH_UNIT_BYTES, totals->freed_bytes);
    hp_section_add_total(section, "freed_blocks", HOTPATH_UNIT_COUNT, totals->freed_count);
    hp_section_add_total(section, "live_usable_bytes", HOTPATH_UNIT_SIGNED_BYTES, (uint64_t)totals->live_bytes);
    hp_section_add_total(section, "live_blocks", HOTPATH_UNIT_SIGNED_COUNT, (uint64_t)totals->live_blocks);
    hp_section_add_total(section, "peak_usable_bytes", HOTPATH_UNIT_SIGNED_BYTES, (uint64_t)totals->peak_bytes);
    hp_section_add_total(section, "peak_error_bytes", HOTPATH_UNIT_BYTES, allocs->peak_error);
    if (allocs->has_peak_blocks)
        hp_section_add_total(section, "peak_blocks", HOTPATH_UNIT_SIGNED_COUNT, (uint64_t)totals->peak_blocks);
    hp_section_add_total(section, "foreign_freed_usable_bytes", HOTPATH_UNIT_BYTES, totals->foreign_bytes);
    hp_section_add_total(section, "foreign_freed_blocks", HOTPATH_UNIT_COUNT, totals->foreign_count);
    hp_section_add_total(section, "failed", HOTPATH_UNIT_COUNT, allocs->failed);
}

static bool hp_alloc_table_note_peak(struct hp_alloc_table_view *view)
{
    char bytes[HP_ALLOC_TABLE_LINE_BYTES];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "the peak of all threads together is known to within ");
    hp_units_bytes(&line, view->allocs->peak_error);
    hp_text_string(&line, ", 32 KB for each");
    const char *copy = hp_alloc_table_keep_line(view, &line);
    if (copy != NULL)
        hp_section_note(view->section, copy);
    return copy != NULL;
}

static bool hp_alloc_table_add_notes(struct hp_alloc_table_view *view)
{
    struct hotpath_section *section = view->section;
    bool has_open = false, has_outside = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_outside |= !section->rows[at].cells[view->columns.calls].has_value;
    }
    if (has_open)
        hp_section_note(section, hp_profile_open_note(view->results->profile));
    if (has_outside)
        hp_section_note(section, HP_ALLOC_TABLE_OUTSIDE " was allocated outside of all measured functions");
    if (section->row_count > 0)
        hp_section_note(
            section, view->kind == &hp_alloc_table_bytes_kind
                         ? "Total is what was asked for; Peak (the highest of a call) and Net (what calls left "
                           "behind) are usable bytes, with functions inside"
                         : "Peak (the highest of a call) and Net (what calls left behind) are blocks that lived, "
                           "with functions inside");
    if (strcmp(section->percent_of, "rows") == 0)
        hp_section_note(section, "% Total is of the sum of all rows, without the main function");
    return view->kind != &hp_alloc_table_bytes_kind || view->allocs->peak_error == 0 || hp_alloc_table_note_peak(view);
}

/* "... by each function, thread by thread." */
static bool hp_alloc_table_set_description(struct hp_alloc_table_view *view)
{
    char bytes[160];
    struct hp_text line;
    const struct hp_settings *settings = view->results->settings;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, view->is_peak_first          ? view->kind->highest
                          : settings->alloc_cumulative ? view->kind->cumulative
                                                       : view->kind->exclusive);
    hp_text_string(&line, settings->by == HP_BY_THREAD ? ", thread by thread." : ".");
    view->section->description = hp_alloc_table_keep_line(view, &line);
    return view->section->description != NULL;
}

/* ------------------------------------------------------------------------------------------- section */

static bool hp_alloc_table_has_data(const struct hotpath_results *results) { return hp_run_has_allocs(&results->run); }

static struct hp_alloc_table_view *hp_alloc_table_make_view(struct hotpath_results *results, struct hotpath_section *section,
                              const struct hp_alloc_table_kind *kind)
{
    struct hp_alloc_table_view *view = hp_arena_take(results->arena, sizeof *view);
    if (view == NULL)
        return NULL;
    *view = (struct hp_alloc_table_view){.results = results,
                          .section = section,
                          .kind = kind,
                          .profile = hp_results_profile_of_rows(results),
                          .allocs = hp_results_allocs(results),
                          .is_peak_first = hp_alloc_table_is_peak(results->settings->alloc_metric)};
    view->values = hp_arena_take(results->arena, sizeof *view->values);
    return view->profile != NULL && view->allocs != NULL && view->values != NULL ? view : NULL;
}

static bool hp_alloc_table_fill(struct hotpath_results *results, struct hotpath_section *section, const struct hp_alloc_table_kind *kind)
{
    struct hp_alloc_table_view *view = hp_alloc_table_make_view(results, section, kind);
    if (view == NULL || !hp_alloc_table_set_description(view) || !hp_alloc_table_describe(view) || !hp_alloc_table_gather(view))
        return false;
    if (!hp_alloc_table_has_data(results)) {
        section->if_empty = HP_NO_ALLOCS;
        return hp_section_make_rows(results, section, 0);
    }
    section->main = results->profile->main != NULL ? results->profile->main->name : NULL;
    hp_alloc_table_choose(view);
    section->if_empty = section->total_rows > 0 ? "every function has a smaller share than HOTPATH_MIN_PERCENT"
                        : view->profile->site_count > 0 ? "no function matches the focus"
                                                        : "nothing was allocated while the session was active";
    hp_alloc_table_add_totals(view);
    return hp_alloc_table_set_summary(view) && hp_alloc_table_fill_rows(view) && hp_alloc_table_add_notes(view);
}

static bool hp_alloc_table_fill_bytes(struct hotpath_results *results, struct hotpath_section *section)
{
    return hp_alloc_table_fill(results, section, &hp_alloc_table_bytes_kind);
}

static bool hp_alloc_table_fill_count(struct hotpath_results *results, struct hotpath_section *section)
{
    return hp_alloc_table_fill(results, section, &hp_alloc_table_count_kind);
}

const struct hp_section_type hotpath_section_alloc_bytes_ = {.name = "alloc-bytes",
                                                       .group = "alloc",
                                                       .is_usual = hp_alloc_table_is_bytes,
                                                       .is_left_out_empty = true,
                                                       .has_data = hp_alloc_table_has_data,
                                                       .fill = hp_alloc_table_fill_bytes};
const struct hp_section_type hotpath_section_alloc_count_ = {.name = "alloc-count",
                                                       .group = "alloc",
                                                       .is_usual = hp_alloc_table_is_count,
                                                       .is_left_out_empty = true,
                                                       .has_data = hp_alloc_table_has_data,
                                                       .fill = hp_alloc_table_fill_count};

/* ---- src/sections/alloc_threads.h ---------------------------------------------------------------------------- */

/* The section `alloc-threads`. */

HP_SHARED const struct hp_section_type hotpath_section_alloc_threads_;

/* ---- src/sections/alloc_threads.c ---------------------------------------------------------------------------- */

/*
 * The section `alloc-threads`: one row per thread, by what it asked for, and who frees what others have allocated.
 */

#define HP_ALLOC_THREADS_NO_THREAD "<others>"

struct hp_alloc_threads_columns {
    size_t name, count, bytes, freed, live, peak, foreign_count, foreign_bytes, outside, freed_count, live_blocks,
        peak_blocks, tid, pid, threads;
};

static struct hp_alloc_threads_columns hp_alloc_threads_describe(const struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_alloc_threads_columns columns;
    columns.name =
        hp_section_add_column(section, "name", "Thread", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.count = hp_section_add_column(section, "allocations", "Allocations", HOTPATH_UNIT_COUNT, 0, true);
    columns.bytes =
        hp_section_add_column(section, "allocated_bytes", "Allocated", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP, true);
    columns.freed = hp_section_add_column(section, "freed_usable_bytes", "Freed", HOTPATH_UNIT_BYTES, 0, true);
    columns.live = hp_section_add_column(section, "live_usable_bytes", "Live", HOTPATH_UNIT_SIGNED_BYTES,
                                         HP_COLUMN_LATE, true);
    columns.peak = hp_section_add_column(section, "peak_usable_bytes", "Peak", HOTPATH_UNIT_SIGNED_BYTES,
                                         HP_COLUMN_LATE, true);
    columns.foreign_count =
        hp_section_add_column(section, "foreign_freed_blocks", "Freed for others", HOTPATH_UNIT_COUNT, 0, true);
    columns.foreign_bytes = hp_section_add_column(section, "foreign_freed_usable_bytes", "Bytes for others",
                                                  HOTPATH_UNIT_BYTES, 0, true);
    columns.outside = hp_section_add_column(section, "outside_bytes", "Outside", HOTPATH_UNIT_BYTES, 0, false);
    columns.freed_count =
        hp_section_add_column(section, "freed_blocks", "Freed Blocks", HOTPATH_UNIT_COUNT, 0, false);
    columns.live_blocks =
        hp_section_add_column(section, "live_blocks", "Live Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, false);
    columns.peak_blocks =
        hp_section_add_column(section, "peak_blocks", "Peak Blocks", HOTPATH_UNIT_SIGNED_COUNT, 0, false);
    columns.tid = hp_section_add_column(section, "tid", "TID", HOTPATH_UNIT_COUNT, 0, false);
    columns.pid = hp_section_add_column(section, "pid", "PID", HOTPATH_UNIT_COUNT, 0, results->run.count > 1);
    columns.threads = hp_section_add_column(section, "threads", "Threads", HOTPATH_UNIT_COUNT, 0, false);
    return columns;
}

/* Names of threads may be alike, numbers are not. */
static int hp_alloc_threads_compare_threads(const void *a, const void *b)
{
    const struct hp_thread_allocs *x = a, *y = b;
    if (x->totals.bytes != y->totals.bytes)
        return x->totals.bytes > y->totals.bytes ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* Threads that have no record have no name and no peak. */
static bool hp_alloc_threads_fill_row(struct hotpath_results *results, struct hp_row *row, const struct hp_alloc_threads_columns *columns,
                     const struct hp_thread_allocs *thread)
{
    const struct hp_alloc_totals *totals = &thread->totals;
    hp_section_set_count(row, columns->count, totals->count);
    hp_section_set_count(row, columns->bytes, totals->bytes);
    hp_section_set_count(row, columns->freed, totals->freed_bytes);
    hp_section_set_signed(row, columns->live, totals->live_bytes);
    hp_section_set_count(row, columns->foreign_count, totals->foreign_count);
    hp_section_set_count(row, columns->foreign_bytes, totals->foreign_bytes);
    hp_section_set_count(row, columns->outside, thread->outside_bytes);
    hp_section_set_count(row, columns->freed_count, totals->freed_count);
    hp_section_set_signed(row, columns->live_blocks, totals->live_blocks);
    hp_section_set_count(row, columns->pid, thread->pid);
    if (thread->label == NULL) {
        hp_section_set_text(row, columns->name, HP_ALLOC_THREADS_NO_THREAD);
        return true;
    }
    hp_section_set_signed(row, columns->peak, totals->peak_bytes);
    hp_section_set_signed(row, columns->peak_blocks, totals->peak_blocks);
    hp_section_set_count(row, columns->tid, thread->label->tid);
    hp_section_set_count(row, columns->threads, thread->label->threads);
    return hp_section_set_thread(results, row, columns->name, thread->label);
}

static void hp_alloc_threads_add_notes(struct hotpath_section *section, const struct hp_allocs *allocs)
{
    bool has_shared = false, has_others = false;
    for (size_t at = 0; at < allocs->thread_count; at++) {
        has_shared |= allocs->threads[at].label != NULL && allocs->threads[at].label->threads > 1;
        has_others |= allocs->threads[at].label == NULL;
    }
    if (section->row_count > 0)
        hp_section_note(section, "Allocated is what was asked for; Freed, Live and Peak are usable bytes. A thread "
                                 "that frees what others have allocated can have less than nothing");
    if (has_shared)
        hp_section_note(section,
                        "(n threads) that ran one after the other are counted together; the number is that of "
                        "the last");
    if (has_others)
        hp_section_note(section, HP_ALLOC_THREADS_NO_THREAD " are threads that had no record yet, or none any more");
}

static bool hp_alloc_threads_has_data(const struct hotpath_results *results) { return hp_run_has_allocs(&results->run); }

static bool hp_alloc_threads_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_allocs *allocs = hp_results_allocs(results);
    if (allocs == NULL)
        return false;
    const struct hp_thread_allocs **order =
        hp_arena_take_array(results->arena, allocs->thread_count + 1, sizeof(void *));
    if (order == NULL)
        return false;
    const struct hp_alloc_threads_columns columns = hp_alloc_threads_describe(results, section);
    hp_section_show_columns(results, section);
    section->description = "What each thread allocated and freed.";
    section->if_empty = HP_NO_ALLOCS;
    section->total_rows = allocs->thread_count;
    for (size_t at = 0; at < allocs->thread_count; at++)
        order[at] = &allocs->threads[at];
    hp_sort(order, allocs->thread_count, hp_alloc_threads_compare_threads);
    if (!hp_order_choose(results, section, columns.bytes, HP_MAX_COLUMNS) ||
        !hp_section_make_rows(results, section, allocs->thread_count))
        return false;
    for (size_t at = 0; at < allocs->thread_count; at++)
        if (!hp_alloc_threads_fill_row(results, &section->rows[at], &columns, order[at]))
            return false;
    if (!hp_order_apply(results, section, results->settings->functions_limit))
        return false;
    hp_alloc_threads_add_notes(section, allocs);
    return true;
}

const struct hp_section_type hotpath_section_alloc_threads_ = {
    .name = "alloc-threads", .is_on_request = true, .is_left_out_empty = true, .has_data = hp_alloc_threads_has_data, .fill = hp_alloc_threads_fill};

/* ---- src/sections/calls.h ------------------------------------------------------------------------------------ */

/* The section `calls`: the latest calls of functions whose calls are logged. */

HP_SHARED const struct hp_section_type hotpath_section_calls_;

/* ---- src/sections/stat_walk.h -------------------------------------------------------------------------------- */

/*
 * All stats of a run, session by session and thread by thread, each with its site: the way to what is kept of single
 * calls.
 *
 *     struct hp_stat_walk walk = {0};
 *     while (hp_stat_walk_next(&walk, profile))
 *         if (walk.site != NULL) ... walk.snapshot, walk.thread, walk.stat
 */

struct hp_stat_walk {
    uint32_t session; /* index in the run */
    const struct hp_snapshot *snapshot;
    struct hp_thread thread;
    struct hotpath_stat_ stat;
    const struct hp_site_sums *site; /* NULL: one that came up after the profile was made, or a broken one */
    struct hp_walk calls;            /* for hp_snapshot_next_call; as many steps as a session can have calls */
    struct hp_walk threads, stats;   /* private */
    bool is_in_thread;
};

HP_PRIVATE bool hp_stat_walk_next(struct hp_stat_walk *walk, const struct hp_profile *profile);

/* The name of the thread with this id, if the record still knows it: it has the name of its latest thread only. */
HP_PRIVATE const char *hp_stat_walk_thread_name(const struct hp_stat_walk *walk, uint32_t tid);

/* ---- src/sections/calls.c ------------------------------------------------------------------------------------ */

/*
 * The section `calls`: one row per call that was kept, the functions by their total time, the newest call of each
 * first.
 *
 * Every thread keeps the latest calls it made itself; here those of all threads and processes become one list, which
 * is cut to the length that each of them has.
 */

struct hp_calls_call {
    struct hp_calls_call *next; /* in order of arrival */
    const struct hp_site_sums *site;
    const struct hp_snapshot *session;
    const char *thread; /* NULL: not known */
    const char *note;   /* NULL: none */
    uint64_t ticks;
    uint64_t end;
    uint64_t alloc_bytes;
    uint64_t alloc_count;
    uint32_t tid;
};

struct hp_calls_columns {
    size_t name, ago, duration, note, thread, tid, pid, alloc_bytes, alloc_count;
};

struct hp_calls_view {
    struct hotpath_results *results;
    struct hp_calls_columns columns;
    struct hp_calls_call *first;
    struct hp_calls_call **order;
    size_t count;
    uint64_t now; /* the end of the session that ended last */
};

/* -------------------------------------------------------------------------------------------- gather */

/* What has no text is NULL; false: no memory. */
static bool hp_calls_copy_text(struct hp_arena *arena, const char *text, size_t length, const char **ret_copy)
{
    *ret_copy = text != NULL && length > 0 ? hp_arena_copy(arena, text, length) : NULL;
    return *ret_copy != NULL || text == NULL || length == 0;
}

static bool hp_calls_add_call(struct hp_calls_view *view, const struct hp_stat_walk *walk, const struct hp_kept_call *kept)
{
    struct hp_arena *arena = view->results->arena;
    struct hp_calls_call *call = hp_arena_take(arena, sizeof *call);
    const char *thread = hp_stat_walk_thread_name(walk, kept->tid);
    if (call == NULL || !hp_calls_copy_text(arena, kept->note, kept->note_length, &call->note) ||
        !hp_calls_copy_text(arena, thread, thread != NULL ? strlen(thread) : 0, &call->thread))
        return false;
    call->site = walk->site;
    call->session = walk->snapshot;
    call->ticks = kept->ticks;
    call->end = hp_kept_call_end(kept);
    call->tid = kept->tid;
    call->alloc_bytes = kept->alloc_bytes;
    call->alloc_count = kept->alloc_count;
    call->next = view->first;
    view->first = call;
    view->count++;
    return true;
}

static bool hp_calls_gather(struct hp_calls_view *view)
{
    struct hp_stat_walk walk = {0};
    struct hp_kept_call kept;
    while (hp_stat_walk_next(&walk, view->results->profile)) {
        if (walk.site == NULL || !hp_results_show(view->results, walk.site))
            continue;
        while (hp_snapshot_next_call(walk.snapshot, &walk.stat, &walk.calls, &kept))
            if (!hp_calls_add_call(view, &walk, &kept))
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------- rank */

static int hp_calls_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

/* The functions in the order of their total time, no two of them mixed. */
static int hp_calls_by_site(const struct hp_site_sums *x, const struct hp_site_sums *y)
{
    int order = hp_calls_by_number(y->sums.total, x->sums.total);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : hp_calls_by_number(hp_site_number(x), hp_site_number(y));
}

static int hp_calls_compare_calls(const void *a, const void *b)
{
    const struct hp_calls_call *x = a, *y = b;
    int order = hp_calls_by_site(x->site, y->site);
    if (order == 0)
        order = hp_calls_by_number(y->end, x->end);
    if (order == 0)
        order = hp_calls_by_number(x->session->header.pid, y->session->header.pid);
    if (order == 0)
        order = hp_calls_by_number(x->tid, y->tid);
    return order != 0 ? order : hp_calls_by_number(x->ticks, y->ticks);
}

static bool hp_calls_is_within(size_t count, uint32_t limit)
{
    return limit == 0 || limit == HOTPATH_NO_LIMIT || count < limit;
}

/* Leaves so many functions, and so many calls of each, at the beginning; returns how many calls that are. */
static size_t hp_calls_cut(struct hp_calls_view *view)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0, functions = 0, calls = 0;
    for (size_t at = 0; at < view->count; at++) {
        const bool is_next = at > 0 && view->order[at]->site != view->order[at - 1]->site;
        functions += is_next;
        calls = is_next ? 0 : calls;
        if (hp_calls_is_within(functions, settings->functions_limit) && hp_calls_is_within(calls++, settings->logs_limit))
            view->order[kept++] = view->order[at];
    }
    return kept;
}

static bool hp_calls_rank(struct hp_calls_view *view)
{
    size_t at = 0;
    view->order = hp_arena_take_array(view->results->arena, view->count + 1, sizeof(void *));
    if (view->order == NULL)
        return false;
    for (struct hp_calls_call *call = view->first; call != NULL; call = call->next)
        view->order[at++] = call;
    hp_sort(view->order, view->count, hp_calls_compare_calls);
    return true;
}

/* ---------------------------------------------------------------------------------------------- rows */

static bool hp_calls_is_other_thread(const struct hp_calls_call *x, const struct hp_calls_call *y)
{
    return x->tid != y->tid || x->session != y->session;
}

/* What is the same in all rows needs no column. */
static void hp_calls_describe(struct hp_calls_view *view, struct hotpath_section *section, size_t count)
{
    struct hp_calls_columns *columns = &view->columns;
    bool has_threads = false, has_notes = false;
    for (size_t at = 0; at < count; at++) {
        has_threads |= hp_calls_is_other_thread(view->order[at], view->order[0]);
        has_notes |= view->order[at]->note != NULL;
    }
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns->ago = hp_section_add_column(section, "ago_ns", "Ago", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    columns->duration =
        hp_section_add_column(section, "duration_ns", "Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    if (hp_run_has_allocs(&view->results->run)) {
        columns->alloc_bytes =
            hp_section_add_column(section, "alloc_bytes", "Allocated", HOTPATH_UNIT_BYTES, 0, true);
        columns->alloc_count = hp_section_add_column(section, "alloc_count", "Allocs", HOTPATH_UNIT_COUNT, 0, true);
    }
    columns->note = hp_section_add_column(section, "note", "Note", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_LATE | HP_COLUMN_ELASTIC, has_notes);
    columns->thread = hp_section_add_column(section, "thread", "Thread", HOTPATH_UNIT_TEXT, 0, has_threads);
    columns->tid = hp_section_add_column(section, "tid", "TID", HOTPATH_UNIT_COUNT, 0, has_threads);
    columns->pid =
        hp_section_add_column(section, "pid", "PID", HOTPATH_UNIT_COUNT, 0, view->results->run.count > 1);
    hp_section_show_columns(view->results, section);
}

static void hp_calls_fill_row(const struct hp_calls_view *view, struct hp_row *row, const struct hp_calls_call *call)
{
    const struct hp_calls_columns *columns = &view->columns;
    const struct hp_run *run = &view->results->run;
    hp_section_set_text(row, columns->name, call->site->name);
    hp_section_set_number(row, columns->ago, hp_run_ns(run, view->now > call->end ? view->now - call->end : 0));
    hp_section_set_number(row, columns->duration, hp_run_ns(run, call->ticks));
    if (hp_run_has_allocs(run)) {
        hp_section_set_count(row, columns->alloc_bytes, call->alloc_bytes);
        hp_section_set_count(row, columns->alloc_count, call->alloc_count);
    }
    if (call->note != NULL)
        hp_section_set_text(row, columns->note, call->note);
    if (call->thread != NULL)
        hp_section_set_text(row, columns->thread, call->thread);
    hp_section_set_count(row, columns->tid, call->tid);
    hp_section_set_count(row, columns->pid, call->session->header.pid);
}

static bool hp_calls_has_data(const struct hotpath_results *results)
{
    struct hp_stat_walk walk = {0};
    struct hp_kept_call kept;
    while (hp_stat_walk_next(&walk, results->profile))
        if (walk.site != NULL && hp_snapshot_next_call(walk.snapshot, &walk.stat, &walk.calls, &kept))
            return true;
    return false;
}

static bool hp_calls_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_calls_view view = {.results = results};
    section->description = "The latest calls, newest first.";
    for (size_t at = 0; at < results->run.count; at++)
        view.now =
            results->run.sessions[at]->now_ticks > view.now ? results->run.sessions[at]->now_ticks : view.now;
    if (!hp_calls_gather(&view) || !hp_calls_rank(&view))
        return false;
    section->total_rows = view.count;
    section->if_empty = hp_calls_has_data(results)
                            ? "no function whose calls are logged matches the focus"
                            : "no calls were logged: write HOTPATH_MEASURE(.log = 1), or set HOTPATH_LOG "
                              "to the functions whose latest calls are to be kept";
    const size_t count = hp_calls_cut(&view);
    hp_calls_describe(&view, section, count);
    if (!hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        hp_calls_fill_row(&view, &section->rows[at], view.order[at]);
    if (count > 0 && hp_run_state(&results->run) != HP_SNAPSHOT_RUNNING)
        hp_section_note(section, "Ago is the time from the end of a call to the end of the run");
    return true;
}

const struct hp_section_type hotpath_section_calls_ = {.name = "calls", .has_data = hp_calls_has_data, .fill = hp_calls_fill};

/* ---- src/sections/calltree.h --------------------------------------------------------------------------------- */

/* The section `calltree`: who called whom, merged over threads. */

HP_SHARED const struct hp_section_type hotpath_section_calltree_;

/* ---- src/sections/calltree.c --------------------------------------------------------------------------------- */

/*
 * The section `calltree`: one row per path of calls, parents before children, siblings by total time or by the column
 * that HOTPATH_SORT names.
 *
 * The limit keeps the hottest rows, not the first ones: a row counts as hot as the coldest on its path, so that
 * whoever is kept keeps its parents.
 */

/* Deeper paths are left out and show in the row counts: readers of nested JSON have limits, too. */
#define HP_CALLTREE_DEEPEST 200u

struct hp_calltree_place {
    struct hp_tree_node *node;
    uint64_t rank;  /* among its siblings: the higher, the earlier */
    uint64_t heat;  /* the smallest total on the way here */
    bool is_wanted; /* it, or something below it, matches the focus */
    bool is_kept;
};

struct hp_calltree_columns {
    size_t name, calls, total, percent, self, open;
};

struct hp_calltree_view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_calltree_columns columns;
    uint64_t whole;
    struct hp_calltree_place *places; /* by index of the node: parents first */
    struct hp_calltree_place **kept;  /* the hottest first, then in order of the tree */
    size_t kept_count;
    size_t wanted_count;
};

static struct hp_calltree_place *hp_calltree_place_of(const struct hp_calltree_view *view, const struct hp_tree_node *node)
{
    return &view->places[node->index];
}

/* Children come first, so a match has reached the parent when the parent's turn comes. */
static void hp_calltree_mark_wanted(struct hp_calltree_view *view)
{
    const struct hp_profile *profile = view->results->profile;
    for (size_t at = profile->node_count; at-- > 0;) {
        struct hp_tree_node *node = profile->nodes[at];
        struct hp_calltree_place *place = &view->places[at];
        if (node->sums.calls > 0 && hp_results_show(view->results, node->site))
            place->is_wanted = true;
        if (place->is_wanted && node->parent != NULL)
            hp_calltree_place_of(view, node->parent)->is_wanted = true;
    }
}

/* As hot as the coldest on its path, so nobody is shown without its parents. */
static bool hp_calltree_is_small(const struct hp_calltree_view *view, const struct hp_calltree_place *place)
{
    const struct hotpath_results *results = view->results;
    return place->node->site != results->profile->main &&
           hp_profile_is_small(place->heat, view->whole, results->settings);
}

static void hp_calltree_collect_wanted(struct hp_calltree_view *view)
{
    for (size_t at = 0; at < view->results->profile->node_count; at++) {
        struct hp_calltree_place *place = &view->places[at];
        const struct hp_tree_node *parent = place->node->parent;
        place->heat = place->node->sums.total;
        if (parent != NULL && hp_calltree_place_of(view, parent)->heat < place->heat)
            place->heat = hp_calltree_place_of(view, parent)->heat;
        view->wanted_count += place->is_wanted;
        if (place->is_wanted && place->node->depth < HP_CALLTREE_DEEPEST && !hp_calltree_is_small(view, place))
            view->kept[view->kept_count++] = place;
    }
}

static int hp_calltree_compare_heat(const void *a, const void *b)
{
    const struct hp_calltree_place *x = a, *y = b;
    if (x->heat != y->heat)
        return x->heat > y->heat ? -1 : 1;
    return x->node->index == y->node->index ? 0 : x->node->index < y->node->index ? -1 : 1;
}

static void hp_calltree_keep_hottest(struct hp_calltree_view *view)
{
    const uint32_t limit = view->results->settings->calltree_limit;
    if (limit != 0 && limit != HOTPATH_NO_LIMIT && view->kept_count > limit) {
        hp_sort(view->kept, view->kept_count, hp_calltree_compare_heat);
        view->kept_count = limit;
    }
    for (size_t at = 0; at < view->kept_count; at++)
        view->kept[at]->is_kept = true;
}

/* What the order of siblings goes by; of text all are alike. */
static uint64_t hp_calltree_rank_of(const struct hp_calltree_view *view, const struct hp_sums *sums)
{
    const struct hp_order *order = &view->section->order;
    const uint64_t number = order->column == view->columns.calls  ? sums->calls
                            : order->column == view->columns.self ? hp_sums_self(sums)
                            : order->column == view->columns.open ? sums->open
                            : order->column == view->columns.name ? 0
                                                                  : sums->total;
    return order->is_ascending ? ~number : number;
}

static int hp_calltree_by_name(const struct hp_tree_node *x, const struct hp_tree_node *y)
{
    const int order = strcmp(x->site->name, y->site->name);
    return order != 0 ? order : x->index == y->index ? 0 : x->index < y->index ? -1 : 1;
}

static int hp_calltree_compare_names(const void *a, const void *b)
{
    return hp_calltree_by_name(((const struct hp_calltree_place *)a)->node, ((const struct hp_calltree_place *)b)->node);
}

static int hp_calltree_compare_names_reversed(const void *a, const void *b) { return hp_calltree_compare_names(b, a); }

static int hp_calltree_compare_siblings(const void *a, const void *b)
{
    const struct hp_calltree_place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    if (x->node->sums.total != y->node->sums.total)
        return x->node->sums.total > y->node->sums.total ? -1 : 1;
    return hp_calltree_by_name(x->node, y->node);
}

/* Puts a list of siblings in order, by way of an array that has room for all nodes. */
static struct hp_tree_node *hp_calltree_sort_siblings(const struct hp_calltree_view *view, struct hp_tree_node *first,
                                          struct hp_calltree_place **scratch)
{
    const struct hp_order *order = &view->section->order;
    size_t count = 0;
    for (struct hp_tree_node *node = first; node != NULL; node = node->next_sibling)
        scratch[count++] = hp_calltree_place_of(view, node);
    hp_sort(scratch, count,
            order->column != view->columns.name ? hp_calltree_compare_siblings
            : order->is_ascending               ? hp_calltree_compare_names
                                                : hp_calltree_compare_names_reversed);
    for (size_t at = 0; at < count; at++)
        scratch[at]->node->next_sibling = at + 1 < count ? scratch[at + 1]->node : NULL;
    return count > 0 ? scratch[0]->node : NULL;
}

static bool hp_calltree_sort_tree(struct hp_calltree_view *view)
{
    struct hp_profile *profile = view->results->profile;
    struct hp_calltree_place **scratch = hp_arena_take_array(view->results->arena, profile->node_count + 1, sizeof(void *));
    if (scratch == NULL)
        return false;
    for (size_t at = 0; at < profile->node_count; at++) {
        view->places[at].node = profile->nodes[at];
        view->places[at].rank = hp_calltree_rank_of(view, &profile->nodes[at]->sums);
    }
    profile->first_root = hp_calltree_sort_siblings(view, profile->first_root, scratch);
    for (size_t at = 0; at < profile->node_count; at++)
        profile->nodes[at]->first_child = hp_calltree_sort_siblings(view, profile->nodes[at]->first_child, scratch);
    return true;
}

/* The next node in tree order, parents first; without recursion, since the depth is the file's choice. */
static const struct hp_tree_node *hp_calltree_next_in_order(const struct hp_calltree_view *view, const struct hp_tree_node *node)
{
    if (node->first_child != NULL && hp_calltree_place_of(view, node)->is_kept)
        return node->first_child;
    while (node != NULL && node->next_sibling == NULL)
        node = node->parent;
    return node != NULL ? node->next_sibling : NULL;
}

static struct hp_calltree_columns hp_calltree_describe(struct hotpath_section *section)
{
    struct hp_calltree_columns columns;
    columns.name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                         HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns.total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    columns.self = hp_section_add_column(section, "self_ns", "Self", HOTPATH_UNIT_NS, 0, true);
    columns.percent =
        hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    columns.open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
    return columns;
}

static void hp_calltree_fill_row(const struct hp_calltree_view *view, struct hp_row *row, const struct hp_tree_node *node)
{
    const struct hp_calltree_columns *columns = &view->columns;
    const struct hp_run *run = &view->results->run;
    hp_section_set_text(row, columns->name, node->site->name);
    hp_section_set_count(row, columns->calls, node->sums.calls);
    hp_section_set_number(row, columns->total, hp_run_ns(run, node->sums.total));
    hp_section_set_number(row, columns->self, hp_run_ns(run, hp_sums_self(&node->sums)));
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)node->sums.total / (double)view->whole);
    hp_section_set_count(row, columns->open, node->sums.open);
    row->depth = node->depth;
    row->is_open = node->sums.open > 0;
    row->is_main = node->site == view->results->profile->main;
}

/* What is to be said of shares of one process stands below the functions. */
static void hp_calltree_add_notes(const struct hp_calltree_view *view, struct hotpath_section *section, bool has_open)
{
    const struct hp_profile *profile = view->results->profile;
    const char *share_note = hp_profile_share_note(profile, section->percent_of);
    if (has_open)
        hp_section_note(section, hp_profile_open_note(profile));
    if (share_note != NULL && profile->run->count > 1)
        hp_section_note(section, share_note);
}

static bool hp_calltree_fill_rows(struct hp_calltree_view *view, struct hotpath_section *section)
{
    section->total_rows = view->wanted_count;
    if (!hp_section_make_rows(view->results, section, view->kept_count))
        return false;
    size_t at = 0;
    bool has_open = false;
    for (const struct hp_tree_node *node = view->results->profile->first_root; node != NULL;
         node = hp_calltree_next_in_order(view, node))
        if (hp_calltree_place_of(view, node)->is_kept && at < section->row_count) {
            hp_calltree_fill_row(view, &section->rows[at], node);
            has_open |= section->rows[at++].is_open;
        }
    section->row_count = at;
    hp_calltree_add_notes(view, section, has_open);
    return true;
}

static bool hp_calltree_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->profile;
    struct hp_calltree_view view = {.results = results, .section = section, .columns = hp_calltree_describe(section)};
    section->description = "Who called whom.";
    section->main = profile->main != NULL ? profile->main->name : NULL;
    section->is_tree = true;
    hp_section_show_columns(results, section);
    if (!hp_order_choose(results, section, view.columns.total, view.columns.percent))
        return false;
    section->if_empty = profile->node_count > 0 ? "no function matches the focus" : "nothing was measured";
    view.whole = hp_profile_whole(profile, results->settings, &section->percent_of);
    view.places = hp_arena_take_array(results->arena, profile->node_count + 1, sizeof *view.places);
    view.kept = hp_arena_take_array(results->arena, profile->node_count + 1, sizeof(void *));
    if (view.places == NULL || view.kept == NULL || !hp_calltree_sort_tree(&view))
        return false;
    hp_calltree_mark_wanted(&view);
    hp_calltree_collect_wanted(&view);
    if (view.kept_count == 0 && view.wanted_count > 0)
        section->if_empty = "every path has a smaller share than HOTPATH_MIN_PERCENT";
    hp_calltree_keep_hottest(&view);
    return hp_calltree_fill_rows(&view, section);
}

static bool hp_calltree_has_data(const struct hotpath_results *results) { return results->profile->node_count > 0; }

const struct hp_section_type hotpath_section_calltree_ = {
    .name = "calltree", .is_on_request = true, .has_data = hp_calltree_has_data, .fill = hp_calltree_fill};

/* ---- src/os/function_list.h ---------------------------------------------------------------------------------- */

/*
 * The functions of a program or library file, and the kind of reader that lists them. The program has such a reader
 * (src/symbols), which the sections may ask; the library has none.
 */

struct hp_arena;

struct hp_function {
    const char *name;
    const char *source; /* of a static one, as the compiler was told; "" where it is not known */
    uint64_t address;   /* as the linker gave it */
    uint64_t size;      /* in bytes */
    bool is_instrumented;
};

struct hp_functions {
    struct hp_function *all; /* by address, each address once */
    size_t count;
};

/*
 * Lists the functions of a file, in memory of the arena. Returns NULL, or why it cannot, as the end of a sentence that
 * begins with the path: "is not there any more".
 */
typedef const char *hp_functions_reader(struct hp_arena *arena, const char *path,
                                        struct hp_functions *ret_functions);

/* ---- src/sections/cold.h ------------------------------------------------------------------------------------- */

/*
 * The section `cold`: functions that were compiled with -finstrument-functions and not called.
 */

HP_SHARED const struct hp_section_type hotpath_section_cold_;

/* Lists the functions of a file; set by whoever can. NULL, as in the library: there is no such section. */
HP_SHARED hp_functions_reader *hotpath_cold_reader_;

/* ---- src/sections/cold.c ------------------------------------------------------------------------------------- */

/*
 * The section `cold`: functions that were compiled with -finstrument-functions and not called.
 *
 * A session knows what was called, and of each such function the file it is in. So the files are read, and what is left of
 * their functions when those that were called are taken away is cold. A file may be another one by now; then what was
 * called is not where it was, and nothing is said about it.
 *
 * Recording knows a function by its name and source. Where two are alike in both, and one was called, neither is cold.
 */

#define HP_COLD_MOST_IMAGES 256u

hp_functions_reader *hotpath_cold_reader_;

/* A function that a session knows: it was called while the process ran, if not in this session. */
struct hp_cold_known {
    const char *image, *name, *source;
    uint64_t address;
};

/* What was called in the run is known by these. */
struct hp_cold_called {
    const char *name, *source;
};

/* A row. */
struct hp_cold_cold {
    const struct hp_function *function;
    const char *image;
};

struct hp_cold_columns {
    size_t name, size, source, image, path;
};

/* What of a session's functions was recorded; NULL: all. */
struct hp_cold_choice {
    struct hp_pattern_list *filter, *skip;
};

struct hp_cold_view {
    struct hp_cold_choice *choices; /* of each session */
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_cold_columns columns;
    struct hp_cold_known **known; /* by image and address */
    size_t known_count;
    struct hp_cold_called **called; /* sorted */
    size_t called_count;
    struct hp_cold_cold **rows;
    size_t row_count;
    size_t row_room;
    size_t images;       /* that were looked into */
    size_t unrecognised; /* functions that were called and do not look like it */
};

/* ------------------------------------------------------------------------------------------ what was called */

/* Many sites may point at one text. */
static int hp_cold_by_text(const char *x, const char *y) { return x == y ? 0 : strcmp(x, y); }

static int hp_cold_compare_called(const void *a, const void *b)
{
    const struct hp_cold_called *x = a, *y = b;
    const int order = hp_cold_by_text(x->name, y->name);
    return order != 0 ? order : hp_cold_by_text(x->source, y->source);
}

static int hp_cold_compare_known(const void *a, const void *b)
{
    const struct hp_cold_known *x = a, *y = b;
    const int order = hp_cold_by_text(x->image, y->image);
    return order != 0 ? order : x->address == y->address ? 0 : x->address < y->address ? -1 : 1;
}

/* Functions that the compiler measures have no line. */
static bool hp_cold_gather_called(struct hp_cold_view *view)
{
    const struct hp_profile *profile = view->results->profile;
    struct hp_cold_called *all = hp_arena_take_array(view->results->arena, profile->site_count + 1, sizeof *all);
    view->called = hp_arena_take_array(view->results->arena, profile->site_count + 1, sizeof(void *));
    if (all == NULL || view->called == NULL)
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_location *location = &profile->sites[at]->location;
        if (location->line != 0)
            continue;
        all[view->called_count] = (struct hp_cold_called){location->function, location->file};
        view->called[view->called_count] = &all[view->called_count];
        view->called_count++;
    }
    hp_sort(view->called, view->called_count, hp_cold_compare_called);
    return true;
}

static bool hp_cold_was_called(const struct hp_cold_view *view, const struct hp_function *function)
{
    const struct hp_cold_called wanted = {function->name, function->source};
    size_t low = 0, high = view->called_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = hp_cold_compare_called(&wanted, view->called[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool hp_cold_add_known(struct hp_cold_view *view, const struct hp_snapshot *session, const struct hp_site *site)
{
    struct hp_cold_known *known = hp_arena_take(view->results->arena, sizeof *known);
    if (known == NULL)
        return false;
    *known = (struct hp_cold_known){
        .image = hp_snapshot_text(session, site->image),
        .name = hp_snapshot_text(session, site->function),
        .source = hp_snapshot_text(session, site->file),
        .address = (uint64_t)site->address_high << 32 | site->address_low,
    };
    view->known[view->known_count++] = known;
    return true;
}

static uint32_t hp_cold_sites_of(const struct hp_snapshot *session)
{
    return session->header.site_count < HP_MAX_SITES ? session->header.site_count : HP_MAX_SITES;
}

static bool hp_cold_gather_known(struct hp_cold_view *view)
{
    const struct hp_run *run = &view->results->run;
    struct hp_site site;
    size_t count = 0;
    for (size_t at = 0; at < run->count; at++)
        count += hp_cold_sites_of(run->sessions[at]);
    view->known = hp_arena_take_array(view->results->arena, count + 1, sizeof(void *));
    if (view->known == NULL)
        return false;
    for (size_t at = 0; at < run->count; at++)
        for (uint32_t id = 0; id < hp_cold_sites_of(run->sessions[at]); id++)
            if (hp_snapshot_site(run->sessions[at], id, &site) && site.image != 0 &&
                hp_snapshot_text(run->sessions[at], site.image)[0] == '/' &&
                !hp_cold_add_known(view, run->sessions[at], &site))
                return false;
    hp_sort(view->known, view->known_count, hp_cold_compare_known);
    return true;
}

/* ---------------------------------------------------------------------------------------------------- files */

static const struct hp_function *hp_cold_function_at(const struct hp_functions *functions, uint64_t address)
{
    size_t low = 0, high = functions->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions->all[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < functions->count && functions->all[low].address == address ? &functions->all[low] : NULL;
}

/* Whether the file is the one that ran: every function that is known lies where it lay. */
static bool hp_cold_is_the_same(struct hp_cold_view *view, struct hp_cold_known **known, size_t count, const struct hp_functions *functions)
{
    size_t unrecognised = 0;
    for (size_t at = 0; at < count; at++) {
        const struct hp_function *function = hp_cold_function_at(functions, known[at]->address);
        if (function == NULL || strcmp(function->name, known[at]->name) != 0 ||
            strcmp(function->source, known[at]->source) != 0)
            return false;
        unrecognised += !function->is_instrumented;
    }
    view->unrecognised += unrecognised;
    return true;
}

/* The list that chose sites when a session was recorded, NULL where there was none. False: no memory. */
static bool hp_cold_read_choice(struct hp_cold_view *view, uint32_t session, uint32_t offset, bool is_skip,
                        struct hp_pattern_list **ret_list)
{
    const char *text = hp_snapshot_text(view->results->run.sessions[session], offset);
    *ret_list = NULL;
    if (text[0] == '\0')
        return true;
    *ret_list = hp_arena_take(view->results->arena, sizeof **ret_list);
    return *ret_list != NULL && (hp_pattern_list_compile(*ret_list, text, is_skip, NULL) || true);
}

static bool hp_cold_read_choices(struct hp_cold_view *view)
{
    const struct hp_run *run = &view->results->run;
    view->choices = hp_arena_take_array(view->results->arena, run->count, sizeof *view->choices);
    if (view->choices == NULL)
        return false;
    for (uint32_t at = 0; at < run->count; at++)
        if (!hp_cold_read_choice(view, at, run->sessions[at]->header.filter, false, &view->choices[at].filter) ||
            !hp_cold_read_choice(view, at, run->sessions[at]->header.skip, true, &view->choices[at].skip))
            return false;
    return true;
}

/* Only what every session would have recorded could have been seen. */
static bool hp_cold_could_be_recorded(const struct hp_cold_view *view, const struct hp_pattern_subject *subject)
{
    for (size_t at = 0; at < view->results->run.count; at++) {
        const struct hp_cold_choice *choice = &view->choices[at];
        if ((choice->filter != NULL && !hp_pattern_list_chooses(choice->filter, subject)) ||
            (choice->skip != NULL && !hp_pattern_list_chooses(choice->skip, subject)))
            return false;
    }
    return true;
}

static bool hp_cold_make_room(struct hp_cold_view *view)
{
    if (view->row_count < view->row_room)
        return true;
    const size_t room = view->row_room > 0 ? 4 * view->row_room : 256;
    struct hp_cold_cold **rows = hp_arena_take_array(view->results->arena, room, sizeof(void *));
    if (rows == NULL)
        return false;
    if (view->row_count > 0)
        memcpy(rows, view->rows, view->row_count * sizeof(void *));
    view->rows = rows;
    view->row_room = room;
    return true;
}

static bool hp_cold_add_cold(struct hp_cold_view *view, const struct hp_functions *functions, const char *image)
{
    for (size_t at = 0; at < functions->count; at++) {
        const struct hp_function *function = &functions->all[at];
        char qualified[256];
        if (!function->is_instrumented || hp_cold_was_called(view, function))
            continue;
        hp_cxx_qualified_name(function->name, qualified, sizeof qualified);
        const struct hp_pattern_subject subject = {.names = {function->name, qualified},
                                                   .files = {function->source, image}};
        if (!hp_results_show_subject(view->results, &subject) || !hp_cold_could_be_recorded(view, &subject))
            continue;
        struct hp_cold_cold *cold = hp_arena_take(view->results->arena, sizeof *cold);
        if (cold == NULL || !hp_cold_make_room(view))
            return false;
        *cold = (struct hp_cold_cold){function, image};
        view->rows[view->row_count++] = cold;
    }
    return true;
}

static bool hp_cold_add_image(struct hp_cold_view *view, struct hp_cold_known **known, size_t count)
{
    const char *image = known[0]->image;
    struct hp_functions functions = {0};
    char problem[160] = ": its functions are not listed, since it ";
    const char *reason = hotpath_cold_reader_(view->results->arena, image, &functions);
    if (reason == NULL && !hp_cold_is_the_same(view, known, count, &functions))
        reason = "was built anew after this run: what was called is not where it was";
    if (reason == NULL) {
        view->images++;
        return hp_cold_add_cold(view, &functions, image);
    }
    strncat(problem, reason, sizeof problem - strlen(problem) - 1);
    hp_results_warn(view->results, "cold:", image, strlen(image), problem);
    return true;
}

static bool hp_cold_add_images(struct hp_cold_view *view)
{
    size_t images = 0;
    for (size_t from = 0, to; from < view->known_count && images < HP_COLD_MOST_IMAGES; from = to, images++) {
        to = from + 1;
        while (to < view->known_count && hp_cold_by_text(view->known[from]->image, view->known[to]->image) == 0)
            to++;
        if (!hp_cold_add_image(view, view->known + from, to - from))
            return false;
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------------- rows */

static struct hp_cold_columns hp_cold_describe(struct hotpath_section *section)
{
    struct hp_cold_columns columns;
    columns.name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                         HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.size = hp_section_add_column(section, "size_bytes", "Size", HOTPATH_UNIT_BYTES, HP_COLUMN_KEEP, true);
    columns.image = hp_section_add_column(section, "image", "Image", HOTPATH_UNIT_TEXT, HP_COLUMN_LATE, true);
    columns.source = hp_section_add_column(section, "source", "Source", HOTPATH_UNIT_TEXT, 0, true);
    columns.path = hp_section_add_column(section, "path", "Path", HOTPATH_UNIT_TEXT, 0, false);
    return columns;
}

static int hp_cold_compare_sizes(const void *a, const void *b)
{
    const struct hp_cold_cold *x = a, *y = b;
    if (x->function->size != y->function->size)
        return x->function->size > y->function->size ? -1 : 1;
    const int order = strcmp(x->function->name, y->function->name);
    if (order != 0)
        return order;
    const int image = hp_cold_by_text(x->image, y->image);
    return image != 0                                     ? image
           : x->function->address == y->function->address ? 0
           : x->function->address < y->function->address  ? -1
                                                          : 1;
}

/* As names of other functions are shown; that of the linker where there is no memory or no way. */
static const char *hp_cold_readable_name(const struct hp_cold_view *view, const char *linked)
{
    char signature[1024], name[1024];
    hp_read_name *read_name = view->results->run.read_name;
    if (read_name == NULL || !hp_cxx_is_mangled(linked) || !read_name(linked, signature, sizeof signature))
        return linked;
    hp_cxx_short_name(signature, name, sizeof name);
    const char *copy = hp_arena_copy(view->results->arena, name, strlen(name));
    return copy != NULL ? copy : linked;
}

static void hp_cold_fill_row(const struct hp_cold_view *view, struct hp_row *row, const struct hp_cold_cold *cold)
{
    const char *slash = strrchr(cold->image, '/');
    hp_section_set_text(row, view->columns.name, hp_cold_readable_name(view, cold->function->name));
    hp_section_set_count(row, view->columns.size, cold->function->size);
    hp_section_set_text(row, view->columns.image, slash != NULL ? slash + 1 : cold->image);
    hp_section_set_text(row, view->columns.path, cold->image);
    if (cold->function->source[0] != '\0')
        hp_section_set_text(row, view->columns.source, cold->function->source);
}

static bool hp_cold_has_filter(const struct hp_run *run)
{
    size_t at = 0;
    while (at < run->count && hp_snapshot_text(run->sessions[at], run->sessions[at]->header.filter)[0] == '\0')
        at++;
    return at < run->count;
}

static void hp_cold_add_notes(const struct hp_cold_view *view)
{
    static const enum hp_loss losses[] = {HP_LOSS_ZONES, HP_LOSS_NODES, HP_LOSS_SITES, HP_LOSS_DEPTH,
                                          HP_LOSS_CHILDREN};
    const struct hotpath_results *results = view->results;
    uint64_t lost = 0;
    for (size_t at = 0; at < sizeof losses / sizeof losses[0]; at++)
        lost |= results->trust.lost[losses[at]];
    if (lost != 0)
        hp_section_note(view->section,
                        "not everything could be recorded (see the last line): some of these may have "
                        "been called");
    if (hp_cold_has_filter(&results->run))
        hp_section_note(view->section,
                        "of functions that HOTPATH_FILTER kept from being recorded nothing is known");
    if (view->unrecognised > 0)
        hp_section_note(view->section, "some functions that were called cannot be told from others in their file: "
                                       "there may be more than these");
}

static const char *hp_cold_if_empty(const struct hp_cold_view *view)
{
    if (view->known_count == 0)
        return "no function was measured by the compiler: compile with -finstrument-functions and run with "
               "HOTPATH=1";
    return view->images == 0 ? "no program or library could be looked into"
                             : "every function that the compiler measures, and that matches the focus, was called";
}

static bool hp_cold_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_cold_view view = {.results = results, .section = section, .columns = hp_cold_describe(section)};
    section->description = "Functions that the compiler measures and nobody called.";
    hp_section_show_columns(results, section);
    if (!hp_order_choose(results, section, view.columns.size, HP_MAX_COLUMNS) || !hp_cold_read_choices(&view) ||
        !hp_cold_gather_known(&view) || !hp_cold_gather_called(&view) || !hp_cold_add_images(&view))
        return false;
    hp_sort(view.rows, view.row_count, hp_cold_compare_sizes);
    section->total_rows = view.row_count;
    section->if_empty = hp_cold_if_empty(&view);
    if (!hp_section_make_rows(results, section, view.row_count))
        return false;
    for (size_t at = 0; at < view.row_count; at++)
        hp_cold_fill_row(&view, &section->rows[at], view.rows[at]);
    hp_cold_add_notes(&view);
    return hp_order_apply(results, section, results->settings->functions_limit);
}

static bool hp_cold_is_available(void) { return hotpath_cold_reader_ != NULL; }

const struct hp_section_type hotpath_section_cold_ = {
    .name = "cold",
    .is_on_request = true,
    .is_available = hp_cold_is_available,
    .elsewhere = " is not part of the reports that a process writes itself: 'hotpath report --cold' shows it",
    .fill = hp_cold_fill,
};

/* ---- src/sections/cpu_profile.h ------------------------------------------------------------------------------ */

/*
 * Whose processor time a run used: by site, outside of all, and in all. The section about it is a view of this.
 *
 * Sums are those of the threads' and the processes' clocks; samples say how they are shared out.
 */

struct hp_cpu_sums {
    uint64_t samples;
    uint64_t user_ns;
    uint64_t kernel_ns;
};

static inline uint64_t hp_cpu_ns(const struct hp_cpu_sums *sums) { return sums->user_ns + sums->kernel_ns; }

/* A site of the profile. */
struct hp_site_cpu {
    struct hp_cpu_sums own; /* found in the function itself */
    struct hp_cpu_sums all; /* or in a measured one inside it */
};

struct hp_cpu {
    struct hp_site_cpu *sites;  /* as many as the profile has, in the same order */
    struct hp_cpu_sums outside; /* of all measured functions, and of threads that were not sampled */
    struct hp_cpu_sums total;
    uint64_t sampled_ns;   /* of threads that were sampled: what the samples are about */
    uint64_t perf_samples; /* of all samples */
    uint32_t rate;         /* samples for a second, as asked for; 0: processes differ */
    uint32_t refusal;      /* errno with which a process was refused perf, or 0 */
    bool has_perf;         /* of the engines: user time was sampled by perf ... */
    bool has_timers;       /* ... or by timers alone, in some process */
};

/* NULL: no memory. */
HP_PRIVATE const struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile);

/* Samples for a second of the processor time that was sampled. */
HP_PRIVATE double hp_cpu_achieved_rate(const struct hp_cpu *cpu);

/* "perf and timers" */
HP_PRIVATE const char *hp_cpu_engine_name(const struct hp_cpu *cpu);

/* What would let perf be used that was refused with this errno; NULL: it was not. */
HP_PRIVATE const char *hp_cpu_advice(uint32_t refusal);

/* Whether a session of the run was sampled. */
HP_PRIVATE bool hp_run_has_cpu(const struct hp_run *run);

/* What a section says that has none. */
#define HP_NO_CPU "processor time was not sampled: set HOTPATH_CPU=1, or start the program with 'hotpath run'"

/* ---- src/sections/cpu_profile.c ------------------------------------------------------------------------------ */

/*
 * Whose processor time a run used. Samples are credited to nodes of threads' call trees; a node leads to the stat of its
 * site in that thread record, and that to the site of the profile, whether that keeps threads apart or not.
 *
 * With all that is inside: a node's time counts for the sites of all nodes above it, once for each; and where recursion was folded,
 * for those that the recorder found on the stack beside the tree.
 */

#define HP_CPU_PROFILE_SECOND 1e9

/* A stat of a site. */
struct hp_cpu_profile_link {
    const struct hp_snapshot *session;
    uint32_t offset;
    uint32_t site; /* index in the profile */
};

struct hp_cpu_profile_builder {
    const struct hp_profile *profile;
    struct hp_cpu *cpu;
    struct hp_cpu_profile_link **links; /* by session and offset */
    size_t link_count;
    uint64_t *last_entry; /* of each site: the last entry that was counted for it */
    uint64_t entry;
};

bool hp_run_has_cpu(const struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++)
        if (run->sessions[at]->header.features & HP_FEATURE_CPU)
            return true;
    return false;
}

double hp_cpu_achieved_rate(const struct hp_cpu *cpu)
{
    return cpu->sampled_ns > 0 ? (double)cpu->total.samples * HP_CPU_PROFILE_SECOND / (double)cpu->sampled_ns : 0;
}

const char *hp_cpu_engine_name(const struct hp_cpu *cpu)
{
    return !cpu->has_perf ? "timers" : cpu->has_timers ? "perf and timers, or timers alone" : "perf and timers";
}

const char *hp_cpu_advice(uint32_t refusal)
{
    switch (refusal) {
    case 0:
        return NULL;
    case EACCES:
        return "sysctl kernel.perf_event_paranoid=2";
    case EPERM:
        return "docker run --cap-add PERFMON, or allow perf_event_open otherwise";
    case EMFILE:
    case ENFILE:
        return "ulimit -n 1024";
    default:
        return "a kernel that has perf events";
    }
}

/* --------------------------------------------------------------------------------------- from stats to sites */

static int hp_cpu_profile_compare_links(const void *a, const void *b)
{
    const struct hp_cpu_profile_link *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static size_t hp_cpu_profile_count_links(const struct hp_profile *profile)
{
    size_t count = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        for (const struct hp_stat_link *stat = profile->sites[at]->stats; stat != NULL; stat = stat->next)
            count++;
    return count;
}

static bool hp_cpu_profile_link_stats(struct hp_cpu_profile_builder *builder, struct hp_arena *arena)
{
    const struct hp_profile *profile = builder->profile;
    const size_t count = hp_cpu_profile_count_links(profile);
    struct hp_cpu_profile_link *links = hp_arena_take_array(arena, count + 1, sizeof *links);
    builder->links = hp_arena_take_array(arena, count + 1, sizeof(void *));
    if (links == NULL || builder->links == NULL)
        return false;
    for (uint32_t at = 0; at < profile->site_count; at++)
        for (const struct hp_stat_link *stat = profile->sites[at]->stats;
             stat != NULL && builder->link_count < count; stat = stat->next) {
            links[builder->link_count] =
                (struct hp_cpu_profile_link){.session = stat->session, .offset = stat->offset, .site = at};
            builder->links[builder->link_count] = &links[builder->link_count];
            builder->link_count++;
        }
    hp_sort(builder->links, builder->link_count, hp_cpu_profile_compare_links);
    return true;
}

/* The site of a node; NULL: that of none, such as the root of a tree. */
static const struct hp_cpu_profile_link *hp_cpu_profile_find_link(const struct hp_cpu_profile_builder *builder, const struct hp_snapshot *session, uint32_t stat)
{
    const struct hp_cpu_profile_link wanted = {.session = session, .offset = stat};
    size_t from = 0, to = builder->link_count;
    while (stat != 0 && from < to) {
        const size_t middle = from + (to - from) / 2;
        const int order = hp_cpu_profile_compare_links(builder->links[middle], &wanted);
        if (order == 0)
            return builder->links[middle];
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* ----------------------------------------------------------------------------------------------- adding up */

static void hp_cpu_profile_add(struct hp_cpu_sums *to, const struct hp_cpu_sums *from)
{
    to->samples += from->samples;
    to->user_ns += from->user_ns;
    to->kernel_ns += from->kernel_ns;
}

static void hp_cpu_profile_add_to_all(const struct hp_cpu_profile_builder *builder, const struct hp_cpu_profile_link *link, const struct hp_cpu_sums *sums)
{
    if (link == NULL || builder->last_entry[link->site] == builder->entry)
        return;
    builder->last_entry[link->site] = builder->entry;
    hp_cpu_profile_add(&builder->cpu->sites[link->site].all, sums);
}

/* A broken file may have nodes in a circle: no way up is longer than this. */
#define HP_CPU_PROFILE_MAX_HEIGHT 100000u

static void hp_cpu_profile_add_entry(struct hp_cpu_profile_builder *builder, const struct hp_snapshot *session, uint32_t offset,
                      const struct hp_cpu_sums *sums)
{
    struct hp_node node;
    if (!hp_snapshot_node(session, offset, &node))
        return;
    const struct hp_cpu_profile_link *link = hp_cpu_profile_find_link(builder, session, node.stat);
    builder->entry++;
    if (link != NULL)
        hp_cpu_profile_add(&builder->cpu->sites[link->site].own, sums);
    hp_cpu_profile_add_to_all(builder, link, sums);
    for (uint32_t height = 0; height < HP_CPU_PROFILE_MAX_HEIGHT && hp_snapshot_node(session, node.parent, &node); height++)
        hp_cpu_profile_add_to_all(builder, hp_cpu_profile_find_link(builder, session, node.stat), sums);
}

/* Found on the stack beside the tree: in all of user mode, which is where perf looks. */
static void hp_cpu_profile_add_beside(struct hp_cpu_profile_builder *builder, const struct hp_snapshot *session, const struct hp_cpu_node *entry)
{
    struct hp_node node;
    const struct hp_cpu_sums sums = {.samples = entry->also_samples, .user_ns = entry->also_ns};
    if (entry->also_samples == 0 || !hp_snapshot_node(session, entry->node, &node))
        return;
    builder->entry++;
    hp_cpu_profile_add_to_all(builder, hp_cpu_profile_find_link(builder, session, node.stat), &sums);
}

static void hp_cpu_profile_add_thread(struct hp_cpu_profile_builder *builder, const struct hp_snapshot *session, const struct hp_thread *thread,
                       struct hp_walk *nodes)
{
    struct hp_cpu_thread cpu;
    struct hp_cpu_node entry;
    if (!hp_snapshot_cpu_thread(session, thread, &cpu))
        return;
    builder->cpu->perf_samples += cpu.perf_samples;
    builder->cpu->sampled_ns += cpu.user_ns + cpu.kernel_ns;
    hp_walk_rewind(nodes);
    while (hp_snapshot_next_cpu(session, &cpu, nodes, &entry)) {
        builder->cpu->total.samples += entry.samples;
        hp_cpu_profile_add_entry(builder, session, entry.node,
                  &(struct hp_cpu_sums){entry.samples, entry.user_ns, entry.kernel_ns});
        hp_cpu_profile_add_beside(builder, session, &entry);
    }
    hp_cpu_profile_add_entry(builder, session, cpu.last_node,
              &(struct hp_cpu_sums){0, cpu.waiting_user_ns, cpu.waiting_kernel_ns});
}

static uint64_t hp_cpu_profile_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* What the process's own clock says, unless that was last looked at before its threads' were. */
static void hp_cpu_profile_add_process(struct hp_cpu *cpu, const struct hp_header *header, uint64_t sampled_ns)
{
    const uint64_t kernel = hp_cpu_profile_less(header->cpu_latest_kernel_ns, header->cpu_start_kernel_ns);
    const uint64_t all = hp_cpu_profile_less(header->cpu_latest_ns, header->cpu_start_ns);
    cpu->total.kernel_ns += kernel;
    cpu->total.user_ns += hp_cpu_profile_less(all > sampled_ns ? all : sampled_ns, kernel);
    if (header->cpu_refusal != 0)
        cpu->refusal = header->cpu_refusal;
    cpu->has_perf |= header->cpu_engine == HP_CPU_PERF;
    cpu->has_timers |= header->cpu_engine == HP_CPU_TIMERS;
    if (header->cpu_engine != HP_CPU_NONE)
        cpu->rate = cpu->rate == 0 || cpu->rate == header->cpu_rate ? header->cpu_rate : 0;
}

static void hp_cpu_profile_add_session(struct hp_cpu_profile_builder *builder, const struct hp_snapshot *session)
{
    struct hp_walk threads = {0}, nodes = {0};
    struct hp_thread thread;
    const uint64_t before = builder->cpu->sampled_ns;
    while (hp_snapshot_next_thread(session, &threads, &thread))
        hp_cpu_profile_add_thread(builder, session, &thread, &nodes);
    hp_cpu_profile_add_process(builder->cpu, &session->header, builder->cpu->sampled_ns - before);
}

/* What no site has is outside. The kernel's share is estimated twice, of threads and of the process: neither is below zero. */
static void hp_cpu_profile_settle_outside(struct hp_cpu *cpu, size_t site_count)
{
    struct hp_cpu_sums inside = {0, 0, 0};
    for (size_t at = 0; at < site_count; at++)
        hp_cpu_profile_add(&inside, &cpu->sites[at].own);
    const uint64_t all = hp_cpu_profile_less(hp_cpu_ns(&cpu->total), hp_cpu_ns(&inside));
    const uint64_t kernel = hp_cpu_profile_less(cpu->total.kernel_ns, inside.kernel_ns);
    cpu->outside.samples = hp_cpu_profile_less(cpu->total.samples, inside.samples);
    cpu->outside.kernel_ns = kernel < all ? kernel : all;
    cpu->outside.user_ns = all - cpu->outside.kernel_ns;
}

const struct hp_cpu *hp_cpu_of_profile(struct hp_arena *arena, const struct hp_profile *profile)
{
    struct hp_cpu_profile_builder builder = {.profile = profile, .cpu = hp_arena_take(arena, sizeof *builder.cpu)};
    builder.last_entry = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder.last_entry);
    if (builder.cpu == NULL || builder.last_entry == NULL || !hp_cpu_profile_link_stats(&builder, arena))
        return NULL;
    builder.cpu->sites = hp_arena_take_array(arena, profile->site_count + 1, sizeof *builder.cpu->sites);
    if (builder.cpu->sites == NULL)
        return NULL;
    for (size_t at = 0; at < profile->run->count; at++)
        hp_cpu_profile_add_session(&builder, profile->run->sessions[at]);
    hp_cpu_profile_settle_outside(builder.cpu, profile->site_count);
    return builder.cpu;
}

/* ---- src/sections/cpu_table.h -------------------------------------------------------------------------------- */

/* The section `cpu`. */

HP_SHARED const struct hp_section_type hotpath_section_cpu_;

/* ---- src/sections/cpu_table.c -------------------------------------------------------------------------------- */

/*
 * The section `cpu`: one row per site, or per site and thread, and the processor time it used.
 *
 * Every site that was called has a row, those that only slept with nothing. What was used outside of all has a row of its own,
 * so that exclusive times add up to that of the run.
 */

#define HP_CPU_TABLE_OUTSIDE "<outside>"
#define HP_CPU_TABLE_LINE_BYTES 240u

struct hp_cpu_table_columns {
    size_t name, thread, samples, time, user, kernel, percent, own, all, location, open;
};

/* What becomes a row. */
struct hp_cpu_table_entry {
    const struct hp_site_sums *site; /* NULL: what is outside of all */
    const struct hp_site_cpu *cpu;
    const struct hp_cpu_sums *shown; /* its own, or with all inside */
};

struct hp_cpu_table_view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_profile *profile; /* whose sites are the rows: that of the results, or one by thread */
    const struct hp_cpu *cpu;
    struct hp_site_cpu outside;
    uint64_t whole;
    struct hp_cpu_table_columns columns;
    struct hp_cpu_table_entry **entries;
    size_t count;
};

static void hp_cpu_table_describe(struct hp_cpu_table_view *view)
{
    struct hotpath_section *section = view->section;
    struct hp_cpu_table_columns *columns = &view->columns;
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    if (view->results->settings->by == HP_BY_THREAD)
        columns->thread = hp_section_add_column(section, "thread", "Thread", HOTPATH_UNIT_TEXT,
                                                HP_COLUMN_KEEP | HP_COLUMN_THREAD, true);
    columns->samples = hp_section_add_column(section, "samples", "Samples", HOTPATH_UNIT_COUNT, 0, true);
    columns->time = hp_section_add_column(section, "cpu_ns", "CPU Time", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    columns->user = hp_section_add_column(section, "user_ns", "User", HOTPATH_UNIT_NS, 0, true);
    columns->kernel = hp_section_add_column(section, "kernel_ns", "Kernel", HOTPATH_UNIT_NS, 0, true);
    columns->percent =
        hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    columns->own = hp_section_add_column(section, "own_cpu_ns", "Own CPU", HOTPATH_UNIT_NS, 0, false);
    columns->all = hp_section_add_column(section, "all_cpu_ns", "All CPU", HOTPATH_UNIT_NS, 0, false);
    columns->location =
        hp_section_add_column(section, "location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION, false);
    columns->open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
    hp_section_show_columns(view->results, section);
}

/* ------------------------------------------------------------------------------------------- entries */

static const char *hp_cpu_table_name_of(const struct hp_cpu_table_entry *entry) { return entry->site != NULL ? entry->site->name : HP_CPU_TABLE_OUTSIDE; }

static uint32_t hp_cpu_table_thread_of(const struct hp_cpu_table_entry *entry)
{
    return entry->site != NULL ? hp_thread_number(entry->site) : 0;
}

static int hp_cpu_table_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

static int hp_cpu_table_compare_entries(const void *a, const void *b)
{
    const struct hp_cpu_table_entry *x = a, *y = b;
    int order = hp_cpu_table_by_number(hp_cpu_ns(y->shown), hp_cpu_ns(x->shown));
    if (order == 0)
        order = strcmp(hp_cpu_table_name_of(x), hp_cpu_table_name_of(y));
    return order != 0 ? order : hp_cpu_table_by_number(hp_cpu_table_thread_of(x), hp_cpu_table_thread_of(y));
}

static bool hp_cpu_table_is_shown(const struct hp_cpu_table_view *view, const struct hp_cpu_table_entry *entry)
{
    const struct hp_pattern_subject outside = {.names = {HP_CPU_TABLE_OUTSIDE}};
    return entry->site != NULL ? hp_results_show(view->results, entry->site)
                               : hp_results_show_subject(view->results, &outside);
}

static bool hp_cpu_table_is_left_out(const struct hp_cpu_table_view *view, const struct hp_site_sums *site)
{
    return view->results->settings->exclude_wrapper && site->is_main;
}

/* Of which the rows have their shares: all that was used, or what all rows have without main functions. */
static void hp_cpu_table_set_whole(struct hp_cpu_table_view *view)
{
    view->section->percent_of = "cpu";
    view->whole = hp_cpu_ns(&view->cpu->total);
    if (!view->results->settings->exclude_wrapper)
        return;
    view->section->percent_of = "rows";
    view->whole = 0;
    for (size_t at = 0; at < view->count; at++)
        view->whole += hp_cpu_ns(view->entries[at]->shown);
}

static void hp_cpu_table_add_entry(struct hp_cpu_table_view *view, const struct hp_site_sums *site, const struct hp_site_cpu *cpu)
{
    const bool is_inclusive = view->results->settings->cpu_inclusive;
    *view->entries[view->count++] = (struct hp_cpu_table_entry){site, cpu, is_inclusive ? &cpu->all : &cpu->own};
}

/* False: no memory. */
static bool hp_cpu_table_gather(struct hp_cpu_table_view *view)
{
    const size_t most = view->profile->site_count + 1;
    struct hp_cpu_table_entry *entries = hp_arena_take_array(view->results->arena, most, sizeof *entries);
    view->entries = hp_arena_take_array(view->results->arena, most, sizeof(void *));
    if (entries == NULL || view->entries == NULL)
        return false;
    for (size_t at = 0; at < most; at++)
        view->entries[at] = &entries[at];
    for (size_t at = 0; at < view->profile->site_count; at++)
        if (!hp_cpu_table_is_left_out(view, view->profile->sites[at]))
            hp_cpu_table_add_entry(view, view->profile->sites[at], &view->cpu->sites[at]);
    view->outside = (struct hp_site_cpu){view->cpu->outside, view->cpu->outside};
    if (hp_cpu_ns(&view->cpu->outside) > 0)
        hp_cpu_table_add_entry(view, NULL, &view->outside);
    hp_cpu_table_set_whole(view);
    return true;
}

/* Leaves what is to be shown, in order. */
static void hp_cpu_table_choose(struct hp_cpu_table_view *view)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0;
    view->section->total_rows = 0;
    for (size_t at = 0; at < view->count; at++) {
        struct hp_cpu_table_entry *entry = view->entries[at];
        const bool is_wanted = hp_cpu_table_is_shown(view, entry);
        view->section->total_rows += is_wanted;
        if (is_wanted && !hp_profile_is_small(hp_cpu_ns(entry->shown), view->whole, settings))
            view->entries[kept++] = entry;
    }
    view->count = kept;
    hp_sort(view->entries, view->count, hp_cpu_table_compare_entries);
}

/* ---------------------------------------------------------------------------------------------- rows */

static bool hp_cpu_table_fill_row(struct hp_cpu_table_view *view, struct hp_row *row, const struct hp_cpu_table_entry *entry)
{
    const struct hp_cpu_table_columns *columns = &view->columns;
    const struct hp_cpu_sums *shown = entry->shown;
    hp_section_set_text(row, columns->name, hp_cpu_table_name_of(entry));
    hp_section_set_count(row, columns->samples, shown->samples);
    hp_section_set_number(row, columns->time, (double)hp_cpu_ns(shown));
    hp_section_set_number(row, columns->user, (double)shown->user_ns);
    hp_section_set_number(row, columns->kernel, (double)shown->kernel_ns);
    hp_section_set_number(row, columns->own, (double)hp_cpu_ns(&entry->cpu->own));
    hp_section_set_number(row, columns->all, (double)hp_cpu_ns(&entry->cpu->all));
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)hp_cpu_ns(shown) / (double)view->whole);
    if (entry->site == NULL)
        return true;
    row->is_main = entry->site->is_main;
    row->is_open = entry->site->sums.open > 0;
    hp_section_set_count(row, columns->open, entry->site->sums.open);
    if (entry->site->thread != NULL &&
        !hp_section_set_thread(view->results, row, columns->thread, entry->site->thread))
        return false;
    return hp_section_set_location(view->results, row, columns->location, &entry->site->location);
}

static bool hp_cpu_table_fill_rows(struct hp_cpu_table_view *view)
{
    const uint32_t limit = view->results->settings->functions_limit;
    size_t count = view->count;
    if (view->section->order.is_usual && limit != 0 && limit < count)
        count = limit;
    if (!hp_section_make_rows(view->results, view->section, count))
        return false;
    for (size_t at = 0; at < count; at++)
        if (!hp_cpu_table_fill_row(view, &view->section->rows[at], view->entries[at]))
            return false;
    return hp_order_apply(view->results, view->section, limit);
}

/* ------------------------------------------------------------------------------------ above and below */

/* "Total: 2.00 s, 1.93 s in user and 66.00 ms in kernel mode; 1991 samples by perf and timers" */
static bool hp_cpu_table_set_summary(struct hp_cpu_table_view *view)
{
    char bytes[HP_CPU_TABLE_LINE_BYTES];
    struct hp_text line;
    const struct hp_cpu_sums *total = &view->cpu->total;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "Total: ");
    hp_units_ns(&line, (double)hp_cpu_ns(total));
    hp_text_string(&line, ", ");
    hp_units_ns(&line, (double)total->user_ns);
    hp_text_string(&line, " in user and ");
    hp_units_ns(&line, (double)total->kernel_ns);
    hp_text_string(&line, " in kernel mode; ");
    hp_text_u64(&line, total->samples);
    hp_text_string(&line, total->samples == 1 ? " sample by " : " samples by ");
    hp_text_string(&line, hp_cpu_engine_name(view->cpu));
    view->section->summary = hp_arena_copy(view->results->arena, bytes, line.length);
    return view->section->summary != NULL;
}

static void hp_cpu_table_add_totals(struct hp_cpu_table_view *view)
{
    const struct hp_cpu_sums *total = &view->cpu->total;
    hp_section_add_total(view->section, "samples", HOTPATH_UNIT_COUNT, total->samples);
    hp_section_add_total(view->section, "perf_samples", HOTPATH_UNIT_COUNT, view->cpu->perf_samples);
    hp_section_add_total(view->section, "cpu_ns", HOTPATH_UNIT_COUNT, hp_cpu_ns(total));
    hp_section_add_total(view->section, "user_ns", HOTPATH_UNIT_COUNT, total->user_ns);
    hp_section_add_total(view->section, "kernel_ns", HOTPATH_UNIT_COUNT, total->kernel_ns);
    hp_section_add_total(view->section, "sampled_ns", HOTPATH_UNIT_COUNT, view->cpu->sampled_ns);
}

static void hp_cpu_table_add_notes(struct hp_cpu_table_view *view)
{
    struct hotpath_section *section = view->section;
    bool has_open = false, has_outside = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_outside |= !section->rows[at].cells[view->columns.open].has_value;
    }
    if (has_open)
        hp_section_note(section, hp_profile_open_note(view->results->profile));
    if (has_outside)
        hp_section_note(section, HP_CPU_TABLE_OUTSIDE " was used outside of all measured functions");
    if (strcmp(section->percent_of, "rows") == 0)
        hp_section_note(section, "% Total is of the sum of all rows, without the main function");
}

/* ------------------------------------------------------------------------------------------- section */

static bool hp_cpu_table_has_data(const struct hotpath_results *results) { return hp_run_has_cpu(&results->run); }

static const char *hp_cpu_table_description_of(const struct hp_settings *settings)
{
    if (settings->by == HP_BY_THREAD)
        return settings->cpu_inclusive ? "Processor time of each function and those it calls, thread by thread."
                                       : "Exclusive processor time by each function, thread by thread.";
    return settings->cpu_inclusive ? "Processor time of each function and those it calls."
                                   : "Exclusive processor time by each function.";
}

/* The profile of the results has its own; one by thread has it made anew. */
static const struct hp_cpu *hp_cpu_table_cpu_of(struct hotpath_results *results, const struct hp_profile *profile)
{
    return profile == results->profile ? hp_results_cpu(results) : hp_cpu_of_profile(results->arena, profile);
}

static struct hp_cpu_table_view *hp_cpu_table_make_view(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_cpu_table_view *view = hp_arena_take(results->arena, sizeof *view);
    const struct hp_profile *profile = hp_results_profile_of_rows(results);
    if (view == NULL || profile == NULL)
        return NULL;
    *view =
        (struct hp_cpu_table_view){.results = results, .section = section, .profile = profile, .cpu = hp_cpu_table_cpu_of(results, profile)};
    return view->cpu != NULL ? view : NULL;
}

static bool hp_cpu_table_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_cpu_table_view *view = hp_cpu_table_make_view(results, section);
    if (view == NULL)
        return false;
    section->description = hp_cpu_table_description_of(results->settings);
    hp_cpu_table_describe(view);
    if (!hp_order_choose(results, section, view->columns.time, view->columns.percent) || !hp_cpu_table_gather(view))
        return false;
    if (!hp_cpu_table_has_data(results)) {
        section->if_empty = HP_NO_CPU;
        return hp_section_make_rows(results, section, 0);
    }
    section->main = results->profile->main != NULL ? results->profile->main->name : NULL;
    hp_cpu_table_choose(view);
    section->if_empty = section->total_rows > 0 ? "every function has a smaller share than HOTPATH_MIN_PERCENT"
                        : view->profile->site_count > 0 ? "no function matches the focus"
                                                        : "no processor time was used while the session was active";
    hp_cpu_table_add_totals(view);
    if (!hp_cpu_table_set_summary(view) || !hp_cpu_table_fill_rows(view))
        return false;
    hp_cpu_table_add_notes(view);
    return true;
}

const struct hp_section_type hotpath_section_cpu_ = {
    .name = "cpu", .is_left_out_empty = true, .has_data = hp_cpu_table_has_data, .fill = hp_cpu_table_fill};

/* ---- src/sections/order.c ------------------------------------------------------------------------------------ */

/*
 * In which order the rows of a section stand. Rows that are alike in the column that counts, and those without a value,
 * which come last whatever the direction, stay in the usual order.
 */

/* ---------------------------------------------------------------------------------------------- choosing */

static bool hp_order_add_note(struct hotpath_results *results, struct hotpath_section *section)
{
    char bytes[160];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, section->is_tree ? "siblings" : "rows");
    hp_text_string(&line, " are sorted by ");
    hp_text_string(&line, section->columns[section->order.column].shown.title);
    hp_text_string(&line, section->order.is_ascending ? ", ascending" : ", descending");
    const char *copy = hp_arena_copy(results->arena, bytes, line.length);
    if (copy != NULL)
        hp_section_note(section, copy);
    return copy != NULL;
}

bool hp_order_choose(struct hotpath_results *results, struct hotpath_section *section, size_t usual, size_t share)
{
    const char *sort = results->settings->sort;
    const bool is_reversed = sort[0] == '-';
    const char *name = sort + is_reversed;
    const size_t column = hp_section_find_column(section, name, strlen(name));
    section->order = (struct hp_order){.column = usual, .is_set = true, .is_usual = true};
    if (sort[0] == '\0' || column == section->column_count)
        return true;
    section->columns[column].shown.visible = 1;
    section->columns[column].traits |= HP_COLUMN_LATE;
    if (!is_reversed && (column == usual || column == share))
        return true;
    section->order.column = column;
    section->order.is_usual = false;
    section->order.is_ascending = (section->columns[column].shown.unit == HOTPATH_UNIT_TEXT) != is_reversed;
    return hp_order_add_note(results, section);
}

/* ----------------------------------------------------------------------------------------------- sorting */

/* A row and what counts of it. */
struct hp_order_key {
    struct hp_row row;
    const char *text; /* NULL: the number counts */
    double number;
    bool has_value;
    bool is_ascending;
    size_t index; /* in the usual order */
};

static int hp_order_compare_values(const struct hp_order_key *x, const struct hp_order_key *y)
{
    int order = x->number < y->number ? -1 : x->number > y->number;
    if (x->text != NULL && y->text != NULL)
        order = strcmp(x->text, y->text);
    return x->is_ascending ? order : -order;
}

static int hp_order_compare_keys(const void *a, const void *b)
{
    const struct hp_order_key *x = a, *y = b;
    if (x->has_value != y->has_value)
        return x->has_value ? -1 : 1;
    const int order = x->has_value ? hp_order_compare_values(x, y) : 0;
    return order != 0 ? order : x->index < y->index ? -1 : x->index > y->index;
}

static struct hp_order_key hp_order_key_of(const struct hotpath_section *section, size_t index)
{
    const struct hp_row *row = &section->rows[index];
    const struct hp_cell *cell = &row->cells[section->order.column];
    const uint32_t unit = section->columns[section->order.column].shown.unit;
    return (struct hp_order_key){
        .row = *row,
        .text = unit == HOTPATH_UNIT_TEXT ? cell->text : NULL,
        .number = hp_cell_number(cell, unit),
        .has_value = cell->has_value,
        .is_ascending = section->order.is_ascending,
        .index = index,
    };
}

static bool hp_order_sort_rows(struct hotpath_results *results, struct hotpath_section *section)
{
    const size_t count = section->row_count;
    struct hp_order_key *keys = hp_arena_take_array(results->arena, count + 1, sizeof *keys);
    struct hp_order_key **order = hp_arena_take_array(results->arena, count + 1, sizeof(void *));
    if (keys == NULL || order == NULL)
        return false;
    for (size_t at = 0; at < count; at++) {
        keys[at] = hp_order_key_of(section, at);
        order[at] = &keys[at];
    }
    hp_sort(order, count, hp_order_compare_keys);
    for (size_t at = 0; at < count; at++)
        section->rows[at] = order[at]->row;
    return true;
}

static void hp_order_cut_rows(struct hotpath_section *section, uint32_t limit)
{
    size_t kept = 0, others = 0;
    for (size_t at = 0; at < section->row_count; at++)
        if (section->rows[at].is_main || others++ < limit)
            section->rows[kept++] = section->rows[at];
    section->row_count = kept;
}

bool hp_order_apply(struct hotpath_results *results, struct hotpath_section *section, uint32_t limit)
{
    if (!section->order.is_usual && !hp_order_sort_rows(results, section))
        return false;
    if (limit != 0 && limit != HOTPATH_NO_LIMIT)
        hp_order_cut_rows(section, limit);
    return true;
}

/* ---- src/sections/percentile.c ------------------------------------------------------------------------------- */

/* What the column of a percentile is called. */

/* "P99.9": up to three decimals, no zeros at the end. */
static void hp_percentile_put_title(struct hp_text *title, double percentile)
{
    if (percentile <= 0 || percentile >= 100) {
        hp_text_string(title, percentile <= 0 ? "Min" : "Max");
        return;
    }
    hp_text_char(title, 'P');
    hp_text_fixed(title, percentile, 3);
    while (title->bytes[title->length - 1] == '0')
        title->length--;
    if (title->bytes[title->length - 1] == '.')
        title->length--;
}

static char hp_percentile_key_byte(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '.' ? '_' : c); }

bool hp_percentile_name(struct hp_arena *arena, double percentile, const char *after_key, const char *after_title,
                        struct hp_percentile_names *ret_names)
{
    char title_bytes[64], key_bytes[64];
    struct hp_text title, key;
    hp_text_init(&title, title_bytes, sizeof title_bytes);
    hp_text_init(&key, key_bytes, sizeof key_bytes);
    hp_percentile_put_title(&title, percentile);
    for (size_t at = 0; at < title.length; at++)
        hp_text_char(&key, hp_percentile_key_byte(title_bytes[at]));
    hp_text_string(&title, after_title);
    hp_text_string(&key, after_key);
    ret_names->title = hp_arena_copy(arena, title_bytes, title.length);
    ret_names->key = hp_arena_copy(arena, key_bytes, key.length);
    return ret_names->title != NULL && ret_names->key != NULL;
}

/* ---- src/sections/processes.h -------------------------------------------------------------------------------- */

/* The section `processes`: what every process of the run measured. */

HP_SHARED const struct hp_section_type hotpath_section_processes_;

/* ---- src/sections/processes.c -------------------------------------------------------------------------------- */

/*
 * The section `processes`: one row per session, by the time it measured.
 *
 * That is the time of all zones that are not inside other zones, added up over its threads: the same as the self times
 * of all its functions together. A process that waits inside main measures that, too; HOTPATH_EXCLUDE_WRAPPER leaves
 * out what main functions do themselves.
 */

#define HP_PROCESSES_COMMAND_COLUMNS 80u /* of a command in a name; all of it is in a column of its own */

struct hp_processes_process {
    const struct hp_session_sums *sums;
    uint64_t measured; /* ticks */
};

struct hp_processes_columns {
    size_t name, state, started, elapsed, threads, calls, total, percent, pid, parent_pid, command;
};

struct hp_processes_view {
    struct hotpath_results *results;
    struct hp_processes_columns columns;
    uint64_t whole; /* ticks that all of them measured */
};

static struct hp_processes_columns hp_processes_describe(struct hotpath_section *section)
{
    struct hp_processes_columns columns;
    columns.name =
        hp_section_add_column(section, "name", "Process", HOTPATH_UNIT_TEXT, HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns.state = hp_section_add_column(section, "state", "State", HOTPATH_UNIT_TEXT, 0, true);
    columns.started = hp_section_add_column(section, "started_ns", "Started", HOTPATH_UNIT_NS, 0, true);
    columns.elapsed = hp_section_add_column(section, "elapsed_ns", "Elapsed", HOTPATH_UNIT_NS, 0, true);
    columns.threads = hp_section_add_column(section, "threads", "Threads", HOTPATH_UNIT_COUNT, 0, true);
    columns.calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns.total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS, HP_COLUMN_KEEP, true);
    columns.percent =
        hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    columns.pid = hp_section_add_column(section, "pid", "PID", HOTPATH_UNIT_COUNT, 0, false);
    columns.parent_pid = hp_section_add_column(section, "parent_pid", "Parent", HOTPATH_UNIT_COUNT, 0, false);
    columns.command = hp_section_add_column(section, "command", "Command", HOTPATH_UNIT_TEXT, 0, false);
    return columns;
}

/* "1234 ./server --worker" */
static const char *hp_processes_name_process(struct hp_arena *arena, const struct hp_snapshot *snapshot)
{
    char bytes[16 + 4 * HP_PROCESSES_COMMAND_COLUMNS];
    struct hp_text name;
    const char *command = hp_snapshot_text(snapshot, snapshot->header.command);
    hp_text_init(&name, bytes, sizeof bytes);
    hp_text_u64(&name, snapshot->header.pid);
    if (command[0] != '\0') {
        hp_text_char(&name, ' ');
        hp_utf8_put_fitted(&name, command, strlen(command), HP_PROCESSES_COMMAND_COLUMNS);
    }
    return hp_arena_copy(arena, bytes, name.length);
}

static bool hp_processes_fill_row(const struct hp_processes_view *view, struct hp_row *row, const struct hp_processes_process *process)
{
    const struct hp_processes_columns *columns = &view->columns;
    const struct hp_run *run = &view->results->run;
    const struct hp_snapshot *snapshot = process->sums->snapshot;
    const char *name = hp_processes_name_process(view->results->arena, snapshot);
    if (name == NULL)
        return false;
    hp_section_set_text(row, columns->name, name);
    hp_section_set_text(row, columns->state, hp_snapshot_state_name(hp_snapshot_state(snapshot)));
    hp_section_set_number(row, columns->started, (double)hp_run_started_ns(run, snapshot));
    hp_section_set_number(row, columns->elapsed, hp_run_ns(run, hp_snapshot_elapsed(snapshot)));
    hp_section_set_count(row, columns->threads, snapshot->header.threads_seen);
    hp_section_set_count(row, columns->calls, process->sums->calls);
    hp_section_set_number(row, columns->total, hp_run_ns(run, process->measured));
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)process->measured / (double)view->whole);
    hp_section_set_count(row, columns->pid, snapshot->header.pid);
    hp_section_set_count(row, columns->parent_pid, snapshot->header.parent_pid);
    hp_section_set_text(row, columns->command, hp_snapshot_text(snapshot, snapshot->header.command));
    return true;
}

static uint64_t hp_processes_measured_by(const struct hp_session_sums *session, const struct hp_settings *settings)
{
    const struct hp_sums main = {.self = session->in_main};
    const uint64_t apart = settings->exclude_wrapper ? hp_sums_self(&main) : 0;
    return session->total > apart ? session->total - apart : 0;
}

/* Those that measured the same stay in the order they were given in. */
static int hp_processes_compare_processes(const void *a, const void *b)
{
    const struct hp_processes_process *x = a, *y = b;
    if (x->measured != y->measured)
        return x->measured > y->measured ? -1 : 1;
    return x->sums == y->sums ? 0 : x->sums < y->sums ? -1 : 1;
}

/* The processes in order; NULL: no memory. */
static struct hp_processes_process **hp_processes_rank(struct hp_processes_view *view)
{
    const size_t count = view->results->run.count;
    struct hp_processes_process *processes = hp_arena_take_array(view->results->arena, count, sizeof *processes);
    struct hp_processes_process **order = hp_arena_take_array(view->results->arena, count, sizeof(void *));
    if (processes == NULL || order == NULL)
        return NULL;
    for (size_t at = 0; at < count; at++) {
        processes[at].sums = &view->results->profile->sessions[at];
        processes[at].measured = hp_processes_measured_by(processes[at].sums, view->results->settings);
        view->whole += processes[at].measured;
        order[at] = &processes[at];
    }
    hp_sort(order, count, hp_processes_compare_processes);
    return order;
}

static void hp_processes_add_notes(const struct hotpath_results *results, struct hotpath_section *section)
{
    if (results->run.states[HP_SNAPSHOT_ENDED] > 0)
        hp_section_note(section, "ended: killed, or left by _exit; counted up to the last sign");
    if (results->settings->exclude_wrapper)
        hp_section_note(section, "Total is without what the main function does itself");
}

static bool hp_processes_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_processes_view view = {.results = results, .columns = hp_processes_describe(section)};
    hp_section_show_columns(results, section);
    if (!hp_order_choose(results, section, view.columns.total, view.columns.percent))
        return false;
    section->description = "Time in zones, process by process.";
    section->percent_of = "rows";
    section->total_rows = results->run.count;
    struct hp_processes_process **order = hp_processes_rank(&view);
    if (order == NULL || !hp_section_make_rows(results, section, results->run.count))
        return false;
    for (size_t row = 0; row < section->row_count; row++)
        if (!hp_processes_fill_row(&view, &section->rows[row], order[row]))
            return false;
    hp_processes_add_notes(results, section);
    return hp_order_apply(results, section, results->settings->functions_limit);
}

static bool hp_processes_has_data(const struct hotpath_results *results) { return results->run.count > 1; }

const struct hp_section_type hotpath_section_processes_ = {.name = "processes", .has_data = hp_processes_has_data, .fill = hp_processes_fill};

/* ---- src/sections/site_table.h ------------------------------------------------------------------------------- */

/*
 * The sites of all sessions of a run: found by their ids while a session is read, made one where they are the same
 * place in code, and named so that no two rows look alike.
 *
 *     for each session: hp_site_table_read (by thread: and `thread` set for each of them), then hp_site_table_find for every id in it
 *     hp_site_table_unify, from which on site->same counts
 *     hp_site_table_name for those that are to be shown
 */

struct hp_site_table {
    struct hp_arena *arena;
    hp_read_name *read_name;           /* for names of the linker's, or NULL */
    const struct hp_snapshot *session; /* the one that is being read */
    uint32_t session_index;
    const struct hp_thread_label *thread;         /* whose sites are made; NULL: those of all threads */
    struct hp_site_sums **chunks[HP_SITE_CHUNKS]; /* its sites by id; those of earlier sessions are void */
    struct hp_site_sums *other;                   /* the same for HP_SITE_OTHER */
    struct hp_site_sums *all;                     /* those of all sessions, by `next` */
    size_t count;
};

/* Ids are those of the `index`th session from now on. */
HP_PRIVATE void hp_site_table_read(struct hp_site_table *table, const struct hp_snapshot *session, uint32_t index);

/* Whether a node or a stat can have this id. */
HP_PRIVATE bool hp_site_table_has_room_for(uint32_t id);

/* The site with that id, made when it comes up for the first time. NULL: no memory. */
HP_PRIVATE struct hp_site_sums *hp_site_table_find(struct hp_site_table *table, uint32_t id);

/*
 * Makes sites of different sessions one if their name, function, file, line and kind are the same; ids are not, since
 * they are given in the order of first use. Sets `same` of all. False: no memory.
 */
HP_PRIVATE bool hp_site_table_unify(struct hp_site_table *table);

/*
 * Gives each of these sites the shortest name that it alone has; their order is lost. Names of the linker's are made
 * readable before, if there is a way. False: no memory.
 */
HP_PRIVATE bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count);

/* ---- src/sections/profile.c ---------------------------------------------------------------------------------- */

/*
 * A run added up, in five steps:
 *
 *   1. gather   every node of every thread becomes a record; every stat is hung onto its site
 *   2. unify    sites that sessions have in common become one, with the stats of all
 *   3. link     records are sorted by session, thread and offset, so that a parent is found by bisection
 *   4. open     the zones that are open now are added to their records
 *   5. merge    level by level, records of one site below one merged parent become one node of the tree
 *
 * Everything is sorting and bisection, never hashing or walking lists of siblings: the offsets may have been chosen
 * by an enemy, and n log n is the worst they can get.
 */

/* Where a node is. Threads are known by the offset of their record, which stays when other threads appear. */
struct hp_profile_place {
    uint32_t session; /* its index */
    uint32_t thread;
    uint32_t offset;
};

/* One node of one thread's tree. */
struct hp_profile_record {
    struct hp_sums sums;
    struct hp_site_sums *site; /* NULL: the thread's root */
    struct hp_profile_record *parent;
    struct hp_profile_record *next; /* in order of arrival */
    struct hp_tree_node *merged;
    struct hp_profile_place place;
    uint32_t parent_offset;
    uint32_t depth;   /* 0: not known yet; 1: below the root */
    uint32_t visited; /* the last search that came by */
};

struct hp_profile_builder {
    struct hp_arena *arena;
    const struct hp_run *run;
    struct hp_profile *profile;
    bool is_by_thread;
    uint32_t label_count;
    struct hp_site_table sites;
    struct hp_profile_record *first;
    struct hp_profile_record **records;
    size_t record_count;
    uint32_t thread_number; /* of the thread whose open zones are added, from 1 */
};

uint64_t hp_sums_self(const struct hp_sums *sums) { return (int64_t)sums->self < 0 ? 0 : sums->self; }

/* -------------------------------------------------------------------------------------------- gather */

/* As if the calls that were not timed had been like those that were, unless more is known of them. */
static uint64_t hp_profile_scale_up(uint64_t ticks, const struct hp_node *node)
{
    if (node->untimed == 0 || node->untimed >= node->calls)
        return ticks;
    const double more = (double)node->untimed * node->typical / 256, timed = (double)(node->calls - node->untimed);
    const double scaled =
        node->typical != 0 ? (double)(int64_t)ticks + more : (double)(int64_t)ticks * ((double)node->calls / timed);
    return scaled >= 0x1p63 || scaled <= -0x1p63 ? ticks : (uint64_t)(int64_t)scaled;
}

static bool hp_profile_add_record(struct hp_profile_builder *builder, const struct hp_profile_place *place, const struct hp_node *node)
{
    if (node->site != HP_SITE_ROOT && !hp_site_table_has_room_for(node->site))
        return true;
    struct hp_profile_record *record = hp_arena_take(builder->arena, sizeof *record);
    if (record == NULL)
        return false;
    if (node->site != HP_SITE_ROOT) {
        record->site = hp_site_table_find(&builder->sites, node->site);
        if (record->site == NULL)
            return false;
        /* Nobody asked for sampling: they were too short once, be they long by now. */
        record->site->is_limited |=
            node->untimed > 0 && builder->run->sessions[place->session]->header.time_period <= 1;
    }
    record->place = *place;
    record->parent_offset = node->parent;
    record->sums = (struct hp_sums){
        .calls = node->calls,
        .untimed = node->untimed < node->calls ? node->untimed : node->calls,
        .total = node->is_recursive ? node->outermost : hp_profile_scale_up(node->outermost, node),
        .nested = node->is_recursive || node->typical == 0 ? hp_profile_scale_up(node->nested, node) : node->nested,
        .self = hp_profile_scale_up(node->self, node),
    };
    record->next = builder->first;
    builder->first = record;
    builder->record_count++;
    return true;
}

static void hp_profile_add_extremes(struct hp_site_sums *site, uint64_t least, uint64_t most)
{
    site->min = least < site->min ? least : site->min;
    site->max = most > site->max ? most : site->max;
}

static bool hp_profile_add_stat(struct hp_profile_builder *builder, const struct hp_snapshot *session, uint32_t offset,
                     const struct hotpath_stat_ *stat)
{
    if (!hp_site_table_has_room_for(stat->site))
        return true;
    struct hp_site_sums *site = hp_site_table_find(&builder->sites, stat->site);
    struct hp_stat_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (site == NULL || link == NULL)
        return false;
    *link = (struct hp_stat_link){.next = site->stats, .session = session, .offset = offset};
    site->stats = link;
    site->threads += stat->threads;
    site->is_limited |= stat->typical != 0;
    if (stat->min <= stat->max)
        hp_profile_add_extremes(site, stat->min, stat->max);
    return true;
}

/* The walks of one session. */
struct hp_profile_walks {
    struct hp_walk threads, nodes, stats;
};

static bool hp_profile_gather_thread(struct hp_profile_builder *builder, uint32_t index, const struct hp_thread *thread, uint32_t offset,
                          struct hp_profile_walks *walks)
{
    const struct hp_snapshot *session = builder->run->sessions[index];
    struct hp_node node;
    struct hotpath_stat_ stat;
    hp_walk_rewind(&walks->nodes);
    while (hp_snapshot_next_node(session, thread, &walks->nodes, &node)) {
        const struct hp_profile_place place = {index, offset, walks->nodes.offset};
        if (!hp_profile_add_record(builder, &place, &node))
            return false;
    }
    hp_walk_rewind(&walks->stats);
    while (hp_snapshot_next_stat(session, thread, &walks->stats, &stat))
        if (!hp_profile_add_stat(builder, session, walks->stats.offset, &stat))
            return false;
    return true;
}

static bool hp_profile_gather_session(struct hp_profile_builder *builder, uint32_t index)
{
    struct hp_profile_walks walks = {0};
    struct hp_thread thread;
    while (hp_snapshot_next_thread(builder->run->sessions[index], &walks.threads, &thread))
        if (!hp_profile_gather_thread(builder, index, &thread, walks.threads.offset, &walks))
            return false;
    return true;
}

static bool hp_profile_gather_by_thread(struct hp_profile_builder *builder, uint32_t index)
{
    struct hp_profile_walks walks = {0};
    struct hp_thread_list threads;
    if (!hp_thread_list_read(&threads, builder->arena, builder->run->sessions[index]))
        return false;
    for (size_t from = 0, to; from < threads.count; from = to) {
        to = hp_thread_list_end(&threads, from);
        builder->sites.thread = hp_thread_list_label(&threads, from, to, ++builder->label_count);
        if (builder->sites.thread == NULL)
            return false;
        for (size_t at = from; at < to; at++)
            if (!hp_profile_gather_thread(builder, index, &threads.all[at]->record, threads.all[at]->offset, &walks))
                return false;
    }
    builder->sites.thread = NULL;
    return true;
}

static bool hp_profile_find_main(struct hp_profile_builder *builder, struct hp_session_sums *session)
{
    const uint32_t id = session->snapshot->header.main_site;
    if (!hp_site_table_has_room_for(id))
        return true;
    session->main = hp_site_table_find(&builder->sites, id);
    return session->main != NULL;
}

static bool hp_profile_gather(struct hp_profile_builder *builder)
{
    const struct hp_run *run = builder->run;
    struct hp_session_sums *sums = hp_arena_take_array(builder->arena, run->count, sizeof *sums);
    if (sums == NULL)
        return false;
    builder->profile->sessions = sums;
    for (uint32_t index = 0; index < run->count; index++) {
        sums[index].snapshot = run->sessions[index];
        hp_site_table_read(&builder->sites, run->sessions[index], index);
        if (!hp_profile_find_main(builder, &sums[index]) ||
            !(builder->is_by_thread ? hp_profile_gather_by_thread(builder, index) : hp_profile_gather_session(builder, index)))
            return false;
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- unify */

static void hp_profile_move_stats(struct hp_site_sums *to, struct hp_site_sums *from)
{
    while (from->stats != NULL) {
        struct hp_stat_link *link = from->stats;
        from->stats = link->next;
        link->next = to->stats;
        to->stats = link;
    }
    to->threads += from->threads;
    to->is_limited |= from->is_limited;
    hp_profile_add_extremes(to, from->min, from->max);
}

static void hp_profile_mark_mains(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->run->count; at++) {
        struct hp_session_sums *session = &profile->sessions[at];
        if (session->main == NULL)
            continue;
        session->main = session->main->same;
        session->main->is_main = true;
    }
}

/* By thread, what is the same has the same name, and numbers of its own. */
static bool hp_profile_unify(struct hp_profile_builder *builder)
{
    if ((builder->run->count > 1 || builder->is_by_thread) && !hp_site_table_unify(&builder->sites))
        return false;
    hp_profile_mark_mains(builder->profile);
    if (builder->is_by_thread)
        return true;
    for (struct hp_site_sums *site = builder->sites.all; site != NULL; site = site->next)
        if (site->same != site)
            hp_profile_move_stats(site->same, site);
    for (struct hp_profile_record *record = builder->first; record != NULL; record = record->next)
        if (record->site != NULL)
            record->site = record->site->same;
    return true;
}

/* ---------------------------------------------------------------------------------------------- link */

static int hp_profile_by_place(const struct hp_profile_place *x, const struct hp_profile_place *y)
{
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static int hp_profile_compare_places(const void *a, const void *b)
{
    return hp_profile_by_place(&((const struct hp_profile_record *)a)->place, &((const struct hp_profile_record *)b)->place);
}

static struct hp_profile_record *hp_profile_find_record(const struct hp_profile_builder *builder, const struct hp_profile_place *place)
{
    size_t low = 0, high = builder->record_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = hp_profile_by_place(place, &builder->records[middle]->place);
        if (order == 0)
            return builder->records[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* A node that two chunks claim is one node. */
static void hp_profile_drop_duplicates(struct hp_profile_builder *builder)
{
    size_t kept = 0;
    for (size_t at = 0; at < builder->record_count; at++)
        if (kept == 0 || hp_profile_compare_places(builder->records[kept - 1], builder->records[at]) != 0)
            builder->records[kept++] = builder->records[at];
    builder->record_count = kept;
}

/* A parent that is the root, or not there, counts as none: such a node stands at the top. */
static void hp_profile_link_parents(struct hp_profile_builder *builder)
{
    for (size_t at = 0; at < builder->record_count; at++) {
        struct hp_profile_record *record = builder->records[at];
        const struct hp_profile_place above = {record->place.session, record->place.thread, record->parent_offset};
        struct hp_profile_record *parent = above.offset == 0 ? NULL : hp_profile_find_record(builder, &above);
        if (parent != NULL && parent->site != NULL)
            record->parent = parent;
    }
}

/*
 * Depths, each record looked at twice at most: up to the first ancestor whose depth is known, then up again to
 * write them down. An ancestor met for the second time in one search closes a circle, which is cut there.
 */
static void hp_profile_set_depth(struct hp_profile_record *record, uint32_t search)
{
    uint32_t steps = 1;
    struct hp_profile_record *top = record;
    top->visited = search;
    while (top->parent != NULL && top->parent->depth == 0) {
        if (top->parent->visited == search) {
            top->parent = NULL;
            break;
        }
        top = top->parent;
        top->visited = search;
        steps++;
    }
    uint32_t depth = steps + (top->parent != NULL ? top->parent->depth : 0);
    for (struct hp_profile_record *at = record; steps > 0; steps--, at = at->parent)
        at->depth = depth--;
}

static bool hp_profile_link_records(struct hp_profile_builder *builder)
{
    builder->records = hp_arena_take_array(builder->arena, builder->record_count + 1, sizeof(void *));
    if (builder->records == NULL)
        return false;
    size_t at = 0;
    for (struct hp_profile_record *record = builder->first; record != NULL; record = record->next)
        builder->records[at++] = record;
    hp_sort(builder->records, builder->record_count, hp_profile_compare_places);
    hp_profile_drop_duplicates(builder);
    hp_profile_link_parents(builder);
    for (at = 0; at < builder->record_count; at++)
        if (builder->records[at]->depth == 0)
            hp_profile_set_depth(builder->records[at], (uint32_t)at + 1);
    return true;
}

/* ---------------------------------------------------------------------------------------------- open */

static bool hp_profile_is_timed(const struct hotpath_frame_ *frame)
{
    return !(frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_));
}

/* Frames come outermost first: a site that is open already in this thread is inside itself. NULL: no memory. */
static struct hp_open_link *hp_profile_add_open(struct hp_profile_builder *builder, struct hp_profile_record *record,
                                     const struct hotpath_frame_ *frame, uint64_t ticks)
{
    struct hp_site_sums *site = record->site;
    struct hp_open_link *link = hp_arena_take(builder->arena, sizeof *link);
    if (link == NULL)
        return NULL;
    *link = (struct hp_open_link){
        .next = site->opens,
        .ticks = ticks,
        .is_timed = hp_profile_is_timed(frame),
        .is_inner = site->open_in == builder->thread_number,
        .has_allocs = frame->stat & HOTPATH_ALLOCATES_,
    };
    site->opens = link;
    site->open_in = builder->thread_number;
    record->sums.calls++;
    record->sums.open++;
    if (!link->is_timed) {
        record->sums.untimed++;
        return link;
    }
    hp_profile_add_extremes(site, ticks, ticks);
    record->sums.self += ticks - frame->child;
    if (link->is_inner)
        record->sums.nested += ticks;
    else
        record->sums.total += ticks;
    return link;
}

/*
 * Two things can go wrong in a live session. A frame whose node is not the thread's is no frame: the stack was just
 * being moved to a larger one. And a frame may show up a moment before its fields do, with the start of an earlier
 * zone; no zone begins before the one around it.
 */
static bool hp_profile_add_open_zones(struct hp_profile_builder *builder, uint32_t index, uint32_t offset, const struct hp_thread *thread,
                           struct hp_walk *walk)
{
    const struct hp_snapshot *session = builder->run->sessions[index];
    struct hotpath_frame_ frame;
    struct hp_open_link *innermost = NULL;
    struct hp_profile_record *around = NULL;
    uint64_t around_start = 0;
    while (hp_snapshot_next_open(session, thread, walk, &frame)) {
        const struct hp_profile_place place = {index, offset, frame.node};
        struct hp_profile_record *record = hp_profile_find_record(builder, &place);
        if (record == NULL || record->site == NULL)
            break;
        const uint64_t start = frame.start > around_start ? frame.start : around_start;
        const uint64_t ticks = start < session->now_ticks ? session->now_ticks - start : 0;
        struct hp_open_link *link = hp_profile_add_open(builder, record, &frame, ticks);
        if (link == NULL)
            return false;
        link->around = innermost;
        link->index = walk->index;
        innermost = link;
        if (!link->is_timed)
            continue;
        if (around != NULL)
            around->sums.self -= ticks;
        around = record;
        around_start = start;
    }
    hp_allocs_settle_open(session, thread, innermost);
    return true;
}

static bool hp_profile_add_all_open(struct hp_profile_builder *builder)
{
    struct hp_thread thread;
    for (uint32_t index = 0; index < builder->run->count; index++) {
        struct hp_walk threads = {0}, opens = {0};
        while (hp_snapshot_next_thread(builder->run->sessions[index], &threads, &thread)) {
            hp_walk_rewind(&opens);
            builder->thread_number++;
            if (!hp_profile_add_open_zones(builder, index, threads.offset, &thread, &opens))
                return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- merge */

static void hp_profile_add_sums(struct hp_sums *to, const struct hp_sums *from)
{
    to->calls += from->calls;
    to->open += from->open;
    to->untimed += from->untimed;
    to->total += from->total;
    to->nested += from->nested;
    to->self += from->self;
}

static uint32_t hp_profile_parent_index(const struct hp_profile_record *record)
{
    return record->parent != NULL && record->parent->merged != NULL ? record->parent->merged->index + 1 : 0;
}

static int hp_profile_compare_depths(const void *a, const void *b)
{
    const uint32_t x = ((const struct hp_profile_record *)a)->depth, y = ((const struct hp_profile_record *)b)->depth;
    return x == y ? 0 : x < y ? -1 : 1;
}

static int hp_profile_compare_paths(const void *a, const void *b)
{
    const struct hp_profile_record *x = a, *y = b;
    const uint32_t xp = hp_profile_parent_index(x), yp = hp_profile_parent_index(y);
    if (xp != yp)
        return xp < yp ? -1 : 1;
    const uint64_t xs = x->site ? hp_site_number(x->site) : UINT64_MAX;
    const uint64_t ys = y->site ? hp_site_number(y->site) : UINT64_MAX;
    if (xs != ys || x->site == NULL || y->site == NULL)
        return xs == ys ? 0 : xs < ys ? -1 : 1;
    const uint32_t xt = hp_thread_number(x->site), yt = hp_thread_number(y->site);
    return xt == yt ? 0 : xt < yt ? -1 : 1;
}

static struct hp_tree_node *hp_profile_new_tree_node(struct hp_profile_builder *builder, const struct hp_profile_record *record)
{
    struct hp_profile *profile = builder->profile;
    struct hp_tree_node *node = hp_arena_take(builder->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    node->site = record->site;
    node->parent = record->parent ? record->parent->merged : NULL;
    node->depth = record->depth - 1;
    node->index = (uint32_t)profile->node_count;
    profile->nodes[profile->node_count++] = node;
    struct hp_tree_node **list = node->parent ? &node->parent->first_child : &profile->first_root;
    node->next_sibling = *list;
    *list = node;
    return node;
}

static bool hp_profile_merge_level(struct hp_profile_builder *builder, struct hp_profile_record **records, size_t count)
{
    hp_sort(records, count, hp_profile_compare_paths);
    for (size_t at = 0; at < count; at++) {
        struct hp_profile_record *record = records[at];
        if (record->site == NULL)
            continue; /* a root; the roots of all threads come last */
        const bool is_same = at > 0 && hp_profile_compare_paths(records[at - 1], record) == 0;
        record->merged = is_same ? records[at - 1]->merged : hp_profile_new_tree_node(builder, record);
        if (record->merged == NULL)
            return false;
        hp_profile_add_sums(&record->merged->sums, &record->sums);
        hp_profile_add_sums(&record->site->sums, &record->sums);
    }
    return true;
}

static bool hp_profile_merge(struct hp_profile_builder *builder)
{
    builder->profile->nodes = hp_arena_take_array(builder->arena, builder->record_count + 1, sizeof(void *));
    if (builder->profile->nodes == NULL)
        return false;
    hp_sort(builder->records, builder->record_count, hp_profile_compare_depths);
    for (size_t from = 0, to; from < builder->record_count; from = to) {
        to = from + 1;
        while (to < builder->record_count && hp_profile_compare_depths(builder->records[from], builder->records[to]) == 0)
            to++;
        if (!hp_profile_merge_level(builder, builder->records + from, to - from))
            return false;
    }
    return true;
}

/* What the others cost is next to nothing. */
static uint64_t hp_profile_timed_calls(const struct hp_sums *sums) { return sums->calls - sums->untimed; }

/*
 * Calls that were folded onto a node further up may have been made inside this one, with all that was inside them.
 * Nobody knows how many, so all of them count: this is an upper bound.
 */
static uint64_t hp_profile_calls_perhaps_inside(const struct hp_tree_node *node)
{
    return node->folded != NULL ? node->folded->calls_inside + hp_profile_timed_calls(&node->folded->sums)
                                : node->calls_inside;
}

/* Up from the children first, then down from the parents: each node is looked at twice, however deep the tree is. */
static void hp_profile_count_calls_inside(struct hp_profile *profile)
{
    for (size_t at = profile->node_count; at-- > 0;) {
        const struct hp_tree_node *node = profile->nodes[at];
        if (node->parent != NULL)
            node->parent->calls_inside += node->calls_inside + hp_profile_timed_calls(&node->sums);
    }
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->nodes[at];
        node->folded = node->parent != NULL ? node->parent->folded : NULL;
        if (node->folded == NULL && node->sums.nested > 0)
            node->folded = node;
        node->site->calls_inside += hp_profile_calls_perhaps_inside(node);
    }
}

static void hp_profile_set_self(struct hp_tree_node *node, uint64_t self)
{
    node->site->sums.self += self - node->sums.self;
    node->sums.self = self;
}

/* The next node of the subtree of `top`, parents first; NULL at the end. */
static struct hp_tree_node *hp_profile_next_below(const struct hp_tree_node *top, struct hp_tree_node *at)
{
    if (at->first_child != NULL)
        return at->first_child;
    while (at != top && at->next_sibling == NULL)
        at = at->parent;
    return at == top ? NULL : at->next_sibling;
}

/*
 * Of a recursion and all below it: what is left to each call depends on which of those inside it were timed, and calls were
 * folded, so children are not all below. But all together have the time of the outermost calls, which are all timed: it is
 * shared out among them as the estimates have it.
 */
static void hp_profile_settle_recursion(struct hp_tree_node *top)
{
    double all = 0;
    uint64_t untimed = 0;
    for (struct hp_tree_node *node = top; node != NULL; node = hp_profile_next_below(top, node)) {
        all += (double)hp_sums_self(&node->sums);
        untimed += node->sums.untimed;
    }
    if (untimed == 0 || all <= 0)
        return;
    const double part = (double)top->sums.total / all;
    for (struct hp_tree_node *node = top; node != NULL; node = hp_profile_next_below(top, node))
        hp_profile_set_self(node, (uint64_t)((double)hp_sums_self(&node->sums) * part));
}

/*
 * Where calls are not all timed, a call is not told of the time of those inside it, so what is left to itself comes from
 * the sums: its own, less those of its children. Of a recursion among these it is the outermost calls that were made here.
 */
static void hp_profile_settle_selfs(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->node_count; at++) {
        struct hp_tree_node *node = profile->nodes[at];
        uint64_t inside = 0, untimed = node->sums.untimed;
        for (const struct hp_tree_node *child = node->first_child; child != NULL; child = child->next_sibling) {
            inside += child->sums.total;
            untimed += child->sums.untimed;
        }
        if (node->folded == node)
            hp_profile_settle_recursion(node);
        else if (untimed > 0 && node->folded == NULL)
            hp_profile_set_self(node, node->sums.total > inside ? node->sums.total - inside : 0);
    }
}

/* Records are in the order of their places here: session by session, thread by thread. */
static void hp_profile_count_by_session(struct hp_profile_builder *builder)
{
    uint64_t calls_of_thread = 0;
    for (size_t at = 0; at < builder->record_count; at++) {
        const struct hp_profile_record *record = builder->records[at], *before = at > 0 ? builder->records[at - 1] : record;
        struct hp_session_sums *session = &builder->profile->sessions[record->place.session];
        if (record->place.session != before->place.session || record->place.thread != before->place.thread)
            calls_of_thread = 0;
        calls_of_thread += hp_profile_timed_calls(&record->sums);
        if (calls_of_thread > session->calls_of_busiest_thread)
            session->calls_of_busiest_thread = calls_of_thread;
        session->calls += record->sums.calls;
        session->timed_calls += hp_profile_timed_calls(&record->sums);
        session->open += record->sums.open;
        if (record->parent == NULL && record->site != NULL)
            session->total += record->sums.total;
        if (record->site != NULL && record->site->is_main)
            session->in_main += record->sums.self;
    }
}

/* ------------------------------------------------------------------------------------------- results */

/* The main function that all processes have in common, as far as they have one. */
static void hp_profile_choose_main(struct hp_profile *profile)
{
    for (size_t at = 0; at < profile->run->count; at++) {
        const struct hp_site_sums *main = profile->sessions[at].main;
        if (main == NULL || main->sums.calls == 0)
            continue;
        if (profile->main != NULL && profile->main != main)
            profile->has_different_mains = true;
        profile->main = main;
    }
    if (profile->has_different_mains)
        profile->main = NULL;
}

static int hp_profile_compare_numbers(const void *a, const void *b)
{
    const uint64_t x = hp_site_number(a), y = hp_site_number(b);
    return x == y ? 0 : x < y ? -1 : 1;
}

static bool hp_profile_list_sites(struct hp_profile_builder *builder)
{
    struct hp_profile *profile = builder->profile;
    struct hp_site_sums **named = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    size_t named_count = 0;
    profile->sites = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    profile->known = hp_arena_take_array(builder->arena, builder->sites.count + 1, sizeof(void *));
    if (profile->sites == NULL || profile->known == NULL || named == NULL)
        return false;
    for (struct hp_site_sums *site = builder->sites.all; site != NULL; site = site->next) {
        profile->known[profile->known_count++] = site;
        if (site->sums.calls == 0)
            continue;
        profile->sites[profile->site_count++] = site;
        if (!site->same->is_named)
            named[named_count++] = site->same;
        site->same->is_named = true;
        profile->has_sampled |= site->sums.untimed > 0 && !site->is_limited;
        profile->has_limited |= site->sums.untimed > 0 && site->is_limited;
    }
    hp_sort(profile->known, profile->known_count, hp_profile_compare_numbers);
    if (!hp_site_table_name(&builder->sites, named, named_count))
        return false;
    for (size_t at = 0; at < profile->site_count; at++) {
        profile->sites[at]->name = profile->sites[at]->same->name;
        profile->sites[at]->is_main = profile->sites[at]->same->is_main;
    }
    return true;
}

const struct hp_site_sums *hp_profile_site(const struct hp_profile *profile, uint32_t session, uint32_t id)
{
    const struct hp_site_sums wanted = {.session = session, .id = id};
    size_t low = 0, high = profile->known_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = hp_profile_compare_numbers(&wanted, profile->known[middle]);
        if (order == 0)
            return profile->known[middle]->same;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct hp_profile *hp_profile_build(struct hp_arena *arena, const struct hp_run *run, bool is_by_thread)
{
    struct hp_profile_builder *builder = hp_arena_take(arena, sizeof *builder);
    struct hp_profile *profile = hp_arena_take(arena, sizeof *profile);
    if (builder == NULL || profile == NULL)
        return NULL;
    profile->run = run;
    builder->arena = builder->sites.arena = arena;
    builder->sites.read_name = run->read_name;
    builder->run = run;
    builder->is_by_thread = is_by_thread;
    builder->profile = profile;
    if (!hp_profile_gather(builder) || !hp_profile_unify(builder) || !hp_profile_link_records(builder) || !hp_profile_add_all_open(builder))
        return NULL;
    hp_profile_count_by_session(builder);
    if (!hp_profile_merge(builder))
        return NULL;
    hp_profile_count_calls_inside(profile);
    hp_profile_settle_selfs(profile);
    if (!is_by_thread)
        hp_profile_choose_main(profile);
    return hp_profile_list_sites(builder) ? profile : NULL;
}

const char *hp_profile_open_note(const struct hp_profile *profile)
{
    bool has_ended = false, has_others = false;
    for (size_t at = 0; at < profile->run->count; at++) {
        const struct hp_session_sums *session = &profile->sessions[at];
        const bool is_ended = hp_snapshot_state(session->snapshot) == HP_SNAPSHOT_ENDED;
        has_ended |= session->open > 0 && is_ended;
        has_others |= session->open > 0 && !is_ended;
    }
    if (has_ended && has_others)
        return "* still running when the report was made, or when its process was killed: counted up to then, or "
               "up "
               "to the last sign";
    return has_ended ? "* still running when the process was killed: counted up to its last sign"
                     : "* still running when the report was made: counted up to then";
}

static uint64_t hp_profile_sum_of_rows(const struct hp_profile *profile, bool is_exclusive)
{
    uint64_t ticks = 0;
    for (size_t at = 0; at < profile->site_count; at++) {
        const struct hp_site_sums *site = profile->sites[at];
        if (!site->is_main)
            ticks += is_exclusive ? hp_sums_self(&site->sums) : site->sums.total;
    }
    return ticks;
}

uint64_t hp_profile_whole(const struct hp_profile *profile, const struct hp_settings *settings,
                          const char **ret_percent_of)
{
    if (settings->exclude_wrapper) {
        *ret_percent_of = "rows";
        return hp_profile_sum_of_rows(profile, settings->time_exclusive);
    }
    if (profile->main != NULL && profile->main->sums.total > 0) {
        *ret_percent_of = "main";
        return profile->main->sums.total;
    }
    *ret_percent_of = "elapsed";
    return profile->run->elapsed_ticks;
}

bool hp_profile_is_small(uint64_t ticks, uint64_t whole, const struct hp_settings *settings)
{
    return whole > 0 && 100 * (double)ticks / (double)whole < settings->min_percent;
}

static bool hp_profile_has_every_session_main(const struct hp_profile *profile)
{
    size_t at = 0;
    while (at < profile->run->count && profile->sessions[at].main == profile->main)
        at++;
    return at == profile->run->count;
}

/* With several processes, which may run at the same time, a share is not what one would expect. */
const char *hp_profile_share_note(const struct hp_profile *profile, const char *percent_of)
{
    if (strcmp(percent_of, "rows") == 0)
        return "% Total is of the sum of all rows, without the main function";
    if (strcmp(percent_of, "main") == 0)
        return hp_profile_has_every_session_main(profile)
                   ? NULL
                   : "% Total is of the main row, and not every process ran that: a row can have more than 100 %";
    if (profile->run->count == 1)
        return "% Total is of the time of the session: no HOTPATH_MAIN() was in it";
    return profile->has_different_mains ? "% Total is of the time from the first start to the last end, since the "
                                          "processes have different main "
                                          "functions: a row can have more than 100 %"
                                        : "% Total is of the time from the first start to the last end, since no "
                                          "process had a HOTPATH_MAIN(): a "
                                          "row can have more than 100 %";
}

/* ----------------------------------------------------------------------------------------- durations */

void hp_durations_add(struct hp_durations *durations, uint64_t ticks)
{
    uint32_t line, step;
    hp_duration_place(ticks, &line, &step);
    durations->lines[line][step]++;
    durations->timed++;
    durations->counted++;
}

static void hp_profile_add_stat_durations(const struct hp_stat_link *link, struct hp_durations *durations)
{
    struct hotpath_stat_ stat;
    if (!hp_snapshot_stat(link->session, link->offset, &stat))
        return;
    durations->timed += stat.missed;
    hp_snapshot_add_durations(link->session, &stat, durations->lines);
}

void hp_profile_durations(const struct hp_site_sums *site, struct hp_durations *ret_durations)
{
    memset(ret_durations, 0, sizeof *ret_durations);
    ret_durations->min = site->min;
    ret_durations->max = site->max;
    for (const struct hp_stat_link *link = site->stats; link != NULL; link = link->next)
        hp_profile_add_stat_durations(link, ret_durations);
    for (size_t line = 0; line < HP_DURATION_LINES; line++)
        for (size_t step = 0; step < 64; step++)
            ret_durations->counted += ret_durations->lines[line][step];
    ret_durations->timed += ret_durations->counted;
    for (const struct hp_open_link *link = site->opens; link != NULL; link = link->next)
        if (link->is_timed)
            hp_durations_add(ret_durations, link->ticks);
}

/* The middle of what one counter counts. Those of the first two lines count one value each. */
static double hp_profile_middle_of(uint32_t line, uint32_t step)
{
    if (line == 0)
        return step;
    const uint64_t width = UINT64_C(1) << (line - 1);
    return (double)((64 + (uint64_t)step) * width) + (double)(width - 1) / 2;
}

double hp_durations_mean(const struct hp_durations *durations)
{
    const double least = (double)durations->min, most = (double)durations->max;
    double sum = 0, count = 0;
    for (uint32_t line = 0; line < HP_DURATION_LINES; line++)
        for (uint32_t step = 0; step < 64; step++) {
            if (durations->lines[line][step] == 0)
                continue;
            const double middle = hp_profile_middle_of(line, step), calls = (double)durations->lines[line][step];
            sum += calls * (middle < least ? least : middle > most ? most : middle);
            count += calls;
        }
    return count > 0 ? sum / count : 0;
}

void hp_durations_find_min(struct hp_durations *durations)
{
    uint32_t line = 0, step = 0;
    while (line < HP_DURATION_LINES && durations->lines[line][step] == 0) {
        step = (step + 1) % 64;
        line += step == 0;
    }
    const double least = line < HP_DURATION_LINES ? hp_profile_middle_of(line, step) : 0;
    durations->min = least < (double)durations->max ? (uint64_t)least : durations->max;
}

/* 99.9 % of 1000 is the 999th, though 99.9 / 100 * 1000 is a little more than 999 in binary. */
static uint64_t hp_profile_rank_of(double percentile, uint64_t count)
{
    const double exact = percentile / 100 * (double)count;
    uint64_t rank = exact >= 0x1p63 ? count : exact > 0 ? (uint64_t)exact : 0;
    if (exact - (double)rank > 1e-9 * exact)
        rank++;
    return rank < 1 ? 1 : rank > count ? count : rank;
}

bool hp_durations_percentile(const struct hp_durations *durations, double percentile, double *ret_ticks)
{
    if (durations->timed == 0 || durations->min > durations->max)
        return false;
    const double least = (double)durations->min, most = (double)durations->max;
    if (percentile <= 0 || percentile >= 100) {
        *ret_ticks = percentile <= 0 ? least : most;
        return true;
    }
    if (durations->counted == 0)
        return false;
    uint64_t left = hp_profile_rank_of(percentile, durations->counted);
    uint32_t line = 0, step = 0;
    while (line < HP_DURATION_LINES && left > durations->lines[line][step]) {
        left -= durations->lines[line][step];
        step = (step + 1) % 64;
        line += step == 0;
    }
    const double middle = line < HP_DURATION_LINES ? hp_profile_middle_of(line, step) : most;
    *ret_ticks = middle < least ? least : middle > most ? most : middle;
    return true;
}

/*
 * Of each own call the inner part of a zone's cost falls into its duration; of each call inside, all of it. Inner
 * calls of a recursion lie inside, too.
 */
double hp_profile_overhead_ns(const struct hp_profile *profile, const struct hp_site_sums *site)
{
    const struct hp_run *run = profile->run;
    const double inner = site->sums.nested > 0 ? run->zone_cost_ns : run->zone_inner_ns;
    const double ns = (double)site->sums.calls * inner + (double)site->calls_inside * run->zone_cost_ns;
    const double most = hp_run_ns(run, site->sums.total);
    return ns < most ? ns : most;
}

/* ---- src/sections/slowest.h ---------------------------------------------------------------------------------- */

/* The section `slowest`: the slowest call of a function, with what ran inside. */

HP_SHARED const struct hp_section_type hotpath_section_slowest_;

/* ---- src/sections/timing.h ----------------------------------------------------------------------------------- */

/* The section `timing`: where the time went, one row per site. */

HP_SHARED const struct hp_section_type hotpath_section_timing_;

/* ---- src/sections/registry.c --------------------------------------------------------------------------------- */

/* The list of sections: a new one is one line here. */

const struct hp_section_type *const hotpath_section_types_[] = {
    &hotpath_section_timing_,        /* one line each */
    &hotpath_section_alloc_bytes_,   /* where malloc was watched; one of the two, unless asked for */
    &hotpath_section_alloc_count_,   /* the same in numbers of blocks */
    &hotpath_section_alloc_threads_, /* on request */
    &hotpath_section_alloc_pools_,   /* where the program has some */
    &hotpath_section_cpu_,           /* where processor time was sampled */
    &hotpath_section_calltree_,      /* on request */
    &hotpath_section_calls_,         /* where some were logged */
    &hotpath_section_slowest_,       /* on request */
    &hotpath_section_processes_,     /* of several */
    &hotpath_section_cold_,          /* on request */
};

const size_t hotpath_section_type_count_ = sizeof hotpath_section_types_ / sizeof hotpath_section_types_[0];

/* ---- src/sections/trust.h ------------------------------------------------------------------------------------ */

/*
 * How far a report can be trusted: the clock, what measuring cost, what could not be recorded, each in words.
 */

struct hp_loss_words {
    const char *key;  /* in JSON */
    const char *one;  /* "... zone was left by longjmp: counted, not timed" */
    const char *many; /* "... zones were left ..." */
};

/* One per enum hp_loss that has a meaning. */
HP_SHARED const struct hp_loss_words hotpath_loss_words_[];
HP_SHARED const size_t hotpath_loss_count_;

/* The word for an enum hp_clock_kind. */
HP_PRIVATE const char *hp_trust_clock_name(uint32_t kind);

HP_PRIVATE void hp_trust_set(struct hotpath_results *results);

/* That files of the run, at least one, have lost their ends. */
HP_PRIVATE void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text);

/* The closing line of a report, without its end. */
HP_PRIVATE void hp_trust_put(const struct hp_trust *trust, struct hp_text *text);

/* ---- src/sections/results.c ---------------------------------------------------------------------------------- */

/*
 * Results: the sections a report asks for, and the public way to walk them.
 *
 * The grammar of HOTPATH_REPORT: "auto" (everything that has data and is not for request only), "all", names
 * (exactly those), "-name" (without it; alone or first it means auto without it). Order in the text does not
 * matter: the report has one order. HOTPATH_SLOWEST adds its section.
 */

#define HP_RESULTS_MOST_PIDS 8u /* named in one line */

/* ------------------------------------------------------------------------------------ which sections */

static bool hp_results_is_same(const char *name, size_t length, const char *other)
{
    return other != NULL && hp_text_equal_nocase(name, length, other);
}

static bool hp_results_answers_to(const struct hp_section_type *type, const char *name, size_t length)
{
    return hp_results_is_same(name, length, type->name) || hp_results_is_same(name, length, type->alias) ||
           hp_results_is_same(name, length, type->group);
}

static bool hp_results_is_available(const struct hp_section_type *type)
{
    return type->is_available == NULL || type->is_available();
}

static bool hp_results_has_data(const struct hotpath_results *results, const struct hp_section_type *type)
{
    return type->has_data == NULL || type->has_data(results);
}

/* One section, or all of a group. */
static bool hp_results_set_named(struct hotpath_results *results, bool *chosen, const char *name, size_t length, bool value)
{
    bool has_found = false;
    for (size_t at = 0; at < hotpath_section_type_count_; at++)
        if (hp_results_answers_to(hotpath_section_types_[at], name, length)) {
            chosen[at] = value && hp_results_is_available(hotpath_section_types_[at]);
            if (value && !chosen[at])
                hp_results_warn(results, "the section", name, length, hotpath_section_types_[at]->elsewhere);
            has_found = true;
        }
    return has_found;
}

static void hp_results_set_auto(const struct hotpath_results *results, bool *chosen)
{
    for (size_t at = 0; at < hotpath_section_type_count_; at++) {
        const struct hp_section_type *type = hotpath_section_types_[at];
        chosen[at] = !type->is_on_request && (type->is_usual == NULL || type->is_usual(results->settings)) &&
                     hp_results_is_available(type) && hp_results_has_data(results, type);
    }
}

static void hp_results_set_all(const struct hotpath_results *results, bool *chosen, bool value)
{
    for (size_t at = 0; at < hotpath_section_type_count_; at++) {
        const struct hp_section_type *type = hotpath_section_types_[at];
        chosen[at] = value && hp_results_is_available(type) && (!type->is_left_out_empty || hp_results_has_data(results, type));
    }
}

static void hp_results_warn_unknown(struct hotpath_results *results, const char *name, size_t length)
{
    char bytes[256];
    struct hp_text known;
    hp_text_init(&known, bytes, sizeof bytes);
    hp_text_string(&known, ": known are auto, all");
    for (size_t at = 0; at < hotpath_section_type_count_; at++) {
        hp_text_string(&known, ", ");
        hp_text_string(&known, hotpath_section_types_[at]->name);
    }
    hp_results_warn(results, "unknown section", name, length, hp_text_end(&known));
}

/* Whether the list names a section that is to be shown; if it only takes away, it takes away from auto. */
static bool hp_results_has_plain_item(const char *spec)
{
    size_t length;
    for (const char *item; (item = hp_text_next_item(&spec, &length)) != NULL;)
        if (item[0] != '-')
            return true;
    return false;
}

static bool hp_results_set_item(struct hotpath_results *results, bool *chosen, const char *item, size_t length, bool value)
{
    if (hp_text_equal_nocase(item, length, "auto")) {
        hp_results_set_auto(results, chosen);
        return true;
    }
    if (hp_text_equal_nocase(item, length, "all")) {
        hp_results_set_all(results, chosen, value);
        return true;
    }
    return hp_results_set_named(results, chosen, item, length, value);
}

/* Sections are added first and taken away then, so that "-timing,all" and "all,-timing" mean the same. */
static void hp_results_choose(struct hotpath_results *results, bool *chosen)
{
    const char *spec = results->settings->report;
    size_t length;
    bool has_known = false;
    for (const char *rest = spec, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (item[0] != '-') {
            if (hp_results_set_item(results, chosen, item, length, true))
                has_known = true;
            else
                hp_results_warn_unknown(results, item, length);
        }
    if (!hp_results_has_plain_item(spec) || !has_known)
        hp_results_set_auto(results, chosen);
    if (results->settings->slowest[0] != '\0')
        hp_results_set_named(results, chosen, "slowest", sizeof "slowest" - 1, true);
    for (const char *rest = spec, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (item[0] == '-' && !hp_results_set_item(results, chosen, item + 1, length - 1, false))
            hp_results_warn_unknown(results, item + 1, length - 1);
}

static bool hp_results_has_linked_names(const struct hotpath_section *section)
{
    size_t column = 0;
    while (column < section->column_count && !(section->columns[column].traits & HP_COLUMN_NAME))
        column++;
    for (size_t row = 0; column < section->column_count && row < section->row_count; row++) {
        const char *name = section->rows[row].cells[column].text;
        if (name != NULL && hp_cxx_is_mangled(name))
            return true;
    }
    return false;
}

static void hp_results_note_linked_names(const struct hotpath_results *results, struct hotpath_section *section)
{
    if (hp_results_has_linked_names(section))
        hp_section_note(section,
                        results->run.read_name == NULL
                            ? "_Z... is the linker's name of a C++ function: hotpath report shows it readable"
                            : "_Z... is the linker's name of a C++ function: hotpath doctor says whether "
                              "there is something to read it with");
}

static bool hp_results_fill_chosen(struct hotpath_results *results)
{
    bool chosen[HP_MAX_SECTIONS] = {false};
    hp_results_choose(results, chosen);
    for (size_t at = 0; at < hotpath_section_type_count_; at++) {
        if (!chosen[at])
            continue;
        struct hotpath_section *section = hp_arena_take(results->arena, sizeof *section);
        if (section == NULL)
            return false;
        section->name = hotpath_section_types_[at]->name;
        section->group = hotpath_section_types_[at]->group != NULL ? hotpath_section_types_[at]->group : section->name;
        section->description = section->if_empty = "";
        if (!hotpath_section_types_[at]->fill(results, section))
            return false;
        hp_results_note_linked_names(results, section);
        results->sections[results->section_count++] = section;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ building */

/* What the reader of the report asked for wins over what was recorded. */
static const char *hp_results_first_text(const char *asked, const char *recorded)
{
    return asked[0] != '\0' ? asked : recorded;
}

/* That malloc is not watched is no mistake, unless somebody counts on it. */
static void hp_results_warn_no_allocs(struct hotpath_results *results)
{
    if (results->settings->alloc_is_asked && !hp_run_has_allocs(&results->run))
        hp_results_warn_line(results,
                             "HOTPATH asks for allocations, and none were recorded: malloc is watched in programs "
                             "that are linked with -lhotpath_alloc or started by 'hotpath run'");
}

static bool hp_results_has_column(const struct hotpath_results *results, const char *name, size_t length)
{
    if (hp_text_equal_nocase(name, length, "all"))
        return true;
    for (size_t at = 0; at < results->section_count; at++)
        if (hp_section_has_column(results->sections[at], name, length))
            return true;
    return results->section_count == 0;
}

static void hp_results_warn_unknown_columns(struct hotpath_results *results)
{
    size_t length;
    for (const char *rest = results->settings->columns, *item; (item = hp_text_next_item(&rest, &length)) != NULL;)
        if (!hp_results_has_column(results, item, length))
            hp_results_warn(results, "unknown column", item, length, ": no section of this report has it");
}

static void hp_results_warn_unknown_order(struct hotpath_results *results)
{
    const char *sort = results->settings->sort;
    const char *name = sort + (sort[0] == '-');
    for (size_t at = 0; at < results->section_count; at++)
        if (hp_section_has_column(results->sections[at], name, strlen(name)))
            return;
    if (sort[0] != '\0' && results->section_count > 0)
        hp_results_warn(results, "unknown column", name, strlen(name),
                        " to sort by: no section of this report has it; rows are in their usual order");
}

/* False: no memory. */
static bool hp_results_set_focus(struct hotpath_results *results)
{
    const char *focus = results->settings->focus;
    char bytes[256];
    struct hp_text after;
    results->focus = focus[0] != '\0' ? hp_arena_take(results->arena, sizeof *results->focus) : NULL;
    if (results->focus == NULL)
        return focus[0] == '\0';
    hp_text_init(&after, bytes, sizeof bytes);
    hp_text_string(&after, ": ");
    if (hp_pattern_list_compile(results->focus, focus, false, &after))
        return true;
    hp_text_string(&after, "; all rows are shown");
    hp_results_warn(results, "the focus is no list of patterns:", focus, strlen(focus), hp_text_end(&after));
    return true;
}

const struct hp_profile *hp_results_profile_of_rows(struct hotpath_results *results)
{
    if (results->settings->by != HP_BY_THREAD)
        return results->profile;
    if (results->by_thread == NULL)
        results->by_thread = hp_profile_build(results->arena, &results->run, true);
    return results->by_thread;
}

const struct hp_cpu *hp_results_cpu(struct hotpath_results *results)
{
    if (results->cpu == NULL)
        results->cpu = hp_cpu_of_profile(results->arena, results->profile);
    return results->cpu;
}

const struct hp_allocs *hp_results_allocs(struct hotpath_results *results)
{
    if (results->allocs == NULL)
        results->allocs = hp_allocs_of_run(results->arena, &results->run);
    return results->allocs;
}

bool hp_results_show(const struct hotpath_results *results, const struct hp_site_sums *site)
{
    char qualified[256];
    if (results->focus == NULL)
        return true;
    const bool is_qualified = hp_cxx_qualified_name(site->plain_name, qualified, sizeof qualified) > 0;
    const struct hp_pattern_subject subject = {.names = {site->name, is_qualified ? qualified : site->plain_name},
                                               .files = {site->location.file}};
    return hp_results_show_subject(results, &subject);
}

bool hp_results_show_subject(const struct hotpath_results *results, const struct hp_pattern_subject *subject)
{
    return results->focus == NULL || hp_pattern_list_chooses(results->focus, subject);
}

/* Names processes that are left out for one reason, in one line. */
static void hp_results_warn_left_out(struct hotpath_results *results, bool is_same_boot, const char *one, const char *many)
{
    char bytes[200];
    struct hp_text pids;
    size_t count = 0;
    hp_text_init(&pids, bytes, sizeof bytes);
    for (size_t at = 0; at < results->run.left_out_count; at++) {
        const struct hp_snapshot *session = results->run.left_out[at];
        if (hp_snapshot_has_same_boot(session, results->run.sessions[0]) != is_same_boot)
            continue;
        if (count++ < HP_RESULTS_MOST_PIDS) {
            hp_text_string(&pids, count > 1 ? ", " : "");
            hp_text_u64(&pids, session->header.pid);
        }
    }
    if (count > HP_RESULTS_MOST_PIDS) {
        hp_text_string(&pids, " and ");
        hp_text_u64(&pids, count - HP_RESULTS_MOST_PIDS);
        hp_text_string(&pids, " more");
    }
    if (count > 0)
        hp_results_warn(results, count == 1 ? "process" : "processes", bytes, pids.length, count == 1 ? one : many);
}

static void hp_results_warn_all_left_out(struct hotpath_results *results)
{
    hp_results_warn_left_out(results, true, " is left out: its clock is of another kind than that of the first process",
                  " are left out: their clocks are of another kind than that of the first process");
    hp_results_warn_left_out(results, false, " is left out: it ran on another machine, or before the machine was started anew",
                  " are left out: they ran on another machine, or before the machine was started anew");
}

const hotpath_results *hp_results_build(struct hp_arena *arena, const struct hp_snapshots *snapshots,
                                        const struct hp_settings *settings)
{
    const struct hp_snapshot *principal = snapshots->all[0];
    struct hotpath_results *results = hp_arena_take(arena, sizeof *results);
    if (results == NULL || !hp_run_init(&results->run, arena, snapshots))
        return NULL;
    results->arena = arena;
    results->settings = settings;
    results->label = hp_results_first_text(settings->label, hp_snapshot_text(principal, principal->header.label));
    results->metadata = hp_results_first_text(settings->metadata, hp_snapshot_text(principal, principal->header.metadata));
    results->profile = hp_profile_build(arena, &results->run, false);
    if (results->profile == NULL)
        return NULL;
    hp_results_warn_all_left_out(results);
    hp_results_warn_no_allocs(results);
    hp_trust_set(results);
    if (!hp_results_set_focus(results) || !hp_results_fill_chosen(results))
        return NULL;
    hp_results_warn_unknown_columns(results);
    hp_results_warn_unknown_order(results);
    return results;
}

/* ------------------------------------------------------------------------------------ the public way */

uint64_t hotpath_results_elapsed_ns(const hotpath_results *results) { return hp_run_elapsed_ns(&results->run); }

const char *hotpath_results_label(const hotpath_results *results) { return results->label; }

size_t hotpath_results_sections(const hotpath_results *results) { return results->section_count; }

const hotpath_section *hotpath_results_section(const hotpath_results *results, size_t index)
{
    return index < results->section_count ? results->sections[index] : NULL;
}

const char *hotpath_section_name(const hotpath_section *section) { return section->name; }

const char *hotpath_section_description(const hotpath_section *section) { return section->description; }

size_t hotpath_section_columns(const hotpath_section *section) { return section->column_count; }

const struct hotpath_column *hotpath_section_column(const hotpath_section *section, size_t index)
{
    return index < section->column_count ? &section->columns[index].shown : NULL;
}

size_t hotpath_section_rows(const hotpath_section *section) { return section->row_count; }

size_t hotpath_section_total_rows(const hotpath_section *section) { return section->total_rows; }

/* Out of range is HOTPATH_E_OPTIONS and an empty cell. */
int hotpath_section_cell(const hotpath_section *section, size_t row, size_t column, struct hotpath_cell *ret_cell)
{
    if (row >= section->row_count || column >= section->column_count) {
        *ret_cell = (struct hotpath_cell){0};
        return HOTPATH_E_OPTIONS;
    }
    const struct hp_cell *cell = &section->rows[row].cells[column];
    const uint32_t unit = section->columns[column].shown.unit;
    *ret_cell = (struct hotpath_cell){
        .unit = unit,
        .has_value = cell->has_value,
        .count = hp_unit_is_whole(unit) ? cell->count : hp_units_round(cell->number),
        .number = hp_cell_number(cell, unit),
        .text = unit == HOTPATH_UNIT_TEXT ? (cell->text != NULL ? cell->text : "") : NULL,
    };
    return HOTPATH_OK;
}

/* ---- src/sections/run.c -------------------------------------------------------------------------------------- */

/* What a report is about. */

static bool hp_run_can_be_added(const struct hp_snapshot *session, const struct hp_snapshot *principal)
{
    return session->header.clock_kind == principal->header.clock_kind &&
           hp_snapshot_has_same_boot(session, principal);
}

static bool hp_run_choose_sessions(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots)
{
    run->sessions = hp_arena_take_array(arena, snapshots->count, sizeof(void *));
    run->left_out = hp_arena_take_array(arena, snapshots->count, sizeof(void *));
    if (run->sessions == NULL || run->left_out == NULL)
        return false;
    for (size_t at = 0; at < snapshots->count; at++) {
        const struct hp_snapshot *session = snapshots->all[at];
        if (hp_run_can_be_added(session, snapshots->all[0]))
            run->sessions[run->count++] = session;
        else
            run->left_out[run->left_out_count++] = session;
    }
    return true;
}

/* The principal one's rate, or where that is not known that of the session that had the most time to find it out. */
static void hp_run_set_rate(struct hp_run *run)
{
    const struct hp_snapshot *best = run->sessions[0];
    for (size_t at = 1; at < run->count && !run->sessions[0]->is_rate_known; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        if (session->is_rate_known &&
            (!best->is_rate_known || hp_snapshot_elapsed(session) > hp_snapshot_elapsed(best)))
            best = session;
    }
    run->ns_per_tick = best->ns_per_tick;
    run->is_rate_known = best->is_rate_known;
}

/* When a session began is known in nanoseconds, how long it took in ticks. */
static void hp_run_set_times(struct hp_run *run)
{
    run->start_ns = UINT64_MAX;
    for (size_t at = 0; at < run->count; at++) {
        const uint64_t start_ns = run->sessions[at]->header.clock_start.ns;
        run->start_ns = start_ns < run->start_ns ? start_ns : run->start_ns;
    }
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_snapshot *session = run->sessions[at];
        uint64_t end = hp_units_round((double)hp_run_started_ns(run, session) / run->ns_per_tick);
        if (__builtin_add_overflow(end, hp_snapshot_elapsed(session), &end))
            end = UINT64_MAX;
        run->elapsed_ticks = end > run->elapsed_ticks ? end : run->elapsed_ticks;
    }
}

/* Each process measured it anew; the average of all is nearer the truth than any of them. */
static void hp_run_set_zone_cost(struct hp_run *run)
{
    double cost = 0, inner = 0, costs = 0, inners = 0;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_header *header = &run->sessions[at]->header;
        cost += (double)header->zone_cost_ps;
        inner += (double)header->zone_inner_ps;
        costs += header->zone_cost_ps > 0; /* 0: not known */
        inners += header->zone_inner_ps > 0;
    }
    run->zone_cost_ns = costs > 0 ? cost / costs / 1000 : 0;
    run->zone_inner_ns = inners > 0 ? inner / inners / 1000 : 0;
}

static void hp_run_count_states(struct hp_run *run)
{
    for (size_t at = 0; at < run->count; at++) {
        run->states[hp_snapshot_state(run->sessions[at])]++;
        run->cut_off += run->sessions[at]->is_cut_off;
    }
}

bool hp_run_init(struct hp_run *run, struct hp_arena *arena, const struct hp_snapshots *snapshots)
{
    *run = (struct hp_run){.read_name = snapshots->read_name};
    if (!hp_run_choose_sessions(run, arena, snapshots))
        return false;
    hp_run_set_rate(run);
    hp_run_set_times(run);
    hp_run_set_zone_cost(run);
    hp_run_count_states(run);
    return true;
}

double hp_run_ns(const struct hp_run *run, uint64_t ticks) { return (double)ticks * run->ns_per_tick; }

uint64_t hp_run_elapsed_ns(const struct hp_run *run) { return hp_units_round(hp_run_ns(run, run->elapsed_ticks)); }

uint64_t hp_run_started_ns(const struct hp_run *run, const struct hp_snapshot *session)
{
    return session->header.clock_start.ns - run->start_ns;
}

enum hp_snapshot_state hp_run_state(const struct hp_run *run)
{
    if (run->states[HP_SNAPSHOT_RUNNING] > 0)
        return HP_SNAPSHOT_RUNNING;
    return run->states[HP_SNAPSHOT_FINISHED] == run->count ? HP_SNAPSHOT_FINISHED : HP_SNAPSHOT_ENDED;
}

/* ---- src/sections/section.c ---------------------------------------------------------------------------------- */

/* What sections are made with. */

size_t hp_section_add_column(struct hotpath_section *section, const char *key, const char *title,
                             enum hotpath_unit unit, uint32_t traits, bool is_visible)
{
    for (size_t at = 0; at < section->column_count; at++)
        if (strcmp(section->columns[at].shown.key, key) == 0)
            return at;
    if (section->column_count == HP_MAX_COLUMNS)
        return HP_MAX_COLUMNS;
    section->columns[section->column_count] = (struct hp_column){
        .shown = {.key = key, .title = title, .unit = unit, .visible = is_visible}, .traits = traits};
    return section->column_count++;
}

static bool hp_section_equal_stem(const char *name, size_t length, const char *key, size_t stem_length)
{
    char bytes[64];
    struct hp_text stem;
    hp_text_init(&stem, bytes, sizeof bytes);
    hp_text_bytes(&stem, key, stem_length);
    return hp_text_equal_nocase(name, length, hp_text_end(&stem));
}

/* A column is asked for by its title or its key, with or without the unit: "self", "self_ns". */
static bool hp_section_is_called(const struct hp_column *column, const char *name, size_t length)
{
    const char *key = column->shown.key;
    const size_t key_length = strlen(key);
    if (hp_text_equal_nocase(name, length, column->shown.title) || hp_text_equal_nocase(name, length, key))
        return true;
    static const char *const units[] = {"_ns", "_bytes", "_usable_bytes", "_count", "_blocks"};
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++)
        if (hp_text_has_suffix(key, units[at]) && hp_section_equal_stem(name, length, key, key_length - strlen(units[at])))
            return true;
    return false;
}

size_t hp_section_find_column(const struct hotpath_section *section, const char *name, size_t length)
{
    size_t at = 0;
    while (at < section->column_count && !hp_section_is_called(&section->columns[at], name, length))
        at++;
    return at;
}

bool hp_section_has_column(const struct hotpath_section *section, const char *name, size_t length)
{
    return hp_section_find_column(section, name, length) < section->column_count;
}

void hp_section_show_columns(struct hotpath_results *results, struct hotpath_section *section)
{
    size_t length;
    for (const char *rest = results->settings->columns, *item;
         (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const bool is_all = hp_text_equal_nocase(item, length, "all");
        for (size_t at = 0; at < section->column_count; at++)
            if (is_all || hp_section_is_called(&section->columns[at], item, length))
                section->columns[at].shown.visible = 1;
    }
}

bool hp_section_make_rows(struct hotpath_results *results, struct hotpath_section *section, size_t count)
{
    struct hp_row *rows = hp_arena_take_array(results->arena, count + 1, sizeof *rows);
    struct hp_cell *cells = hp_arena_take_array(results->arena, count + 1, section->column_count * sizeof *cells);
    if (rows == NULL || cells == NULL)
        return false;
    for (size_t at = 0; at < count; at++)
        rows[at].cells = cells + at * section->column_count;
    section->rows = rows;
    section->row_count = count;
    return true;
}

static struct hp_cell *hp_section_cell_of(struct hp_row *row, size_t column)
{
    row->cells[column].has_value = true;
    return &row->cells[column];
}

void hp_section_set_text(struct hp_row *row, size_t column, const char *text) { hp_section_cell_of(row, column)->text = text; }

void hp_section_set_count(struct hp_row *row, size_t column, uint64_t count)
{
    hp_section_cell_of(row, column)->count = count;
}

void hp_section_set_number(struct hp_row *row, size_t column, double number)
{
    hp_section_cell_of(row, column)->number = number;
}

bool hp_section_set_location(struct hotpath_results *results, struct hp_row *row, size_t column,
                             const struct hp_location *location)
{
    char line[24];
    struct hp_text number;
    const size_t length = strlen(location->file);
    if (length == 0)
        return true; /* there is no place to name */
    hp_text_init(&number, line, sizeof line);
    hp_text_char(&number, ':');
    hp_text_u64(&number, location->line);
    char *text = hp_arena_take(results->arena, length + number.length + 1);
    if (text == NULL)
        return false;
    memcpy(text, location->file, length);
    memcpy(text + length, line, number.length);
    hp_section_cell_of(row, column)->text = text;
    row->cells[column].location = location;
    return true;
}

bool hp_section_set_thread(struct hotpath_results *results, struct hp_row *row, size_t column,
                           const struct hp_thread_label *thread)
{
    char bytes[96];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, thread->name);
    hp_text_string(&text, thread->name[0] != '\0' ? " " : "");
    if (results->run.count > 1) {
        hp_text_u64(&text, thread->pid);
        hp_text_char(&text, '/');
    }
    hp_text_u64(&text, thread->tid);
    if (thread->threads > 1) {
        hp_text_string(&text, " (");
        hp_text_u64(&text, thread->threads);
        hp_text_string(&text, " threads)");
    }
    const char *copy = hp_arena_copy(results->arena, bytes, text.length);
    if (copy == NULL)
        return false;
    hp_section_cell_of(row, column)->text = copy;
    row->cells[column].thread = thread;
    return true;
}

void hp_section_set_signed(struct hp_row *row, size_t column, int64_t number)
{
    hp_section_cell_of(row, column)->count = (uint64_t)number;
}

bool hp_unit_is_whole(uint32_t unit)
{
    return unit == HOTPATH_UNIT_COUNT || unit == HOTPATH_UNIT_BYTES || unit == HOTPATH_UNIT_SIGNED_COUNT ||
           unit == HOTPATH_UNIT_SIGNED_BYTES;
}

double hp_cell_number(const struct hp_cell *cell, uint32_t unit)
{
    if (unit == HOTPATH_UNIT_SIGNED_COUNT || unit == HOTPATH_UNIT_SIGNED_BYTES)
        return (double)(int64_t)cell->count;
    return hp_unit_is_whole(unit) ? (double)cell->count : cell->number;
}

void hp_section_add_total(struct hotpath_section *section, const char *key, enum hotpath_unit unit, uint64_t count)
{
    if (section->total_count < HP_MAX_TOTALS)
        section->totals[section->total_count++] =
            (struct hp_total){.key = key, .unit = unit, .cell = {.has_value = true, .count = count}};
}

void hp_section_note(struct hotpath_section *section, const char *line)
{
    if (section->note_count < HP_MAX_NOTES)
        section->notes[section->note_count++] = line;
}

void hp_results_warn_line(struct hotpath_results *results, const char *line)
{
    if (results->warning_count < HP_MAX_WARNINGS)
        results->warnings[results->warning_count++] = line;
}

void hp_results_warn(struct hotpath_results *results, const char *before, const char *text, size_t length,
                     const char *after)
{
    char bytes[512];
    struct hp_text line;
    if (results->warning_count == HP_MAX_WARNINGS)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, before);
    hp_text_string(&line, " '");
    hp_utf8_put_safe(&line, text, length);
    hp_text_string(&line, "'");
    hp_text_string(&line, after);
    hp_text_end(&line);
    const char *copy = hp_arena_copy(results->arena, bytes, line.length);
    if (copy != NULL)
        results->warnings[results->warning_count++] = copy;
}

/* ---- src/sections/site_table.c ------------------------------------------------------------------------------- */

/* The sites of all sessions of a run. */

#define HP_SITE_TABLE_NAME_MAX_BYTES 512u
#define HP_SITE_TABLE_SIGNATURE_MAX_BYTES 2048u
#define HP_SITE_TABLE_NAME_LEVELS 6u

/* ------------------------------------------------------------------------------------------- finding */

void hp_site_table_read(struct hp_site_table *table, const struct hp_snapshot *session, uint32_t index)
{
    table->session = session;
    table->session_index = index;
}

/*
 * A site whose record is not there, or not within the bytes, is known by its id. That means nothing to other
 * sessions, so those behind the first add whose it is.
 */
static const char *hp_site_table_name_unknown(struct hp_site_table *table, uint32_t id)
{
    char bytes[64];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, "<site ");
    hp_text_u64(&text, id);
    if (table->session_index > 0) {
        hp_text_string(&text, " of ");
        hp_text_u64(&text, table->session->header.pid);
    }
    hp_text_char(&text, '>');
    return hp_arena_copy(table->arena, bytes, text.length);
}

static const char *hp_site_table_describe_site(struct hp_site_table *table, struct hp_site_sums *site)
{
    struct hp_site stored;
    if (site->id == HP_SITE_OTHER)
        return "<other>";
    if (!hp_snapshot_site(table->session, site->id, &stored))
        return hp_site_table_name_unknown(table, site->id);
    site->kind = stored.kind;
    site->location.file = hp_snapshot_text(table->session, stored.file);
    site->location.function = hp_snapshot_text(table->session, stored.function);
    site->location.line = stored.line;
    const char *name = hp_snapshot_text(table->session, stored.name);
    return name[0] != '\0' ? name : hp_site_table_name_unknown(table, site->id);
}

static struct hp_site_sums *hp_site_table_new_site(struct hp_site_table *table, uint32_t id)
{
    struct hp_site_sums *site = hp_arena_take(table->arena, sizeof *site);
    if (site == NULL)
        return NULL;
    site->id = id;
    site->session = table->session_index;
    site->thread = table->thread;
    site->same = site;
    site->min = UINT64_MAX;
    site->location = (struct hp_location){.file = "", .function = ""};
    site->name = site->plain_name = hp_site_table_describe_site(table, site);
    if (site->name == NULL)
        return NULL;
    site->next = table->all;
    table->all = site;
    table->count++;
    return site;
}

/* Where the sums of a site are kept. NULL: no memory. */
static struct hp_site_sums **hp_site_table_site_place(struct hp_site_table *table, uint32_t id)
{
    if (id == HP_SITE_OTHER)
        return &table->other;
    struct hp_site_sums ***chunk = &table->chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == NULL)
        *chunk = hp_arena_take_array(table->arena, HP_SITES_PER_CHUNK, sizeof(void *));
    return *chunk == NULL ? NULL : &(*chunk)[id % HP_SITES_PER_CHUNK];
}

bool hp_site_table_has_room_for(uint32_t id) { return id < HP_MAX_SITES || id == HP_SITE_OTHER; }

struct hp_site_sums *hp_site_table_find(struct hp_site_table *table, uint32_t id)
{
    struct hp_site_sums **place = hp_site_table_site_place(table, id);
    if (place == NULL)
        return NULL;
    if (*place == NULL || (*place)->session != table->session_index || (*place)->thread != table->thread)
        *place = hp_site_table_new_site(table, id);
    return *place;
}

/* -------------------------------------------------------------------------------------------- unifying */

enum { HP_SITE_TABLE_NAME, HP_SITE_TABLE_FUNCTION, HP_SITE_TABLE_FILE_NAME, HP_SITE_TABLE_TEXTS };

/* A text of a site. Many sites may point at one long text, so texts are compared once and sites by number. */
struct hp_site_table_text {
    const char *bytes;
    const struct hp_site_table_text *first; /* of those at the same address */
    size_t rank;              /* equal for equal texts */
};

/* What a site is known by in every session. */
struct hp_site_table_identity {
    struct hp_site_sums *site;
    struct hp_site_table_text texts[HP_SITE_TABLE_TEXTS];
};

static int hp_site_table_compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t)((const struct hp_site_table_text *)a)->bytes, y = (uintptr_t)((const struct hp_site_table_text *)b)->bytes;
    return x == y ? 0 : x < y ? -1 : 1;
}

static int hp_site_table_compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct hp_site_table_text *)a)->bytes, ((const struct hp_site_table_text *)b)->bytes);
}

/* Leaves one text of each address at the beginning; returns how many. */
static size_t hp_site_table_drop_same_addresses(struct hp_site_table_text **texts, size_t count)
{
    size_t kept = 0;
    hp_sort(texts, count, hp_site_table_compare_addresses);
    for (size_t at = 0; at < count; at++) {
        if (kept == 0 || texts[kept - 1]->bytes != texts[at]->bytes)
            texts[kept++] = texts[at];
        texts[at]->first = texts[kept - 1];
    }
    return kept;
}

/* Texts in the bytes of a session do not overlap, so all comparisons together take n log n steps in their size. */
static void hp_site_table_rank_texts(struct hp_site_table_text **texts, size_t count)
{
    const size_t kept = hp_site_table_drop_same_addresses(texts, count);
    hp_sort(texts, kept, hp_site_table_compare_texts);
    for (size_t at = 1; at < kept; at++)
        texts[at]->rank = texts[at - 1]->rank + (hp_site_table_compare_texts(texts[at - 1], texts[at]) != 0);
}

static int hp_site_table_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

static int hp_site_table_compare_contents(const struct hp_site_table_identity *x, const struct hp_site_table_identity *y)
{
    int order = 0;
    for (size_t text = 0; order == 0 && text < HP_SITE_TABLE_TEXTS; text++)
        order = hp_site_table_by_number(x->texts[text].first->rank, y->texts[text].first->rank);
    if (order == 0)
        order = hp_site_table_by_number(x->site->location.line, y->site->location.line);
    return order != 0 ? order : hp_site_table_by_number(x->site->kind, y->site->kind);
}

static int hp_site_table_compare_identities(const void *a, const void *b)
{
    const struct hp_site_table_identity *x = a, *y = b;
    const int order = hp_site_table_compare_contents(x, y);
    return order != 0 ? order : hp_site_table_by_number(hp_site_number(x->site), hp_site_number(y->site));
}

/*
 * Sites with the same content, in order of their sessions. A session should have one of them; where it has several,
 * they are different sites all the same, and the nth of one session is the nth of any other. `kept` has room for all.
 * By thread there are several with one number, which are the same.
 */
static void hp_site_table_unify_equals(struct hp_site_table_identity **equals, size_t count, struct hp_site_sums **kept)
{
    size_t kept_count = 0, nth = 0;
    for (size_t at = 0; at < count; at++) {
        struct hp_site_sums *site = equals[at]->site;
        const struct hp_site_sums *before = equals[at > 0 ? at - 1 : 0]->site;
        nth = site->session == before->session ? nth + (site->id != before->id) : 0;
        if (nth == kept_count)
            kept[kept_count++] = site;
        site->same = kept[nth];
    }
}

static void hp_site_table_describe_all(const struct hp_site_table *table, struct hp_site_table_identity *identities, struct hp_site_table_identity **order,
                         struct hp_site_table_text **texts)
{
    size_t at = 0;
    for (struct hp_site_sums *site = table->all; site != NULL; site = site->next, at++) {
        struct hp_site_table_identity *identity = &identities[at];
        identity->site = site;
        identity->texts[HP_SITE_TABLE_NAME].bytes = site->plain_name;
        identity->texts[HP_SITE_TABLE_FUNCTION].bytes = site->location.function;
        identity->texts[HP_SITE_TABLE_FILE_NAME].bytes = site->location.file;
        order[at] = identity;
        for (size_t text = 0; text < HP_SITE_TABLE_TEXTS; text++)
            texts[HP_SITE_TABLE_TEXTS * at + text] = &identity->texts[text];
    }
}

bool hp_site_table_unify(struct hp_site_table *table)
{
    const size_t count = table->count;
    struct hp_site_table_identity *identities = hp_arena_take_array(table->arena, count + 1, sizeof *identities);
    struct hp_site_table_identity **order = hp_arena_take_array(table->arena, count + 1, sizeof(void *));
    struct hp_site_table_text **texts = hp_arena_take_array(table->arena, count + 1, HP_SITE_TABLE_TEXTS * sizeof(void *));
    struct hp_site_sums **kept = hp_arena_take_array(table->arena, count + 1, sizeof(void *));
    if (identities == NULL || order == NULL || texts == NULL || kept == NULL)
        return false;
    hp_site_table_describe_all(table, identities, order, texts);
    hp_site_table_rank_texts(texts, HP_SITE_TABLE_TEXTS * count);
    hp_sort(order, count, hp_site_table_compare_identities);
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && hp_site_table_compare_contents(order[from], order[to]) == 0)
            to++;
        hp_site_table_unify_equals(order + from, to - from, kept);
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- names */

static const char *hp_site_table_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static size_t hp_site_table_stem_length(const char *base)
{
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
}

/* " [constprop.0]": what the compiler put behind the name of a copy. */
static void hp_site_table_put_suffix(struct hp_text *text, const char *linked)
{
    const char *dot = strchr(linked, '.');
    if (dot == NULL)
        return;
    hp_text_string(text, " [");
    hp_text_string(text, dot + 1);
    hp_text_char(text, ']');
}

static const char *hp_site_table_keep_with_suffix(const struct hp_site_table *table, const char *name, const char *linked)
{
    char bytes[HP_SITE_TABLE_SIGNATURE_MAX_BYTES];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, name);
    hp_site_table_put_suffix(&text, linked);
    hp_text_end(&text);
    return hp_arena_copy(table->arena, bytes, text.length);
}

/* Functions that the compiler measures are known by the linker's names; those of others are what a user wrote. */
static bool hp_site_table_make_readable(const struct hp_site_table *table, struct hp_site_sums *site)
{
    char signature[HP_SITE_TABLE_SIGNATURE_MAX_BYTES], name[HP_SITE_TABLE_SIGNATURE_MAX_BYTES];
    const char *linked = site->plain_name;
    if (table->read_name == NULL || site->kind != HOTPATH_KIND_FUNCTION_ || !hp_cxx_is_mangled(linked) ||
        !table->read_name(linked, signature, sizeof signature))
        return true;
    hp_cxx_short_name(signature, name, sizeof name);
    site->signature = hp_site_table_keep_with_suffix(table, signature, linked);
    site->plain_name = hp_site_table_keep_with_suffix(table, name, linked);
    return site->signature != NULL && site->plain_name != NULL;
}

static const char *hp_site_table_long_name(const struct hp_site_sums *site)
{
    return site->signature != NULL ? site->signature : site->plain_name;
}

static void hp_site_table_put_stem(struct hp_text *text, const char *file)
{
    const char *base = hp_site_table_base_name(file);
    if (base[0] == '\0')
        return;
    hp_text_bytes(text, base, hp_site_table_stem_length(base));
    hp_text_char(text, ':');
}

static void hp_site_table_put_place(struct hp_text *text, const char *file, uint32_t line)
{
    if (file[0] == '\0')
        return;
    hp_text_string(text, file);
    hp_text_char(text, ':');
    hp_text_u64(text, line);
    hp_text_char(text, ' ');
}

/*
 * The name with more and more of what tells sites apart: alone, whole signature, file stem, file and line, whole path,
 * number. Where a level has nothing to add, the name stays as it is, and goes up another one.
 */
static bool hp_site_table_set_name(const struct hp_site_table *table, struct hp_site_sums *site)
{
    char bytes[HP_SITE_TABLE_NAME_MAX_BYTES];
    struct hp_text text;
    const struct hp_location *location = &site->location;
    hp_text_init(&text, bytes, sizeof bytes);
    switch (site->name_level) {
    case 0:
    case 1:
        break;
    case 2:
        hp_site_table_put_stem(&text, location->file);
        break;
    case 3:
        hp_site_table_put_place(&text, hp_site_table_base_name(location->file), location->line);
        break;
    default:
        if (site->name_level == HP_SITE_TABLE_NAME_LEVELS - 1) {
            hp_text_char(&text, '#');
            hp_text_u64(&text, hp_site_number(site));
            hp_text_char(&text, ' ');
        }
        hp_site_table_put_place(&text, location->file, location->line);
    }
    hp_text_string(&text, site->name_level == 0 ? site->plain_name : hp_site_table_long_name(site));
    hp_text_end(&text);
    site->name = hp_arena_copy(table->arena, bytes, text.length);
    return site->name != NULL;
}

static int hp_site_table_compare_names(const void *a, const void *b)
{
    return strcmp(((const struct hp_site_sums *)a)->name, ((const struct hp_site_sums *)b)->name);
}

/* Moves every site whose name another one has, too, up one level. Sets `ret_moved`; false: no memory. */
static bool hp_site_table_tell_apart(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count,
                       bool *ret_moved)
{
    hp_sort(sites, count, hp_site_table_compare_names);
    *ret_moved = false;
    for (size_t from = 0, to; from < count; from = to) {
        to = from + 1;
        while (to < count && hp_site_table_compare_names(sites[from], sites[to]) == 0)
            to++;
        for (size_t at = from; to - from > 1 && at < to; at++)
            if (sites[at]->name_level + 1 < HP_SITE_TABLE_NAME_LEVELS) {
                sites[at]->name_level++;
                *ret_moved = true;
            }
    }
    for (size_t at = 0; at < count; at++)
        if (!hp_site_table_set_name(table, sites[at]))
            return false;
    return true;
}

bool hp_site_table_name(const struct hp_site_table *table, struct hp_site_sums **sites, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (!hp_site_table_make_readable(table, sites[at]) || !hp_site_table_set_name(table, sites[at]))
            return false;
    bool has_moved = true;
    for (unsigned round = 0; has_moved && round < HP_SITE_TABLE_NAME_LEVELS; round++)
        if (!hp_site_table_tell_apart(table, sites, count, &has_moved))
            return false;
    return true;
}

/* ---- src/sections/slowest.c ---------------------------------------------------------------------------------- */

/*
 * The section `slowest`: the slowest call of a function and, below it, what ran inside that one call.
 *
 * Each thread keeps the slowest call it made itself; of all threads and processes the slowest one is shown. Functions are
 * those with the name that was asked for, or if there is none those whose name matches it as a pattern.
 *
 * A kept call names nodes of its thread's tree. Here these become a tree of their own: below the row of a node's parent,
 * or of the nearest ancestor that has a row, or else below the call itself. Only a row that comes earlier can be a
 * parent, so there are no circles, whatever the file says.
 */

/* Deeper paths are left out, as they are in the call tree. */
#define HP_SLOWEST_DEEPEST 200u
/* How far up an ancestor is looked for: those in between were left out for want of space. */
#define HP_SLOWEST_MOST_STEPS_UP 64u
#define HP_SLOWEST_NAME_COLUMNS 40u /* of a name within a sentence */
#define HP_SLOWEST_LINE_BYTES 240u

/* The call, or a path of calls inside it. */
struct hp_slowest_part {
    const struct hp_slow_row *stored; /* NULL: the call itself */
    const char *name;
    struct hp_slowest_part *parent;
    struct hp_slowest_part *first_child;
    struct hp_slowest_part *next_sibling;
    uint64_t heat; /* the smallest total on the way here */
    uint32_t parent_node;
    uint32_t depth;
    bool is_kept;
};

/* A function whose slowest call is asked for. */
struct hp_slowest_function {
    const struct hp_site_sums *site;
    const struct hp_snapshot *session; /* of its slowest call; NULL: none was kept */
    uint32_t session_index;
    uint32_t record_tid; /* of the thread record, to which the name belongs */
    char thread[sizeof((struct hp_thread *)0)->name];
    struct hotpath_stat_ stat;
    uint64_t ticks;
    struct hp_slow_copy copy;
    struct hp_slowest_part *parts;    /* the call, then its rows */
    struct hp_slowest_part **by_node; /* the rows by node and number */
    size_t part_count;
};

struct hp_slowest_columns {
    size_t name, calls, total, self, percent, note, started, ago, thread, tid, pid, alloc_bytes, alloc_count;
};

struct hp_slowest_view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    struct hp_slowest_columns columns;
    struct hp_slowest_function *functions; /* by number of the site */
    struct hp_slowest_function **order;    /* the slowest first */
    size_t count;               /* of functions that match */
    size_t shown;
    uint64_t bytes_left; /* for copies: no more than the sessions have in all, even if many claim the same */
    uint64_t now;
};

static int hp_slowest_by_number(uint64_t x, uint64_t y) { return x == y ? 0 : x < y ? -1 : 1; }

/* --------------------------------------------------------------------------------- which functions */

static int hp_slowest_compare_sites(const void *a, const void *b) { return hp_slowest_by_number(hp_site_number(a), hp_site_number(b)); }

/* Those with this very name, or those that match the pattern. */
static size_t hp_slowest_choose(const struct hp_profile *profile, const char *name, const struct hp_pattern *pattern,
                     const struct hp_site_sums **sites)
{
    size_t count = 0;
    for (size_t at = 0; at < profile->site_count; at++)
        if (strcmp(profile->sites[at]->name, name) == 0)
            sites[count++] = profile->sites[at];
    if (count > 0)
        return count;
    for (size_t at = 0; at < profile->site_count; at++)
        if (hp_pattern_matches(pattern, profile->sites[at]->name))
            sites[count++] = profile->sites[at];
    return count;
}

static bool hp_slowest_find_functions(struct hp_slowest_view *view)
{
    const struct hp_profile *profile = view->results->profile;
    struct hp_arena *arena = view->results->arena;
    const char *name = view->results->settings->slowest;
    struct hp_pattern *pattern = hp_arena_take(arena, sizeof *pattern);
    const struct hp_site_sums **sites = hp_arena_take_array(arena, profile->site_count + 1, sizeof(void *));
    if (pattern == NULL || sites == NULL)
        return false;
    if (name[0] != '\0' && hp_pattern_compile(pattern, name) == NULL)
        view->count = hp_slowest_choose(profile, name, pattern, sites);
    view->functions = hp_arena_take_array(arena, view->count + 1, sizeof *view->functions);
    view->order = hp_arena_take_array(arena, view->count + 1, sizeof(void *));
    if (view->functions == NULL || view->order == NULL)
        return false;
    hp_sort(sites, view->count, hp_slowest_compare_sites);
    for (size_t at = 0; at < view->count; at++) {
        view->functions[at].site = sites[at];
        view->order[at] = &view->functions[at];
    }
    return true;
}

static struct hp_slowest_function *hp_slowest_function_of(const struct hp_slowest_view *view, const struct hp_site_sums *site)
{
    size_t low = 0, high = view->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = hp_slowest_compare_sites(site, view->functions[middle].site);
        if (order == 0)
            return &view->functions[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------- which calls */

static void hp_slowest_take_if_slower(struct hp_slowest_function *function, const struct hp_stat_walk *walk)
{
    uint64_t ticks;
    if (!hp_snapshot_slowest_ticks(walk->snapshot, &walk->stat, &ticks) ||
        (function->session != NULL && ticks <= function->ticks))
        return;
    function->ticks = ticks;
    function->session = walk->snapshot;
    function->session_index = walk->session;
    function->record_tid = walk->thread.tid;
    memcpy(function->thread, walk->thread.name, sizeof function->thread);
    function->stat = walk->stat;
}

static uint64_t hp_slowest_longest(const struct hp_slowest_function *function)
{
    return function->session != NULL ? function->ticks : function->site->max;
}

static int hp_slowest_compare_functions(const void *a, const void *b)
{
    const struct hp_slowest_function *x = a, *y = b;
    const int order = hp_slowest_by_number(hp_slowest_longest(y), hp_slowest_longest(x));
    return order != 0 ? order : strcmp(x->site->name, y->site->name);
}

/* Copies the call, if it can be had. False: no memory. */
static bool hp_slowest_copy_call(struct hp_slowest_view *view, struct hp_slowest_function *function)
{
    if (function->session == NULL)
        return true;
    const size_t bytes = hp_snapshot_slowest_bytes(function->session, &function->stat);
    if (bytes > view->bytes_left) {
        function->session = NULL;
        return true;
    }
    view->bytes_left -= bytes;
    void *memory = hp_arena_take(view->results->arena, bytes + 8);
    if (memory == NULL)
        return false;
    if (!hp_snapshot_copy_slowest(function->session, &function->stat, memory, bytes, &function->copy))
        function->session = NULL;
    function->ticks = function->copy.call.ticks;
    return true;
}

static bool hp_slowest_find_calls(struct hp_slowest_view *view)
{
    const struct hp_run *run = &view->results->run;
    const uint32_t limit = view->results->settings->functions_limit;
    struct hp_stat_walk walk = {0};
    while (hp_stat_walk_next(&walk, view->results->profile)) {
        struct hp_slowest_function *function = walk.site != NULL ? hp_slowest_function_of(view, walk.site) : NULL;
        if (function != NULL)
            hp_slowest_take_if_slower(function, &walk);
    }
    hp_sort(view->order, view->count, hp_slowest_compare_functions);
    view->shown = limit != 0 && limit < view->count ? limit : view->count;
    for (size_t at = 0; at < run->count; at++) {
        view->bytes_left += run->sessions[at]->size;
        view->now = run->sessions[at]->now_ticks > view->now ? run->sessions[at]->now_ticks : view->now;
    }
    for (size_t at = 0; at < view->shown; at++)
        if (!hp_slowest_copy_call(view, view->order[at]))
            return false;
    return true;
}

/* ------------------------------------------------------------------------------ the tree of a call */

static int hp_slowest_compare_nodes(const void *a, const void *b)
{
    const struct hp_slowest_part *x = a, *y = b;
    if (x->stored->node != y->stored->node)
        return x->stored->node < y->stored->node ? -1 : 1;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* The first part with that node, or NULL. */
static struct hp_slowest_part *hp_slowest_part_of(const struct hp_slowest_function *function, uint32_t node)
{
    size_t low = 0, high = function->part_count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (function->by_node[middle]->stored->node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < function->part_count - 1 && function->by_node[low]->stored->node == node ? function->by_node[low]
                                                                                          : NULL;
}

static struct hp_slowest_part *hp_slowest_parent_of(const struct hp_slowest_function *function, const struct hp_slowest_part *part)
{
    struct hp_node above = {.parent = part->parent_node};
    for (unsigned steps = 0; steps < HP_SLOWEST_MOST_STEPS_UP && above.parent != function->copy.call.node; steps++) {
        struct hp_slowest_part *parent = hp_slowest_part_of(function, above.parent);
        if (parent != NULL && parent < part)
            return parent;
        if (!hp_snapshot_node(function->session, above.parent, &above))
            break;
    }
    return function->parts;
}

/* As the other sections call the site; one that came up since they were made has the name that the file gives it. */
static const char *hp_slowest_name_of(const struct hp_slowest_view *view, const struct hp_slowest_function *function, uint32_t id)
{
    struct hp_site stored;
    const struct hp_site_sums *site = hp_profile_site(view->results->profile, function->session_index, id);
    if (site != NULL)
        return site->name;
    const char *name =
        hp_snapshot_site(function->session, id, &stored) ? hp_snapshot_text(function->session, stored.name) : "";
    return name[0] != '\0' ? name : "<unknown>";
}

static void hp_slowest_set_part(const struct hp_slowest_view *view, const struct hp_slowest_function *function, struct hp_slowest_part *part)
{
    struct hp_node node = {.site = HP_SITE_ROOT};
    if (!hp_snapshot_node(function->session, part->stored->node, &node))
        node.parent = 0;
    part->name = hp_slowest_name_of(view, function, node.site);
    part->parent_node = node.parent;
}

/* Parents come first, so theirs is known when it is asked for. */
static void hp_slowest_link_parts(struct hp_slowest_function *function)
{
    for (size_t at = 1; at < function->part_count; at++) {
        struct hp_slowest_part *part = &function->parts[at];
        part->parent = hp_slowest_parent_of(function, part);
        part->depth = part->parent->depth + 1;
        part->heat = part->stored->total < part->parent->heat ? part->stored->total : part->parent->heat;
    }
}

static bool hp_slowest_make_parts(struct hp_slowest_view *view, struct hp_slowest_function *function)
{
    const size_t rows = function->session != NULL ? function->copy.row_count : 0;
    function->part_count = rows + 1;
    function->parts = hp_arena_take_array(view->results->arena, rows + 1, sizeof *function->parts);
    function->by_node = hp_arena_take_array(view->results->arena, rows + 1, sizeof(void *));
    if (function->parts == NULL || function->by_node == NULL)
        return false;
    function->parts[0] = (struct hp_slowest_part){.name = function->site->name, .heat = UINT64_MAX, .is_kept = true};
    for (size_t at = 0; at < rows; at++) {
        function->by_node[at] = &function->parts[at + 1];
        function->parts[at + 1].stored = &function->copy.rows[at];
        hp_slowest_set_part(view, function, &function->parts[at + 1]);
    }
    hp_sort(function->by_node, rows, hp_slowest_compare_nodes);
    hp_slowest_link_parts(function);
    return true;
}

static int hp_slowest_compare_heat(const void *a, const void *b)
{
    const struct hp_slowest_part *x = a, *y = b;
    const int order = hp_slowest_by_number(y->heat, x->heat);
    return order != 0 ? order : x == y ? 0 : x < y ? -1 : 1;
}

static int hp_slowest_compare_siblings(const void *a, const void *b)
{
    const struct hp_slowest_part *x = a, *y = b;
    int order = hp_slowest_by_number(y->stored->total, x->stored->total);
    if (order == 0)
        order = strcmp(x->name, y->name);
    return order != 0 ? order : x == y ? 0 : x < y ? -1 : 1;
}

/* Keeps the hottest, with all that is above them. Returns how many, without the call itself. */
static size_t hp_slowest_keep_hottest(const struct hp_slowest_view *view, struct hp_slowest_function *function)
{
    const uint32_t limit = view->results->settings->calltree_limit;
    const size_t rows = function->part_count - 1;
    struct hp_slowest_part **parts = function->by_node; /* not needed any more */
    size_t kept = 0;
    hp_sort(parts, rows, hp_slowest_compare_heat);
    for (size_t at = 0; at < rows && (limit == 0 || kept < limit); at++) {
        parts[at]->is_kept = parts[at]->depth < HP_SLOWEST_DEEPEST && parts[at]->parent->is_kept;
        kept += parts[at]->is_kept;
    }
    return kept;
}

/* Siblings are hung onto their parents from the shortest to the longest, each in front. */
static void hp_slowest_link_children(struct hp_slowest_function *function)
{
    const size_t rows = function->part_count - 1;
    hp_sort(function->by_node, rows, hp_slowest_compare_siblings);
    for (size_t at = rows; at-- > 0;) {
        struct hp_slowest_part *part = function->by_node[at];
        if (!part->is_kept)
            continue;
        part->next_sibling = part->parent->first_child;
        part->parent->first_child = part;
    }
}

/* The next part in order of the tree, parents first; without recursion, since the depth is the file's choice. */
static const struct hp_slowest_part *hp_slowest_next_in_order(const struct hp_slowest_part *part)
{
    if (part->first_child != NULL)
        return part->first_child;
    while (part != NULL && part->next_sibling == NULL)
        part = part->parent;
    return part != NULL ? part->next_sibling : NULL;
}

/* ---------------------------------------------------------------------------------------------- rows */

static void hp_slowest_describe(struct hp_slowest_view *view, bool hp_slowest_has_notes)
{
    struct hotpath_section *section = view->section;
    struct hp_slowest_columns *columns = &view->columns;
    const bool is_one = view->shown <= 1; /* what is said of it in the heading needs no column */
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    columns->calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns->total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS,
                                           HP_COLUMN_KEEP | HP_COLUMN_SAMPLED, true);
    columns->self = hp_section_add_column(section, "self_ns", "Self", HOTPATH_UNIT_NS, 0, true);
    columns->percent =
        hp_section_add_column(section, "percent_call", "% Call", HOTPATH_UNIT_PERCENT, HP_COLUMN_LATE, true);
    if (hp_run_has_allocs(&view->results->run)) {
        columns->alloc_bytes =
            hp_section_add_column(section, "alloc_bytes", "Allocated", HOTPATH_UNIT_BYTES, 0, true);
        columns->alloc_count = hp_section_add_column(section, "alloc_count", "Allocs", HOTPATH_UNIT_COUNT, 0, true);
    }
    columns->note = hp_section_add_column(section, "note", "Note", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_LATE | HP_COLUMN_ELASTIC, hp_slowest_has_notes);
    columns->started = hp_section_add_column(section, "started_ns", "Started", HOTPATH_UNIT_NS, 0, !is_one);
    columns->ago = hp_section_add_column(section, "ago_ns", "Ago", HOTPATH_UNIT_NS, 0, false);
    columns->thread = hp_section_add_column(section, "thread", "Thread", HOTPATH_UNIT_TEXT, 0, false);
    columns->tid = hp_section_add_column(section, "tid", "TID", HOTPATH_UNIT_COUNT, 0, !is_one);
    columns->pid = hp_section_add_column(section, "pid", "PID", HOTPATH_UNIT_COUNT, 0,
                                         !is_one && view->results->run.count > 1);
    hp_section_show_columns(view->results, section);
}

/* When it began, in ticks after the start of its session, and how long ago it ended. */
static uint64_t hp_slowest_started(const struct hp_slowest_function *function)
{
    const uint64_t start = function->session->header.clock_start.ticks;
    return function->copy.call.start > start ? function->copy.call.start - start : 0;
}

static uint64_t hp_slowest_ago(const struct hp_slowest_view *view, const struct hp_slowest_function *function)
{
    const uint64_t end = hp_kept_call_end(&function->copy.call);
    return view->now > end ? view->now - end : 0;
}

/* The name of the thread that made the call, or NULL: a record has the name of its latest thread only. */
static const char *hp_slowest_thread_of(const struct hp_slowest_function *function)
{
    return function->copy.call.tid == function->record_tid && function->thread[0] != '\0' ? function->thread : NULL;
}

static bool hp_slowest_set_note(const struct hp_slowest_view *view, struct hp_row *row, const char *note, uint32_t length)
{
    if (length == 0)
        return true;
    const char *copy = hp_arena_copy(view->results->arena, note, length);
    if (copy != NULL)
        hp_section_set_text(row, view->columns.note, copy);
    return copy != NULL;
}

static void hp_slowest_set_ns(const struct hp_slowest_view *view, struct hp_row *row, size_t column, uint64_t ticks)
{
    hp_section_set_number(row, column, hp_run_ns(&view->results->run, ticks));
}

static bool hp_slowest_fill_call(const struct hp_slowest_view *view, struct hp_row *row, const struct hp_slowest_function *function)
{
    const struct hp_slowest_columns *columns = &view->columns;
    hp_section_set_text(row, columns->name, function->site->name);
    hp_section_set_count(row, columns->calls, 1);
    hp_section_set_number(row, columns->percent, 100);
    if (function->session == NULL) {
        if (function->site->min <= function->site->max)
            hp_slowest_set_ns(view, row, columns->total, function->site->max);
        return true;
    }
    hp_slowest_set_ns(view, row, columns->total, function->copy.call.ticks);
    hp_slowest_set_ns(view, row, columns->self, function->copy.self);
    if (hp_run_has_allocs(&view->results->run)) {
        hp_section_set_count(row, columns->alloc_bytes, function->copy.call.alloc_bytes);
        hp_section_set_count(row, columns->alloc_count, function->copy.call.alloc_count);
    }
    hp_slowest_set_ns(view, row, columns->started, hp_slowest_started(function));
    hp_slowest_set_ns(view, row, columns->ago, hp_slowest_ago(view, function));
    if (hp_slowest_thread_of(function) != NULL)
        hp_section_set_text(row, columns->thread, function->thread);
    hp_section_set_count(row, columns->tid, function->copy.call.tid);
    hp_section_set_count(row, columns->pid, function->session->header.pid);
    return hp_slowest_set_note(view, row, function->copy.call.note, function->copy.call.note_length);
}

/* What is inside cannot have taken longer, but files can say so. */
static double hp_slowest_percent_of(uint64_t ticks, uint64_t whole)
{
    return ticks < whole ? 100 * (double)ticks / (double)whole : 100;
}

static bool hp_slowest_fill_part(const struct hp_slowest_view *view, struct hp_row *row, const struct hp_slowest_function *function,
                      const struct hp_slowest_part *part)
{
    const struct hp_slowest_columns *columns = &view->columns;
    const struct hp_slow_row *stored = part->stored;
    hp_section_set_text(row, columns->name, part->name);
    hp_section_set_count(row, columns->calls, stored->calls);
    hp_slowest_set_ns(view, row, columns->total, stored->total);
    hp_slowest_set_ns(view, row, columns->self, hp_sums_self(&(struct hp_sums){.self = stored->self}));
    if (function->copy.call.ticks > 0)
        hp_section_set_number(row, columns->percent, hp_slowest_percent_of(stored->total, function->copy.call.ticks));
    row->depth = part->depth;
    row->is_sampled = stored->is_sampled != 0;
    return hp_slowest_set_note(view, row, function->copy.notes + stored->note, stored->note_length);
}

static bool hp_slowest_has_notes(const struct hp_slowest_function *function)
{
    bool has = function->session != NULL && function->copy.call.note_length > 0;
    for (size_t at = 1; !has && at < function->part_count; at++)
        has = function->parts[at].is_kept && function->parts[at].stored->note_length > 0;
    return has;
}

static bool hp_slowest_fill_rows(struct hp_slowest_view *view)
{
    size_t count = 0, row = 0;
    bool has_note = false;
    for (size_t at = 0; at < view->shown; at++) {
        struct hp_slowest_function *function = view->order[at];
        if (!hp_slowest_make_parts(view, function))
            return false;
        count += 1 + hp_slowest_keep_hottest(view, function);
        hp_slowest_link_children(function);
        has_note |= hp_slowest_has_notes(function);
        view->section->total_rows += function->part_count;
    }
    view->section->total_rows += view->count - view->shown;
    hp_slowest_describe(view, has_note);
    if (!hp_section_make_rows(view->results, view->section, count))
        return false;
    for (size_t at = 0; at < view->shown; at++)
        for (const struct hp_slowest_part *part = view->order[at]->parts; part != NULL; part = hp_slowest_next_in_order(part), row++) {
            struct hp_row *to = &view->section->rows[row];
            if (part->stored == NULL ? !hp_slowest_fill_call(view, to, view->order[at])
                                     : !hp_slowest_fill_part(view, to, view->order[at], part))
                return false;
        }
    return true;
}

/* ------------------------------------------------------------------------------------------ sentences */

static void hp_slowest_put_name(struct hp_text *line, const char *name)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text safe;
    hp_text_init(&safe, bytes, sizeof bytes);
    hp_utf8_put_safe(&safe, name, strlen(name));
    hp_utf8_put_fitted(line, bytes, safe.length, HP_SLOWEST_NAME_COLUMNS);
}

/* A line that was put together, or where that did not go another one. */
static const char *hp_slowest_keep_line(const struct hp_slowest_view *view, struct hp_text *line, const char *otherwise)
{
    const char *copy = line->is_cut ? NULL : hp_arena_copy(view->results->arena, line->bytes, line->length);
    return copy != NULL ? copy : otherwise;
}

/* Where and when the one call was that is shown. */
static const char *hp_slowest_description(const struct hp_slowest_view *view)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text line;
    const struct hp_slowest_function *function = view->order[0];
    const struct hp_run *run = &view->results->run;
    if (view->shown != 1 || function->session == NULL)
        return view->shown > 1 ? "The slowest call of each of these functions." : "The slowest call.";
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "The slowest call of ");
    hp_slowest_put_name(&line, function->site->name);
    hp_text_string(&line, ": ");
    hp_units_ns(&line, hp_run_ns(run, hp_slowest_started(function)));
    hp_text_string(&line, " after the start, ");
    hp_units_ns(&line, hp_run_ns(run, hp_slowest_ago(view, function)));
    hp_text_string(&line, hp_run_state(run) == HP_SNAPSHOT_RUNNING ? " ago, thread " : " before the end, thread ");
    hp_text_u64(&line, function->copy.call.tid);
    if (hp_slowest_thread_of(function) != NULL) {
        hp_text_string(&line, " (");
        hp_utf8_put_safe(&line, function->thread, strlen(function->thread));
        hp_text_char(&line, ')');
    }
    hp_text_char(&line, '.');
    return hp_slowest_keep_line(view, &line, "The slowest call.");
}

static const char *hp_slowest_if_empty(const struct hp_slowest_view *view)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text line;
    const char *name = view->results->settings->slowest;
    if (name[0] == '\0')
        return "no function was named: --slowest NAME or HOTPATH_SLOWEST=NAME shows its slowest call and what was "
               "inside";
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "no function that was called matches '");
    hp_slowest_put_name(&line, name);
    hp_text_char(&line, '\'');
    return hp_slowest_keep_line(view, &line, "no function that was called matches the name");
}

static void hp_slowest_note_not_kept(const struct hp_slowest_view *view)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text line;
    const struct hp_slowest_function *missing = NULL;
    size_t count = 0;
    for (size_t at = 0; at < view->shown; at++)
        if (view->order[at]->session == NULL) {
            missing = view->order[at];
            count++;
        }
    if (count == 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "what was inside was not kept: calls of ");
    if (count == 1)
        hp_slowest_put_name(&line, missing->site->name);
    else
        hp_text_u64(&line, count);
    hp_text_string(&line, count == 1 ? "" : " functions");
    hp_text_string(&line, " are too short to be looked into, or are not over, or sampling was on");
    hp_section_note(view->section, hp_slowest_keep_line(view, &line, "what was inside was not kept"));
}

static void hp_slowest_note_left_out(const struct hp_slowest_view *view)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text line;
    uint64_t count = 0;
    for (size_t at = 0; at < view->shown; at++)
        count += view->order[at]->session != NULL ? view->order[at]->copy.rows_left_out : 0;
    if (count == 0)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_u64(&line, count);
    hp_text_string(&line, count == 1 ? " more path of calls inside was not kept: the shortest"
                                     : " more paths of calls inside were not kept: the shortest ones");
    hp_section_note(view->section, hp_slowest_keep_line(view, &line, "more was inside and was not kept"));
}

/* The first of those whose longest call is another one than the one that is shown. */
static void hp_slowest_note_slower(const struct hp_slowest_view *view)
{
    char bytes[HP_SLOWEST_LINE_BYTES];
    struct hp_text line;
    size_t at = 0;
    while (at < view->shown &&
           (view->order[at]->session == NULL || view->order[at]->site->max <= view->order[at]->copy.call.ticks))
        at++;
    if (at == view->shown)
        return;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "a call of ");
    hp_slowest_put_name(&line, view->order[at]->site->name);
    hp_text_string(&line, " took longer, ");
    hp_units_ns(&line, hp_run_ns(&view->results->run, view->order[at]->site->max));
    hp_text_string(&line, ", and is not over or was not looked into");
    hp_section_note(view->section, hp_slowest_keep_line(view, &line, "other calls took longer and were not looked into"));
}

static void hp_slowest_note_sampled(struct hotpath_section *section)
{
    bool has_sampled = false;
    for (size_t at = 0; at < section->row_count; at++)
        has_sampled |= section->rows[at].is_sampled;
    if (has_sampled)
        hp_section_note(section, "^ too small to be timed each time: scaled up from the calls that were");
}

/* ------------------------------------------------------------------------------------------- section */

static bool hp_slowest_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_slowest_view view = {.results = results, .section = section};
    section->is_tree = true;
    section->percent_of = "call";
    if (!hp_slowest_find_functions(&view) || !hp_slowest_find_calls(&view) || !hp_slowest_fill_rows(&view))
        return false;
    section->description = hp_slowest_description(&view);
    section->if_empty = hp_slowest_if_empty(&view);
    hp_slowest_note_not_kept(&view);
    hp_slowest_note_left_out(&view);
    hp_slowest_note_slower(&view);
    hp_slowest_note_sampled(section);
    return true;
}

const struct hp_section_type hotpath_section_slowest_ = {.name = "slowest", .is_on_request = true, .fill = hp_slowest_fill};

/* ---- src/sections/stat_walk.c -------------------------------------------------------------------------------- */

/* All stats of a run. */

static bool hp_stat_walk_next_thread(struct hp_stat_walk *walk, const struct hp_run *run)
{
    while (walk->session < run->count) {
        walk->snapshot = run->sessions[walk->session];
        if (hp_snapshot_next_thread(walk->snapshot, &walk->threads, &walk->thread)) {
            hp_walk_rewind(&walk->stats);
            return walk->is_in_thread = true;
        }
        *walk = (struct hp_stat_walk){.session = walk->session + 1};
    }
    return false;
}

bool hp_stat_walk_next(struct hp_stat_walk *walk, const struct hp_profile *profile)
{
    while (!walk->is_in_thread || !hp_snapshot_next_stat(walk->snapshot, &walk->thread, &walk->stats, &walk->stat))
        if (!hp_stat_walk_next_thread(walk, profile->run))
            return false;
    hp_walk_rewind(&walk->calls);
    walk->site = hp_profile_site(profile, walk->session, walk->stat.site);
    return true;
}

const char *hp_stat_walk_thread_name(const struct hp_stat_walk *walk, uint32_t tid)
{
    return walk->thread.tid == tid && walk->thread.name[0] != '\0' ? walk->thread.name : NULL;
}

/* ---- src/sections/thread_list.c ------------------------------------------------------------------------------ */

/* The threads of a session. */

static int hp_thread_list_compare_threads(const void *a, const void *b)
{
    const struct hp_listed_thread *x = a, *y = b;
    if (x->record.tid != y->record.tid)
        return x->record.tid < y->record.tid ? -1 : 1;
    return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

bool hp_thread_list_read(struct hp_thread_list *list, struct hp_arena *arena, const struct hp_snapshot *session)
{
    struct hp_listed_thread *first = NULL;
    struct hp_thread record;
    struct hp_walk walk = {0};
    *list = (struct hp_thread_list){.arena = arena, .session = session};
    for (; hp_snapshot_next_thread(session, &walk, &record); list->count++) {
        struct hp_listed_thread *thread = hp_arena_take(arena, sizeof *thread);
        if (thread == NULL)
            return false;
        *thread = (struct hp_listed_thread){first, record, walk.offset};
        first = thread;
    }
    list->all = hp_arena_take_array(arena, list->count + 1, sizeof(void *));
    if (list->all == NULL)
        return false;
    for (size_t at = 0; first != NULL; first = first->next)
        list->all[at++] = first;
    hp_sort(list->all, list->count, hp_thread_list_compare_threads);
    return true;
}

size_t hp_thread_list_end(const struct hp_thread_list *list, size_t from)
{
    size_t to = from + 1;
    while (to < list->count && list->all[from]->record.tid == list->all[to]->record.tid)
        to++;
    return to;
}

/* Records of handlers have no name, and are not used by more threads. */
const struct hp_thread_label *hp_thread_list_label(const struct hp_thread_list *list, size_t from, size_t to,
                                                   uint32_t number)
{
    struct hp_thread_label *label = hp_arena_take(list->arena, sizeof *label);
    if (label == NULL)
        return NULL;
    *label = (struct hp_thread_label){
        .name = "", .pid = list->session->header.pid, .tid = list->all[from]->record.tid, .number = number};
    for (size_t at = from; at < to; at++) {
        const struct hp_thread *record = &list->all[at]->record;
        label->name = label->name[0] != '\0' ? label->name : record->name;
        label->threads = label->threads > record->generation ? label->threads : record->generation;
    }
    return label;
}

/* ---- src/sections/timing.c ----------------------------------------------------------------------------------- */

/*
 * The section `timing`: one row per site, or per site and thread, and the time its calls took.
 *
 * Ranked by total time with the main row on top, or by self time when HOTPATH_TIME_EXCLUSIVE is set. Then
 * percentiles are left out: they are known of whole calls only. Another order (order.h) may be that of a number which is
 * known only when a row is filled, so then all rows are, and the limit comes last.
 */

/* Rows where measuring may be more than this part of the total are marked. */
#define HP_TIMING_ROUGH_PART 0.1

struct hp_timing_columns {
    size_t name, thread, calls, average, total, percent, self, least, most, threads, location, open, overhead,
        timed, sampling;
    size_t percentiles[HP_MAX_PERCENTILES];
    size_t percentile_count;
};

struct hp_timing_view {
    struct hotpath_results *results;
    struct hotpath_section *section;
    const struct hp_profile *profile; /* whose sites are the rows: that of the results, or one by thread */
    struct hp_timing_columns columns;
    struct hp_durations *durations;
    uint64_t whole;
};

/* ------------------------------------------------------------------------------------------- columns */

static bool hp_timing_add_percentile(struct hp_timing_view *view, double percentile)
{
    struct hp_percentile_names names;
    if (!hp_percentile_name(view->results->arena, percentile, "_ns", "", &names))
        return false;
    view->columns.percentiles[view->columns.percentile_count++] =
        hp_section_add_column(view->section, names.key, names.title, HOTPATH_UNIT_NS, HP_COLUMN_SAMPLED, true);
    return true;
}

static bool hp_timing_describe(struct hp_timing_view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_settings *settings = view->results->settings;
    struct hp_timing_columns *columns = &view->columns;
    columns->name = hp_section_add_column(section, "name", "Function", HOTPATH_UNIT_TEXT,
                                          HP_COLUMN_NAME | HP_COLUMN_KEEP, true);
    if (settings->by == HP_BY_THREAD)
        columns->thread = hp_section_add_column(section, "thread", "Thread", HOTPATH_UNIT_TEXT,
                                                HP_COLUMN_KEEP | HP_COLUMN_THREAD, true);
    columns->calls = hp_section_add_column(section, "calls", "Calls", HOTPATH_UNIT_COUNT, HP_COLUMN_KEEP, true);
    columns->average = hp_section_add_column(section, "avg_ns", "Avg", HOTPATH_UNIT_NS, 0, true);
    for (uint32_t at = 0; !settings->time_exclusive && at < settings->percentile_count && at < HP_MAX_PERCENTILES;
         at++)
        if (!hp_timing_add_percentile(view, settings->percentiles[at]))
            return false;
    columns->total = hp_section_add_column(section, "total_ns", "Total", HOTPATH_UNIT_NS,
                                           HP_COLUMN_KEEP | HP_COLUMN_ROUGH, true);
    columns->percent = hp_section_add_column(section, "percent_total", "% Total", HOTPATH_UNIT_PERCENT,
                                             HP_COLUMN_LATE | HP_COLUMN_SAMPLED, true);
    columns->self = hp_section_add_column(section, "self_ns", "Self", HOTPATH_UNIT_NS, 0, false);
    if (!settings->time_exclusive) {
        columns->least = hp_section_add_column(section, "min_ns", "Min", HOTPATH_UNIT_NS, 0, false);
        columns->most = hp_section_add_column(section, "max_ns", "Max", HOTPATH_UNIT_NS, 0, false);
    }
    columns->threads = hp_section_add_column(section, "threads", "Threads", HOTPATH_UNIT_COUNT, 0, false);
    columns->location =
        hp_section_add_column(section, "location", "Location", HOTPATH_UNIT_TEXT, HP_COLUMN_LOCATION, false);
    columns->open = hp_section_add_column(section, "open", "Open", HOTPATH_UNIT_COUNT, 0, false);
    columns->overhead = hp_section_add_column(section, "overhead_max_ns", "Overhead", HOTPATH_UNIT_NS, 0, false);
    columns->timed = hp_section_add_column(section, "timed", "Timed", HOTPATH_UNIT_COUNT, 0, false);
    columns->sampling = hp_section_add_column(section, "sampling", "Sampling", HOTPATH_UNIT_TEXT, 0, false);
    hp_section_show_columns(view->results, section);
    return hp_order_choose(view->results, section, columns->total, columns->percent);
}

/* ---------------------------------------------------------------------------------------------- rows */

static int hp_timing_by_time(uint64_t a, uint64_t b, const struct hp_site_sums *x, const struct hp_site_sums *y)
{
    if (a != b)
        return a > b ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    if (hp_site_number(x) != hp_site_number(y))
        return hp_site_number(x) < hp_site_number(y) ? -1 : 1;
    const uint32_t xt = hp_thread_number(x), yt = hp_thread_number(y);
    return xt == yt ? 0 : xt < yt ? -1 : 1;
}

static int hp_timing_compare_totals(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return hp_timing_by_time(x->sums.total, y->sums.total, x, y);
}

static int hp_timing_compare_selfs(const void *a, const void *b)
{
    const struct hp_site_sums *x = a, *y = b;
    return hp_timing_by_time(hp_sums_self(&x->sums), hp_sums_self(&y->sums), x, y);
}

/* The row of the main function, where the run has one; by thread, that of the first process. */
static bool hp_timing_is_main_row(const struct hp_timing_view *view, const struct hp_site_sums *site)
{
    return view->results->profile->main != NULL && site->is_main && (site->thread == NULL || site->session == 0);
}

/* Adds the sites that may be shown, either main rows or others. */
static size_t hp_timing_add_sites(const struct hp_timing_view *view, const struct hp_site_sums **sites, size_t count, bool are_main)
{
    const struct hotpath_results *results = view->results;
    for (size_t at = 0; at < view->profile->site_count; at++) {
        const struct hp_site_sums *site = view->profile->sites[at];
        if (hp_timing_is_main_row(view, site) == are_main && !(results->settings->exclude_wrapper && site->is_main) &&
            hp_results_show(results, site))
            sites[count++] = site;
    }
    return count;
}

/* The sites that may be shown, in order. The main row is the measure of all others and stands first. */
static size_t hp_timing_rank(const struct hp_timing_view *view, const struct hp_site_sums **sites)
{
    const bool is_exclusive = view->results->settings->time_exclusive;
    const size_t mains = hp_timing_add_sites(view, sites, 0, true), count = hp_timing_add_sites(view, sites, mains, false);
    const size_t first = is_exclusive ? 0 : mains;
    hp_sort(sites, first, hp_timing_compare_totals);
    hp_sort(sites + first, count - first, is_exclusive ? hp_timing_compare_selfs : hp_timing_compare_totals);
    return count;
}

/* Leaves out what has too small a share, but never the main row. */
static size_t hp_timing_drop_small(const struct hp_timing_view *view, const struct hp_site_sums **sites, size_t count)
{
    const struct hp_settings *settings = view->results->settings;
    size_t kept = 0;
    for (size_t at = 0; at < count; at++) {
        const struct hp_sums *sums = &sites[at]->sums;
        const uint64_t ticks = settings->time_exclusive ? hp_sums_self(sums) : sums->total;
        if (hp_timing_is_main_row(view, sites[at]) || !hp_profile_is_small(ticks, view->whole, settings))
            sites[kept++] = sites[at];
    }
    return kept;
}

/* Cuts to the limit, from which the main row is exempt wherever it stands. */
static size_t hp_timing_cut(const struct hp_timing_view *view, const struct hp_site_sums **sites, size_t count)
{
    const uint32_t limit = view->results->settings->functions_limit;
    if (limit == 0 || limit == HOTPATH_NO_LIMIT)
        return count;
    size_t kept = 0, others = 0;
    for (size_t at = 0; at < count; at++)
        if (hp_timing_is_main_row(view, sites[at]) || others++ < limit)
            sites[kept++] = sites[at];
    return kept;
}

static void hp_timing_set_ticks(struct hp_timing_view *view, struct hp_row *row, size_t column, double ticks)
{
    hp_section_set_number(row, column, ticks * view->results->run.ns_per_tick);
}

static void hp_timing_fill_durations(struct hp_timing_view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct hp_timing_columns *columns = &view->columns;
    const struct hp_settings *settings = view->results->settings;
    double ticks;
    hp_profile_durations(site, view->durations);
    const uint64_t timed = view->durations->timed;
    const uint64_t spent =
        settings->time_exclusive ? hp_sums_self(&site->sums) : site->sums.total + site->sums.nested;
    /* What was spent is scaled up, so all calls share it. */
    if (timed > 0)
        hp_timing_set_ticks(view, row, columns->average, (double)spent / (double)(timed + site->sums.untimed));
    hp_section_set_count(row, columns->timed, timed);
    if (settings->time_exclusive)
        return;
    for (size_t at = 0; at < columns->percentile_count; at++)
        if (hp_durations_percentile(view->durations, settings->percentiles[at], &ticks))
            hp_timing_set_ticks(view, row, columns->percentiles[at], ticks);
    if (hp_durations_percentile(view->durations, 0, &ticks))
        hp_timing_set_ticks(view, row, columns->least, ticks);
    if (hp_durations_percentile(view->durations, 100, &ticks))
        hp_timing_set_ticks(view, row, columns->most, ticks);
}

static bool hp_timing_fill_row(struct hp_timing_view *view, struct hp_row *row, const struct hp_site_sums *site)
{
    const struct hp_timing_columns *columns = &view->columns;
    const struct hp_profile *profile = view->results->profile;
    const uint64_t self = hp_sums_self(&site->sums);
    const uint64_t total = view->results->settings->time_exclusive ? self : site->sums.total;
    const double overhead = hp_profile_overhead_ns(profile, site);
    hp_section_set_text(row, columns->name, site->name);
    hp_section_set_count(row, columns->calls, site->sums.calls);
    hp_timing_set_ticks(view, row, columns->total, (double)total);
    if (view->whole > 0)
        hp_section_set_number(row, columns->percent, 100 * (double)total / (double)view->whole);
    hp_timing_set_ticks(view, row, columns->self, (double)self);
    hp_section_set_count(row, columns->threads, site->threads);
    hp_section_set_count(row, columns->open, site->sums.open);
    hp_section_set_number(row, columns->overhead, overhead);
    hp_section_set_text(row, columns->sampling,
                        site->is_limited         ? "limited"
                        : site->sums.untimed > 0 ? "sampled"
                                                 : "none");
    hp_timing_fill_durations(view, row, site);
    row->is_main = hp_timing_is_main_row(view, site);
    row->is_open = site->sums.open > 0;
    row->is_sampled = site->sums.untimed > 0;
    row->is_rough = overhead > HP_TIMING_ROUGH_PART * hp_run_ns(profile->run, site->sums.total);
    if (site->thread != NULL && !hp_section_set_thread(view->results, row, columns->thread, site->thread))
        return false;
    return hp_section_set_location(view->results, row, columns->location, &site->location);
}

static bool hp_timing_has_shared_thread(const struct hotpath_section *section, const struct hp_timing_columns *columns)
{
    for (size_t at = 0; at < section->row_count; at++)
        if (section->rows[at].cells[columns->thread].thread->threads > 1)
            return true;
    return false;
}

static void hp_timing_add_notes(const struct hp_timing_view *view)
{
    struct hotpath_section *section = view->section;
    const struct hp_profile *profile = view->results->profile;
    bool has_open = false, has_rough = false, has_marked = false;
    for (size_t at = 0; at < section->row_count; at++) {
        has_open |= section->rows[at].is_open;
        has_rough |= section->rows[at].is_rough;
        has_marked |= section->rows[at].is_sampled;
    }
    if (has_open)
        hp_section_note(section, hp_profile_open_note(profile));
    if (has_marked && profile->has_sampled)
        hp_section_note(section, "^ sampled: all calls are counted, some are timed; times are scaled up");
    if (has_marked && profile->has_limited)
        hp_section_note(section, "^ where measuring would take longer than the function, one call in 256 is timed");
    if (has_rough)
        hp_section_note(section, "~ measuring itself may be more than 10 % of this time");
    if (view->results->settings->by == HP_BY_THREAD && hp_timing_has_shared_thread(section, &view->columns))
        hp_section_note(section,
                        "(n threads) that ran one after the other are counted together; the number is that of "
                        "the last");
    const char *share_note = hp_profile_share_note(profile, section->percent_of);
    if (share_note != NULL)
        hp_section_note(section, share_note);
}

/* ------------------------------------------------------------------------------------------- section */

static const char *hp_timing_describe_rows(const struct hp_settings *settings)
{
    if (settings->by == HP_BY_THREAD)
        return settings->time_exclusive
                   ? "Function execution time, thread by thread, without measured functions inside."
                   : "Function execution time, thread by thread.";
    return settings->time_exclusive ? "Function execution time, without measured functions inside."
                                    : "Function execution time.";
}

static struct hp_timing_view *hp_timing_make_view(struct hotpath_results *results, struct hotpath_section *section)
{
    struct hp_timing_view *view = hp_arena_take(results->arena, sizeof *view);
    if (view == NULL)
        return NULL;
    *view = (struct hp_timing_view){.results = results, .section = section, .profile = hp_results_profile_of_rows(results)};
    view->durations = hp_arena_take(results->arena, sizeof *view->durations);
    view->whole = hp_profile_whole(results->profile, results->settings, &section->percent_of);
    return view->profile != NULL && view->durations != NULL && hp_timing_describe(view) ? view : NULL;
}

static bool hp_timing_fill(struct hotpath_results *results, struct hotpath_section *section)
{
    const struct hp_profile *profile = results->profile;
    struct hp_timing_view *view = hp_timing_make_view(results, section);
    const struct hp_site_sums **sites =
        view != NULL ? hp_arena_take_array(results->arena, view->profile->site_count + 1, sizeof(void *)) : NULL;
    if (sites == NULL)
        return false;
    section->description = hp_timing_describe_rows(results->settings);
    section->main = profile->main != NULL ? profile->main->name : NULL;
    section->if_empty =
        profile->site_count > 0
            ? "no function matches the focus"
            : "nothing was measured: put HOTPATH_MEASURE() into functions, or HOTPATH_BLOCK(\"label\") "
              "into blocks, that run while the session is active";
    section->total_rows = hp_timing_rank(view, sites);
    size_t count = hp_timing_drop_small(view, sites, section->total_rows);
    if (count == 0 && section->total_rows > 0)
        section->if_empty = "every function has a smaller share than HOTPATH_MIN_PERCENT";
    if (section->order.is_usual)
        count = hp_timing_cut(view, sites, count);
    if (!hp_section_make_rows(results, section, count))
        return false;
    for (size_t at = 0; at < section->row_count; at++)
        if (!hp_timing_fill_row(view, &section->rows[at], sites[at]))
            return false;
    if (!hp_order_apply(results, section, results->settings->functions_limit))
        return false;
    hp_timing_add_notes(view);
    return true;
}

const struct hp_section_type hotpath_section_timing_ = {.name = "timing", .alias = "functions-timing", .fill = hp_timing_fill};

/* ---- src/sections/trust.c ------------------------------------------------------------------------------------ */

/* How far a report can be trusted. */

const struct hp_loss_words hotpath_loss_words_[] = {
    [HP_LOSS_ZONES] = {"zones", "zone was not recorded: no space for its thread",
                       "zones were not recorded: no space for their threads"},
    [HP_LOSS_NODES] = {"nodes", "zone was counted under <other>: no space in the call tree",
                       "zones were counted under <other>: no space in the call tree"},
    [HP_LOSS_BUCKETS] = {"buckets", "duration is in no percentile: no space for it",
                         "durations are in no percentile: no space for them"},
    [HP_LOSS_SITES] = {"sites", "site was not recorded: no space for it",
                       "sites were not recorded: no space for them"},
    [HP_LOSS_ABANDONED] = {"abandoned", "zone was left by longjmp or the like: timed up to its last sign",
                           "zones were left by longjmp or the like: timed up to their last sign"},
    [HP_LOSS_FOREIGN] = {"foreign", "zone was closed on another thread, or twice: not timed",
                         "zones were closed on another thread, or twice: not timed"},
    [HP_LOSS_DEPTH] = {"depth", "zone was nested too deep: not recorded",
                       "zones were nested too deep: not recorded"},
    [HP_LOSS_CLOCK] = {"clock", "duration was below zero: counted as zero",
                       "durations were below zero: counted as zero"},
    [HP_LOSS_CHILDREN] = {"children", "forked child could not write a session file",
                          "forked children could not write a session file"},
    [HP_LOSS_CALLS] = {"calls", "call was not kept: no space for it", "calls were not kept: no space for them"},
    [HP_LOSS_ALLOCS] = {"allocations", "call has its allocations in no row: no space for them",
                        "calls have their allocations in no row: no space for them"},
    [HP_LOSS_SAMPLES] = {"samples", "sample of processor time was counted as outside: no space for its zone",
                         "samples of processor time were counted as outside: no space for their zones"},
};

const size_t hotpath_loss_count_ = sizeof hotpath_loss_words_ / sizeof hotpath_loss_words_[0];

const char *hp_trust_clock_name(uint32_t kind)
{
    switch (kind) {
    case HP_CLOCK_MONOTONIC:
        return "monotonic";
    case HP_CLOCK_TSC:
        return "tsc";
    case HP_CLOCK_CNTVCT:
        return "cntvct";
    case HP_CLOCK_RDTIME:
        return "rdtime";
    default:
        return "unknown";
    }
}

static double hp_trust_largest(double a, double b) { return a > b ? a : b; }

/*
 * How many zones delayed the run. Threads measure at the same time, so what delays the run is the busiest of them, or
 * all together where there are fewer cores than threads: the larger of the two. Processes may also wait for one
 * another, and then the delays add up as the times do: the run loses the share that its processes lose on average.
 */
static double hp_trust_calls_in_the_way(const struct hotpath_results *results)
{
    const struct hp_run *run = &results->run;
    const double cores = run->sessions[0]->header.cores > 0 ? run->sessions[0]->header.cores : 1;
    double all = 0, busiest = 0, sum_of_busiest = 0, elapsed = 0;
    for (size_t at = 0; at < run->count; at++) {
        const struct hp_session_sums *session = &results->profile->sessions[at];
        all += (double)session->timed_calls;
        busiest = hp_trust_largest(busiest, (double)session->calls_of_busiest_thread);
        sum_of_busiest += (double)session->calls_of_busiest_thread;
        elapsed += (double)hp_snapshot_elapsed(session->snapshot);
    }
    const double in_turn = elapsed > 0 ? sum_of_busiest * ((double)run->elapsed_ticks / elapsed) : 0;
    return hp_trust_largest(hp_trust_largest(all / cores, busiest), in_turn);
}

/* The share of the run that measuring may have taken. */
static double hp_trust_measuring_share(const struct hotpath_results *results)
{
    const double elapsed = (double)hp_run_elapsed_ns(&results->run);
    const double calls = hp_trust_calls_in_the_way(results);
    const double share = elapsed > 0 ? 100 * calls * results->run.zone_cost_ns / elapsed : 0;
    return share < 100 ? share : 100;
}

void hp_trust_set(struct hotpath_results *results)
{
    const struct hp_run *run = &results->run;
    results->trust = (struct hp_trust){
        .zone_cost_ns = run->zone_cost_ns,
        .zone_inner_ns = run->zone_inner_ns,
        .share_percent = hp_trust_measuring_share(results),
        .clock = hp_trust_clock_name(run->sessions[0]->header.clock_kind),
        .clock_hz = run->is_rate_known ? 1e9 / run->ns_per_tick : 0,
        .cpu = hp_run_has_cpu(run) ? hp_results_cpu(results) : NULL,
    };
    for (size_t at = 0; at < run->count; at++)
        for (size_t loss = 0; loss < HP_LOSSES; loss++)
            results->trust.lost[loss] += run->sessions[at]->header.losses[loss];
}

void hp_trust_put_cut_off(const struct hp_run *run, struct hp_text *text)
{
    if (run->count == 1) {
        hp_text_string(text, "the file is cut off");
        return;
    }
    hp_text_u64(text, run->cut_off);
    hp_text_string(text, " of ");
    hp_text_u64(text, run->count);
    hp_text_string(text, run->cut_off == 1 ? " files is cut off" : " files are cut off");
}

static void hp_trust_put_clock(const struct hp_trust *trust, struct hp_text *text)
{
    hp_text_string(text, "clock ");
    hp_text_string(text, trust->clock);
    if (strcmp(trust->clock, "monotonic") == 0)
        return; /* counts nanoseconds: a rate would say nothing */
    if (trust->clock_hz > 0) {
        hp_text_string(text, " at ");
        hp_units_hz(text, trust->clock_hz);
    } else {
        hp_text_string(text, " at an unknown rate: its ticks are shown as nanoseconds");
    }
}

static void hp_trust_put_cost(const struct hp_trust *trust, struct hp_text *text)
{
    if (!(trust->zone_cost_ns > 0)) {
        hp_text_string(text, "; what one zone costs is not known");
        return;
    }
    hp_text_string(text, "; one zone costs ");
    hp_text_fixed(text, trust->zone_cost_ns, trust->zone_cost_ns < 100 ? 1 : 0);
    hp_text_string(text, " ns; measuring took ");
    if (trust->share_percent < 0.1) {
        hp_text_string(text, "less than 0.1");
    } else {
        hp_text_string(text, "about ");
        hp_text_fixed(text, trust->share_percent, 1);
    }
    hp_text_string(text, " % of the run");
}

/* "; processor time by perf and timers, 991 of 997 samples a second" */
static void hp_trust_put_cpu(const struct hp_trust *trust, struct hp_text *text)
{
    if (trust->cpu == NULL)
        return;
    const char *advice = hp_cpu_advice(trust->cpu->refusal);
    hp_text_string(text, "; processor time by ");
    hp_text_string(text, hp_cpu_engine_name(trust->cpu));
    hp_text_string(text, ", ");
    hp_text_u64(text, hp_units_round(hp_cpu_achieved_rate(trust->cpu)));
    if (trust->cpu->rate > 0) {
        hp_text_string(text, " of ");
        hp_text_u64(text, trust->cpu->rate);
    }
    hp_text_string(text, " samples a second");
    if (advice != NULL) {
        hp_text_string(text, " (perf, which samples finer, was refused; it takes: ");
        hp_text_string(text, advice);
        hp_text_char(text, ')');
    }
}

static void hp_trust_put_lost(const struct hp_trust *trust, struct hp_text *text)
{
    bool has_lost = false;
    uint64_t unknown = 0;
    for (size_t at = 0; at < HP_LOSSES; at++) {
        const uint64_t count = trust->lost[at];
        if (at >= hotpath_loss_count_)
            unknown += count;
        if (count == 0 || at >= hotpath_loss_count_)
            continue;
        hp_text_string(text, "; ");
        hp_text_u64(text, count);
        hp_text_char(text, ' ');
        hp_text_string(text, count == 1 ? hotpath_loss_words_[at].one : hotpath_loss_words_[at].many);
        has_lost = true;
    }
    if (unknown > 0) {
        hp_text_string(text, "; ");
        hp_text_u64(text, unknown);
        hp_text_string(text, " losses of a kind that this hotpath does not know");
    } else if (!has_lost) {
        hp_text_string(text, "; nothing was lost");
    }
}

void hp_trust_put(const struct hp_trust *trust, struct hp_text *text)
{
    hp_trust_put_clock(trust, text);
    hp_trust_put_cost(trust, text);
    hp_trust_put_cpu(trust, text);
    hp_trust_put_lost(trust, text);
}

/* ---- src/render/json_report.h -------------------------------------------------------------------------------- */

/* A report as JSON; docs/report.schema.json is the contract. */

/* Writes the report and ends it with a new line. */
HP_PRIVATE void hp_json_report_render(const hotpath_results *results, struct hp_text *out, bool is_pretty);

/* ---- src/render/json_report.c -------------------------------------------------------------------------------- */

/*
 * A report as JSON. Numbers are raw and their unit is in the key; every column is there, whether a table would show
 * it or not; null stands where there is no value.
 */

#define HP_JSON_REPORT_REPORT_VERSION 1u

/* Below a picosecond nothing was measured, and a tick is never shorter than a tenth of a nanosecond. */
static void hp_json_report_put_ns(struct hp_json *json, double ns)
{
    if (ns >= 1e6)
        hp_json_u64(json, hp_units_round(ns));
    else
        hp_json_number(json, (double)hp_units_round(ns * 1000) / 1000, 12);
}

/* ---------------------------------------------------------------------------------------------- meta */

/* The wall clock is read once per session, so the end of the run is reckoned from the principal one's start. */
static void hp_json_report_put_moment(struct hp_json *json, const struct hp_run *run)
{
    char bytes[40];
    struct hp_text moment;
    const uint64_t wall_start = run->sessions[0]->header.wall_start_ns;
    const uint64_t before = hp_run_started_ns(run, run->sessions[0]), elapsed = hp_run_elapsed_ns(run);
    uint64_t end;
    hp_text_init(&moment, bytes, sizeof bytes);
    if (__builtin_add_overflow(wall_start, elapsed > before ? elapsed - before : 0, &end))
        end = wall_start;
    hp_units_moment(&moment, end);
    hp_json_put_string(json, "created_at", hp_text_end(&moment));
}

static void hp_json_report_put_meta(struct hp_json *json, const hotpath_results *results)
{
    const struct hp_snapshot *snapshot = results->run.sessions[0];
    const struct hp_header *header = &snapshot->header;
    hp_json_key(json, "meta");
    hp_json_begin_object(json);
    hp_json_report_put_moment(json, &results->run);
    hp_json_put_string(json, "command", hp_snapshot_text(snapshot, header->command));
    hp_json_put_string(json, "executable", hp_snapshot_text(snapshot, header->executable));
    hp_json_put_u64(json, "pid", header->pid);
    hp_json_put_u64(json, "parent_pid", header->parent_pid);
    hp_json_put_string(json, "host", hp_snapshot_text(snapshot, header->host));
    hp_json_put_string(json, "system", hp_snapshot_text(snapshot, header->system));
    hp_json_put_u64(json, "cores", header->cores);
    hp_json_put_u64(json, "threads", header->threads_seen);
    hp_json_put_string(json, "library", hp_snapshot_text(snapshot, header->library));
    hp_json_key(json, "clock");
    hp_json_begin_object(json);
    hp_json_put_string(json, "kind", results->trust.clock);
    hp_json_key(json, "hz");
    if (results->trust.clock_hz > 0)
        hp_json_u64(json, hp_units_round(results->trust.clock_hz));
    else
        hp_json_null(json);
    hp_json_end_object(json);
    hp_json_put_u64(json, "processes", results->run.count);
    hp_json_end_object(json);
}

/* "key=value" split at the first sign; an item without one is a key with an empty value. */
static size_t hp_json_report_key_length(const char *item, size_t length)
{
    const char *sign = memchr(item, '=', length);
    return sign != NULL ? (size_t)(sign - item) : length;
}

/* A key that comes again later is left to the last one: an object has each key once. */
static bool hp_json_report_comes_again(const char *rest, const char *key, size_t length)
{
    size_t item_length;
    for (const char *item; (item = hp_text_next_item(&rest, &item_length)) != NULL;)
        if (hp_json_report_key_length(item, item_length) == length && memcmp(item, key, length) == 0)
            return true;
    return false;
}

static void hp_json_report_put_metadata(struct hp_json *json, const char *metadata)
{
    size_t length;
    hp_json_key(json, "user_metadata");
    hp_json_begin_object(json);
    for (const char *rest = metadata, *item; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        const size_t key = hp_json_report_key_length(item, length);
        const size_t value = key < length ? key + 1 : length;
        if (hp_json_report_comes_again(rest, item, key))
            continue;
        hp_json_key_bytes(json, item, key);
        hp_json_string_bytes(json, item + value, length - value);
    }
    hp_json_end_object(json);
}

/* ---------------------------------------------------------------------------------------------- rows */

static void hp_json_report_put_location(struct hp_json *json, const struct hp_location *location)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "file", location->file);
    hp_json_put_u64(json, "line", location->line);
    hp_json_put_string(json, "function", location->function);
    hp_json_end_object(json);
}

static void hp_json_report_put_thread(struct hp_json *json, const struct hp_thread_label *thread)
{
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", thread->name);
    hp_json_put_u64(json, "pid", thread->pid);
    hp_json_put_u64(json, "tid", thread->tid);
    hp_json_put_u64(json, "threads", thread->threads);
    hp_json_end_object(json);
}

static void hp_json_report_put_value(struct hp_json *json, uint32_t unit, const struct hp_cell *cell)
{
    switch ((enum hotpath_unit)unit) {
    case HOTPATH_UNIT_TEXT:
        hp_json_string(json, cell->text);
        break;
    case HOTPATH_UNIT_COUNT:
    case HOTPATH_UNIT_BYTES:
        hp_json_u64(json, cell->count);
        break;
    case HOTPATH_UNIT_NS:
        hp_json_report_put_ns(json, cell->number);
        break;
    case HOTPATH_UNIT_PERCENT:
    case HOTPATH_UNIT_NUMBER:
        hp_json_number(json, cell->number, 8);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
    case HOTPATH_UNIT_SIGNED_BYTES:
        hp_json_i64(json, (int64_t)cell->count);
        break;
    }
}

static void hp_json_report_put_cell(struct hp_json *json, const struct hp_column *column, const struct hp_cell *cell)
{
    hp_json_key(json, column->shown.key);
    if (!cell->has_value)
        hp_json_null(json);
    else if (column->traits & HP_COLUMN_LOCATION)
        hp_json_report_put_location(json, cell->location);
    else if (column->traits & HP_COLUMN_THREAD)
        hp_json_report_put_thread(json, cell->thread);
    else
        hp_json_report_put_value(json, column->shown.unit, cell);
}

static void hp_json_report_begin_row(struct hp_json *json, const struct hotpath_section *section, const struct hp_row *row)
{
    hp_json_begin_object(json);
    for (size_t column = 0; column < section->column_count; column++)
        hp_json_report_put_cell(json, &section->columns[column], &row->cells[column]);
}

static void hp_json_report_put_flat_rows(struct hp_json *json, const struct hotpath_section *section)
{
    for (size_t row = 0; row < section->row_count; row++) {
        hp_json_report_begin_row(json, section, &section->rows[row]);
        hp_json_end_object(json);
    }
}

/* Rows come parent first, each at most one level below the one before: `open` counts the rows not yet closed. */
static void hp_json_report_put_tree_rows(struct hp_json *json, const struct hotpath_section *section)
{
    uint32_t open = 0;
    for (size_t row = 0; row < section->row_count; row++) {
        for (; open > section->rows[row].depth; open--) {
            hp_json_end_array(json);
            hp_json_end_object(json);
        }
        hp_json_report_begin_row(json, section, &section->rows[row]);
        hp_json_key(json, "children");
        hp_json_begin_array(json);
        open++;
    }
    for (; open > 0; open--) {
        hp_json_end_array(json);
        hp_json_end_object(json);
    }
}

static void hp_json_report_put_order(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "order");
    hp_json_begin_object(json);
    hp_json_put_string(json, "column", section->columns[section->order.column].shown.key);
    hp_json_put_string(json, "direction", section->order.is_ascending ? "ascending" : "descending");
    hp_json_end_object(json);
}

static void hp_json_report_put_totals(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, "totals");
    hp_json_begin_object(json);
    for (size_t at = 0; at < section->total_count; at++) {
        hp_json_key(json, section->totals[at].key);
        hp_json_report_put_value(json, section->totals[at].unit, &section->totals[at].cell);
    }
    hp_json_end_object(json);
}

static void hp_json_report_put_section(struct hp_json *json, const struct hotpath_section *section)
{
    hp_json_key(json, section->name);
    hp_json_begin_object(json);
    hp_json_put_string(json, "description", section->description);
    hp_json_key(json, "main");
    if (section->main != NULL)
        hp_json_string(json, section->main);
    else
        hp_json_null(json);
    if (section->percent_of != NULL)
        hp_json_put_string(json, "percent_of", section->percent_of);
    if (section->order.is_set)
        hp_json_report_put_order(json, section);
    if (section->total_count > 0)
        hp_json_report_put_totals(json, section);
    hp_json_put_u64(json, "total_rows", section->total_rows);
    hp_json_put_u64(json, "shown_rows", section->row_count);
    hp_json_key(json, "rows");
    hp_json_begin_array(json);
    if (section->is_tree)
        hp_json_report_put_tree_rows(json, section);
    else
        hp_json_report_put_flat_rows(json, section);
    hp_json_end_array(json);
    hp_json_end_object(json);
}

/* ------------------------------------------------------------------------------------------- report */

static void hp_json_report_put_cpu_trust(struct hp_json *json, const struct hp_cpu *cpu)
{
    if (cpu == NULL)
        return;
    hp_json_key(json, "cpu");
    hp_json_begin_object(json);
    hp_json_put_string(json, "engine", hp_cpu_engine_name(cpu));
    hp_json_put_u64(json, "rate_asked", cpu->rate);
    hp_json_key(json, "rate");
    hp_json_number(json, hp_cpu_achieved_rate(cpu), 8);
    hp_json_put_u64(json, "refusal", cpu->refusal);
    hp_json_end_object(json);
}

static void hp_json_report_put_trust(struct hp_json *json, const struct hp_trust *trust)
{
    hp_json_key(json, "trust");
    hp_json_begin_object(json);
    hp_json_key(json, "zone_cost_ns");
    hp_json_report_put_ns(json, trust->zone_cost_ns);
    hp_json_key(json, "zone_inner_ns");
    hp_json_report_put_ns(json, trust->zone_inner_ns);
    hp_json_key(json, "overhead_share_percent");
    hp_json_number(json, trust->share_percent, 8);
    hp_json_report_put_cpu_trust(json, trust->cpu);
    hp_json_key(json, "lost");
    hp_json_begin_object(json);
    for (size_t at = 0; at < hotpath_loss_count_; at++)
        hp_json_put_u64(json, hotpath_loss_words_[at].key, trust->lost[at]);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static void hp_json_report_put_cut_off(struct hp_json *json, const struct hp_run *run)
{
    char bytes[80];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_trust_put_cut_off(run, &line);
    hp_json_string(json, hp_text_end(&line));
}

static void hp_json_report_put_warnings(struct hp_json *json, const hotpath_results *results)
{
    hp_json_key(json, "warnings");
    hp_json_begin_array(json);
    if (results->run.cut_off > 0)
        hp_json_report_put_cut_off(json, &results->run);
    for (size_t at = 0; at < results->warning_count; at++)
        hp_json_string(json, results->warnings[at]);
    hp_json_end_array(json);
}

void hp_json_report_render(const hotpath_results *results, struct hp_text *out, bool is_pretty)
{
    struct hp_json json;
    hp_json_init(&json, out, is_pretty);
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "type", "hotpath_report");
    hp_json_put_u64(&json, "version", HP_JSON_REPORT_REPORT_VERSION);
    hp_json_put_string(&json, "hotpath", HOTPATH_VERSION);
    hp_json_report_put_meta(&json, results);
    if (results->label[0] != '\0')
        hp_json_put_string(&json, "label", results->label);
    if (results->metadata[0] != '\0')
        hp_json_report_put_metadata(&json, results->metadata);
    if (results->settings->focus[0] != '\0')
        hp_json_put_string(&json, "focus", results->settings->focus);
    if (results->settings->min_percent > 0) {
        hp_json_key(&json, "min_percent");
        hp_json_number(&json, results->settings->min_percent, 15);
    }
    hp_json_put_string(&json, "state", hp_snapshot_state_name(hp_run_state(&results->run)));
    hp_json_put_string(&json, "time", results->settings->time_exclusive ? "exclusive" : "inclusive");
    hp_json_put_string(&json, "by", results->settings->by == HP_BY_THREAD ? "thread" : "function");
    if (hp_run_has_allocs(&results->run)) {
        hp_json_put_string(&json, "alloc", results->settings->alloc_cumulative ? "cumulative" : "exclusive");
        hp_json_put_string(&json, "alloc_metric", hp_alloc_metric_name(results->settings->alloc_metric));
    }
    if (hp_run_has_cpu(&results->run))
        hp_json_put_string(&json, "cpu", results->settings->cpu_inclusive ? "inclusive" : "exclusive");
    hp_json_put_u64(&json, "elapsed_ns", hp_run_elapsed_ns(&results->run));
    hp_json_key(&json, "sections");
    hp_json_begin_object(&json);
    for (size_t at = 0; at < results->section_count; at++)
        hp_json_report_put_section(&json, results->sections[at]);
    hp_json_end_object(&json);
    hp_json_report_put_warnings(&json, results);
    hp_json_report_put_trust(&json, &results->trust);
    hp_json_end_object(&json);
    hp_text_char(out, '\n');
}

/* ---- src/render/report.h ------------------------------------------------------------------------------------- */

/*
 * From snapshots to a finished report: choose sections, fill them, write them as a table or as JSON, or hand them
 * to a callback. The exit report of the library and `hotpath report` both come through here, so they cannot differ.
 * Allocates nothing from the heap; may run in a signal handler.
 */

/* Receives rendered bytes; returns false to give up (the disk is full). */
typedef bool hp_sink(void *context, const char *bytes, size_t length);

struct hp_report_target {
    hp_sink *sink;
    void *context;
    uint32_t width; /* columns of the terminal; 0: unlimited */
    bool color;
};

/*
 * One report of all the snapshots together. Returns HOTPATH_OK, HOTPATH_E_OUTPUT when the sink gave up,
 * HOTPATH_E_SPACE without memory.
 */
HP_PRIVATE int hp_report_render(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                     const struct hp_report_target *target);

/* The same rows for a callback. */
HP_PRIVATE int hp_report_hand_over(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                        hotpath_reporter *reporter, void *context);

/* ---- src/render/table.h -------------------------------------------------------------------------------------- */

/* A report as text for people. */

struct hp_table_style {
    uint32_t width; /* columns no line should exceed; 0: no bound */
    bool color;
};

/* Writes the report. False: the arena of the results has no memory. */
HP_PRIVATE bool hp_table_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style);

/* ---- src/render/report.c ------------------------------------------------------------------------------------- */

/* From snapshots to a finished report. */

#define HP_REPORT_BUFFER_BYTES 16384u

static int hp_report_render_(struct hp_arena *arena, const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                  const struct hp_report_target *target)
{
    struct hp_text out;
    char *buffer = hp_arena_take(arena, HP_REPORT_BUFFER_BYTES);
    const hotpath_results *results = hp_results_build(arena, snapshots, settings);
    bool is_complete = true;
    if (buffer == NULL || results == NULL)
        return HOTPATH_E_SPACE;
    hp_text_init_stream(&out, buffer, HP_REPORT_BUFFER_BYTES, target->sink, target->context);
    if (settings->format == HP_FORMAT_TABLE) {
        const struct hp_table_style style = {.width = target->width, .color = target->color};
        is_complete = hp_table_render(results, &out, &style);
    } else {
        hp_json_report_render(results, &out, settings->format == HP_FORMAT_JSON_PRETTY);
    }
    if (!hp_text_finish(&out))
        return HOTPATH_E_OUTPUT;
    return is_complete ? HOTPATH_OK : HOTPATH_E_SPACE;
}

int hp_report_render(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                     const struct hp_report_target *target)
{
    struct hp_arena arena = {0};
    if (settings->format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    const int status = hp_report_render_(&arena, snapshots, settings, target);
    hp_arena_release(&arena);
    return status;
}

int hp_report_hand_over(const struct hp_snapshots *snapshots, const struct hp_settings *settings,
                        hotpath_reporter *reporter, void *context)
{
    struct hp_arena arena = {0};
    const hotpath_results *results = hp_results_build(&arena, snapshots, settings);
    if (results != NULL)
        reporter(results, context);
    hp_arena_release(&arena);
    return results != NULL ? HOTPATH_OK : HOTPATH_E_SPACE;
}

/* ---- src/render/table.c -------------------------------------------------------------------------------------- */

/*
 * A report as text for people.
 *
 * A table is laid out in three steps: every visible cell becomes safe text with a known width in columns; the
 * columns get their widths; if that is wider than the terminal, elastic columns give way first and then the name
 * column, each down to a width that still says something; then columns are dropped from the right, then the name column
 * gives what is left.
 */

#define HP_TABLE_BOLD "\033[1m"
#define HP_TABLE_DIM "\033[2m"
#define HP_TABLE_PLAIN "\033[0m"

#define HP_TABLE_NAME_COMFORT 16u    /* columns a name needs to be told from others; below that other columns go */
#define HP_TABLE_ELASTIC_COMFORT 16u /* the same for text of any length, a note say */
#define HP_TABLE_INDENT_MAX 64u      /* levels of a tree that are indented */
#define HP_TABLE_CELL_BYTES 2048u

struct hp_table_shown {
    const char *bytes;
    size_t length;
    size_t columns;
};

struct hp_table_table {
    const hotpath_results *results;
    const struct hotpath_section *section;
    struct hp_text *out;
    const struct hp_table_style *style;
    size_t order[HP_MAX_COLUMNS];    /* indexes of the columns that are shown */
    size_t naturals[HP_MAX_COLUMNS]; /* their widths when there is space enough */
    size_t widths[HP_MAX_COLUMNS];
    size_t count;
    struct hp_table_shown *cells; /* row by row */
    char *scratch;       /* CELL_BYTES */
};

/* --------------------------------------------------------------------------------------------- lines */

static void hp_table_put_style(const struct hp_table_style *style, struct hp_text *out, const char *code)
{
    if (style->color)
        hp_text_string(out, code);
}

/* Writes text in lines of at most the terminal's width, broken at blanks. A longer word stays whole. */
static void hp_table_put_wrapped(const struct hp_table_style *style, struct hp_text *out, const char *bytes, size_t length)
{
    const char *at = bytes, *const end = bytes + length;
    size_t used = 0;
    while (at < end) {
        const char *word_end = memchr(at, ' ', (size_t)(end - at));
        const size_t word = (size_t)((word_end != NULL ? word_end : end) - at);
        const size_t columns = hp_utf8_columns(at, word);
        if (used > 0 && style->width > 0 && used + 1 + columns > style->width) {
            hp_text_char(out, '\n');
            used = 0;
        } else if (used > 0) {
            hp_text_char(out, ' ');
            used++;
        }
        hp_text_bytes(out, at, word);
        used += columns;
        at += word + (word_end != NULL);
    }
    hp_text_char(out, '\n');
}

static void hp_table_put_note(const struct hp_table_style *style, struct hp_text *out, const char *line)
{
    hp_table_put_style(style, out, HP_TABLE_DIM);
    hp_table_put_wrapped(style, out, line, strlen(line));
    hp_table_put_style(style, out, HP_TABLE_PLAIN);
}

/* --------------------------------------------------------------------------------------------- cells */

static void hp_table_put_value(struct hp_text *text, const struct hp_column *column, const struct hp_cell *cell)
{
    if (!cell->has_value) {
        hp_text_char(text, '-');
        return;
    }
    switch ((enum hotpath_unit)column->shown.unit) {
    case HOTPATH_UNIT_TEXT:
        hp_utf8_put_safe(text, cell->text, strlen(cell->text));
        break;
    case HOTPATH_UNIT_COUNT:
        hp_text_u64(text, cell->count);
        break;
    case HOTPATH_UNIT_NS:
        hp_units_ns(text, cell->number);
        break;
    case HOTPATH_UNIT_BYTES:
        hp_units_bytes(text, cell->count);
        break;
    case HOTPATH_UNIT_PERCENT:
        hp_units_percent(text, cell->number);
        break;
    case HOTPATH_UNIT_NUMBER:
        hp_text_fixed(text, cell->number, cell->number < 999.995 ? 2 : 0);
        break;
    case HOTPATH_UNIT_SIGNED_COUNT:
        hp_text_i64(text, (int64_t)cell->count);
        break;
    case HOTPATH_UNIT_SIGNED_BYTES:
        hp_units_signed_bytes(text, (int64_t)cell->count);
        break;
    }
}

static void hp_table_put_cell(struct hp_text *text, const struct hp_column *column, const struct hp_row *row,
                     const struct hp_cell *cell)
{
    if (column->traits & HP_COLUMN_NAME)
        hp_text_repeat(text, ' ', 2 * (size_t)(row->depth < HP_TABLE_INDENT_MAX ? row->depth : HP_TABLE_INDENT_MAX));
    if ((column->traits & HP_COLUMN_ROUGH) && row->is_rough && cell->has_value)
        hp_text_char(text, '~');
    if ((column->traits & HP_COLUMN_SAMPLED) && row->is_sampled && cell->has_value)
        hp_text_char(text, '^');
    hp_table_put_value(text, column, cell);
}

static bool hp_table_make_cell(struct hp_table_table *table, const struct hp_column *column, const struct hp_row *row,
                      const struct hp_cell *cell, struct hp_table_shown *ret_shown)
{
    struct hp_text text;
    hp_text_init(&text, table->scratch, HP_TABLE_CELL_BYTES);
    hp_table_put_cell(&text, column, row, cell);
    const char *copy = hp_arena_copy(table->results->arena, table->scratch, text.length);
    if (copy == NULL)
        return false;
    const bool is_marked = (column->traits & HP_COLUMN_NAME) && row->is_open;
    *ret_shown = (struct hp_table_shown){copy, text.length, hp_utf8_columns(copy, text.length) + is_marked};
    return true;
}

static bool hp_table_make_cells(struct hp_table_table *table)
{
    const struct hotpath_section *section = table->section;
    table->scratch = hp_arena_take(table->results->arena, HP_TABLE_CELL_BYTES);
    table->cells =
        hp_arena_take_array(table->results->arena, section->row_count + 1, table->count * sizeof *table->cells);
    if (table->scratch == NULL || table->cells == NULL)
        return false;
    for (size_t row = 0; row < section->row_count; row++)
        for (size_t at = 0; at < table->count; at++) {
            const size_t column = table->order[at];
            if (!hp_table_make_cell(table, &section->columns[column], &section->rows[row], &section->rows[row].cells[column],
                           &table->cells[row * table->count + at]))
                return false;
        }
    return true;
}

/* -------------------------------------------------------------------------------------------- layout */

static const struct hp_column *hp_table_column_at(const struct hp_table_table *table, size_t at)
{
    return &table->section->columns[table->order[at]];
}

static void hp_table_choose_columns(struct hp_table_table *table)
{
    for (size_t column = 0; column < table->section->column_count; column++)
        if (table->section->columns[column].shown.visible)
            table->order[table->count++] = column;
}

static void hp_table_measure_columns(struct hp_table_table *table)
{
    for (size_t at = 0; at < table->count; at++) {
        const char *title = hp_table_column_at(table, at)->shown.title;
        table->widths[at] = hp_utf8_columns(title, strlen(title));
        for (size_t row = 0; row < table->section->row_count; row++) {
            const size_t columns = table->cells[row * table->count + at].columns;
            if (table->widths[at] < columns)
                table->widths[at] = columns;
        }
    }
}

/* A width of 0 is a column that was dropped. */
static size_t hp_table_table_width(const struct hp_table_table *table)
{
    size_t width = 1;
    for (size_t at = 0; at < table->count; at++)
        if (table->widths[at] > 0)
            width += table->widths[at] + 3;
    return width;
}

static size_t hp_table_name_at(const struct hp_table_table *table)
{
    size_t at = 0;
    while (at < table->count && !(hp_table_column_at(table, at)->traits & HP_COLUMN_NAME))
        at++;
    return at;
}

/* Takes from a column what is too much, but leaves it `least` columns. */
static void hp_table_shrink(struct hp_table_table *table, size_t at, size_t least)
{
    const size_t width = hp_table_table_width(table), target = table->style->width, natural = table->widths[at];
    if (width <= target || natural == 0)
        return;
    const size_t excess = width - target, floor = natural < least ? natural : least;
    table->widths[at] = natural > floor + excess ? natural - excess : floor;
}

/* Gives columns that may shrink what they would like to have, and takes from them what there is not. */
static void hp_table_squeeze(struct hp_table_table *table, size_t name, size_t least)
{
    table->widths[name] = table->naturals[name];
    for (size_t at = 0; at < table->count; at++)
        if ((hp_table_column_at(table, at)->traits & HP_COLUMN_ELASTIC) && table->widths[at] > 0) {
            table->widths[at] = table->naturals[at];
            hp_table_shrink(table, at, HP_TABLE_ELASTIC_COMFORT);
        }
    hp_table_shrink(table, name, least);
}

/* Drops columns from the right until the table fits, but none that has one of these traits. */
static void hp_table_drop_columns(struct hp_table_table *table, size_t name, uint32_t spared)
{
    for (size_t at = table->count; at-- > 0 && hp_table_table_width(table) > table->style->width;)
        if (!(hp_table_column_at(table, at)->traits & spared)) {
            table->widths[at] = 0;
            hp_table_squeeze(table, name, HP_TABLE_NAME_COMFORT);
        }
}

static void hp_table_fit_columns(struct hp_table_table *table)
{
    const size_t name = hp_table_name_at(table);
    if (table->style->width == 0 || hp_table_table_width(table) <= table->style->width || name == table->count)
        return;
    memcpy(table->naturals, table->widths, sizeof table->naturals);
    hp_table_squeeze(table, name, HP_TABLE_NAME_COMFORT);
    hp_table_drop_columns(table, name, HP_COLUMN_KEEP | HP_COLUMN_LATE);
    hp_table_drop_columns(table, name, HP_COLUMN_KEEP);
    if (hp_table_table_width(table) > table->style->width)
        hp_table_squeeze(table, name, 4);
}

/* ------------------------------------------------------------------------------------------- drawing */

static void hp_table_draw_rule(const struct hp_table_table *table)
{
    for (size_t at = 0; at < table->count; at++)
        if (table->widths[at] > 0) {
            hp_text_char(table->out, '+');
            hp_text_repeat(table->out, '-', table->widths[at] + 2);
        }
    hp_text_string(table->out, "+\n");
}

/* Numbers are never shortened, so their width is known beforehand; of text it is known when it has been written. */
static void hp_table_draw_cell(const struct hp_table_table *table, size_t at, const struct hp_table_shown *shown, bool is_marked)
{
    const size_t width = table->widths[at];
    const bool is_left = hp_table_column_at(table, at)->shown.unit == HOTPATH_UNIT_TEXT;
    if (!is_left && shown->columns < width)
        hp_text_repeat(table->out, ' ', width - shown->columns);
    size_t written = hp_utf8_put_fitted(table->out, shown->bytes, shown->length, width - is_marked);
    if (is_marked)
        hp_text_char(table->out, '*');
    written += is_marked;
    if (is_left && written < width)
        hp_text_repeat(table->out, ' ', width - written);
}

static void hp_table_draw_header(const struct hp_table_table *table)
{
    for (size_t at = 0; at < table->count; at++) {
        if (table->widths[at] == 0)
            continue;
        const char *title = hp_table_column_at(table, at)->shown.title;
        const struct hp_table_shown shown = {title, strlen(title), hp_utf8_columns(title, strlen(title))};
        hp_text_string(table->out, "| ");
        hp_table_put_style(table->style, table->out, HP_TABLE_BOLD);
        hp_table_draw_cell(table, at, &shown, false);
        hp_table_put_style(table->style, table->out, HP_TABLE_PLAIN);
        hp_text_char(table->out, ' ');
    }
    hp_text_string(table->out, "|\n");
}

static void hp_table_draw_row(const struct hp_table_table *table, size_t row)
{
    const struct hp_row *data = &table->section->rows[row];
    for (size_t at = 0; at < table->count; at++) {
        if (table->widths[at] == 0)
            continue;
        const bool is_marked = (hp_table_column_at(table, at)->traits & HP_COLUMN_NAME) && data->is_open;
        hp_text_string(table->out, "| ");
        hp_table_draw_cell(table, at, &table->cells[row * table->count + at], is_marked);
        hp_text_char(table->out, ' ');
    }
    hp_text_string(table->out, "|\n");
}

static bool hp_table_draw_table(struct hp_table_table *table)
{
    hp_table_choose_columns(table);
    if (!hp_table_make_cells(table))
        return false;
    hp_table_measure_columns(table);
    hp_table_fit_columns(table);
    hp_table_draw_rule(table);
    hp_table_draw_header(table);
    hp_table_draw_rule(table);
    for (size_t row = 0; row < table->section->row_count; row++)
        hp_table_draw_row(table, row);
    hp_table_draw_rule(table);
    return true;
}

/* ------------------------------------------------------------------------------------------- section */

static void hp_table_put_heading(const struct hp_table_table *table)
{
    char bytes[256];
    struct hp_text text;
    const struct hotpath_section *section = table->section;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, section->name);
    hp_text_string(&text, " - ");
    hp_text_string(&text, section->description);
    if (section->row_count < section->total_rows) {
        hp_text_string(&text, " (");
        hp_text_u64(&text, section->row_count);
        hp_text_char(&text, '/');
        hp_text_u64(&text, section->total_rows);
        hp_text_char(&text, ')');
    }
    hp_table_put_wrapped(table->style, table->out, bytes, text.length);
}

static bool hp_table_put_section(const hotpath_results *results, const struct hotpath_section *section, struct hp_text *out,
                        const struct hp_table_style *style)
{
    struct hp_table_table *table = hp_arena_take(results->arena, sizeof *table);
    if (table == NULL)
        return false;
    *table = (struct hp_table_table){.results = results, .section = section, .out = out, .style = style};
    hp_text_char(out, '\n');
    hp_table_put_heading(table);
    if (section->summary != NULL)
        hp_table_put_wrapped(style, out, section->summary, strlen(section->summary));
    if (section->row_count == 0)
        hp_table_put_wrapped(style, out, section->if_empty, strlen(section->if_empty));
    else if (!hp_table_draw_table(table))
        return false;
    for (size_t at = 0; at < section->note_count; at++)
        hp_table_put_note(style, out, section->notes[at]);
    return true;
}

/* -------------------------------------------------------------------------------------------- report */

static void hp_table_put_title(const hotpath_results *results, struct hp_text *line)
{
    hp_text_string(line, "[hotpath] ");
    hp_units_ns(line, (double)hp_run_elapsed_ns(&results->run));
    if (results->run.count > 1) {
        hp_text_string(line, ", ");
        hp_text_u64(line, results->run.count);
        hp_text_string(line, " processes");
    }
    const char *before = "";
    for (size_t at = 0; at < results->section_count; at++) {
        const char *group = results->sections[at]->group;
        if (strcmp(group, before) == 0)
            continue; /* sections of a group stand side by side */
        hp_text_string(line, at == 0 ? " | " : ", ");
        hp_text_string(line, group);
        before = group;
    }
    if (results->label[0] != '\0') {
        hp_text_string(line, " | ");
        hp_utf8_put_safe(line, results->label, strlen(results->label));
    }
}

static void hp_table_put_metadata(const hotpath_results *results, struct hp_text *line)
{
    size_t length;
    bool is_first = true;
    hp_text_string(line, "metadata: ");
    for (const char *rest = results->metadata, *item; (item = hp_text_next_item(&rest, &length)) != NULL;) {
        hp_text_string(line, is_first ? "" : ", ");
        hp_utf8_put_safe(line, item, length);
        is_first = false;
    }
}

/* What a reader must know about the sessions before he reads their numbers: in this line and in the next. */
static void hp_table_put_cut_off(const hotpath_results *results, struct hp_text *line)
{
    const struct hp_run *run = &results->run;
    if (run->cut_off == 0)
        return;
    hp_text_string(line, "warning: ");
    hp_trust_put_cut_off(run, line);
    if (run->count == 1) {
        hp_text_string(line, ": ");
        hp_text_u64(line, run->sessions[0]->size);
        hp_text_string(line, " of ");
        hp_text_u64(line, run->sessions[0]->header.used);
        hp_text_string(line, " bytes");
    }
}

static void hp_table_put_ended(const hotpath_results *results, struct hp_text *line)
{
    const struct hp_run *run = &results->run;
    const size_t ended = run->states[HP_SNAPSHOT_ENDED];
    if (run->count > 1 && ended > 0) {
        hp_text_u64(line, ended);
        hp_text_string(line, " of ");
        hp_text_u64(line, run->count);
        hp_text_string(line, ended == 1
                                 ? " processes ended without finishing its session; this is all it had measured"
                                 : " processes ended without finishing their sessions; this is all they had "
                                   "measured");
    } else if (ended > 0 && run->cut_off == 0) {
        hp_text_string(line, "the process ended without finishing its session; this is all it had measured");
    }
}

/* Makes one line in scratch memory with `put` and writes it, wrapped, if it is not empty. */
static void hp_table_put_line(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style,
                     char *scratch, void (*put)(const hotpath_results *, struct hp_text *))
{
    struct hp_text line;
    hp_text_init(&line, scratch, HP_TABLE_CELL_BYTES);
    put(results, &line);
    if (line.length > 0)
        hp_table_put_wrapped(style, out, scratch, line.length);
}

static void hp_table_put_trust(const hotpath_results *results, struct hp_text *line) { hp_trust_put(&results->trust, line); }

bool hp_table_render(const hotpath_results *results, struct hp_text *out, const struct hp_table_style *style)
{
    char *scratch = hp_arena_take(results->arena, HP_TABLE_CELL_BYTES);
    if (scratch == NULL)
        return false;
    hp_table_put_style(style, out, HP_TABLE_BOLD);
    hp_table_put_line(results, out, style, scratch, hp_table_put_title);
    hp_table_put_style(style, out, HP_TABLE_PLAIN);
    if (results->metadata[0] != '\0')
        hp_table_put_line(results, out, style, scratch, hp_table_put_metadata);
    hp_table_put_line(results, out, style, scratch, hp_table_put_cut_off);
    hp_table_put_line(results, out, style, scratch, hp_table_put_ended);
    for (size_t at = 0; at < results->warning_count; at++) {
        hp_text_string(out, "warning: ");
        hp_table_put_wrapped(style, out, results->warnings[at], strlen(results->warnings[at]));
    }
    for (size_t at = 0; at < results->section_count; at++)
        if (!hp_table_put_section(results, results->sections[at], out, style))
            return false;
    hp_text_char(out, '\n');
    hp_table_put_style(style, out, HP_TABLE_DIM);
    hp_table_put_line(results, out, style, scratch, hp_table_put_trust);
    hp_table_put_style(style, out, HP_TABLE_PLAIN);
    return true;
}

/* ---- src/record/allocations.h -------------------------------------------------------------------------------- */

/*
 * The place on the stack where the program called malloc, to be taken in malloc itself. Guards of zones that lie below are of
 * calls that are no longer there, since longjmp left them, or of another stack.
 */

#define HP_STACK_PLACE() ((uintptr_t)__builtin_dwarf_cfa())

/* ---- src/record/sampler.h ------------------------------------------------------------------------------------ */

/*
 * Whose processor time: a signal comes now and then while a thread uses a processor, and its handler looks which zone the
 * thread is in. Every sample is credited exactly, since the thread's stack of zones knows; no stack is walked and no symbol is
 * needed, and inlined or stripped functions are no exception.
 *
 * How much is credited does not depend on the number of samples: it is what the thread's own clock says has passed since the
 * last one. So sums are those of the clock, whatever rate the kernel manages, and samples only decide how they are shared out.
 *
 * Engines. A timer on the thread's processor clock is looked at by the kernel on its ticks: in user and kernel mode, but
 * seldom, and in step with whatever else happens on ticks. perf's clock is not bound to them, but sees user mode only. With both, perf's
 * samples share out user time, and each timer's signal the kernel time since the last. A thread begins with a timer alone; once
 * it has used processor time enough for that to go off, perf joins. Short threads so cost one timer.
 *
 * Who writes: all of struct hp_sampler and of the session's hp_cpu_thread is written by the thread itself, in the handler (which
 * nothing interrupts) or with signals held. The handler marks itself at work before it looks at the gate, as zones do with
 * `ready`, and whoever ends the session waits for that, too.
 */

struct hp_head;

#define HP_SAMPLER_SEEN 16u

/* Of a thread. */
struct hp_sampler {
    struct hp_cpu_thread *cpu;  /* in the session; NULL: this thread is not sampled */
    struct hp_cpu_time counted; /* what of the thread's clocks is in there */
    void *perf;                 /* NULL: none */
    int timer;                  /* stays known after it is stopped: a signal may still be on its way */
    bool has_timer;
    bool perf_was_tried;
    uint32_t is_at_work;            /* the handler is in the session */
    uint32_t seen_count;            /* in use of the following */
    uint32_t seen[HP_SAMPLER_SEEN]; /* nodes where perf has found the thread since user time was last shared out */
};

/* Of the process. */
struct hp_sampling {
    uint32_t engine; /* enum hp_cpu_engine; of the running session */
    uint64_t period_ns;
    void *perf; /* an event that never fires, so that others are started quickly; gone in a forked child */
};

/* A session begins: chooses the engine. Under the lock. */
HP_PRIVATE void hp_sampler_begin(void);
/* The same for a session that goes on, once the program has said that it wants it. Under the lock. */
HP_PRIVATE void hp_sampler_begin_late(void);
/* The calling thread has a record now. Under the lock. */
HP_PRIVATE void hp_sampler_begin_thread(struct hp_head *head);
/* A thread ends, or has ended without a word. Under the lock, before its zones are closed. */
HP_PRIVATE void hp_sampler_end_thread(struct hp_head *head);
/* The session ends: what the calling thread has used up to now is counted. Under the lock, before its end. */
HP_PRIVATE void hp_sampler_end(void);
/* Stores what the process has used up to now. */
HP_PRIVATE void hp_sampler_touch(void);

/* ---- src/record/signal_view.h -------------------------------------------------------------------------------- */

/*
 * The signal that samples come by is the host's as well. What the host sets for it is kept here and obeyed when such a
 * signal comes that is not ours; it never learns that its handler is not the one that is installed. That takes functions in
 * front of the C library's: `sigaction` and `signal`, which do nothing of their own for any other signal, nor for this one while
 * nobody samples. They are in libhotpath, and once more in libhotpath_alloc.so: of a library that is preloaded, those that it needs
 * come behind the C library.
 *
 * Not in front of musl's, which has no other names for what they hide, nor of a sanitizer's. There, a host that takes the
 * signal while samples are taken gets them.
 */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HP_HAS_SANITIZER
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HP_HAS_SANITIZER
#endif
#endif

#if defined __GLIBC__ && !defined HP_HAS_SANITIZER
#define HP_IN_FRONT_OF_SIGNALS
#endif

struct hp_signal_view {
    bool is_taken;
    void (*handler)(int, siginfo_t *, void *); /* that of the copy of the library that took it */
    uint32_t current; /* which of the two actions: a handler may be reading the other one */
    struct sigaction actions[2];
};

typedef void hp_signal_handler(int signal, siginfo_t *info, void *context);
/* Takes the signal for ourselves; what the host has set for it, or sets later, is kept. False: it cannot be had. */
HP_PRIVATE bool hp_signal_view_take(hp_signal_handler *handler);
/* A signal that is not ours: what the host wants to happen. */
HP_PRIVATE void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context);

#ifdef HP_IN_FRONT_OF_SIGNALS
typedef void hp_plain_handler(int signal);
/* What stands in front does. */
HOTPATH_API_ int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
HOTPATH_API_ hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler);
#endif

/* ---- src/record/runtime.h ------------------------------------------------------------------------------------ */

/*
 * What the recorder keeps per process and per thread, and the rules about who touches it.
 *
 *   hp_recorder  one per process, in static memory, shared by all copies of the library in it (copies.c).
 *                Changed only while `fork_page->lock` is held, with signals held back (hp_lock).
 *   hp_fork_page one page that the kernel empties in a forked child: the lock (so a child never waits for a thread
 *                that does not exist there), the list of heads, and a mark whose absence means "we are a child".
 *   hp_head      one per thread (and one more for each depth of signal handlers that interrupt the recorder), in
 *                memory that is emptied in a forked child too. Written by its thread only, but for `owner` fields
 *                under the lock.
 *
 * States of a thread, as its inline code sees them through hotpath_v1_head:
 *
 *   idle head     `ready` 0; `skip` 1 while there is no session, else the thread registers
 *   own head      `ready` HOTPATH_READY_ at rest, 0 inside the recorder
 *   emptied head  all zero, after fork: the thread registers, which begins the child's session
 */

#define HP_MAX_NODES 65536u /* per thread; further paths fall under <other> */
#define HP_FIRST_FRAMES 64u /* zones that can be open at once before the stack grows */
#define HP_MAX_FRAMES (1u << 18)
#define HP_FIRST_SLOTS 256u
#define HP_RESERVED_SLOTS 16384u /* with HOTPATH_RESERVE, where the index cannot grow */
#define HP_RESERVED_SITES 4096u
#define HP_COPIES 16       /* copies of the library that skip zones quickly; further ones more slowly */
#define HP_HANDLER_DEPTH 4 /* signal handlers that interrupt the recorder, one inside the other */

/* In `gate`: on, but every zone has to take the out-of-line way. */
#define HP_GATE_OUT_OF_LINE 0x80000000u

/*
 * Calls that hooks could not record (recording is paused, the stack of zones is full), one inside the other: they lie on the
 * zone at `depth`, so an end that comes while that is the innermost one is theirs. Runs beyond these are not told apart.
 */
#define HP_SKIP_RUNS 8u
struct hp_skip_run {
    uint32_t depth, count;
};

struct hp_head {
    struct hotpath_head_ hot; /* first: hotpath_v1_head points to it */
    struct hp_head *next;     /* all heads of the process */
    struct hp_head *handler;  /* for zones of signal handlers that interrupt this one */
    struct hp_store *store;   /* the session it works for, which may have ended */
    struct hp_thread *record; /* in the session */
    uint32_t record_offset;
    uint32_t thread_id;  /* 0: the head is free */
    uint32_t copies;     /* copies of the library whose hotpath_v1_head points here */
    uint32_t generation; /* of the record while this thread has it */
    uint32_t slot_count; /* slots in use */
    uint32_t space;      /* next free byte of this thread's piece of the session */
    uint32_t space_end;
    uint32_t farewells; /* rounds of thread-exit destructors seen */
    uint32_t skip_runs; /* in use of the following */
    struct hp_skip_run skips[HP_SKIP_RUNS];
    struct hp_kept *kept;          /* NULL until it is needed: see kept.h */
    struct hp_alloc_thread *alloc; /* in the session; NULL until something is allocated or freed */
    struct hp_sampler sampler;     /* see sampler.h */
    uint32_t owner;                /* number of the thread among those that allocate: see owners.h */
    uintptr_t owner_leaf_number;   /* the table of owners it used last: which one, plus 1, and where */
    uint16_t *owner_leaf;
    bool is_one_of_many;    /* there are, or were, others; written by any thread */
    bool is_handler;        /* belongs to signal handlers of a thread, not to the thread itself */
    bool index_is_complete; /* every node and stat of the record is in the slots */
};

struct hp_fork_page {
    uint32_t is_ours; /* 0 in a forked child */
    uintptr_t lock;   /* 0, or the address of the holder's hotpath_v1_head */
    struct hp_head *heads;
    struct hp_head *spare; /* heads not given out yet */
    uint32_t spare_count;
    uintptr_t reporter; /* 0, or the address of the hotpath_v1_head of the thread that reports */
    uint32_t owners;    /* numbers of threads given out: see owners.h */
};

/* What one zone costs. */
struct hp_zone_cost {
    uint64_t ps;       /* all of it */
    uint64_t inner_ps; /* the part that its own duration includes */
    uint64_t ticks;    /* the same in ticks */
    uint64_t inner_ticks;
};
struct hp_symbol;

/* A site as the process knows it, whatever session runs. */
struct hp_known_site {
    const char *name;
    const char *function;
    const char *file;
    const char *image; /* not a copy; NULL: not known */
    uint64_t address;
    uint32_t line;
    uint32_t kind;
    uint32_t next; /* in its bucket, id + 1 */
    uint32_t hash;
    bool wants_log; /* its latest calls are kept because the program says so ... */
    bool is_logged; /* ... or HOTPATH_LOG does */
};

/* What HOTPATH_FILTER and HOTPATH_SKIP say, ready to be asked. */
struct hp_site_choice {
    struct hp_pattern_list filter, skip, log;
    bool is_any;  /* one of them says something */
    bool has_log; /* the last one */
};

#define HP_SITE_BUCKETS 4096u
#define HP_OWNER_BRANCHES 4096u /* tables that say who allocated a block, for 64 GB of addresses each */

struct hp_recorder {
    uint32_t gate;  /* 0: no session, else its epoch */
    uint32_t epoch; /* number of the running or last session */
    struct hp_fork_page *fork_page;
    bool is_auto;   /* begun by HOTPATH=1, not by the program */
    bool is_child;  /* begun by a zone after fork */
    bool is_sealed; /* everything is reserved: no system call from now on */
    enum hp_counter counter;
    uint32_t counter_state; /* atomic: see choose_counter */
    struct hp_store *store; /* of the running session, or the next */
    struct hp_store first_store;
    struct hp_settings settings;
    struct hp_zone_cost zone_cost;
    struct hp_file_identity standard_error;
    hotpath_reporter *reporter;
    void *reporter_context;
    struct hotpath_head_ *idle_heads[HP_COPIES]; /* of the copies of the library */
    struct hotpath_zone *owner;                  /* the guard of the HOTPATH_SESSION that began the session */

    uint32_t site_count;
    uint32_t site_buckets[HP_SITE_BUCKETS];
    struct hp_known_site *site_chunks[HP_SITE_CHUNKS];
    char *text; /* private copies of names */
    size_t text_left;
    struct hp_site_choice *choice; /* which sites are recorded; NULL: all */
    bool alloc_is_watched;         /* malloc and its kin tell us what they do: allocations.h */
    struct hp_sampling sampling;   /* of processor time: sampler.h */
    struct hp_signal_view signal_view;
    void *owner_branches[HP_OWNER_BRANCHES];
};

/* --- copies.c */
HP_SHARED struct hp_recorder *hotpath_runtime_;
/* Finds the state of a copy of the library that is at work already. Once, when this copy is loaded or first used. */
HP_PRIVATE void hp_copies_join(void);
/* Whether the state is this copy's: then it is the one to write the report at exit. */
HP_PRIVATE bool hp_copy_owns_state(void);

/* Lets go of a head that was held: `ready` was 0, and all that was written meanwhile comes before it is not. */
static inline void hp_let_go(struct hotpath_head_ *hot)
{
    HOTPATH_ORDER_();
    HOTPATH_PUT_(hot->ready, HOTPATH_READY_);
}

/*
 * Whether the zone's call is around the code whose stack pointer is `stack`. A guard of a macro is in the frame of its function,
 * above that place. A hook has none: its zone is a few bytes below, as many as functions are inlined into one another, and not at
 * a multiple of 4 (functions.c). What a function calls has its own zone two words below at least, since frames are that large.
 */
#define HP_HOOK_REACH (2 * sizeof(void *))
static inline bool hp_zone_is_there(const struct hotpath_frame_ *frame, uintptr_t stack)
{
    return frame->zone >= stack || (frame->zone % 4 != 0 && stack - frame->zone < HP_HOOK_REACH);
}

/* Raises what any thread may raise. */
static inline void hp_raise(int64_t *highest, int64_t value)
{
    int64_t present = __atomic_load_n(highest, __ATOMIC_RELAXED);
    while (value > present)
        if (__atomic_compare_exchange_n(highest, &present, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            break;
}

/* --- runtime.c */
/* The page, once there is one. Acquire pairs with its publication in hp_runtime_prepare. */
static inline struct hp_fork_page *hp_page(void)
{
    return __atomic_load_n(&hotpath_runtime_->fork_page, __ATOMIC_ACQUIRE);
}
/* The number of the session. Relaxed: whoever must not be wrong looks at the gate as well, or holds the lock. */
static inline uint32_t hp_epoch(void) { return __atomic_load_n(&hotpath_runtime_->epoch, __ATOMIC_RELAXED); }
static inline bool hp_is_sealed(void) { return __atomic_load_n(&hotpath_runtime_->is_sealed, __ATOMIC_RELAXED); }
static inline void hp_seal(bool is_sealed)
{
    __atomic_store_n(&hotpath_runtime_->is_sealed, is_sealed, __ATOMIC_RELAXED);
}
HP_SHARED struct hotpath_head_ hotpath_idle_head_;
HP_SHARED __thread uint32_t hotpath_thread_is_over_ HOTPATH_TLS_;

/* Tells all threads whether there is anything to record. Under the lock, if there is one yet. */
HP_PRIVATE void hp_skip_zones(bool is_off);
/* Makes fork_page; false without memory. */
HP_PRIVATE bool hp_runtime_prepare(void);
/*
 * False where waiting would be for ever: in a handler that has interrupted the holder, which can only be where signals
 * are not held back because no system call may be made (HOTPATH_RESERVE).
 */
HP_PRIVATE bool hp_lock(struct hp_signals *held);
/* The same without waiting: false, too, where somebody else has it. */
HP_PRIVATE bool hp_lock_if_free(struct hp_signals *held);
HP_PRIVATE void hp_unlock(const struct hp_signals *held);
/* Memory for the recorder; none once a session that has reserved everything is under way. */
HP_PRIVATE void *hp_more_memory(size_t size);
/*
 * The memory that `place` leads to, made by the first who asks; NULL without memory. Who finds it finds it empty. A forked
 * child has it as it was, or emptied by the kernel.
 */
HP_PRIVATE void *hp_memory_at(void **place, size_t size, bool is_emptied_by_fork);
/* Ticks by the clock this session uses. */
HP_PRIVATE uint64_t hp_now(void);
/* True in a child that has not noticed the fork yet. */
HP_PRIVATE bool hp_is_forked_child(void);
/* One line on stderr, if that is still the host's stderr. */
HP_PRIVATE void hp_say(const char *line);

/* --- sites.c */
/* The id of a site, registered now if need be; HOTPATH_ID_EXCLUDED_ when it is not to be recorded. */
HP_PRIVATE uint32_t hp_site_id(struct hotpath_site *site);
/* Whether the latest calls of a site are kept in this session. */
HP_PRIVATE bool hp_site_is_logged(uint32_t id);
/* The same as hp_site_id under the lock. `symbol` is that of a function that the compiler measures, NULL for macros. */
HP_PRIVATE void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol);
/* Makes HOTPATH_FILTER, HOTPATH_SKIP and HOTPATH_LOG of the settings count from now on. Under the lock. False: no memory. */
HP_PRIVATE bool hp_sites_choose(void);
/* Writes all sites known so far into a fresh session. Under the lock. */
HP_PRIVATE void hp_sites_begin(void);
/* Memory for HP_RESERVED_SITES sites. Under the lock. */
HP_PRIVATE void hp_sites_reserve(void);

/* --- threads.c */
#define HP_HEADS_BYTES 65536u
/* The head of the calling thread for the running session, or NULL. Begins a child's session after fork. */
HP_PRIVATE struct hp_head *hp_thread_head(void);
/*
 * The same for callers that may hold any lock of the host or of the C library, so must not wait for ours for long. NULL, too,
 * where somebody keeps the lock, and nothing is counted as lost.
 */
HP_PRIVATE struct hp_head *hp_thread_head_if_free(void);
/* The same for events of pools, which count what they lose themselves. */
HP_PRIVATE struct hp_head *hp_thread_head_for_pools(void);
/*
 * To be asked before a site is registered that no zone has registered its thread for: a forked child begins its session
 * first, or the site would be written into its parent's. False: there is none.
 */
HP_PRIVATE bool hp_thread_is_ours(void);
/*
 * The head of the calling thread, held: until it is let go, its session stays where it is, and signal handlers work on another
 * head. NULL: it has none, somebody works on it, or its session is over.
 */
HP_PRIVATE struct hp_head *hp_thread_hold(void);
/* Registers the calling thread. Under the lock. */
HP_PRIVATE void hp_thread_begin(void);
/* Registers the calling thread, and its signal handlers, before everything is sealed. Under the lock. */
HP_PRIVATE void hp_thread_reserve(void);
/* A head for a signal handler that interrupted `head`. */
HP_PRIVATE struct hp_head *hp_thread_handler_head(struct hp_head *head);
/* Whether `state` of a guard is the address of a head that works for the running session. */
HP_PRIVATE bool hp_thread_has_head(uintptr_t state);
/* Space in the session that belongs to this thread. */
HP_PRIVATE uint32_t hp_thread_allocate(struct hp_head *head, uint32_t size, uint32_t align);
/* Makes this copy of the library notice threads that end. */
HP_PRIVATE bool hp_thread_exit_hook(void);

/* --- tree.c */
/* What a late writer may still reach after a session ended is mapped, but empty; offsets there are zero. */
static inline struct hotpath_node_ *hp_node_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_node_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_stat_ *hp_stat_at(const struct hp_head *head, uint32_t offset)
{
    return (struct hotpath_stat_ *)(void *)(head->hot.base + offset);
}
static inline struct hotpath_frame_ *hp_frame_zero(const struct hp_head *head)
{
    return (struct hotpath_frame_ *)(void *)(head->hot.base + head->record->frames);
}
static inline void hp_lose(const struct hp_head *head, enum hp_loss loss) { hp_store_lose(head->store, loss, 1); }

/* An empty tree and index in a new record; false without space. */
HP_PRIVATE bool hp_tree_begin(struct hp_head *head);
/* An empty index for a tree that is there. */
HP_PRIVATE bool hp_tree_resume(struct hp_head *head);
/* A stat in which nothing is ever counted, for frames of calls that have to end out of line. */
HP_PRIVATE void hp_tree_need_blank_stat(struct hp_head *head);
/* The counter of a value in a histogram, or NULL when there is no space for its octave. */
HP_PRIVATE uint64_t *hp_tree_counter(struct hp_head *head, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value);
/* Where `site` leads from `parent`, made if it is not there; `spare` stands in when the index is full. */
HP_PRIVATE const struct hotpath_slot_ *hp_tree_slot(struct hp_head *head, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare);
/* What zones of a node have to mind has changed (`keeps` or `period` of its stat), on the way there from `parent`. */
HP_PRIVATE void hp_tree_refresh(struct hp_head *head, uint32_t parent, uint32_t node);
/* Has calls of a node only counted, now and then timed, if measuring is more than the bound of what they take. */
HP_PRIVATE void hp_tree_limit(struct hp_head *head, uint32_t parent, uint32_t node);
/* Looks at one of the calls of such a node that were timed all the same: if they have become long, all are again. */
HP_PRIVATE void hp_tree_review(struct hp_head *head, uint32_t node, uint64_t ticks);
/* A call is over: whether it was inside another one of its site. */
HP_PRIVATE bool hp_tree_close_call(const struct hp_head *head, const struct hotpath_frame_ *frame);

/* --- kept.c */
#define HP_KEEPS_LOG 1u     /* the latest calls */
#define HP_KEEPS_SLOWEST 2u /* the slowest one, with what was inside */
HP_PRIVATE void hp_kept_begin(struct hp_head *head);
/* What is kept of the calls of a site that is new to this thread. */
HP_PRIVATE uint32_t hp_kept_from_start(const struct hp_head *head, uint32_t site);
/* A call was longer than those before it: perhaps its site is worth following again. Not inside another of its site. */
HP_PRIVATE void hp_kept_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame);
/* Keeps what is wanted of a call that ends; it is counted already, and on top of the stack still. */
HP_PRIVATE void hp_kept_call(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested);

/* Whether there is a session that counts allocations. */
static inline bool hp_records_allocations(void)
{
    return hp_page() != NULL && __atomic_load_n(&hotpath_runtime_->gate, __ATOMIC_RELAXED) != 0 &&
           (hotpath_runtime_->settings.record & HP_RECORD_ALLOC);
}

/* --- allocations.c */
/* What was asked for, and how often. */
struct hp_alloc_sums {
    uint64_t bytes;
    uint64_t count;
};
/* In an open call so far, zones inside included. */
HP_PRIVATE struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame);
/* The stack of zones grows to so many frames: before it does. False without space. */
HP_PRIVATE bool hp_alloc_grow(struct hp_head *head, uint32_t capacity);
/* A call ends whose frame has HOTPATH_ALLOCATES_; it is on top of the stack still. */
HP_PRIVATE void hp_alloc_close(struct hp_head *head, const struct hotpath_frame_ *frame, bool is_nested);

/* --- calibration.c */
/* Measures what one zone costs on this machine. Signals held. */
HP_PRIVATE struct hp_zone_cost hp_zones_calibrate(void);

/* --- zones.c */
/* Sets up an empty tree, stack and index in a new record; false without space. */
HP_PRIVATE bool hp_zones_begin(struct hp_head *head);
/* Makes the record of a thread that ended ready for the next one. */
HP_PRIVATE bool hp_zones_resume(struct hp_head *head);
/* Closes every open zone of a thread that ends. */
HP_PRIVATE void hp_zones_close_all(struct hp_head *head, uint64_t now);
/* Remembers a call that is not recorded, and tells whether the end that comes now is that of such a call. */
HP_PRIVATE void hp_zone_skip(void);
HP_PRIVATE bool hp_zone_was_skipped(void);
/* Ends the innermost zone of a site, and what is still open inside it. */
HP_PRIVATE void hp_zone_leave_site(uint32_t site, uint64_t now);

/* --- lifecycle.c */
/* Begins the session of a forked child, if its parent was recording. Under the lock. */
HP_PRIVATE bool hp_session_begin_child(void);
/* Stores the present moment as the session's latest. */
HP_PRIVATE void hp_session_suggest_main(uint32_t site);
HP_PRIVATE struct hp_clock_pair hp_session_touch(void);

/* --- exit_report.c */
/* Writes the report of the session where the settings say; in a signal handler never to the host's reporter. */
HP_PRIVATE int hp_exit_report(bool is_in_handler);

/* ---- src/record/owners.h ------------------------------------------------------------------------------------- */

/*
 * Which thread allocated a block, so that it is known when another one frees it: a number of 16 bits for every 16 bytes of
 * address space, in tables that are made when something is allocated there while there are several threads. So a program with
 * one thread has none, and one with many has an eighth of the memory it allocates from.
 *
 * A block whose place has no table, for want of memory, is taken for the first thread's. Of allocators that put two blocks
 * into 16 bytes, the second one's owner counts for both.
 */

#define HP_OWNER_GRAIN_BITS 4   /* bytes with one owner */
#define HP_OWNER_LEAF_BITS 26   /* address space of a leaf: 64 MB, its owners 8 MB */
#define HP_OWNER_BRANCH_BITS 36 /* of a branch of 1024 leaves */
#define HP_OWNER_LEAVES (1u << (HP_OWNER_BRANCH_BITS - HP_OWNER_LEAF_BITS))
#define HP_OWNERS_OF_LEAF (1u << (HP_OWNER_LEAF_BITS - HP_OWNER_GRAIN_BITS))

struct hp_owner_branch {
    uint16_t *leaves[HP_OWNER_LEAVES];
};

/*
 * Gives a number to the thread of a head: 0 for the first of the process. Under the lock. With the second all others learn
 * that there are more, before it can hand a block on to them.
 */
HP_PRIVATE void hp_owner_begin(struct hp_head *head);

/* The place of a block's owner, or NULL where there is no table. Acquire: who finds one finds it empty. */
static inline uint16_t *hp_owner_place(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (__builtin_expect(address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES, 0))
        return NULL;
    struct hp_owner_branch *branch =
        __atomic_load_n(&hotpath_runtime_->owner_branches[address >> HP_OWNER_BRANCH_BITS], __ATOMIC_ACQUIRE);
    if (__builtin_expect(branch == NULL, 0))
        return NULL;
    uint16_t *leaf =
        __atomic_load_n(&branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES], __ATOMIC_ACQUIRE);
    return leaf != NULL ? &leaf[(address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

/* Makes the table for a block, if there is memory. */
HP_PRIVATE uint16_t *hp_owner_make_place(const void *block);

/*
 * The same where it is in the table that the thread used last, which it nearly always is: allocators give each thread an area
 * of its own. NULL: look for it.
 */
static inline uint16_t *hp_owner_near_place(const struct hp_head *head, const void *block)
{
    const uintptr_t address = (uintptr_t)block;
    const bool is_near = (address >> HP_OWNER_LEAF_BITS) + 1 == head->owner_leaf_number;
    return is_near ? &head->owner_leaf[(address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF] : NULL;
}

static inline void hp_owner_remember(struct hp_head *head, const void *block, uint16_t *place)
{
    const uintptr_t address = (uintptr_t)block;
    head->owner_leaf = place - (address >> HP_OWNER_GRAIN_BITS) % HP_OWNERS_OF_LEAF;
    head->owner_leaf_number = (address >> HP_OWNER_LEAF_BITS) + 1;
}

/* Blocks that nobody wrote about are the first thread's. */
static inline void hp_owner_write(struct hp_head *head, const void *block)
{
    uint16_t *place = hp_owner_place(block);
    if (__builtin_expect(place == NULL, 0))
        place = hp_owner_make_place(block);
    if (place == NULL)
        return;
    __atomic_store_n(place, (uint16_t)head->owner, __ATOMIC_RELAXED);
    hp_owner_remember(head, block, place);
}

static inline uint32_t hp_owner_of(const void *block)
{
    const uint16_t *place = hp_owner_place(block);
    return place != NULL ? __atomic_load_n(place, __ATOMIC_RELAXED) : 0;
}

/* ---- src/record/allocations.c -------------------------------------------------------------------------------- */

/*
 * Allocations: who allocates, how much, and how much lives.
 *
 * A thread has one set of counters (struct hp_alloc_thread) to which malloc and free add. What a call allocated is the
 * difference between its end and its beginning. Zones do not read the counters when they begin, so that those in which
 * nothing is allocated cost what they always do. Instead the first allocation or free inside a zone marks its frame, and
 * those around it that have no mark yet: as nothing was counted since these began, what the counters are now is what they
 * were then. A marked frame ends out of line (HOTPATH_ALLOCATES_), where its call is counted.
 *
 * The peak of a call: `peak_live` is the most that lived since the innermost marked zone began. A mark puts the one so
 * far aside for the zone around it and begins anew; at the end of the zone the higher of the two is that of the zone around it.
 *
 * The head is held as for zones (runtime.h). An event that comes while it is held, or on a thread that has none and can
 * have none now, is added to the header by atomic operations ("late"): it is in the totals of the process, and in no row.
 */

/* An allocation, a free, or both at once. */
struct hp_allocations_event {
    const void *allocated; /* NULL: no block */
    uint64_t asked;
    uint64_t usable;
    const void *freed; /* NULL: no block */
    uint64_t freed_bytes;
};

static inline int64_t hp_allocations_more_live(const struct hp_allocations_event *event) { return (int64_t)(event->usable - event->freed_bytes); }

static inline int64_t hp_allocations_more_blocks(const struct hp_allocations_event *event)
{
    return (event->allocated != NULL) - (event->freed != NULL);
}

/* ---------------------------------------------------------------------------- without a session, or a place in one */

/* What the calling thread has counted outside of sessions. */
struct hp_allocations_idle_counts_ {
    uint64_t count, bytes, freed_count, freed_bytes;
};
static __thread struct hp_allocations_idle_counts_ hp_allocations_idle_counts HOTPATH_TLS_;

static inline void hp_allocations_count_idle(const void *allocated, uint64_t asked, const void *freed, uint64_t freed_bytes)
{
    hp_allocations_idle_counts.count += allocated != NULL;
    hp_allocations_idle_counts.bytes += asked;
    hp_allocations_idle_counts.freed_count += freed != NULL;
    hp_allocations_idle_counts.freed_bytes += freed_bytes;
}

static void hp_allocations_publish(struct hp_header *header, int64_t change)
{
    hp_raise(&header->alloc_peak, __atomic_add_fetch(&header->alloc_live, change, __ATOMIC_RELAXED));
}

static void hp_allocations_declare_feature(struct hp_header *header)
{
    if (!(__atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_ALLOC))
        __atomic_fetch_or(&header->features, HP_FEATURE_ALLOC, __ATOMIC_RELAXED);
}

static void hp_allocations_count_late(const struct hp_allocations_event *event)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    hp_allocations_declare_feature(header);
    if (event->allocated != NULL) {
        __atomic_fetch_add(&header->late_count, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_bytes, event->asked, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_usable, event->usable, __ATOMIC_RELAXED);
    }
    if (event->freed != NULL) {
        __atomic_fetch_add(&header->late_frees, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&header->late_freed, event->freed_bytes, __ATOMIC_RELAXED);
    }
    hp_allocations_publish(header, hp_allocations_more_live(event));
}

/* ------------------------------------------------------------------------------------------------------ counting */

/* The head is held, and its innermost zone is marked. Free is the quickest: it adds, and no peak can come of it. */
static inline __attribute__((always_inline)) void hp_allocations_count(struct hp_alloc_thread *thread, const struct hp_allocations_event *event)
{
    if (event->freed != NULL) {
        HOTPATH_ADD_(thread->freed_count, 1);
        HOTPATH_ADD_(thread->freed, event->freed_bytes);
    }
    if (event->allocated != NULL) {
        const uint64_t usable = thread->usable + event->usable, number = thread->count + 1;
        HOTPATH_PUT_(thread->usable, usable);
        HOTPATH_PUT_(thread->count, number);
        HOTPATH_ADD_(thread->bytes, event->asked);
        const int64_t live = (int64_t)(usable - thread->freed), blocks = (int64_t)(number - thread->freed_count);
        if (__builtin_expect(live > thread->peak_live, 0))
            HOTPATH_PUT_(thread->peak_live, live);
        if (__builtin_expect(blocks > thread->peak_blocks, 0))
            HOTPATH_PUT_(thread->peak_blocks, blocks);
    }
}

static inline bool hp_allocations_has_to_publish(const struct hp_alloc_thread *thread)
{
    const int64_t drift = hp_alloc_live(thread) - thread->published;
    return (uint64_t)(drift + HP_ALLOC_UNPUBLISHED) > 2 * HP_ALLOC_UNPUBLISHED;
}

/*
 * What realloc has freed somebody else may have by now, so whose it was is asked before (hotpath_v1_is_foreign), and these stand
 * for the block.
 */
static const char hp_allocations_own_block, hp_allocations_foreign_block;

static inline bool hp_allocations_is_foreign(const struct hp_head *head, const void *freed)
{
    return freed != &hp_allocations_own_block && (freed == &hp_allocations_foreign_block || hp_owner_of(freed) != head->owner);
}

/* What matters only where there are more threads than one. The head is held, and has counters. */
static inline __attribute__((always_inline)) void hp_allocations_tell_others(struct hp_head *head, const void *allocated,
                                                              const void *freed, uint64_t freed_bytes)
{
    struct hp_alloc_thread *thread = head->alloc;
    if (freed != NULL && hp_allocations_is_foreign(head, freed)) {
        HOTPATH_ADD_(thread->foreign_count, 1);
        HOTPATH_ADD_(thread->foreign_bytes, freed_bytes);
    }
    if (allocated != NULL)
        hp_owner_write(head, allocated);
    if (hp_allocations_has_to_publish(thread)) {
        hp_allocations_publish(hp_store_header(head->store), hp_alloc_live(thread) - thread->published);
        HOTPATH_PUT_(thread->published, hp_alloc_live(thread));
    }
}

/* The same where it takes a look at one place in memory; false: it takes more. */
static inline __attribute__((always_inline)) bool hp_allocations_told_quickly(const struct hp_head *head,
                                                               const struct hp_allocations_event *event)
{
    const bool asks_for_owner = event->freed != NULL && event->freed != &hp_allocations_own_block;
    const uint16_t *freed = asks_for_owner ? hp_owner_near_place(head, event->freed) : NULL;
    uint16_t *allocated = event->allocated != NULL ? hp_owner_near_place(head, event->allocated) : NULL;
    if ((asks_for_owner && (freed == NULL || HOTPATH_GET_(*freed) != head->owner)) ||
        (event->allocated != NULL && allocated == NULL) || hp_allocations_has_to_publish(head->alloc))
        return false;
    if (allocated != NULL)
        HOTPATH_PUT_(*allocated, (uint16_t)head->owner);
    return true;
}

static bool hp_allocations_is_one_of_many(const struct hp_head *head)
{
    return __atomic_load_n(&head->is_one_of_many, __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------------------------------------------------- marks */

static struct hp_alloc_frame *hp_allocations_beside(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return (struct hp_alloc_frame *)(void *)(head->hot.base + head->alloc->frames) + (frame - hp_frame_zero(head));
}

static bool hp_allocations_is_marked(const struct hotpath_frame_ *frame) { return frame->stat & HOTPATH_ALLOCATES_; }

static uint32_t hp_allocations_frames_bytes(uint32_t capacity) { return capacity * (uint32_t)sizeof(struct hp_alloc_frame); }

/* The counters of a thread that has none yet; false without space. */
static bool hp_allocations_begin(struct hp_head *head)
{
    hp_tree_need_blank_stat(head);
    const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_alloc_thread), 64);
    const uint32_t frames = hp_thread_allocate(head, hp_allocations_frames_bytes(head->record->frame_capacity), 64);
    if (offset == 0 || frames == 0 || head->record->blank_stat == 0)
        return false;
    head->alloc = hp_store_at(head->store, offset);
    head->alloc->frames = frames;
    HOTPATH_PUT_(hp_frame_zero(head)->stat, HOTPATH_ALLOCATES_);
    __atomic_store_n(&head->record->alloc, offset, __ATOMIC_RELEASE);
    hp_allocations_declare_feature(hp_store_header(head->store));
    return true;
}

static void hp_allocations_mark(struct hp_head *head, struct hotpath_frame_ *frame)
{
    struct hp_alloc_thread *thread = head->alloc;
    const uint32_t flags = frame->stat & HOTPATH_FLAGS_ & ~HOTPATH_UNTIMED_;
    *hp_allocations_beside(head, frame) = (struct hp_alloc_frame){.count = thread->count,
                                                   .bytes = thread->bytes,
                                                   .live = hp_alloc_live(thread),
                                                   .blocks = hp_alloc_live_blocks(thread),
                                                   .peak_live = thread->peak_live,
                                                   .peak_blocks = thread->peak_blocks};
    HOTPATH_PUT_(thread->peak_live, hp_alloc_live(thread));
    HOTPATH_PUT_(thread->peak_blocks, hp_alloc_live_blocks(thread));
    HOTPATH_ORDER_();
    HOTPATH_PUT_(frame->stat, head->record->blank_stat | flags | HOTPATH_ALLOCATES_ |
                                  (frame->stat & HOTPATH_UNTIMED_ ? HOTPATH_COUNTED_ : 0));
}

static bool hp_allocations_mark_all(struct hp_head *head)
{
    if (head->alloc == NULL && !hp_allocations_begin(head))
        return false;
    struct hotpath_frame_ *frame = head->hot.top;
    while (!hp_allocations_is_marked(frame))
        frame--;
    while (frame < head->hot.top)
        hp_allocations_mark(head, ++frame);
    return true;
}

bool hp_alloc_grow(struct hp_head *head, uint32_t capacity)
{
    if (head->alloc == NULL)
        return true;
    const uint32_t frames = hp_thread_allocate(head, hp_allocations_frames_bytes(capacity), 64);
    if (frames == 0)
        return false;
    memcpy(hp_store_at(head->store, frames), hp_store_at(head->store, head->alloc->frames),
           hp_allocations_frames_bytes(head->record->frame_capacity));
    __atomic_store_n(&head->alloc->frames, frames, __ATOMIC_RELEASE);
    return true;
}

/* ---------------------------------------------------------------------------------------- zones that are not there */

/*
 * Zones whose guards are below the place where we are called are of calls that longjmp left, or that wait on another
 * stack. What is counted is not theirs, so their beginnings move along, and the peak that is put aside for the zone around them
 * is the one that may rise.
 */
static void hp_allocations_count_around(struct hp_head *head, const struct hp_allocations_event *event, uintptr_t stack)
{
    struct hotpath_frame_ *const top = head->hot.top, *frame = top;
    while (!hp_zone_is_there(frame, stack))
        frame--;
    struct hp_alloc_thread *thread = head->alloc;
    if (frame == top) {
        hp_allocations_count(thread, event);
        return;
    }
    const int64_t live = hp_allocations_more_live(event), blocks = hp_allocations_more_blocks(event);
    const int64_t peak_live = thread->peak_live + live, peak_blocks = thread->peak_blocks + blocks;
    hp_allocations_count(thread, event);
    HOTPATH_PUT_(thread->peak_live, peak_live);
    HOTPATH_PUT_(thread->peak_blocks, peak_blocks);
    for (struct hotpath_frame_ *absent = frame + 1; absent <= top; absent++) {
        struct hp_alloc_frame *at = hp_allocations_beside(head, absent);
        HOTPATH_ADD_(at->count, event->allocated != NULL);
        HOTPATH_ADD_(at->bytes, event->asked);
        HOTPATH_PUT_(at->live, at->live + live);
        HOTPATH_PUT_(at->blocks, at->blocks + blocks);
        if (absent > frame + 1) {
            HOTPATH_PUT_(at->peak_live, at->peak_live + live);
            HOTPATH_PUT_(at->peak_blocks, at->peak_blocks + blocks);
        }
    }
    struct hp_alloc_frame *first = hp_allocations_beside(head, frame + 1);
    if (hp_alloc_live(thread) > first->peak_live)
        HOTPATH_PUT_(first->peak_live, hp_alloc_live(thread));
    if (hp_alloc_live_blocks(thread) > first->peak_blocks)
        HOTPATH_PUT_(first->peak_blocks, hp_alloc_live_blocks(thread));
}

/* ------------------------------------------------------------------------------------------------- the slow way in */

/* Not in a forked child before its session has begun: to allocate does not begin it. */
static inline __attribute__((always_inline)) bool hp_allocations_is_recorded(void)
{
    return hp_records_allocations() && !hp_is_forked_child();
}

/* The recorder itself is at work on this thread: what it makes the C library allocate is nobody's. */
static bool hp_allocations_is_our_own(void)
{
    return __atomic_load_n(&hp_page()->lock, __ATOMIC_RELAXED) == (uintptr_t)&hotpath_v1_head;
}

static bool hp_allocations_count_held(struct hp_head *head, const struct hp_allocations_event *event, uintptr_t stack)
{
    const uint32_t gate = HOTPATH_GATE_OF_(&head->hot) & ~HP_GATE_OUT_OF_LINE;
    if (gate == (head->hot.epoch | HP_GATE_PAUSED))
        return true; /* nothing is counted now */
    if (gate != head->hot.epoch)
        return false;
    if (!hp_allocations_mark_all(head)) {
        hp_lose(head, HP_LOSS_ALLOCS);
        return false;
    }
    hp_allocations_count_around(head, event, stack);
    if (hp_allocations_is_one_of_many(head))
        hp_allocations_tell_others(head, event->allocated, event->freed, event->freed_bytes);
    return true;
}

static bool hp_allocations_count_in_head(const struct hp_allocations_event *event, uintptr_t stack)
{
    struct hp_head *head = hp_thread_head_if_free();
    if (head == NULL || HOTPATH_GET_(head->hot.ready) == 0)
        return false;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    const bool is_done = hp_allocations_count_held(head, event, stack);
    hp_let_go(&head->hot);
    return is_done;
}

/*
 * What follows takes what it is about in registers and calls the next last, so that neither the usual way in nor that of a
 * program that is not recorded has anything to put on the stack.
 */
static __attribute__((noinline, cold)) void hp_allocations_count_with_care(const void *allocated, uint64_t asked, uint64_t usable,
                                                            const void *freed, uint64_t freed_bytes,
                                                            uintptr_t stack)
{
    const int saved = errno;
    const struct hp_allocations_event event = {allocated, asked, usable, freed, freed_bytes};
    if (!hp_allocations_is_our_own() && !hp_allocations_count_in_head(&event, stack))
        hp_allocations_count_late(&event);
    errno = saved;
}

static __attribute__((noinline)) void hp_allocations_count_slowly(const void *allocated, uint64_t asked, uint64_t usable,
                                                   const void *freed, uint64_t freed_bytes, uintptr_t stack)
{
    if (hp_allocations_is_recorded())
        hp_allocations_count_with_care(allocated, asked, usable, freed, freed_bytes, stack);
    else
        hp_allocations_count_idle(allocated, asked, freed, freed_bytes);
}

static __attribute__((noinline)) void hp_allocations_end_among_many(struct hp_head *head, const void *allocated, const void *freed,
                                                     uint64_t freed_bytes)
{
    hp_allocations_tell_others(head, allocated, freed, freed_bytes);
    hp_let_go(&head->hot);
}

/* --------------------------------------------------------------------------------------------- the usual way in */

/* The head of this thread, held, if all is as usual; else NULL. */
static inline __attribute__((always_inline)) struct hp_head *hp_allocations_hold_usual_head(uintptr_t stack)
{
    struct hotpath_head_ *hot = hotpath_v1_head;
    if (__builtin_expect(HOTPATH_GET_(hot->ready) == 0, 0))
        return NULL;
    HOTPATH_PUT_(hot->ready, 0);
    HOTPATH_ORDER_();
    /* Zones of hooks are up to 3 bytes below the place; see hp_zone_is_there. */
    if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(hot) == hot->epoch && hp_allocations_is_marked(hot->top) && hot->top->zone > stack - 4))
        return (struct hp_head *)(void *)hot;
    hp_let_go(hot);
    return NULL;
}

static inline __attribute__((always_inline)) void hp_allocations_tell(const struct hp_allocations_event *event, uintptr_t stack)
{
    struct hp_head *head = hp_allocations_hold_usual_head(stack);
    if (__builtin_expect(head == NULL, 0)) {
        hp_allocations_count_slowly(event->allocated, event->asked, event->usable, event->freed, event->freed_bytes, stack);
        return;
    }
    hp_allocations_count(head->alloc, event);
    if (__builtin_expect(hp_allocations_is_one_of_many(head), 0) && __builtin_expect(!hp_allocations_told_quickly(head, event), 0)) {
        hp_allocations_end_among_many(head, event->allocated, event->freed, event->freed_bytes);
        return;
    }
    hp_let_go(&head->hot);
}

/* ------------------------------------------------------------------------------------------------------- events */

void hotpath_v1_alloc_is_watched(void)
{
    hp_copies_join();
    __atomic_store_n(&hotpath_runtime_->alloc_is_watched, true, __ATOMIC_RELAXED);
}

/* `block` is never NULL, which the compiler is told so that it need not ask. */
#define HP_ALLOCATIONS_IS_BLOCK(block) ((block) != NULL ? (void)0 : __builtin_unreachable())

void hotpath_v1_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack)
{
    HP_ALLOCATIONS_IS_BLOCK(block);
    hp_allocations_tell(&(struct hp_allocations_event){.allocated = block, .asked = asked, .usable = usable}, stack);
}

void hotpath_v1_freed(const void *block, size_t usable, uintptr_t stack)
{
    HP_ALLOCATIONS_IS_BLOCK(block);
    hp_allocations_tell(&(struct hp_allocations_event){.freed = block, .freed_bytes = usable}, stack);
}

/* Without holding the head: its number is its own, and blocks have theirs as long as they are not freed. */
int hotpath_v1_is_foreign(const void *block)
{
    const struct hp_head *head = (const struct hp_head *)(const void *)hotpath_v1_head;
    return &head->hot != &hotpath_idle_head_ && hp_allocations_is_one_of_many(head) && hp_owner_of(block) != head->owner;
}

void hotpath_v1_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                            uintptr_t stack)
{
    HP_ALLOCATIONS_IS_BLOCK(block);
    hp_allocations_tell(&(struct hp_allocations_event){block, asked, usable, was_foreign ? &hp_allocations_foreign_block : &hp_allocations_own_block, old_usable}, stack);
}

void hotpath_v1_alloc_failed(void)
{
    const int saved = errno;
    if (hp_allocations_is_recorded() && !hp_allocations_is_our_own())
        __atomic_fetch_add(&hp_store_header(hotpath_runtime_->store)->alloc_failed, 1, __ATOMIC_RELAXED);
    errno = saved;
}

int hotpath_read_allocs(struct hotpath_alloc_counts *ret_counts)
{
    const int saved = errno;
    if (!__atomic_load_n(&hotpath_runtime_->alloc_is_watched, __ATOMIC_RELAXED))
        return HOTPATH_E_OFF;
    const struct hp_head *head = hp_allocations_is_recorded() ? hp_thread_head_if_free() : NULL;
    const struct hp_alloc_thread *thread = head != NULL ? head->alloc : NULL;
    if (head == NULL)
        *ret_counts = (struct hotpath_alloc_counts){hp_allocations_idle_counts.count, hp_allocations_idle_counts.bytes, hp_allocations_idle_counts.freed_count,
                                                    hp_allocations_idle_counts.freed_bytes, 0};
    else if (thread == NULL)
        *ret_counts = (struct hotpath_alloc_counts){.session = head->hot.epoch};
    else
        *ret_counts = (struct hotpath_alloc_counts){thread->count, thread->bytes, thread->freed_count,
                                                    thread->freed, head->hot.epoch};
    errno = saved;
    return HOTPATH_OK;
}

/* ----------------------------------------------------------------------------------------------- the end of a call */

static struct hp_alloc_stat *hp_allocations_stat_of(struct hp_head *head, struct hotpath_stat_ *stat)
{
    if (stat->alloc == 0) {
        const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_alloc_stat), 64);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&stat->alloc, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(head->store, stat->alloc);
}

static void hp_allocations_add_value(struct hp_head *head, struct hp_alloc_stat *stat, enum hp_alloc_measure measure,
                      uint64_t value)
{
    uint64_t *counter = hp_tree_counter(head, stat->octaves[measure], value);
    if (counter != NULL)
        HOTPATH_ADD_(*counter, 1);
    else
        HOTPATH_ADD_(stat->missed, 1);
    if (value > stat->max[measure])
        HOTPATH_PUT_(stat->max[measure], value);
}

struct hp_alloc_sums hp_alloc_of_call(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    if (!hp_allocations_is_marked(frame))
        return (struct hp_alloc_sums){0, 0};
    const struct hp_alloc_frame *begun = hp_allocations_beside(head, frame);
    return (struct hp_alloc_sums){head->alloc->bytes - begun->bytes, head->alloc->count - begun->count};
}

/* Gives the zone around it the higher of its own peak so far and the one of the zone that ends, which is returned. */
static uint64_t hp_allocations_end_peak(int64_t *peak, int64_t around, int64_t at_begin)
{
    const int64_t height = *peak - at_begin;
    if (around > *peak)
        HOTPATH_PUT_(*peak, around);
    return height > 0 ? (uint64_t)height : 0;
}

void hp_alloc_close(struct hp_head *head, const struct hotpath_frame_ *frame, bool is_nested)
{
    struct hp_alloc_thread *thread = head->alloc;
    struct hp_alloc_frame *begun = hp_allocations_beside(head, frame), *around = hp_allocations_beside(head, frame - 1);
    const struct hp_alloc_sums all = hp_alloc_of_call(head, frame);
    const uint64_t own_bytes = all.bytes - begun->inner_bytes, own_count = all.count - begun->inner_count;
    HOTPATH_ADD_(around->inner_bytes, all.bytes);
    HOTPATH_ADD_(around->inner_count, all.count);
    const uint64_t peak_bytes = hp_allocations_end_peak(&thread->peak_live, begun->peak_live, begun->live);
    const uint64_t peak_blocks = hp_allocations_end_peak(&thread->peak_blocks, begun->peak_blocks, begun->blocks);
    struct hp_alloc_stat *stat = hp_allocations_stat_of(head, hp_stat_at(head, hp_node_at(head, frame->node)->stat));
    if (stat == NULL) {
        hp_lose(head, HP_LOSS_ALLOCS);
        return;
    }
    HOTPATH_ADD_(stat->calls, 1);
    HOTPATH_ADD_(stat->own_bytes, own_bytes);
    HOTPATH_ADD_(stat->own_count, own_count);
    if (!is_nested) {
        HOTPATH_ADD_(stat->all_bytes, all.bytes);
        HOTPATH_ADD_(stat->all_count, all.count);
        HOTPATH_PUT_(stat->net_bytes, stat->net_bytes + hp_alloc_live(thread) - begun->live);
        HOTPATH_PUT_(stat->net_blocks, stat->net_blocks + hp_alloc_live_blocks(thread) - begun->blocks);
    }
    hp_allocations_add_value(head, stat, HP_ALLOC_OWN_BYTES, own_bytes);
    hp_allocations_add_value(head, stat, HP_ALLOC_OWN_COUNT, own_count);
    hp_allocations_add_value(head, stat, HP_ALLOC_ALL_BYTES, all.bytes);
    hp_allocations_add_value(head, stat, HP_ALLOC_ALL_COUNT, all.count);
    hp_allocations_add_value(head, stat, HP_ALLOC_PEAK_BYTES, peak_bytes);
    hp_allocations_add_value(head, stat, HP_ALLOC_PEAK_BLOCKS, peak_blocks);
}

/* ---- src/record/calibration.c -------------------------------------------------------------------------------- */

/* What a zone costs on this machine, measured when a session begins. */

#define HP_CALIBRATION_CALIBRATION_ZONES 100u
#define HP_CALIBRATION_CALIBRATION_ROUNDS 24

/* A session in miniature, private to the measurement. Offsets count from its start. */
struct hp_calibration_miniature {
    unsigned char unused[HOTPATH_GATE_];
    uint32_t gate;
    uint32_t also_unused[3];
    struct hotpath_node_ root, node;
    struct hotpath_stat_ stat;
    uint64_t octave[256];
    struct hotpath_frame_ frames[4];
    struct hotpath_slot_ slots[4];
    struct hotpath_head_ head;
    struct hotpath_site site;
};

#define HP_CALIBRATION_OFFSET(member) ((uint32_t)offsetof(struct hp_calibration_miniature, member))
_Static_assert(HP_CALIBRATION_OFFSET(stat) % 64 == 0, "flags stand beside offsets of stats");

static void hp_calibration_build(struct hp_calibration_miniature *mini)
{
    memset(mini, 0, sizeof *mini);
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++)
        mini->stat.octaves[octave] = HP_CALIBRATION_OFFSET(octave); /* where it is counted does not matter */
    mini->frames[0].zone = UINT64_MAX;
    mini->frames[0].node = HP_CALIBRATION_OFFSET(root);
    mini->gate = 1;
    mini->head = (struct hotpath_head_){.ready = HOTPATH_READY_,
                                        .epoch = 1,
                                        .top = mini->frames,
                                        .last = mini->frames + 3,
                                        .slots = mini->slots,
                                        .base = (char *)mini,
                                        .mask = 3 * sizeof(struct hotpath_slot_)};
    struct hotpath_slot_ *slot = hotpath_slot_of_(&mini->head, HP_CALIBRATION_OFFSET(root), 0);
    slot->key = (uint64_t)HP_CALIBRATION_OFFSET(root) << 32;
    slot->node = HP_CALIBRATION_OFFSET(node);
    slot->stat = HP_CALIBRATION_OFFSET(stat);
}

/* Runs zones on the miniature; the time they took by the monotonic clock, and what they say of themselves in ticks. */
static void hp_calibration_run_zones(struct hp_calibration_miniature *mini, uint64_t *ret_ns, uint64_t *ret_ticks)
{
    mini->node.total = 0;
    const uint64_t from_ns = hp_clock_monotonic_ns();
    const uint64_t from = hotpath_ticks_();
    for (uint32_t zones = 0; zones < HP_CALIBRATION_CALIBRATION_ZONES; zones++) {
        struct hotpath_zone zone = {hotpath_open_(&zone, &mini->site)};
        hotpath_close_(&zone);
    }
    *ret_ticks = hotpath_ticks_() - from;
    *ret_ns = hp_clock_monotonic_ns() - from_ns;
}

/* Zones that may not use the CPU's counter read the slower clock, twice each. */
static uint64_t hp_calibration_extra_clock_ps(void)
{
    if (hotpath_runtime_->counter != HP_COUNTER_NONE)
        return 0;
    const uint64_t from = hp_clock_monotonic_ns();
    for (int reads = 0; reads < 100; reads++)
        hp_clock_monotonic_ns();
    return (hp_clock_monotonic_ns() - from) * 1000 / 100;
}

/* Best of a few rounds, so that a page fault or a preempted round does not make every zone look dear. */
struct hp_zone_cost hp_zones_calibrate(void)
{
    struct hp_calibration_miniature mini;
    struct hotpath_head_ *before = hotpath_v1_head;
    struct hp_zone_cost cost = {0};
    hp_calibration_build(&mini);
    hotpath_v1_head = &mini.head;
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < HP_CALIBRATION_CALIBRATION_ROUNDS; round++) {
        uint64_t ns, ticks;
        hp_calibration_run_zones(&mini, &ns, &ticks);
        if (ns >= best || ticks == 0)
            continue;
        best = ns;
        cost.ticks = ticks / HP_CALIBRATION_CALIBRATION_ZONES;
        cost.inner_ticks = mini.node.total / HP_CALIBRATION_CALIBRATION_ZONES;
        cost.inner_ps = (uint64_t)((double)mini.node.total * (double)ns / (double)ticks * 1000 / HP_CALIBRATION_CALIBRATION_ZONES);
    }
    hotpath_v1_head = before;
    cost.ps = best * 1000 / HP_CALIBRATION_CALIBRATION_ZONES + 2 * hp_calibration_extra_clock_ps();
    cost.inner_ps += hp_calibration_extra_clock_ps();
    return cost;
}

/* ---- src/record/copies.c ------------------------------------------------------------------------------------- */

/*
 * Several copies of the library in one process: a program with libhotpath.a, a plugin linked to libhotpath.so, another
 * that carries the library in itself. They must be one recorder, and the dynamic linker unites them in some of these
 * cases only. So each copy has an ELF note that leads to its `hp_here`; a copy that is loaded looks through the notes of
 * all images and, when another copy is at work already, works on that one's state from then on. Threads then share
 * heads (threads.c), so zones nest across copies.
 *
 * A copy in a shared object also sees to it that the object is never unloaded: other copies point into its state, and
 * the C library calls its functions when threads end.
 */

static struct hp_recorder hp_copies_own_state = {.store = &hp_copies_own_state.first_store};
struct hp_recorder *hotpath_runtime_ = &hp_copies_own_state;

/* What a note leads to. */
struct hp_copies_here {
    struct hp_recorder *state; /* NULL until this copy has looked for others */
    uint32_t state_bytes;      /* copies of another layout are strangers */
};
HP_SHARED struct hp_copies_here hotpath_here_;
__attribute__((visibility("hidden"), used)) struct hp_copies_here hotpath_here_ = {NULL, sizeof(struct hp_recorder)};

HP_IMAGE_NOTE("hotpath_here_");

static void hp_copies_meet(const void *object, void *context)
{
    const struct hp_copies_here *here = object;
    struct hp_recorder **found = context;
    if (here != &hotpath_here_ && here->state_bytes == hotpath_here_.state_bytes && here->state != NULL)
        *found = here->state;
}

void hp_copies_join(void)
{
    if (hotpath_here_.state != NULL)
        return;
    hp_images_each_note(hp_copies_meet, &hotpath_runtime_);
    hp_image_stay_loaded(&hotpath_here_);
    size_t copy = 0;
    while (copy < HP_COPIES && hotpath_runtime_->idle_heads[copy] != NULL)
        copy++;
    if (copy < HP_COPIES)
        hotpath_runtime_->idle_heads[copy] = &hotpath_idle_head_;
    HOTPATH_PUT_(hotpath_idle_head_.skip, copy < HP_COPIES && hotpath_runtime_->gate == 0);
    hotpath_here_.state = hotpath_runtime_;
}

bool hp_copy_owns_state(void) { return hotpath_runtime_ == &hp_copies_own_state; }

/* ---- src/record/exit_report.c -------------------------------------------------------------------------------- */

/*
 * The report a process writes about itself: to stderr if that still is what it was, or to a file. May run in a
 * signal handler, so all memory comes from the kernel and nothing is held that a handler could interrupt.
 */

struct hp_exit_report_work {
    struct hp_snapshot snapshot;
    const struct hp_snapshot *session; /* the list of snapshots: this one alone */
    struct hp_snapshots sessions;
    struct hp_settings settings; /* of this moment: another thread may start over */
    int fd;
    bool has_failed;
    size_t length;
    char buffer[16384];
};

static bool hp_exit_report_flush(struct hp_exit_report_work *work)
{
    if (work->length > 0 && !hp_file_write(work->fd, work->buffer, work->length))
        work->has_failed = true;
    work->length = 0;
    return !work->has_failed;
}

static bool hp_exit_report_put(void *context, const char *bytes, size_t length)
{
    struct hp_exit_report_work *work = context;
    while (length > 0) {
        if (work->length == sizeof work->buffer && !hp_exit_report_flush(work))
            return false;
        size_t part = sizeof work->buffer - work->length;
        part = part < length ? part : length;
        memcpy(work->buffer + work->length, bytes, part);
        work->length += part;
        bytes += part;
        length -= part;
    }
    return true;
}

static void hp_exit_report_say_parts(const char *const *parts, size_t count)
{
    char line[500];
    struct hp_text text;
    hp_text_init(&text, line, sizeof line);
    for (size_t part = 0; part < count; part++)
        hp_text_string(&text, parts[part]);
    hp_say(hp_text_end(&text));
}

static void hp_exit_report_say_output_failed(const char *what, const char *path)
{
    const char *parts[] = {"hotpath: ", what, " '", path, "': ", hp_file_error(errno), "; the report follows here"};
    hp_exit_report_say_parts(parts, sizeof parts / sizeof parts[0]);
}

static void hp_exit_report_say_no_memory(void)
{
    const char *path = hotpath_runtime_->store->path;
    const char *parts[] = {"hotpath: no memory for the report", path[0] ? "; see it with: hotpath report " : "",
                           path};
    hp_exit_report_say_parts(parts, sizeof parts / sizeof parts[0]);
}

/* The file of the settings, or -1 when there is none or it cannot be had (then stderr gets the report). */
static int hp_exit_report_open_output(const struct hp_settings *settings)
{
    char path[1100];
    if (settings->output_path[0] == '\0' ||
        !hp_place_of_report(settings->output_path, hp_sys_process_id(), path, sizeof path))
        return -1;
    hp_file_make_parents(path);
    const int fd = hp_sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, 0666);
    if (fd < 0)
        hp_exit_report_say_output_failed("cannot write", path);
    return fd;
}

static int hp_exit_report_render(struct hp_exit_report_work *work, int fd)
{
    const struct hp_terminal terminal = hp_terminal_of(fd);
    const struct hp_report_target target = {.sink = hp_exit_report_put,
                                            .context = work,
                                            .width = terminal.columns,
                                            .color = terminal.has_color && !work->settings.no_color};
    work->fd = fd;
    work->has_failed = false;
    work->length = 0;
    const int status = hp_report_render(&work->sessions, &work->settings, &target);
    return hp_exit_report_flush(work) ? status : HOTPATH_E_OUTPUT;
}

static int hp_exit_report_write_report(struct hp_exit_report_work *work)
{
    if (work->settings.format == HP_FORMAT_NONE)
        return HOTPATH_OK;
    const int fd = hp_exit_report_open_output(&work->settings);
    if (fd >= 0) {
        const int status = hp_exit_report_render(work, fd);
        hp_sys_close(fd);
        if (status != HOTPATH_E_OUTPUT)
            return status;
        hp_exit_report_say_output_failed("cannot write all of", work->settings.output_path);
    }
    return hp_file_is(2, &hotpath_runtime_->standard_error) ? hp_exit_report_render(work, 2) : HOTPATH_E_OUTPUT;
}

/* `hotpath run` reads the file when all is over, as long as it lives. What is only in memory it will not see. */
static bool hp_exit_report_is_reported_by_run(const struct hp_exit_report_work *work)
{
    return work->settings.is_run && !hotpath_runtime_->store->is_memory && hp_file_is_locked(work->settings.dir);
}

static int hp_exit_report_report_with(struct hp_exit_report_work *work, bool is_in_handler)
{
    const struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    if (header == NULL)
        return HOTPATH_E_INACTIVE;
    const uint64_t size = __atomic_load_n(&header->backed, __ATOMIC_RELAXED);
    const bool is_over = __atomic_load_n(&header->state, __ATOMIC_RELAXED) == HP_STATE_FINISHED;
    hotpath_reporter *reporter = is_in_handler ? NULL : hotpath_runtime_->reporter;
    struct hp_clock_pair now;
    if (!is_over)
        now = hp_session_touch();
    work->settings = hotpath_runtime_->settings;
    if (hp_snapshot_open(&work->snapshot, hotpath_runtime_->store->base, (size_t)size, is_over ? NULL : &now) != NULL)
        return HOTPATH_E_SPACE;
    work->session = &work->snapshot;
    work->sessions = (struct hp_snapshots){.all = &work->session, .count = 1};
    if (reporter != NULL)
        return hp_report_hand_over(&work->sessions, &work->settings, reporter, hotpath_runtime_->reporter_context);
    if (is_over && hp_exit_report_is_reported_by_run(work))
        return HOTPATH_OK;
    struct hp_signals held;
    hp_signals_hold(&held);
    const int status = hp_exit_report_write_report(work);
    hp_signals_release(&held);
    return status;
}

/* Waits, two seconds at most, for a report that another thread is writing. One of our own will not end meanwhile. */
static bool hp_exit_report_take_turn(uintptr_t *reporter, bool is_in_handler)
{
    const uintptr_t us = (uintptr_t)&hotpath_v1_head;
    const struct timespec pause = {0, 1000000};
    uintptr_t holder = 0;
    for (int tries = 0;
         !__atomic_compare_exchange_n(reporter, &holder, us, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); tries++) {
        if (is_in_handler || holder == us || tries == 2000)
            return false;
        holder = 0;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return true;
}

/* One report at a time. */
int hp_exit_report(bool is_in_handler)
{
    uintptr_t *reporter = &hp_page()->reporter;
    if (!hp_exit_report_take_turn(reporter, is_in_handler))
        return HOTPATH_E_ACTIVE;
    struct hp_exit_report_work *work = hp_memory_map(sizeof *work);
    const int status = work != NULL ? hp_exit_report_report_with(work, is_in_handler) : HOTPATH_E_SPACE;
    if (status == HOTPATH_E_SPACE)
        hp_exit_report_say_no_memory();
    hp_memory_unmap(work, sizeof *work);
    __atomic_store_n(reporter, 0, __ATOMIC_RELEASE);
    return status;
}

/* ---- src/record/expectations.c ------------------------------------------------------------------------------- */

/*
 * HOTPATH_EXPECT_ALLOCS: scopes that must not allocate, or not more than so often.
 */

static hotpath_on_unexpected *hp_expectations_on_unexpected; /* both under the lock, if there is one yet */
static void *hp_expectations_on_unexpected_context;

void hotpath_set_on_unexpected(hotpath_on_unexpected *handler, void *context)
{
    hp_expectations_on_unexpected_context = context;
    __atomic_store_n(&hp_expectations_on_unexpected, handler, __ATOMIC_RELEASE);
}

struct hotpath_expected_ hotpath_v1_expect(uint64_t most, const char *file, uint32_t line, const char *function)
{
    struct hotpath_expected_ expected = {.file = file, .function = function, .most = most, .line = line};
    expected.status = hotpath_read_allocs(&expected.begin);
    return expected;
}

static void hp_expectations_say(const struct hotpath_unexpected *unexpected)
{
    char bytes[512];
    struct hp_text line;
    hp_text_init(&line, bytes, sizeof bytes);
    hp_text_string(&line, "hotpath: ");
    hp_text_string(&line, unexpected->file);
    hp_text_string(&line, ":");
    hp_text_u64(&line, unexpected->line);
    hp_text_string(&line, ": ");
    hp_text_string(&line, unexpected->function);
    if (unexpected->is_counted) {
        hp_text_string(&line, " may allocate ");
        hp_text_u64(&line, unexpected->expected);
        hp_text_string(&line, unexpected->expected == 1 ? " time and did so " : " times and did so ");
        hp_text_u64(&line, unexpected->count);
        hp_text_string(&line, unexpected->count == 1 ? " time, " : " times, ");
        hp_text_u64(&line, unexpected->bytes);
        hp_text_string(&line, unexpected->bytes == 1 ? " byte" : " bytes");
    } else {
        hp_text_string(&line,
                       ": allocations cannot be counted here: link the program with -lhotpath_alloc, and let "
                       "no session begin or end inside the scope");
    }
    hp_say(hp_text_end(&line));
}

static void hp_expectations_complain(const struct hotpath_unexpected *unexpected)
{
    hotpath_on_unexpected *handler = __atomic_load_n(&hp_expectations_on_unexpected, __ATOMIC_ACQUIRE);
    if (handler != NULL) {
        handler(unexpected, hp_expectations_on_unexpected_context);
        return;
    }
    hp_expectations_say(unexpected);
    abort();
}

void hotpath_v1_expect_end(struct hotpath_expected_ *expected)
{
    const int saved = errno;
    struct hotpath_alloc_counts now = {0};
    const int status = hotpath_read_allocs(&now);
    const bool is_counted =
        expected->status == HOTPATH_OK && status == HOTPATH_OK && now.session == expected->begin.session;
    const struct hotpath_unexpected unexpected = {.file = expected->file,
                                                  .function = expected->function,
                                                  .line = expected->line,
                                                  .is_counted = is_counted,
                                                  .expected = expected->most,
                                                  .count = is_counted ? now.count - expected->begin.count : 0,
                                                  .bytes = is_counted ? now.bytes - expected->begin.bytes : 0};
    if (!is_counted || unexpected.count > unexpected.expected)
        hp_expectations_complain(&unexpected);
    errno = saved;
}

/* ---- src/record/functions.c ---------------------------------------------------------------------------------- */

/*
 * Measuring every function: what gcc and clang call with -finstrument-functions.
 *
 * A function is known by its address. The first call of each looks up its name and makes a site; from then on a table
 * leads from the address to the site, without a lock: entries are written before they are linked and never change, and a
 * table that has become too small is left to those who still read it. HOTPATH_FILTER and HOTPATH_SKIP decide once per
 * function, as for any site.
 *
 * There is no guard in the function, so a place on its stack stands for one: the byte below its frame. Functions that
 * were inlined share it with the one they are in and get the bytes below. On the way out the innermost zone has to be
 * one of this function; where longjmp left others above it, these are closed as for any zone.
 */

#define HP_FUNCTIONS_FIRST_ENTRIES 4096u
#define HP_FUNCTIONS_SITES_AT_ONCE 256u
#define HP_FUNCTIONS_INLINED_REACH 64u /* functions inlined into one another that are told apart */

struct hp_functions_entry {
    uintptr_t function;
    struct hotpath_site *site;
};

/*
 * Where the entries are, at the start of a page, and in the bits below how far a hash is shifted to be a place among them:
 * one word, so that a hook has both with its first load. 0: there is no table yet.
 */
typedef uintptr_t hp_functions_table_word;
#define HP_FUNCTIONS_SHIFT_BITS 63u

static hp_functions_table_word hp_functions_table;   /* atomic */
static size_t hp_functions_entry_count; /* this and the rest under the lock */
static struct hotpath_site *hp_functions_free_sites;
static size_t hp_functions_free_count;

/* ----------------------------------------------------------------------------------------------- table */

static inline struct hp_functions_entry *hp_functions_entries_of(hp_functions_table_word in) { return (struct hp_functions_entry *)(in & ~(hp_functions_table_word)HP_FUNCTIONS_SHIFT_BITS); }

static inline size_t hp_functions_last_place(hp_functions_table_word in) { return (size_t)(UINT64_MAX >> (in & HP_FUNCTIONS_SHIFT_BITS)); }

static inline size_t hp_functions_place_of(hp_functions_table_word in, uintptr_t function)
{
    return (size_t)(((uint64_t)function * UINT64_C(0x9e3779b97f4a7c15)) >> (in & HP_FUNCTIONS_SHIFT_BITS));
}

static inline struct hotpath_site *hp_functions_site_in(hp_functions_table_word in, uintptr_t function)
{
    for (size_t place = hp_functions_place_of(in, function);; place = (place + 1) & hp_functions_last_place(in)) {
        const struct hp_functions_entry *entry = &hp_functions_entries_of(in)[place];
        /* Acquire pairs with the release in add_entry: who sees the function sees its site. */
        const uintptr_t known = __atomic_load_n(&entry->function, __ATOMIC_ACQUIRE);
        if (HOTPATH_LIKELY_(known == function))
            return entry->site;
        if (known == 0)
            return NULL;
    }
}

static inline struct hotpath_site *hp_functions_find_site(uintptr_t function)
{
    const hp_functions_table_word present = __atomic_load_n(&hp_functions_table, __ATOMIC_ACQUIRE);
    return present != 0 ? hp_functions_site_in(present, function) : NULL;
}

/* Of a function that is not there yet. */
static void hp_functions_add_entry(hp_functions_table_word to, uintptr_t function, struct hotpath_site *site)
{
    size_t place = hp_functions_place_of(to, function);
    while (hp_functions_entries_of(to)[place].function != 0)
        place = (place + 1) & hp_functions_last_place(to);
    hp_functions_entries_of(to)[place].site = site;
    __atomic_store_n(&hp_functions_entries_of(to)[place].function, function, __ATOMIC_RELEASE);
}

/* A table with room for one more; 0 without memory. */
static hp_functions_table_word hp_functions_roomy_table(void)
{
    const size_t size = hp_functions_table != 0 ? hp_functions_last_place(hp_functions_table) + 1 : 0;
    if (hp_functions_entry_count * 2 < size)
        return hp_functions_table;
    const size_t bigger = size > 0 ? size * 4 : HP_FUNCTIONS_FIRST_ENTRIES;
    struct hp_functions_entry *entries = hp_more_memory(bigger * sizeof *entries);
    if (entries == NULL)
        return 0;
    const hp_functions_table_word next = (hp_functions_table_word)entries | (hp_functions_table_word)__builtin_clzll(bigger - 1);
    for (size_t at = 0; at < size; at++)
        if (hp_functions_entries_of(hp_functions_table)[at].function != 0)
            hp_functions_add_entry(next, hp_functions_entries_of(hp_functions_table)[at].function, hp_functions_entries_of(hp_functions_table)[at].site);
    __atomic_store_n(&hp_functions_table, next, __ATOMIC_RELEASE);
    return next;
}

/* ----------------------------------------------------------------------------------------------- sites */

static struct hotpath_site *hp_functions_new_site(void)
{
    if (hp_functions_free_count == 0) {
        hp_functions_free_sites = hp_more_memory(HP_FUNCTIONS_SITES_AT_ONCE * sizeof *hp_functions_free_sites);
        hp_functions_free_count = hp_functions_free_sites != NULL ? HP_FUNCTIONS_SITES_AT_ONCE : 0;
    }
    return hp_functions_free_count > 0 ? &hp_functions_free_sites[--hp_functions_free_count] : NULL;
}

/* A function without a name is known by its file and where in it it lies. Returns the path of that file. */
static const char *hp_functions_name_by_place(uintptr_t function, char *name, size_t size)
{
    const char *path = "?";
    uint64_t offset = function;
    struct hp_text text;
    hp_symbol_image(function, &path, &offset);
    const char *slash = strrchr(path, '/');
    hp_text_init(&text, name, size);
    hp_text_string(&text, slash != NULL ? slash + 1 : path);
    hp_text_string(&text, "+0x");
    unsigned digits = 1;
    while (digits < 8 && offset >> (4 * digits) != 0)
        digits++;
    hp_text_hex(&text, (uint32_t)offset, digits);
    hp_text_end(&text);
    return path;
}

/* Names are copied when the site gets its number, which is done here, while they are at hand. */
static struct hotpath_site *hp_functions_make_site(uintptr_t function)
{
    static char name[256]; /* under the lock; stacks of handlers are small */
    struct hp_symbol symbol = {.name = name, .file = ""};
    struct hotpath_site *site = hp_functions_new_site();
    if (site == NULL)
        return NULL;
    if (!hp_symbol_find(function, &symbol))
        symbol.image = hp_functions_name_by_place(function, name, sizeof name);
    *site = (struct hotpath_site){.id = HOTPATH_ID_NEW_,
                                  .kind = HOTPATH_KIND_FUNCTION_,
                                  .name = symbol.name,
                                  .function = symbol.name,
                                  .file = symbol.file};
    hp_site_register(site, &symbol);
    if (strcmp(symbol.name, "main") == 0)
        hp_session_suggest_main(site->id);
    site->name = site->function = site->file = "";
    return site;
}

static struct hotpath_site *hp_functions_add_site(uintptr_t function)
{
    const int saved = errno;
    struct hp_signals held;
    struct hotpath_site *site = NULL;
    if (hp_page() == NULL || !hp_thread_is_ours() || !hp_lock(&held)) {
        errno = saved;
        return NULL;
    }
    const hp_functions_table_word present = hotpath_runtime_->gate != 0 ? hp_functions_roomy_table() : 0;
    if (present != 0) {
        site = hp_functions_site_in(present, function);
        if (site == NULL && (site = hp_functions_make_site(function)) != NULL) {
            hp_functions_add_entry(present, function, site);
            hp_functions_entry_count++;
        }
    }
    if (site == NULL && hotpath_runtime_->gate != 0)
        hp_store_lose(hotpath_runtime_->store, HP_LOSS_SITES, 1);
    hp_unlock(&held);
    errno = saved;
    return site;
}

/* ----------------------------------------------------------------------------------------------- hooks */

static inline uint32_t hp_functions_site_of(const struct hotpath_head_ *head, const struct hotpath_frame_ *frame)
{
    return ((const struct hotpath_node_ *)(const void *)(head->base + frame->node))->site;
}

#define HP_FUNCTIONS_HOOK __attribute__((visibility("default"), no_instrument_function))
/* What is seldom done stands apart and is called last, so that the usual way saves no registers for it. */
#define HP_FUNCTIONS_APART static __attribute__((noinline))
/* What is usual is in the hook itself, even if it is needed elsewhere, too. */
#define HP_FUNCTIONS_WITHIN static inline __attribute__((always_inline))
/* The byte below what the function's frame has on the stack, so that whatever it calls is further down. */
#define HP_FUNCTIONS_HOOK_PLACE() ((uintptr_t)__builtin_dwarf_cfa() - 1)
HP_FUNCTIONS_HOOK void __cyg_profile_func_enter(void *function, void *caller);
HP_FUNCTIONS_HOOK void __cyg_profile_func_exit(void *function, void *caller);

/*
 * Where this call is on the stack, as hotpath_begin_ finds it where it can. What is inlined, be it a function into itself,
 * is called from the same frame as what it is in. So is a call that follows on one that longjmp left; that looks as if it
 * were inside, until there are too many.
 */
static uintptr_t hp_functions_stack_place(struct hotpath_head_ *head, uintptr_t place_of_hook)
{
    uintptr_t place = place_of_hook;
    if (HOTPATH_GET_(head->ready) == 0)
        return place;
    /* Held, since the innermost zone is in the session, which another thread may end and begin anew. */
    HOTPATH_PUT_(head->ready, 0);
    HOTPATH_ORDER_();
    if ((HOTPATH_GATE_OF_(head) & HOTPATH_EPOCH_) == head->epoch) {
        const uint64_t zone = head->top->zone;
        if (place_of_hook - zone < HP_FUNCTIONS_INLINED_REACH)
            place = (uintptr_t)HOTPATH_BELOW_(zone);
    }
    hp_let_go(head);
    return place;
}

/* Goes on where hotpath_begin_ has not opened the zone. */
HP_FUNCTIONS_APART void enter_otherwise(struct hotpath_site *site, uintptr_t place_of_hook, uintptr_t state)
{
    if (state == HOTPATH_NOT_OPENED_)
        state = hotpath_v1_enter((struct hotpath_zone *)hp_functions_stack_place(hotpath_v1_head, place_of_hook), site);
    if (state == HOTPATH_SKIPPED_ && HOTPATH_GET_(site->id) < HOTPATH_READY_)
        hp_zone_skip();
}

HP_FUNCTIONS_APART void enter_first_time(uintptr_t function, uintptr_t place_of_hook)
{
    struct hotpath_site *site = hp_functions_add_site(function);
    if (site != NULL)
        enter_otherwise(site, place_of_hook, HOTPATH_NOT_OPENED_);
}

HP_FUNCTIONS_HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (HOTPATH_GET_(hotpath_v1_head->skip) != 0)
        return;
    const uintptr_t place = HP_FUNCTIONS_HOOK_PLACE();
    struct hotpath_site *site = hp_functions_find_site((uintptr_t)function);
    if (__builtin_expect(site == NULL, 0)) {
        enter_first_time((uintptr_t)function, place);
        return;
    }
    const uintptr_t state = hotpath_begin_((struct hotpath_zone *)place, site, HP_FUNCTIONS_INLINED_REACH);
    if (__builtin_expect(state <= HOTPATH_NOT_OPENED_, 0))
        enter_otherwise(site, place, state);
}

/* Every so many calls of a node it is asked whether they are worth their measuring. */
#define HP_FUNCTIONS_CALLS_UNTIL_ASKED 4096u

/* A call was counted, and is one to look at. Takes over the head, which is held. */
HP_FUNCTIONS_APART void ask(struct hotpath_head_ *head, const struct hotpath_frame_ *counted, uint32_t flags, uint64_t now)
{
    struct hp_head *owner = (struct hp_head *)(void *)head;
    if (flags & HOTPATH_CHOSEN_)
        hp_tree_review(owner, counted->node, now - counted->start);
    if (hp_node_at(owner, counted->node)->calls % HP_FUNCTIONS_CALLS_UNTIL_ASKED == 0)
        hp_tree_limit(owner, counted[-1].node, counted->node);
    hp_let_go(head);
}

/* Counts the innermost zone and lets go of the head. False: see hotpath_count_. */
HP_FUNCTIONS_WITHIN bool count(struct hotpath_head_ *head, struct hotpath_frame_ *frame, uint64_t *ret_now)
{
    const uint32_t flags = frame->stat;
    if (__builtin_expect(flags & HOTPATH_UNTIMED_, 0)) {
        hotpath_count_untimed_(head, frame);
        hp_let_go(head);
        return true;
    }
    const struct hotpath_node_ *node = (const struct hotpath_node_ *)(const void *)(head->base + frame->node);
    const bool is_counted = hotpath_count_(head, frame, ret_now);
    if (__builtin_expect(is_counted && (flags & HOTPATH_CHOSEN_ || node->calls % HP_FUNCTIONS_CALLS_UNTIL_ASKED == 0), 0))
        ask(head, frame, flags, *ret_now);
    else
        hp_let_go(head);
    return is_counted;
}

/* Ends a call that is not the innermost one, or cannot be counted in the hook. */
HP_FUNCTIONS_APART void leave_otherwise(const struct hotpath_site *site, uint64_t now)
{
    hp_zone_leave_site(HOTPATH_GET_(site->id), now != 0 ? now : hp_now());
}

HP_FUNCTIONS_WITHIN void leave(struct hotpath_head_ *head, const struct hotpath_site *site)
{
    uint64_t now = 0;
    if (HOTPATH_LIKELY_(HOTPATH_GET_(head->ready) != 0)) {
        HOTPATH_PUT_(head->ready, 0);
        HOTPATH_ORDER_();
        struct hotpath_frame_ *frame = head->top;
        if (HOTPATH_LIKELY_(HOTPATH_GATE_OF_(head) == head->epoch &&
                            hp_functions_site_of(head, frame) == HOTPATH_GET_(site->id))) {
            if (HOTPATH_LIKELY_(count(head, frame, &now)))
                return;
        } else {
            hp_let_go(head);
        }
    }
    leave_otherwise(site, now);
}

/* Ends a call where some of those inside found no place; it may be one of them. */
HP_FUNCTIONS_APART void leave_unless_skipped(const struct hotpath_site *site)
{
    if (!hp_zone_was_skipped())
        leave(hotpath_v1_head, site);
}

HP_FUNCTIONS_HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
    struct hotpath_head_ *head = hotpath_v1_head;
    (void)caller;
    if (HOTPATH_GET_(head->skip) != 0)
        return;
    const struct hotpath_site *site = hp_functions_find_site((uintptr_t)function);
    if (__builtin_expect(site == NULL || HOTPATH_GET_(site->id) >= HOTPATH_READY_, 0))
        return;
    if (__builtin_expect(((const struct hp_head *)(const void *)head)->skip_runs != 0, 0))
        leave_unless_skipped(site);
    else
        leave(head, site);
}

/* ---- src/record/kept.h --------------------------------------------------------------------------------------- */

/*
 * What a thread remembers for the calls of which more is kept than numbers (kept.c, notes.c). Private memory of the thread,
 * mapped when it is first needed and touched as far as it is used.
 */

#define HP_NOTE_DEPTHS 32u /* open calls, one inside the other, that can have a note */
#define HP_FOLLOWED 2048u  /* places for nodes that are followed, half of which are used */
#define HP_SUBTREE 512u    /* nodes below one that is followed */
#define HP_GAINS 8192u     /* of all of them together */
#define HP_SLOW_ROWS 128u  /* kept of a slow call, the largest */
#define HP_SLOW_NOTES 1024u

/* The note of a call that is open: of the one at this depth that began then. */
struct hp_note {
    uint64_t start;
    uint32_t depth; /* 0: none */
    uint32_t length;
    char text[HP_NOTE_BYTES];
};

struct hp_sums_of_node {
    uint32_t node;
    uint64_t calls;
    uint64_t untimed;
    uint64_t total; /* outermost calls */
    uint64_t self;
};

/* A node whose calls are looked into when they end, and what its subtree had at the end of the latest. */
struct hp_followed {
    uint32_t node;  /* 0: a free place */
    uint32_t first; /* in `sums` */
    uint32_t count;
    uint32_t capacity;
    uint64_t calls;      /* of the node itself */
    uint64_t least_cost; /* ticks it took to look into one, at best */
};

/* A slow call before it is stored. */
struct hp_slow_draft {
    struct hp_slow_call call;
    struct hp_slow_row rows[HP_SLOW_ROWS];
    char notes[HP_SLOW_NOTES];
};

/* The nodes that are followed, found by hash, and their sums. */
struct hp_following {
    uint32_t count;
    uint32_t sums_used;
    struct hp_followed nodes[HP_FOLLOWED];
    struct hp_sums_of_node sums[HP_GAINS];
};

struct hp_kept {
    uint64_t least_cost; /* of all */
    uint32_t half;       /* which of the following is in use; the other is for moving when it is full */
    struct hp_note notes[HP_NOTE_DEPTHS];
    struct hp_sums_of_node gains[HP_SUBTREE];  /* scratch: of the call that ends */
    struct hp_sums_of_node latest[HP_SUBTREE]; /* scratch: the sums to remember */
    struct hp_slow_draft draft;
    struct hp_following following[2];
};

/* That of a thread; NULL without memory. */
HP_PRIVATE struct hp_kept *hp_kept_memory(struct hp_head *head);

/* --- notes.c */
/* The note of an open call, or NULL. */
HP_PRIVATE const struct hp_note *hp_note_of(const struct hp_head *head, const struct hotpath_frame_ *frame);

/* ---- src/record/kept.c --------------------------------------------------------------------------------------- */

/*
 * Calls of which more is kept than numbers: the latest ones of a site that is logged, and the slowest one of nearly every
 * site, with what went on inside.
 *
 * What was inside a call is what its subtree of the call tree has gained meanwhile. Between two calls of a node nothing
 * below it can change, so what was noted down at the end of the one is what the next begins with: there is nothing to do
 * when a call begins. At its end the subtree is walked, which takes some nanoseconds for each node. To keep that below
 * a sixty-fourth of a site's time, sites whose calls are too short for it are no longer followed after a few calls; those
 * whose calls become longer later on are taken up again.
 *
 * The notes taken are private to the thread (struct hp_kept); only the results are in the session.
 */

#define HP_KEPT_FIRST_CALLS 8u        /* calls of a node that are followed whatever it costs */
#define HP_KEPT_CALLS_UNTIL_ASKED 16u /* after those: how often it is asked whether it is worth its cost */
#define HP_KEPT_WORTH 64u             /* a call has to be so many times as long as it takes to look into it */
#define HP_KEPT_LONGEST_LOG 100000u   /* calls of a site and thread, when no limit is asked for */

static struct hp_following *hp_kept_following_of(struct hp_kept *kept) { return &kept->following[kept->half]; }

static void hp_kept_follow_nobody(struct hp_following *following)
{
    following->count = following->sums_used = 0;
    memset(following->nodes, 0, sizeof following->nodes);
}

void hp_kept_begin(struct hp_head *head)
{
    if (head->kept == NULL)
        return;
    hp_kept_follow_nobody(hp_kept_following_of(head->kept));
    head->kept->least_cost = UINT64_MAX;
}

struct hp_kept *hp_kept_memory(struct hp_head *head)
{
    if (head->kept == NULL) {
        head->kept = hp_more_memory(sizeof *head->kept);
        if (head->kept != NULL)
            head->kept->least_cost = UINT64_MAX;
    }
    return head->kept;
}

/* Handlers are to be over soon, and where clocks are read for some calls only, trees of single calls have holes. */
static bool hp_kept_may_follow(const struct hp_head *head)
{
    return !head->is_handler && hotpath_runtime_->settings.time_period <= 1 && !hp_is_sealed();
}

static bool hp_kept_is_place(uint32_t site) { return site != HP_SITE_ROOT && site != HP_SITE_OTHER; }

uint32_t hp_kept_from_start(const struct hp_head *head, uint32_t site)
{
    if (!hp_kept_is_place(site))
        return 0;
    return (hp_site_is_logged(site) ? HP_KEEPS_LOG : 0) | (hp_kept_may_follow(head) ? HP_KEEPS_SLOWEST : 0);
}

static struct hp_call hp_kept_describe(const struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks)
{
    const struct hp_alloc_sums allocated = hp_alloc_of_call(head, frame);
    return (struct hp_call){.start = frame->start,
                            .ticks = ticks,
                            .node = frame->node,
                            .tid = head->thread_id,
                            .alloc_bytes = allocated.bytes,
                            .alloc_count = allocated.count};
}

/* Numbers come first: what single calls were like gets nothing once half of the session is used. */
static uint32_t hp_kept_take(struct hp_head *head, uint32_t size, uint32_t align)
{
    const uint64_t used = __atomic_load_n(&hp_store_header(head->store)->used, __ATOMIC_RELAXED);
    return used + size <= head->store->mapped / 2 ? hp_thread_allocate(head, size, align) : 0;
}

/* Word by word, since somebody may be reading; both places and the size are multiples of 8. */
static void hp_kept_put_words(void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)from + at, sizeof word);
        HOTPATH_PUT_(*(uint64_t *)(void *)((char *)to + at), word);
    }
}

/* Whoever sees any of what is written next sees that what was written before counts. */
static void hp_kept_begin_writing(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }

/* ---------------------------------------------------------------------------------------- the latest calls */

static struct hp_call_log *hp_kept_log_of(struct hp_head *head, struct hotpath_stat_ *stat)
{
    if (stat->log == 0) {
        const uint32_t limit = hotpath_runtime_->settings.logs_limit;
        const uint32_t capacity = (limit < HP_KEPT_LONGEST_LOG ? limit : HP_KEPT_LONGEST_LOG) + 1;
        const size_t bytes = sizeof(struct hp_call_log) + capacity * sizeof(struct hp_call);
        const uint32_t offset = hp_kept_take(head, (uint32_t)bytes, 64);
        if (offset == 0)
            return NULL;
        struct hp_call_log *log = hp_store_at(head->store, offset);
        log->capacity = capacity;
        __atomic_store_n(&stat->log, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(head->store, stat->log);
}

static void hp_kept_log_call(struct hp_head *head, struct hotpath_stat_ *stat, const struct hotpath_frame_ *frame,
                     uint64_t ticks)
{
    const struct hp_note *note = hp_note_of(head, frame);
    struct hp_call_log *log = hp_kept_log_of(head, stat);
    if (log == NULL) {
        hp_lose(head, HP_LOSS_CALLS);
        return;
    }
    struct hp_call *place = &log->calls[log->count % log->capacity];
    struct hp_call call = hp_kept_describe(head, frame, ticks);
    call.note = place->note;
    if (note != NULL && call.note == 0)
        call.note = hp_kept_take(head, HP_NOTE_BYTES, 8);
    hp_kept_begin_writing();
    if (note != NULL && call.note != 0) {
        call.note_length = note->length;
        hp_kept_put_words(hp_store_at(head->store, call.note), note->text, (note->length + 7) & ~(size_t)7);
    }
    hp_kept_put_words(place, &call, sizeof call);
    /* Release pairs with the reader's acquire: a call that counts is whole. */
    __atomic_store_n(&log->count, log->count + 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------------------- what a call has gained */

/* The next node of the subtree of `top`, parents first; 0 at the end. */
static uint32_t hp_kept_next_below(const struct hp_head *head, uint32_t top, uint32_t at)
{
    const struct hotpath_node_ *node = hp_node_at(head, at);
    if (node->first_child != 0)
        return node->first_child;
    while (at != top && hp_node_at(head, at)->next_sibling == 0)
        at = hp_node_at(head, at)->parent;
    return at == top ? 0 : hp_node_at(head, at)->next_sibling;
}

/* The place of a node, or the free one where it belongs; there always is a free one. */
static struct hp_followed *hp_kept_followed_in(struct hp_following *following, uint32_t node)
{
    uint32_t at = node / 64 % HP_FOLLOWED;
    while (following->nodes[at].node != 0 && following->nodes[at].node != node)
        at = (at + 1) % HP_FOLLOWED;
    return &following->nodes[at];
}

/* Takes a node along with its sums. */
static void hp_kept_move_node(struct hp_following *to, const struct hp_following *from, const struct hp_followed *node)
{
    struct hp_followed *moved = hp_kept_followed_in(to, node->node);
    *moved = *node;
    moved->first = to->sums_used;
    moved->capacity = node->count;
    memcpy(to->sums + moved->first, from->sums + node->first, node->count * sizeof to->sums[0]);
    to->sums_used += node->count;
    to->count++;
}

/* Moves the nodes that are still followed and have more than so many calls. */
static void hp_kept_move_busy(const struct hp_head *head, struct hp_following *to, const struct hp_following *from,
                      uint64_t calls)
{
    hp_kept_follow_nobody(to);
    for (const struct hp_followed *at = from->nodes; at < from->nodes + HP_FOLLOWED; at++)
        if (at->node != 0 && at->calls > calls &&
            hp_stat_at(head, hp_node_at(head, at->node)->stat)->keeps & HP_KEEPS_SLOWEST)
            hp_kept_move_node(to, from, at);
}

/*
 * Makes room among the nodes that are followed. Those that were given up go, and if they are not enough those with the
 * fewest calls, which are followed again from their next call on.
 */
static void hp_kept_make_room(const struct hp_head *head)
{
    struct hp_kept *kept = head->kept;
    const struct hp_following *from = hp_kept_following_of(kept);
    struct hp_following *to = &kept->following[1 - kept->half];
    uint64_t calls = 0;
    do {
        hp_kept_move_busy(head, to, from, calls);
        calls = 2 * calls + 1;
    } while (to->count > HP_FOLLOWED / 4 || to->sums_used > HP_GAINS / 2);
    kept->half = 1 - kept->half;
}

/* What is known of a node that is followed. */
static struct hp_followed *hp_kept_follow(const struct hp_head *head, uint32_t node)
{
    struct hp_followed *followed = hp_kept_followed_in(hp_kept_following_of(head->kept), node);
    if (followed->node == node)
        return followed;
    if (hp_kept_following_of(head->kept)->count >= HP_FOLLOWED / 2) {
        hp_kept_make_room(head);
        followed = hp_kept_followed_in(hp_kept_following_of(head->kept), node);
    }
    hp_kept_following_of(head->kept)->count++;
    *followed = (struct hp_followed){.node = node, .least_cost = UINT64_MAX};
    return followed;
}

static struct hp_sums_of_node hp_kept_sums_of(const struct hp_head *head, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(head, offset);
    return (struct hp_sums_of_node){offset, node->calls, node->untimed, node->total - node->nested, node->self};
}

/*
 * Calls that were too small to be timed count for what is typical of their site, as readers of the session have it. (Where
 * calls are not timed because sampling was asked for, nothing is followed.)
 */
static void hp_kept_add_untimed(const struct hp_head *head, struct hp_sums_of_node *gain)
{
    const uint64_t typical = hp_stat_at(head, hp_node_at(head, gain->node)->stat)->typical;
    const uint64_t ticks = gain->untimed * typical / 256;
    gain->total += ticks;
    gain->self += ticks;
}

/*
 * Walks the subtree. The nodes that were there before come in the same order as then, with new ones in between, since a new
 * child stands before its siblings; so one step along the old sums for each node that has some. `gains` get what was gained;
 * the new sums are left behind them in the scratch. How many nodes there are, or UINT32_MAX: too many.
 */
static uint32_t hp_kept_walk(const struct hp_head *head, const struct hp_followed *followed)
{
    struct hp_kept *kept = head->kept;
    const struct hp_sums_of_node *old = hp_kept_following_of(kept)->sums + followed->first;
    uint32_t count = 0, old_at = 0;
    for (uint32_t at = hp_kept_next_below(head, followed->node, followed->node); at != 0;
         at = hp_kept_next_below(head, followed->node, at)) {
        if (count == HP_SUBTREE)
            return UINT32_MAX;
        const struct hp_sums_of_node now = hp_kept_sums_of(head, at);
        struct hp_sums_of_node *gain = &kept->gains[count];
        kept->latest[count++] = *gain = now;
        if (old_at < followed->count && old[old_at].node == at) {
            gain->calls -= old[old_at].calls;
            gain->untimed -= old[old_at].untimed;
            gain->total -= old[old_at].total;
            gain->self -= old[old_at].self;
            old_at++;
        }
        hp_kept_add_untimed(head, gain);
    }
    return count;
}

/* Remembers the sums that `walk` found. Without room for them, the node is found to be unknown at its next call. */
static void hp_kept_note_down(const struct hp_head *head, struct hp_followed *followed, uint32_t count)
{
    struct hp_following *following = hp_kept_following_of(head->kept);
    followed->calls = hp_node_at(head, followed->node)->calls;
    followed->count = count;
    if (count > followed->capacity) {
        const uint32_t capacity = count < 4 ? 4 : count + count / 2;
        if (capacity > HP_GAINS - following->sums_used) {
            followed->count = 0;
            followed->calls = UINT64_MAX;
            hp_kept_make_room(head);
            return;
        }
        followed->first = following->sums_used;
        followed->capacity = capacity;
        following->sums_used += capacity;
    }
    memcpy(following->sums + followed->first, head->kept->latest, count * sizeof following->sums[0]);
}

/* ---------------------------------------------------------------------------------------- the slowest call */

/* The least total of the rows that are kept, when there are more than can be. Parents have no less than their children. */
static uint64_t hp_kept_least_total_kept(const struct hp_kept *kept, uint32_t count)
{
    uint32_t by_magnitude[65] = {0}, rows = 0;
    for (uint32_t at = 0; at < count; at++)
        if (kept->gains[at].calls != 0)
            by_magnitude[64 - __builtin_clzll(kept->gains[at].total | 1)]++;
    unsigned magnitude = 64;
    while (magnitude > 0 && rows + by_magnitude[magnitude] <= HP_SLOW_ROWS)
        rows += by_magnitude[magnitude--];
    return magnitude == 0 ? 0 : UINT64_C(1) << (magnitude < 64 ? magnitude : 63);
}

/* The note of the last logged call of a node within the slow call. */
static const struct hp_call *hp_kept_noted_call(const struct hp_head *head, uint32_t node, uint64_t since)
{
    const struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, node)->stat);
    if (stat->log == 0)
        return NULL;
    const struct hp_call_log *log = hp_store_at(head->store, stat->log);
    for (uint64_t back = 1; back < log->capacity && back <= log->count; back++) {
        const struct hp_call *call = &log->calls[(log->count - back) % log->capacity];
        if (call->start < since)
            return NULL;
        if (call->node == node && call->note_length > 0)
            return call;
    }
    return NULL;
}

/* Adds a text to the notes of the slow call; its length, or 0 where it does not fit. */
static uint32_t hp_kept_add_note(struct hp_slow_draft *draft, const char *text, uint32_t length, uint32_t *ret_offset)
{
    if (length > sizeof draft->notes - draft->call.note_bytes)
        return 0;
    *ret_offset = draft->call.note_bytes;
    memcpy(draft->notes + draft->call.note_bytes, text, length);
    draft->call.note_bytes += length;
    return length;
}

static void hp_kept_add_row(const struct hp_head *head, struct hp_slow_draft *draft, const struct hp_sums_of_node *gain)
{
    struct hp_slow_row row = {.node = gain->node,
                              .is_sampled = gain->untimed > 0,
                              .calls = gain->calls,
                              .total = gain->total,
                              .self = gain->self};
    const struct hp_call *noted = hp_kept_noted_call(head, gain->node, draft->call.call.start);
    if (noted != NULL)
        row.note_length = hp_kept_add_note(draft, hp_store_at(head->store, noted->note), noted->note_length, &row.note);
    draft->rows[draft->call.row_count++] = row;
}

/* The place for the next slow call, the one that does not hold the slowest so far; NULL without space. */
static char *hp_kept_next_place(struct hp_head *head, struct hp_slowest *slowest, size_t bytes)
{
    const uint32_t place = (slowest->number + 1) % 2;
    if (slowest->bytes[place] < bytes) {
        const uint32_t roomy = (uint32_t)(bytes + bytes / 2);
        const uint32_t offset = hp_kept_take(head, roomy, 64);
        if (offset == 0)
            return NULL;
        HOTPATH_PUT_(slowest->bytes[place], roomy);
        __atomic_store_n(&slowest->calls[place], offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(head->store, slowest->calls[place]);
}

static struct hp_slowest *hp_kept_slowest_of(struct hp_head *head, struct hotpath_stat_ *stat)
{
    if (stat->slowest == 0) {
        const uint32_t offset = hp_kept_take(head, sizeof(struct hp_slowest), 8);
        if (offset == 0)
            return NULL;
        __atomic_store_n(&stat->slowest, offset, __ATOMIC_RELEASE);
    }
    return hp_store_at(head->store, stat->slowest);
}

static bool hp_kept_is_slowest(const struct hp_head *head, const struct hotpath_stat_ *stat, uint64_t ticks)
{
    if (stat->slowest == 0)
        return true;
    const struct hp_slowest *slowest = hp_store_at(head->store, stat->slowest);
    if (slowest->number == 0)
        return true;
    const struct hp_slow_call *slow = hp_store_at(head->store, slowest->calls[slowest->number % 2]);
    return ticks > slow->call.ticks;
}

/* What is outside of all that the call called itself. */
static uint64_t hp_kept_own_ticks(const struct hp_head *head, const struct hp_call *call, uint32_t count)
{
    uint64_t ticks = call->ticks;
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_sums_of_node *gain = &head->kept->gains[at];
        if (hp_node_at(head, gain->node)->parent == call->node)
            ticks -= gain->total < ticks ? gain->total : ticks;
    }
    return ticks;
}

/* Puts a call and what it has gained together; `count` nodes of it are in the scratch. */
static void hp_kept_draft_call(const struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks,
                       uint32_t count)
{
    struct hp_slow_draft *draft = &head->kept->draft;
    const struct hp_note *note = hp_note_of(head, frame);
    const uint64_t least = hp_kept_least_total_kept(head->kept, count);
    draft->call = (struct hp_slow_call){.call = hp_kept_describe(head, frame, ticks)};
    draft->call.self = hp_kept_own_ticks(head, &draft->call.call, count);
    if (note != NULL)
        draft->call.call.note_length = hp_kept_add_note(draft, note->text, note->length, &draft->call.call.note);
    for (uint32_t at = 0; at < count; at++) {
        const struct hp_sums_of_node *gain = &head->kept->gains[at];
        if (gain->calls == 0)
            continue;
        if (gain->total >= least && draft->call.row_count < HP_SLOW_ROWS)
            hp_kept_add_row(head, draft, gain);
        else
            draft->call.rows_left_out++;
    }
}

static void hp_kept_keep_slowest(struct hp_head *head, struct hotpath_stat_ *stat)
{
    const struct hp_slow_draft *draft = &head->kept->draft;
    const size_t rows = draft->call.row_count * sizeof draft->rows[0];
    const size_t notes = (draft->call.note_bytes + 7) & ~(size_t)7;
    struct hp_slowest *slowest = hp_kept_slowest_of(head, stat);
    char *place = slowest != NULL ? hp_kept_next_place(head, slowest, sizeof draft->call + rows + notes) : NULL;
    if (place == NULL) {
        hp_lose(head, HP_LOSS_CALLS);
        return;
    }
    hp_kept_begin_writing();
    hp_kept_put_words(place, &draft->call, sizeof draft->call);
    hp_kept_put_words(place + sizeof draft->call, draft->rows, rows);
    hp_kept_put_words(place + sizeof draft->call + rows, draft->notes, notes);
    __atomic_store_n(&slowest->number, slowest->number + 1, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------------------------- following a node */

static bool hp_kept_is_worth(const struct hotpath_node_ *node, uint64_t cost)
{
    const uint64_t timed = node->calls - node->untimed;
    return timed == 0 || node->total / timed / HP_KEPT_WORTH >= cost;
}

static void hp_kept_stop_following(struct hp_head *head, struct hotpath_stat_ *stat, const struct hotpath_frame_ *frame)
{
    stat->keeps &= ~HP_KEEPS_SLOWEST;
    hp_tree_refresh(head, frame[-1].node, frame->node);
}

/*
 * Looks into a call of a node that is followed. If calls of it have ended unnoticed, what is known of it is of no use, and
 * is only brought up to date. False: there is too much below it.
 */
static bool hp_kept_look_into(struct hp_head *head, struct hp_followed *followed, struct hotpath_stat_ *stat,
                      const struct hotpath_frame_ *frame, uint64_t ticks)
{
    const struct hotpath_node_ *node = hp_node_at(head, frame->node);
    const bool is_known = node->calls == followed->calls + 1;
    const uint32_t count = hp_kept_walk(head, followed);
    if (count == UINT32_MAX)
        return false;
    if (is_known && hp_kept_is_slowest(head, stat, ticks)) {
        hp_kept_draft_call(head, frame, ticks, count);
        hp_kept_keep_slowest(head, stat);
    }
    hp_kept_note_down(head, followed, count);
    return true;
}

static void hp_kept_follow_call(struct hp_head *head, struct hotpath_stat_ *stat, const struct hotpath_frame_ *frame,
                        uint64_t ticks, bool is_nested)
{
    const struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hp_kept *kept = hp_kept_memory(head);
    struct hp_followed *followed = kept != NULL ? hp_kept_follow(head, frame->node) : NULL;
    if (is_nested) { /* one more call of the node, which is part of the outermost one */
        if (followed != NULL && node->calls == followed->calls + 1)
            followed->calls++;
        return;
    }
    if (followed == NULL || !hp_kept_look_into(head, followed, stat, frame, ticks)) {
        hp_kept_stop_following(head, stat, frame);
        return;
    }
    if (node->calls > HP_KEPT_FIRST_CALLS && node->calls % HP_KEPT_CALLS_UNTIL_ASKED != 0)
        return;
    followed = hp_kept_follow(head, frame->node); /* others may have been moved out of the way */
    const uint64_t cost = hp_now() - (frame->start + ticks);
    followed->least_cost = cost < followed->least_cost ? cost : followed->least_cost;
    kept->least_cost = cost < kept->least_cost ? cost : kept->least_cost;
    if (node->calls >= HP_KEPT_FIRST_CALLS && !hp_kept_is_worth(node, followed->least_cost))
        hp_kept_stop_following(head, stat, frame);
}

void hp_kept_call(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested)
{
    struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, frame->node)->stat);
    if (stat->keeps & HP_KEEPS_LOG)
        hp_kept_log_call(head, stat, frame, ticks);
    if (stat->keeps & HP_KEEPS_SLOWEST)
        hp_kept_follow_call(head, stat, frame, ticks, is_nested);
    else if (stat->keeps == 0)
        hp_tree_refresh(head, frame[-1].node, frame->node); /* given up while it was entered from elsewhere */
}

void hp_kept_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    const struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    if (stat->keeps != 0 || stat->period > 1 || head->kept == NULL || !hp_kept_is_place(node->site) || !hp_kept_may_follow(head))
        return;
    if (!hp_kept_is_worth(node, 2 * head->kept->least_cost))
        return;
    struct hp_followed *followed = hp_kept_follow(head, frame->node);
    const uint32_t count = hp_kept_walk(head, followed);
    /* What it cost may not be known any more; a walk takes less than a quarter of the whole for each node. */
    const uint64_t cost =
        followed->least_cost != UINT64_MAX ? followed->least_cost : head->kept->least_cost * (1 + count / 4);
    if (count == UINT32_MAX || !hp_kept_is_worth(node, 2 * cost))
        return;
    hp_kept_note_down(head, followed, count);
    stat->keeps = HP_KEEPS_SLOWEST;
    hp_tree_refresh(head, frame[-1].node, frame->node);
}

/* ---- src/record/keys.c --------------------------------------------------------------------------------------- */

/*
 * HOTPATH_BLOCK_KEY: one block, a site for each key. A table per block leads from the text of a key to its site, without a
 * lock: entries are written before they are linked and never change. The table is made for as many keys as there may be
 * (HOTPATH_KEYS_LIMIT), so it never has to grow; keys beyond that share the site of <other>.
 */

#define HP_KEYS_KEY_BYTES 120u    /* of a key; the rest is cut off */
#define HP_KEYS_MOST_KEYS 100000u /* of one block, whatever is asked for */
#define HP_KEYS_KEYS_PIECE 4096u  /* memory for keys is taken in such pieces */

struct hp_keys_key {
    struct hotpath_site site;
    uint32_t hash;
    uint32_t length;
    char text[];
};

struct hp_keys_key_table {
    size_t mask;
    uint32_t count, limit;
    struct hp_keys_key *other; /* atomic */
    char *space;       /* for further keys */
    size_t space_left;
    struct hp_keys_key *entries[]; /* atomic */
};

static uint32_t hp_keys_hash_key(const char *text, uint32_t length)
{
    uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15);
    for (; length >= 8; text += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
        hash ^= hash >> 32;
    }
    uint64_t rest = 0;
    for (; length > 0; length--) /* a copy of any length would be a call */
        rest = rest << 8 | (unsigned char)*text++;
    hash = (hash ^ rest) * UINT64_C(0x9fb21c651e98df25);
    return (uint32_t)(hash >> 32);
}

static inline bool hp_keys_is_same(const char *a, const char *b, uint32_t length)
{
    for (; length >= 8; a += 8, b += 8, length -= 8) {
        uint64_t x, y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        if (x != y)
            return false;
    }
    for (; length > 0; length--)
        if (*a++ != *b++)
            return false;
    return true;
}

static struct hp_keys_key *hp_keys_find(struct hp_keys_key_table *table, uint32_t hash, const char *text, uint32_t length,
                        struct hp_keys_key ***ret_place)
{
    for (size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        /* Acquire pairs with the release in add: who sees the key sees all of it. */
        struct hp_keys_key *key = __atomic_load_n(&table->entries[at], __ATOMIC_ACQUIRE);
        if (key == NULL) {
            *ret_place = &table->entries[at];
            return NULL;
        }
        if (key->hash == hash && key->length == length && hp_keys_is_same(key->text, text, length))
            return key;
    }
}

/* --------------------------------------------------------------------------------------- under the lock */

static struct hp_keys_key_table *hp_keys_make_table(void)
{
    const uint32_t asked = hotpath_runtime_->settings.keys_limit;
    const uint32_t limit = asked < HP_KEYS_MOST_KEYS ? asked : HP_KEYS_MOST_KEYS;
    size_t places = 16;
    while (places < 2 * (size_t)limit + 2)
        places *= 2;
    struct hp_keys_key_table *table = hp_more_memory(sizeof *table + places * sizeof(struct hp_keys_key *));
    if (table == NULL)
        return NULL;
    table->mask = places - 1;
    table->limit = limit;
    return table;
}

static struct hp_keys_key *hp_keys_new_key(struct hp_keys_key_table *table, uint32_t length)
{
    const size_t bytes = (sizeof(struct hp_keys_key) + length + 15) & ~(size_t)15;
    if (table->space_left < bytes) {
        char *piece = hp_more_memory(HP_KEYS_KEYS_PIECE);
        if (piece == NULL)
            return NULL;
        table->space = piece;
        HOTPATH_ORDER_();
        table->space_left = HP_KEYS_KEYS_PIECE;
    }
    struct hp_keys_key *key = (struct hp_keys_key *)(void *)table->space;
    /* In this order: a fork in between leaves the child a smaller piece, not a piece it does not have. */
    table->space_left -= bytes;
    HOTPATH_ORDER_();
    table->space += bytes;
    return key;
}

/* "label[key]". The site is known by its name from then on, and the name is copied when it gets its number. */
static struct hp_keys_key *hp_keys_make_key(struct hp_keys_key_table *table, const struct hotpath_keys_ *keys, uint32_t hash,
                            const char *text, uint32_t length)
{
    char name[HP_KEYS_KEY_BYTES + 256];
    struct hp_text shown;
    struct hp_keys_key *key = hp_keys_new_key(table, length);
    if (key == NULL)
        return NULL;
    hp_text_init(&shown, name, sizeof name);
    hp_text_string(&shown, keys->site.name);
    hp_text_char(&shown, '[');
    hp_text_bytes(&shown, text, length);
    hp_text_char(&shown, ']');
    key->site = keys->site;
    key->site.id = HOTPATH_ID_NEW_;
    key->site.name = hp_text_end(&shown);
    key->hash = hash;
    key->length = length;
    memcpy(key->text, text, length);
    hp_site_register(&key->site, NULL);
    key->site.name = "";
    return key;
}

static struct hp_keys_key *hp_keys_add(struct hotpath_keys_ *keys, uint32_t hash, const char *text, uint32_t length)
{
    struct hp_keys_key **place;
    struct hp_keys_key_table *table = keys->table;
    if (table == NULL && (table = hp_keys_make_table()) == NULL)
        return NULL;
    __atomic_store_n(&keys->table, table, __ATOMIC_RELEASE);
    struct hp_keys_key *key = hp_keys_find(table, hash, text, length, &place);
    if (key != NULL)
        return key;
    if (table->count < table->limit) {
        if ((key = hp_keys_make_key(table, keys, hash, text, length)) != NULL) {
            HOTPATH_PUT_(table->count, table->count + 1);
            __atomic_store_n(place, key, __ATOMIC_RELEASE);
        }
        return key;
    }
    if (table->other == NULL)
        __atomic_store_n(&table->other, hp_keys_make_key(table, keys, 0, "<other>", 7), __ATOMIC_RELEASE);
    return table->other;
}

/* ------------------------------------------------------------------------------------------------ look-up */

static struct hp_keys_key *hp_keys_add_locked(struct hotpath_keys_ *keys, uint32_t hash, const char *text, uint32_t length)
{
    const int saved = errno;
    struct hp_signals held;
    struct hp_keys_key *key = NULL;
    if (hp_page() != NULL && hp_thread_is_ours() && hp_lock(&held)) {
        if (hotpath_runtime_->gate != 0)
            key = hp_keys_add(keys, hash, text, length);
        if (key == NULL && hotpath_runtime_->gate != 0)
            hp_store_lose(hotpath_runtime_->store, HP_LOSS_SITES, 1);
        hp_unlock(&held);
    }
    errno = saved;
    return key;
}

struct hotpath_site *hotpath_v1_key(struct hotpath_keys_ *keys, const char *text)
{
    struct hp_keys_key **place, *key = NULL;
    if (text == NULL)
        text = "(null)";
    const uint32_t length = (uint32_t)strnlen(text, HP_KEYS_KEY_BYTES);
    const uint32_t hash = hp_keys_hash_key(text, length);
    struct hp_keys_key_table *table = __atomic_load_n((struct hp_keys_key_table **)(void *)&keys->table, __ATOMIC_ACQUIRE);
    if (HOTPATH_LIKELY_(table != NULL)) {
        key = hp_keys_find(table, hash, text, length, &place);
        /* Relaxed is enough for the count: whoever sees it late asks under the lock. */
        if (key == NULL && HOTPATH_GET_(table->count) >= table->limit)
            key = __atomic_load_n(&table->other, __ATOMIC_ACQUIRE);
    }
    if (__builtin_expect(key == NULL, 0))
        key = hp_keys_add_locked(keys, hash, text, length);
    return key != NULL ? &key->site : NULL;
}

/* ---- src/record/lifecycle.c ---------------------------------------------------------------------------------- */

/*
 * The life of a session: how it begins (HOTPATH_MAIN, HOTPATH_SESSION, hotpath_start, HOTPATH=1, the first zone of a
 * forked child) and how it ends (the end of its scope, exit, SIGINT and SIGTERM, a time limit).
 *
 * Ending while other threads run. Stop closes the gate, makes every thread pass a barrier and waits until none
 * is inside the recorder. From then on no thread can touch the session: each looks at the gate after it has set
 * `ready` to 0 and before it touches anything. (The barrier pairs with that store and load, which are relaxed.) Where
 * the wait does not succeed, the address range is given up instead of being used again.
 */

#ifdef __clang__
#define HP_COMPILER __VERSION__
#else
#define HP_COMPILER "gcc " __VERSION__
#endif

/* ------------------------------------------------------------------------------------------- settings */

static const char *hp_lifecycle_look_up(const char *name, void *context)
{
    (void)context;
    return hp_environment(name);
}

static void hp_lifecycle_warn(const char *line, void *context)
{
    (void)context;
    hp_say(line);
}

/* Whether HOTPATH=1 alone began the session. Asked without the lock, too. */
static bool hp_lifecycle_is_auto(void) { return __atomic_load_n(&hotpath_runtime_->is_auto, __ATOMIC_RELAXED); }
static void hp_lifecycle_set_auto(bool value) { __atomic_store_n(&hotpath_runtime_->is_auto, value, __ATOMIC_RELAXED); }

/* Where messages and the report may go. Written only when it is another one: threads may be saying something. */
static void hp_lifecycle_note_standard_error(void)
{
    if (!hp_file_is(2, &hotpath_runtime_->standard_error))
        hotpath_runtime_->standard_error = hp_file_identify(2);
}

static bool hp_lifecycle_is_active(void) { return __atomic_load_n(&hotpath_runtime_->gate, __ATOMIC_RELAXED) != 0; }

/* -------------------------------------------------------------------------------------------- beginning */

struct hp_clock_pair hp_session_touch(void)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    struct hp_clock_pair now;
    hp_clock_pair(hotpath_runtime_->counter, &now.ticks, &now.ns);
    hp_sampler_touch();
    __atomic_store_n(&header->clock_latest.ticks, now.ticks, __ATOMIC_RELAXED);
    __atomic_store_n(&header->clock_latest.ns, now.ns, __ATOMIC_RELAXED);
    return now;
}

typedef void hp_lifecycle_describe(char *text, size_t size);

static uint32_t hp_lifecycle_described(hp_lifecycle_describe *fact)
{
    char text[1024];
    fact(text, sizeof text);
    return hp_store_text(hotpath_runtime_->store, text);
}

static void hp_lifecycle_fill_header(void)
{
    struct hp_store *store = hotpath_runtime_->store;
    struct hp_header *header = hp_store_header(store);
    header->features = HP_FEATURE_TIMING;
    header->state = HP_STATE_LIVE;
    header->pid = hp_sys_process_id();
    header->parent_pid = (uint32_t)getppid();
    header->process_start = hp_process_start_time(0);
    header->pid_namespace = hp_process_namespace();
    header->exec_count = store->number;
    header->main_site = HOTPATH_ID_NEW_;
    header->wall_start_ns = hp_clock_wall_ns();
    hp_process_boot_id(header->boot_id);
    header->clock_kind = hp_clock_kind_of(hotpath_runtime_->counter);
    header->cores = hp_process_cores();
    header->command = hp_lifecycle_described(hp_process_command);
    header->executable = hp_lifecycle_described(hp_process_executable);
    header->host = hp_lifecycle_described(hp_process_host);
    header->system = hp_lifecycle_described(hp_process_system);
    header->label = hp_store_text(store, hotpath_runtime_->settings.label);
    header->metadata = hp_store_text(store, hotpath_runtime_->settings.metadata);
    header->time_period = hotpath_runtime_->settings.time_period;
    header->filter = hp_store_text(store, hotpath_runtime_->settings.filter);
    header->skip = hp_store_text(store, hotpath_runtime_->settings.skip);
    header->library = hp_store_text(store, "hotpath " HOTPATH_VERSION ", " HP_COMPILER);
    if (!hotpath_runtime_->is_child || hotpath_runtime_->zone_cost.ps == 0) /* a child is on the same machine */
        hotpath_runtime_->zone_cost = hp_zones_calibrate();
    header->zone_cost_ps = hotpath_runtime_->zone_cost.ps;
    header->zone_inner_ps = hotpath_runtime_->zone_cost.inner_ps;
    hp_clock_pair(hotpath_runtime_->counter, &header->clock_start.ticks, &header->clock_start.ns);
    header->clock_latest = header->clock_start;
}

/* All that recording may ever ask the kernel for, so that from now on it need not. */
static void hp_lifecycle_reserve_everything(void)
{
    hp_store_reserve_all(hotpath_runtime_->store);
    hp_sites_reserve();
    hp_thread_reserve();
    hp_seal(true);
}

/*
 * To look through the folder takes longer than the rest. A program that forks makes many sessions in a short time, of which
 * every sixteenth looking is enough.
 */
static bool hp_lifecycle_is_turn_to_prune(void) { return !hotpath_runtime_->is_child || hp_sys_process_id() % 16 == 0; }

/* Under the lock, signals held. */
static bool hp_lifecycle_open_session(void)
{
    hp_seal(false);
    if (hp_store_create(hotpath_runtime_->store, &hotpath_runtime_->settings, hp_sys_process_id()) != NULL)
        return false;
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    __atomic_store_n(&hotpath_runtime_->epoch, hp_epoch() + 1, __ATOMIC_RELAXED);
    hp_lifecycle_fill_header();
    hp_sites_begin();
    hp_sampler_begin();
    /* The sessions of a run stay until its report is made, and who runs it sees to them. */
    if (hotpath_runtime_->store->path[0] != '\0' && !hotpath_runtime_->settings.is_run && hp_lifecycle_is_turn_to_prune())
        hp_store_prune(hotpath_runtime_->store, hotpath_runtime_->settings.keep);
    header->gate = hp_epoch() | (hotpath_runtime_->counter == HP_COUNTER_NONE ? HP_GATE_OUT_OF_LINE : 0);
    /* With its magic the file is a session; release, so that whoever sees it sees the rest. */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(header->magic, HP_MAGIC, sizeof header->magic);
    __atomic_store_n(&hotpath_runtime_->gate, hp_epoch(), __ATOMIC_RELEASE);
    hp_skip_zones(false);
    if (hotpath_runtime_->settings.reserve)
        hp_lifecycle_reserve_everything();
    return true;
}

/* A forked child has the parent's state but none of its threads. Under the lock. */
static void hp_lifecycle_forget_parent(void)
{
    hp_page()->is_ours = 1;
    hotpath_runtime_->is_child = true;
    hotpath_runtime_->owner = NULL;
    hotpath_v1_head = &hotpath_idle_head_;
}

bool hp_session_begin_child(void)
{
    struct hp_store parent = *hotpath_runtime_->store;
    hp_lifecycle_forget_parent();
    if (!hp_lifecycle_is_active())
        return false;
    memset(hotpath_runtime_->store, 0, sizeof *hotpath_runtime_->store);
    const bool has_begun = hp_lifecycle_open_session();
    if (!has_begun) {
        hotpath_runtime_->gate = 0;
        hp_skip_zones(true);
    }
    /* A child that has left its parent's root or user keeps its session to itself, and says nothing at its end. */
    if (!has_begun || (hotpath_runtime_->store->is_memory && !parent.is_memory))
        hp_store_lose(&parent, HP_LOSS_CHILDREN, 1);
    hp_store_forget(&parent);
    return has_begun;
}

static int hp_lifecycle_begin_locked(const struct hp_settings *settings)
{
    if (hp_is_forked_child()) {
        hp_lifecycle_forget_parent();
        hotpath_runtime_->gate = 0;
        hp_skip_zones(true);
        hp_store_forget(hotpath_runtime_->store);
    }
    if (hp_lifecycle_is_active() && !hp_lifecycle_is_auto())
        return HOTPATH_E_ACTIVE;
    hotpath_runtime_->settings = *settings;
    hotpath_runtime_->is_child = false;
    if (!hp_sites_choose() || (!hp_lifecycle_is_active() && !hp_lifecycle_open_session()))
        return HOTPATH_E_SPACE;
    /* HOTPATH=1 may have begun it before the program said how. */
    __atomic_store_n(&hp_store_header(hotpath_runtime_->store)->time_period, settings->time_period, __ATOMIC_RELAXED);
    hp_sampler_begin_late();
    if (hotpath_runtime_->sampling.engine != HP_CPU_NONE)
        hp_thread_begin(); /* what it uses before its first zone is sampled, too */
    hp_lifecycle_set_auto(false);
    return HOTPATH_OK;
}

/* The program may change its folder before the report is due, or before the session is opened again to grow. */
static void hp_lifecycle_make_absolute(char *path, size_t size)
{
    char whole[2048];
    if (path[0] == '\0' || path[0] == '/' || syscall(SYS_getcwd, whole, sizeof whole) <= 0)
        return;
    const size_t length = strlen(whole), more = strlen(path);
    if (length + 1 + more >= size)
        return;
    memmove(path + length + 1, path, more + 1);
    memcpy(path, whole, length);
    path[length] = '/';
}

static void hp_lifecycle_explain(int status)
{
    if (status == HOTPATH_E_ACTIVE)
        hp_say("hotpath: a session is active already and goes on; stop it before starting another");
    if (status == HOTPATH_OK && hotpath_runtime_->settings.dir[0] != '\0' && hotpath_runtime_->store->is_memory)
        hp_say("hotpath: the folder of HOTPATH_DIR cannot be used (it must be ours, writable by us alone, and have "
               "1 MB free); the session is kept in memory and ends with the process");
    if (status == HOTPATH_E_SPACE)
        hp_say("hotpath: nothing is recorded: no memory or file space for a session could be had; "
               "set HOTPATH_DIR to a folder with space, or raise the limit of the address space");
    if (status == HOTPATH_E_OPTIONS)
        hp_say("hotpath: nothing is recorded: the options are not of this version of the library; "
               "zero-fill struct hotpath_options and set its size");
}

static int hp_lifecycle_begin_with(struct hp_settings *settings, const struct hotpath_options *options)
{
    struct hp_signals held;
    /* What HOTPATH=1 began has warned already. */
    hp_settings_resolve(settings, options, hp_lifecycle_look_up, NULL, hp_lifecycle_is_auto() ? NULL : hp_lifecycle_warn, NULL);
    if (settings->record_is_off || settings->record == 0)
        return HOTPATH_E_OFF;
    if (!hp_runtime_prepare())
        return HOTPATH_E_SPACE;
    hp_lifecycle_make_absolute(settings->output_path, sizeof settings->output_path);
    hp_lifecycle_make_absolute(settings->dir, sizeof settings->dir);
    if (!hp_lock(&held))
        return HOTPATH_E_ACTIVE;
    const int status = hp_lifecycle_begin_locked(settings);
    hp_unlock(&held);
    return status;
}

static int hp_lifecycle_begin(const struct hotpath_options *options)
{
    hp_copies_join();
    hp_lifecycle_note_standard_error();
    if (hp_process_is_privileged())
        return HOTPATH_E_OFF;
    if (options != NULL && !hp_options_are_known(options))
        return HOTPATH_E_OPTIONS;
    struct hp_settings *settings = hp_memory_map(sizeof *settings);
    const int status = settings != NULL ? hp_lifecycle_begin_with(settings, options) : HOTPATH_E_SPACE;
    hp_memory_unmap(settings, sizeof *settings);
    return status;
}

int hotpath_start(const struct hotpath_options *options)
{
    const int saved = errno;
    const int status = hp_lifecycle_begin(options);
    hp_lifecycle_explain(status);
    errno = saved;
    return status;
}

/* ------------------------------------------------------------------------------------------------ ending */

static bool hp_lifecycle_is_at_rest(const struct hp_head *head)
{
    return (head->hot.base == NULL || HOTPATH_GET_(head->hot.ready) != 0) &&
           HOTPATH_GET_(head->sampler.is_at_work) == 0;
}

#define HP_LIFECYCLE_PATIENCE_NS UINT64_C(50000000)

static bool hp_lifecycle_wait_until_quiet(void)
{
    if (!hp_memory_barrier_everywhere())
        return false;
    const uint64_t until = hp_clock_monotonic_ns() + HP_LIFECYCLE_PATIENCE_NS;
    for (const struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        while (head->thread_id != 0 && !hp_lifecycle_is_at_rest(head)) {
            if (hp_clock_monotonic_ns() > until)
                return false;
            sched_yield();
        }
    return true;
}

/* Under the lock: marks the file as whole and turns recording off. */
static void hp_lifecycle_close_session(void)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    hp_sampler_end();
    hp_session_touch();
    __atomic_store_n(&hotpath_runtime_->gate, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&header->gate, 0, __ATOMIC_RELAXED);
    hp_skip_zones(true);
    __atomic_store_n(&header->state, HP_STATE_FINISHED, __ATOMIC_RELEASE);
    hotpath_runtime_->owner = NULL;
    hp_seal(false);
}

/* A store that somebody may still be writing to is left to him for good. */
static void hp_lifecycle_retire_store(void)
{
    const bool is_quiet = hp_lifecycle_wait_until_quiet();
    struct hp_store *next = is_quiet ? hotpath_runtime_->store : hp_memory_map(sizeof *next);
    hp_store_retire(hotpath_runtime_->store, is_quiet);
    if (next != NULL)
        hotpath_runtime_->store = next;
}

/* Closes the session if this process has one; the caller reports on it. */
static bool hp_lifecycle_close_if_active(void)
{
    struct hp_signals held;
    if (hp_page() == NULL || hp_is_forked_child() || !hp_lock(&held))
        return false;
    const bool was_active = hp_lifecycle_is_active();
    if (was_active)
        hp_lifecycle_close_session();
    hp_unlock(&held);
    return was_active;
}

int hotpath_stop(void)
{
    const int saved = errno;
    struct hp_signals held;
    if (!hp_lifecycle_close_if_active())
        return HOTPATH_E_INACTIVE;
    if (hp_lock(&held)) { /* calls that are being counted right now belong to it */
        hp_lifecycle_wait_until_quiet();
        hp_unlock(&held);
    }
    const int status = hp_exit_report(false);
    if (hp_lock(&held)) {
        if (!hp_lifecycle_is_active())
            hp_lifecycle_retire_store();
        hp_unlock(&held);
    }
    errno = saved;
    return status;
}

/* A child that was forked says nothing by itself: its parent's report is the one that was asked for. */
static bool hp_lifecycle_is_silent_child(void)
{
    return hotpath_runtime_->is_child && strstr(hotpath_runtime_->settings.output_path, "%p") == NULL;
}

/* The process ends: report, and leave everything in place, since other threads may still run. */
static void hp_lifecycle_finish(bool is_in_handler)
{
    if (hp_lifecycle_close_if_active() && !hp_lifecycle_is_silent_child())
        hp_exit_report(is_in_handler);
}

/* Priority 101: after all destructors of the program, so that zones in those are still in the report. */
__attribute__((destructor(101))) static void hp_lifecycle_at_exit(void)
{
    const int saved = errno;
    if (hp_copy_owns_state())
        hp_lifecycle_finish(false);
    errno = saved;
}

/* Whether the environment asks for a session by itself. */
static bool hp_lifecycle_is_asked_for(void)
{
    const char *wish = hp_environment("HOTPATH");
    if (wish == NULL || wish[0] == '\0' || hp_process_is_privileged())
        return false;
    struct hp_settings *settings = hp_memory_map(sizeof *settings);
    if (settings == NULL)
        return false;
    hp_settings_resolve(settings, NULL, hp_lifecycle_look_up, NULL, NULL, NULL);
    const bool is_set = settings->record_is_set;
    hp_memory_unmap(settings, sizeof *settings);
    return is_set;
}

/* A library in somebody's program, or a program without HOTPATH_MAIN: HOTPATH=1 records it all the same. */
__attribute__((constructor(101))) static void hp_lifecycle_at_load(void)
{
    const int saved = errno;
    hp_copies_join();
    hp_thread_exit_hook(); /* early: of keys after the first 32 the C library keeps the values on the heap */
    if (hp_page() == NULL)
        hp_lifecycle_note_standard_error();
    if (hp_page() == NULL && hp_lifecycle_is_asked_for() && hp_lifecycle_begin(NULL) == HOTPATH_OK)
        hp_lifecycle_set_auto(true);
    errno = saved;
}

/* ------------------------------------------------------------------------------------- signals and time */

static void hp_lifecycle_on_signal(int signal)
{
    const int saved = errno;
    struct sigaction usual;
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    hp_lifecycle_finish(true);
    sigaction(signal, &usual, NULL);
    errno = saved;
    hp_signals_raise_now(signal);
}

/* Only where the program left them alone; a handler it installs later replaces ours, as it should. */
static void hp_lifecycle_watch_signal(int signal)
{
    struct sigaction present, ours;
    if (sigaction(signal, NULL, &present) != 0 || (present.sa_flags & SA_SIGINFO) || present.sa_handler != SIG_DFL)
        return;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = hp_lifecycle_on_signal;
    ours.sa_flags = SA_RESTART;
    sigfillset(&ours.sa_mask);
    sigaction(signal, &ours, NULL);
}

static void *hp_lifecycle_end_after_time(void *context)
{
    const uint32_t milliseconds = (uint32_t)(uintptr_t)context;
    struct timespec left = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
    exit(0);
}

static void hp_lifecycle_watch_time(uint32_t milliseconds)
{
    pthread_t thread;
    struct hp_signals held;
    if (milliseconds == 0)
        return;
    hp_signals_hold(&held);
    if (pthread_create(&thread, NULL, hp_lifecycle_end_after_time, (void *)(uintptr_t)milliseconds) == 0)
        pthread_detach(thread);
    else
        hp_say("hotpath: HOTPATH_SHUTDOWN_MS has no effect: no thread could be started");
    hp_signals_release(&held);
}

/* -------------------------------------------------------------------------------------- HOTPATH_MAIN & co */

static void hp_lifecycle_set_main_site(struct hotpath_site *site)
{
    const uint32_t id = hp_site_id(site);
    if (id < HOTPATH_READY_)
        __atomic_store_n(&hp_store_header(hotpath_runtime_->store)->main_site, id, __ATOMIC_RELAXED);
}

/* Without HOTPATH_MAIN, the function of that name is the one to compare with. Under the lock. */
void hp_session_suggest_main(uint32_t site)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    if (site < HOTPATH_READY_ && header->main_site == HOTPATH_ID_NEW_)
        __atomic_store_n(&header->main_site, site, __ATOMIC_RELAXED);
}

uintptr_t hotpath_v1_main(struct hotpath_zone *zone, struct hotpath_site *site,
                          const struct hotpath_options *options)
{
    const int saved = errno;
    if (hotpath_start(options) == HOTPATH_OK) {
        hp_lifecycle_set_main_site(site);
        if (!hotpath_runtime_->settings.leave_signals) {
            hp_lifecycle_watch_signal(SIGINT);
            hp_lifecycle_watch_signal(SIGTERM);
        }
        hp_lifecycle_watch_time(hotpath_runtime_->settings.shutdown_ms);
    }
    errno = saved;
    return hotpath_open_(zone, site);
}

uintptr_t hotpath_v1_session(struct hotpath_zone *zone, struct hotpath_site *site,
                             const struct hotpath_options *options)
{
    const int saved = errno;
    if (hotpath_start(options) == HOTPATH_OK) {
        hp_lifecycle_set_main_site(site);
        hotpath_runtime_->owner = zone;
    }
    errno = saved;
    return hotpath_open_(zone, site);
}

void hotpath_v1_session_end(struct hotpath_zone *zone)
{
    hotpath_close_(zone);
    if (hotpath_runtime_->owner == zone)
        hotpath_stop();
}

/* ------------------------------------------------------------------------------------------ small answers */

const char *hotpath_strerror(int status)
{
    switch (status) {
    case HOTPATH_OK:
        return "done";
    case HOTPATH_E_ACTIVE:
        return "a session is active already";
    case HOTPATH_E_INACTIVE:
        return "no session is active";
    case HOTPATH_E_OFF:
        return "recording is switched off";
    case HOTPATH_E_OPTIONS:
        return "the options are not of this version of the library";
    case HOTPATH_E_SPACE:
        return "no memory or file space for a session";
    case HOTPATH_E_OUTPUT:
        return "the report could not be written";
    default:
        return "unknown status";
    }
}

const char *hotpath_version(void) { return HOTPATH_VERSION; }

/* A child has the parent's state until its first zone, and no session of its own before. */
static bool hp_lifecycle_is_active_here(void) { return hp_page() != NULL && !hp_is_forked_child() && hp_lifecycle_is_active(); }

const char *hotpath_session_path(void) { return hp_lifecycle_is_active_here() ? hotpath_runtime_->store->path : ""; }

void hotpath_set_reporter(hotpath_reporter *reporter, void *context)
{
    hotpath_runtime_->reporter_context = context;
    hotpath_runtime_->reporter = reporter;
}

int hotpath_report(void)
{
    const int saved = errno;
    int status = HOTPATH_E_INACTIVE;
    if (hp_lifecycle_is_active_here())
        status = hp_exit_report(false);
    errno = saved;
    return status;
}

/* ---- src/record/notes.c -------------------------------------------------------------------------------------- */

/*
 * Notes: text that the program attaches to the innermost call that is open, for as long as that is. Whoever keeps the call
 * when it ends takes the note along. Formatted only for calls that may be kept, in the caller's own time: not on a path that
 * a zone takes.
 */

static uint32_t hp_notes_depth_of(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    return (uint32_t)(frame - hp_frame_zero(head));
}

const struct hp_note *hp_note_of(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    const uint32_t depth = hp_notes_depth_of(head, frame);
    if (head->kept == NULL)
        return NULL;
    const struct hp_note *note = &head->kept->notes[depth % HP_NOTE_DEPTHS];
    return note->depth == depth && note->start == frame->start ? note : NULL;
}

/* What does not fit is cut off, and dots say so. */
static void hp_notes_append(struct hp_note *note, const char *text, size_t length)
{
    const size_t space = HP_NOTE_BYTES - note->length;
    const size_t fitting = length < space ? length : space;
    memcpy(note->text + note->length, text, fitting);
    note->length += (uint32_t)fitting;
    if (length > space)
        memcpy(note->text + HP_NOTE_BYTES - 3, "...", 3);
}

/* A second note of the same call is added to the first. */
static void hp_notes_attach(struct hp_note *note, uint32_t depth, uint64_t start, const char *text, size_t length)
{
    if (note->depth != depth || note->start != start)
        *note = (struct hp_note){.start = start, .depth = depth};
    if (note->length > 0)
        hp_notes_append(note, ", ", 2);
    hp_notes_append(note, text, length);
}

/* Under `ready` 0, so that a handler that comes in between does not use the same memory. */
static void hp_notes_attach_to_top(struct hp_head *head, const char *text, size_t length)
{
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    /* The gate first: frames of a session that has ended are not there to be looked at. */
    if ((HOTPATH_GATE_OF_(&head->hot) & HOTPATH_EPOCH_) == head->hot.epoch) {
        const struct hotpath_frame_ *frame = head->hot.top;
        const uint32_t depth = hp_notes_depth_of(head, frame);
        struct hp_kept *kept = depth > 0 && frame->stat & HOTPATH_KEPT_ ? hp_kept_memory(head) : NULL;
        if (kept != NULL)
            hp_notes_attach(&kept->notes[depth % HP_NOTE_DEPTHS], depth, frame->start, text, length);
    }
    hp_let_go(&head->hot);
}

void hotpath_v1_note(const char *format, ...)
{
    const int saved = errno;
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    char text[HP_NOTE_BYTES + 2]; /* one byte too many shows that it is too long */
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Asked after formatting: what is formatted may have zones of its own (a host's printf extension). */
    if (length > 0 && &head->hot != &hotpath_idle_head_ && head->thread_id != 0 && HOTPATH_GET_(head->hot.ready) != 0)
        hp_notes_attach_to_top(head, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    errno = saved;
}

/* ---- src/record/owners.c ------------------------------------------------------------------------------------- */

/*
 * Who allocated what: giving numbers to threads, and making tables (owners.h). The kernel empties the tables in a forked child,
 * whose one thread is the first of its process.
 */

#define HP_OWNERS_MOST_OWNERS 65535u /* numbers beyond are used again */

void hp_owner_begin(struct hp_head *head)
{
    struct hp_fork_page *page = hp_page();
    const uint32_t given = page->owners++;
    head->owner = given == 0 ? 0 : 1 + (given - 1) % HP_OWNERS_MOST_OWNERS;
    if (given > 0)
        for (struct hp_head *each = page->heads; each != NULL; each = each->next)
            __atomic_store_n(&each->is_one_of_many, true, __ATOMIC_RELAXED);
}

uint16_t *hp_owner_make_place(const void *block)
{
    const uint64_t address = (uintptr_t)block;
    if (address >> HP_OWNER_BRANCH_BITS >= HP_OWNER_BRANCHES)
        return NULL;
    struct hp_owner_branch *branch =
        hp_memory_at(&hotpath_runtime_->owner_branches[address >> HP_OWNER_BRANCH_BITS], sizeof *branch, false);
    void **leaf =
        branch == NULL ? NULL : (void **)&branch->leaves[(address >> HP_OWNER_LEAF_BITS) % HP_OWNER_LEAVES];
    if (leaf == NULL || hp_memory_at(leaf, HP_OWNERS_OF_LEAF * sizeof(uint16_t), true) == NULL)
        return NULL;
    return hp_owner_place(block);
}

/* ---- src/record/pools.c -------------------------------------------------------------------------------------- */

/*
 * Memory that the program hands out itself, by label. What a pool counts is in the session; which blocks it has handed out,
 * and how large they are, is in a table of the process's own, so that they can be taken back by their address alone.
 *
 * The table is in shards, each with a lock that is held for some instructions. A shard is in memory that the kernel empties
 * in a forked child, so that a child never waits for a thread that is not there; it begins with no blocks.
 */

#define HP_POOLS_SHARDS 64u
#define HP_POOLS_FIRST_BLOCKS 64u
#define HP_POOLS_MOST_POOLS 256u

struct hp_pools_block {
    uintptr_t address; /* 0: free; 1: was taken back */
    uint64_t size;
    uint32_t pool; /* offset in the session */
    uint32_t epoch;
};
#define HP_POOLS_TAKEN_BACK ((uintptr_t)1)

struct hp_pools_shard {
    uint32_t lock;
    uint32_t used;    /* places that are not free, those of blocks taken back included */
    uint32_t present; /* blocks; some may be of an earlier session */
    uint32_t reserved;
    size_t capacity;
    struct hp_pools_block *blocks;
    char apart[128 - 4 * sizeof(uint32_t) - sizeof(size_t) - sizeof(void *)];
};

static void *hp_pools_shards; /* see hp_memory_at */

/* ------------------------------------------------------------------------------------------------------- pools */

static struct hp_pool *hp_pools_pool_at(uint32_t offset) { return hp_store_at(hotpath_runtime_->store, offset); }

/* A label is known by its text: the same one may be written in several places. */
static uint32_t hp_pools_find_pool(const char *label)
{
    const struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    uint32_t offset = __atomic_load_n(&header->pools, __ATOMIC_ACQUIRE);
    for (uint32_t left = HP_POOLS_MOST_POOLS; offset != 0 && left > 0; left--) {
        const struct hp_pool *pool = hp_pools_pool_at(offset);
        const struct hp_string *name = hp_store_at(hotpath_runtime_->store, pool->name);
        if (strcmp(name->bytes, label) == 0)
            return offset;
        offset = pool->next;
    }
    return 0;
}

/* Under the lock. Without space there is none; whoever needs it counts what is lost. */
static void hp_pools_make_pool(const char *label)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    uint32_t count = 0;
    for (uint32_t at = header->pools; at != 0; at = hp_pools_pool_at(at)->next)
        count++;
    const uint32_t name = count < HP_POOLS_MOST_POOLS ? hp_store_text(hotpath_runtime_->store, label) : 0;
    const uint32_t offset = name != 0 ? hp_store_allocate(hotpath_runtime_->store, sizeof(struct hp_pool), 64) : 0;
    if (offset == 0)
        return;
    hp_pools_pool_at(offset)->name = name;
    hp_pools_pool_at(offset)->next = header->pools;
    __atomic_store_n(&header->pools, offset, __ATOMIC_RELEASE);
}

static void hp_pools_need_pool(const char *label)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    if (hotpath_runtime_->gate != 0 && hp_pools_find_pool(label) == 0)
        hp_pools_make_pool(label);
    hp_unlock(&held);
}

static void hp_pools_count_allocation(struct hp_pool *pool, uint64_t size)
{
    const uint64_t count = __atomic_add_fetch(&pool->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->bytes, size, __ATOMIC_RELAXED);
    hp_raise(&pool->peak_live, __atomic_add_fetch(&pool->live, (int64_t)size, __ATOMIC_RELAXED));
    hp_raise(&pool->peak_blocks, (int64_t)(count - __atomic_load_n(&pool->freed_count, __ATOMIC_RELAXED)));
}

static void hp_pools_count_free(struct hp_pool *pool, uint64_t size)
{
    __atomic_fetch_add(&pool->freed_count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool->freed_bytes, size, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&pool->live, (int64_t)size, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------------------------------------------ blocks */

static struct hp_pools_shard *hp_pools_all_shards(void) { return hp_memory_at(&hp_pools_shards, HP_POOLS_SHARDS * sizeof(struct hp_pools_shard), true); }

static uint64_t hp_pools_hash_of(const void *block) { return (uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15); }

/*
 * Whoever has it also holds the head of its thread, so it cannot be what we have interrupted: a handler finds that head held
 * and does not come here.
 */
static void hp_pools_lock_shard(struct hp_pools_shard *shard)
{
    for (uint32_t tries = 1; __atomic_exchange_n(&shard->lock, 1, __ATOMIC_ACQUIRE) != 0; tries++)
        if (tries % 64 == 0)
            sched_yield();
}

static void hp_pools_unlock_shard(struct hp_pools_shard *shard) { __atomic_store_n(&shard->lock, 0, __ATOMIC_RELEASE); }

/* The place of a block, or the free one where the search ends. */
static struct hp_pools_block *hp_pools_place_of(struct hp_pools_block *blocks, size_t capacity, const void *block)
{
    size_t at = (size_t)(hp_pools_hash_of(block) >> 32) & (capacity - 1);
    while (blocks[at].address != 0 && blocks[at].address != (uintptr_t)block)
        at = (at + 1) & (capacity - 1);
    return &blocks[at];
}

static bool hp_pools_is_present(const struct hp_pools_block *block)
{
    return block->address > HP_POOLS_TAKEN_BACK && block->epoch == hp_epoch();
}

/* Under its lock, but looked at without. */
static void hp_pools_set_used(struct hp_pools_shard *shard, uint32_t used) { __atomic_store_n(&shard->used, used, __ATOMIC_RELAXED); }

/* Twice the room that is needed for what is still there. */
static bool hp_pools_make_room(struct hp_pools_shard *shard)
{
    size_t present = 0;
    if (shard->capacity > 0 && ((size_t)shard->used + 1) * 4 <= shard->capacity * 3)
        return true;
    for (size_t at = 0; at < shard->capacity; at++)
        present += hp_pools_is_present(&shard->blocks[at]);
    size_t capacity = HP_POOLS_FIRST_BLOCKS;
    while (capacity < (present + 1) * 2)
        capacity *= 2;
    struct hp_pools_block *fresh = hp_more_memory(capacity * sizeof *fresh);
    if (fresh == NULL)
        return false;
    for (size_t at = 0; at < shard->capacity; at++)
        if (hp_pools_is_present(&shard->blocks[at]))
            *hp_pools_place_of(fresh, capacity, (const void *)shard->blocks[at].address) = shard->blocks[at];
    hp_memory_unmap(shard->blocks, shard->capacity * sizeof *fresh);
    shard->blocks = fresh;
    shard->capacity = capacity;
    shard->present = (uint32_t)present;
    hp_pools_set_used(shard, (uint32_t)present);
    return true;
}

/* The block takes the place of one that nobody took back at the same address. */
static bool hp_pools_remember(struct hp_pools_shard *shard, const void *block, uint64_t size, uint32_t pool)
{
    if (!hp_pools_make_room(shard))
        return false;
    struct hp_pools_block *place = hp_pools_place_of(shard->blocks, shard->capacity, block);
    if (hp_pools_is_present(place))
        hp_pools_count_free(hp_pools_pool_at(place->pool), place->size);
    if (place->address == 0) {
        hp_pools_set_used(shard, shard->used + 1);
        shard->present++;
    }
    *place = (struct hp_pools_block){(uintptr_t)block, size, pool, hp_epoch()};
    return true;
}

static void hp_pools_take_back(struct hp_pools_shard *shard, struct hp_pools_block *block)
{
    hp_pools_count_free(hp_pools_pool_at(block->pool), block->size);
    block->address = HP_POOLS_TAKEN_BACK;
    shard->present--;
}

static void hp_pools_take_back_all(struct hp_pools_shard *shard, uint32_t pool)
{
    for (size_t at = 0; at < shard->capacity && shard->present > 0; at++)
        if (hp_pools_is_present(&shard->blocks[at]) && shard->blocks[at].pool == pool)
            hp_pools_take_back(shard, &shard->blocks[at]);
    if (shard->present == 0 && shard->used > 0) {
        memset(shard->blocks, 0, shard->capacity * sizeof *shard->blocks);
        hp_pools_set_used(shard, 0);
    }
}

/* ------------------------------------------------------------------------------------------------------ events */

/* An event on its way: the pool in the session, which stays as long as the head is held. */
struct hp_pools_on_the_way {
    struct hp_head *head;
    uint32_t pool;
    struct hp_pools_shard *shards;
};

/* The head, held, and the pool of the label; both or none. Looked for once the head is held: before that, the session may go. */
static bool hp_pools_hold_pool(const char *label, struct hp_pools_on_the_way *event)
{
    event->head = hp_thread_hold();
    event->pool = event->head != NULL ? hp_pools_find_pool(label) : 0;
    if (event->head != NULL && event->pool == 0)
        hp_let_go(&event->head->hot);
    return event->pool != 0;
}

/* The session of a forked child begins here, as with a zone. False: nothing is to be counted, or can be. */
static bool hp_pools_begin_event(const char *label, struct hp_pools_on_the_way *event)
{
    if (!hp_records_allocations() || label == NULL)
        return false;
    event->shards = hp_thread_head_for_pools() != NULL ? hp_pools_all_shards() : NULL;
    if (event->shards != NULL && !hp_pools_hold_pool(label, event)) {
        hp_pools_need_pool(label);
        if (!hp_pools_hold_pool(label, event))
            event->shards = NULL;
    }
    if (event->shards == NULL)
        hp_store_lose(hotpath_runtime_->store, HP_LOSS_ALLOCS, 1);
    return event->shards != NULL;
}

/* The shard of a block, locked. */
static struct hp_pools_shard *hp_pools_locked_shard(const struct hp_pools_on_the_way *event, const void *block)
{
    struct hp_pools_shard *shard = &event->shards[hp_pools_hash_of(block) >> 58];
    hp_pools_lock_shard(shard);
    return shard;
}

void hotpath_alloc_event(const char *label, const void *block, size_t size)
{
    const int saved = errno;
    struct hp_pools_on_the_way event;
    if (block != NULL && hp_pools_begin_event(label, &event)) {
        struct hp_pools_shard *shard = hp_pools_locked_shard(&event, block);
        if (hp_pools_remember(shard, block, size, event.pool))
            hp_pools_count_allocation(hp_pools_pool_at(event.pool), size);
        else
            hp_lose(event.head, HP_LOSS_ALLOCS);
        hp_pools_unlock_shard(shard);
        hp_let_go(&event.head->hot);
    }
    errno = saved;
}

void hotpath_free_event(const char *label, const void *block)
{
    const int saved = errno;
    struct hp_pools_on_the_way event;
    if (block != NULL && hp_pools_begin_event(label, &event)) {
        struct hp_pools_shard *shard = hp_pools_locked_shard(&event, block);
        struct hp_pools_block *place = shard->capacity > 0 ? hp_pools_place_of(shard->blocks, shard->capacity, block) : NULL;
        if (place != NULL && hp_pools_is_present(place) && place->pool == event.pool)
            hp_pools_take_back(shard, place);
        hp_pools_unlock_shard(shard);
        hp_let_go(&event.head->hot);
    }
    errno = saved;
}

void hotpath_free_all_event(const char *label)
{
    const int saved = errno;
    struct hp_pools_on_the_way event;
    if (hp_pools_begin_event(label, &event)) {
        for (struct hp_pools_shard *shard = event.shards; shard < event.shards + HP_POOLS_SHARDS; shard++) {
            if (__atomic_load_n(&shard->used, __ATOMIC_RELAXED) == 0)
                continue;
            hp_pools_lock_shard(shard);
            hp_pools_take_back_all(shard, event.pool);
            hp_pools_unlock_shard(shard);
        }
        hp_let_go(&event.head->hot);
    }
    errno = saved;
}

/* ---- src/record/runtime.c ------------------------------------------------------------------------------------ */

/* The recorder's lock and small services. */

/* Where hotpath_v1_head of a thread points before it registers, and after it ended. */
struct hotpath_head_ hotpath_idle_head_ = {.skip = 1};

/* Compilers take the TLS model from the latest declaration they saw, so it stands here as well. */
__thread struct hotpath_head_ *hotpath_v1_head HOTPATH_TLS_ = &hotpath_idle_head_;
__thread uint32_t hotpath_thread_is_over_ HOTPATH_TLS_;

/* musl takes memory from the heap for it, so there it is for old kernels only. */
#ifdef __GLIBC__
#define HP_RUNTIME_HAS_CHEAP_ATFORK 1
#else
#define HP_RUNTIME_HAS_CHEAP_ATFORK 0
#endif

/*
 * What the kernel does for us, done again: kernels before 4.14 do not know how, and some emulators say they do and do not.
 * Where it was done the page is empty, and there is nothing left to do. This covers fork alone.
 */
static void hp_runtime_empty_in_child(void)
{
    struct hp_fork_page *page = hp_page();
    for (struct hp_head *head = page->heads, *next; head != NULL; head = next) {
        next = head->next;
        memset(head, 0, sizeof *head);
    }
    memset(page, 0, sizeof *page);
}

void hp_skip_zones(bool is_off)
{
    for (size_t copy = 0; copy < HP_COPIES && hotpath_runtime_->idle_heads[copy] != NULL; copy++)
        HOTPATH_PUT_(hotpath_runtime_->idle_heads[copy]->skip, is_off);
    struct hp_head *head = hp_page() != NULL ? hp_page()->heads : NULL;
    for (; head != NULL; head = head->next)
        HOTPATH_PUT_(head->hot.skip, is_off);
}

/*
 * Once, before the page is there by which others see that all is prepared. Who comes at the same moment waits; not for
 * ever, since he may be the child of a process whose first one was at it.
 */
static void hp_runtime_choose_counter(void)
{
    enum { HP_RUNTIME_NOT_YET, HP_RUNTIME_UNDER_WAY, HP_RUNTIME_DONE };
    uint32_t none = HP_RUNTIME_NOT_YET, *state = &hotpath_runtime_->counter_state;
    if (__atomic_compare_exchange_n(state, &none, HP_RUNTIME_UNDER_WAY, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        hotpath_runtime_->counter = hp_clock_counter();
        __atomic_store_n(state, HP_RUNTIME_DONE, __ATOMIC_RELEASE);
        return;
    }
    for (uint32_t tries = 0; __atomic_load_n(state, __ATOMIC_ACQUIRE) != HP_RUNTIME_DONE; tries++) {
        if (tries == 1u << 16) {
            hotpath_runtime_->counter = hp_clock_counter();
            return;
        }
        sched_yield();
    }
}

bool hp_runtime_prepare(void)
{
    if (hp_page() != NULL)
        return true;
    struct hp_fork_page *page = hp_memory_map(sizeof *page);
    if (page == NULL)
        return false;
    const bool is_wiped = hp_memory_wipe_on_fork(page, sizeof *page);
    page->is_ours = 1;
    hp_runtime_choose_counter();
    struct hp_fork_page *none = NULL;
    if (!__atomic_compare_exchange_n(&hotpath_runtime_->fork_page, &none, page, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        hp_memory_unmap(page, sizeof *page); /* another thread was first */
    else if (!is_wiped || HP_RUNTIME_HAS_CHEAP_ATFORK)
        pthread_atfork(NULL, NULL, hp_runtime_empty_in_child);
    return true;
}

/*
 * In a host that runs under ThreadSanitizer with a library that was not built for it, these tell it about the lock, over
 * which heads pass from thread to thread.
 */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

/*
 * A spin lock: it is held for microseconds, by slow paths only. Signals are held while it is taken, so its holder
 * is never interrupted by code that wants it too. Acquire pairs with the release in hp_unlock.
 */
static bool hp_runtime_take_lock(struct hp_signals *held, bool may_wait)
{
    uintptr_t *lock = &hp_page()->lock;
    const uintptr_t us = (uintptr_t)&hotpath_v1_head;
    uintptr_t holder = 0;
    uint32_t spins = 0;
    held->is_held = !hp_is_sealed();
    if (held->is_held)
        hp_signals_hold(held);
    while (!__atomic_compare_exchange_n(lock, &holder, us, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        /* Where signals are not held, the holder may have been a handler that was left by siglongjmp. */
        if (holder == us || !may_wait || (!held->is_held && ++spins == 1u << 20)) {
            if (held->is_held)
                hp_signals_release(held);
            return false;
        }
        holder = 0;
        if (held->is_held)
            sched_yield();
    }
    if (__tsan_acquire != NULL)
        __tsan_acquire(lock);
    return true;
}

bool hp_lock(struct hp_signals *held) { return hp_runtime_take_lock(held, true); }
bool hp_lock_if_free(struct hp_signals *held) { return hp_runtime_take_lock(held, false); }

void hp_unlock(const struct hp_signals *held)
{
    if (__tsan_release != NULL)
        __tsan_release(&hp_page()->lock);
    __atomic_store_n(&hp_page()->lock, 0, __ATOMIC_RELEASE);
    if (held->is_held)
        hp_signals_release(held);
}

void *hp_more_memory(size_t size) { return hp_is_sealed() ? NULL : hp_memory_map(size); }

void *hp_memory_at(void **place, size_t size, bool is_emptied_by_fork)
{
    void *present = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (present != NULL)
        return present;
    void *fresh = hp_more_memory(size);
    if (fresh == NULL)
        return NULL;
    if (is_emptied_by_fork)
        hp_memory_wipe_on_fork(fresh, size);
    /* Release pairs with the acquire of whoever finds it. */
    if (__atomic_compare_exchange_n(place, &present, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    hp_memory_unmap(fresh, size);
    return present;
}

bool hp_is_forked_child(void)
{
    const struct hp_fork_page *page = hp_page();
    return page != NULL && __atomic_load_n(&page->is_ours, __ATOMIC_RELAXED) == 0;
}

uint64_t hp_now(void) { return hp_clock_ticks(hotpath_runtime_->counter); }

uint64_t hotpath_v1_clock(void) { return hp_clock_monotonic_ns(); }

void hp_say(const char *line)
{
    if (!hp_file_is(2, &hotpath_runtime_->standard_error))
        return;
    char whole[600];
    size_t length = strnlen(line, sizeof whole - 1);
    memcpy(whole, line, length);
    whole[length++] = '\n';
    hp_file_write(2, whole, length);
}

/* ---- src/record/sampler.c ------------------------------------------------------------------------------------ */

/* Whose processor time. How it works is in sampler.h. */

#define HP_SAMPLER_SECOND UINT64_C(1000000000)
#define HP_SAMPLER_FIRST_TABLE 16u
#define HP_SAMPLER_CHUNK_SAMPLES 256u
#define HP_SAMPLER_MAX_CHUNKS 64u
#define HP_SAMPLER_MAX_DEPTH 512u /* frames that are looked through, and nodes up to the root */
#define HP_SAMPLER_MAX_FOLDED 32u /* different nodes among these */

/* With perf, timers are for kernel time only. */
#define HP_SAMPLER_TIMER_PERIODS 4u

/* --------------------------------------------------------------------------------------------- the table */

static struct hp_cpu_table *hp_sampler_table_of(const struct hp_head *head)
{
    const uint32_t offset = head->sampler.cpu->table;
    return offset != 0 ? hp_store_at(head->store, offset) : NULL;
}

static uint32_t hp_sampler_place_of(const struct hp_cpu_table *table, uint32_t node)
{
    uint32_t place = (node / 64u * UINT32_C(2654435761)) >> 7;
    while (table->nodes[place & (table->capacity - 1)].node != node &&
           table->nodes[place & (table->capacity - 1)].node != 0)
        place++;
    return place & (table->capacity - 1);
}

/* The node's place in the table, new or not; there is room. */
static struct hp_cpu_node *hp_sampler_enter_node(struct hp_cpu_table *table, uint32_t node)
{
    struct hp_cpu_node *entry = &table->nodes[hp_sampler_place_of(table, node)];
    if (entry->node == 0) {
        HOTPATH_PUT_(table->used, table->used + 1);
        __atomic_store_n(&entry->node, node, __ATOMIC_RELEASE);
    }
    return entry;
}

/* Whoever reads finds the old table or the new one, both whole. */
static struct hp_cpu_table *hp_sampler_make_table(struct hp_head *head, uint32_t capacity)
{
    const struct hp_cpu_table *before = hp_sampler_table_of(head);
    const uint32_t bytes = (uint32_t)(sizeof *before + capacity * sizeof before->nodes[0]);
    const uint32_t offset = hp_store_allocate(head->store, bytes, 64);
    if (offset == 0)
        return NULL;
    struct hp_cpu_table *table = hp_store_at(head->store, offset);
    table->capacity = capacity;
    for (uint32_t at = 0; before != NULL && at < before->capacity; at++)
        if (before->nodes[at].node != 0)
            *hp_sampler_enter_node(table, before->nodes[at].node) = before->nodes[at];
    hp_sampler_enter_node(table, head->record->root);
    __atomic_store_n(&head->sampler.cpu->table, offset, __ATOMIC_RELEASE);
    return table;
}

/* Where a node's time is counted; that of the root where there is no space; NULL: not even that. */
static struct hp_cpu_node *hp_sampler_credit_of(struct hp_head *head, uint32_t node)
{
    struct hp_cpu_table *table = hp_sampler_table_of(head);
    if (table == NULL)
        table = hp_sampler_make_table(head, HP_SAMPLER_FIRST_TABLE);
    if (table == NULL)
        return NULL;
    if (table->nodes[hp_sampler_place_of(table, node)].node == 0 && (table->used + 1) * 4 > table->capacity * 3) {
        struct hp_cpu_table *larger = hp_sampler_make_table(head, table->capacity * 2);
        if (larger == NULL) {
            hp_lose(head, HP_LOSS_SAMPLES);
            node = head->record->root;
        } else {
            table = larger;
        }
    }
    return hp_sampler_enter_node(table, node);
}

/* ---------------------------------------------------------------------------------------------- crediting */

static void hp_sampler_add_user(struct hp_head *head, uint32_t node, uint64_t ns, uint64_t samples)
{
    struct hp_cpu_node *credit = hp_sampler_credit_of(head, node);
    if (credit == NULL)
        return;
    HOTPATH_ADD_(credit->samples, samples);
    HOTPATH_ADD_(credit->user_ns, ns);
    HOTPATH_PUT_(head->sampler.cpu->waiting_user_ns, head->sampler.cpu->waiting_user_ns - ns);
}

static void hp_sampler_add_kernel(struct hp_head *head, uint32_t node, uint64_t ns, uint64_t samples)
{
    struct hp_cpu_node *credit = hp_sampler_credit_of(head, node);
    if (credit == NULL)
        return;
    HOTPATH_ADD_(credit->samples, samples);
    HOTPATH_ADD_(credit->kernel_ns, ns);
    HOTPATH_PUT_(head->sampler.cpu->waiting_kernel_ns, head->sampler.cpu->waiting_kernel_ns - ns);
}

/*
 * Reads the clocks. The kernel's account of its own share may run ahead of what can be, on a short stretch; what is too much
 * is left for the next one.
 */
static void hp_sampler_count_time(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    struct hp_cpu_thread *cpu = sampler->cpu;
    const struct hp_cpu_time now = hp_cpu_of_thread();
    const uint64_t passed = now.ns > sampler->counted.ns ? now.ns - sampler->counted.ns : 0;
    uint64_t kernel = now.kernel_ns > sampler->counted.kernel_ns ? now.kernel_ns - sampler->counted.kernel_ns : 0;
    if (kernel > passed)
        kernel = passed;
    HOTPATH_ADD_(cpu->kernel_ns, kernel);
    HOTPATH_ADD_(cpu->user_ns, passed - kernel);
    HOTPATH_ADD_(cpu->waiting_kernel_ns, kernel);
    HOTPATH_ADD_(cpu->waiting_user_ns, passed - kernel);
    sampler->counted.ns += passed;
    sampler->counted.kernel_ns += kernel;
}

/* User time goes in equal parts to where perf has found the thread. */
static void hp_sampler_share_out(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    for (uint32_t left = sampler->seen_count; left > 0; left--)
        hp_sampler_add_user(head, sampler->seen[left - 1], sampler->cpu->waiting_user_ns / left, 1);
    sampler->seen_count = 0;
}

/* A timer's signal: all that waits is credited. Where perf has seen enough of user time, to where that was. */
static void hp_sampler_credit_all(struct hp_head *head, uint32_t node)
{
    const struct hp_cpu_thread *cpu = head->sampler.cpu;
    const bool has_seen = head->sampler.seen_count > 0;
    hp_sampler_count_time(head);
    if (has_seen)
        hp_sampler_share_out(head);
    else
        hp_sampler_add_user(head, node, cpu->waiting_user_ns, 1);
    if (cpu->waiting_kernel_ns > 0)
        hp_sampler_add_kernel(head, node, cpu->waiting_kernel_ns, has_seen);
}

/* Without a timer's signal nobody knows where kernel time was spent: it waits, unless none will come. */
static void hp_sampler_credit_seen(struct hp_head *head, bool is_kernel_included)
{
    const uint32_t last = head->sampler.seen_count > 0 ? head->sampler.seen[head->sampler.seen_count - 1] : 0;
    hp_sampler_count_time(head);
    hp_sampler_share_out(head);
    if (last != 0 && is_kernel_included)
        hp_sampler_add_kernel(head, last, head->sampler.cpu->waiting_kernel_ns, 0);
}

/* -------------------------------------------------------------------------------------------- recursion */

static uint32_t hp_sampler_site_of(const struct hp_head *head, uint32_t node) { return hp_node_at(head, node)->site; }

/* The place of a node with that site, or `count`. */
static uint32_t hp_sampler_find_site(const struct hp_head *head, const uint32_t *nodes, uint32_t count, uint32_t site)
{
    uint32_t at = 0;
    while (at < count && hp_sampler_site_of(head, nodes[at]) != site)
        at++;
    return at;
}

/*
 * Of calls inside one another a site may be on the stack and yet not above the innermost node, which was folded onto one
 * further out. These have their calls in progress, too: they are credited beside the tree.
 */
static void hp_sampler_credit_folded(struct hp_head *head, const struct hotpath_frame_ *innermost, uint64_t ns)
{
    uint32_t nodes[HP_SAMPLER_MAX_FOLDED], count = 0, steps = 0;
    if (!(innermost->stat & HOTPATH_RECURSIVE_))
        return;
    const struct hotpath_frame_ *zero = hp_frame_zero(head);
    for (const struct hotpath_frame_ *frame = innermost; frame > zero && steps < HP_SAMPLER_MAX_DEPTH && count < HP_SAMPLER_MAX_FOLDED;
         frame--, steps++)
        if (hp_sampler_find_site(head, nodes, count, hp_sampler_site_of(head, frame->node)) == count)
            nodes[count++] = frame->node;
    steps = 0;
    for (uint32_t node = innermost->node; node != 0 && steps < HP_SAMPLER_MAX_DEPTH; steps++) {
        const uint32_t above = hp_sampler_find_site(head, nodes, count, hp_sampler_site_of(head, node));
        if (above < count)
            nodes[above] = nodes[--count];
        node = hp_node_at(head, node)->parent;
    }
    for (uint32_t at = 0; at < count; at++) {
        struct hp_cpu_node *credit = hp_sampler_credit_of(head, nodes[at]);
        if (credit == NULL)
            continue;
        HOTPATH_ADD_(credit->also_samples, 1);
        HOTPATH_ADD_(credit->also_ns, ns);
    }
}

/* ------------------------------------------------------------------------------------------- the samples */

/* A further chunk, or the oldest once more. Samples are worth less than what else needs the space. */
static struct hp_sample_chunk *hp_sampler_next_chunk(struct hp_head *head, struct hp_sample_chunk *full)
{
    struct hp_cpu_thread *cpu = head->sampler.cpu;
    const struct hp_header *header = hp_store_header(head->store);
    const uint32_t bytes = (uint32_t)(sizeof *full + HP_SAMPLER_CHUNK_SAMPLES * sizeof full->samples[0]);
    const bool is_enough =
        cpu->chunk_count >= HP_SAMPLER_MAX_CHUNKS || __atomic_load_n(&header->used, __ATOMIC_RELAXED) > header->capacity / 2;
    uint32_t offset = is_enough ? 0 : hp_store_allocate(head->store, bytes, 64);
    struct hp_sample_chunk *chunk = NULL;
    if (offset != 0) {
        chunk = hp_store_at(head->store, offset);
        chunk->capacity = HP_SAMPLER_CHUNK_SAMPLES;
        chunk->next = full != NULL ? full->next : offset;
        HOTPATH_PUT_(cpu->chunk_count, cpu->chunk_count + 1);
    } else if (full != NULL) {
        offset = full->next;
        chunk = hp_store_at(head->store, offset);
        __atomic_store_n(&chunk->used, 0, __ATOMIC_RELEASE);
    }
    if (chunk == NULL)
        return NULL;
    HOTPATH_PUT_(chunk->first, cpu->recorded);
    if (full != NULL)
        __atomic_store_n(&full->next, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&cpu->chunk, offset, __ATOMIC_RELEASE);
    return chunk;
}

static void hp_sampler_record_sample(struct hp_head *head, uint32_t node, enum hp_sample_kind kind)
{
    struct hp_cpu_thread *cpu = head->sampler.cpu;
    struct hp_sample_chunk *chunk = cpu->chunk != 0 ? hp_store_at(head->store, cpu->chunk) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity)
        chunk = hp_sampler_next_chunk(head, chunk);
    if (chunk == NULL)
        return;
    chunk->samples[chunk->used] =
        (struct hp_sample){.ticks = hp_now(), .node = node, .tid = head->thread_id, .kind = kind};
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    HOTPATH_ADD_(cpu->recorded, 1);
}

/* ------------------------------------------------------------------------------------------- the handler */

/* Zones below the stack are of calls that longjmp left, or that wait on another stack. */
static const struct hotpath_frame_ *hp_sampler_present_frame(const struct hp_head *head, uintptr_t stack)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    for (uint32_t steps = 0; steps < HP_SAMPLER_MAX_DEPTH && !hp_zone_is_there(frame, stack); steps++)
        frame--;
    return frame;
}

static void hp_sampler_start_perf(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    sampler->perf_was_tried = true;
    if (hotpath_runtime_->sampling.engine != HP_CPU_PERF)
        return;
    sampler->perf = hp_cpu_perf_start(hotpath_runtime_->sampling.period_ns);
    if (sampler->perf != NULL && sampler->has_timer)
        hp_cpu_timer_change(sampler->timer, HP_SAMPLER_TIMER_PERIODS * hotpath_runtime_->sampling.period_ns);
}

static void hp_sampler_stop_sources(struct hp_sampler *sampler)
{
    if (sampler->has_timer)
        hp_cpu_timer_stop(sampler->timer);
    hp_cpu_perf_stop(sampler->perf);
    sampler->has_timer = false;
    sampler->perf = NULL;
}

static void hp_sampler_take_perf_sample(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &head->sampler;
    if (sampler->seen_count == HP_SAMPLER_SEEN)
        hp_sampler_credit_seen(head, !sampler->has_timer);
    sampler->seen[sampler->seen_count++] = frame->node;
    HOTPATH_ADD_(sampler->cpu->perf_samples, 1);
    hp_sampler_credit_folded(head, frame, hotpath_runtime_->sampling.period_ns);
}

static void hp_sampler_take_timer_sample(struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hp_sampler *sampler = &head->sampler;
    const struct hp_cpu_thread *cpu = sampler->cpu;
    const bool has_perf = sampler->perf != NULL;
    hp_sampler_count_time(head);
    if (frame->stat & HOTPATH_RECURSIVE_)
        hp_sampler_credit_folded(head, frame,
                      has_perf ? cpu->waiting_kernel_ns : cpu->waiting_kernel_ns + cpu->waiting_user_ns);
    hp_sampler_credit_all(head, frame->node);
    if (!sampler->perf_was_tried)
        hp_sampler_start_perf(head);
}

static void hp_sampler_take_sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack)
{
    struct hp_cpu_thread *cpu = head->sampler.cpu;
    const struct hotpath_frame_ *frame = hp_sampler_present_frame(head, stack);
    const uint32_t node = frame->node;
    if (kind == HP_SAMPLE_PERF)
        hp_sampler_take_perf_sample(head, frame);
    else
        hp_sampler_take_timer_sample(head, frame);
    HOTPATH_ADD_(cpu->samples, 1);
    HOTPATH_PUT_(cpu->last_node, node);
    hp_sampler_record_sample(head, node, kind);
}

/* What passes while recording is paused is nobody's. */
static void hp_sampler_skip_time(struct hp_sampler *sampler)
{
    sampler->counted = hp_cpu_of_thread();
    sampler->seen_count = 0;
}

/* The gate is asked once we are known to be at work: from then on the session stays. */
static void hp_sampler_sample(struct hp_head *head, enum hp_sample_kind kind, uintptr_t stack)
{
    struct hp_sampler *sampler = &head->sampler;
    HOTPATH_PUT_(sampler->is_at_work, 1);
    HOTPATH_ORDER_();
    const uint32_t gate = HOTPATH_GATE_OF_(&head->hot) & ~HP_GATE_OUT_OF_LINE;
    if (sampler->cpu == NULL || (gate & ~HP_GATE_PAUSED) != head->hot.epoch)
        hp_sampler_stop_sources(sampler);
    else if (gate & HP_GATE_PAUSED)
        hp_sampler_skip_time(sampler);
    else
        hp_sampler_take_sample(head, kind, stack);
    HOTPATH_ORDER_();
    HOTPATH_PUT_(sampler->is_at_work, 0);
}

/* Another copy of the library may have registered this thread, with a variable of its own for its head. */
static struct hp_head *hp_sampler_head_of_timer(int timer)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot != &hotpath_idle_head_)
        return head->sampler.timer == timer ? head : NULL;
    const uint32_t thread_id = hp_sys_thread_id();
    for (head = hp_page() != NULL ? hp_page()->heads : NULL; head != NULL; head = head->next)
        if (head->thread_id == thread_id && !head->is_handler)
            return head->sampler.timer == timer ? head : NULL;
    return NULL;
}

static struct hp_head *hp_sampler_head_of_perf(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    return &head->hot != &hotpath_idle_head_ && head->sampler.perf_was_tried ? head : NULL;
}

static void hp_sampler_on_signal(int signal, siginfo_t *info, void *context)
{
    const int saved = errno;
    int timer;
    const enum hp_cpu_source source = hp_cpu_source_of(info, &timer);
    struct hp_head *head = source == HP_CPU_BY_TIMER  ? hp_sampler_head_of_timer(timer)
                           : source == HP_CPU_BY_PERF ? hp_sampler_head_of_perf()
                                                      : NULL;
    if (head != NULL)
        hp_sampler_sample(head, source == HP_CPU_BY_PERF ? HP_SAMPLE_PERF : HP_SAMPLE_TIMER, hp_cpu_stack_of(context));
    errno = saved;
    if (head == NULL)
        hp_signal_view_pass_on(signal, info, context);
}

/* ----------------------------------------------------------------------------------- beginning and ending */

static bool hp_sampler_is_wanted(void)
{
    const struct hp_settings *settings = &hotpath_runtime_->settings;
    return (settings->record & HP_RECORD_CPU) && !settings->reserve;
}

static enum hp_cpu_engine hp_sampler_choose_engine(struct hp_sampling *sampling, uint32_t *ret_refusal)
{
    *ret_refusal = 0;
    if (!hp_sampler_is_wanted() || !hp_signal_view_take(hp_sampler_on_signal))
        return HP_CPU_NONE;
    if (hotpath_runtime_->settings.cpu_engine == HP_CPU_ENGINE_TIMERS)
        return HP_CPU_TIMERS;
    *ret_refusal = (uint32_t)hp_cpu_perf_prepare(&sampling->perf);
    return *ret_refusal == 0 ? HP_CPU_PERF : HP_CPU_TIMERS;
}

void hp_sampler_touch(void)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    if (header->cpu_engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    __atomic_store_n(&header->cpu_latest_ns, now.ns, __ATOMIC_RELAXED);
    __atomic_store_n(&header->cpu_latest_kernel_ns, now.kernel_ns, __ATOMIC_RELAXED);
}

void hp_sampler_begin(void)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    uint32_t refusal;
    struct hp_sampling sampling = {.period_ns = HP_SAMPLER_SECOND / hotpath_runtime_->settings.cpu_rate};
    sampling.engine = hp_sampler_choose_engine(&sampling, &refusal);
    hotpath_runtime_->sampling = sampling;
    if (hotpath_runtime_->sampling.engine == HP_CPU_NONE)
        return;
    const struct hp_cpu_time now = hp_cpu_of_process();
    header->features |= HP_FEATURE_CPU;
    header->cpu_engine = hotpath_runtime_->sampling.engine;
    header->cpu_refusal = refusal;
    header->cpu_rate = hotpath_runtime_->settings.cpu_rate;
    header->cpu_start_ns = header->cpu_latest_ns = now.ns;
    header->cpu_start_kernel_ns = header->cpu_latest_kernel_ns = now.kernel_ns;
}

static bool hp_sampler_find_record(struct hp_head *head)
{
    struct hp_thread *record = head->record;
    if (record->cpu == 0) {
        const uint32_t offset = hp_thread_allocate(head, sizeof(struct hp_cpu_thread), 64);
        if (offset == 0)
            return false;
        __atomic_store_n(&record->cpu, offset, __ATOMIC_RELEASE);
    }
    head->sampler.cpu = hp_store_at(head->store, record->cpu);
    return true;
}

/* The sequence of samples goes on where the threads before it with this record left off. */
static uint64_t hp_sampler_first_due(const struct hp_cpu_thread *cpu)
{
    const uint64_t period = hotpath_runtime_->sampling.period_ns;
    const uint64_t waiting = cpu->waiting_user_ns + cpu->waiting_kernel_ns;
    return waiting < period ? period - waiting : 1;
}

void hp_sampler_begin_thread(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    hp_sampler_stop_sources(sampler);
    *sampler = (struct hp_sampler){.timer = -1};
    if (hotpath_runtime_->sampling.engine == HP_CPU_NONE || !hp_sampler_find_record(head))
        return;
    sampler->counted = hp_cpu_of_thread();
    sampler->has_timer =
        hp_cpu_timer_start(&sampler->timer, hp_sampler_first_due(sampler->cpu), hotpath_runtime_->sampling.period_ns);
    if (!sampler->has_timer) {
        sampler->timer = -1;
        hp_sampler_start_perf(head);
    }
}

static bool hp_sampler_is_own(const struct hp_head *head) { return head->thread_id == hp_sys_thread_id(); }

/* Where it has not ended without a word. */
void hp_sampler_end_thread(struct hp_head *head)
{
    struct hp_sampler *sampler = &head->sampler;
    if (sampler->cpu != NULL && head->hot.epoch == hp_epoch() && hotpath_runtime_->gate != 0 && hp_sampler_is_own(head))
        hp_sampler_credit_seen(head, true);
    hp_sampler_stop_sources(sampler);
    sampler->cpu = NULL;
}

/* The head of the calling thread, if it works for the running session. */
static struct hp_head *hp_sampler_own_head(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    const bool is_there = &head->hot != &hotpath_idle_head_ && head->thread_id != 0 && head->hot.epoch == hp_epoch();
    return is_there ? head : NULL;
}

void hp_sampler_begin_late(void)
{
    struct hp_head *head = hp_sampler_own_head();
    if (hotpath_runtime_->sampling.engine != HP_CPU_NONE || !hp_sampler_is_wanted())
        return;
    hp_sampler_begin();
    if (head != NULL)
        hp_sampler_begin_thread(head);
}

void hp_sampler_end(void)
{
    struct hp_head *head = hp_sampler_own_head();
    if (head != NULL && head->sampler.cpu != NULL)
        hp_sampler_credit_seen(head, true);
    hp_cpu_perf_stop(hotpath_runtime_->sampling.perf);
    hotpath_runtime_->sampling.perf = NULL;
}

/* ---- src/record/signal_view.c -------------------------------------------------------------------------------- */

/* What the host believes to have done about the signal in use. */

#ifdef HP_IN_FRONT_OF_SIGNALS
/* Other names of the C library's for the same. */
extern int __sigaction(int signal, const struct sigaction *action, struct sigaction *before);
extern hp_plain_handler *ssignal(int signal, hp_plain_handler *handler);
#define hp_signal_view_next_sigaction __sigaction
#else
#define hp_signal_view_next_sigaction sigaction
#endif

static struct hp_signal_view *hp_signal_view_view(void) { return &hotpath_runtime_->signal_view; }

static bool hp_signal_view_is_taken(void) { return hotpath_runtime_ != NULL && __atomic_load_n(&hp_signal_view_view()->is_taken, __ATOMIC_ACQUIRE); }

static struct sigaction hp_signal_view_current_action(void)
{
    return hp_signal_view_view()->actions[__atomic_load_n(&hp_signal_view_view()->current, __ATOMIC_ACQUIRE) & 1];
}

/* Written beside, then made current: a handler that reads meanwhile has the one before, whole. */
static void hp_signal_view_set_action(const struct sigaction *action)
{
    const uint32_t next = (hp_signal_view_view()->current + 1) & 1;
    hp_signal_view_view()->actions[next] = *action;
    __atomic_store_n(&hp_signal_view_view()->current, next, __ATOMIC_RELEASE);
}

bool hp_signal_view_take(hp_signal_handler *handler)
{
    struct sigaction ours, before;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = handler;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    if (hp_signal_view_next_sigaction(HP_CPU_SIGNAL, NULL, &before) != 0)
        return false;
    if (hp_signal_view_is_taken() && (before.sa_flags & SA_SIGINFO) && before.sa_sigaction == hp_signal_view_view()->handler)
        return true;
    hp_signal_view_set_action(&before);
    if (hp_signal_view_next_sigaction(HP_CPU_SIGNAL, &ours, NULL) != 0)
        return false;
    hp_signal_view_view()->handler = handler;
    __atomic_store_n(&hp_signal_view_view()->is_taken, true, __ATOMIC_RELEASE);
    return true;
}

/* The mask that the host's handler expects: what was blocked before, what it asks for, and the signal itself. */
static void hp_signal_view_use_mask_of(const struct sigaction *action, int signal, const void *context)
{
    const ucontext_t *interrupted = context;
    sigset_t mask = interrupted->uc_sigmask;
    for (int each = 1; each < 65; each++)
        if (sigismember(&action->sa_mask, each) == 1)
            sigaddset(&mask, each);
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void hp_signal_view_pass_on(int signal, siginfo_t *info, void *context)
{
    const struct sigaction action = hp_signal_view_current_action();
    if (!(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN))
        return; /* which are the same for this signal */
    if ((uint32_t)action.sa_flags & (uint32_t)SA_RESETHAND) {
        struct sigaction usual;
        memset(&usual, 0, sizeof usual);
        usual.sa_handler = SIG_DFL;
        hp_signal_view_set_action(&usual);
    }
    hp_signal_view_use_mask_of(&action, signal, context);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

#ifdef HP_IN_FRONT_OF_SIGNALS

/* ------------------------------------------------------------------------------------- in front of the C library */

static void hp_signal_view_exchange(const struct sigaction *action, struct sigaction *ret_before)
{
    struct hp_signals held;
    const bool is_locked = hp_lock(&held);
    const struct sigaction before = hp_signal_view_current_action();
    if (action != NULL)
        hp_signal_view_set_action(action);
    if (ret_before != NULL)
        *ret_before = before;
    if (is_locked)
        hp_unlock(&held);
}

int hotpath_v1_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    if (signal != HP_CPU_SIGNAL || !hp_signal_view_is_taken())
        return __sigaction(signal, action, before);
    hp_signal_view_exchange(action, before);
    return 0;
}

hp_plain_handler *hotpath_v1_signal(int signal, hp_plain_handler *handler)
{
    struct sigaction action, before;
    if (signal != HP_CPU_SIGNAL || handler == SIG_ERR || !hp_signal_view_is_taken())
        return ssignal(signal, handler);
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    hp_signal_view_exchange(&action, &before);
    return before.sa_handler;
}

HOTPATH_API_ int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    return hotpath_v1_sigaction(signal, action, before);
}

HOTPATH_API_ hp_plain_handler *signal(int number, hp_plain_handler *handler)
{
    return hotpath_v1_signal(number, handler);
}

#endif

/* ---- src/record/sites.c -------------------------------------------------------------------------------------- */

/*
 * Sites get their numbers here. A number belongs to a place in code (file, line, function, name), not to
 * the static object that asked: the same inline function in fifty units, or a library that was closed and opened
 * again, is one site. Names are copied, since the library they live in may go away.
 *
 * Numbers last as long as the process; each session gets a copy of the names.
 */

#define HP_SITES_TEXT_PIECE (64u << 10)
#define HP_SITES_NAME_BYTES 256
#define HP_SITES_IMAGES_BACK 16u

static uint32_t hp_sites_hash_text(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT32_C(16777619);
    return (hash ^ 0xffu) * UINT32_C(16777619);
}

static struct hp_known_site *hp_sites_known_site(uint32_t id)
{
    return &__atomic_load_n(&hotpath_runtime_->site_chunks[id / HP_SITES_PER_CHUNK],
                            __ATOMIC_ACQUIRE)[id % HP_SITES_PER_CHUNK];
}

static const char *hp_sites_keep_text(const char *text)
{
    const size_t size = strnlen(text, 4000) + 1;
    if (size > hotpath_runtime_->text_left) {
        char *piece = hp_more_memory(HP_SITES_TEXT_PIECE);
        if (piece == NULL)
            return NULL;
        hotpath_runtime_->text = piece;
        hotpath_runtime_->text_left = HP_SITES_TEXT_PIECE;
    }
    char *copy = hotpath_runtime_->text;
    memcpy(copy, text, size - 1);
    copy[size - 1] = '\0';
    /* In this order: a fork in between leaves the child a smaller piece, not a piece it does not have. */
    hotpath_runtime_->text_left -= size;
    HOTPATH_ORDER_();
    hotpath_runtime_->text += size;
    return copy;
}

/* What a user calls the site: for a C++ function its qualified name instead of the whole signature. */
static const char *hp_sites_shown_name(const struct hotpath_site *site, char buffer[HP_SITES_NAME_BYTES])
{
    const uint32_t kind = site->kind & ~HOTPATH_KIND_CXX_;
    if (!(site->kind & HOTPATH_KIND_CXX_) || (kind != HOTPATH_KIND_FUNCTION_ && kind != HOTPATH_KIND_MAIN_))
        return site->name;
    hp_cxx_short_name(site->name, buffer, HP_SITES_NAME_BYTES);
    return buffer;
}

static bool hp_sites_is_same(const struct hp_known_site *known, const char *name, const struct hotpath_site *site)
{
    return known->line == site->line && known->kind == site->kind && strcmp(known->file, site->file) == 0 &&
           strcmp(known->function, site->function) == 0 && strcmp(known->name, name) == 0;
}

static struct hp_site *hp_sites_stored_site(const struct hp_header *header, uint32_t id)
{
    const uint32_t chunk = header->site_chunks[id / HP_SITES_PER_CHUNK];
    return (struct hp_site *)hp_store_at(hotpath_runtime_->store, chunk) + id % HP_SITES_PER_CHUNK;
}

/* The path of a site's file; most have that of one of the last. */
static uint32_t hp_sites_image_text(const struct hp_header *header, uint32_t id)
{
    const char *image = hp_sites_known_site(id)->image;
    for (uint32_t back = 1; image != NULL && back <= id && back <= HP_SITES_IMAGES_BACK; back++)
        if (hp_sites_known_site(id - back)->image == image && header->site_chunks[(id - back) / HP_SITES_PER_CHUNK] != 0)
            return hp_sites_stored_site(header, id - back)->image;
    return image != NULL ? hp_store_text(hotpath_runtime_->store, image) : 0;
}

/* Writes one site into the running session's table. */
static bool hp_sites_write_site(uint32_t id)
{
    struct hp_store *store = hotpath_runtime_->store;
    struct hp_header *header = hp_store_header(store);
    uint32_t *chunk = &header->site_chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == 0) {
        const uint32_t fresh = hp_store_allocate(store, HP_SITES_PER_CHUNK * (uint32_t)sizeof(struct hp_site), 64);
        if (fresh == 0)
            return false;
        __atomic_store_n(chunk, fresh, __ATOMIC_RELEASE);
    }
    const struct hp_known_site *known = hp_sites_known_site(id);
    struct hp_site *site = hp_sites_stored_site(header, id);
    const uint32_t name = hp_store_text(store, known->name);
    if (name == 0)
        return false;
    site->function = known->function == known->name ? name : hp_store_text(store, known->function);
    site->file = hp_store_text(store, known->file);
    site->line = known->line;
    site->kind = known->kind;
    site->image = hp_sites_image_text(header, id);
    site->address_low = (uint32_t)known->address;
    site->address_high = (uint32_t)(known->address >> 32);
    /* Release pairs with the reader's acquire of `name`: a site with a name is whole. */
    __atomic_store_n(&site->name, name, __ATOMIC_RELEASE);
    if (header->site_count <= id)
        __atomic_store_n(&header->site_count, id + 1, __ATOMIC_RELEASE);
    return true;
}

static bool hp_sites_is_main(uint32_t kind) { return (kind & ~HOTPATH_KIND_CXX_) == HOTPATH_KIND_MAIN_; }

/* By the program, or from outside. */
static bool hp_sites_is_to_log(const struct hp_known_site *known)
{
    const struct hp_site_choice *choice = hotpath_runtime_->choice;
    char qualified[HP_SITES_NAME_BYTES];
    if (choice == NULL || !choice->has_log || known->wants_log || hp_sites_is_main(known->kind))
        return known->wants_log;
    hp_cxx_qualified_name(known->name, qualified, sizeof qualified);
    const struct hp_pattern_subject subject = {.names = {known->name, qualified},
                                               .files = {known->file, known->image}};
    return hp_pattern_list_chooses(&choice->log, &subject);
}

static void hp_sites_set_logged(struct hp_known_site *known)
{
    __atomic_store_n(&known->is_logged, hp_sites_is_to_log(known), __ATOMIC_RELAXED);
}

void hp_sites_begin(void)
{
    for (uint32_t id = 0; id < hotpath_runtime_->site_count; id++)
        if (!hp_sites_write_site(id))
            hp_store_lose(hotpath_runtime_->store, HP_LOSS_SITES, 1);
}

void hp_sites_reserve(void)
{
    for (uint32_t chunk = 0; chunk < HP_RESERVED_SITES / HP_SITES_PER_CHUNK; chunk++)
        if (hotpath_runtime_->site_chunks[chunk] == NULL)
            hotpath_runtime_->site_chunks[chunk] = hp_memory_map(HP_SITES_PER_CHUNK * sizeof(struct hp_known_site));
    const size_t bytes = (size_t)HP_RESERVED_SITES * 128;
    char *text = hp_memory_map(bytes);
    if (text != NULL) {
        hotpath_runtime_->text_left = bytes;
        hotpath_runtime_->text = text;
    }
}

static uint32_t hp_sites_find_site(uint32_t hash, const char *name, const struct hotpath_site *site)
{
    uint32_t id = hotpath_runtime_->site_buckets[hash % HP_SITE_BUCKETS];
    for (; id != 0; id = hp_sites_known_site(id - 1)->next)
        if (hp_sites_known_site(id - 1)->hash == hash && hp_sites_is_same(hp_sites_known_site(id - 1), name, site))
            return id - 1;
    return HOTPATH_ID_NEW_;
}

static uint32_t hp_sites_add_site(uint32_t hash, const char *name, const struct hotpath_site *site,
                         const struct hp_symbol *symbol)
{
    const uint32_t id = hotpath_runtime_->site_count;
    if (id == HP_MAX_SITES)
        return HOTPATH_ID_EXCLUDED_;
    struct hp_known_site **chunk = &hotpath_runtime_->site_chunks[id / HP_SITES_PER_CHUNK];
    if (*chunk == NULL)
        __atomic_store_n(chunk, hp_more_memory(HP_SITES_PER_CHUNK * sizeof **chunk), __ATOMIC_RELEASE);
    if (*chunk == NULL)
        return HOTPATH_ID_EXCLUDED_;
    struct hp_known_site *known = hp_sites_known_site(id);
    known->name = hp_sites_keep_text(name);
    known->function = site->function == site->name && known->name != NULL && strcmp(name, site->name) == 0
                          ? known->name
                          : hp_sites_keep_text(site->function);
    known->file = hp_sites_keep_text(site->file);
    if (known->name == NULL || known->function == NULL || known->file == NULL)
        return HOTPATH_ID_EXCLUDED_;
    known->image = symbol != NULL ? symbol->image : NULL;
    known->address = symbol != NULL ? symbol->address : 0;
    known->line = site->line;
    known->kind = site->kind;
    known->wants_log = site->log != 0;
    hp_sites_set_logged(known);
    known->hash = hash;
    known->next = hotpath_runtime_->site_buckets[hash % HP_SITE_BUCKETS];
    if (!hp_sites_write_site(id))
        return HOTPATH_ID_EXCLUDED_;
    hotpath_runtime_->site_count = id + 1;
    hotpath_runtime_->site_buckets[hash % HP_SITE_BUCKETS] = id + 1;
    return id;
}

/* Once there, the lists stay where they are: sessions come and go. */
bool hp_sites_choose(void)
{
    const struct hp_settings *settings = &hotpath_runtime_->settings;
    const bool is_any = settings->filter[0] != '\0' || settings->skip[0] != '\0' || settings->log[0] != '\0';
    if (is_any && hotpath_runtime_->choice == NULL)
        hotpath_runtime_->choice = hp_memory_map(sizeof *hotpath_runtime_->choice);
    struct hp_site_choice *choice = hotpath_runtime_->choice;
    if (choice == NULL)
        return !is_any; /* and nothing to undo: no list has been in force */
    /* Settings hold lists that compile; one that did not would choose everything. */
    hp_pattern_list_compile(&choice->filter, settings->filter, false, NULL);
    hp_pattern_list_compile(&choice->skip, settings->skip, true, NULL);
    hp_pattern_list_compile(&choice->log, settings->log, false, NULL);
    choice->is_any = is_any;
    choice->has_log = settings->log[0] != '\0';
    for (uint32_t id = 0; id < hotpath_runtime_->site_count; id++)
        hp_sites_set_logged(hp_sites_known_site(id));
    return true;
}

/* A site's record is written before its number is given out, so it can be read without the lock. */
bool hp_site_is_logged(uint32_t id) { return __atomic_load_n(&hp_sites_known_site(id)->is_logged, __ATOMIC_RELAXED); }

/* Main functions are not for patterns to choose. */
static bool hp_sites_is_wanted(const char *name, const struct hotpath_site *site, const struct hp_symbol *symbol)
{
    const struct hp_site_choice *choice = hotpath_runtime_->choice;
    char qualified[HP_SITES_NAME_BYTES];
    if (choice == NULL || !choice->is_any || hp_sites_is_main(site->kind))
        return true;
    hp_cxx_qualified_name(name, qualified, sizeof qualified);
    const struct hp_pattern_subject subject = {.names = {name, qualified},
                                               .files = {site->file, symbol != NULL ? symbol->image : NULL}};
    return hp_pattern_list_chooses(&choice->filter, &subject) && hp_pattern_list_chooses(&choice->skip, &subject);
}

static uint32_t hp_sites_register_site(const struct hotpath_site *site, const struct hp_symbol *symbol)
{
    char buffer[HP_SITES_NAME_BYTES];
    const char *name = hp_sites_shown_name(site, buffer);
    if (name[0] == '\0')
        name = "<unnamed>";
    if (!hp_sites_is_wanted(name, site, symbol))
        return HOTPATH_ID_EXCLUDED_;
    const uint32_t hash = hp_sites_hash_text(hp_sites_hash_text(2166136261u ^ site->line, site->file), name);
    uint32_t id = hp_sites_find_site(hash, name, site);
    if (id != HOTPATH_ID_NEW_)
        return id;
    id = hp_sites_add_site(hash, name, site, symbol);
    if (id == HOTPATH_ID_EXCLUDED_)
        hp_store_lose(hotpath_runtime_->store, HP_LOSS_SITES, 1);
    return id;
}

void hp_site_register(struct hotpath_site *site, const struct hp_symbol *symbol)
{
    HOTPATH_PUT_(site->id, hp_sites_register_site(site, symbol));
    if (!hp_is_sealed())
        hp_session_touch();
}

uint32_t hp_site_id(struct hotpath_site *site)
{
    struct hp_signals held;
    const uint32_t id = HOTPATH_GET_(site->id);
    if (id != HOTPATH_ID_NEW_ || !hp_lock(&held))
        return id;
    if (hotpath_runtime_->gate != 0)
        hp_site_register(site, NULL);
    hp_unlock(&held);
    return HOTPATH_GET_(site->id);
}

/* ---- src/record/threads.c ------------------------------------------------------------------------------------ */

/*
 * Threads come and go; their records stay. A thread gets a head with its first zone. When it ends, the head is free
 * with everything attached (record, call tree, index), and the next new thread goes on with it: memory follows how many
 * threads record at once, not how many there ever were.
 */

#define HP_THREADS_PIECE_BYTES 8192u
#define HP_THREADS_FIRST_PIECE_BYTES 4096u
#define HP_THREADS_LINE 128u /* two cache lines: what neighbouring threads write must not share a prefetched pair */

static pthread_key_t hp_threads_exit_key;
static bool hp_threads_has_exit_key;

/* ------------------------------------------------------------------------------------- the end of a thread */

static void hp_threads_release_head(struct hp_head *head)
{
    hp_sampler_end_thread(head);
    if (head->record != NULL && head->hot.epoch == hp_epoch() && hotpath_runtime_->gate != 0) {
        const uint64_t now = hp_now();
        for (struct hp_head *at = head; at != NULL; at = at->handler) {
            if (at->record == NULL || at->hot.epoch != hp_epoch())
                continue; /* a handler's head for which there was no space */
            hp_zones_close_all(at, now);
            __atomic_store_n(&at->record->state, HP_THREAD_FREE, __ATOMIC_RELAXED);
        }
    }
    head->thread_id = 0;
}

static void hp_threads_say_farewell(struct hp_head *head)
{
    struct hp_signals held;
    if (!hp_lock(&held))
        return;
    hotpath_v1_head = &hotpath_idle_head_;
    hotpath_thread_is_over_ = 1;
    if (head->thread_id != 0 && --head->copies == 0)
        hp_threads_release_head(head);
    hp_unlock(&held);
}

/* musl cancels a thread wherever it is, and calls destructors with the stack as it was there. */
#if defined(__x86_64__) || defined(__i386__)
#define HP_THREADS_REALIGNED __attribute__((force_align_arg_pointer))
#else
#define HP_THREADS_REALIGNED
#endif

/*
 * Destructors of other keys may hold zones: stay for as many rounds as there are but one. The last belongs to tools that
 * must outlive everybody, such as ThreadSanitizer, which no longer follows the thread after it.
 */
HP_THREADS_REALIGNED static void hp_threads_at_thread_exit(void *value)
{
    const int saved = errno;
    struct hp_head *head = value;
    if (++head->farewells < PTHREAD_DESTRUCTOR_ITERATIONS - 1)
        pthread_setspecific(hp_threads_exit_key, head);
    else
        hp_threads_say_farewell(head);
    errno = saved;
}

bool hp_thread_exit_hook(void)
{
    if (!hp_threads_has_exit_key)
        hp_threads_has_exit_key = pthread_key_create(&hp_threads_exit_key, hp_threads_at_thread_exit) == 0;
    return hp_threads_has_exit_key;
}

/* ---------------------------------------------------------------------------------------------- heads */

/* A head with nothing attached. Heads lie apart so that threads do not share cache lines. */
static struct hp_head *hp_threads_new_head(void)
{
    struct hp_fork_page *page = hp_page();
    const size_t stride = (sizeof(struct hp_head) + HP_THREADS_LINE - 1) / HP_THREADS_LINE * HP_THREADS_LINE;
    if (page->spare_count == 0) {
        page->spare = hp_more_memory(HP_HEADS_BYTES);
        if (page->spare == NULL)
            return NULL;
        hp_memory_wipe_on_fork(page->spare, HP_HEADS_BYTES);
        page->spare_count = (uint32_t)(HP_HEADS_BYTES / stride);
    }
    struct hp_head *head = page->spare;
    page->spare = (struct hp_head *)(void *)((char *)head + stride);
    page->spare_count--;
    head->next = page->heads;
    page->heads = head;
    return head;
}

/* Threads that began to record after their last destructor, or were ended by a raw system call. */
static bool hp_threads_is_dead(const struct hp_head *head)
{
    return head->thread_id != 0 && !head->is_handler && !hp_process_has_thread(head->thread_id);
}

/*
 * Frees the heads of threads that ended without a word. Asking the kernel about each costs a system call, so it is done
 * only when the number of heads would grow past a power of two: now and then, whatever the number.
 */
static struct hp_head *hp_threads_bury_dead(void)
{
    struct hp_head *freed = NULL;
    uint32_t count = 0;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        count++;
    if (count < 8 || (count & (count - 1)) != 0)
        return NULL;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next)
        if (hp_threads_is_dead(head)) {
            hp_threads_release_head(head);
            freed = head;
        }
    return freed;
}

/* The head of this thread if another copy of the library made one, else a free one, best with a record. */
static struct hp_head *hp_threads_find_head(uint32_t thread_id)
{
    struct hp_head *free_head = NULL;
    for (struct hp_head *head = hp_page()->heads; head != NULL; head = head->next) {
        if (head->is_handler)
            continue;
        if (head->thread_id == thread_id)
            return head;
        if (head->thread_id == 0 && (free_head == NULL || free_head->hot.epoch != hp_epoch()))
            free_head = head;
    }
    return free_head;
}

/* ---------------------------------------------------------------------------------------------- records */

uint32_t hp_thread_allocate(struct hp_head *head, uint32_t size, uint32_t align)
{
    uint32_t from = (head->space + align - 1) & ~(align - 1);
    if (head->space == 0 || (uint64_t)from + size > head->space_end) {
        uint32_t piece = size > HP_THREADS_PIECE_BYTES ? size : head->space == 0 ? HP_THREADS_FIRST_PIECE_BYTES : HP_THREADS_PIECE_BYTES;
        from = hp_store_allocate(head->store, piece, HP_THREADS_LINE);
        if (from == 0 && piece > size) {
            piece = size;
            from = hp_store_allocate(head->store, piece, HP_THREADS_LINE);
        }
        if (from == 0)
            return 0;
        head->space_end = from + piece;
    }
    head->space = from + size;
    return from;
}

/* Links a new record in front of the others. Under the lock; release pairs with the reader's walk. */
static void hp_threads_link_record(struct hp_head *head)
{
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    head->record->next = header->threads;
    __atomic_store_n(&header->threads, head->record_offset, __ATOMIC_RELEASE);
    __atomic_store_n(&header->thread_count, header->thread_count + 1, __ATOMIC_RELAXED);
}

static bool hp_threads_new_record(struct hp_head *head)
{
    head->store = hotpath_runtime_->store;
    head->space = head->space_end = 0;
    head->record = NULL;
    head->alloc = NULL;
    head->generation = 0;
    head->record_offset = hp_thread_allocate(head, sizeof(struct hp_thread), 64);
    if (head->record_offset == 0)
        return false;
    head->record = hp_store_at(head->store, head->record_offset);
    if (!hp_zones_begin(head))
        return false;
    hp_threads_link_record(head);
    return true;
}

/* Word by word, since somebody may be reading. */
static void hp_threads_name_record(struct hp_thread *record)
{
    char name[sizeof record->name];
    uint32_t words[sizeof name / sizeof(uint32_t)];
    hp_process_thread_name(name);
    memcpy(words, name, sizeof name);
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        __atomic_store_n((uint32_t *)(void *)record->name + at, words[at], __ATOMIC_RELAXED);
}

static void hp_threads_sign_record(struct hp_head *head, uint32_t thread_id)
{
    struct hp_thread *record = head->record;
    head->generation = record->generation + 1;
    __atomic_store_n(&record->generation, head->generation, __ATOMIC_RELAXED);
    __atomic_store_n(&record->tid, thread_id, __ATOMIC_RELAXED);
    __atomic_store_n(&record->first_tick, hp_now(), __ATOMIC_RELAXED);
    if (!head->is_handler)
        hp_threads_name_record(record);
    __atomic_store_n(&record->state, HP_THREAD_LIVE, __ATOMIC_RELAXED);
    struct hp_header *header = hp_store_header(hotpath_runtime_->store);
    if (!head->is_handler)
        __atomic_store_n(&header->threads_seen, header->threads_seen + 1, __ATOMIC_RELAXED);
}

/* Gives a head a record of the running session and opens it for business. */
static bool hp_threads_attach(struct hp_head *head, uint32_t thread_id)
{
    const bool has_record = head->record != NULL && head->hot.epoch == hp_epoch();
    head->hot.ready = 0;
    if (!(has_record ? hp_zones_resume(head) : hp_threads_new_record(head))) {
        head->record = NULL;
        return false;
    }
    hp_threads_sign_record(head, thread_id);
    head->hot.epoch = hp_epoch();
    head->hot.base = hotpath_runtime_->store->base;
    head->thread_id = thread_id;
    hp_let_go(&head->hot);
    return true;
}

static bool hp_threads_attach_with_handlers(struct hp_head *head, uint32_t thread_id)
{
    if (!hp_threads_attach(head, thread_id))
        return false;
    for (struct hp_head *handler = head->handler; handler != NULL; handler = handler->handler)
        if (!hp_threads_attach(handler, thread_id))
            return false;
    return true;
}

/* -------------------------------------------------------------------------------------------- registering */

/* Under the lock. `losses` are counted where that fails: zones, or nothing where the caller counts what it loses itself. */
static struct hp_head *hp_threads_register_thread(uint64_t losses)
{
    if ((hp_is_forked_child() && !hp_session_begin_child()) || hotpath_runtime_->gate == 0 || !hp_thread_exit_hook()) {
        hotpath_v1_head = &hotpath_idle_head_;
        return NULL;
    }
    if (hp_is_sealed()) { /* to tell which thread this is takes a system call */
        hp_store_lose(hotpath_runtime_->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    const uint32_t thread_id = hp_sys_thread_id();
    struct hp_head *head = hotpath_thread_is_over_ ? NULL : hp_threads_find_head(thread_id);
    if (head == NULL && !hotpath_thread_is_over_)
        head = hp_threads_bury_dead();
    if (head == NULL && !hotpath_thread_is_over_)
        head = hp_threads_new_head();
    const bool is_shared = head != NULL && head->thread_id == thread_id;
    const bool is_current = is_shared && head->hot.epoch == hp_epoch();
    /* We may be in a handler that interrupted the thread while it was at work for a session that has ended since. */
    const bool is_busy = is_shared && !is_current && head->record != NULL && HOTPATH_GET_(head->hot.ready) == 0;
    if (head == NULL || is_busy || (!is_current && !hp_threads_attach_with_handlers(head, thread_id))) {
        hp_store_lose(hotpath_runtime_->store, HP_LOSS_ZONES, losses);
        return NULL;
    }
    if (!is_shared) {
        head->copies = 0;
        hp_owner_begin(head);
    }
    if (!is_current)
        hp_sampler_begin_thread(head);
    if (pthread_getspecific(hp_threads_exit_key) != head) {
        head->copies++;
        head->farewells = 0;
        pthread_setspecific(hp_threads_exit_key, head);
    }
    hotpath_v1_head = &head->hot;
    return head;
}

/* The head of this thread if it has one for the running session. */
static struct hp_head *hp_threads_present_head(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    const bool is_there = &head->hot != &hotpath_idle_head_ && head->thread_id != 0 && head->hot.epoch == hp_epoch();
    return is_there ? head : NULL;
}

/*
 * Who has the lock has it for microseconds, unless he waits for a lock of the C library that our caller has: so we wait a
 * little, but not for ever.
 */
#define HP_THREADS_SHORT_PATIENCE 1000

static bool hp_threads_lock_soon(struct hp_signals *held)
{
    for (int tries = 0; tries < HP_THREADS_SHORT_PATIENCE; tries++) {
        if (hp_lock_if_free(held))
            return true;
        sched_yield();
    }
    return false;
}

typedef bool hp_threads_take_lock(struct hp_signals *held);

/* The head of this thread, registered now if need be. */
static struct hp_head *hp_threads_head_by(hp_threads_take_lock *take, uint64_t losses)
{
    struct hp_head *head = hp_threads_present_head();
    struct hp_signals held;
    if (head != NULL || !take(&held))
        return head;
    head = hp_threads_register_thread(losses);
    hp_unlock(&held);
    return head;
}

struct hp_head *hp_thread_head(void) { return hp_threads_head_by(hp_lock, 1); }

struct hp_head *hp_thread_head_for_pools(void) { return hp_threads_head_by(hp_lock, 0); }

struct hp_head *hp_thread_head_if_free(void)
{
    return hotpath_thread_is_over_ || hp_is_sealed() ? hp_threads_present_head() : hp_threads_head_by(hp_threads_lock_soon, 0);
}

bool hp_thread_is_ours(void) { return !hp_is_forked_child() || hp_thread_head() != NULL; }

/* Under the lock. */
static struct hp_head *hp_threads_add_handler_head(struct hp_head *head)
{
    struct hp_head *handler = hotpath_runtime_->gate != 0 ? hp_threads_new_head() : NULL;
    if (handler == NULL)
        return NULL;
    handler->is_handler = true;
    if (!hp_threads_attach(handler, head->thread_id))
        return NULL;
    head->handler = handler;
    return handler;
}

struct hp_head *hp_thread_handler_head(struct hp_head *head)
{
    struct hp_signals held;
    if (head->handler != NULL)
        return head->handler;
    if (!hp_lock(&held))
        return NULL;
    struct hp_head *handler = hp_threads_add_handler_head(head);
    hp_unlock(&held);
    return handler;
}

void hp_thread_begin(void) { hp_threads_register_thread(0); }

void hp_thread_reserve(void)
{
    struct hp_head *head = hp_threads_register_thread(1);
    if (head != NULL && head->handler == NULL)
        hp_threads_add_handler_head(head);
}

bool hp_thread_has_head(uintptr_t state)
{
    struct hp_signals held;
    bool has_head = false;
    if (!hp_lock(&held))
        return false;
    for (const struct hp_head *head = hp_page()->heads; head != NULL && !has_head; head = head->next)
        has_head = (uintptr_t)head == state && head->hot.epoch == hp_epoch();
    hp_unlock(&held);
    return has_head;
}

/* ---------------------------------------------------------------------------------------------- holding */

/* The gate is asked again once the head is held: only then does the session stay. */
struct hp_head *hp_thread_hold(void)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot == &hotpath_idle_head_ || head->thread_id == 0 || head->record == NULL ||
        HOTPATH_GET_(head->hot.ready) == 0)
        return NULL;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    if ((HOTPATH_GATE_OF_(&head->hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch)
        return head;
    hp_let_go(&head->hot);
    return NULL;
}

/* ---- src/record/tree.c --------------------------------------------------------------------------------------- */

/*
 * The call tree of a thread: which node a site leads to from where, and where its calls are counted.
 *
 * A node is a site below a parent; a stat is what the thread knows of a site beside that. The index, a hash table in
 * memory of the thread's own, leads from (parent, site) to both, with flags that say what zones there have to mind
 * (HOTPATH_FLAGS_). Inline code reads it; everything else is done here.
 *
 * Recursion folds: a site that is open already continues on its open node, so trees are as deep as there are sites, and
 * the count of open calls of a site tells inner calls from the outermost, whose time alone is the total.
 */

#define HP_TREE_NODES_PER_CHUNK 16u
#define HP_TREE_FIRST_NODES 8u
/* Slots that lead to a stat instead of a node have this in place of the parent: no node is there. */
#define HP_TREE_STAT_OF 1u
#define HP_TREE_FOLDED 1u /* is_folded of a node */

/* ------------------------------------------------------------------------------------------- the index */

static uint64_t hp_tree_slot_key(uint32_t parent, uint32_t site) { return (uint64_t)parent << 32 | site; }

/* Without what zones that are not sampled must not find. */
static uint64_t hp_tree_plain_key(const struct hotpath_slot_ *slot) { return slot->key & ~HOTPATH_SAMPLED_KEY_; }

static uint32_t hp_tree_slot_total(const struct hotpath_head_ *hot)
{
    return hot->mask / (uint32_t)sizeof(struct hotpath_slot_) + 1;
}

static size_t hp_tree_slots_bytes(uint32_t total) { return (size_t)total * sizeof(struct hotpath_slot_); }

static void hp_tree_set_slots(struct hotpath_head_ *hot, struct hotpath_slot_ *slots, uint32_t total)
{
    hot->slots = slots;
    hot->mask = (total - 1) * (uint32_t)sizeof *slots;
}

static struct hotpath_slot_ *hp_tree_next_slot(const struct hotpath_head_ *hot, struct hotpath_slot_ *slot)
{
    return slot + 1 == hot->slots + hp_tree_slot_total(hot) ? hot->slots : slot + 1;
}

/*
 * The slot that has the key, or the empty one where it belongs; there always is an empty one. Slots of stats stay out of
 * the rows, since inline code does not look for them. A slot never becomes empty again, so a search that stops at an
 * empty one has not missed anything.
 */
static struct hotpath_slot_ *hp_tree_find_slot(const struct hotpath_head_ *hot, uint32_t parent, uint32_t site)
{
    const uint64_t key = hp_tree_slot_key(parent, site);
    struct hotpath_slot_ *slot = hotpath_slot_of_(hot, parent, site);
    if (parent != HP_TREE_STAT_OF && (slot->key == 0 || hp_tree_plain_key(slot) == key))
        return slot;
    slot = hotpath_second_slot_of_(hot, key);
    while (slot->key != 0 && hp_tree_plain_key(slot) != key)
        slot = hp_tree_next_slot(hot, slot);
    return slot;
}

/* Copies what is in `slot` to another place where it is found just as well; false where there is none. */
static bool hp_tree_make_room(const struct hotpath_head_ *hot, const struct hotpath_slot_ *slot)
{
    struct hotpath_slot_ *other = hotpath_second_slot_of_(hot, hp_tree_plain_key(slot));
    const bool is_stat = slot->key >> 32 == HP_TREE_STAT_OF; /* found out of line wherever it is */
    while (is_stat && other->key != 0)
        other = hp_tree_next_slot(hot, other);
    if (other->key != 0)
        return false;
    *other = *slot;
    return true;
}

/* The slot for a new key: if at all possible one of the two where inline code looks. */
static struct hotpath_slot_ *hp_tree_slot_for(const struct hotpath_head_ *hot, uint32_t parent, uint32_t site)
{
    struct hotpath_slot_ *slot = hp_tree_find_slot(hot, parent, site);
    struct hotpath_slot_ *first = hotpath_slot_of_(hot, parent, site);
    struct hotpath_slot_ *second = hotpath_second_slot_of_(hot, hp_tree_slot_key(parent, site));
    if (parent == HP_TREE_STAT_OF || slot == first || slot == second)
        return slot;
    return hp_tree_make_room(hot, first) ? first : hp_tree_make_room(hot, second) ? second : slot;
}

static bool hp_tree_grow_slots(struct hp_head *head)
{
    const uint32_t total = hp_tree_slot_total(&head->hot);
    struct hotpath_slot_ *old = head->hot.slots;
    struct hotpath_slot_ *bigger = hp_more_memory(hp_tree_slots_bytes(total * 4));
    if (bigger == NULL)
        return false;
    hp_tree_set_slots(&head->hot, bigger, total * 4);
    for (const struct hotpath_slot_ *slot = old; slot < old + total; slot++)
        if (slot->key != 0)
            *hp_tree_slot_for(&head->hot, (uint32_t)(slot->key >> 32), (uint32_t)hp_tree_plain_key(slot)) = *slot;
    hp_memory_unmap(old, hp_tree_slots_bytes(total));
    return true;
}

/* Loads above a quarter cost the inline part misses; above a half the index stops growing rather than fill up. */
static void hp_tree_add_slot(struct hp_head *head, const struct hotpath_slot_ *added)
{
    const uint32_t parent = (uint32_t)(added->key >> 32), site = (uint32_t)hp_tree_plain_key(added);
    const uint32_t size = hp_tree_slot_total(&head->hot);
    if (head->slot_count + 1 > size / 4 && !hp_tree_grow_slots(head) && head->slot_count + 1 > size / 2) {
        head->index_is_complete = false;
        return;
    }
    *hp_tree_slot_for(&head->hot, parent, site) = *added;
    head->slot_count++;
}

static bool hp_tree_empty_slots(struct hp_head *head)
{
    struct hotpath_slot_ *slots = head->hot.slots;
    const uint32_t first = hotpath_runtime_->settings.reserve ? HP_RESERVED_SLOTS : HP_FIRST_SLOTS;
    if (slots != NULL && hp_tree_slot_total(&head->hot) != first) {
        hp_memory_unmap(slots, hp_tree_slots_bytes(hp_tree_slot_total(&head->hot)));
        slots = NULL;
    }
    if (slots == NULL)
        slots = hp_more_memory(hp_tree_slots_bytes(first));
    else
        memset(slots, 0, hp_tree_slots_bytes(first));
    hp_tree_set_slots(&head->hot, slots, first);
    head->slot_count = 0;
    return slots != NULL;
}

/* -------------------------------------------------------------------------------------- stats and nodes */

static uint32_t hp_tree_new_stat(struct hp_head *head, uint32_t site)
{
    /* Aligned, so that what a short call needs of it is one cache line: extremes and the first octaves. */
    const uint32_t offset = hp_thread_allocate(head, sizeof(struct hotpath_stat_), 64);
    if (offset == 0)
        return 0;
    struct hotpath_stat_ *stat = hp_store_at(head->store, offset);
    stat->site = site;
    stat->min = UINT64_MAX;
    stat->keeps = hp_kept_from_start(head, site);
    stat->period = stat->countdown = stat->keeps & HP_KEEPS_LOG ? 1 : hotpath_runtime_->settings.time_period;
    stat->next = head->record->stats;
    /* Release: who finds the stat finds it whole. The same for nodes below. */
    __atomic_store_n(&head->record->stats, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->stat_count, head->record->stat_count + 1, __ATOMIC_RELAXED);
    return offset;
}

/* Not in the list: it counts nothing. Without space for it nothing is kept of calls. */
void hp_tree_need_blank_stat(struct hp_head *head)
{
    if (head->record->blank_stat != 0)
        return;
    const uint32_t offset = hp_thread_allocate(head, sizeof(struct hotpath_stat_), 64);
    __atomic_store_n(&head->record->blank_stat, offset, __ATOMIC_RELAXED);
}

uint64_t *hp_tree_counter(struct hp_head *head, uint32_t octaves[HOTPATH_OCTAVES_], uint64_t value)
{
    const uint32_t octave = hotpath_octave_(value);
    if (octaves[octave] == 0) {
        const uint32_t missing = octave == 0 ? 0 : 64 * sizeof(uint64_t);
        const uint32_t fresh = hp_thread_allocate(head, (octave == 0 ? 128 : 64) * sizeof(uint64_t), 64);
        if (fresh == 0)
            return NULL;
        __atomic_store_n(&octaves[octave], fresh - missing, __ATOMIC_RELEASE);
    }
    return (uint64_t *)(void *)(head->hot.base + octaves[octave]) + (value >> octave);
}

static uint32_t hp_tree_listed_stat(const struct hp_head *head, uint32_t site)
{
    uint32_t offset = head->record->stats;
    while (offset != 0 && hp_stat_at(head, offset)->site != site)
        offset = hp_stat_at(head, offset)->next;
    return offset;
}

static uint32_t hp_tree_stat_of(struct hp_head *head, uint32_t site)
{
    const struct hotpath_slot_ *slot = hp_tree_find_slot(&head->hot, HP_TREE_STAT_OF, site);
    if (slot->key != 0)
        return slot->node;
    uint32_t offset = head->index_is_complete ? 0 : hp_tree_listed_stat(head, site);
    if (offset == 0)
        offset = hp_tree_new_stat(head, site);
    if (offset != 0 && hp_stat_at(head, offset)->keeps != 0)
        hp_tree_need_blank_stat(head);
    if (offset != 0)
        hp_tree_add_slot(head, &(struct hotpath_slot_){.key = hp_tree_slot_key(HP_TREE_STAT_OF, site), .node = offset});
    return offset;
}

/* The next free node, or 0. The count in the chunk is raised by the caller, once the node is filled in. */
static uint32_t hp_tree_free_node(struct hp_head *head, struct hp_node_chunk **ret_chunk)
{
    struct hp_thread *record = head->record;
    struct hp_node_chunk *chunk = record->node_chunks ? hp_store_at(head->store, record->node_chunks) : NULL;
    if (chunk == NULL || chunk->used == chunk->capacity) {
        const uint32_t capacity = chunk == NULL ? HP_TREE_FIRST_NODES : HP_TREE_NODES_PER_CHUNK;
        const uint32_t size = (uint32_t)(sizeof *chunk + capacity * sizeof(struct hotpath_node_));
        const uint32_t offset = hp_thread_allocate(head, size, 64);
        if (offset == 0)
            return 0;
        chunk = hp_store_at(head->store, offset);
        chunk->capacity = capacity;
        chunk->next = record->node_chunks;
        __atomic_store_n(&record->node_chunks, offset, __ATOMIC_RELEASE);
    }
    *ret_chunk = chunk;
    return (uint32_t)((char *)&chunk->nodes[chunk->used] - head->store->base);
}

static uint32_t hp_tree_new_node(struct hp_head *head, uint32_t parent, uint32_t site, uint32_t stat)
{
    struct hp_node_chunk *chunk;
    const uint32_t offset = stat != 0 ? hp_tree_free_node(head, &chunk) : 0;
    if (offset == 0)
        return 0;
    struct hotpath_node_ *node = hp_store_at(head->store, offset);
    node->site = site;
    node->parent = parent;
    node->stat = stat;
    if (parent != 0) {
        node->next_sibling = hp_node_at(head, parent)->first_child;
        hp_node_at(head, parent)->first_child = offset;
    }
    __atomic_store_n(&chunk->used, chunk->used + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->node_count, head->record->node_count + 1, __ATOMIC_RELAXED);
    return offset;
}

/* The node of `site` among `parent` and its ancestors: there the recursion goes on. */
static uint32_t hp_tree_ancestor_of(const struct hp_head *head, uint32_t parent, uint32_t site)
{
    while (parent != 0 && hp_node_at(head, parent)->site != site)
        parent = hp_node_at(head, parent)->parent;
    return parent;
}

static uint32_t hp_tree_child_of(const struct hp_head *head, uint32_t parent, uint32_t site)
{
    uint32_t child = hp_node_at(head, parent)->first_child;
    while (child != 0 && hp_node_at(head, child)->site != site)
        child = hp_node_at(head, child)->next_sibling;
    return child;
}

/* A handler that interrupted the recorder runs on a thread that has a record of its own. */
static void hp_tree_count_thread(struct hp_head *head, struct hotpath_stat_ *stat)
{
    if (head->is_handler || stat->generation == head->generation)
        return;
    stat->generation = head->generation;
    HOTPATH_PUT_(stat->threads, stat->threads + 1);
}

/* --- recursion: see HOTPATH_RECURSIVE_ */

static bool hp_tree_is_below(const struct hp_head *head, uint32_t node, uint32_t ancestor)
{
    while (node != 0 && node != ancestor)
        node = hp_node_at(head, node)->parent;
    return node != 0;
}

static bool hp_tree_is_recursive(const struct hp_head *head, uint32_t node)
{
    for (; node != 0; node = hp_node_at(head, node)->parent)
        if (hp_node_at(head, node)->is_folded == HP_TREE_FOLDED)
            return true;
    return false;
}

bool hp_tree_close_call(const struct hp_head *head, const struct hotpath_frame_ *frame)
{
    struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, frame->node)->stat);
    if (!(frame->stat & HOTPATH_RECURSIVE_))
        return false;
    HOTPATH_PUT_(stat->open, stat->open - 1);
    return stat->open != 0;
}

/* Where calls of a node are counted, with the flags that hold for it now. */
static uint32_t hp_tree_slot_stat(const struct hp_head *head, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(head, offset);
    const struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    const uint32_t blank = stat->keeps != 0 ? head->record->blank_stat : 0;
    return (blank != 0 ? blank | HOTPATH_KEPT_ : node->stat) |
           (hp_tree_is_recursive(head, offset) ? HOTPATH_RECURSIVE_ : 0);
}

/* The longest call, by the clock, of whose time measuring is more than the bound. */
static uint64_t hp_tree_longest_short_call(void)
{
    const struct hp_zone_cost *cost = &hotpath_runtime_->zone_cost;
    const uint64_t bound = hotpath_runtime_->settings.measuring_bound;
    return bound == 0 ? 0 : cost->inner_ticks + cost->ticks * (100 - bound) / bound;
}

/* The same site may be called for more elsewhere. With room for some calls during which the thread lost its CPU. */
#define HP_TREE_FAR_LONGER 16u
static bool hp_tree_is_short_path(const struct hotpath_node_ *node)
{
    const uint64_t timed = node->calls - node->untimed;
    return timed == 0 || node->total / timed <= HP_TREE_FAR_LONGER * hp_tree_longest_short_call();
}

/*
 * Not where calls are kept: those are timed, and the stat beside such a key has to be the site's own. Nor on a path where
 * calls are longer than on the one for which the site was limited.
 */
static uint64_t hp_tree_sampled_key(const struct hp_head *head, uint32_t offset)
{
    const struct hotpath_node_ *node = hp_node_at(head, offset);
    const struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    const bool is_sampled = stat->period > 1 && stat->keeps == 0 && (stat->typical == 0 || hp_tree_is_short_path(node));
    return is_sampled ? HOTPATH_SAMPLED_KEY_ : 0;
}

/* The first call that folds onto `node`: from now on open calls are counted of it and everything below it. */
static void hp_tree_begin_recursion(struct hp_head *head, uint32_t node)
{
    struct hotpath_slot_ *slots = head->hot.slots;
    if (hp_tree_is_recursive(head, node))
        return;
    HOTPATH_PUT_(hp_node_at(head, node)->is_folded, HP_TREE_FOLDED);
    for (struct hotpath_slot_ *slot = slots; slot < slots + hp_tree_slot_total(&head->hot); slot++)
        if (slot->key != 0 && slot->stat != 0 && hp_tree_is_below(head, slot->node, node))
            slot->stat |= HOTPATH_RECURSIVE_;
    for (struct hotpath_frame_ *frame = hp_frame_zero(head) + 1; frame <= head->hot.top; frame++)
        if (!(frame->stat & HOTPATH_RECURSIVE_) && hp_tree_is_below(head, frame->node, node)) {
            struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, frame->node)->stat);
            HOTPATH_PUT_(stat->open, stat->open + 1);
            HOTPATH_PUT_(frame->stat, frame->stat | HOTPATH_RECURSIVE_);
        }
}

/*
 * A path that has no room in the tree: its site directly below <other>, or if even that fails <other> itself. What is
 * there has lost its callers, so it may be open elsewhere, and from then on everything counts its open calls.
 */
static uint32_t hp_tree_node_under_other(struct hp_head *head, uint32_t site, uint32_t stat)
{
    const uint32_t other = head->record->other;
    uint32_t node = hp_tree_child_of(head, other, site);
    hp_lose(head, HP_LOSS_NODES);
    hp_tree_begin_recursion(head, head->record->root);
    if (node == 0)
        node = hp_tree_new_node(head, other, site, stat);
    return node != 0 ? node : other;
}

/* The node where `site` leads from `parent`; made if it is not there. In the worst case it is <other>. */
static uint32_t hp_tree_find_node(struct hp_head *head, uint32_t parent, uint32_t site)
{
    const uint32_t stat = hp_tree_stat_of(head, site);
    if (stat != 0)
        hp_tree_count_thread(head, hp_stat_at(head, stat));
    uint32_t node = hp_tree_ancestor_of(head, parent, site);
    if (node != 0) {
        hp_tree_begin_recursion(head, node);
        return node;
    }
    if (!head->index_is_complete)
        node = hp_tree_child_of(head, parent, site);
    if (node == 0 && head->record->node_count < HP_MAX_NODES)
        node = hp_tree_new_node(head, parent, site, stat);
    return node != 0 ? node : hp_tree_node_under_other(head, site, stat);
}

const struct hotpath_slot_ *hp_tree_slot(struct hp_head *head, uint32_t parent, uint32_t site,
                                         struct hotpath_slot_ *spare)
{
    const struct hotpath_slot_ *slot = hp_tree_find_slot(&head->hot, parent, site);
    if (slot->key != 0)
        return slot;
    spare->node = hp_tree_find_node(head, parent, site);
    spare->stat = hp_tree_slot_stat(head, spare->node);
    spare->key = hp_tree_slot_key(parent, site) | hp_tree_sampled_key(head, spare->node);
    hp_tree_add_slot(head, spare);
    /* The first call on a path is timed. */
    HOTPATH_PUT_(hp_stat_at(head, hp_node_at(head, spare->node)->stat)->countdown, 1);
    return spare;
}

void hp_tree_refresh(struct hp_head *head, uint32_t parent, uint32_t node)
{
    struct hotpath_slot_ *slot = hp_tree_find_slot(&head->hot, parent, hp_node_at(head, node)->site);
    if (slot->key == 0)
        return;
    slot->stat = hp_tree_slot_stat(head, slot->node);
    slot->key = hp_tree_plain_key(slot) | hp_tree_sampled_key(head, slot->node);
}

/* One call in so many, so that the report has something to go by. */
#define HP_TREE_LIMITED_PERIOD 256u

/* The durations of a site in this thread: how many there are, how many are short, and what these took together. */
struct hp_tree_durations {
    uint64_t count, short_count, short_ticks;
};

static struct hp_tree_durations hp_tree_look_at_durations(const struct hp_head *head, const struct hotpath_stat_ *stat)
{
    const uint64_t most = hp_tree_longest_short_call();
    struct hp_tree_durations all = {0};
    for (uint32_t octave = 0; octave < HOTPATH_OCTAVES_; octave++) {
        if (stat->octaves[octave] == 0)
            continue;
        const uint64_t *counters = (const uint64_t *)(const void *)(head->hot.base + stat->octaves[octave]);
        for (uint64_t at = octave == 0 ? 0 : 64; at < 128; at++) {
            all.count += counters[at];
            if (at << octave > most)
                continue;
            all.short_count += counters[at];
            all.short_ticks += counters[at] * (at << octave);
        }
    }
    return all;
}

/*
 * Seven calls in eight have to be short: an average would be spoilt by a few during which the thread lost its CPU. What the
 * calls take that are not timed from then on is what the short ones took: `typical`.
 */
void hp_tree_limit(struct hp_head *head, uint32_t parent, uint32_t node)
{
    const struct hotpath_node_ *counted = hp_node_at(head, node);
    struct hotpath_stat_ *stat = hp_stat_at(head, counted->stat);
    const struct hp_settings *settings = &hotpath_runtime_->settings;
    if (settings->measuring_bound == 0 || settings->time_period > 1 || stat->keeps != 0 || !hp_tree_is_short_path(counted))
        return;
    if (stat->period <= 1) {
        const struct hp_tree_durations all = hp_tree_look_at_durations(head, stat);
        if (all.short_count == 0 || all.short_count < all.count - all.count / 8)
            return;
        HOTPATH_PUT_(stat->typical, (uint32_t)(all.short_ticks * 256 / all.short_count) + 1);
        HOTPATH_PUT_(stat->period, HP_TREE_LIMITED_PERIOD);
        HOTPATH_PUT_(stat->countdown, HP_TREE_LIMITED_PERIOD);
    }
    hp_tree_refresh(head, parent, node);
}

/* One long call may be bad luck, so the next one is timed, too; three in a row are not. */
#define HP_TREE_LONG_CALLS 3u
#define HP_TREE_LONG_ZONES 8u

void hp_tree_review(struct hp_head *head, uint32_t node, uint64_t ticks)
{
    struct hotpath_stat_ *stat = hp_stat_at(head, hp_node_at(head, node)->stat);
    if (stat->typical == 0 || stat->period <= 1)
        return;
    stat->long_calls = ticks > HP_TREE_LONG_ZONES * hotpath_runtime_->zone_cost.ticks ? stat->long_calls + 1 : 0;
    if (stat->long_calls > 0)
        HOTPATH_PUT_(stat->countdown, 1);
    if (stat->long_calls >= HP_TREE_LONG_CALLS)
        HOTPATH_PUT_(stat->period, 1);
}

/* ------------------------------------------------------------------------------------------- beginning */

bool hp_tree_begin(struct hp_head *head)
{
    struct hp_thread *record = head->record;
    if (!hp_tree_empty_slots(head))
        return false;
    head->index_is_complete = true;
    record->root = hp_tree_new_node(head, 0, HP_SITE_ROOT, hp_tree_new_stat(head, HP_SITE_ROOT));
    record->other = record->root ? hp_tree_new_node(head, record->root, HP_SITE_OTHER, hp_tree_new_stat(head, HP_SITE_OTHER)) : 0;
    return record->other != 0;
}

bool hp_tree_resume(struct hp_head *head)
{
    head->index_is_complete = false;
    return hp_tree_empty_slots(head);
}

/* ---- src/record/zones.c -------------------------------------------------------------------------------------- */

/*
 * Zones out of line: everything hotpath_enter_ and hotpath_leave_ (hotpath.h) leave out. A thread comes here with its
 * first zone, the first time a path of calls is taken, when a duration needs a new octave, when the stack of zones grows,
 * when something odd happened to the host's stack, with calls of which more is kept than numbers, and from signal handlers
 * that interrupted the inline part.
 *
 * The life of a zone:  enter: find the node of (innermost open node, site), push a frame, read the clock
 *                      leave: read the clock, add to the node, the site's stat and the parent's frame, pop
 */

/* ------------------------------------------------------------------------------------- the stack of zones */

static void hp_zones_use_frames(struct hp_head *head, uint32_t offset, uint32_t capacity, uint32_t depth)
{
    struct hotpath_frame_ *frames = hp_store_at(head->store, offset);
    head->hot.top = frames + depth;
    head->hot.last = frames + capacity - 1;
    __atomic_store_n(&head->record->frames, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&head->record->frame_capacity, capacity, __ATOMIC_RELAXED);
}

static bool hp_zones_grow_frames(struct hp_head *head)
{
    const uint32_t capacity = head->record->frame_capacity;
    const uint32_t size = (uint32_t)sizeof(struct hotpath_frame_);
    if (capacity >= HP_MAX_FRAMES)
        return false;
    const uint32_t offset = hp_thread_allocate(head, capacity * 2 * size, 64);
    if (offset == 0 || !hp_alloc_grow(head, capacity * 2))
        return false;
    memcpy(hp_store_at(head->store, offset), hp_frame_zero(head), (size_t)capacity * size);
    hp_zones_use_frames(head, offset, capacity * 2, (uint32_t)(head->hot.top - hp_frame_zero(head)));
    return true;
}

/* The frame of a guard among the `reach` innermost, or NULL. Frame 0 is the thread's own and has no guard. */
static struct hotpath_frame_ *hp_zones_find_frame(const struct hp_head *head, const struct hotpath_zone *zone, size_t reach)
{
    struct hotpath_frame_ *frame = head->hot.top;
    for (; frame > hp_frame_zero(head) && reach > 0; frame--, reach--)
        if (frame->zone == (uintptr_t)zone)
            return frame;
    return NULL;
}

static void hp_zones_pop(struct hp_head *head, struct hotpath_frame_ *frame) { head->hot.top = frame - 1; }

/* A call that is longer, or shorter, than all before it. */
static void hp_zones_reconsider(struct hp_head *head, const struct hotpath_frame_ *frame, uint64_t ticks, bool is_nested)
{
    hp_tree_review(head, frame->node, ticks);
    if (!is_nested)
        hp_kept_reconsider(head, frame);
}

static void hp_zones_close_untimed(struct hp_head *head, struct hotpath_frame_ *frame, const struct hotpath_stat_ *stat)
{
    const bool is_nested = (frame->stat & HOTPATH_RECURSIVE_) && stat->open > 1;
    const uint32_t flags = frame->stat;
    hotpath_count_untimed_(&head->hot, frame);
    if (flags & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
}

static void hp_zones_close_top(struct hp_head *head, uint64_t now)
{
    struct hotpath_frame_ *frame = head->hot.top;
    struct hotpath_node_ *node = hp_node_at(head, frame->node);
    struct hotpath_stat_ *stat = hp_stat_at(head, node->stat);
    if (frame->stat & (HOTPATH_UNTIMED_ | HOTPATH_COUNTED_)) {
        hp_zones_close_untimed(head, frame, stat);
        return;
    }
    uint64_t ticks = now - frame->start;
    if ((int64_t)ticks < 0) {
        hp_lose(head, HP_LOSS_CLOCK);
        ticks = 0;
    }
    const bool is_longer = stat->octaves[hotpath_octave_(ticks)] == 0;
    uint64_t *counter = hp_tree_counter(head, stat->octaves, ticks);
    HOTPATH_PUT_(frame->zone, 0);
    HOTPATH_ORDER_();
    if (counter != NULL) {
        HOTPATH_ADD_(*counter, 1);
    } else {
        HOTPATH_ADD_(stat->missed, 1);
        hp_lose(head, HP_LOSS_BUCKETS);
    }
    HOTPATH_ADD_(node->calls, 1);
    HOTPATH_ADD_(node->total, ticks);
    const bool is_nested = hp_tree_close_call(head, frame);
    if (is_nested)
        HOTPATH_ADD_(node->nested, ticks);
    HOTPATH_ADD_(node->self, ticks - frame->child);
    HOTPATH_ADD_(frame[-1].child, ticks);
    if (ticks < stat->min)
        HOTPATH_PUT_(stat->min, ticks);
    if (ticks > stat->max)
        HOTPATH_PUT_(stat->max, ticks);
    if (frame->stat & HOTPATH_ALLOCATES_)
        hp_alloc_close(head, frame, is_nested);
    if (frame->stat & HOTPATH_KEPT_)
        hp_kept_call(head, frame, ticks, is_nested);
    else if (is_longer)
        hp_zones_reconsider(head, frame, ticks, is_nested);
    HOTPATH_PUT_(frame->child, now);
    hp_zones_pop(head, frame);
}

/*
 * A zone whose end nobody announced. It ran at least until its last sign: when it began, or when the last zone inside it
 * ended, which stands in the frame above. So much is counted; what it did after that is the parent's.
 */
static void hp_zones_abandon_top(struct hp_head *head)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    uint64_t last_sign = frame->start;
    if (frame != head->hot.last && frame[1].zone == 0 && (int64_t)(frame[1].child - last_sign) > 0)
        last_sign = frame[1].child;
    hp_zones_close_top(head, last_sign);
    hp_lose(head, HP_LOSS_ABANDONED);
}

/*
 * Two live guards cannot have one address: if this one is on the stack already, all from there up are dead. What
 * longjmp has just left is near the top; further down there may be thousands of suspended coroutines, and to look
 * through them all with every zone would cost more than a guard that is noticed later, when a zone around it ends.
 */
#define HP_ZONES_STALE_REACH 64u

static void hp_zones_drop_stale(struct hp_head *head, const struct hotpath_zone *zone)
{
    const struct hotpath_frame_ *stale = hp_zones_find_frame(head, zone, HP_ZONES_STALE_REACH);
    while (stale != NULL && head->hot.top >= stale)
        hp_zones_abandon_top(head);
}

void hp_zones_close_all(struct hp_head *head, uint64_t now)
{
    head->hot.ready = 0;
    HOTPATH_ORDER_();
    while (head->hot.top > hp_frame_zero(head))
        hp_zones_close_top(head, now);
}

/* -------------------------------------------------------------------------------- beginning and resuming */

static void hp_zones_set_frame_zero(struct hp_head *head)
{
    struct hotpath_frame_ *zero = hp_frame_zero(head);
    zero->zone = UINT64_MAX; /* every guard is below it */
    zero->start = hp_now();
    zero->child = 0;
    zero->node = head->record->root;
    head->hot.top = zero;
    head->skip_runs = 0;
}

bool hp_zones_begin(struct hp_head *head)
{
    head->hot.base = head->store->base;
    const uint32_t frames = hp_thread_allocate(head, HP_FIRST_FRAMES * (uint32_t)sizeof(struct hotpath_frame_), 64);
    if (frames == 0)
        return false;
    hp_zones_use_frames(head, frames, HP_FIRST_FRAMES, 0);
    hp_kept_begin(head);
    if (!hp_tree_begin(head))
        return false;
    hp_zones_set_frame_zero(head);
    return true;
}

bool hp_zones_resume(struct hp_head *head)
{
    if (!hp_tree_resume(head))
        return false;
    hp_zones_set_frame_zero(head);
    return true;
}

/* -------------------------------------------------------------------------------------- entering, leaving */

static bool hp_zones_is_on(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~HP_GATE_OUT_OF_LINE) == head->hot.epoch;
}

/* Zones that were open when recording was paused still end. */
static bool hp_zones_is_on_or_paused(const struct hp_head *head)
{
    return (HOTPATH_GATE_OF_(&head->hot) & ~(HP_GATE_OUT_OF_LINE | HP_GATE_PAUSED)) == head->hot.epoch;
}

static uintptr_t hp_zones_enter(struct hp_head *head, struct hotpath_zone *zone, uint32_t site)
{
    struct hotpath_head_ *hot = &head->hot;
    if ((uintptr_t)zone >= hot->top->zone)
        hp_zones_drop_stale(head, zone);
    if (hot->top == hot->last && !hp_zones_grow_frames(head)) {
        hp_lose(head, HP_LOSS_DEPTH);
        return HOTPATH_SKIPPED_;
    }
    struct hotpath_slot_ spare;
    const struct hotpath_slot_ *slot = hp_tree_slot(head, hot->top->node, site, &spare);
    struct hotpath_frame_ *frame = hot->top + 1;
    HOTPATH_PUT_(frame->start, hp_now());
    hotpath_push_(hot, frame, slot, zone);
    struct hotpath_node_ *node = hp_node_at(head, slot->node);
    const bool is_timed =
        !(slot->key & HOTPATH_SAMPLED_KEY_) || hotpath_is_timed_(hp_stat_at(head, node->stat), node, slot->stat);
    if (slot->stat & HOTPATH_RECURSIVE_)
        hotpath_open_call_(hot, frame);
    if (!is_timed) {
        HOTPATH_PUT_(frame->stat, slot->stat | HOTPATH_UNTIMED_);
        return (uintptr_t)hot | HOTPATH_BY_COUNT_;
    }
    HOTPATH_PUT_(frame->start, hp_now());
    return (uintptr_t)hot;
}

/* The first head of this thread that nobody is working on: we may be in a handler that interrupted its owner. */
static struct hp_head *hp_zones_head_at_rest(struct hp_head *thread)
{
    struct hp_head *head = thread;
    for (int depth = 0; HOTPATH_GET_(head->hot.ready) == 0; depth++) {
        head = depth < HP_HANDLER_DEPTH ? hp_thread_handler_head(head) : NULL;
        if (head == NULL) {
            hp_lose(thread, HP_LOSS_ZONES);
            return NULL;
        }
    }
    return head;
}

static uintptr_t hp_zones_enter_out_of_line(struct hotpath_zone *zone, struct hotpath_site *site)
{
    struct hp_head *head = hp_page() ? hp_thread_head() : NULL;
    if (head == NULL || !hp_zones_is_on(head))
        return HOTPATH_SKIPPED_;
    const uint32_t id = hp_site_id(site);
    if (id >= HOTPATH_READY_)
        return HOTPATH_SKIPPED_;
    head = hp_zones_head_at_rest(head);
    if (head == NULL)
        return HOTPATH_SKIPPED_;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    uintptr_t state = HOTPATH_SKIPPED_;
    if (hp_zones_is_on(head))
        state = hp_zones_enter(head, zone, id);
    hp_let_go(&head->hot);
    return state;
}

uintptr_t hotpath_v1_enter(struct hotpath_zone *zone, struct hotpath_site *site)
{
    const int saved = errno;
    const uintptr_t state = hp_zones_enter_out_of_line(zone, site);
    errno = saved;
    return state;
}

/*
 * Closes the zone if it is on this head's stack. A head that is being worked on is not ours to touch, with one
 * exception: a guard that is on its stack belongs to the code the handler interrupted, so whoever closes it is past the
 * handler, which must have been left by siglongjmp. Then nobody is working on the head any more.
 */
static bool hp_zones_leave(struct hp_head *head, const struct hotpath_zone *zone, uint64_t now)
{
    const uint32_t before = HOTPATH_GET_(head->hot.ready);
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    /* Asked again, now that the head is held: the session may have ended, and its frames with it. */
    const struct hotpath_frame_ *frame = hp_zones_is_on_or_paused(head) ? hp_zones_find_frame(head, zone, SIZE_MAX) : NULL;
    if (frame != NULL) {
        while (head->hot.top > frame)
            hp_zones_abandon_top(head);
        hp_zones_close_top(head, now);
    }
    HOTPATH_ORDER_();
    HOTPATH_PUT_(head->hot.ready, frame != NULL ? HOTPATH_READY_ : before);
    return frame != NULL;
}

static void hp_zones_leave_out_of_line(const struct hotpath_zone *zone, uint64_t now)
{
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    /* A guard of another session, of the parent before fork, or never initialised: nothing to close here. */
    if (&head->hot == &hotpath_idle_head_ || head->thread_id == 0 || head->hot.epoch != hp_epoch() ||
        HOTPATH_GATE_OF_(&head->hot) == 0)
        return;
    for (struct hp_head *at = head; at != NULL; at = at->handler)
        if (at->record != NULL && at->hot.epoch == hp_epoch() && hp_zones_leave(at, zone, now))
            return;
    if (hp_thread_has_head(zone->state & ~(uintptr_t)HOTPATH_BY_COUNT_))
        hp_lose(head, HP_LOSS_FOREIGN);
}

/* --- calls that hooks could not record: see struct hp_skip_run */

/* Forgets those that longjmp has left. */
static uint32_t hp_zones_settled_depth(struct hp_head *head)
{
    const uint32_t depth = (uint32_t)(head->hot.top - hp_frame_zero(head));
    while (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth > depth)
        head->skip_runs--;
    return depth;
}

void hp_zone_skip(void)
{
    struct hp_head *head = hp_thread_hold();
    if (head == NULL)
        return;
    const uint32_t depth = hp_zones_settled_depth(head);
    if (head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth == depth)
        head->skips[head->skip_runs - 1].count++;
    else if (head->skip_runs < HP_SKIP_RUNS)
        head->skips[head->skip_runs++] = (struct hp_skip_run){depth, 1};
    hp_let_go(&head->hot);
}

bool hp_zone_was_skipped(void)
{
    struct hp_head *head = hp_thread_hold();
    if (head == NULL)
        return false;
    const uint32_t depth = hp_zones_settled_depth(head);
    const bool was_skipped = head->skip_runs > 0 && head->skips[head->skip_runs - 1].depth == depth;
    if (was_skipped && --head->skips[head->skip_runs - 1].count == 0)
        head->skip_runs--;
    hp_let_go(&head->hot);
    return was_skipped;
}

/* A call that found no place at all is counted at <other>, which is nobody's. */
static const struct hotpath_frame_ *hp_zones_find_frame_of(const struct hp_head *head, uint32_t site)
{
    const struct hotpath_frame_ *frame = head->hot.top;
    while (frame > hp_frame_zero(head) && hp_node_at(head, frame->node)->site != site &&
           frame->node != head->record->other)
        frame--;
    return frame > hp_frame_zero(head) ? frame : NULL;
}

static bool hp_zones_leave_site(struct hp_head *head, uint32_t site, uint64_t now)
{
    if (HOTPATH_GET_(head->hot.ready) == 0)
        return false;
    HOTPATH_PUT_(head->hot.ready, 0);
    HOTPATH_ORDER_();
    const struct hotpath_frame_ *frame = hp_zones_is_on_or_paused(head) ? hp_zones_find_frame_of(head, site) : NULL;
    if (frame != NULL) {
        while (head->hot.top > frame)
            hp_zones_abandon_top(head);
        hp_zones_close_top(head, now);
    }
    hp_let_go(&head->hot);
    return frame != NULL;
}

void hp_zone_leave_site(uint32_t site, uint64_t now)
{
    const int saved = errno;
    struct hp_head *head = (struct hp_head *)(void *)hotpath_v1_head;
    if (&head->hot != &hotpath_idle_head_ && head->thread_id != 0)
        for (struct hp_head *at = head; at != NULL; at = at->handler)
            if (at->record != NULL && at->hot.epoch == hp_epoch() && hp_zones_leave_site(at, site, now))
                break;
    errno = saved;
}

void hotpath_v1_leave(struct hotpath_zone *zone, uint64_t now)
{
    const int saved = errno;
    if (hotpath_runtime_->counter == HP_COUNTER_NONE)
        now = hp_now();
    hp_zones_leave_out_of_line(zone, now);
    errno = saved;
}

#if defined HOTPATH_ALLOC || defined HOTPATH_ALLOC_WRAP

/* ---- src/alloc/find.h ---------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/* Finding the allocator behind us, for the table of next.h. */

/* If that has not been done. False: this thread is just doing so. */
HP_PRIVATE bool hp_find_next(void);

/* A function of this name behind us; NULL: there is none. */
HP_PRIVATE void *hp_find_symbol(const char *name);

/* Whether that function is in the same image as malloc behind us, and that is not another copy of ours. */
HP_PRIVATE bool hp_find_is_of_allocator(const void *function);
#endif

/* ---- src/alloc/next.h ---------------------------------------------------------------------------------------- */

/*
 * The allocator behind us: the C library's, or whichever comes next in the process. Every pointer can be called at any
 * time, by any thread: where nothing is known yet, it leads to a function that finds out. So the usual way has no question in it.
 */

typedef size_t hp_next_usable_size(void *block);

struct hp_next {
    /* One cache line: what nearly all calls need. */
    void *(*malloc)(size_t size);
    void (*free)(void *block);
    hp_next_usable_size *usable_size;
    void (*allocated)(const void *block, size_t asked, size_t usable, uintptr_t stack);
    void (*freed)(const void *block, size_t usable, uintptr_t stack);
    uintptr_t has_heads; /* sizes are where glibc has them: see heads.h */
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    /* The rest. */
    void (*reallocated)(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                        uintptr_t stack);
    void (*failed)(void);
    int (*posix_memalign)(void **ret_block, size_t alignment, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void *(*memalign)(size_t alignment, size_t size);
    void *(*valloc)(size_t size);
    void *(*pvalloc)(size_t size);
    uint32_t
        strangers; /* HP_NEXT_... bits of those below: functions of another allocator than the one that has malloc */
} __attribute__((aligned(64)));

#define HP_NEXT_POSIX_MEMALIGN 1u
#define HP_NEXT_ALIGNED_ALLOC 2u
#define HP_NEXT_MEMALIGN 4u
#define HP_NEXT_VALLOC 8u
#define HP_NEXT_PVALLOC 16u

HP_SHARED struct hp_next hotpath_next_ __attribute__((visibility("hidden")));

/* A function of the table. Others may be writing it, always the same value. */
#define HP_NEXT(function) __atomic_load_n(&hotpath_next_.function, __ATOMIC_RELAXED)

/*
 * Set while an allocator works for one of our functions, to that function's place on the stack: what it calls of the family
 * meanwhile is its own affair, and lies below. UINTPTR_MAX: we are at work ourselves. A place, and not a mark, since
 * longjmp or an exception may leave the function.
 */
HP_SHARED __thread uintptr_t hotpath_inside_ __attribute__((tls_model("initial-exec"), visibility("hidden")));

#define HP_INSIDE_OURSELVES UINTPTR_MAX

/* ---- src/alloc/cxx.c ----------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/*
 * new and delete of C++. Those of the C++ library call malloc and free, and come to us that way. But jemalloc, tcmalloc
 * and mimalloc have their own, which do not, or only one of the two does. So these are overridden, too: calls are passed on, and told
 * where they would not be otherwise, which is where the function is in the same image as malloc.
 *
 * Nothing here is C++: the functions are known by the names that the compiler gives them. An exception passes
 * through, so nothing may be left behind that would have to be undone. They are weak: a program may have its own.
 */

#if __SIZEOF_SIZE_T__ == 8
#define HP_CXX_SIZE_NAME "m"
#else
#define HP_CXX_SIZE_NAME "j"
#endif

/* Arguments beyond the first differ; what a function does not have, it does not look at. */
typedef void *hp_cxx_new_function(size_t size, uintptr_t second, uintptr_t third);
typedef void hp_cxx_delete_function(void *block, uintptr_t second, uintptr_t third);

/* One of the functions behind us. */
struct hp_cxx_behind {
    const char *name;
    void *function; /* NULL: not looked for yet */
    bool is_told;   /* by us, since it does not call malloc or free */
};

/* ----------------------------------------------------------------------------------------- where there is none */

/* No library of C++ can be found that would know how to throw an exception. */
static void *hp_cxx_plain_new(size_t size, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    void *block = malloc(size != 0 ? size : 1);
    if (block == NULL)
        abort();
    return block;
}

static void *hp_cxx_plain_new_nothrow(size_t size, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    return malloc(size != 0 ? size : 1);
}

static void *hp_cxx_plain_new_aligned_nothrow(size_t size, uintptr_t alignment, uintptr_t third)
{
    (void)third;
    void *block = NULL;
    return posix_memalign(&block, alignment < sizeof block ? sizeof block : alignment, size) == 0 ? block : NULL;
}

static void *hp_cxx_plain_new_aligned(size_t size, uintptr_t alignment, uintptr_t third)
{
    void *block = hp_cxx_plain_new_aligned_nothrow(size, alignment, third);
    if (block == NULL)
        abort();
    return block;
}

static void hp_cxx_plain_delete(void *block, uintptr_t second, uintptr_t third)
{
    (void)second, (void)third;
    free(block);
}

/* ---------------------------------------------------------------------------------------------------- finding it */

/* The library of C++ may be there for a plugin alone, where the usual search does not come. */
static void *hp_cxx_look_among_hidden(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    void *function = NULL;
    for (size_t at = 0; at < sizeof libraries / sizeof libraries[0] && function == NULL; at++) {
        void *library = dlopen(libraries[at], RTLD_LAZY | RTLD_NOLOAD); /* stays: it must not be unloaded now */
        if (library != NULL)
            function = dlsym(library, name);
    }
    return function;
}

/* To a function and back. By way of a number: ISO C knows no other between data and functions. */
#define HP_CXX_FUNCTION(type, address) ((type *)(uintptr_t)(address))
#define HP_CXX_ADDRESS(function) ((void *)(uintptr_t)(function))

static __attribute__((noinline)) void *hp_cxx_find(struct hp_cxx_behind *behind, void *otherwise)
{
    const uintptr_t around = hotpath_inside_;
    hotpath_inside_ = HP_INSIDE_OURSELVES;
    void *function = hp_find_symbol(behind->name);
    const bool is_told = function != NULL && hp_find_is_of_allocator(function);
    if (function == NULL)
        function = hp_cxx_look_among_hidden(behind->name);
    if (function == NULL)
        function = otherwise;
    hotpath_inside_ = around;
    __atomic_store_n(&behind->is_told, is_told, __ATOMIC_RELAXED);
    __atomic_store_n(&behind->function, function, __ATOMIC_RELEASE);
    return function;
}

static inline void *hp_cxx_found(struct hp_cxx_behind *behind, void *otherwise)
{
    void *function = __atomic_load_n(&behind->function, __ATOMIC_ACQUIRE);
    return __builtin_expect(function != NULL, 1) ? function : hp_cxx_find(behind, otherwise);
}

/* ------------------------------------------------------------------------------------------------- new and delete */

static inline void *hp_cxx_call_new(struct hp_cxx_behind *behind, hp_cxx_new_function *otherwise, size_t size, uintptr_t second,
                             uintptr_t third, uintptr_t stack)
{
    void *block = HP_CXX_FUNCTION(hp_cxx_new_function, hp_cxx_found(behind, HP_CXX_ADDRESS(otherwise)))(size, second, third);
    if (!__atomic_load_n(&behind->is_told, __ATOMIC_RELAXED) || stack < hotpath_inside_)
        return block;
    if (block != NULL)
        HP_NEXT(allocated)(block, size, HP_NEXT(usable_size)(block), stack);
    else
        HP_NEXT(failed)();
    return block;
}

static inline void hp_cxx_call_delete(struct hp_cxx_behind *behind, void *block, uintptr_t second, uintptr_t third,
                               uintptr_t stack)
{
    hp_cxx_delete_function *function = HP_CXX_FUNCTION(hp_cxx_delete_function, hp_cxx_found(behind, HP_CXX_ADDRESS(hp_cxx_plain_delete)));
    if (block == NULL || !__atomic_load_n(&behind->is_told, __ATOMIC_RELAXED) || stack < hotpath_inside_) {
        function(block, second, third);
        return;
    }
    const uintptr_t around = hotpath_inside_;
    HP_NEXT(freed)(block, HP_NEXT(usable_size)(block), stack);
    hotpath_inside_ = stack; /* some call free; none throws */
    function(block, second, third);
    hotpath_inside_ = around;
}

#define HP_CXX_WEAK __attribute__((visibility("default"), weak, noinline))

/* `symbol` is the name that the compiler gives it, `name` ours. */
#define HP_CXX_NEW(name, symbol, otherwise)                                                                               \
    HP_CXX_WEAK void *hotpath_v1_##name(size_t size, uintptr_t second, uintptr_t third) __asm__(symbol);                  \
    void *hotpath_v1_##name(size_t size, uintptr_t second, uintptr_t third)                                        \
    {                                                                                                              \
        static struct hp_cxx_behind behind = {symbol, NULL, false};                                                       \
        return hp_cxx_call_new(&behind, otherwise, size, second, third, HP_STACK_PLACE());                                \
    }                                                                                                              \
    _Static_assert(1, "ends with a semicolon")

#define HP_CXX_DELETE(name, symbol)                                                                                       \
    HP_CXX_WEAK void hotpath_v1_##name(void *block, uintptr_t second, uintptr_t third) __asm__(symbol);                   \
    void hotpath_v1_##name(void *block, uintptr_t second, uintptr_t third)                                         \
    {                                                                                                              \
        static struct hp_cxx_behind behind = {symbol, NULL, false};                                                       \
        hp_cxx_call_delete(&behind, block, second, third, HP_STACK_PLACE());                                              \
    }                                                                                                              \
    _Static_assert(1, "ends with a semicolon")

#define HP_CXX_NOTHROW "RKSt9nothrow_t"
#define HP_CXX_ALIGNED "St11align_val_t"

HP_CXX_NEW(new_one, "_Znw" HP_CXX_SIZE_NAME, hp_cxx_plain_new);
HP_CXX_NEW(new_array, "_Zna" HP_CXX_SIZE_NAME, hp_cxx_plain_new);
HP_CXX_NEW(new_one_nothrow, "_Znw" HP_CXX_SIZE_NAME HP_CXX_NOTHROW, hp_cxx_plain_new_nothrow);
HP_CXX_NEW(new_array_nothrow, "_Zna" HP_CXX_SIZE_NAME HP_CXX_NOTHROW, hp_cxx_plain_new_nothrow);
HP_CXX_NEW(new_one_aligned, "_Znw" HP_CXX_SIZE_NAME HP_CXX_ALIGNED, hp_cxx_plain_new_aligned);
HP_CXX_NEW(new_array_aligned, "_Zna" HP_CXX_SIZE_NAME HP_CXX_ALIGNED, hp_cxx_plain_new_aligned);
HP_CXX_NEW(new_one_aligned_nothrow, "_Znw" HP_CXX_SIZE_NAME HP_CXX_ALIGNED HP_CXX_NOTHROW, hp_cxx_plain_new_aligned_nothrow);
HP_CXX_NEW(new_array_aligned_nothrow, "_Zna" HP_CXX_SIZE_NAME HP_CXX_ALIGNED HP_CXX_NOTHROW, hp_cxx_plain_new_aligned_nothrow);

HP_CXX_DELETE(delete_one, "_ZdlPv");
HP_CXX_DELETE(delete_array, "_ZdaPv");
HP_CXX_DELETE(delete_one_sized, "_ZdlPv" HP_CXX_SIZE_NAME);
HP_CXX_DELETE(delete_array_sized, "_ZdaPv" HP_CXX_SIZE_NAME);
HP_CXX_DELETE(delete_one_nothrow, "_ZdlPv" HP_CXX_NOTHROW);
HP_CXX_DELETE(delete_array_nothrow, "_ZdaPv" HP_CXX_NOTHROW);
HP_CXX_DELETE(delete_one_aligned, "_ZdlPv" HP_CXX_ALIGNED);
HP_CXX_DELETE(delete_array_aligned, "_ZdaPv" HP_CXX_ALIGNED);
HP_CXX_DELETE(delete_one_sized_aligned, "_ZdlPv" HP_CXX_SIZE_NAME HP_CXX_ALIGNED);
HP_CXX_DELETE(delete_array_sized_aligned, "_ZdaPv" HP_CXX_SIZE_NAME HP_CXX_ALIGNED);
HP_CXX_DELETE(delete_one_aligned_nothrow, "_ZdlPv" HP_CXX_ALIGNED HP_CXX_NOTHROW);
HP_CXX_DELETE(delete_array_aligned_nothrow, "_ZdaPv" HP_CXX_ALIGNED HP_CXX_NOTHROW);
#endif

/* ---- src/alloc/early.h --------------------------------------------------------------------------------------- */

/*
 * Memory for those who allocate while we look for the allocator: a few blocks, given out once and never again.
 */

#define HP_EARLY_BYTES 16384u

HP_SHARED unsigned char hotpath_early_room_[HP_EARLY_BYTES] __attribute__((visibility("hidden")));

static inline bool hp_early_has(const void *block)
{
    return (uintptr_t)block - (uintptr_t)hotpath_early_room_ < HP_EARLY_BYTES;
}

/* Zeros; NULL and ENOMEM when there is no more. Alignment 0: as malloc does. */
HP_PRIVATE void *hp_early_allocate(size_t size, size_t alignment);

HP_PRIVATE size_t hp_early_size(const void *block);

/* ---- src/alloc/early.c --------------------------------------------------------------------------------------- */

/* In front of each block stands its size. */

#define HP_EARLY_USUAL_ALIGNMENT 16u

unsigned char hotpath_early_room_[HP_EARLY_BYTES] __attribute__((aligned(64)));
static size_t hp_early_used;

void *hp_early_allocate(size_t size, size_t alignment)
{
    if (alignment < HP_EARLY_USUAL_ALIGNMENT)
        alignment = HP_EARLY_USUAL_ALIGNMENT;
    if (size < HP_EARLY_BYTES && alignment < HP_EARLY_BYTES) {
        const size_t bytes =
            alignment + HP_EARLY_USUAL_ALIGNMENT + (size + HP_EARLY_USUAL_ALIGNMENT - 1) / HP_EARLY_USUAL_ALIGNMENT * HP_EARLY_USUAL_ALIGNMENT;
        const size_t begin = __atomic_fetch_add(&hp_early_used, bytes, __ATOMIC_RELAXED);
        if (begin < HP_EARLY_BYTES && bytes <= HP_EARLY_BYTES - begin) {
            const uintptr_t room = (uintptr_t)(hotpath_early_room_ + begin) + sizeof size;
            unsigned char *block = hotpath_early_room_ + begin + sizeof size + (alignment - room % alignment) % alignment;
            memcpy(block - sizeof size, &size, sizeof size);
            return block;
        }
    }
    errno = ENOMEM;
    return NULL;
}

size_t hp_early_size(const void *block)
{
    size_t size;
    memcpy(&size, (const unsigned char *)block - sizeof size, sizeof size);
    return size;
}

/* ---- src/alloc/heads.h --------------------------------------------------------------------------------------- */

/*
 * How large a block is, without asking. glibc keeps the size of a block in the word before it, and to ask malloc_usable_size
 * takes as long as all the rest of counting, since it looks at the block that follows as well. So the word is read here, once
 * it was found, on some blocks, that it says what malloc_usable_size does (find.c).
 */

/* The three lowest bits of the word are flags; blocks that were mapped one by one have a second word in front. */
#define HP_HEAD_FLAGS ((size_t)7)
#define HP_HEAD_IS_MAPPED ((size_t)2)

static inline __attribute__((always_inline)) size_t hp_head_size(const void *block)
{
    const size_t head = ((const size_t *)block)[-1];
    return (head & ~HP_HEAD_FLAGS) - (head & HP_HEAD_IS_MAPPED ? 2 : 1) * sizeof head;
}

static inline __attribute__((always_inline)) size_t hp_usable_size(void *block)
{
    return __builtin_expect(HP_NEXT(has_heads) != 0, 1) ? hp_head_size(block) : HP_NEXT(usable_size)(block);
}

/* ---- src/alloc/preload.h ------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/* What the environment of this process wants of us. */

/* Whether programs that this process starts are to have the library, too: as `hotpath run --preload-children` says. */
HP_PRIVATE bool hp_preload_is_for_children(void);

/* Whether HOTPATH asks for allocations to be recorded. */
HP_PRIVATE bool hp_preload_is_asked_for(void);

/* Takes libhotpath_alloc.so out of LD_PRELOAD, so that programs that this process starts do without. */
HP_PRIVATE void hp_preload_end_here(void);

/* Whether the program runs under valgrind, whose malloc takes the place of the C library's and looks like it. */
HP_PRIVATE bool hp_preload_has_valgrind(void);
#endif

/* ---- src/alloc/find.c ---------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/*
 * The first call of any function in the table looks up all of them. Threads that do so at the same time find the same and
 * do not wait for one another: one may hold a lock of the dynamic linker that the other needs.
 *
 * The dynamic linker may allocate while it looks (older glibc does, and every one for the text of an error). Such calls
 * come back to us on the same thread, and get memory of early.h.
 */

__thread uintptr_t hotpath_inside_ __attribute__((tls_model("initial-exec")));

/* --------------------------------------------------------------------------------- what a missing function does */

static size_t hp_find_unknown_size(void *block)
{
    (void)block;
    return 0;
}

static void *hp_find_no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static int hp_find_no_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    (void)ret_block, (void)alignment, (void)size;
    return ENOMEM;
}

static void *hp_find_no_aligned(size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    return hp_find_no_memory();
}

static void *hp_find_no_sized(size_t size)
{
    (void)size;
    return hp_find_no_memory();
}

/* ------------------------------------------------------------------------------------ before anything is known */

static void *hp_find_first_malloc(size_t size)
{
    return hp_find_next() ? HP_NEXT(malloc)(size) : hp_early_allocate(size, 0);
}

static void hp_find_first_free(void *block)
{
    if (hp_find_next())
        HP_NEXT(free)(block);
}

static size_t hp_find_first_usable_size(void *block) { return hp_find_next() ? HP_NEXT(usable_size)(block) : 0; }

static void *hp_find_first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (hp_find_next())
        return HP_NEXT(calloc)(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? hp_find_no_memory() : hp_early_allocate(bytes, 0);
}

/* Blocks of early.h do not come here; there is nobody else's yet. */
static void *hp_find_first_realloc(void *block, size_t size)
{
    if (hp_find_next())
        return HP_NEXT(realloc)(block, size);
    return block == NULL ? hp_early_allocate(size, 0) : hp_find_no_memory();
}

static int hp_find_first_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    if (hp_find_next())
        return HP_NEXT(posix_memalign)(ret_block, alignment, size);
    *ret_block = hp_early_allocate(size, alignment);
    return *ret_block != NULL ? 0 : ENOMEM;
}

static void *hp_find_first_aligned_alloc(size_t alignment, size_t size)
{
    return hp_find_next() ? HP_NEXT(aligned_alloc)(alignment, size) : hp_early_allocate(size, alignment);
}

static void *hp_find_first_memalign(size_t alignment, size_t size)
{
    return hp_find_next() ? HP_NEXT(memalign)(alignment, size) : hp_early_allocate(size, alignment);
}

static void *hp_find_first_valloc(size_t size) { return hp_find_next() ? HP_NEXT(valloc)(size) : hp_find_no_memory(); }
static void *hp_find_first_pvalloc(size_t size) { return hp_find_next() ? HP_NEXT(pvalloc)(size) : hp_find_no_memory(); }

struct hp_next hotpath_next_ = {.malloc = hp_find_first_malloc,
                          .free = hp_find_first_free,
                          .usable_size = hp_find_first_usable_size,
                          .allocated = hotpath_v1_allocated,
                          .freed = hotpath_v1_freed,
                          .calloc = hp_find_first_calloc,
                          .realloc = hp_find_first_realloc,
                          .reallocated = hotpath_v1_reallocated,
                          .failed = hotpath_v1_alloc_failed,
                          .posix_memalign = hp_find_first_posix_memalign,
                          .aligned_alloc = hp_find_first_aligned_alloc,
                          .memalign = hp_find_first_memalign,
                          .valloc = hp_find_first_valloc,
                          .pvalloc = hp_find_first_pvalloc};

/* -------------------------------------------------------------------------------------------------- finding it */

/* The dynamic linker knows by the place that calls it who is asking, so this must not become a jump. */
__attribute__((noinline)) void *hp_find_symbol(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    __asm__ volatile("" : "+r"(function));
    return function;
}

/* Where the image begins that the function is in; NULL without one. */
static const void *hp_find_image_of(const void *function)
{
    Dl_info image;
    return function != NULL && dladdr(function, &image) != 0 ? image.dli_fbase : NULL;
}

/* To the type of the pointer it is for. By way of a number: ISO C knows no other between data and functions. */
#define HP_FIND_FUNCTION(pointer, address) ((__typeof__(pointer))(uintptr_t)(address))
#define HP_FIND_STORE(pointer, address) __atomic_store_n(&(pointer), HP_FIND_FUNCTION(pointer, address), __ATOMIC_RELAXED)
#define HP_FIND_STORE_OR(pointer, address, otherwise)                                                                      \
    __atomic_store_n(&(pointer), (address) != NULL ? HP_FIND_FUNCTION(pointer, address) : (otherwise), __ATOMIC_RELAXED)

/*
 * Who replaces malloc may leave the rest to the C library. Sizes can be asked of an allocator only that has given out the
 * block, so it has to have all of these.
 */
static bool hp_find_is_complete(const void *image, void *const *functions, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (hp_find_image_of(functions[at]) != image)
            return false;
    return true;
}

static void hp_find_find_heart(hp_next_usable_size *of_copy_behind)
{
    void *const allocate = hp_find_symbol("malloc"), *const release = hp_find_symbol("free"),
                *const size = hp_find_symbol("malloc_usable_size");
    void *const zeroed = hp_find_symbol("calloc"), *const resize = hp_find_symbol("realloc");
    void *const all[] = {release, size, zeroed, resize};
    const bool knows_sizes = hp_find_is_complete(hp_find_image_of(allocate), all, sizeof all / sizeof all[0]);
    if (of_copy_behind != NULL)
        __atomic_store_n(&hotpath_next_.usable_size, of_copy_behind, __ATOMIC_RELAXED);
    else
        HP_FIND_STORE_OR(hotpath_next_.usable_size, knows_sizes ? size : NULL, hp_find_unknown_size);
    HP_FIND_STORE(hotpath_next_.calloc, zeroed);
    HP_FIND_STORE(hotpath_next_.realloc, resize);
    HP_FIND_STORE(hotpath_next_.free, release);
    HP_FIND_STORE(hotpath_next_.malloc, allocate);
}

/* The image that has malloc; NULL: it is another copy of ours, and which allocator is behind that is not known. */
static const void *hp_find_image_of_malloc;

static void hp_find_find_aligned(const void *image)
{
    void *const posix = hp_find_symbol("posix_memalign"), *const aligned = hp_find_symbol("aligned_alloc");
    void *const older = hp_find_symbol("memalign"), *const page = hp_find_symbol("valloc"),
                *const pages = hp_find_symbol("pvalloc");
    const uint32_t strangers = (hp_find_image_of(posix) != image ? HP_NEXT_POSIX_MEMALIGN : 0) |
                               (hp_find_image_of(aligned) != image ? HP_NEXT_ALIGNED_ALLOC : 0) |
                               (hp_find_image_of(older) != image ? HP_NEXT_MEMALIGN : 0) |
                               (hp_find_image_of(page) != image ? HP_NEXT_VALLOC : 0) |
                               (hp_find_image_of(pages) != image ? HP_NEXT_PVALLOC : 0);
    __atomic_store_n(&hotpath_next_.strangers, strangers, __ATOMIC_RELAXED);
    HP_FIND_STORE_OR(hotpath_next_.posix_memalign, posix, hp_find_no_posix_memalign);
    HP_FIND_STORE_OR(hotpath_next_.aligned_alloc, aligned, hp_find_no_aligned);
    HP_FIND_STORE_OR(hotpath_next_.memalign, older, hp_find_no_aligned);
    HP_FIND_STORE_OR(hotpath_next_.valloc, page, hp_find_no_sized);
    HP_FIND_STORE_OR(hotpath_next_.pvalloc, pages, hp_find_no_sized);
}

/*
 * A program may have these functions in itself and be given those of libhotpath_alloc.so, too. Then the ones behind us would count
 * a second time. They know how sizes are asked for.
 */
static hp_next_usable_size *hp_find_silence_copy_behind(void)
{
    hp_next_usable_size *(*const yield)(void) = HP_FIND_FUNCTION(yield, hp_find_symbol("hotpath_v1_alloc_yield"));
    return yield != NULL ? yield() : NULL;
}

/* --- sizes without asking: see heads.h */

#ifdef __GLIBC__
static bool hp_find_has_head(void *block)
{
    const bool is_right = block != NULL && hp_head_size(block) == HP_NEXT(usable_size)(block);
    HP_NEXT(free)(block);
    return is_right;
}

/* Blocks from the places that glibc has for them: caches, the heap, mapped ones. Few, so that the heap stays as it is. */
static bool hp_find_are_heads_right(void)
{
    return hp_find_has_head(HP_NEXT(malloc)(1)) && hp_find_has_head(HP_NEXT(malloc)(100)) && hp_find_has_head(HP_NEXT(malloc)(5000)) &&
           hp_find_has_head(HP_NEXT(malloc)(3000000));
}

/* Of glibc's malloc alone: others may have nothing that can be read in front of a block. */
static void hp_find_look_for_heads(void)
{
    const void *const glibc = hp_find_image_of(hp_find_symbol("gnu_get_libc_version"));
    const bool is_glibc = glibc != NULL && glibc == hp_find_image_of((const void *)(uintptr_t)HP_NEXT(malloc)) &&
                          glibc == hp_find_image_of((const void *)(uintptr_t)HP_NEXT(usable_size));
    const bool has_heads = is_glibc && !hp_preload_has_valgrind() && hp_find_are_heads_right();
    __atomic_store_n(&hotpath_next_.has_heads, has_heads, __ATOMIC_RELAXED);
}
#else
static void hp_find_look_for_heads(void) {}
#endif

bool hp_find_next(void)
{
    static uint32_t is_found;
    if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE) != 0)
        return true;
    if (hotpath_inside_ == HP_INSIDE_OURSELVES)
        return false;
    const int saved = errno;
    const uintptr_t around = hotpath_inside_;
    hotpath_inside_ = HP_INSIDE_OURSELVES;
    const void *const image = hp_find_image_of(hp_find_symbol("malloc"));
    hp_next_usable_size *const of_copy_behind = hp_find_silence_copy_behind();
    __atomic_store_n(&hp_find_image_of_malloc, of_copy_behind == NULL ? image : NULL, __ATOMIC_RELAXED);
    hp_find_find_aligned(image);
    hp_find_find_heart(of_copy_behind);
    HP_NEXT(usable_size)(NULL); /* tcmalloc allocates when it is asked for the first time */
    hp_find_look_for_heads();
    hotpath_inside_ = around;
    errno = saved;
    __atomic_store_n(&is_found, 1, __ATOMIC_RELEASE);
    return true;
}

bool hp_find_is_of_allocator(const void *function)
{
    hp_find_next(); /* or the image is known already, while this thread finds the rest */
    return hp_find_image_of(function) == __atomic_load_n(&hp_find_image_of_malloc, __ATOMIC_RELAXED);
}
#endif

/* ---- src/alloc/overrides.c ----------------------------------------------------------------------------------- */

/*
 * malloc and its kin, as the program calls them: each passes the call on to the allocator (next.h) and tells the recorder what
 * became of it. With HOTPATH_ALLOC_WRAP they have the names that the linker's --wrap gives them.
 *
 * errno is what the allocator left there. A block's size is what the allocator says (malloc_usable_size), read while
 * the block is there: after an allocation, before a free.
 */

#ifdef HOTPATH_ALLOC_WRAP
#define HP_FAMILY(name) __wrap_##name
void *__wrap_malloc(size_t size);
void __wrap_free(void *block);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
int __wrap_posix_memalign(void **ret_block, size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_memalign(size_t alignment, size_t size);
void *__wrap_valloc(size_t size);
void *__wrap_pvalloc(size_t size);
#else
#define HP_FAMILY(name) name
#endif

/* C23; headers may not have them yet. */
void HP_FAMILY(free_sized)(void *block, size_t size);
void HP_FAMILY(free_aligned_sized)(void *block, size_t alignment, size_t size);

#define HP_OVERRIDES_EXPORTED __attribute__((visibility("default"), noinline))
#define HP_OVERRIDES_INLINED inline __attribute__((always_inline))
#define HP_OVERRIDES_RARELY(condition) __builtin_expect(!!(condition), 0)

/* Whether the allocator that works for one of our functions calls another one. */
static HP_OVERRIDES_INLINED bool hp_overrides_is_nested(uintptr_t stack) { return stack < hotpath_inside_; }

/* Calls the allocator with what it calls meanwhile left out. */
#define HP_OVERRIDES_CALL_ALONE(stack, result, call)                                                                            \
    do {                                                                                                           \
        const uintptr_t around_it = hotpath_inside_;                                                                     \
        hotpath_inside_ = (stack);                                                                                       \
        (result) = (call);                                                                                         \
        hotpath_inside_ = around_it;                                                                                     \
    } while (0)

/* ------------------------------------------------------------------------------------------------ what is told */

static HP_OVERRIDES_INLINED void *hp_overrides_tell_allocated(void *block, size_t asked, uintptr_t stack)
{
    if (HP_OVERRIDES_RARELY(block == NULL)) {
        if (asked != 0)
            HP_NEXT(failed)();
        return NULL;
    }
    HP_NEXT(allocated)(block, asked, hp_usable_size(block), stack);
    return block;
}

/* A block of another allocator than malloc's cannot be asked for its size, and is not malloc's. */
static HP_OVERRIDES_INLINED void *hp_overrides_tell_aligned(void *block, size_t asked, uint32_t function, uintptr_t stack)
{
    return HP_NEXT(strangers) & function ? block : hp_overrides_tell_allocated(block, asked, stack);
}

/* ------------------------------------------------------------------------------------------------------ malloc */

HP_OVERRIDES_EXPORTED void *HP_FAMILY(malloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block = HP_NEXT(malloc)(size);
    return HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)) ? block : hp_overrides_tell_allocated(block, size, stack);
}

HP_OVERRIDES_EXPORTED void *HP_FAMILY(calloc)(size_t count, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(calloc)(count, size);
    HP_OVERRIDES_CALL_ALONE(stack, block, HP_NEXT(calloc)(count, size));
    return hp_overrides_tell_allocated(block, block != NULL ? count * size : 1, stack);
}

/* -------------------------------------------------------------------------------------------------------- free */

static HP_OVERRIDES_INLINED void hp_overrides_release(void *block, uintptr_t stack)
{
    if (HP_OVERRIDES_RARELY(block == NULL || hp_early_has(block)))
        return;
    if (!HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        HP_NEXT(freed)(block, hp_usable_size(block), stack);
    HP_NEXT(free)(block);
}

HP_OVERRIDES_EXPORTED void HP_FAMILY(free)(void *block) { hp_overrides_release(block, HP_STACK_PLACE()); }

/*
 * Those that another one does the work of call it by its name, as the C library does: an allocator in front of us that has
 * not got these gets what is its own.
 */
HP_OVERRIDES_EXPORTED void HP_FAMILY(free_sized)(void *block, size_t size)
{
    (void)size;
    HP_FAMILY(free)(block);
}

HP_OVERRIDES_EXPORTED void HP_FAMILY(free_aligned_sized)(void *block, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    HP_FAMILY(free)(block);
}

/* ----------------------------------------------------------------------------------------------------- realloc */

static void *hp_overrides_move_early(const void *block, size_t size, uintptr_t stack)
{
    const size_t old_size = hp_early_size(block);
    void *moved = HP_NEXT(malloc)(size);
    if (moved != NULL)
        memcpy(moved, block, old_size < size ? old_size : size);
    return hp_overrides_is_nested(stack) ? moved : hp_overrides_tell_allocated(moved, size, stack);
}

/* To no bytes: some allocators free the block and have nothing to return, for others that is a failure. */
static void *hp_overrides_resize_to_nothing(void *block, uintptr_t stack)
{
    const int saved = errno;
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_is_foreign(block);
    void *resized;
    errno = 0;
    HP_OVERRIDES_CALL_ALONE(stack, resized, HP_NEXT(realloc)(block, 0));
    if (resized != NULL)
        HP_NEXT(reallocated)(was_foreign, old_usable, resized, 0, hp_usable_size(resized), stack);
    else if (errno == ENOMEM)
        HP_NEXT(failed)();
    else
        HP_NEXT(freed)(block, old_usable, stack);
    if (errno == 0)
        errno = saved;
    return resized;
}

static HP_OVERRIDES_INLINED void *hp_overrides_resize(void *block, size_t size, uintptr_t stack)
{
    void *resized;
    if (HP_OVERRIDES_RARELY(hp_early_has(block)))
        return hp_overrides_move_early(block, size, stack);
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(realloc)(block, size);
    if (block == NULL) {
        HP_OVERRIDES_CALL_ALONE(stack, resized, HP_NEXT(realloc)(NULL, size));
        return hp_overrides_tell_allocated(resized, size, stack);
    }
    if (HP_OVERRIDES_RARELY(size == 0))
        return hp_overrides_resize_to_nothing(block, stack);
    const size_t old_usable = hp_usable_size(block);
    const int was_foreign = hotpath_v1_is_foreign(block);
    HP_OVERRIDES_CALL_ALONE(stack, resized, HP_NEXT(realloc)(block, size));
    if (HP_OVERRIDES_RARELY(resized == NULL)) {
        HP_NEXT(failed)();
        return NULL;
    }
    HP_NEXT(reallocated)(was_foreign, old_usable, resized, size, hp_usable_size(resized), stack);
    return resized;
}

HP_OVERRIDES_EXPORTED void *HP_FAMILY(realloc)(void *block, size_t size) { return hp_overrides_resize(block, size, HP_STACK_PLACE()); }

HP_OVERRIDES_EXPORTED void *HP_FAMILY(reallocarray)(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (HP_OVERRIDES_RARELY(__builtin_mul_overflow(count, size, &bytes))) {
        HP_NEXT(failed)();
        errno = ENOMEM;
        return NULL;
    }
    return HP_FAMILY(realloc)(block, bytes);
}

/* ---------------------------------------------------------------------------------------------------- alignment */

HP_OVERRIDES_EXPORTED int HP_FAMILY(posix_memalign)(void **ret_block, size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    int status;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(posix_memalign)(ret_block, alignment, size);
    HP_OVERRIDES_CALL_ALONE(stack, status, HP_NEXT(posix_memalign)(ret_block, alignment, size));
    hp_overrides_tell_aligned(status == 0 ? *ret_block : NULL, size, HP_NEXT_POSIX_MEMALIGN, stack);
    return status;
}

HP_OVERRIDES_EXPORTED void *HP_FAMILY(aligned_alloc)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(aligned_alloc)(alignment, size);
    HP_OVERRIDES_CALL_ALONE(stack, block, HP_NEXT(aligned_alloc)(alignment, size));
    return hp_overrides_tell_aligned(block, size, HP_NEXT_ALIGNED_ALLOC, stack);
}

HP_OVERRIDES_EXPORTED void *HP_FAMILY(memalign)(size_t alignment, size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(memalign)(alignment, size);
    HP_OVERRIDES_CALL_ALONE(stack, block, HP_NEXT(memalign)(alignment, size));
    return hp_overrides_tell_aligned(block, size, HP_NEXT_MEMALIGN, stack);
}

HP_OVERRIDES_EXPORTED void *HP_FAMILY(valloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(valloc)(size);
    HP_OVERRIDES_CALL_ALONE(stack, block, HP_NEXT(valloc)(size));
    return hp_overrides_tell_aligned(block, size, HP_NEXT_VALLOC, stack);
}

#ifdef __GLIBC__ /* others do not have it, and programs may ask */
HP_OVERRIDES_EXPORTED void *HP_FAMILY(pvalloc)(size_t size)
{
    const uintptr_t stack = HP_STACK_PLACE();
    void *block;
    if (HP_OVERRIDES_RARELY(hp_overrides_is_nested(stack)))
        return HP_NEXT(pvalloc)(size);
    HP_OVERRIDES_CALL_ALONE(stack, block, HP_NEXT(pvalloc)(size));
    return hp_overrides_tell_aligned(block, size, HP_NEXT_PVALLOC, stack);
}
#endif

/* ---- src/alloc/preload.c ------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/*
 * The environment is read and changed in place: there is no heap here, and no lock of the C library. Only at the start of
 * the process, when nobody else can be at it.
 */

#define HP_PRELOAD_OUR_NAME "libhotpath_alloc.so"

/* ------------------------------------------------------------------------------------------------- the question */

static char **hp_preload_find(const char *name)
{
    const size_t length = strlen(name);
    for (char **at = environ; at != NULL && *at != NULL; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return at;
    return NULL;
}

static bool hp_preload_is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* An item of HOTPATH that has allocations in it; how it is read in full is in options.c. */
static bool hp_preload_has_allocations(const char *item, size_t length)
{
    static const char *const words[] = {"alloc", "1", "true", "yes", "on"};
    for (size_t at = 0; at < sizeof words / sizeof words[0]; at++)
        if (hp_preload_is_word(item, length, words[at]))
            return true;
    return false;
}

bool hp_preload_is_asked_for(void)
{
    char **const wish = hp_preload_find("HOTPATH");
    if (wish == NULL || getauxval(AT_SECURE) != 0)
        return false;
    const char *item = *wish + strlen("HOTPATH=");
    for (;;) {
        item += strspn(item, ", \t");
        const size_t length = strcspn(item, ", \t");
        if (length == 0)
            return false;
        if (hp_preload_has_allocations(item, length))
            return true;
        item += length;
    }
}

bool hp_preload_has_valgrind(void)
{
    char **const list = hp_preload_find("LD_PRELOAD");
    return list != NULL && strstr(*list, "/vgpreload_") != NULL;
}

bool hp_preload_is_for_children(void)
{
    char **const wish = hp_preload_find("HOTPATH_PRELOAD");
    return wish != NULL && strcmp(*wish, "HOTPATH_PRELOAD=all") == 0 && hp_preload_is_asked_for();
}

/* ----------------------------------------------------------------------------------------------------- the end */

static bool hp_preload_is_ours(const char *path, size_t length)
{
    size_t name = length;
    while (name > 0 && path[name - 1] != '/')
        name--;
    return length - name >= strlen(HP_PRELOAD_OUR_NAME) && strncmp(path + name, HP_PRELOAD_OUR_NAME, strlen(HP_PRELOAD_OUR_NAME)) == 0;
}

/* Takes our items out of a list that blanks and colons divide. */
static void hp_preload_remove_ours(char *list)
{
    for (char *item = list; *item != '\0';) {
        const size_t length = strcspn(item, ": "), whole = length + (item[length] != '\0');
        if (hp_preload_is_ours(item, length))
            memmove(item, item + whole, strlen(item + whole) + 1);
        else
            item += whole;
    }
    const size_t length = strlen(list);
    if (length > 0 && strchr(": ", list[length - 1]) != NULL)
        list[length - 1] = '\0';
}

void hp_preload_end_here(void)
{
    char **entry = hp_preload_find("LD_PRELOAD");
    if (entry == NULL || strstr(*entry, HP_PRELOAD_OUR_NAME) == NULL)
        return;
    char *list = *entry + strlen("LD_PRELOAD=");
    hp_preload_remove_ours(list);
    if (*list == '\0')
        for (; *entry != NULL; entry++)
            *entry = entry[1];
}
#endif

/* ---- src/alloc/watch.c --------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC
/*
 * At the start of the process: whether what the program allocates comes to us at all, and whether anybody should count it. If
 * not, calls are passed on and nothing else.
 */

/* ------------------------------------------------------------------------------------------- telling nobody */

static void hp_watch_no_allocated(const void *block, size_t asked, size_t usable, uintptr_t stack)
{
    (void)block, (void)asked, (void)usable, (void)stack;
}

static void hp_watch_no_freed(const void *block, size_t usable, uintptr_t stack) { (void)block, (void)usable, (void)stack; }

static void hp_watch_no_reallocated(int was_foreign, size_t old_usable, const void *block, size_t asked, size_t usable,
                           uintptr_t stack)
{
    (void)was_foreign, (void)old_usable, (void)block, (void)asked, (void)usable, (void)stack;
}

static void hp_watch_no_failed(void) {}

static size_t hp_watch_no_size(void *block)
{
    (void)block;
    return 0;
}

static uint32_t hp_watch_is_aside;

/*
 * Another copy of these functions is in front of this one and counts, or this one has reason to keep out. Yields the
 * function that knows how large a block is.
 */
HOTPATH_API_ hp_next_usable_size *hotpath_v1_alloc_yield(void);
hp_next_usable_size *hotpath_v1_alloc_yield(void)
{
    static hp_next_usable_size *real;
    if (!hp_find_next() || __atomic_exchange_n(&hp_watch_is_aside, 1, __ATOMIC_RELAXED) != 0)
        return real;
    real = HP_NEXT(usable_size);
    __atomic_store_n(&hotpath_next_.allocated, hp_watch_no_allocated, __ATOMIC_RELAXED);
    __atomic_store_n(&hotpath_next_.freed, hp_watch_no_freed, __ATOMIC_RELAXED);
    __atomic_store_n(&hotpath_next_.reallocated, hp_watch_no_reallocated, __ATOMIC_RELAXED);
    __atomic_store_n(&hotpath_next_.failed, hp_watch_no_failed, __ATOMIC_RELAXED);
    __atomic_store_n(&hotpath_next_.has_heads, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&hotpath_next_.usable_size, hp_watch_no_size, __ATOMIC_RELAXED);
    return real;
}

/* ----------------------------------------------------------------------------------------------- do they come */

static __typeof__(hotpath_next_.malloc) hp_watch_real_malloc;
static bool hp_watch_was_called;

static void *hp_watch_note_the_call(size_t size)
{
    if (hotpath_inside_ == HP_INSIDE_OURSELVES) /* else it is another thread's */
        hp_watch_was_called = true;
    return hp_watch_real_malloc(size);
}

/*
 * A program with a malloc of its own, or that of a library in front of us, may never call ours. What the C library calls is
 * what everybody calls, so it is made to: strdup allocates by way of the dynamic linker.
 */
static bool hp_watch_is_called(void)
{
    char *(*volatile copy)(const char *) = strdup;
    void (*volatile release)(void *) = free; /* everybody's, which need not be the one beside us */
    const uintptr_t around = hotpath_inside_;
    hp_watch_real_malloc = HP_NEXT(malloc);
    __atomic_store_n(&hotpath_next_.malloc, hp_watch_note_the_call, __ATOMIC_RELEASE);
    hotpath_inside_ = HP_INSIDE_OURSELVES;
    release(copy("a few bytes"));
    hotpath_inside_ = around;
    __atomic_store_n(&hotpath_next_.malloc, hp_watch_real_malloc, __ATOMIC_RELAXED);
    return hp_watch_was_called;
}

/* -------------------------------------------------------------------------------------------------- the decision */

static bool hp_watch_is_sanitized(void)
{
    static const char *const beginnings[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init",
                                             "__lsan_init"};
    for (size_t at = 0; at < sizeof beginnings / sizeof beginnings[0]; at++)
        if (dlsym(RTLD_DEFAULT, beginnings[at]) != NULL)
            return true;
    return false;
}

static const char *hp_watch_reason_to_keep_out(void)
{
    if (hp_watch_is_sanitized())
        return "hotpath: a sanitizer is in this process and has malloc for itself; allocations are not counted\n";
    if (!hp_watch_is_called())
        return "hotpath: the program brings its own malloc, or a library of it does; allocations are not counted\n";
    return NULL;
}

static void hp_watch_decide(void)
{
    if (!hp_preload_is_for_children())
        hp_preload_end_here();
    if (__atomic_load_n(&hp_watch_is_aside, __ATOMIC_RELAXED) != 0)
        return;
    const char *reason = hp_watch_reason_to_keep_out();
    if (reason == NULL) {
        hotpath_v1_alloc_is_watched();
        return;
    }
    hotpath_v1_alloc_yield();
    if (hp_preload_is_asked_for() && hp_sys_write(2, reason, strlen(reason)) < 0)
        return; /* nobody listens */
}

/* After the recorder's, which is 101. */
__attribute__((constructor(102))) static void hp_watch_begin_to_watch(void)
{
    const int saved = errno;
    hp_find_next();
    const uintptr_t around = hotpath_inside_;
    hotpath_inside_ = HP_INSIDE_OURSELVES; /* what the dynamic linker allocates for us is not the program's */
    hp_watch_decide();
    dlerror(); /* what was not found is nobody's error */
    hotpath_inside_ = around;
    errno = saved;
}
#endif

/* ---- src/alloc/wrapped.c ------------------------------------------------------------------------------------- */

#if defined HOTPATH_ALLOC_WRAP
/*
 * The allocator behind us where the linker has put us in front of it, by --wrap: for executables that are linked statically, in
 * which two functions cannot have one name. `__real_malloc` is what the linker calls malloc then.
 */

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
int __real_posix_memalign(void **ret_block, size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_memalign(size_t alignment, size_t size);
void *__real_valloc(size_t size);
#ifdef __GLIBC__
void *__real_pvalloc(size_t size);
#endif

__thread uintptr_t hotpath_inside_ __attribute__((tls_model("initial-exec")));

struct hp_next hotpath_next_ = {.malloc = __real_malloc,
                          .free = __real_free,
                          .usable_size = malloc_usable_size,
                          .allocated = hotpath_v1_allocated,
                          .freed = hotpath_v1_freed,
                          .calloc = __real_calloc,
                          .realloc = __real_realloc,
                          .reallocated = hotpath_v1_reallocated,
                          .failed = hotpath_v1_alloc_failed,
                          .posix_memalign = __real_posix_memalign,
                          .aligned_alloc = __real_aligned_alloc,
                          .memalign = __real_memalign,
#ifdef __GLIBC__
                          .pvalloc = __real_pvalloc,
#endif
                          .valloc = __real_valloc};

/* After the recorder's, which is 101. */
__attribute__((constructor(102))) static void hp_wrapped_begin_to_watch(void) { hotpath_v1_alloc_is_watched(); }
#endif

#endif

#pragma GCC diagnostic pop
