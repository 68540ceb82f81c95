/* hotpath annotate: a function, line by line. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate_code.h"
#include "annotated.h"
#include "arguments.h"
#include "command.h"
#include "debug_servers.h"
#include "named_function.h"
#include "regular_file.h"
#include "run_stacks.h"
#include "session_choice.h"
#include "units.h"

#define SECOND UINT64_C(1000000000)

struct task {
    const struct hp_arguments *arguments;
    struct hp_sessions sessions;
    struct hp_run_stacks stacks;
    struct hp_line_sums sums;
    enum hp_line_measure measure;
    uint32_t function;
};

static const struct hp_named_function *function_of(const struct task *task)
{
    return &task->stacks.named.functions[task->function];
}

/* ------------------------------------------------------------------------------------------------ source */

static void split_lines(struct hp_annotated *text)
{
    char *rest = text->bytes;
    uint64_t number = 1;
    for (char *line; (line = strsep(&rest, "\n")) != NULL; number++)
        if (!hp_annotated_add(text, line, number))
            return;
}

/* If the source changed after the build, samples are shown at the wrong lines. */
static void warn_if_newer(const struct task *task, const char *path, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && task->sessions.all[0].began_ns > 0 &&
        (uint64_t)status.st_mtim.tv_sec * SECOND + (uint64_t)status.st_mtim.tv_nsec >
            task->sessions.all[0].began_ns)
        hp_fail("'%s' has changed since the run began; line numbers may be off", path);
}

static bool read_source(const struct task *task, struct hp_annotated *ret_text)
{
    const char *path = function_of(task)->file;
    const int fd = path[0] != '\0' ? hp_regular_open(AT_FDCWD, path, O_RDONLY) : -1;
    if (fd < 0)
        return false;
    warn_if_newer(task, path, fd);
    ret_text->bytes = hp_annotated_read(fd);
    close(fd);
    if (ret_text->bytes != NULL)
        split_lines(ret_text);
    return ret_text->count > 0;
}

static bool has_lines(const struct hp_line_sums *sums)
{
    return sums->lines.count > 0 && sums->lines.all[sums->lines.count - 1].at > 0;
}

/* Without its text, a source is shown as line numbers. */
static void number_lines(const struct hp_line_sums *sums, struct hp_annotated *text)
{
    for (size_t at = 0; at < sums->lines.count; at++)
        if (sums->lines.all[at].at > 0 && !hp_annotated_add(text, "", sums->lines.all[at].at))
            return;
}

static int explain_no_lines(const struct task *task)
{
    const struct hp_named_function *function = function_of(task);
    if (function->image >= task->stacks.named.image_count)
        return hp_fail("%s has no source file", function->name);
    return hp_fail(
        "no line numbers for %s: %s has no debug information, or the function has too few samples. Compile "
        "it with -g, install its debug information, or run again for longer or with --debuginfod. "
        "--assembly shows its instructions",
        function->name, hp_text_base_name(task->stacks.named.images[function->image].path));
}

static int show_source(const struct task *task)
{
    struct hp_annotated text = {.count = 0};
    if (!has_lines(&task->sums))
        return explain_no_lines(task);
    if (!read_source(task, &text)) {
        hp_fail("cannot read the source '%s'; showing line numbers only", function_of(task)->file);
        number_lines(&task->sums, &text);
    }
    hp_annotated_print(&text, &task->sums, false);
    hp_annotated_free(&text);
    return EXIT_DONE;
}

/* -------------------------------------------------------------------------------------------------- code */

static uint64_t hottest_place(const struct hp_line_sums *sums)
{
    const struct hp_line_sum *best = &sums->places.all[0];
    for (size_t at = 1; at < sums->places.count; at++)
        if (sums->places.all[at].own_ns > best->own_ns ||
            (sums->places.all[at].own_ns == best->own_ns && sums->places.all[at].all_ns > best->all_ns))
            best = &sums->places.all[at];
    return best->at;
}

static int show_code(const struct task *task)
{
    struct hp_annotated text = {.count = 0};
    const struct hp_named_function *function = function_of(task);
    if (function->image >= task->stacks.named.image_count)
        return hp_fail("%s is not in a file, so its instructions cannot be shown", function->name);
    const bool is_done =
        hp_annotate_code(&task->stacks.named.images[function->image], hottest_place(&task->sums), &text);
    if (is_done)
        hp_annotated_print(&text, &task->sums, true);
    hp_annotated_free(&text);
    return is_done ? EXIT_DONE : EXIT_FAILED;
}

