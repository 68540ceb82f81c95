/*
 * Runs another program as if we were not there.
 *
 * The program stays in our process group, so signals from the terminal reach it directly. We block all signals
 * while it runs and take them one by one, together with SIGCHLD, so there are no handlers and no races; ignored
 * signals too, because the program may have a handler for them. Signals sent to us are forwarded . When
 * the program stops, we stop, so that the shell takes its terminal back, and we go on when we or the program are
 * continued. A program that is a shell puts itself into its own process group and takes the terminal; after a stop
 * we give it back. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process.h"

/* ---------------------------------------------------------------------------------------------- held signals */

#define SECOND UINT64_C(1000000000)

/* The kernel's layout on 32-bit machines, where the C library may have a newer one. */
struct kernel_timespec {
    long seconds, nanoseconds;
};

uint64_t hp_held_begin(void)
{
    const uint64_t all = UINT64_MAX;
    uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof before);
    return before;
}

void hp_held_end(uint64_t before) { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before); }

int hp_held_take(uint64_t set, siginfo_t *ret_info, uint64_t ns)
{
    const struct kernel_timespec limit = {(long)(ns / SECOND), (long)(ns % SECOND)};
    const long taken =
        syscall(SYS_rt_sigtimedwait, &set, ret_info, ns == HP_HELD_FOREVER ? NULL : &limit, sizeof set);
    return taken > 0 ? (int)taken : 0;
}

bool hp_held_is_pending(int signal)
{
    uint64_t pending = 0;
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    return (pending & hp_held_bit(signal)) != 0;
}

/* ------------------------------------------------------------------------------------- inherited descriptors */

#define BLIND 256 /* descriptors tried where /proc is not mounted */

static void each(void (*visit)(int fd, const void *context), const void *context)
{
    DIR *all = opendir("/proc/self/fd");
    for (int fd = 0; all == NULL && fd < BLIND; fd++)
        visit(fd, context);
    if (all == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(all)) != NULL;) {
        const int fd = entry->d_name[0] != '.' ? atoi(entry->d_name) : dirfd(all);
        if (fd != dirfd(all))
            visit(fd, context);
    }
    closedir(all);
}

