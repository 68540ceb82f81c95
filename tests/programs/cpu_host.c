/*
 * Programs that use signals, children, descriptors and limits themselves, and CPU time at the same time, so that
 * samples arrive. Their output is the same with and without hotpath.
 *
 *     cpu_host CASE
 *
 * One program: a case is one function, and all share the busy loops.
 */
#include "busy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

/* ----------------------------------------------------------------------------------------------- its own SIGURG */

static volatile sig_atomic_t plain_count, info_count, last_code, was_on_stack, was_blocked;
static char other_stack[1 << 16];

static void note_where(void)
{
    char here;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    was_on_stack = &here >= other_stack && &here < other_stack + sizeof other_stack;
    was_blocked = sigismember(&mask, SIGURG) + 2 * sigismember(&mask, SIGUSR2);
}

static void on_plain(int number)
{
    plain_count += number == SIGURG;
    note_where();
}

static void on_info(int number, siginfo_t *info, void *context)
{
    info_count += number == SIGURG && context != NULL;
    last_code = info->si_code;
    note_where();
}

static void tell_handler(const char *what)
{
    struct sigaction present;
    sigaction(SIGURG, NULL, &present);
    const char *name = present.sa_handler == SIG_DFL     ? "default"
                       : present.sa_handler == SIG_IGN   ? "ignored"
                       : present.sa_handler == on_plain  ? "plain"
                       : present.sa_sigaction == on_info ? "info"
                                                         : "unknown";
    printf("%s: %s, flags %x, masks itself %d, others %d\n", what, name, (unsigned)present.sa_flags,
           sigismember(&present.sa_mask, SIGURG), sigismember(&present.sa_mask, SIGUSR2));
    fflush(stdout);
}

static void tell_counts(const char *what)
{
    printf("%s: plain %d, info %d, code %d, on stack %d, blocked %d\n", what, plain_count, info_count, last_code,
           was_on_stack, was_blocked);
    fflush(stdout);
    plain_count = info_count = last_code = was_on_stack = was_blocked = 0;
}

static void set(void *handler, int flags, int other)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = flags;
    *(void **)&action.sa_handler = handler;
    if (other)
        sigaddset(&action.sa_mask, other);
    MUST(sigaction(SIGURG, &action, NULL) == 0);
}

static void as_set(const char *what)
{
    tell_handler(what);
    busy(10);
    raise(SIGURG);
    busy(10);
    kill(getpid(), SIGURG);
    busy(2);
    tell_counts(what);
    tell_handler("afterwards");
}

#define HANDLER(function) (*(void **)&(void (*[1])(void)){(void (*)(void))function})

#ifdef __GLIBC__
extern void (*__sysv_signal(int number, void (*handler)(int)))(int);
#else
#define __sysv_signal signal
#endif

static void actions(void)
{
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    as_set("nothing");
    set(HANDLER(on_plain), 0, 0);
    as_set("plain");
    set(HANDLER(on_info), SA_SIGINFO | SA_RESTART, SIGUSR2);
    as_set("info");
    set(HANDLER(on_info), SA_SIGINFO | (int)SA_RESETHAND, 0);
    as_set("once");
    set(HANDLER(on_plain), (int)SA_RESETHAND | SA_NODEFER, 0);
    as_set("once, open");
    set(HANDLER(SIG_DFL), SA_SIGINFO, 0);
    as_set("default with info");
    set(HANDLER(SIG_IGN), SA_SIGINFO, 0);
    as_set("ignored with info");
    MUST(sigaltstack(&stack, NULL) == 0);
    set(HANDLER(on_plain), 0, SIGUSR2);
    as_set("on the usual stack");
    set(HANDLER(on_plain), SA_ONSTACK, 0);
    as_set("on the other stack");
    say("before was plain", signal(SIGURG, SIG_DFL) == on_plain);
    as_set("signal: default");
    say("before was default", signal(SIGURG, on_plain) == SIG_DFL);
    as_set("signal: plain");
    say("before was plain", __sysv_signal(SIGURG, on_plain) == on_plain);
    as_set("sysv");
    say("bad", signal(SIGURG, SIG_ERR) == SIG_ERR && errno == EINVAL);
    say("bad", __sysv_signal(400, on_plain) == SIG_ERR && errno == EINVAL);
    say("bad", sigaction(SIGKILL, &(struct sigaction){.sa_handler = SIG_IGN}, NULL) == -1 && errno == EINVAL);
}

