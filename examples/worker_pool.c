/*
 * Jobs for four workers, by a queue that refuses what it has no room for; results come back by another. Each is a
 * channel, and each worker a thread that receives from the one and sends to the other.
 */
#include <hotpath.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#define WORKERS 4
#define JOBS 400
#define ROOM 8

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int items[JOBS];
    unsigned first, length, room;
};
static struct queue jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .room = ROOM};
static struct queue results = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER, .room = JOBS};

/* False: it is full. */
static bool put(struct queue *queue, int item)
{
    pthread_mutex_lock(&queue->lock);
    const bool has_room = queue->length < queue->room;
    if (has_room) {
        HOTPATH_CHANNEL_SENT("pool", queue, 1, sizeof item, queue->length + 1);
        queue->items[(queue->first + queue->length++) % queue->room] = item;
        pthread_cond_signal(&queue->filled);
    }
    pthread_mutex_unlock(&queue->lock);
    if (!has_room)
        HOTPATH_CHANNEL_REFUSED("pool", queue, 1);
    return has_room;
}

static int take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0) {
        HOTPATH_CHANNEL_EMPTY("pool", queue);
        pthread_cond_wait(&queue->filled, &queue->lock);
    }
    const int item = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->room;
    queue->length--;
    HOTPATH_CHANNEL_RECEIVED("pool", queue, 1, sizeof item, queue->length);
    pthread_mutex_unlock(&queue->lock);
    return item;
}

static int square(int number)
{
    HOTPATH_MEASURE();
    return number * number;
}

static void *work(void *context)
{
    for (int number = take(&jobs); number != 0; number = take(&jobs))
        put(&results, square(number));
    return context;
}

static void hand_out(int number)
{
    while (!put(&jobs, number))
        sched_yield();
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t workers[WORKERS];
    long sum = 0;
    for (int at = 0; at < WORKERS; at++)
        if (pthread_create(&workers[at], NULL, work, NULL) != 0)
            return 1;
    for (int number = 1; number <= JOBS; number++)
        hand_out(number);
    for (int at = 0; at < WORKERS; at++)
        hand_out(0); /* the end */
    for (int at = 0; at < WORKERS; at++)
        pthread_join(workers[at], NULL);
    for (int at = 0; at < JOBS; at++)
        sum += take(&results);
    HOTPATH_CHANNEL_END("pool", &jobs);
    HOTPATH_CHANNEL_END("pool", &results);
    printf("%ld\n", sum);
    return 0;
}
