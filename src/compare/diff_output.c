/* A comparison in words, as JSON and as Markdown. SPDX-License-Identifier: MIT */
#include "diff_output.h"

#include <math.h>
#include <string.h>

#include "json.h"
#include "metric_types.h"
#include "units.h"
#include "utf8.h"

#define DIFF_VERSION 1u
#define MOST_LINES 10u /* of one kind; the rest is counted */
#define COMMIT_DIGITS 10u

/* -------------------------------------------------------------------------------------------------------- words */

static const char *verdict_name(enum hp_verdict verdict)
{
    static const char *const names[] = {"unjudged", "same", "faster", "slower"};
    return names[verdict];
}

/* "+4.8" */
static void put_percent(struct hp_text *text, double percent)
{
    const bool is_negative = percent < 0;
    const double size = is_negative ? -percent : percent;
    hp_text_string(text, size < 0.05 ? "" : is_negative ? "-" : "+");
    hp_text_fixed(text, size, 1);
}

static void put_interval(struct hp_text *text, const struct hp_judged_row *row)
{
    put_percent(text, hp_percent_of_change(row->change));
    if (!isfinite(row->low) || !isfinite(row->high)) { /* so few runs have no interval */
        hp_text_string(text, " %");
        return;
    }
    hp_text_string(text, " % (95 %: ");
    put_percent(text, hp_percent_of_change(row->low));
    hp_text_string(text, " to ");
    put_percent(text, hp_percent_of_change(row->high));
    hp_text_string(text, " %)");
}

static void put_name(struct hp_text *text, const char *name) { hp_utf8_put_safe(text, name, strlen(name)); }

static void put_count(struct hp_text *text, size_t count, const char *what)
{
    hp_text_format(text, "%zu %s%s", count, what, count == 1 ? "" : "s");
}

/* In front of what is counted exactly in any case. */
static const char *counted(const struct hp_comparison *comparison)
{
    return hp_comparison_counts_instructions(comparison) ? "instructions, " : "";
}

static const char *verdict_words(enum hp_verdict verdict)
{
    static const char *const words[] = {"not judged", "no change that could be told", "faster", "slower"};
    return words[verdict];
}

static bool has_enough_runs(const struct hp_comparison *comparison)
{
    return comparison->before_count >= HP_JUDGE_LEAST_RUNS && comparison->now_count >= HP_JUDGE_LEAST_RUNS;
}

/* ------------------------------------------------------------------------------------------------------ in text */

/* "3 runs of ./orders"; not every report says what was run. */
static void put_runs_of(size_t count, const struct hp_measured_run *run, struct hp_text *text)
{
    put_count(text, count, "run");
    hp_text_string(text, " of ");
    put_name(text, run->command[0] != '\0' ? run->command : "an unnamed program");
}

static void put_runs(const struct hp_comparison *comparison, struct hp_text *text)
{
    put_runs_of(comparison->now_count, &comparison->runs[comparison->before_count], text);
    hp_text_string(text, " against ");
    put_runs_of(comparison->before_count, &comparison->runs[0], text);
    hp_text_string(text, comparison->pairs > 0 ? ", in turns" : "");
}

static void put_total(const struct hp_comparison *comparison, struct hp_text *text)
{
    if (hp_comparison_counts_instructions(comparison)) {
        hp_text_string(text, "instructions are counted, not time");
        return;
    }
    hp_text_string(text, comparison->is_of_cpu ? "CPU time " : "time from start to end ");
    put_interval(text, &comparison->total);
    hp_text_format(text, ": %s", verdict_words(comparison->total.verdict));
}

static void put_row(const struct hp_comparison *comparison, const struct hp_compared_function *function,
                    struct hp_text *text)
{
    hp_text_string(text, comparison->is_sampled ? "samples " : "own time ");
    put_interval(text, &function->judged);
    hp_text_format(text, ", %.0f %% of the time", 100 * function->judged.share);
    if (function->exact[HP_METRIC_CALLS] == HP_EXACT_EQUAL)
        hp_text_string(text, ", calls unchanged");
}

