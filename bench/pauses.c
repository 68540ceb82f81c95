/*
 * pauses WAITING MS: how long threads stand still, as they see it themselves.
 *
 * So many threads wait, one computes, and one reads the clock without end for MS milliseconds. Prints the longest
 * time between two readings and the time that all of more than 0.1 ms took together, in microseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GAP_NS UINT64_C(100000)

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int never;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *wait_here(void *unused)
{
    pthread_mutex_lock(&guard);
    while (!never)
        pthread_cond_wait(&news, &guard);
    pthread_mutex_unlock(&guard);
    return unused;
}

static void *spin(void *unused)
{
    for (volatile uint64_t rounds = 0; !never; rounds++)
        ;
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t id;
    const int waiting = count > 1 ? atoi(arguments[1]) : 100;
    const uint64_t end = now_ns() + (count > 2 ? strtoull(arguments[2], NULL, 10) : 1000) * 1000000u;
    uint64_t longest = 0, all = 0;
    for (int at = 0; at < waiting; at++)
        pthread_create(&id, NULL, wait_here, NULL);
    pthread_create(&id, NULL, spin, NULL);
    for (uint64_t before = now_ns(), now; before < end; before = now) {
        now = now_ns();
        const uint64_t gap = now - before;
        longest = gap > longest ? gap : longest;
        all += gap > GAP_NS ? gap : 0;
    }
    printf("%llu %llu\n", (unsigned long long)(longest / 1000), (unsigned long long)(all / 1000));
    return 0;
}
