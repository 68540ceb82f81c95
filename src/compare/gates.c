/* Runs judged by a policy. SPDX-License-Identifier: MIT */
#include "gates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "growing_array.h"
#include "metric_types.h"
#include "text.h"
#include "units.h"

struct judging {
    struct hp_gates *gates;
    const struct hp_policy *policy;
    const struct hp_comparison *comparison;
    char bytes[400]; /* of the text below */
    struct hp_text text;
};

/* ----------------------------------------------------------------------------------------------------- findings */

static struct hp_text *begin(struct judging *judging)
{
    hp_text_init(&judging->text, judging->bytes, sizeof judging->bytes);
    return &judging->text;
}

/* What was written since `begin`. `function` is its number; SIZE_MAX: none. */
static void find(struct judging *judging, enum hp_finding_kind kind, const char *rule, const char *name,
                 size_t function)
{
    struct hp_gates *gates = judging->gates;
    const struct hp_measured_function *now =
        function != SIZE_MAX ? hp_comparison_now(judging->comparison, function) : NULL;
    const char *text = hp_text_end(&judging->text);
    const char *copy = hp_arena_copy(&gates->arena, text, strlen(text));
    gates->broken += kind == HP_FINDING_BROKEN;
    gates->unjudged += kind == HP_FINDING_UNJUDGED;
    if (copy == NULL || !HP_MAKE_ROOM(gates->findings, gates->count + 1, gates->room)) {
        gates->has_no_memory = true;
        return;
    }
    gates->findings[gates->count++] = (struct hp_finding){.kind = kind,
                                                          .rule = rule,
                                                          .name = name,
                                                          .path = now != NULL ? now->path : "",
                                                          .line = now != NULL ? now->line : 0,
                                                          .text = copy};
}

static const char *keep_rule(struct judging *judging, const char *what, const char *key)
{
    char bytes[80];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_format(&text, "%s %s", what, key);
    const char *rule = hp_text_end(&text), *copy = hp_arena_copy(&judging->gates->arena, rule, strlen(rule));
    judging->gates->has_no_memory = judging->gates->has_no_memory || copy == NULL;
    return copy != NULL ? copy : "";
}

static void put_percent_of(struct hp_text *text, double percent)
{
    hp_text_string(text, percent < 0 ? "-" : "+");
    hp_text_fixed(text, fabs(percent), 1);
    hp_text_string(text, " %");
}

static void put_limit(struct hp_text *text, double percent)
{
    hp_text_string(text, "limit ");
    hp_text_real(text, percent, 4);
    hp_text_string(text, " %");
}

/* ------------------------------------------------------------------------------------------------------ budgets */

static void judge_budget_of(struct judging *judging, const struct hp_budget *budget, const char *rule,
                            size_t function)
{
    const struct hp_compared_function *compared = &judging->comparison->functions[function];
    struct hp_text *text = begin(judging);
    const char *what = budget->is_instructions ? "instructions" : hp_metric_types[budget->metric].name;
    double most;
    if (!hp_comparison_most(judging->comparison, function, budget->metric, &most) ||
        (budget->is_instructions && !hp_comparison_counts_instructions(judging->comparison))) {
        hp_text_format(text, "no %s in the reports%s", what,
                       budget->is_instructions ? ": they need a clock that counts them" : "");
        find(judging, HP_FINDING_UNJUDGED, rule, compared->name, function);
    } else if (most > budget->most) {
        hp_text_format(text, "%s ", what);
        hp_metric_put(text, budget->is_instructions ? HP_METRIC_CALLS : budget->metric, most);
        hp_text_string(text, ", budget ");
        hp_metric_put(text, budget->is_instructions ? HP_METRIC_CALLS : budget->metric, budget->most);
        find(judging, HP_FINDING_BROKEN, rule, compared->name, function);
    } else {
        judging->gates->held++;
    }
}

