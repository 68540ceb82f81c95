/*
 * hotpath demo: a busy example program with the console on it.
 *
 * It is `hotpath run --console` in a process and a folder of its own. The folder is removed at the end, so the demo
 * neither leaves sessions behind nor displaces old ones. SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "command.h"
#include "program_file.h"
#include "report_output.h"
#include "run_console.h"
#include "session_dirs.h"
#include "sessions.h"
#include "terminal_screen.h"
#include "text.h"

#define PROGRAM "hotpath/orders"
#define SECONDS_OF_CONSOLE "60"
#define SECONDS_OF_REPORT "10"
#define MOST_SECONDS 3600
#define FOLDER 1500u /* size of its path */

static pid_t runner;

static void pass_on(int signal) { kill(runner, signal); }

/* --------------------------------------------------------------------------------------------- folder */

static bool make_folder(const struct hp_settings *settings, char *folder, size_t size)
{
    char place[1200];
    for (unsigned n = 0; hp_session_dir(&settings->record, n, place, sizeof place); n++)
        if (place[0] != '\0' && hp_session_dir_is_usable(place) &&
            (size_t)snprintf(folder, size, "%s/demo-XXXXXX", place) < size && mkdtemp(folder) != NULL)
            return true;
    return false;
}

/* Finds the one run in the folder. False: nothing was run. */
static bool find_run(const char *folder, char *run, size_t size)
{
    bool is_found = false;
    DIR *names = opendir(folder);
    for (struct dirent *name; names != NULL && !is_found && (name = readdir(names)) != NULL;)
        if (hp_text_has_suffix(name->d_name, HP_RUN_SUFFIX))
            is_found = (size_t)snprintf(run, size, "%s/%s", folder, name->d_name) < size;
    if (names != NULL)
        closedir(names);
    return is_found;
}

static int report(const char *run, const struct hp_settings *settings)
{
    struct hp_sessions sessions = {0};
    const bool is_found = hp_sessions_in(&sessions, run) && sessions.count > 0;
    const int status = is_found ? hp_show(&sessions, settings, stdout, false) : EXIT_FAILED;
    hp_sessions_free(&sessions);
    return status;
}

/* ------------------------------------------------------------------------------------------------ run */

/* Runs `hotpath run` as if the user had typed it. */
static _Noreturn void become_run(const char *folder, const char *program, const char *seconds, bool has_console)
{
    static const char *const console[] = {"--console", "--end-with-console"};
    const char *words[12] = {"run", "--format", "none", "--dir", folder};
    int count = 5;
    for (unsigned at = 0; has_console && at < 2; at++)
        words[count++] = console[at];
    words[count++] = "--";
    words[count++] = program;
    words[count++] = seconds;
    hp_run_console_lasts(strtod(seconds, NULL));
    struct hp_arguments arguments;
    const int status = hp_arguments_read(&arguments, &hp_command_run, count, (char **)(uintptr_t)words);
    exit(status >= 0 ? status : hp_command_run.run(&arguments));
}

/* Ctrl-C is for the runner; this process only cleans up afterwards. */
static int wait_for_runner(void)
{
    int status = 0;
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTERM, pass_on);
    signal(SIGHUP, pass_on);
    while (waitpid(runner, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int run_in(const char *folder, const char *program, const char *seconds, bool has_console,
                  const struct hp_settings *settings)
{
    char run[FOLDER];
    fflush(NULL);
    runner = fork();
    if (runner < 0)
        return hp_fail("cannot run '%s': %s", program, strerror(errno));
    if (runner == 0)
        become_run(folder, program, seconds, has_console);
    int status = wait_for_runner();
    if (find_run(folder, run, sizeof run)) {
        const int shown = report(run, settings);
        status = status != EXIT_DONE ? status : shown;
        if (!hp_run_remove(run))
            hp_fail("cannot remove '%s': %s", run, strerror(errno));
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------ command */

static bool read_seconds(const struct hp_arguments *arguments, bool has_console, const char **ret_seconds)
{
    const char *given = hp_arguments_flag(arguments, "seconds");
    char *end;
    *ret_seconds = given != NULL ? given : has_console ? SECONDS_OF_CONSOLE : SECONDS_OF_REPORT;
    const double seconds = strtod(*ret_seconds, &end);
    if (end != *ret_seconds && *end == '\0' && seconds > 0 && seconds <= MOST_SECONDS)
        return true;
    hp_misuse(arguments->command, "--seconds '%s' is not between 0 and %d", given, MOST_SECONDS);
    return false;
}

/* After the console the verdict is enough. */
static void settle(const struct hp_arguments *arguments, struct hp_settings *settings, bool has_console)
{
    hp_arguments_settle(arguments, settings);
    settings->output.output_path[0] = '\0';
    settings->output.format = HP_FORMAT_TABLE;
    settings->output.is_session_removed = true;
    snprintf(settings->show.report, sizeof settings->show.report, has_console ? "bottlenecks" : "short");
    settings->show.functions_limit = 8;
    settings->show.functions_limit_is_given = true;
}

static int start(const struct hp_arguments *arguments)
{
    static struct hp_settings settings;
    char program[PATH_MAX], folder[FOLDER];
    const char *seconds;
    const bool has_console = hp_arguments_flag(arguments, "once") == NULL && hp_terminal_screen_is_there() &&
                             isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (!read_seconds(arguments, has_console, &seconds))
        return EXIT_USAGE;
    if (!hp_installed_find(PROGRAM, program, sizeof program))
        return hp_fail("the demo program is not installed: lib/" PROGRAM
                       " was not found. To run another program: hotpath run --console ./program");
    settle(arguments, &settings, has_console);
    if (!make_folder(&settings, folder, sizeof folder))
        return hp_fail("no directory for sessions can be used (%s); give one with --dir", strerror(errno));
    if (!has_console)
        fprintf(stderr, "hotpath: the demo runs for %s s and then prints its report%s\n", seconds,
                hp_arguments_flag(arguments, "once") != NULL ? "" : "; in a terminal it is shown in the console");
    const int status = run_in(folder, program, seconds, has_console, &settings);
    if (rmdir(folder) != 0)
        hp_fail("cannot remove '%s': %s", folder, strerror(errno));
    if (status == EXIT_DONE)
        puts("\n"
             "The demo was examples/orders.c; its session has been removed. To run your own program:\n"
             "  hotpath run --console ./program");
    return status;
}

static const struct hp_flag flags[] = {
    {"once", 0, NULL, "Print the report without the console, as if there were no terminal."},
    {"seconds", 0, "SECONDS", "How long the program runs (60, or 10 without the console)."},
};

const struct hp_command hp_command_demo = {
    .name = "demo",
    .group = HP_GROUP_RECORD,
    .operands = "",
    .operand = HP_OPERAND_NONE,
    .summary = "Runs an example program in the console.",
    .details = "The program simulates an order server with ten threads: a contended lock, a queue\n"
               "that fills up, tasks in an event loop, files, allocations. It alternates between\n"
               "three calm and twelve busy seconds. q ends it and prints its report. Its session\n"
               "is removed at the end.\n",
    .flags = flags,
    .flag_count = sizeof flags / sizeof flags[0],
    .scopes = HP_SCOPE_FOLDER,
    .run = start,
};
