/*
 * A convoy: four threads append to a journal, each with the lock held until its record is on the disk. So they go
 * one behind the other, and each waits for the three in front of it. `hotpath run --locks` shows the queue: three
 * threads at once wait in append for append, at the lock journal_lock.
 *
 *     hotpath run --locks --section locks,blocked-by build/release/examples/convoy
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define WRITERS 4
#define RECORDS 10

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int written;

/* Should write for all that wait at once, by one of them. */
static void append(void)
{
    HOTPATH_MEASURE();
    const struct timespec pause = {0, 3 * 1000 * 1000}; /* stands for fdatasync */
    pthread_mutex_lock(&journal_lock);
    nanosleep(&pause, NULL);
    written++;
    pthread_mutex_unlock(&journal_lock);
}

static void *writer(void *unused)
{
    for (int at = 0; at < RECORDS; at++)
        append();
    return unused;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    pthread_t threads[WRITERS];
    for (int at = 0; at < WRITERS; at++)
        if (pthread_create(&threads[at], NULL, writer, NULL) != 0)
            return 1;
    for (int at = 0; at < WRITERS; at++)
        pthread_join(threads[at], NULL);
    printf("%d records\n", written);
    return 0;
}
