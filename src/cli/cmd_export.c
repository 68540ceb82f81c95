/* hotpath export: the stacks of a run, in the format of another viewer. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "report_output.h"
#include "run_stacks.h"
#include "session_dirs.h"

#define NAME(name, about) " " #name
#define LINE(name, about) "  " #name ": " about "\n"
#define DIMENSIONS                                                                                                 \
    "cpu, wall, waits, zones, zone-cpu, zone-waits, zone-alloc, alloc, alloc-peak, alloc-left, "                   \
    "path"

struct task {
    const struct hp_arguments *arguments;
    const struct hp_export_format *format;
    struct hp_weighted weighted;
    struct hp_time_limits limits;
    struct hp_run_weights run;
    struct hp_export export;
};

/* --------------------------------------------------------------------------------------------- dimensions */

/* "cpu, zones" */
static const char *list_dimensions(const struct hp_export *export, char *bytes, size_t size)
{
    struct hp_text text;
    hp_text_init(&text, bytes, size);
    for (size_t at = 0; at < export->dimension_count; at++) {
        hp_text_format(&text, "%s%s", at > 0 ? ", " : "", hp_export_type(export, at)->key);
    }
    return hp_text_end(&text);
}

static bool is_dimension(const char *name)
{
    for (size_t at = 0; at < HP_DIMENSIONS; at++)
        if (strcmp(hp_dimension_types[at].key, name) == 0 ||
            strcmp(hp_dimension_type_of((enum hp_dimension)at, true)->key, name) == 0)
            return true;
    return false;
}

/* Takes only the dimension that --of names. */
static int take_named(struct task *task, const char *name)
{
    char known[200];
    struct hp_export *export = &task->export;
    const struct hp_dimension_type *wall = &hp_dimension_types[HP_OF_WALL];
    if (strcmp(name, wall->key) == 0 && hp_weighted_has(export->weighted, HP_OF_WALL) &&
        !task->format->is_of_bytes) {
        export->dimensions[0] = HP_OF_WALL; /* even where it is all CPU time */
        export->dimension_count = 1;
        return EXIT_DONE;
    }
    for (size_t at = 0; at < export->dimension_count; at++)
        if (strcmp(hp_export_type(export, at)->key, name) == 0) {
            export->dimensions[0] = export->dimensions[at];
            export->dimension_count = 1;
            return EXIT_DONE;
        }
    return hp_fail("this session has no '%s' for the format %s; available: %s", name, task->format->name,
                   list_dimensions(export, known, sizeof known));
}

static int explain_nothing(const struct task *task)
{
    if (task->format->is_of_bytes)
        return hp_fail("this session has no allocations, which the format %s requires; see hotpath-export(1)",
                       task->format->name);
    return hp_fail(
        "this session has no stacks and no measured functions; 'hotpath doctor' checks whether this machine allows "
        "sampling stacks");
}

