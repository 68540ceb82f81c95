/*
 * Compiled with -finstrument-functions: functions too small to time every call, and what must stay exact then. The
 * program's own helpers are excluded, so that only the functions named here are measured.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNSEEN __attribute__((no_instrument_function, noinline))
#define SEEN __attribute__((noinline))

static __thread volatile uint64_t sink;

static UNSEEN uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static UNSEEN void spin_us(uint64_t us)
{
    const uint64_t end = now_ns() + us * 1000;
    while (now_ns() < end)
        ;
}

static SEEN void tiny(uint64_t value) { sink += value; }

/* Ten microseconds, which is a hundred times what measuring costs. */
static SEEN void medium(void) { spin_us(10); }

static SEEN void hundred(void)
{
    for (uint64_t at = 0; at < 100; at++)
        tiny(at);
}

/*
 * Does little itself. Most of its time is the cost of measuring its callees. That is an estimate, so with many of
 * them its error would be as much as a call.
 */
static SEEN void middle(void)
{
    for (uint64_t at = 0; at < 4; at++)
        tiny(at);
}

static SEEN void layers(void)
{
    for (int at = 0; at < 400000; at++)
        middle();
}

/*
 * One call in sixteen takes a hundred times as long as the others, so that together they are long enough to be
 * timed.
 */
static SEEN void uneven(int is_long)
{
    if (is_long)
        spin_us(5);
    else
        sink++;
}

static SEEN void rows(void)
{
    for (int at = 0; at < 40000; at++)
        uneven(at % 16 == 0);
}

static SEEN void mixed(void)
{
    for (int at = 0; at < 10000; at++)
        hundred();
    for (int at = 0; at < 10000; at++)
        medium();
}

/* Tiny at first, slow at the end. */
static SEEN void moody(uint64_t us)
{
    if (us > 0)
        spin_us(us);
    else
        sink++;
}

static SEEN void moods(void)
{
    for (int at = 0; at < 100000; at++)
        moody(0);
    const uint64_t begin = now_ns();
    for (int at = 0; at < 600; at++)
        moody(100);
    printf("slow_ns %llu\n", (unsigned long long)(now_ns() - begin));
}

static SEEN unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static SEEN void recursion(void)
{
    for (int at = 0; at < 50; at++)
        sink += fib(18);
}

static SEEN void *thread(void *count)
{
    for (int at = 0; at < *(int *)count; at++)
        hundred();
    return NULL;
}

static SEEN void threads(void)
{
    static int counts[] = {2000, 1000, 500, 1};
    pthread_t started[4];
    for (int at = 0; at < 4; at++)
        if (pthread_create(&started[at], NULL, thread, &counts[at]) != 0)
            exit(99);
    for (int at = 0; at < 4; at++)
        pthread_join(started[at], NULL);
}

static jmp_buf back;

static SEEN void thrower(int level)
{
    tiny(1);
    if (level > 0)
        thrower(level - 1);
    else
        longjmp(back, 1);
    sink++;
}

static SEEN void maybe(int is_to_jump)
{
    sink++;
    if (is_to_jump)
        longjmp(back, 1);
}

static SEEN void attempt(int is_to_jump)
{
    maybe(is_to_jump);
    sink++;
}

/* `maybe` is limited when it begins to be left by longjmp. */
static SEEN void jumps(void)
{
    for (volatile int at = 0; at < 40000; at++)
        if (setjmp(back) == 0)
            attempt(at >= 20000 && at % 10 == 0);
    for (volatile int at = 0; at < 1000; at++)
        if (setjmp(back) == 0)
            thrower(3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"mixed", mixed},     {"moods", moods}, {"recursion", recursion},
                 {"threads", threads}, {"jumps", jumps}, {"layers", layers},
                 {"rows", rows}};
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        if (argc > 1 && strcmp(argv[1], cases[at].name) == 0)
            cases[at].run();
    return 0;
}
