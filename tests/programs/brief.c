/*
 * A program without hotpath, with children whose sessions begin late or never:
 *     brief nothing            ends at once
 *     brief execute N          N children execute `brief nothing`
 *     brief end N              N children leave by _exit at once
 *     brief allocate N BLOCKS  N children allocate BLOCKS blocks of 1000 bytes, use 20 ms of CPU time, and
 *                              allocate as many again
 *     brief compute N          N children use 60 ms of CPU time and call no other function
 *     brief drop BLOCKS        a child gives up its user at once, uses 20 ms, and allocates BLOCKS blocks
 *     brief send               a child writes one byte into a pipe and leaves by _exit at once; its parent reads it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static double used_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void burn(double ms)
{
    while (used_ms() < ms)
        ;
}

static void allocate(int blocks)
{
    void *(*volatile take)(size_t) = malloc;
    for (int block = 0; block < blocks; block++)
        free(take(1000));
}

static void child(const char *what, char **words, const int *ends)
{
    const int number = words[0] != NULL && words[1] != NULL ? atoi(words[1]) : 0;
    if (strcmp(what, "execute") == 0)
        execl("/proc/self/exe", "brief", "nothing", (char *)NULL);
    if (strcmp(what, "allocate") == 0) {
        allocate(number);
        burn(20);
        allocate(number);
    }
    if (strcmp(what, "compute") == 0)
        burn(60);
    if (strcmp(what, "drop") == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
            _exit(1);
        burn(20);
        allocate(atoi(words[0]));
    }
    _exit(strcmp(what, "send") == 0 ? write(ends[1], "x", 1) != 1 : 0);
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "nothing";
    const int is_one = strcmp(what, "send") == 0 || strcmp(what, "drop") == 0;
    const int children = strcmp(what, "nothing") == 0 ? 0 : is_one ? 1 : atoi(words[2]);
    int ends[2], is_wrong = pipe(ends);
    for (int at = 0; at < children; at++) {
        int status = 1;
        char byte;
        const pid_t pid = fork();
        if (pid == 0)
            child(what, words + 2, ends);
        is_wrong |= strcmp(what, "send") == 0 && read(ends[0], &byte, 1) != 1;
        is_wrong |= waitpid(pid, &status, 0) != pid || status != 0;
    }
    return is_wrong;
}
