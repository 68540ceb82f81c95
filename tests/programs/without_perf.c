/* without_perf COMMAND...: executes it where perf_event_open is refused, as in many containers. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Root may filter without giving up privileges: then programs that change their user behave as they usually do. */
static int refuse(const struct sock_fprog *program)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) == 0)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program);
}

int main(int argc, char **argv)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (argc < 2 || refuse(&program) != 0) {
        perror(argc < 2 ? "usage: without_perf COMMAND..." : "without_perf: no filter");
        return 99;
    }
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 98;
}
