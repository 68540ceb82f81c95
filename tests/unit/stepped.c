/*
 * The program that test_unwind_steps.c single-steps: it stops when it is ready, then calls its own functions,
 * functions of the C library for the first time and again, and callbacks. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

static volatile int sink;

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

__attribute__((noinline)) static int recursive(int depth)
{
    char bytes[40];
    memset(bytes, depth, sizeof bytes);
    sink = bytes[depth % 40];
    return depth > 0 ? recursive(depth - 1) + 1 : 0;
}

__attribute__((noinline)) static int of_unknown_size(int size)
{
    int *numbers = __builtin_alloca((size_t)size * sizeof *numbers);
    for (int at = 0; at < size; at++)
        numbers[at] = at * 7 % size;
    qsort(numbers, (size_t)size, sizeof *numbers, compare);
    return numbers[size / 2];
}

__attribute__((noinline)) static double aligned(double number)
{
    _Alignas(64) volatile double values[8] = {number};
    return values[0] * (double)recursive(3);
}

__attribute__((noinline)) static void work(void)
{
    char text[100];
    sink = recursive(5) + of_unknown_size(9);
    sink += snprintf(text, sizeof text, "%d %s %.3f %x", sink, "some text", aligned(1.5), 77u);
    sink += (int)strtol(text, NULL, 10) + (int)strlen(text) + (strstr(text, "text") != NULL);
    sink += getenv("HOME") != NULL;
    char *copy = strdup(text);
    sink += copy != NULL && strcmp(copy, text) == 0;
    free(copy);
}

int main(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return 77;
    raise(SIGSTOP);
    work();
    raise(SIGSTOP); /* not all code that runs at exit is in tables */
    return 0;
}
