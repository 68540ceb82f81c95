/* What `hotpath check` demands of runs. SPDX-License-Identifier: MIT */
#include "policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "pattern_list.h"
#include "text.h"
#include "units.h"

#define MOST_TEXT 1024u

/* ------------------------------------------------------------------------------------------------------- words */

#define USUAL_INSTRUCTIONS 1.0 /* percent: a caller may be laid out differently around what has changed */

enum kind { KIND_COUNT, KIND_BYTES, KIND_TIME };

static const struct budget_key {
    const char *key;
    enum hp_metric metric;
    enum kind kind;
    bool is_instructions;
} budget_keys[] = {
    {"calls", HP_METRIC_CALLS, KIND_COUNT, false},    {"allocations", HP_METRIC_ALLOCATIONS, KIND_COUNT, false},
    {"bytes", HP_METRIC_BYTES, KIND_BYTES, false},    {"peak", HP_METRIC_PEAK, KIND_BYTES, false},
    {"typical", HP_METRIC_TYPICAL, KIND_TIME, false}, {"p50", HP_METRIC_P50, KIND_TIME, false},
    {"p90", HP_METRIC_P90, KIND_TIME, false},         {"p95", HP_METRIC_P95, KIND_TIME, false},
    {"p99", HP_METRIC_P99, KIND_TIME, false},         {"p99_9", HP_METRIC_P99_9, KIND_TIME, false},
    {"max", HP_METRIC_MAX, KIND_TIME, false},         {"self", HP_METRIC_SELF, KIND_TIME, false},
    {"total", HP_METRIC_TOTAL, KIND_TIME, false},     {"cpu", HP_METRIC_CPU, KIND_TIME, false},
    {"waiting", HP_METRIC_WAITING, KIND_TIME, false}, {"instructions", HP_METRIC_INSTRUCTIONS, KIND_COUNT, true},
};

#define BUDGET_KEYS (sizeof budget_keys / sizeof budget_keys[0])

const char *hp_limited_name(enum hp_limited what)
{
    static const char *const names[HP_LIMITED] = {"calls",        "allocations", "bytes", "peak",
                                                  "instructions", "time",        "total"};
    return names[what];
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* "2ms", "1.5 us", "3s" */
static bool read_time(const char *text, size_t length, double *ret_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t at = 0; at < sizeof units / sizeof units[0]; at++) {
        const size_t size = strlen(units[at].name);
        if (length <= size || memcmp(text + length - size, units[at].name, size) != 0)
            continue;
        size_t digits = length - size;
        while (digits > 0 && text[digits - 1] == ' ')
            digits--;
        if (!hp_number_decimal(text, digits, ret_ns))
            continue;
        *ret_ns *= units[at].ns;
        return true;
    }
    return false;
}

static bool read_amount(enum kind kind, const char *text, size_t length, bool is_number, double *ret_amount)
{
    uint64_t bytes;
    if (kind == KIND_TIME)
        return !is_number && read_time(text, length, ret_amount);
    if (kind == KIND_BYTES && hp_number_bytes(text, length, UINT64_C(1) << 60, &bytes)) {
        *ret_amount = (double)bytes;
        return true;
    }
    return hp_number_decimal(text, length, ret_amount);
}

/* "5%", "5", "off" */
static bool read_percent(const char *text, size_t length, double *ret_percent)
{
    *ret_percent = INFINITY;
    if (hp_text_equal_nocase(text, length, "off"))
        return true;
    while (length > 0 && (text[length - 1] == '%' || text[length - 1] == ' '))
        length--;
    return hp_number_decimal(text, length, ret_percent);
}

/* -------------------------------------------------------------------------------------------------- its entries */

static bool add_limit(struct hp_policy *policy, const char *pattern, enum hp_limited what, double percent)
{
    if (!HP_MAKE_ROOM(policy->limits, policy->limit_count + 1, policy->limit_room))
        return false;
    policy->limits[policy->limit_count++] = (struct hp_limit){pattern, what, percent};
    return true;
}

bool hp_policy_begin(struct hp_policy *policy)
{
    *policy = (struct hp_policy){0};
    for (enum hp_limited what = 0; what < HP_LIMITED; what++)
        if (!add_limit(policy, NULL, what,
                       what == HP_LIMITED_INSTRUCTIONS ? USUAL_INSTRUCTIONS
                       : what < HP_LIMITED_TIME        ? 0
                                                       : INFINITY))
            return false;
    return true;
}

void hp_policy_free(struct hp_policy *policy)
{
    free(policy->budgets);
    free(policy->limits);
    hp_arena_release(&policy->arena);
    *policy = (struct hp_policy){0};
}

/* One list is compiled at a time: they are large. NULL: it is none; `problem` says why. */
static const struct hp_pattern_list *compile(const char *pattern, struct hp_text *problem)
{
    static struct hp_pattern_list list;
    static char latest[MOST_TEXT];
    if (latest[0] != '\0' && strcmp(latest, pattern) == 0)
        return &list;
    latest[0] = '\0';
    if (!hp_pattern_list_compile(&list, pattern, false, problem))
        return NULL;
    snprintf(latest, sizeof latest, "%s", pattern);
    return &list;
}