/* All of them, as shells and servers do. */
static void reset(void)
{
    for (int round = 0; round < 4; round++) {
        for (int number = 1; number < 32; number++)
            signal(number, round % 2 ? SIG_IGN : SIG_DFL);
        busy(20);
        tell_handler("reset");
        kill(getpid(), SIGURG);
        busy(5);
    }
}

/* Urgent data of a socket: the kernel sends the signal. */
static void urgent(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    MUST(bind(server, (struct sockaddr *)&address, length) == 0 && listen(server, 1) == 0);
    MUST(getsockname(server, (struct sockaddr *)&address, &length) == 0);
    MUST(connect(client, (struct sockaddr *)&address, length) == 0);
    const int other = accept(server, NULL, NULL);
    MUST(other >= 0 && fcntl(other, F_SETOWN, getpid()) == 0);
    set(HANDLER(on_info), SA_SIGINFO, 0);
    for (int i = 0; i < 20; i++) {
        const sig_atomic_t before = info_count;
        char byte;
        busy(3);
        MUST(send(client, "!", 1, MSG_OOB) == 1);
        while (info_count == before)
            crunch();
        MUST(recv(other, &byte, 1, MSG_OOB) == 1 && byte == '!');
    }
    tell_counts("urgent");
}

static void *poke(void *thread)
{
    sleep_us(20000);
    busy(5);
    pthread_kill(*(pthread_t *)thread, SIGURG);
    return NULL;
}

/* Whether a system call goes on after the signal is as the host has it. */
static void interrupted(void)
{
    for (int restarts = 0; restarts < 2; restarts++) {
        pthread_t thread, self = pthread_self();
        struct pollfd nothing = {.fd = -1};
        int ends[2];
        char byte = 0;
        set(HANDLER(on_plain), restarts ? SA_RESTART : 0, 0);
        MUST(pipe(ends) == 0 && pthread_create(&thread, NULL, poke, &self) == 0);
        errno = 0;
        if (!restarts)
            say("read", read(ends[0], &byte, 1) == -1 && errno == EINTR);
        else
            say("poll", poll(&nothing, 1, -1) == -1 && errno == EINTR);
        pthread_join(thread, NULL);
        tell_counts("interrupted");
        close(ends[0]);
        close(ends[1]);
    }
}

/* ------------------------------------------------------------------------------------------------------- masks */

static int is_blocked(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGURG) + 2 * sigismember(&mask, SIGUSR1);
}

static int is_pending(void)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGURG);
}

