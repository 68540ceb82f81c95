/*
 * Publishes its own progress in a shared file (argv[1]): per thread the number of calls begun and ended, written
 * directly
 * before and after the zone. Whatever kills it, the session must say the same, give or take the call in flight.
 *     killed FILE [how to end]   run|abort|_exit|segv
 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 3

struct progress {
    uint64_t begun, ended;
    char pad[112];
};

static struct progress *progress;

static void step_0(void) { HOTPATH_MEASURE(); }

static void step_1(void)
{
    HOTPATH_MEASURE();
    HOTPATH_BLOCK("nested");
}

static void step_2(void)
{
    HOTPATH_MEASURE();
    for (volatile int i = 0; i < 200; i++)
        ;
}

static void *run(void *at)
{
    static void (*const steps[])(void) = {step_0, step_1, step_2};
    const size_t n = (size_t)(uintptr_t)at;
    struct progress *mine = &progress[n];
    for (;;) {
        __atomic_store_n(&mine->begun, mine->begun + 1, __ATOMIC_SEQ_CST);
        steps[n]();
        __atomic_store_n(&mine->ended, mine->ended + 1, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    MUST(argc > 1);
    const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(progress != MAP_FAILED);
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, run, (void *)i) == 0);
    }
    if (argc > 2 && strcmp(argv[2], "run") != 0) {
        sleep_us(20000);
        HOTPATH_BLOCK("last");
        if (strcmp(argv[2], "abort") == 0)
            abort();
        if (strcmp(argv[2], "_exit") == 0)
            _exit(33);
        static volatile uintptr_t nowhere = 8;
        *(volatile int *)nowhere = 1;
    }
    for (;;)
        pause();
}
