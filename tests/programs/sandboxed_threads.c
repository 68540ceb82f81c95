/*
 * One thread sandboxes the process while others compute. These have used up their perf events, call new functions,
 * and exit in the sandbox.
 *     all      by a filter for all threads
 *     own      by one for the calling thread
 *     refused  by none: the kernel refuses it
 *     vfork    a child of vfork does, and becomes another program; nothing has changed for its parent
 */
#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define THREADS 2
static int computing, is_sandboxed;

static void compute(int rounds)
{
    HOTPATH_MEASURE();
    for (volatile int i = 0; i < 10000 * rounds; i++)
        ;
}

static void dive(int n)
{
    HOTPATH_MEASURE();
    if (n > 0)
        dive(n - 1);
}

static void *live(void *unused)
{
    compute(1);
    __atomic_add_fetch(&computing, 1, __ATOMIC_ACQ_REL);
    while (!is_raised(&is_sandboxed))
        compute(10);
    compute(20000);
    dive(20);
    return unused;
}

#define ALLOW(call)                                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What the C library needs for the end of threads and of the program, and the way back from handlers. */
static bool sandboxed(unsigned flags, bool is_whole)
{
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                 ALLOW(write),
                                 ALLOW(exit_group),
                                 ALLOW(exit),
                                 ALLOW(futex),
                                 ALLOW(madvise),
                                 ALLOW(munmap),
                                 ALLOW(rt_sigprocmask),
                                 ALLOW(rt_sigreturn),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const struct sock_fprog program = {is_whole ? sizeof code / sizeof code[0] : 0, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

static int live_with_child(void)
{
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {1, all};
    int status;
    compute(1);
    const pid_t child = vfork();
    if (child == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
            execl("/bin/true", "true", (char *)NULL);
        _exit(77);
    }
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
    compute(20000);
    return WEXITSTATUS(status);
}

static int live_with_threads(const char *how)
{
    pthread_t threads[THREADS];
    const bool is_wanted = strcmp(how, "refused") != 0;
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, live, NULL) == 0);
    while (__atomic_load_n(&computing, __ATOMIC_ACQUIRE) < THREADS)
        ;
    if (sandboxed(strcmp(how, "own") != 0 ? SECCOMP_FILTER_FLAG_TSYNC : 0, is_wanted) != is_wanted)
        return 77;
    raise_flag(&is_sandboxed);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *const how = argc > 1 ? argv[1] : "";
    const int status = strcmp(how, "vfork") == 0 ? live_with_child() : live_with_threads(how);
    return status == 0 && write(1, "survived\n", 9) == 9 ? 0 : status;
}
