/*
 * Short names of C++ functions.
 *
 * One pass from the left. Words are collected until it turns out that they were the return type: a blank, a
 * pointer or a reference starts the name again. The name is complete at the parameters, unless "::" follows them (a
 * lambda or a type within a function): then the parameters are left out and the name goes on. A function that
 * returns a pointer to a function hides its name in parentheses; walking into them with an empty name is all
 * it takes. Then template arguments are put in , and types made readable .
 *
 * SPDX-License-Identifier: MIT
 */
#include "cxxname.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "text.h"

/* ------------------------------------------------------------------------------------------------------ cxxtext */

/*
 * The small pieces of C++ text: identifiers, operators, brackets. May be used in a signal handler.
 *
 * The small pieces of C++ text. Two things need care. Names of operators contain brackets and blanks. And < may be
 * a bracket or a comparison: it is a comparison if the bracket around it is closed first, as in enable_if<(N < 3)>.
 */

#define MAX_BRACKETS 64
#define LONGEST_CHARACTER 16 /* of a character literal: U'\x0010ffff' */

/* Whether a character may be part of an identifier. */
static bool cxx_is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c > 127;
}

static bool cxx_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---------------------------------------------------------------------------------------------- operators */

/* True when the word "operator" is at `at`; `first` is where the whole text begins. */
static bool cxx_is_operator(const char *first, const char *at)
{
    return cxx_starts_with(at, "operator") && !cxx_is_identifier(at[8]) &&
           (at == first || !cxx_is_identifier(at[-1]));
}

/*
 * Length of the sign of an operator at `at`; 0 when there is none. Length of the sign of an operator at `at`; 0
 * when there is none. Longer signs come before shorter ones.
 */
static size_t cxx_sign_length(const char *at)
{
    static const char *const signs[] = {
        "()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
        "&&", "||", "++",  "--", "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "+",
        "-",  "*",  "/",   "%",  "&",   "|",   "^",   "~",  "!",  "=",  "<",  ">",  ",",
    };
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (cxx_starts_with(at, signs[i]))
            return strlen(signs[i]);
    return 0;
}

/* ------------------------------------------------------------------------------------------------- groups */

