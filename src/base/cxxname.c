/*
 * Short names of C++ functions.
 *
 * One pass from the left. Words are collected until it turns out that they were the return type: a blank, a
 * pointer or a reference starts the name again. The name is complete at the parameters, unless "::" follows them (a
 * lambda or a type within a function): then the parameters are left out and the name goes on. A function that
 * returns a pointer to a function hides its name in parentheses; walking into them with an empty name is all
 * it takes. Then template arguments are put in (cxxbindings.h), and types made readable (cxxtidy.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include "cxxname.h"

#include <string.h>

#include "cxxbindings.h"
#include "cxxtext.h"
#include "cxxtidy.h"
#include "text.h"

#define WORK_BYTES 512u        /* longer names stay plain; on the stack of a program that is measured */
#define LONGEST_READABLE 2048u /* bytes of a signature: the time it takes grows with their square */
#define MAX_SOURCE_NAME 4000u  /* bytes of one piece of a linker's name */

struct reader {
    const char *at; /* the text ends with a zero, which is never passed */
    struct hp_text name;
    char *out;
    size_t size;
    bool is_after_decltype; /* the last word was decltype: parentheses that follow belong to it */
    size_t outer_length;    /* of the name of the function that the rest is in; 0: it is in none */
    const char *parameters; /* the last ones; NULL: none yet */
    const char *parameters_end;
};

/* --------------------------------------------------------------------------------------------- the reader */

static void begin_name(struct reader *reader)
{
    hp_text_init(&reader->name, reader->out, reader->size);
    reader->outer_length = 0;
}

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
        if (hp_cxx_starts_with(at, words[i]) && !hp_cxx_is_identifier(at[strlen(words[i])]))
            return strlen(words[i]);
    return 0;
}

/* After parameters or a lambda: moves to the "::" that follows. False: the name is complete. */
static bool goes_on(struct reader *reader)
{
    const char *at = reader->at;
    for (size_t length; (length = qualifier_length(at)) > 0;)
        at += length;
    if (!hp_cxx_starts_with(at, "::"))
        return false;
    reader->at = at;
    if (reader->outer_length == 0)
        reader->outer_length = reader->name.length;
    return true;
}

/* The type of "operator const char*()": up to its parameters, which are the first () not followed by another (. */
static void read_conversion(struct reader *reader)
{
    while (*reader->at != '\0') {
        const char *at = reader->at;
        if (hp_cxx_starts_with(at, "()") && at[2] != '(')
            return;
        copy_until(reader, *at == '(' || *at == '<' ? hp_cxx_skip_group(at) : at + 1);
    }
}

