/*
 * What lock_truth.c and lock_truth_cxx.cc have in common: waits that are forced, and numbers that are told. A
 * thread that is to wait is seen to sleep before the lock is given up.
 */
#ifndef LOCK_TRUTH_H
#define LOCK_TRUTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAITS 15
#define HOLD_US 20000
#define NOINLINE __attribute__((noinline))

static double waited_ms;
static int partner; /* thread id of the one that waits */

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void begin_wait(void) { waited_ms -= now_ms(); }
static void end_wait(void) { waited_ms += now_ms(); }

static bool sleeps(int thread)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/wchan", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return true;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    return strstr(text, "futex") != NULL;
}

/* Until the other thread waits, and a while longer. */
static void let_wait(void)
{
    while (__atomic_load_n(&partner, __ATOMIC_SEQ_CST) == 0 || !sleeps(partner))
        usleep(200);
    usleep(HOLD_US);
}

/*
 * Holds by the program's own clock, read inside of the lock and outside: what is true is between the two. Those who
 * hold and those who wait count for themselves.
 */
struct held {
    double least, most, longest_least, longest_most;
};
static struct held held, held_by_waiter;

static inline void note_longest(struct held *to, double least, double most)
{
    to->longest_least = least > to->longest_least ? least : to->longest_least;
    to->longest_most = most > to->longest_most ? most : to->longest_most;
}

static inline void count_held(struct held *to, double least, double most)
{
    to->least += least;
    to->most += most;
    note_longest(to, least, most);
}

static void tell(const char *name, int locked, int contended)
{
    printf("%s %d %d %.6f\n", name, locked, contended, waited_ms);
    waited_ms = 0;
}

static inline void tell_held(const char *name, int locked, int contended)
{
    held.least += held_by_waiter.least;
    held.most += held_by_waiter.most;
    note_longest(&held, held_by_waiter.longest_least, held_by_waiter.longest_most);
    printf("%s %d %d %.6f %.6f %.6f %.6f %.6f\n", name, locked, contended, waited_ms, held.least, held.most,
           held.longest_least, held.longest_most);
    waited_ms = 0;
    memset(&held, 0, sizeof held);
    memset(&held_by_waiter, 0, sizeof held_by_waiter);
}

/* -------------------------------------------------------------------------------------------- one after another */

static pthread_barrier_t both;

/* The other thread waits in `wait` while we are in `hold`, WAITS times. */
struct play {
    void (*hold)(void), (*wait)(void), (*give)(void);
};

static void *wait_often(void *context)
{
    const struct play *play = (const struct play *)context;
    for (int round = 0; round < WAITS; round++) {
        pthread_barrier_wait(&both);
        __atomic_store_n(&partner, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
        play->wait();
        pthread_barrier_wait(&both);
    }
    return NULL;
}

static inline void run_play(const struct play *play)
{
    pthread_t thread;
    struct play copy = *play;
    pthread_create(&thread, NULL, wait_often, &copy);
    for (int round = 0; round < WAITS; round++) {
        partner = 0;
        play->hold();
        pthread_barrier_wait(&both);
        let_wait();
        play->give();
        pthread_barrier_wait(&both);
    }
    pthread_join(thread, NULL);
}

#endif
