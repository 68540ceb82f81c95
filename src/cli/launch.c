/*
 * Runs another program as if we were not there.
 *
 * The program stays in our process group, so signals from the terminal reach it directly. We block all signals
 * while it runs and take them one by one, together with SIGCHLD, so there are no handlers and no races; ignored
 * signals too, because the program may have a handler for them. Signals sent to us are forwarded (forward.h). When
 * the program stops, we stop, so that the shell takes its terminal back, and we go on when we or the program are
 * continued. A program that is a shell puts itself into its own process group and takes the terminal; after a stop
 * we give it back. SPDX-License-Identifier: MIT
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

#define GRACE_NS UINT64_C(2000000000) /* between SIGTERM and SIGKILL */

/* The state before we changed it: for the program, and to restore afterwards. */
struct before {
    uint64_t mask;
    struct sigaction on_child;
    struct rlimit files; /* RLIMIT_NOFILE; 0: unknown */
    int death_signal;    /* sent to us when our parent dies (PR_SET_PDEATHSIG); 0: none */
    pid_t runner;        /* this process */
};

/* -------------------------------------------------------------------------------------------- starting */

/* Memory shared by the child and us: there may be no descriptor left for a pipe. */
struct link {
    sem_t go;
    int error; /* errno of exec; 0: it succeeded, or has not been tried yet */
};

#define LOOK_NS 100000000L

/* False: the runner is gone. */
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

static void restore(const struct before *before)
{
    sigaction(SIGCHLD, &before->on_child, NULL);
    if (before->files.rlim_max != 0)
        setrlimit(RLIMIT_NOFILE, &before->files);
}

/*
 * The child waits until everything is ready. If we die with our parent, the child dies with us: fork has cleared
 * that setting.
 */
static _Noreturn void become_program(const struct hp_launch *launch, const struct before *before, struct link *link)
{
    if (before->death_signal != 0)
        prctl(PR_SET_PDEATHSIG, before->death_signal, 0, 0, 0);
    if (!may_go(link, before->runner))
        _exit(126);
    restore(before);
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

/* Whether a group has the terminal; if so, gives it to `next` (0: keeps it). */
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

/* SIGCONT to us is for the program too, unless it has it already. Stopping would discard a pending SIGCONT. */
static void stop_with_program(const struct hp_forwarding *forwarding)
{
    const pid_t program = forwarding->program, group = getpgid(program);
    const bool had_terminal = group > 0 && group != getpgrp() && has_terminal(group, 0);
    siginfo_t info;
    int signal;
    do {
        if (!hp_witness_guard(&forwarding->witness, program))
            return; /* nothing would continue us */
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

/* As the first process of a container we also reap orphans; they would stay zombies. */
static void lay_to_rest(pid_t pid, int status, struct hp_forwarding *forwarding)
{
    if (pid == forwarding->witness.pid && !WIFSTOPPED(status))
        hp_witness_forget(&forwarding->witness);
}

/* Checks what happened to the program. True: it has ended. */
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

/* The next signal; 0: the time is over, or a spurious wakeup. */
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

/* Drops signals that the terminal sent to both of us: the program has received them. */
static void forget_pending(const struct hp_forwarding *forwarding)
{
    siginfo_t info;
    while (hp_held_take(UINT64_MAX, &info, 0) > 0)
        hp_forward_last(&info, forwarding);
}

/* We may need more descriptors than the program. */
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
    sigaction(SIGCHLD, &usual, &before.on_child); /* if ignored, the exit status would be lost */
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
    if (launch->pid < 0)
        restore(&before); /* the caller may become the program */
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
    /* The program has dumped its core; ours would replace it. */
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
