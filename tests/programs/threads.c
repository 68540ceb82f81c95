/*
 * Many threads, one after the other ("short N") or all at once ("crowd N"): each calls work() five times. Nothing
 * may be lost, and the session must not grow with the number of threads that ever lived. Prints the size of the
 * session.
 */
#include "support.h"

#include <pthread.h>
#include <sys/stat.h>

static pthread_barrier_t barrier;

static void work(void) { HOTPATH_MEASURE(); }

static void *five(void *meets_other)
{
    work();
    if (meets_other != NULL)
        pthread_barrier_wait(&barrier);
    for (int i = 0; i < 4; i++)
        work();
    return NULL;
}

static void *five_together(void *unused)
{
    HOTPATH_MEASURE_AS("crowd");
    work();
    pthread_barrier_wait(&barrier); /* all have recorded, none has ended */
    for (int i = 0; i < 4; i++)
        work();
    return unused;
}

static void tell_size(void)
{
    struct stat status;
    MUST(stat(hotpath_session_path(), &status) == 0);
    tell("bytes", (uint64_t)status.st_size);
}

/* Two at a time, so that ends and beginnings meet; the first two certainly need two contexts. */
static void short_lives(unsigned long count)
{
    pthread_t threads[2];
    MUST(pthread_barrier_init(&barrier, NULL, 2) == 0);
    for (unsigned long i = 0; i < count; i += 2) {
        for (int j = 0; j < 2; j++)
            MUST(pthread_create(&threads[j], NULL, five, i == 0 ? &barrier : NULL) == 0);
        for (int j = 0; j < 2; j++)
            pthread_join(threads[j], NULL);
    }
}

static void crowd(unsigned count)
{
    pthread_t *threads = calloc(count, sizeof *threads);
    MUST(threads != NULL && pthread_barrier_init(&barrier, NULL, count) == 0);
    for (unsigned i = 0; i < count; i++)
        MUST(pthread_create(&threads[i], NULL, five_together, NULL) == 0);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const unsigned long count = number(argc, argv, 2, 100);
    if (is_case(argc, argv, "short"))
        short_lives(count);
    else
        crowd((unsigned)count);
    tell_size();
    return 0;
}
