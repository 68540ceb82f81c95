/*
 * brood MS: two children that exist from the start, and later a child that computes, one that executes this program
 * and computes in it, and one that ends at once.
 *     brood compute MS     computes for so much CPU time, then waits until standard input ends
 * It prints "ready" and the ids of the two, reads a line, and lets all of them compute, each for MS milliseconds.
 * When all have ended, it prints the id of each with the CPU time that the kernel counted for it, in microseconds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "computing.h"

static int go[2];
static const char *ms;

static APART void work_here(void)
{
    const uint64_t end = used_ns() + strtoull(ms, NULL, 10) * 1000000u;
    while (used_ns() < end)
        compute(10000);
}

/* What was computed is seen while the process is there. */
static void linger(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    _exit(0);
}

static pid_t start(void (*run)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        run();
        linger();
    }
    return pid;
}

static void wait_and_work(void)
{
    char byte;
    close(go[1]);
    if (read(go[0], &byte, 1) < 0)
        _exit(1);
    work_here();
}

static void execute(void)
{
    execl("/proc/self/exe", "brood", "compute", ms, (char *)NULL);
    _exit(127);
}

static void end_at_once(void) { _exit(0); }

static void wait_for_all(void)
{
    struct rusage used;
    int status;
    pid_t pid;
    while ((pid = wait4(-1, &status, 0, &used)) > 0)
        printf("%ld %lld\n", (long)pid,
               (long long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 + used.ru_utime.tv_usec +
                   used.ru_stime.tv_usec);
}

int main(int count, char **arguments)
{
    char line[16];
    ms = arguments[count - 1];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 2 && strcmp(arguments[1], "compute") == 0) {
        work_here();
        linger();
    }
    if (count != 2 || pipe(go) != 0)
        return 2;
    const pid_t first = start(wait_and_work), second = start(wait_and_work);
    printf("ready %ld %ld\n", (long)first, (long)second);
    if (read(STDIN_FILENO, line, sizeof line) <= 0)
        return 3;
    close(go[1]);
    const pid_t later = start(work_here), executing = start(execute), brief = start(end_at_once);
    printf("%ld %ld %ld\n", (long)later, (long)executing, (long)brief);
    wait_for_all();
    return 0;
}
