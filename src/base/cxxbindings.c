/* Template arguments in signatures of C++. SPDX-License-Identifier: MIT */
#include "cxxbindings.h"

#include <string.h>

#include "cxxtext.h"

struct binding {
    const char *key, *key_end; /* "T", or "int N" */
    const char *name, *name_end;
    const char *value, *value_end;
};

/* ------------------------------------------------------------------------------------------------ finding */

/* One step in a text: a whole group, a literal, an operator, or one character. */
static const char *step(const char *first, const char *at)
{
    if (hp_cxx_is_operator(first, at))
        return at + 8 + hp_cxx_sign_length(at + 8);
    if (*at == '\'')
        return hp_cxx_skip_character(at);
    return strchr("([{<", *at) != NULL ? hp_cxx_skip_group(at) : at + 1;
}

void hp_cxx_bindings_find(const char *pretty, struct hp_cxx_bindings *ret_bindings)
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
        if (hp_cxx_skip_group(at + 1) == pretty + length && strstr(at, " = ") != NULL)
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
    if (parenthesis != NULL && !hp_cxx_starts_with(binding->key, "decltype"))
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
        if (equals == NULL && hp_cxx_starts_with(end, " = "))
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
    return hp_cxx_is_identifier(*at) && (at == first || (!hp_cxx_is_identifier(at[-1]) && at[-1] != ':'));
}

static const char *word_end(const char *at, const char *end)
{
    while (at < end && hp_cxx_is_identifier(*at))
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
        if (hp_cxx_starts_with(at, lambda) && end[-1] == '>') {
            hp_text_string(out, "lambda");
            return;
        }
    if (hp_cxx_starts_with(value, "(lambda at "))
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
        if (hp_cxx_is_operator(name, before)) {
            const size_t sign = hp_cxx_sign_length(before + 8);
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

void hp_cxx_bindings_put(const struct hp_cxx_bindings *bindings, const char *text, size_t length, bool is_name,
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
    if (hp_cxx_starts_with(binding->key, "typename ") || hp_cxx_starts_with(binding->key, "decltype"))
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
        if (*at != '<' || hp_cxx_starts_with(at, "<lambda>"))
            continue;
        const char *const end = hp_cxx_skip_group(at);
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
        if (hp_cxx_is_operator(name, at))
            return at[8] == ' ' && !hp_cxx_starts_with(at, "operator new") &&
                   !hp_cxx_starts_with(at, "operator delete") && hp_cxx_is_identifier(at[9]);
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

void hp_cxx_bindings_put_own(const struct hp_cxx_bindings *bindings, const char *name, bool of_lambda,
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
