/*
 * Two phases, controlled by the test: computes in calls of `first`, each of which allocates 1000 bytes, until a
 * line of input arrives, and waits in one call of `second` for the next line. Prints the number of calls.
 * SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "busy.h"

static bool has_line(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

static void read_line(void)
{
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        ;
}

static __attribute__((noinline)) void first(void)
{
    HOTPATH_MEASURE();
    const uint64_t end = thread_ns() + 1000000u;
    void *block = malloc(1000);
    for (uint64_t i = 0; thread_ns() < end; i++)
        __asm__ volatile("" : "+r"(i), "+r"(block));
    free(block);
}

static __attribute__((noinline)) void second(void)
{
    HOTPATH_MEASURE();
    read_line();
}

int main(void)
{
    HOTPATH_MAIN();
    long calls = 0;
    for (; !has_line(); calls++)
        first();
    read_line();
    second();
    say("first", calls);
    return 0;
}
