/*
 * Two threads look things up in a table, and a third rebuilds it now and then with the same lock held. The lock is
 * free most of the time, but when it is not, it is held for long: `hotpath run --locks` says that find_item waits
 * for rebuild, at the lock "table".
 *
 *     hotpath run --locks --section locks,blocked-by build/release/examples/lock_contention
 */
#include <hotpath.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static int table[100], found, rebuilt;

static void pause_ms(long ms)
{
    const struct timespec pause = {0, ms * 1000 * 1000};
    nanosleep(&pause, NULL);
}

static void find_item(int key)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&table_lock);
    found += table[key % 100] >= 0;
    pthread_mutex_unlock(&table_lock);
}

/* Should make the new table first, and take the lock only to exchange the two. */
static void rebuild(void)
{
    HOTPATH_MEASURE();
    pthread_mutex_lock(&table_lock);
    for (int at = 0; at < 100; at++)
        table[at]++;
    pause_ms(20); /* stands for reading a file */
    rebuilt++;
    pthread_mutex_unlock(&table_lock);
}

static void *reader(void *unused)
{
    for (int at = 0; at < 100; at++) {
        find_item(at);
        pause_ms(1);
    }
    return unused;
}

static void *keeper(void *unused)
{
    for (int at = 0; at < 5; at++) {
        rebuild();
        pause_ms(5);
    }
    return unused;
}

int main(void)
{
    HOTPATH_MAIN(.cpu = 1);
    HOTPATH_LOCK_NAME(&table_lock, "table"); /* else it is table_lock, if the program has symbols */
    pthread_t threads[3];
    for (int at = 0; at < 3; at++)
        if (pthread_create(&threads[at], NULL, at < 2 ? reader : keeper, NULL) != 0)
            return 1;
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], NULL);
    printf("%d items found, %d times rebuilt\n", found, rebuilt);
    return 0;
}
