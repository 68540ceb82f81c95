/*
 * A build in three steps: four threads compile, one of them a large file, then main links. compile has most of the
 * CPU time, but what decides how long the build takes is the large file alone: only generate_large and link_all are
 * on the critical path, and making compile faster saves nothing.
 *
 *     hotpath run --path --section bottlenecks,critical-path build/release/examples/critical_path
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define THREADS 4

/* CPU time of the thread, so that a busy machine does not change what the program does. */
static void compute(int ms)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const long long end = now.tv_sec * 1000000000LL + now.tv_nsec + ms * 1000000LL;
    while (now.tv_sec * 1000000000LL + now.tv_nsec < end)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void compile(void)
{
    HOTPATH_MEASURE();
    compute(10);
}

static void generate_large(void)
{
    HOTPATH_MEASURE();
    const struct timespec pause = {0, 150 * 1000 * 1000}; /* stands for a tool that is waited for */
    nanosleep(&pause, NULL);
}

static void link_all(void)
{
    HOTPATH_MEASURE();
    compute(20);
}

static void *build(void *number)
{
    for (int file = 0; file < 3; file++)
        compile();
    if (*(const int *)number == 2)
        generate_large();
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int at = 0; at < THREADS; at++) {
        numbers[at] = at;
        if (pthread_create(&threads[at], NULL, build, &numbers[at]) != 0)
            return 1;
    }
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    link_all();
    printf("%d files\n", THREADS * 3 + 1);
    return 0;
}
