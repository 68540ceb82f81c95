/*
 * A program with a copy of the library, and a plugin with another one that was made differently, so that they share
 * nothing but the signals: both sample, and threads are cancelled at the same time. -DPLUGIN makes the plugin.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hotpath.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void __attribute__((noinline)) compute(void)
{
    HOTPATH_MEASURE();
    for (volatile int i = 0; i < 20000; i++)
        ;
}

static void busy(long us)
{
    struct timespec from, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do {
        compute();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

#ifdef PLUGIN

int begin_there(void);
void busy_there(long us);
void end_there(void);

int begin_there(void)
{
    const struct hotpath_options options = {.size = sizeof options, .cpu = 1, .cpu_rate = 10000};
    return hotpath_start(&options);
}

void busy_there(long us) { busy(us); }

void end_there(void) { hotpath_stop(); }

#else

static void (*busy_there)(long us);

static void *be_cancelled(void *unused)
{
    busy(300);
    busy_there(300);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile int i = 0;; i++)
        ;
    return unused;
}

static void *function(void *plugin, const char *name)
{
    void *found = dlsym(plugin, name);
    if (found == NULL)
        exit(3);
    return found;
}

int main(int argc, char **argv)
{
    HOTPATH_MAIN();
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*begin_there)(void);
    void (*end_there)(void);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void **)&begin_there = function(plugin, "begin_there");
    *(void **)&busy_there = function(plugin, "busy_there");
    *(void **)&end_there = function(plugin, "end_there");
    printf("begun %d\n", begin_there());
    busy(20000);
    busy_there(20000);
    int cancelled = 0;
    for (int i = 0; i < 60; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, be_cancelled, NULL) != 0)
            return 4;
        busy(i * 20);
        busy_there(i * 20);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancelled %d\n", cancelled);
    fflush(stdout);
    end_there();
    return 0;
}

#endif
