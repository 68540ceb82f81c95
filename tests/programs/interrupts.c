/*
 * SIGINT and SIGTERM. The program says "ready" and waits in a zone.
 *     default           left alone: report, then death by the signal
 *     before, after     a handler of its own, installed before or after HOTPATH_MAIN: hotpath does nothing
 *     ignored           stays ignored
 *     busy              arrives while four threads are in zones
 */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int signal) { caught = signal; }

static void install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void work(void) { HOTPATH_MEASURE(); }

static void *busy(void *unused)
{
    for (;;)
        work();
    return unused;
}

static void say_ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

static void wait_for_signal(void)
{
    HOTPATH_MEASURE();
    say_ready();
    for (int i = 0; i < 8000 && !caught; i++)
        sleep_us(1000);
}

int main(int argc, char **argv)
{
    if (is_case(argc, argv, "before"))
        install();
    if (is_case(argc, argv, "ignored"))
        signal(SIGINT, SIG_IGN);
    HOTPATH_MAIN();
    if (is_case(argc, argv, "after"))
        install();
    for (int i = 0; i < 12; i++)
        work();
    if (is_case(argc, argv, "busy"))
        for (int i = 0; i < 4; i++) {
            pthread_t thread;
            MUST(pthread_create(&thread, NULL, busy, NULL) == 0);
        }
    if (is_case(argc, argv, "ignored")) {
        say_ready();
        sleep_us(300000);
    } else {
        wait_for_signal();
    }
    printf("caught %d\n", caught);
    return 11;
}