/* Behind the character literal at `at`, or behind its quote when it is none. */
static const char *cxx_skip_character(const char *at)
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
static const char *cxx_skip_group(const char *at)
{
    const char *const first = at;
    char open[MAX_BRACKETS];
    size_t depth = 0;
    do {
        if (cxx_is_operator(first, at)) {
            at += 8;
            at += cxx_sign_length(at);
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
            at = cxx_skip_character(at);
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

/* -------------------------------------------------------------------------------------------------- cxxbindings */

/*
 * Template arguments in what gcc and clang call __PRETTY_FUNCTION__:
 *
 *     U Box<T>::as(U) [with U = char; T = int]       gcc: innermost first, and typedefs behind them
 *     U Box<int>::as(U) [T = int, U = char]          clang: outermost first
 *
 * May be used in a signal handler.
 *
 * Template arguments in signatures of C++.
 */
struct hp_cxx_bindings {
    const char *pretty;
    const char *begin, *end; /* of what is between the brackets; NULL: there are none */
    bool is_gcc;
};

struct binding {
    const char *key, *key_end; /* "T", or "int N" */
    const char *name, *name_end;
    const char *value, *value_end;
};

/* ------------------------------------------------------------------------------------------------ finding */

/* One step in a text: a whole group, a literal, an operator, or one character. */
static const char *step(const char *first, const char *at)
{
    if (cxx_is_operator(first, at))
        return at + 8 + cxx_sign_length(at + 8);
    if (*at == '\'')
        return cxx_skip_character(at);
    return strchr("([{<", *at) != NULL ? cxx_skip_group(at) : at + 1;
}

static void cxx_bindings_find(const char *pretty, struct hp_cxx_bindings *ret_bindings)
{
    static const char of_gcc[] = "[with ";
    const size_t length = strlen(pretty);
    *ret_bindings = (struct hp_cxx_bindings){.pretty = pretty};
    if (length == 0 || pretty[length - 1] != ']')
        return;
    const char *begin = strstr(pretty, of_gcc);
    ret_bindings->is_gcc = begin != NULL;
    if (strstr(pretty, " = ") == NULL)
        return;
    for (const char *at = pretty; begin == NULL && (at = strstr(at, " [")) != NULL; at++)
        if (cxx_skip_group(at + 1) == pretty + length && strstr(at, " = ") != NULL)
            begin = at + 1;
    if (begin == NULL)
        return;
    ret_bindings->begin = begin + (ret_bindings->is_gcc ? sizeof of_gcc - 1 : 1);
    ret_bindings->end = pretty + length - 1;
}

/* The name of a parameter in "T", "int N", "void (* F)(int)". */
static void find_name(struct binding *binding)
{
    const char *end = binding->key_end;
    const char *parenthesis = memchr(binding->key, ')', (size_t)(end - binding->key));
    if (parenthesis != NULL && !cxx_starts_with(binding->key, "decltype"))
        end = parenthesis;
    const char *name = end;
    while (name > binding->key && name[-1] != ' ')
        name--;
    binding->name = name;
    binding->name_end = end;
}

/* The next one at `*at`, which is moved behind it. False: there is none. */
static bool next_binding(const struct hp_cxx_bindings *bindings, const char **at, struct binding *ret_binding)
{
    const char *const begin = *at;
    const char *end = begin, *equals = NULL;
    if (begin == NULL || begin >= bindings->end)
        return false;
    while (end < bindings->end && *end != (bindings->is_gcc ? ';' : ',')) {
        if (equals == NULL && cxx_starts_with(end, " = "))
            equals = end;
        end = step(bindings->pretty, end);
    }
    if (end > bindings->end)
        end = bindings->end;
    if (equals == NULL || equals + 3 > end)
        return false;
    *ret_binding = (struct binding){.key = begin, .key_end = equals, .value = equals + 3, .value_end = end};
    find_name(ret_binding);
    *at = end + (end < bindings->end) + (end + 1 < bindings->end && end[1] == ' ');
    return true;
}

/* -------------------------------------------------------------------------------------------------- words */

static bool is_word_start(const char *first, const char *at)
{
    return cxx_is_identifier(*at) && (at == first || (!cxx_is_identifier(at[-1]) && at[-1] != ':'));
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && cxx_is_identifier(*at))
        at++;
    return at;
}

static bool is_named(const struct binding *binding, const char *word, const char *end)
{
    const size_t length = (size_t)(end - word);
    return (size_t)(binding->name_end - binding->name) == length && memcmp(binding->name, word, length) == 0;
}

/* gcc: {int, char}, clang: <int, char>; without the brackets. A lambda has no other name. */
static void put_value(const struct binding *binding, struct hp_text *out)
{
    static const char lambda[] = "::<lambda(";
    const char *value = binding->value, *end = binding->value_end;
    if (end - value >= 2 && ((*value == '{' && end[-1] == '}') || (*value == '<' && end[-1] == '>'))) {
        value++;
        end--;
    }
    for (const char *at = value; at + sizeof lambda - 1 < end; at++)
        if (cxx_starts_with(at, lambda) && end[-1] == '>') {
            hp_text_string(out, "lambda");
            return;
        }
    if (cxx_starts_with(value, "(lambda at "))
        hp_text_string(out, "lambda");
    else
        hp_text_bytes(out, value, (size_t)(end - value));
}

static bool find_binding(const struct hp_cxx_bindings *bindings, const char *word, const char *end,
                         struct binding *ret_binding)
{
    for (const char *at = bindings->begin; next_binding(bindings, &at, ret_binding);)
        if (is_named(ret_binding, word, end))
            return true;
    return false;
}

/* Whether `at` of a name is between template brackets or in a conversion: elsewhere words are names themselves. */
static bool is_argument(const char *name, const char *at)
{
    size_t depth = 0;
    bool is_conversion = false;
    for (const char *before = name; before < at; before++) {
        if (cxx_is_operator(name, before)) {
            const size_t sign = cxx_sign_length(before + 8);
            before += 8 + sign - (sign > 0);
            is_conversion = sign == 0;
        } else if (*before == '<') {
            depth++;
        } else if (*before == '>' && depth > 0) {
            depth--;
        }
    }
    return depth > 0 || is_conversion;
}

/* "T&&" with an int& for T is int&. */
static const char *behind_collapsed(const struct binding *binding, const char *at, const char *end)
{
    const char *behind = at + (at < end && *at == ' ');
    if (binding->value_end[-1] != '&' || behind == end || *behind != '&')
        return at;
    while (behind < end && *behind == '&')
        behind++;
    return behind;
}

/*
 * Adds `text`, of that length, with arguments in place of parameters. In a name (`is_name`) they are replaced
 * between brackets and in "operator T" only.
 */
static void cxx_bindings_put(const struct hp_cxx_bindings *bindings, const char *text, size_t length, bool is_name,
                             struct hp_text *out)
{
    struct binding binding;
    const char *const end = text + length;
    for (const char *at = text, *next; at < end && !out->is_cut; at = next) {
        next = is_word_start(text, at) ? word_end(at, end) : at + 1;
        if (is_word_start(text, at) && (!is_name || (bindings->is_gcc && is_argument(text, at))) &&
            find_binding(bindings, at, next, &binding)) {
            put_value(&binding, out);
            next = behind_collapsed(&binding, next, end);
        } else {
            hp_text_bytes(out, at, (size_t)(next - at));
        }
    }
}

/* ------------------------------------------------------------------------------------------ own arguments */

/* "auto:1" of gcc, "x:auto" and "auto:1" of clang. */
static bool is_of_lambda(const struct binding *binding)
{
    const size_t length = (size_t)(binding->name_end - binding->name);
    return (length > 5 && memcmp(binding->name, "auto:", 5) == 0) ||
           (length > 5 && memcmp(binding->name_end - 5, ":auto", 5) == 0);
}

/*
 * gcc also tells what typedefs in the signature are. Those of users are taken for parameters, as they look the
 * same.
 */
static bool is_typedef(const struct binding *binding)
{
    const size_t length = (size_t)(binding->name_end - binding->name);
    if (cxx_starts_with(binding->key, "typename ") || cxx_starts_with(binding->key, "decltype"))
        return true;
    if (binding->name != binding->key)
        return false;
    for (size_t at = 0; at + 1 < length; at++)
        if (binding->name[at] == ':' && binding->name[at + 1] == ':')
            return true;
    return length > 2 && memcmp(binding->name_end - 2, "_t", 2) == 0;
}

static bool has_word(const struct binding *binding, const char *text, const char *end, bool is_name)
{
    for (const char *at = text; at < end; at++)
        if (is_word_start(text, at) && is_named(binding, at, word_end(at, end)) &&
            (!is_name || is_argument(text, at)))
            return true;
    return false;
}

/* How many arguments there are between brackets of the name, and whether there are brackets. */
static size_t count_arguments(const char *name, bool *ret_has_brackets)
{
    size_t count = 0;
    *ret_has_brackets = false;
    for (const char *at = name; *at != '\0'; at = step(name, at)) {
        if (*at != '<' || cxx_starts_with(at, "<lambda>"))
            continue;
        const char *const end = cxx_skip_group(at);
        *ret_has_brackets = true;
        count += end > at + 2;
        for (const char *inside = at + 1; inside < end; inside = step(name, inside))
            count += *inside == ',';
    }
    return count;
}

/* How many arguments a value of clang's stands for: <int, char> is two. */
static size_t count_values(const struct binding *binding)
{
    if (*binding->value != '<' || binding->value_end[-1] != '>')
        return 1;
    size_t count = binding->value_end > binding->value + 2;
    for (const char *at = binding->value + 1; at < binding->value_end; at = step(binding->value, at))
        count += *at == ',';
    return count;
}

/* "operator T": its type says all. */
static bool is_conversion(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (cxx_is_operator(name, at))
            return at[8] == ' ' && !cxx_starts_with(at, "operator new") &&
                   !cxx_starts_with(at, "operator delete") && cxx_is_identifier(at[9]);
    return false;
}

/* What is known while walking over the bindings. */
struct ownership {
    const struct hp_cxx_bindings *bindings;
    const char *name;
    size_t of_classes; /* arguments in the name that no binding was found for yet */
    bool has_brackets;
    bool is_behind; /* gcc: what follows are arguments of classes, and typedefs */
};

static bool is_own(struct ownership *ownership, const struct binding *binding)
{
    const struct hp_cxx_bindings *bindings = ownership->bindings;
    if (bindings->is_gcc) {
        ownership->is_behind |= is_typedef(binding) ||
                                has_word(binding, ownership->name, ownership->name + strlen(ownership->name), true);
        return !ownership->is_behind;
    }
    const size_t values = count_values(binding);
    if (ownership->of_classes > 0) {
        ownership->of_classes -= values < ownership->of_classes ? values : ownership->of_classes;
        return false;
    }
    return !ownership->has_brackets || has_word(binding, bindings->pretty, bindings->begin, false);
}

/*
 * Adds "<int, char>", the arguments of the function itself: those that `name`, which ends with a zero, does not
 * have. `of_lambda` chooses those that have no name, as they are a lambda's.
 */
static void cxx_bindings_put_own(const struct hp_cxx_bindings *bindings, const char *name, bool of_lambda,
                                 struct hp_text *out)
{
    struct ownership ownership = {.bindings = bindings, .name = name};
    struct binding binding;
    size_t count = 0;
    if (is_conversion(name))
        return;
    ownership.of_classes = count_arguments(name, &ownership.has_brackets);
    for (const char *at = bindings->begin; next_binding(bindings, &at, &binding);) {
        if (is_of_lambda(&binding) ? !of_lambda : (of_lambda || !is_own(&ownership, &binding)))
            continue;
        hp_text_string(out, count++ > 0                                             ? ", "
                            : out->length > 0 && out->bytes[out->length - 1] == '<' ? " <"
                                                                                    : "<");
        put_value(&binding, out);
    }
    if (count > 0)
        hp_text_char(out, '>');
}

/* ------------------------------------------------------------------------------------------------------ cxxtidy */

/*
 * Types of C++ as people write them, out of what compilers and demanglers write:
 *
 *     std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >     std::string
 *     std::vector<long unsigned int, std::allocator<long unsigned int> >                 std::vector<unsigned long>
 *     Array<int, 3ul>                                                                     Array<int, 3>
 *     const char *                                                                        const char*
 *
 * May be used in a signal handler.
 *
 * Types of C++ as people write them: one pass from the left. Brackets of template arguments are counted, since some
 * rules hold only between them.
 */

#define MAX_DEPTH 64u

struct tidying {
    const char *first, *at;
    struct hp_text *out;
    size_t depth;           /* of template brackets */
    bool is_std[MAX_DEPTH]; /* whether the template of this bracket is one of the standard library */
};

static bool is_at_word(const struct tidying *tidying)
{
    return tidying->at == tidying->first || !cxx_is_identifier(tidying->at[-1]);
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
        if (cxx_starts_with(tidying->at, types[at][0]) && !cxx_is_identifier(*end))
            return replace(tidying, types[at][1], end);
    }
    return false;
}

/* "basic_string<char, std::char_traits<char>, std::allocator<char> >" is string; so are the others of that kind. */
static bool put_basic(struct tidying *tidying)
{
    static const char basic[] = "basic_", of_char[] = "<char", traits[] = ", std::char_traits<char>",
                      allocator[] = ", std::allocator<char>";
    if (!cxx_starts_with(tidying->at, basic))
        return false;
    const char *name = tidying->at + sizeof basic - 1, *end = name;
    while (cxx_is_identifier(*end))
        end++;
    const char *behind = end + sizeof of_char - 1;
    if (!cxx_starts_with(end, of_char))
        return false;
    if (cxx_starts_with(behind, traits))
        behind += sizeof traits - 1;
    if (cxx_starts_with(behind, allocator))
        behind += sizeof allocator - 1;
    if (behind[*behind == ' '] != '>') /* with an allocator of its own it is another type */
        return false;
    hp_text_bytes(tidying->out, name, (size_t)(end - name));
    tidying->at = cxx_skip_group(end);
    if (tidying->depth > 0 && cxx_starts_with(tidying->at, " >"))
        tidying->at++;
    return true;
}

/* Versions of the library are in inline namespaces, which sources do not name. */
static const char *behind_version(const char *at)
{
    static const char *const inside[] = {"__cxx11::", "__1::"};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        if (cxx_starts_with(at, inside[i]))
            return at + strlen(inside[i]);
    return at;
}

static bool put_std(struct tidying *tidying)
{
    if (!is_at_word(tidying) || !cxx_starts_with(tidying->at, "std::"))
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
    if (tidying->depth == 0 || tidying->depth > MAX_DEPTH || !cxx_starts_with(tidying->at, ", std::"))
        return false;
    name = behind_version(name);
    const size_t count = tidying->is_std[tidying->depth - 1] ? sizeof defaults / sizeof defaults[0] : of_any;
    for (size_t at = 0; at < count; at++) {
        if (!cxx_starts_with(name, defaults[at]))
            continue;
        const char *end = cxx_skip_group(name + strlen(defaults[at]) - 1);
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
    if (cxx_is_identifier(*behind))
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
    const bool is_type = *end == '\0' || strchr(",>)[(", *end) != NULL || cxx_starts_with(end, " const");
    const char before = tidying->at[-1];
    if (!is_type || (!cxx_is_identifier(before) && strchr(">*", before) == NULL))
        return false;
    tidying->at++;
    return true;
}

static bool put_operator(struct tidying *tidying)
{
    if (!cxx_is_operator(tidying->first, tidying->at))
        return false;
    const size_t length = 8 + cxx_sign_length(tidying->at + 8);
    hp_text_bytes(tidying->out, tidying->at, length);
    tidying->at += length;
    return true;
}

static bool begins_std(const struct tidying *tidying)
{
    const char *start = tidying->at;
    while (start > tidying->first && (cxx_is_identifier(start[-1]) || start[-1] == ':'))
        start--;
    return cxx_starts_with(start, "std::");
}

static void put_bracket(struct tidying *tidying)
{
    const bool is_open = *tidying->at == '<';
    if (is_open && tidying->at > tidying->first && (cxx_is_identifier(tidying->at[-1]) || tidying->at[-1] == ' ')) {
        if (tidying->depth < MAX_DEPTH)
            tidying->is_std[tidying->depth] = begins_std(tidying);
        tidying->depth++;
    }
    const bool is_arrow = tidying->at > tidying->first && tidying->at[-1] == '-';
    if (!is_open && !is_arrow && tidying->depth > 0)
        tidying->depth--;
    hp_text_char(tidying->out, *tidying->at++);
    if (!is_open && !is_arrow && tidying->depth > 0 && cxx_starts_with(tidying->at, " >"))
        tidying->at++;
}

/* Adds `name`, which ends with a zero, to `out`. */
static void cxx_tidy(const char *name, struct hp_text *out)
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

/* ------------------------------------------------------------------------------------------------------ cxxname */

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
        if (cxx_starts_with(at, words[i]) && !cxx_is_identifier(at[strlen(words[i])]))
            return strlen(words[i]);
    return 0;
}

/* After parameters or a lambda: moves to the "::" that follows. False: the name is complete. */
static bool goes_on(struct reader *reader)
{
    const char *at = reader->at;
    for (size_t length; (length = qualifier_length(at)) > 0;)
        at += length;
    if (!cxx_starts_with(at, "::"))
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
        if (cxx_starts_with(at, "()") && at[2] != '(')
            return;
        copy_until(reader, *at == '(' || *at == '<' ? cxx_skip_group(at) : at + 1);
    }
}

