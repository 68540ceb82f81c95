/*
 * What I/O costs: prints nanoseconds for each case, the least of many rounds, and what two reads of the counter
 * take. bench/io.py runs it with and without hotpath.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hotpath.h"

#define ROUNDS 1000
#define TIMES 1000

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void write_once(void *context)
{
    if (write(*(const int *)context, "x", 1) != 1)
        exit(1);
}

static void read_once(void *context)
{
    char byte;
    if (read(*(const int *)context, &byte, 1) != 1)
        exit(1);
}

static void put_unbuffered(void *context)
{
    if (fputc('x', context) == EOF)
        exit(1);
}

static void put_buffered(void *context)
{
    if (fputc('x', context) == EOF)
        exit(1);
}

static void read_counter(void *context)
{
    (void)context;
    hotpath_ticks_();
    __asm__ volatile("" ::: "memory");
    hotpath_ticks_();
    __asm__ volatile("" ::: "memory");
}

static inline __attribute__((always_inline)) double least_of(void (*once)(void *context), void *context)
{
    double least = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        const double began = now_ns();
        for (int at = 0; at < TIMES; at++)
            once(context);
        const double each = (now_ns() - began) / TIMES;
        least = each < least ? each : least;
    }
    return least;
}

static double thread_results[2];

static void *write_often(void *context)
{
    const int number = (int)(size_t)context;
    int fd = open("/dev/null", O_WRONLY);
    thread_results[number] = least_of(write_once, &fd);
    close(fd);
    return NULL;
}

static double two_threads(void)
{
    pthread_t threads[2];
    for (size_t at = 0; at < 2; at++)
        if (pthread_create(&threads[at], NULL, write_often, (void *)at) != 0)
            exit(1);
    for (size_t at = 0; at < 2; at++)
        pthread_join(threads[at], NULL);
    return (thread_results[0] + thread_results[1]) / 2;
}

int main(void)
{
    int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
    FILE *unbuffered = fopen("/dev/null", "w"), *buffered = fopen("/dev/null", "w");
    if (null < 0 || zero < 0 || unbuffered == NULL || buffered == NULL)
        return 1;
    setvbuf(unbuffered, NULL, _IONBF, 0);
    printf("write %.2f\n", least_of(write_once, &null));
    printf("read %.2f\n", least_of(read_once, &zero));
    printf("unbuffered %.2f\n", least_of(put_unbuffered, unbuffered));
    printf("buffered %.2f\n", least_of(put_buffered, buffered));
    printf("two %.2f\n", two_threads());
    printf("reads %.2f\n", least_of(read_counter, NULL));
    return 0;
}
