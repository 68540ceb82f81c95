/*
 * Three kinds of work in one loop: computing, allocating, waiting for what was begun. Which one is the bottleneck?
 *
 *     ./dev demo
 */
#include <hotpath.h>

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *volatile kept; /* a store the compiler has to make, so that the work below is not optimised away */
static volatile uint64_t result_of_work;

static void sync_work(void)
{
    HOTPATH_MEASURE();
    uint64_t result = 1;
    for (uint64_t i = 0; i < 1000000; i++) {
        result *= i + 7;
        result ^= result >> 3;
    }
    result_of_work = result;
}

static void sync_alloc(void)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 1000; i++) {
        char *buffer = malloc(1024);
        if (buffer != NULL)
            memset(buffer, 1, 1024);
        kept = buffer;
        free(buffer);
    }
}

/* What is begun now and over later, when the loop hears of it. */
struct sleeper {
    int timer;
    HOTPATH_FIELD(hotpath_task, task);
};

/* Stands for a slow query or a slow server: it takes time, but no CPU. */
static int async_sleep(struct sleeper *sleeper)
{
    HOTPATH_TASK(sleeper->task, "async_sleep");
    const struct itimerspec ten_ms = {.it_value = {0, 10 * 1000 * 1000}};
    return timerfd_settime(sleeper->timer, 0, &ten_ms, NULL);
}

static void on_timer(struct sleeper *sleeper)
{
    HOTPATH_TASK_RUN(sleeper->task);
    uint64_t times;
    if (read(sleeper->timer, &times, sizeof times) != sizeof times)
        abort();
}

static void run_loop(struct sleeper *sleeper)
{
    HOTPATH_MEASURE();
    struct pollfd event = {.fd = sleeper->timer, .events = POLLIN};
    if (poll(&event, 1, -1) == 1)
        on_timer(sleeper);
}

int main(void)
{
    /* What it waited for is part of the verdict; the tables of that, and of loops, are left out here. */
    HOTPATH_MAIN(.cpu = 1, .waits = 1);
    struct sleeper sleeper = {.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
    for (int i = 0; i < 100; i++) {
        sync_work();
        sync_alloc();
        if (async_sleep(&sleeper) == 0)
            run_loop(&sleeper);
    }
    close(sleeper.timer);
    return 0;
}
