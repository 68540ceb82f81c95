/* For the programs of this folder. Each has one bottleneck, by construction, and does a fixed amount of work:
 * about a second. tests/e2e/bottlenecks.py has what a person says first about each of them. */
#ifndef BOTTLENECK_H
#define BOTTLENECK_H

#include "../computing.h"

#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MILLISECOND 700000u /* rounds of compute(), more or less */

/* Before the end of a function: what it has called last returns to it, and does not take its place on the stack. */
#define COME_BACK() __asm__ volatile("")

static inline void must(int is_good, const char *what)
{
    if (!is_good) {
        perror(what);
        exit(2);
    }
}

static inline void run_threads(int count, void *(*start)(void *))
{
    pthread_t threads[16];
    for (int at = 0; at < count; at++)
        must(pthread_create(&threads[at], NULL, start, (void *)(intptr_t)at) == 0, "pthread_create");
    for (int at = 0; at < count; at++)
        pthread_join(threads[at], NULL);
}

#endif
