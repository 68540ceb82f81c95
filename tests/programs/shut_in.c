/*
 * Shuts itself in, by filters for which any other system call is death: first with the calls that hotpath(7) names, until somebody
 * outside has noticed (`hotpath run` watches), then with those alone that a program needs to write and to end. All kinds of zones
 * that are new there, samples, and the end have to do without.
 *     fork     in a child, which has a session of its own
 */
#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout.h"

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
        ALLOW(timer_delete), ALLOW(perf_event_open), ALLOW(fcntl), ALLOW_MAPPING, ALLOW(munmap), ALLOW(close),     \
        ALLOW(rt_sigaction), ALLOW(rt_sigprocmask)

static bool shut_in(bool is_noticed)
{
    struct sock_filter first[] = {LOAD_NUMBER, NEEDED, ALLOW(prctl), FOR_SAMPLES, KILL};
    struct sock_filter second[] = {LOAD_NUMBER, NEEDED, KILL};
    const struct sock_fprog program = is_noticed ? (struct sock_fprog){sizeof second / sizeof second[0], second}
                                                 : (struct sock_fprog){sizeof first / sizeof first[0], first};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool is_noticed(void)
{
    const struct hp_header *header = (const struct hp_header *)(const void *)hotpath_v1_head->base;
    return __atomic_load_n(&header->features, __ATOMIC_RELAXED) & HP_FEATURE_SANDBOXED;
}

static int live_in_sandbox(void)
{
    const uint64_t until = now_ns() + PATIENCE_NS;
    work();
    if (!shut_in(false))
        return 77;
    while (!is_noticed() && now_ns() < until)
        work();
    if (!is_noticed() || !shut_in(true))
        return 1;
    dive(300);
    fill();
    for (int i = 0; i < 3000; i++) /* samples come meanwhile */
        work();
    return write(1, "survived\n", 9) == 9 ? 0 : 2;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    int status = 0;
    if (!is_case(argc, argv, "fork"))
        return live_in_sandbox();
    const pid_t child = fork();
    if (child == 0)
        return live_in_sandbox();
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}