static void put_from_to(struct hp_text *text, enum hp_metric metric, double before, double now)
{
    hp_text_format(text, "%s ", hp_metric_types[metric].name);
    hp_metric_put(text, metric, before);
    hp_text_string(text, " -> ");
    hp_metric_put(text, metric, now);
}

/* What else is known of a function that has changed, not judged. */
static void put_details(const struct hp_comparison *comparison, size_t at, struct hp_text *text, bool is_markdown)
{
    static const enum hp_metric shown[] = {HP_METRIC_TYPICAL, HP_METRIC_P95, HP_METRIC_CPU, HP_METRIC_WAITING};
    size_t count = 0;
    for (size_t number = 0; number < sizeof shown / sizeof shown[0]; number++) {
        double before, now;
        if (!hp_comparison_value(comparison, at, shown[number], false, &before) ||
            !hp_comparison_value(comparison, at, shown[number], true, &now) || before + now <= 0)
            continue;
        hp_text_string(text, count++ > 0 ? ", " : is_markdown ? "; " : "\n         ");
        put_from_to(text, shown[number], before, now);
    }
}

/* "2.4 % or more in lookup (22 % of the time)" */
static void put_least_of(const struct hp_compared_function *function, struct hp_text *text)
{
    const double least = fmax(hp_percent_of_change(function->judged.least), 100 * HP_JUDGE_LEAST_CHANGE);
    if (least < 1e6)
        hp_text_fixed(text, least, least < 10 ? 1 : 0);
    else
        hp_text_string(text, "any number of");
    hp_text_string(text, " % or more in ");
    put_name(text, function->name);
    hp_text_format(text, " (%.0f %% of the time)", 100 * function->judged.share);
}

/* What would have shown. */
static void put_least(const struct hp_comparison *comparison, struct hp_text *text)
{
    if (comparison->row_count == 0) {
        hp_text_string(text, "no function has 1 % of the time in every run, so no time was judged");
        return;
    }
    hp_text_string(text, "no change that could be told; ");
    put_least_of(&comparison->functions[comparison->largest], text);
    if (comparison->worst != comparison->largest) {
        hp_text_string(text, ", ");
        put_least_of(&comparison->functions[comparison->worst], text);
    }
    hp_text_string(text, " would have shown");
}

static void put_exact(const struct hp_comparison *comparison, size_t at, enum hp_metric metric,
                      struct hp_text *text)
{
    double before, now;
    hp_comparison_value(comparison, at, metric, false, &before);
    hp_comparison_value(comparison, at, metric, true, &now);
    put_from_to(text, metric, before, now);
    if (before > 0) {
        hp_text_string(text, " (");
        put_percent(text, 100 * (now / before - 1));
        hp_text_string(text, " %)");
    }
}

/* One line: "slower   encode   own time +4.7 % ..." */
static void begin_line(struct hp_text *text, const char *what, const char *name, bool is_markdown)
{
    if (is_markdown) {
        hp_text_format(text, "| %s | ", what);
        if (name != NULL) {
            hp_text_char(text, '`');
            for (const char *at = name; *at != '\0';) { /* a bar or a quote would end the cell or the code */
                const size_t length = strcspn(at, "`|");
                hp_utf8_put_safe(text, at, length);
                at += length;
                if (*at != '\0')
                    hp_text_char(text, *at++ == '|' ? '/' : '\'');
            }
            hp_text_char(text, '`');
        }
        hp_text_string(text, " | ");
        return;
    }
    hp_text_string(text, what);
    hp_text_repeat(text, ' ', strlen(what) < 9 ? 9 - strlen(what) : 1);
    if (name != NULL) {
        put_name(text, name);
        hp_text_string(text, "   ");
    }
}

static void end_line(struct hp_text *text, bool is_markdown) { hp_text_string(text, is_markdown ? " |\n" : "\n"); }

static size_t most_lines(const struct hp_comparison *comparison)
{
    return comparison->most_lines > 0 ? comparison->most_lines : MOST_LINES;
}

