/*
 * With HOTPATH_RESERVE=1 recording makes no system call: in this sandbox any except write and exit is fatal.
 *     filter    a seccomp filter; every site has been used before
 *     new       the same, and sites that are new in the sandbox
 *     strict    strict seccomp, which on x86 forbids the time stamp counter as well, so it is not tested there
 */
#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned fib(unsigned n)
{
    HOTPATH_MEASURE();
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void dive(int n)
{
    HOTPATH_MEASURE();
    if (n > 0) {
        HOTPATH_BLOCK("diving");
        dive(n - 1);
    }
}

static int enter_sandbox(int is_strict)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (is_strict)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    fib(5);
    if (!is_case(argc, argv, "new"))
        dive(3);
    if (enter_sandbox(is_case(argc, argv, "strict")) != 0)
        return 77;
    const unsigned result = fib(15);
    dive(300); /* perhaps new sites and nodes, in any case a deeper stack of zones */
    for (volatile int i = 0; i < 3000000; i++) /* longer than any before: a new octave */
        ;
    if (write(1, result == 610 ? "right\n" : "wrong\n", 6) != 6)
        return 1;
    syscall(SYS_exit, 23); /* exit() would be exit_group, which is not allowed either */
    return 0;
}