/* A plain name means that function, and not all whose names contain it. */
static bool is_plain(const char *pattern) { return strpbrk(pattern, "*?/,\\@:") == NULL && pattern[0] != '-'; }

bool hp_policy_matches(const char *pattern, const char *name, const char *file)
{
    if (pattern == NULL || strcmp(pattern, name) == 0)
        return true;
    if (is_plain(pattern))
        return false;
    const struct hp_pattern_list *list = compile(pattern, NULL);
    const struct hp_pattern_subject subject = {.names = {name}, .files = {file}};
    return list != NULL && hp_pattern_list_chooses(list, &subject);
}

double hp_policy_limit(const struct hp_policy *policy, enum hp_limited what, const char *name, const char *file)
{
    for (size_t at = policy->limit_count; at > 0; at--)
        if (policy->limits[at - 1].what == what && hp_policy_matches(policy->limits[at - 1].pattern, name, file))
            return policy->limits[at - 1].percent;
    return INFINITY;
}

/* ------------------------------------------------------------------------------------------------------ reading */

struct reading {
    struct hp_policy *policy;
    const char *at, *end; /* of the line */
    const char *pattern;  /* of the table; NULL: none */
    bool is_budget, is_limit;
    size_t first_budget; /* of the table */
    bool is_optional;
    char problem[200];
};

static bool fail(struct reading *reading, const char *problem)
{
    snprintf(reading->problem, sizeof reading->problem, "%s", problem);
    return false;
}

static void skip_blanks(struct reading *reading)
{
    while (reading->at < reading->end && is_blank(*reading->at))
        reading->at++;
}

static bool is_at_end(struct reading *reading)
{
    skip_blanks(reading);
    return reading->at == reading->end || *reading->at == '#';
}

/* Between quotes; in single ones without escapes. */
static bool read_string(struct reading *reading, char *text)
{
    const char quote = *reading->at++;
    size_t length = 0;
    for (; reading->at < reading->end && *reading->at != quote; reading->at++) {
        if (*reading->at == '\\' && quote == '"' && ++reading->at < reading->end &&
            strchr("\"\\", *reading->at) == NULL)
            return fail(reading, "only \\\" and \\\\ are known after a backslash; use single quotes");
        if (reading->at == reading->end || *reading->at == '\0' || length + 1 == MOST_TEXT)
            return fail(reading, "the string is too long");
        text[length++] = *reading->at;
    }
    text[length] = '\0';
    if (reading->at == reading->end)
        return fail(reading, "the string has no end");
    reading->at++;
    return true;
}

/* A word of letters, digits, - and _, or a string. */
static bool read_key(struct reading *reading, char *text)
{
    size_t length = 0;
    skip_blanks(reading);
    if (reading->at < reading->end && (*reading->at == '"' || *reading->at == '\''))
        return read_string(reading, text);
    while (reading->at < reading->end && length + 1 < MOST_TEXT &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", *reading->at) != NULL &&
           *reading->at != '\0')
        text[length++] = *reading->at++;
    text[length] = '\0';
    return length > 0 || fail(reading, "a key is missing");
}

static const char *keep(struct reading *reading, const char *text)
{
    const char *copy = hp_arena_copy(&reading->policy->arena, text, strlen(text));
    if (copy == NULL)
        fail(reading, "not enough memory");
    return copy;
}

static bool read_table(struct reading *reading)
{
    static char name[MOST_TEXT], pattern[MOST_TEXT];
    struct hp_text problem;
    reading->at++;
    pattern[0] = '\0';
    if (reading->at < reading->end && *reading->at == '[')
        return fail(reading, "lists of tables ([[...]]) have no meaning here");
    if (!read_key(reading, name))
        return false;
    skip_blanks(reading);
    if (reading->at < reading->end && *reading->at == '.') {
        reading->at++;
        if (!read_key(reading, pattern))
            return false;
        skip_blanks(reading);
    }
    if (reading->at == reading->end || *reading->at++ != ']' || !is_at_end(reading))
        return fail(reading, "a table is [budget.\"NAME\"], [limit] or [limit.\"NAME\"]");
    reading->is_budget = strcmp(name, "budget") == 0;
    reading->is_limit = strcmp(name, "limit") == 0;
    reading->first_budget = reading->policy->budget_count;
    reading->is_optional = false;
    reading->pattern = pattern[0] != '\0' ? keep(reading, pattern) : NULL;
    if (!reading->is_budget && !reading->is_limit)
        return fail(reading, "no such table: it is [budget.\"NAME\"], [limit] or [limit.\"NAME\"]");
    if (reading->is_budget && pattern[0] == '\0')
        return fail(reading, "a budget needs a name: [budget.\"NAME\"]");
    hp_text_init(&problem, reading->problem, sizeof reading->problem);
    if (pattern[0] != '\0' && !is_plain(pattern) && compile(pattern, &problem) == NULL)
        return hp_text_end(&problem), false;
    return pattern[0] == '\0' || reading->pattern != NULL;
}

