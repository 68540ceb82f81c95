/*
 * Blocks all signals, also those of the C library, and prints each that arrives: its number, its value or -1, and
 * whether our parent or another process queued it. It ends at the value END. With the word "leaves" it moves to its
 * own process group.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END 0

int main(int argc, char **argv)
{
    const uint64_t all = UINT64_MAX;
    siginfo_t info;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all) != 0)
        return 77;
    if (argc > 1 && strcmp(argv[1], "leaves") == 0 && setpgid(0, 0) != 0)
        return 78;
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    for (;;) {
        if (syscall(SYS_rt_sigtimedwait, &all, &info, NULL, sizeof all) <= 0)
            continue;
        const int value = info.si_code == SI_QUEUE ? info.si_value.sival_int : -1;
        if (value == END)
            return 3;
        printf("signal %d value %d %s\n", info.si_signo, value,
               info.si_code == SI_QUEUE && info.si_pid != getppid() ? "of another" : "");
        fflush(stdout);
    }
}
