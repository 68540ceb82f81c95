/* Zones that are open when the report is made: a thread that never ends, and exit() from deep inside. */
#include "support.h"

#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *forever(void *unused)
{
    HOTPATH_MEASURE();
    pthread_barrier_wait(&barrier);
    for (;;)
        pause();
    return unused;
}

static void leaves(void)
{
    HOTPATH_MEASURE();
    spin_us(30000);
    exit(3);
}

int main(void)
{
    HOTPATH_MAIN();
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    MUST(pthread_create(&thread, NULL, forever, NULL) == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 2; i++) {
        HOTPATH_BLOCK("closed");
    }
    leaves();
}
