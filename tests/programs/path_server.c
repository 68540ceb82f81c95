/*
 * A server: main waits for requests, which are bytes on standard input, hands each one to a worker, waits for its
 * answer, and writes it. Requests come when the test sends them, so that most of the time there are none. The
 * worker computes for 6 ms; of these look_up, under a lock, takes 5. At the end it writes how long it waited for
 * requests, without the time in which it was ready to run, and how long the worker was ready around its waiting.
 */
#define _GNU_SOURCE 1
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hotpath.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t request_came = PTHREAD_COND_INITIALIZER, answer_came = PTHREAD_COND_INITIALIZER;
static int requests, answers;
static bool is_closing;
static int64_t waited_ns, worker_ready_ns;

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How long this thread was ready to run but did not. */
static int64_t ready_ns(void)
{
    long long ready = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL || fscanf(file, "%*s %lld", &ready) != 1)
        abort();
    fclose(file);
    return ready;
}

/* The time that has passed, without that. */
static int64_t now_ns(void)
{
    struct timespec now;
    const int64_t ready = ready_ns();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - ready;
}

static void work(int ms)
{
    const int64_t end = cpu_ns() + ms * INT64_C(1000000);
    while (cpu_ns() < end)
        ;
}

static void look_up(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&index_lock);
    work(5);
    pthread_mutex_unlock(&index_lock);
}

static void answer(void)
{
    HOTPATH_MEASURE();
    look_up();
    work(1);
}

/* Main may go on before the worker sleeps: then the worker is ready for a while, and the server is not idle. */
static void wait_for_work(void)
{
    const int64_t before = ready_ns();
    pthread_cond_wait(&request_came, &mutex);
    worker_ready_ns += ready_ns() - before;
}

static void *run_worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (requests == answers && !is_closing)
            wait_for_work();
        if (requests == answers)
            break;
        pthread_mutex_unlock(&mutex);
        answer();
        pthread_mutex_lock(&mutex);
        answers++;
        pthread_cond_signal(&answer_came);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void hand_over(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&mutex);
    requests++;
    pthread_cond_signal(&request_came);
    while (answers < requests)
        pthread_cond_wait(&answer_came, &mutex);
    pthread_mutex_unlock(&mutex);
}

static bool wait_for_request(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    const int64_t begin = now_ns();
    const bool has_come = poll(&input, 1, -1) == 1;
    waited_ns += now_ns() - begin;
    return has_come;
}

static void serve(void)
{
    HOTPATH_MEASURE();
    char request;
    while (wait_for_request() && read(0, &request, 1) == 1) {
        hand_over();
        if (write(1, &request, 1) != 1)
            abort();
    }
}

int main(void)
{
    pthread_t worker;
    HOTPATH_MAIN();
    if (pthread_create(&worker, NULL, run_worker, NULL) != 0)
        abort();
    pthread_setname_np(worker, "answerer");
    serve();
    pthread_mutex_lock(&mutex);
    is_closing = true;
    pthread_cond_signal(&request_came);
    pthread_mutex_unlock(&mutex);
    pthread_join(worker, NULL);
    printf("%lld %lld\n", (long long)waited_ns, (long long)worker_ready_ns);
    return 0;
}