/* How many lines of one kind there are, and how many are left out. */
static void put_left_out(const struct hp_comparison *comparison, struct hp_text *text, const char *what,
                         size_t count, bool is_markdown)
{
    const size_t most = most_lines(comparison);
    if (count <= most)
        return;
    begin_line(text, what, NULL, is_markdown);
    hp_text_format(text, comparison->most_lines > 0 ? "and %zu more" : "and %zu more; --format json has all",
                   count - most);
    end_line(text, is_markdown);
}

/* The deepest function that explains a change comes before it. */
static void put_slow_callee(const struct hp_compared_function *function, struct hp_text *text, bool is_markdown)
{
    if (function->slow_callee == NULL)
        return;
    begin_line(text, verdict_name(function->judged.verdict), function->slow_callee, is_markdown);
    hp_text_string(text, "only its slow calls: ");
    put_from_to(text, HP_METRIC_P95, function->slow_before, function->slow_now);
    hp_text_string(text, "; this may be the change of ");
    put_name(text, function->name);
    end_line(text, is_markdown);
}

static void put_rows(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    const bool are_judged = has_enough_runs(comparison);
    size_t count = 0;
    for (size_t at = 0; at < comparison->count; at++) {
        const struct hp_compared_function *function = &comparison->functions[at];
        if (!function->is_row || (are_judged && function->judged.verdict == HP_VERDICT_SAME))
            continue;
        if (count++ >= most_lines(comparison))
            continue;
        put_slow_callee(function, text, is_markdown);
        begin_line(text, verdict_name(function->judged.verdict), function->name, is_markdown);
        put_row(comparison, function, text);
        if (function->judged.verdict > HP_VERDICT_SAME)
            put_details(comparison, at, text, is_markdown);
        end_line(text, is_markdown);
    }
    put_left_out(comparison, text, are_judged ? "slower or faster" : "unjudged", count, is_markdown);
}

static void put_exact_rows(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    size_t count = 0, known = 0;
    for (size_t at = 0; at < comparison->count; at++)
        for (enum hp_metric metric = 0; metric < HP_METRICS; metric++) {
            const enum hp_exact exact = comparison->functions[at].exact[metric];
            known += exact == HP_EXACT_EQUAL;
            if (exact != HP_EXACT_CHANGED || count++ >= most_lines(comparison))
                continue;
            begin_line(text, "exact", comparison->functions[at].name, is_markdown);
            put_exact(comparison, at, metric, text);
            end_line(text, is_markdown);
        }
    put_left_out(comparison, text, "exact", count, is_markdown);
    if (known + count + comparison->unsteady_count == 0)
        return;
    begin_line(text, "exact", NULL, is_markdown);
    hp_text_format(text, "%scalls, allocations, bytes, peak: %zu equal, %zu changed", counted(comparison), known,
                   count);
    if (comparison->unsteady_count > 0)
        hp_text_format(text, ", %zu not repeatable", comparison->unsteady_count);
    end_line(text, is_markdown);
}

static void put_new_and_gone(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        size_t count = 0;
        for (size_t at = 0; at < comparison->count; at++) {
            const struct hp_compared_function *function = &comparison->functions[at];
            double self_ns;
            if (!(is_gone ? function->is_gone : function->is_new) || count++ >= most_lines(comparison))
                continue;
            begin_line(text, is_gone ? "gone" : "new", function->name, is_markdown);
            if (hp_comparison_value(comparison, at, HP_METRIC_SELF, !is_gone, &self_ns))
                hp_text_format(text, "own time %s", hp_ns_text(self_ns).bytes);
            else
                hp_text_string(text, "in some runs");
            end_line(text, is_markdown);
        }
        put_left_out(comparison, text, is_gone ? "gone" : "new", count, is_markdown);
    }
}

static void put_note(struct hp_text *text, size_t count, const char *what, bool is_markdown)
{
    if (count == 0)
        return;
    begin_line(text, "note", NULL, is_markdown);
    put_count(text, count, "run");
    hp_text_string(text, what);
    end_line(text, is_markdown);
}

