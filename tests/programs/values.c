/*
 * Values on threads that come and go, in handlers, and in forked children, with known numbers.
 *
 *   values threads    8 threads, one after the other in twos: value, count, gauge
 *   values forks      3 children, each with a value of its own and shared ones
 *   values signals    a timer's handler updates what the program updates
 *   values plugin     a library that is opened, used and closed, 3 times: path in the second argument
 *   values keys       many keys from several threads at once
 *   values killed     ends by SIGKILL
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE
#include <hotpath.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define UPDATES 10000

static void *update(void *context)
{
    const long number = (long)context;
    for (long at = 0; at < UPDATES; at++) {
        HOTPATH_VALUE("index", at);
        HOTPATH_COUNT("work", number);
        HOTPATH_GAUGE_ADD("open", 1);
        if (at % 2 != 0)
            HOTPATH_GAUGE_ADD("open", -1);
    }
    return NULL;
}

static void on_threads(void)
{
    HOTPATH_GAUGE_SET("open", 100);
    for (long pair = 0; pair < 4; pair++) {
        pthread_t threads[2];
        for (long at = 0; at < 2; at++)
            pthread_create(&threads[at], NULL, update, (void *)(2 * pair + at));
        for (int at = 0; at < 2; at++)
            pthread_join(threads[at], NULL);
    }
}

static void in_child(int number)
{
    HOTPATH_COUNT("children", 1);
    HOTPATH_COUNT_KEY("child", number == 0 ? "first" : "other", 1);
    HOTPATH_GAUGE_ADD("moved", -1);
    for (int at = 0; at < 100; at++)
        HOTPATH_VALUE("index", 100 * number + at);
}

static void with_forks(void)
{
    for (int at = 0; at < 3; at++) {
        HOTPATH_GAUGE_ADD("moved", 1);
        const pid_t child = fork();
        if (child == 0) {
            in_child(at);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    HOTPATH_GAUGE_SET("set last", 7);
    HOTPATH_COUNT("children", 0);
}

static volatile long handled;

static void on_alarm(int signal)
{
    (void)signal;
    handled = handled + 1;
    HOTPATH_COUNT("both", 1);
    HOTPATH_GAUGE_ADD("level", 1);
    HOTPATH_COUNT("handled", 1);
}

static void in_handlers(void)
{
    struct sigaction action;
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    long made = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (; handled < 200; made++) {
        HOTPATH_COUNT("both", 1);
        HOTPATH_GAUGE_ADD("level", -1);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld %ld\n", made, handled);
}

static void with_plugin(const char *path)
{
    for (int times = 0; times < 3; times++) {
        void *library = dlopen(path, RTLD_NOW);
        void (*run)(int) = NULL;
        if (library == NULL)
            exit(3);
        *(void **)(void *)&run = dlsym(library, "plugin_run");
        run(times);
        dlclose(library);
    }
    HOTPATH_GAUGE_ADD("of both", 5);
}

static void *use_keys(void *context)
{
    char key[32];
    for (int at = 0; at < 4 * 300; at++) {
        snprintf(key, sizeof key, "%d", at % 300);
        HOTPATH_COUNT_KEY("keys", key, 1);
    }
    return context;
}

static void with_keys(void)
{
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        pthread_create(&threads[at], NULL, use_keys, NULL);
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
}

static void until_killed(void)
{
    update(NULL);
    HOTPATH_VALUE("state", "about to end");
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    const char *what = argc > 1 ? argv[1] : "threads";
    if (strcmp(what, "threads") == 0)
        on_threads();
    else if (strcmp(what, "forks") == 0)
        with_forks();
    else if (strcmp(what, "signals") == 0)
        in_handlers();
    else if (strcmp(what, "plugin") == 0 && argc > 2)
        with_plugin(argv[2]);
    else if (strcmp(what, "keys") == 0)
        with_keys();
    else if (strcmp(what, "killed") == 0)
        until_killed();
    else
        return 2;
    return 0;
}
