/*
 * A program without hotpath, whose functions wait for different things.
 *     waiters all MS      a thread each in on_pipe, on_mutex and on_condition, while main is in on_sleep for so
 *                         long
 *     waiters mutex MS    one in on_mutex for so long, whose end main waits for
 *     waiters poll MS     in on_poll for so long
 *     waiters input       in on_input, until its standard input ends
 *     waiters idle MS     in answer for so much CPU time, then in on_poll for 50 ms, and so on without end
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "computing.h"

#define NOT_LAST() __asm__ volatile("") /* so that nothing is called last, which would leave no frame */

static int ends[2];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static int is_over; /* guarded */
static uint64_t wait_ms;

static APART void on_pipe(void)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        exit(1);
    NOT_LAST();
}

static APART void on_mutex(void)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    NOT_LAST();
}

static APART void on_mutex_for(uint64_t ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (pthread_mutex_timedlock(&held, &until) != ETIMEDOUT)
        exit(1);
    NOT_LAST();
}

static APART void on_condition(void)
{
    pthread_mutex_lock(&guard);
    while (!is_over)
        pthread_cond_wait(&news, &guard);
    pthread_mutex_unlock(&guard);
    NOT_LAST();
}

static APART void on_sleep(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
    NOT_LAST();
}

static APART void on_poll(uint64_t ms)
{
    poll(NULL, 0, (int)ms);
    NOT_LAST();
}

static APART void on_input(void)
{
    char bytes[64];
    while (read(STDIN_FILENO, bytes, sizeof bytes) > 0)
        ;
    NOT_LAST();
}

static APART void answer(uint64_t ms)
{
    const uint64_t until = used_ns() + ms * 1000000u;
    while (used_ns() < until)
        compute(20000);
    NOT_LAST();
}

static void *in_thread(void *wait)
{
    ((void (*)(void))(uintptr_t)wait)();
    NOT_LAST();
    return NULL;
}

static APART void on_mutex_for_a_while(void)
{
    on_mutex_for(wait_ms);
    NOT_LAST();
}

static pthread_t start(void (*wait)(void))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)wait) != 0)
        exit(1);
    return thread;
}

static void wait_for_all(void)
{
    if (pipe(ends) != 0)
        exit(1);
    pthread_mutex_lock(&held);
    const pthread_t threads[] = {start(on_pipe), start(on_mutex), start(on_condition)};
    on_sleep(wait_ms);
    if (write(ends[1], "x", 1) != 1)
        exit(1);
    pthread_mutex_unlock(&held);
    pthread_mutex_lock(&guard);
    is_over = 1;
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&guard);
    for (size_t at = 0; at < sizeof threads / sizeof threads[0]; at++)
        pthread_join(threads[at], NULL);
}

static void be_idle(void)
{
    for (;;) {
        answer(wait_ms);
        on_poll(50);
    }
}

static void wait_for_mutex(void)
{
    pthread_mutex_lock(&held);
    pthread_join(start(on_mutex_for_a_while), NULL);
    pthread_mutex_unlock(&held);
}

int main(int argc, char **argv)
{
    wait_ms = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "all") == 0)
        wait_for_all();
    else if (strcmp(what, "mutex") == 0)
        wait_for_mutex();
    else if (strcmp(what, "poll") == 0)
        on_poll(wait_ms);
    else if (strcmp(what, "input") == 0)
        on_input();
    else if (strcmp(what, "idle") == 0)
        be_idle();
    else
        return 2;
    return 0;
}