static void put_notes(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    size_t running = 0, cut = 0;
    for (size_t run = 0; run < comparison->before_count + comparison->now_count; run++) {
        running += comparison->runs[run].is_running;
        cut += comparison->runs[run].is_cut;
    }
    put_note(text, running, running == 1 ? " was still running" : " were still running", is_markdown);
    put_note(text, cut, " by a report that leaves functions out; make reports with --limit 0", is_markdown);
}

/* Of small functions together. */
static void put_rest(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    if (!comparison->has_rest || comparison->rest.verdict == HP_VERDICT_SAME)
        return;
    begin_line(text, verdict_name(comparison->rest.verdict), "rest", is_markdown);
    hp_text_string(text, comparison->is_sampled ? "samples " : "own time ");
    put_interval(text, &comparison->rest);
    hp_text_format(text, ", %.0f %% of the time, in %zu functions that are not judged by themselves",
                   100 * comparison->rest.share, comparison->rest_count);
    end_line(text, is_markdown);
}

static void put_lock(const struct hp_compared_lock *lock, bool is_waiting, struct hp_text *text, bool is_markdown)
{
    begin_line(text, "lock", lock->name, is_markdown);
    if (lock->locked == HP_EXACT_CHANGED)
        hp_text_format(text, "locked %.0f -> %.0f%s", lock->before[0], lock->now[0], is_waiting ? ", " : "");
    if (is_waiting) {
        hp_text_string(text, "waiting ");
        put_interval(text, &lock->waiting);
        hp_text_format(text, ": %s -> ", hp_ns_text(lock->before[2]).bytes);
        hp_text_string(text, hp_ns_text(lock->now[2]).bytes);
    }
    end_line(text, is_markdown);
}

static void put_locks(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    size_t count = 0;
    for (size_t at = 0; at < comparison->lock_count; at++) {
        const struct hp_compared_lock *lock = &comparison->locks[at];
        const bool is_waiting = lock->is_in_all && lock->waiting.verdict > HP_VERDICT_SAME;
        if ((is_waiting || lock->locked == HP_EXACT_CHANGED) && count++ < most_lines(comparison))
            put_lock(lock, is_waiting, text, is_markdown);
    }
    put_left_out(comparison, text, "lock", count, is_markdown);
}

/* "4741fe5a30 (main, with changes)" */
static void put_source(const struct hp_comparison *comparison, bool is_now, struct hp_text *text)
{
    const struct hp_measured_source *source = hp_comparison_source(comparison, is_now);
    if (source == NULL || source->commit[0] == '\0') {
        hp_text_string(text, source == NULL ? "several" : "unknown");
        return;
    }
    hp_utf8_put_safe(text, source->commit, strnlen(source->commit, COMMIT_DIGITS));
    const bool is_dirty = strcmp(source->dirty, "true") == 0, has_branch = source->branch[0] != '\0';
    if (!is_dirty && !has_branch)
        return;
    hp_text_string(text, " (");
    put_name(text, source->branch);
    hp_text_format(text, "%s%s)", is_dirty && has_branch ? ", " : "", is_dirty ? "with changes" : "");
}

static void put_sources(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    bool is_known = false;
    for (size_t run = 0; run < comparison->before_count + comparison->now_count; run++)
        is_known = is_known || comparison->runs[run].source.commit[0] != '\0';
    if (!is_known)
        return;
    begin_line(text, "commit", NULL, is_markdown);
    put_source(comparison, true, text);
    hp_text_string(text, " against ");
    put_source(comparison, false, text);
    end_line(text, is_markdown);
}

static void put_what_would_show(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    begin_line(text, has_enough_runs(comparison) ? "all else" : "time", NULL, is_markdown);
    if (has_enough_runs(comparison))
        put_least(comparison, text);
    else
        hp_text_format(text, "not judged: this needs %u runs on each side", HP_JUDGE_LEAST_RUNS);
    end_line(text, is_markdown);
}

