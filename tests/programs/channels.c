/*
 * Channels on threads and in forked children, whose numbers a test knows.
 *
 *   channels threads    2 senders and 2 receivers, a queue with a lock
 *   channels forks      a pipe from the program to its child
 *   channels killed     ends by SIGKILL with items inside
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS 2000 /* of each sender */
#define CAPACITY 8

static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int items[CAPACITY];
    unsigned first, length, blocked;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void send_item(int item)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.length == CAPACITY) {
        HOTPATH_CHANNEL_FULL("jobs", &queue);
        queue.blocked++;
        pthread_cond_broadcast(&queue.changed);
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    queue.items[(queue.first + queue.length++) % CAPACITY] = item;
    HOTPATH_CHANNEL_SENT("jobs", &queue, 1, sizeof item, queue.length);
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static int receive_item(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.length == 0) {
        HOTPATH_CHANNEL_EMPTY("jobs", &queue);
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    const int item = queue.items[queue.first];
    queue.first = (queue.first + 1) % CAPACITY;
    queue.length--;
    HOTPATH_CHANNEL_RECEIVED("jobs", &queue, 1, sizeof item, queue.length);
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return item;
}

static void *send_all(void *context)
{
    for (int at = 0; at < ITEMS; at++)
        send_item(at);
    return context;
}

static void *receive_all(void *context)
{
    for (int at = 0; at < ITEMS; at++)
        receive_item();
    return context;
}

static void until_somebody_is_blocked(void)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.blocked == 0)
        pthread_cond_wait(&queue.changed, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
}

/* The receivers come when a sender waits for them. */
static void on_threads(void)
{
    pthread_t threads[4];
    for (int at = 0; at < CAPACITY; at++)
        send_item(at);
    for (int at = 0; at < 4; at++) {
        if (at == 2)
            until_somebody_is_blocked();
        pthread_create(&threads[at], NULL, at < 2 ? send_all : receive_all, NULL);
    }
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    for (int at = 0; at < CAPACITY; at++)
        receive_item();
    HOTPATH_CHANNEL_END("jobs", &queue);
}

static void with_child(void)
{
    int ends[2];
    char bytes[10];
    if (pipe(ends) != 0)
        exit(3);
    HOTPATH_CHANNEL_SENT("pipe", NULL, 1, 0, -1);
    HOTPATH_CHANNEL_RECEIVED("pipe", NULL, 1, 0, -1);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        while (read(ends[0], bytes, sizeof bytes) == (ssize_t)sizeof bytes)
            HOTPATH_CHANNEL_RECEIVED("pipe", NULL, 1, sizeof bytes, -1);
        exit(0);
    }
    memset(bytes, 0, sizeof bytes);
    for (int at = 0; at < 100; at++) {
        HOTPATH_CHANNEL_SENT("pipe", NULL, 1, sizeof bytes, -1);
        if (write(ends[1], bytes, sizeof bytes) != (ssize_t)sizeof bytes)
            exit(3);
    }
    close(ends[1]);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

static void until_killed(void)
{
    char other;
    HOTPATH_CHANNEL_SENT("left", &queue, 7, 70, 7);
    HOTPATH_CHANNEL_RECEIVED("left", &queue, 2, 20, 5);
    HOTPATH_CHANNEL_SENT("left", &other, 1, 10, 1);
    HOTPATH_CHANNEL_END("left", &other);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *what = argc > 1 ? argv[1] : "threads";
    if (strcmp(what, "threads") == 0)
        on_threads();
    else if (strcmp(what, "forks") == 0)
        with_child();
    else if (strcmp(what, "killed") == 0)
        until_killed();
    else
        return 2;
    return 0;
}