static void masks(void)
{
    sigset_t all, before, urg;
    sigfillset(&all);
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    say("at first", is_blocked());
    MUST(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
    say("it was", sigismember(&before, SIGURG));
    busy(30);
    say("all", is_blocked());
    say("pending", is_pending());
    MUST(sigprocmask(SIG_UNBLOCK, &urg, &before) == 0);
    say("it was", sigismember(&before, SIGURG));
    busy(10);
    say("but one", is_blocked());
    MUST(sigprocmask(SIG_SETMASK, &urg, NULL) == 0);
    busy(10);
    say("one", is_blocked());
    say("bad", pthread_sigmask(77, &urg, NULL) == EINVAL);
    say("bad", sigprocmask(77, &urg, NULL) == -1 && errno == EINVAL);
    /* Signals of others are pending until they are unblocked. */
    kill(getpid(), SIGURG);
    busy(10);
    say("pending", is_pending());
    say("still", is_blocked());
    set(HANDLER(on_plain), 0, 0);
    MUST(sigprocmask(SIG_UNBLOCK, &urg, NULL) == 0);
    busy(10);
    tell_counts("let through");
    say("none", is_blocked());
    MUST(sigprocmask(SIG_BLOCK, &urg, NULL) == 0);
    kill(getpid(), SIGURG);
    busy(20);
    tell_counts("held");
    MUST(sigprocmask(SIG_UNBLOCK, &urg, NULL) == 0);
    tell_counts("let through");
}

static int is_over;

static void *be_busy(void *unused)
{
    while (!is_raised(&is_over))
        busy(1);
    return unused;
}

static void block_urg(int how)
{
    sigset_t urg;
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    MUST(pthread_sigmask(how, &urg, NULL) == 0);
}

/* In a thread that has the signal blocked, with a handler: no pending signal is found. */
static void find_none(const char *what)
{
    const struct timespec short_time = {0, 3000000};
    struct pollfd nothing = {.fd = -1};
    sigset_t urg, none;
    sigemptyset(&none);
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    say(what, is_blocked());
    for (int i = 0; i < 3; i++) {
        busy(12);
        say("pending", is_pending());
        say("waited for", sigtimedwait(&urg, NULL, &short_time) == -1 && errno == EAGAIN);
        busy(12);
        say("polled", ppoll(&nothing, 1, &short_time, &none));
    }
    tell_counts(what);
}

static int is_ready, is_handled;

static void *find_none_in_thread(void *unused)
{
    find_none("in a new thread");
    return unused;
}

/* Another thread sets a handler at the same time. */
static void *stay_blocked(void *unused)
{
    block_urg(SIG_BLOCK);
    busy(12);
    raise_flag(&is_ready);
    while (!is_raised(&is_handled))
        sleep_us(1000);
    find_none("handled by another thread");
    return unused;
}

static void block_with_handler(void)
{
    pthread_t thread;
    set(HANDLER(on_plain), 0, 0);
    busy(12);
    block_urg(SIG_BLOCK);
    find_none("blocked");
    MUST(pthread_create(&thread, NULL, find_none_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    kill(getpid(), SIGURG);
    busy(5);
    say("sent", is_pending());
    block_urg(SIG_BLOCK);
    busy(5);
    say("sent", is_pending());
    block_urg(SIG_UNBLOCK);
    tell_counts("let through");
    for (int i = 0; i < 200; i++) { /* with a sample on its way now and then */
        block_urg(SIG_UNBLOCK);
        busy(1);
        block_urg(SIG_BLOCK);
        MUST(!is_pending());
    }
    block_urg(SIG_UNBLOCK);
    tell_counts("often");
}

static void handler_while_blocked(void)
{
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        is_ready = is_handled = 0;
        MUST(pthread_create(&thread, NULL, stay_blocked, NULL) == 0);
        while (!is_raised(&is_ready))
            sleep_us(1000);
        block_urg(SIG_BLOCK);
        busy(12);
        set(HANDLER(on_plain), 0, 0);
        raise_flag(&is_handled);
        pthread_join(thread, NULL);
        find_none("handled");
        set(HANDLER(SIG_DFL), 0, 0);
        say("still", is_blocked());
        block_urg(SIG_UNBLOCK);
        say("no more", is_blocked());
        busy(12);
    }
}

/* One thread waits for all signals, all others have them blocked. */
static void wait_for_all(bool is_by_descriptor)
{
    sigset_t all;
    pthread_t threads[3];
    sigfillset(&all);
    MUST(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    const int fd = is_by_descriptor ? signalfd(-1, &all, SFD_CLOEXEC) : -1;
    for (size_t i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, be_busy, NULL) == 0);
    static const int sent[] = {SIGUSR1, SIGURG, SIGUSR2, SIGURG, SIGURG, SIGTERM, SIGURG};
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        siginfo_t info;
        struct signalfd_siginfo message = {.ssi_signo = 0};
        const struct timespec short_time = {0, 3000000};
        busy(10);
        if (!is_by_descriptor)
            say("nothing", sigtimedwait(&all, NULL, &short_time) == -1 && errno == EAGAIN);
        else
            say("nothing", poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 3));
        kill(getpid(), sent[i]);
        if (is_by_descriptor)
            MUST(read(fd, &message, sizeof message) == sizeof message);
        else
            message.ssi_signo = (uint32_t)sigwaitinfo(&all, &info);
        say("signal", (long)message.ssi_signo);
    }
    raise_flag(&is_over);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void wait_for_signals(void) { wait_for_all(false); }
static void read_signals(void) { wait_for_all(true); }

/* ----------------------------------------------------------------------------- other signals, and interruptions */

#define LIMIT(resource, value)                                                                                     \
    do {                                                                                                           \
        struct rlimit bounds_;                                                                                     \
        MUST(getrlimit(resource, &bounds_) == 0);                                                                  \
        bounds_.rlim_cur = value;                                                                                  \
        MUST(setrlimit(resource, &bounds_) == 0);                                                                  \
    } while (0)

static volatile sig_atomic_t ticks, foreign;

static void on_tick(int number) { ticks += number == SIGPROF || number == SIGTRAP; }

static void on_own_timer(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (info->si_code == SI_TIMER && info->si_value.sival_int == 4711)
        ticks++;
    else
        foreign++;
}

static void other_signals(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG, .sigev_value.sival_int = 4711};
    const struct itimerspec period = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    signal(SIGPROF, on_tick);
    setitimer(ITIMER_PROF, &often, NULL);
    busy(20);
    while (ticks == 0) /* they come on ticks of the kernel; a busy machine may miss some */
        crunch();
    setitimer(ITIMER_PROF, &never, NULL);
    say("ITIMER_PROF", ticks > 0);
    ticks = 0;
    signal(SIGTRAP, on_tick);
    for (int i = 0; i < 10; i++) {
        busy(2);
        raise(SIGTRAP);
    }
    say("SIGTRAP", ticks);
    ticks = 0;
    set(HANDLER(on_own_timer), SA_SIGINFO | SA_RESTART, 0);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &period, NULL) == 0);
    busy(30);
    while (ticks == 0)
        crunch();
    timer_delete(timer);
    say("its own timer", ticks > 0);
    say("somebody else's", foreign);
}