static void put_all(const struct hp_comparison *comparison, struct hp_text *text, bool is_markdown)
{
    put_sources(comparison, text, is_markdown);
    begin_line(text, "total", NULL, is_markdown);
    put_total(comparison, text);
    end_line(text, is_markdown);
    if (comparison->has_common) {
        begin_line(text, "alike", NULL, is_markdown);
        hp_text_string(text, "all functions ");
        put_interval(text, &comparison->common);
        hp_text_format(text, ": %s; taken out of the rows below", verdict_words(comparison->common.verdict));
        end_line(text, is_markdown);
    }
    put_rows(comparison, text, is_markdown);
    put_rest(comparison, text, is_markdown);
    put_locks(comparison, text, is_markdown);
    put_new_and_gone(comparison, text, is_markdown);
    if (!hp_comparison_counts_instructions(comparison))
        put_what_would_show(comparison, text, is_markdown);
    put_exact_rows(comparison, text, is_markdown);
    put_notes(comparison, text, is_markdown);
}

void hp_diff_put_text(const struct hp_comparison *comparison, struct hp_text *text)
{
    put_runs(comparison, text);
    hp_text_char(text, '\n');
    put_all(comparison, text, false);
}

/* ------------------------------------------------------------------------------------------------- of one side */

static void put_scatter_row(const struct hp_comparison *comparison, size_t at, struct hp_text *text)
{
    const struct hp_compared_function *function = &comparison->functions[at];
    double value = 0;
    begin_line(text, "time", function->name, false);
    if (comparison->is_sampled) {
        hp_comparison_value(comparison, at, HP_METRIC_SAMPLES, true, &value);
        hp_text_format(text, "%.0f samples, ", value);
    } else {
        hp_text_format(text, "own time %s, ", hp_ns_text(hp_comparison_own_time(comparison, at)).bytes);
    }
    hp_text_format(text, "%.0f %% of the time", 100 * function->judged.share);
    if (has_enough_runs(comparison)) {
        const double least = fmax(hp_percent_of_change(function->judged.least), 100 * HP_JUDGE_LEAST_CHANGE);
        hp_text_string(text, least < 1e6 ? "; a change of " : "; no change");
        if (least < 1e6)
            hp_text_fixed(text, least, least < 10 ? 1 : 0);
        hp_text_string(text, least < 1e6 ? " % or more shows" : " shows");
    }
    end_line(text, false);
}

static void put_scatter_total(const struct hp_comparison *comparison, struct hp_text *text)
{
    double low = INFINITY, high = 0;
    for (size_t run = 0; run < comparison->before_count; run++) {
        low = fmin(low, comparison->totals[run]);
        high = fmax(high, comparison->totals[run]);
    }
    begin_line(text, "total", NULL, false);
    if (hp_comparison_counts_instructions(comparison)) {
        hp_text_string(text, "instructions are counted, not time");
        end_line(text, false);
        return;
    }
    hp_text_format(text, "%s ", comparison->is_of_cpu ? "CPU time" : "time from start to end");
    hp_text_string(text, hp_ns_text(low).bytes);
    hp_text_format(text, " to %s", hp_ns_text(high).bytes);
    end_line(text, false);
}

void hp_diff_put_scatter(const struct hp_comparison *comparison, struct hp_text *text)
{
    size_t shown = 0, equal = 0;
    put_runs_of(comparison->now_count, &comparison->runs[0], text);
    hp_text_char(text, '\n');
    put_scatter_total(comparison, text);
    for (size_t at = 0; at < comparison->count && shown < MOST_LINES; at++)
        if (comparison->functions[at].is_row) {
            put_scatter_row(comparison, at, text);
            shown++;
        }
    for (size_t at = 0; at < comparison->count; at++)
        for (enum hp_metric metric = 0; metric < HP_METRICS; metric++)
            equal += comparison->functions[at].exact[metric] == HP_EXACT_EQUAL;
    if (equal + comparison->unsteady_count == 0)
        return;
    begin_line(text, "exact", NULL, false);
    hp_text_format(text, "%scalls, allocations, bytes, peak: %zu equal in all runs, %zu not repeatable",
                   counted(comparison), equal, comparison->unsteady_count);
    end_line(text, false);
}

void hp_diff_put_markdown(const struct hp_comparison *comparison, struct hp_text *text)
{
    hp_text_string(text, "**hotpath diff:** ");
    put_runs(comparison, text);
    hp_text_string(text, "\n\n| | function | change |\n| --- | --- | --- |\n");
    put_all(comparison, text, true);
}

