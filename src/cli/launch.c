/*
 * Running another program as if we were not there.
 *
 * It stays in our process group, so whatever the terminal sends goes to it directly. We ourselves have all signals
 * blocked while it runs and take them one by one, together with the news about the program, so there is nothing that a
 * handler could race with. A signal that somebody sent to us is passed on. When the program stops, we stop, so that a
 * shell takes its terminal back, and go on when we or the program are continued. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* pipe2 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "task_files.h"

#define GRACE_NS UINT64_C(2000000000) /* between asking a program to end and making it */

/* What was before we came, for the program and for the time after it. */
struct before {
    sigset_t mask;
    struct sigaction on_child;
};

/* -------------------------------------------------------------------------------------------- starting */

/* The other end learns by the pipe whether exec failed: it closes when exec succeeds. */
static _Noreturn void become_program(const struct hp_launch *launch, const struct before *before, int tell)
{
    sigaction(SIGCHLD, &before->on_child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
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

static bool start(struct hp_launch *launch, const struct before *before)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        launch->error = errno;
        return false;
    }
    launch->pid = fork();
    if (launch->pid == 0)
        become_program(launch, before, ends[1]);
    launch->error = launch->pid < 0 ? errno : 0;
    close(ends[1]);
    if (launch->pid > 0)
        launch->error = read_error(ends[0]);
    close(ends[0]);
    return launch->error == 0;
}

/* --------------------------------------------------------------------------------------------- signals */

/* All but those that report a mistake of our own, and the one that continues us whether it is blocked or not. */
static void fill_taken(sigset_t *taken)
{
    static const int left[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGCONT};
    struct sigaction present;
    sigfillset(taken);
    for (size_t at = 0; at < sizeof left / sizeof left[0]; at++)
        sigdelset(taken, left[at]);
    /* What is ignored (nohup) the program ignores, too. */
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        if (signal != SIGCHLD && sigaction(signal, NULL, &present) == 0 && present.sa_handler == SIG_IGN)
            sigdelset(taken, signal);
}

/* What the terminal sends, the program gets itself, but a hang-up only goes to the leader of the session. */
static bool is_for_program(const siginfo_t *info, pid_t program)
{
    if (info->si_code > 0)
        return info->si_signo == SIGALRM || (info->si_signo == SIGHUP && getsid(0) == getpid());
    return info->si_pid != program;
}

/* A hung-up program that is stopped has to be continued to notice; the same for one that is to end. */
static void pass_on(const siginfo_t *info, pid_t program)
{
    if (!is_for_program(info, program))
        return;
    kill(program, info->si_signo);
    if (info->si_signo == SIGHUP)
        kill(program, SIGCONT);
}

/* -------------------------------------------------------------------------------------------- stopping */

static bool is_stopped(pid_t pid)
{
    uint64_t start;
    return hp_task_state((uint32_t)pid, 0, &start) == 'T';
}

/* Somebody may continue the program and not us: while we are stopped, a child of ours looks after that. */
static _Noreturn void wake_with_program(pid_t program, pid_t runner)
{
    const struct timespec pause = {0, 20000000};
    while (getppid() == runner && is_stopped(program))
        nanosleep(&pause, NULL);
    kill(runner, SIGCONT);
    _exit(0);
}

static void stop_with_program(pid_t program)
{
    const pid_t runner = getpid();
    const pid_t watcher = fork();
    if (watcher == 0)
        wake_with_program(program, runner);
    if (watcher < 0)
        return;
    raise(SIGSTOP);
    kill(watcher, SIGKILL);
    waitpid(watcher, NULL, 0);
    kill(program, SIGCONT);
}

/* --------------------------------------------------------------------------------------------- waiting */

/* Looks what happened to the program. True: it has ended. */
static bool has_ended(struct hp_launch *launch)
{
    for (;;) {
        const pid_t pid = waitpid(launch->pid, &launch->status, WNOHANG | WUNTRACED);
        if (pid == 0 || (pid < 0 && errno == EINTR))
            return false;
        if (pid < 0 || !WIFSTOPPED(launch->status))
            return true;
        if (launch->is_stopping != NULL)
            launch->is_stopping();
        stop_with_program(launch->pid);
    }
}

/* The next signal; 0 when the time has come. */
static int next_signal(const sigset_t *taken, uint64_t until_ns, siginfo_t *ret_info)
{
    const uint64_t now = hp_clock_monotonic_ns();
    const uint64_t left = until_ns > now ? until_ns - now : 0;
    const struct timespec limit = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
    const int signal = until_ns == 0 ? sigwaitinfo(taken, ret_info) : sigtimedwait(taken, ret_info, &limit);
    return signal < 0 && errno == EAGAIN ? 0 : signal;
}

static void ask_to_end(struct hp_launch *launch)
{
    kill(launch->pid, launch->is_asked_to_end ? SIGKILL : SIGTERM);
    kill(launch->pid, SIGCONT);
    launch->is_asked_to_end = true;
}

static void wait_for_end(struct hp_launch *launch, const sigset_t *taken)
{
    uint64_t until = launch->timeout_ms > 0 ? hp_clock_monotonic_ns() + launch->timeout_ms * UINT64_C(1000000) : 0;
    siginfo_t info;
    while (!has_ended(launch)) {
        const int signal = next_signal(taken, until, &info);
        if (signal == 0) {
            ask_to_end(launch);
            until = hp_clock_monotonic_ns() + GRACE_NS;
        } else if (signal > 0 && signal != SIGCHLD) {
            pass_on(&info, launch->pid);
        }
    }
}

/* What the terminal sent to both of us has done its work. */
static void forget_pending(const sigset_t *taken)
{
    const struct timespec none = {0, 0};
    while (sigtimedwait(taken, NULL, &none) > 0)
        ;
}

bool hp_launch(struct hp_launch *launch)
{
    struct before before;
    struct sigaction usual;
    sigset_t taken;
    fill_taken(&taken);
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &before.on_child); /* ignored, it would take the exit status away */
    sigprocmask(SIG_BLOCK, &taken, &before.mask);
    const bool is_started = start(launch, &before);
    if (is_started && launch->has_started != NULL)
        launch->has_started(launch->context);
    if (launch->pid > 0)
        wait_for_end(launch, &taken);
    forget_pending(&taken);
    sigprocmask(SIG_SETMASK, &before.mask, NULL);
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
    /* The program has left its core; ours would only replace it. */
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(WTERMSIG(status), &usual, NULL);
    sigemptyset(&only);
    sigaddset(&only, WTERMSIG(status));
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    exit(128 + WTERMSIG(status));
}
