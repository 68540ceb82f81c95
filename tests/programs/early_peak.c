/*
 * The heap peaks before there is a second thread: 64 MB, all freed when it starts.
 *     early_peak          the first thread goes on afterwards
 *     early_peak silent   it ends at once, without another call of malloc or free
 */
#include "busy.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 64
#define BYTES (1u << 20)

static void *blocks[BLOCKS];

static void hoard(void)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < BLOCKS; at++)
        MUST((blocks[at] = malloc(BYTES)) != NULL);
    for (int at = 0; at < BLOCKS; at++)
        free(blocks[at]);
}

static void *take_little(void *unused)
{
    void *block = malloc(100000);
    MUST(block != NULL);
    __atomic_store_n(&blocks[0], block, __ATOMIC_RELAXED);
    free(block);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    HOTPATH_MAIN();
    hoard();
    MUST(pthread_create(&thread, NULL, take_little, NULL) == 0);
    pthread_join(thread, NULL);
    if (argc > 1 && strcmp(argv[1], "silent") == 0)
        _exit(0);
    free(malloc(10));
    return 0;
}