/* What is written without quotes: a number, true or false. TOML allows an underscore between digits. */
static void read_bare(struct reading *reading, char *text)
{
    size_t length = 0;
    for (; reading->at < reading->end && !is_blank(*reading->at) && *reading->at != '#'; reading->at++)
        if (*reading->at != '_' && length + 1 < MOST_TEXT)
            text[length++] = *reading->at;
    text[length] = '\0';
}

static bool take_budget(struct reading *reading, const char *key, const char *value, bool is_bare)
{
    struct hp_policy *policy = reading->policy;
    size_t at = 0;
    double most;
    if (strcmp(key, "optional") == 0) {
        reading->is_optional = strcmp(value, "true") == 0;
        if (!is_bare || (!reading->is_optional && strcmp(value, "false") != 0))
            return fail(reading, "optional is true or false");
        for (size_t budget = reading->first_budget; budget < policy->budget_count; budget++)
            policy->budgets[budget].is_optional = reading->is_optional;
        return true;
    }
    while (at < BUDGET_KEYS && strcmp(budget_keys[at].key, key) != 0)
        at++;
    if (at == BUDGET_KEYS)
        return fail(reading,
                    "no such budget; there are calls, allocations, bytes, peak, typical, p50, p90, p95, p99, "
                    "p99_9, max, self, total, cpu, waiting, instructions, and optional");
    if (!read_amount(budget_keys[at].kind, value, strlen(value), is_bare, &most))
        return fail(reading, budget_keys[at].kind == KIND_TIME    ? "is no time such as \"2ms\""
                             : budget_keys[at].kind == KIND_BYTES ? "is no size such as \"64KB\" or 65536"
                                                                  : "is no number");
    if (!HP_MAKE_ROOM(policy->budgets, policy->budget_count + 1, policy->budget_room))
        return fail(reading, "not enough memory");
    policy->budgets[policy->budget_count++] = (struct hp_budget){.pattern = reading->pattern,
                                                                 .metric = budget_keys[at].metric,
                                                                 .most = most,
                                                                 .is_instructions = budget_keys[at].is_instructions,
                                                                 .is_optional = reading->is_optional};
    return true;
}

static bool take_limit(struct reading *reading, const char *key, const char *value)
{
    double percent;
    enum hp_limited what = 0;
    while (what < HP_LIMITED && strcmp(hp_limited_name(what), key) != 0)
        what++;
    if (what == HP_LIMITED)
        return fail(reading, "no such limit; there are calls, allocations, bytes, peak, time and total");
    if (what == HP_LIMITED_TOTAL && reading->pattern != NULL)
        return fail(reading, "total is that of the program, not of a function: it belongs in [limit]");
    if (!read_percent(value, strlen(value), &percent))
        return fail(reading, "is no limit such as \"5%\" or \"off\"");
    return add_limit(reading->policy, reading->pattern, what, percent) || fail(reading, "not enough memory");
}

static bool read_entry(struct reading *reading)
{
    static char key[MOST_TEXT], value[MOST_TEXT];
    if (!read_key(reading, key))
        return false;
    skip_blanks(reading);
    if (reading->at == reading->end || *reading->at++ != '=')
        return fail(reading, "a line is a table, or KEY = VALUE");
    skip_blanks(reading);
    const bool is_bare = reading->at == reading->end || (*reading->at != '"' && *reading->at != '\'');
    if (is_bare)
        read_bare(reading, value);
    else if (!read_string(reading, value))
        return false;
    if (!is_at_end(reading))
        return fail(reading, "more follows after the value");
    if (reading->is_budget)
        return take_budget(reading, key, value, is_bare);
    return reading->is_limit ? take_limit(reading, key, value) : fail(reading, "it is in no table");
}

bool hp_policy_read(struct hp_policy *policy, const char *text, size_t length, char *problem, size_t size)
{
    struct reading reading = {.policy = policy};
    size_t number = 1;
    for (const char *line = text, *stop = text + length; line < stop; number++) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        reading.at = line;
        reading.end = newline != NULL ? newline : stop;
        if (!is_at_end(&reading) && !(*reading.at == '[' ? read_table : read_entry)(&reading)) {
            snprintf(problem, size, "%zu: %s", number, reading.problem);
            return false;
        }
        line = newline != NULL ? newline + 1 : stop;
    }
    return true;
}

bool hp_policy_read_gates(struct hp_policy *policy, const char *list, char *problem, size_t size)
{
    struct reading reading = {.policy = policy, .is_limit = true};
    size_t length;
    for (const char *item; (item = hp_text_next_item(&list, &length)) != NULL;) {
        char key[32], value[32];
        const char *sign = memchr(item, '=', length);
        if (sign == NULL || (size_t)(sign - item) >= sizeof key || length - (size_t)(sign - item) > sizeof value) {
            snprintf(problem, size, "is not KEY=LIMIT, such as time=5%%");
            return false;
        }
        snprintf(key, sizeof key, "%.*s", (int)(sign - item), item);
        snprintf(value, sizeof value, "%.*s", (int)(item + length - sign - 1), sign + 1);
        if (!take_limit(&reading, key, value)) {
            snprintf(problem, size, "%s", reading.problem);
            return false;
        }
    }
    return true;
}