/* ------------------------------------------------------------------------------------------------ command */

/* "compress (compress.c, libz.so.1): 1.20 s of 2.00 s CPU time, 1.00 s of it its own" */
static void print_heading(const struct task *task)
{
    const struct hp_named_function *function = function_of(task);
    const struct hp_named_stacks *named = &task->stacks.named;
    const bool has_image = function->image < named->image_count;
    char bytes[2000], safe[4000];
    struct hp_text text;
    hp_text_init(&text, bytes, sizeof bytes);
    hp_text_string(&text, function->name);
    hp_text_string(&text, has_image || function->file[0] != '\0' ? " (" : "");
    hp_text_string(&text, function->file);
    hp_text_string(&text, has_image && function->file[0] != '\0' ? ", " : "");
    hp_text_string(&text, has_image ? hp_text_base_name(named->images[function->image].path) : "");
    hp_text_string(&text, has_image || function->file[0] != '\0' ? ")" : "");
    hp_text_string(&text, ": ");
    hp_units_ns(&text, (double)task->sums.all_ns);
    hp_text_string(&text, " of ");
    hp_units_ns(&text, (double)task->sums.run_ns);
    hp_text_string(&text, task->measure == HP_LINES_CPU ? " CPU time" : " waiting");
    if (task->measure == HP_LINES_CPU) {
        hp_text_string(&text, ", ");
        hp_units_ns(&text, (double)task->sums.own_ns);
        hp_text_string(&text, " in the function itself");
    }
    hp_copy_printable(safe, sizeof safe, hp_text_end(&text));
    printf("%s\n"
           "100 %% is the %s of this function. Self: on the line itself; Total: including calls made from it.\n"
           "\n",
           safe, task->measure == HP_LINES_CPU ? "CPU time" : "waiting");
}

static int show(struct task *task)
{
    const bool is_code = hp_arguments_flag(task->arguments, "assembly") != NULL;
    if (!hp_line_sums_make(&task->stacks.named, task->function, task->measure, &task->sums))
        return hp_fail("not enough memory for the lines of the function");
    if (task->sums.all_ns == 0)
        return hp_fail("%s has no %s in this run", function_of(task)->name,
                       task->measure == HP_LINES_CPU ? "CPU time; --waiting shows where it waited" : "waiting");
    print_heading(task);
    fflush(stdout);
    return is_code ? show_code(task) : show_source(task);
}

static int annotate(struct task *task, const struct hp_settings *settings)
{
    const struct hp_arguments *arguments = task->arguments;
    const char *session = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    if (!hp_session_choose(&task->sessions, settings, session))
        return EXIT_FAILED;
    if (!hp_run_stacks_read(&task->sessions, &task->stacks))
        return hp_fail(
            "this session has no stacks: record them with 'hotpath run'; 'hotpath doctor' checks whether "
            "this machine allows it");
    if (!hp_named_function_find(&task->stacks, arguments->operands[0], &task->function))
        return EXIT_FAILED;
    return show(task);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct task task;
    task.arguments = arguments;
    task.measure = hp_arguments_flag(arguments, "waiting") != NULL ? HP_LINES_WAITING : HP_LINES_CPU;
    if (arguments->operand_count == 0)
        return hp_misuse(arguments->command, "missing function name");
    if (arguments->operand_count > 2)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one function can be shown",
                         arguments->operands[2]);
    hp_arguments_settle(arguments, &settings);
    hp_debug_servers_allow(&settings);
    const int status = annotate(&task, &settings);
    hp_line_sums_free(&task.sums);
    hp_run_stacks_free(&task.stacks);
    hp_sessions_free(&task.sessions);
    return status;
}

static const struct hp_flag flags[] = {
    {"assembly", 'a', NULL, "Show instructions instead of source lines; requires objdump."},
    {"waiting", 'w', NULL, "Show waiting time instead of CPU time."},
};

const struct hp_command hp_command_annotate = {
    .name = "annotate",
    .operands = "FUNCTION [SESSION|PID|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Shows the source lines of a function with the time spent on each.",
    .details = "FUNCTION is a name from the section 'functions' of the report, or a unique part of\n"
               "such a name. Line numbers require debug information: compile with -g, or install the\n"
               "debug package. The session is chosen as in 'hotpath report'.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER | HP_SCOPE_NAMES,
    .run = run,
};
