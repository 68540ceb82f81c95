/*
 * A server with a few threads that runs until a line of input arrives: three of them wait for one lock, get orders
 * from a queue, compute, allocate and do a slow lookup. Prints the number of orders. With "crash" as argument
 * it ends by a signal instead. SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "busy.h"

enum { WORKERS = 3, ROOM = 8 };

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
    bool is_over;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

static void push(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&queue.lock);
    while (queue.count == ROOM) {
        HOTPATH_CHANNEL_FULL("jobs", &queue);
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    queue.count++;
    HOTPATH_CHANNEL_SENT("jobs", &queue, 1, 8, queue.count);
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static bool pop(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&queue.lock);
    while (queue.count == 0 && !queue.is_over) {
        HOTPATH_CHANNEL_EMPTY("jobs", &queue);
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    const bool has_one = queue.count > 0;
    if (has_one) {
        queue.count--;
        HOTPATH_CHANNEL_RECEIVED("jobs", &queue, 1, 8, queue.count);
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return has_one;
}

static void reserve_stock(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&stock);
    usleep(2000);
    pthread_mutex_unlock(&stock);
}

static void render(void)
{
    HOTPATH_MEASURE();
    char *volatile page = malloc(10000);
    const uint64_t end = thread_ns() + 500000u;
    if (page != NULL)
        memset(page, 1, 10000);
    while (thread_ns() < end)
        ;
    free(page);
}

static void db_lookup(void)
{
    HOTPATH_MEASURE();
    usleep(500);
}

static void handle(void)
{
    HOTPATH_MEASURE(.log = 1);
    db_lookup();
    reserve_stock();
    render();
}

static void *work(void *unused)
{
    pthread_setname_np(pthread_self(), "worker");
    while (pop())
        handle();
    return unused;
}

static bool has_line(void)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    pthread_t workers[WORKERS];
    long orders = 0;
    for (unsigned at = 0; at < WORKERS; at++)
        pthread_create(&workers[at], NULL, work, NULL);
    for (; !has_line(); orders++)
        push();
    if (argc > 1 && strcmp(argv[1], "crash") == 0)
        raise(SIGKILL);
    pthread_mutex_lock(&queue.lock);
    queue.is_over = true;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    for (unsigned at = 0; at < WORKERS; at++)
        pthread_join(workers[at], NULL);
    say("orders", orders);
    return 0;
}
