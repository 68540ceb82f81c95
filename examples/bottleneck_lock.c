/*
 * A bottleneck between threads: four of them would work side by side, but all do it with the same lock held. Most
 * of their time goes into take_turn, which waits for the lock. The verdict is `waiting`, for a lock held in
 * write_record. How long they wait for one another is the same on any number of processors: what is done with the
 * lock held is a pause here.
 *
 *     hotpath run -- build/release/examples/bottleneck_lock
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int written;

static void take_turn(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&lock);
}

/* Stands for what should not be done with a lock held: writing to a slow device, say. */
static void write_record(void)
{
    HOTPATH_MEASURE();
    const struct timespec pause = {0, 10 * 1000 * 1000};
    nanosleep(&pause, NULL);
    written++;
}

static void *writer(void *unused)
{
    for (int i = 0; i < 15; i++) {
        take_turn();
        write_record();
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, writer, NULL) != 0)
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d records\n", written);
    return 0;
}
