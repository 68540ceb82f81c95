/* Threads without signals. SPDX-License-Identifier: MIT */
#include "quiet_thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

/* Once there are threads, the C library unblocks its internal signals in all of them. */
static bool begin(pthread_t *ret_id, void *(*run)(void *))
{
    struct hp_signals held;
    hp_signals_hold(&held);
    start.run = run;
    start.is_ready = false;
    const bool is_started = pthread_create(ret_id, NULL, be_quiet, NULL) == 0;
    pthread_mutex_lock(&start.lock);
    while (is_started && !start.is_ready)
        pthread_cond_wait(&start.news, &start.lock);
    pthread_mutex_unlock(&start.lock);
    hp_signals_release(&held);
    return is_started;
}

static void close_wake(struct hp_quiet_thread *thread)
{
    if (thread->wake >= 0)
        close(thread->wake);
    thread->wake = -1;
}

bool hp_quiet_thread_start(struct hp_quiet_thread *thread, void *(*run)(void *))
{
    thread->wake = eventfd(0, EFD_CLOEXEC);
    thread->is_over = false;
    thread->is_begun = begin(&thread->id, run);
    if (!thread->is_begun)
        close_wake(thread);
    return thread->is_begun;
}

/* Acquire pairs with the release in stop: the thread sees what was done before it was told to end. */
bool hp_quiet_thread_is_over(const struct hp_quiet_thread *thread)
{
    return __atomic_load_n(&thread->is_over, __ATOMIC_ACQUIRE);
}

void hp_quiet_thread_pause(const struct hp_quiet_thread *thread, int milliseconds)
{
    struct pollfd wake = {.fd = thread->wake, .events = POLLIN};
    if (!hp_quiet_thread_is_over(thread))
        poll(&wake, 1, milliseconds);
}

void hp_quiet_thread_stop(struct hp_quiet_thread *thread)
{
    if (!thread->is_begun)
        return;
    /* Release pairs with the acquire above. */
    __atomic_store_n(&thread->is_over, true, __ATOMIC_RELEASE);
    if (thread->wake >= 0)
        eventfd_write(thread->wake, 1);
    pthread_join(thread->id, NULL);
    thread->is_begun = false;
    close_wake(thread);
}
