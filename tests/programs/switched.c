/*
 * Recording is switched off and on from outside, in the middle of a recursion of instrumented functions: the outer
 * call is recorded, the inner one begins while recording is off and ends when it is on again. HOTPATH_PROGRAM is
 * the program to call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define UNMEASURED __attribute__((no_instrument_function))

static UNMEASURED uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static UNMEASURED void work_us(uint64_t us)
{
    const uint64_t end = now_ns() + us * 1000;
    while (now_ns() < end)
        ;
}

static UNMEASURED void switch_recording(const char *command)
{
    char line[600];
    snprintf(line, sizeof line, "%s %s %d > /dev/null", getenv("HOTPATH_PROGRAM"), command, (int)getpid());
    if (system(line) != 0)
        exit(3);
}

static uint64_t inside_ns; /* of the outer call, by its own clock */

static __attribute__((noinline)) void evaluate(int level)
{
    const uint64_t from = now_ns();
    work_us(2000);
    if (level == 0) {
        switch_recording("on");
        return;
    }
    switch_recording("off");
    evaluate(level - 1);
    work_us(50000);
    inside_ns = now_ns() - from;
}

int main(void)
{
    const uint64_t from = now_ns();
    evaluate(1);
    printf("around_ns %llu\ninside_ns %llu\n", (unsigned long long)(now_ns() - from),
           (unsigned long long)inside_ns);
    return 0;
}