static long interruptions, changes;

static void check(int status)
{
    if (status == -1 && errno == EINTR)
        interruptions++;
}

static void sleep_tightly(void)
{
    const int set_of = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event none;
    sem_t never;
    int ends[2];
    MUST(sem_init(&never, 0, 0) == 0 && set_of >= 0 && pipe(ends) == 0);
    for (int i = 0; i < 1500; i++) {
        struct timespec moment = {0, 30000}, soon;
        struct timeval little = {0, 30};
        crunch();
        check(nanosleep(&moment, NULL));
        check(usleep(20));
        crunch();
        check(poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, i % 32 == 0));
        check(ppoll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, &moment, NULL));
        check(epoll_wait(set_of, &none, 1, i % 32 == 1));
        check(select(0, NULL, NULL, NULL, &little));
        crunch();
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 30000;
        if (soon.tv_nsec < 1000000000)
            check(sem_timedwait(&never, &soon));
    }
    say("interruptions", interruptions);
}

static void *watch_errno(void *unused)
{
    const uint64_t end = thread_ns() + 200000000u;
    crunch();
    for (int i = 1; thread_ns() < end; i++) {
        errno = i % 100 + 1;
        for (volatile int round = 0; round < 3000; round++)
            ;
        changes += errno != i % 100 + 1;
    }
    return unused;
}

/* Also where what the handler tries fails: there is no descriptor left for it. */
static void keep_errno(void)
{
    pthread_t thread;
    LIMIT(RLIMIT_NOFILE, 3);
    MUST(pthread_create(&thread, NULL, watch_errno, NULL) == 0);
    pthread_join(thread, NULL);
    LIMIT(RLIMIT_NOFILE, 64);
    say("errno changed", changes);
}

/* ----------------------------------------------------------------------------------------------------- children */

static int end_of(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void forks(void)
{
    long sum = 0, zones = 0;
    for (int i = 0; i < 1000; i++) {
        const pid_t child = fork();
        if (child == 0) {
            if (i % 20 == 0)
                busy(1);
            if (i % 4 != 3)
                _exit(i % 7);
            execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
            _exit(99);
        }
        MUST(child > 0);
        crunch();
        sum += end_of(child);
        zones++;
    }
    say("ends", sum);
    say("children", zones);
}

/* The child has its parent's memory, and signals of its own. */
static void vforks(void)
{
    set(HANDLER(on_plain), SA_RESTART, 0);
    for (int i = 0; i < 50; i++) {
        busy(2);
        const pid_t child = vfork();
        if (child == 0) {
            sigset_t none;
            sigemptyset(&none);
            signal(SIGURG, i % 2 ? SIG_DFL : SIG_IGN);
            sigprocmask(SIG_SETMASK, &none, NULL);
            execl("/bin/true", "true", (char *)NULL);
            _exit(99);
        }
        MUST(end_of(child) == 0);
    }
    tell_handler("after vfork");
    raise(SIGURG);
    tell_counts("after vfork");
}

static void spawns(void)
{
    char name[] = "sh", option[] = "-c", script[] = "kill -URG $$; exit 6";
    char *arguments[] = {name, option, script, NULL};
    posix_spawnattr_t attributes;
    sigset_t all;
    long sum = 0;
    sigfillset(&all);
    set(HANDLER(on_plain), 0, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attributes, &all);
    for (int i = 0; i < 50; i++) {
        pid_t child;
        busy(1);
        MUST(posix_spawn(&child, "/bin/sh", NULL, &attributes, arguments, environ) == 0);
        sum += end_of(child);
    }
    say("ends", sum);
    raise(SIGURG);
    tell_counts("after spawns");
}

static void fork_among_threads(void)
{
    pthread_t threads[3];
    long sum = 0;
    for (size_t i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, be_busy, NULL) == 0);
    for (int i = 0; i < 40; i++) {
        const pid_t child = fork();
        if (child == 0) {
            busy(4);
            pthread_t thread;
            raise_flag(&is_over);
            if (pthread_create(&thread, NULL, be_busy, NULL) != 0 || pthread_join(thread, NULL) != 0)
                _exit(98);
            _exit(i % 5);
        }
        busy(1);
        sum += end_of(child);
    }
    raise_flag(&is_over);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    say("ends", sum);
}

