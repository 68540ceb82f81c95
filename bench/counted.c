/*
 * Twenty zones on one or several threads, for bench/instructions.py: argument 1 is the number of threads, 2 that of
 * rounds. Each zone is called once a round and hashes a few hundred bytes.
 */
#include <hotpath.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MOST_THREADS 64

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t hash(uint64_t sum, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at++)
        sum = (sum ^ (at & 255u)) * UINT64_C(1099511628211);
    return sum;
}

__attribute__((noinline)) static unsigned collatz(unsigned number)
{
    unsigned steps = 0;
    for (; number != 1; steps++)
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
    return steps;
}

#define ZONE(number)                                                                                               \
    __attribute__((noinline)) static uint64_t zone_##number(uint64_t sum)                                          \
    {                                                                                                              \
        HOTPATH_MEASURE();                                                                                         \
        return hash(sum, 200 + 20 * (number)) + collatz(27 + (number));                                            \
    }
ZONE(0)
ZONE(1)
ZONE(2)
ZONE(3)
ZONE(4)
ZONE(5)
ZONE(6)
ZONE(7)
ZONE(8)
ZONE(9)
ZONE(10)
ZONE(11)
ZONE(12)
ZONE(13)
ZONE(14)
ZONE(15)
ZONE(16)
ZONE(17)
ZONE(18)
ZONE(19)

static uint64_t (*const zones[])(uint64_t) = {zone_0,  zone_1,  zone_2,  zone_3,  zone_4,  zone_5,  zone_6,
                                              zone_7,  zone_8,  zone_9,  zone_10, zone_11, zone_12, zone_13,
                                              zone_14, zone_15, zone_16, zone_17, zone_18, zone_19};

static void *work(void *rounds)
{
    uint64_t sum = 14695981039346656037u;
    for (long round = (long)(intptr_t)rounds; round > 0; round--)
        for (size_t at = 0; at < sizeof zones / sizeof zones[0]; at++)
            sum = zones[at](sum);
    sink = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    const int count = argc > 1 ? atoi(argv[1]) : 1;
    const intptr_t rounds = argc > 2 ? atoi(argv[2]) : 1000;
    if (count <= 1) {
        work((void *)rounds);
        return 0;
    }
    for (int at = 0; at < count && at < MOST_THREADS; at++)
        pthread_create(&threads[at], NULL, work, (void *)rounds);
    for (int at = 0; at < count && at < MOST_THREADS; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
