/*
 * A program without hotpath whose threads wait in take_it for a lock. The thread that has it is in with_it, for as
 * much CPU time, or asleep; then it computes for half as long in without_it, before it takes the lock again.
 *     lock_holders running|sleeping MS ROUNDS     MS with the lock, each of the rounds of each of three threads
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "computing.h"

#define NOT_LAST() __asm__ volatile("") /* so that nothing is called last, which would leave no frame */
#define THREADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_sleeping;
static uint64_t hold_ns;
static int rounds;

/* A macro, so that it is no function in stacks. */
#define COMPUTE_FOR(ns)                                                                                            \
    for (const uint64_t end = used_ns() + (ns); used_ns() < end;)                                                  \
        for (unsigned at = 0; at < 10000; at++)                                                                    \
    __asm__ volatile("" : "+r"(at))

static APART void take_it(void)
{
    pthread_mutex_lock(&lock);
    NOT_LAST();
}

static APART void with_it(void)
{
    if (is_sleeping)
        nanosleep(&(struct timespec){.tv_nsec = (long)hold_ns}, NULL);
    else
        COMPUTE_FOR(hold_ns);
    NOT_LAST();
}

static APART void without_it(void)
{
    COMPUTE_FOR(hold_ns / 2);
    NOT_LAST();
}

static void *work(void *unused)
{
    for (int round = 0; round < rounds; round++) {
        take_it();
        with_it();
        pthread_mutex_unlock(&lock);
        without_it();
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    if (count < 4)
        return 1;
    is_sleeping = strcmp(arguments[1], "sleeping") == 0;
    hold_ns = strtoull(arguments[2], NULL, 10) * 1000000;
    rounds = atoi(arguments[3]);
    for (int at = 0; at < THREADS; at++)
        if (pthread_create(&threads[at], NULL, work, NULL) != 0)
            return 1;
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
