/* hotpath diff: what has changed between runs. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* memfd_create */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "comparison.h"
#include "diff_output.h"
#include "files.h"
#include "growing_array.h"
#include "report_output.h"
#include "session_dirs.h"
#include "sessions.h"
#include "text.h"

#define EXIT_UNJUDGED 2 /* nothing could be compared */

struct task {
    struct hp_settings settings; /* of reports that are made here */
    struct hp_comparison comparison;
    size_t room;
};

/* ------------------------------------------------------------------------------------------------- reading runs */

/* Reads the report in an open file. */
static bool read_report(struct task *task, int fd, const char *name)
{
    struct hp_comparison *comparison = &task->comparison;
    const size_t count = comparison->before_count + comparison->now_count;
    struct stat about;
    char problem[200];
    if (!HP_MAKE_ZEROED_ROOM(comparison->runs, count + 1, task->room)) {
        hp_fail("not enough memory for the runs");
        return false;
    }
    const size_t length = fstat(fd, &about) == 0 && about.st_size > 0 ? (size_t)about.st_size : 0;
    const char *bytes = length > 0 ? mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0) : "";
    if (bytes == MAP_FAILED) {
        hp_fail("cannot read '%s': %s", name, strerror(errno));
        return false;
    }
    struct hp_measured_run *run = &comparison->runs[count];
    const bool is_read = hp_measured_run_read(run, name, bytes, length, problem, sizeof problem);
    if (length > 0)
        munmap((void *)(uintptr_t)bytes, length);
    if (!is_read) {
        hp_fail("'%s' %s", name, problem);
        hp_measured_run_free(run);
    }
    return is_read;
}

/* A session is compared by the report that it would write. */
static bool read_session(struct task *task, const struct hp_sessions *parts, const char *name)
{
    const int fd = memfd_create("report", MFD_CLOEXEC);
    FILE *stream = fd >= 0 ? fdopen(fd, "w+") : NULL;
    bool is_read = false;
    if (stream == NULL)
        hp_fail("cannot make the report of '%s': %s", name, strerror(errno));
    else if (hp_show(parts, &task->settings, stream, false) == EXIT_DONE)
        is_read = read_report(task, fd, name);
    if (stream != NULL)
        fclose(stream);
    else if (fd >= 0)
        close(fd);
    return is_read;
}

/* The first byte of a report that is not a blank. Sessions begin with another one. */
static bool is_json(int fd)
{
    char bytes[64];
    const ssize_t length = pread(fd, bytes, sizeof bytes, 0);
    size_t at = 0;
    while (length > 0 && at < (size_t)length && strchr(" \t\r\n", bytes[at]) != NULL)
        at++;
    return length > 0 && at < (size_t)length && bytes[at] == '{';
}