/* ------------------------------------------------------------------------------------------------------ as JSON */

static void put_number(struct hp_json *json, const char *key, double number)
{
    hp_json_key(json, key);
    hp_json_number(json, number, 8);
}

/* Infinite edges, which few runs cannot tell, are null. */
static void put_json_change(struct hp_json *json, const struct hp_judged_row *row)
{
    put_number(json, "change_percent", hp_percent_of_change(row->change));
    put_number(json, "low_percent", hp_percent_of_change(row->low));
    put_number(json, "high_percent", hp_percent_of_change(row->high));
    put_number(json, "p", row->p);
    put_number(json, "least_percent", hp_percent_of_change(row->least));
    hp_json_put_string(json, "verdict", verdict_name(row->verdict));
}

static const char *const exact_names[] = {"unknown", "equal", "changed", "not_repeatable"};

static void put_json_metric(const struct hp_comparison *comparison, size_t at, enum hp_metric metric,
                            struct hp_json *json)
{
    double before, now;
    const bool has_before = hp_comparison_value(comparison, at, metric, false, &before);
    const bool has_now = hp_comparison_value(comparison, at, metric, true, &now);
    if (!has_before && !has_now)
        return;
    hp_json_key(json, hp_metric_types[metric].key);
    hp_json_begin_object(json);
    put_number(json, "before", has_before ? before : NAN);
    put_number(json, "now", has_now ? now : NAN);
    if (hp_metric_types[metric].is_exact)
        hp_json_put_string(json, "exact", exact_names[comparison->functions[at].exact[metric]]);
    hp_json_end_object(json);
}

static void put_json_row(const struct hp_comparison *comparison, size_t at, struct hp_json *json)
{
    const struct hp_compared_function *function = &comparison->functions[at];
    hp_json_begin_object(json);
    hp_json_put_string(json, "name", function->name);
    hp_json_put_string(json, "file", function->file);
    hp_json_put_string(json, "library", function->library);
    hp_json_put_string(json, "state", function->is_new ? "new" : function->is_gone ? "gone" : "both");
    put_number(json, "share_percent", 100 * function->judged.share);
    hp_json_key(json, "time");
    if (function->is_row) {
        hp_json_begin_object(json);
        hp_json_put_string(json, "by",
                           comparison->is_sampled ? "samples"
                           : function->is_steady  ? "typical"
                                                  : "self");
        put_json_change(json, &function->judged);
        if (function->slow_callee != NULL)
            hp_json_put_string(json, "slow_callee", function->slow_callee);
        hp_json_end_object(json);
    } else {
        hp_json_null(json);
    }
    hp_json_key(json, "metrics");
    hp_json_begin_object(json);
    for (enum hp_metric metric = 0; metric < HP_METRICS; metric++)
        put_json_metric(comparison, at, metric, json);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static void put_json_locks(const struct hp_comparison *comparison, struct hp_json *json)
{
    static const char *const keys[] = {"locked", "contended", "wait_ns"};
    hp_json_key(json, "locks");
    hp_json_begin_array(json);
    for (size_t at = 0; at < comparison->lock_count; at++) {
        const struct hp_compared_lock *lock = &comparison->locks[at];
        hp_json_begin_object(json);
        hp_json_put_string(json, "name", lock->name);
        for (size_t what = 0; what < 3; what++) {
            hp_json_key(json, keys[what]);
            hp_json_begin_object(json);
            put_number(json, "before", lock->before[what]);
            put_number(json, "now", lock->now[what]);
            if (what == 0)
                hp_json_put_string(json, "exact", exact_names[lock->locked]);
            hp_json_end_object(json);
        }
        hp_json_key(json, "waiting");
        if (lock->is_in_all) {
            hp_json_begin_object(json);
            put_json_change(json, &lock->waiting);
            hp_json_end_object(json);
        } else {
            hp_json_null(json);
        }
        hp_json_end_object(json);
    }
    hp_json_end_array(json);
}

/* As in reports. */
static void put_json_source(const struct hp_measured_source *source, struct hp_json *json)
{
    hp_json_key(json, "source");
    if (source == NULL || (source->commit[0] == '\0' && source->ci[0] == '\0')) {
        hp_json_null(json);
        return;
    }
    const char *const keys[] = {"commit", "branch", "ci", "job"};
    const char *const values[] = {source->commit, source->branch, source->ci, source->job};
    hp_json_begin_object(json);
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++)
        if (values[at][0] != '\0')
            hp_json_put_string(json, keys[at], values[at]);
    if (source->dirty[0] != '\0') {
        hp_json_key(json, "dirty");
        hp_json_bool(json, source->dirty[0] == 't');
    }
    hp_json_end_object(json);
}

