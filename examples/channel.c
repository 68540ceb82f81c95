/*
 * A queue between two threads, as a channel: how much went through it, how full it was, and how long each side
 * waited for the other. The section `channels` has a row for all queues of a label, and one for each of several.
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>

#define JOBS 1000
#define CAPACITY 16

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int jobs[CAPACITY];
    unsigned first, length;
};

static void put(struct queue *queue, int job)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == CAPACITY) {
        HOTPATH_CHANNEL_FULL("jobs", queue); /* around the wait only */
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    queue->jobs[(queue->first + queue->length++) % CAPACITY] = job;
    HOTPATH_CHANNEL_SENT("jobs", queue, 1, sizeof job, queue->length);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static int take(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->length == 0) {
        HOTPATH_CHANNEL_EMPTY("jobs", queue);
        pthread_cond_wait(&queue->changed, &queue->lock);
    }
    const int job = queue->jobs[queue->first];
    queue->first = (queue->first + 1) % CAPACITY;
    queue->length--;
    HOTPATH_CHANNEL_RECEIVED("jobs", queue, 1, sizeof job, queue->length);
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return job;
}

static void *produce(void *context)
{
    HOTPATH_MEASURE();
    for (int job = 0; job < JOBS; job++)
        put(context, job);
    return NULL;
}

int main(void)
{
    HOTPATH_MAIN();
    struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    pthread_t producer;
    long sum = 0;
    if (pthread_create(&producer, NULL, produce, &queue) != 0)
        return 1;
    for (int at = 0; at < JOBS; at++)
        sum += take(&queue);
    pthread_join(producer, NULL);
    HOTPATH_CHANNEL_END("jobs", &queue);
    printf("%ld\n", sum);
    return 0;
}
