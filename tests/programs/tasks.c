/*
 * Tasks with known numbers.
 *
 *   tasks hop       1000 tasks, each polled on four threads in turn, allocating at each poll
 *   tasks killed    ends by SIGKILL: one task waits, one runs, one has ended
 *   tasks forks     a child creates and ends tasks of the same label
 *   tasks event     polls of a task that a loop runs between others, around measured functions
 *   tasks served    200 tasks, each in a call of serve and polled 4 times, for about a second
 *   tasks kinds     two of each kind of object, called wanted and other
 *   tasks long      very many short polls of a task, and two of them long ones; says how long the first was at
 *                   least, and all others at most
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TASKS 1000
#define THREADS 4
#define ROUNDS 8

struct job {
    size_t number;
    HOTPATH_FIELD(hotpath_task, task);
};

static struct job jobs[TASKS];
static pthread_barrier_t barrier;

static void compute(size_t bytes)
{
    HOTPATH_MEASURE();
    char *memory = malloc(bytes);
    __asm__ volatile("" : : "r"(memory) : "memory");
    free(memory);
}

/* Job j is polled by thread (j + round) % THREADS, so each is on another thread in each round. */
static void *poll_jobs(void *context)
{
    const size_t me = (size_t)context;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t at = 0; at < TASKS; at++) {
            if ((at + round) % THREADS != me)
                continue;
            HOTPATH_TASK_POLL(jobs[at].task);
            char *memory = malloc(10);
            __asm__ volatile("" : : "r"(memory) : "memory");
            free(memory);
            compute(at + 1);
            if (round == ROUNDS - 1)
                HOTPATH_TASK_READY(jobs[at].task);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void hop(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t at = 0; at < TASKS; at++) {
        jobs[at].number = at;
        HOTPATH_TASK(jobs[at].task, "hopping");
    }
    for (size_t at = 0; at < THREADS; at++)
        pthread_create(&threads[at], NULL, poll_jobs, (void *)at);
    for (size_t at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
}

static void until_killed(void)
{
    struct job waiting, running, ended;
    HOTPATH_TASK(waiting.task, "waiting");
    HOTPATH_TASK(running.task, "running");
    HOTPATH_TASK(ended.task, "ended");
    {
        HOTPATH_TASK_RUN(ended.task);
        usleep(2000);
    }
    HOTPATH_TASK_POLL(running.task);
    usleep(2000);
    (void)waiting.number;
    raise(SIGKILL);
}

static void with_child(void)
{
    struct job job;
    for (int at = 0; at < 3; at++) {
        HOTPATH_TASK(job.task, "either");
        HOTPATH_TASK_READY(job.task);
    }
    HOTPATH_TASK(job.task, "either");
    if (fork() == 0) {
        HOTPATH_TASK_READY(job.task); /* its parent's */
        for (int at = 0; at < 5; at++) {
            HOTPATH_TASK(job.task, "either");
            HOTPATH_TASK_RUN(job.task);
        }
        exit(0);
    }
    wait(NULL);
    HOTPATH_TASK_READY(job.task);
}

static void in_turns(void)
{
    struct job one, other;
    HOTPATH_TASK(one.task, "one");
    HOTPATH_TASK(other.task, "other");
    for (int at = 0; at < 10; at++) {
        {
            HOTPATH_TASK_POLL(one.task);
            compute(100);
        }
        {
            HOTPATH_TASK_POLL(other.task);
            compute(1);
            compute(1);
        }
    }
    HOTPATH_TASK_READY(one.task);
    HOTPATH_TASK_CANCEL(other.task);
}

static void serve(void)
{
    HOTPATH_MEASURE();
    struct job job;
    HOTPATH_TASK(job.task, "request");
    for (int at = 0; at < 4; at++) {
        HOTPATH_TASK_POLL(job.task);
        usleep(1000);
    }
    HOTPATH_TASK_READY(job.task);
}

#define ONE_OF_EACH(label)                                                                                         \
    do {                                                                                                           \
        struct job job;                                                                                            \
        HOTPATH_TASK(job.task, label " task");                                                                     \
        HOTPATH_TASK_READY(job.task);                                                                              \
        HOTPATH_VALUE(label " value", 1);                                                                          \
        HOTPATH_CHANNEL_SENT(label " channel", NULL, 1, 1, 1);                                                     \
        HOTPATH_CHANNEL_RECEIVED(label " channel", NULL, 1, 1, 0);                                                 \
        {                                                                                                          \
            HOTPATH_STREAM_NEXT(label " stream", NULL);                                                            \
            HOTPATH_STREAM_ITEM(label " stream", NULL, 1, 1);                                                      \
        }                                                                                                          \
        for (int at = 0; at < 10; at++) {                                                                          \
            HOTPATH_LOOP_WAIT(label " loop");                                                                      \
        }                                                                                                          \
    } while (0)

static void of_each_kind(void)
{
    ONE_OF_EACH("wanted");
    ONE_OF_EACH("other");
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How long it was, at least. */
static uint64_t chew(uint64_t ns)
{
    HOTPATH_MEASURE();
    const uint64_t begin = now_ns();
    usleep((useconds_t)(ns / 1000));
    return now_ns() - begin;
}

static void pick(void) { HOTPATH_MEASURE(); }

#define POLLS 100000
#define FIRST_LONG 99000
#define SECOND_LONG 99500

static uint64_t poll_slow(struct job *job, int at, uint64_t long_ns)
{
    uint64_t chewed = 0;
    HOTPATH_TASK_POLL(job->task);
    compute(1);
    if (at == FIRST_LONG) {
        chewed = chew(long_ns);
        for (int times = 0; times < 3; times++)
            pick();
    } else if (at == SECOND_LONG) {
        chew(11000000);
    }
    return chewed;
}

/* Any poll can be preempted. The first long one is longer than all before it, and few come after it. */
static void two_are_long(void)
{
    struct job job;
    uint64_t first = 0, others = 0;
    HOTPATH_TASK(job.task, "slow");
    for (int at = 0; at < POLLS; at++) {
        const uint64_t long_ns = others < 20000000 ? 40000000 : 2 * others;
        const uint64_t begin = now_ns(), chewed = poll_slow(&job, at, long_ns), around = now_ns() - begin;
        if (at == FIRST_LONG)
            first = chewed;
        else if (around > others)
            others = around;
    }
    HOTPATH_TASK_READY(job.task);
    printf("first %llu\nothers %llu\n", (unsigned long long)first, (unsigned long long)others);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *what = argc > 1 ? argv[1] : "hop";
    if (strcmp(what, "hop") == 0)
        hop();
    else if (strcmp(what, "long") == 0)
        two_are_long();
    else if (strcmp(what, "killed") == 0)
        until_killed();
    else if (strcmp(what, "forks") == 0)
        with_child();
    else if (strcmp(what, "event") == 0)
        in_turns();
    else if (strcmp(what, "served") == 0)
        for (int at = 0; at < 200; at++)
            serve();
    else if (strcmp(what, "kinds") == 0)
        of_each_kind();
    else
        return 2;
    return 0;
}
