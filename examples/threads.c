/*
 * Threads: nothing to set up. Each thread counts for itself, and the report adds them up; the column Threads says
 * how many took part. Times of several threads add up too, so a row can have more than 100 % of the time that
 * passed.
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define WORKERS 4
#define ITEMS 250

static uint64_t process_item(uint64_t seed)
{
    HOTPATH_MEASURE();
    uint64_t hash = seed;
    for (int i = 0; i < 100000; i++)
        hash = (hash ^ (hash >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return hash;
}

static void *worker(void *sum)
{
    HOTPATH_MEASURE();
    for (uint64_t item = 0; item < ITEMS; item++)
        *(uint64_t *)sum ^= process_item(item);
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN(.columns = "threads");
    pthread_t threads[WORKERS];
    uint64_t sums[WORKERS] = {0};
    int started = 0;
    while (started < WORKERS && pthread_create(&threads[started], NULL, worker, &sums[started]) == 0)
        started++;
    for (int i = 0; i < started; i++) {
        HOTPATH_BLOCK("join");
        pthread_join(threads[i], NULL);
    }
    printf("%llu\n", (unsigned long long)(sums[0] + sums[1] + sums[2] + sums[3]));
    return started == WORKERS ? 0 : 1;
}