/* A name that no function has would hold for ever, whatever the program does. */
static void judge_budget(struct judging *judging, const struct hp_budget *budget)
{
    const struct hp_comparison *comparison = judging->comparison;
    const char *rule = keep_rule(judging, "budget",
                                 budget->is_instructions ? "instructions" : hp_metric_types[budget->metric].name);
    size_t matches = 0;
    for (size_t at = 0; at < comparison->count; at++) {
        const struct hp_measured_function *now = hp_comparison_now(comparison, at);
        if (now == NULL || !hp_policy_matches(budget->pattern, now->name, now->path))
            continue;
        judge_budget_of(judging, budget, rule, at);
        matches++;
    }
    const bool may_be_missing = budget->is_optional || (budget->metric == HP_METRIC_CALLS && budget->most <= 0);
    if (matches > 0)
        return;
    if (may_be_missing) {
        judging->gates->held++;
        return;
    }
    hp_text_string(begin(judging), "no function of these runs has that name; 'optional = true' allows it");
    find(judging, HP_FINDING_UNJUDGED, rule, budget->pattern, SIZE_MAX);
}

/* ------------------------------------------------------------------------------------------------------- limits */

static const struct {
    enum hp_limited what;
    enum hp_metric metric;
} exact_limits[] = {{HP_LIMITED_CALLS, HP_METRIC_CALLS},
                    {HP_LIMITED_ALLOCATIONS, HP_METRIC_ALLOCATIONS},
                    {HP_LIMITED_BYTES, HP_METRIC_BYTES},
                    {HP_LIMITED_PEAK, HP_METRIC_PEAK},
                    {HP_LIMITED_INSTRUCTIONS, HP_METRIC_INSTRUCTIONS}};

static double growth(double before, double now)
{
    return before > 0 ? 100 * (now - before) / before : now > 0 ? INFINITY : 0;
}

/*
 * Numbers that differ among runs of a side have grown if each run now has more than any before, by more than the
 * limit.
 */
static void judge_exact_limit(struct judging *judging, size_t function, enum hp_limited what, enum hp_metric metric)
{
    const struct hp_compared_function *compared = &judging->comparison->functions[function];
    const double limit = hp_policy_limit(judging->policy, what, compared->name, compared->file);
    const enum hp_exact exact = compared->exact[metric];
    double before, now;
    if (isinf(limit) || exact == HP_EXACT_UNKNOWN ||
        !hp_comparison_range(judging->comparison, function, metric, &before, &now))
        return;
    const double percent = growth(before, now);
    struct hp_text *text = begin(judging);
    hp_text_format(text, "%s ", hp_metric_types[metric].name);
    if (percent > limit) {
        hp_metric_put(text, metric, before);
        hp_text_string(text, " -> ");
        hp_metric_put(text, metric, now);
        if (!isinf(percent)) {
            hp_text_string(text, " (");
            put_percent_of(text, percent);
            hp_text_char(text, ')');
        }
        hp_text_string(text, ", ");
        put_limit(text, limit);
        find(judging, HP_FINDING_BROKEN, keep_rule(judging, "limit", hp_limited_name(what)), compared->name,
             function);
    } else if (exact == HP_EXACT_UNSTEADY && limit <= 0) {
        hp_text_string(text, "are not repeatable, so their limit of 0 % was not judged");
        find(judging, HP_FINDING_ADVICE, "not repeatable", compared->name, function);
    } else {
        judging->gates->held++;
    }
}

/* Once, and not as success: instructions of at least one side were counted, and have a limit. */
static void judge_clocks(struct judging *judging)
{
    const struct hp_comparison *comparison = judging->comparison;
    bool is_counted = false;
    for (size_t run = 0; run < comparison->before_count + comparison->now_count; run++)
        is_counted = is_counted || hp_text_begins(comparison->runs[run].clock, "instructions");
    if (!is_counted || comparison->is_of_one_clock ||
        isinf(hp_policy_limit(judging->policy, HP_LIMITED_INSTRUCTIONS, "", "")))
        return;
    hp_text_string(begin(judging),
                   "were counted by another clock, so they were not judged; --gate instructions=off "
                   "leaves them out");
    find(judging, HP_FINDING_UNJUDGED, "limit instructions", "instructions", SIZE_MAX);
}