static void put_json_runs(const struct hp_comparison *comparison, bool are_now, struct hp_json *json)
{
    const size_t from = are_now ? comparison->before_count : 0;
    const size_t count = are_now ? comparison->now_count : comparison->before_count;
    hp_json_key(json, are_now ? "now" : "before");
    hp_json_begin_object(json);
    hp_json_put_string(json, "command", comparison->runs[from].command);
    hp_json_put_u64(json, "runs", count);
    put_json_source(hp_comparison_source(comparison, are_now), json);
    hp_json_end_object(json);
}

static const char *outcome_name(enum hp_outcome outcome)
{
    static const char *const names[] = {"fine", "regression", "unjudged"};
    return names[outcome];
}

static void begin_json(struct hp_json *json, struct hp_text *text, enum hp_outcome outcome, uint64_t exit)
{
    hp_json_init(json, text, false);
    hp_json_begin_object(json);
    hp_json_put_string(json, "type", "hotpath_diff");
    hp_json_put_u64(json, "version", DIFF_VERSION);
    hp_json_put_string(json, "verdict", outcome_name(outcome));
    hp_json_put_u64(json, "exit", exit);
}

void hp_diff_put_json_refusal(const char *problem, uint64_t exit, struct hp_text *text)
{
    struct hp_json json;
    begin_json(&json, text, HP_OUTCOME_UNJUDGED, exit);
    hp_json_put_string(&json, "problem", problem);
    hp_json_end_object(&json);
    hp_text_char(text, '\n');
}

void hp_diff_put_json(const struct hp_comparison *comparison, struct hp_text *text)
{
    struct hp_json json;
    begin_json(&json, text, hp_comparison_outcome(comparison), 0);
    put_json_runs(comparison, false, &json);
    put_json_runs(comparison, true, &json);
    if (comparison->pairs > 0) {
        hp_json_put_u64(&json, "pairs", comparison->pairs);
        hp_json_put_string(&json, "order", "random");
    }
    hp_json_put_string(&json, "of", comparison->is_sampled ? "samples" : "zones");
    hp_json_key(&json, "total");
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "by", comparison->is_of_cpu ? "cpu" : "elapsed");
    put_json_change(&json, &comparison->total);
    hp_json_end_object(&json);
    hp_json_key(&json, "common");
    if (comparison->has_common) {
        hp_json_begin_object(&json);
        put_json_change(&json, &comparison->common);
        hp_json_end_object(&json);
    } else {
        hp_json_null(&json);
    }
    hp_json_key(&json, "rest");
    if (comparison->has_rest) {
        hp_json_begin_object(&json);
        hp_json_put_u64(&json, "functions", comparison->rest_count);
        put_number(&json, "share_percent", 100 * comparison->rest.share);
        put_json_change(&json, &comparison->rest);
        hp_json_end_object(&json);
    } else {
        hp_json_null(&json);
    }
    put_json_locks(comparison, &json);
    hp_json_key(&json, "rows");
    hp_json_begin_array(&json);
    for (size_t at = 0; at < comparison->count; at++)
        put_json_row(comparison, at, &json);
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_text_char(text, '\n');
}

hp_diff_put *hp_diff_put_of(const char *format)
{
    return format == NULL || strcmp(format, "text") == 0 ? hp_diff_put_text
           : strcmp(format, "markdown") == 0             ? hp_diff_put_markdown
           : strcmp(format, "json") == 0                 ? hp_diff_put_json
                                                         : NULL;
}
