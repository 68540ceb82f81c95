/*
 * Runs a program with the console on it.
 *
 * The console owns the terminal: the runner is in its own process group, so that keys do not reach the program, and
 * the program's output goes through a pipe to us. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* pipe2 */
#include "run_console.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "console.h"
#include "launch.h"
#include "options.h"
#include "report_output.h"
#include "sessions.h"
#include "terminal_screen.h"

/* ------------------------------------------------------------------------------------------------- show console */

/*
 * Runs the console on the terminal.
 */

int hp_show_console(struct hp_console *console, const struct hp_settings *settings, int *ret_signal)
{
    const char *problem;
    *ret_signal = 0;
    if (hp_terminal_screen_is_there() && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
        return hp_fail("the console needs a terminal; --once prints one screen without it");
    const int told = hp_terminal_screen_run(console, !settings->output.no_color, &problem);
    if (told < 0)
        return hp_fail("%s", problem);
    hp_choices_write(&console->choices);
    *ret_signal = told;
    return EXIT_DONE;
}

/* -------------------------------------------------------------------------------------------------- run console */

#define PAUSE_US 20000u

static pid_t runner;
static double lasts; /* seconds; 0: unknown */

void hp_run_console_lasts(double seconds) { lasts = seconds; }

/* The program's output; buffered in `kept` while the console has the terminal. */
struct said {
    int pipe;
    FILE *kept; /* NULL: it cannot be kept, and is lost */
    pthread_mutex_t lock;
    bool is_open; /* the terminal is free: output goes there */
};

static void pass_on(int signal) { kill(runner, signal); }

static void *read_all(void *context)
{
    struct said *said = context;
    char bytes[8192];
    ssize_t count;
    while ((count = read(said->pipe, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR)) {
        pthread_mutex_lock(&said->lock);
        FILE *to = said->is_open ? stdout : said->kept;
        if (to != NULL && count > 0) {
            fwrite(bytes, 1, (size_t)count, to);
            fflush(to);
        }
        pthread_mutex_unlock(&said->lock);
    }
    return NULL;
}

static void open_up(struct said *said)
{
    char bytes[8192];
    size_t count;
    pthread_mutex_lock(&said->lock);
    if (said->kept != NULL) {
        rewind(said->kept);
        while ((count = fread(bytes, 1, sizeof bytes, said->kept)) > 0)
            fwrite(bytes, 1, count, stdout);
        fflush(stdout);
    }
    said->is_open = true;
    pthread_mutex_unlock(&said->lock);
}

/* The runner has no input, and its output goes to the pipe. */
static _Noreturn void become_runner(int output, int (*run)(void *), void *context)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    exit(run(context));
}

static bool has_session(const char *folder)
{
    struct hp_sessions sessions = {0};
    const bool has = hp_sessions_in(&sessions, folder) && sessions.count > 0;
    hp_sessions_free(&sessions);
    return has;
}

/* False: the program ended before it had a session. */
static bool wait_for_session(const char *folder)
{
    siginfo_t info;
    do {
        if (has_session(folder))
            return true;
        usleep(PAUSE_US);
        info.si_pid = 0;
    } while (waitid(P_PID, (id_t)runner, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0);
    return has_session(folder);
}

static void show(const char *folder, const struct hp_settings *settings)
{
    static struct hp_console console;
    int told = 0;
    const struct hp_program_source source = hp_program_source_of(settings);
    hp_console_init(&console, settings, &source);
    console.lasts_ns = (uint64_t)(lasts * 1e9);
    if (!hp_console_choose(&console, folder))
        hp_fail("%s", console.message);
    else
        hp_show_console(&console, settings, &told);
    hp_console_free(&console);
    if (told != 0)
        kill(runner, told);
}

int hp_run_with_console(const char *folder, const struct hp_settings *settings, bool ends_with_console,
                        int (*run)(void *context), void *context)
{
    struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER, .kept = tmpfile()};
    int ends[2], status = 0;
    pthread_t reader;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return hp_fail("--console needs a terminal");
    if (pipe2(ends, O_CLOEXEC) != 0 || (runner = fork()) < 0)
        return hp_fail("cannot run the program in the console: %s", strerror(errno));
    if (runner == 0)
        become_runner(ends[1], run, context);
    close(ends[1]);
    said.pipe = ends[0];
    const bool has_reader = pthread_create(&reader, NULL, read_all, &said) == 0;
    if (wait_for_session(folder))
        show(folder, settings);
    if (ends_with_console)
        kill(runner, SIGTERM);
    signal(SIGINT, pass_on);
    signal(SIGTERM, pass_on);
    signal(SIGHUP, pass_on);
    open_up(&said);
    if (has_reader)
        pthread_join(reader, NULL);
    while (waitpid(runner, &status, 0) < 0 && errno == EINTR)
        ;
    close(ends[0]);
    if (said.kept != NULL)
        fclose(said.kept);
    hp_launch_end_like(status);
}
