/* hotpath check: whether runs keep to budgets, and to limits against a baseline. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "compared_runs.h"
#include "comparison.h"
#include "files.h"
#include "gates.h"
#include "json.h"
#include "policy.h"
#include "report_output.h"
#include "text.h"

#define USUAL_POLICY "hotpath.toml"
#define MOST_POLICY (64u << 10)
#define EXIT_BROKEN 1
#define CHECK_VERSION 1u

struct check {
    const struct hp_arguments *arguments;
    struct hp_policy policy;
    struct hp_compared_runs runs;
    struct hp_comparison comparison;
    struct hp_gates gates;
    bool has_baseline, is_exact_only;
    int exit;
};

static const char *kind_name(enum hp_finding_kind kind)
{
    static const char *const names[] = {"broken", "unjudged", "advice"};
    return names[kind];
}

/* ---------------------------------------------------------------------------------------------------- in text */

static void put_name(struct hp_text *text, const char *name)
{
    char plain[500];
    hp_copy_printable(plain, sizeof plain, name);
    hp_text_string(text, plain);
}

static void put_text(const struct check *check, struct hp_text *text)
{
    const struct hp_gates *gates = &check->gates;
    for (size_t at = 0; at < gates->count; at++) {
        const struct hp_finding *finding = &gates->findings[at];
        const char *kind = kind_name(finding->kind);
        hp_text_string(text, kind);
        hp_text_repeat(text, ' ', 9 - strlen(kind));
        put_name(text, finding->name[0] != '\0' ? finding->name : "program");
        hp_text_format(text, "   %s", finding->text);
        if (finding->path[0] != '\0') {
            hp_text_string(text, "   ");
            put_name(text, finding->path);
            hp_text_format(text, ":%u", (unsigned)finding->line);
        }
        hp_text_char(text, '\n');
    }
    hp_text_format(text, "%s: %zu broken, %zu held, %zu could not be judged\n",
                   check->exit == EXIT_DONE     ? "fine"
                   : check->exit == EXIT_BROKEN ? "broken"
                                                : "unjudged",
                   gates->broken, gates->held, gates->unjudged);
}

/* -------------------------------------------------------------------------------------------------- annotations */

/* As seen from the folder we are in, which is that of the sources in a CI job. */
static const char *place_of(const char *path)
{
    static char here[4096];
    if (here[0] == '\0' && getcwd(here, sizeof here) == NULL)
        return path;
    const size_t length = strlen(here);
    if (strncmp(path, here, length) == 0 && path[length] == '/')
        return path + length + 1;
    return hp_text_begins(path, "./") ? path + 2 : path;
}

/* GitHub decodes these, and nothing else. */
static void put_escaped(struct hp_text *text, const char *value, bool is_property)
{
    for (; *value != '\0'; value++)
        if (*value == '%' || *value == '\r' || *value == '\n' || (is_property && (*value == ':' || *value == ',')))
            hp_text_format(text, "%%%c%c", "0123456789ABCDEF"[(unsigned char)*value >> 4],
                           "0123456789ABCDEF"[*value & 15]);
        else
            hp_text_char(text, *value);
}

static void put_github(const struct check *check, struct hp_text *text)
{
    for (size_t at = 0; at < check->gates.count; at++) {
        const struct hp_finding *finding = &check->gates.findings[at];
        hp_text_string(text, finding->kind == HP_FINDING_BROKEN ? "::error " : "::warning ");
        if (finding->path[0] != '\0') {
            hp_text_string(text, "file=");
            put_escaped(text, place_of(finding->path), true);
            hp_text_format(text, ",line=%u,", (unsigned)finding->line);
        }
        hp_text_string(text, "title=hotpath ");
        put_escaped(text, finding->rule, true);
        hp_text_string(text, "::");
        put_escaped(text, finding->name[0] != '\0' ? finding->name : "program", false);
        hp_text_string(text, ": ");
        put_escaped(text, finding->text, false);
        hp_text_char(text, '\n');
    }
}

/* What GitLab reads as a report of code quality. The fingerprint stays the same from run to run. */
static void put_gitlab_finding(const struct hp_finding *finding, struct hp_json *json)
{
    char description[1200], fingerprint[40];
    const char *name = finding->name[0] != '\0' ? finding->name : "program";
    snprintf(description, sizeof description, "%.600s: %.400s", name, finding->text);
    const uint64_t hash = hp_text_hash(finding->rule, strlen(finding->rule)) * UINT64_C(0x9e3779b97f4a7c15) ^
                          hp_text_hash(name, strlen(name));
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)hash);
    hp_json_begin_object(json);
    hp_json_put_string(json, "description", description);
    hp_json_put_string(json, "check_name", finding->rule);
    hp_json_put_string(json, "fingerprint", fingerprint);
    hp_json_put_string(json, "severity", finding->kind == HP_FINDING_BROKEN ? "major" : "info");
    hp_json_key(json, "location");
    hp_json_begin_object(json);
    hp_json_put_string(json, "path", finding->path[0] != '\0' ? place_of(finding->path) : USUAL_POLICY);
    hp_json_key(json, "lines");
    hp_json_begin_object(json);
    hp_json_put_u64(json, "begin", finding->line > 0 ? finding->line : 1);
    hp_json_end_object(json);
    hp_json_end_object(json);
    hp_json_end_object(json);
}

