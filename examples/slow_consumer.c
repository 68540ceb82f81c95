/*
 * A producer that is kept waiting: its queue has room for four, and whoever takes from it is too slow. The section
 * `channels` says so (Full %, Avg Delay), and with HOTPATH_CPU=1 the first line of the report names the consumer.
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define PICTURES 50
#define ROOM 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queue[ROOM];
static unsigned first, length;

static void put(int picture)
{
    pthread_mutex_lock(&lock);
    while (length == ROOM) {
        HOTPATH_CHANNEL_FULL("pictures", queue);
        pthread_cond_wait(&changed, &lock);
    }
    HOTPATH_CHANNEL_SENT("pictures", queue, 1, sizeof picture, length + 1, picture); /* its number is its id */
    HOTPATH_CHANNEL_TEXT("pictures", queue, "picture %d", picture);                  /* with HOTPATH_LOG=pictures */
    queue[(first + length++) % ROOM] = picture;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static int take(void)
{
    pthread_mutex_lock(&lock);
    while (length == 0) {
        HOTPATH_CHANNEL_EMPTY("pictures", queue);
        pthread_cond_wait(&changed, &lock);
    }
    const int picture = queue[first];
    first = (first + 1) % ROOM;
    const unsigned left = --length;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    HOTPATH_CHANNEL_RECEIVED("pictures", queue, 1, sizeof picture, left, picture); /* the lock is not held for it */
    return picture;
}

static void *load(void *context)
{
    HOTPATH_MEASURE();
    for (int picture = 1; picture <= PICTURES; picture++)
        put(picture);
    return context;
}

static void encode(int picture)
{
    HOTPATH_MEASURE();
    nanosleep(&(struct timespec){.tv_nsec = 1000000 + picture}, NULL);
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t loader;
    int sum = 0;
    HOTPATH_CHANNEL_CAPACITY("pictures", queue, ROOM);
    if (pthread_create(&loader, NULL, load, NULL) != 0)
        return 1;
    for (int at = 0; at < PICTURES; at++) {
        HOTPATH_BLOCK("write pictures");
        const int picture = take();
        encode(picture);
        sum += picture;
    }
    pthread_join(loader, NULL);
    HOTPATH_CHANNEL_END("pictures", queue);
    printf("%d\n", sum);
    return 0;
}
