/*
 * What a lock costs: prints nanoseconds for each case, the least of many rounds, and what two reads of the counter
 * take. bench/locks.py runs it with and without hotpath.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hotpath.h"

#define ROUNDS 2000
#define TIMES 1000
#define MANY 1000000

struct padded {
    pthread_mutex_t mutex;
    char unused[128];
};
static struct padded locks[2] = {{PTHREAD_MUTEX_INITIALIZER, ""}, {PTHREAD_MUTEX_INITIALIZER, ""}};

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double lock_often(pthread_mutex_t *mutex)
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double began = now_ns();
        for (int at = 0; at < TIMES; at++) {
            pthread_mutex_lock(mutex);
            pthread_mutex_unlock(mutex);
        }
        const double each = (now_ns() - began) / TIMES;
        least = each < least ? each : least;
    }
    return least;
}

static void *use(void *context)
{
    struct padded *lock = context;
    static double results[2];
    double *result = &results[lock - locks];
    *result = lock_often(&lock->mutex);
    return result;
}

static double two_threads(void)
{
    pthread_t threads[2];
    void *results[2];
    for (int at = 0; at < 2; at++)
        if (pthread_create(&threads[at], NULL, use, &locks[at]) != 0)
            exit(1);
    for (int at = 0; at < 2; at++)
        pthread_join(threads[at], &results[at]);
    return (*(double *)results[0] + *(double *)results[1]) / 2;
}

static double many_locks(void)
{
    pthread_mutex_t *all = calloc(MANY, sizeof *all);
    double least = 1e9;
    if (all == NULL)
        exit(1);
    for (int round = 0; round < 5; round++) {
        const double began = now_ns();
        for (int at = 0; at < MANY; at++) {
            pthread_mutex_lock(&all[at]);
            pthread_mutex_unlock(&all[at]);
        }
        const double each = (now_ns() - began) / MANY;
        least = each < least ? each : least;
    }
    free(all);
    return least;
}

static double two_reads(void)
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double began = now_ns();
        for (int at = 0; at < TIMES; at++) {
            hotpath_ticks_();
            __asm__ volatile("" ::: "memory");
            hotpath_ticks_();
            __asm__ volatile("" ::: "memory");
        }
        const double each = (now_ns() - began) / TIMES;
        least = each < least ? each : least;
    }
    return least;
}

int main(void)
{
    printf("one %.2f\n", lock_often(&locks[0].mutex));
    printf("two %.2f\n", two_threads());
    printf("many %.2f\n", many_locks());
    printf("reads %.2f\n", two_reads());
    return 0;
}
