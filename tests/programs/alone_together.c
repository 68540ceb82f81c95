/*
 * One thread computes for a time in `alone`, then both CPUs for half of that in `together`: each function has half
 * of the CPU time, and `alone` two thirds of the time on the clock. Prints how many nanoseconds each part took:
 * more, if the machine has other work. Usage: alone_together SECONDS
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NS 1e9

static volatile uint64_t sink;

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / NS;
}

#define COMPUTE_FOR(seconds)                                                                                       \
    do {                                                                                                           \
        const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + (seconds);                                        \
        while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end)                                                          \
            for (unsigned at = 0; at < 100000; at++)                                                               \
                sink += at;                                                                                        \
    } while (0)

__attribute__((noinline)) void alone(double seconds);
__attribute__((noinline)) void together(double seconds);

void alone(double seconds) { COMPUTE_FOR(seconds); }
void together(double seconds) { COMPUTE_FOR(seconds); }

static void *run_together(void *seconds)
{
    together(*(double *)seconds);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    double seconds = count > 1 ? atof(arguments[1]) : 6, half = seconds / 2;
    const double began = seconds_of(CLOCK_MONOTONIC);
    alone(seconds);
    const double between = seconds_of(CLOCK_MONOTONIC);
    if (pthread_create(&thread, NULL, run_together, &half) != 0)
        return 1;
    together(half);
    pthread_join(thread, NULL);
    printf("alone %.0f\ntogether %.0f\n", NS * (between - began), NS * (seconds_of(CLOCK_MONOTONIC) - between));
    return 0;
}
