/*
 * Functions that execute known numbers of instructions. Arguments: percent by which `encode` does more, then
 * "threads", "fork", "abort", or "limit" and a limit of instructions. Ends with status 3.
 */
#include <hotpath.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;

#define ROUNDS 20

/* Each step is the same number of instructions. */
__attribute__((noinline)) static void spin(int steps)
{
    unsigned sum = 0;
    for (int step = 0; step < steps; step++) {
        sum = sum * 31 + (unsigned)step;
        __asm__ volatile("" : "+r"(sum));
    }
    sink += sum;
}

__attribute__((noinline)) static void encode(int percent)
{
    HOTPATH_MEASURE();
    spin(10000 + 100 * percent);
}

__attribute__((noinline)) static void tiny(void)
{
    HOTPATH_MEASURE();
    sink++;
}

__attribute__((noinline)) static void allocate(int count)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < count; at++) {
        char *bytes = malloc(100 + (size_t)at);
        memset(bytes, at, 100);
        sink += (unsigned)bytes[5];
        free(bytes);
    }
}

__attribute__((noinline)) static int fibonacci(int n)
{
    HOTPATH_MEASURE();
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *job(void *steps)
{
    HOTPATH_MEASURE();
    for (int round = 0; round < ROUNDS; round++)
        spin((int)(intptr_t)steps);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[3];
    for (int at = 0; at < 3; at++)
        pthread_create(&threads[at], NULL, job, (void *)(intptr_t)20000);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
}

static void run_child(void)
{
    const pid_t child = fork();
    if (child == 0) {
        encode(0);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

__attribute__((noinline)) static void run_limited(uint64_t most)
{
    HOTPATH_EXPECT_INSTRUCTIONS(most);
    spin(10000);
}

int main(int count, char **arguments)
{
    HOTPATH_MAIN();
    const int percent = count > 1 ? atoi(arguments[1]) : 0;
    const char *mode = count > 2 ? arguments[2] : "";
    for (int round = 0; round < ROUNDS; round++) {
        encode(percent);
        tiny();
        allocate(50);
    }
    fibonacci(10);
    if (strcmp(mode, "threads") == 0)
        run_threads();
    if (strcmp(mode, "fork") == 0)
        run_child();
    if (strcmp(mode, "limit") == 0 && count > 3)
        run_limited(strtoull(arguments[3], NULL, 10));
    if (strcmp(mode, "abort") == 0)
        abort();
    return 3;
}
