/* Threads without signals. SPDX-License-Identifier: MIT */
#include "quiet_thread.h"

#include "signals.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t news;
    void *(*run)(void *);
    bool is_ready;
} start = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};

static void *be_quiet(void *unused)
{
    struct hp_signals held;
    hp_signals_hold(&held);
    pthread_mutex_lock(&start.lock);
    void *(*run)(void *) = start.run;
    start.is_ready = true;
    pthread_cond_signal(&start.news);
    pthread_mutex_unlock(&start.lock);
    return run(unused);
}

/* The C library lets its own signals through when there are threads, in all of them. */
bool hp_quiet_thread_start(pthread_t *ret_thread, void *(*run)(void *))
{
    struct hp_signals held;
    hp_signals_hold(&held);
    start.run = run;
    start.is_ready = false;
    const bool is_started = pthread_create(ret_thread, NULL, be_quiet, NULL) == 0;
    pthread_mutex_lock(&start.lock);
    while (is_started && !start.is_ready)
        pthread_cond_wait(&start.news, &start.lock);
    pthread_mutex_unlock(&start.lock);
    hp_signals_release(&held);
    return is_started;
}
