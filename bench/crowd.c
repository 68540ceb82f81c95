/*
 * A large session: 1024 functions on many threads, each called often enough to have a histogram of several octaves.
 * Prints "ready" when all have been called, goes on calling a few, and ends when its standard input does.
 *
 *   crowd THREADS CALLS
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sites.h"

#define MOST_THREADS 1000

/* About this many steps. */
static void spin(unsigned steps)
{
    while (steps-- > 0)
        __asm__ volatile("" ::: "memory");
}

#define DEFINE(name)                                                                                               \
    static __attribute__((noinline)) void name(unsigned steps)                                                     \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        spin(steps);                                                                                               \
    }
#define LIST(name) name,

BENCH_1024(DEFINE, crowd_)
static void (*const functions[])(unsigned steps) = {BENCH_1024(LIST, crowd_)};
#define FUNCTIONS (sizeof functions / sizeof functions[0])

static unsigned calls;
static int is_over; /* atomic */
static pthread_barrier_t all_called;

static unsigned next_random(unsigned *state) { return *state = *state * 1664525u + 1013904223u; }

static void *live(void *context)
{
    unsigned state = *(const unsigned *)context;
    for (unsigned call = 0; call < calls; call++)
        for (size_t at = 0; at < FUNCTIONS; at++) {
            const unsigned random = next_random(&state) >> 16;
            functions[at](random % 64 << random % 6);
        }
    pthread_barrier_wait(&all_called);
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        usleep(20000);
        functions[next_random(&state) % FUNCTIONS](10);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    static pthread_t threads[MOST_THREADS];
    static unsigned seeds[MOST_THREADS];
    const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
    calls = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    if (count == 0 || count > MOST_THREADS || pthread_barrier_init(&all_called, NULL, count + 1) != 0)
        return 2;
    for (unsigned at = 0; at < count; at++) {
        seeds[at] = at;
        if (pthread_create(&threads[at], NULL, live, &seeds[at]) != 0)
            return 2;
    }
    pthread_barrier_wait(&all_called);
    puts("ready");
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (unsigned at = 0; at < count; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