/* After exec there is no handler and no pending signal. */
static void execs(void)
{
    busy(20);
    execl("/proc/self/exe", "cpu_host", "after_exec", (char *)NULL);
    _exit(99);
}

static void after_exec(void)
{
    tell_handler("after exec");
    say("blocked", is_blocked());
    busy(20);
    say("pending", is_pending());
}

/* -------------------------------------------------------------------------------------------------- descriptors */

static void *open_in_thread(void *unused)
{
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        sum += fd;
        busy(1);
        close(fd);
    }
    say("sum in a thread", sum);
    return unused;
}

static void descriptors(void)
{
    int fds[10];
    pthread_t thread;
    busy(20);
    for (int i = 0; i < 10; i++)
        fds[i] = open("/dev/null", O_RDONLY);
    say("first", fds[0]);
    say("last", fds[9]);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    busy(20);
    say("after closing all", open("/dev/null", O_RDONLY));
    MUST(pthread_create(&thread, NULL, open_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
}

static void *be_busy_a_while(void *unused)
{
    busy(60);
    return unused;
}

static uint64_t began_ns; /* before the session: the first perf event of a machine may take ten milliseconds */

static uint64_t process_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whatever limits leave of the engines. */
static void work(void)
{
    pthread_t thread;
    busy(60);
    MUST(pthread_create(&thread, NULL, be_busy_a_while, NULL) == 0);
    pthread_join(thread, NULL);
    tell_aside("all", process_ns() - began_ns);
    say("done", 1);
}

static void refuse(int first, int second)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)first, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)second, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void before_start(const char *name)
{
    if (strcmp(name, "no_files") == 0)
        LIMIT(RLIMIT_NOFILE, 3);
    if (strcmp(name, "no_pending") == 0)
        LIMIT(RLIMIT_SIGPENDING, 0);
    if (strcmp(name, "no_locked") == 0)
        LIMIT(RLIMIT_MEMLOCK, 0);
    if ((strcmp(name, "no_pending") == 0 || strcmp(name, "no_locked") == 0) && geteuid() == 0)
        MUST(setresuid(65534, 65534, 65534) == 0); /* root has no limits */
    if (strcmp(name, "no_perf") == 0)
        refuse(SYS_perf_event_open, SYS_perf_event_open);
    if (strcmp(name, "no_timers") == 0)
        refuse(SYS_timer_create, SYS_timer_create);
    if (strcmp(name, "neither") == 0)
        refuse(SYS_perf_event_open, SYS_timer_create);
    if (strcmp(name, "handler_before") == 0)
        set(HANDLER(on_info), SA_SIGINFO | SA_RESTART, SIGUSR2);
}

static void handler_before(void)
{
    busy(30); /* a few ticks; timers need one of them, so the rest is short */
    as_set("from before");
    say("before was info", signal(SIGURG, SIG_IGN) == (void (*)(int))(uintptr_t)HANDLER(on_info));
    as_set("ignored");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"actions", actions},
             {"handler_before", handler_before},
             {"reset", reset},
             {"urgent", urgent},
             {"interrupted", interrupted},
             {"masks", masks},
             {"block_with_handler", block_with_handler},
             {"handler_while_blocked", handler_while_blocked},
             {"wait_for_signals", wait_for_signals},
             {"read_signals", read_signals},
             {"other_signals", other_signals},
             {"sleep_tightly", sleep_tightly},
             {"keep_errno", keep_errno},
             {"forks", forks},
             {"vforks", vforks},
             {"spawns", spawns},
             {"fork_among_threads", fork_among_threads},
             {"execs", execs},
             {"after_exec", after_exec},
             {"descriptors", descriptors},
             {"no_files", work},
             {"no_pending", work},
             {"no_locked", work},
             {"no_perf", work},
             {"no_timers", work},
             {"neither", work},
             {"work", work}};

static int run(const char *name)
{
    began_ns = process_ns();
    HOTPATH_MAIN();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            return 0;
        }
    return 98;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "work";
    before_start(name);
    return run(name);
}
