/*
 * Sandboxes itself, by filters that kill on any other system call: first with the calls named in hotpath(7), until
 * the observer outside has noticed (`hotpath run`), then with only those needed to write and to exit. New zones of
 * all kinds, samples, and the exit must work there.
 *     fork     in a child, which has its own session
 *     early    in a child, before its first zone
 *     at_once  without waiting for the observer; by prctl, or with
 *     syscall  by the system call
 *     listener the same, with a listener descriptor: a success that is not 0
 *     twice    the same twice; the first filter refuses the second and stays in force
 *     strict   by strict seccomp, which forbids the time stamp counter, too
 *     counter  forbids only the counter; with
 *     thread   a thread created afterwards runs on there, or with
 *     child    a child
 *     exec     allows everything except what only hotpath needs, and calls exec
 *     unseen   by an instruction in the program, which nothing can intercept; then uses pipes and sockets
 *     probe    asks whether filters are supported, and is refused one; nothing has changed
 */
#include "support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_call.h"
#ifdef HOTPATH
#include "layout.h"
#endif

#define PATIENCE_NS UINT64_C(30000000000)

static void work(void)
{
    HOTPATH_MEASURE();
    for (volatile int i = 0; i < 10000; i++)
        ;
}

static void dive(int n)
{
    HOTPATH_MEASURE();
    if (n > 0)
        dive(n - 1);
}

/* More rows than the file has room for, so that it would have to grow. */
static void fill(void)
{
    char key[16];
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        HOTPATH_BLOCK_KEY("late", key);
        dive(3);
    }
}

#define ALLOW(call)                                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#ifdef SYS_mmap2
#define ALLOW_MAPPING ALLOW(mmap2)
#else
#define ALLOW_MAPPING ALLOW(mmap)
#endif
#define NEEDED ALLOW(write), ALLOW(exit_group), ALLOW(exit), ALLOW(rt_sigreturn)
#define FOR_SAMPLES                                                                                                \
    ALLOW(clock_gettime), ALLOW(getrusage), ALLOW(gettid), ALLOW(timer_create), ALLOW(timer_settime),              \
        ALLOW(timer_delete), ALLOW(perf_event_open), ALLOW(fcntl), ALLOW(ioctl), ALLOW(prlimit64), ALLOW_MAPPING,  \
        ALLOW(munmap), ALLOW(close), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask)

static bool sandboxed(bool is_noticed)
{
    struct sock_filter first[] = {LOAD_NUMBER, NEEDED, ALLOW(prctl), FOR_SAMPLES, KILL};
    struct sock_filter second[] = {LOAD_NUMBER, NEEDED, KILL};
    const struct sock_fprog program = is_noticed ? (struct sock_fprog){sizeof second / sizeof second[0], second}
                                                 : (struct sock_fprog){sizeof first / sizeof first[0], first};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#define REFUSE(call)                                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static bool sandboxed_twice(void)
{
    struct sock_filter code[] = {LOAD_NUMBER, NEEDED, REFUSE(prctl), KILL};
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

static bool sandboxed_by(const char *how)
{
    struct sock_filter code[] = {LOAD_NUMBER, NEEDED, KILL};
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
    if (strcmp(how, "counter") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    if (strcmp(how, "twice") == 0)
        return sandboxed_twice();
    if (strcmp(how, "listener") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) > 0;
    if (strcmp(how, "syscall") == 0)
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Its status. */
static int live_on(void)
{
    dive(300);
    fill();
    for (int i = 0; i < 3000; i++) /* samples come at the same time */
        work();
    return write(1, "survived\n", 9) == 9 ? 0 : 2;
}

/* With functions that have begun before: what closes them comes afterwards. */
static int live_at_once(const char *how)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 3000; i++)
        work();
    if (!sandboxed_by(how))
        return 77;
    const int status = live_on();
    if (strcmp(how, "strict") == 0)
        syscall(SYS_exit, status);
    return status;
}

#define FORBID(call)                                                                                               \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static int be_another(char **argv)
{
    struct sock_filter code[] = {
        LOAD_NUMBER,       FORBID(perf_event_open),   FORBID(timer_create),
        FORBID(fallocate), FORBID(sched_getaffinity), FORBID(membarrier),
        FORBID(flock),     FORBID(rt_sigtimedwait),   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof code[0], code};
    char live[] = "live", *const next[] = {argv[0], live, NULL};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 77;
    execv(argv[0], next);
    return 3;
}

static int be_refused(void)
{
    struct sock_filter empty;
    const struct sock_fprog program = {0, &empty};
    work();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return 77;
    return live_on();
}

/* Allowed is what it does itself. */
static int transfer_unseen(void)
{
    struct sock_filter code[] = {LOAD_NUMBER,   NEEDED,          ALLOW(read), ALLOW(close),
                                 ALLOW(sendto), ALLOW(recvfrom), KILL};
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    int ends[2], pair[2];
    char bytes[5] = "abcd";
    MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (hp_raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        hp_raw(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        return 77;
    const bool is_good = write(ends[1], bytes, 5) == 5 && read(ends[0], bytes, 5) == 5 &&
                         send(pair[0], bytes, 5, 0) == 5 && recv(pair[1], bytes, 5, 0) == 5 &&
                         close(ends[0]) == 0 && close(ends[1]) == 0 && write(1, "survived\n", 9) == 9;
    _exit(is_good ? 0 : 2);
}

static void *live_on_in_thread(void *status)
{
    *(int *)status = live_on();
    return NULL;
}

/* A thread or child that started without the counter, and has no zone yet. */
static int live_without_counter(const char *who)
{
    int status = 3;
    pthread_t thread;
    work();
    if (!sandboxed_by("counter"))
        return 77;
    if (strcmp(who, "thread") == 0) {
        MUST(pthread_create(&thread, NULL, live_on_in_thread, &status) == 0 && pthread_join(thread, NULL) == 0);
        return status;
    }
    const pid_t child = fork();
    if (child == 0)
        _exit(live_on());
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static bool is_noticed(void)
{
#ifdef HOTPATH
    const struct hp_header *header = (const struct hp_header *)(const void *)hotpath_v1_context->base;
    return __atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_SANDBOXED;
#else
    return true;
#endif
}

static int live_in_sandbox(void)
{
    const uint64_t until = now_ns() + PATIENCE_NS;
    work();
    if (!sandboxed(false))
        return 77;
    while (!is_noticed() && now_ns() < until)
        work();
    if (!is_noticed() || !sandboxed(true))
        return 1;
    return live_on();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int status = 0;
    const char *const how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "exec") == 0)
        return be_another(argv);
    if (strcmp(how, "live") == 0)
        return live_on();
    if (strcmp(how, "unseen") == 0)
        return transfer_unseen();
    if (strcmp(how, "probe") == 0)
        return be_refused();
    if (strcmp(how, "thread") == 0 || strcmp(how, "child") == 0)
        return live_without_counter(how);
    if (strcmp(how, "fork") != 0 && strcmp(how, "early") != 0)
        return how[0] == '\0' ? live_in_sandbox() : live_at_once(how);
    const pid_t child = fork();
    if (child == 0)
        return strcmp(how, "early") != 0 ? live_in_sandbox() : sandboxed_by("at_once") ? live_on() : 77;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