static int choose_dimensions(struct task *task)
{
    const char *of = hp_arguments_flag(task->arguments, "of");
    hp_export_take_all(&task->export, task->format);
    if (task->export.dimension_count == 0)
        return explain_nothing(task);
    if (of != NULL)
        return take_named(task, of);
    if (task->format->is_of_one)
        task->export.dimension_count = 1;
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------- output */

static int write_to_file(const struct task *task, const char *pattern)
{
    char path[1200];
    if (!hp_session_dir_of_report(pattern, task->export.pid, path, sizeof path))
        return hp_fail("the output path is empty or too long: '%s'", pattern);
    FILE *stream = hp_output_open(path);
    if (stream == NULL)
        return EXIT_FAILED;
    return hp_output_close(stream, path, hp_export_to(&task->export, task->format->write, stream, path));
}

static int write_out(const struct task *task)
{
    const char *output = hp_arguments_flag(task->arguments, "output");
    if (output != NULL)
        return write_to_file(task, output);
    return hp_export_to(&task->export, task->format->write, stdout, "standard output");
}

/* ------------------------------------------------------------------------------------------------ command */

static enum hp_process_frames process_frames(const struct hp_arguments *arguments)
{
    if (hp_arguments_flag(arguments, "by-process") != NULL)
        return HP_FRAMES_BY_PROCESS;
    return hp_arguments_flag(arguments, "merge-programs") != NULL ? HP_FRAMES_ALL_MERGED : HP_FRAMES_BY_PROGRAM;
}

/* Checks the command line before anything is read. */
static int check(struct task *task)
{
    const struct hp_arguments *arguments = task->arguments;
    const char *name = hp_arguments_flag(arguments, "format"), *of = hp_arguments_flag(arguments, "of");
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command, "unexpected argument '%s': only one session can be exported",
                         arguments->operands[1]);
    if (name == NULL)
        return hp_misuse(arguments->command, "missing --format; available:" HP_EXPORT_FORMATS(NAME));
    task->format = hp_export_format_find(name);
    if (task->format == NULL)
        return hp_misuse(arguments->command, "unknown format '%s'; available:" HP_EXPORT_FORMATS(NAME), name);
    if (of != NULL && !is_dimension(of))
        return hp_misuse(arguments->command, "--of '%s' is not one of " DIMENSIONS, of);
    if (task->format->is_binary && hp_arguments_flag(arguments, "output") == NULL && isatty(STDOUT_FILENO))
        return hp_misuse(arguments->command,
                         "the format %s cannot be written to a terminal: name a file with --output", name);
    return EXIT_DONE;
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct task task;
    task.arguments = arguments;
    int status = check(&task);
    if (status != EXIT_DONE)
        return status;
    if (!hp_arguments_timestamp(arguments, "from", &task.limits.from) ||
        !hp_arguments_timestamp(arguments, "to", &task.limits.to))
        return EXIT_USAGE;
    hp_arguments_settle(arguments, &settings);
    task.weighted.has_lines = task.format->has_lines;
    task.weighted.is_by_zone = hp_arguments_flag(arguments, "by-zone") != NULL;
    task.weighted.processes = process_frames(arguments);
    task.weighted.has_library_names = hp_arguments_flag(arguments, "libraries") != NULL;
    task.export.weighted = &task.weighted;
    status = EXIT_FAILED;
    if (hp_run_weights_open(&task.run, &settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL,
                            &task.limits, &task.weighted)) {
        hp_run_weights_describe(&task.run, &task.export);
        status = choose_dimensions(&task);
        if (status == EXIT_DONE)
            status = write_out(&task);
    }
    hp_weighted_free(&task.weighted);
    hp_run_weights_close(&task.run);
    return status;
}

static const struct hp_flag flags[] = {
    {"format", 'f', "FORMAT", "One of these:" HP_EXPORT_FORMATS(NAME) "."},
    {"of", 0, "WHAT",
     "What to export, one of " DIMENSIONS ". Default: all that the format can hold; if that is one, the first one "
     "available."},
    {"by-zone", 0, NULL, "Begin each stack with the measured function it was in: [zone: NAME]."},
    {"by-process", 0, NULL,
     "Begin each stack with its process: \"cc1 4242\". Default: if the run has several "
     "programs, with its program."},
    {"merge-programs", 0, NULL, "Merge the stacks of all programs."},
    {"libraries", 0, NULL, "Name the library of each function: \"inflate (libz.so.1)\"."},
    {"from", 0, "TIME",
     "Start of the time range: 2s, 1m30s, 80%, or -10s before the end. Only stacks are exported."},
    {"to", 0, "TIME", "End of the time range, in the same form."},
    {"output", 'o', "PATH", "Output file; %p is the process id. Default: standard output."},
};

const struct hp_command hp_command_export = {
    .name = "export",
    .group = HP_GROUP_LOOK,
    .operands = "--format FORMAT [SESSION|PID|PROGRAM|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Exports the stacks of a run for other viewers.",
    .details = "The formats:\n" HP_EXPORT_FORMATS(LINE) "The session is chosen as in "
                                                        "'hotpath report'.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = run,
};
