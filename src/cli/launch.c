/*
 * Running another program as if we were not there.
 *
 * It stays in our process group, so whatever the terminal sends goes to it directly. We ourselves have all signals held
 * while it runs and take them one by one, together with the news about the program, so there is nothing that a handler could
 * race with; also those that are ignored, which the program may have a handler for. What was sent to us is passed on
 * (forward.h). When the program stops, we stop, so that a shell takes its terminal back, and go on when we or the program are
 * continued. A program that is a shell itself puts itself into a group of its own and has the terminal; it gets it back. SPDX-License-Identifier: MIT
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "forward.h"
#include "held_signals.h"
#include "task_files.h"
#include "witness.h"

#define GRACE_NS UINT64_C(2000000000) /* between asking a program to end and making it */

/* What was before we came, for the program and for the time after it. */
struct before {
    uint64_t mask;
    struct sigaction on_child;
    struct rlimit files; /* of descriptors; 0: not known */
    int death_signal;    /* that the death of our parent sends us; 0: none */
    pid_t runner;        /* ourselves */
};

/* -------------------------------------------------------------------------------------------- starting */

/* What the new process and we tell each other, in memory that both have: there may be no descriptor left for a pipe. */
struct link {
    sem_t go;
    int error; /* why it could not become the program; 0: it has, or has not tried yet */
};

#define LOOK_NS 100000000L

/* False: nobody is there any more. */
static bool may_go(struct link *link, pid_t runner)
{
    struct timespec until;
    do {
        if (getppid() != runner)
            return false;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (until.tv_nsec + LOOK_NS) / 1000000000L;
        until.tv_nsec = (until.tv_nsec + LOOK_NS) % 1000000000L;
    } while (sem_timedwait(&link->go, &until) != 0);
    return true;
}

/* It waits until all is ready for it. Who dies with its parent does so with us, and we with ours: fork has forgotten it. */
static _Noreturn void become_program(const struct hp_launch *launch, const struct before *before, struct link *link)
{
    if (before->death_signal != 0)
        prctl(PR_SET_PDEATHSIG, before->death_signal, 0, 0, 0);
    if (!may_go(link, before->runner))
        _exit(126);
    sigaction(SIGCHLD, &before->on_child, NULL);
    if (before->files.rlim_max != 0)
        setrlimit(RLIMIT_NOFILE, &before->files);
    hp_held_end(before->mask);
    launch->prepare(launch->context);
    execvp(launch->argv[0], launch->argv);
    link->error = errno;
    _exit(127);
}

static struct link *make_link(void)
{
    struct link *link = mmap(NULL, sizeof *link, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (link == MAP_FAILED)
        return NULL;
    sem_init(&link->go, 1, 0);
    return link;
}

static void start(struct hp_launch *launch, const struct before *before, struct link *link)
{
    launch->pid = link != NULL ? fork() : -1;
    if (launch->pid == 0)
        become_program(launch, before, link);
    launch->error = launch->pid < 0 ? errno : 0;
    if (launch->pid < 0)
        return;
    if (launch->is_starting != NULL)
        launch->is_starting(launch->context, launch->pid);
    sem_post(&link->go);
}

/* -------------------------------------------------------------------------------------------- stopping */

static bool is_stopped(pid_t pid)
{
    uint64_t start;
    return hp_task_state((uint32_t)pid, 0, &start) == 'T';
}

/* Whether a group has the terminal; if it has, `next` gets it (0: nobody). */
static bool has_terminal(pid_t group, pid_t next)
{
    const int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    const bool has_it = terminal >= 0 && tcgetpgrp(terminal) == group;
    if (has_it && next > 0)
        tcsetpgrp(terminal, next);
    if (terminal >= 0)
        close(terminal);
    return has_it;
}

/* What continues us is for the program too, unless it has it already. To stop would take away what is pending of that. */
static void stop_with_program(const struct hp_forwarding *forwarding)
{
    const pid_t program = forwarding->program, group = getpgid(program);
    const bool had_terminal = group > 0 && group != getpgrp() && has_terminal(group, 0);
    siginfo_t info;
    int signal;
    do {
        if (!hp_witness_guard(&forwarding->witness, program))
            return; /* nobody would wake us */
        if (!hp_held_is_pending(SIGCONT))
            kill(getpid(), SIGSTOP);
        hp_witness_rest(&forwarding->witness);
        signal = hp_held_take(hp_held_bit(SIGCONT), &info, 0);
        if (had_terminal)
            has_terminal(getpgrp(), group);
        if (signal > 0)
            hp_forward(&info, forwarding);
    } while (signal > 0 && info.si_pid == forwarding->witness.pid && is_stopped(program));
}

/* --------------------------------------------------------------------------------------------- waiting */

/* Others come to us as orphans where we are the first process of a container, and would stay as zombies. */
static void lay_to_rest(pid_t pid, int status, struct hp_forwarding *forwarding)
{
    if (pid == forwarding->witness.pid && !WIFSTOPPED(status))
        hp_witness_forget(&forwarding->witness);
}

/* Looks what happened to the program. True: it has ended. */
static bool has_ended(struct hp_launch *launch, struct hp_forwarding *forwarding)
{
    for (;;) {
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid == 0 || (pid < 0 && errno == EINTR))
            return false;
        if (pid > 0 && pid != launch->pid) {
            lay_to_rest(pid, status, forwarding);
            continue;
        }
        launch->status = status;
        if (pid < 0 || !WIFSTOPPED(status))
            return true;
        if (launch->is_stopping != NULL)
            launch->is_stopping();
        stop_with_program(forwarding);
    }
}

