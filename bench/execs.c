/*
 * How long a program takes from its start to its end:
 *     execs N PROGRAM     starts it N times, one after the other; prints nanoseconds for each
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
    const int count = argc > 2 ? atoi(argv[1]) : 0;
    const uint64_t from = now_ns();
    for (int i = 0; i < count; i++) {
        pid_t pid;
        if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 || waitpid(pid, NULL, 0) != pid)
            return 1;
    }
    printf("%llu\n", count > 0 ? (unsigned long long)((now_ns() - from) / (uint64_t)count) : 0);
    return 0;
}
