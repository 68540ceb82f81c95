/*
 * Difficult cases for the hooks of -finstrument-functions.
 *     deep N      recursion deeper than the stack of zones; prints how long the outermost call took
 *     altstack    a new function called for the first time on a signal stack of 8 KiB
 *     jumps N     functions that leave a zone of a macro by longjmp, where calls of the same function were before
 */
#include <hotpath.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define UNMEASURED __attribute__((no_instrument_function))

static UNMEASURED uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile sig_atomic_t seen;

/* Deeper on the stack than the call before it, so it could be taken for a callee of that. */
static __attribute__((noinline)) void after(void)
{
    volatile char room[512] = {0};
    seen += room[seen % 512] + 1;
}

static unsigned long outermost;

/* Works on the way back, too, so that no compiler makes a loop of it, and the outermost call is the longest. */
static __attribute__((noinline)) uint64_t recurse(unsigned long levels)
{
    if (levels == 0) {
        const uint64_t end = now_ns() + 20000000;
        while (now_ns() < end)
            ;
        return end;
    }
    const uint64_t result = recurse(levels - 1) * 3 + levels;
    if (levels == outermost)
        after();
    return result;
}

static UNMEASURED void deep(unsigned long levels)
{
    const uint64_t from = now_ns();
    outermost = levels;
    const uint64_t result = recurse(levels);
    printf("recurse_ns %llu\n", (unsigned long long)(now_ns() - from));
    fprintf(stderr, "%s", result == 1 ? " " : "");
}

static __attribute__((noinline)) void called_by_handler(void) { seen++; }

static void on_signal(int number)
{
    (void)number;
    called_by_handler();
}

static UNMEASURED void altstack(void)
{
    static char memory[8192];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        exit(1);
    raise(SIGUSR1);
    printf("seen %d\n", (int)seen);
}

static jmp_buf back;

static UNMEASURED __attribute__((noinline)) void jump(void)
{
    HOTPATH_BLOCK("jumped over");
    longjmp(back, 1);
}

static __attribute__((noinline)) void jumper(int is_to_jump)
{
    if (setjmp(back) == 0 && is_to_jump)
        jump();
}

/* Has it one level further in, where the zone of the block will be. */
static __attribute__((noinline)) void around(void)
{
    jumper(0);
    seen++;
}

static UNMEASURED void jumps(unsigned long times)
{
    while (times-- > 0) {
        around();
        jumper(1);
        after();
    }
}

int main(int argc, char **argv)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    if (argc > 2 && strcmp(argv[1], "deep") == 0) {
        setrlimit(RLIMIT_STACK, &all); /* the stack of main grows as far as it may */
        deep(strtoul(argv[2], NULL, 10));
    } else if (argc > 2 && strcmp(argv[1], "jumps") == 0) {
        jumps(strtoul(argv[2], NULL, 10));
    } else {
        altstack();
    }
    return 0;
}
