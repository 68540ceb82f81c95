/*
 * Children of a process with four busy threads, made in every possible way. Each child records its own zones and
 * ends by exit() or _exit(); the parent's counts stay exact, and a child that records has its own session.
 *     children fork|_Fork|vfork|clone|spawn|daemon|exec|grandchild|many
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY 4
#define CHILDREN 20

extern char **environ;

static int is_over;
static uint64_t busy_calls[BUSY];
static char *self_path;

static void busy(uint64_t *calls)
{
    HOTPATH_MEASURE();
    ++*calls;
}

static void *keep_busy(void *calls)
{
    while (!is_raised(&is_over))
        busy(calls);
    return NULL;
}

static void in_child(void) { HOTPATH_MEASURE(); }

/* The work of every child: 7 zones, the first while other threads of the parent were in the middle of theirs. */
static void child(int n)
{
    if (hotpath_session_path()[0] != '\0') /* the parent's is not ours, and ours has not begun */
        _exit(97);
    for (int i = 0; i < 7; i++)
        in_child();
    if (n % 2)
        exit(10 + n % 5);
    _exit(10 + n % 5);
}

static pid_t raw_clone(void) { return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
static pid_t fork_without_handlers(void) { return _Fork(); }
#else
static pid_t fork_without_handlers(void) { return fork(); }
#endif

static pid_t spawn(void)
{
    pid_t pid = -1;
    char *arguments[] = {self_path, (char *)(uintptr_t) "grandchild", NULL};
    return posix_spawn(&pid, self_path, NULL, NULL, arguments, environ) == 0 ? pid : -1;
}

static pid_t vfork_and_exec(void)
{
    char *arguments[] = {self_path, (char *)(uintptr_t) "grandchild", NULL};
    const pid_t pid = vfork();
    if (pid == 0) {
        execv(self_path, arguments);
        _exit(98);
    }
    return pid;
}

/* Twice fork, as daemons do; the middle one ends at once. */
static pid_t daemonise(void)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        in_child();
        setsid();
        const pid_t second = fork();
        if (second == 0) {
            in_child();
            _exit(0);
        }
        int status = 0;
        waitpid(second, &status, 0);
        exit(WEXITSTATUS(status) + 3);
    }
    return pid;
}

static void one(const char *way, int n)
{
    HOTPATH_MEASURE();
    int status = 0;
    pid_t pid;
    fflush(stdout);
    if (strcmp(way, "spawn") == 0)
        pid = spawn();
    else if (strcmp(way, "vfork") == 0)
        pid = vfork_and_exec();
    else if (strcmp(way, "daemon") == 0)
        pid = daemonise();
    else
        pid = strcmp(way, "_Fork") == 0   ? fork_without_handlers()
              : strcmp(way, "clone") == 0 ? raw_clone()
                                          : fork();
    if (pid == 0)
        child(n);
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (WIFSIGNALED(status))
        printf("child %d died of signal %d\n", n, WTERMSIG(status));
    else
        printf("child %d ended with %d\n", n, WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    pthread_t threads[BUSY];
    self_path = argv[0];
    if (is_case(argc, argv, "grandchild")) {
        for (int i = 0; i < 3; i++)
            in_child();
        return 21;
    }
    if (is_case(argc, argv, "exec")) {
        char *arguments[] = {self_path, (char *)(uintptr_t) "grandchild", NULL};
        in_child();
        in_child();
        execv(self_path, arguments);
        return 98;
    }
    for (int i = 0; i < BUSY; i++)
        MUST(pthread_create(&threads[i], NULL, keep_busy, &busy_calls[i]) == 0);
    for (int n = 0; n < CHILDREN; n++)
        one(argc > 1 ? argv[1] : "fork", n);
    raise_flag(&is_over);
    uint64_t sum = 0;
    for (int i = 0; i < BUSY; i++) {
        pthread_join(threads[i], NULL);
        sum += busy_calls[i];
    }
    tell_aside("busy", sum);
    return 4;
}