static bool is_inherited(int fd)
{
    const int flags = fcntl(fd, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

static bool is_file(int fd, const char *path)
{
    struct stat one, other;
    return path[0] != '\0' && fstat(fd, &one) == 0 && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* fcntl locks belong to us alone: the program has not inherited them, and closing the file would release them. */
static bool has_lock(int fd)
{
    char name[32], text[1024];
    snprintf(name, sizeof name, "fdinfo/%d", fd);
    return hp_task_read(0, 0, name, text, sizeof text) && strstr(text, "POSIX") != NULL;
}

/* Standard input and output are replaced by /dev/null, so that no other file gets their numbers. */
static void let_go(int fd, const void *context)
{
    if (fd == STDERR_FILENO || !is_inherited(fd) || is_file(fd, context) || has_lock(fd))
        return;
    const int nothing = fd < STDERR_FILENO ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    if (nothing < 0 || dup2(nothing, fd) < 0)
        close(fd);
    if (nothing >= 0)
        close(nothing);
}

void hp_inherited_let_go(const char *output) { each(let_go, output); }

static void close_unless(int fd, const void *context)
{
    if (fd != *(const int *)context)
        close(fd);
}

void hp_inherited_keep_only(int fd) { each(close_unless, &fd); }

/* ------------------------------------------------------------------------------------------------------ probe */

/*
 * A child process that stays in our process group with all signals blocked. If it has received a signal, too, the
 * signal was sent to the whole group, and the program has it already. The sender's data in the signal does not tell
 * that.
 *
 * While we are stopped, it watches the program: someone who does not know of us may continue it.
 *
 * The probe process. It sleeps until it is asked; its signals stay pending meanwhile.
 */
struct hp_signal_probe {
    pid_t pid; /* 0: none */
    int link;
};

enum hp_signal_target { HP_SIGNAL_TO_ALONE, HP_SIGNAL_TO_GROUP, HP_SIGNAL_TO_NONE };

#define LOOK_MS 20

struct question {
    int signal; /* 0: stop guarding */
    int code;
    pid_t sender;
    pid_t guarded; /* the program to guard; 0: none */
};

/* ---------------------------------------------------------------------------------- the probe process */

/* A pending signal from another sender is dropped too: of most signals the kernel keeps only one. */
static bool has_seen(const struct question *question)
{
    siginfo_t info;
    return hp_held_take(hp_held_bit(question->signal), &info, 0) > 0 && info.si_code == question->code &&
           (question->code > 0 || info.si_pid == question->sender);
}

static bool is_stopped(pid_t pid)
{
    uint64_t start;
    return hp_task_state((uint32_t)pid, 0, &start) == 'T';
}

/* The probe was killed and has been reaped. */
static void signal_probe_forget(struct hp_signal_probe *probe)
{
    close(probe->link);
    memset(probe, 0, sizeof *probe);
}

static void guard(int link, pid_t program, pid_t runner)
{
    struct pollfd news = {.fd = link, .events = POLLIN, .revents = 0};
    while (is_stopped(program))
        if (poll(&news, 1, LOOK_MS) > 0)
            return;
    kill(runner, SIGCONT);
}

/* The other end of the socket closes when the runner ends, however it ends. */
static _Noreturn void live(int link, pid_t runner)
{
    struct question question;
    while (recv(link, &question, sizeof question, 0) == (ssize_t)sizeof question) {
        const char answer = question.signal != 0 && has_seen(&question);
        if (send(link, &answer, 1, MSG_NOSIGNAL) != 1)
            break;
        if (question.guarded != 0)
            guard(link, question.guarded, runner);
    }
    _exit(0);
}

/* ------------------------------------------------------------------------------------------ the runner's side */

/*
 * Call it with all signals blocked: the probe inherits that. Without a probe (false) the other functions do
 * nothing.
 */
static bool signal_probe_start(struct hp_signal_probe *probe)
{
    int ends[2];
    const pid_t runner = getpid();
    memset(probe, 0, sizeof *probe);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    const pid_t pid = fork();
    if (pid == 0) {
        hp_inherited_keep_only(ends[1]);
        live(ends[1], runner);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    *probe = (struct hp_signal_probe){.pid = pid, .link = ends[0]};
    return true;
}

#define USUAL_MS 100
#define MOST_MS 1000

/* A stop of the group has stopped the probe, too; then it is continued. */
static bool is_answered(const struct hp_signal_probe *probe)
{
    struct pollfd link = {.fd = probe->link, .events = POLLIN, .revents = 0};
    if (poll(&link, 1, USUAL_MS) == 1)
        return true;
    kill(probe->pid, SIGCONT);
    return poll(&link, 1, MOST_MS) == 1;
}

/* Discards late answers to earlier questions. */
static void forget_answers(const struct hp_signal_probe *probe)
{
    char answer;
    while (recv(probe->link, &answer, 1, MSG_DONTWAIT) == 1)
        ;
}

/* False: no answer. */
static bool ask(const struct hp_signal_probe *probe, const struct question *question, char *ret_answer)
{
    if (probe->pid == 0)
        return false;
    forget_answers(probe);
    return send(probe->link, question, sizeof *question, MSG_NOSIGNAL) == (ssize_t)sizeof *question &&
           is_answered(probe) && recv(probe->link, ret_answer, 1, 0) == 1;
}

/*
 * A signal to a group reaches its processes one after the other, and we may be the first. The sender holds the
 * kernel's tasklist lock meanwhile, and setpgid waits for that lock before it finds that we are in our group
 * already.
 */
static void let_it_reach_all(void) { (void)!setpgid(0, getpgrp()); }

/* Whether a signal that we received went to the group or to us alone. The probe drops its copy. */
static enum hp_signal_target signal_probe_ask(const struct hp_signal_probe *probe, const siginfo_t *info)
{
    const struct question question = {.signal = info->si_signo, .code = info->si_code, .sender = info->si_pid};
    char answer;
    let_it_reach_all();
    if (!ask(probe, &question, &answer))
        return HP_SIGNAL_TO_NONE;
    return answer ? HP_SIGNAL_TO_GROUP : HP_SIGNAL_TO_ALONE;
}

/*
 * From now on it continues us as soon as the program is not stopped, until it is told to stop guarding or is
 * asked. False: not possible. An earlier SIGCONT of the program says nothing about the next one, so the probe
 * drops it.
 */
static bool signal_probe_guard(const struct hp_signal_probe *probe, pid_t program)
{
    char answer;
    return ask(probe, &(struct question){.signal = SIGCONT, .guarded = program}, &answer);
}

static void signal_probe_rest(const struct hp_signal_probe *probe)
{
    char answer;
    ask(probe, &(struct question){0}, &answer);
}

static void signal_probe_end(struct hp_signal_probe *probe)
{
    if (probe->pid == 0)
        return;
    kill(probe->pid, SIGKILL);
    while (waitpid(probe->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    signal_probe_forget(probe);
}

/* ------------------------------------------------------------------------------------------------------ forward */

/*
 * Decides which of the signals that we receive are for the program, and forwards them unchanged.
 *
 * Forwards signals to the program.
 */
struct hp_forwarding {
    pid_t program;
    pid_t parent; /* our parent, which would have started the program; 0: none that we could signal */
    struct hp_signal_probe probe;
};

/* Sent by the kernel about something that we did ourselves. */
static bool is_about_us(const siginfo_t *info)
{
    const int signal = info->si_signo;
    return info->si_code > 0 && (signal == SIGCHLD || signal == SIGXCPU || signal == SIGXFSZ || signal == SIGPIPE);
}

static bool is_from(const siginfo_t *info, pid_t pid)
{
    return pid != 0 && info->si_code <= 0 && info->si_pid == pid;
}

/* Only kill and the kernel can signal a group; a signal with a value was sent to one process. */
static bool can_be_of_group(const siginfo_t *info) { return info->si_code >= 0; }

/* Without a probe, a signal from the kernel is taken to be for the group, as those from the terminal are. */
static bool went_to_group(const siginfo_t *info, const struct hp_signal_probe *probe)
{
    if (!can_be_of_group(info))
        return false;
    const enum hp_signal_target target = signal_probe_ask(probe, info);
    return target == HP_SIGNAL_TO_GROUP ||
           (target == HP_SIGNAL_TO_NONE && info->si_code > 0 && info->si_signo != SIGALRM);
}

/*
 * The program may have left our group, as shells do. If we lead the group, the program would lead it in our place:
 * it could not leave, and would have received the signal.
 */
static bool is_reached_by_group(pid_t program) { return getpgid(program) == getpgrp() || getpgrp() != getpid(); }

/* The kernel lets nobody forge a signal of kill or of the kernel, so these are sent in our name. */
static void pass_on(const siginfo_t *info, pid_t to)
{
    siginfo_t same = *info;
    if (info->si_code < 0 && info->si_code != SI_TKILL &&
        syscall(SYS_rt_sigqueueinfo, to, info->si_signo, &same) == 0)
        return;
    kill(to, info->si_signo);
}

/* If the parent has ended, getppid names the reaper, to which the signal means nothing. */
static bool is_there(pid_t parent) { return parent > 0 && getppid() == parent; }

/*
 * Each signal reaches the program once: what it received directly is not repeated. A signal from the program to its
 * parent goes to our parent. A queued one keeps its value and its sender.
 */
static void hp_forward(const siginfo_t *info, const struct hp_forwarding *forwarding)
{
    if (is_about_us(info))
        return;
    /* The order matters: the probe has to drop its copy of the signal in any case. */
    const bool is_for_group = went_to_group(info, &forwarding->probe);
    if (is_from(info, forwarding->probe.pid))
        return;
    if (is_for_group ? !is_reached_by_group(forwarding->program) : !is_from(info, forwarding->program))
        pass_on(info, forwarding->program);
    else if (!is_for_group && is_there(forwarding->parent))
        pass_on(info, forwarding->parent);
}

/* The same after the program has ended, for the signals that it sent to its parent before. */
static void forward_last(const siginfo_t *info, const struct hp_forwarding *forwarding)
{
    if (is_from(info, forwarding->program) && !went_to_group(info, &forwarding->probe) &&
        is_there(forwarding->parent))
        pass_on(info, forwarding->parent);
}

/* ------------------------------------------------------------------------------------------------------- launch */

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
        if (!signal_probe_guard(&forwarding->probe, program))
            return; /* nothing would continue us */
        if (!hp_held_is_pending(SIGCONT))
            kill(getpid(), SIGSTOP);
        signal_probe_rest(&forwarding->probe);
        signal = hp_held_take(hp_held_bit(SIGCONT), &info, 0);
        if (had_terminal)
            has_terminal(getpgrp(), group);
        if (signal > 0)
            hp_forward(&info, forwarding);
    } while (signal > 0 && info.si_pid == forwarding->probe.pid && is_stopped(program));
}

/* --------------------------------------------------------------------------------------------- waiting */

/* As the first process of a container we also reap orphans; they would stay zombies. */
static void lay_to_rest(pid_t pid, int status, struct hp_forwarding *forwarding)
{
    if (pid == forwarding->probe.pid && !WIFSTOPPED(status))
        signal_probe_forget(&forwarding->probe);
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
        forward_last(&info, forwarding);
}

struct rlimit hp_raise_descriptor_limit(void)
{
    struct rlimit before = {0};
    if (getrlimit(RLIMIT_NOFILE, &before) != 0)
        return before;
    const struct rlimit most = {before.rlim_max, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
    return before;
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
    before.files = hp_raise_descriptor_limit();
    signal_probe_start(&forwarding.probe);
    start(launch, &before, link);
    forwarding.program = launch->pid;
    if (launch->pid > 0) {
        wait_for_end(launch, &forwarding);
        launch->error = link->error;
    }
    forget_pending(&forwarding);
    signal_probe_end(&forwarding.probe);
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
