/*
 * What `hotpath check` demands of runs: budgets of functions, and limits of changes against a baseline. Read from a
 * policy, which is TOML: tables, strings, numbers and comments. docs/ci.md describes it.
 *
 *     [budget."parse_*"]     a name, or a list of patterns as in HOTPATH_FILTER
 *     calls = 1000
 *     p99 = "2ms"
 *     [limit]                for all functions; [limit."parse_*"] for these
 *     time = "5%"
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HP_COMPARE_POLICY_H
#define HP_COMPARE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "measured_run.h"

/* The most that a function may have. */
struct hp_budget {
    const char *pattern;
    enum hp_metric metric;
    double most;
    bool is_instructions; /* of its self time by a clock that counts them */
    bool is_optional;     /* no function needs to match */
};

/* What changes are limited. */
enum hp_limited {
    HP_LIMITED_CALLS,
    HP_LIMITED_ALLOCATIONS,
    HP_LIMITED_BYTES,
    HP_LIMITED_PEAK,
    HP_LIMITED_INSTRUCTIONS,
    HP_LIMITED_TIME,
    HP_LIMITED_TOTAL,
    HP_LIMITED
};

/* How much more a number may be than in the baseline. */
struct hp_limit {
    const char *pattern; /* NULL: of all functions */
    enum hp_limited what;
    double percent; /* INFINITY: any change is allowed */
};

struct hp_policy {
    struct hp_arena arena;
    struct hp_budget *budgets;
    size_t budget_count, budget_room;
    struct hp_limit *limits; /* the last one that matches counts */
    size_t limit_count, limit_room;
};

/*
 * Exact numbers may not grow, time may: it is advice. Call it first. False: no memory. Free the policy in either
 * case.
 */
bool hp_policy_begin(struct hp_policy *policy);

/* Adds what a text says. False: `problem` has "3: what is wrong", with the number of the line. */
bool hp_policy_read(struct hp_policy *policy, const char *text, size_t length, char *problem, size_t size);

/* Adds limits from a list such as "time=5%,peak=off". False: `problem` says what is wrong. */
bool hp_policy_read_gates(struct hp_policy *policy, const char *list, char *problem, size_t size);

void hp_policy_free(struct hp_policy *policy);

/* "calls", "time". */
const char *hp_limited_name(enum hp_limited what);

/* Whether a function is meant by a pattern, which was checked when it was read. */
bool hp_policy_matches(const char *pattern, const char *name, const char *file);

/* How much more is allowed of a function, in percent. */
double hp_policy_limit(const struct hp_policy *policy, enum hp_limited what, const char *name, const char *file);

#endif
