/*
 * Channels on threads and in forked children, with known numbers.
 *
 *   channels threads    2 senders and 2 receivers, a queue with a lock
 *   channels forks      a pipe from the program to its child
 *   channels killed     ends by SIGKILL with items inside
 *   channels slow       a producer that fills what has room for 3, a consumer that works while that waits; says
 *                       what it saw by its own clock
 *   channels slow_fork  the same over a pipe to a child, which has room for all
 *   channels crowd      200 items with an id are inside at once, more than delays are measured of; another channel
 *                       has a single one
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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

/* ---------------------------------------------------------------------------------------- a slow consumer */

#define SLOW_ITEMS 60
#define SLOW_ROOM 3
#define PACE_NS 1000000
#define WORK_NS 5000000

struct stamped {
    uint64_t number, before_ns, sent_ns; /* before and after it was reported */
};

static struct slow {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct stamped items[SLOW_ROOM];
    unsigned first, length, sent;
    bool is_blocked;
    uint64_t blocked_ns, least_ns, most_ns; /* that items were inside, at least and at most */
} slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void pause_ns(long ns) { nanosleep(&(struct timespec){.tv_nsec = ns}, NULL); }

static void put_slow(uint64_t number)
{
    pthread_mutex_lock(&slow.lock);
    while (slow.length == SLOW_ROOM) {
        HOTPATH_CHANNEL_FULL("slow", &slow);
        const uint64_t since = clock_ns();
        slow.is_blocked = true;
        pthread_cond_broadcast(&slow.changed);
        pthread_cond_wait(&slow.changed, &slow.lock);
        slow.is_blocked = false;
        slow.blocked_ns += clock_ns() - since;
    }
    slow.sent++;
    const uint64_t before = clock_ns();
    HOTPATH_CHANNEL_SENT("slow", &slow, 1, 0, slow.length + 1, number);
    slow.items[(slow.first + slow.length++) % SLOW_ROOM] = (struct stamped){number, before, clock_ns()};
    pthread_cond_broadcast(&slow.changed);
    pthread_mutex_unlock(&slow.lock);
}

static void take_slow(void)
{
    pthread_mutex_lock(&slow.lock);
    while (slow.length == 0) {
        HOTPATH_CHANNEL_EMPTY("slow", &slow);
        pthread_cond_wait(&slow.changed, &slow.lock);
    }
    const struct stamped item = slow.items[slow.first];
    slow.first = (slow.first + 1) % SLOW_ROOM;
    slow.length--;
    slow.least_ns += clock_ns() - item.sent_ns;
    HOTPATH_CHANNEL_RECEIVED("slow", &slow, 1, 0, slow.length, item.number);
    slow.most_ns += clock_ns() - item.before_ns;
    pthread_cond_broadcast(&slow.changed);
    pthread_mutex_unlock(&slow.lock);
}

static void *produce(void *context)
{
    HOTPATH_MEASURE();
    for (uint64_t at = 1; at <= SLOW_ITEMS; at++)
        put_slow(at);
    return context;
}

/* So that the producer waits for this one, however busy the machine is. */
static void until_the_producer_waits(void)
{
    pthread_mutex_lock(&slow.lock);
    while (!slow.is_blocked && slow.sent < SLOW_ITEMS)
        pthread_cond_wait(&slow.changed, &slow.lock);
    pthread_mutex_unlock(&slow.lock);
}

static void consume(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < SLOW_ITEMS; at++) {
        take_slow();
        until_the_producer_waits();
        pause_ns(WORK_NS);
    }
}

static void with_slow_consumer(void)
{
    pthread_t producer;
    HOTPATH_CHANNEL_CAPACITY("slow", &slow, SLOW_ROOM);
    pthread_create(&producer, NULL, produce, NULL);
    consume();
    pthread_join(producer, NULL);
    printf("%llu %llu %llu\n", (unsigned long long)slow.least_ns, (unsigned long long)slow.most_ns,
           (unsigned long long)slow.blocked_ns);
}

#define CROWD 200u

static void with_crowd(void)
{
    for (unsigned at = 1; at <= CROWD; at++)
        HOTPATH_CHANNEL_SENT("crowd", NULL, 1, 0, at, at);
    for (unsigned at = 1; at <= CROWD; at++)
        HOTPATH_CHANNEL_RECEIVED("crowd", NULL, 1, 0, CROWD - at, at);
    HOTPATH_CHANNEL_SENT("single", NULL, 1, 0, 1, 1);
    HOTPATH_CHANNEL_RECEIVED("single", NULL, 1, 0, 0, 1);
}

static void consume_pipe(int from)
{
    HOTPATH_MEASURE();
    struct stamped item;
    uint64_t least_ns = 0, most_ns = 0;
    while (read(from, &item, sizeof item) == (ssize_t)sizeof item) {
        least_ns += clock_ns() - item.sent_ns;
        HOTPATH_CHANNEL_RECEIVED("slow", NULL, 1, sizeof item, -1, item.number);
        most_ns += clock_ns() - item.before_ns;
        pause_ns(WORK_NS);
    }
    printf("%llu %llu 0\n", (unsigned long long)least_ns, (unsigned long long)most_ns);
    fflush(stdout);
}

static void with_slow_child(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(3);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        consume_pipe(ends[0]);
        exit(0);
    }
    close(ends[0]);
    for (uint64_t at = 1; at <= SLOW_ITEMS; at++) {
        pause_ns(PACE_NS);
        struct stamped item = {.number = at, .before_ns = clock_ns()};
        HOTPATH_CHANNEL_SENT("slow", NULL, 1, sizeof item, -1, at);
        item.sent_ns = clock_ns();
        if (write(ends[1], &item, sizeof item) != (ssize_t)sizeof item)
            exit(3);
    }
    close(ends[1]);
    waitpid(child, NULL, 0);
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
    else if (strcmp(what, "slow") == 0)
        with_slow_consumer();
    else if (strcmp(what, "slow_fork") == 0)
        with_slow_child();
    else if (strcmp(what, "crowd") == 0)
        with_crowd();
    else
        return 2;
    return 0;
}
