/*
 * One call of many is by far the slowest, and what is inside it is known: each case counts what it calls, and the
 * slow part is a sleep in one known place. Fast calls are long enough to be worth following, with a sanitizer, too.
 * On a busy machine it may be otherwise: then it prints "disturbed".
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUICK_US 1000
#define SLOW_US 60000

static void step(void) { HOTPATH_MEASURE(); }

static uint64_t slowest_us = SLOW_US; /* what the slowest call of a case sleeps */
static int is_disturbed;              /* atomic */
static __thread uint64_t loaded_ns;   /* in the latest call of `load` */

static void load(uint64_t us)
{
    HOTPATH_MEASURE();
    const uint64_t begin = now_ns();
    sleep_us(us);
    loaded_ns = now_ns() - begin;
}

/* A call has ended: all others must be quicker than the slowest, which is nearly all sleep. */
static void judge(uint64_t slow_us, uint64_t begin)
{
    const uint64_t took = now_ns() - begin;
    if (slow_us == slowest_us ? took > loaded_ns + loaded_ns / 12 : took >= 1000 * slowest_us)
        __atomic_store_n(&is_disturbed, 1, __ATOMIC_RELAXED);
}

static void tell_disturbance(void)
{
    if (__atomic_load_n(&is_disturbed, __ATOMIC_RELAXED))
        tell("disturbed", 1);
}

/* So many steps, and a sleep inside `load` if it is to be slow. */
static void handle(int steps, uint64_t slow_us)
{
    HOTPATH_MEASURE();
    HOTPATH_NOTE("%d steps", steps);
    for (int at = 0; at < steps; at++)
        step();
    if (slow_us > 0)
        load(slow_us);
    else
        spin_us(QUICK_US);
}

static void call_handle(int steps, uint64_t slow_us)
{
    const uint64_t begin = now_ns();
    handle(steps, slow_us);
    judge(slow_us, begin);
}

static void quick_ones(int count)
{
    for (int at = 0; at < count; at++)
        call_handle(3, 0);
}

static void one(void)
{
    quick_ones(60);
    call_handle(7, SLOW_US);
    quick_ones(40);
}

/*
 * Each one slower than the one before is the slowest from then on; a quicker one after it is not. They are far
 * apart, since on a busy machine a sleep can last much longer than it should.
 */
static void later(void)
{
    slowest_us = 400000;
    for (int at = 1; at <= 4; at++) {
        quick_ones(5);
        call_handle(10 * at, 25000 * (uint64_t)(at * at));
    }
    call_handle(99, 25000);
}

static void *of_thread(void *number)
{
    const int own = *(int *)number;
    quick_ones(10);
    call_handle(own, 20000 * (uint64_t)own);
    quick_ones(10);
    return NULL;
}

/* The second of three threads has the slowest. */
static void threads(void)
{
    static int numbers[] = {1, 5, 2};
    pthread_t started[3];
    slowest_us = 100000;
    for (int at = 0; at < 3; at++)
        MUST(pthread_create(&started[at], NULL, of_thread, &numbers[at]) == 0);
    for (int at = 0; at < 3; at++)
        pthread_join(started[at], NULL);
}

/* The innermost call sleeps: it is as slow as those around it, nearly. */
static void descend(int level, uint64_t slow_us)
{
    HOTPATH_MEASURE();
    step();
    if (level > 1)
        descend(level - 1, slow_us);
    else if (slow_us > 0)
        load(slow_us);
    else
        spin_us(QUICK_US);
}

static void call_descend(int level, uint64_t slow_us)
{
    const uint64_t begin = now_ns();
    descend(level, slow_us);
    judge(slow_us, begin);
}

static void recursion(void)
{
    for (int at = 0; at < 20; at++)
        call_descend(3, 0);
    call_descend(6, SLOW_US);
    for (int at = 0; at < 20; at++)
        call_descend(2, 0);
}

static void middle(int steps, uint64_t slow_us)
{
    HOTPATH_MEASURE();
    for (int at = 0; at < 2; at++)
        step();
    handle(steps, slow_us);
}

static void top(int steps, uint64_t slow_us)
{
    HOTPATH_MEASURE();
    middle(steps, slow_us);
    middle(1, 0);
}

static void call_top(int steps, uint64_t slow_us)
{
    const uint64_t begin = now_ns();
    top(steps, slow_us);
    judge(slow_us, begin);
}

/* `handle` is called from elsewhere, too, and the slow call of `top` is not all of it. */
static void deep(void)
{
    quick_ones(10);
    for (int at = 0; at < 10; at++)
        call_top(2, 0);
    call_top(4, SLOW_US);
    for (int at = 0; at < 10; at++)
        call_top(2, 0);
    quick_ones(10);
}

static void tiny(uint64_t slow_us)
{
    HOTPATH_MEASURE();
    step();
    if (slow_us > 0)
        load(slow_us);
}

/* Far too short on average to be followed, unless one call is preempted: it prints how long they took. */
static void short_ones(void)
{
    const uint64_t begin = now_ns();
    for (int at = 0; at < 20000; at++)
        tiny(0);
    tell("short_ns", now_ns() - begin);
    tiny(SLOW_US);
    for (int at = 0; at < 20000; at++)
        tiny(0);
}

static void forked(void)
{
    quick_ones(10);
    call_handle(4, 10000);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        quick_ones(10);
        call_handle(6, SLOW_US);
        tell_disturbance();
        exit(0);
    }
    waitpid(child, NULL, 0);
    tell("child", (uint64_t)child);
}

static void killed(void)
{
    one();
    tell_disturbance();
    fflush(stdout);
    HOTPATH_BLOCK("never over");
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"one", one},   {"later", later},      {"threads", threads}, {"recursion", recursion},
                 {"deep", deep}, {"short", short_ones}, {"forked", forked},   {"killed", killed}};
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++)
        if (is_case(argc, argv, cases[at].name))
            cases[at].run();
    tell_disturbance();
    return 0;
}
