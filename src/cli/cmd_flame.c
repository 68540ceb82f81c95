/* hotpath flame: the stacks of a run as a page for the browser. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "browser.h"
#include "command.h"
#include "output_file.h"
#include "run_weights.h"
#include "session_dirs.h"

struct task {
    const struct hp_arguments *arguments;
    struct hp_weighted weighted;
    struct hp_run_weights run, other;
    struct hp_export export;
};

/* ------------------------------------------------------------------------------------------------- output */

/*
 * In the current folder. In a folder that others can write to, a link may be waiting under that name, so the file
 * is created anew.
 */
static FILE *open_usual(const struct task *task, char *path, size_t size)
{
    snprintf(path, size, "hotpath-flame-%u.html", (unsigned)task->export.pid);
    unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (stream == NULL)
        hp_fail("cannot write '%s': %s; name another file with --output", path, strerror(errno));
    if (stream == NULL && fd >= 0)
        close(fd);
    return stream;
}

static FILE *open_page(const struct task *task, char *path, size_t size)
{
    const char *output = hp_arguments_flag(task->arguments, "output");
    if (output == NULL)
        return open_usual(task, path, size);
    if (hp_session_dir_of_report(output, task->export.pid, path, size))
        return hp_output_open(path);
    hp_fail("the output path is empty or too long: '%s'", output);
    return NULL;
}

static int write_page(const struct task *task)
{
    char path[1200], whole[PATH_MAX];
    FILE *stream = open_page(task, path, sizeof path);
    if (stream == NULL)
        return EXIT_FAILED;
    const int status = hp_export_to(&task->export, hp_flame_write, stream, path);
    if (fclose(stream) != 0 && status == EXIT_DONE)
        return hp_fail("cannot write all of '%s': %s", path, strerror(errno));
    if (status != EXIT_DONE)
        return status;
    const char *shown = realpath(path, whole) != NULL ? whole : path;
    puts(shown);
    if (hp_arguments_flag(task->arguments, "no-open") == NULL && hp_browser_has_screen())
        hp_browser_open(shown);
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------ command */

/* The run to compare with is read first: functions in both keep the names that this run gives them. */
static bool read_runs(struct task *task, const struct hp_settings *settings)
{
    const struct hp_arguments *arguments = task->arguments;
    const char *other = hp_arguments_flag(arguments, "diff");
    task->weighted.is_compared = other != NULL;
    task->weighted.is_by_zone = hp_arguments_flag(arguments, "by-zone") != NULL;
    task->weighted.is_before = true;
    if (other != NULL && !hp_run_weights_open(&task->other, settings, other, &task->weighted))
        return false;
    task->weighted.is_before = false;
    if (!hp_run_weights_open(&task->run, settings, arguments->operand_count > 0 ? arguments->operands[0] : NULL,
                             &task->weighted))
        return false;
    hp_run_weights_describe(&task->run, &task->export);
    task->export.compared_with = other != NULL ? task->other.command : NULL;
    return true;
}

static int make(struct task *task, const struct hp_settings *settings)
{
    task->export.weighted = &task->weighted;
    if (!read_runs(task, settings))
        return EXIT_FAILED;
    hp_export_take_all(&task->export, NULL);
    if (task->export.dimension_count == 0)
        return hp_fail("this session has no stacks and no measured functions; 'hotpath doctor' checks whether this "
                       "machine allows sampling stacks");
    return write_page(task);
}

static int run(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    static struct task task;
    task.arguments = arguments;
    if (arguments->operand_count > 1)
        return hp_misuse(arguments->command,
                         "unexpected argument '%s': only one session can be shown; --diff compares two",
                         arguments->operands[1]);
    hp_arguments_settle(arguments, &settings);
    const int status = make(&task, &settings);
    hp_weighted_free(&task.weighted);
    hp_run_weights_close(&task.run);
    hp_run_weights_close(&task.other);
    return status;
}

static const struct hp_flag flags[] = {
    {"by-zone", 0, NULL, "Begin each stack with the measured function it was in: [zone: NAME]."},
    {"diff", 0, "SESSION",
     "Compare with that session or run: functions that increased are red, those that decreased are blue."},
    {"output", 'o', "PATH",
     "Output file; %p is the process id. Default: hotpath-flame-PID.html in the current directory."},
    {"no-open", 0, NULL, "Do not open the page in a browser."},
};

const struct hp_command hp_command_flame = {
    .name = "flame",
    .operands = "[SESSION|PID|FILE]",
    .operand = HP_OPERAND_SESSION,
    .summary = "Writes a flame graph page of a run and opens it in the browser.",
    .details = "The flame graph shows CPU time, waiting and allocations, as far as they were\n"
               "recorded with stacks. The page is one file and needs no network. The command prints its\n"
               "path, and opens it in a browser if there is a display. The session is chosen as in\n"
               "'hotpath report'.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = run,
};
