/*
 * Locks that the program names, or makes itself and tells of: prints how often each name was locked and waited for,
 * and for how long by the program's own clock.
 */
#define _GNU_SOURCE 1
#include <hotpath.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void use(pthread_mutex_t *mutex, int times)
{
    for (int at = 0; at < times; at++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

/* ---------------------------------------------------------------------------------------------------- own locks */

static int own, gave_up;
static char bytes[4]; /* a lock each, side by side */
static double waited_ms;
static int is_waiting;

static NOINLINE void hold_own(void)
{
    __atomic_store_n(&own, 1, __ATOMIC_SEQ_CST);
    HOTPATH_LOCK_TAKEN(&own);
    while (!__atomic_load_n(&is_waiting, __ATOMIC_SEQ_CST))
        usleep(100);
    usleep(20000);
    HOTPATH_LOCK_RELEASED(&own);
    __atomic_store_n(&own, 0, __ATOMIC_SEQ_CST);
    __asm__ volatile("");
}

static NOINLINE void *wait_own(void *unused)
{
    while (__atomic_load_n(&own, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    waited_ms -= now_ms();
    HOTPATH_LOCK_WAIT(&own, "own");
    __atomic_store_n(&is_waiting, 1, __ATOMIC_SEQ_CST);
    int free = 0;
    while (!__atomic_compare_exchange_n(&own, &free, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        free = 0;
        usleep(50);
    }
    HOTPATH_LOCK_TAKEN(&own);
    waited_ms += now_ms();
    HOTPATH_LOCK_RELEASED(&own);
    __atomic_store_n(&own, 0, __ATOMIC_SEQ_CST);
    return unused;
}

static void make_own(void)
{
    pthread_t thread;
    HOTPATH_LOCK_NAME(&own, "own");
    pthread_create(&thread, NULL, wait_own, NULL);
    hold_own();
    pthread_join(thread, NULL);
    printf("own 2 1 %.6f\n", waited_ms);
    for (int at = 0; at < 4; at++) {
        HOTPATH_LOCK_NAME(&bytes[at], "byte");
        HOTPATH_LOCK_TAKEN(&bytes[at]);
    }
    for (int at = 0; at < 4; at++)
        HOTPATH_LOCK_RELEASED(&bytes[at]);
    printf("byte 4 0 0\n");
    HOTPATH_LOCK_WAIT(&gave_up, "gave_up");
    HOTPATH_LOCK_RELEASED(&gave_up);
}

/* -------------------------------------------------------------------------------------------------------- names */

static pthread_mutex_t jobs[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t late = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static sem_t tickets;

static void name_others(void)
{
    for (int at = 0; at < 3; at++) {
        HOTPATH_LOCK_NAME(&jobs[at], "jobs");
        use(&jobs[at], 10);
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        use(&jobs[1], 7);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    printf("jobs 37 0 0\n");
    use(&late, 5); /* named late: what was counted goes with it */
    HOTPATH_LOCK_NAME(&late, "late");
    use(&late, 3);
    sem_init(&tickets, 0, 2);
    HOTPATH_LOCK_NAME(&tickets, "tickets");
    sem_wait(&tickets);
    printf("tickets 1 0 0\n");
    struct timespec limit = {.tv_sec = 1};
    HOTPATH_LOCK_NAME(&bell, "bell");
    pthread_mutex_lock(&late);
    pthread_cond_timedwait(&bell, &late, &limit);
    pthread_mutex_unlock(&late);
    printf("late 10 0 0\n"); /* waiting gives it up and takes it again */
}

/* Its memory has another lock then, which has no name. */
static void name_gone(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    if (mutex == NULL || pthread_mutex_init(mutex, NULL) != 0)
        abort();
    HOTPATH_LOCK_NAME(mutex, "gone");
    pthread_mutex_destroy(mutex);
    pthread_mutex_init(mutex, NULL);
    use(mutex, 3);
    pthread_mutex_destroy(mutex);
    free(mutex);
}

int main(void)
{
    make_own();
    name_others();
    name_gone();
    return 0;
}
