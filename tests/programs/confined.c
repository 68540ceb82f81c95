/*
 * A program that restricts itself after its session has started, and then has 32 threads at once, so that the
 * session must grow.
 *     as MB MB       an address space limit in megabytes, and a block of this size
 *     mlock          unprivileged, with all current and future memory locked
 *     fsize N        no file longer than N bytes
 *     nofile         no descriptor beyond the standard ones
 *     setuid         another user, who cannot open the session
 *     chroot         a root without the session in it
 *     sigpending     no queued signals
 */
#include "support.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS 32

static pthread_barrier_t line;

static void one(void) { HOTPATH_MEASURE(); }

static void *use_threads(void *unused)
{
    HOTPATH_MEASURE();
    pthread_barrier_wait(&line);
    for (int i = 0; i < 100; i++)
        one();
    pthread_barrier_wait(&line);
    return unused;
}

/* As a macro: the C libraries disagree on the type of `what`. */
#define limit(what, most) MUST(setrlimit(what, &(const struct rlimit){most, most}) == 0)

static const char *answer(int is_granted) { return is_granted ? "granted" : "refused"; }

static void confine(int argc, char **argv)
{
    const unsigned long size = number(argc, argv, 2, 0);
    if (is_case(argc, argv, "as")) {
        limit(RLIMIT_AS, (rlim_t)size << 20);
        void *block = malloc(number(argc, argv, 3, 0) << 20);
        printf("block %s\n", answer(block != NULL));
        free(block);
    }
    if (is_case(argc, argv, "mlock")) {
        MUST(setuid(65534) == 0);
        limit(RLIMIT_MEMLOCK, 8 << 20);
        printf("present %s\n", answer(mlockall(MCL_CURRENT) == 0));
        printf("future %s\n", answer(mlockall(MCL_FUTURE) == 0));
        void *block = malloc(1 << 20);
        printf("block %s\n", answer(block != NULL));
        free(block);
        munlockall();
    }
    if (is_case(argc, argv, "fsize"))
        limit(RLIMIT_FSIZE, size);
    if (is_case(argc, argv, "nofile"))
        limit(RLIMIT_NOFILE, 3);
    if (is_case(argc, argv, "setuid"))
        MUST(setgid(65534) == 0 && setuid(65534) == 0);
    if (is_case(argc, argv, "chroot"))
        MUST(chroot("/proc") == 0 && chdir("/") == 0);
    if (is_case(argc, argv, "sigpending"))
        limit(RLIMIT_SIGPENDING, 0);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pthread_attr_t small;
    HOTPATH_MAIN();
    one();
    confine(argc, argv);
    pthread_barrier_init(&line, NULL, THREADS);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], &small, use_threads, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    one();
    printf("done\n");
    return 0;
}
