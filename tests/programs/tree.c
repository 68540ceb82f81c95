/*
 * A call tree of known counts: main -> a -> c (2 per a), main -> b -> c (5 per b); c under a and c under b are two
 * nodes of one row. A worker thread calls a() from its own root. Busy-waits, so that times can be compared within
 * the run.
 */
#include "support.h"

#include <pthread.h>

static void c(void)
{
    HOTPATH_MEASURE();
    spin_us(300);
}

static void a(void)
{
    HOTPATH_MEASURE();
    spin_us(200);
    c();
    c();
}

static void b(void)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 5; i++)
        c();
}

static void *worker(void *unused)
{
    for (int i = 0; i < 6; i++)
        a();
    return unused;
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, worker, NULL) == 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 4; i++)
        a();
    for (int i = 0; i < 3; i++)
        b();
    return 0;
}
