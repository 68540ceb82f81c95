/*
 * Three kinds of work in one loop: computing, allocating, waiting. Which one is the bottleneck?
 *
 *     ./dev demo
 */
#include <hotpath.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *volatile kept; /* a store the compiler has to make, so that the work below is not optimised away */
static volatile uint64_t result_of_work;

static void sync_work(void)
{
    HOTPATH_MEASURE();
    uint64_t result = 1;
    for (uint64_t i = 0; i < 1000000; i++) {
        result *= i + 7;
        result ^= result >> 3;
    }
    result_of_work = result;
}

static void sync_alloc(void)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 1000; i++) {
        char *buffer = malloc(1024);
        if (buffer != NULL)
            memset(buffer, 1, 1024);
        kept = buffer;
        free(buffer);
    }
}

/* Stands for a slow query or a slow server: it takes time, but no CPU. */
static void wait_for_reply(void)
{
    HOTPATH_MEASURE();
    const struct timespec ten_ms = {0, 10 * 1000 * 1000};
    nanosleep(&ten_ms, NULL);
}

int main(void)
{
    /* What it waited for is part of the verdict; the table of that is left out here. */
    HOTPATH_MAIN(.cpu = 1, .waits = 1, .report = "-waits");
    for (int i = 0; i < 100; i++) {
        sync_work();
        sync_alloc();
        wait_for_reply();
    }
    return 0;
}