/* The next signal; 0 when the time has come, or for no reason. */
static int next_signal(uint64_t until_ns, siginfo_t *ret_info)
{
    const uint64_t now = hp_clock_monotonic_ns();
    if (until_ns == 0)
        return hp_held_take(UINT64_MAX, ret_info, HP_HELD_FOREVER);
    return hp_held_take(UINT64_MAX, ret_info, until_ns > now ? until_ns - now : 0);
}

static void ask_to_end(struct hp_launch *launch)
{
    kill(launch->pid, launch->is_asked_to_end ? SIGKILL : SIGTERM);
    kill(launch->pid, SIGCONT);
    launch->is_asked_to_end = true;
}

static void wait_for_end(struct hp_launch *launch, struct hp_forwarding *forwarding)
{
    uint64_t until = launch->timeout_ms > 0 ? hp_clock_monotonic_ns() + launch->timeout_ms * UINT64_C(1000000) : 0;
    siginfo_t info;
    while (!has_ended(launch, forwarding)) {
        if (next_signal(until, &info) > 0) {
            hp_forward(&info, forwarding);
        } else if (until != 0 && hp_clock_monotonic_ns() >= until) {
            ask_to_end(launch);
            until = hp_clock_monotonic_ns() + GRACE_NS;
        }
    }
}

/* What the terminal sent to both of us has done its work. */
static void forget_pending(const struct hp_forwarding *forwarding)
{
    siginfo_t info;
    while (hp_held_take(UINT64_MAX, &info, 0) > 0)
        hp_forward_last(&info, forwarding);
}

/* We need more files than the program, perhaps. */
static void raise_limit(struct rlimit *ret_before)
{
    if (getrlimit(RLIMIT_NOFILE, ret_before) != 0)
        return;
    const struct rlimit most = {ret_before->rlim_max, ret_before->rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

bool hp_launch(struct hp_launch *launch)
{
    struct before before = {.runner = getpid()};
    struct link *link = make_link();
    struct sigaction usual;
    struct hp_forwarding forwarding = {.parent = getppid()};
    memset(&usual, 0, sizeof usual);
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &before.on_child); /* ignored, it would take the exit status away */
    before.mask = hp_held_begin();
    prctl(PR_GET_PDEATHSIG, &before.death_signal, 0, 0, 0);
    raise_limit(&before.files);
    hp_witness_start(&forwarding.witness);
    start(launch, &before, link);
    forwarding.program = launch->pid;
    if (launch->pid > 0) {
        wait_for_end(launch, &forwarding);
        launch->error = link->error;
    }
    forget_pending(&forwarding);
    hp_witness_end(&forwarding.witness);
    forget_pending(&forwarding);
    hp_held_end(before.mask);
    if (link != NULL)
        munmap(link, sizeof *link);
    return launch->error == 0;
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
