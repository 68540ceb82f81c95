/*
 * How much memory a session takes as the number of calls and threads grows. It must not grow with either.
 *
 *   memory calls N...            session and resident bytes after each number of calls
 *   memory threads N...          the same after each number of threads, one after the other
 *   memory messages N...         the same after each number of messages through one channel, known by ids
 *   memory together N            the same with N threads alive at once
 *
 * Prints one line per point: what, how many, bytes of the session that are in use, resident bytes of the process.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NOINLINE __attribute__((noinline))

/* A small call tree with durations of several magnitudes, as in real programs. */
static NOINLINE void leaf(uint64_t steps)
{
    HOTPATH_MEASURE();
    while (steps-- > 0)
        __asm__ volatile("");
}

static NOINLINE void branch(uint64_t number)
{
    HOTPATH_MEASURE();
    leaf(0);
    leaf(number % 64);
}

static void call(uint64_t number)
{
    branch(number);
    if (number % 1000 == 0)
        leaf(100000);
}

#define ZONES_PER_CALL 3

static void *one_thread(void *context)
{
    (void)context;
    for (uint64_t number = 0; number < 10; number++)
        branch(number);
    return NULL;
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*u %llu", &pages) != 1)
        abort();
    fclose(file);
    return pages * 4096;
}

/* Space the file takes on its file system, not its size, since it may have holes. */
static uint64_t session_bytes(void)
{
    struct stat status;
    if (stat(hotpath_session_path(), &status) != 0) {
        fprintf(stderr, "memory: the session has no file to look at\n");
        exit(1);
    }
    return (uint64_t)status.st_blocks * 512;
}

static void print_point(const char *what, uint64_t count)
{
    printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", what, count, session_bytes(), resident_bytes());
    fflush(stdout);
}

static void start_thread(pthread_t *ret_thread, void *(*run)(void *))
{
    const int error = pthread_create(ret_thread, NULL, run, NULL);
    if (error != 0) {
        fprintf(stderr, "memory: no thread: %s\n", strerror(error));
        exit(1);
    }
}

static void after_calls(int points, char **numbers)
{
    uint64_t done = 0;
    for (int point = 0; point < points; point++) {
        const uint64_t target = strtoull(numbers[point], NULL, 10);
        for (; done < target; done += ZONES_PER_CALL)
            call(done);
        print_point("calls", target);
    }
}

static void after_threads(int points, char **numbers)
{
    uint64_t done = 0;
    for (int point = 0; point < points; point++) {
        const uint64_t target = strtoull(numbers[point], NULL, 10);
        for (; done < target; done++) {
            pthread_t thread;
            start_thread(&thread, one_thread);
            pthread_join(thread, NULL);
        }
        print_point("threads", target);
    }
}

/* Eight messages are in the channel at a time. */
static void after_messages(int points, char **numbers)
{
    static const char channel;
    const uint64_t inside = 8;
    uint64_t done = 0;
    for (int point = 0; point < points; point++) {
        const uint64_t target = strtoull(numbers[point], NULL, 10);
        for (; done < target; done++) {
            HOTPATH_CHANNEL_SENT("channel", &channel, 1, 64, inside, done + 1);
            if (done >= inside)
                HOTPATH_CHANNEL_RECEIVED("channel", &channel, 1, 64, inside, done + 1 - inside);
        }
        print_point("messages", target);
    }
}

static pthread_barrier_t barrier;

static void *thread_that_waits(void *context)
{
    one_thread(context);
    pthread_barrier_wait(&barrier); /* all have recorded ... */
    pthread_barrier_wait(&barrier); /* ... and the point is printed */
    return NULL;
}

static void with_threads(unsigned count)
{
    pthread_t *threads = calloc(count, sizeof *threads);
    if (threads == NULL || pthread_barrier_init(&barrier, NULL, count + 1) != 0)
        abort();
    print_point("together", 0);
    for (unsigned i = 0; i < count; i++)
        start_thread(&threads[i], thread_that_waits);
    pthread_barrier_wait(&barrier);
    print_point("together", count);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    HOTPATH_MAIN(.format = "none");
    if (strcmp(what, "calls") == 0)
        after_calls(argc - 2, argv + 2);
    else if (strcmp(what, "threads") == 0)
        after_threads(argc - 2, argv + 2);
    else if (strcmp(what, "messages") == 0)
        after_messages(argc - 2, argv + 2);
    else if (strcmp(what, "together") == 0)
        with_threads((unsigned)strtoul(argv[2], NULL, 10));
    else
        return 2;
    return 0;
}