/* A file, or whatever else `hotpath report` accepts. */
static bool read_run(struct task *task, const char *name)
{
    const int fd = hp_regular_open(AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
    struct hp_sessions parts = {0};
    bool is_read;
    if (fd >= 0 && (is_json(fd) || hp_text_has_suffix(name, ".json"))) {
        is_read = read_report(task, fd, name);
    } else {
        is_read = hp_session_choose(&parts, &task->settings, name) && read_session(task, &parts, name);
        hp_sessions_free(&parts);
    }
    if (fd >= 0)
        close(fd);
    return is_read;
}

static int is_of_run(const struct dirent *entry)
{
    return hp_text_has_suffix(entry->d_name, ".json") || hp_text_has_suffix(entry->d_name, HP_RUN_SUFFIX) ||
           hp_text_has_suffix(entry->d_name, HP_SESSION_SUFFIX);
}

/* In a folder of runs each report, run and session is one of them. A folder that is a run itself is one. */
static bool read_folder(struct task *task, const char *folder, size_t *count)
{
    struct dirent **entries = NULL;
    const int found = scandir(folder, &entries, is_of_run, alphasort);
    bool are_read = found > 0;
    if (found < 0)
        hp_fail("cannot read '%s': %s", folder, strerror(errno));
    else if (found == 0)
        hp_fail("'%s' has no reports (*.json), runs or sessions", folder);
    for (int at = 0; at < found; at++) {
        char *path = NULL;
        if (are_read && asprintf(&path, "%s/%s", folder, entries[at]->d_name) < 0) {
            path = NULL;
            are_read = false;
        }
        are_read = are_read && read_run(task, path);
        *count += are_read;
        free(path);
        free(entries[at]);
    }
    free(entries);
    return are_read;
}

static bool is_folder_of_runs(const char *name)
{
    struct stat about;
    const size_t length = strlen(name);
    char plain[4096];
    if (stat(name, &about) != 0 || !S_ISDIR(about.st_mode) || length >= sizeof plain)
        return false;
    memcpy(plain, name, length + 1);
    for (size_t at = length; at > 1 && plain[at - 1] == '/'; at--)
        plain[at - 1] = '\0';
    return !hp_text_has_suffix(plain, HP_RUN_SUFFIX);
}

static bool read_side(struct task *task, char **names, int name_count, size_t *count)
{
    for (int at = 0; at < name_count; at++) {
        if (is_folder_of_runs(names[at])) {
            if (!read_folder(task, names[at], count))
                return false;
        } else if (!read_run(task, names[at])) {
            return false;
        } else {
            ++*count;
        }
    }
    return true;
}

/* -------------------------------------------------------------------------------------------------- the command */

/* All that a comparison needs, whatever the environment says about reports for people. */
static void settle(const struct hp_arguments *arguments, struct hp_settings *settings)
{
    hp_arguments_settle(arguments, settings);
    struct hp_show_settings *show = &settings->show;
    snprintf(show->report, sizeof show->report, "timing,cpu,alloc-bytes,waits,functions,calltree");
    show->functions_limit = show->calltree_limit = HOTPATH_NO_LIMIT;
    show->functions_limit_is_given = true;
    show->percentile_count = 1;
    show->percentiles[0] = 95;
    show->by = HP_BY_FUNCTION;
    show->min_percent = 0;
    show->exclude_wrapper = show->time_exclusive = show->alloc_cumulative = show->cpu_inclusive = false;
    show->focus[0] = show->columns[0] = show->sort[0] = show->slowest[0] = '\0';
    settings->output.format = HP_FORMAT_JSON;
    settings->output.output_path[0] = '\0';
}

typedef void put_function(const struct hp_comparison *comparison, struct hp_text *text);

static put_function *writer_of(const char *format)
{
    return format == NULL || strcmp(format, "text") == 0 ? hp_diff_put_text
           : strcmp(format, "markdown") == 0             ? hp_diff_put_markdown
           : strcmp(format, "json") == 0                 ? hp_diff_put_json
                                                         : NULL;
}

static int write_to(const struct hp_comparison *comparison, put_function *put, FILE *stream)
{
    char buffer[4096];
    struct hp_text text;
    hp_text_init_stream(&text, buffer, sizeof buffer, hp_write_to_stream, stream);
    put(comparison, &text);
    if (hp_text_finish(&text) && fflush(stream) == 0)
        return EXIT_DONE;
    hp_fail("cannot write the comparison: %s", strerror(errno));
    return EXIT_UNJUDGED;
}

static int compare(struct task *task, const struct hp_arguments *arguments, put_function *put)
{
    struct hp_comparison *comparison = &task->comparison;
    const char *path = hp_arguments_flag(arguments, "output");
    const int others = arguments->operand_count - arguments->divided_at;
    char refusal[1200];
    if (!read_side(task, arguments->operands + arguments->divided_at, others, &comparison->before_count) ||
        !read_side(task, arguments->operands, arguments->divided_at, &comparison->now_count))
        return EXIT_UNJUDGED;
    if (hp_comparison_refusal(comparison, refusal, sizeof refusal) != NULL) {
        hp_fail("%s", refusal);
        return EXIT_UNJUDGED;
    }
    if (!hp_comparison_make(comparison)) {
        hp_fail("not enough memory for the comparison");
        return EXIT_UNJUDGED;
    }
    FILE *stream = path != NULL ? hp_output_open(path) : stdout;
    if (stream == NULL)
        return EXIT_UNJUDGED;
    const int status = write_to(comparison, put, stream);
    return path == NULL || hp_output_close(stream, path, status) == EXIT_DONE ? status : EXIT_UNJUDGED;
}

static int run(const struct hp_arguments *arguments)
{
    static struct task task;
    const char *format = hp_arguments_flag(arguments, "format");
    put_function *put = writer_of(format);
    if (put == NULL)
        return hp_misuse(arguments->command, "--format '%s' is not text, json or markdown", format);
    if (hp_arguments_flag(arguments, "against") == NULL)
        return hp_misuse(arguments->command, "--against is missing: what to compare with");
    if (arguments->divided_at == 0)
        return hp_misuse(arguments->command, "no run was named before --against");
    settle(arguments, &task.settings);
    const int status = compare(&task, arguments, put);
    for (size_t at = 0; at < task.comparison.before_count + task.comparison.now_count; at++)
        hp_measured_run_free(&task.comparison.runs[at]);
    free(task.comparison.runs);
    hp_comparison_free(&task.comparison);
    return status;
}

static const struct hp_flag flags[] = {
    {"against", 0, "RUN", "What to compare with: the runs before. More of them may follow."},
    {"format", 'f', "text|json|markdown",
     "What to write: lines for people (default), JSON, or a table in Markdown."},
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
