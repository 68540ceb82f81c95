/*
 * Does what its input lines say, each until the next one: "one" and "two" compute in a function of that name, "nap"
 * sleeps, once; "rest" waits for the next line. Prints what it begins. SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "computing.h"

static bool has_line(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

#define STEP_NS 5000000u

static APART void one(void)
{
    const uint64_t end = used_ns() + STEP_NS;
    while (used_ns() < end)
        compute(10000);
}

static APART void two(void)
{
    const uint64_t end = used_ns() + STEP_NS;
    while (used_ns() < end)
        compute(10001);
}

/* One long wait, which ends with a line of input. */
static APART void nap(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    poll(&input, 1, 600000);
}

static void act(const char *what)
{
    do {
        if (strcmp(what, "one\n") == 0)
            one();
        else if (strcmp(what, "two\n") == 0)
            two();
        else if (strcmp(what, "nap\n") == 0)
            nap();
        else
            return;
    } while (!has_line());
}

int main(void)
{
    char line[100];
    setvbuf(stdin, NULL, _IONBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        printf("%s", line);
        fflush(stdout);
        act(line);
    }
    return 0;
}
