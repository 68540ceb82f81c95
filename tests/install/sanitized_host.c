/*
 * A program for sanitizers: threads that come and go, zones and allocations in them, a handler that has zones, too,
 * and signals for it all the time.
 */
#include <hotpath.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int alarms;

static void on_alarm(int number)
{
    HOTPATH_BLOCK("handler");
    (void)number;
    __atomic_fetch_add(&alarms, 1, __ATOMIC_RELAXED);
}

static int __attribute__((noinline)) leaf(int number)
{
    HOTPATH_MEASURE();
    char text[50];
    snprintf(text, sizeof text, "%d", number);
    return text[0];
}

static int deep(int number)
{
    HOTPATH_MEASURE();
    char text[300];
    text[number % 300] = (char)leaf(number);
    return number == 0 ? 0 : deep(number - 1) + text[number % 300];
}

static void *work(void *unused)
{
    HOTPATH_MEASURE();
    for (int i = 0; i < 40; i++) {
        deep(20);
        free(malloc((size_t)i + 1));
    }
    return unused;
}

static void compute(void)
{
    HOTPATH_MEASURE();
    const clock_t end = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < end)
        deep(5);
}

static void run_threads(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, work, NULL) != 0)
                exit(3);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    HOTPATH_MAIN();
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    run_threads(25);
    compute();
    setitimer(ITIMER_REAL, &never, NULL);
    puts(__atomic_load_n(&alarms, __ATOMIC_RELAXED) > 0 ? "ok" : "no alarms");
    return 0;
}