/* "operator new []" and "operator new[]" are the same. False: the operator has no such name. */
static bool read_named_operator(struct reader *reader)
{
    static const char *const names[] = {" new", " delete", " co_await"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *end = reader->at + strlen(names[i]);
        if (!hp_cxx_starts_with(reader->at, names[i]) || hp_cxx_is_identifier(*end))
            continue;
        copy_until(reader, end);
        end += *end == ' ';
        if (hp_cxx_starts_with(end, "[]")) {
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
    while (hp_cxx_is_identifier(*end))
        end++;
    copy_until(reader, end);
}

static void read_operator(struct reader *reader)
{
    copy_until(reader, reader->at + 8);
    const size_t sign = hp_cxx_sign_length(reader->at);
    if (sign > 0) {
        copy_until(reader, reader->at + sign);
        if (hp_cxx_starts_with(reader->at, " <"))
            copy_until(reader, hp_cxx_skip_group(reader->at + 1));
        return;
    }
    const char *quotes = reader->at + (*reader->at == ' ');
    if (hp_cxx_starts_with(quotes, "\"\"")) {
        reader->at = quotes;
        read_literal_operator(reader);
    } else if (!read_named_operator(reader)) {
        read_conversion(reader);
    }
}

/* gcc: <lambda(int)>, <unnamed struct>, or template arguments. False: the name is complete. */
static bool read_angle(struct reader *reader)
{
    const char *end = hp_cxx_skip_group(reader->at);
    if (hp_cxx_starts_with(reader->at, "<lambda")) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end;
        return goes_on(reader);
    }
    if (hp_cxx_starts_with(reader->at, "<unnamed ") && end[-1] == '>') {
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
    reader->at = hp_cxx_starts_with(end, call) ? end + strlen(call) : end;
}

static bool read_brace(struct reader *reader)
{
    if (hp_cxx_starts_with(reader->at, "{lambda(")) {
        read_closure(reader, hp_cxx_skip_group(reader->at));
        return true;
    }
    if (!hp_cxx_starts_with(reader->at, "{anonymous}")) {
        copy_until(reader, hp_cxx_skip_group(reader->at));
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
    const char *end = hp_cxx_skip_group(reader->at);
    const bool is_class =
        hp_cxx_starts_with(reader->at, "(anonymous class)") || hp_cxx_starts_with(reader->at, "(lambda");
    if (is_class && hp_cxx_starts_with(end, call)) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end + strlen(call);
    } else {
        copy_until(reader, end);
    }
}

/* False: these were the parameters, and the name is complete. */
static bool read_parenthesis(struct reader *reader)
{
    if (hp_cxx_starts_with(reader->at, "(anonymous ") || hp_cxx_starts_with(reader->at, "(lambda")) {
        read_anonymous(reader);
        return true;
    }
    if (reader->is_after_decltype || name_is(reader, "decltype")) {
        begin_name(reader);
        reader->at = hp_cxx_skip_group(reader->at);
        return true;
    }
    if (reader->name.length == 0) {
        reader->at++;
        return true;
    }
    reader->parameters = reader->at;
    reader->at = reader->parameters_end = hp_cxx_skip_group(reader->at);
    return goes_on(reader);
}

/* The end of clang's name of an unnamed class, if its call operator follows; else NULL. */
static const char *end_of_numbered(const char *at)
{
    if (!hp_cxx_starts_with(at, "$_"))
        return NULL;
    at += 2;
    while (*at >= '0' && *at <= '9')
        at++;
    return hp_cxx_starts_with(at, "::operator()") ? at : NULL;
}

/* Reads the next piece. False: the name is complete. */
static bool read_piece(struct reader *reader, const char *pretty)
{
    if (hp_cxx_is_operator(pretty, reader->at)) {
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
        reader->at = hp_cxx_skip_group(reader->at);
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

/* The name alone, as it stands there. False: this does not look like a function; then `out` has the whole text. */
static bool read_plain(struct reader *reader, const char *pretty, char *out, size_t size)
{
    *reader = (struct reader){.at = pretty, .out = out, .size = size};
    bool is_complete = false;
    begin_name(reader);
    while (!is_complete && *reader->at != '\0')
        is_complete = !read_piece(reader, pretty);
    const bool is_function = is_complete && reader->name.length > 0;
    if (!is_function) {
        begin_name(reader);
        hp_text_string(&reader->name, pretty);
    }
    hp_text_end(&reader->name);
    return is_function;
}

/* --------------------------------------------------------------------------------------- names for people */

/* The name with its template arguments: those of a function around it stand where its name ends. */
static void put_with_arguments(const struct reader *reader, const char *pretty, struct hp_text *out)
{
    struct hp_cxx_bindings bindings;
    const char *name = reader->out;
    const size_t length = strlen(name), outer = reader->outer_length > 0 ? reader->outer_length : length;
    hp_cxx_bindings_find(pretty, &bindings);
    hp_cxx_bindings_put(&bindings, name, outer, true, out);
    hp_cxx_bindings_put_own(&bindings, name, false, out);
    hp_cxx_bindings_put(&bindings, name + outer, length - outer, true, out);
    hp_cxx_bindings_put_own(&bindings, name, true, out);
}

/* "(int, char) const" */
static void put_parameters(const struct reader *reader, const char *pretty, struct hp_text *out)
{
    struct hp_cxx_bindings bindings;
    const char *end = reader->parameters_end;
    hp_cxx_bindings_find(pretty, &bindings);
    hp_cxx_bindings_put(&bindings, reader->parameters, (size_t)(end - reader->parameters), false, out);
    for (size_t length; (length = qualifier_length(end)) > 0; end += length)
        hp_text_bytes(out, end, length);
}

static bool is_whole(const struct hp_text *text) { return !text->is_cut && text->length < WORK_BYTES - 1; }

/* False: it is too long for that; then `out` has nothing. */
static bool put_readable(const struct reader *reader, const char *pretty, bool has_parameters, char *out,
                         size_t size)
{
    char work[WORK_BYTES];
    struct hp_text whole, tidy;
    hp_text_init(&whole, work, sizeof work);
    put_with_arguments(reader, pretty, &whole);
    if (has_parameters)
        put_parameters(reader, pretty, &whole);
    hp_text_end(&whole);
    if (!is_whole(&whole))
        return false;
    hp_text_init(&tidy, out, size);
    hp_cxx_tidy(work, &tidy);
    hp_text_end(&tidy);
    return true;
}

static bool may_be_readable(const char *pretty) { return strnlen(pretty, LONGEST_READABLE) < LONGEST_READABLE; }

size_t hp_cxx_short_name(const char *pretty, char *out, size_t size)
{
    char plain[WORK_BYTES];
    struct reader reader;
    if (!may_be_readable(pretty) || !read_plain(&reader, pretty, plain, sizeof plain) || !is_whole(&reader.name) ||
        !put_readable(&reader, pretty, false, out, size))
        read_plain(&reader, pretty, out, size);
    return size > 0 ? strlen(out) : 0;
}

static void put_nothing(char *out, size_t size)
{
    if (size > 0)
        out[0] = '\0';
}

size_t hp_cxx_signature(const char *pretty, char *out, size_t size)
{
    char plain[WORK_BYTES];
    struct reader reader;
    const bool is_function =
        may_be_readable(pretty) && read_plain(&reader, pretty, plain, sizeof plain) && is_whole(&reader.name);
    const char *rest = is_function && reader.parameters != NULL ? reader.parameters_end : pretty;
    for (size_t length; (length = qualifier_length(rest)) > 0;)
        rest += length;
    const bool is_known = *rest == '\0' || hp_cxx_starts_with(rest, " [");
    if (!is_function || reader.parameters == NULL || !is_known || !put_readable(&reader, pretty, true, out, size))
        put_nothing(out, size);
    return size > 0 ? strlen(out) : 0;
}

size_t hp_cxx_bare_name(const char *name, char *out, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, out, size);
    for (const char *at = name; *at != '\0';) {
        const bool is_operator = hp_cxx_is_operator(name, at);
        const size_t length = is_operator ? 8 + hp_cxx_sign_length(at + 8) : 1;
        const char *bracket = at + (*at == ' '); /* "operator< <int>" */
        if (*bracket == '<' && !hp_cxx_starts_with(bracket, "<lambda>")) {
            at = hp_cxx_skip_group(bracket);
            continue;
        }
        const size_t whole = *at == '<' ? strlen("<lambda>") : length;
        hp_text_bytes(&text, at, whole);
        at += whole;
    }
    return strlen(hp_text_end(&text));
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
    if (hp_cxx_starts_with(at, "St")) {
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
