/*
 * Processes made by clone(CLONE_VM) without CLONE_SETTLS, which have this process's memory and its thread-local
 * storage, and run measured code at the same time.
 */
#include "support.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)1 << 18)
enum { CHILDREN = 20, ROUNDS = 5000 };

static long works;

__attribute__((noinline)) static void work(void)
{
    HOTPATH_MEASURE();
    __atomic_add_fetch(&works, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void work_twice(void)
{
    HOTPATH_MEASURE();
    work();
    work();
}

static int child(void *context)
{
    (void)context;
    for (int round = 0; round < ROUNDS; round++)
        work_twice();
    syscall(SYS_exit, 7);
    return 0;
}

int main(void)
{
    HOTPATH_MAIN();
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int good = 0;
    for (int at = 0; at < CHILDREN; at++) {
        int status;
        const pid_t pid = clone(child, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);
        MUST(pid > 0);
        for (int round = 0; round < ROUNDS; round++)
            work_twice();
        MUST(waitpid(pid, &status, 0) == pid);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    printf("%d children, %ld calls\n", good, works);
    return 0;
}
