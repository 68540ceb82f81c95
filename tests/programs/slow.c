/*
 * One call of many is by far the slowest, and what is inside it is known: each case counts what it calls, and the
 * slow part is a sleep in one known place. Fast calls are long enough to be worth following, with a sanitizer, too.
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUICK_US 1000
#define SLOW_US 60000

static void step(void) { HOTPATH_MEASURE(); }

static void load(uint64_t us)
{
    HOTPATH_MEASURE();
    sleep_us(us);
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

static void quick_ones(int count)
{
    for (int at = 0; at < count; at++)
        handle(3, 0);
}

static void one(void)
{
    quick_ones(60);
    handle(7, SLOW_US);
    quick_ones(40);
}

/*
 * Each one slower than the one before is the slowest from then on; a quicker one after it is not. They are far
 * apart, since on a busy machine a sleep can last much longer than it should.
 */
static void later(void)
{
    for (int at = 1; at <= 4; at++) {
        quick_ones(5);
        handle(10 * at, 25000 * (uint64_t)(at * at));
    }
    handle(99, 25000);
}

static void *of_thread(void *number)
{
    const int own = *(int *)number;
    quick_ones(10);
    handle(own, 20000 * (uint64_t)own);
    quick_ones(10);
    return NULL;
}

/* The second of three threads has the slowest. */
static void threads(void)
{
    static int numbers[] = {1, 5, 2};
    pthread_t started[3];
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

static void recursion(void)
{
    for (int at = 0; at < 20; at++)
        descend(3, 0);
    descend(6, SLOW_US);
    for (int at = 0; at < 20; at++)
        descend(2, 0);
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

/* `handle` is called from elsewhere, too, and the slow call of `top` is not all of it. */
static void deep(void)
{
    quick_ones(10);
    for (int at = 0; at < 10; at++)
        top(2, 0);
    top(4, SLOW_US);
    for (int at = 0; at < 10; at++)
        top(2, 0);
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
    handle(4, 10000);
    const pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        quick_ones(10);
        handle(6, SLOW_US);
        exit(0);
    }
    waitpid(child, NULL, 0);
    tell("child", (uint64_t)child);
}

static void killed(void)
{
    one();
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
    return 0;
}