static void put_gitlab(const struct check *check, struct hp_text *text)
{
    struct hp_json json;
    hp_json_init(&json, text, false);
    hp_json_begin_array(&json);
    for (size_t at = 0; at < check->gates.count; at++)
        put_gitlab_finding(&check->gates.findings[at], &json);
    hp_json_end_array(&json);
    hp_text_char(text, '\n');
}

static void put_json(const struct check *check, struct hp_text *text)
{
    static const char *const verdicts[] = {"fine", "broken", "unjudged"};
    const struct hp_gates *gates = &check->gates;
    struct hp_json json;
    hp_json_init(&json, text, false);
    hp_json_begin_object(&json);
    hp_json_put_string(&json, "type", "hotpath_check");
    hp_json_put_u64(&json, "version", CHECK_VERSION);
    hp_json_put_string(&json, "verdict", verdicts[check->exit]);
    hp_json_put_u64(&json, "exit", (uint64_t)check->exit);
    hp_json_put_u64(&json, "broken", gates->broken);
    hp_json_put_u64(&json, "held", gates->held);
    hp_json_put_u64(&json, "unjudged", gates->unjudged);
    hp_json_key(&json, "findings");
    hp_json_begin_array(&json);
    for (size_t at = 0; at < gates->count; at++) {
        const struct hp_finding *finding = &gates->findings[at];
        hp_json_begin_object(&json);
        hp_json_put_string(&json, "kind", kind_name(finding->kind));
        hp_json_put_string(&json, "rule", finding->rule);
        hp_json_put_string(&json, "name", finding->name);
        hp_json_put_string(&json, "file", finding->path);
        hp_json_put_u64(&json, "line", finding->line);
        hp_json_put_string(&json, "text", finding->text);
        hp_json_end_object(&json);
    }
    hp_json_end_array(&json);
    hp_json_end_object(&json);
    hp_text_char(text, '\n');
}

/* ------------------------------------------------------------------------------------------------------- output */

typedef void put_function(const struct check *check, struct hp_text *text);

struct written {
    const struct check *check;
    put_function *put;
};

static put_function *writer_of(const char *format)
{
    return format == NULL || strcmp(format, "text") == 0 ? put_text
           : strcmp(format, "github") == 0               ? put_github
           : strcmp(format, "gitlab") == 0               ? put_gitlab
           : strcmp(format, "json") == 0                 ? put_json
                                                         : NULL;
}

static bool put_result(void *context, struct hp_text *text)
{
    const struct written *written = context;
    written->put(written->check, text);
    return true;
}

/* What is for machines leaves the lines for people to standard error. */
static bool write_all(const struct check *check, put_function *put)
{
    const char *path = hp_arguments_flag(check->arguments, "output");
    struct written wanted = {check, put}, lines = {check, put_text};
    return hp_output_put_to(path, "the result", put_result, &wanted) &&
           ((put == put_text && path == NULL) || hp_output_put(stderr, "the result", put_result, &lines));
}

/* ------------------------------------------------------------------------------------------------------ reading */

static int read_policy_file(struct check *check, const char *path)
{
    static char text[MOST_POLICY];
    char problem[300];
    const ssize_t length = hp_file_read_regular(path, text, sizeof text);
    if (length < 0)
        return hp_fail("cannot read the policy '%s': %s", path, strerror(errno)), EXIT_UNJUDGED;
    if (length == (ssize_t)sizeof text)
        return hp_fail("the policy '%s' is longer than 64 KB", path), EXIT_UNJUDGED;
    if (!hp_policy_read(&check->policy, text, (size_t)length, problem, sizeof problem))
        return hp_fail("%s:%s", path, problem), EXIT_UNJUDGED;
    return EXIT_DONE;
}

static int read_policy(struct check *check)
{
    const struct hp_arguments *arguments = check->arguments;
    const char *path = hp_arguments_flag(arguments, "policy"), *gates = hp_arguments_flag(arguments, "gate");
    char problem[300];
    if (!hp_policy_begin(&check->policy))
        return hp_fail("not enough memory for the policy"), EXIT_UNJUDGED;
    if (path == NULL && access(USUAL_POLICY, F_OK) == 0)
        path = USUAL_POLICY;
    const int status = path != NULL ? read_policy_file(check, path) : EXIT_DONE;
    if (status != EXIT_DONE)
        return status;
    if (gates != NULL && !hp_policy_read_gates(&check->policy, gates, problem, sizeof problem))
        return hp_misuse(arguments->command, "--gate '%s' %s", gates, problem);
    if (check->policy.budget_count == 0 && !check->has_baseline)
        return hp_misuse(arguments->command,
                         "there is nothing to check: neither a budget in a policy nor a --baseline");
    return EXIT_DONE;
}

