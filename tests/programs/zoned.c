/*
 * Measured blocks that call the same functions for known amounts of CPU time, by their thread's CPU clock; it
 * prints them at its end, in nanoseconds: `first_heavy` is what heavy used in the zone "first".
 *     zoned split MS      the zones "first" and "second" call heavy and light, in turns; heavy also outside
 *     zoned threads MS    the same in four threads that exit, and a fifth without zones calls only light (`bare`)
 *     zoned forked MS     the same in a forked child, which then execs this program, which does it again
 *     zoned childless MS  a forked child without zones calls only light (`bare`); its parent did split before
 *     zoned kernel MS     "first" reads without end, "second" computes
 *     zoned waits MS      "first" and "second" let rest sleep, for three parts and one; outside it sleeps for two
 *                         parts; a part is in nanoseconds
 *     zoned limited MS WHAT  as split, after setting a limit on the `size` of files, or on open `files`, that lets
 *                            nobody make a new one
 *     zoned heap MB       the same for bytes that take allocates; what "second" takes is never freed
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hotpath.h"

#include "computing.h"

static APART void heavy(uint64_t rounds) { compute(rounds * 4); }
static APART void light(uint64_t rounds) { compute(rounds * 2); }

enum { FIRST_HEAVY, FIRST_LIGHT, SECOND_HEAVY, SECOND_LIGHT, OUTSIDE, BARE, PARTS };
static const char *const names[PARTS] = {"first_heavy",  "first_light", "second_heavy",
                                         "second_light", "outside",     "bare"};
static uint64_t parts[PARTS]; /* atomic */

static uint64_t count(int part, uint64_t since)
{
    const uint64_t now = used_ns();
    __atomic_fetch_add(&parts[part], now - since, __ATOMIC_RELAXED);
    return used_ns();
}

/* Pieces of different lengths, so that they are in step with nothing. */
static APART void outer(uint64_t ms)
{
    uint64_t since = used_ns();
    const uint64_t end = since + ms * 1000000u;
    for (uint64_t turn = 0; since < end; turn++) {
        const uint64_t rounds = 20000 + turn * 7919 % 60000;
        {
            HOTPATH_BLOCK("first");
            heavy(rounds * 3);
            since = count(FIRST_HEAVY, since);
            light(rounds);
            since = count(FIRST_LIGHT, since);
        }
        {
            HOTPATH_BLOCK("second");
            heavy(rounds);
            since = count(SECOND_HEAVY, since);
            light(rounds * 3);
            since = count(SECOND_LIGHT, since);
        }
        heavy(rounds);
        since = count(OUTSIDE, since);
    }
}

static APART void bare(uint64_t ms)
{
    uint64_t since = used_ns();
    const uint64_t end = since + ms * 1000000u;
    while (since < end) {
        light(100000);
        since = count(BARE, since);
    }
}

static void *in_thread(void *ms)
{
    outer(*(const uint64_t *)ms);
    return NULL;
}

static void *in_bare_thread(void *ms)
{
    bare(*(const uint64_t *)ms);
    return NULL;
}

static void in_threads(uint64_t ms)
{
    pthread_t threads[5];
    for (int at = 0; at < 5; at++)
        pthread_create(&threads[at], NULL, at < 4 ? in_thread : in_bare_thread, &ms);
    for (int at = 0; at < 5; at++)
        pthread_join(threads[at], NULL);
}

static void tell(void)
{
    for (int part = 0; part < PARTS; part++)
        printf("%s=%" PRIu64 "\n", names[part], parts[part]);
    fflush(stdout);
}

/* It prints its sums, and so does the program after exec: the lines are to be added. */
static void in_child(char **arguments, uint64_t ms)
{
    const pid_t child = fork();
    if (child == 0) {
        outer(ms);
        tell();
        execl(arguments[0], arguments[0], "split", arguments[2], (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void in_childless(uint64_t ms)
{
    outer(ms);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        memset(parts, 0, sizeof parts);
        bare(ms);
        tell();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void in_kernel(uint64_t ms)
{
    static char bytes[1 << 16];
    const int zeros = open("/dev/zero", O_RDONLY);
    const uint64_t end = used_ns() + ms * 1000000u;
    for (uint64_t since = used_ns(); since < end;) {
        {
            HOTPATH_BLOCK("first");
            for (int at = 0; at < 20; at++)
                if (read(zeros, bytes, sizeof bytes) < 0)
                    abort();
            since = count(FIRST_HEAVY, since);
        }
        {
            HOTPATH_BLOCK("second");
            light(100000);
            since = count(SECOND_LIGHT, since);
        }
    }
    close(zeros);
}

static APART uint64_t rest(uint64_t ms)
{
    struct timespec before, after;
    const struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    return (uint64_t)(after.tv_sec - before.tv_sec) * 1000000000u + (uint64_t)after.tv_nsec -
           (uint64_t)before.tv_nsec;
}

static void in_waits(uint64_t ms)
{
    for (uint64_t left = ms / 600 + 1; left > 0; left--) {
        {
            HOTPATH_BLOCK("first");
            parts[FIRST_HEAVY] += rest(300);
        }
        {
            HOTPATH_BLOCK("second");
            parts[SECOND_HEAVY] += rest(100);
        }
        parts[OUTSIDE] += rest(200);
    }
}

static void *volatile latest; /* so that the compiler keeps all of them */

static APART uint64_t take(uint64_t blocks, int is_kept)
{
    uint64_t bytes = 0;
    for (uint64_t at = 0; at < blocks; at++) {
        const size_t size = 500 + (size_t)at * 37 % 1000;
        void *block = malloc(size);
        bytes += size;
        latest = block;
        if (!is_kept)
            free(block);
    }
    return bytes;
}

static void in_heap(uint64_t mb)
{
    for (uint64_t turn = 0; turn < mb; turn++) {
        {
            HOTPATH_BLOCK("first");
            parts[FIRST_HEAVY] += take(500, 0);
        }
        {
            HOTPATH_BLOCK("second");
            parts[SECOND_HEAVY] += take(166, 1);
        }
        parts[OUTSIDE] += take(333, 0);
    }
}

static void set_limit(const char *what)
{
    const struct rlimit size = {100000, 100000}, files = {3, 3};
    if (strcmp(what, "size") == 0)
        setrlimit(RLIMIT_FSIZE, &size);
    else
        setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argument_count, char **arguments)
{
    if (argument_count < 3)
        return 2;
    const uint64_t ms = strtoull(arguments[2], NULL, 10);
    if (strcmp(arguments[1], "split") == 0)
        outer(ms);
    else if (strcmp(arguments[1], "threads") == 0)
        in_threads(ms);
    else if (strcmp(arguments[1], "forked") == 0)
        in_child(arguments, ms);
    else if (strcmp(arguments[1], "childless") == 0)
        in_childless(ms);
    else if (strcmp(arguments[1], "kernel") == 0)
        in_kernel(ms);
    else if (strcmp(arguments[1], "limited") == 0 && argument_count > 3)
        set_limit(arguments[3]), outer(ms);
    else if (strcmp(arguments[1], "waits") == 0)
        in_waits(ms);
    else if (strcmp(arguments[1], "heap") == 0)
        in_heap(ms);
    else
        return 2;
    tell();
    return 0;
}
