/*
 * A program without hotpath, whose functions use known amounts of CPU time, by their thread's CPU clock; it prints
 * them at its end, in nanoseconds.
 *     stacked split MS      outer calls heavy and light, in turns
 *     stacked threads MS    the same in four threads
 *     stacked forked MS     the same in a child that becomes this program again
 *     stacked deep MS       as split, below a recursion of 100 calls
 *     stacked brief MS      the same after that much in threads which are too short for a sample; `brief` is what
 *                           these used
 *     stacked kernel MS     reads without end until that much is used
 *     stacked assembly MS   in two functions of assembly that say nothing of their frames; x86-64 only
 *     stacked handler MS    as split, in the handler of a signal, on a stack of its own
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "computing.h"

static APART void heavy(uint64_t rounds) { compute(rounds * 7); }
static APART void light(uint64_t rounds) { compute(rounds * 2); }

static uint64_t heavy_ns, light_ns; /* atomic */

/* Pieces of different lengths, so that they are in step with nothing. */
static APART void outer(uint64_t ms)
{
    uint64_t times[3] = {used_ns()};
    const uint64_t end = times[0] + ms * 1000000u;
    for (uint64_t turn = 0; times[0] < end; turn++) {
        const uint64_t rounds = 20000 + turn * 7919 % 60000;
        heavy(rounds);
        times[1] = used_ns();
        light(rounds);
        times[2] = used_ns();
        __atomic_fetch_add(&heavy_ns, times[1] - times[0], __ATOMIC_RELAXED);
        __atomic_fetch_add(&light_ns, times[2] - times[1], __ATOMIC_RELAXED);
        times[0] = used_ns();
    }
}

static APART void dive(int depth, uint64_t ms)
{
    if (depth > 0)
        dive(depth - 1, ms);
    else
        outer(ms);
    __asm__ volatile(""); /* so that nothing is called last */
}

static void *in_thread(void *ms)
{
    outer(*(const uint64_t *)ms);
    return NULL;
}

static void in_threads(uint64_t ms)
{
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        if (pthread_create(&threads[at], NULL, in_thread, &ms) != 0)
            exit(1);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
}

/* A part of a period. */
static void *be_brief(void *used)
{
    const uint64_t until = used_ns() + 300000;
    while (used_ns() < until)
        compute(1000);
    *(uint64_t *)used = used_ns();
    return NULL;
}

static uint64_t brief_ns;

static void in_brief_threads(uint64_t ms)
{
    while (brief_ns < ms * 1000000u) {
        pthread_t thread;
        uint64_t used = 0;
        if (pthread_create(&thread, NULL, be_brief, &used) != 0)
            exit(1);
        pthread_join(thread, NULL);
        brief_ns += used;
    }
}

static APART void read_on(uint64_t ms)
{
    static char bytes[1 << 16];
    const int zeros = open("/dev/zero", O_RDONLY);
    const uint64_t until = used_ns() + ms * 1000000u;
    while (used_ns() < until)
        if (read(zeros, bytes, sizeof bytes) != (ssize_t)sizeof bytes)
            exit(1);
    close(zeros);
}

#ifdef __x86_64__
/* One with nothing on the stack, one with a frame, and with something else in the register of the frame pointer. */
void bare_leaf(uint64_t rounds);
void bare_frame(uint64_t rounds);
__asm__(".text\n"
        ".type bare_leaf, @function\n"
        "bare_leaf: dec %rdi\n"
        "jnz bare_leaf\n"
        "ret\n"
        ".size bare_leaf, . - bare_leaf\n"
        ".type bare_frame, @function\n"
        "bare_frame: push %rbp\n"
        "push %rbx\n"
        "sub $264, %rsp\n"
        "mov $12345, %ebp\n"
        "0: dec %rdi\n"
        "jnz 0b\n"
        "add $264, %rsp\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "ret\n"
        ".size bare_frame, . - bare_frame\n");
#else
static APART void bare_leaf(uint64_t rounds) { compute(rounds); }
static APART void bare_frame(uint64_t rounds) { compute(rounds); }
#endif

static APART void in_assembly(uint64_t ms)
{
    const uint64_t until = used_ns() + ms * 1000000u;
    while (used_ns() < until) {
        bare_leaf(200000);
        bare_frame(200000);
    }
}

static uint64_t handler_ms;

static void on_signal(int number)
{
    (void)number;
    outer(handler_ms);
    __asm__ volatile("");
}

static void in_handler(uint64_t ms)
{
    static char stack[1 << 16];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    handler_ms = ms;
    if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        exit(1);
    raise(SIGUSR1);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    const uint64_t ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (strcmp(what, "split") == 0)
        outer(ms);
    else if (strcmp(what, "threads") == 0)
        in_threads(ms);
    else if (strcmp(what, "assembly") == 0)
        in_assembly(ms);
    else if (strcmp(what, "deep") == 0)
        dive(100, ms);
    else if (strcmp(what, "kernel") == 0)
        read_on(ms);
    else if (strcmp(what, "brief") == 0) {
        in_brief_threads(ms);
        outer(ms);
    } else if (strcmp(what, "handler") == 0)
        in_handler(ms);
    else if (strcmp(what, "forked") == 0) {
        int status;
        if (fork() == 0)
            execl(argv[0], argv[0], "split", argv[2], (char *)NULL);
        return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    } else
        return 2;
    printf("heavy %" PRIu64 "\nlight %" PRIu64 "\nbrief %" PRIu64 "\n", heavy_ns, light_ns, brief_ns);
    return 0;
}
