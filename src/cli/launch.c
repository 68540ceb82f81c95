/*
 * Running another program as if we were not there.
 *
 * It stays in our process group, so whatever the terminal sends goes to both: Ctrl-C ends it and not us, Ctrl-Z stops
 * both. A signal that somebody sends to us alone is passed on. When the program stops itself, we stop as well, so that
 * the shell gets its terminal back, and continue it when we are continued. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* pipe2 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_SECONDS 2 /* between asking a program to end and making it */

static volatile pid_t program; /* handlers pass signals on to it */
static volatile sig_atomic_t alarms;

/* --------------------------------------------------------------------------------------------- signals */

static const int passed_on[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/* What the kernel sends because of the terminal, the program gets itself. */
static void pass_on(int signal, siginfo_t *info, void *unused)
{
    (void)unused;
    if (info->si_code <= 0 && program > 0)
        kill(program, signal);
}

static void on_alarm(int signal)
{
    (void)signal;
    alarms++;
}

static void pass_signals_on(void)
{
    struct sigaction present, ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = pass_on;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t at = 0; at < sizeof passed_on / sizeof passed_on[0]; at++)
        if (sigaction(passed_on[at], NULL, &present) == 0 && present.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(passed_on[at], &ours, NULL);
}

static void set_alarm(uint32_t milliseconds)
{
    const struct itimerval after = {
        .it_value = {(time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000}};
    setitimer(ITIMER_REAL, &after, NULL);
}

static void begin_time_limit(uint32_t milliseconds)
{
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = on_alarm; /* no SA_RESTART: waiting has to end */
    if (milliseconds == 0)
        return;
    sigaction(SIGALRM, &ours, NULL);
    set_alarm(milliseconds);
}

/* -------------------------------------------------------------------------------------------- starting */

/* The other end learns by the pipe whether exec failed: it closes when exec succeeds. */
static _Noreturn void become_program(const struct hp_launch *launch, int tell)
{
    launch->prepare(launch->context);
    execvp(launch->argv[0], launch->argv);
    const int error = errno;
    const ssize_t told = write(tell, &error, sizeof error);
    _exit(told == (ssize_t)sizeof error ? 127 : 126);
}

static int read_error(int listen)
{
    int error = 0;
    ssize_t length;
    do
        length = read(listen, &error, sizeof error);
    while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof error ? error : 0;
}

/* Signals wait until we know to whom they go; the program gets the mask that we found. */
static bool start(struct hp_launch *launch)
{
    int ends[2];
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        launch->error = errno;
        return false;
    }
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    launch->pid = fork();
    if (launch->pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        become_program(launch, ends[1]);
    }
    launch->error = launch->pid < 0 ? errno : 0;
    program = launch->pid;
    pass_signals_on();
    begin_time_limit(launch->timeout_ms);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (launch->pid > 0)
        launch->error = read_error(ends[0]);
    close(ends[0]);
    return launch->error == 0;
}

/* --------------------------------------------------------------------------------------------- waiting */

/* 'T' in the kernel's eyes. By the time we look, what stopped it may be over: the terminal stops us both. */
static bool is_stopped(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stream = fopen(path, "re");
    if (stream == NULL)
        return false;
    const size_t length = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    text[length] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'T';
}

static void stop_with_program(pid_t pid)
{
    if (!is_stopped(pid))
        return;
    raise(SIGSTOP);
    kill(pid, SIGCONT);
}

static void end_program(struct hp_launch *launch)
{
    launch->is_timed_out = true;
    kill(launch->pid, alarms == 1 ? SIGTERM : SIGKILL);
    kill(launch->pid, SIGCONT);
    set_alarm(GRACE_SECONDS * 1000);
}

static void wait_for_end(struct hp_launch *launch)
{
    sig_atomic_t seen = 0;
    for (;;) {
        const pid_t pid = waitpid(launch->pid, &launch->status, WUNTRACED);
        if (alarms > seen) {
            seen = alarms;
            if (pid < 0)
                end_program(launch);
        }
        if (pid < 0 && errno != EINTR)
            return;
        if (pid == launch->pid && !WIFSTOPPED(launch->status))
            return;
        if (pid == launch->pid)
            stop_with_program(pid);
    }
}

bool hp_launch(struct hp_launch *launch)
{
    const bool is_started = start(launch);
    if (launch->pid > 0)
        wait_for_end(launch);
    program = 0;
    set_alarm(0);
    return is_started;
}

_Noreturn void hp_launch_end_like(int status)
{
    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    const struct rlimit none = {0, 0};
    struct sigaction usual;
    sigset_t only;
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &none); /* the program has left its core, ours would only replace it */
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(WTERMSIG(status), &usual, NULL);
    sigemptyset(&only);
    sigaddset(&only, WTERMSIG(status));
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    exit(128 + WTERMSIG(status));
}