/* The percentiles that a policy may name. */
static void want_percentiles(struct hp_show_settings *show)
{
    static const double wanted[] = {50, 90, 95, 99, 99.9};
    show->percentile_count = sizeof wanted / sizeof wanted[0];
    memcpy(show->percentiles, wanted, sizeof wanted);
}

static bool read_runs(struct check *check)
{
    char *baseline = (char *)(uintptr_t)hp_arguments_flag(check->arguments, "baseline");
    struct hp_compared_runs *runs = &check->runs;
    hp_compared_runs_begin(runs, check->arguments);
    want_percentiles(&runs->settings.show);
    if (baseline != NULL && !hp_compared_runs_add(runs, &baseline, 1))
        return false;
    size_t before = runs->count;
    if (!hp_compared_runs_add(runs, check->arguments->operands, check->arguments->operand_count))
        return false;
    const size_t now = runs->count - before;
    before = baseline != NULL ? before : now;
    return hp_compared_runs_join(&check->comparison, runs->all, before, runs->all + runs->count - now, now);
}

/* -------------------------------------------------------------------------------------------------- the command */

static int judge(struct check *check, put_function *put)
{
    char refusal[1200];
    if (!read_runs(check))
        return EXIT_UNJUDGED;
    if (hp_comparison_refusal(&check->comparison, check->is_exact_only, refusal, sizeof refusal) != NULL)
        return hp_fail("%s%s", refusal, check->is_exact_only ? "" : "; --exact-only leaves times out"),
               EXIT_UNJUDGED;
    if (!hp_comparison_make(&check->comparison) ||
        !hp_gates_judge(&check->gates, &check->policy, &check->comparison, check->has_baseline,
                        check->is_exact_only))
        return hp_fail("not enough memory for the comparison"), EXIT_UNJUDGED;
    check->exit = check->gates.broken > 0 ? EXIT_BROKEN : check->gates.unjudged > 0 ? EXIT_UNJUDGED : EXIT_DONE;
    return write_all(check, put) ? check->exit : EXIT_UNJUDGED;
}

static int run(const struct hp_arguments *arguments)
{
    static struct check check;
    const char *format = hp_arguments_flag(arguments, "format");
    put_function *put = writer_of(format);
    check.arguments = arguments;
    check.has_baseline = hp_arguments_flag(arguments, "baseline") != NULL;
    check.is_exact_only = hp_arguments_flag(arguments, "exact-only") != NULL;
    if (put == NULL)
        return hp_misuse(arguments->command, "--format '%s' is not text, github, gitlab or json", format);
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing run");
    int status = read_policy(&check);
    if (status == EXIT_DONE)
        status = judge(&check, put);
    hp_gates_free(&check.gates);
    hp_comparison_free(&check.comparison);
    free(check.comparison.runs);
    hp_compared_runs_free(&check.runs);
    hp_policy_free(&check.policy);
    return status;
}

static const struct hp_flag flags[] = {
    {"policy", 0, "FILE", "Budgets and limits (default: hotpath.toml, if it is in this folder)."},
    {"baseline", 0, "RUN", "What runs may not be worse than: a run, a report in JSON, or a folder of several."},
    {"gate", 0, "LIST", "Limits that override those of the policy, such as time=5%,peak=off."},
    {"exact-only", 0, NULL,
     "Judge calls, allocations, bytes and peaks, but no times: for a baseline of another machine. Instructions are "
     "judged if both sides counted them with the same QEMU and C library."},
    {"format", 'f', "text|github|gitlab|json",
     "What to write: lines for people (default), annotations for GitHub, a report of code quality for GitLab, or "
     "JSON."},
    {"output", 'o', "PATH", "Output file (default: standard output)."},
};

const struct hp_command hp_command_check = {
    .name = "check",
    .group = HP_GROUP_LOOK,
    .operands = "[--policy FILE] [--baseline RUN] RUN...",
    .operand = HP_OPERAND_SESSION,
    .summary = "Checks runs against budgets and a baseline, for CI.",
    .details = "A RUN is a session or run as in 'hotpath report', a report in JSON, or a folder with\n"
               "several of these, as 'hotpath bench --save' makes them. Calls, allocations, bytes and\n"
               "peaks may not grow, unless the policy allows it. Time is advice, unless --gate time=5%\n"
               "or the policy sets a limit: then it is broken if the lower end of the interval is above\n"
               "it. The exit status is 0 if all is judged and fine, 1 if a gate is broken, and 2 if\n"
               "something could not be judged.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = run,
};
