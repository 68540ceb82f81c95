/*
 * Threads that end in every way with open zones: main by pthread_exit, detached ones never, others by
 * cancellation (deferred and asynchronous), and zones in the destructors that run as a thread ends.
 */
#include "support.h"

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

static pthread_key_t key;
static pthread_barrier_t barrier;

static void work(void) { HOTPATH_MEASURE(); }

static void *slow_worker(void *unused)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 50; i++) {
        work();
        sleep_us(500);
    }
    printf("worker done\n");
    return unused;
}

static void main_leaves(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&thread, NULL, slow_worker, NULL) == 0);
    pthread_exit(NULL);
}

static void *endless(void *unused)
{
    HOTPATH_MEASURE();
    work(); /* however busy the machine is: once, before the process can end */
    pthread_barrier_wait(&barrier);
    for (;;)
        work();
    return unused;
}

/* They run on, deep in zones, while the process ends and the report is made. */
static void detached(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 5);
    for (int i = 0; i < 4; i++) {
        MUST(pthread_create(&thread, NULL, endless, NULL) == 0);
        pthread_detach(thread);
    }
    pthread_barrier_wait(&barrier);
    sleep_us(3000);
}

static void *waits(void *unused)
{
    HOTPATH_MEASURE();
    {
        HOTPATH_BLOCK("waiting");
        for (;;) {
            work();
            sleep_us(1000); /* a cancellation point */
        }
    }
    return unused;
}

static void *burns(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    HOTPATH_MEASURE();
    for (;;)
        work();
    return unused;
}

static void cancel(void *(*body)(void *), int rounds)
{
    int cancelled = 0;
    for (int i = 0; i < rounds; i++) {
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, body, NULL) == 0);
        sleep_us((uint64_t)(i % 7) * 300);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
        work();
    }
    printf("cancelled %d\n", cancelled);
}

static void on_thread_end(void *value)
{
    HOTPATH_MEASURE();
    work();
    const uintptr_t rounds = (uintptr_t)value;
    if (rounds > 1)
        pthread_setspecific(key, (void *)(rounds - 1));
}

static void *with_destructor(void *unused)
{
    pthread_setspecific(key, (void *)2);
    work();
    return unused;
}

static void *only_destructor(void *unused)
{
    pthread_setspecific(key, (void *)2);
    return unused;
}

static void destructors(void)
{
    pthread_t thread;
    pthread_key_create(&key, on_thread_end);
    for (int i = 0; i < 100; i++) {
        MUST(pthread_create(&thread, NULL, i % 2 ? with_destructor : only_destructor, NULL) == 0);
        pthread_join(thread, NULL);
    }
    printf("joined\n");
}

/* The first zone of a thread in the last round of destructors there is: nothing of ours runs after it. */
static void on_very_end(void *value)
{
    const uintptr_t rounds = (uintptr_t)value;
    if (rounds > 1) {
        pthread_setspecific(key, (void *)(rounds - 1));
        return;
    }
    HOTPATH_MEASURE();
    work();
}

static void *ends_late(void *unused)
{
    pthread_setspecific(key, (void *)PTHREAD_DESTRUCTOR_ITERATIONS);
    return unused;
}

static void late(void)
{
    pthread_t thread;
    pthread_key_create(&key, on_very_end);
    for (int i = 0; i < 1000; i++) {
        MUST(pthread_create(&thread, NULL, ends_late, NULL) == 0);
        pthread_join(thread, NULL);
    }
    printf("joined\n");
}

/* A thread that has said farewell, and comes once more in the last round there is. */
static void *ends_later_still(void *unused)
{
    work();
    return ends_late(unused);
}

static void after_the_end(void)
{
    pthread_t thread;
    pthread_key_create(&key, on_very_end);
    for (int i = 0; i < 20; i++) {
        MUST(pthread_create(&thread, NULL, ends_later_still, NULL) == 0);
        pthread_join(thread, NULL);
    }
    printf("joined\n");
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    if (is_case(argc, argv, "main"))
        main_leaves();
    else if (is_case(argc, argv, "detached"))
        detached();
    else if (is_case(argc, argv, "deferred"))
        cancel(waits, 50);
    else if (is_case(argc, argv, "asynchronous"))
        cancel(burns, 50);
    else if (is_case(argc, argv, "late"))
        late();
    else if (is_case(argc, argv, "after"))
        after_the_end();
    else
        destructors();
    printf("end\n");
    return 3;
}
