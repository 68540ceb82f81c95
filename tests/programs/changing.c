/*
 * Changes on command of its input lines, while it is observed, and prints what it has done: "threads" starts 500 of
 * them,
 * "fork" a process that works on until its input ends, "exec" runs this program again by exec.
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1 /* pthread_setname_np */
#include <hotpath.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define THREADS 500

static void rest(void)
{
    const struct timespec time = {0, 10000000};
    nanosleep(&time, NULL);
}

static void work(void)
{
    HOTPATH_MEASURE();
    rest();
}

static void work_in_child(void)
{
    HOTPATH_MEASURE();
    rest();
}

static void work_in_thread(void)
{
    HOTPATH_MEASURE();
    rest();
}

static void *live(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "crowd");
    for (;;)
        work_in_thread();
    return NULL;
}

static void *work_on(void *unused)
{
    (void)unused;
    for (;;)
        work();
    return NULL;
}

static void start(void *(*function)(void *), int count)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 131072);
    while (count-- > 0)
        if (pthread_create(&thread, &attributes, function, NULL) != 0)
            puts("no more threads");
    pthread_attr_destroy(&attributes);
}

static void start_child(void)
{
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        work_in_child();
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    char line[32];
    (void)argc;
    setvbuf(stdin, NULL, _IONBF, 0); /* what follows is for the program that this one becomes */
    start(work_on, 1);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "threads\n") == 0)
            start(live, THREADS);
        else if (strcmp(line, "fork\n") == 0)
            start_child();
        else if (strcmp(line, "exec\n") == 0)
            execv("/proc/self/exe", argv);
        printf("done %s", line);
        fflush(stdout);
    }
    return 0;
}
