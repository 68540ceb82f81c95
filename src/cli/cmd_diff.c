/* hotpath diff: what has changed between runs. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "command.h"
#include "compared_runs.h"
#include "comparison.h"
#include "diff_output.h"
#include "report_output.h"
#include "sessions.h"
#include "text.h"

struct written {
    const struct hp_comparison *comparison;
    hp_diff_put *put;
};

static bool put_comparison(void *context, struct hp_text *text)
{
    const struct written *written = context;
    written->put(written->comparison, text);
    return true;
}

static bool put_refusal(void *refusal, struct hp_text *text)
{
    hp_diff_put_json_refusal(refusal, EXIT_UNJUDGED, text);
    return true;
}

/* The lines for people, in memory, which the caller frees; NULL: there is none left. */
static char *lines_of(const struct hp_comparison *comparison)
{
    char *lines = NULL;
    size_t length;
    struct written written = {comparison, hp_diff_put_text};
    FILE *stream = open_memstream(&lines, &length);
    const bool is_written = stream != NULL && hp_output_put(stream, "the comparison", put_comparison, &written);
    if (stream != NULL)
        fclose(stream);
    if (is_written)
        return lines;
    free(lines);
    return NULL;
}

static bool is_report(const char *path) { return hp_text_has_suffix(path, ".json"); }

/* All runs of a side but the first, as far as they are not reports. Returns how many there are. */
static size_t further_runs(const struct hp_measured_run *runs, size_t count, const char **names)
{
    size_t found = 0;
    for (size_t at = 1; at < count; at++)
        if (!is_report(runs[at].path))
            names[found++] = runs[at].path;
    return found;
}

/*
 * The page of the first run after --against and before it, with the differential flame graph of all runs. What the
 * comparison says is above it, and on standard error.
 */
static int write_page(const struct hp_compared_runs *runs, const struct hp_comparison *comparison,
                      const char *output)
{
    static struct hp_settings settings;
    struct hp_sessions parts = {0};
    const char *now = comparison->runs[comparison->before_count].path;
    const char **further = calloc(runs->count + 1, sizeof *further);
    struct hp_show_page page = {.is_flame = true, .against = comparison->runs[0].path};
    if (is_report(now) || is_report(page.against)) {
        free(further);
        return hp_fail("--format html shows stacks, which reports do not have: name sessions or runs"),
               EXIT_UNJUDGED;
    }
    settings = runs->settings;
    settings.output.format = HP_FORMAT_HTML;
    snprintf(settings.show.report, sizeof settings.show.report, "auto");
    snprintf(settings.output.output_path, sizeof settings.output.output_path, "%s", output != NULL ? output : "");
    char *lines = lines_of(comparison);
    if (lines == NULL || further == NULL) {
        free(lines);
        free(further);
        return hp_fail("not enough memory for the comparison"), EXIT_UNJUDGED;
    }
    fputs(lines, stderr);
    page.changes = lines;
    page.further = further;
    page.further_before = further_runs(comparison->runs, comparison->before_count, further);
    page.further_now = further_runs(comparison->runs + comparison->before_count, comparison->now_count,
                                    further + page.further_before);
    const bool is_written =
        hp_session_choose(&parts, &settings, now) && hp_show_page(&parts, &settings, stdout, &page) == EXIT_DONE;
    hp_sessions_free(&parts);
    free(further);
    free(lines);
    return is_written ? EXIT_DONE : EXIT_UNJUDGED;
}

static int compare(struct hp_compared_runs *runs, struct hp_comparison *comparison,
                   const struct hp_arguments *arguments, hp_diff_put *put)
{
    const char *path = hp_arguments_flag(arguments, "output");
    const int others = arguments->operand_count - arguments->divided_at;
    char refusal[1200];
    if (!hp_compared_runs_add(runs, arguments->operands + arguments->divided_at, others))
        return EXIT_UNJUDGED;
    comparison->before_count = runs->count;
    if (!hp_compared_runs_add(runs, arguments->operands, arguments->divided_at))
        return EXIT_UNJUDGED;
    comparison->now_count = runs->count - comparison->before_count;
    comparison->runs = runs->all;
    if (hp_comparison_refusal(comparison, false, refusal, sizeof refusal) != NULL) {
        hp_fail("%s", refusal);
        if (put == hp_diff_put_json)
            hp_output_put_to(path, "the comparison", put_refusal, refusal);
        return EXIT_UNJUDGED;
    }
    if (!hp_comparison_make(comparison)) {
        hp_fail("not enough memory for the comparison");
        return EXIT_UNJUDGED;
    }
    if (put == NULL)
        return write_page(runs, comparison, path);
    struct written written = {comparison, put};
    return hp_output_put_to(path, "the comparison", put_comparison, &written) ? EXIT_DONE : EXIT_UNJUDGED;
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_compared_runs runs;
    struct hp_comparison comparison = {0};
    const char *format = hp_arguments_flag(arguments, "format");
    hp_diff_put *put = hp_diff_put_of(format);
    const bool is_page = format != NULL && strcmp(format, "html") == 0;
    if (put == NULL && !is_page)
        return hp_misuse(arguments->command, "--format '%s' is not text, json, markdown or html", format);
    if (hp_arguments_flag(arguments, "against") == NULL)
        return hp_misuse(arguments->command, "--against is missing: what to compare with");
    if (arguments->divided_at == 0)
        return hp_misuse(arguments->command, "no run was named before --against");
    if (!hp_arguments_timestamp(arguments, "from", &runs.limits.from) ||
        !hp_arguments_timestamp(arguments, "to", &runs.limits.to))
        return EXIT_USAGE;
    if (is_page && hp_has_time_limits(&runs.limits))
        return hp_misuse(arguments->command, "--format html shows whole runs: it takes no --from and --to");
    hp_compared_runs_begin(&runs, arguments);
    const int status = compare(&runs, &comparison, arguments, put);
    hp_comparison_free(&comparison);
    hp_compared_runs_free(&runs);
    return status;
}

static const struct hp_flag flags[] = {
    {"against", 0, "RUN", "What to compare with: the runs before. More of them may follow."},
    {"format", 'f', "text|json|markdown|html",
     "What to write: lines for people (default), JSON, a table in Markdown, or a page with the differential flame "
     "graph."},
    {"from", 0, "TIME", "Start of the time range of each run: 2s, 1m30s, 80%, or -10s before its end."},
    {"to", 0, "TIME", "End of the time range, in the same form."},
    {"output", 'o', "PATH", "Output file (default: standard output)."},
};

const struct hp_command hp_command_diff = {
    .name = "diff",
    .group = HP_GROUP_LOOK,
    .operands = "RUN... --against RUN...",
    .operand = HP_OPERAND_SESSION,
    .summary = "Says which functions have changed between runs.",
    .details = "A RUN is a session or run as in 'hotpath report', a report in JSON, or a folder with\n"
               "several of these. Time is judged from five runs on each side; calls, allocations,\n"
               "bytes and peaks from one. The exit status is 0 if the runs could be compared, and 2 if\n"
               "not: they are of different machines, clocks or builds, or cannot be read.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .divider = "against",
    .run = run,
};