static void put_change(struct hp_text *text, const struct hp_judged_row *row)
{
    put_percent_of(text, hp_percent_of_change(row->change));
    if (!isfinite(row->low) || !isfinite(row->high))
        return;
    hp_text_string(text, " (95 %: ");
    put_percent_of(text, hp_percent_of_change(row->low));
    hp_text_string(text, " to ");
    put_percent_of(text, hp_percent_of_change(row->high));
    hp_text_char(text, ')');
}

/* A time is above its limit if the lower end of its interval is. */
static void judge_time(struct judging *judging, const struct hp_judged_row *row, double limit, const char *what,
                       const char *rule, const char *name, size_t function)
{
    struct hp_text *text = begin(judging);
    const bool is_limited = !isinf(limit);
    hp_text_format(text, "%s ", what);
    if (row->verdict == HP_VERDICT_UNJUDGED) {
        if (!is_limited)
            return;
        hp_text_format(text, "was not judged: this needs %u runs on each side", HP_JUDGE_LEAST_RUNS);
        find(judging, HP_FINDING_UNJUDGED, rule, name, function);
        return;
    }
    put_change(text, row);
    if (is_limited && row->verdict == HP_VERDICT_SLOWER && hp_percent_of_change(row->low) > limit) {
        hp_text_string(text, ", ");
        put_limit(text, limit);
        find(judging, HP_FINDING_BROKEN, rule, name, function);
    } else if (row->verdict == HP_VERDICT_SLOWER) {
        hp_text_string(text, is_limited ? ", within its limit" : ", which has no limit");
        find(judging, HP_FINDING_ADVICE, rule, name, function);
        judging->gates->held += is_limited;
    } else {
        judging->gates->held += is_limited;
    }
}

static void judge_times(struct judging *judging)
{
    const struct hp_comparison *comparison = judging->comparison;
    const double of_total = hp_policy_limit(judging->policy, HP_LIMITED_TOTAL, "", "");
    judge_time(judging, &comparison->total, of_total, comparison->is_of_cpu ? "CPU time" : "time from start to end",
               "limit total", "", SIZE_MAX);
    if (comparison->has_common)
        judge_time(judging, &comparison->common, of_total, "all functions", "limit total", "", SIZE_MAX);
    for (size_t at = 0; at < comparison->count; at++) {
        const struct hp_compared_function *function = &comparison->functions[at];
        if (function->is_row)
            judge_time(judging, &function->judged,
                       hp_policy_limit(judging->policy, HP_LIMITED_TIME, function->name, function->file),
                       comparison->is_sampled ? "samples" : "own time", "limit time", function->name, at);
    }
}

/* ---------------------------------------------------------------------------------------------------------- all */

/* Broken gates first; a kind keeps its order. */
static void sort(struct hp_gates *gates)
{
    struct hp_finding *sorted = malloc((gates->count + 1) * sizeof *sorted);
    size_t count = 0;
    if (sorted == NULL) {
        gates->has_no_memory = true;
        return;
    }
    for (enum hp_finding_kind kind = 0; kind <= HP_FINDING_ADVICE; kind++)
        for (size_t at = 0; at < gates->count; at++)
            if (gates->findings[at].kind == kind)
                sorted[count++] = gates->findings[at];
    free(gates->findings);
    gates->findings = sorted;
}

bool hp_gates_judge(struct hp_gates *gates, const struct hp_policy *policy, const struct hp_comparison *comparison,
                    bool has_baseline, bool is_exact_only)
{
    struct judging judging = {.gates = gates, .policy = policy, .comparison = comparison};
    *gates = (struct hp_gates){0};
    for (size_t at = 0; at < policy->budget_count; at++)
        judge_budget(&judging, &policy->budgets[at]);
    for (size_t at = 0; has_baseline && at < comparison->count; at++)
        for (size_t number = 0; number < sizeof exact_limits / sizeof exact_limits[0]; number++)
            judge_exact_limit(&judging, at, exact_limits[number].what, exact_limits[number].metric);
    if (has_baseline)
        judge_clocks(&judging);
    if (has_baseline && !is_exact_only)
        judge_times(&judging);
    sort(gates);
    return !gates->has_no_memory;
}

void hp_gates_free(struct hp_gates *gates)
{
    free(gates->findings);
    hp_arena_release(&gates->arena);
    *gates = (struct hp_gates){0};
}