/* "operator new []" and "operator new[]" are the same. False: the operator has no such name. */
static bool read_named_operator(struct reader *reader)
{
    static const char *const names[] = {" new", " delete", " co_await"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *end = reader->at + strlen(names[i]);
        if (!cxx_starts_with(reader->at, names[i]) || cxx_is_identifier(*end))
            continue;
        copy_until(reader, end);
        end += *end == ' ';
        if (cxx_starts_with(end, "[]")) {
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
    while (cxx_is_identifier(*end))
        end++;
    copy_until(reader, end);
}

static void read_operator(struct reader *reader)
{
    copy_until(reader, reader->at + 8);
    const size_t sign = cxx_sign_length(reader->at);
    if (sign > 0) {
        copy_until(reader, reader->at + sign);
        if (cxx_starts_with(reader->at, " <"))
            copy_until(reader, cxx_skip_group(reader->at + 1));
        return;
    }
    const char *quotes = reader->at + (*reader->at == ' ');
    if (cxx_starts_with(quotes, "\"\"")) {
        reader->at = quotes;
        read_literal_operator(reader);
    } else if (!read_named_operator(reader)) {
        read_conversion(reader);
    }
}

/* gcc: <lambda(int)>, <unnamed struct>, or template arguments. False: the name is complete. */
static bool read_angle(struct reader *reader)
{
    const char *end = cxx_skip_group(reader->at);
    if (cxx_starts_with(reader->at, "<lambda")) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end;
        return goes_on(reader);
    }
    if (cxx_starts_with(reader->at, "<unnamed ") && end[-1] == '>') {
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
    reader->at = cxx_starts_with(end, call) ? end + strlen(call) : end;
}

static bool read_brace(struct reader *reader)
{
    if (cxx_starts_with(reader->at, "{lambda(")) {
        read_closure(reader, cxx_skip_group(reader->at));
        return true;
    }
    if (!cxx_starts_with(reader->at, "{anonymous}")) {
        copy_until(reader, cxx_skip_group(reader->at));
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
    const char *end = cxx_skip_group(reader->at);
    const bool is_class =
        cxx_starts_with(reader->at, "(anonymous class)") || cxx_starts_with(reader->at, "(lambda");
    if (is_class && cxx_starts_with(end, call)) {
        hp_text_string(&reader->name, "<lambda>");
        reader->at = end + strlen(call);
    } else {
        copy_until(reader, end);
    }
}

/* False: these were the parameters, and the name is complete. */
static bool read_parenthesis(struct reader *reader)
{
    if (cxx_starts_with(reader->at, "(anonymous ") || cxx_starts_with(reader->at, "(lambda")) {
        read_anonymous(reader);
        return true;
    }
    if (reader->is_after_decltype || name_is(reader, "decltype")) {
        begin_name(reader);
        reader->at = cxx_skip_group(reader->at);
        return true;
    }
    if (reader->name.length == 0) {
        reader->at++;
        return true;
    }
    reader->parameters = reader->at;
    reader->at = reader->parameters_end = cxx_skip_group(reader->at);
    return goes_on(reader);
}

/* The end of clang's name of an unnamed class, if its call operator follows; else NULL. */
static const char *end_of_numbered(const char *at)
{
    if (!cxx_starts_with(at, "$_"))
        return NULL;
    at += 2;
    while (*at >= '0' && *at <= '9')
        at++;
    return cxx_starts_with(at, "::operator()") ? at : NULL;
}

/* Reads the next piece. False: the name is complete. */
static bool read_piece(struct reader *reader, const char *pretty)
{
    if (cxx_is_operator(pretty, reader->at)) {
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
        reader->at = cxx_skip_group(reader->at);
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
    cxx_bindings_find(pretty, &bindings);
    cxx_bindings_put(&bindings, name, outer, true, out);
    cxx_bindings_put_own(&bindings, name, false, out);
    cxx_bindings_put(&bindings, name + outer, length - outer, true, out);
    cxx_bindings_put_own(&bindings, name, true, out);
}

/* "(int, char) const" */
static void put_parameters(const struct reader *reader, const char *pretty, struct hp_text *out)
{
    struct hp_cxx_bindings bindings;
    const char *end = reader->parameters_end;
    cxx_bindings_find(pretty, &bindings);
    cxx_bindings_put(&bindings, reader->parameters, (size_t)(end - reader->parameters), false, out);
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
    cxx_tidy(work, &tidy);
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
    const bool is_known = *rest == '\0' || cxx_starts_with(rest, " [");
    if (!is_function || reader.parameters == NULL || !is_known || !put_readable(&reader, pretty, true, out, size))
        put_nothing(out, size);
    return size > 0 ? strlen(out) : 0;
}

size_t hp_cxx_bare_name(const char *name, char *out, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, out, size);
    for (const char *at = name; *at != '\0';) {
        const bool is_operator = cxx_is_operator(name, at);
        const size_t length = is_operator ? 8 + cxx_sign_length(at + 8) : 1;
        const char *bracket = at + (*at == ' '); /* "operator< <int>" */
        if (*bracket == '<' && !cxx_starts_with(bracket, "<lambda>")) {
            at = cxx_skip_group(bracket);
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
    if (cxx_starts_with(at, "St")) {
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
